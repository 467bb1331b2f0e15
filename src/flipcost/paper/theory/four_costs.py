r"""Four costs: correct decisions may cost too. What noise does to them, and what E-SC asks.

Write :math:`C_1, c_1` for the cost of a positive row called negative and positive, and
:math:`C_{-1}, c_{-1}` for a negative row called positive and negative (``Costs(fn, fp, tp, tn)`` in
that order of appearance: :math:`C_1, C_{-1}, c_1, c_{-1}`). Whatever the rule f,

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

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.costs import Costs
from flipcost.core.noise import NoiseRateLike, clean_threshold, transition_matrix
from flipcost.paper.theory.laws import DiscreteLaw


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
    """Return the four costs as ``L[label, decision]``, negative first.

    Examples
    --------
    >>> cost_matrix(Costs(fn=5, fp=3, tp=1, tn=2))
    array([[2., 3.],
           [5., 1.]])
    """
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


def effective_costs(costs: Costs, noise_rate: NoiseRateLike) -> Array:
    """Return the costs that learning from noisy labels amounts to on clean ones.

    Parameters
    ----------
    costs : Costs
        The costs applied to noisy labels.
    noise_rate : float, pair of floats, or None
        The noise rate.

    Returns
    -------
    ndarray of shape (2, 2)
        ``L[label, decision]``, negative first. It need not be a valid :class:`Costs`: with enough
        noise one decision is the cheaper one for both labels.

    Examples
    --------
    At a noise rate of 0.3 a needless call at a quarter of the price of a missed fraud looks
    *cheaper* than leaving an honest customer alone:

    >>> effective_costs(Costs(fn=4, fp=1), noise_rate=0.3).round(6)
    array([[1.2, 0.7],
           [2.8, 0.3]])
    """
    return np.asarray(transition_matrix(noise_rate) @ cost_matrix(costs))


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
    >>> mended = denoising_costs(Costs(fn=4, fp=1), noise_rate=0.3)
    >>> print(f"{mended.fn:.2f} {mended.fp:.2f} {mended.tp:.2f} {mended.tn:.2f}")
    7.00 1.75 -0.75 -3.00
    >>> print(round(mended.alpha, 6))
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
        Cost of the two labels together when the row is called positive, C(-1) + c(1), and when
        it is called negative, C(1) + c(-1).
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
