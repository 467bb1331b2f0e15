r"""A stack of small posteriors: the slope and the offset of a logistic curve through noisy counts.

Each problem of a stack has counts in bins of a score, and a pair of noise rates; its unknowns are
:math:`\theta = (\log a, b)` of `flipcost.core.calibration`, which says what the model is. All of
them are solved, or integrated, at once. Problems of one score share its bins, and their sums over
bins are then products of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.arrays import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.core.calibration import ScoreBins

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
class BinStack:
    """Counts of M scores in their bins, side by side; what several stacks of problems share.

    Attributes
    ----------
    x : ndarray of shape (M, n)
        Mean standardised score of each bin. Bins without rows add nothing: those with rows come
        first, as many as any score has.
    ones, zeros : ndarray of shape (M, n)
        Weight of positive and of negative labels, but for those of checked rows.
    right_ones, right_zeros : ndarray of shape (M, n) or None
        Weight of the right labels of checked rows, if there are any.

    Examples
    --------
    >>> from flipcost.core.calibration import ScoreBins
    >>> bins = ScoreBins.from_scores(np.array([-1.0, 0.0, 1.0, 2.0]), [0, 0, 1, 1])
    >>> BinStack.from_bins([bins, bins]).ones
    array([[0., 0., 1., 1.],
           [0., 0., 1., 1.]])
    """

    x: Array
    ones: Array
    zeros: Array
    right_ones: Array | None = None
    right_zeros: Array | None = None

    @classmethod
    def from_bins(cls, bins: Sequence[ScoreBins]) -> BinStack:
        """Put the bins of several scores side by side."""
        x = np.stack([b.centre for b in bins])
        ones = np.stack([b.positive for b in bins])
        zeros = np.stack([b.negative for b in bins])
        columns = [x, ones, zeros]
        empty = ones + zeros == 0
        if any(b.checked is not None for b in bins):
            none = np.zeros((2, 2, x.shape[1]))
            checked = np.stack([none if b.checked is None else b.checked for b in bins])
            # P(y | noisy y, s) divides by the probability of the label, so checked labels count
            # off.
            given, right = checked.sum(axis=1), checked.sum(axis=2)
            columns[1:] = [ones - given[:, 1], zeros - given[:, 0]]
            if checked.any():
                columns += [right[:, 1], right[:, 0]]
        most = max(1, int((~empty).sum(axis=1).max()))
        order = np.argsort(empty, axis=1, kind="stable")[:, :most]
        rows = np.arange(len(x))[:, None]
        return cls(*(column[rows, order] for column in columns))

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def total(self) -> Array:
        """Weight of the labels of each bin, but for those of checked rows."""
        return np.asarray(self.ones + self.zeros)

    @cached_property
    def powers(self) -> Array:
        """Columns x, 1 and x squared of the first score, shape (n, 3)."""
        powers = np.ones((self.x.shape[1], 3))
        powers[:, 0] = self.x[0]
        powers[:, 2] = self.x[0] ** 2
        return powers

    def take(self, scores: NDArray[Any]) -> BinStack:
        """Return the bins of some of the scores."""
        parts = (self.x, self.ones, self.zeros, self.right_ones, self.right_zeros)
        return BinStack(*(None if part is None else part[scores] for part in parts))  # type: ignore[arg-type]

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

    Examples
    --------
    >>> from flipcost.core.calibration import ScoreBins
    >>> bins = ScoreBins.from_scores(np.array([-1.0, 0.0, 1.0, 2.0]), [0, 0, 1, 1])
    >>> fits = BinStack.from_bins([bins]).at(np.array([[0.1, 0.1], [0.2, 0.2]]))
    >>> theta, value, curvature = fits.modes(np.zeros((2, 2)), np.zeros(2))
    >>> theta.shape, value.shape, curvature.shape
    ((2, 2), (2,), (2, 2, 2))
    """

    def __init__(self, stack: BinStack, score: NDArray[np.intp], rates: Array):
        self._stack, self._score, self.rates = stack, score, rates
        # A single score's bins are shared by all problems: no copies, and products of matrices.
        self._shared = len(stack) == 1
        self._bins = stack if self._shared else stack.take(score)
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
        other *= noisy
        unit = change / other
        noisy *= bins.total
        residual = np.subtract(bins.ones, noisy, out=noisy)
        residual *= unit
        information = np.multiply(change, unit, out=unit)
        information *= bins.total
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
        if self._shared:
            return np.asarray(values @ weight[0])
        return np.asarray(np.einsum("pn,pn->p", values, weight))

    def _powers(self, values: Array, n: int) -> Array:
        """Sum values times x, 1 and x squared over bins: the first n of these, shape (P, n)."""
        if self._shared:
            return np.asarray(values @ self._bins.powers[:, :n])
        x = self._bins.x
        found = np.empty((len(values), n))
        np.einsum("pn,pn->p", values, x, out=found[:, 0])
        np.sum(values, axis=1, out=found[:, 1])
        if n == 3:
            values *= x
            np.einsum("pn,pn->p", values, x, out=found[:, 2])
        return found

    def integrate(
        self, mode: Array, curvature: Array, table: NDArray[np.float32]
    ) -> tuple[Array, Array]:
        """Return log evidences (P,) and curves (P, len(table)) by a product rule around the modes.

        The curves are posterior means of the clean probability at the scores of a table, which is
        of float32: probabilities to seven digits will do, in half the time. A table without scores
        leaves the curves out.
        """
        theta = mode[:, None, :] + _NODES @ np.swapaxes(_spread(curvature), 1, 2)
        joint = self.log_joint(theta)
        area = 2 * np.log(_STEP) - 0.5 * log_det(curvature)
        evidence = log_sum(joint, axis=1)
        if not len(table):
            return evidence + area, np.empty((len(mode), 0))
        weight = np.exp(joint - evidence[:, None]).astype(np.float32)
        line = theta.astype(np.float32)
        eta = expit(np.exp(line[..., :1]) * table + line[..., 1:])
        curves = weight[:, None] @ eta
        # Rounded to seven digits, weights may add up to a little more than one.
        return evidence + area, np.minimum(curves[:, 0].astype(float), 1.0)


def log_sum(values: Array, axis: int | None = None) -> Array:
    """Return ``log(sum(exp(values)))``; scipy's took a quarter of the time of a calibration.

    Examples
    --------
    >>> print(log_sum(np.log([1.0, 2.0, 3.0])).round(6) == np.log(6.0).round(6))
    True
    """
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
def expit(line: NDArray[Any]) -> NDArray[Any]:
    """Return the logistic function, by numpy's fast tanh; overwrites its argument.

    Examples
    --------
    >>> expit(np.array([0.0]))
    array([0.5])
    """
    line *= 0.5
    np.tanh(line, out=line)
    line += 1.0
    line *= 0.5
    return line


def log_det(matrix: Array) -> Array:
    """Return log determinants of symmetric positive definite 2 x 2 matrices.

    Examples
    --------
    >>> log_det(np.eye(2)[None])
    array([0.])
    """
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
