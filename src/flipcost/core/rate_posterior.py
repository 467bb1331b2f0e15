r"""The posterior over unknown noise rates, and what it leaves in doubt.

What is unknown is integrated out: scores, noise models and rates are weighed by how well they
explain the labels (and checked rows, if there are any), on grids that refine themselves where the
mass is. The result is a `Calibration`; its rates are summed up in a `RatePosterior`.

**Where the curve may be wrong.** What identifies the rates of a table alone is the shape of a
curve, and labels that follow the features bend that curve at will. Three devices keep this from
being taken for knowledge:

* with checked rows, the labels are also *tempered*, as if there were 100 or 10 rows of the rarer
  label; how well each power foretells the checked rows decides how far the labels' curve counts;
* without, intervals (not the estimates) mix the posterior with a tempered one and with "anything
  goes": rates uniform over all that the share of positive labels leaves possible;
* a flat curve, "the columns say nothing", competes with all others. There the labels are taken as
  they are, and the rates are unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, ndtr

from flipcost.core.calibration import (
    TABLE,
    Calibration,
    Modes,
    ScoreBins,
    find_modes,
    flip_log_likelihood,
    integrate_modes,
    log_sum,
)
from flipcost.core.confusion import ConfusionCounts, Interval, measure, measure_gradient
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.noise import unmixing_matrix
from flipcost.core.noise_models import (
    NoiseModel,
    RateGrid,
    free_rates,
    model_prior,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_REFINEMENTS = 6
_PEAK_POINTS = 9
_PEAK_STEPS = 6
# A grid is fine enough when no cell of it holds more than this share of its posterior.
_COARSE = {1: 0.35, 2: 0.2}
# Models with less of the posterior than this are not integrated.
_MINOR_MODEL = 1e-3
# Models this many nats behind on the first grid are not refined.
_HIDDEN = 50.0
# Scores this many nats behind the best, each at its own rate, are dropped.
_FAR_BEHIND = 10.0
# Labels count as if the rarer one had at most so many rows, with these prior weights. On ten tables
# with real noise 100 checked rows moved the weight to the last two (0.16, 0.20, 0.64), on injected
# noise to the first (0.6 to 0.7).
_POWERS = ((np.inf, 0.6), (100.0, 0.2), (10.0, 0.2))
# Cells with less than this share of the fullest one are not looked at for other scores.
_THIN = 1e-4
# A score whose peak is so many nats higher than what it reaches in these cells lays its own.
_ELSEWHERE = 2.0
# The flat curve's prior weight.
_NO_SIGNAL = 0.5
# Of the intervals without checked rows: the tempered posterior (30 rows of the rarer label), and
# "anything goes". With these the rates of 10 of 10 tables with real noise were covered; with the
# posterior alone those of 6 and 1.
_DOUBT_ROWS, _DOUBT, _ANYTHING = 30.0, 0.35, 0.3
# The same with checked rows, which anything must then agree with.
_ANYTHING_CHECKED = 0.1


def integrate_rates(
    bins: Sequence[ScoreBins],
    noise_model: NoiseModel = "auto",
    known: tuple[float, float] | None = None,
) -> Calibration:
    """Calibrate scores over grids of noise rates that are refined where the posterior lies.

    Parameters
    ----------
    bins : sequence of ScoreBins
        Out-of-fold scores, binned, with checked rows if there are any.
    noise_model : {"auto", "symmetric", "missed_positives", "wrong_negatives", \
            "class_conditional"}, default="auto"
        How labels may have gone wrong; "auto" pools all models by how well they explain the labels.
    known : pair of floats, optional
        Value and standard error of a symmetric rate known from elsewhere: a normal prior, cut to
        what is possible, in place of the uniform one.

    Returns
    -------
    Calibration
        Over rates of shape (R, 2), as pairs ``(rho_pos, rho_neg)`` under every model.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=20_000)
    >>> clean = rng.random(20_000) < 1 / (1 + np.exp(-3 * s))
    >>> noisy = clean ^ (rng.random(20_000) < 0.15)
    >>> fit = integrate_rates([ScoreBins.from_scores(s, noisy)])
    >>> print(f"{fit.weight[0] @ fit.rates[:, 0]:.2f}")
    0.15
    """
    prior = {"symmetric": 1.0} if known else model_prior(noise_model)
    if bins[0].checked is None:
        fit = _Search(bins, prior, known).integrate()
        return fit if known else _with_flat_curve(bins, fit)
    parts = []
    for rows, weight in _POWERS:
        tempered = [b.tempered(_power(b, rows)) for b in bins]
        coarse = bool(np.isfinite(rows))
        search = _Search(tempered, prior, known, coarse=coarse)
        plain = [replace(b, checked=None) for b in tempered]
        # How well these labels foretell what the checks found.
        gained = search.log_evidence - _Search(plain, prior, known, coarse=coarse).log_evidence
        part = search.integrate()
        scale = np.log(weight) + gained - log_sum(part.log_evidence)
        parts.append(replace(part, log_evidence=part.log_evidence + scale))
    return _joined(parts)


def _power(bins: ScoreBins, rows: float) -> float:
    """Return the power that leaves at most so many rows of the rarer label, and the checked ones.

    Checked rows tell the right label given the label; what they tell together with it rests on the
    share of labels along the score, which must then count for as many rows at least.
    """
    n_pos, n_neg = bins.positive.sum(), bins.negative.sum()
    checked = bins.flips.sum() / (n_pos + n_neg)
    return float(min(1.0, 1 / (1 + min(n_pos, n_neg) / rows) + checked))


def _heights(bins: Sequence[ScoreBins]) -> Array:
    """Return how well each score explains the labels, by Laplace, at its own symmetric rate.

    With many rows a peak is narrower than any fixed grid, and a score that explains the labels
    best can look bad between two points of it. So each score searches its own.
    """
    if len(bins) == 1:
        return np.zeros(1)
    share = bins[0].noisy_share
    low, high = np.zeros(len(bins)), np.full(len(bins), 0.98 * min(share, 1 - share))
    rows, best = np.arange(len(bins)), np.full(len(bins), -np.inf)
    start = None
    for _ in range(_PEAK_STEPS):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _PEAK_POINTS)
        modes = find_modes(bins, np.stack([grid, grid], axis=-1), start=start)
        evidence = modes.log_evidence - modes.log_prior
        place = evidence.argmax(axis=1)
        peak, step = grid[rows, place], (high - low) / (_PEAK_POINTS - 1)
        gained = float(np.max(evidence[rows, place] - best))
        best = np.maximum(best, evidence[rows, place])
        if gained < 1.0:
            break
        low, high = np.maximum(peak - step, 0.0), np.minimum(peak + step, high)
        start = np.repeat(modes.theta[rows, place][:, None], _PEAK_POINTS, axis=1)
    return best


class _Search:
    """The modes of all scores that count, under each noise model, where the rates have mass.

    One score lays the grids: the best. The others are looked at in the cells that matter to it,
    which holds nearly all of their mass too; one whose peak lies elsewhere lays grids of its own.
    """

    def __init__(
        self,
        bins: Sequence[ScoreBins],
        prior: Mapping[str, float],
        known: tuple[float, float] | None = None,
        *,
        coarse: bool = False,
    ):
        self._bins, self._prior, self._known = bins, prior, known
        heights = _heights(bins)
        waiting = np.flatnonzero(heights > heights.max() - _FAR_BEHIND)
        self._found: list[tuple[NDArray[np.intp], str, Modes]] = []
        while len(waiting):
            lead = waiting[heights[waiting].argmax()]
            cells = self._cells(int(lead), coarse=coarse)
            found = cells
            if len(waiting) > 1:
                parts = {name: (modes.rates, modes.log_prior) for name, modes in cells.items()}
                starts = {name: modes.theta for name, modes in cells.items()}
                found = self._modes(waiting, parts, starts)
            reached = np.max(
                [(m.log_evidence - m.log_prior).max(axis=1) for m in found.values()], axis=0
            )
            short = heights[waiting] - reached
            inside = short <= short[waiting == lead] + _ELSEWHERE
            self._found += [
                (waiting[inside], name, _of_scores(modes, inside)) for name, modes in found.items()
            ]
            waiting = waiting[~inside]

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of all models together, by Laplace."""
        return float(log_sum(np.array([_total(modes) for _, _, modes in self._found])))

    def integrate(self) -> Calibration:
        """Return the calibration of all scores, those that were dropped without weight."""
        least = self.log_evidence + np.log(_MINOR_MODEL)
        parts = []
        for scores, name, modes in self._found:
            if _total(modes) <= least:
                continue
            fit = integrate_modes([self._bins[int(m)] for m in scores], modes)
            evidence = np.full((len(self._bins), len(fit.rates)), -np.inf)
            curves = np.zeros((len(self._bins), len(fit.rates), len(TABLE)))
            evidence[scores], curves[scores] = fit.log_evidence, fit.curves
            parts.append(Calibration(fit.rates, evidence, curves, (name,) * len(fit.rates)))
        return _joined(parts)

    def _cells(self, lead: int, *, coarse: bool) -> dict[str, Modes]:
        """Return the modes of one score in the cells of each model that hold nearly all mass."""
        scores, share = np.array([lead]), self._bins[lead].noisy_share
        start = find_modes([self._bins[lead]], np.zeros((1, 2))).theta
        grids = {name: RateGrid.whole(name, share, coarse=coarse) for name in self._prior}
        found = self._on_grids(scores, grids, dict.fromkeys(grids, start))
        # Between the points of a first grid a model can hide some nats, never all.
        least = max(_total(modes) for modes in found.values()) - _HIDDEN
        found = {name: modes for name, modes in found.items() if _total(modes) > least}
        for _ in range(_REFINEMENTS):
            finer = {name: g for name in found if (g := _finer(grids[name], found[name]))}
            if not finer:
                break
            starts = {name: _nearest(found[name], grid) for name, grid in finer.items()}
            found |= self._on_grids(scores, finer, starts)
            grids |= finer
        least = max(modes.log_evidence.max() for modes in found.values()) + np.log(_THIN)
        kept = {name: modes.log_evidence[0] > least for name, modes in found.items()}
        return {name: _of_rates(found[name], cells) for name, cells in kept.items() if cells.any()}

    def _on_grids(
        self,
        scores: NDArray[np.intp],
        grids: Mapping[str, RateGrid],
        starts: Mapping[str, Array],
    ) -> dict[str, Modes]:
        """Find modes on the grids of several models, all at once."""
        parts = {name: (grid.rates, self._log_prior(grid)) for name, grid in grids.items()}
        return self._modes(scores, parts, starts)

    def _log_prior(self, grid: RateGrid) -> Array:
        """Log prior mass of each cell, and what is known of its rate besides."""
        rates = grid.rates
        log_prior = np.log(self._prior[grid.model]) + grid.log_mass
        if self._known is not None:
            value, error = self._known
            log_prior = log_prior - 0.5 * ((rates[:, 0] - value) / max(error, 1e-6)) ** 2
        if self._bins[0].checked is not None:
            log_prior = log_prior + flip_log_likelihood(self._bins[0].flips, rates)
        return np.asarray(log_prior)

    def _modes(
        self,
        scores: NDArray[np.intp],
        parts: Mapping[str, tuple[Array, Array]],
        starts: Mapping[str, Array],
    ) -> dict[str, Modes]:
        """Find the modes of scores at the rates of several models, given with their priors."""
        rates, log_prior = (np.concatenate(part) for part in zip(*parts.values(), strict=True))
        start = np.concatenate(
            [
                np.broadcast_to(starts[name], (len(scores), len(own), 2))
                for name, (own, _) in parts.items()
            ],
            axis=1,
        )
        modes = find_modes([self._bins[int(m)] for m in scores], rates, log_prior, start)
        ends = np.cumsum([len(own) for own, _ in parts.values()])
        cells = np.split(np.arange(len(rates)), ends[:-1])
        return {name: _of_rates(modes, own) for name, own in zip(parts, cells, strict=True)}


