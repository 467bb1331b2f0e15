r"""Curves of a classifier: calibration, ROC, precision and recall, net benefit, and cost.

Labels in bins of the probability say it all. Flips act on the two counts of a bin as they act on
class totals, so the inverse mixing gives the clean counts of every bin, and of every set of bins,
without bias; see `flipcost.core.confusion`.

The net benefit of calling rows whose probability exceeds :math:`t` is
:math:`E[d y] - E[d (1 - y)]\, t / (1 - t)`: true positives a row, less false ones at the price that
makes :math:`t` the right threshold (Vickers and Elkin, 2006). Both it and costs are linear in the
clean label, so that they are denoised as means (`clean_means`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from flipcost.core.arrays import Array, Flags, unit_weights
from flipcost.core.clean_means import LabelSums
from flipcost.core.confusion import ConfusionCounts, feasible_counts, smoothed
from flipcost.core.costs import CostLike, RowCosts, cost_share
from flipcost.core.error_rates import RatePosterior
from flipcost.core.noise import NoiseRateLike, not_identified, rate_pair, unmixing_matrix


def confusions_at_costs(
    positive: ArrayLike,
    probability: ArrayLike,
    costs: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> ConfusionCounts:
    """Count labels against flags when a probability is cut at each of several costs.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    probability : array-like of shape (n,)
        Of the positive class; a row is flagged where it exceeds the cost.
    costs : sequence of float
        Shares of the cost that a false positive bears.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ConfusionCounts
        Of shape (len(costs), 2, 2).

    Examples
    --------
    >>> confusions_at_costs([0, 1, 1], [0.1, 0.4, 0.9], [0.2, 0.5]).counts[:, 1]
    array([[0., 2.],
           [1., 1.]])
    """
    labels = np.asarray(positive, dtype=bool)
    weight = unit_weights(sample_weight, len(labels))
    thresholds = np.asarray(costs, dtype=float)
    ascending = np.argsort(thresholds, kind="stable")
    # A row is flagged at the costs below its probability: which come first.
    below = np.searchsorted(thresholds[ascending], np.asarray(probability, dtype=float))
    n = len(thresholds) + 1
    tables = []
    for power in (weight, weight**2):
        by_class = np.bincount(below + n * labels, power, 2 * n).reshape(2, n)
        negative = np.empty((2, n - 1))
        negative[:, ascending] = np.cumsum(by_class, axis=1)[:, :-1]
        tables.append(np.stack([negative, by_class.sum(axis=1)[:, None] - negative], axis=-1))
    return ConfusionCounts(*(np.moveaxis(table, 0, 1) for table in tables))


def confusion_cells(
    table: ConfusionCounts, noise_rate: NoiseRateLike, level: float = 0.95
) -> Array:
    """Return the shares of rows in the four cells as clean labels would have it, with intervals.

    Parameters
    ----------
    table : ConfusionCounts of shape (2, 2)
        Noisy labels against flags.
    noise_rate : float, pair of floats, or None
        The rate to denoise with, taken as known.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    ndarray of shape (2, 2, 3)
        Value, low and high of each share: label, then flag, negative first.

    Notes
    -----
    By the delta method, as in `flipcost.core.confusion`: a share of the rows is the cost of a row
    when one cell is paid for and no other.

    Examples
    --------
    >>> counts = np.array([[60.0, 20.0], [10.0, 30.0]])
    >>> confusion_cells(ConfusionCounts(counts, counts), None)[1, 1].round(3)
    array([0.25 , 0.173, 0.327])
    """
    unmix = unmixing_matrix(noise_rate)
    smooth, squares = smoothed(table)
    value = feasible_counts(table, noise_rate) / table.counts.sum()
    centre = unmix @ smooth / smooth.sum()
    # Slope of the share of (clean label, flag) in the observed counts of (label, flag).
    slope = np.einsum("ij,kl->ikjl", unmix, np.eye(2)) - centre[..., None, None]
    error = np.sqrt((slope**2 * squares).sum(axis=(-2, -1))) / smooth.sum()
    reach = ndtri((1 + level) / 2) * error
    low, high = np.clip([centre - reach, centre + reach], 0.0, 1.0)
    if not_identified(noise_rate, table.n_effective) is not None:
        low, high = np.zeros((2, 2)), np.ones((2, 2))
    return np.stack([value, np.minimum(low, value), np.maximum(high, value)], axis=-1)


def per_row_cost(cost: CostLike, noise_rate: NoiseRateLike) -> Array:
    """Return what a row with a noisy label and a flag costs on clean labels, without bias.

    Examples
    --------
    >>> per_row_cost(0.2, 0.25).round(4)
    array([[-0.4,  0.3],
           [ 1.2, -0.1]])
    """
    share = cost_share(cost)
    clean = np.array([[0.0, share], [1 - share, 0.0]])
    return np.asarray(unmixing_matrix(rate_pair(noise_rate)).T @ clean)


def area_under_curve(scores: Array, positive: Flags) -> float:
    """Return how often a positive row scores above a negative one; ties count half.

    Examples
    --------
    >>> area_under_curve(np.array([1.0, 2.0, 2.0, 3.0]), np.array([False, True, False, True]))
    0.875
    """
    _, place, rows = np.unique(scores, return_inverse=True, return_counts=True)
    n = np.count_nonzero(positive)
    rank = np.cumsum(rows) - (rows - 1) / 2
    above = rank[place.reshape(-1)[positive]].sum() - n * (n + 1) / 2
    return float(above / (n * (len(positive) - n)))


@dataclass(frozen=True, eq=False)
class LabelBins:
    """Labels in bins of a probability, which rises from bin to bin.

    Attributes
    ----------
    probability : ndarray of shape (B,)
        Mean probability of each bin.
    counts : ndarray of shape (2, B)
        Weight of negative and of positive labels in each.

    Examples
    --------
    >>> bins = LabelBins.from_rows([0.1, 0.2, 0.8, 0.9], [False, False, True, True], n_bins=2)
    >>> bins.probability.round(2), bins.counts.tolist()
    (array([0.15, 0.85]), [[2.0, 0.0], [0.0, 2.0]])
    """

    probability: Array
    counts: Array

    @classmethod
    def from_rows(
        cls,
        probability: ArrayLike,
        positive: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 100,
    ) -> LabelBins:
        """Put rows into bins of as many rows each; equal probabilities stay together."""
        labels = np.asarray(positive, bool)
        weight = unit_weights(sample_weight, len(labels))
        values, place = np.unique(np.asarray(probability, float), return_inverse=True)
        counts = [np.bincount(place, weight * own, len(values)) for own in (~labels, labels)]
        return cls(values, np.stack(counts).astype(float)).coarser(n_bins)

    def coarser(self, n_bins: int) -> LabelBins:
        """Join neighbours to about this many bins of as many rows each.

        Examples
        --------
        >>> bins = LabelBins.from_rows(np.arange(100) / 100, np.arange(100) > 50)
        >>> len(bins.probability), len(bins.coarser(10).probability)
        (100, 10)
        """
        total = self.counts.sum(axis=0)
        middle = (np.cumsum(total) - total / 2) / max(total.sum(), 1e-300)
        group = np.minimum((middle * n_bins).astype(int), n_bins - 1)
        parts = np.stack([*self.counts, total * self.probability])
        joined = np.stack([np.bincount(group, part, n_bins) for part in parts]).astype(float)
        joined = joined[:, joined[:2].sum(axis=0) > 0]
        return LabelBins(joined[2] / joined[:2].sum(axis=0), joined[:2])

    def share(self, noise_rate: NoiseRateLike = None) -> Array:
        """Return the share of positives in each bin, denoised and clipped to the feasible range.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[8.0, 3.0], [2.0, 7.0]]))
        >>> bins.share(), bins.share(0.1)
        (array([0.2, 0.7]), array([0.125, 0.75 ]))
        """
        clean = unmixing_matrix(noise_rate) @ self.counts
        share = clean[1] / np.maximum(self.counts.sum(axis=0), 1e-300)
        return np.asarray(np.clip(share, 0.0, 1.0))

    def roc(self, noise_rate: NoiseRateLike = None) -> tuple[Array, Array]:
        """Return shares of negatives and of positives above each threshold, from none to all.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[8.0, 3.0], [2.0, 7.0]]))
        >>> [shares.round(3).tolist() for shares in bins.roc()]
        [[0.0, 0.273, 1.0], [0.0, 0.778, 1.0]]
        """
        above = self._above(noise_rate)
        total = np.maximum(above[:, -1:], 1e-300)
        false, true = np.clip(above / total, 0.0, 1.0)
        return np.maximum.accumulate(false), np.maximum.accumulate(true)

    def area(self, noise_rate: NoiseRateLike = None) -> float:
        """Return the area under the ROC curve.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[9.0, 1.0], [1.0, 9.0]]))
        >>> round(bins.area(), 6), round(bins.area(0.1), 6)
        (0.9, 1.0)
        """
        false, true = self.roc(noise_rate)
        return float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2))

    def precision_recall(self, noise_rate: NoiseRateLike = None) -> tuple[Array, Array]:
        """Return precision and recall above each threshold, from the highest bin to all.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[8.0, 3.0], [2.0, 7.0]]))
        >>> [shares.round(3).tolist() for shares in bins.precision_recall()]
        [[0.7, 0.45], [0.778, 1.0]]
        """
        above = self._above(noise_rate)[:, 1:]
        flagged = np.cumsum(self.counts.sum(axis=0)[::-1])
        precision = np.clip(above[1] / np.maximum(flagged, 1e-300), 0.0, 1.0)
        return precision, self.roc(noise_rate)[1][1:]

    def _above(self, noise_rate: NoiseRateLike) -> Array:
        """Return clean counts above each threshold, shape (2, B + 1)."""
        clean = unmixing_matrix(noise_rate) @ self.counts
        return np.concatenate([np.zeros((2, 1)), np.cumsum(clean[:, ::-1], axis=1)], axis=1)


_CLEAN = RatePosterior(np.zeros((1, 2)), np.ones(1))


@dataclass(frozen=True, eq=False)
class BandCurve:
    """A curve on clean labels with its band, by recorded labels beside it, and the two constants.

    Attributes
    ----------
    x : ndarray of shape (K,)
        Thresholds, or prices.
    clean : ndarray of shape (K, 3)
        Value, lower and upper limit on clean labels.
    observed : ndarray of shape (K,)
        By the labels as they are.
    all_positive, all_negative : ndarray of shape (K,)
        The same of flagging all rows, and none, on clean labels.
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
    counts, squares = (np.swapaxes(part, -1, -2) for part in (tables.counts, tables.squares))
    own = replace(LabelSums.of_groups(counts, squares, slope, base), usual=None).thinned(design)
    share = LabelSums.of_rows(positive, 1.0, 0.0, sample_weight).by_rate(posterior)
    flag_all = float(share @ posterior.weight) * (1 + odds) - odds
    observed = own.by_rate(_CLEAN)[:, 0]
    return BandCurve(cuts, own.means(posterior, level), observed, flag_all, np.zeros(len(cuts)))


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
    """Return the cost of a row if misses cost this many times what they do, decided at that price.

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
    own, *constants = sums_at_factors(positive, even, prices, times, sample_weight)
    found = [one.by_rate(posterior) @ posterior.weight for one in constants]
    own = own.thinned(design)
    return BandCurve(times, own.means(posterior, level), own.by_rate(_CLEAN)[:, 0], *found)


def break_even(probability: ArrayLike, costs: RowCosts) -> Array:
    """Return the factor on the cost of misses above which flagging a row pays.

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
    w = unit_weights(sample_weight, len(labels))
    ascending = np.argsort(factors, kind="stable")
    cell = np.searchsorted(factors[ascending], even, side="right") + (n + 1) * labels

    def between(x: Array) -> Array:
        """Sum over rows of each label that break even between two factors, shape (n + 1, 2, 7)."""
        parts = [w, w * x, w**2, w**2 * x, w**2 * x**2]
        parts += [w * np.minimum(x, 0.0), w * np.maximum(x, 0.0)]
        sums = [np.bincount(cell, part, 2 * (n + 1)).reshape(2, n + 1).T for part in parts]
        return np.stack(sums, axis=-1)

    of_alarms, of_misses = between(costs.alarm), between(costs.miss)
    flagged, left = np.empty((2, n, 2, 7))
    flagged[ascending] = np.cumsum(of_alarms, axis=0)[:-1]
    left[ascending] = np.cumsum(of_misses[::-1], axis=0)[::-1][1:]
    every, none = (np.broadcast_to(part.sum(axis=0), (n, 2, 7)) for part in (of_alarms, of_misses))
    found = (flagged, left), (every, 0 * every), (0 * none, none)
    best, all_called, none_called = (
        _joined(_group(no, factors, 0.0), _group(yes, -np.ones(n), 1.0)) for yes, no in found
    )
    return best, all_called, none_called


def _group(sums: Array, slope: Array, base: float) -> LabelSums:
    """Return sums where slope and base of a row are this many times a price of it.

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
