"""What is computed from each piece of a source: functions whose results merge.

Every route runs the same tasks and merges what they return, so that a result does not depend on
how the rows arrived. Tasks are sent to other processes: they hold a layout and small arrays only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from flipcost.core.arrays import Array
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.folds import hash_keys
from flipcost.core.moments import fold_moments
from flipcost.core.scoring import fold_confusions
from flipcost.exceptions import SourceError, TableError
from flipcost.scale._histogram import ScoreHistogram
from flipcost.scale._labels import LabeledMoments, Labels
from flipcost.scale._sample import RowSample
from flipcost.scale._summary import TableSummary

if TYPE_CHECKING:
    from flipcost.scale._rows import Layout, Piece, PieceRows

Task: TypeAlias = "Callable[[Piece], Any]"


def run(task: Task, piece: Piece) -> Any:
    """Run a task on a piece, which is named in the error if its columns cannot be used."""
    try:
        return task(piece)
    except TableError as error:
        said = str(error)
        raise SourceError(said if piece.where in said else f"{piece.where}: {said}") from error


def packed(task: Task, result: Any) -> Any:
    """Return what of the result of a whole part is sent to another machine.

    All of it, unless the task has a method ``packed`` that says otherwise.
    """
    pack = getattr(task, "packed", None)
    return result if pack is None or result is None else pack(result)


# Folds hash positions too: with the same seed a small sample would lie in the first fold.
_SAMPLE_STREAM = 0x5A17


@dataclass(frozen=True)
class MomentsTask:
    """Gather the moments of every fold."""

    layout: Layout
    n_folds: int = 1

    def __call__(self, piece: Piece) -> LabeledMoments:
        rows = self.layout.rows(piece)
        labels, second = rows.labels()
        try:
            parts = fold_moments(
                rows.X, second, rows.folds(self.n_folds), self.n_folds, rows.weight
            )
        except ValueError as error:
            raise rows.fault(error) from error
        return LabeledMoments(labels, tuple(parts), rows.names)


@dataclass(frozen=True, eq=False)
class ConfusionsTask:
    """Count labels against the calls of each fold's own classifiers."""

    layout: Layout
    coefficients: Array
    labels: Labels

    def __call__(self, piece: Piece) -> ConfusionCounts:
        rows = _finite_rows(self.layout, piece)
        folds = rows.folds(self.coefficients.shape[0])
        return fold_confusions(
            rows.X, rows.positive(self.labels), self.coefficients, folds, rows.weight
        )


@dataclass(frozen=True, eq=False)
class HistogramTask:
    """Count rows in bins of the scores of each fold's own classifiers."""

    layout: Layout
    coefficients: Array
    labels: Labels
    low: Array
    high: Array
    n_bins: int

    def __call__(self, piece: Piece) -> ScoreHistogram:
        rows = _finite_rows(self.layout, piece)
        return ScoreHistogram.from_rows(
            rows.X,
            rows.positive(self.labels),
            self.coefficients,
            self.low,
            self.high,
            self.n_bins,
            rows.folds(self.coefficients.shape[0]),
            rows.weight,
        )


@dataclass(frozen=True)
class SampleTask:
    """Draw rows uniformly."""

    layout: Layout
    size: int
    seed: int

    def __call__(self, piece: Piece) -> RowSample:
        rows = _finite_rows(self.layout, piece)
        labels, second = rows.labels()
        values = np.array(labels)
        y = values[second.astype(np.intp)] if len(values) > 1 else np.repeat(values, piece.n_rows)
        keys = hash_keys(piece.positions, self.seed + _SAMPLE_STREAM)
        return RowSample.of(self.size, keys, rows.X, y, rows.weight, rows.names)


@dataclass(frozen=True)
class SummaryTask:
    """Learn means, scales and levels."""

    layout: Layout
    categorical: tuple[str, ...]

    def __call__(self, piece: Piece) -> TableSummary:
        columns = self.layout.resolved(piece.frame.schema.names).columns
        return TableSummary.of(piece.frame, columns, self.categorical, piece.where)


@dataclass(frozen=True)
class Together:
    """Run several tasks on the same piece, so that it is read and prepared once."""

    tasks: tuple[Task, ...]

    def __call__(self, piece: Piece) -> Results:
        return Results(tuple(task(piece) for task in self.tasks))

    def packed(self, results: Results) -> Results:
        """Pack the result of each."""
        pairs = zip(self.tasks, results.parts, strict=True)
        return Results(tuple(packed(task, part) for task, part in pairs))

    def by_queries(self, table: Any) -> Results:
        """Have a table that stays in its engine answer each."""
        return Results(tuple(table.reduce(task) for task in self.tasks))


@dataclass(frozen=True, eq=False)
class Results:
    """What tasks that ran together found, in their order."""

    parts: tuple[Any, ...]

    def merge(self, other: Results) -> Results:
        """Merge each with its like."""
        return Results(tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True)))


def _finite_rows(layout: Layout, piece: Piece) -> PieceRows:
    """Return rows; refuse what is not finite, which scores would turn into silent misses."""
    rows = layout.rows(piece)
    values = rows.X.data if sparse.issparse(rows.X) else rows.X
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise rows.fault(ValueError("X must be finite."))
    return rows
