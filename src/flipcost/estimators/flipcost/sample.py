"""What stands for the rows of a table that is never held: rows drawn from it, or groups of all.

Drawn rows are weighted to the totals of their label and of their range of the leading score in the
whole table (post-stratification). Label totals, on which noise acts, then have no error from
sampling, and whether a row is called has little. Groups hold all rows, but take those of a group
for one: the mean of each score stands for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.calibration import N_BINS
from flipcost.core.scoring import bin_numbers, fold_scores
from flipcost.tables import arrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.hinges import HingeBasis
    from flipcost.estimators.flipcost.second_pass import ScoreCells
    from flipcost.tables.histogram import ScoreHistogram
    from flipcost.tables.sample import RowSample

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Sampled rows that a range of scores must hold to be one of its own.
_STRATUM_ROWS = 20
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class TableSample:
    """What stands for the rows of a table.

    Attributes
    ----------
    position : ndarray of int or None
        Where the rows are in the table; None when these are no rows but groups of rows of one
        label and nearly the same score.
    positive : ndarray of bool
        Their noisy label.
    weight : ndarray
        How much of the table each stands for.
    """

    position: NDArray[np.int64] | None
    positive: Flags
    weight: Array


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows of both labels, in the table's order.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features.
    folds : ndarray of int, shape (n,)
        Fold of each row.
    sample : TableSample
        Where they are, their labels and weights.
    frame : Arrow table or None
        The rows as they were in the source.
    scores : ndarray of shape (n_scores, n) or None
        Out-of-fold scores, once there are any.
    strata : tuple of Strata
        Of each label, once weighted.
    n_more : int
        How many of the last rows were not drawn, and stand for nothing: rows that were checked.
    """

    X: Array
    folds: NDArray[np.int64]
    sample: TableSample
    frame: Any = None
    scores: Any = None
    strata: tuple[Strata, ...] = ()
    n_more: int = 0

    @classmethod
    def of(
        cls, samples: dict[Any, RowSample], labels: tuple[Any, ...], totals: Array | None = None
    ) -> DrawnRows:
        """Join samples by label, weighted to the totals of the labels if these are given."""
        parts = [samples[label] for label in labels if label in samples]
        codes = [code for code, label in enumerate(labels) if label in samples]
        positive = np.repeat(np.array(codes, bool), [len(part.keys) for part in parts])
        weight = np.concatenate(
            [
                _weight(p, None if totals is None else totals[c])
                for c, p in zip(codes, parts, strict=True)
            ]
        )
        folds, position = np.concatenate([part.y for part in parts]).T
        order = np.argsort(position, kind="stable")
        frame = None
        if parts[0].frame is not None:
            frame = arrow.concatenate([part.frame for part in parts]).take(order)
        sample = TableSample(position[order], positive[order], weight[order])
        return cls(np.concatenate([part.X for part in parts])[order], folds[order], sample, frame)

    def scored(self, basis: HingeBasis, held_out: Array) -> DrawnRows:
        """Return the same with the scores that their own folds give."""
        return replace(self, scores=fold_scores(self.X, held_out, self.folds, basis.expand))

    def weighted(self, histogram: ScoreHistogram, lead: int) -> DrawnRows:
        """Return the same weighted to what the histogram of the leading score holds."""
        low, high = histogram.low[lead], histogram.high[lead]
        bins = bin_numbers(self.scores[lead], low, high, N_BINS)
        strata, weight = [], np.empty(len(bins))
        for label in (0, 1):
            inside = self.sample.positive == bool(label)
            strata.append(
                Strata.of(
                    bins[inside],
                    self.sample.weight[inside],
                    histogram.weight[0, lead, :, label],
                    histogram.squares[0, lead, :, label],
                )
            )
            weight[inside] = strata[-1].drawn
        return replace(self, strata=tuple(strata), sample=replace(self.sample, weight=weight))

    def joined(self, other: DrawnRows) -> tuple[DrawnRows, NDArray[np.intp]]:
        """Return the same with other rows at the end, without weight, and where these all are.

        Rows that are among these already are not joined again.
        """
        order = np.argsort(self.sample.position, kind="stable")  # type: ignore[arg-type]
        known = self.sample.position[order]  # type: ignore[index]
        place = np.minimum(np.searchsorted(known, other.sample.position), len(known) - 1)  # type: ignore[arg-type]
        places = order[place]
        new = np.flatnonzero(known[place] != other.sample.position)
        places[new] = len(known) + np.arange(len(new))
        mine, more = self.sample, other.sample
        sample = TableSample(
            np.concatenate([mine.position, more.position[new]]),  # type: ignore[index]
            np.concatenate([mine.positive, more.positive[new]]),
            np.concatenate([mine.weight, np.zeros(len(new))]),
        )
        frame = self.frame
        if frame is not None:
            frame = arrow.concatenate([frame, other.frame.take(new)])
        joined = replace(
            self,
            X=np.concatenate([self.X, other.X[new]]),
            folds=np.concatenate([self.folds, other.folds[new]]),
            sample=sample,
            frame=frame,
            scores=np.concatenate([self.scores, other.scores[:, new]], axis=1),
            n_more=len(new),
        )
        return joined, places

    def squares(self, called: Flags) -> Array:
        """Return the squared weights of a confusion table whose counts these rows gave."""
        called = called[: len(called) - self.n_more]
        positive = self.sample.positive[: len(called)]
        if called.all() or not called.any():  # a constant calls the rows that were not drawn too
            totals = [part.squares.sum() for part in self.strata]
            return np.outer(totals, np.arange(2) == called.any())
        return np.stack(
            [
                part.call_squares(called[positive == bool(label)])
                for label, part in enumerate(self.strata)
            ]
        )


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """All rows, in groups that count as one row each.

    Attributes
    ----------
    sample : TableSample
        Labels and weights of the groups.
    scores : ndarray of shape (n_scores, n)
        Mean of every score in each.
    squared : ndarray of shape (n,)
        Total squared weight of each.
    """

    sample: TableSample
    scores: Array
    squared: Array

    @classmethod
    def of(cls, cells: ScoreCells) -> GroupedRows:
        """Take the cells that hold rows."""
        filled = np.flatnonzero(cells.weight > 0)
        weight = cells.weight[filled]
        sample = TableSample(None, filled % 2 == 1, weight)
        return cls(sample, cells.scores[:, filled] / weight, cells.squares[filled])

    def weighted(self, histogram: ScoreHistogram, lead: int) -> GroupedRows:  # noqa: ARG002
        """Return the same: all rows are in it already."""
        return self

    def squares(self, called: Flags) -> Array:
        """Return the squared weights of a confusion table whose counts these groups gave."""
        cell = 2 * self.sample.positive.astype(np.intp) + called
        return np.bincount(cell, self.squared, 4).reshape(2, 2).astype(float)


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows of one label in ranges of one score: how many there are, and which were drawn.

    A call depends on the row mostly through the score that leads the pool, so that ranges of it
    leave little to chance: only where the rule's threshold falls do rows of a range differ.

    Attributes
    ----------
    weight, squares : ndarray of shape (G,)
        Total weight, and total squared weight, of each range in the table.
    place : ndarray of shape (n,)
        Range of each sampled row.
    drawn : ndarray of shape (n,)
        Its weight, adding up to ``weight`` in each range.
    """

    weight: Array
    squares: Array
    place: NDArray[np.intp]
    drawn: Array

    @classmethod
    def of(cls, bins: NDArray[np.intp], weight: Array, full: Array, full_squares: Array) -> Strata:
        """Join bins of the score until each range holds enough of the sampled rows."""
        counts = np.bincount(bins, minlength=len(full))
        before = np.cumsum(counts) - counts
        # Empty bins at the end belong to the last one that is not.
        before = np.minimum(before, before[np.flatnonzero(counts)[-1]])
        _, group = np.unique(before // _STRATUM_ROWS, return_inverse=True)
        size = int(group.max()) + 1
        total, squares = (np.bincount(group, v, size).astype(float) for v in (full, full_squares))
        place = group[bins]
        found = np.bincount(place, weight, size)
        drawn = weight * (total / np.where(found > 0, found, 1.0))[place]
        reached = drawn.sum()  # less than all where no row with a weight was drawn
        drawn *= total.sum() / reached if reached > 0 else 1.0
        return cls(total, squares, place, drawn)

    def call_squares(self, called: Flags) -> Array:
        """Return squared weights for the cells "not called" and "called" of a confusion table.

        They are those of all rows, and twice the variance that comes from sampling them: what one
        cell gains the other loses, and ``(a - b) ** 2 <= 2 (a ** 2 + b ** 2)``. There is none
        where all rows were drawn.
        """
        size = len(self.weight)
        mass = np.bincount(self.place, self.drawn, size)
        squares = np.maximum(np.bincount(self.place, self.drawn**2, size), _TINY)
        rows = mass**2 / squares
        all_rows = self.weight**2 / np.maximum(self.squares, _TINY)
        share = np.bincount(self.place, self.drawn * called, size) / np.maximum(mass, _TINY)
        # Half a row on either side, so that rows that agree do not pass for certainty.
        smooth = (rows * share + 0.5) / (rows + 1)
        spread = self.weight**2 * smooth * (1 - smooth) / np.maximum(rows, 1.0)
        spread *= np.clip(1 - rows / np.maximum(all_rows, _TINY), 0.0, 1.0)
        share = np.bincount(self.place, self.drawn**2 * called, size) / squares
        return np.stack([self.squares @ (1 - share), self.squares @ share]) + 2 * spread.sum()


def _weight(part: RowSample, total: float | None) -> Array:
    """Return weights of sampled rows that add up to the total of their label."""
    weight = np.ones(len(part.keys)) if part.weight is None else part.weight
    drawn = weight.sum()
    return weight * (total / drawn) if total is not None and drawn > 0 else weight
