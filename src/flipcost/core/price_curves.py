r"""Net benefit over thresholds and cost over prices, on clean labels, with bands.

The net benefit of calling rows whose probability exceeds :math:`t` is
:math:`E[d y] - E[d (1 - y)]\, t / (1 - t)`: true positives a row, less false ones at the price that
makes :math:`t` the right threshold (Vickers and Elkin, 2006). Both it and costs are linear in the
clean label, so that they are denoised as means (`clean_means`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core.arrays import Array
from flipcost.core.clean_means import LabelSums, cost_sums
from flipcost.core.decision import bayes_calls
from flipcost.core.prices import Prices
from flipcost.core.rate_posterior import RatePosterior

_CLEAN = RatePosterior(np.zeros((1, 2)), np.ones(1))


@dataclass(frozen=True, eq=False)
class BandCurve:
    """A curve on clean labels with its band, as labelled beside it, and the two constants.

    Attributes
    ----------
    x : ndarray of shape (K,)
        Thresholds, or prices.
    clean : ndarray of shape (K, 3)
        Value, lower and upper limit on clean labels.
    observed : ndarray of shape (K,)
        By the labels as they are.
    all_positive, all_negative : ndarray of shape (K,)
        The same of calling all rows, and none, on clean labels.
    """

    x: Array
    clean: Array
    observed: Array
    all_positive: Array
    all_negative: Array


def net_benefit_curve(
    positive: ArrayLike,
    probability: ArrayLike,
    posterior: RatePosterior,
    thresholds: ArrayLike,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> BandCurve:
    """Return the decision curve: net benefit of a row over thresholds.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        The noisy labels.
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    posterior : RatePosterior
        Over the noise rates.
    thresholds : array-like of shape (K,)
        In (0, 1).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    level : float, default=0.95
        Level of the band.

    Examples
    --------
    >>> labels = np.tile([True, False], 50)
    >>> known = RatePosterior(np.zeros((1, 2)), np.ones(1))
    >>> curve = net_benefit_curve(labels, np.where(labels, 0.9, 0.1), known, [0.5])
    >>> print(curve.clean[0, 0], curve.all_positive[0])
    0.5 0.0
    """
    eta, cuts = np.asarray(probability, dtype=float), np.asarray(thresholds, dtype=float)

    def sums(k: int, called: NDArray[np.bool_]) -> LabelSums:
        odds = cuts[k] / (1 - cuts[k])
        slope, base = called * (1 + odds), -odds * called
        return LabelSums.of_rows(positive, slope, base, sample_weight, called, 2)

    return _curve(cuts, sums, lambda k: eta > cuts[k], len(eta), posterior, level)


def price_curve(
    positive: ArrayLike,
    probability: ArrayLike,
    prices: Prices,
    posterior: RatePosterior,
    factors: ArrayLike,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> BandCurve:
    """Return the cost of a row if misses cost so many times what they do, decided at that price.

    Parameters
    ----------
    positive, probability, posterior, sample_weight, level
        As in `net_benefit_curve`.
    prices : Prices
        Of the rows.
    factors : array-like of shape (K,)
        What the prices of misses are multiplied by.

    Examples
    --------
    >>> labels = np.tile([True, False], 50)
    >>> known = RatePosterior(np.zeros((1, 2)), np.ones(1))
    >>> prices = Prices(np.full(100, 4.0), np.ones(100))
    >>> curve = price_curve(labels, np.full(100, 0.5), prices, known, [0.1, 1.0, 2.0])
    >>> curve.clean[:, 0]
    array([0.2, 0.5, 0.5])
    """
    eta, times = np.asarray(probability, dtype=float), np.asarray(factors, dtype=float)
    scaled = [prices.scaled(float(factor)) for factor in times]

    def sums(k: int, called: NDArray[np.bool_]) -> LabelSums:
        return cost_sums(positive, called, scaled[k], sample_weight)

    return _curve(times, sums, lambda k: bayes_calls(eta, scaled[k]), len(eta), posterior, level)


def _curve(
    x: Array,
    sums: Callable[[int, NDArray[np.bool_]], LabelSums],
    calls: Callable[[int], NDArray[np.bool_]],
    n_rows: int,
    posterior: RatePosterior,
    level: float,
) -> BandCurve:
    clean, observed, constants = [], [], []
    for k in range(len(x)):
        own = sums(k, calls(k))
        found = own.mean(posterior, level)
        clean.append((found.value, found.low, found.high))
        observed.append(float(own.by_rate(_CLEAN)[0]))
        both = (sums(k, np.full(n_rows, side)) for side in (True, False))
        constants.append([float(posterior.weight @ one.by_rate(posterior)) for one in both])
    every, none = np.array(constants).T
    return BandCurve(x, np.array(clean), np.array(observed), every, none)
