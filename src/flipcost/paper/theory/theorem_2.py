r"""Theorem 2, term by term: printed, refuted and corrected.

The theorem bounds the clean risk R of :math:`\hat f`, the minimizer on m noisy rows of the mean
uneven squared loss plus :math:`\lambda|w|^2`, over linear scores of length at most W:

.. math::

    R(\hat f) \le \min_f R(f) + 4 L \mathfrak R + 2\sqrt{\tfrac{\log(1/\delta)}{2m}} + 2\lambda W^2
    + \tfrac{4\rho}{1-2\rho} E[(\tilde f^* - (1-2\rho)\hat f)(\eta-\alpha)].

Its proof rests on Theorem 1 and on Lemma 2, both false when the cost or the margin is uneven, and
the last term is where they enter. It can be negative where the noisy minimizer is worse than the
clean one, so that the printed bound is not just unproved but wrong: see
:func:`theorem_2_counterexample`.

What the same steps do prove, with :math:`f^*` the clean minimizer over the class and
:math:`N(f) = \tilde R(f) - R(f)` by the corrected Lemma 2, is

.. math::

    R(\hat f) \le R(f^*) + 2\big(2 L \mathfrak R + M\sqrt{\tfrac{\log(2/\delta)}{2m}}\big)
    + \lambda(|f^*|^2 - |\hat f|^2) + N(f^*) - N(\hat f):

add and subtract the penalised noisy empirical risks, of which :math:`\hat f` has the least, and
apply Lemma 1 to the two scores. The last two terms do not vanish with more rows: they are what the
noise costs a method that does not know its rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.losses import uneven_squared
from flipcost.core.noise import NoiseRateLike
from flipcost.paper.theory.laws import (
    DiscreteLaw,
    decide,
    uneven_squared_scores,
    weighted_zero_one_rules,
)
from flipcost.paper.theory.lemmas import (
    DeviationBound,
    excess_cost_bound,
    lemma_1,
    lemma_2,
    lipschitz_constant,
    printed_lipschitz_constant,
    symmetric_rate,
)
from flipcost.paper.theory.theorem_1 import linear_minimiser, theorem_1_holds


@dataclass(frozen=True)
class BoundTerm:
    """One term of the bound of Theorem 2.

    Attributes
    ----------
    name : str
        What it accounts for.
    printed, corrected : float
        Its value by the printed and by the corrected formula.
    proved : bool
        Whether the printed term is proved for the setting at hand; the corrected ones all are.
    why : str
        The reason, in a few words.
    """

    name: str
    printed: float
    corrected: float
    proved: bool
    why: str


@dataclass(frozen=True)
class Theorem2Bound:
    """The bound of Theorem 2 for one law, one sample size and one fitted score.

    Attributes
    ----------
    risk : float
        What is bounded: the clean uneven squared risk of the fitted score.
    terms : tuple of BoundTerm
        The terms, in the paper's order.
    excess_cost : float
        Weighted 0-1 cost of the fitted score beyond that of the best rule of any shape.
    excess_cost_bound : float
        The corrected bound carried over to it.
    """

    risk: float
    terms: tuple[BoundTerm, ...]
    excess_cost: float
    excess_cost_bound: float

    @property
    def printed(self) -> float:
        """The bound as the paper prints it."""
        return sum(term.printed for term in self.terms)

    @property
    def corrected(self) -> float:
        """The bound that is proved."""
        return sum(term.corrected for term in self.terms)

    def __str__(self) -> str:
        lines = [f"{'term':<18}{'printed':>10}{'corrected':>11}  printed term is"]
        for term in self.terms:
            status = "proved" if term.proved else "unproved"
            values = f"{term.printed:>10.4f}{term.corrected:>11.4f}"
            lines.append(f"{term.name:<18}{values}  {status}: {term.why}")
        lines.append(f"{'bound':<18}{self.printed:>10.4f}{self.corrected:>11.4f}")
        verdict = "kept" if self.risk <= self.printed else "BROKEN"
        lines.append(f"{'risk':<18}{self.risk:>10.4f}{self.risk:>11.4f}  printed bound {verdict}")
        return "\n".join(lines)


def ball_minimiser(
    law: DiscreteLaw, cost: CostLike, margin: float = 1.0, *, radius: float
) -> Array:
    """Return the linear score of least uneven squared risk among those of bounded length.

    Parameters
    ----------
    law : DiscreteLaw
        Law of the labels at hand.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    radius : float
        Largest Euclidean length of the coefficients, the bias included.

    Examples
    --------
    >>> law = DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9])
    >>> print(round(np.linalg.norm(ball_minimiser(law, 0.3, radius=1.0)), 12))
    1.0
    """
    free = linear_minimiser(law, cost, margin)
    if np.linalg.norm(free) <= radius:
        return free
    # The constraint is a ridge penalty of unknown size; |w| <= |c| / l2 brackets it.
    target = law.mass * (law.eta - cost_share(cost)) @ law.design
    l2 = brentq(
        lambda l2: np.linalg.norm(linear_minimiser(law, cost, margin, l2)) - radius,
        0.0,
        np.linalg.norm(target) / radius,
        xtol=1e-300,
        rtol=1e-14,
    )
    return linear_minimiser(law, cost, margin, l2)


def theorem_2(
    law: DiscreteLaw,
    coef: ArrayLike,
    n_rows: int,
    cost: CostLike,
    margin: float = 1.0,
    *,
    noise_rate: NoiseRateLike,
    l2: float,
    radius: float,
    delta: float = 0.05,
    complexity: float | None = None,
) -> Theorem2Bound:
    r"""Evaluate the bound of Theorem 2 term by term, printed and corrected.

    Parameters
    ----------
    law : DiscreteLaw
        The clean law.
    coef : array-like of shape (n_features + 1,)
        The score fitted to noisy rows by the closed form with penalty ``l2``, the bias last; of
        length at most ``radius``, which makes it the minimizer that the bound is about.
    n_rows : int
        How many rows it was fitted to.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    noise_rate : float or None
        Rate of symmetric noise.
    l2 : float
        Ridge penalty on the mean loss, bias included.
    radius : float
        Largest Euclidean length of the coefficients, the bias included.
    delta : float, default=0.05
        Probability that the bound may fail.
    complexity : float, optional
        Rademacher complexity of the class; by default its upper bound
        :math:`W\sqrt{E|z|^2/m}`, z being a point with a 1 appended.

    Examples
    --------
    >>> law = DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9])
    >>> fitted = linear_minimiser(law.noisy(0.1), 0.5, l2=0.001)
    >>> bound = theorem_2(law, fitted, 10**6, 0.5, noise_rate=0.1, l2=0.001, radius=2.0)
    >>> bound.risk <= bound.corrected
    True
    """
    rate, share = symmetric_rate(noise_rate), cost_share(cost)
    fitted = np.asarray(coef, dtype=float)
    _check_length(fitted, radius)
    best = ball_minimiser(law, share, margin, radius=radius)
    if complexity is None:
        complexity = _complexity_bound(law, n_rows, radius)
    bound = radius * float(np.linalg.norm(law.design[law.mass > 0], axis=1).max())
    deviation = lemma_1(n_rows, complexity, share, margin, score_bound=bound, delta=delta)
    loss = uneven_squared(share, margin)
    least = law.risk(loss, law.scores(best))
    shrinkage = l2 * float(best @ best - fitted @ fitted)
    terms = (
        BoundTerm("best linear risk", least, least, proved=True, why="by definition"),
        *_deviation_terms(deviation, share, margin, bound),
        BoundTerm("penalty", 2 * l2 * radius**2, shrinkage, proved=True, why="loose"),
        _noise_term(law, fitted, best, share, margin, rate, radius),
    )
    bayes_risk = law.risk(loss, uneven_squared_scores(law.eta, share, margin))
    bayes_cost = law.expected_cost(weighted_zero_one_rules(share).clean(law.eta), share)
    scores = law.scores(fitted)
    beyond = max(sum(term.corrected for term in terms) - bayes_risk, 0.0)
    return Theorem2Bound(
        risk=law.risk(loss, scores),
        terms=terms,
        excess_cost=law.expected_cost(decide(scores), share) - bayes_cost,
        excess_cost_bound=excess_cost_bound(beyond, share, margin),
    )


def _complexity_bound(law: DiscreteLaw, n_rows: int, radius: float) -> float:
    """Return the upper bound of the expected Rademacher complexity, by Jensen's inequality."""
    mean_square = float(law.mass @ np.linalg.norm(law.design, axis=1) ** 2)
    return radius * float(np.sqrt(mean_square / n_rows))


