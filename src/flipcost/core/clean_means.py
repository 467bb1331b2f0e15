r"""Means over rows of whatever depends on the clean label, from noisy ones, with intervals.

What a call costs, saves or finds is linear in the clean label of its row,
:math:`z_i = s_i y_i + b_i`, with a slope and a base that are known: prices, calls, probabilities
(see `priced_sums`). Label noise mixes labels, so that with :math:`u` what a label says of the
clean one (the second row of `unmixing_matrix`), the mean of :math:`s_i u_i + b_i` is unbiased for
that of :math:`z_i`, whatever the slopes depend on, if labels were flipped independently of them
given the class. Only sums by label are needed, and these merge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, unit_weights
from flipcost.core.confusion import ConfusionCounts, Interval, clip_interval, clip_intervals
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior, mixture_intervals
from flipcost.core.noise import NoiseRateLike, rate_pair, unmixing_matrix


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Sums over rows of slopes and bases, by group of rows and label.

    Groups are sets of rows in which no more can be positive than there are: calls, mostly. Axes
    before that of the groups are of several means over the same rows.

    Attributes
    ----------
    first : ndarray of shape (..., G, 2, 3)
        Sums of weight times ``(1, slope, base)``; negative labels first.
    second : ndarray of shape (..., G, 2, 3, 3)
        Sums of squared weight times the products of these.
    reach : ndarray of shape (..., G, 2)
        Sums of weight times the slopes below nothing, and above: how far the mean can be moved.
    usual : ndarray of shape (..., G, 2) or None
        Slope and base of a usual row of each group, also of one without rows; when None, such
        groups stay empty.

    Examples
    --------
    >>> sums = LabelSums.of_rows([True, True, False, False], [2.0, 2.0, 2.0, 2.0], 1.0)
    >>> known = RatePosterior(np.array([[0.25, 0.25]]), np.ones(1))
    >>> sums.mean(known).value
    2.0
    """

    first: Array
    second: Array
    reach: Array
    usual: Array | None = None

    @classmethod
    def of_groups(
        cls, counts: ArrayLike, squares: ArrayLike, slope: ArrayLike, base: ArrayLike
    ) -> LabelSums:
        """Return sums where slope and base, shape (..., G), are the same in all rows of a group.

        `counts` and `squares`, shape (..., G, 2), are sums of weights and of their squares.
        """
        own = np.stack(np.broadcast_arrays(slope, base), axis=-1).astype(float)
        vector = np.concatenate([np.ones((*own.shape[:-1], 1)), own], axis=-1)[..., None, :]
        by_label, second = (np.asarray(part, dtype=float)[..., None] for part in (counts, squares))
        ends = np.stack([np.minimum(own[..., 0], 0.0), np.maximum(own[..., 0], 0.0)], axis=-1)
        return cls(
            by_label * vector,
            second[..., None] * (vector[..., :, None] * vector[..., None, :]),
            by_label.sum(axis=-2) * ends,
            own,
        )

    @classmethod
    def of_table(cls, table: ConfusionCounts, costs: RowCosts) -> LabelSums:
        """Return what decisions cost from labels against decisions, at one cost for all rows."""
        own = (np.array([costs.miss, -costs.alarm]), np.array([0.0, costs.alarm]))
        return cls.of_groups(table.counts.T, table.squares.T, *own)

    @classmethod
    def of_rows(
        cls,
        positive: ArrayLike,
        slope: ArrayLike,
        base: ArrayLike,
        sample_weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        n_groups: int = 1,
    ) -> LabelSums:
        """Sum over rows.

        Parameters
        ----------
        positive : array-like of bool, shape (n,)
            The noisy labels.
        slope, base : array-like of shape (n,) or float
            What a row counts more if it is truly positive, and what it counts anyway.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        group : array-like of int, shape (n,), optional
            Group of each row.
        n_groups : int, default=1
            Number of groups.
        """
        labels = np.asarray(positive, dtype=bool)
        n = len(labels)
        weight = unit_weights(sample_weight, n)
        s, b = (np.broadcast_to(np.asarray(part, dtype=float), n) for part in (slope, base))
        place = np.zeros(n, np.intp) if group is None else np.asarray(group, dtype=np.intp)
        cell = 2 * place + labels
        parts = (np.ones(n), s, b)

        def total(values: Array) -> Array:
            return np.bincount(cell, values, 2 * n_groups).reshape(n_groups, 2).astype(float)

        first = np.stack([total(weight * part) for part in parts], axis=-1)
        second = np.empty((n_groups, 2, 3, 3))
        for i in range(3):
            for j in range(i + 1):
                second[..., i, j] = second[..., j, i] = total(weight**2 * parts[i] * parts[j])
        ends = (np.minimum(s, 0.0), np.maximum(s, 0.0))
        reach = np.stack([np.bincount(place, weight * end, n_groups) for end in ends], axis=-1)
        return cls(first, second, reach.astype(float))

    def thinned(self, design: float) -> LabelSums:
        """Return the same as uncertain as if fewer rows had been seen, as rows that depend are.

        Parameters
        ----------
        design : float
            How many rows count for one.
        """
        return self if design == 1.0 else replace(self, second=design * self.second)

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return float(self.first[..., 0].sum(axis=(-2, -1)).reshape(-1)[0])

    @property
    def n_effective(self) -> float:
        """Rows of equal weight that would leave as much to chance."""
        second = self.second[..., 0, 0].sum(axis=(-2, -1)).reshape(-1)[0]
        return float(self.weight**2 / second) if second > 0 else 0.0

    @property
    def label_share(self) -> float:
        """Share of positive labels."""
        weight = self.first[..., 0].sum(axis=-2).reshape(-1, 2)[0]
        return float(weight[1] / weight.sum())

    def at(self, unmix: Array) -> tuple[Array, Array]:
        """Return the mean and its standard error under each of several rates.

        Parameters
        ----------
        unmix : ndarray of shape (R, 2, 2)
            What denoises counts, from `RatePosterior.unmixings`.

        Returns
        -------
        value, error : ndarray of shape (..., R)
            Means are clipped to the feasible range.
        """
        weight = self.first[..., 0].sum(axis=(-2, -1))[..., None]
        known = unmix[:, 1, :]
        slopes = self.first[..., 1] @ known.T
        cut = np.clip(slopes, self.reach[..., :1], self.reach[..., 1:])
        base = self.first[..., 2].sum(axis=(-2, -1))[..., None]
        value = (cut.sum(axis=-2) + base) / weight
        plain = (slopes.sum(axis=-2) + base) / weight
        second = self.second.sum(axis=-4)
        # A quadratic form in (-mean, what a label tells, 1).
        row = np.stack(np.broadcast_arrays(-plain[..., None, :], known.T, 1.0), axis=-1)
        variance = ((row @ second) * row).sum(axis=(-3, -1))
        return value, np.sqrt(np.maximum(variance, 0.0)) / weight

    def smooth(self) -> LabelSums:
        """Return the same with half a typical row of each label in every group.

        So that a cell that happens to be empty does not pass for certainty.
        """
        total = self.first[..., 0].sum(axis=(-2, -1))
        typical = self.second[..., 0, 0].sum(axis=(-2, -1)) / total
        mass = self.first[..., 0].sum(axis=-1)
        mean = self.first.sum(axis=-2) / np.where(mass > 0, mass, 1.0)[..., None]
        extra = np.zeros_like(self.reach)
        if self.usual is not None:
            empty = mass == 0
            mean[empty, 0], mean[empty, 1:] = 1.0, self.usual[empty]
            ends = np.stack([np.minimum(mean[..., 1], 0), np.maximum(mean[..., 1], 0)], axis=-1)
            extra[empty] = (typical[..., None, None] * ends)[empty]
        row, half = mean[..., None, :], 0.5 * typical[..., None, None, None]
        first = self.first + half * row
        products = row[..., :, None] * row[..., None, :]
        second = self.second + (half * typical[..., None, None, None])[..., None] * products
        more = 1 + typical[..., None] / np.where(mass > 0, mass, 1.0)
        return LabelSums(first, second, self.reach * more[..., None] + extra)

    def limits(self) -> Array:
        """Return the least and the most that the mean can be, whatever is truly positive."""
        base, weight = (self.first[..., k].sum(axis=(-2, -1))[..., None] for k in (2, 0))
        return np.asarray((self.reach.sum(axis=-2) + base) / weight)

    def mean(self, posterior: RatePosterior, level: float = 0.95) -> Interval:
        """Return the mean on clean labels, the rate integrated out.

        Parameters
        ----------
        posterior : RatePosterior
            Over the noise rates.
        level : float, default=0.95
            Level of the interval, for sampling and for not knowing the rate.
        """
        value, low, high = (float(x) for x in self.means(posterior, level).reshape(3))
        return Interval(value, low, high)

    def means(self, posterior: RatePosterior, level: float = 0.95) -> Array:
        """Return several means on clean labels, the rate integrated out, as `mean` does one.

        Parameters
        ----------
        posterior, level
            As in `mean`.

        Returns
        -------
        ndarray of shape (..., 3)
            Value, lower and upper limit.
        """
        value = self.by_rate(posterior) @ posterior.weight
        unmix, weight = posterior.unmixings(self.label_share, wide=True)
        least, most = np.moveaxis(self.limits(), -1, 0)
        if posterior.why_uninformative(self.n_effective) is not None:
            return clip_intervals(value, least, most, least, most)
        values, errors = self.smooth().at(unmix)
        errors = np.minimum(errors, ((most - least) / 2)[..., None])
        flat = (-1, len(weight))
        low, high = mixture_intervals(values.reshape(flat), errors.reshape(flat), weight, level)
        return clip_intervals(
            value, low.reshape(value.shape), high.reshape(value.shape), least, most
        )

    def by_rate(self, posterior: RatePosterior) -> Array:
        """Return the mean on clean labels under each rate of the posterior, shape (..., R)."""
        unmix, _ = posterior.unmixings(self.label_share, wide=False)
        return self.at(unmix)[0]


