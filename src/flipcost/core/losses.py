r"""The weighted 0-1 and the uneven-margin squared loss: value, derivative, minimizer, link.

Conventions
-----------
``y > 0`` marks the positive class, so booleans and +1/-1 both work; ``f`` is the real-valued
score; arrays broadcast. The *minimizer* is the score that minimises the expected loss at a point
where the positive class has probability ``eta``; the *inverse link* leads from such a score back
to the probability. The weighted 0-1 loss has no link: its minimizer keeps only the side of the
threshold that ``eta`` is on. The losses with links of the paper are in `flipcost.paper.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, cost_share, margin_value


class Loss(Protocol):
    """What every loss can do: ``value`` and ``derivative`` (in the score) at labels and scores."""

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Loss at labels ``y`` and scores ``f``."""

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return the derivative of the loss in the score."""


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
        positive, flagged = np.asarray(y) > 0, np.asarray(f) > 0
        price = np.where(positive, 1 - self.cost, self.cost / self.margin)
        return np.asarray(np.where(positive == flagged, 0.0, price))

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
        r"""Probability that a score represents, the score clipped to :math:`[-1/\gamma, 1]`.

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
