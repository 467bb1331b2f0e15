r"""Theorem 1: whether the linear minimizer of the uneven squared loss survives label noise.

Write z for a point with a 1 appended. Over linear scores :math:`f = w^\top z` the risk of the
uneven squared loss with a ridge penalty :math:`\lambda` is least at
:math:`w = (A + \lambda I)^{-1} c` with

.. math::

    A = E[((1-\alpha)\eta + \gamma\alpha(1-\eta))\, z z^\top], \qquad c = E[(\eta - \alpha)\, z].

Noise replaces :math:`\eta` by :math:`\tilde\eta = k\eta + \rho_-`, :math:`k = 1-\rho_+-\rho_-`, and

.. math:: \tilde c = k c + (\rho_- - (\rho_++\rho_-)\alpha)\, E[z]

while the two class weights of A mix. The paper's proof keeps the weights of the *clean* labels,
which are not available, and flips the targets only; under symmetric noise
:math:`\tilde w = k w` then follows for every cost. With the labels at hand, keeping every sign
on every law needs both

* :math:`\alpha = \rho_-/(\rho_++\rho_-)`, one half under symmetric noise, for the shift to vanish;
* :math:`\gamma = (1-\alpha)/\alpha`, 1 under symmetric noise, for A to be free of the labels;

and then :math:`\tilde w = k w`, for every penalty.

Without the first, a law with a constant :math:`\eta` between the two thresholds changes the sign of
everything; without the second, two points and a third one of small mass do: both are built by
:func:`theorem_1_counterexample`. With the second alone and no penalty on the bias, the two
hyperplanes are parallel, a known distance apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, cost_share, margin_value
from flipcost.core.noise import NoiseRateLike, clean_threshold, rate_pair, unmixing_matrix
from flipcost.paper.theory.laws import (
    DiscreteLaw,
    decide,
    noise_fixed_point,
    weighted_zero_one_rules,
)


def linear_minimiser(
    law: DiscreteLaw,
    cost: CostLike,
    margin: float = 1.0,
    l2: float = 0.0,
    *,
    penalize_bias: bool = True,
    noise_rate: NoiseRateLike = None,
) -> Array:
    r"""Return the linear score of least expected uneven squared loss plus ``l2 * |w|^2``.

    Parameters
    ----------
    law : DiscreteLaw
        Law of the points and of the labels *at hand*: give ``law.noisy(rate)`` for noisy ones.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    l2 : float, default=0
        Ridge penalty. Without one, and when several scores are best, the shortest is returned.
    penalize_bias : bool, default=True
        Whether the penalty covers the bias, as in the paper.
    noise_rate : float, pair of floats, or None
        Rate of the labels at hand, to be undone: the class moments are unmixed before solving.

    Returns
    -------
    ndarray of shape (n_features + 1,)
        Coefficients, the bias last.

    Examples
    --------
    >>> from flipcost.theory import DiscreteLaw
    >>> law = DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9])
    >>> linear_minimiser(law, cost=0.3).round(4)
    array([ 1.4973, -0.5882])
    >>> linear_minimiser(law.noisy(0.4), cost=0.3).round(4)
    array([0.2699, 0.2564])
    >>> linear_minimiser(law.noisy(0.4), cost=0.3, noise_rate=0.4).round(4)
    array([ 1.4973, -0.5882])
    """
    share, gamma = cost_share(cost), margin_value(margin)
    negative, positive = np.tensordot(unmixing_matrix(noise_rate), _class_moments(law), axes=1)
    matrix = (1 - share) * positive + gamma * share * negative
    # The last column of a raw moment is the class sum: the bias is a feature that is always 1.
    target = (1 - share) * positive[:, -1] - share * negative[:, -1]
    return _ridge(matrix, target, l2, penalize_bias=penalize_bias)


def proof_minimiser(
    law: DiscreteLaw,
    cost: CostLike,
    margin: float = 1.0,
    l2: float = 0.0,
    *,
    noise_rate: NoiseRateLike,
) -> Array:
    r"""Return the linear score that the proof of Theorem 1 speaks of.

    The weight and the margin follow the *clean* label and only the target is flipped. Under
    symmetric noise it is :math:`(1-2\rho)` times the clean score, always. It cannot be computed
    from data: this is here to show where the proof goes astray.

    Parameters
    ----------
    law : DiscreteLaw
        Law of the *clean* labels.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    l2 : float, default=0
        Ridge penalty, bias included.
    noise_rate : float, pair of floats, or None
        Rate at which the targets flip.

    Examples
    --------
    >>> from flipcost.theory import DiscreteLaw
    >>> law = DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9])
    >>> proof_minimiser(law, cost=0.3, noise_rate=0.4) / linear_minimiser(law, cost=0.3)
    array([0.2, 0.2])
    """
    share, gamma = cost_share(cost), margin_value(margin)
    rho_pos, rho_neg = rate_pair(noise_rate)
    negative, positive = _class_moments(law)
    matrix = (1 - share) * positive + gamma * share * negative
    # The mean of a target that flips with probability rho is 1 - 2 rho times the clean target.
    kept_pos, kept_neg = 1 - 2 * rho_pos, 1 - 2 * rho_neg
    target = (1 - share) * kept_pos * positive[:, -1] - share * kept_neg * negative[:, -1]
    return _ridge(matrix, target, l2, penalize_bias=True)


def _class_moments(law: DiscreteLaw) -> Array:
    """Return the raw augmented second moments, negative class first, shape (2, d + 1, d + 1)."""
    weights = law.mass * np.stack([1 - law.eta, law.eta])
    return np.asarray(np.einsum("kn,ni,nj->kij", weights, law.design, law.design))


def _ridge(matrix: Array, target: Array, l2: float, *, penalize_bias: bool) -> Array:
    if not l2 >= 0:
        msg = f"`l2` must be at least 0; got {l2:g}."
        raise ValueError(msg)
    penalty = np.full(len(target), float(l2))
    if not penalize_bias:
        penalty[-1] = 0.0
    # Least squares rather than a solve: a law on one point leaves the slopes undetermined.
    return np.asarray(np.linalg.lstsq(matrix + np.diag(penalty), target, rcond=None)[0])


def parallel_margin(cost: CostLike) -> float:
    r"""Return :math:`(1-\alpha)/\alpha`, at which noise moves the bias alone.

    At this margin the loss is as curved for one class as for the other, and A is free of labels.

    Examples
    --------
    >>> parallel_margin(0.2)
    4.0
    """
    share = cost_share(cost)
    return (1 - share) / share


def parallel_shift(cost: CostLike, noise_rate: NoiseRateLike) -> float:
    r"""Return how far noise shifts the scores at the parallel margin.

    With :math:`\gamma = (1-\alpha)/\alpha` and no penalty on the bias, the noisy linear score is
    :math:`\tilde f = k f + (\rho_- - (\rho_++\rho_-)\alpha)/(1-\alpha)`, which for symmetric noise
    reads :math:`(1-2\rho) f + \rho(1-2\alpha)/(1-\alpha)`: parallel hyperplanes.

    Examples
    --------
    >>> print(round(parallel_shift(0.2, 0.3), 6), parallel_shift(0.5, 0.3))
    0.225 0.0
    """
    share = cost_share(cost)
    rho_pos, rho_neg = rate_pair(noise_rate)
    return (rho_neg - (rho_pos + rho_neg) * share) / (1 - share)


def unshift(coef: ArrayLike, cost: CostLike, noise_rate: NoiseRateLike) -> Array:
    """Return the clean coefficients from the noisy ones, learnt at the parallel margin.

    Exact on a law (in expectation, on a sample) when the bias is not penalised.

    Parameters
    ----------
    coef : array-like of shape (n_features + 1,)
        Coefficients learnt from noisy labels, the bias last.
    cost : float or Costs
        The cost they were learnt with.
    noise_rate : float, pair of floats, or None
        Rate of the noisy labels.

    Examples
    --------
    >>> from flipcost.theory import DiscreteLaw
    >>> law = DiscreteLaw([0, 1, 4], [0.3, 0.3, 0.4], [0.7, 0.5, 0.1])
    >>> margin = parallel_margin(0.2)
    >>> noisy = linear_minimiser(law.noisy(0.3), 0.2, margin)
    >>> np.allclose(unshift(noisy, 0.2, 0.3), linear_minimiser(law, 0.2, margin))
    True
    """
    moved = np.array(coef, dtype=float)
    moved[-1] -= parallel_shift(cost, noise_rate)
    return np.asarray(moved / (1 - sum(rate_pair(noise_rate))))


def theorem_1_holds(cost: CostLike, margin: float, noise_rate: NoiseRateLike) -> bool:
    """Say whether the linear rule survives this noise on *every* law.

    True without noise, and otherwise only when the cost is the fixed point of the noise and the
    margin is the parallel one: cost 1/2 and margin 1 under symmetric noise.

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
    >>> theorem_1_holds(0.5, 1.0, 0.3), theorem_1_holds(0.3, 1.0, 0.3)
    (True, False)
    >>> theorem_1_holds(0.5, 0.2, 0.3), theorem_1_holds(0.25, 3.0, (0.3, 0.1))
    (False, True)
    """
    if sum(rate_pair(noise_rate)) == 0:
        return True
    fixed = math.isclose(cost_share(cost), noise_fixed_point(noise_rate), rel_tol=1e-12)
    even = math.isclose(margin_value(margin), parallel_margin(cost), rel_tol=1e-12)
    return fixed and even


@dataclass(frozen=True, eq=False)
class RobustnessReport:
    """Clean and noisy linear rules of the uneven squared loss, side by side on one law.

    Attributes
    ----------
    law : DiscreteLaw
        The clean law.
    cost, margin, l2 : float
        Parameters of the loss and its penalty.
    noise_rate : tuple of float
        ``(rho_pos, rho_neg)``.
    coef : dict of str to ndarray
        Coefficients, the bias last, by how they were learnt: ``clean`` labels; ``noisy`` labels;
        ``proof``, noisy targets with the weights of clean labels; ``denoised``, noisy labels
        with the class moments unmixed.
    scores : dict of str to ndarray
        Their scores at the points of the law.
    agreement : dict of str to float
        Mass of the points on which each decides as the clean one.
    cost_paid : dict of str to float
        Weighted 0-1 cost on clean labels; also of the best rule of any shape, ``bayes``.
    """

    law: DiscreteLaw
    cost: float
    margin: float
    l2: float
    noise_rate: tuple[float, float]
    coef: dict[str, Array]
    scores: dict[str, Array]
    agreement: dict[str, float]
    cost_paid: dict[str, float]

    @property
    def same_signs(self) -> bool:
        """Whether the noisy rule decides as the clean one wherever the law has mass."""
        moved = decide(self.scores["noisy"]) != decide(self.scores["clean"])
        return not (moved & (self.law.mass > 0)).any()

    @property
    def robust(self) -> bool:
        """Whether the noisy rule costs what the clean one does: the paper's definition."""
        # Equal decisions give equal sums; the slack is for others that happen to cost the same.
        difference = self.cost_paid["noisy"] - self.cost_paid["clean"]
        return abs(difference) <= 1e-14

    def __str__(self) -> str:
        rho_pos, rho_neg = self.noise_rate
        loss = f"cost {self.cost:g}, margin {self.margin:g}, l2 {self.l2:g}"
        lines = [
            f"{loss}, noise rates ({rho_pos:g}, {rho_neg:g})",
            f"{'learnt from':<12}{'agreement':>10}{'cost paid':>11}  scores",
        ]
        for name, scores in self.scores.items():
            shown = " ".join(f"{score:+.4f}" for score in scores[:6])
            shown += " ..." if len(scores) > 6 else ""
            figures = f"{self.agreement[name]:>10.4f}{self.cost_paid[name]:>11.4f}"
            lines.append(f"{name:<12}{figures}  {shown}")
        lines.append(f"{'(Bayes rule)':<12}{'':>10}{self.cost_paid['bayes']:>11.4f}")
        return "\n".join(lines)


