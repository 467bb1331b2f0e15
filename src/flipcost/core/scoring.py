"""Scoring many linear classifiers on many rows, straight to confusion counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from flipcost.core._rows import block_size, group_codes, sort_groups
from flipcost.core.confusion import ConfusionCounts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

# Rows are also limited so that the scores of a block stay near the cache.
_SCORE_BYTES = 4_000_000


def fold_confusions(
    X: Any,
    positive: ArrayLike,
    coefficients: ArrayLike,
    folds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ConfusionCounts:
    """Count labels against calls for each fold's own classifiers, in one pass over the rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.
    positive : array-like of bool, shape (n,)
        Which rows are of the positive class.
    coefficients : array-like of shape (n_folds, n_classifiers, d + 1)
        Coefficients with the bias last; a row of fold k is scored by ``coefficients[k]``, and is
        called positive where the score is above zero.
    folds : array-like of int, shape (n,), optional
        Fold of each row; -1 leaves a row out. All rows are of fold 0 when it is not given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ConfusionCounts
        Of shape (n_folds, n_classifiers, 2, 2).

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> fold_confusions(X, [False, False, True], [[[1.0, 0.0], [0.0, 1.0]]]).counts[0]
    array([[[1., 1.],
            [0., 1.]],
    <BLANKLINE>
           [[0., 2.],
            [0., 1.]]])
    """
    rows = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    path = np.asarray(coefficients, dtype=float)
    n_folds, n_classifiers = path.shape[:2]
    group = group_codes(positive, folds, n_folds)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    # Called weight, called squared weight; then the same of all rows.
    called = np.zeros((2 * n_folds, 2, n_classifiers))
    present = np.zeros((2 * n_folds, 2, 1))
    n, d = rows.shape
    size = max(64, min(block_size(d), _SCORE_BYTES // (8 * n_classifiers), n))
    # Reused for every block: fresh memory would cost more than the arithmetic.
    scores, calls = np.empty((n_classifiers, size)), np.empty((n_classifiers, size), bool)
    buffer = np.empty((0 if sparse.issparse(rows) else size, d))
    for start in range(0, n, size):
        inside = slice(start, start + size)
        order, bounds = sort_groups(group[inside], 2 * n_folds)
        block = _take(rows[inside], order, buffer)
        block_weight = None if weight is None else weight[inside][order]
        for k in range(n_folds):
            first, last = bounds[2 * k], bounds[2 * k + 2]
            if first == last:
                continue
            fold_scores = _scores(block[first:last], path[k, :, :d], scores[:, : last - first])
            np.greater(fold_scores, -path[k, :, d:], out=calls[:, first:last])
        for g in range(2 * n_folds):
            part = slice(bounds[g], bounds[g + 1])
            if part.start == part.stop:
                continue
            w = None if block_weight is None else block_weight[part]
            called[g] += _call_weight(calls[:, part], w)
            present[g] += _call_weight(np.ones((1, part.stop - part.start), bool), w)
    table = np.stack([present - called, called], axis=-1)  # (2 folds, 2, classifiers, call)
    table = table.reshape(n_folds, 2, 2, n_classifiers, 2)  # fold, label, power, classifier, call
    counts, squares = np.moveaxis(table, (2, 3), (0, 2))
    return ConfusionCounts(counts, squares)


def _take(rows: Any, order: NDArray[np.intp], buffer: Array) -> Any:
    if sparse.issparse(rows):
        return rows[order]
    dense = np.ascontiguousarray(rows, dtype=float)
    return np.take(dense, order, axis=0, out=buffer[: len(order)], mode="clip")


def _scores(part: Any, coefficients: Array, out: Array) -> Array:
    """Return scores without the bias, one classifier a row: its calls then count fast."""
    if sparse.issparse(part):
        return np.asarray((part @ coefficients.T).T)
    return np.matmul(coefficients, part.T, out=out)


def _call_weight(calls: NDArray[np.bool_], weight: Array | None) -> Array:
    """Return the weight of each classifier's positive calls, and their squared weight."""
    if weight is None:
        counts = np.count_nonzero(calls, axis=1)
        return np.stack([counts, counts]).astype(float)
    return np.stack([calls @ weight, calls @ weight**2])