def _check_length(fitted: Array, radius: float) -> None:
    length = float(np.linalg.norm(fitted))
    if not length <= radius * (1 + 1e-12):
        msg = (
            f"`coef` must have a length of at most `radius`, {radius:g}; got {length:g}. "
            "Take a larger radius: the bound is about the scores within it."
        )
        raise ValueError(msg)


def _deviation_terms(
    deviation: DeviationBound, share: float, margin: float, bound: float
) -> tuple[BoundTerm, BoundTerm]:
    """Return twice the two parts of Lemma 1: once for the fitted and once for the best score."""
    steep_enough = printed_lipschitz_constant(bound) >= lipschitz_constant(share, margin, bound)
    estimation = BoundTerm(
        "estimation",
        2 * deviation.printed_estimation,
        2 * deviation.estimation,
        proved=steep_enough,
        why="L = 2a + 2 suffices here" if steep_enough else "L = 2a + 2 is too small here",
    )
    confidence = BoundTerm(
        "confidence",
        2 * deviation.printed_confidence,
        2 * deviation.confidence,
        proved=False,
        why="lacks the range of the loss and log(2/delta)",
    )
    return estimation, confidence


def _noise_term(
    law: DiscreteLaw,
    fitted: Array,
    best: Array,
    share: float,
    margin: float,
    rate: float,
    radius: float,
) -> BoundTerm:
    """Return the term in which Theorem 1 and Lemma 2 enter."""
    noisy_best = ball_minimiser(law.noisy(rate), share, margin, radius=radius)
    gap = law.scores(noisy_best) - (1 - 2 * rate) * law.scores(fitted)
    printed = 4 * rate / (1 - 2 * rate) * float(law.mass @ (gap * (law.eta - share)))
    shift = [
        risk.corrected - risk.clean
        for risk in (
            lemma_2(law, law.scores(coef), share, margin, noise_rate=rate)
            for coef in (best, fitted)
        )
    ]
    holds = theorem_1_holds(share, margin, rate)
    why = "cost 1/2, margin 1" if holds else "rests on Theorem 1 and Lemma 2, false here"
    return BoundTerm("noise", printed, shift[0] - shift[1], proved=holds, why=why)


