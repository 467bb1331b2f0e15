r"""Laws on finitely many points, on which every statement of the paper can be computed exactly.

A law says how likely each point is and, at each point, how likely the clean label is to be
positive. Expected losses are then finite sums, label flips act on the probabilities alone, and a
claim about "the minimizer of the risk" is a small linear solve: nothing is sampled.

Bayes rules
-----------
Each of the weighted 0-1, uneven 0-1 and uneven squared losses, minimised over *all* functions,
decides by comparing the probability of the positive class with a threshold t. Trained on noisy
labels it compares the *noisy* probability :math:`\tilde\eta = \rho_- + (1-\rho_+-\rho_-)\eta` with
the same t, and so amounts to comparing the clean probability with

.. math:: t' = \frac{t - \rho_-}{1 - \rho_+ - \rho_-},

which is another threshold unless t is the fixed point :math:`\rho_-/(\rho_++\rho_-)` of the noise.
Under symmetric noise that point is one half: even costs are safe, and no other cost is. Comparing
the noisy probability with :math:`\rho_- + (1-\rho_+-\rho_-)t` corrects it, and needs the rates.

Four costs
----------
Right decisions may cost too. Write :math:`C_1, c_1` for the cost of a positive row not flagged
and positive, and :math:`C_{-1}, c_{-1}` for a negative row flagged and negative
(``Costs(fn, fp, tp, tn)`` in that order of appearance: :math:`C_1, C_{-1}, c_1, c_{-1}`). Whatever
the rule f,

.. math::

    R_4(f) = S\, R_\alpha(f) + E[c_1\eta + c_{-1}(1-\eta)], \qquad
    S = (C_1-c_1) + (C_{-1}-c_{-1}), \quad \alpha = (C_{-1}-c_{-1})/S,

so that two of the four parameters decide nothing: the space is no larger than before.

A label drawn from row ``i`` of the transition matrix T costs, on average, row ``i`` of ``T @ L``,
where ``L[label, decision]`` holds the four costs. Learning from noisy labels with costs L *is*
learning from clean ones with costs ``T @ L``, for every rule. Hence the whole story:

* The symmetry condition E-SC, :math:`C_{-1}+c_1 = C_1+c_{-1} = K`, says that the two labels cost
  the same together whatever is decided. Then, under symmetric noise,
  :math:`\tilde R_4(f) = (1-2\rho) R_4(f) + \rho K` for every f: E-SC *is* sufficient. The paper
  says that it "cannot be"; what is true is that it forces :math:`\alpha = 1/2`, so that it is
  never met by differential costs. (It also asks for K > 0, which plays no part.)
* It is necessary too: at any other :math:`\alpha` there are laws on which noise changes the best
  rule, namely those with mass between the two thresholds. Elsewhere it changes nothing, which
  the paper's "cannot be the same" passes over.
* With the rates known, ``inverse(T) @ L`` gives four costs whose *noisy* risk is the clean risk
  wanted, for every rule: what the extended space is good for after all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags
from flipcost.core.costs import CostLike, Costs
from flipcost.core.losses import Loss, uneven_squared, weighted_zero_one
from flipcost.core.noise import (
    NoiseRateLike,
    clean_threshold,
    noisy_eta,
    noisy_threshold,
    rate_pair,
    transition_matrix,
)


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


@dataclass(frozen=True)
class BayesRules:
    """Where one loss cuts the probability of the positive class, clean and under noise.

    Attributes
    ----------
    loss : str
        Name of the loss.
    cost, margin : float
        Its parameters.
    noise_rate : tuple of float
        ``(rho_pos, rho_neg)``.
    threshold : float
        The clean rule: positive where the clean probability exceeds this.
    induced_threshold : float
        What the rule learnt from noisy labels amounts to on the *clean* probability. Below 0 it
        calls everything positive, at 1 or above everything negative.
    corrected_threshold : float
        Where to cut the *noisy* probability to get the clean rule back.

    Examples
    --------
    >>> rules = weighted_zero_one_rules(cost=0.2, noise_rate=0.3)
    >>> print(rules.threshold, round(rules.induced_threshold, 6), rules.corrected_threshold)
    0.2 -0.25 0.38
    >>> eta = [0.05, 0.15, 0.25]
    >>> rules.clean(eta), rules.noisy(eta)
    (array([False, False,  True]), array([ True,  True,  True]))
    """

    loss: str
    cost: float
    margin: float
    noise_rate: tuple[float, float]
    threshold: float
    induced_threshold: float
    corrected_threshold: float

    def clean(self, eta: ArrayLike) -> Flags:
        """Return the decisions of the clean rule at clean probabilities."""
        return np.asarray(np.asarray(eta, dtype=float) > self.threshold)

    def noisy(self, eta: ArrayLike) -> Flags:
        """Return the decisions, at *clean* probabilities, of the rule learnt from noisy labels."""
        return np.asarray(np.asarray(eta, dtype=float) > self.induced_threshold)

    def corrected(self, eta_noisy: ArrayLike) -> Flags:
        """Return the decisions of the corrected rule at *noisy* probabilities."""
        return np.asarray(np.asarray(eta_noisy, dtype=float) > self.corrected_threshold)

    def costs(self, law: DiscreteLaw) -> tuple[float, float]:
        """Return what the clean and the noisy rule cost on clean labels, at margin 1."""
        clean = law.expected_cost(self.clean(law.eta), self.cost)
        return clean, law.expected_cost(self.noisy(law.eta), self.cost)


def _rules(name: str, loss: Any, threshold: float, noise_rate: NoiseRateLike) -> BayesRules:
    """Return the rules of a loss that compares the probability with a threshold."""
    return BayesRules(
        loss=name,
        cost=loss.cost,
        margin=loss.margin,
        noise_rate=rate_pair(noise_rate),
        threshold=threshold,
        induced_threshold=float(clean_threshold(threshold, noise_rate)),
        corrected_threshold=float(noisy_threshold(threshold, noise_rate)),
    )


def weighted_zero_one_rules(cost: CostLike, noise_rate: NoiseRateLike = None) -> BayesRules:
    r"""Return the Bayes rules of the weighted 0-1 loss, whose threshold is the cost.

    At a point, calling positive costs :math:`\alpha(1-\eta)` and calling negative
    :math:`(1-\alpha)\eta`; the first is the smaller one when :math:`\eta > \alpha`.

    Parameters
    ----------
    cost : float or Costs
        Share of the cost that a false positive bears.
    noise_rate : float, pair of floats, or None
        The noise rate.

    Examples
    --------
    >>> rules = weighted_zero_one_rules(cost=0.65, noise_rate=0.3)
    >>> print(rules.threshold, round(rules.induced_threshold, 12))
    0.65 0.875
    """
    loss = weighted_zero_one(cost)
    return _rules("weighted 0-1", loss, loss.threshold, noise_rate)


def uneven_zero_one_rules(
    cost: CostLike, margin: float, noise_rate: NoiseRateLike = None
) -> BayesRules:
    r"""Return the Bayes rules of the uneven-margin weighted 0-1 loss.

    A false positive costs :math:`\alpha/\gamma`, so the threshold is
    :math:`\alpha / (\gamma + (1-\gamma)\alpha)`: the margin is one more way to move the cost.

    Parameters
    ----------
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float
        Uneven margin of the negative class.
    noise_rate : float, pair of floats, or None
        The noise rate.

    Examples
    --------
    The margin that puts the threshold at one half, where symmetric noise cannot move it:

    >>> rules = uneven_zero_one_rules(cost=0.2, margin=0.25, noise_rate=0.3)
    >>> print(rules.threshold, round(rules.induced_threshold, 12))
    0.5 0.5
    """
    loss = weighted_zero_one(cost, margin)
    return _rules("uneven weighted 0-1", loss, loss.threshold, noise_rate)


def uneven_squared_rules(
    cost: CostLike, margin: float = 1.0, noise_rate: NoiseRateLike = None
) -> BayesRules:
    """Return the Bayes rules of the uneven-margin squared loss, whose threshold is the cost.

    The margin shapes the scores and never moves the threshold; see :func:`uneven_squared_scores`.

    Parameters
    ----------
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    noise_rate : float, pair of floats, or None
        The noise rate.

    Examples
    --------
    >>> rules = uneven_squared_rules(cost=0.25, margin=0.4, noise_rate=0.3)
    >>> print(rules.threshold, round(rules.induced_threshold, 12))
    0.25 -0.125
    """
    loss = uneven_squared(cost, margin)
    return _rules("uneven squared", loss, loss.cost, noise_rate)


def uneven_squared_scores(
    eta: ArrayLike, cost: CostLike, margin: float = 1.0, noise_rate: NoiseRateLike = None
) -> Array:
    """Return the best scores of the uneven squared loss, over all functions, under noise.

    Parameters
    ----------
    eta : array-like
        Clean probabilities of the positive class.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    noise_rate : float, pair of floats, or None
        Rate of the labels on which the risk is minimised.

    Examples
    --------
    The paper's Example 3: the same point, on either side of zero.

    >>> print(uneven_squared_scores(0.2, 0.25, 0.4).round(4))
    -0.2174
    >>> print(uneven_squared_scores(0.2, 0.25, 0.4, noise_rate=0.3).round(4))
    0.3746
    """
    return uneven_squared(cost, margin).minimizer(noisy_eta(eta, noise_rate))


def noise_fixed_point(noise_rate: NoiseRateLike) -> float:
    r"""Return the one threshold that noise leaves where it is, :math:`\rho_-/(\rho_++\rho_-)`.

    The map from clean to noisy probabilities shrinks everything towards this point, so a
    probability never changes sides of it and, for any other threshold, some probability does.
    It is one half for symmetric noise, whatever the rate, and without noise is taken as that.

    Examples
    --------
    >>> noise_fixed_point(0.1), noise_fixed_point(0.4), noise_fixed_point((0.3, 0.1))
    (0.5, 0.5, 0.25)
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    return 0.5 if rho_pos == rho_neg else rho_neg / (rho_pos + rho_neg)