def unbiased_mean(sums: LabelSums, noise_rate: NoiseRateLike) -> float:
    """Return a mean on clean labels at a known noise rate: unbiased, and so never cut.

    Parameters
    ----------
    sums : LabelSums
        What is averaged.
    noise_rate : float, pair of floats, or None
        The rate, taken as known.

    Examples
    --------
    >>> unbiased_mean(LabelSums.of_rows([True, False, False, False], 8.0, 0.0), 0.25)
    0.0
    """
    known = unmixing_matrix(noise_rate)[1]
    slopes = (known * sums.first[..., 1].sum(axis=0)).sum()
    return float((slopes + sums.first[..., 2].sum()) / sums.weight)


def denoised_mean(sums: LabelSums, noise_rate: NoiseRateLike, level: float = 0.95) -> Interval:
    """Return a mean on clean labels at a known noise rate, with an interval, both feasible.

    Parameters
    ----------
    sums : LabelSums
        What is averaged.
    noise_rate : float, pair of floats, or None
        The rate, taken as known.
    level : float, default=0.95
        Level of the interval.

    Examples
    --------
    >>> sums = LabelSums.of_rows([True, False, False, False], 8.0, 0.0)
    >>> print(f"{denoised_mean(sums, 0.1).value:.2f}")
    1.50
    """
    return sums.mean(RatePosterior(np.array([rate_pair(noise_rate)]), np.ones(1)), level)


