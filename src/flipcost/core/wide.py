r"""Tables of more columns than rows: exact solutions in as many dimensions as there are rows.

A penalised linear solution lies in the span of the rows. With :math:`Z = R V^\top`, where
:math:`R` has as many columns as the rows span dimensions and those of :math:`V` are orthonormal,
the solution on :math:`Z` is :math:`V` times the solution on :math:`R`, at every cost, margin and
rate and at any penalty above zero. The eigendecomposition of :math:`Z Z^\top` gives both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.memory import usable_memory
from flipcost.core.moments import ClassMoments
from flipcost.core.solve import solve_path

# A spread of this many units in the last place of the centre is that of a constant, rounded.
_CONSTANT_ULPS = 16


def is_wide(X: Any, l2s: Sequence[float] = (1.0,)) -> bool:
    """Tell whether a table has more columns than rows, and solutions need no more than the rows.

    Examples
    --------
    >>> is_wide(np.ones((3, 5))), is_wide(np.ones((5, 3)))
    (True, False)
    """
    n, d = X.shape
    # Sparse rows are written out, and all rows are copied about three times.
    return bool(d >= n and min(l2s) > 0 and 24 * n * d < usable_memory())


def rotate(rows: Array) -> tuple[Array, Array]:
    """Return the rows in as many dimensions as they span, and what leads there.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows.

    Returns
    -------
    rotated : ndarray of shape (n, r)
        ``rows @ axes``, whose inner products are those of the rows.
    axes : ndarray of shape (d, r)
        Orthonormal columns.

    Examples
    --------
    >>> rotated, axes = rotate(np.array([[3.0, 0.0, 4.0], [0.0, 2.0, 0.0]]))
    >>> rotated.shape, (rotated @ rotated.T).round(6).tolist()
    ((2, 2), [[25.0, 0.0], [0.0, 4.0]])
    """
    rotated, weights = _rotated(rows)
    return rotated, rows.T @ weights


def _rotated(rows: Array) -> tuple[Array, Array]:
    """Return rotated rows, and weights of the rows that make up the axes."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named below
        products = rows @ rows.T
    _check_finite(products)
    values, vectors = eigh(products)
    kept = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots


def _check_finite(sums: Array) -> None:
    if not np.isfinite(sums).all():
        msg = (
            "`X` must be finite and its squares must not overflow: impute missing values, and "
            "rescale large ones."
        )
        raise ValueError(msg)


def solve_wide(rows: Any, positive: Flags, weight: Array | None, l2s: Sequence[float]) -> Array:
    """Solve for standardised features at cost 1/2 and margin 1, as from moments of all columns.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, d)
        Rows, with more columns than rows.
    positive : ndarray of bool, shape (n,)
        Which are positive.
    weight : ndarray of shape (n,) or None
        Their weights.
    l2s : sequence of floats
        Penalties above 0.

    Returns
    -------
    ndarray of shape (n_l2s, d + 1)
        Coefficients in the units of the rows, bias last.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0, 5.0], [2.0, 1.0, 5.0]])
    >>> solve_wide(rows, np.array([False, True]), None, [1.0]).round(6).tolist()
    [[0.333333, 0.0, 0.0, -0.333333]]
    """
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=float)
    share = np.ones(len(dense)) if weight is None else weight
    share = share / max(share.sum(), np.finfo(float).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = share @ dense
        standard = dense - centre
        spread = np.sqrt(share @ standard**2)
    _check_finite(spread)
    constant = spread <= _CONSTANT_ULPS * np.finfo(float).eps * np.abs(centre)
    spread = np.where(constant, 1.0, spread)
    standard /= spread
    standard[:, constant] = 0.0
    rotated, weights = _rotated(standard)
    moments = ClassMoments.from_rows(rotated, positive, weight)
    path = solve_path(moments, [0.5], [1.0], l2s)[0, 0, :, 0]
    slopes = (standard.T @ (weights @ path[:, :-1].T)).T / spread
    return np.column_stack([slopes, path[:, -1] - slopes @ centre])


def wide_scores(
    X: Any,
    positive: Flags,
    weight: Array | None,
    folds: Indices,
    l2s: Sequence[float],
    training: Sequence[Indices],
) -> tuple[Array, Array]:
    """Learn closed-form scores of a wide table; return coefficients, and out-of-fold scores.

    Parameters
    ----------
    X, positive, weight, l2s
        As in `solve_wide`.
    folds : ndarray of int, shape (n,)
        Fold of each row.
    training : sequence of arrays of int
        Which rows each fold is scored by.

    Returns
    -------
    coefficients : ndarray of shape (n_l2s, d + 1)
        From all rows.
    scores : ndarray of shape (n_l2s, n)

    Examples
    --------
    >>> X, positive = np.eye(4, 6), np.array([False, True, False, True])
    >>> training = [np.array([2, 3]), np.array([0, 1])]
    >>> wide_scores(X, positive, None, np.array([0, 0, 1, 1]), [1.0], training)[1].shape
    (1, 4)
    """
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=float)
    scores = np.full((len(l2s), rows.shape[0]), np.nan)
    for fold, train in enumerate(training):
        own = np.flatnonzero(folds == fold)
        of_train = None if weight is None else weight[train]
        found = solve_wide(rows[train], positive[train], of_train, l2s)
        scores[:, own] = np.asarray(found[:, :-1] @ rows[own].T) + found[:, -1:]
    return solve_wide(rows, positive, weight, l2s), scores
