"""Moments and scores of rows that bend, without expanded copies of the rows.

Blocks of rows are sorted by group and expanded *lying*, one column of the table a line of memory:
a hinge is then two sweeps over a line, and the moments of a group are one product of a slice. Of
1,000,000 x 20 rows with three knots a feature, expansion standing took more time than the products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core._rows import sort_groups
from flipcost.core.arrays import Array, Indices
from flipcost.core.even import LabelMoments
from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import ClassMoments, fold_moments

# A block, expanded, takes this many bytes: times of 1,000,000 x 20 are flat from 1 to 2 MB.
_BLOCK_BYTES = 1_500_000
# A mean that is further than this from the shift, squared, in variances, would cost digits.
_OFFSET_LIMIT = 1e5
_CHUNK_ROWS = 8_192
# Rows that are sorted at a time to be scored, and their bytes at most.
_SORTED_ROWS, _SORTED_BYTES = 16_384, 3_000_000
# Rows that are looked at for the shift.
_SHIFT_ROWS = 256


def label_moments(
    X: Array,
    basis: HingeBasis,
    positive: ArrayLike,
    folds: ArrayLike,
    n_folds: int,
    sample_weight: Array | None = None,
) -> list[LabelMoments]:
    """Gather the moments of expanded rows and their labels for every fold, in one pass.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    basis : HingeBasis
        What they are expanded by.
    positive, folds, n_folds, sample_weight
        As in `flipcost.core.moments.fold_moments`; each row has a fold.

    Returns
    -------
    list of LabelMoments
        One for each fold.

    Examples
    --------
    >>> X = np.arange(9.0)[:, None]
    >>> basis = HingeBasis.from_rows(X, n_knots=1)
    >>> moments = label_moments(X, basis, X[:, 0] > 3, np.arange(9) % 2, 2)
    >>> [part.mean.round(3).tolist() for part in moments]
    [[4.0, 1.2, 0.6], [4.0, 1.0, 0.5]]
    """
    labels = np.asarray(positive, dtype=float)
    gathered = _Gathered(basis, _shift(X), n_folds)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite goes the other way
        blocks = _blocks(X, basis, _codes(folds, n_folds), n_folds, labels, gathered.shift)
        for rows, bounds, block in blocks:
            gathered.add(block, bounds, None if sample_weight is None else sample_weight[rows])
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
) -> list[LabelMoments]:
    """Gather the same from expanded rows, which shifts each block and says what is not finite."""
    labels, fold = np.asarray(positive), np.asarray(folds)
    parts = [ClassMoments.zeros(basis.n_columns)] * n_folds
    for start in range(0, len(X), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        weight = None if sample_weight is None else sample_weight[rows]
        more = fold_moments(basis.expand(X[rows]), labels[rows], fold[rows], n_folds, weight)
        parts = [a.merge(b) for a, b in zip(parts, more, strict=True)]
    return [LabelMoments.from_classes(part) for part in parts]


def hinge_scores(X: Array, basis: HingeBasis, coefficients: Array, folds: ArrayLike) -> Array:
    """Score every row, expanded, by the classifiers of its own fold.

    Parameters
    ----------
    X, basis
        As in `label_moments`.
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
    scores = np.empty((coefficients.shape[1], len(X)))
    for rows, lying in sorted_scores(X, basis, coefficients, folds):
        first = int(rows.min())
        back = np.empty(len(rows), np.intp)
        back[rows - first] = np.arange(len(rows))
        for found, line in zip(scores, lying, strict=True):
            np.take(line, back, out=found[first : first + len(rows)], mode="clip")
    return scores


