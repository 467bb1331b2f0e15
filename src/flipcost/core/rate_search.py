r"""The search for noise rates that explain labels: scores, noise models and rates, weighed.

What is unknown is integrated out on grids that refine themselves where the mass is. The result is a
`Calibration` over all scores and rates; `rate_posterior` sums its rates up.

With checked rows, or where somebody knows the share of positives, the labels are also *tempered*,
as if there were 100 or 30 rows of the rarer label; how well each power foretells what the checks
found, or that share, decides how far the labels' curve counts.
Without, a flat curve, "the columns say nothing", competes with all others: there the labels are
taken as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, expit, logit

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.calibration import (
    TABLE,
    Calibration,
    Modes,
    ScoreBins,
    find_modes,
    flip_log_likelihood,
    integrate_modes,
    light_evidence,
)
from flipcost.core.curve_fit import BinStack, log_sum
from flipcost.core.noise_models import (
    NoiseModel,
    RateGrid,
    clean_share,
    free_rates,
    model_prior,
)
from flipcost.core.share_belief import ShareBelief

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

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
# with real noise (five splits) the noise tax was 0.147 with 30 checked rows and 0.037 with 100;
# with 10 rows in place of the last 30 it was 0.180 and 0.054, with labels at full power 0.190 and
# 0.053. On injected noise it is the same either way.
_POWERS = ((np.inf, 0.6), (100.0, 0.2), (30.0, 0.2))
# Cells with less than this share of the fullest one are not looked at for other scores.
_THIN = 1e-4
# A score whose peak is so many nats higher than what it reaches in these cells lays its own.
_ELSEWHERE = 2.0
# The flat curve's prior weight: insurance, since a signal worth having outweighs it by many nats.
# At 0.2, of 2,000 rows without signal some cost 1.39 times the better constant.
_NO_SIGNAL = 0.8


def integrate_rates(
    bins: Sequence[ScoreBins],
    noise_model: NoiseModel = "auto",
    known: tuple[ArrayLike, ArrayLike] | None = None,
    belief: ShareBelief | None = None,
) -> Calibration:
    """Calibrate scores over grids of noise rates that are refined where the posterior lies.

    Parameters
    ----------
    bins : sequence of ScoreBins
        Out-of-fold scores, binned, with checked rows if there are any.
    noise_model : {"auto", "symmetric", "missed_positives", "wrong_negatives", \
            "class_conditional"}, default="auto"
        How labels may have gone wrong; "auto" pools all models by how well they explain the labels.
    known : pair of floats or of pairs, optional
        Value and standard error of a symmetric rate known from elsewhere, or values and errors of
        ``(rho_pos, rho_neg)``: a normal prior, cut to what is possible.
    belief : ShareBelief, optional
        What is known of the share of positives from elsewhere.

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
    prior = model_prior(noise_model, bins[0].rarer)
    if known is not None:
        prior = {"class_conditional" if np.ndim(known[0]) else "symmetric": 1.0}
    if bins[0].checked is None and belief is None:
        fit = _Search(bins, prior, known).integrate()
        return fit if known else _with_flat_curve(bins, fit)
    parts = []
    for rows, weight in _POWERS:
        tempered = [b.tempered(_power(b, rows)) for b in bins]
        coarse = bool(np.isfinite(rows))
        search = _Search(tempered, prior, known, belief, coarse=coarse)
        plain = [replace(b, checked=None) for b in tempered]
        # How well these labels foretell what the checks found, and the share of positives.
        gained = search.log_evidence - _Search(plain, prior, known, coarse=coarse).log_evidence
        part = search.integrate()
        scale = np.log(weight) + gained - log_sum(part.log_evidence)
        parts.append(replace(part, log_evidence=part.log_evidence + scale))
    fit = _joined(parts)
    if bins[0].checked is not None:
        return fit
    # What the labels of all rows say for a curve, and against none.
    rises = _Search(bins, prior, known).log_evidence - log_sum(fit.log_evidence)
    return _with_flat_curve(bins, replace(fit, log_evidence=fit.log_evidence + rises), belief)


