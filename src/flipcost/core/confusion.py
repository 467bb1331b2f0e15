r"""Mergeable confusion counts, and the measures made of them, as observed and as denoised.

Conventions
-----------
Counts have shape ``(..., 2, 2)``: label, then call, negative first, so that ``counts[..., 1, 0]``
are the misses (false negatives) and ``counts[..., 0, 1]`` the false alarms. Leading axes are free,
for instance a grid of classifiers.

Label noise mixes the two rows of a table as it mixes class totals, so the inverse mixing
(`unmixing_matrix`) gives clean counts without bias, provided that the labels were flipped
independently of the classifier's calls given the class; rows that it was trained on do not qualify.

Intervals
---------
Every measure here is a function of the counts that does not change when all are multiplied by a
number. For such a function :math:`g` with gradient :math:`h` in the *observed* counts, the delta
method needs no centring (by Euler's theorem :math:`\sum h C = 0`):
:math:`\operatorname{var} g \approx \sum h^2 Q`, where :math:`Q` sums the squared weights of each
cell. Centre and variance are taken at counts with half a row added to each cell, so that an empty
cell does not pass for certainty.

Inverting noise is unbiased, and so can leave the range of what it estimates: a cost below nothing,
more positives than rows. Every estimate that is shown is clipped to its feasible range, and every
interval contains its estimate (`clip_interval`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from flipcost.core.arrays import Array, as_flags
from flipcost.core.costs import CostLike, cost_share, margin_value
from flipcost.core.noise import NoiseRateLike, not_identified, unmixing_matrix

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
    """Weighted counts of labels against calls, which add up over rows.

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
    >>> print(table.accuracy(), round(float(table.cost(0.2)), 6))
    0.6 0.2
    >>> table.interval("accuracy").low < 0.6 < table.interval("accuracy").high
    True
    """

    counts: Array
    squares: Array

    def __post_init__(self) -> None:
        counts, squares = np.asarray(self.counts, float), np.asarray(self.squares, float)
        if counts.shape[-2:] != (2, 2) or counts.shape != squares.shape:
            msg = (
                "`counts` and `squares` must have the same shape (..., 2, 2); "
                f"got {counts.shape} and {squares.shape}."
            )
            raise ValueError(msg)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "squares", squares)

    @classmethod
    def from_labels(
        cls, positive: ArrayLike, called: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ConfusionCounts:
        """Count labels against calls, both boolean."""
        labels, calls = as_flags(positive, "positive"), as_flags(called, "called")
        if labels.shape != calls.shape or labels.ndim != 1:
            msg = (
                "`positive` and `called` must be one-dimensional and of the same length; "
                f"got shapes {labels.shape} and {calls.shape}. Give both for the same rows."
            )
            raise ValueError(msg)
        if sample_weight is None:  # counting bits is much faster than summing weights
            both = np.count_nonzero(labels & calls)
            true, called_true = np.count_nonzero(labels), np.count_nonzero(calls)
            others = len(labels) - true - called_true + both
            counts = np.array([[others, called_true - both], [true - both, both]], dtype=float)
            return cls(counts, counts)
        cell = 2 * labels.astype(np.intp) + calls
        weight = np.asarray(sample_weight, dtype=float)
        return cls(
            np.bincount(cell, weight, minlength=4).reshape(2, 2).astype(float),
            np.bincount(cell, weight**2, minlength=4).reshape(2, 2).astype(float),
        )

    def merge(self, other: ConfusionCounts) -> ConfusionCounts:
        """Return the counts of both sets of rows; also ``a + b``."""
        return ConfusionCounts(self.counts + other.counts, self.squares + other.squares)

    def __add__(self, other: ConfusionCounts) -> ConfusionCounts:
        if not isinstance(other, ConfusionCounts):
            return NotImplemented
        return self.merge(other)

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

    def accuracy(self, noise_rate: NoiseRateLike = None) -> Array:
        """Share of the weight that is called right."""
        return measure(self.denoised(noise_rate), "accuracy")

    def am(self, noise_rate: NoiseRateLike = None) -> Array:
        """Arithmetic mean of the true positive and true negative rates."""
        return measure(self.denoised(noise_rate), "am")

    def f(self, noise_rate: NoiseRateLike = None) -> Array:
        """F measure of the positive class."""
        return measure(self.denoised(noise_rate), "f")

    def cost(self, cost: CostLike, margin: float = 1.0, noise_rate: NoiseRateLike = None) -> Array:
        """Mean weighted cost of a row; comparable between classifiers at margin 1 only."""
        return measure(self.denoised(noise_rate), "cost", cost, margin)

    def interval(
        self,
        name: Measure,
        *,
        cost: CostLike = 0.5,
        margin: float = 1.0,
        noise_rate: NoiseRateLike = None,
        level: float = 0.95,
    ) -> Interval:
        """Return a measure of a single table with its confidence interval.

        Parameters
        ----------
        name : {"accuracy", "am", "f", "cost"}
            The measure.
        cost, margin : float
            Used by ``"cost"``.
        noise_rate : float, pair of floats, or None
            The rate to denoise the counts with, taken as known.
        level : float, default=0.95
            Confidence level.

        Returns
        -------
        Interval
            Of denoised counts that were clipped, with limits by the delta method that
            contain it; all that can be where nothing is identified.

        Examples
        --------
        >>> table = ConfusionCounts(np.array([[60, 20], [10, 30]]), np.array([[60, 20], [10, 30]]))
        >>> interval = table.interval("cost", cost=0.2, noise_rate=0.1)
        >>> print(f"{interval.value:.4f} in [{interval.low:.4f}, {interval.high:.4f}]")
        0.0563 in [0.0093, 0.1096]
        """
        if self.counts.ndim != 2:
            msg = f"An interval is of one table of shape (2, 2); got {self.counts.shape}."
            raise ValueError(msg)
        if not 0 < level < 1:
            msg = f"`level` must lie in (0, 1); got {level:g}."
            raise ValueError(msg)
        if not self.counts.sum() > 0:
            msg = "An interval needs at least one row with a positive weight; got none."
            raise ValueError(msg)
        unmix, (smooth, squares) = unmixing_matrix(noise_rate), smoothed(self)
        gradient = unmix.T @ measure_gradient(unmix @ smooth, name, cost, margin)
        error = float(np.sqrt((gradient**2 * squares).sum()))
        value, centre = (
            float(measure(clip_counts(unmix @ counts, counts), name, cost, margin))
            for counts in (self.counts, smooth)
        )
        if not_identified(noise_rate, self.n_effective) is not None:
            error = np.inf
        reach = float(ndtri((1 + level) / 2)) * error
        largest = 1.0
        if name == "cost":
            share = cost_share(cost)
            largest = max(1 - share, share / margin_value(margin))
        return Interval(*clip_interval(value, centre - reach, centre + reach, 0.0, largest))


def measure(counts: ArrayLike, name: Measure, cost: CostLike = 0.5, margin: float = 1.0) -> Array:
    """Compute a measure of tables of counts, observed or denoised.

    Parameters
    ----------
    counts : array-like of shape (..., 2, 2)
        Tables, label then call, negative first.
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
    table = np.asarray(counts) * 1.0
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


