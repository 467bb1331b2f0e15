"""Moments and scores of rows that bend, without expanded copies of the rows.

Blocks of rows are sorted by group and expanded *lying*, one column of the table a line of memory:
a hinge is then two sweeps over a line, and the moments of a group are one product of a slice. Of
1,000,000 x 20 rows with three knots a feature, expansion standing took more time than the products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core._rows import group_codes, sort_groups
from flipcost.core.arrays import Array, Indices
from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import ClassMoments, fold_moments

# A block, expanded, takes this many bytes: times of 1,000,000 x 20 are flat from 1 to 2 MB.
_BLOCK_BYTES = 1_500_000
# A mean that is further than this from the shift, squared, in variances, would cost digits.
_OFFSET_LIMIT = 1e5
_CHUNK_ROWS = 8_192
# Rows that are looked at for the shift.
_SHIFT_ROWS = 256


def hinge_moments(
    X: Array,
    basis: HingeBasis,
    positive: ArrayLike,
    folds: ArrayLike,
    n_folds: int,
    sample_weight: Array | None = None,
) -> list[ClassMoments]:
    """Gather the moments of expanded rows for every fold, in one pass over the rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    basis : HingeBasis
        What they are expanded by.
    positive, folds, n_folds, sample_weight
        As in `flipcost.core.moments.fold_moments`.

    Returns
    -------
    list of ClassMoments
        One for each fold, as `fold_moments` gives of expanded rows.

    Examples
    --------
    >>> X = np.arange(9.0)[:, None]
    >>> basis = HingeBasis.from_rows(X, n_knots=1)
    >>> moments = hinge_moments(X, basis, X[:, 0] > 3, np.arange(9) % 2, 2)
    >>> [part.mean.tolist() for part in moments]
    [[[1.0, 0.0], [6.0, 2.0]], [[2.0, 0.0], [6.0, 2.0]]]
    """
    group = group_codes(positive, folds, n_folds)
    gathered = _Gathered(basis, _shift(X), 2 * n_folds)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite goes the other way
        for start, order, bounds, block in _blocks(X, basis, group, 2 * n_folds, gathered.shift):
            weight = None if sample_weight is None else sample_weight[start + order]
            gathered.add(block, bounds, weight)
        parts = gathered.moments()
    if parts is None:  # an offset that is large against its spread, or what is not finite
        return _standing_moments(X, basis, positive, folds, n_folds, sample_weight)
    return parts


def _standing_moments(
    X: Array,
    basis: HingeBasis,
    positive: ArrayLike,
    folds: ArrayLike,
    n_folds: int,
    sample_weight: Array | None,
) -> list[ClassMoments]:
    """Gather the same from expanded rows, which shifts each block and says what is not finite."""
    labels, fold = np.asarray(positive), np.asarray(folds)
    parts = [ClassMoments.zeros(basis.n_columns)] * n_folds
    for start in range(0, len(X), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        weight = None if sample_weight is None else sample_weight[rows]
        more = fold_moments(basis.expand(X[rows]), labels[rows], fold[rows], n_folds, weight)
        parts = [a.merge(b) for a, b in zip(parts, more, strict=True)]
    return parts


def hinge_scores(X: Array, basis: HingeBasis, coefficients: Array, folds: ArrayLike) -> Array:
    """Score every row, expanded, by the classifiers of its own fold.

    Parameters
    ----------
    X, basis
        As in `hinge_moments`.
    coefficients : ndarray of shape (n_folds, n_classifiers, n_columns + 1)
        Coefficients with the bias last; a row of fold k is scored by ``coefficients[k]``.
    folds : array-like of int, shape (n,)
        Fold of each row.

    Returns
    -------
    ndarray of shape (n_classifiers, n)

    Examples
    --------
    >>> basis = HingeBasis(1, np.array([0]), np.array([1.0]))
    >>> coefficients = np.array([[[1.0, 0.0, 0.0]], [[0.0, 2.0, 5.0]]])
    >>> hinge_scores(np.array([[-1.0], [3.0], [2.0]]), basis, coefficients, [0, 1, 0])
    array([[-1.,  9.,  2.]])
    """
    n_folds, n_classifiers, _ = coefficients.shape
    slopes, bias = np.ascontiguousarray(coefficients[:, :, :-1]), coefficients[:, :, -1:]
    small: type[np.signedinteger] = np.int8 if n_folds < 128 else np.int32
    codes: NDArray[np.signedinteger] = np.asarray(folds).astype(small)
    scores = np.empty((n_classifiers, len(X)))
    buffer = np.empty(0)
    for start, order, bounds, block in _blocks(X, basis, codes, n_folds):
        size = len(order)
        if len(buffer) < n_classifiers * size:
            buffer = np.empty(n_classifiers * size)
        back = np.empty(size, np.intp)
        back[order] = np.arange(size)
        lying = buffer[: n_classifiers * size].reshape(n_classifiers, size)
        for k in range(n_folds):
            inside = slice(bounds[k], bounds[k + 1])
            np.add(np.dot(slopes[k], block[:, inside]), bias[k], out=lying[:, inside])
        for found, line in zip(scores, lying, strict=True):
            np.take(line, back, out=found[start : start + size], mode="clip")
    return scores


def _shift(X: Array) -> Array:
    """Return a value of each feature in the middle of some rows, which makes a constant exact 0."""
    sample = X[:: max(1, len(X) // _SHIFT_ROWS)]
    return np.asarray(np.partition(sample, len(sample) // 2, axis=0)[len(sample) // 2])


def _blocks(
    X: Array,
    basis: HingeBasis,
    group: NDArray[np.signedinteger],
    n_groups: int,
    shift: Array | None = None,
) -> Any:
    """Yield the start of a block, its order by group, bounds of groups, and it, expanded, lying."""
    n, d = X.shape
    size = min(max(128, _BLOCK_BYTES // (8 * basis.n_columns)), n)
    buffer, rows = np.empty((basis.n_columns, size)), np.empty((size, d))
    # Of a run of all features none need be copied.
    runs = [
        (
            slice(d + run.start, d + run.stop),
            slice(0, d) if run.stop - run.start == d else basis.feature[run],
            basis.knot[run][:, None],
        )
        for run in basis.runs()
    ]
    for start in range(0, n, size):
        order, bounds = sort_groups(group[start : start + size], n_groups)
        inside = X[start : start + size]
        source = np.take(inside, order, axis=0, out=rows[: len(order)], mode="clip")
        block = buffer[:, : len(order)]
        block[:d] = source.T
        for place, features, knots in runs:
            hinges = block[place]
            np.subtract(block[features], knots, out=hinges)
            np.maximum(hinges, 0.0, out=hinges)
        if shift is not None:
            block[:d] -= shift[:, None]
        yield start, order, bounds, block


class _Gathered:
    """Sums of lines and of their products, by group, about a shift of the features."""

    def __init__(self, basis: HingeBasis, shift: Array, n_groups: int):
        self.shift, self._d = shift, basis.n_features
        self._rows = np.zeros(n_groups, np.int64)
        self._weight = np.zeros(n_groups)
        self._first = np.zeros((n_groups, basis.n_columns))
        self._second = np.zeros((n_groups, basis.n_columns, basis.n_columns))

    def add(self, block: Array, bounds: Indices, weight: Array | None) -> None:
        if weight is not None:
            block, plain = block * np.sqrt(weight), block
        for g in np.flatnonzero(np.diff(bounds)):
            inside = slice(bounds[g], bounds[g + 1])
            self._rows[g] += inside.stop - inside.start
            # Of a copy without gaps numpy computes one half of the product only. By `np.dot`:
            # while it runs, other threads can too, which is not so of ``@``.
            lines = block[:, inside].copy()
            self._second[g] += np.dot(lines, lines.T)
            if weight is None:
                self._first[g] += lines.sum(axis=1)
            else:
                self._weight[g] += weight[inside].sum()
                self._first[g] += np.dot(plain[:, inside], weight[inside])
        if weight is None:
            self._weight[:] = self._rows

    def moments(self) -> list[ClassMoments] | None:
        """Return the moments of each fold, or None where digits would be lost about this shift."""
        weight = np.where(self._weight > 0, self._weight, 1.0)[:, None]
        mean = self._first / weight
        # Offsets of all groups against the variance over all rows.
        square = np.diagonal(self._second, axis1=1, axis2=2).sum(axis=0) / weight.sum()
        variance = square - (self._first.sum(axis=0) / weight.sum()) ** 2
        if not np.isfinite(square).all() or np.any(mean**2 > _OFFSET_LIMIT * variance):
            return None
        scatter = self._second - mean[:, :, None] * self._first[:, None, :]
        mean[:, : self._d] += self.shift
        mean[self._weight == 0] = 0.0
        pairs = [slice(k, k + 2) for k in range(0, len(mean), 2)]
        return [ClassMoments(self._rows[k], self._weight[k], mean[k], scatter[k]) for k in pairs]
