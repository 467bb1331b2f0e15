r"""Clip estimates and intervals to their feasible range.

Inverting noise is unbiased, and so can leave the range of what it estimates: a cost below nothing,
more positives than rows. Every estimate that is shown is clipped, and every interval
contains its estimate (`clip_interval`).

Inverting also multiplies the standard error of a share by :math:`1/k`, with
:math:`k = 1 - \rho_+ - \rho_-`. A share of :math:`n` rows then has a standard error of up to
:math:`1 / (2 k \sqrt n)`; where that is more than a quarter, all shares from 0 to 1 are about as
likely as before the labels were seen (a uniform share has 0.29), and nothing is identified
(`not_identified`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.noise import NoiseRateLike, rate_pair
from flipcost.core.rates import NoiseRate

# Standard error of a clean share from which on labels tell nothing of it.
_USELESS = 0.25
# What weights may add up to: fewer rows than the one say nothing, more than the other no one has.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-3, 1e12
# The squares of smaller numbers lose digits, or vanish; and rows to look at for larger ones.
_SMALLEST, _LOOK_ROWS = 1e-140, 1_000
# Where labels keep more than this of what they tell, it is the rows that are too few, not the rate.
_NOISY = 0.5


def clip_interval(
    value: float, low: float, high: float, least: float = -np.inf, most: float = np.inf
) -> tuple[float, float, float]:
    """Return an estimate clipped to the feasible range, and limits that contain it.

    Parameters
    ----------
    value, low, high : float
        The estimate and its limits; limits that are not numbers are the feasible ones.
    least, most : float
        The feasible range.

    Returns
    -------
    value, low, high : float

    Examples
    --------
    >>> clip_interval(-0.1, 0.2, np.nan, 0.0, 0.8)
    (0.0, 0.0, 0.8)
    """
    low, high = (least if np.isnan(low) else low), (most if np.isnan(high) else high)
    value, low, high = (float(min(max(x, least), most)) for x in (value, low, high))
    return value, min(low, value), max(high, value)


def clip_intervals(
    value: Array, low: Array, high: Array, least: ArrayLike, most: ArrayLike
) -> Array:
    """Return estimates clipped, with limits that contain them, as `clip_interval`.

    Parameters
    ----------
    value, low, high : ndarray of shape (K,)
        Estimates and their limits; limits that are not numbers are the feasible ones.
    least, most : array-like of shape (K,)
        The feasible range.

    Returns
    -------
    ndarray of shape (K, 3)
        Value, lower and upper limit.

    Examples
    --------
    >>> clip_intervals(np.array([-0.1]), np.array([0.2]), np.array([np.nan]), [0.0], [0.8])
    array([[0. , 0. , 0.8]])
    """
    least, most = np.asarray(least, dtype=float), np.asarray(most, dtype=float)
    low, high = np.where(np.isnan(low), least, low), np.where(np.isnan(high), most, high)
    cut = [np.minimum(np.maximum(x, least), most) for x in (value, low, high)]
    return np.stack([cut[0], np.minimum(cut[1], cut[0]), np.maximum(cut[2], cut[0])], axis=-1)


def check_total_weight(total: float, what: str) -> None:
    """Refuse weights that add up to a number of rows that no one has.

    Parameters
    ----------
    total : float
        What they add up to; a weight of 2 counts as two rows.
    what : str
        What they are called in the message.

    Examples
    --------
    >>> check_total_weight(1e15, "`sample_weight`")
    Traceback (most recent call last):
        ...
    ValueError: `sample_weight` must add up to between 0.001 and 1e+12 rows, since a weight of 2 \
