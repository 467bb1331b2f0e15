"""The posterior over unknown noise rates: a grid that refines itself where the mass is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr

from flipcost.core.calibration import (
    Calibration,
    ScoreBins,
    find_modes,
    integrate_modes,
    log_sum,
)
from flipcost.core.confusion import ConfusionCounts, Interval, delta_method
from flipcost.core.noise import unmixing_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.core.costs import CostLike

    Array = NDArray[np.float64]

NoiseModel: TypeAlias = Literal["symmetric", "class_conditional", "auto"]

_LARGEST = 0.48  # of a symmetric rate
_LARGEST_OF_PAIR = 0.66
_LARGEST_SUM = 0.96
_SYMMETRIC_POINTS = 17
_PAIR_POINTS = 9
_REFINEMENTS = 4
_PEAK_POINTS = 9
_PEAK_STEPS = 6
# A grid is fine enough when no point of it holds more than this share of the posterior ...
_COARSE = {1: 0.3, 2: 0.15}
# ... and points that hold less than this do not bound the next one.
_THIN = 1e-3
# Scores this many nats behind the best, each at its own rate, are dropped.
_HOPELESS = 10.0


def integrate_rates(
    bins: Sequence[ScoreBins],
    noise_model: NoiseModel = "symmetric",
    known: tuple[float, float] | None = None,
) -> Calibration:
    """Calibrate scores over a grid of noise rates that is refined where the posterior lies.

    Parameters
    ----------
    bins : sequence of ScoreBins
        Out-of-fold scores, binned.
    noise_model : {"symmetric", "class_conditional", "auto"}, default="symmetric"
        One rate, two rates, or both models weighted by how well they explain the labels.
    known : pair of floats, optional
        Value and standard error of a symmetric rate known from elsewhere: a normal prior, cut to
        what is possible, in place of the uniform one.

    Returns
    -------
    Calibration
        Over rates of shape (R, 2), as pairs ``(rho_pos, rho_neg)`` under either model.

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
    height, low, high = _own_peaks(bins)
    alive = _hopeful(height)
    line = _line(max(0.0, float(low[alive].min())), min(_LARGEST, float(high[alive].max())))
    symmetric = _refine(bins, alive, _line(0.0, _LARGEST) if known else line, 1, known)
    if noise_model == "symmetric":
        return symmetric
    # A score that is hopeless when noise is symmetric is not saved by two rates instead of one.
    alive = _hopeful(log_sum(symmetric.log_evidence, axis=1))
    pairs = _refine(bins, alive, _square((0.0, 0.0), (_LARGEST_OF_PAIR,) * 2), 2, None)
    return pairs if noise_model == "class_conditional" else _mix(symmetric, pairs)


def _own_peaks(bins: Sequence[ScoreBins]) -> tuple[Array, Array, Array]:
    """Find the most likely symmetric rate of each score on its own.

    With many rows a peak is narrower than any fixed grid, and a score that explains the labels
    best can look hopeless between two points of it. Returns log evidences at the peaks, and
    limits that hold the posterior of each score.
    """
    low, high = np.zeros(len(bins)), np.full(len(bins), _LARGEST)
    rows = np.arange(len(bins))
    for _ in range(_PEAK_STEPS):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _PEAK_POINTS)
        evidence = find_modes(bins, np.stack([grid, grid], axis=-1)).log_evidence
        best = evidence.argmax(axis=1)
        step = (high - low) / (_PEAK_POINTS - 1)
        beside = np.maximum(
            evidence[rows, np.maximum(best - 1, 0)],
            evidence[rows, np.minimum(best + 1, _PEAK_POINTS - 1)],
        )
        peak = grid[rows, best]
        inner = (best > 0) & (best < _PEAK_POINTS - 1)
        if np.all((evidence[rows, best] - beside < 2.0) & inner) or step.max() < 1e-5:
            break
        low, high = np.maximum(peak - step, 0.0), np.minimum(peak + step, _LARGEST)
    return evidence.max(axis=1), peak - 7 * step, peak + 7 * step


def _hopeful(by_score: Array) -> NDArray[np.intp]:
    return np.flatnonzero(by_score > by_score.max() - _HOPELESS)


