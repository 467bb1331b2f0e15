r"""Noise-aware calibration of scores, for given noise rates.

A score s whose ordering label noise does not disturb tells how noisy labels are once it is bent to
probabilities that can be clean ones. The model, one score at a time, standardised:

.. math::

    P(\tilde y = 1 \mid s) = \rho_- + (1 - \rho_+ - \rho_-)\,\sigma(a s + b), \qquad a > 0 .

Priors are weak and proper: :math:`a` is half-Cauchy with scale 1 (a standard deviation of score
multiplies the odds by e or so, but may by very much more); :math:`\sigma(b)`, the clean share of
positives at the mean score, is uniform. Labels enter through counts in bins of the score, which
merge, so the cost does not depend on the rows.

Rows that somebody checked enter by the probability of the right label given the row *and* the
label that it had,

.. math::

    P(y \mid \tilde y, s) = P(\tilde y \mid y)\,P(y \mid s) / P(\tilde y \mid s),

so they may have been chosen by looking at rows and labels: only a choice that knew the answers
would mislead.

The curve is a model, and labels that were wrong in other ways bend it. The counts of labels can
therefore be *tempered*, raised to a power below one (`ScoreBins.tempered`): their curve is then
trusted as if there were fewer rows. Checked rows are never tempered.

For each score and each rate, the posterior of :math:`(\log a, b)` is found by Newton's method and
integrated by a product rule over the box that the curvature at the mode spans. That gives the
marginal likelihood of (score, rate) and the posterior mean of :math:`\sigma(as+b)`, the
probability of the *clean* label. A Laplace approximation alone is not enough where it matters
most: with few rows and much noise the posterior is wide and skewed. `rate_posterior` lays the
grids of rates and pools.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import xlog1py, xlogy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

N_BINS = 64
_REACH = 4.0  # scores beyond this many standard deviations share the outermost bins
# The curve of clean probability is tabulated on these standardised scores.
TABLE = np.linspace(-6.0, 6.0, 121)
_TABLE = TABLE.astype(np.float32)
# Nodes of the product rule, in standard deviations.
_STEP = 1.1
_NODES = _STEP * np.array([(i, j) for i in range(-3, 4) for j in range(-3, 4)])
_CHUNK = 16  # pairs integrated at a time, for the cache
_NEWTON_STEPS = 40
_NEWTON_TOLERANCE = 1e-3  # gain in log density that a further step would bring
# The same as a share of the nats that a mode is behind the highest one.
_BEHIND = 0.02
# Where the posterior is nearly flat, the box reaches this many units at most.
_SMALLEST_CURVATURE = 0.15
# Share of the mass, by Laplace, whose (score, rate) pairs are not integrated.
_LIGHT = 0.03


def log_sum(values: Array, axis: int | None = None) -> Array:
    """Return ``log(sum(exp(values)))``; scipy's took a quarter of the time of a calibration.

    Examples
    --------
    >>> print(log_sum(np.log([1.0, 2.0, 3.0])).round(6) == np.log(6.0).round(6))
    True
    """
    largest = np.max(values, axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(values - largest), axis=axis, keepdims=True)) + largest
    return np.asarray(total.reshape(()) if axis is None else np.squeeze(total, axis))


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Counts of noisy labels in bins of a standardised score.

    Attributes
    ----------
    location, scale : float
        What standardises the score.
    centre : ndarray of shape (n_bins,)
        Mean standardised score of each bin.
    positive, negative : ndarray of shape (n_bins,)
        Weight of positive and of negative labels, of all rows.
    checked : ndarray of shape (2, 2, n_bins) or None
        Weight of the checked rows by right label, label and bin, negative first.

    Examples
    --------
    >>> scores = np.array([-1.0, 0.0, 1.0, 2.0])
    >>> bins = ScoreBins.from_scores(scores, [0, 0, 1, 1])
    >>> print(bins.positive.sum(), bins.negative.sum())
    2.0 2.0
    >>> bins.with_checked(scores[:2], [False, True], [0, 0]).flips
    array([[1., 0.],
           [1., 0.]])
    """

    location: float
    scale: float
    centre: Array
    positive: Array
    negative: Array
    checked: Array | None = None

    @classmethod
    def from_scores(
        cls, scores: Array, positive: ArrayLike, sample_weight: Array | None = None
    ) -> ScoreBins:
        """Bin scores, equally wide within four standard deviations."""
        labels = np.asarray(positive, dtype=bool)
        location = float(np.average(scores, weights=sample_weight))
        spread = float(np.sqrt(np.average((scores - location) ** 2, weights=sample_weight)))
        scale = spread if spread > 0 else 1.0
        z = (scores - location) / scale
        place = _place(z)
        weight = np.ones(len(z)) if sample_weight is None else sample_weight
        total = np.asarray(np.bincount(place, weight, N_BINS), dtype=float)
        ones = np.asarray(np.bincount(place, weight * labels, N_BINS), dtype=float)
        middle = (np.arange(N_BINS) + 0.5) * (2 * _REACH / N_BINS) - _REACH
        sums = np.bincount(place, weight * z, N_BINS)
        centre = np.where(total > 0, sums / np.where(total > 0, total, 1.0), middle)
        return cls(location, scale, centre, ones, total - ones)

    def standardize(self, scores: Array) -> Array:
        """Return scores in the units of the bins."""
        return np.asarray((scores - self.location) / self.scale)

    def with_checked(
        self,
        scores: Array,
        right: ArrayLike,
        labels: ArrayLike,
        sample_weight: Array | None = None,
    ) -> ScoreBins:
        """Return the bins with rows that were checked.

        Parameters
        ----------
        scores : ndarray of shape (n_checked,)
            Their scores; the rows are among those that were counted already.
        right, labels : array-like of bool, shape (n_checked,)
            Whether they are positive, and whether they are labelled so.
        sample_weight : ndarray of shape (n_checked,), optional
            Their weights.
        """
        place = _place(self.standardize(scores))
        cell = 2 * np.asarray(right, dtype=bool) + np.asarray(labels, dtype=bool)
        counts = np.bincount(cell * N_BINS + place, sample_weight, 4 * N_BINS)
        return replace(self, checked=counts.reshape(2, 2, N_BINS).astype(float))

    def tempered(self, power: float) -> ScoreBins:
        """Return the bins with the likelihood of labels raised to a power; checked rows stay."""
        return replace(self, positive=power * self.positive, negative=power * self.negative)

    @property
    def flips(self) -> Array:
        """Checked rows by right label and label, shape (2, 2)."""
        return np.zeros((2, 2)) if self.checked is None else np.asarray(self.checked.sum(axis=2))

    @property
    def noisy_share(self) -> float:
        """Share of positive labels."""
        return float(self.positive.sum() / (self.positive.sum() + self.negative.sum()))


