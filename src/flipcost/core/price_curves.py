r"""Net benefit over thresholds and cost over prices, on clean labels, with bands.

The net benefit of calling rows whose probability exceeds :math:`t` is
:math:`E[d y] - E[d (1 - y)]\, t / (1 - t)`: true positives a row, less false ones at the price that
makes :math:`t` the right threshold (Vickers and Elkin, 2006). Both it and costs are linear in the
clean label, so that they are denoised as means (`clean_means`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.clean_means import LabelSums
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.cost_curves import confusions_at_costs
from flipcost.core.costs import RowCosts
from flipcost.core.noise_posterior import RatePosterior

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
    design: float = 1.0,
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
    design : float, default=1.0
        How many rows count for one, where they depend on each other.

    Examples
    --------
    >>> labels = np.tile([True, False], 50)
    >>> known = RatePosterior(np.zeros((1, 2)), np.ones(1))
    >>> curve = net_benefit_curve(labels, np.where(labels, 0.9, 0.1), known, [0.5])
    >>> print(curve.clean[0, 0], curve.all_positive[0])
    0.5 0.0
    """
    cuts = np.asarray(thresholds, dtype=float)
    tables = confusions_at_costs(positive, probability, cuts, sample_weight)
    odds = cuts / (1 - cuts)
    slope = np.stack([np.zeros(len(cuts)), 1 + odds], axis=-1)
    base = np.stack([np.zeros(len(cuts)), -odds], axis=-1)
    every = _all_called(tables)
    none = ConfusionCounts(every.counts[..., ::-1], every.squares[..., ::-1])
    own, called, left = (
        replace(LabelSums.of_groups(*by_call, slope, base), usual=None)
        for by_call in (
            (np.swapaxes(one.counts, -1, -2), np.swapaxes(one.squares, -1, -2))
            for one in (tables, every, none)
        )
    )
    return _curve(cuts, own.thinned(design), called, left, posterior, level)


def _all_called(tables: ConfusionCounts) -> ConfusionCounts:
    """Return the same rows, all of them called."""
    parts = (t.sum(axis=-1, keepdims=True) for t in (tables.counts, tables.squares))
    return ConfusionCounts(*(np.concatenate([0 * part, part], axis=-1) for part in parts))


def price_curve(
    positive: ArrayLike,
    probability: ArrayLike,
    prices: RowCosts,
    posterior: RatePosterior,
    factors: ArrayLike,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    design: float = 1.0,
) -> BandCurve:
    """Return the cost of a row if misses cost so many times what they do, decided at that price.

    Parameters
    ----------
    positive, probability, posterior, sample_weight, level, design
        As in `net_benefit_curve`.
    prices : RowCosts
        Of the rows.
    factors : array-like of shape (K,)
        What the prices of misses are multiplied by.

    Examples
    --------
    >>> labels = np.tile([True, False], 50)
    >>> known = RatePosterior(np.zeros((1, 2)), np.ones(1))
    >>> prices = RowCosts(np.full(100, 4.0), np.ones(100))
    >>> curve = price_curve(labels, np.full(100, 0.5), prices, known, [0.1, 1.0, 2.0])
    >>> curve.clean[:, 0]
    array([0.2, 0.5, 0.5])
    """
    times = np.asarray(factors, dtype=float)
    even = break_even(probability, prices)
    own, called, left = sums_at_factors(positive, even, prices, times, sample_weight)
    return _curve(times, own.thinned(design), called, left, posterior, level)


def break_even(probability: ArrayLike, costs: RowCosts) -> Array:
    """Return how many times as dear misses must be for flagging a row to pay, more than that.

    Examples
    --------
    >>> break_even([0.5, 0.2], RowCosts(4.0, 1.0))
    array([0.25, 1.  ])
    """
    eta = np.asarray(probability, dtype=float)
    gained, lost = costs.miss * eta, costs.alarm * (1 - eta)
    even = np.where(lost < 0, -np.inf, np.inf)
    np.divide(lost, gained, out=even, where=gained > 0)
    # At the costs as they are it is the threshold that decides, to the last digit.
    flagged = costs.flags(eta)
    return np.where(flagged, np.minimum(even, np.nextafter(1.0, 0.0)), np.maximum(even, 1.0))


