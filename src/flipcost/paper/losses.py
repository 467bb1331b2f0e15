r"""Losses with probability links, as losses of scores and of the rows of a linear model.

Conventions
-----------
``y > 0`` marks the positive class, so booleans and +1/-1 both work; ``f`` is the score; arrays
broadcast. The *minimizer* is the score of least expected loss where the positive class has
probability ``eta``; the *inverse link* leads from a score back to that probability. A *row loss*
maps scores of rows to values, slopes and curvatures. The logistic
loss of a positive row splits into an even and an odd part,

.. math::

    \log(1 + e^{-t}) = E(t) - t/2, \qquad E(t) = \log(2\cosh(t/2)),

and that of a negative row is :math:`E(t) + t/2`: labels act on the linear part only.

Newton's method
---------------
Linear models are fitted by damped Newton steps. With :math:`z = (x, 1)` and row weights that add up
to one, minimise

.. math::

    F(w) = \sum_i \omega_i\,\phi_i(w^\top z_i) + \lambda |w|^2 ,

the bias free of the penalty. A step solves
:math:`(Z^\top D Z + 2\lambda I)\,p = -\nabla F`, where :math:`D` holds the curvatures of the rows,
and is halved until :math:`F` falls enough (Armijo). A quadratic loss is solved by the first step.

Coefficients have shape ``(d + 1,)``, the bias last. A *row loss* maps scores ``(n,)`` to
`RowTerms`: what each row adds, and its first two derivatives in the score. Inside, features are
centred (dense ones) and scaled, which changes nothing but the rounding: the norm of the gradient
is that of the scaled problem, so that its tolerance does not depend on units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from scipy.special import expit, log_expit

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, RowCosts, cost_share
from flipcost.core.noise import NoiseRateLike, clean_eta, rate_pair

# A Hessian of this many features takes 800 MB, and its factorisation minutes.
MAX_FEATURES = 10_000
# Rows are weighed in blocks of about this many bytes, to stay in the cache and off the heap.
_BLOCK_BYTES = 2_000_000
# Below this ratio of squared pivots the Hessian has lost a direction to rounding.
_LOST = 1e-13
_MOST_STEPS = 200
# A gradient within tolerance while a step still moves some score by this much is a flat slope
# towards infinity, not a minimum.
_FLAT = 0.1


@dataclass(frozen=True)
class RowTerms:
    """What rows add to the objective, and the derivatives of that in their scores.

    Parameters
    ----------
    value, slope, curvature : ndarray of shape (n,)
        The loss of each row with its first and second derivative.
    safe : ndarray of shape (n,), optional
        Non-negative curvatures to step with where the true ones leave no minimum.
    """

    value: Array
    slope: Array
    curvature: Array
    safe: Array | None = None


RowLoss: TypeAlias = Callable[["Array"], RowTerms]


@dataclass(frozen=True)
class LinearFit:
    """Coefficients and how far the steps got.

    Attributes
    ----------
    coefficients : ndarray of shape (d + 1,)
        The bias is last.
    objective : float
        Mean loss and penalty.
    gradient_norm : float
        Euclidean norm of the gradient of the scaled problem.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the gradient is within the tolerance.
    bounded : bool
        False when scores run off to infinity: there is no minimum, as with logistic loss without a
        penalty on classes that a hyperplane separates.
    """

    coefficients: Array
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool
    bounded: bool


@dataclass(frozen=True)
class _Point:
    """Scaled coefficients, their scores, and what the rows and the objective are there."""

    v: Array
    f: Array
    terms: RowTerms
    objective: float


class Design:
    """Rows made ready for many fits: checked, centred, scaled, weights normalised.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows. A scaled copy is kept; sparse rows stay sparse, and are scaled but not centred.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. The loss is averaged with them.

    Examples
    --------
    >>> from flipcost.paper.losses import logistic
    >>> X = np.array([[-1.0], [0.0], [0.5], [2.0]])
    >>> fit = Design(X).minimize(logistic.rows([False, True, False, True]), l2=0.1)
    >>> fit.coefficients.round(4), fit.converged
    (array([ 0.6636, -0.2393]), True)
    """

    def __init__(self, X: Any, sample_weight: ArrayLike | None = None) -> None:
        n, d = X.shape
        if d > MAX_FEATURES:
            msg = (
                f"Newton steps take at most {MAX_FEATURES} features; got {d}. Choose or project "
                "features first, or use an estimator made for wide data."
            )
            raise ValueError(msg)
        self.omega = _normalised(sample_weight, n)
        self.n_features = d
        if sparse.issparse(X):
            rows = sparse.csr_array(X, dtype=float)
            self._mean = np.zeros(d)
            self._scale = _spread(np.sqrt(self.omega @ rows.multiply(rows)), self._mean)
            scaled = rows @ sparse.diags_array(1 / self._scale)
            self._rows: Any = sparse.hstack([scaled, np.ones((n, 1))], format="csr")
        else:
            dense = np.asarray(X, dtype=float)
            self._mean = self.omega @ dense
            self._rows = np.empty((n, d + 1))
            np.subtract(dense, self._mean, out=self._rows[:, :d])
            variance = np.einsum("i,ij,ij->j", self.omega, self._rows[:, :d], self._rows[:, :d])
            self._scale = _spread(np.sqrt(variance), self._mean)
            self._rows[:, :d] /= self._scale
            self._rows[:, d] = 1.0

    def scores(self, coefficients: Array) -> Array:
        """Return the scores of the rows."""
        return np.asarray(self._rows @ self._to_scaled(coefficients))

    def minimize(
        self,
        rows: RowLoss,
        l2: float,
        *,
        start: Array | None = None,
        tol: float = 1e-8,
    ) -> LinearFit:
        """Minimise the weighted mean of a row loss plus ``l2`` times the squared weights.

        Steps begin at ``start``, or at zero, and end when the norm of the gradient is at most
        ``tol``, or after 200.
        """
        # The squared norm of the weights as a quadratic form in the scaled ones.
        penalty = 2 * l2 * np.diag(np.append(self._scale**-2.0, 0.0))
        v = np.zeros(self.n_features + 1) if start is None else self._to_scaled(start)
        here = self._point(rows, penalty, v, np.asarray(self._rows @ v))
        flat, n_iter, bounded = 0, 0, True
        while True:
            slope = self.omega * here.terms.slope
            gradient = np.asarray(self._rows.T @ slope) + penalty @ here.v
            norm = float(np.linalg.norm(gradient))
            if n_iter == _MOST_STEPS:
                break
            step = -self._newton(here.terms, penalty, gradient)
            df = np.asarray(self._rows @ step)
            if norm <= tol:
                if not np.max(np.abs(df[self.omega > 0]), initial=0.0) > _FLAT:
                    break
                flat += 1
                if flat == 3 and not l2 > 0:
                    bounded = False
                    break
            there = self._line_search(rows, penalty, here, (step, df), float(gradient @ step))
            if there is None:  # rounding is all that is left to gain
                break
            here = there
            n_iter += 1
        found = self._from_scaled(here.v)
        return LinearFit(found, here.objective, norm, n_iter, norm <= tol, bounded)

    def _point(self, rows: RowLoss, penalty: Array, v: Array, f: Array) -> _Point:
        terms = rows(f)
        return _Point(v, f, terms, float(self.omega @ terms.value + 0.5 * v @ penalty @ v))

    def _line_search(
        self,
        rows: RowLoss,
        penalty: Array,
        here: _Point,
        direction: tuple[Array, Array],
        descent: float,
    ) -> _Point | None:
        """Halve the step until the objective falls enough; None when it never does."""
        step, df = direction
        slack = 8 * np.finfo(float).eps * abs(here.objective)
        length = 1.0
        for _ in range(60):
            there = self._point(rows, penalty, here.v + length * step, here.f + length * df)
            if there.objective <= here.objective + 1e-4 * length * descent + slack:
                return there
            length /= 2
        return None

    def _newton(self, terms: RowTerms, penalty: Array, gradient: Array) -> Array:
        """Return the Newton direction, or the nearest thing that leads downhill."""
        hessian = self._gram(terms.curvature) + penalty
        solved = _solve_positive(hessian, gradient)
        if solved is None and terms.safe is not None:
            hessian = self._gram(terms.safe) + penalty
            solved = _solve_positive(hessian, gradient)
        return _solve_semidefinite(hessian, gradient) if solved is None else solved

    def _gram(self, curvature: Array) -> Array:
        weight = self.omega * curvature
        if sparse.issparse(self._rows):
            return np.asarray((self._rows.T @ self._rows.multiply(weight[:, None])).toarray())
        width = self.n_features + 1
        block = max(1, _BLOCK_BYTES // (8 * width))
        total = np.zeros((width, width))
        # A product of an array with its own transpose takes half the work.
        convex = bool(weight.min() >= 0)
        factor = np.sqrt(weight) if convex else weight
        for first in range(0, len(weight), block):
            part = self._rows[first : first + block]
            scaled = part * factor[first : first + block, None]
            total += scaled.T @ (scaled if convex else part)
        return total

    def _to_scaled(self, coefficients: Array) -> Array:
        w, b = coefficients[:-1], coefficients[-1]
        return np.append(w * self._scale, b + w @ self._mean)

    def _from_scaled(self, v: Array) -> Array:
        w = v[:-1] / self._scale
        return np.append(w, v[-1] - w @ self._mean)


def _normalised(sample_weight: ArrayLike | None, n: int) -> Array:
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weight = np.asarray(sample_weight, dtype=float)
    return np.asarray(weight / weight.sum())


def _spread(scale: Array, mean: Array) -> Array:
    """Return scales with 1 for columns that are constant but for rounding."""
    constant = scale <= 10 * np.finfo(float).eps * np.abs(mean)
    return np.where(constant, 1.0, scale)


def _solve_positive(hessian: Array, gradient: Array) -> Array | None:
    """Solve by Cholesky; None when the matrix is not safely positive definite."""
    factor, info = linalg.lapack.dpotrf(hessian, lower=1)
    if info != 0:
        return None
    pivots = np.diagonal(factor) ** 2
    if not pivots.min() > _LOST * pivots.max():
        return None
    return np.asarray(linalg.cho_solve((factor, True), gradient))


def _solve_semidefinite(hessian: Array, gradient: Array) -> Array:
    """Return the shortest solution, leaving out directions that have no curvature."""
    values, vectors = linalg.eigh(hessian)
    kept = values > max(_LOST * values[-1], np.finfo(float).tiny)
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ gradient) / values[kept]))


Curve: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True)
class MarginLoss:
    """A loss of the margin ``y f``: its curve with both derivatives, and its link."""

    curve: Curve
    slope: Curve
    curvature: Curve
    best: Curve
    probability: Curve

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        return np.asarray(self.curve(_sign(y) * np.asarray(f, dtype=float)))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""
        sign = _sign(y)
        return np.asarray(sign * self.slope(sign * np.asarray(f, dtype=float)))

    def minimizer(self, eta: ArrayLike) -> Array:
        """Score of least expected loss where the positive class has probability ``eta``."""
        return np.asarray(self.best(np.asarray(eta, dtype=float)))

    def inverse_link(self, f: ArrayLike) -> Array:
        """Probability of the positive class at the score ``f``, in [0, 1]."""
        return np.asarray(self.probability(np.asarray(f, dtype=float)))

    def rows(self, positive: ArrayLike) -> RowLoss:
        """Return the row loss of labels."""
        sign = _sign(positive)

        def rows(f: Array) -> RowTerms:
            margin = sign * f
            # A step too long overflows the exponential loss: the line search refuses infinity.
            with np.errstate(over="ignore"):
                value, slope = self.curve(margin), sign * self.slope(margin)
                return RowTerms(value, slope, self.curvature(margin))

        return rows


def _sign(y: ArrayLike) -> Array:
    """Return labels as +1 and -1."""
    return np.where(np.asarray(y) > 0, 1.0, -1.0)


def _log_odds(eta: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(eta) - np.log1p(-eta))


# log(1 + exp(-y f)), strongly proper with modulus 4
logistic = MarginLoss(
    curve=lambda m: np.logaddexp(0.0, -m),
    slope=lambda m: -expit(-m),
    curvature=lambda m: expit(m) * expit(-m),
    best=_log_odds,
    probability=expit,
)
# exp(-y f), whose score is half the log-odds
exponential = MarginLoss(
    curve=lambda m: np.exp(-m),
    slope=lambda m: -np.exp(-m),
    curvature=lambda m: np.exp(-m),
    best=lambda eta: _log_odds(eta) / 2,
    probability=lambda f: expit(2 * f),
)
# (1 - y f)^2, whose score estimates 2 eta - 1
squared = MarginLoss(
    curve=lambda m: (1 - m) ** 2,
    slope=lambda m: -2 * (1 - m),
    curvature=lambda m: np.full(m.shape, 2.0),
    best=lambda eta: 2 * eta - 1,
    probability=lambda f: (1 + np.clip(f, -1.0, 1.0)) / 2,
)
# max(0, 1 - y f)^2: the paper prints it without the square, which is the hinge and has no link.
modified_squared = replace(
    squared,
    curve=lambda m: np.maximum(0.0, 1 - m) ** 2,
    slope=lambda m: -2 * np.maximum(0.0, 1 - m),
    curvature=lambda m: np.where(m < 1, 2.0, 0.0),
)
# 1 - y f: linear and unbounded below, to be used with a penalty. Its best score within [-1, 1] is
# the side of one half that eta is on, which is all that the score keeps of it.
unhinged = MarginLoss(
    curve=lambda m: 1 - m,
    slope=lambda m: np.full(m.shape, -1.0),
    curvature=np.zeros_like,
    best=lambda eta: np.where(eta > 0.5, 1.0, -1.0),
    probability=lambda f: (1 + np.sign(f)) / 2,
)
LinkLoss: TypeAlias = Literal["logistic", "squared", "modified_squared", "exponential"]
LINK_LOSSES: dict[LinkLoss, MarginLoss] = {
    "logistic": logistic,
    "squared": squared,
    "modified_squared": modified_squared,
    "exponential": exponential,
}


def even_odd_rows(even: ArrayLike, odd: ArrayLike) -> RowLoss:
    r"""Return the row loss :math:`k_i E(t) + c_i t` with :math:`E(t) = \log(2\cosh(t/2))`."""
    k, c = np.asarray(even, dtype=float), np.asarray(odd, dtype=float)

    def rows(f: Array) -> RowTerms:
        value = k * np.logaddexp(f / 2, -f / 2) + c * f
        slope = k * np.tanh(f / 2) / 2 + c
        return RowTerms(value, slope, k * expit(f) * expit(-f))

    return rows


def above_rows(rows: RowLoss, cut: ArrayLike) -> RowLoss:
    r"""Return a row loss of scores above a cut of each row: the loss at :math:`t_i - c_i`.

    With the log-odds of a row's own threshold as its cut, scores are log-odds of a probability, and
    a loss that weighs rows by their own prices asks for the same scores as one price would.
    """
    cuts = np.asarray(cut, dtype=float)
    return lambda f: rows(f - cuts)


def weighted_logistic_rows(
    positive: ArrayLike, threshold: ArrayLike, size: ArrayLike = 1.0
) -> RowLoss:
    """Return logistic loss with rows weighed so that a zero score means ``eta = threshold``.

    Positive rows weigh ``1 - threshold`` and negative ones ``threshold``, times `size`; both may
    differ by row.
    """
    labels, cut = np.asarray(positive, dtype=bool), np.asarray(threshold, dtype=float)
    weight = np.asarray(size) * np.where(labels, 1 - cut, cut)
    return even_odd_rows(weight, np.where(labels, -0.5, 0.5) * weight)


def weighted_logistic_eta(f: ArrayLike, threshold: float) -> Array:
    """Return the probability at a score of `weighted_logistic_rows`."""
    offset = np.log(threshold) - np.log1p(-threshold)
    return np.asarray(expit(np.asarray(f, dtype=float) + offset))


def unbiased_coefficients(
    positive: ArrayLike, cost: CostLike | RowCosts, noise_rate: NoiseRateLike
) -> tuple[Array, Array]:
    r"""Return the even and odd coefficients of the unbiased estimate of weighted logistic loss.

    The loss of a clean row is :math:`(1-\alpha)` times logistic loss when positive and
    :math:`\alpha` times when negative. Its unbiased estimate from a noisy label is

    .. math::

        \tilde\ell(t, \tilde y) = \bigl[(1-\rho_{-\tilde y})\,\ell_\alpha(t, \tilde y)
        - \rho_{\tilde y}\,\ell_\alpha(t, -\tilde y)\bigr] / (1-\rho_+-\rho_-),

    which with :math:`k = 1-\rho_+-\rho_-` and the split into even and odd parts has

    ======== ==================================================== ======================================================
    label    even coefficient                                     odd coefficient
    ======== ==================================================== ======================================================
    positive :math:`((1-\rho_-)(1-\alpha)-\rho_+\alpha)/k`        :math:`-((1-\rho_-)(1-\alpha)+\rho_+\alpha)/2k`
    negative :math:`((1-\rho_+)\alpha-\rho_-(1-\alpha))/k`        :math:`((1-\rho_+)\alpha+\rho_-(1-\alpha))/2k`
    ======== ==================================================== ======================================================

    With prices by row, what a miss on the row costs stands in place of :math:`1-\alpha`, and what a
    false alarm costs in place of :math:`\alpha`.
    """  # noqa: E501
    labels = np.asarray(positive, dtype=bool)
    miss, alarm = _both(cost)
    rho_pos, rho_neg = rate_pair(noise_rate)
    kept = 1 - rho_pos - rho_neg
    own = np.where(labels, (1 - rho_neg) * miss, (1 - rho_pos) * alarm)
    other = np.where(labels, rho_pos * alarm, rho_neg * miss)
    sign = np.where(labels, 1.0, -1.0)
    return (own - other) / kept, -sign * (own + other) / (2 * kept)


def _both(cost: CostLike | RowCosts) -> tuple[Array | float, Array | float]:
    """Return what a miss costs, and what a false alarm does."""
    if isinstance(cost, RowCosts):
        return np.maximum(cost.miss, 0.0), np.maximum(cost.alarm, 0.0)
    alpha = cost_share(cost)
    return 1 - alpha, alpha


def convex_costs(noise_rate: NoiseRateLike) -> tuple[float, float]:
    r"""Return the costs between which the unbiased loss is convex row by row.

    Both even coefficients of `unbiased_coefficients` are non-negative if and only if
    :math:`\rho_-/(1-\rho_++\rho_-) \le \alpha \le (1-\rho_-)/(1-\rho_-+\rho_+)`, which for
    symmetric noise is :math:`\rho \le \alpha \le 1-\rho`.
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    return rho_neg / (1 - rho_pos + rho_neg), (1 - rho_neg) / (1 - rho_neg + rho_pos)


