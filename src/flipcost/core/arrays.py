"""Kinds of arrays for signatures, checked booleans, weighted quantiles and the largest values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Places in another array, and numbers of folds.
Indices = NDArray[np.intp]
# Hashes, and what they are made of.
Keys = NDArray[np.uint64]


def as_flags(values: ArrayLike, name: str) -> Flags:
    """Return booleans, or zeros and ones, as booleans; refuse labels that would all count as true.

    Examples
    --------
    >>> as_flags([0, 1, 1], "positive")
    array([False,  True,  True])
    """
    flags = np.asarray(values)
    if flags.dtype != bool and not np.all((flags == 0) | (flags == 1)):
        msg = (
            f"`{name}` must hold booleans, true for the positive class; got other values, such as "
            f"{flags[(flags != 0) & (flags != 1)].tolist()[0]!r}. Compare the labels first: "
            "y == positive_label."
        )
        raise ValueError(msg)
    return flags.astype(bool)


def unit_weights(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    """Return weights as numbers, of 1 where there are none.

    Examples
    --------
    >>> unit_weights(None, 2), unit_weights([3, 1], 2)
    (array([1., 1.]), array([3., 1.]))
    """
    return np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def rounding_spread(centre: Array) -> Array:
    """Return the spread that rounding leaves of columns that are constant at these values."""
    return np.asarray(16 * np.finfo(float).eps * np.abs(centre))


def weighted_quantile(
    values: ArrayLike, levels: ArrayLike, sample_weight: ArrayLike | None = None
) -> Array:
    """Return quantiles of weighted values, by Hazen's rule.

    Each value stands at the middle of its own weight in the running total; in between, quantiles
    are interpolated.

    Parameters
    ----------
    values : array-like of shape (n,)
        The values.
    levels : array-like of shape (k,)
        Levels in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Weights; all equal when not given.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> weighted_quantile([1.0, 2.0, 3.0], [0.5])
    array([2.])
    >>> weighted_quantile([1.0, 2.0, 3.0], [0.5], [1.0, 1.0, 8.0])
    array([2.77777778])
    """
    x = np.asarray(values, dtype=float)
    weight = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    order = np.argsort(x, kind="stable")
    order = order[weight[order] > 0]  # what weighs nothing is no value
    weight = weight[order]
    total = np.cumsum(weight)
    found = np.interp(np.asarray(levels) * total[-1], total - weight / 2, x[order])
    return np.asarray(found)


def largest_first(values: ArrayLike, n: int) -> Indices:
    """Return where the n largest values are, the largest first, those that are equal in order.

    As the beginning of a stable sort, without sorting the rest.

    Examples
    --------
    >>> largest_first([0.1, 0.7, 0.3, 0.7], 3)
    array([1, 3, 2])
    """
    x = np.asarray(values, dtype=float)
    if n < 1:
        return np.empty(0, np.intp)
    place: Indices = np.arange(len(x))
    if n < len(x):
        place = np.flatnonzero(x >= np.partition(x, len(x) - n)[len(x) - n])
    return place[np.argsort(-x[place], kind="stable")[:n]]
