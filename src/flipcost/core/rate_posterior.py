r"""The posterior over unknown noise rates, and what it leaves in doubt.

What identifies the rates of a table alone is the shape of a curve, and labels that follow the
features bend that curve at will. So estimates are means over the posterior, but intervals also
count that its model may be wrong: without checked rows they mix it with a tempered posterior and
with "anything goes", rates uniform over all that the share of positive labels leaves possible, of
mistakes that may lie anywhere among the rows of a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.arrays import Array, Flags
from flipcost.core.calibration import Calibration, ScoreBins, flip_log_likelihood
from flipcost.core.confusion import (
    ConfusionCounts,
    Interval,
    cut_to_calls,
    half_a_row_more,
    measure,
    measure_gradient,
)
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.curve_fit import log_sum
from flipcost.core.mixtures import mixture_intervals
from flipcost.core.noise import unmixing_matrices
from flipcost.core.noise_models import NoiseModel, clean_share, free_rates, model_prior
from flipcost.core.possible import not_identified, possible_limits
from flipcost.core.rate_search import tempered_posterior
from flipcost.core.share_belief import ShareBelief

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Of the intervals without checked rows: the tempered posterior (30 rows of the rarer label), and
# "anything goes". With these the rates of 10 of 10 tables with real noise were covered; with the
# posterior alone those of 6 and 1.
_DOUBT_ROWS, _DOUBT, _ANYTHING = 30.0, 0.35, 0.3
# "Anything goes" with many checked rows, which it must then agree with, and the number of them at
# which it has twice that share: with 30, rates were covered in 0.96 and 0.94 of tables and splits
# with this, in 0.86 and 0.86 without.
_ANYTHING_CHECKED, _FEW_CHECKED = 0.1, 30.0
# Both where the share of positives is told, which leaves little of "anything". With these the rates
# of ten tables were covered in 0.96 of five splits, without checked rows and with 30; with those
# above in 0.86 and 0.90.
_ANYTHING_TOLD, _ANYTHING_TOLD_CHECKED = 0.7, 0.25


def rate_posterior(
    bins: Sequence[ScoreBins],
    fit: Calibration,
    noise_model: NoiseModel | None = "auto",
    belief: ShareBelief | None = None,
) -> RatePosterior:
    """Sum a calibration up as a posterior over rates, with what is in doubt beside it.

    Parameters
    ----------
    bins : sequence of ScoreBins
        What was calibrated.
    fit : Calibration
        From `integrate_rates`, or at given rates.
    noise_model : str or None, default="auto"
        What `integrate_rates` was told; None when the rates are given, which leaves no doubt.
    belief : ShareBelief, optional
        What `integrate_rates` was told of the share of positives.

    Returns
    -------
    RatePosterior

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=2_000)
    >>> noisy = (rng.random(2_000) < 1 / (1 + np.exp(-3 * s))) ^ (rng.random(2_000) < 0.1)
    >>> from flipcost.core.rate_search import integrate_rates
    >>> bins = [ScoreBins.from_scores(s, noisy)]
    >>> posterior = rate_posterior(bins, integrate_rates(bins))
    >>> low, high = posterior.interval()[0]
    >>> bool(low < 0.1 < high)
    True
    """
    weight, weights = fit.weight.sum(axis=0), fit.model_weights
    weight = weight / weight.sum()  # one weight alone is then one exactly, and its rate the given
    if noise_model is None:
        return RatePosterior(fit.rates, weight, models=weights)
    anything = noise_model == "auto"
    rates = free_rates(bins[0].noisy_share, fine=belief is not None)
    told = np.zeros(len(rates))
    if belief is not None:
        told = belief.log_density(clean_share(rates, bins[0].noisy_share))
    if bins[0].checked is not None:
        told = told + flip_log_likelihood(bins[0].flips, rates)
    free = np.exp(told - log_sum(told))
    if bins[0].checked is not None:
        few = 1 + _FEW_CHECKED / float(bins[0].flips.sum())
        most = _ANYTHING_CHECKED if belief is None else _ANYTHING_TOLD_CHECKED
        share = min(most * few, 0.5) if anything else 0.0
        parts = [(fit.rates, weight, 1 - share), (rates, free, share)]
        return RatePosterior(fit.rates, weight, *_mixed(parts), models=weights)
    lead = bins[int(np.argmax(fit.weight.sum(axis=1)))]
    doubt = tempered_posterior(lead, _DOUBT_ROWS, noise_model, belief)
    doubted = doubt.weight.sum(axis=0)
    # How much better noise explains the curve than none, tempered: evidence against "anything".
    # Where the share of positives is told, what rules "none" out is not the curve.
    clean = doubted[np.array([m == "none" for m in doubt.models])].sum()
    odds = max(1.0, model_prior(noise_model, lead.rarer)["none"] / max(clean, 1e-300))
    share = _ANYTHING / (_ANYTHING + (1 - _ANYTHING) * odds) if belief is None else _ANYTHING_TOLD
    share = share if anything else 0.0
    flat = weights.get("no_signal", 0.0)
    share = share + flat * (1 - share)
    split = _DOUBT / (1 - _ANYTHING)
    parts = [
        (fit.rates, weight, (1 - share) * (1 - split)),
        (doubt.rates, doubted, (1 - share) * split),
        (rates, free, share),
    ]
    return RatePosterior(fit.rates, weight, *_mixed(parts), models=weights)


def _mixed(parts: Sequence[tuple[Array, Array, float]]) -> tuple[Array, Array, Flags]:
    """Join weighted rates; those of the last part are "anything goes"."""
    return (
        np.concatenate([rates for rates, _, _ in parts]),
        np.concatenate([share * weight for _, weight, share in parts]),
        np.repeat([*(False for _ in parts[1:]), True], [len(rates) for rates, _, _ in parts]),
    )


def weighted_interval(values: Array, weight: Array, level: float) -> tuple[float, float]:
    """Return the central interval of a weighted sample, interpolated between its points.

    Examples
    --------
    >>> low, high = weighted_interval(np.arange(5.0), np.ones(5), 0.6)
    >>> print(round(low, 6), round(high, 6))
    0.5 3.5
    """
    order = np.argsort(values)
    mass = weight[order] / weight.sum()
    middle = np.cumsum(mass) - mass / 2
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], middle, values[order])
    return float(low), float(high)


def mixture_interval(
    values: Array, errors: Array, weight: Array, level: float
) -> tuple[float, float]:
    """Return the central interval of a mixture of normal distributions.

    Examples
    --------
    >>> low, high = mixture_interval(np.zeros(1), np.ones(1), np.ones(1), 0.95)
    >>> print(f"{low:.2f} {high:.2f}")
    -1.96 1.96
    """
    low, high = mixture_intervals(values[None], errors[None], weight, level)
    return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False)
class RatePosterior:
    """Posterior over pairs of noise rates, on a grid.

    Attributes
    ----------
    rates : ndarray of shape (R, 2)
        Pairs ``(rho_pos, rho_neg)``; equal when noise is symmetric.
    weight : ndarray of shape (R,)
        Posterior probabilities, adding up to one. Estimates and decisions are means over these.
    wide_rates, wide_weight : ndarray of shape (W, 2) and (W,), or None
        The same for intervals, which also count that the model may be wrong; as above when None.
    anything : ndarray of bool, shape (W,), or None
        Which of these are rates of mistakes that may lie anywhere among the rows of a label, rather
        than of the rows of a class.
    models : dict
        Posterior weight of each noise model.

    Examples
    --------
    >>> posterior = RatePosterior(np.array([[0.1, 0.1], [0.2, 0.2]]), np.array([0.25, 0.75]))
    >>> posterior.mean.round(4)
    array([0.175, 0.175])
    """

    rates: Array
    weight: Array
    wide_rates: Array | None = None
    wide_weight: Array | None = None
    anything: Flags | None = None
    models: Mapping[str, float] | None = None

    @property
    def _wide(self) -> tuple[Array, Array, Flags]:
        if self.wide_rates is None or self.wide_weight is None or self.anything is None:
            return self.rates, self.weight, np.zeros(len(self.weight), dtype=bool)
        used = self.wide_weight > 1e-6
        return self.wide_rates[used], self.wide_weight[used], self.anything[used]

    def unmixing(self, noisy_share: float) -> Array:
        """Return what labels say of clean counts at each rate of the intervals, shape (W, 2, 2).

        Parameters
        ----------
        noisy_share : float
            Share of positive labels.
        """
        rates, _, anything = self._wide
        return _unmixing(rates, noisy_share, anything)

    def unmixings(self, noisy_share: float, *, wide: bool) -> tuple[Array, Array]:
        """Return what labels say of clean counts at each rate, and the weights of the rates.

        Parameters
        ----------
        noisy_share : float
            Share of positive labels.
        wide : bool
            Whether for intervals, which also count that the model may be wrong, or for estimates.
        """
        if not wide:
            return unmixing_matrices(self.rates), self.weight
        rates, weight, anything = self._wide
        return _unmixing(rates, noisy_share, anything), weight

    @property
    def mean(self) -> Array:
        """Posterior mean of ``(rho_pos, rho_neg)``."""
        return np.asarray(self.weight @ self.rates)

    @property
    def has_no_signal(self) -> bool:
        """Whether the scores most likely say nothing about the labels."""
        return (self.models or {}).get("no_signal", 0.0) > 0.5

    @property
    def is_symmetric(self) -> bool:
        """Whether the two rates are equal at every point of the grid."""
        return bool(np.all(self.rates[:, 0] == self.rates[:, 1]))

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return intervals of ``rho_pos`` and ``rho_neg``, which contain the means."""
        rates, weight, _ = self._wide
        ends = []
        for k in (0, 1):
            low, high = weighted_interval(*_marginal(rates[:, k], weight), level)
            mean = float(self.mean[k])
            ends.append((min(low, mean), max(high, mean)))
        return ends[0], ends[1]

    def doubt(self, n_rows: float) -> str | None:
        """Return why a rate that is taken as known identifies nothing; None where it does."""
        return not_identified(tuple(self.rates[0]), n_rows) if len(self.weight) == 1 else None

    def wrong_share(
        self, noisy_share: float, level: float = 0.95, n_rows: float | None = None
    ) -> Interval:
        """Return the share of all labels that are wrong.

        Parameters
        ----------
        noisy_share : float
            Share of positive labels.
        level : float, default=0.95
            Level of the interval.
        n_rows : float, optional
            Rows that the labels count for; a rate that is taken as known may leave all open.

        Examples
        --------
        >>> known = RatePosterior(np.array([[0.25, 0.0]]), np.ones(1))
        >>> print(round(known.wrong_share(0.3).value, 6))
        0.1
        """
        rates, weight, _ = self._wide
        value = float(self.weight @ _wrong(self.rates, noisy_share))
        low, high = weighted_interval(_wrong(rates, noisy_share), weight, level)
        if n_rows is not None and self.doubt(n_rows) is not None:
            low, high = self.rates.min(), self.rates.max()
        return Interval(*possible_limits(value, low, high, 0.0, 1.0))

    def cost(
        self, table: ConfusionCounts, cost: CostLike, level: float = 0.95
    ) -> tuple[Interval, Array]:
        """Return the clean cost of a rule from its noisy table, the rate integrated out.

        Parameters
        ----------
        table : ConfusionCounts of shape (2, 2)
            Noisy labels against calls on rows that the rule was not trained on.
        cost : float or Costs
            Share of the cost that a false positive bears.
        level : float, default=0.95
            Level of the interval, which counts both sampling and not knowing the rate.

        Returns
        -------
        interval : Interval
            Mean clean cost of a row. It is never less than nothing.
        by_rate : ndarray of shape (R,)
            The same, given each rate.
        """
        by_rate = _costs_at(self.rates, table, cost)[0]
        value = float(self.weight @ by_rate)
        costs, error, weight = self.wide_costs(table, cost)
        low, high = mixture_interval(costs, error, weight, level)
        most = _dearest(table, cost)
        if self.doubt(table.n_effective) is not None:
            low, high = 0.0, most
        return Interval(*possible_limits(value, low, high, 0.0, most)), by_rate

    def wide_costs(self, table: ConfusionCounts, cost: CostLike) -> tuple[Array, Array, Array]:
        """Return costs, their standard errors and weights at the rates of the intervals."""
        rates, weight, anything = self._wide
        _, smooth, error = _costs_at(rates, table, cost, anything)
        return smooth, np.minimum(error, _dearest(table, cost) / 2), weight


