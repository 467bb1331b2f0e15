r"""Rademacher complexity of linear scores of bounded length.

For the class :math:`\{x \mapsto w^\top x : |w| \le B\}` the supremum is attained by the w that
points along the signed sum, so the empirical complexity is

.. math:: \hat{\mathfrak R} = \frac{B}{m} E_\sigma \Big| \sum_i \sigma_i x_i \Big|,

with independent fair signs :math:`\sigma_i`. Jensen's inequality bounds it from above by
:math:`B\sqrt{\sum_i |x_i|^2}/m`, and the Khintchine-Kahane inequality (Latała and Oleszkiewicz
1994) from below by that over :math:`\sqrt 2`: the standard bound is never far off.

The bias has to be bounded along with the weights. The paper bounds the weights alone; with a free
bias the supremum is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array

# 2^15 sign patterns (one sign is fixed by symmetry) take some ten milliseconds.
_MAX_EXACT_ROWS = 16


@dataclass(frozen=True)
class RademacherComplexity:
    """Empirical Rademacher complexity of a bounded linear class on given rows.

    Attributes
    ----------
    value : float
        The complexity: exact, or a Monte Carlo mean.
    standard_error : float
        Standard error of the mean; 0 when exact.
    lower, upper : float
        Bounds that hold without sampling.
    exact : bool
        Whether all sign patterns were enumerated.
    """

    value: float
    standard_error: float
    lower: float
    upper: float
    exact: bool


def rademacher_complexity(
    X: ArrayLike,
    radius: float,
    *,
    bias: bool = True,
    n_draws: int = 2000,
    random_state: int | np.random.Generator | None = 0,
) -> RademacherComplexity:
    """Return the empirical Rademacher complexity of linear scores of length at most ``radius``.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows.
    radius : float
        Largest Euclidean length of the coefficients, the bias included.
    bias : bool, default=True
        Whether the scores have a bias: a feature that is always 1.
    n_draws : int, default=2000
        Sign patterns drawn when there are more than 16 rows; with fewer all are enumerated.
    random_state : int, Generator or None, default=0
        Source of the signs.

    Returns
    -------
    RademacherComplexity
        The value, its standard error and two bounds.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> few = rademacher_complexity(X[:10], radius=1.0)
    >>> few.exact, round(few.value, 4), round(few.upper, 4)
    (True, 0.5168, 0.5485)
    >>> many = rademacher_complexity(X, radius=1.0)
    >>> many.lower < many.value < many.upper
    True
    """
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
        msg = f"`X` must be a table of finite numbers with at least one row; got {rows.shape}."
        raise ValueError(msg)
    if not radius > 0:
        msg = f"`radius` must be positive; got {radius:g}."
        raise ValueError(msg)
    if bias:
        rows = np.column_stack([rows, np.ones(len(rows))])
    scale = radius / len(rows)
    upper = scale * float(np.linalg.norm(rows))
    exact = len(rows) <= _MAX_EXACT_ROWS
    lengths = _all_lengths(rows) if exact else _drawn_lengths(rows, n_draws, random_state)
    spread = 0.0 if exact else float(lengths.std(ddof=1) / np.sqrt(n_draws))
    return RademacherComplexity(
        value=scale * float(lengths.mean()),
        standard_error=scale * spread,
        lower=upper / float(np.sqrt(2)),
        upper=upper,
        exact=exact,
    )


def _all_lengths(rows: Array) -> Array:
    """Return the lengths of all signed sums, the first sign fixed: lengths come in pairs."""
    sums = rows[:1]
    for row in rows[1:]:
        sums = np.concatenate([sums + row, sums - row])
    return np.asarray(np.linalg.norm(sums, axis=1))


def _drawn_lengths(
    rows: Array, n_draws: int, random_state: int | np.random.Generator | None
) -> Array:
    """Return the lengths of signed sums with random signs."""
    rng = np.random.default_rng(random_state)
    # One pattern at a time: a matrix of all patterns would outgrow X.
    lengths = [
        np.linalg.norm((2.0 * rng.integers(0, 2, size=len(rows)) - 1.0) @ rows)
        for _ in range(n_draws)
    ]
    return np.array(lengths)