def robustness_report(
    law: DiscreteLaw,
    cost: CostLike,
    margin: float = 1.0,
    *,
    noise_rate: NoiseRateLike,
    l2: float = 0.0,
) -> RobustnessReport:
    """Compare the linear rules learnt from clean and from noisy labels, exactly.

    Parameters
    ----------
    law : DiscreteLaw
        The clean law.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    noise_rate : float, pair of floats, or None
        The noise rate.
    l2 : float, default=0
        Ridge penalty, bias included.

    Returns
    -------
    RobustnessReport
        Coefficients, scores, agreement and costs; printed as a table.

    Examples
    --------
    >>> from flipcost.theory import DiscreteLaw
    >>> law = DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9])
    >>> report = robustness_report(law, cost=0.3, noise_rate=0.4)
    >>> print(report)
    cost 0.3, margin 1, l2 0, noise rates (0.4, 0.4)
    learnt from  agreement  cost paid  scores
    clean           1.0000     0.0500  -0.5882 +0.9091
    noisy           0.5000     0.1500  +0.2564 +0.5263
    proof           1.0000     0.0500  -0.1176 +0.1818
    denoised        1.0000     0.0500  -0.5882 +0.9091
    (Bayes rule)               0.0500
    >>> report.robust
    False
    """
    share = cost_share(cost)
    noisy = law.noisy(noise_rate)
    coef = {
        "clean": linear_minimiser(law, share, margin, l2),
        "noisy": linear_minimiser(noisy, share, margin, l2),
        "proof": proof_minimiser(law, share, margin, l2, noise_rate=noise_rate),
        "denoised": linear_minimiser(noisy, share, margin, l2, noise_rate=noise_rate),
    }
    scores = {name: law.scores(weights) for name, weights in coef.items()}
    flagged = {name: decide(values) for name, values in scores.items()}
    paid = {name: law.expected_cost(positive, share) for name, positive in flagged.items()}
    best = weighted_zero_one_rules(share).clean(law.eta)
    return RobustnessReport(
        law=law,
        cost=share,
        margin=margin_value(margin),
        l2=float(l2),
        noise_rate=rate_pair(noise_rate),
        coef=coef,
        scores=scores,
        agreement={
            name: float(law.mass @ (positive == flagged["clean"]))
            for name, positive in flagged.items()
        },
        cost_paid={**paid, "bayes": law.expected_cost(best, share)},
    )