def _finer(grid: RateGrid, modes: Modes) -> RateGrid | None:
    """Return a finer grid over the mass, or None when no cell holds too much of it."""
    by_rate = log_sum(modes.log_evidence, axis=0)
    if not grid.low or not np.isfinite(by_rate).any():
        return None
    weight = np.exp(by_rate - log_sum(by_rate))
    return None if weight.max() < _COARSE[len(grid.low)] else grid.zoom(weight)


def _nearest(modes: Modes, grid: RateGrid) -> Array:
    """Return the modes at the rates that are nearest to those of a grid."""
    place = np.abs(grid.rates[:, None] - modes.rates).sum(axis=2).argmin(axis=1)
    return modes.theta[:, place]


def _total(modes: Modes) -> float:
    return float(log_sum(modes.log_evidence))


def _of_scores(modes: Modes, inside: Flags) -> Modes:
    return Modes(
        modes.rates,
        modes.log_prior,
        modes.theta[inside],
        modes.curvature[inside],
        modes.log_evidence[inside],
    )


def _of_rates(modes: Modes, inside: NDArray[Any]) -> Modes:
    return Modes(
        modes.rates[inside],
        modes.log_prior[inside],
        modes.theta[:, inside],
        modes.curvature[:, inside],
        modes.log_evidence[:, inside],
    )


