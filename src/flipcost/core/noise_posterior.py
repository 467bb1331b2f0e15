r"""Inference of unknown noise rates: models of the noise, the search, what widens intervals.

Five models of how labels go wrong are pooled by their evidence: "none", "symmetric" (one rate for
both classes), "missed_positives", "wrong_negatives" and "class_conditional" (a rate for each
class). A share :math:`\tilde\pi` of positive labels bounds the rates, :math:`\rho_- \le \tilde\pi`
and :math:`\rho_+ \le 1 - \tilde\pi`: otherwise the implied clean count of a class would be
negative.

`integrate_rates` lays grids of rates that refine themselves where the mass is, and gives a
`Calibration` over all scores and rates. With checked rows or a known prevalence the labels are also
*tempered*; how well each power foretells what the checks found decides how far the labels' curve
counts. Without, a flat curve, columns that do not predict the label, competes with all others.

`rate_posterior` summarises the calibration as a posterior over rates. What identifies them in a
table alone is the shape of a curve, and errors that follow the features can give that curve any
shape. So estimates are means over the posterior, but intervals also count that its model may be
wrong: they mix it with a tempered posterior and with "anything goes", rates uniform over all that
the share of positive labels leaves possible, of errors anywhere among the rows of a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, expit, logit, ndtri

from flipcost.core import priors
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.calibration import (
    TABLE,
    BinStack,
    Calibration,
    Modes,
    ScoreBins,
    find_modes,
    flip_log_likelihood,
    integrate_modes,
    light_evidence,
    log_sum,
)
from flipcost.core.error_rates import REACH, RatePosterior, clean_share
from flipcost.exceptions import FlipCostError

NoiseModel: TypeAlias = Literal[
    "auto", "symmetric", "missed_positives", "wrong_negatives", "class_conditional"
]
# Cells of a line, and of the sides of a square. Coarse grids are for tempered labels, whose
# posterior is never narrow.
_POINTS = {False: (13, (10, 8)), True: (7, (6, 5))}
# Cells of both sides of a fine square.
_FINE = 40
# Cells that hold less than this share of the fullest one do not bound the next, finer grid.
_THIN = 1e-4
# Shares of none or all are possible under some rates, but have no log-odds.
_LEAST = 1e-6
_REFINEMENTS = 6
# Values of each rate at a first look for a peak, and steps of the looks after it, as shares of the
# largest rate.
_LOOK = 6
_STEPS = (0.25, 0.1, 0.04, 0.016, 0.006, 0.002)
# A grid is fine enough when no cell of it holds more than this share of its posterior.
_COARSE = {1: 0.35, 2: 0.2}
# Models with less of the posterior than this are not integrated.
_MINOR_MODEL = 1e-3
# Models this many nats behind on the first grid are not refined.
_HIDDEN = 50.0
# Shapes of scores this many nats behind the best, each at its own rate, are dropped.
_FAR_BEHIND = 10.0
# A score whose peak is this many nats higher than what it reaches in these cells lays its own.
_ELSEWHERE = 2.0


def model_prior(noise_model: NoiseModel, rarer: float = np.inf) -> dict[str, float]:
    """Return the prior weight of each model that a choice of noise model leaves."""
    if noise_model not in get_args(NoiseModel):
        msg = f"`noise_model` must be one of {', '.join(get_args(NoiseModel))}; got {noise_model}."
        raise ValueError(msg)
    prior = (
        priors.NOISE_MODELS
        if noise_model == "auto"
        else {"none": priors.NOISE_MODELS["none"], noise_model: 1.0}
    )
    noisy = (1 - priors.NOISE_MODELS["none"]) / (1 + (priors.FEW_ROWS_NOISE / max(rarer, 1.0)) ** 2)
    others = sum(prior.values()) - prior["none"]
    return {
        name: 1 - noisy if name == "none" else noisy * weight / others
        for name, weight in prior.items()
    }


@dataclass(frozen=True, eq=False)
class RateGrid:
    """Cells of the rates that one model allows, with their prior masses.

    Attributes
    ----------
    model : str
        One of `priors.NOISE_MODELS`.
    label_share : float
        Share of positive labels, which bounds the rates.
    low, high : tuple of floats
        Limits of the grid, as shares of the bounds; one of each for a line, two for a square.
    coarse : bool
        Whether fewer cells will do.
    """

    model: str
    label_share: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    coarse: bool = False

    @classmethod
    def whole(cls, model: str, label_share: float, *, coarse: bool = False) -> RateGrid:
        """Return the grid of all rates that a model allows."""
        n = {"none": 0, "class_conditional": 2}.get(model, 1)
        return cls(model, label_share, (0.0,) * n, (REACH,) * n, coarse)

    @property
    def _axes(self) -> list[Array]:
        line, square = _POINTS[self.coarse]
        points = square if len(self.low) == 2 else (line,)
        return [
            low + (high - low) * (np.arange(n) + 0.5) / n
            for low, high, n in zip(self.low, self.high, points, strict=False)
        ]

    @cached_property
    def relative(self) -> Array:
        """Middles of the cells as shares of the bounds, shape (R, dimensions)."""
        if not self.low:
            return np.zeros((1, 0))
        return _all_pairs(self._axes)

    @cached_property
    def rates(self) -> Array:
        """Pairs ``(rho_pos, rho_neg)`` in the middles of the cells, shape (R, 2)."""
        return np.asarray(self.relative @ _largest_rates(self.model, self.label_share))

    @property
    def log_mass(self) -> Array:
        """Log prior mass of each cell; the masses of a whole grid add up to one."""
        if not self.low:
            return np.zeros(1)
        steps = np.array([axis[1] - axis[0] for axis in self._axes])
        power = 1.0 if self.model == "symmetric" else priors.RATE_BETA
        bounds = _largest_rates(self.model, self.label_share).max(axis=1)

        def above(u: Array) -> Array:
            return np.asarray(np.exp(power * np.log1p(-bounds * u)))

        inside = above(self.relative - steps / 2) - above(self.relative + steps / 2)
        whole = 1 - above(np.full(len(steps), REACH))
        return np.asarray(np.log(inside / whole).sum(axis=1))

    def zoom(self, weight: ArrayLike) -> RateGrid:
        """Return a finer grid over the cells with weight, and one cell around them."""
        share = np.asarray(weight, dtype=float)
        inside = self.relative[share > _THIN * share.max()]
        step = np.array([axis[1] - axis[0] for axis in self._axes])
        low = np.maximum(inside.min(axis=0) - 1.5 * step, 0.0)
        high = np.minimum(inside.max(axis=0) + 1.5 * step, REACH)
        return replace(self, low=tuple(low.tolist()), high=tuple(high.tolist()))


def _all_pairs(axes: Sequence[Array]) -> Array:
    """Return all points with these coordinates, shape (n, number of axes)."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _largest_rates(model: str, share: float) -> Array:
    """Return how far each free rate of a model reaches, as pairs of rates, shape (D, 2)."""
    ends = {
        "none": [],
        "symmetric": [[min(share, 1 - share)] * 2],
        "missed_positives": [[1 - share, 0.0]],
        "wrong_negatives": [[0.0, share]],
        "class_conditional": [[1 - share, 0.0], [0.0, share]],
    }
    return np.array(ends[model], dtype=float).reshape(-1, 2)