@dataclass(frozen=True, eq=False)
class CounterExample:
    """A law on which the linear rule does not survive noise.

    Attributes
    ----------
    name : str
        What it is.
    shows : str
        What it shows, in one sentence.
    report : RobustnessReport
        The clean and the noisy rule side by side.
    """

    name: str
    shows: str
    report: RobustnessReport

    def __str__(self) -> str:
        return f"{self.name}: {self.shows}\n{self.report}"


def theorem_1_counterexamples() -> tuple[CounterExample, CounterExample, CounterExample]:
    """Return the three counter-examples to Theorem 1, computed.

    Each law is within reach of the theorem as stated: symmetric noise below one half and linear
    scores. In each the noisy rule does not cost what the clean one does.

    Examples
    --------
    >>> for example in theorem_1_counterexamples():
    ...     clean, noisy = (example.report.cost_paid[k] for k in ("clean", "noisy"))
    ...     print(f"{example.name}: {clean:.4f} -> {noisy:.4f}")
    constant eta: 0.1500 -> 0.2000
    two points: 0.0500 -> 0.1500
    even cost, uneven margin: 0.1244 -> 0.1095
    """
    return (
        CounterExample(
            "constant eta",
            "the paper's own Example 3: the best function is a constant, which is linear, and "
            "noise turns its sign, whatever the penalty.",
            robustness_report(DiscreteLaw([0.0], [1.0], [0.2]), 0.25, 0.4, noise_rate=0.3),
        ),
        CounterExample(
            "two points",
            "an even margin does not help when the cost is uneven: the cost triples.",
            robustness_report(DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9]), 0.3, noise_rate=0.4),
        ),
        CounterExample(
            "even cost, uneven margin",
            "nor does an even cost when the margin is uneven: the middle point changes sides "
            "(here for the better, which robustness does not promise either).",
            robustness_report(
                DiscreteLaw([0, 1, 4], [0.396, 0.21, 0.394], [0.768, 0.571, 0.094]),
                0.5,
                0.2,
                noise_rate=0.4,
            ),
        ),
    )


