r"""Scores to clean probabilities, for given noise rates.

A score s whose ordering label noise does not disturb tells how noisy labels are once it is bent to
probabilities that can be clean ones. But a score gives an order of rows, not a scale of log-odds:
a least-squares score of a rare class follows the probability, so its log-odds flatten at the top,
which one fixed curve can only explain by missed positives. So the model takes ranks, as normal
scores :math:`z = \Phi^{-1}(\mathrm{rank}(s))`, and a family of shapes that rise more or less
steeply at the ends,

.. math::

    P(\tilde y = 1 \mid s) = \rho_- + (1 - \rho_+ - \rho_-)\,\sigma(a\,h_g(z) + b),
    \qquad h_g(z) = z - g \log\cosh z , \qquad a > 0 ,

each standardised. The shapes g of `priors.CURVE_SHAPES` are integrated out; g = 0 with rare
positives is the ROC curve of two normal distributions of equal variance. Priors are weak and
proper: :math:`a` is half-Cauchy with scale 1, and :math:`\sigma(b)`, the clean
share of positives at the mean score, is uniform. Labels enter through counts in bins of the score,
which merge, so the cost does not depend on the number of rows.

Checked rows enter by the probability of the right label given the row *and* the label that it had,

.. math::

    P(y \mid \tilde y, s) = P(\tilde y \mid y)\,P(y \mid s) / P(\tilde y \mid s),

so they may have been chosen by looking at rows and labels: only a choice that knew the answers
would mislead. Where rows of one label were drawn more often, as in a case-control study, a negative
standing for :math:`w_-` rows and a positive for :math:`w_+`, labels enter by their probability
given that the row was drawn, whose odds are :math:`w_- / w_+` times as large. The counts of labels
can be *tempered*, raised to a power below one: their curve is then trusted as if there were fewer
rows. Checked rows are never tempered.

For each score and each rate, the posterior of :math:`(\log a, b)` is found by Newton's method and
integrated by a product rule over the box that the curvature at the mode spans: a Laplace
approximation alone is not enough where it matters most, with few rows and much noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, xlog1py, xlogy

from flipcost.core import priors
from flipcost.core.arrays import Array

N_BINS = 64
_REACH = 4.0  # scores beyond this many standard deviations share the outermost bins
# The curve of clean probability is tabulated on these standardised scores.
TABLE = np.linspace(-6.0, 6.0, 121)
_TABLE_STEP = 0.1
_BLOCK_ROWS = 16_384  # rows binned at a time, for the cache
_CHUNK = 8  # pairs integrated at a time, for the cache
# Ranges of the score in which clean rows stand for others, and how many may have none.
_CLEAN_RANGES, _CLEAN_UNSEEN = 4, 0.1
# Share of the mass, by Laplace, whose (score, rate) pairs are not integrated.
_LIGHT = 0.03
# Nodes of the product rule, in standard deviations.
_STEP = 1.1
_NODES = _STEP * np.array([(i, j) for i in range(-3, 4) for j in range(-3, 4)])
_NEWTON_STEPS = 40
_NEWTON_TOLERANCE = 1e-3  # gain in log density that a further step would bring
# The same as a share of the nats that a mode is behind the highest one.
_BEHIND = 0.02
# Where the posterior is nearly flat, the box reaches this many units at most.
_SMALLEST_CURVATURE = 0.15
_PRIOR_CURVATURE = np.array([4.0, 2.0])
_LOG_HALF_CAUCHY = float(np.log(2 / np.pi))


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
    stands_for : pair of floats
        For how many rows a negative and a positive label stand, where one label was drawn more
        often than the other: labels then tell what so many rows that were drawn tell.
    checked : ndarray of shape (2, 2, n_bins) or None
        Weight of the checked rows by right label, label and bin, negative first.
    clean : ndarray of shape (2, n_bins) or None
        Weight of rows beside these whose right label is known, and no other, by label and bin.
    """

    location: float
    scale: float
    centre: Array
    positive: Array
    negative: Array
    checked: Array | None = None
    stands_for: tuple[float, float] = (1.0, 1.0)
    clean: Array | None = None

    @classmethod
    def standardizing(
        cls,
        scores: Array,
        positive: ArrayLike,
        sample_weight: Array | None = None,
        out: Array | None = None,
    ) -> tuple[ScoreBins, Array]:
        """Bin scores, equally wide within four standard deviations.

        Return the scores in the units of the bins too, in `out` if that is given.
        """
        labels = np.asarray(positive, dtype=bool)
        location = float(np.average(scores, weights=sample_weight))
        z = np.subtract(scores, location, out=out)
        if sample_weight is None:
            spread = float(np.sqrt(np.dot(z, z) / len(z)))
        else:
            spread = float(np.sqrt(np.average(z**2, weights=sample_weight)))
        scale = spread if spread > 0 else 1.0
        z /= scale
        sums, counts = np.zeros(N_BINS), np.zeros(2 * N_BINS)
        for start in range(0, len(z), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            place = _place(z[rows])
            weight = None if sample_weight is None else sample_weight[rows]
            sums += np.bincount(place, z[rows] if weight is None else weight * z[rows], N_BINS)
            place += N_BINS * labels[rows]
            counts += np.bincount(place, weight, 2 * N_BINS)
        zeros, ones = counts.reshape(2, N_BINS)
        total = zeros + ones
        middle = (np.arange(N_BINS) + 0.5) * (2 * _REACH / N_BINS) - _REACH
        centre = np.where(total > 0, sums / np.where(total > 0, total, 1.0), middle)
        return cls(location, scale, centre, ones, zeros), z

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
        """Return the bins with rows that were checked."""
        place = _place(self.standardize(scores))
        cell = 2 * np.asarray(right, dtype=bool) + np.asarray(labels, dtype=bool)
        counts = np.bincount(cell * N_BINS + place, sample_weight, 4 * N_BINS)
        return replace(self, checked=counts.reshape(2, 2, N_BINS).astype(float))

    def of_drawn(self, stands_for: tuple[float, float]) -> ScoreBins:
        """Return the bins of rows whose weights say for how many each stands, counted as drawn."""
        negative, positive = stands_for
        return replace(
            self,
            negative=self.negative / negative,
            positive=self.positive / positive,
            stands_for=stands_for,
        )

    def with_clean(self, scores: Array, right: ArrayLike) -> ScoreBins:
        """Return the bins with rows beside these whose right label is known."""
        # A bin that no row lies in has no curve: the nearest one with some has to do.
        filled = np.flatnonzero(self.positive + self.negative > 0)
        nearest = filled[np.abs(np.arange(N_BINS)[:, None] - filled).argmin(axis=1)]
        place = N_BINS * np.asarray(right, dtype=bool) + nearest[_place(self.standardize(scores))]
        counts = np.bincount(place, minlength=2 * N_BINS).reshape(2, N_BINS)
        return replace(self, clean=counts.astype(float))

    @property
    def clean_counts(self) -> tuple[float, float]:
        """Positives and negatives among clean rows, as if their scores were as common as here.

        None of either where more than a tenth of all rows lie in ranges of the score without any.
        """
        if self.clean is None:
            return 0.0, 0.0
        total = self.stands_for[1] * self.positive + self.stands_for[0] * self.negative
        part = np.cumsum(total) - total / 2
        place = np.minimum((part / total.sum() * _CLEAN_RANGES).astype(np.intp), _CLEAN_RANGES - 1)
        zeros, ones = (np.bincount(place, side, _CLEAN_RANGES) for side in self.clean)
        share, seen = np.bincount(place, total, _CLEAN_RANGES) / total.sum(), ones + zeros
        if share[seen == 0].sum() > _CLEAN_UNSEEN:
            return 0.0, 0.0
        per_row = np.divide(share, seen, out=np.zeros_like(share), where=seen > 0)
        n = (per_row @ seen) ** 2 / (per_row**2 @ seen)
        positive = float(per_row @ ones / (per_row @ seen))
        return n * positive, n * (1 - positive)

    def without_answers(self) -> ScoreBins:
        """Return the bins with recorded labels alone."""
        return replace(self, checked=None, clean=None)

    @property
    def has_answers(self) -> bool:
        """Whether the right label of some rows is known."""
        return self.checked is not None or self.clean is not None

    @property
    def n_answers(self) -> float:
        """Weight of the rows whose right label is known."""
        return sum(float(part.sum()) for part in (self.checked, self.clean) if part is not None)

    def tempered(self, power: float) -> ScoreBins:
        """Return the bins with the likelihood of labels raised to a power; checked rows stay."""
        return replace(self, positive=power * self.positive, negative=power * self.negative)

    def thinned(self, design: float, of_checked: float = 1.0) -> ScoreBins:
        """Return the bins of rows, and of checked rows, that count for this many times fewer."""
        fewer = self.tempered(1 / design)
        return fewer if self.checked is None else replace(fewer, checked=self.checked / of_checked)

    def shaped(self) -> tuple[Array, Array]:
        """Return what curves are logistic in, at the bins (G, n_bins) and on `TABLE` (G, 121).

        Normal scores of the ranks, straight beyond the outermost bins, bent by each of G shapes.
        """
        total = self.stands_for[1] * self.positive + self.stands_for[0] * self.negative
        filled = np.flatnonzero(total > 0)
        at, weight = self.centre[filled], total[filled]
        rank = (np.cumsum(weight) - weight / 2) / weight.sum()
        z = _along(at, ndtri(rank), np.concatenate([self.centre, TABLE]))
        bend = np.asarray(priors.CURVE_SHAPES)[:, None]
        x = z - bend * (np.abs(z) + np.log1p(np.exp(-2 * np.abs(z))) - np.log(2))
        own = x[:, filled]
        mean = own @ weight / weight.sum()
        spread = np.sqrt((own - mean[:, None]) ** 2 @ weight / weight.sum())
        x = (x - mean[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
        return x[:, : len(total)], x[:, len(total) :]

    @property
    def flips(self) -> Array:
        """Checked rows by right label and label, shape (2, 2)."""
        return np.zeros((2, 2)) if self.checked is None else np.asarray(self.checked.sum(axis=2))

    @property
    def label_share(self) -> float:
        """Share of positive labels in all that these stand for."""
        positive = self.stands_for[1] * self.positive.sum()
        return float(positive / (positive + self.stands_for[0] * self.negative.sum()))

    @property
    def rarer(self) -> float:
        """Rows of the label with fewer rows."""
        return float(min(self.positive.sum(), self.negative.sum()))


def _along(at: Array, values: Array, points: Array) -> Array:
    """Interpolate; beyond both ends go on with the mean slope of the half that ends there."""
    if len(at) < 2:
        return points
    found = np.interp(points, at, values)
    middle = len(at) // 2
    for end, beyond in ((0, points < at[0]), (-1, points > at[-1])):
        inner = middle if at[middle] != at[end] else -1 - end
        slope = (values[end] - values[inner]) / (at[end] - at[inner])
        found[beyond] = values[end] + slope * (points[beyond] - at[end])
    return found


def _place(standardised: Array) -> NDArray[np.intp]:
    """Return the bin of each standardised score."""
    place = standardised * (N_BINS / (2 * _REACH))
    place += N_BINS / 2
    np.maximum(place, 0, out=place)
    np.minimum(place, N_BINS - 1, out=place)
    return place.astype(np.intp)


def flip_log_likelihood(flips: Array, rates: Array) -> Array:
    """Return the log probability of the labels of checked rows, given their right ones."""
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

    def over_shapes(self, shaped: NDArray[np.intp], n_scores: int) -> Calibration:
        """Integrate shapes out: which of all scores and shapes these are, and how many scores."""
        n_shapes = len(priors.CURVE_SHAPES)
        evidence = np.full((n_scores, len(self.rates)), -np.inf)
        curves = np.zeros((n_scores, *self.curves.shape[1:]))
        of_score = shaped // n_shapes
        for m in np.unique(of_score):
            own = self.log_evidence[of_score == m]
            evidence[m] = log_sum(own, axis=0)
            share = np.exp(own - np.where(np.isfinite(evidence[m]), evidence[m], 0.0))
            share /= np.maximum(share.sum(axis=0), 1e-300)
            curves[m] = np.einsum("gr,grt->rt", share, self.curves[of_score == m])
        return replace(self, log_evidence=evidence - np.log(n_shapes), curves=curves)

    def probability(self, standardised: Sequence[Array], rate: int | None = None) -> Array:
        """Return clean probabilities from one standardised score array for each scorer."""
        chosen = slice(None) if rate is None else slice(rate, rate + 1)
        weight = self.weight[:, chosen]
        result = np.zeros(len(standardised[0]))
        for score, share, curve in zip(standardised, weight, self.curves, strict=True):
            if share.any():
                own = share @ curve[chosen]
                for start in range(0, len(result), _BLOCK_ROWS):
                    rows = slice(start, start + _BLOCK_ROWS)
                    result[rows] += TablePlaces.of(score[rows]).values(own)
        result /= weight.sum()
        return result

    def probabilities(self, standardised: Sequence[Array], rates: ArrayLike) -> Array:
        """Return clean probabilities given each of some rates, shape (len(rates), n).

        What `probability` gives for each of them, but each score is looked up once.
        """
        chosen = np.asarray(rates, dtype=np.intp)
        weight = self.weight[:, chosen]
        result = np.zeros((len(chosen), len(standardised[0])))
        for score, share, curve in zip(standardised, weight, self.curves, strict=True):
            if share.any():
                result += TablePlaces.of(score).values(share[:, None] * curve[chosen])
        return np.asarray(result / weight.sum(axis=0)[:, None])


@dataclass(frozen=True, eq=False)
class TablePlaces:
    """Where standardised scores lie in `TABLE`, to read curves there by linear interpolation.

    The table is evenly spaced, so that no search is needed: six times as fast as ``np.interp``.

    Attributes
    ----------
    below : ndarray of int, shape (n,)
        Last entry of the table at or below each score, the last but one at most.
    beyond : ndarray of shape (n,)
        How far it is beyond that entry, in steps of the table; scores outside it are at its ends.
    """

    below: NDArray[np.intp]
    beyond: Array

    @classmethod
    def of(cls, standardised: Array) -> TablePlaces:
        """Find scores in the table."""
        place = (standardised - TABLE[0]) / _TABLE_STEP
        np.maximum(place, 0.0, out=place)
        np.minimum(place, len(TABLE) - 1.0, out=place)
        below = place.astype(np.intp)
        np.minimum(below, len(TABLE) - 2, out=below)
        place -= below
        return cls(below, place)

    def values(self, curves: Array) -> Array:
        """Return curves of shape (..., 121) at the scores, shape (..., n)."""
        rise = np.diff(curves)
        found = np.take(rise, self.below, axis=-1)
        found *= self.beyond
        found += np.take(curves, self.below, axis=-1)
        return np.asarray(found)


def calibrate(
    bins: Sequence[ScoreBins], rates: ArrayLike, log_prior: ArrayLike | None = None
) -> Calibration:
    """Integrate shape, slope and offset out for each score and each rate."""
    stack = BinStack.from_bins(bins)
    modes = find_modes(stack, np.asarray(rates, dtype=float).reshape(-1, 2), log_prior)
    return integrate_modes(stack, modes).over_shapes(np.arange(len(stack)), len(bins))


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
    bins: BinStack,
    rates: ArrayLike,
    log_prior: ArrayLike | None = None,
    start: Array | None = None,
) -> Modes:
    """Find the mode of slope and offset for each shape of a score and each rate."""
    grid: Array = np.asarray(rates, dtype=float)
    shape = (len(bins), grid.shape[-2])
    uniform = np.full(shape[1], -np.log(shape[1]))
    prior = uniform if log_prior is None else np.asarray(log_prior, dtype=float)
    fits = bins.at(grid)
    begin = np.zeros((shape[0] * shape[1], 2)) if start is None else start.reshape(-1, 2)
    theta, value, curvature = fits.modes(begin, np.tile(prior, shape[0]))
    laplace = value + np.log(2 * np.pi) - 0.5 * log_det(curvature)
    return Modes(
        grid,
        prior,
        theta.reshape(*shape, 2),
        curvature.reshape(*shape, 2, 2),
        laplace.reshape(shape) + prior,
    )


def integrate_modes(
    bins: BinStack,
    modes: Modes,
    least: float | None = None,
    *,
    curves: bool = True,
) -> Calibration:
    """Integrate around modes; light pairs of score and rate are not integrated, but corrected."""
    laplace = modes.log_evidence.ravel()
    least = light_evidence(laplace) if least is None else least
    heavy = laplace >= min(least, laplace.max())
    kept = np.flatnonzero(heavy)
    theta, curvature = modes.theta.reshape(-1, 2), modes.curvature.reshape(-1, 2, 2)
    fits = bins.at(modes.rates)
    evidence = laplace - np.tile(modes.log_prior, len(bins))
    plain = evidence[kept]
    n_table = len(TABLE) if curves else 0
    found = np.empty((len(laplace), n_table))
    for chunk in np.array_split(kept, -(-len(kept) // _CHUNK)):
        part = fits.take(chunk)
        evidence[chunk], found[chunk] = part.integrate(
            theta[chunk], curvature[chunk], curves=curves
        )
    weight = np.exp(laplace[kept] - laplace.max())
    evidence[~heavy] += np.average(evidence[kept] - plain, weights=weight)
    own = np.repeat(bins.table[:, :n_table], modes.log_evidence.shape[1], axis=0)[~heavy]
    found[~heavy] = expit_inplace(np.exp(theta[~heavy, :1]) * own + theta[~heavy, 1:])
    shape = modes.log_evidence.shape
    return Calibration(
        modes.rates,
        evidence.reshape(shape) + modes.log_prior,
        found.reshape(*shape, n_table),
    )


def light_evidence(log_evidence: Array) -> float:
    """Return the log evidence below which pairs hold a small share of the mass together."""
    order = np.sort(log_evidence)[::-1]
    mass = np.cumsum(np.exp(order - order[0]))
    return float(order[int(np.searchsorted(mass, (1 - _LIGHT) * mass[-1]))])


@dataclass(frozen=True, eq=False)
class BinStack:
    """Counts of scores in their bins, side by side, once for each shape of the curve.

    Attributes
    ----------
    x : ndarray of shape (M, n)
        What the curve is logistic in, at each bin. Bins without rows add nothing: those with rows
        come first, as many as any score has.
    ones, zeros : ndarray of shape (M, n)
        Weight of positive and of negative labels, but for those of checked rows.
    table : ndarray of float32, shape (M, 121)
        The same as `x`, on the scores of `TABLE`.
    right_ones, right_zeros : ndarray of shape (M, n) or None
        Weight of the right labels that are known, if there are any.
    drawn : ndarray of shape (M, n) or None
        Weight of all labels, where one was drawn more often than the other.
    odds : float
        For how many rows a positive label stands, over the same of a negative one.
    """

    x: Array
    ones: Array
    zeros: Array
    table: NDArray[np.float32]
    right_ones: Array | None = None
    right_zeros: Array | None = None
    drawn: Array | None = None
    odds: float = 1.0

    @classmethod
    def from_bins(cls, bins: Sequence[ScoreBins]) -> BinStack:
        """Put the bins of several scores side by side."""
        shaped = [b.shaped() for b in bins]
        x = np.concatenate([at for at, _ in shaped])
        table = np.concatenate([on for _, on in shaped]).astype(np.float32)
        ones = np.stack([b.positive for b in bins])
        zeros = np.stack([b.negative for b in bins])
        columns, drawn = [ones, zeros], ones + zeros
        empty = drawn == 0
        if any(b.has_answers for b in bins):
            none = np.zeros((2, 2, ones.shape[1]))
            checked = np.stack([none if b.checked is None else b.checked for b in bins])
            clean = np.stack([none[0] if b.clean is None else b.clean for b in bins])
            # P(y | noisy y, s) divides by the probability of the label, so checked labels count
            # off.
            given, right = checked.sum(axis=1), checked.sum(axis=2) + clean
            columns = [ones - given[:, 1], zeros - given[:, 0]]
            if right.any():
                columns += [right[:, 1], right[:, 0]]
        most = max(1, int((~empty).sum(axis=1).max()))
        order = np.argsort(empty, axis=1, kind="stable")[:, :most]
        rows, each = np.arange(len(bins))[:, None], len(x) // len(bins)
        ones, zeros, *right = (np.repeat(c[rows, order], each, axis=0) for c in columns)
        own = np.repeat(order, each, axis=0)
        of_right = right or (None, None)
        stack = cls(np.take_along_axis(x, own, axis=1), ones, zeros, table, *of_right)
        negative, positive = bins[0].stands_for
        if positive == negative:
            return stack
        drawn = np.repeat(drawn[rows, order], each, axis=0)
        return replace(stack, drawn=drawn, odds=positive / negative)

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def total(self) -> Array:
        """Weight of the labels of each bin, but for those of checked rows."""
        return np.asarray(self.ones + self.zeros)

    def take(self, scores: NDArray[Any]) -> BinStack:
        """Return the bins of some of the scores."""
        names = ("x", "ones", "zeros", "table", "right_ones", "right_zeros", "drawn")
        parts = {name: getattr(self, name) for name in names}
        return replace(self, **{k: part[scores] for k, part in parts.items() if part is not None})

    def at(self, rates: Array) -> CurveFits:
        """Return the problems of each score at each of R rates, of shape (R, 2) or (M, R, 2)."""
        n_rates = rates.shape[-2]
        own = np.broadcast_to(rates, (len(self), n_rates, 2)).reshape(-1, 2)
        return CurveFits(self, np.repeat(np.arange(len(self)), n_rates), own)


class CurveFits:
    """A stack of P problems.

    Parameters
    ----------
    stack : BinStack
        Bins of M scores.
    score : ndarray of int, shape (P,)
        Which of these each problem is about.
    rates : ndarray of shape (P, 2)
        Its ``(rho_pos, rho_neg)``.
    """

    def __init__(self, stack: BinStack, score: NDArray[np.intp], rates: Array):
        self._stack, self._score, self.rates = stack, score, rates
        self._bins = stack.take(score)
        half = 0.5 * (1 - rates[:, 0] - rates[:, 1])
        # P(noisy) = middle + half * tanh(line / 2).
        self._half, self._middle = half[:, None], (rates[:, 1] + half)[:, None]

    def take(self, rows: NDArray[Any]) -> CurveFits:
        """Return some of the problems."""
        return CurveFits(self._stack, self._score[rows], self.rates[rows])

    def log_joint(self, theta: Array) -> Array:
        """Log likelihood plus log prior at theta = (log a, b) of shape (P, K, 2); shape (P, K)."""
        bins = self._bins
        noisy = 0.5 * np.exp(theta[..., :1]) * bins.x[:, None, :]
        noisy += 0.5 * theta[..., 1:]
        extra: Array | float = 0.0
        if bins.right_ones is not None and bins.right_zeros is not None:
            line = 2 * noisy
            log_eta = _log_expit(line)
            extra = _dot(log_eta, bins.right_ones) + _dot(log_eta - line, bins.right_zeros)
        np.tanh(noisy, out=noisy)
        noisy *= self._half[..., None]
        noisy += self._middle[..., None]
        _keep_inside(noisy)
        other = 1 - noisy
        if bins.drawn is not None:
            extra = extra - _dot(np.log(noisy + bins.odds * other), bins.drawn)
        np.log(noisy, out=noisy)
        np.log(other, out=other)
        likelihood = _dot(noisy, bins.ones) + _dot(other, bins.zeros)
        return np.asarray(likelihood + extra + _log_prior(theta))

    def modes(self, start: Array, log_prior: Array) -> tuple[Array, Array, Array]:
        """Return modes (P, 2), log densities (P,) and positive definite curvatures there.

        Modes that are behind by many nats, counting the prior of their rates, are found less
        exactly: they will not count.
        """
        theta = start.copy()
        value, gradient, curvature = self.terms(theta)
        active: NDArray[Any] = np.arange(len(theta))
        part = self
        for _ in range(_NEWTON_STEPS):
            step = _solve(curvature[active], gradient[active])
            height = value + log_prior
            enough = np.maximum(_NEWTON_TOLERANCE, _BEHIND * (height.max() - height[active]))
            going = np.einsum("ij,ij->i", gradient[active], step) > enough
            if not going.all():
                active, step = active[going], step[going]
                if not len(active):
                    break
                part = part.take(going)
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
        bins, slope = self._bins, np.exp(theta[:, 0])
        tanh = (0.5 * slope)[:, None] * bins.x
        tanh += 0.5 * theta[:, 1:]
        line = 2 * tanh if bins.right_ones is not None else None
        np.tanh(tanh, out=tanh)
        noisy = self._half * tanh
        noisy += self._middle
        _keep_inside(noisy)
        other = 1 - noisy
        value = self._sum(np.log(noisy), bins.ones) + self._sum(np.log(other), bins.zeros)
        # The derivative of P(noisy), and the same over its variance.
        spread = 0.25 - 0.25 * tanh * tanh
        change = (2 * self._half) * spread
        mixed = None if bins.drawn is None else noisy + bins.odds * other
        other *= noisy
        unit = change / other
        noisy *= bins.total
        residual = np.subtract(bins.ones, noisy, out=noisy)
        residual *= unit
        information = np.multiply(change, unit, out=unit)
        if mixed is None or bins.drawn is None:
            information *= bins.total
        else:  # P(noisy | drawn) = P(noisy) / mixed
            value -= self._sum(np.log(mixed), bins.drawn)
            residual -= (1 - bins.odds) * bins.drawn * change / mixed
            information *= bins.total + bins.drawn * (bins.odds / mixed**2 - 1)
        if bins.right_ones is not None and bins.right_zeros is not None and line is not None:
            # A right label tells more than a noisy one, so what was counted off is made up for.
            checked = bins.right_ones + bins.right_zeros
            value += (checked * _log_expit(line) - bins.right_zeros * line).sum(axis=1)
            residual += bins.right_ones - checked * (0.5 + 0.5 * tanh)
            information += checked * spread
        prior, prior_gradient, prior_curvature = _prior_terms(theta[:, 0], theta[:, 1], slope)
        gradient = self._powers(residual, 2)
        gradient[:, 0] *= slope
        gradient += prior_gradient
        curvature = np.empty((len(theta), 2, 2))
        by_power = self._powers(information, 3)
        curvature[:, 0, 0] = by_power[:, 2] * slope**2 + prior_curvature[:, 0]
        curvature[:, 1, 1] = by_power[:, 1] + prior_curvature[:, 1]
        curvature[:, 0, 1] = curvature[:, 1, 0] = by_power[:, 0] * slope
        return value + prior, gradient, curvature

    def _sum(self, values: Array, weight: Array) -> Array:
        """Sum over bins, weighted; shape (P,)."""
        return np.asarray(np.einsum("pn,pn->p", values, weight))

    def _powers(self, values: Array, n: int) -> Array:
        """Sum values times x, 1 and x squared over bins: the first n of these, shape (P, n)."""
        x = self._bins.x
        found = np.empty((len(values), n))
        np.einsum("pn,pn->p", values, x, out=found[:, 0])
        np.sum(values, axis=1, out=found[:, 1])
        if n == 3:
            values *= x
            np.einsum("pn,pn->p", values, x, out=found[:, 2])
        return found

    def integrate(
        self, mode: Array, curvature: Array, *, curves: bool = True
    ) -> tuple[Array, Array]:
        """Return log evidences (P,) and curves (P, 121) by a product rule around the modes.

        The curves are posterior means of the clean probability at the scores of `TABLE`, in
        float32: probabilities to seven digits will do, in half the time.
        """
        theta = mode[:, None, :] + _NODES @ np.swapaxes(_spread(curvature), 1, 2)
        joint = self.log_joint(theta)
        area = 2 * np.log(_STEP) - 0.5 * log_det(curvature)
        evidence = log_sum(joint, axis=1)
        if not curves:
            return evidence + area, np.empty((len(mode), 0))
        weight = np.exp(joint - evidence[:, None]).astype(np.float32)
        line = theta.astype(np.float32)
        eta = expit_inplace(np.exp(line[..., :1]) * self._bins.table[:, None] + line[..., 1:])
        found = weight[:, None] @ eta
        # Rounded to seven digits, weights may add up to a little more than one.
        return evidence + area, np.minimum(found[:, 0].astype(float), 1.0)


def log_sum(values: Array, axis: int | None = None) -> Array:
    """Return ``log(sum(exp(values)))``; scipy's took a quarter of the time of a calibration."""
    largest = values.max(axis=axis, keepdims=axis is not None)
    if not np.isfinite(largest).all():
        with np.errstate(divide="ignore"):
            largest = np.where(np.isfinite(largest), largest, 0.0)
            return np.asarray(_log_sum_above(values, largest, axis))
    return np.asarray(_log_sum_above(values, largest, axis))


def _log_sum_above(values: Array, largest: Any, axis: int | None) -> Any:
    total = np.log(np.exp(values - largest).sum(axis=axis))
    return total + (largest if axis is None else np.squeeze(largest, axis))


# numpy's exp, log and tanh take a vector at a time; scipy's expit, log_expit and log1p, exact to
# the last digit far out, took five to fifteen times as long and most of a fit. Probabilities are
# cut at 1e-12 anyhow, where what is lost is a ten-thousandth.
def expit_inplace(line: NDArray[Any]) -> NDArray[Any]:
    """Return the logistic function, by numpy's fast tanh; overwrites its argument."""
    line *= 0.5
    np.tanh(line, out=line)
    line += 1.0
    line *= 0.5
    return line


def log_det(matrix: Array) -> Array:
    """Return log determinants of symmetric positive definite 2 x 2 matrices."""
    return np.asarray(np.log(matrix[:, 0, 0] * matrix[:, 1, 1] - matrix[:, 0, 1] ** 2))


def _log_expit(line: Array) -> Array:
    return np.asarray(np.minimum(line, 0.0) - np.log(1 + np.exp(-np.abs(line))))


def _keep_inside(probability: Array) -> None:
    """Keep probabilities off 0 and 1."""
    np.maximum(probability, 1e-12, out=probability)
    np.minimum(probability, 1 - 1e-12, out=probability)


def _dot(values: Array, counts: Array) -> Array:
    """Sum values of shape (P, K, n) with weights of shape (P, n), or (1, n) for all."""
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


def _log_prior(theta: Array) -> Array:
    """Log density of (log a, b) for a half-Cauchy slope and a uniform share."""
    log_slope, offset = theta[..., 0], theta[..., 1]
    # The last term turns a density of a into one of log a; likewise for the share and b.
    slope = _LOG_HALF_CAUCHY - np.log(1 + np.exp(2 * log_slope)) + log_slope
    share = 2 * _log_expit(offset) - offset
    return np.asarray(slope + share)


def _prior_terms(log_slope: Array, offset: Array, slope: Array) -> tuple[Array, Array, Array]:
    """Return the log prior, its gradient (P, 2), and the diagonal of its curvature, floored."""
    squared = slope * slope
    log_share = _log_expit(offset)
    one_more = 1 + squared
    prior = _LOG_HALF_CAUCHY - np.log(one_more) + log_slope + 2 * log_share - offset
    shares = np.empty((len(slope), 2))
    np.divide(squared, one_more, out=shares[:, 0])
    np.exp(log_share, out=shares[:, 1])
    curvature = shares * (1 - shares)
    curvature *= _PRIOR_CURVATURE
    np.maximum(curvature, _SMALLEST_CURVATURE, out=curvature)
    return prior, 1 - 2 * shares, curvature
