"""Confusion counts, and the measures made of them, as observed and as denoised.

Conventions
-----------
Counts have shape ``(..., 2, 2)``: label, then flag, negative first, so that ``counts[..., 1, 0]``
are the misses (false negatives) and ``counts[..., 0, 1]`` the false alarms. Leading axes are free,
for instance a grid of classifiers.

Label noise mixes the two rows of a table as it mixes class totals, so the inverse mixing
(`unmixing_matrix`) gives clean counts without bias, provided that the labels were flipped
independently of the classifier's flags given the class; rows that it was trained on do not qualify.

Inverting noise is unbiased, and so can leave the range of what it estimates: a cost below nothing,
more positives than rows. Every estimate that is shown is clipped to its feasible range, and every
interval contains its estimate (`clip_interval`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, cost_share, margin_value
from flipcost.core.noise import NoiseRateLike, unmixing_matrix

Measure: TypeAlias = Literal["accuracy", "am", "f", "cost"]
MEASURES: tuple[Measure, ...] = ("accuracy", "am", "f", "cost")


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence limits."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Interval:
        """Return it in another unit."""
        return Interval(factor * self.value, factor * self.low, factor * self.high)


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Weighted counts of labels against flags, which add up over rows.

    Parameters
    ----------
    counts : ndarray of shape (..., 2, 2)
        Total weight of each cell.
    squares : ndarray of shape (..., 2, 2)
        Total squared weight of each cell; equal to ``counts`` when rows weigh one.

    Examples
    --------
    >>> table = ConfusionCounts.from_labels([1, 1, 1, 0, 0], [1, 1, 0, 0, 1])
    >>> table.counts
    array([[1., 1.],
           [1., 2.]])
    >>> float(measure(table.counts, "accuracy"))
    0.6
    """

    counts: Array
    squares: Array

    @classmethod
    def from_labels(
        cls, positive: ArrayLike, flagged: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ConfusionCounts:
        """Count labels against flags, both boolean."""
        labels, flags = np.asarray(positive, dtype=bool), np.asarray(flagged, dtype=bool)
        if sample_weight is None:  # counting bits is much faster than summing weights
            both = np.count_nonzero(labels & flags)
            true, flagged_true = np.count_nonzero(labels), np.count_nonzero(flags)
            others = len(labels) - true - flagged_true + both
            counts = np.array([[others, flagged_true - both], [true - both, both]], dtype=float)
            return cls(counts, counts)
        cell = 2 * labels.astype(np.intp) + flags
        weight = np.asarray(sample_weight, dtype=float)
        return cls(
            np.bincount(cell, weight, minlength=4).reshape(2, 2).astype(float),
            np.bincount(cell, weight**2, minlength=4).reshape(2, 2).astype(float),
        )

    @property
    def n_effective(self) -> float:
        """Rows of equal weight that would leave as much to chance."""
        return float(self.counts.sum() ** 2 / self.squares.sum())

    def denoised(self, noise_rate: NoiseRateLike) -> Array:
        """Return unbiased clean counts, shape (..., 2, 2); sampling can make a cell negative.

        Examples
        --------
        >>> ConfusionCounts.from_labels([1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1]).denoised(0.25)
        array([[2.5, 0.5],
               [0.5, 2.5]])
        """
        return np.asarray(unmixing_matrix(noise_rate) @ self.counts)


def measure(counts: ArrayLike, name: Measure, cost: CostLike = 0.5, margin: float = 1.0) -> Array:
    """Compute a measure of tables of counts, observed or denoised.

    Parameters
    ----------
    counts : array-like of shape (..., 2, 2)
        Tables, label then flag, negative first.
    name : {"accuracy", "am", "f", "cost"}
        The measure. It is NaN where it is not defined: AM without both classes, F of denoised
        counts whose positives and calls add up to less than nothing. F is 0 where there is neither
        a positive label nor a positive call.
    cost, margin : float
        Used by ``"cost"``: the mean over rows of ``1 - cost`` for a miss and ``cost / margin`` for
        a false alarm.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> [round(float(measure([[50, 10], [5, 35]], name)), 4) for name in ("accuracy", "am", "f")]
    [0.85, 0.8542, 0.8235]
    """
    if name not in MEASURES:
        msg = f"A measure must be one of {', '.join(MEASURES)}; got {name!r}."
        raise ValueError(msg)
    table = np.asarray(counts, dtype=float)
    tn, fp = table[..., 0, 0], table[..., 0, 1]
    fn, tp = table[..., 1, 0], table[..., 1, 1]
    total = tn + fp + fn + tp
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "accuracy":
            return np.asarray((tn + tp) / total)
        if name == "am":
            positives, negatives = fn + tp, tn + fp
            both = (positives > 0) & (negatives > 0)
            return np.where(both, 0.5 * (tp / positives + tn / negatives), np.nan)
        if name == "f":
            denominator = 2 * tp + fp + fn
            value = np.where(denominator > 0, 2 * tp / denominator, np.nan)
            return np.where((denominator == 0) & (tp == 0), 0.0, value)
        share = cost_share(cost)
        return np.asarray(((1 - share) * fn + share / margin_value(margin) * fp) / total)


def feasible_counts(table: ConfusionCounts, noise_rate: NoiseRateLike) -> Array:
    """Return denoised counts clipped: of each call, from none to all rows are positive.

    Parameters
    ----------
    table : ConfusionCounts of shape (..., 2, 2)
        Noisy labels against flags.
    noise_rate : float, pair of floats, or None
        The rate to denoise with.

    Examples
    --------
    >>> table = ConfusionCounts.from_labels([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0])
    >>> feasible_counts(table, 0.25)
    array([[3., 0.],
           [0., 3.]])
    """
    flagged = table.counts.sum(axis=-2)
    positive = np.clip(table.denoised(noise_rate)[..., 1, :], 0.0, flagged)
    return np.stack([flagged - positive, positive], axis=-2)


def smoothed(table: ConfusionCounts) -> tuple[Array, Array]:
    """Return counts and squares with half a row of typical weight added to each cell.

    Examples
    --------
    >>> counts = np.array([[60.0, 20.0], [0.0, 30.0]])
    >>> smoothed(ConfusionCounts(counts, counts))[0]
    array([[60.5, 20.5],
           [ 0.5, 30.5]])
    """
    typical = float(table.squares.sum() / table.counts.sum())
    return table.counts + 0.5 * typical, table.squares + 0.5 * typical**2


def clip_interval(
    value: float, low: float, high: float, least: float = -np.inf, most: float = np.inf
) -> tuple[float, float, float]:
    """Return an estimate clipped to its feasible range, and limits that contain it."""
    v, lo, hi = (np.asarray(x, dtype=float) for x in (value, low, high))
    value, low, high = clip_intervals(v, lo, hi, least, most).tolist()
    return value, low, high


def clip_intervals(
    value: Array, low: Array, high: Array, least: ArrayLike, most: ArrayLike
) -> Array:
    """Return estimates clipped to their feasible range, and limits that contain them, last axis 3.

    Limits that are not numbers are the feasible ones.

    Examples
    --------
    >>> clip_intervals(np.array([-0.1]), np.array([0.2]), np.array([np.nan]), [0.0], [0.8])
    array([[0. , 0. , 0.8]])
    """
    least, most = np.asarray(least, dtype=float), np.asarray(most, dtype=float)
    low, high = np.where(np.isnan(low), least, low), np.where(np.isnan(high), most, high)
    cut = [np.minimum(np.maximum(x, least), most) for x in (value, low, high)]
    return np.stack([cut[0], np.fmin(cut[1], cut[0]), np.fmax(cut[2], cut[0])], axis=-1)


def agreement(table: ArrayLike) -> float:
    """Return how much two labels of the same rows agree, in standard errors from chance.

    Of the log odds ratio of a table of shape (2, 2): about 0 when neither tells of the other, below
    when they disagree.

    Examples
    --------
    >>> round(agreement([[40, 10], [10, 40]]), 1), round(agreement([[10, 40], [40, 10]]), 1)
    (5.5, -5.5)
    """
    # Haldane's half a row more makes the odds ratio and its standard error finite.
    (a, b), (c, d) = np.asarray(table, dtype=float) + 0.5
    return float(np.log(a * d / (b * c)) / np.sqrt(1 / a + 1 / b + 1 / c + 1 / d))
