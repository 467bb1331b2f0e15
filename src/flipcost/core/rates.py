r"""Noise rates with intervals, from counts of labels.

Three facts are used. Against a trusted label a noisy one disagrees with probability
:math:`\rho`. Two noisy labels of the same row, flipped on their own at the same rate, disagree with
probability :math:`2\rho(1-\rho)` whatever the classes are. And in *any* part of the feature
space, chosen without looking at the labels in it, the share of positive noisy labels is at least
:math:`\rho_-` and that of negative ones at least :math:`\rho_+`: flips put them there even when all
rows are of one class.

Binomial limits are exact in the sense of Clopper and Pearson: they cover with at least their level
at every number of rows.

References
----------
C. J. Clopper and E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
of the binomial*, Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri
from scipy.stats import binom

from flipcost.core.arrays import Array
from flipcost.core.noise import NoiseRateLike, rate_pair

Rate: TypeAlias = "float | tuple[float, float]"


@dataclass(frozen=True)
class NoiseRate:
    """A noise rate, how sure it is, and where it comes from.

    Wherever a noise rate is asked for, this can be given; its `value` is used.

    Parameters
    ----------
    value : float or pair of floats
        One rate for both classes, or ``(rho_pos, rho_neg)``.
    low, high : float or pair of floats
        Limits of the interval, of the kind of `value`. The limits of a pair are for each rate on
        its own.
    source : str
        What the rate was computed from.
    level : float, default=0.95
        Confidence level of the interval.

    Examples
    --------
    >>> rate = NoiseRate(0.2, 0.15, 0.26, "disagreement with 200 trusted labels")
    >>> print(rate)
    0.200, 95% interval 0.150 to 0.260 (disagreement with 200 trusted labels)
    >>> from flipcost.core.noise import noisy_threshold
    >>> print(round(float(noisy_threshold(0.25, rate)), 6))
    0.35
    """

    value: Rate
    low: Rate
    high: Rate
    source: str
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)
        parts = [np.asarray(part, dtype=float) for part in (self.low, self.value, self.high)]
        if parts[1].shape not in ((), (2,)) or any(p.shape != parts[1].shape for p in parts):
            msg = (
                "`value`, `low` and `high` must all be numbers, or all pairs (rho_pos, rho_neg); "
                f"got {self.value}, {self.low} and {self.high}. Give the three in one form."
            )
            raise ValueError(msg)
        low, value, high = parts
        if not np.all((low >= 0) & (low <= value) & (value <= high) & (high <= 1)):
            msg = (
                "A noise rate must lie between its limits, and these in [0, 1]; got "
                f"low={self.low}, value={self.value}, high={self.high}. Check their order."
            )
            raise ValueError(msg)
        for name, part in zip(("low", "value", "high"), parts, strict=True):
            plain = part.tolist()
            object.__setattr__(self, name, tuple(plain) if part.ndim else plain)

    @property
    def symmetric(self) -> bool:
        """Whether there is one rate for both classes."""
        return not isinstance(self.value, tuple)

    def __str__(self) -> str:
        percent = f"{100 * self.level:g}%"
        if not isinstance(self.value, tuple):
            shown = f"{self.value:.3f}, {percent} interval {self.low:.3f} to {self.high:.3f}"
            return f"{shown} ({self.source})"
        limits = np.transpose([self.value, np.ravel(self.low), np.ravel(self.high)])
        rates = [f"{rate:.3f}, {percent} interval {a:.3f} to {b:.3f}" for rate, a, b in limits]
        return f"positives {rates[0]}; negatives {rates[1]} ({self.source})"


def check_level(level: float) -> float:
    """Return a confidence level as a checked number in (0, 1).

    Examples
    --------
    >>> check_level(0.9)
    0.9
    """
    if not 0 < level < 1:
        msg = f"`level` must lie in (0, 1); got {level:g}. Give 0.95 for 95 in a hundred."
        raise ValueError(msg)
    return float(level)


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, level: float = 0.95
) -> tuple[Array, Array]:
    """Return exact two-sided limits of a binomial probability.

    Parameters
    ----------
    successes, trials : array-like of int
        Counts, which broadcast. No trials give the limits 0 and 1.
    level : float, default=0.95
        Confidence level; each side may miss with half of what is left.

    Returns
    -------
    low, high : ndarray

    Examples
    --------
    >>> low, high = clopper_pearson(0, 20)
    >>> print(float(low), round(float(high), 4))
    0.0 0.1684
    """
    tail = (1 - check_level(level)) / 2
    return _lower_limit(successes, trials, tail), _upper_limit(successes, trials, tail)


def binomial_upper(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Array:
    """Return the exact one-sided upper limit of a binomial probability.

    Examples
    --------
    The rule of three: no success in n trials leaves 3 / n.

    >>> print(round(float(binomial_upper(0, 300)), 4))
    0.0099
    """
    return _upper_limit(successes, trials, 1 - check_level(level))


def _upper_limit(successes: ArrayLike, trials: ArrayLike, tail: ArrayLike) -> Array:
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    inside = k < n
    limit = betaincinv(np.where(inside, k + 1, 1), np.where(inside, n - k, 1), 1 - np.asarray(tail))
    return np.where(inside, limit, 1.0)


def _lower_limit(successes: ArrayLike, trials: ArrayLike, tail: ArrayLike) -> Array:
    failures = np.asarray(trials, float) - np.asarray(successes, float)
    return 1 - _upper_limit(failures, trials, tail)


def rate_of_disagreement(disagreement: ArrayLike) -> Array:
    r"""Return the rate at which two labels of a row must be flipped to disagree that often.

    The root below one half of :math:`d = 2\rho(1-\rho)`. Independent flips disagree half of the
    time at most, so larger values give one half.

    Examples
    --------
    >>> rate_of_disagreement([0.0, 0.32, 0.5, 0.6])
    array([0. , 0.2, 0.5, 0.5])
    """
    d = np.minimum(np.asarray(disagreement, dtype=float), 0.5)
    # d / (1 + root) is (1 - root) / 2 without the cancellation at small d.
    return np.asarray(d / (1 + np.sqrt(1 - 2 * d)))


def quantile_interval(
    values: ArrayLike, share: float, level: float = 0.95
) -> tuple[float, float, float]:
    """Return a quantile with limits that hold for any distribution of independent values.

    How many values lie below the true quantile is binomial, so two of the sorted values enclose it.

    Parameters
    ----------
    values : array-like of shape (n,)
        The sample.
    share : float
        Which quantile, in (0, 1).
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    value, low, high : float
        A limit is infinite when there are too few values beyond the quantile.

    Examples
    --------
    >>> quantile_interval(np.arange(1, 101), 0.5)
    (50.5, 40.0, 61.0)
    """
    tail = (1 - check_level(level)) / 2
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    # Of N = number below the quantile: P(N < first) <= tail and P(N >= last) <= tail.
    first = int(binom.ppf(tail, n, share))
    last = int(binom.ppf(1 - tail, n, share)) + 1
    low = float(ordered[first - 1]) if first >= 1 else -np.inf
    high = float(ordered[last - 1]) if last <= n else np.inf
    value = float(np.quantile(ordered, share))
    return value, min(low, value), max(high, value)


@dataclass(frozen=True)
class PurestTail:
    """The tail of a score in which labels of one kind are rarest, with a limit on their share.

    Attributes
    ----------
    share : float
        Share of these labels in the tail.
    limit : float
        Upper limit, valid for all tails tried at once.
    n_rows : int
        Rows in the tail.
    """

    share: float
    limit: float
    n_rows: int


def tail_counts(scores: ArrayLike, odd: ArrayLike, smallest: int) -> NDArray[np.int64]:
    """Count rows, and odd labels among them, in nested tails of low scores.

    Tails double in size from `smallest` up to all rows. Rows with tied scores go in together: which
    of them come first would else depend on their order, and that on their labels.

    Parameters
    ----------
    scores : array-like of shape (n,)
        The tails hold the lowest.
    odd : array-like of bool, shape (n,)
        Which rows have the label that is rare at low scores.
    smallest : int
        Rows in the smallest tail.

    Returns
    -------
    ndarray of shape (n_tails, 2)
        Odd labels, and rows, of each tail.

    Examples
    --------
    >>> tail_counts([1, 2, 2, 3, 4, 5], [0, 0, 1, 0, 1, 1], 2)
    array([[1, 3],
           [1, 4],
           [3, 6]])
    """
    order = np.argsort(np.asarray(scores, dtype=float), kind="stable")
    ordered = np.asarray(scores, dtype=float)[order]
    n = len(ordered)
    sizes = np.unique(np.minimum(smallest * 2 ** np.arange(max(n, 2).bit_length() + 1), n))
    rows = np.unique(np.searchsorted(ordered, ordered[sizes - 1], side="right"))
    total = np.cumsum(np.asarray(odd, dtype=np.int64)[order])
    return np.stack([total[rows - 1], rows], axis=1)


def purest_tail(counts: ArrayLike, tail: float) -> PurestTail:
    """Return the tail with the smallest upper limit on its share of odd labels.

    Parameters
    ----------
    counts : array-like of shape (n_tails, 2)
        From `tail_counts`.
    tail : float
        Probability with which any of the limits may fail, shared out evenly (Bonferroni).

    Returns
    -------
    PurestTail

    Examples
    --------
    >>> purest_tail([[1, 10], [2, 100], [60, 200]], 0.05).n_rows
    100
    """
    table = np.asarray(counts)
    limits = _upper_limit(table[:, 0], table[:, 1], tail / len(table))
    best = int(np.argmin(limits))
    odd, rows = table[best]
    return PurestTail(float(odd / rows), float(limits[best]), int(rows))


# What a rate should be known to within by default: half the width of an interval whose ends move a
# noisy threshold at cost 0.2 and rate 0.2 by no more than 0.012.
PRECISION = 0.02
# The largest rate that is planned for: towards one half second labels tell nothing.
_LARGEST_RATE = 0.48


def labels_needed(
    noise_rate: NoiseRateLike,
    precision: float = PRECISION,
    *,
    trusted: bool = False,
    level: float = 0.95,
) -> int:
    r"""Return how many rows must be labelled again to know the noise rate that well.

    Parameters
    ----------
    noise_rate : float or pair of floats
        The rate, roughly; a pair is averaged.
    precision : float, default=0.02
        Half the width of the interval that is wanted.
    trusted : bool, default=False
        Whether the new labels are right, or noisy like the first ones.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    int

    Notes
    -----
    Trusted labels show errors themselves, with variance :math:`\rho(1-\rho)/n`. Two noisy labels
    disagree with probability :math:`q = 2\rho(1-\rho)`, whose slope in the rate is
    :math:`2 - 4\rho`: variance :math:`q(1-q)/(n(2-4\rho)^2)`, without bound towards one half. A
    rate of nearly nothing is checked by the rule of three rather than by a normal interval.

    Examples
    --------
    >>> labels_needed(0.2), labels_needed(0.2, trusted=True)
    (1452, 1537)
    """
    rate = float(np.clip(np.mean(rate_pair(noise_rate)), 0.0, _LARGEST_RATE))
    reach = float(ndtri((1 + level) / 2)) / precision
    share = rate if trusted else 2 * rate * (1 - rate)
    slope = 1.0 if trusted else 2 - 4 * rate
    least = 3 / (slope * precision)
    return int(np.ceil(max(reach**2 * share * (1 - share) / slope**2, least)))