def theorem_2_counterexample(
    n_rows: int = 1_000_000, random_state: int | np.random.Generator | None = 0
) -> Theorem2Bound:
    """Draw a sample on which the bound of Theorem 2 fails as printed.

    The law is that of the paper's Example 3 with a constant eta; the rows are drawn, their labels
    flipped at the rate 0.3 and the closed form is fitted. With a million rows the estimation,
    confidence and penalty terms are next to nothing, the fitted score is the noisy minimizer, on
    the wrong side of zero, and the printed noise term is *negative*: the bound says that the
    fitted score beats the best one. The probability of this is all but 1, not at most delta.

    Parameters
    ----------
    n_rows : int, default=1_000_000
        Size of the sample.
    random_state : int, Generator or None, default=0
        Source of the labels.

    Examples
    --------
    >>> bound = theorem_2_counterexample()
    >>> bound.printed < bound.risk <= bound.corrected
    True
    """
    cost, margin, rate, l2 = 0.25, 0.4, 0.3, 1e-4
    law = DiscreteLaw([0.0], [1.0], [0.2])
    rng = np.random.default_rng(random_state)
    positives = rng.binomial(n_rows, law.noisy(rate).eta[0])
    sample = DiscreteLaw(law.points, law.mass, [positives / n_rows])
    fitted = linear_minimiser(sample, cost, margin, l2)
    return theorem_2(law, fitted, n_rows, cost, margin, noise_rate=rate, l2=l2, radius=1.0)