def _with_flat_curve(bins: Sequence[ScoreBins], fit: Calibration) -> Calibration:
    """Add the curve that does not rise: labels as they are, whatever the score."""
    n_pos, n_neg = bins[0].positive.sum(), bins[0].negative.sum()
    # A score that says nothing cannot say what is noise, so its labels are taken as they are.
    evidence = betaln(n_pos + 1, n_neg + 1) + np.log(_NO_SIGNAL)
    share = (n_pos + 1) / (n_pos + n_neg + 2)
    alive = np.isfinite(fit.log_evidence).any(axis=1)
    flat = Calibration(
        np.zeros((1, 2)),
        np.where(alive, evidence, -np.inf)[:, None],
        np.full((len(bins), 1, len(TABLE)), share),
        ("no_signal",),
    )
    return _joined([replace(fit, log_evidence=fit.log_evidence + np.log(1 - _NO_SIGNAL)), flat])


def _joined(parts: Sequence[Calibration]) -> Calibration:
    return Calibration(
        np.concatenate([part.rates for part in parts]),
        np.concatenate([part.log_evidence for part in parts], axis=1),
        np.concatenate([part.curves for part in parts], axis=1),
        tuple(name for part in parts for name in part.models),
    )


def rate_posterior(
    bins: Sequence[ScoreBins], fit: Calibration, noise_model: NoiseModel | None = "auto"
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

    Returns
    -------
    RatePosterior

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=2_000)
    >>> noisy = (rng.random(2_000) < 1 / (1 + np.exp(-3 * s))) ^ (rng.random(2_000) < 0.1)
    >>> bins = [ScoreBins.from_scores(s, noisy)]
    >>> posterior = rate_posterior(bins, integrate_rates(bins))
    >>> low, high = posterior.interval()[0]
    >>> bool(low < 0.1 < high)
    True
    """
    weight, weights = fit.weight.sum(axis=0), fit.model_weights
    if noise_model is None:
        return RatePosterior(fit.rates, weight, models=weights)
    anything = noise_model == "auto"
    rates = free_rates(bins[0].noisy_share)
    if bins[0].checked is not None:
        likelihood = flip_log_likelihood(bins[0].flips, rates)
        free = np.exp(likelihood - log_sum(likelihood))
        share = _ANYTHING_CHECKED if anything else 0.0
        parts = [(fit.rates, weight, 1 - share), (rates, free, share)]
        return RatePosterior(fit.rates, weight, *_mixed(parts), models=weights)
    lead = [bins[int(np.argmax(fit.weight.sum(axis=1)))]]
    lead = [b.tempered(_power(b, _DOUBT_ROWS)) for b in lead]
    doubt = _Search(lead, model_prior(noise_model), coarse=True).integrate()
    doubted = doubt.weight.sum(axis=0)
    # How much better noise explains the curve than none, tempered: evidence against "anything".
    clean = doubted[np.array([m == "none" for m in doubt.models])].sum()
    odds = max(1.0, model_prior(noise_model)["none"] / max(clean, 1e-300))
    share = _ANYTHING / (_ANYTHING + (1 - _ANYTHING) * odds) if anything else 0.0
    flat = weights.get("no_signal", 0.0)
    share = share + flat * (1 - share)
    free = np.full(len(rates), 1 / len(rates))
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
    share = weight / weight.sum()
    errors = np.maximum(errors, 1e-12)
    ends = []
    for target in ((1 - level) / 2, (1 + level) / 2):
        low, high = (values - 10 * errors).min(), (values + 10 * errors).max()
        for _ in range(60):
            middle = (low + high) / 2
            if share @ ndtr((middle - values) / errors) < target:
                low = middle
            else:
                high = middle
        ends.append(float((low + high) / 2))
    return ends[0], ends[1]


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

    @property
    def mean(self) -> Array:
        """Posterior mean of ``(rho_pos, rho_neg)``."""
        return np.asarray(self.weight @ self.rates)

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

    def wrong_share(self, noisy_share: float, level: float = 0.95) -> Interval:
        """Return the share of all labels that are wrong.

        Parameters
        ----------
        noisy_share : float
            Share of positive labels.
        level : float, default=0.95
            Level of the interval.

        Examples
        --------
        >>> known = RatePosterior(np.array([[0.25, 0.0]]), np.ones(1))
        >>> print(round(known.wrong_share(0.3).value, 6))
        0.1
        """
        rates, weight, _ = self._wide
        value = float(self.weight @ _wrong(self.rates, noisy_share))
        low, high = weighted_interval(_wrong(rates, noisy_share), weight, level)
        return Interval(value, min(low, value), max(high, value))

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
        return Interval(value, max(0.0, min(low, value)), max(min(high, most), value)), by_rate

    def wide_costs(self, table: ConfusionCounts, cost: CostLike) -> tuple[Array, Array, Array]:
        """Return costs, their standard errors and weights at the rates of the intervals."""
        rates, weight, anything = self._wide
        _, smooth, error = _costs_at(rates, table, cost, anything)
        return smooth, np.minimum(error, _dearest(table, cost) / 2), weight


def _clean_share(rates: Array, noisy_share: float) -> Array:
    """Share of truly positive rows at each pair of rates."""
    kept = np.maximum(1 - rates.sum(axis=1), 1e-9)
    return np.asarray(np.clip((noisy_share - rates[:, 1]) / kept, 0.0, 1.0))


def _wrong(rates: Array, noisy_share: float) -> Array:
    """Share of wrong labels at each pair of rates."""
    clean = _clean_share(rates, noisy_share)
    return np.asarray(clean * rates[:, 0] + (1 - clean) * rates[:, 1])


def _unmixing(rates: Array, noisy_share: float, anything: Flags | None) -> Array:
    unmix = np.stack([unmixing_matrix((p, n)) for p, n in rates])
    if anything is not None and anything.any():
        unmix[anything] = _unmixing_anywhere(rates[anything], noisy_share)
    return unmix


def _unmixing_anywhere(rates: Array, noisy_share: float) -> Array:
    """Return what labels say of clean counts when mistakes are spread over the rows of a label.

    Mistakes that follow the features need not lie where the rule looks for them. Spread evenly over
    all rows with the same label, they cost the rule most, short of malice.
    """
    clean = _clean_share(rates, noisy_share)
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
    typical = float(table.squares.sum() / table.counts.sum())
    smooth = unmix @ (table.counts + 0.5 * typical)
    gradient = np.swapaxes(unmix, 1, 2) @ measure_gradient(smooth, "cost", cost)
    error = np.sqrt((gradient**2 * (table.squares + 0.5 * typical**2)).sum(axis=(1, 2)))
    return (
        measure(_possible(unmix @ table.counts, table.counts), "cost", cost),
        measure(_possible(smooth, table.counts + 0.5 * typical), "cost", cost),
        error,
    )


def _dearest(table: ConfusionCounts, cost: CostLike) -> float:
    """Return what a row costs if every call is a mistake."""
    called, share = table.counts.sum(axis=0), cost_share(cost)
    return float(((1 - share) * called[0] + share * called[1]) / called.sum())


def _possible(denoised: Array, counts: Array) -> Array:
    """Cut denoised counts to what can be: between none and all rows of each call."""
    called = counts.sum(axis=0)
    positive = np.clip(denoised[..., 1, :], 0.0, called)
    return np.stack([called - positive, positive], axis=-2)


def _marginal(values: Array, weight: Array) -> tuple[Array, Array]:
    points, place = np.unique(values, return_inverse=True)
    return points, np.asarray(np.bincount(place, weight), dtype=float)