def free_rates(label_share: float, *, fine: bool = False) -> tuple[Array, Array]:
    """Return pairs that cover all that the share of labels leaves possible, and log masses.

    The prior is uniform over the feasible rates. Fine cells are smaller the smaller the rates:
    hundreds of right answers leave only the smallest.
    """
    n = _FINE if fine else _POINTS[False][1][0]
    edges = REACH * np.linspace(0, 1, n + 1) ** (2 if fine else 1)
    axis, log_mass = (edges[1:] + edges[:-1]) / 2, np.log(np.diff(edges) / REACH)
    rates = _all_pairs([axis, axis]) * np.array([1 - label_share, label_share])
    return np.asarray(rates), np.add.outer(log_mass, log_mass).ravel()


@dataclass(frozen=True)
class PrevalencePrior:
    """A range that holds the clean share of positives with probability 0.95.

    Attributes
    ----------
    low, high : float
        Its ends, above 0 and below 1.
    """

    low: float
    high: float

    @classmethod
    def of(cls, said: Any) -> PrevalencePrior:
        """Read a share, or a range of shares."""
        ends = np.ravel(said).tolist()
        known = all(isinstance(end, (int, float)) and 0 < end < 1 for end in ends)
        if not (known and len(ends) in (1, 2) and ends == sorted(set(ends))):
            msg = (
                "`prevalence` must be a share of rows above 0 and below 1, or a range of such, "
                f"the smaller first; got {said!r}."
            )
            raise FlipCostError(msg)
        if len(ends) == 2:
            return cls(ends[0], ends[1])
        odds = ends[0] / (1 - ends[0])
        return cls(
            odds / (odds + priors.PREVALENCE_FACTOR), odds / (odds + 1 / priors.PREVALENCE_FACTOR)
        )

    @classmethod
    def updated_by_clean_rows(
        cls, told: PrevalencePrior | None, bins: ScoreBins
    ) -> PrevalencePrior | None:
        """Return what is known of the prevalence once clean rows are counted too."""
        ones, zeros = bins.clean_counts
        if not ones + zeros:
            return told
        # Jeffreys' half a row of each; log-odds are about normal.
        means = np.array([logit((ones + 0.5) / (ones + zeros + 1))])
        weights = np.array([1 / (1 / (ones + 0.5) + 1 / (zeros + 0.5))])
        if told is not None:
            mean, sd = told.normal
            means, weights = np.append(means, mean), np.append(weights, sd**-2)
        reach = ndtri(0.975) / np.sqrt(weights.sum())
        mean = float(weights @ means / weights.sum())
        return cls(float(expit(mean - reach)), float(expit(mean + reach)))

    @property
    def normal(self) -> tuple[float, float]:
        """Mean and standard deviation of the log-odds."""
        low, high = logit(np.array([self.low, self.high])).tolist()
        return (low + high) / 2, (high - low) / (2 * ndtri(0.975))

    def log_density(self, share: Array) -> Array:
        """Return the log density of shares, that of their log-odds."""
        mean, sd = self.normal
        off = (logit(np.clip(share, _LEAST, 1 - _LEAST)) - mean) / sd
        return np.asarray(-0.5 * off**2 - np.log(sd * np.sqrt(2 * np.pi)))