def measure_gradient(
    counts: ArrayLike, name: Measure, cost: CostLike = 0.5, margin: float = 1.0
) -> Array:
    """Return the derivatives of a measure in the four counts, shape (..., 2, 2).

    By steps along the imaginary axis, which lose no digits to a difference.

    Examples
    --------
    >>> measure_gradient([[50, 10], [5, 35]], "accuracy").round(4)
    array([[ 0.0015, -0.0085],
           [-0.0085,  0.0015]])
    """
    stepped = np.asarray(counts)[..., None, :, :] + 1e-100j * np.eye(4).reshape(4, 2, 2)
    found = measure(stepped, name, cost, margin).imag / 1e-100
    return np.asarray(found.reshape(*found.shape[:-1], 2, 2))


def feasible_counts(table: ConfusionCounts, noise_rate: NoiseRateLike) -> Array:
    """Return denoised counts clipped: of each call, from none to all rows are positive.

    Parameters
    ----------
    table : ConfusionCounts of shape (..., 2, 2)
        Noisy labels against calls.
    noise_rate : float, pair of floats, or None
        The rate to denoise with.

    Examples
    --------
    >>> table = ConfusionCounts.from_labels([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0])
    >>> feasible_counts(table, 0.25)
    array([[3., 0.],
           [0., 3.]])
    """
    return clip_counts(table.denoised(noise_rate), table.counts)


def clip_counts(denoised: Array, counts: Array) -> Array:
    """Clip denoised counts to the feasible range, given the counts that they were made of.

    Examples
    --------
    >>> clip_counts(np.array([[4.0, -1.0], [-1.0, 4.0]]), np.array([[3.0, 0.0], [0.0, 3.0]]))
    array([[3., 0.],
           [0., 3.]])
    """
    called = counts.sum(axis=-2)
    positive = np.clip(denoised[..., 1, :], 0.0, called)
    return np.stack([called - positive, positive], axis=-2)


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
