r"""The closed form at cost 1/2 and margin 1 for wide sparse rows: no scatter is ever made.

With many columns, as texts have, a scatter of columns by columns does not fit, and is not needed: a
product of it with a vector is two products of the rows. All penalties are solved for in one sweep
of conjugate gradients, since systems that differ by a multiple of the identity share their Krylov
spaces (Jegerlehner, 1996, arXiv:hep-lat/9612014); and all training parts of a cross-validation go
through the same products, each with its own rows left out.

Columns are divided by their standard deviation, or by that of the column of the median entry where
theirs is less: standardized, words that hardly ever come would speak as loud as those that often
do. On three draws of texts the area under the curve was 0.70, 0.76 and 0.76 with each column
standardized, 0.87, 0.86 and 0.89 so (logistic regression at its best penalty: 0.88, 0.87, 0.90).
The scaling was chosen on these draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from flipcost.core.arrays import Array, Flags
from flipcost.core.solve import penalty_value

# Residual, relative to the right side, that is small enough; scikit-learn's ridge stops there too.
_TOLERANCE = 1e-4
_MOST_STEPS = 500
# Systems whose residual has shrunk to this share are left alone.
_SETTLED = 1e-12


@dataclass(frozen=True, eq=False)
class _Parts:
    """Training parts of rows: weights of the rows in each, shape (n, K), and what they come to."""

    X: Any
    weight: Array
    mean: Array  # (d, K)
    unit: Array  # one over the scale of each column, (d, K); 0 where it is constant
    share: Array  # share of positives, (K,)
    right: Array  # covariance of scaled columns with the label, (d, K)

    def product(self, vectors: Array) -> Array:
        """Multiply half the covariances of each part with a vector of its own, (d, K)."""
        scaled = self.unit * vectors
        rows = self.X @ scaled
        rows *= self.weight
        found = self.X.T @ rows
        found -= self.mean * (self.mean * scaled).sum(axis=0)
        found *= 0.5 * self.unit
        return np.asarray(found)


def sparse_scores(
    X: Any,
    positive: ArrayLike,
    folds: ArrayLike,
    n_folds: int,
    l2s: Sequence[float],
    sample_weight: Array | None = None,
    *,
    forward: bool = False,
) -> Array:
    """Return the coefficients of each training part at each penalty, and those of all rows.

    Parameters
    ----------
    X : sparse matrix of shape (n, d)
        Rows.
    positive, folds, n_folds, sample_weight
        As in `flipcost.core.moments.fold_moments`.
    l2s : sequence of floats
        Penalties on the mean loss, on scaled columns.
    forward : bool, default=False
        Whether a fold is scored by earlier ones only; the first is scored by all others.

    Returns
    -------
    ndarray of shape (n_folds + 1, len(l2s), d + 1)
        Coefficients that score each fold, then those of all rows, in their units, bias last.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[0.0, 1], [1, 0], [2, 0], [0, 3], [1, 1], [0, 2]]))
    >>> sparse_scores(X, [0, 0, 1, 1, 0, 1], [0, 1, 2, 0, 1, 2], 3, [0.1, 1.0]).shape
    (4, 2, 3)
    """
    penalties = np.array([penalty_value(l2) for l2 in l2s])
    rows, fold = sparse.csr_array(X, dtype=float), np.asarray(folds)
    own = np.append(np.arange(n_folds), -1)
    learned = fold[:, None] != own
    if forward:
        learned[:, 1:-1] = fold[:, None] < own[1:-1]
    parts = _parts(rows, positive, learned, sample_weight)
    slopes = _shifted_solutions(parts, penalties) * parts.unit  # (L, d, K)
    bias = (2 * parts.share - 1) / (1 + 2 * penalties[:, None])
    bias -= np.einsum("ldk,dk->lk", slopes, parts.mean)
    return np.moveaxis(np.concatenate([slopes, bias[:, None]], axis=1), -1, 0)


def _parts(X: Any, positive: ArrayLike, learned: Flags, sample_weight: Array | None) -> _Parts:
    labels, weight = np.asarray(positive, dtype=float), learned.astype(float)
    if sample_weight is not None:
        weight *= sample_weight[:, None]
    weight /= weight.sum(axis=0)
    mean = np.asarray(X.T @ weight)
    squares = sparse.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape)
    variance = np.asarray(squares.T @ weight) - mean**2
    # Rounding of a constant column leaves this much.
    varies = variance > 1e-13 * (variance + mean**2)
    spread = np.sqrt(np.where(varies, variance, 0.0))
    floor = _spread_of_median_entry(X, spread[:, -1])
    unit = np.where(varies, 1 / np.maximum(np.where(varies, spread, 1.0), floor), 0.0)
    share = labels @ weight
    right = unit * (X.T @ (weight * labels[:, None]) - mean * share)
    return _Parts(X, weight, mean, unit, share, right)


def _spread_of_median_entry(X: Any, spread: Array) -> float:
    """Return the spread of the column that half of the entries lie in columns as narrow as."""
    entries = np.bincount(X.indices, minlength=len(spread))
    order = np.argsort(spread)
    reached = np.cumsum(entries[order])
    return float(spread[order[int(np.searchsorted(reached, reached[-1] / 2))]])


def _shifted_solutions(parts: _Parts, penalties: Array) -> Array:
    """Solve ``(R / 2 + l2) x = r`` for each penalty and part, shape (L, d, K).

    Conjugate gradients for the smallest penalty; residuals of the others are multiples ``zeta`` of
    its residual.
    """
    least = float(penalties.min())
    shift = (penalties - least)[:, None]  # (L, 1)
    residual = parts.right.copy()
    square = (residual**2).sum(axis=0)  # (K,)
    enough = _TOLERANCE**2 * square
    direction = residual.copy()
    found = np.zeros((len(penalties), *residual.shape))
    ways = np.repeat(residual[None], len(penalties), axis=0)
    zeta = before = np.ones((len(penalties), residual.shape[1]))
    step_before, turn = np.ones(residual.shape[1]), np.zeros(residual.shape[1])
    for _ in range(_MOST_STEPS):
        going = square > enough
        if not going.any():
            break
        image = parts.product(direction) + least * direction
        bent = (direction * image).sum(axis=0)
        step = np.where(going & (bent > 0), square / np.where(bent > 0, bent, 1.0), 0.0)
        moving = (zeta > _SETTLED) & (step > 0)
        bottom = step * turn * (before - zeta) + before * step_before * (1 + shift * step)
        after = np.where(moving, zeta * before * step_before / np.where(moving, bottom, 1.0), zeta)
        own_step = np.where(moving, step * after / zeta, 0.0)
        found += own_step[:, None, :] * ways
        residual -= step * image
        new_square = (residual**2).sum(axis=0)
        turn = np.where(step > 0, new_square / np.where(square > 0, square, 1.0), 0.0)
        own_turn = np.where(moving, turn * (after / zeta) ** 2, 0.0)
        ways *= own_turn[:, None, :]
        ways += np.where(moving, after, 0.0)[:, None, :] * residual
        direction = residual + turn * direction
        before, zeta = zeta, after
        step_before = np.where(step > 0, step, step_before)
        square = np.where(step > 0, new_square, 0.0)
    return found
