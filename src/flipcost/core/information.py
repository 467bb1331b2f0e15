"""Which labels are likely wrong, what a classifier saves, and what knowing more would be worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from flipcost.core.costs import AnyCosts, RowCosts
from flipcost.core.noise import NoiseRateLike, clean_eta, noisy_eta, rate_pair
from flipcost.core.noise_posterior import RatePosterior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

# What a rate should be known to within, when nobody says: half the width of an interval whose
# ends move a noisy threshold at cost 0.2 and rate 0.2 by no more than 0.012.
PRECISION = 0.02
# The largest rate that is planned for: towards one half second labels tell nothing.
_LARGEST_RATE = 0.48
# Rates that weigh less than this share of the heaviest change no digit.
_NO_WEIGHT = 1e-15
_BLOCK_ROWS = 16_384  # rows at a time, for the cache


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


def probability_wrong(
    positive: ArrayLike, probability: ArrayLike, posterior: RatePosterior
) -> Array:
    """Return the probability that each label is wrong, given its row.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    posterior : RatePosterior
        Over the noise rates.

    Returns
    -------
    ndarray of shape (n,)

    Notes
    -----
    By Bayes' rule, with the noisy probability held fixed while the rate varies: it is what the
    labels determine, whatever the rate.

    Examples
    --------
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> probability_wrong([True, True, False], [0.9, 0.05, 0.5], known).round(3)
    array([0.027, 0.826, 0.2  ])
    """
    labels = np.asarray(positive, dtype=bool)
    observed = noisy_eta(probability, tuple(posterior.mean))
    counts = np.flatnonzero(posterior.weight > _NO_WEIGHT * posterior.weight.max())
    given = [(*posterior.rates[k].tolist(), float(posterior.weight[k])) for k in counts]
    wrong = np.empty(len(labels))
    for start in range(0, len(labels), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        wrong[rows] = _wrong_given(labels[rows], observed[rows], given)
    return wrong


def _wrong_given(
    labels: NDArray[np.bool_], observed: Array, given: Sequence[tuple[float, float, float]]
) -> Array:
    """Average the probability over pairs of rates with their weights."""
    wrong = np.zeros(len(labels))
    for rho_pos, rho_neg, share in given:
        clean = clean_eta(observed, (rho_pos, rho_neg))
        noisy = rho_neg + (1 - rho_pos - rho_neg) * clean
        flipped = np.where(labels, rho_neg * (1 - clean), rho_pos * clean)
        seen = np.where(labels, noisy, 1 - noisy)
        wrong += share * np.divide(flipped, seen, out=np.zeros_like(flipped), where=seen > 0)
    return wrong


def value_of_knowing_rate(
    given: ArrayLike,
    weight: ArrayLike,
    cost: AnyCosts,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return what a row would cost less if the noise rate were known exactly.

    The expected value of perfect information: what the rule that knows the posterior of the rate
    costs more, on average over that posterior, than the rule that knows the rate. Never negative,
    and nothing when the rate is known.

    Parameters
    ----------
    given : array-like of shape (R, n)
        Probability that the clean label of each row is positive, given each rate.
    weight : array-like of shape (R,)
        Posterior probabilities of the rates.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float

    Notes
    -----
    With :math:`e_r = c - \eta_r`, what calling a row positive costs more than calling it negative
    under rate r, the value is the mean over rows of
    :math:`\min(\sum_r w_r e_r, 0) - \sum_r w_r \min(e_r, 0)`.

    The probabilities are those that the calibration gives under each rate, since a classifier that
    is told the rate decides by them. Two other ways were in use. Denoising one probability by each
    rate holds the noisy probability fixed, but another rate also gives the scores other slopes and
    other shares, which moves more rows across the threshold. And comparing with the constant that a
    fallback may choose counts the price of distrusting the model, which is there when the rate is
    known too.

    Examples
    --------
    >>> eta = np.linspace(0, 1, 101)
    >>> unsure = [np.clip(eta - 0.1, 0, 1), np.clip(eta + 0.1, 0, 1)]
    >>> print(f"{value_of_knowing_rate(unsure, [0.5, 0.5], 0.2):.4f} "
    ...       f"{value_of_knowing_rate([eta], [1.0], 0.2):.4f}")
    0.0050 0.0000
    """
    eta = np.asarray(given, dtype=float)
    excess = -RowCosts.of(cost).gain(eta)
    share = np.asarray(weight, dtype=float)
    unsure = np.minimum(share @ excess, 0.0)
    sure = share @ np.minimum(excess, 0.0)
    rows = np.ones_like(sure) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return max(0.0, float(np.average(unsure - sure, weights=rows)))