def integrate_rates(
    bins: Sequence[ScoreBins],
    noise_model: NoiseModel = "auto",
    rate_prior: tuple[ArrayLike, ArrayLike] | None = None,
    prevalence: PrevalencePrior | None = None,
) -> Calibration:
    """Calibrate scores over grids of noise rates that are refined where the posterior lies.

    `rate_prior` is the mean and standard deviation of a normal prior on the rate, or on both.
    """
    models = model_prior(noise_model, bins[0].rarer)
    if rate_prior is not None:
        models = {"class_conditional" if np.ndim(rate_prior[0]) else "symmetric": 1.0}
    if not bins[0].has_answers and prevalence is None:
        fit = _Search(bins, models, rate_prior).integrate()
        return fit if rate_prior else _with_flat_curve(bins, fit)
    parts = []
    for rows, weight in priors.TEMPERED_ROWS:
        tempered = [b.tempered(_power(b, rows)) for b in bins]
        coarse = bool(np.isfinite(rows))
        search = _Search(tempered, models, rate_prior, prevalence, coarse=coarse)
        plain = [b.without_answers() for b in tempered]
        # How well these labels foretell the right ones that are known, and the share of positives.
        gained = (
            search.log_evidence - _Search(plain, models, rate_prior, coarse=coarse).log_evidence
        )
        part = search.integrate()
        scale = np.log(weight) + gained - log_sum(part.log_evidence)
        parts.append(replace(part, log_evidence=part.log_evidence + scale))
    fit = _joined(parts)
    if bins[0].checked is not None:
        return fit
    # What the labels of all rows say for a curve, and against none.
    plain = [b.without_answers() for b in bins]
    rises = _Search(plain, models, rate_prior).log_evidence - log_sum(fit.log_evidence)
    return _with_flat_curve(bins, replace(fit, log_evidence=fit.log_evidence + rises), prevalence)


def tempered_posterior(
    bins: ScoreBins, rows: float, noise_model: NoiseModel, prevalence: PrevalencePrior | None = None
) -> Calibration:
    """Calibrate one score with its labels tempered to a number of rows of the rarer one."""
    tempered = bins.tempered(_power(bins, rows))
    models = model_prior(noise_model, bins.rarer)
    return _Search([tempered], models, prevalence=prevalence, coarse=True).integrate(curves=False)


