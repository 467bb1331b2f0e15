r"""Label errors: what flips do to labels and probabilities, and rates from counts of labels.

Conventions
-----------
A noise rate is ``None`` (labels are taken as they are), one number in [0, 0.5) for symmetric
noise, or a pair ``(rho_pos, rho_neg)`` with ``rho_pos + rho_neg < 1``, where

.. math::

    \rho_+ = P(\tilde y = -1 \mid y = +1), \qquad \rho_- = P(\tilde y = +1 \mid y = -1).

Everything follows from one affine map: the noisy probability of the positive class is
:math:`\tilde\eta = \rho_- + (1 - \rho_+ - \rho_-)\,\eta`. Class axes have the negative class first.

Rates from counts
-----------------
Three facts are used. Against a trusted label a noisy one disagrees with probability
:math:`\rho`. Two noisy labels of the same row, flipped on their own at the same rate, disagree with
probability :math:`2\rho(1-\rho)` whatever the classes are. And in *any* part of the feature
space, chosen without looking at the labels in it, the share of positive noisy labels is at least
:math:`\rho_-` and that of negative ones at least :math:`\rho_+`: flips put them there even when all
rows are of one class.

Binomial limits are exact in the sense of Clopper and Pearson: they cover with at least their level
at every number of rows.

What is not identified
----------------------
Inverting noise multiplies the standard error of a share by :math:`1/k`, with
:math:`k = 1 - \rho_+ - \rho_-`. A share of :math:`n` rows then has a standard error of up to
:math:`1 / (2 k \sqrt n)`; where that is more than a quarter, all shares from 0 to 1 are about as
likely as before the labels were seen (a uniform share has 0.29), and nothing is identified
(`not_identified`).

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
from scipy.special import bdtr, betaincinv, ndtri

from flipcost.core.arrays import Array, Flags

# Standard error of a clean share from which on labels tell nothing of it; and where labels keep
# more than this of what they tell, it is the rows that are too few, not the rate.
_USELESS, _NOISY = 0.25, 0.5
# What a rate should be known to within by default: half the width of an interval whose ends move a
# noisy threshold at cost 0.2 and rate 0.2 by no more than 0.012.
PRECISION = 0.02
# The largest rate that is planned for: towards one half second labels tell nothing.
_LARGEST_RATE = 0.48

Rate: TypeAlias = "float | tuple[float, float]"
NoiseRateLike: TypeAlias = "float | tuple[float, float] | NoiseRate | None"


def _hint(rates: Array) -> str:
    """Return what was meant by rates that look like percentages, as a sentence, or nothing."""
    if np.all(rates >= 0) and 1 <= np.max(rates) <= 100 and np.sum(rates) < 100:
        meant = ", ".join(f"{rate / 100:g}" for rate in np.ravel(rates))
        shown = f"({meant})" if rates.ndim else meant
        return f"Rates are shares, not per cent: did you mean {shown}? "
    return ""


def rate_pair(noise_rate: NoiseRateLike) -> tuple[float, float]:
    """Return any noise rate as a checked pair ``(rho_pos, rho_neg)``.

    Parameters
    ----------
    noise_rate : float, pair of floats, NoiseRate or None
        None is no noise; a number is symmetric noise; a pair is class-conditional noise. Of an
        estimate, such as a `NoiseRate`, the ``value`` is taken.

    Returns
    -------
    tuple of float
        ``(rho_pos, rho_neg)``.

    Examples
    --------
    >>> rate_pair(0.2), rate_pair((0.3, 0.1)), rate_pair(None)
    ((0.2, 0.2), (0.3, 0.1), (0.0, 0.0))
    """
    if noise_rate is None:
        return 0.0, 0.0
    rates = np.asarray(getattr(noise_rate, "value", noise_rate), dtype=float)
    if rates.shape not in ((), (2,)):
        msg = (
            "`noise_rate` must be None, one number, or a pair (rho_pos, rho_neg); "
            f"got an array of shape {rates.shape}. Give a single rate, or one for each class."
        )
        raise ValueError(msg)
    if rates.ndim == 0:
        if not 0 <= rates < 0.5:
            msg = (
                f"`noise_rate` must lie in [0, 0.5); got {float(rates):g}. {_hint(rates)}At one "
                "half the labels say nothing about the classes; above it they say the opposite: "
                "swap the labels."
            )
            raise ValueError(msg)
        return float(rates), float(rates)
    rho_pos, rho_neg = float(rates[0]), float(rates[1])
    if not (rho_pos >= 0 and rho_neg >= 0 and rho_pos + rho_neg < 1):
        msg = (
            "`noise_rate` as a pair (rho_pos, rho_neg) must be non-negative with a sum below 1; "
            f"got ({rho_pos:g}, {rho_neg:g}). {_hint(rates)}At a sum of one the labels say nothing "
            "about the classes; above it they say the opposite: swap the labels."
        )
        raise ValueError(msg)
    return rho_pos, rho_neg


def transition_matrix(noise_rate: NoiseRateLike) -> Array:
    """Return the row-stochastic matrix ``T[clean, noisy]``, negative class first.

    Examples
    --------
    >>> transition_matrix((0.3, 0.1))
    array([[0.9, 0.1],
           [0.3, 0.7]])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    return np.array([[1 - rho_neg, rho_neg], [rho_pos, 1 - rho_pos]])