def tempered_posterior(
    bins: ScoreBins, rows: float, noise_model: NoiseModel, belief: ShareBelief | None = None
) -> Calibration:
    """Calibrate one score with its labels tempered to so many rows of the rarer one; no curves.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=2_000)
    >>> bins = ScoreBins.from_scores(s, rng.random(2_000) < 1 / (1 + np.exp(-3 * s)))
    >>> fit = tempered_posterior(bins, 30, "symmetric")
    >>> print(round(float(fit.weight.sum()), 6))
    1.0
    """
    tempered = bins.tempered(_power(bins, rows))
    prior = model_prior(noise_model, bins.rarer)
    return _Search([tempered], prior, belief=belief, coarse=True).integrate(curves=False)


def _power(bins: ScoreBins, rows: float) -> float:
    """Return the power that leaves at most so many rows of the rarer label, and the checked ones.

    Checked rows tell the right label given the label; what they tell together with it rests on the
    share of labels along the score, which must then count for as many rows at least.
    """
    checked = bins.flips.sum() / (bins.positive.sum() + bins.negative.sum())
    return float(min(1.0, 1 / (1 + bins.rarer / rows) + checked))


def _heights(bins: BinStack, share: float) -> Array:
    """Return how well each score explains the labels, by Laplace, at its own symmetric rate.

    With many rows a peak is narrower than any fixed grid, and a score that explains the labels
    best can look bad between two points of it. So each score searches its own.
    """
    if len(bins) == 1:
        return np.zeros(1)
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
        known: tuple[ArrayLike, ArrayLike] | None = None,
        belief: ShareBelief | None = None,
        *,
        coarse: bool = False,
    ):
        self._bins, self._prior, self._known, self._belief = bins, prior, known, belief
        self._stack = BinStack.from_bins(bins)
        heights = _heights(self._stack, bins[0].noisy_share)
        waiting = np.flatnonzero(heights > heights.max() - _FAR_BEHIND)
        self._found: list[tuple[Indices, str, Modes]] = []
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

    def integrate(self, *, curves: bool = True) -> Calibration:
        """Return the calibration of all scores, those that were dropped without weight."""
        minor = self.log_evidence + np.log(_MINOR_MODEL)
        found = [part for part in self._found if _total(part[2]) > minor]
        least = light_evidence(np.concatenate([modes.log_evidence.ravel() for *_, modes in found]))
        parts = []
        for scores, name, modes in found:
            fit = integrate_modes(self._stack.take(scores), modes, least, curves=curves)
            evidence = np.full((len(self._bins), len(fit.rates)), -np.inf)
            every = np.zeros((len(self._bins), *fit.curves.shape[1:]))
            evidence[scores], every[scores] = fit.log_evidence, fit.curves
            parts.append(Calibration(fit.rates, evidence, every, (name,) * len(fit.rates)))
        return _joined(parts)

    def _cells(self, lead: int, *, coarse: bool) -> dict[str, Modes]:
        """Return the modes of one score in the cells of each model that hold nearly all mass."""
        scores, share = np.array([lead]), self._bins[lead].noisy_share
        start = find_modes(self._stack.take(scores), np.zeros((1, 2))).theta
        grids = {name: RateGrid.whole(name, share, coarse=coarse) for name in self._prior}
        starts = {name: _matched(start[:, 0], grid.rates) for name, grid in grids.items()}
        found = self._on_grids(scores, grids, starts)
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
        scores: Indices,
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
            value, error = (np.asarray(part, dtype=float) for part in self._known)
            own = rates if value.ndim else rates[:, :1]
            off = (own - value) / np.maximum(error, 1e-6)
            log_prior = log_prior - 0.5 * (off**2).sum(axis=1)
        if self._belief is not None:
            share = clean_share(rates, self._bins[0].noisy_share)
            log_prior = log_prior + self._belief.log_density(share)
        if self._bins[0].checked is not None:
            log_prior = log_prior + flip_log_likelihood(self._bins[0].flips, rates)
        return np.asarray(log_prior)

    def _modes(
        self,
        scores: Indices,
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
        modes = find_modes(self._stack.take(scores), rates, log_prior, start)
        ends = np.cumsum([len(own) for own, _ in parts.values()])
        cells = np.split(np.arange(len(rates)), ends[:-1])
        return {name: _of_rates(modes, own) for name, own in zip(parts, cells, strict=True)}


def _finer(grid: RateGrid, modes: Modes) -> RateGrid | None:
    """Return a finer grid over the mass, or None when no cell holds too much of it."""
    if not grid.low:
        return None
    by_rate = modes.log_evidence[0]  # of the score that lays the grids
    if not np.isfinite(by_rate).any():
        return None
    weight = np.exp(by_rate - log_sum(by_rate))
    return None if weight.max() < _COARSE[len(grid.low)] else grid.zoom(weight)


def _matched(theta: Array, rates: Array) -> Array:
    """Return where to start from at each rate: the clean curve that keeps the noisy one.

    That is, its value and slope at the mean score, given ``(log a, b)`` without noise, (M, 2).
    """
    share, slope = expit(theta[:, 1:]), np.exp(theta[:, :1])
    kept = np.maximum(1 - rates.sum(axis=1), 1e-3)
    clean = np.clip((share - rates[:, 1]) / kept, 0.02, 0.98)
    # A curve that is 1 at the mean score to the last digit has no slope there, but a start must.
    rise = slope * np.maximum(share * (1 - share), 1e-9) / (kept * clean * (1 - clean))
    return np.stack([np.log(rise), logit(clean)], axis=-1)


def _nearest(modes: Modes, grid: RateGrid) -> Array:
    """Return the modes at the rates that are nearest to those of a grid."""
    pos, neg = (np.abs(np.subtract.outer(grid.rates[:, k], modes.rates[:, k])) for k in (0, 1))
    place = (pos + neg).argmin(axis=1)
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


def _with_flat_curve(
    bins: Sequence[ScoreBins], fit: Calibration, belief: ShareBelief | None = None
) -> Calibration:
    """Add the curve that does not rise: one share of positives, whatever the score."""
    n_pos, n_neg = bins[0].positive.sum(), bins[0].negative.sum()
    # A score that says nothing cannot say what is noise, so its labels are taken as they are, or
    # as what is known of the share of positives says.
    rates, log_mass = np.zeros((1, 2)), np.zeros(1)
    share = np.array([(n_pos + 1) / (n_pos + n_neg + 2)])
    evidence = betaln(n_pos + 1, n_neg + 1) + np.log(_NO_SIGNAL)
    if belief is not None:
        rates = free_rates(bins[0].noisy_share, fine=True)
        share = clean_share(rates, bins[0].noisy_share)
        log_mass = belief.log_density(share)
        log_mass = log_mass - log_sum(log_mass)
    alive = np.isfinite(fit.log_evidence).any(axis=1, keepdims=True)
    flat = Calibration(
        rates,
        np.where(alive, evidence + log_mass, -np.inf),
        np.broadcast_to(share[:, None], (len(bins), len(rates), len(TABLE))),
        ("no_signal",) * len(rates),
    )
    return _joined([replace(fit, log_evidence=fit.log_evidence + np.log(1 - _NO_SIGNAL)), flat])


def _joined(parts: Sequence[Calibration]) -> Calibration:
    return Calibration(
        np.concatenate([part.rates for part in parts]),
        np.concatenate([part.log_evidence for part in parts], axis=1),
        np.concatenate([part.curves for part in parts], axis=1),
        tuple(name for part in parts for name in part.models),
    )