def _refine(
    bins: Sequence[ScoreBins],
    alive: NDArray[np.intp],
    rates: Array,
    dimension: int,
    known: tuple[float, float] | None,
) -> Calibration:
    """Calibrate the scores that are alive on a grid that is refined until it is fine enough."""
    living = [bins[int(m)] for m in alive]
    modes = find_modes(living, rates, _rate_prior(rates, known))
    for _ in range(_REFINEMENTS):
        weight = np.exp(log_sum(modes.log_evidence, axis=0) - log_sum(modes.log_evidence))
        if weight.max() < _COARSE[dimension]:
            break
        finer = _zoom(modes.rates, weight, dimension)
        nearest = np.abs(finer[:, None] - modes.rates).sum(axis=2).argmin(axis=1)
        # Prior mass per point shrinks with the grid, equally for all scores: only evidence that is
        # compared between noise models needs to account for it, and `_mix` does.
        prior = _rate_prior(finer, known)
        modes = find_modes(living, finer, prior, modes.theta[:, nearest])
    fit = integrate_modes(living, modes)
    evidence = np.full((len(bins), len(fit.rates)), -np.inf)
    curves = np.zeros((len(bins), len(fit.rates), fit.curves.shape[-1]))
    evidence[alive], curves[alive] = fit.log_evidence, fit.curves
    return Calibration(fit.rates, evidence, curves)


def _line(low: float, high: float) -> Array:
    rate = np.linspace(low, high, _SYMMETRIC_POINTS)
    return np.column_stack([rate, rate])


def _square(low: Sequence[float], high: Sequence[float]) -> Array:
    axes = [np.linspace(a, b, _PAIR_POINTS) for a, b in zip(low, high, strict=True)]
    pairs = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.asarray(pairs[pairs.sum(axis=1) <= _LARGEST_SUM])


def _zoom(rates: Array, weight: Array, dimension: int) -> Array:
    """Lay a new grid over the points with weight, and one step around them."""
    inside = rates[weight > _THIN * weight.max()]
    steps = [np.min(np.diff(np.unique(rates[:, k]))) for k in (0, 1)]
    low = np.maximum(inside.min(axis=0) - steps, 0.0)
    high = np.minimum(inside.max(axis=0) + steps, _LARGEST if dimension == 1 else _LARGEST_OF_PAIR)
    return _line(low[0], high[0]) if dimension == 1 else _square(low, high)


def _rate_prior(rates: Array, known: tuple[float, float] | None) -> Array | None:
    if known is None:
        return None
    value, error = known
    return np.asarray(-0.5 * ((rates[:, 0] - value) / max(error, 1e-6)) ** 2)


def _mix(symmetric: Calibration, pairs: Calibration) -> Calibration:
    """Weigh two noise models by their marginal likelihoods, each uniform over all its rates."""
    span = symmetric.rates[:, 0]
    line = (span[-1] - span[0]) * len(span) / (len(span) - 1) / _LARGEST
    axes = [np.unique(pairs.rates[:, k]) for k in (0, 1)]
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    possible = _LARGEST_OF_PAIR**2 - (2 * _LARGEST_OF_PAIR - _LARGEST_SUM) ** 2 / 2
    square = len(pairs.rates) * cell / possible
    return Calibration(
        np.concatenate([symmetric.rates, pairs.rates]),
        np.concatenate(
            [symmetric.log_evidence + np.log(line), pairs.log_evidence + np.log(square)], axis=1
        ),
        np.concatenate([symmetric.curves, pairs.curves], axis=1),
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
        Posterior probabilities, adding up to one.

    Examples
    --------
    >>> posterior = RatePosterior(np.array([[0.1, 0.1], [0.2, 0.2]]), np.array([0.25, 0.75]))
    >>> posterior.mean.round(4)
    array([0.175, 0.175])
    """

    rates: Array
    weight: Array

    @property
    def mean(self) -> Array:
        """Posterior mean of ``(rho_pos, rho_neg)``."""
        return np.asarray(self.weight @ self.rates)

    @property
    def is_symmetric(self) -> bool:
        """Whether the two rates are equal at every point of the grid."""
        return bool(np.all(self.rates[:, 0] == self.rates[:, 1]))

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return central intervals of ``rho_pos`` and ``rho_neg``."""
        first, second = (
            weighted_interval(*_marginal(self.rates[:, k], self.weight), level) for k in (0, 1)
        )
        return first, second

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
            Mean clean cost of a row.
        by_rate : ndarray of shape (R,)
            The same, given each rate.
        """
        unmix = np.stack([unmixing_matrix((p, n)) for p, n in self.rates])
        by_rate, centre, error = delta_method(table, unmix, "cost", cost)
        low, high = mixture_interval(centre, error, self.weight, level)
        value = float(self.weight @ by_rate)
        return Interval(value, max(0.0, low), max(0.0, high)), by_rate


def _marginal(values: Array, weight: Array) -> tuple[Array, Array]:
    points, place = np.unique(values, return_inverse=True)
    return points, np.asarray(np.bincount(place, weight), dtype=float)