def _wrong(rates: Array, noisy_share: float) -> Array:
    """Share of wrong labels at each pair of rates."""
    clean = clean_share(rates, noisy_share)
    return np.asarray(clean * rates[:, 0] + (1 - clean) * rates[:, 1])


def _unmixing(rates: Array, noisy_share: float, anything: Flags | None) -> Array:
    unmix = unmixing_matrices(rates)
    if anything is not None and anything.any():
        unmix[anything] = _unmixing_anywhere(rates[anything], noisy_share)
    return unmix


def _unmixing_anywhere(rates: Array, noisy_share: float) -> Array:
    """Return what labels say of clean counts when mistakes are spread over the rows of a label.

    Mistakes that follow the features need not lie where the rule looks for them. Spread evenly over
    all rows with the same label, they cost the rule most, short of malice.
    """
    clean = clean_share(rates, noisy_share)
    missed = np.clip(clean * rates[:, 0] / max(1 - noisy_share, 1e-9), 0.0, 1.0)
    false = np.clip((1 - clean) * rates[:, 1] / max(noisy_share, 1e-9), 0.0, 1.0)
    rows = [[1 - missed, false], [missed, 1 - false]]
    return np.moveaxis(np.asarray(rows), -1, 0)


def _costs_at(
    rates: Array, table: ConfusionCounts, cost: CostLike, anything: Flags | None = None
) -> tuple[Array, Array, Array]:
    """Return costs at each rate, the same of smoothed counts, and their standard errors."""
    share = float(table.counts[1].sum() / table.counts.sum())
    unmix = _unmixing(rates, share, anything)
    counts, squares = half_a_row_more(table)
    smooth = unmix @ counts
    gradient = np.swapaxes(unmix, 1, 2) @ measure_gradient(smooth, "cost", cost)
    error = np.sqrt((gradient**2 * squares).sum(axis=(1, 2)))
    return (
        measure(cut_to_calls(unmix @ table.counts, table.counts), "cost", cost),
        measure(cut_to_calls(smooth, counts), "cost", cost),
        error,
    )


def _dearest(table: ConfusionCounts, cost: CostLike) -> float:
    """Return what a row costs if every call is a mistake."""
    called, share = table.counts.sum(axis=0), cost_share(cost)
    return float(((1 - share) * called[0] + share * called[1]) / called.sum())


def _marginal(values: Array, weight: Array) -> tuple[Array, Array]:
    points, place = np.unique(values, return_inverse=True)
    return points, np.asarray(np.bincount(place, weight), dtype=float)