def _power(bins: ScoreBins, rows: float) -> float:
    """Return the power that leaves at most this many rows of the rarer label, and the known ones.

    Checked rows tell the right label given the label; what they tell together with it rests on the
    share of labels along the score, which must then count for as many rows at least.
    """
    known = bins.n_answers / (bins.positive.sum() + bins.negative.sum())
    return float(min(1.0, 1 / (1 + bins.rarer / rows) + known))


def _peak_of_parabola(around: Array, values: Array) -> Array:
    """Return where parabolas through values at these points, shape (M, n), peak, or lead to."""
    n_ways = around.shape[1]
    one, two = np.triu_indices(n_ways)
    terms = np.column_stack([np.ones(len(around)), around, around[:, one] * around[:, two]])
    # What is known can rule some of the rates out.
    found = np.maximum(values - values.max(axis=1)[:, None], -_HIDDEN) @ np.linalg.pinv(terms).T
    slope, bend = found[:, 1 : 1 + n_ways], np.zeros((len(values), n_ways, n_ways))
    bend[:, one, two] += found[:, 1 + n_ways :]
    bend[:, two, one] += found[:, 1 + n_ways :]
    root, way = np.linalg.eigh(bend)
    along = np.einsum("mij,mi->mj", way, slope) / np.maximum(-root, 1e-3)
    return np.asarray(np.clip(np.einsum("mij,mj->mi", way, along), -2.0, 2.0))


