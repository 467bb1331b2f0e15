r"""Laws on finitely many points, on which every statement of the paper can be computed exactly.

A law says how likely each point is and, at each point, how likely the clean label is to be
positive. Expected losses are then finite sums, label flips act on the probabilities alone, and a
claim about "the minimizer of the risk" is a small linear solve: nothing is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags
from flipcost.core.costs import CostLike
from flipcost.core.losses import Loss, weighted_zero_one
from flipcost.core.noise import NoiseRateLike, noisy_eta


@dataclass(frozen=True, eq=False)
class DiscreteLaw:
    """A joint law of a point and a label, on finitely many points.

    Parameters
    ----------
    points : array-like of shape (n_points, n_features) or (n_points,)
        Where the law lives; a vector is read as points on a line.
    mass : array-like of shape (n_points,)
        Probability of each point; non-negative, adding up to 1.
    eta : array-like of shape (n_points,)
        Probability of a positive label at each point, in [0, 1].

    Attributes
    ----------
    design : ndarray of shape (n_points, n_features + 1)
        The points with a last column of ones for the bias.
    prior : float
        Share of positive labels.

    Examples
    --------
    >>> law = DiscreteLaw(points=[0, 1], mass=[0.5, 0.5], eta=[0.1, 0.9])
    >>> law.prior
    0.5
    >>> law.noisy(0.4).eta.round(6)
    array([0.42, 0.58])
    >>> print(round(law.expected_cost([False, True], cost=0.3), 6))
    0.05
    """

    points: Array
    mass: Array
    eta: Array

    def __init__(self, points: ArrayLike, mass: ArrayLike, eta: ArrayLike) -> None:
        where = np.array(points, dtype=float)
        where = where[:, None] if where.ndim == 1 else where
        weights, probability = np.array(mass, dtype=float), np.array(eta, dtype=float)
        _check_law(where, weights, probability)
        # The class is frozen and its arrays are read-only: reports keep a law and rely on it.
        for name, values in (("points", where), ("mass", weights), ("eta", probability)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @property
    def design(self) -> Array:
        """The points with a last column of ones for the bias."""
        return np.column_stack([self.points, np.ones(len(self.mass))])

    @property
    def prior(self) -> float:
        """Share of positive labels."""
        return float(self.mass @ self.eta)

    def noisy(self, noise_rate: NoiseRateLike) -> DiscreteLaw:
        """Return the law of the same points with labels flipped at the given rate."""
        return DiscreteLaw(self.points, self.mass, noisy_eta(self.eta, noise_rate))

    def risk(self, loss: Loss, scores: ArrayLike) -> float:
        """Return the expected loss of the scores, one per point."""
        f = np.broadcast_to(np.asarray(scores, dtype=float), self.mass.shape)
        at_point = self.eta * loss.value(1, f) + (1 - self.eta) * loss.value(-1, f)
        return float(self.mass @ at_point)

    def expected_cost(self, positive: ArrayLike, cost: CostLike, margin: float = 1.0) -> float:
        """Return the expected weighted 0-1 loss of deciding positive where ``positive`` is true.

        With ``margin`` 1 this is what the user pays; any other margin is the paper's uneven form.
        """
        scores = np.where(np.asarray(positive, dtype=bool), 1.0, -1.0)
        return self.risk(weighted_zero_one(cost, margin), scores)

    def scores(self, coef: ArrayLike) -> Array:
        """Return the linear scores of the points for coefficients with the bias last."""
        return np.asarray(self.design @ np.asarray(coef, dtype=float))


def _check_law(points: Array, mass: Array, eta: Array) -> None:
    if points.ndim != 2 or mass.shape != (len(points),) or eta.shape != mass.shape:
        msg = (
            "`points`, `mass` and `eta` must have one entry per point; got shapes "
            f"{points.shape}, {mass.shape} and {eta.shape}."
        )
        raise ValueError(msg)
    if not np.isfinite(points).all():
        msg = "`points` must be finite numbers; got NaN or infinity among them."
        raise ValueError(msg)
    # Adding n numbers that sum to one loses at most n rounding units.
    if not ((mass >= 0).all() and abs(mass.sum() - 1) <= 8 * len(mass) * np.finfo(float).eps):
        msg = (
            "`mass` must be non-negative and add up to 1; "
            f"got a sum of {mass.sum():.17g} and a smallest entry of {mass.min(initial=np.inf):g}. "
            "Divide it by its sum."
        )
        raise ValueError(msg)
    if not ((eta >= 0) & (eta <= 1)).all():
        msg = f"`eta` must lie in [0, 1]; got values from {eta.min():g} to {eta.max():g}."
        raise ValueError(msg)


def decide(scores: ArrayLike) -> Flags:
    """Decide positive where a score exceeds zero, as the weighted 0-1 loss does.

    Scores within rounding of zero, judged by the largest one, count as zero and thus as negative:
    otherwise a point exactly on two boundaries could be said to change sides.

    Examples
    --------
    >>> decide([0.5, 0.0, 1e-17, -0.5])
    array([ True, False, False, False])
    """
    f = np.asarray(scores, dtype=float)
    return np.asarray(f > 1e-13 * np.abs(f).max(initial=0.0))