def sums_at_factors(
    positive: ArrayLike,
    even: Array,
    costs: RowCosts,
    factors: Array,
    sample_weight: ArrayLike | None,
) -> tuple[LabelSums, LabelSums, LabelSums]:
    """Return sums of costs over factors: of the best decisions, of all rows flagged, and of none.

    A row is flagged at the factors above the one that it breaks even at, so that sums over the rows
    between two factors are all that is needed.
    """
    n, labels = len(factors), np.asarray(positive, dtype=np.intp)
    w = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    ascending = np.argsort(factors, kind="stable")
    cell = np.searchsorted(factors[ascending], even, side="right") + (n + 1) * labels

    def between(x: Array) -> Array:
        """Sum over rows of each label that break even between two factors, shape (n + 1, 2, 7)."""
        parts = [w, w * x, w**2, w**2 * x, w**2 * x**2]
        parts += [w * np.minimum(x, 0.0), w * np.maximum(x, 0.0)]
        sums = [np.bincount(cell, part, 2 * (n + 1)).reshape(2, n + 1).T for part in parts]
        return np.stack(sums, axis=-1)

    of_alarms, of_misses = between(costs.alarm), between(costs.miss)
    called, left = np.empty((2, n, 2, 7))
    called[ascending] = np.cumsum(of_alarms, axis=0)[:-1]
    left[ascending] = np.cumsum(of_misses[::-1], axis=0)[::-1][1:]
    every, none = (np.broadcast_to(part.sum(axis=0), (n, 2, 7)) for part in (of_alarms, of_misses))
    found = (called, left), (every, 0 * every), (0 * none, none)
    best, all_called, none_called = (
        _joined(_group(no, factors, 0.0), _group(yes, -np.ones(n), 1.0)) for yes, no in found
    )
    return best, all_called, none_called


def _group(sums: Array, slope: Array, base: float) -> LabelSums:
    """Return sums where slope and base of a row are so many times a price of it.

    Parameters
    ----------
    sums : ndarray of shape (K, 2, 7)
        Of weight, weight times price; of squared weight, that times price and times its square;
        of weight times prices below nothing, and above.
    slope : ndarray of shape (K,)
        What the price is multiplied by.
    base : float
        The same.
    """
    turn = np.zeros((len(slope), 1, 3, 2))
    turn[..., 0, 0], turn[..., 1, 1], turn[..., 2, 1] = 1.0, slope[:, None], base
    first = (turn @ sums[..., :2, None])[..., 0]
    squares = sums[..., [2, 3, 3, 4]].reshape(*sums.shape[:-1], 2, 2)
    ends = slope[:, None] * sums[..., 5:].sum(axis=1)
    reach = np.stack([ends.min(axis=-1), ends.max(axis=-1)], axis=-1)
    second = turn @ squares @ np.swapaxes(turn, -1, -2)
    return LabelSums(first[:, None], second[:, None], reach[:, None])


def _joined(one: LabelSums, other: LabelSums) -> LabelSums:
    """Return the groups of both."""
    parts = zip(
        (one.first, one.second, one.reach), (other.first, other.second, other.reach), strict=True
    )
    return LabelSums(*(np.concatenate(both, axis=1) for both in parts))


def _curve(
    x: Array,
    own: LabelSums,
    every: LabelSums,
    none: LabelSums,
    posterior: RatePosterior,
    level: float,
) -> BandCurve:
    constants = [one.by_rate(posterior) @ posterior.weight for one in (every, none)]
    return BandCurve(x, own.means(posterior, level), own.by_rate(_CLEAN)[:, 0], *constants)