def cost_sums(
    positive: ArrayLike,
    flagged: ArrayLike,
    costs: RowCosts,
    sample_weight: ArrayLike | None = None,
    table: ConfusionCounts | None = None,
) -> LabelSums:
    """Return sums of what decisions cost above right ones.

    Where all rows cost the same, counts tell everything: `table`, of labels against decisions, when
    these were counted already.

    Examples
    --------
    >>> costs = RowCosts(np.array([9.0, 7.0, 5.0]), np.array([1.0, 2.0, 3.0]))
    >>> sums = cost_sums([True, False, True], [False, True, True], costs)
    >>> clean = RatePosterior(np.zeros((1, 2)), np.ones(1))
    >>> print(round(sums.mean(clean).value, 4))  # (9 + 2) / 3
    3.6667
    """
    flags = np.asarray(flagged, dtype=bool)
    if costs.is_constant:
        if table is None:
            table = ConfusionCounts.from_labels(positive, flags, sample_weight)
        return LabelSums.of_table(table, costs)
    miss, alarm = costs.mean(sample_weight)
    usual = (np.array([miss, -alarm]), np.array([0.0, alarm]))
    slope = np.where(flags, -costs.alarm, costs.miss)
    base = np.where(flags, costs.alarm, 0.0)
    sums = LabelSums.of_rows(positive, slope, base, sample_weight, flags, 2)
    return replace(sums, usual=np.stack(usual, axis=-1))


