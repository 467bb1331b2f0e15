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
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlog1py, xlogy

from flipcost.core.arrays import Array
from flipcost.core.curve_fit import BinStack, expit, log_det, log_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

N_BINS = 64
_REACH = 4.0  # scores beyond this many standard deviations share the outermost bins
# The curve of clean probability is tabulated on these standardised scores.
TABLE = np.linspace(-6.0, 6.0, 121)
_TABLE = TABLE.astype(np.float32)
_TABLE_STEP = 0.1
_BLOCK_ROWS = 16_384  # rows binned at a time, for the cache
_CHUNK = 8  # pairs integrated at a time, for the cache
# Share of the mass, by Laplace, whose (score, rate) pairs are not integrated.
_LIGHT = 0.03


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
        return cls.standardizing(scores, positive, sample_weight)[0]

    @classmethod
    def standardizing(
        cls,
        scores: Array,
        positive: ArrayLike,
        sample_weight: Array | None = None,
        out: Array | None = None,
    ) -> tuple[ScoreBins, Array]:
        """Return the same, and the scores in the units of the bins, in `out` if that is given."""
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

    def thinned(self, design: float) -> ScoreBins:
        """Return the bins of rows that count for so many times fewer, checked ones too."""
        fewer = self.tempered(1 / design)
        return fewer if self.checked is None else replace(fewer, checked=self.checked / design)

    @property
    def flips(self) -> Array:
        """Checked rows by right label and label, shape (2, 2)."""
        return np.zeros((2, 2)) if self.checked is None else np.asarray(self.checked.sum(axis=2))

    @property
    def noisy_share(self) -> float:
        """Share of positive labels."""
        return float(self.positive.sum() / (self.positive.sum() + self.negative.sum()))

    @property
    def rarer(self) -> float:
        """Rows of the rarer label."""
        return float(min(self.positive.sum(), self.negative.sum()))


def _place(standardised: Array) -> NDArray[np.intp]:
    """Return the bin of each standardised score."""
    place = standardised * (N_BINS / (2 * _REACH))
    place += N_BINS / 2
    np.maximum(place, 0, out=place)
    np.minimum(place, N_BINS - 1, out=place)
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

    Examples
    --------
    >>> places = TablePlaces.of(np.array([-9.0, 0.05, 6.0]))
    >>> print(places.values(TABLE).round(6))
    [-6.    0.05  6.  ]
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
    bins: Sequence[ScoreBins] | BinStack,
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
    fits = _stacked(bins).at(grid)
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
    bins: Sequence[ScoreBins] | BinStack,
    modes: Modes,
    least: float | None = None,
    *,
    curves: bool = True,
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
    curves : bool, default=True
        Whether curves are wanted; without, those of the result have no scores.

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
    fits = _stacked(bins).at(modes.rates)
    evidence = laplace - np.tile(modes.log_prior, len(bins))
    plain = evidence[kept]
    scores = _TABLE if curves else _TABLE[:0]
    found = np.empty((len(laplace), len(scores)))
    for chunk in np.array_split(kept, -(-len(kept) // _CHUNK)):
        part = fits.take(chunk)
        evidence[chunk], found[chunk] = part.integrate(theta[chunk], curvature[chunk], scores)
    weight = np.exp(laplace[kept] - laplace.max())
    evidence[~heavy] += np.average(evidence[kept] - plain, weights=weight)
    light = np.exp(theta[~heavy, :1]) * TABLE[: len(scores)] + theta[~heavy, 1:]
    found[~heavy] = expit(light)
    shape = modes.log_evidence.shape
    return Calibration(
        modes.rates,
        evidence.reshape(shape) + modes.log_prior,
        found.reshape(*shape, len(scores)),
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


def _stacked(bins: Sequence[ScoreBins] | BinStack) -> BinStack:
    return bins if isinstance(bins, BinStack) else BinStack.from_bins(bins)
