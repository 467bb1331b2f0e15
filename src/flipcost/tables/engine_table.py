"""Tables that stay in their engine: the questions of the passes, answered by queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.confusion import ConfusionCounts
from flipcost.core.hinges import HingeBasis
from flipcost.exceptions import SourceError
from flipcost.tables.engine_moments import Reading, Rows, Subset, changed, gather
from flipcost.tables.engine_scores import Bins, check_bins, count_bins, count_calls
from flipcost.tables.engine_summary import find_knots, find_medians, summarize
from flipcost.tables.histogram import ScoreHistogram
from flipcost.tables.rows import LabeledMoments
from flipcost.tables.source import Table, check_coefficients, check_labels
from flipcost.tables.sql import ROWS, Aggregate, Question, column

if TYPE_CHECKING:
    from flipcost.core.arrays import Array
    from flipcost.tables.engine import Engine
    from flipcost.tables.passes import Task
    from flipcost.tables.rows import Layout
    from flipcost.tables.sample import RowSample
    from flipcost.tables.summary import TableSummary

# Rows that the labels are looked for in first.
_LOOK_ROWS = 10_000


class EngineTable(Table):
    """A table that stays in its engine: nothing but aggregates leaves it.

    Made by `scan_sql` and `scan_lazy`. It answers what every other `Table` answers, by queries: the
    moments of every fold by one, the histograms of scores by one more.

    Parameters
    ----------
    engine : Engine
        Who holds the rows.
    layout : Layout
        Roles of the columns.
    positive : label, optional
        The positive label; the larger one when None.
    rule : {"hash", "modulus"}
        How the column ``fold_by`` makes folds.

    Examples
    --------
    >>> import duckdb
    >>> from flipcost.scale import scan_sql
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("CREATE TABLE calls AS SELECT i AS x, i > 5 AS y FROM range(9) t(i)")
    >>> table = scan_sql(connection, "calls", target="y")
    >>> table.moments().mean.ravel()
    array([2.5, 7. ])
    >>> table.n_queries
    3
    """

    def __init__(self, engine: Engine, layout: Layout, positive: Any = None, rule: str = "hash"):
        self._engine, self._rule = engine, rule
        columns = engine.columns()
        super().__init__(layout.resolved(list(columns)), positive)
        self._reading = Reading(engine, self._layout, rule)
        for name in self._layout.wanted:  # says at once which column is not there, or is text
            self._reading.kind(name)
        self._weights: dict[Any, float] = {}
        self._rows: dict[Any, int] = {}
        self._labels: tuple[Any, ...] | None = None

    @property
    def n_parts(self) -> int:
        """One: what an engine finds travels from it to here."""
        return 1

    @property
    def n_queries(self) -> int:
        """Questions that the engine has answered so far."""
        return self._engine.n_questions

    @property
    def n_bytes(self) -> int:
        """Bytes of the answers so far, eight a number: what has left the engine."""
        return self._engine.n_bytes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self._reading.encoder.feature_names

    def reduce(self, task: Task) -> Any:
        ask = getattr(task, "by_queries", None)
        if ask is None:
            msg = (
                f"{self._engine.where}: {type(task).__name__} needs rows at hand, and rows stay in "
                "the engine. Read them with `scan_batches`, or from files."
            )
            raise SourceError(msg)
        return ask(self)

    def fold_moments(self, n_folds: int) -> LabeledMoments:
        rows = self._by_fold(self._found_labels(), n_folds)
        found = gather(rows)
        weight = np.sum([part.weight for part in found.parts], axis=0)
        self._weights = dict(zip(rows.labels, weight.tolist(), strict=False))
        self._rows = dict(zip(rows.labels, found.counts, strict=False))
        if not sum(found.counts):
            self.required(None)
        return LabeledMoments(rows.labels, found.parts, self.feature_names)

    def bent_moments(
        self, n_folds: int, n_knots: int, size: int
    ) -> tuple[HingeBasis, LabeledMoments] | None:
        """Gather the moments of features and their hinges on some rows of each label.

        Parameters
        ----------
        n_folds : int
            Number of folds, as in the call of `fold_moments` before.
        n_knots : int
            Knots of each feature, at its quantiles.
        size : int
            About how many rows of each label to take, by a hash of their key.

        Returns
        -------
        HingeBasis and LabeledMoments, or None when no feature can bend
        """
        labels = self._found_labels()
        everywhere = min(1.0, 2 * size / max(sum(self._rows.values()), 1))
        basis = find_knots(Rows(self._reading, labels, subset=Subset((everywhere,) * 2)), n_knots)
        if not len(basis.knot):
            return None
        shares = [min(1.0, size / max(self._rows.get(label, 1), 1)) for label in labels]
        subset = Subset((shares[0], shares[-1]))
        rows = replace(self._by_fold(labels, n_folds), basis=basis, subset=subset)
        found = gather(rows)
        scaled = [_reweighed(part, labels, self._weights, found.parts) for part in found.parts]
        return basis, LabeledMoments(labels, tuple(scaled), None)

    def has_groups(self) -> bool:
        """Tell whether rows share keys of folds, as far as the first rows show.

        Rows of an engine need a key to be put into folds, which may well name each row alone.
        """
        if self._layout.fold_by is None or self._rule == "modulus":
            return False
        key = column("k")
        answers = (Aggregate("count", key), Aggregate("distinct", key))
        (found,) = self._engine.ask(
            Question(({"k": self._reading.key},), answers, first_rows=_LOOK_ROWS)
        )
        return int(found.values[1]) < int(found.values[0])

    def confusions(self, coefficients: ArrayLike, labels: tuple[Any, ...]) -> ConfusionCounts:
        path = check_coefficients(coefficients)
        rows = self._by_fold(check_labels(labels), len(path))
        counts, squares = count_calls(rows, path)
        self._check_weight(rows, counts[:, 0].sum(axis=(0, 2)))
        return ConfusionCounts(counts, squares)

    def score_histograms(
        self,
        coefficients: ArrayLike,
        labels: tuple[Any, ...],
        low: ArrayLike,
        high: ArrayLike,
        n_bins: int = 512,
    ) -> ScoreHistogram:
        path = check_coefficients(coefficients)
        lows, highs = (np.broadcast_to(np.asarray(v, float), path.shape[1:2]) for v in (low, high))
        rows = self._by_fold(check_labels(labels), len(path))
        bins = count_bins(rows, path, lows, highs, n_bins)
        check_bins(rows, bins, self._expected(rows.labels))
        return ScoreHistogram(lows, highs, bins.weight, bins.squares, bins.scores)

    def score_cells(
        self,
        coefficients: Array,
        labels: tuple[Any, ...],
        limits: tuple[Array, Array],
        n_bins: int,
        basis: HingeBasis,
        *,
        lead: int,
        n_cells: int,
    ) -> Bins:
        """Count rows in bins of their scores over all folds, and in cells of the leading one."""
        bent = basis if len(basis.knot) else None
        rows = replace(self._by_fold(labels, len(coefficients)), basis=bent)
        bins = count_bins(
            rows, coefficients, *limits, n_bins, by_fold=False, lead=lead, n_cells=n_cells
        )
        check_bins(rows, bins, self._expected(labels))
        return bins

    def summary(self, categorical: Sequence[str] = ()) -> TableSummary:
        return summarize(self._reading, categorical)

    def medians(self, columns: Sequence[str] | None = None) -> dict[str, float]:
        """Return the medians of columns of numbers, missing values left out, by one query.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns; all that hold numbers when None.

        Returns
        -------
        dict of str to float
            To be given to `TableSummary.encoder` as ``impute``.

        Examples
        --------
        >>> import duckdb
        >>> from flipcost.scale import scan_sql
        >>> query = "SELECT * FROM (VALUES (1, 0), (2, 1), (NULL, 1), (9, 0)) AS t(x, y)"
        >>> scan_sql(duckdb.connect(), query, target="y").medians()
        {'x': 2.0}
        """
        return find_medians(self._reading, columns)

    def sample(self, n_rows: int, seed: int = 0) -> RowSample:
        del n_rows, seed
        msg = (
            f"{self._engine.where}: rows stay in the engine; draw them by a query of your own, and "
            "give them to `scan_batches`."
        )
        raise SourceError(msg)

    def close(self) -> None:
        """Close the connection, if it was opened here."""
        self._engine.close()

    def _with_layout(self, layout: Layout) -> EngineTable:
        return EngineTable(self._engine, layout, self._positive, self._rule)

    def _name(self) -> str:
        return self._engine.where[:1].upper() + self._engine.where[1:]

    def _by_fold(self, labels: tuple[Any, ...], n_folds: int) -> Rows:
        if not 1 <= n_folds <= np.iinfo(np.int16).max:
            msg = f"`n_folds` must lie between 1 and 32767; got {n_folds}."
            raise ValueError(msg)
        return Rows(self._reading, labels, n_folds)

    def _found_labels(self) -> tuple[Any, ...]:
        """Return the two labels: of the first rows, or of all where those have fewer."""
        if self._labels is None:
            found: list[Any] = []
            for first in (_LOOK_ROWS, None):
                question = Question(
                    ({"y": self._reading.label},),
                    (ROWS,),
                    (("y",),),
                    first_rows=first,
                    most_groups=8,
                )
                found = [a.keys[0] for a in self._engine.ask(question)]
                found = [v for v in found if v is not None and v == v]
                if len(found) > 1:
                    break
            if len(found) > 2:
                shown = ", ".join(map(repr, sorted(found)[:5])) + (", ..." if found[5:] else "")
                msg = (
                    f"{self._engine.where}: the target must hold two labels; got more: {shown}. "
                    "Merge them into two, or keep two."
                )
                raise SourceError(msg)
            self._labels = tuple(sorted(found))
        return self._labels

    def _expected(self, labels: tuple[Any, ...]) -> list[float] | None:
        if not self._weights:
            return None
        return [self._weights.get(label, 0.0) for label in labels]

    def _check_weight(self, rows: Rows, found: Array) -> None:
        for before, now in zip(self._expected(rows.labels) or found, found, strict=True):
            if not np.isclose(before, now, rtol=1e-9):
                raise changed(rows, int(before), int(now))


def _reweighed(
    part: Any, labels: tuple[Any, ...], weights: dict[Any, float], parts: Sequence[Any]
) -> Any:
    """Return the moments of a subset, each label weighted to what it weighs in the whole table."""
    found = np.sum([p.weight for p in parts], axis=0)
    wanted = np.array([weights.get(label, 0.0) for label in labels] + [0.0])[:2]
    factor = np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 1.0)
    return replace(
        part,
        weight=part.weight * factor,
        scatter=part.scatter * factor[:, None, None],
    )
