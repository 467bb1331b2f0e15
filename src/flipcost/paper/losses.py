r"""Losses with probability links, and what the rows of a linear model lose by them.

Conventions
-----------
``y > 0`` marks the positive class, so booleans and +1/-1 both work; ``f`` is the score; arrays
broadcast. The *minimizer* is the score of least expected loss where the positive class has
probability ``eta``; the *inverse link* leads from a score back to that probability. A *row loss*
(see `flipcost.paper.newton`) maps scores of rows to values, slopes and curvatures. The logistic
loss of a positive row splits into an even and an odd part,

.. math::

    \log(1 + e^{-t}) = E(t) - t/2, \qquad E(t) = \log(2\cosh(t/2)),

and that of a negative row is :math:`E(t) + t/2`: labels act on the linear part only.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, RowCosts, cost_share
from flipcost.core.losses import Loss
from flipcost.core.noise import NoiseRateLike, clean_eta, rate_pair
from flipcost.paper.newton import RowLoss, RowTerms


class CompositeLoss(Loss, Protocol):
    """A loss whose minimizer can be inverted to a probability."""

    def minimizer(self, eta: ArrayLike) -> Array:
        """Score of least expected loss where the positive class has probability ``eta``."""

    def inverse_link(self, f: ArrayLike) -> Array:
        """Probability of the positive class that the score ``f`` stands for, in [0, 1]."""


def _signed(y: ArrayLike, f: ArrayLike) -> tuple[Array, Array]:
    """Return labels as +1/-1 and the margin y f."""
    sign = np.where(np.asarray(y) > 0, 1.0, -1.0)
    return sign, sign * np.asarray(f, dtype=float)


class _Logistic:
    """Logistic loss ``log(1 + exp(-y f))``; strongly proper with modulus 4."""

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        return np.logaddexp(0.0, -_signed(y, f)[1])

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""
        sign, margin = _signed(y, f)
        return np.asarray(-sign * expit(-margin))

    def minimizer(self, eta: ArrayLike) -> Array:
        """Log-odds of ``eta``."""
        p = np.asarray(eta, dtype=float)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p) - np.log1p(-p))

    def inverse_link(self, f: ArrayLike) -> Array:
        """Probability of the positive class that the score ``f`` stands for."""
        return np.asarray(expit(np.asarray(f, dtype=float)))


class _Exponential:
    """Exponential loss ``exp(-y f)``; its score is half the log-odds."""

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        return np.exp(-_signed(y, f)[1])

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""
        sign, margin = _signed(y, f)
        return np.asarray(-sign * np.exp(-margin))

    def minimizer(self, eta: ArrayLike) -> Array:
        """Half the log-odds of ``eta``."""
        return logistic.minimizer(eta) / 2

    def inverse_link(self, f: ArrayLike) -> Array:
        """Probability of the positive class that the score ``f`` stands for."""
        return np.asarray(expit(2 * np.asarray(f, dtype=float)))


class _Squared:
    """Squared loss ``(1 - y f)^2``; its score estimates ``2 eta - 1``."""

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        return np.asarray((1 - _signed(y, f)[1]) ** 2)

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""
        sign, margin = _signed(y, f)
        return np.asarray(-2 * sign * (1 - margin))

    def minimizer(self, eta: ArrayLike) -> Array:
        """Return ``2 eta - 1``."""
        return np.asarray(2 * np.asarray(eta, dtype=float) - 1)

    def inverse_link(self, f: ArrayLike) -> Array:
        """Probability that a score stands for, the score clipped to [-1, 1]."""
        return np.asarray((1 + np.clip(np.asarray(f, dtype=float), -1.0, 1.0)) / 2)


class _ModifiedSquared(_Squared):
    """Squared hinge ``max(0, 1 - y f)^2``, the modified squared loss with its square.

    The paper prints it without the square, which is the hinge and has no probability link.
    """

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        return np.asarray(np.maximum(0.0, 1 - _signed(y, f)[1]) ** 2)

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""
        sign, margin = _signed(y, f)
        return np.asarray(-2 * sign * np.maximum(0.0, 1 - margin))


class _Unhinged:
    """Unhinged loss ``1 - y f``: linear, symmetric, unbounded below; use it with a penalty."""

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        return np.asarray(1 - _signed(y, f)[1])

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""
        return np.asarray(-_signed(y, f)[0])

    def minimizer(self, eta: ArrayLike) -> Array:
        """Side of one half that ``eta`` is on, +1 or -1: the best score within [-1, 1]."""
        return np.where(np.asarray(eta, dtype=float) > 0.5, 1.0, -1.0)

    def inverse_link(self, f: ArrayLike) -> Array:
        """Return the only trace of ``eta`` that the score keeps: 0, 1/2 or 1 by its sign."""
        return np.asarray((1 + np.sign(np.asarray(f, dtype=float))) / 2)


logistic = _Logistic()
exponential = _Exponential()
squared = _Squared()
modified_squared = _ModifiedSquared()
unhinged = _Unhinged()

LinkLoss: TypeAlias = Literal["logistic", "squared", "modified_squared", "exponential"]
LINK_LOSSES: dict[LinkLoss, CompositeLoss] = {
    "logistic": logistic,
    "squared": squared,
    "modified_squared": modified_squared,
    "exponential": exponential,
}


def link_rows(name: LinkLoss, positive: ArrayLike) -> RowLoss:
    """Return the row loss of a proper composite loss.

    Parameters
    ----------
    name : {"logistic", "squared", "modified_squared", "exponential"}
        The loss; see `flipcost.core.losses`.
    positive : array-like of bool, shape (n,)
        Which rows are positive.

    Returns
    -------
    callable

    Examples
    --------
    >>> terms = link_rows("logistic", [True, False])(np.zeros(2))
    >>> terms.slope, terms.curvature
    (array([-0.5,  0.5]), array([0.25, 0.25]))
    """
    labels = np.asarray(positive, dtype=bool)
    loss = LINK_LOSSES[name]

    def rows(f: Array) -> RowTerms:
        # A step too long overflows the exponential loss: the line search refuses infinity.
        with np.errstate(over="ignore"):
            value = loss.value(labels, f)
            slope = loss.derivative(labels, f)
        if name == "logistic":
            curvature = expit(f) * expit(-f)
        elif name == "exponential":
            curvature = value
        elif name == "squared":
            curvature = np.full(f.shape, 2.0)
        else:
            curvature = np.where(slope == 0, 0.0, 2.0)
        return RowTerms(value, slope, curvature)

    return rows


def even_odd_rows(even: ArrayLike, odd: ArrayLike) -> RowLoss:
    r"""Return the row loss :math:`k_i E(t) + c_i t` with :math:`E(t) = \log(2\cosh(t/2))`.

    Parameters
    ----------
    even, odd : array-like of shape (n,)
        The coefficients :math:`k_i` and :math:`c_i`. The loss is convex when no :math:`k_i` is
        negative.

    Returns
    -------
    callable

    Examples
    --------
    Logistic loss of a positive row:

    >>> even_odd_rows([1.0], [-0.5])(np.array([0.0])).value.round(4)
    array([0.6931])
    """
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

    Examples
    --------
    >>> above_rows(weighted_logistic_rows([True], 0.5), [2.0])(np.array([2.0])).slope
    array([-0.25])
    """
    cuts = np.asarray(cut, dtype=float)
    return lambda f: rows(f - cuts)


