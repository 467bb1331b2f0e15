"""Which labels are likely wrong, and which further information would be worth having."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from flipcost.core.costs import cost_share
from flipcost.core.noise import clean_eta, noisy_eta, rate_pair


@dataclass(frozen=True)
class Information:
    """What further information would be worth.

    Attributes
    ----------
    second_labels : int
        Rows to have labelled again, independently, to know the rate within `precision`.
    trusted_labels : int
        Rows to have labelled by someone who does not err, for the same.
    precision : float
        Half the width of the interval that these give.
    value_of_rate : float
        What a row would cost less if the rate were known exactly.
    wrong_labels : float
        Expected number of wrong labels in the table.
    wrong_in_first_100 : float
        Expected number of wrong labels among the hundred most suspicious.
    """

    second_labels: int
    trusted_labels: int
    precision: float
    value_of_rate: float
    wrong_labels: float
    wrong_in_first_100: float


def labels_needed(noise_rate, precision=0.02, *, trusted=False, level=0.95):
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
    :math:`2 - 4\rho`: variance :math:`q(1-q)/(n(2-4\rho)^2)`, without bound towards one half.

    Examples
    --------
    >>> labels_needed(0.2), labels_needed(0.2, trusted=True)
    (1452, 1537)
    """
    rate = float(np.clip(np.mean(rate_pair(noise_rate)), 0.0, 0.48))
    # A rate of nearly nothing is checked by the rule of three rather than by a normal interval.
    reach = float(ndtri((1 + level) / 2)) / precision
    share = rate if trusted else 2 * rate * (1 - rate)
    slope = 1.0 if trusted else 2 - 4 * rate
    least = 3 / (slope * precision)
    return int(np.ceil(max(reach**2 * share * (1 - share) / slope**2, least)))


def probability_wrong(positive, probability, posterior):
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
    >>> from flipcost.core.rate_posterior import RatePosterior
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> probability_wrong([True, True, False], [0.9, 0.05, 0.5], known).round(3)
    array([0.027, 0.826, 0.2  ])
    """
    labels = np.asarray(positive, dtype=bool)
    observed = noisy_eta(probability, tuple(posterior.mean))
    wrong = np.zeros(len(labels))
    for (rho_pos, rho_neg), share in zip(posterior.rates, posterior.weight, strict=True):
        clean = clean_eta(observed, (rho_pos, rho_neg))
        noisy = rho_neg + (1 - rho_pos - rho_neg) * clean
        flipped = np.where(labels, rho_neg * (1 - clean), rho_pos * clean)
        seen = np.where(labels, noisy, 1 - noisy)
        wrong += share * np.divide(flipped, seen, out=np.zeros_like(flipped), where=seen > 0)
    return wrong


def value_of_knowing_rate(probability, cost, posterior, sample_weight=None):
    """Return what a row would cost less if the noise rate were known exactly.

    The expected value of perfect information: over the posterior of the rate, what the rule that
    does not know it costs more than the one that does. Never negative.

    Parameters
    ----------
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    cost : float or Costs
        Share of the cost that a false positive bears.
    posterior : RatePosterior
        Over the noise rates.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float

    Examples
    --------
    >>> from flipcost.core.rate_posterior import RatePosterior
    >>> unsure = RatePosterior(np.array([[0.1, 0.1], [0.3, 0.3]]), np.array([0.5, 0.5]))
    >>> sure = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> eta = np.linspace(0, 1, 101)
    >>> print(f"{value_of_knowing_rate(eta, 0.2, unsure):.4f} "
    ...       f"{value_of_knowing_rate(eta, 0.2, sure):.4f}")
    0.0049 0.0000
    """
    share = cost_share(cost)
    observed = noisy_eta(probability, tuple(posterior.mean))
    given = np.stack([clean_eta(observed, tuple(rate)) for rate in posterior.rates])
    # What calling a row positive costs more than calling it negative, under each rate.
    excess = share * (1 - given) - (1 - share) * given
    unsure = np.minimum(posterior.weight @ excess, 0.0)
    sure = posterior.weight @ np.minimum(excess, 0.0)
    return max(0.0, float(np.average(unsure - sure, weights=sample_weight)))