def theorem_1_counterexample(
    cost: CostLike, margin: float, noise_rate: NoiseRateLike, l2: float = 0.0
) -> CounterExample:
    """Build a law on which this cost, margin and noise rate break Theorem 1.

    There is one for every setting but the one in which the theorem does hold, which makes the
    condition of :func:`theorem_1_holds` exact.

    Parameters
    ----------
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float
        Uneven margin of the negative class.
    noise_rate : float or pair of floats
        The noise rate, not zero.
    l2 : float, default=0
        Ridge penalty, bias included.

    Raises
    ------
    ValueError
        When the linear rule is robust in this setting on every law.

    Notes
    -----
    *Cost off the fixed point.* One point, its probability halfway between the cost and the
    threshold that noise makes of it: the sign of the only score changes.

    *Cost at the fixed point, margin not the parallel one.* Two points determine a line; noise
    multiplies its two values by different factors, hence moves its zero. A third point between
    the two zeros, of mass small enough, changes sides.

    Examples
    --------
    >>> theorem_1_counterexample(0.2, 4.0, 0.1).report.robust
    False
    >>> theorem_1_counterexample(0.5, 1.1, 0.01).report.robust
    False
    """
    if theorem_1_holds(cost, margin, noise_rate):
        msg = (
            "There is no counter-example at the fixed point of the noise with the parallel margin "
            f"(cost 1/2 and margin 1 if symmetric) or without noise; got cost {cost}, margin "
            f"{margin} and noise rate {noise_rate}."
        )
        raise ValueError(msg)
    share = cost_share(cost)
    # The line between "at" and "off" is that of theorem_1_holds, one part in 10^12.
    if abs(share - noise_fixed_point(noise_rate)) > 1e-12 * share:
        law = _between_thresholds(share, noise_rate)
        shows = "one point whose probability lies between the two thresholds."
    else:
        law = _between_zeros(share, margin, noise_rate, l2)
        shows = "a light third point between the zeros of two lines."
    report = robustness_report(law, cost, margin, noise_rate=noise_rate, l2=l2)
    return CounterExample(f"built for rates {rate_pair(noise_rate)}", shows, report)