counts as two rows; got 1e+15. Divide all by their mean.
    """
    if not _LEAST_WEIGHT <= total <= _MOST_WEIGHT:
        msg = (
            f"{what} must add up to between {_LEAST_WEIGHT:g} and {_MOST_WEIGHT:g} rows, since a "
            f"weight of 2 counts as two rows; got {total:g}. Divide all by their mean."
        )
        raise ValueError(msg)


def vanishing_column(X: Array) -> tuple[int, float] | None:
    """Return the first column whose values are too small for their squares, and the largest of it.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows; NaN is passed over.

    Examples
    --------
    >>> vanishing_column(np.array([[1.0, 1e-200], [2.0, -2e-200]]))
    (1, 2e-200)
    """
    # A look at some rows rules most columns out: the others are read whole.
    look = np.abs(X[:_LOOK_ROWS])
    with np.errstate(invalid="ignore"):
        small = ~(look >= _SMALLEST).any(axis=0)
    for column in np.flatnonzero(small):
        values = np.abs(X[:, column])
        largest = float(np.max(values, where=~np.isnan(values), initial=0.0))
        if 0 < largest < _SMALLEST:
            return int(column), largest
    return None


def finite_only(value: Any) -> Any:
    """Return plain data with None in place of numbers that are not finite, which JSON has not.

    Examples
    --------
    >>> finite_only({"a": [1.5, float("nan")], "b": "x"})
    {'a': [1.5, None], 'b': 'x'}
    """
    if isinstance(value, dict):
        return {key: finite_only(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_only(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def agreement(table: ArrayLike) -> float:
    """Return how much two labels of the same rows agree, in standard errors from chance.

    Parameters
    ----------
    table : array-like of shape (2, 2)
        Rows by the one label and the other.

    Returns
    -------
    float
        Of the log odds ratio: about 0 when neither tells of the other, below when they disagree.

    Examples
    --------
    >>> round(agreement([[40, 10], [10, 40]]), 1), round(agreement([[10, 40], [40, 10]]), 1)
    (5.5, -5.5)
    """
    # Haldane's half a row more makes the odds ratio and its standard error finite.
    (a, b), (c, d) = np.asarray(table, dtype=float) + 0.5
    return float(np.log(a * d / (b * c)) / np.sqrt(1 / a + 1 / b + 1 / c + 1 / d))


def why_uninformative(rate: NoiseRate) -> str | None:
    """Return why an estimated rate tells nothing of the noise, or None if it does.

    One rate that may be one half leaves open whether labels say anything at all.

    Examples
    --------
    >>> why_uninformative(NoiseRate(0.2, 0.1, 0.3, "two labels")) is None
    True
    >>> print(why_uninformative(NoiseRate(0.46, 0.4, 0.5, "two labels")))
    A noise rate of 0.460, 95% interval 0.400 to 0.500 (two labels) is not identified: at one \
half labels say nothing. It played no part.
    """
    if isinstance(rate.high, tuple) or rate.high < 0.5:
        return None
    return (
        f"A noise rate of {rate} is not identified: at one half labels say nothing. "
        "It played no part."
    )


def rows_to_identify(noise_rate: NoiseRateLike) -> int:
    """Return how many rows labels must have at a noise rate to tell anything of clean shares.

    Examples
    --------
    >>> rows_to_identify(0.2), rows_to_identify((0.6, 0.39))
    (12, 40000)
    """
    kept = 1 - sum(rate_pair(noise_rate))
    return int(np.ceil(round((0.5 / (_USELESS * kept)) ** 2, 6)))


def not_identified(noise_rate: NoiseRateLike, n_rows: float) -> str | None:
    """Return why nothing can be said of clean labels at a noise rate, or None if something can.

    Parameters
    ----------
    noise_rate : float, pair of floats, or None
        The rate, taken as known.
    n_rows : float
        Rows that the labels count for.

    Returns
    -------
    str or None

    Examples
    --------
    >>> not_identified(0.2, 1000) is None
    True
    >>> print(not_identified((0.6, 0.39), 1000))
    `noise_rate` = (0.6, 0.39) leaves labels 1 % of what they tell: with 1,000 rows nothing of the \
clean labels is identified, and 40,000 would be needed. Intervals are all that can be.
    """
    needed = rows_to_identify(noise_rate)
    rho_pos, rho_neg = rate_pair(noise_rate)
    kept = 1 - rho_pos - rho_neg
    if n_rows >= needed or kept > _NOISY:
        return None
    return (
        f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) leaves labels {100 * kept:.2g} %"
        f" of what they tell: with {n_rows:,.0f} rows nothing of the clean labels is identified, "
        f"and {needed:,} would be needed. Intervals are all that can be."
    )
