"""Central intervals of many mixtures of normal distributions at once."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from flipcost.core.arrays import Array

# Steps at most, and the width, in smallest standard errors or parts of the range, to stop at.
_STEPS, _CLOSE = 100, 1e-10
_ROOT_2PI = float(np.sqrt(2 * np.pi))


def mixture_intervals(
    values: Array, errors: Array, weight: Array, level: float
) -> tuple[Array, Array]:
    """Return the central intervals of mixtures of normal distributions.

    Parameters
    ----------
    values, errors : ndarray of shape (K, W)
        Means and standard deviations of the parts of each mixture.
    weight : ndarray of shape (W,)
        Weights of the parts, the same for all mixtures.
    level : float
        Level of the intervals.

    Returns
    -------
    low, high : ndarray of shape (K,)

    Notes
    -----
    Newton steps on the distribution functions, kept inside brackets that are halved where a step
    would leave them or does not close in.

    Examples
    --------
    >>> low, high = mixture_intervals(np.zeros((2, 1)), np.array([[1.0], [2.0]]), np.ones(1), 0.95)
    >>> low.round(2), high.round(2)
    (array([-1.96, -3.92]), array([1.96, 3.92]))
    """
    share = weight / weight.sum()
    kept = share > 0
    share, values = share[kept], values[:, kept]
    errors = np.maximum(errors[:, kept], 1e-12)
    mean = values @ share
    spread = np.sqrt((errors**2 + (values - mean[:, None]) ** 2) @ share)
    first, last = (values - 10 * errors).min(axis=1), (values + 10 * errors).max(axis=1)
    # Both ends at once: a step takes hardly longer for two rows than for one.
    target = np.array([[(1 - level) / 2], [(1 + level) / 2]])
    start = np.clip(mean + spread * ndtri(target), first, last)
    ends = _solve(
        np.tile(values, (2, 1)),
        np.tile(errors, (2, 1)),
        share,
        np.repeat(target, len(mean)),
        start.ravel(),
        np.tile(first, 2),
        np.tile(last, 2),
    )
    return ends[: len(mean)], ends[len(mean) :]


def _solve(
    values: Array, errors: Array, share: Array, target: Array, x: Array, low: Array, high: Array
) -> Array:
    """Return where each distribution function reaches its target."""
    found, open_ = x.copy(), np.arange(len(x))
    close = _CLOSE * np.maximum(errors.min(axis=1), 1e-6 * (high - low))
    step = before = high - low
    for _ in range(_STEPS):
        z = (x[:, None] - values) / errors
        off = ndtr(z) @ share - target
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        density = (np.exp(-0.5 * z**2) / errors) @ share / _ROOT_2PI
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = -off / density
        # An end of the bracket may be what is looked for, to the last digit: it is not left.
        inside = (x + newton >= low) & (x + newton <= high)
        newton = np.where(
            inside & (np.abs(newton) <= np.abs(before) / 2), newton, (low + high) / 2 - x
        )
        before, step, x = step, newton, x + newton
        found[open_] = x
        left = ~(np.abs(newton) <= close)
        if not left.any():
            break
        if not left.all():
            open_, values, errors, target = open_[left], values[left], errors[left], target[left]
            x, low, high, close = x[left], low[left], high[left], close[left]
            before, step = before[left], step[left]
    return found