def _between_thresholds(share: float, noise_rate: NoiseRateLike) -> DiscreteLaw:
    induced = np.clip(float(clean_threshold(share, noise_rate)), 0.0, 1.0)
    return DiscreteLaw([0.0], [1.0], [(share + induced) / 2])


def _between_zeros(
    share: float, margin: float, noise_rate: NoiseRateLike, l2: float
) -> DiscreteLaw:
    eta = [share / 2, (1 + share) / 2]
    pair = DiscreteLaw([0.0, 1.0], [0.5, 0.5], eta)
    zeros = [_zero(pair, share, margin, l2), _zero(pair.noisy(noise_rate), share, margin, l2)]
    points = [0.0, 1.0, sum(zeros) / 2]
    light = 0.1
    while True:
        # Both minimizers move continuously with the mass of the third point: some mass will do.
        mass = [(1 - light) / 2, (1 - light) / 2, light]
        law = DiscreteLaw(points, mass, [*eta, eta[1]])
        report = robustness_report(law, share, margin, noise_rate=noise_rate, l2=l2)
        if not report.robust:
            return law
        if light < 1e-12:
            msg = (
                f"cost {share:g} and margin {margin:g} are too close to the robust setting for a "
                "counter-example to show in double precision; move them apart."
            )
            raise ValueError(msg)
        light /= 4


def _zero(law: DiscreteLaw, share: float, margin: float, l2: float) -> float:
    slope, bias = linear_minimiser(law, share, margin, l2)
    return float(-bias / slope)
