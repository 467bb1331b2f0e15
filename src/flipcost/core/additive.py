"""Scoring new rows fast: additive scores by one product, probabilities by tables.

A row gets the same bytes whichever rows come with it. Rows are put into blocks of one size, the
last one filled up, so that every row meets the same arithmetic; that a product by BLAS rounds all
places of such a block alike is tried first, and another sum takes its place where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.arrays import Array
from flipcost.core.hinges import HingeBasis

# Rows of a block: 80 columns of them fit a second-level cache. Times for 1,000,000 x 20 are flat
# between 512 and 4,096. Wide rows come in smaller blocks, of this many numbers.
_BLOCK_ROWS, _BLOCK_NUMBERS = 2048, 1 << 18
# Rows that are repeated through a block to see whether their place in it matters.
_TRIALS = 3


@dataclass(frozen=True, eq=False)
class AdditiveScores:
    """Scores that are sums of a piecewise-linear function of each feature.

    Attributes
    ----------
    basis : HingeBasis
        Which feature bends where.
    slopes : ndarray of shape (m, n_columns)
        Coefficients of the features and of their hinges.
    bias : ndarray of shape (m,)
        What is added.

    Examples
    --------
    >>> basis = HingeBasis(1, np.array([0]), np.array([2.0]))
    >>> scores = AdditiveScores(basis, np.array([[1.0, -1.0]]), np.array([5.0]))
    >>> scores.score(np.array([[1.0], [2.0], [9.0]]))
    array([[6., 7., 7.]])
    """

    basis: HingeBasis
    slopes: Array
    bias: Array

    @classmethod
    def used(cls, basis: HingeBasis, slopes: Array, bias: Array) -> AdditiveScores:
        """Leave out the hinges that no score uses."""
        d = basis.n_features
        bends = np.flatnonzero(slopes[:, d:].any(axis=0))
        kept = HingeBasis(d, basis.feature[bends], basis.knot[bends])
        columns = np.concatenate([np.arange(d), d + bends])
        return cls(kept, np.ascontiguousarray(slopes[:, columns]), bias)

    def blocks(
        self, X: Any, mend: Callable[[Any], Any] | None = None, *, always: bool = False
    ) -> Iterator[tuple[slice, Array]]:
        """Score rows a block at a time.

        Parameters
        ----------
        X : array of n rows
            Of as many columns as there are features, unless `mend` makes them.
        mend : callable, optional
            Applied to the rows of a block in which something is not finite.
        always : bool, default=False
            Apply it to all blocks.

        Yields
        ------
        rows : slice
            Which rows.
        scores : ndarray of shape (m, n_rows)
            Overwritten by the next block.
        """
        d, knots = self.basis.n_features, self.basis.knot[:, None]
        runs = self.basis.runs()
        product = _product(*self.slopes.shape)
        # max(0, x - t) is max(x, t) less t, which goes into the bias.
        bias = (self.bias - self.slopes[:, d:] @ self.basis.knot)[:, None]
        step = _block_rows(self.slopes.shape[1])
        columns = np.zeros((self.slopes.shape[1], step))
        scores = np.empty((len(self.slopes), step))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            size = len(block)
            plain = columns[:d, :size]
            if not always:
                plain[:] = block.T
            if mend is not None and (always or not np.isfinite(plain.sum())):
                plain[:] = mend(block).T
            for run in runs:
                feature = self.basis.feature[run]
                source = columns[:d] if len(feature) == d else columns[feature]
                np.maximum(source, knots[run], out=columns[d + run.start : d + run.stop])
            product(self.slopes, columns, scores)
            np.add(scores, bias, out=scores)
            yield slice(start, start + size), scores[:, :size]

    def score(self, X: Any) -> Array:
        """Return the scores of rows, shape (m, n)."""
        found = np.empty((len(self.slopes), X.shape[0]))
        for rows, scores in self.blocks(X):
            found[:, rows] = scores
        return found


def _block_rows(n_columns: int) -> int:
    """Return the rows of a block: a multiple of 64, by the number of columns alone."""
    return int(np.clip(_BLOCK_NUMBERS // max(n_columns, 1) // 64 * 64, 64, _BLOCK_ROWS))


def _by_sum(slopes: Array, columns: Array, out: Array) -> None:
    """Multiply column by column: every row meets the same operations."""
    np.einsum("kd,dn->kn", slopes, columns, out=out)


def _by_blas(slopes: Array, columns: Array, out: Array) -> None:
    np.dot(slopes, columns, out=out)


@lru_cache(maxsize=256)
def _product(n_scores: int, n_columns: int) -> Callable[[Array, Array, Array], None]:
    """Return the product by BLAS if it rounds all rows of a block alike, which most do."""
    rng = np.random.default_rng(0)
    step = _block_rows(n_columns)
    out = np.empty((n_scores, step))
    for _ in range(_TRIALS):
        column = rng.normal(size=(n_columns, 1))
        _by_blas(rng.normal(size=(n_scores, n_columns)), np.repeat(column, step, axis=1), out)
        if not np.array_equal(out, np.broadcast_to(out[:, :1], out.shape)):
            return _by_sum
    return _by_blas


@dataclass(frozen=True, eq=False)
class CurveTables:
    """Curves on equally spaced places 0, 1, ..., straight between these, and flat beyond.

    Attributes
    ----------
    values : ndarray of shape (m, n_places)
        Nondecreasing. What is read off is nondecreasing too, to the last digit.

    Examples
    --------
    >>> tables = CurveTables(np.array([[0.0, 0.1, 0.5]]))
    >>> tables.sum_at(np.array([[-3.0, 0.5, 1.5, 9.0]]))
    array([0.  , 0.05, 0.3 , 0.5 ])
    """

    values: Array

    @cached_property
    def _rise(self) -> Array:
        """Differences, rounded down, so that no place between two gets more than the higher one."""
        rise = np.diff(self.values, axis=1, append=self.values[:, -1:])
        return np.maximum(np.nextafter(rise, -np.inf), 0.0)

    @cached_property
    def _first(self) -> NDArray[np.intp]:
        """Where each table begins among all of them."""
        m, n_places = self.values.shape
        return np.asarray((np.arange(m) * n_places)[:, None])

    def sum_at(self, places: Array) -> Array:
        """Return the sum of all curves, each at its own places, of shape (m, n)."""
        with np.errstate(invalid="ignore"):  # what is no number stays none
            inside = np.clip(places, 0.0, self.values.shape[1] - 1)
            cell = inside.astype(np.intp)
            inside -= cell
            cell += self._first
            inside *= self._rise.take(cell, mode="clip")
            inside += self.values.take(cell, mode="clip")
        total = inside[0]
        for more in inside[1:]:  # `sum` adds up one row of places in another order than many
            total += more
        return np.asarray(total)
