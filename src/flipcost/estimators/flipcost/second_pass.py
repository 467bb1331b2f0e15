"""The second pass over a table: scores of all rows, each by what its own fold has not seen.

It counts labels in bins of each score; it can also group all rows into cells of nearly the same
score, and watch for the rows whose score speaks most against their label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from flipcost.core.calibration import N_BINS
from flipcost.core.scoring import bin_numbers, fold_scores
from flipcost.estimators.flipcost.drawing import merge_samples, place_marks, smallest_keys
from flipcost.tables.engine_drawing import DrawingTable
from flipcost.tables.histogram import ScoreHistogram
from flipcost.tables.rows import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from flipcost.core.hinges import HingeBasis
    from flipcost.estimators.flipcost.drawing import Drawing
    from flipcost.tables.engine_table import EngineTable
    from flipcost.tables.rows import Piece
    from flipcost.tables.sample import RowSample

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Keys = NDArray[np.uint64]

# Rows are expanded in chunks, so that no expanded copy of a piece is made.
_CHUNK_ROWS = 8_192
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """All rows in groups of one label and nearly the same score.

    Cells are of equal width in the leading score, within the limits of its histogram.

    Attributes
    ----------
    weight, squares : ndarray of shape (2 * n_cells,)
        Total weight and squared weight of each cell, of the negative label and the positive one in
        turn.
    scores : ndarray of shape (n_scores, 2 * n_cells)
        Weighted sum of every score.
    """

    weight: Array
    squares: Array
    scores: Array

    @classmethod
    def from_scores(
        cls,
        scores: Array,
        positive: Flags,
        lead: int,
        limits: tuple[float, float],
        n_cells: int,
        weight: Array | None = None,
    ) -> ScoreCells:
        """Group rows with scores of shape (n, n_scores)."""
        low, high = limits
        cell = 2 * bin_numbers(scores[:, lead], low, high, n_cells) + positive
        w = np.ones(len(cell)) if weight is None else weight
        return cls(
            np.bincount(cell, w, 2 * n_cells).astype(float),
            np.bincount(cell, w**2, 2 * n_cells).astype(float),
            np.stack([np.bincount(cell, w * s, 2 * n_cells) for s in scores.T]),
        )

    def merge(self, other: ScoreCells) -> ScoreCells:
        """Return the cells of both sets of rows."""
        return ScoreCells(
            self.weight + other.weight, self.squares + other.squares, self.scores + other.scores
        )


@dataclass(frozen=True, eq=False)
class SecondFound:
    """Bins of every score; and cells of all rows, or rows of each label, if asked for."""

    histogram: ScoreHistogram
    cells: ScoreCells | None
    watched: dict[Any, RowSample]

    def merge(self, other: SecondFound) -> SecondFound:
        """Return what both sets of rows give."""
        return SecondFound(
            self.histogram.merge(other.histogram),
            None if self.cells is None or other.cells is None else self.cells.merge(other.cells),
            merge_samples(self.watched, other.watched),
        )


@dataclass(frozen=True, eq=False)
class SecondPass:
    """Count labels in bins of the scores that each row's own fold gives.

    Parameters
    ----------
    layout : Any
        Roles of the columns.
    basis : HingeBasis
        What rows are expanded by.
    coefficients : ndarray of shape (n_folds, n_scores, n_columns + 1)
        Of each fold, for its own rows.
    labels : tuple
        The negative label and the positive one.
    low, high : ndarray of shape (n_scores,)
        Limits of the bins.
    lead : int
        The score that makes the cells, and that rows are watched by.
    n_cells : int
        Number of cells for each label; none when 0.
    watching : Drawing or None
        How many rows of each label to keep: those with the least score of the positive label, and
        those with the largest of the negative one.

    Examples
    --------
    >>> from flipcost.core.hinges import HingeBasis
    >>> from flipcost.scale import scan_batches
    >>> table = scan_batches([(np.array([[-1.0], [2.0]]), np.array([0, 1]))])
    >>> limits, path = (np.array([-4.0]), np.array([4.0])), np.array([[[1.0, 0.0]]])
    >>> task = SecondPass(table.layout, HingeBasis.linear(1), path, (0, 1), *limits, lead=0)
    >>> float(table.reduce(task).histogram.weight.sum())
    2.0
    """

    layout: Any
    basis: HingeBasis
    coefficients: Array
    labels: tuple[Any, ...]
    low: Array
    high: Array
    lead: int
    n_cells: int = 0
    watching: Drawing | None = None

    def __call__(self, piece: Piece) -> SecondFound:
        """Count the rows of one piece."""
        rows = self.layout.rows(piece)
        positive, folds = rows.positive(self.labels), rows.folds(len(self.coefficients))
        leading = np.empty(piece.n_rows)
        # A piece without rows is counted too: what it is merged with has a place for everything.
        total = self._count(np.empty((0, len(self.low))), positive[:0], None)
        for own, scores in self._scores(rows, folds):
            if self.watching is not None:
                leading[own] = scores[self.lead]
            weight = None if rows.weight is None else rows.weight[own]
            total = total.merge(self._count(scores.T, positive[own], weight))
        if self.watching is None:
            return total
        watched = self._watch(self.watching, rows, positive, folds, leading)
        return SecondFound(total.histogram, total.cells, watched)

    def by_queries(self, table: EngineTable) -> SecondFound:
        """Have the engine count; scores are expressions there, bends the larger of two values."""
        bins = table.score_cells(
            self.coefficients,
            self.labels,
            (self.low, self.high),
            N_BINS,
            self.basis,
            lead=self.lead,
            n_cells=self.n_cells,
        )
        histogram = ScoreHistogram(self.low, self.high, bins.weight, bins.squares, bins.scores)
        cells = None
        if self.n_cells:
            cells = ScoreCells(bins.cell_weight, bins.cell_squares, bins.cell_scores)
        if self.watching is None or not isinstance(table, DrawingTable):
            return SecondFound(histogram, cells, {})
        size, watched = self.watching.size, {}
        for label, out in zip(
            self.labels,
            table.watch(self.coefficients, self.labels, self.basis, self.lead, size),
            strict=True,
        ):
            rows, marks = Layout().rows(out.piece), place_marks(out.folds, out.piece)
            chosen = np.arange(out.piece.n_rows)
            watched[label] = self.watching.sample(size, out.keys, rows, marks, chosen)
        return SecondFound(histogram, cells, watched)

    def _scores(
        self, rows: Any, folds: NDArray[np.int16] | None
    ) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Yield some rows, and their out-of-fold scores of shape (n_scores, n)."""
        X = rows.X
        values = X.data if sparse.issparse(X) else X
        # One sum finds what is not finite; it may overflow without.
        if not (np.isfinite(values.sum()) or np.isfinite(values).all()):
            raise rows.fault(ValueError("X must be finite."))
        bends = self.basis.n_columns > self.basis.n_features
        for start in range(0, X.shape[0], _CHUNK_ROWS):
            some = np.arange(start, min(start + _CHUNK_ROWS, X.shape[0]))
            own = None if folds is None else folds[some]
            expand = self.basis.expand if bends else None
            yield some, fold_scores(X[some], self.coefficients, own, expand)

    def _count(self, scores: Array, positive: Flags, weight: Array | None) -> SecondFound:
        histogram = ScoreHistogram.from_scores(
            scores, positive, self.low, self.high, N_BINS, weight
        )
        cells = None
        if self.n_cells:
            limits = self.low[self.lead], self.high[self.lead]
            cells = ScoreCells.from_scores(
                scores, positive, self.lead, limits, self.n_cells, weight
            )
        return SecondFound(histogram, cells, {})

    def _watch(
        self,
        watching: Drawing,
        rows: Any,
        positive: Flags,
        folds: NDArray[np.int16] | None,
        leading: Array,
    ) -> dict[Any, RowSample]:
        keys = _sortable(np.where(positive, leading, -leading))
        marks = place_marks(folds, rows.piece)
        found = {}
        for code, label in enumerate(self.labels):
            chosen = smallest_keys(keys, np.flatnonzero(positive == bool(code)), watching.size)
            found[label] = watching.sample(watching.size, keys, rows, marks, chosen)
        return found


def _sortable(values: Array) -> Keys:
    """Return 64-bit keys in the order of the values."""
    bits = (values + 0.0).view(np.uint64)  # adding zero makes one of the two zeros
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)
