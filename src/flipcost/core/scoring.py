"""Scoring rows by linear classifiers that were not trained on them.

One loop over blocks of rows (`score_parts`) ends in counts (`fold_confusions`), in a histogram
(`flipcost.scale.ScoreHistogram`) or in the scores themselves (`fold_scores`). New rows, which are
of no fold, are scored by `row_scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.moments import block_size, group_codes, sort_groups

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

    A row of fold k is scored by ``coefficients[k]``, of shape (n_classifiers, d + 1) with the bias
    last, and called positive where the score is above zero; -1 as a fold leaves it out, and all
    rows are of fold 0 when no folds are given. Counts are of shape (n_folds, n_classifiers, 2, 2).
    """
    path = np.asarray(coefficients, dtype=float)
    n_folds, n_classifiers = path.shape[:2]
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    # Called weight, called squared weight; then the same of all rows.
    called = np.zeros((n_folds, 2, 2, n_classifiers))
    present = np.zeros((n_folds, 2, 2, 1))
    for part in score_parts(X, path, folds, positive):
        calls = part.scores > -part.bias
        for label, inside in enumerate(part.by_label):
            if inside.start < inside.stop:
                w = None if weight is None else weight[part.rows[inside]]
                called[part.fold, label] += _call_weight(calls[:, inside], w)
                here = np.ones((1, inside.stop - inside.start), bool)
                present[part.fold, label] += _call_weight(here, w)
    table = np.stack([present - called, called], axis=-1)  # fold, label, power, classifier, call
    counts, squares = np.moveaxis(table, (2, 3), (0, 2))
    return ConfusionCounts(counts, squares)


def fold_scores(
    X: Any,
    coefficients: ArrayLike,
    folds: ArrayLike | None = None,
    expand: Callable[[Array], Array] | None = None,
) -> Array:
    """Score every row by the classifiers of its own fold, as in `fold_confusions`; (m, n).

    `expand` leads from dense rows to the columns that the coefficients speak of.
    """
    path = np.asarray(coefficients, dtype=float)
    scores = np.full((path.shape[1], X.shape[0]), np.nan)
    for part in score_parts(X, path, folds, expand=expand):
        scores[:, part.rows] = part.scores + part.bias
    return scores


def row_scores(
    X: Any, coefficients: Array, expand: Callable[[Array], Array] | None = None
) -> Array:
    """Score new rows, shape (m, n); a row gets the same bytes whichever rows come with it."""
    slopes = np.ascontiguousarray(coefficients[:, :-1])
    if sparse.issparse(X):  # each row is summed on its own
        return np.asarray((sparse.csr_array(X) @ slopes.T).T) + coefficients[:, -1:]
    scores = np.empty((len(slopes), len(X)))
    size = block_size(coefficients.shape[1])
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        block = np.ascontiguousarray(X[part] if expand is None else expand(X[part]))
        # A product by BLAS rounds a row by its place in the block; this sum does not.
        np.einsum("kd,nd->kn", slopes, block, out=scores[:, part])
    return scores + coefficients[:, -1:]


@dataclass(frozen=True, eq=False)
class ScoredPart:
    """Rows of one fold in one block, the negative ones first, and where either label is.

    Scores, of shape (n_classifiers, m), are without the bias, and overwritten by the next part.
    """

    fold: int
    rows: Indices
    by_label: tuple[slice, slice]
    scores: Array
    bias: Array


def score_parts(
    X: Any,
    coefficients: Array,
    folds: ArrayLike | None = None,
    positive: ArrayLike | None = None,
    expand: Callable[[Array], Array] | None = None,
) -> Iterator[ScoredPart]:
    """Score rows out of fold, part by part: what counts, histograms and scores are made of.

    One part for each fold of each block of rows; arguments as in `fold_scores`.
    """
    rows = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    n, d = rows.shape
    n_folds, n_classifiers, width = coefficients.shape
    group = group_codes(np.zeros(n, bool) if positive is None else positive, folds, n_folds)
    size = _SCORE_BYTES // (8 * max(n_classifiers, 1))
    if expand is not None or not sparse.issparse(rows):  # sparse rows are read where they are
        size = min(size, block_size(width))
    size = max(64, min(size, n))
    # Reused for every block: fresh memory would cost more than the arithmetic.
    buffer = np.empty((0 if sparse.issparse(rows) else size, d))
    scores = np.empty(n_classifiers * size)
    for start in range(0, n, size):
        order, bounds = sort_groups(group[start : start + size], 2 * n_folds)
        block = _take(rows[start : start + size], order, buffer)
        if expand is not None:
            block = expand(block.toarray() if sparse.issparse(block) else block)
        for k, path in enumerate(coefficients):
            first, middle, last = (int(bound) for bound in bounds[2 * k : 2 * k + 3])
            if first < last:
                out = scores[: n_classifiers * (last - first)].reshape(n_classifiers, -1)
                yield ScoredPart(
                    k,
                    start + order[first:last],
                    (slice(0, middle - first), slice(middle - first, last - first)),
                    _scores(block[first:last], path[:, :-1], out),
                    path[:, -1:],
                )


def _take(rows: Any, order: Indices, buffer: Array) -> Any:
    if sparse.issparse(rows):
        return rows[order]
    dense = np.ascontiguousarray(rows, dtype=float)
    return np.take(dense, order, axis=0, out=buffer[: len(order)], mode="clip")


def _scores(part: Any, coefficients: Array, out: Array) -> Array:
    """Return scores without the bias, one classifier a row: its calls then count fast."""
    if sparse.issparse(part):
        return np.asarray((part @ coefficients.T).T)
    # While `np.dot` runs other threads can too, which is not so of `np.matmul`.
    return np.dot(coefficients, part.T, out=out)


def _call_weight(calls: Flags, weight: Array | None) -> Array:
    """Return the weight of each classifier's positive calls, and their squared weight."""
    if weight is None:
        counts = np.count_nonzero(calls, axis=1)
        return np.stack([counts, counts]).astype(float)
    return np.stack([calls @ weight, calls @ weight**2])