def weighted_logistic_rows(
    positive: ArrayLike, threshold: ArrayLike, size: ArrayLike = 1.0
) -> RowLoss:
    """Return logistic loss with rows weighed so that a zero score means ``eta = threshold``.

    Positive rows weigh ``1 - threshold`` and negative ones ``threshold``, times `size`; both may
    differ by row.

    Examples
    --------
    >>> weighted_logistic_rows([True, False], 0.2)(np.zeros(2)).slope
    array([-0.4,  0.1])
    """
    labels, cut = np.asarray(positive, dtype=bool), np.asarray(threshold, dtype=float)
    weight = np.asarray(size) * np.where(labels, 1 - cut, cut)
    return even_odd_rows(weight, np.where(labels, -0.5, 0.5) * weight)


def weighted_logistic_eta(f: ArrayLike, threshold: float) -> Array:
    """Return the probability that a score of `weighted_logistic_rows` stands for.

    Examples
    --------
    >>> weighted_logistic_eta([-50.0, 0.0, 50.0], 0.2).round(6)
    array([0. , 0.2, 1. ])
    """
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

    Examples
    --------
    At even cost every row has the same curvature, and the label is stretched by ``1 / (1 - 2 rho)``:

    >>> even, odd = unbiased_coefficients([True, False], 0.5, 0.2)
    >>> even.round(12), odd.round(6)
    (array([0.5, 0.5]), array([-0.416667,  0.416667]))
    """  # noqa: E501 - a table cannot be folded
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

    Examples
    --------
    >>> convex_costs(0.3)
    (0.3, 0.7)
    >>> np.round(convex_costs((0.3, 0.1)), 12)
    array([0.125, 0.75 ])
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

    Parameters
    ----------
    noisy_eta : array-like of shape (n,)
        Estimated probabilities of a positive noisy label; clipped to those that the rate allows.
    cost, noise_rate
        The cost and the rate.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> expected_even_coefficients([0.4, 0.5, 0.6], 0.2, 0.4).round(12)
    array([0.2, 0.5, 0.8])
    """
    miss, alarm = _both(cost)
    eta = clean_eta(noisy_eta, noise_rate)
    return np.asarray(miss * eta + alarm * (1 - eta))


def forward_rows(positive: ArrayLike, noise_rate: NoiseRateLike) -> RowLoss:
    r"""Return the negative log-likelihood of noisy labels when clean ones follow a logistic model.

    A positive label has probability :math:`\rho_- + k\,\sigma(t)` and a negative one
    :math:`\rho_+ + k\,\sigma(-t)`, with :math:`k = 1-\rho_+-\rho_-`. The loss is not convex, and
    has the expected (Fisher) curvature as its safe one.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which rows are labelled positive.
    noise_rate : float, pair of floats, or None
        The rate.

    Returns
    -------
    callable

    Examples
    --------
    >>> forward_rows([True, False], (0.3, 0.1))(np.zeros(2)).value.round(4)
    array([0.9163, 0.5108])
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
    """Return the derivatives of each row's `forward_rows` in ``rho_pos`` and ``rho_neg``.

    Returns
    -------
    ndarray of shape (2, n)

    Examples
    --------
    >>> forward_rate_slope([True, False], [0.0, 0.0], 0.25)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    labels = np.asarray(positive, dtype=bool)
    sign = np.where(labels, 1.0, -1.0)
    score = np.asarray(f, dtype=float)
    rho_pos, rho_neg = rate_pair(noise_rate)
    kept = 1 - rho_pos - rho_neg
    up, down = expit(score), expit(-score)
    likelihood = np.where(labels, rho_neg + kept * up, rho_pos + kept * down)
    likelihood = np.maximum(likelihood, np.finfo(float).tiny)
    return np.asarray(np.stack([sign * up, -sign * down]) / likelihood)