def _place(standardised: Array) -> NDArray[np.intp]:
    """Return the bin of each standardised score."""
    place = np.clip((standardised + _REACH) * (N_BINS / (2 * _REACH)), 0, N_BINS - 1)
    return place.astype(np.intp)


def flip_log_likelihood(flips: Array, rates: Array) -> Array:
    """Return the log probability of the labels of checked rows, given their right ones.

    Parameters
    ----------
    flips : ndarray of shape (2, 2)
        Checked rows by right label and label.
    rates : ndarray of shape (R, 2)
        Pairs ``(rho_pos, rho_neg)``.

    Examples
    --------
    >>> flips = np.array([[80.0, 0.0], [5.0, 15.0]])
    >>> rates = np.array([(0.25, 0.0), (0.5, 0.0), (0.25, 0.1)])
    >>> print(rates[flip_log_likelihood(flips, rates).argmax()])
    [0.25 0.  ]
    """
    rho_pos, rho_neg = rates[..., 0], rates[..., 1]
    found = xlogy(flips[1, 0], rho_pos) + xlog1py(flips[1, 1], -rho_pos)
    return np.asarray(found + xlogy(flips[0, 1], rho_neg) + xlog1py(flips[0, 0], -rho_neg))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Posterior over scores and rates, and the clean probability under each.

    Attributes
    ----------
    rates : ndarray of shape (R, 2)
        Grid of ``(rho_pos, rho_neg)``.
    log_evidence : ndarray of shape (M, R)
        Log marginal likelihood of each score and rate, the prior of the rate included.
    curves : ndarray of shape (M, R, 121)
        Posterior mean of the clean probability on the standardised scores of `TABLE`, given score
        and rate.
    models : tuple of str
        Noise model of each rate, if it has one.
    """

    rates: Array
    log_evidence: Array
    curves: Array
    models: tuple[str, ...] = ()

    @cached_property
    def weight(self) -> Array:
        """Posterior probability of each score and rate, shape (M, R)."""
        return np.asarray(np.exp(self.log_evidence - log_sum(self.log_evidence)))

    @property
    def model_weights(self) -> dict[str, float]:
        """Posterior weight of each noise model, the heaviest first."""
        weight = self.weight.sum(axis=0)
        found: dict[str, float] = {}
        for name, share in zip(self.models, weight, strict=False):
            found[name] = found.get(name, 0.0) + float(share)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def probability(self, standardised: Sequence[Array], rate: int | None = None) -> Array:
        """Return clean probabilities from one standardised score array for each scorer.

        Parameters
        ----------
        standardised : sequence of M arrays of shape (n,)
            Scores in the units of their bins.
        rate : int, optional
            Condition on this rate of the grid instead of averaging over all.
        """
        weight = self.weight
        weight = weight if rate is None else weight[:, rate : rate + 1]
        curves = self.curves if rate is None else self.curves[:, rate : rate + 1]
        result = np.zeros(len(standardised[0]))
        for score, share, curve in zip(standardised, weight, curves, strict=True):
            if share.any():
                result += np.interp(score, TABLE, share @ curve)
        return np.asarray(result / weight.sum())


def calibrate(
    bins: Sequence[ScoreBins], rates: ArrayLike, log_prior: ArrayLike | None = None
) -> Calibration:
    """Integrate slope and offset out for each score and each rate.

    Parameters
    ----------
    bins : sequence of M ScoreBins
        Out-of-fold scores, binned.
    rates : array-like of shape (R, 2)
        Pairs ``(rho_pos, rho_neg)``.
    log_prior : array-like of shape (R,), optional
        Log prior mass of each rate; uniform when not given.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=4000)
    >>> clean = rng.random(4000) < 1 / (1 + np.exp(-3 * s))
    >>> noisy = clean ^ (rng.random(4000) < 0.2)
    >>> grid = np.arange(0, 0.45, 0.05)
    >>> fit = calibrate([ScoreBins.from_scores(s, noisy)], np.column_stack([grid, grid]))
    >>> print(round(float(fit.weight[0] @ grid), 2))
    0.2
    """
    modes = find_modes(bins, np.asarray(rates, dtype=float).reshape(-1, 2), log_prior)
    return integrate_modes(bins, modes)


@dataclass(frozen=True, eq=False)
class Modes:
    """Posterior modes for each score and rate, before integration.

    Attributes
    ----------
    rates : ndarray of shape (R, 2)
        Grid of ``(rho_pos, rho_neg)``.
    log_prior : ndarray of shape (R,)
        Log prior mass of each rate.
    theta : ndarray of shape (M, R, 2)
        ``(log a, b)`` at the mode.
    curvature : ndarray of shape (M, R, 2, 2)
        Curvature of the negative log density there.
    log_evidence : ndarray of shape (M, R)
        Laplace approximation of the log marginal likelihood, prior included.
    """

    rates: Array
    log_prior: Array
    theta: Array
    curvature: Array
    log_evidence: Array


def find_modes(
    bins: Sequence[ScoreBins],
    rates: ArrayLike,
    log_prior: ArrayLike | None = None,
    start: Array | None = None,
) -> Modes:
    """Find the mode of slope and offset for each score and rate.

    Parameters
    ----------
    bins, rates, log_prior
        As in `calibrate`; rates of shape (M, R, 2) are a grid of its own for each score.
    start : ndarray of shape (M, R, 2), optional
        Where to start from.

    Examples
    --------
    >>> bins = ScoreBins.from_scores(np.array([-1.0, 0.0, 1.0, 2.0]), [0, 0, 1, 1])
    >>> find_modes([bins], [(0.1, 0.1), (0.2, 0.2)]).theta.shape
    (1, 2, 2)
    """
    grid: Array = np.asarray(rates, dtype=float)
    shape = (len(bins), grid.shape[-2])
    uniform = np.full(shape[1], -np.log(shape[1]))
    prior = uniform if log_prior is None else np.asarray(log_prior, dtype=float)
    problem = _problem(bins, grid)
    begin = np.zeros((np.prod(shape), 2)) if start is None else start.reshape(-1, 2)
    theta, value, curvature = problem.modes(begin, np.tile(prior, shape[0]))
    laplace = value + np.log(2 * np.pi) - 0.5 * _log_det(curvature)
    return Modes(
        grid,
        prior,
        theta.reshape(*shape, 2),
        curvature.reshape(*shape, 2, 2),
        laplace.reshape(shape) + prior,
    )


def integrate_modes(
    bins: Sequence[ScoreBins], modes: Modes, least: float | None = None
) -> Calibration:
    """Integrate around modes; light pairs of score and rate are not integrated, but corrected.

    Parameters
    ----------
    bins, modes
        From `find_modes`.
    least : float, optional
        Pairs whose log evidence, by Laplace, is less than this keep it, but for what the others
        gained by integration on average, and the curve at their mode. By default it leaves these
        what `light_evidence` says.

    Examples
    --------
    >>> bins = ScoreBins.from_scores(np.array([-1.0, 0.0, 1.0, 2.0]), [0, 0, 1, 1])
    >>> integrate_modes([bins], find_modes([bins], [(0.1, 0.1)])).curves.shape
    (1, 1, 121)
    """
    laplace = modes.log_evidence.ravel()
    least = light_evidence(laplace) if least is None else least
    heavy = laplace >= min(least, laplace.max())
    kept = np.flatnonzero(heavy)
    theta, curvature = modes.theta.reshape(-1, 2), modes.curvature.reshape(-1, 2, 2)
    problem = _problem(bins, modes.rates)
    evidence = laplace - np.tile(modes.log_prior, len(bins))
    plain = evidence[kept]
    curves = np.empty((len(laplace), len(TABLE)))
    for chunk in np.array_split(kept, -(-len(kept) // _CHUNK)):
        part = problem.take(chunk)
        evidence[chunk], curves[chunk] = part.integrate(theta[chunk], curvature[chunk])
    weight = np.exp(laplace[kept] - laplace.max())
    evidence[~heavy] += np.average(evidence[kept] - plain, weights=weight)
    curves[~heavy] = _expit(np.exp(theta[~heavy, :1]) * TABLE + theta[~heavy, 1:])
    shape = modes.log_evidence.shape
    return Calibration(
        modes.rates,
        evidence.reshape(shape) + modes.log_prior,
        curves.reshape(*shape, len(TABLE)),
    )


def light_evidence(log_evidence: Array) -> float:
    """Return the log evidence below which pairs hold a small share of the mass together.

    Examples
    --------
    >>> print(light_evidence(np.log([0.5, 0.48, 0.01, 0.01])) == np.log(0.48))
    True
    """
    order = np.sort(log_evidence)[::-1]
    mass = np.cumsum(np.exp(order - order[0]))
    return float(order[int(np.searchsorted(mass, (1 - _LIGHT) * mass[-1]))])


def _problem(bins: Sequence[ScoreBins], rates: Array) -> _Problem:
    n_rates = rates.shape[-2]
    none = np.zeros((2, 2, N_BINS))
    checked = np.stack([none if b.checked is None else b.checked for b in bins])
    # P(y | noisy y, s) divides by the probability of the label, so checked labels count off.
    ones = np.stack([b.positive for b in bins]) - checked[:, :, 1].sum(axis=1)
    zeros = np.stack([b.negative for b in bins]) - checked[:, :, 0].sum(axis=1)
    clean = checked.sum(axis=2)
    columns = (np.stack([b.centre for b in bins]), ones, zeros, clean[:, 1], clean[:, 0])
    # Bins without rows add nothing: those with rows come first, as many as any score has.
    empty = np.stack([b.positive + b.negative == 0 for b in bins])
    order = np.argsort(empty, axis=1, kind="stable")[:, : max(1, int((~empty).sum(axis=1).max()))]
    x, ones, zeros, right, wrong = (
        np.repeat(np.take_along_axis(column, order, axis=1), n_rates, axis=0) for column in columns
    )
    own = np.broadcast_to(rates, (len(bins), *rates.shape[-2:])).reshape(-1, 2)
    if not checked.any():
        return _Problem(x, ones, zeros, own)
    return _Problem(x, ones, zeros, own, right, wrong)


@dataclass(frozen=True, eq=False)
class _Problem:
    """A stack of P calibrations: bins of shape (P, n_bins) and rates of shape (P, 2).

    `right_ones` and `right_zeros` count right labels of checked rows, if there are any.
    """

    x: Array
    ones: Array
    zeros: Array
    rates: Array
    right_ones: Array | None = None
    right_zeros: Array | None = None

    def take(self, rows: NDArray[Any]) -> _Problem:
        parts = (self.x, self.ones, self.zeros, self.rates, self.right_ones, self.right_zeros)
        return _Problem(*(None if part is None else part[rows] for part in parts))  # type: ignore[arg-type]

    def log_joint(self, theta: Array) -> Array:
        """Log likelihood plus log prior at theta = (log a, b) of shape (P, K, 2); shape (P, K)."""
        line = np.exp(theta[..., :1]) * self.x[:, None, :] + theta[..., 1:]
        rho_neg, kept = self.rates[:, 1, None, None], 1 - self.rates.sum(axis=1)[:, None, None]
        noisy = _inside(rho_neg + kept * _expit(line))
        likelihood = _dot(np.log(noisy), self.ones) + _dot(np.log(1 - noisy), self.zeros)
        if self.right_ones is not None and self.right_zeros is not None:
            log_eta = _log_expit(line)
            likelihood += _dot(log_eta, self.right_ones) + _dot(log_eta - line, self.right_zeros)
        return np.asarray(likelihood + _log_prior(theta))

    def modes(self, start: Array, log_prior: Array) -> tuple[Array, Array, Array]:
        """Return modes (P, 2), log densities (P,) and positive definite curvatures there.

        Modes that are behind by many nats, counting the prior of their rates, are found less
        exactly: they will not count.
        """
        theta = start.copy()
        value, gradient, curvature = self.terms(theta)
        active, part = np.arange(len(theta)), self
        for _ in range(_NEWTON_STEPS):
            step = _solve(curvature[active], gradient[active])
            height = value + log_prior
            enough = np.maximum(_NEWTON_TOLERANCE, _BEHIND * (height.max() - height[active]))
            going = (gradient[active] * step).sum(axis=1) > enough
            if not going.all():
                active, step, part = active[going], step[going], part.take(going)
            if not len(active):
                break
            # A unit of log slope changes everything: longer steps only overshoot.
            step *= np.minimum(1.0, 1.5 / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
            moved = part.search(theta[active], step, value[active])
            for found, new in zip((theta, value, gradient, curvature), moved, strict=True):
                found[active] = new
        return theta, value, curvature

    def search(self, theta: Array, step: Array, value: Array) -> tuple[Array, Array, Array, Array]:
        """Halve steps that do not raise the joint density; return where they lead, and `terms`."""
        moved = theta + step
        found = self.terms(moved)
        for k in range(1, 13):
            worse = found[0] < value
            if not worse.any():
                break
            moved[worse] = theta[worse] + (step[worse] / 2**k if k < 12 else 0.0)
            for old, new in zip(found, self.take(worse).terms(moved[worse]), strict=True):
                old[worse] = new
        return moved, *found

    def terms(self, theta: Array) -> tuple[Array, Array, Array]:
        """Log joint, its gradient, and its expected curvature (negated), floored."""
        slopewise = np.exp(theta[:, :1]) * self.x
        line = slopewise + theta[:, 1:]
        eta = _expit(line)
        kept = 1 - self.rates.sum(axis=1)[:, None]
        noisy = _inside(self.rates[:, 1:] + kept * eta)
        other, spread = 1 - noisy, eta * (1 - eta)
        value = (self.ones * np.log(noisy) + self.zeros * np.log(other)).sum(axis=1)
        change = kept * spread
        residual = (self.ones / noisy - self.zeros / other) * change
        information = (self.ones + self.zeros) * change**2 / (noisy * other)
        if self.right_ones is not None and self.right_zeros is not None:
            # A right label tells more than a noisy one, so what was counted off is made up for.
            checked = self.right_ones + self.right_zeros
            value += (checked * _log_expit(line) - self.right_zeros * line).sum(axis=1)
            residual += self.right_ones - checked * eta
            information += checked * spread
        prior_gradient, prior_curvature = _prior_derivatives(theta)
        gradient = np.empty((len(theta), 2))
        gradient[:, 0], gradient[:, 1] = (residual * slopewise).sum(1), residual.sum(1)
        gradient += prior_gradient
        curvature = np.empty((len(theta), 2, 2))
        weighted = information * slopewise
        curvature[:, 0, 0] = (weighted * slopewise).sum(1) + prior_curvature[:, 0]
        curvature[:, 1, 1] = information.sum(1) + prior_curvature[:, 1]
        curvature[:, 0, 1] = curvature[:, 1, 0] = weighted.sum(1)
        return value + _log_prior(theta), gradient, curvature

    def integrate(self, mode: Array, curvature: Array) -> tuple[Array, Array]:
        """Return log evidences (P,) and curves (P, table) by a product rule around the modes."""
        theta = mode[:, None, :] + _NODES @ np.swapaxes(_spread(curvature), 1, 2)
        joint = self.log_joint(theta)
        area = 2 * np.log(_STEP) - 0.5 * _log_det(curvature)
        evidence = log_sum(joint, axis=1)
        weight = np.exp(joint - evidence[:, None])
        # Probabilities to seven digits will do, in half the time.
        line = theta.astype(np.float32)
        eta = _expit(np.exp(line[..., :1]) * _TABLE + line[..., 1:])
        curves = weight.astype(np.float32)[:, None] @ eta
        # Rounded to seven digits, weights may add up to a little more than one.
        return evidence + area, np.minimum(curves[:, 0].astype(float), 1.0)


# numpy's exp, log and tanh take a vector at a time; scipy's expit, log_expit and log1p, exact to
# the last digit far out, took five to fifteen times as long and most of a fit. Probabilities are
# cut at 1e-12 anyhow, where what is lost is a ten-thousandth.
def _expit(line: NDArray[Any]) -> NDArray[Any]:
    half = np.tanh(0.5 * line)
    half += 1.0
    half *= 0.5
    return np.asarray(half)


def _log_expit(line: Array) -> Array:
    return np.asarray(np.minimum(line, 0.0) - np.log(1 + np.exp(-np.abs(line))))


def _inside(probability: Array) -> Array:
    """Keep probabilities off 0 and 1."""
    return np.asarray(np.clip(probability, 1e-12, 1 - 1e-12, out=probability))


def _dot(values: Array, counts: Array) -> Array:
    """Sum values of shape (P, K, n) with weights of shape (P, n)."""
    return np.asarray((values @ counts[:, :, None])[..., 0])


def _solve(matrix: Array, right: Array) -> Array:
    """Solve symmetric systems of two unknowns, by Cramer's rule."""
    a, b, d = matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 1, 1]
    det = a * d - b * b
    found = np.empty_like(right)
    found[:, 0] = (d * right[:, 0] - b * right[:, 1]) / det
    found[:, 1] = (a * right[:, 1] - b * right[:, 0]) / det
    return found