def sorted_scores(
    X: NDArray[np.floating], basis: HingeBasis, coefficients: Array, folds: ArrayLike
) -> Iterator[tuple[Indices, Array]]:
    """Score rows as `hinge_scores` does, by and by, in an order that is quick.

    Parameters
    ----------
    X, basis, coefficients, folds
        As in `hinge_scores`; X may be of float32 too.

    Yields
    ------
    rows : ndarray of int, shape (m,)
        The next rows, sorted by fold.
    scores : ndarray of shape (n_classifiers, m)
        Their scores, overwritten by the next ones.

    Examples
    --------
    >>> basis = HingeBasis(1, np.array([0]), np.array([1.0]))
    >>> coefficients = np.array([[[1.0, 0.0, 0.0]], [[0.0, 2.0, 5.0]]])
    >>> X = np.array([[-1.0], [3.0], [2.0]])
    >>> [(rows, scores)] = sorted_scores(X, basis, coefficients, [0, 1, 0])
    >>> rows, scores
    (array([0, 2, 1]), array([[-1.,  2.,  9.]]))
    """
    (n, d), (n_folds, n_classifiers, width) = X.shape, coefficients.shape
    slopes = np.ascontiguousarray(coefficients[:, :, :d])
    # Classifiers of the features alone have nothing to do with hinges.
    bent = np.flatnonzero(coefficients[:, :, d:-1].any(axis=(0, 2)))
    # A product of seven lines takes longer than one of eight: 46 and 31 ns a row of 80 columns.
    bent_slopes = np.zeros((n_folds, -(-len(bent) // 4) * 4, width - 1 - d))
    bent_slopes[:, : len(bent)] = coefficients[:, bent, d:-1]
    # Of a hinge max(x - knot, 0) = max(x, knot) - knot the last part is the same for all rows.
    bias = coefficients[:, :, -1].copy()
    bias[:, bent] -= bent_slopes[:, : len(bent)] @ basis.knot
    codes = _codes(folds, n_folds)
    # Hinges and their knots stay in the cache; a sort serves more rows than that.
    most = max(128, _BLOCK_BYTES // (16 * width))
    size = min(max(most, n_folds * width, min(_SORTED_ROWS, _SORTED_BYTES // (8 * d))), n)
    lines, scores = np.empty((d, size)), np.empty((n_classifiers, size))
    # Maxima of lines without gaps take half the time of others: blocks are of one length, and what
    # is beyond their rows is computed too, and left.
    step = _even_step(size, n_folds, most)
    raised, more = np.zeros((width - 1, step)), np.empty((bent_slopes.shape[1], step))
    features, hinges, write_hinges = raised[:d], raised[d:], basis.raising(raised)
    joined = _joined(bent)
    for start in range(0, n, size):
        order, bounds = sort_groups(codes[start : start + size], n_folds)
        block = lines[:, : len(order)]
        _lay(X[start : start + size], order, block, most)
        for k in range(n_folds):
            inside = slice(bounds[k], bounds[k + 1])
            np.add(np.dot(slopes[k], block[:, inside]), bias[k, :, None], out=scores[:, inside])
        for k in range(n_folds if len(bent) else 0):
            for first in range(bounds[k], bounds[k + 1], step):
                inside = slice(first, min(first + step, int(bounds[k + 1])))
                own = slice(0, inside.stop - first)
                np.copyto(features[:, own], block[:, inside])
                write_hinges()
                np.dot(bent_slopes[k], hinges, out=more)
                scores[joined, inside] += more[: len(bent), own]  # zeros come last
        yield order + start, scores[:, : len(order)]


def _even_step(size: int, n_folds: int, most: int) -> int:
    """Return the rows of a block: most folds, of about as many rows each, fill whole blocks."""
    rows = int(size / n_folds + 2 * np.sqrt(size / n_folds)) + 1
    return -(-rows // (8 * -(-rows // most))) * 8


def _joined(places: Indices) -> Any:
    """Return places that follow each other as a slice."""
    if len(places) and int(places[-1]) - int(places[0]) == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _codes(folds: ArrayLike, n_folds: int) -> NDArray[np.signedinteger]:
    """Return folds as small integers, which sort in one pass."""
    small: type[np.signedinteger] = np.int8 if n_folds < 128 else np.int32
    return np.asarray(folds).astype(small)


def _shift(X: Array) -> Array:
    """Return a value of each feature in the middle of some rows, which makes a constant exact 0."""
    sample = X[:: max(1, len(X) // _SHIFT_ROWS)]
    return np.asarray(np.partition(sample, len(sample) // 2, axis=0)[len(sample) // 2])


def _blocks(
    X: Array,
    basis: HingeBasis,
    folds: NDArray[np.signedinteger],
    n_folds: int,
    labels: Array | None = None,
    shift: Array | None = None,
) -> Iterator[tuple[Indices, Indices, Array]]:
    """Yield rows by fold, where each fold starts, and the rows, expanded, lying, with labels."""
    (n, d), width = X.shape, basis.n_columns
    step = max(128, _BLOCK_BYTES // (8 * max(width, 1)))
    # Each fold of a block ends in sums of width x width numbers, which want as many rows to pay.
    size = min(max(step, n_folds * width), n)
    buffer = np.empty((width + (labels is not None), size))
    runs = _runs(basis)
    for start in range(0, n, size):
        order, bounds = sort_groups(folds[start : start + size], n_folds)
        rows = order + start
        block = buffer[:, : len(rows)]
        _lay(X[start : start + size], order, block[:d], step)
        for place, features, knots in runs:
            hinges = block[d:width][place]
            np.subtract(block[features], knots, out=hinges)
            np.maximum(hinges, 0.0, out=hinges)
        if shift is not None:
            block[:d] -= shift[:, None]
        if labels is not None:
            block[width] = labels[rows]
        yield rows, bounds, block


def _runs(basis: HingeBasis) -> list[tuple[slice, Any, Array]]:
    """Return the place of the hinges of each run, their features, and their knots."""
    d = basis.n_features
    return [
        (
            run,
            # Of a run of all features none need be copied.
            slice(0, d) if run.stop - run.start == d else basis.feature[run],
            basis.knot[run][:, None],
        )
        for run in basis.runs()
    ]


def _lay(rows: NDArray[np.floating], order: Indices, out: Array, step: int) -> None:
    """Write rows in another order, one column a line, so many at a time."""
    if rows.strides[0] == rows.itemsize:
        # One call for all columns: a thread that lets go of Python's lock may wait for it.
        out[...] = np.take(np.asarray(rows.T, dtype=float, order="C"), order, axis=1)
        return
    standing = np.ascontiguousarray(rows)
    for first in range(0, len(order), step):
        inside = slice(first, first + step)
        out[:, inside] = np.take(standing, order[inside], axis=0).T


class _Gathered:
    """Sums of lines and of their products, by fold, about a shift of the features."""

    def __init__(self, basis: HingeBasis, shift: Array, n_folds: int):
        self.shift, self._d = shift, basis.n_features
        self._weight = np.zeros(n_folds)
        self._first = np.zeros((n_folds, basis.n_columns + 1))
        self._second = np.zeros((n_folds, basis.n_columns + 1, basis.n_columns + 1))

    def add(self, block: Array, bounds: Indices, weight: Array | None) -> None:
        for k in np.flatnonzero(np.diff(bounds)):
            inside = slice(bounds[k], bounds[k + 1])
            # Of a copy without gaps numpy computes one half of the product only. By `np.dot`:
            # while it runs, other threads can too, which is not so of ``@``.
            lines = block[:, inside].copy()
            if weight is None:
                self._weight[k] += inside.stop - inside.start
                self._first[k] += lines.sum(axis=1)
            else:
                own = weight[inside]
                self._weight[k] += own.sum()
                self._first[k] += np.dot(lines, own)
                lines *= np.sqrt(own)
            self._second[k] += np.dot(lines, lines.T)

    def moments(self) -> list[LabelMoments] | None:
        """Return the moments of each fold, or None where digits would be lost about this shift."""
        weight = np.where(self._weight > 0, self._weight, 1.0)[:, None]
        mean = self._first / weight
        # Offsets of all folds against the variance over all rows.
        square = np.diagonal(self._second, axis1=1, axis2=2).sum(axis=0) / weight.sum()
        variance = square - (self._first.sum(axis=0) / weight.sum()) ** 2
        far = mean[:, :-1] ** 2 > _OFFSET_LIMIT * variance[:-1]
        if not np.isfinite(square).all() or far.any():
            return None
        self._second -= mean[:, :, None] * self._first[:, None, :]
        mean[self._weight > 0, : self._d] += self.shift
        return [
            LabelMoments(float(own), centre, scatter)
            for own, centre, scatter in zip(self._weight, mean, self._second, strict=True)
        ]