def expected_even_coefficients(
    noisy_eta: ArrayLike, cost: CostLike | RowCosts, noise_rate: NoiseRateLike
) -> Array:
    r"""Return the conditional mean of the even coefficients given the features.

    The mean of the even coefficient over noisy labels is
    :math:`(1-\alpha)\eta + \alpha(1-\eta)`, which is positive whatever the noise: it takes the
    place of coefficients of either sign where the unbiased loss is not convex.
    """
    miss, alarm = _both(cost)
    eta = clean_eta(noisy_eta, noise_rate)
    return np.asarray(miss * eta + alarm * (1 - eta))


def forward_rows(positive: ArrayLike, noise_rate: NoiseRateLike) -> RowLoss:
    r"""Return the negative log-likelihood of noisy labels when clean ones follow a logistic model.

    A positive label has probability :math:`\rho_- + k\,\sigma(t)` and a negative one
    :math:`\rho_+ + k\,\sigma(-t)`, with :math:`k = 1-\rho_+-\rho_-`. The loss is not convex, and
    has the expected (Fisher) curvature as its safe one.
    """
    labels = np.asarray(positive, dtype=bool)
    sign = np.where(labels, 1.0, -1.0)
    rho_pos, rho_neg = rate_pair(noise_rate)
    log_kept = np.log(1 - rho_pos - rho_neg)
    with np.errstate(divide="ignore"):
        log_pos, log_neg = np.log(rho_pos), np.log(rho_neg)

    def rows(f: Array) -> RowTerms:
        # Logarithms throughout: without noise, likelihoods of far rows underflow.
        up, down = log_expit(f), log_expit(-f)
        log_p, log_q = np.logaddexp(log_neg, log_kept + up), np.logaddexp(log_pos, log_kept + down)
        moved = log_kept + up + down
        rise, fall = np.exp(moved - log_p), np.exp(moved - log_q)
        own = np.where(labels, rise, fall)
        value = -np.where(labels, log_p, log_q)
        curvature = own**2 - sign * own * (1 - 2 * expit(f))
        return RowTerms(value, -sign * own, curvature, rise * fall)

    return rows


def forward_rate_slope(positive: ArrayLike, f: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return the derivatives of each row's `forward_rows` in ``rho_pos`` and ``rho_neg``."""
    labels = np.asarray(positive, dtype=bool)
    sign = np.where(labels, 1.0, -1.0)
    score = np.asarray(f, dtype=float)
    rho_pos, rho_neg = rate_pair(noise_rate)
    kept = 1 - rho_pos - rho_neg
    up, down = expit(score), expit(-score)
    likelihood = np.where(labels, rho_neg + kept * up, rho_pos + kept * down)
    likelihood = np.maximum(likelihood, np.finfo(float).tiny)
    return np.asarray(np.stack([sign * up, -sign * down]) / likelihood)