class _Search:
    """The modes of all scores that count, under each noise model, where the rates have mass.

    One score lays the grids, its shapes together: the best. The others are looked at in the cells
    that matter to it, which hold nearly all of their mass too; shapes of a score whose peak lies
    elsewhere lay grids of their own.
    """

    def __init__(
        self,
        bins: Sequence[ScoreBins],
        models: Mapping[str, float],
        rate_prior: tuple[ArrayLike, ArrayLike] | None = None,
        prevalence: PrevalencePrior | None = None,
        *,
        coarse: bool = False,
    ):
        self._bins, self._models = bins, models
        self._rate_prior, self._prevalence = rate_prior, prevalence
        self._stack = BinStack.from_bins(bins)
        self._found = self._all_modes(coarse=coarse)

    def _all_modes(self, *, coarse: bool) -> list[tuple[Indices, str, Modes]]:
        """Return the modes of all shapes that count: which they are, a model, and the modes."""
        peaks = self._peaks(coarse=coarse)
        waiting = np.flatnonzero(peaks > peaks.max() - _FAR_BEHIND)
        modes_of: list[tuple[Indices, str, Modes]] = []
        n_shapes = len(priors.CURVE_SHAPES)
        while len(waiting):
            lead = waiting[peaks[waiting].argmax()]
            leads = waiting[waiting // n_shapes == lead // n_shapes]
            cells = self._cells(leads, coarse=coarse)
            parts = {name: (modes.rates, modes.log_prior) for name, modes in cells.items()}
            starts = {name: modes.theta[leads == lead] for name, modes in cells.items()}
            found = cells if len(leads) == len(waiting) else self._modes(waiting, parts, starts)
            reached = np.max(
                [
                    (m.log_evidence - m.log_prior + self._log_known(m.rates)).max(axis=1)
                    for m in found.values()
                ],
                axis=0,
            )
            short = peaks[waiting] - reached
            inside = short <= max(float(short[waiting == lead][0]), 0.0) + _ELSEWHERE
            modes_of += [
                (waiting[inside], name, _of_scores(modes, inside)) for name, modes in found.items()
            ]
            waiting = waiting[~inside]
        return modes_of

    def _peaks(self, *, coarse: bool) -> Array:
        """Return how well each shape of each score explains what is known, at its own rates.

        With many rows a peak is narrower than any fixed grid, and a score that explains the labels
        best can look bad between two points of it. So each climbs to its own: to the best point of
        a square, or to where the parabola through the square peaks, and on with a smaller square.
        Coarse is a first look, which will do for tempered labels.
        """
        share = self._bins[0].label_share
        largest = REACH * max((_largest_rates(name, share) for name in self._models), key=len)
        rows, look = np.arange(len(self._stack)), np.linspace(0, 1, _LOOK) ** 2
        points = np.repeat(_all_pairs([look] * len(largest))[None], len(rows), axis=0)
        evidence, theta = self._at_peaks(points @ largest)
        place = evidence.argmax(axis=1)
        at, theta, best = points[rows, place], theta[rows, place], evidence[rows, place]
        around, tip = _all_pairs([np.array([-1.0, 0.0, 1.0])] * len(largest)), at
        for step in () if coarse else _STEPS:
            middle = np.clip(at, step, 1 - step)
            points = np.concatenate([middle[:, None] + step * around, tip[:, None]], axis=1)
            evidence, found = self._at_peaks(points @ largest, theta)
            tip = np.clip(middle + step * _peak_of_parabola(around, evidence[:, :-1]), 0.0, 1.0)
            place = evidence.argmax(axis=1)
            better = (evidence[rows, place] > best)[:, None]
            at = np.where(better, points[rows, place], at)
            theta = np.where(better, found[rows, place], theta)
            best = np.maximum(best, evidence[rows, place])
        return np.asarray(best)

    def _at_peaks(self, rates: Array, start: Array | None = None) -> tuple[Array, Array]:
        """Return the evidence of all shapes, each at its own rates (M, R, 2), and the modes."""
        begin = None if start is None else np.repeat(start[:, None], rates.shape[1], axis=1)
        modes = find_modes(self._stack, rates, start=begin)
        return modes.log_evidence - modes.log_prior + self._log_known(rates), modes.theta

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
            fit = fit.over_shapes(scores, len(self._bins))
            parts.append(replace(fit, models=(name,) * len(fit.rates)))
        return _joined(parts)

    def _cells(self, scores: Indices, *, coarse: bool) -> dict[str, Modes]:
        """Return modes of one score's shapes where each model has nearly all of its mass."""
        share = self._bins[0].label_share
        start = find_modes(self._stack.take(scores), np.zeros((1, 2))).theta
        grids = {name: RateGrid.whole(name, share, coarse=coarse) for name in self._models}
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
        kept = {name: modes.log_evidence.max(axis=0) > least for name, modes in found.items()}
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
        """Log prior of each cell, by its mass and by what else is known of its rates."""
        prior = np.log(self._models[grid.model]) + grid.log_mass
        return np.asarray(prior + self._log_known(grid.rates))

    def _log_known(self, rates: Array) -> Array:
        """Log of what is known of rates, shape (..., 2), beside what the curve of labels says."""
        known = np.zeros(rates.shape[:-1])
        if self._rate_prior is not None:
            value, sd = (np.asarray(part, dtype=float) for part in self._rate_prior)
            own = rates if value.ndim else rates[..., :1]
            off = (own - value) / np.maximum(sd, 1e-6)
            known -= 0.5 * (off**2).sum(axis=-1)
        if self._prevalence is not None:
            share = clean_share(rates, self._bins[0].label_share)
            known += self._prevalence.log_density(share)
        if self._bins[0].checked is not None:
            known += flip_log_likelihood(self._bins[0].flips, rates)
        return known

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
    by_rate = log_sum(modes.log_evidence, axis=0)  # of the shapes of the score that lays the grids
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
    bins: Sequence[ScoreBins], fit: Calibration, prevalence: PrevalencePrior | None = None
) -> Calibration:
    """Add the curve that does not rise: one share of positives, whatever the score."""
    n_pos, n_neg = bins[0].positive.sum(), bins[0].negative.sum()
    # A score that says nothing cannot say what is noise, so its labels are taken as they are, or
    # as what is known of the share of positives says.
    rates, log_mass = np.zeros((1, 2)), np.zeros(1)
    share = np.array([(n_pos + 1) / (n_pos + n_neg + 2)])
    evidence = betaln(n_pos + 1, n_neg + 1) + np.log(priors.NO_SIGNAL)
    negative, positive = bins[0].stands_for
    if positive != negative:  # from the share of those drawn to that of all, uniform as before
        drawn, odds = share, positive / negative
        share = odds * drawn / (1 - drawn + odds * drawn)
        evidence += (1 - n_neg) * np.log(odds) - 2 * np.log(1 - drawn[0] + odds * drawn[0])
    told = PrevalencePrior.updated_by_clean_rows(prevalence, bins[0])
    if told is not None:
        rates, log_mass = free_rates(bins[0].label_share, fine=True)
        share = clean_share(rates, bins[0].label_share)
        log_mass = log_mass + told.log_density(share)
        log_mass = log_mass - log_sum(log_mass)
    alive = np.isfinite(fit.log_evidence).any(axis=1, keepdims=True)
    flat = Calibration(
        rates,
        np.where(alive, evidence + log_mass, -np.inf),
        np.broadcast_to(share[:, None], (len(bins), len(rates), len(TABLE))),
        ("no_signal",) * len(rates),
    )
    return _joined(
        [replace(fit, log_evidence=fit.log_evidence + np.log(1 - priors.NO_SIGNAL)), flat]
    )


