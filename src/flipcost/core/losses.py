r"""Margin losses: value, derivative, conditional minimizer and inverse link.

Conventions
-----------
``y > 0`` marks the positive class, so booleans and +1/-1 both work; ``f`` is the real-valued
score; arrays broadcast. The *minimizer* is the score that minimises the expected loss at a point
where the positive class has probability ``eta``; the *inverse link* leads from such a score back
to the probability. A loss without a link (the weighted 0-1, the unhinged) is not proper composite:
its minimizer keeps only the side of the threshold that ``eta`` is on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, cost_share, margin_value


class Loss(Protocol):
    """What every loss can do: ``value`` and ``derivative`` (in the score) at labels and scores."""

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""


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


@dataclass(frozen=True)
class WeightedZeroOne:
    r"""Weighted 0-1 loss, :math:`(1-\alpha)` a miss and :math:`\alpha/\gamma` a false alarm.

    A score of exactly zero counts as negative. With ``margin`` other than 1 the loss is not
    comparable across margins: it divides the price of a false alarm by the margin.
    """

    cost: float
    margin: float = 1.0

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        positive, called = np.asarray(y) > 0, np.asarray(f) > 0
        price = np.where(positive, 1 - self.cost, self.cost / self.margin)
        return np.asarray(np.where(positive == called, 0.0, price))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return zero, the derivative wherever there is one: no gradient can train this loss."""
        return np.zeros(np.broadcast_shapes(np.shape(y), np.shape(f)))

    def minimizer(self, eta: ArrayLike) -> Array:
        """Return the best decision, +1 or -1, where the positive class has probability ``eta``."""
        return np.where(np.asarray(eta, dtype=float) > self.threshold, 1.0, -1.0)

    @property
    def threshold(self) -> float:
        """Probability above which calling a row positive pays."""
        if self.margin == 1:
            return self.cost  # to the last digit
        false_alarm = self.cost / self.margin
        return false_alarm / (false_alarm + 1 - self.cost)


def weighted_zero_one(cost: CostLike, margin: float = 1.0) -> WeightedZeroOne:
    """Return the weighted 0-1 loss of a cost (and, for the paper's sake, a margin).

    Examples
    --------
    >>> loss = weighted_zero_one(cost=0.2)
    >>> loss.value([1, 1, -1, -1], [0.3, -0.3, 0.3, -0.3])
    array([0. , 0.8, 0.2, 0. ])
    >>> loss.minimizer([0.1, 0.3])
    array([-1.,  1.])
    """
    return WeightedZeroOne(cost_share(cost), margin_value(margin))


@dataclass(frozen=True)
class UnevenSquared:
    r"""Weighted uneven-margin squared loss of the paper's scheme 1.

    .. math::

        \ell_{+}(f) = (1-\alpha)(1-f)^2, \qquad
        \ell_{-}(f) = \frac{\alpha}{\gamma}(1+\gamma f)^2 .

    Its conditional minimizer
    :math:`f = (\eta-\alpha) / ((1-\alpha)\eta + \gamma\alpha(1-\eta))` changes sign at
    :math:`\eta = \alpha` whatever the margin.
    """

    cost: float
    margin: float = 1.0

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""
        score = np.asarray(f, dtype=float)
        positive = (1 - self.cost) * (1 - score) ** 2
        negative = self.cost / self.margin * (1 + self.margin * score) ** 2
        return np.asarray(np.where(np.asarray(y) > 0, positive, negative))

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""
        score = np.asarray(f, dtype=float)
        positive = -2 * (1 - self.cost) * (1 - score)
        negative = 2 * self.cost * (1 + self.margin * score)
        return np.asarray(np.where(np.asarray(y) > 0, positive, negative))

    def minimizer(self, eta: ArrayLike) -> Array:
        """Score of least expected loss where the positive class has probability ``eta``."""
        p = np.asarray(eta, dtype=float)
        curvature = (1 - self.cost) * p + self.margin * self.cost * (1 - p)
        return np.asarray((p - self.cost) / curvature)

    def inverse_link(self, f: ArrayLike) -> Array:
        r"""Probability that a score stands for, the score clipped to :math:`[-1/\gamma, 1]`.

        Inverting the minimizer gives
        :math:`\eta = \alpha(1+\gamma f) / (1 - (1-\alpha) f + \alpha\gamma f)`; scores beyond the
        ends are those of no probability.
        """
        score = np.clip(np.asarray(f, dtype=float), -1 / self.margin, 1.0)
        numerator = self.cost * (1 + self.margin * score)
        # The other class' share keeps its own form: 1 - eta is then exact near eta = 1.
        return np.asarray(numerator / (numerator + (1 - self.cost) * (1 - score)))


def uneven_squared(cost: CostLike, margin: float = 1.0) -> UnevenSquared:
    """Return the uneven-margin squared loss of a cost and a margin.

    Examples
    --------
    >>> loss = uneven_squared(cost=0.25, margin=0.4)
    >>> loss.value([1, -1], [0.5, 0.5])
    array([0.1875, 0.9   ])
    >>> loss.minimizer(0.2).round(4)
    np.float64(-0.2174)
    >>> loss.inverse_link(loss.minimizer([0.2, 0.38])).round(12)
    array([0.2 , 0.38])
    """
    return UnevenSquared(cost_share(cost), margin_value(margin))


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