def keeps_side(eta: ArrayLike, noise_rate: NoiseRateLike, threshold: float | None = None) -> Flags:
    r"""Say for which probabilities the clean and the noisy one are on one side of a threshold.

    The monotonicity lemma of the paper's section 4: under symmetric noise below one half, every
    class marginal and every :math:`\eta` stays below, at or above **one half**. It says nothing
    of other thresholds, and for each of them it fails somewhere.

    Parameters
    ----------
    eta : array-like
        Clean probabilities, at points or of a whole class.
    noise_rate : float, pair of floats, or None
        The noise rate.
    threshold : float, optional
        Threshold looked at; by default the fixed point of the noise, one half when symmetric.

    Notes
    -----
    :math:`\tilde\eta - t = k(\eta - t) + (\rho_- - (\rho_++\rho_-)t)` with
    :math:`k = 1-\rho_+-\rho_- > 0`: the lemma and its converse, the last term being zero at the
    fixed point alone.

    Examples
    --------
    >>> eta = [0.0, 0.24, 0.49, 0.5, 0.51, 1.0]
    >>> keeps_side(eta, noise_rate=0.4).all()
    np.True_
    >>> keeps_side(eta, noise_rate=0.4, threshold=0.25)
    array([False, False,  True,  True,  True,  True])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    clean_offset = np.asarray(eta, dtype=float) - (
        noise_fixed_point(noise_rate) if threshold is None else threshold
    )
    # At the fixed point the shift is zero by algebra; computing it would leave a rounding error.
    shift = 0.0 if threshold is None else rho_neg - (rho_pos + rho_neg) * threshold
    noisy_offset = (1 - rho_pos - rho_neg) * clean_offset + shift
    return np.asarray(np.sign(clean_offset) == np.sign(noisy_offset))


@dataclass(frozen=True)
class CostReduction:
    """Four costs as one share, a scale and a part that no decision changes.

    Attributes
    ----------
    alpha : float
        Share of the cost that a false positive bears; the threshold of the clean Bayes rule.
    scale : float
        What the two mistakes cost together beyond the correct decisions.
    base_pos, base_neg : float
        What a positive and a negative row cost whatever is decided.
    """

    alpha: float
    scale: float
    base_pos: float
    base_neg: float


def reduce_costs(costs: Costs) -> CostReduction:
    """Reduce four costs to the one share that decides.

    Examples
    --------
    >>> reduction = reduce_costs(Costs(fn=5, fp=3, tp=1, tn=2))
    >>> reduction.alpha, reduction.scale, reduction.base_pos, reduction.base_neg
    (0.2, 5, 1, 2)
    """
    scale = (costs.fn - costs.tp) + (costs.fp - costs.tn)
    return CostReduction(costs.alpha, scale, costs.tp, costs.tn)


def cost_matrix(costs: Costs) -> Array:
    """Return the four costs as ``L[label, decision]``, negative first."""
    return np.array([[costs.tn, costs.fp], [costs.fn, costs.tp]], dtype=float)


def four_cost_risk(law: DiscreteLaw, positive: ArrayLike, costs: Costs | ArrayLike) -> float:
    """Return the expected four-cost loss of deciding positive where ``positive`` is true.

    Parameters
    ----------
    law : DiscreteLaw
        Law of the points and labels.
    positive : array-like of bool, shape (n_points,)
        The decision at each point.
    costs : Costs or array-like of shape (2, 2)
        The four costs, or any ``L[label, decision]``.

    Examples
    --------
    >>> from flipcost.theory import DiscreteLaw
    >>> law = DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9])
    >>> print(round(four_cost_risk(law, [False, True], Costs(fn=5, fp=3, tp=1, tn=2)), 6))
    1.75
    """
    matrix = cost_matrix(costs) if isinstance(costs, Costs) else np.asarray(costs, dtype=float)
    decision = np.asarray(positive, dtype=bool).astype(int)
    at_point = law.eta * matrix[1, decision] + (1 - law.eta) * matrix[0, decision]
    return float(law.mass @ at_point)


def denoising_costs(costs: Costs, noise_rate: NoiseRateLike) -> Costs:
    r"""Return four costs whose *noisy* risk equals the clean risk of the given ones.

    For every rule, not only the best one. Their share is
    :math:`\rho_- + (1-\rho_+-\rho_-)\alpha`, the threshold to use on the noisy probability; some
    of them are negative: a lucky label is paid back.

    Parameters
    ----------
    costs : Costs
        The costs wanted on clean labels.
    noise_rate : float, pair of floats, or None
        Rate of the labels at hand.

    Examples
    --------
    >>> found = denoising_costs(Costs(fn=4, fp=1), noise_rate=0.3)
    >>> print(f"{found.fn:.2f} {found.fp:.2f} {found.tp:.2f} {found.tn:.2f}")
    7.00 1.75 -0.75 -3.00
    >>> print(round(found.alpha, 6))
    0.38
    """
    matrix = np.linalg.solve(transition_matrix(noise_rate), cost_matrix(costs))
    (tn, fp), (fn, tp) = matrix.tolist()
    return Costs(fn=fn, fp=fp, tp=tp, tn=tn)


@dataclass(frozen=True)
class SymmetryCheck:
    """The extended symmetry condition E-SC for four costs.

    Attributes
    ----------
    called_positive, called_negative : float
        Cost of the two labels together when the row is flagged, C(-1) + c(1), and when
        it is not flagged, C(1) + c(-1).
    satisfied : bool
        Whether the two are equal: E-SC.
    alpha : float
        Share of the cost that a false positive bears.
    threshold, noisy_threshold : float
        Threshold on the clean probability of the clean best rule and of the noisy one.
    """

    called_positive: float
    called_negative: float
    satisfied: bool
    alpha: float
    threshold: float
    noisy_threshold: float


def extended_symmetry(costs: Costs, noise_rate: NoiseRateLike = None) -> SymmetryCheck:
    r"""Check E-SC, the symmetry condition of four costs.

    It holds exactly when both mistakes cost the same beyond the correct decisions, that is when
    :math:`\alpha = 1/2`; then and only then do the two thresholds agree under symmetric noise.

    Parameters
    ----------
    costs : Costs
        The four costs.
    noise_rate : float, pair of floats, or None
        Noise rate at which to compare the thresholds.

    Examples
    --------
    >>> check = extended_symmetry(Costs(fn=5, fp=3, tp=3, tn=1), noise_rate=0.3)
    >>> check.satisfied, check.alpha, check.threshold == round(check.noisy_threshold, 12)
    (True, 0.5, True)
    >>> check = extended_symmetry(Costs(fn=4, fp=1), noise_rate=0.1)
    >>> check.satisfied, check.threshold, round(check.noisy_threshold, 6)
    (False, 0.2, 0.125)
    """
    both = cost_matrix(costs).sum(axis=0)
    alpha = costs.alpha
    return SymmetryCheck(
        called_positive=float(both[1]),
        called_negative=float(both[0]),
        # Relative to the costs entered: their sums carry the rounding of the largest.
        satisfied=math.isclose(
            both[0], both[1], rel_tol=0.0, abs_tol=1e-12 * float(np.abs(cost_matrix(costs)).max())
        ),
        alpha=alpha,
        threshold=alpha,
        noisy_threshold=float(clean_threshold(alpha, noise_rate)),
    )
