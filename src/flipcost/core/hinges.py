"""Hinge features: the basis of linear splines.

Each feature x is kept and joined by ``max(0, x - t)`` for knots t at its quantiles, so that a
linear combination is a piecewise-linear function of every feature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flipcost.core.arrays import Array, Indices

# Quantiles of a sample are close enough for knots, and cost nothing at any number of rows.
_SAMPLE_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class HingeBasis:
    """Linear-spline basis of d features: feature and knot of each hinge."""

    n_features: int
    feature: Indices
    knot: Array

    @classmethod
    def linear(cls, n_features: int) -> HingeBasis:
        """Return the basis that leaves rows as they are."""
        return cls(n_features, np.empty(0, np.intp), np.empty(0))

    @property
    def n_columns(self) -> int:
        """Number of columns of an expanded row."""
        return self.n_features + len(self.knot)

    @classmethod
    def from_rows(cls, X: Array, n_knots: int, sample_weight: Array | None = None) -> HingeBasis:
        """Place up to ``n_knots`` knots at evenly spaced quantiles of each feature.

        Features with few distinct values get knots between those only; one with two values, such
        as an indicator, gets none.
        """
        step = max(1, len(X) // _SAMPLE_ROWS)
        sample = np.asarray(X[::step], dtype=float)
        weight = None if sample_weight is None else sample_weight[::step]
        levels = np.arange(1, n_knots + 1) / (n_knots + 1)
        lowest, highest = sample.min(axis=0), sample.max(axis=0)
        feature: list[Indices] = []
        knot: list[Array] = []
        previous = lowest
        for quantile in _quantiles(sample, weight, levels):
            # A quantile that repeats another, or sits at an end, adds nothing.
            inner = np.flatnonzero((quantile > previous) & (quantile < highest))
            feature.append(inner)
            knot.append(quantile[inner])
            previous = np.maximum(previous, quantile)
        empty = np.empty(0)
        return cls(
            X.shape[1],
            np.concatenate([np.empty(0, np.intp), *feature]),
            np.concatenate([empty, *knot]),
        )

    def runs(self) -> list[slice]:
        """Return the runs of ascending features that hinges come in, one a quantile."""
        ends = np.flatnonzero(np.diff(self.feature, append=-1) <= 0) + 1
        return [slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=False)]

    def raising(self, lines: Array) -> Callable[[], object]:
        """Return what writes max(x, t) of each hinge below the lines of the features.

        For ``lines`` of shape (d + h, n), one column a line of memory without gaps, that are filled
        again and again. Maxima of whole lines with lines of one knot each take half the time of
        maxima with numbers, and one call for all a third less again.
        """
        d, n = self.n_features, lines.shape[1]
        features, hinges = lines[:d], lines[d:]
        knots = np.repeat(self.knot[:, None], n, axis=1)
        runs = [(run, self.feature[run]) for run in self.runs()]
        if len(self.knot) == len(runs) * d:
            deep = (len(runs), d, n)
            above, found = knots.reshape(deep), hinges.reshape(deep)
            return lambda: np.maximum(features, above, out=found)

        def write() -> None:
            for run, which in runs:
                source = features if len(which) == d else features[which]
                np.maximum(source, knots[run], out=hinges[run])

        return write

    def expand(self, X: Array, out: Array | None = None) -> Array:
        """Return rows with their hinges appended, shape (n, d + h), in ``out`` when it is given."""
        d = self.n_features
        rows = np.empty((len(X), self.n_columns)) if out is None else out[: len(X)]
        rows[:, :d] = X
        # Whole runs need no copy.
        for run in self.runs():
            source = X if run.stop - run.start == d else X[:, self.feature[run]]
            hinges = rows[:, d + run.start : d + run.stop]
            np.subtract(source, self.knot[run], out=hinges)
            np.maximum(hinges, 0.0, out=hinges)
        return rows


def _quantiles(rows: Array, weight: Array | None, levels: Array) -> Array:
    """Return quantiles of each column that are values of it, with weights as repetitions."""
    lying = np.array(rows.T, order="C")  # a copy: it is sorted in place
    # Half a rounding error below, so that a level that is met exactly counts as met.
    wanted = levels * (1 - 1e-12)
    if weight is None:  # sorting alone is ten times as fast
        lying.sort(axis=1)
        place = np.searchsorted(np.arange(1.0, len(rows) + 1), wanted * len(rows))
        return np.asarray(lying[:, place].T)
    order = np.argsort(lying, axis=1, kind="stable")
    reached = np.cumsum(weight[order], axis=1)
    place = (reached[None] < wanted[:, None, None] * reached[:, -1:]).sum(axis=2)
    return np.take_along_axis(np.take_along_axis(lying, order, axis=1), place.T, axis=1).T