def unbiased_costs(
    positive: ArrayLike,
    flagged: ArrayLike,
    prices: RowCosts,
    noise_rate: NoiseRateLike,
    rival_flagged: ArrayLike | None = None,
) -> Array:
    """Return what each row's label says that flags cost, or save over those of a rival.

    Their mean is unbiased for that on clean labels, and how they vary from group to group says how
    uncertain it is where rows depend on each other.

    Examples
    --------
    >>> prices = RowCosts(np.array([9.0, 9.0]), np.array([1.0, 1.0]))
    >>> unbiased_costs([True, False], [False, False], prices, 0.25)
    array([13.5, -4.5])
    """
    labels, ours = (np.asarray(part, dtype=bool) for part in (positive, flagged))
    says = unmixing_matrix(noise_rate)[1][labels.astype(np.intp)]
    gain = prices.miss * says - prices.alarm * (1 - says)
    if rival_flagged is not None:
        return np.asarray((ours.astype(float) - np.asarray(rival_flagged, dtype=bool)) * gain)
    return np.asarray(prices.miss * says - ours * gain)


def saving_sums(
    positive: ArrayLike,
    flagged: ArrayLike,
    rival_flagged: ArrayLike,
    costs: RowCosts,
    sample_weight: ArrayLike | None = None,
) -> LabelSums:
    """Return sums of what decisions save over those of a rival on the same rows.

    Examples
    --------
    >>> costs = RowCosts(np.array([9.0, 7.0]), np.array([1.0, 2.0]))
    >>> sums = saving_sums([True, False], [True, True], [False, True], costs)
    >>> clean = RatePosterior(np.zeros((1, 2)), np.ones(1))
    >>> sums.mean(clean).value
    4.5
    """
    ours, theirs = np.asarray(flagged, dtype=bool), np.asarray(rival_flagged, dtype=bool)
    group = np.where(ours == theirs, 0, np.where(ours, 1, 2))
    if costs.is_constant:  # counts of six cells: a tenth of the time
        weight, cell = (
            unit_weights(sample_weight, len(ours)),
            2 * group + np.asarray(positive, bool),
        )
        counts, squares = (np.bincount(cell, weight**k, 6).reshape(3, 2) for k in (1, 2))
        sign = np.array([0.0, 1.0, -1.0])
        slope, base = sign * (costs.miss + costs.alarm), -sign * costs.alarm
        return replace(LabelSums.of_groups(counts, squares, slope, base), usual=None)
    by_row = ours.astype(float) - theirs
    slope, base = by_row * (costs.miss + costs.alarm), -by_row * costs.alarm
    return LabelSums.of_rows(positive, slope, base, sample_weight, group, 3)


def paired_saving(
    positive: ArrayLike,
    flagged: ArrayLike,
    rival_flagged: ArrayLike,
    costs: RowCosts,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    design: float = 1.0,
) -> Interval:
    """Estimate what a row costs less on clean labels under one rule than under another.

    Both decide the same rows, so that what is common to them cancels: far sharper than the two
    costs on their own. Positive when the first one costs less; `design` is the design effect of
    the rows (`flipcost.core.dependence`).

    Examples
    --------
    >>> known = RatePosterior(np.array([[0.0, 0.0]]), np.ones(1))
    >>> labels = np.tile([True, False], 50)
    >>> saving = paired_saving(labels, labels, np.ones(100, bool), RowCosts.of(0.2), known)
    >>> print(f"{saving.value:.2f} in [{saving.low:.2f}, {saving.high:.2f}]")
    0.10 in [0.08, 0.12]
    """
    ours, theirs = (
        cost_sums(positive, flags, costs, sample_weight).thinned(design)
        for flags in (flagged, rival_flagged)
    )
    both = saving_sums(positive, flagged, rival_flagged, costs, sample_weight).thinned(design)
    at_ours, at_theirs = (sums.by_rate(posterior) @ posterior.weight for sums in (ours, theirs))
    unmix, share = posterior.unmixings(both.label_share, wide=True)
    (own, _), (rival, _) = (sums.smooth().at(unmix) for sums in (ours, theirs))
    # No saving exceeds the cost of a miss plus a false alarm on every row decided differently.
    apart = float((both.reach[..., 1] - both.reach[..., 0]).sum() / both.first[..., 0].sum())
    values = np.clip(rival - own, -apart, apart)
    errors = np.minimum(both.at(unmix)[1], apart / 2)
    low, high = mixture_intervals(values[None], errors[None], share, level)
    saving = float(at_theirs - at_ours)
    return Interval(*clip_interval(saving, float(low[0]), float(high[0]), -apart, apart))