def _joined(parts: Sequence[Calibration]) -> Calibration:
    return Calibration(
        np.concatenate([part.rates for part in parts]),
        np.concatenate([part.log_evidence for part in parts], axis=1),
        np.concatenate([part.curves for part in parts], axis=1),
        tuple(name for part in parts for name in part.models),
    )


def rate_posterior(
    bins: Sequence[ScoreBins],
    fit: Calibration,
    noise_model: NoiseModel | None = "auto",
    prevalence: PrevalencePrior | None = None,
) -> RatePosterior:
    """Summarise a calibration as a posterior over rates, and over wider ones for intervals."""
    weight, weights = fit.weight.sum(axis=0), fit.model_weights
    weight = weight / weight.sum()  # one weight alone is then one exactly, and its rate the given
    if noise_model is None:
        return RatePosterior(fit.rates, weight, models=weights)
    if bins[0].checked is not None:  # these measure the rates, see `measured`
        return RatePosterior(fit.rates, weight, models=weights)
    anything = noise_model == "auto"
    lead = bins[int(np.argmax(fit.weight.sum(axis=1)))]
    told = PrevalencePrior.updated_by_clean_rows(prevalence, lead)
    rates, log_mass = free_rates(lead.label_share, fine=told is not None)
    if told is not None:
        log_mass = log_mass + told.log_density(clean_share(rates, lead.label_share))
    free = np.exp(log_mass - log_sum(log_mass))
    doubt = tempered_posterior(lead, priors.DOUBT_ROWS, noise_model, prevalence)
    doubted = doubt.weight.sum(axis=0)
    # How much better noise explains the curve than none, tempered: evidence against "anything".
    # With a known prevalence it is not the curve that rules "none" out.
    clean = doubted[np.array([m == "none" for m in doubt.models])].sum()
    odds = max(1.0, model_prior(noise_model, lead.rarer)["none"] / max(clean, 1e-300))
    share = (
        priors.ANYTHING_PREVALENCE
        if told is not None
        else priors.ANYTHING / (priors.ANYTHING + (1 - priors.ANYTHING) * odds)
    )
    share = share if anything else 0.0
    flat = weights.get("no_signal", 0.0)
    share = share + flat * (1 - share)
    split = priors.DOUBT / (1 - priors.ANYTHING)
    random = 0.0 if told is None else priors.ANYTHING_RANDOM
    alike = _with_models_alike(fit, weight, noise_model)
    parts = [
        (fit.rates, alike, (1 - share) * (1 - split)),
        (doubt.rates, doubted, (1 - share) * split),
        (rates, free, share * random),
        (rates, free, share * (1 - random)),
    ]
    return RatePosterior(fit.rates, weight, *_mixed(parts), models=weights, random_weight=alike)


def _with_models_alike(fit: Calibration, weight: Array, noise_model: NoiseModel) -> Array:
    """Return weights of the rates with models of noise more alike a priori, for intervals."""
    if noise_model != "auto":
        return weight
    more = {name: priors.INTERVAL_MODELS[name] / of for name, of in priors.NOISE_MODELS.items()}
    alike = weight * np.array([more.get(name, 1.0) for name in fit.models])
    return np.asarray(alike / alike.sum())


def _mixed(parts: Sequence[tuple[Array, Array, float]]) -> tuple[Array, Array, Flags]:
    """Join weighted rates; those of the last part are "anything goes"."""
    return (
        np.concatenate([rates for rates, _, _ in parts]),
        np.concatenate([share * weight for _, weight, share in parts]),
        np.repeat([*(False for _ in parts[1:]), True], [len(rates) for rates, _, _ in parts]),
    )