def unmixing_matrix(noise_rate: NoiseRateLike) -> Array:
    r"""Return ``U`` with ``clean = U @ noisy`` for any quantity that adds up over rows of a class.

    Flips act on class totals by the transpose of the transition matrix, so
    :math:`U = (T^\top)^{-1}`: the two-by-two inversion behind every denoised moment and count.

    Examples
    --------
    >>> clean = np.array([60.0, 40.0])
    >>> noisy = transition_matrix((0.3, 0.1)).T @ clean
    >>> unmixing_matrix((0.3, 0.1)) @ noisy
    array([60., 40.])
    """
    return np.asarray(unmixing_matrices([rate_pair(noise_rate)])[0])


def unmixing_matrices(rates: ArrayLike) -> Array:
    """Return the `unmixing_matrix` of each pair of rates, which are not checked: (R, 2, 2)."""
    rho_pos, rho_neg = np.asarray(rates, dtype=float).T
    rows = np.array([[1 - rho_pos, -rho_pos], [-rho_neg, 1 - rho_neg]]) / (1 - rho_pos - rho_neg)
    return np.moveaxis(rows, -1, 0)


def noisy_eta(eta: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return the probability of a positive noisy label, given that of a positive clean one.

    Examples
    --------
    >>> noisy_eta([0.0, 0.5, 1.0], 0.2)
    array([0.2, 0.5, 0.8])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    return np.asarray(rho_neg + (1 - rho_pos - rho_neg) * np.asarray(eta, dtype=float))


def clean_eta(noisy: ArrayLike, noise_rate: NoiseRateLike, *, clip: bool = True) -> Array:
    """Return the probability of a positive clean label, given that of a positive noisy one.

    Parameters
    ----------
    noisy : array-like
        Probabilities of the positive noisy label.
    noise_rate : float, pair of floats, or None
        The noise rate.
    clip : bool, default=True
        Estimated noisy probabilities can fall outside ``[rho_neg, 1 - rho_pos]``, where no clean
        probability maps to. Clip the result to [0, 1] there.

    Examples
    --------
    >>> clean_eta([0.1, 0.5, 0.8], 0.2)
    array([0. , 0.5, 1. ])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    clean = (np.asarray(noisy, dtype=float) - rho_neg) / (1 - rho_pos - rho_neg)
    return np.clip(clean, 0.0, 1.0) if clip else np.asarray(clean)


def noisy_threshold(threshold: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return where the noisy probability stands when the clean one stands at ``threshold``.

    To honour a cost on clean labels, threshold the *noisy* probability here, not at the cost.

    Examples
    --------
    >>> float(noisy_threshold(0.2, 0.4))
    0.44
    """
    return noisy_eta(threshold, noise_rate)


def clean_threshold(threshold: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return the clean threshold that a threshold on the noisy probability amounts to, unclipped.

    A result outside [0, 1] means that the threshold makes every row positive (below 0) or
    negative (above 1).

    Examples
    --------
    >>> clean_threshold([0.44, 0.25], 0.4).round(6)
    array([ 0.2 , -0.75])
    """
    return clean_eta(threshold, noise_rate, clip=False)


def noisy_marginal(marginal: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return the share of positive noisy labels, given that of positive clean ones.

    Examples
    --------
    >>> float(noisy_marginal(0.3, 0.2))
    0.38
    """
    return noisy_eta(marginal, noise_rate)


def flip(positive: ArrayLike, noise_rate: NoiseRateLike, rng: np.random.Generator) -> Flags:
    """Flip each boolean label on its own with the probability of its class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kept = flip(np.ones(10_000, dtype=bool), (0.3, 0.1), rng)
    >>> print(round(kept.mean(), 2))
    0.7
    """
    labels = np.asarray(positive, dtype=bool)
    rho_pos, rho_neg = rate_pair(noise_rate)
    flipped = rng.random(labels.shape) < np.where(labels, rho_pos, rho_neg)
    return np.asarray(labels ^ flipped)


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
    """Return a confidence level as a checked number in (0, 1)."""
    if not 0 < level < 1:
        msg = f"`level` must lie in (0, 1); got {level:g}. Give 0.95 for 95%."
        raise ValueError(msg)
    return float(level)


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, level: float = 0.95
) -> tuple[Array, Array]:
    """Return exact two-sided limits of binomial probabilities; 0 and 1 where there are no trials.

    Either side may miss with half of what the level leaves.
    """
    tail = (1 - check_level(level)) / 2
    failures = np.asarray(trials, float) - np.asarray(successes, float)
    return 1 - _upper_limit(failures, trials, tail), _upper_limit(successes, trials, tail)


def _upper_limit(successes: ArrayLike, trials: ArrayLike, tail: float) -> Array:
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    inside = k < n
    limit = betaincinv(np.where(inside, k + 1, 1), np.where(inside, n - k, 1), 1 - tail)
    return np.where(inside, limit, 1.0)


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

    How many values lie below the true quantile is binomial, so two of the sorted values enclose it;
    a limit is infinite where there are too few values beyond the quantile.
    """
    tail = (1 - check_level(level)) / 2
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    # Of N = number below the quantile: P(N < first) <= tail and P(N >= last) <= tail.
    chance = bdtr(np.arange(n + 1.0), n, share)
    first, last = np.searchsorted(chance, [tail, 1 - tail]) + np.array([0, 1])
    low = float(ordered[first - 1]) if first >= 1 else -np.inf
    high = float(ordered[last - 1]) if last <= n else np.inf
    value = float(np.quantile(ordered, share))
    return value, min(low, value), max(high, value)


@dataclass(frozen=True)
class PurestTail:
    """The tail of a score in which labels of one kind are rarest: their share, and its upper limit.

    The limit is valid for all tails tried at once.
    """

    share: float
    limit: float
    n_rows: int


def tail_counts(scores: ArrayLike, odd: ArrayLike, smallest: int) -> NDArray[np.int64]:
    """Count odd labels, and rows, in nested tails of low scores; shape (n_tails, 2).

    Tails double in size from `smallest` up to all rows. Rows with tied scores go in together: which
    of them come first would else depend on their order, and that on their labels.
    """
    order = np.argsort(np.asarray(scores, dtype=float), kind="stable")
    ordered = np.asarray(scores, dtype=float)[order]
    n = len(ordered)
    sizes = np.unique(np.minimum(smallest * 2 ** np.arange(max(n, 2).bit_length() + 1), n))
    rows = np.unique(np.searchsorted(ordered, ordered[sizes - 1], side="right"))
    total = np.cumsum(np.asarray(odd, dtype=np.int64)[order])
    return np.stack([total[rows - 1], rows], axis=1)


def purest_tail(counts: ArrayLike, tail: float) -> PurestTail:
    """Return the tail, of those that `tail_counts` gives, with the smallest upper limit.

    `tail` is the probability with which any of the limits may fail, shared out evenly (Bonferroni).
    """
    table = np.asarray(counts)
    limits = _upper_limit(table[:, 0], table[:, 1], tail / len(table))
    best = int(np.argmin(limits))
    odd, rows = table[best]
    return PurestTail(float(odd / rows), float(limits[best]), int(rows))


def labels_needed(
    noise_rate: NoiseRateLike,
    precision: float = PRECISION,
    *,
    trusted: bool = False,
    level: float = 0.95,
) -> int:
    r"""Return how many rows to label again for an interval of this half width around a rate.

    Trusted labels show errors themselves, with variance :math:`\rho(1-\rho)/n`. Two noisy labels
    disagree with probability :math:`q = 2\rho(1-\rho)`, whose slope in the rate is
    :math:`2 - 4\rho`: variance :math:`q(1-q)/(n(2-4\rho)^2)`, without bound towards one half. A
    rate of nearly nothing is checked by the rule of three rather than by a normal interval.
    """
    rate = float(np.clip(np.mean(rate_pair(noise_rate)), 0.0, _LARGEST_RATE))
    reach = float(ndtri((1 + level) / 2)) / precision
    share = rate if trusted else 2 * rate * (1 - rate)
    slope = 1.0 if trusted else 2 - 4 * rate
    least = 3 / (slope * precision)
    return int(np.ceil(max(reach**2 * share * (1 - share) / slope**2, least)))


def why_uninformative(rate: NoiseRate) -> str | None:
    """Return why an estimated rate tells nothing of the noise, or None if it does.

    One rate that may be one half leaves open whether labels say anything at all.
    """
    if isinstance(rate.high, tuple) or rate.high < 0.5:
        return None
    return (
        f"A noise rate of {rate} is not identified: at one half labels say nothing. "
        "It played no part."
    )


def not_identified(noise_rate: NoiseRateLike, n_rows: float) -> str | None:
    """Return why so few rows say nothing of clean labels at a known rate, or None if they do.

    Examples
    --------
    >>> not_identified(0.2, 1000) is None
    True
    >>> print(not_identified((0.6, 0.39), 1000))
    `noise_rate` = (0.6, 0.39) leaves labels 1 % of what they tell: with 1,000 rows nothing of the \
clean labels is identified, and 40,000 would be needed. Intervals are all that can be.
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    kept = 1 - rho_pos - rho_neg
    needed = int(np.ceil(round((0.5 / (_USELESS * kept)) ** 2, 6)))
    if n_rows >= needed or kept > _NOISY:
        return None
    return (
        f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) leaves labels {100 * kept:.2g} %"
        f" of what they tell: with {n_rows:,.0f} rows nothing of the clean labels is identified, "
        f"and {needed:,} would be needed. Intervals are all that can be."
    )