def _spread(curvature: Array) -> Array:
    """Lower Cholesky factors of the inverses of symmetric 2 x 2 matrices."""
    a, b, d = curvature[:, 0, 0], curvature[:, 0, 1], curvature[:, 1, 1]
    det = a * d - b * b
    factor = np.zeros_like(curvature)
    factor[:, 0, 0] = np.sqrt(d / det)
    factor[:, 1, 0] = -b / np.sqrt(d * det)
    factor[:, 1, 1] = 1 / np.sqrt(d)
    return factor


def _log_det(matrix: Array) -> Array:
    """Log determinants of symmetric positive definite 2 x 2 matrices."""
    return np.asarray(np.log(matrix[:, 0, 0] * matrix[:, 1, 1] - matrix[:, 0, 1] ** 2))


def _log_prior(theta: Array) -> Array:
    """Log density of (log a, b) for a half-Cauchy slope and a uniform share."""
    log_slope, offset = theta[..., 0], theta[..., 1]
    # The last term turns a density of a into one of log a; likewise for the share and b.
    slope = np.log(2 / np.pi) - np.log(1 + np.exp(2 * log_slope)) + log_slope
    share = 2 * _log_expit(offset) - offset
    return np.asarray(slope + share)


def _prior_derivatives(theta: Array) -> tuple[Array, Array]:
    squared = np.exp(2 * theta[:, 0])
    share = _expit(theta[:, 1])
    steep = squared / (1 + squared)
    gradient = 1 - 2 * np.column_stack([steep, share])
    curvature = np.column_stack([4 * steep * (1 - steep), 2 * share * (1 - share)])
    return gradient, np.maximum(curvature, _SMALLEST_CURVATURE)
