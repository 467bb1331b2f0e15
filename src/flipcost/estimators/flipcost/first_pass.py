"""The first pass over a table: moments of every fold and, where rows may be drawn, rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.folds import hash_keys
from flipcost.core.moments import fold_moments
from flipcost.estimators._tables import check_table
from flipcost.estimators.flipcost.drawing import (
    Drawing,
    merge_samples,
    place_marks,
    plan_drawing,
    smallest_keys,
)
from flipcost.estimators.flipcost.scores import knot_count
from flipcost.tables.engine_drawing import DrawingTable
from flipcost.tables.engine_table import EngineTable
from flipcost.tables.passes import Together
from flipcost.tables.rows import LabeledMoments, Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.core.hinges import HingeBasis
    from flipcost.estimators.flipcost.classifier import FlipCostClassifier
    from flipcost.tables.rows import Piece
    from flipcost.tables.sample import RowSample
    from flipcost.tables.source import Table

    Flags = NDArray[np.bool_]
    Keys = NDArray[np.uint64]

_FOLDS = 5
# Rows that somebody checked are kept all, up to so many.
_CHECKED_ROWS = 20_000
# Folds and sample must not be made by the same hash: the smallest values are all of fold 0.
_OTHER_SEED = 1_000_003
# Rows of each label from which an engine gathers the moments of features that bend.
_BENT_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Gathered:
    """What the first pass found, and how rows were drawn in it."""

    found: FirstFound
    drawing: Drawing | None
    beside: tuple[Any, ...]


def gather(
    model: FlipCostClassifier,
    table: Table,
    sample_rows: int | None = None,
    *,
    frames: bool = False,
    beside: tuple[Any, ...] = (),
    was_checked: Callable[[Any], NDArray[np.bool_]] | None = None,
) -> Gathered:
    """Make the first pass.

    Parameters
    ----------
    model : FlipCostClassifier
        What will be fitted; its parameters are checked.
    table : Table
        The rows.
    sample_rows : int or None
        Rows to draw of each label. 10,000 when None, or 0 where rows would have to travel.
    frames : bool, default=False
        Whether to keep drawn rows as they were in the source too.
    beside : tuple of tasks
        What else to run on each piece; their results are kept.
    was_checked : callable, optional
        From a piece to the rows of it that somebody checked, which are kept where rows are drawn.

    Returns
    -------
    Gathered

    Examples
    --------
    >>> from flipcost import FlipCostClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.scale import scan_batches
    >>> data, model = make_syn3d(400, random_state=0), FlipCostClassifier(cost=0.2)
    >>> table = scan_batches([(data.data, data.target)])
    >>> first = gather(model, table)
    >>> sorted(len(sample.keys) for sample in first.found.samples.values())
    [183, 217]
    >>> model.fit_gathered(table, first).result.n_rows
    400
    """
    check_table(table)
    n_folds = _fold_count(model)
    drawing = plan_drawing(table, sample_rows, frames=frames)
    n_knots = 0
    if isinstance(table, EngineTable) and drawing is None and model.features != "linear":
        n_knots = knot_count(len(table.feature_names))
    task = Together((FirstPass(table.layout, n_folds, drawing, was_checked, n_knots), *beside))
    found, *others = table.required(table.reduce(task)).parts
    return Gathered(found, drawing, tuple(others))


@dataclass(frozen=True, eq=False)
class FirstFound:
    """Moments by fold, and rows by label; the labels of a sample are fold and position here.

    `bent` has the hinges of features and the moments of both, where an engine gathered these.
    """

    moments: LabeledMoments
    samples: dict[Any, RowSample]
    checked: RowSample | None = None
    bent: tuple[HingeBasis, LabeledMoments] | None = None

    def merge(self, other: FirstFound) -> FirstFound:
        """Return what both sets of rows give."""
        both = self.checked is not None and other.checked is not None
        return FirstFound(
            self.moments.merge(other.moments),
            merge_samples(self.samples, other.samples),
            self.checked.merge(other.checked) if both else None,  # type: ignore[union-attr, arg-type]
        )


@dataclass(frozen=True)
class FirstPass:
    """Gather the moments of every fold, and draw rows of each label, if any are to be drawn."""

    layout: Any
    n_folds: int
    drawing: Drawing | None
    was_checked: Callable[[Any], Flags] | None = None
    n_knots: int = 0

    def __call__(self, piece: Piece) -> FirstFound:
        """Gather both from one piece."""
        rows = self.layout.rows(piece)
        labels, second = rows.labels()
        folds = rows.folds(self.n_folds)
        try:
            parts = fold_moments(rows.X, second, folds, self.n_folds, rows.weight)
        except ValueError as error:
            raise rows.fault(error) from error
        moments = LabeledMoments(labels, tuple(parts), rows.names)
        if self.drawing is None:
            return FirstFound(moments, {})
        keys = hash_keys(piece.positions, self.layout.fold_seed + _OTHER_SEED)
        checked = None if self.was_checked is None else self.was_checked(piece)
        kept = _keep(self.drawing, rows, (labels, second), keys, place_marks(folds, piece), checked)
        return FirstFound(moments, *kept)

    def by_queries(self, table: EngineTable) -> FirstFound:
        """Have the engine gather moments; what bends is learned from some rows of each label."""
        if self.drawing is not None:
            return self._drawn_by_queries(self.drawing, table)
        moments = table.fold_moments(self.n_folds)
        bent = None
        if self.n_knots and len(moments.labels) == 2:
            bent = table.bent_moments(self.n_folds, self.n_knots, _BENT_ROWS)
        return FirstFound(moments, {}, bent=bent)

    def _drawn_by_queries(self, drawing: Drawing, table: EngineTable) -> FirstFound:
        """Have it hand out rows of each label too, if it may."""
        if not isinstance(table, DrawingTable):
            msg = (
                "`sample_rows` must be 0 for a table that stays in its engine: no row leaves it; "
                f"got {drawing.size}."
            )
            raise ValueError(msg)
        moments = table.fold_moments(self.n_folds)
        size = drawing.rows_of(moments.parts[0].n_features)
        most = 0 if self.was_checked is None else _CHECKED_ROWS
        out = table.draw(self.n_folds, size, most)
        rows = Layout().rows(out.piece)
        # Rows that were checked came for that; those with the smallest keys were drawn.
        checked = None if self.was_checked is None else out.checked
        marks = place_marks(out.folds, out.piece)
        return FirstFound(moments, *_keep(drawing, rows, rows.labels(), out.keys, marks, checked))

    def packed(self, found: FirstFound) -> FirstFound:
        """Return what a part sends: no more rows than are asked of it."""
        if self.drawing is None or self.drawing.most is None:
            return found
        most = self.drawing.most
        samples = {label: sample.trimmed(most) for label, sample in found.samples.items()}
        return FirstFound(found.moments, samples, found.checked)


def _keep(
    drawing: Drawing,
    rows: Any,
    labelled: tuple[Any, Flags],
    keys: Keys,
    marks: NDArray[np.int64],
    checked: Flags | None,
) -> tuple[dict[Any, RowSample], RowSample | None]:
    """Keep the rows of each label with the smallest keys, and those that somebody checked."""
    labels, second = labelled
    size = drawing.rows_of(rows.X.shape[1])
    samples = {}
    for code, label in enumerate(labels):
        chosen = smallest_keys(keys, np.flatnonzero(second == bool(code)), size)
        samples[label] = drawing.sample(size, keys, rows, marks, chosen)
    if checked is None:
        return samples, None
    return samples, drawing.sample(_CHECKED_ROWS, keys, rows, marks, np.flatnonzero(checked))


def _fold_count(model: FlipCostClassifier) -> int:
    """Return the number of folds; refuse what cannot be done in passes."""
    if model.estimator is not None or not isinstance(model.features, str):
        msg = (
            "A table is read in two passes, in which only closed-form scores are learned: leave "
            "`estimator` out, and `features` at 'auto' or 'linear'. Encode columns by the table's "
            "`encoder`, or `fit` on rows that `table.sample` draws."
        )
        raise ValueError(msg)
    if model.cv is None:
        return _FOLDS
    if not isinstance(model.cv, Integral) or model.cv < 2:
        msg = (
            "`cv` must be the number of folds, at least 2, when a table is read in passes: its "
            f"rows are put into folds by a hash; got {model.cv!r}. Give `fold_by` to the table to "
            "keep rows of one group together."
        )
        raise ValueError(msg)
    return int(model.cv)
