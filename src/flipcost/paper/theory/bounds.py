r"""Lemmas 1 and 2 of the paper, printed and corrected, and the calibration it leaves abstract.

Below, :math:`\ell_1(f) = (1-\alpha)(1-f)^2` and
:math:`\ell_{-1}(f) = (\alpha/\gamma)(1+\gamma f)^2`.

Rademacher complexity
---------------------
For the class :math:`\{x \mapsto w^\top x : |w| \le B\}` the supremum is attained by the w that
points along the signed sum, so the empirical complexity is

.. math:: \hat{\mathfrak R} = \frac{B}{m} E_\sigma \Big| \sum_i \sigma_i x_i \Big|,

with independent fair signs :math:`\sigma_i`. Jensen's inequality bounds it from above by
:math:`B\sqrt{\sum_i |x_i|^2}/m`, and the Khintchine-Kahane inequality (Latała and Oleszkiewicz
1994) from below by that over :math:`\sqrt 2`: the standard bound is never far off.

The bias has to be bounded along with the weights. The paper bounds the weights alone; with a free
bias the supremum is infinite.

Theorem 2
---------
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
from flipcost.core.costs import CostLike, cost_share, margin_value
from flipcost.core.losses import uneven_squared
from flipcost.core.noise import NoiseRateLike, rate_pair
from flipcost.paper.theory.laws import (
    DiscreteLaw,
    decide,
    uneven_squared_scores,
    weighted_zero_one_rules,
)
from flipcost.paper.theory.linear import linear_minimiser, theorem_1_holds


def lipschitz_constant(cost: CostLike, margin: float, score_bound: float) -> float:
    r"""Return the steepest slope of the uneven squared loss for scores up to a bound.

    Both branches are steepest at an end:
    :math:`L = \max(2(1-\alpha)(1+a),\; 2\alpha(1+\gamma a))` over :math:`|f| \le a`. The paper's
    :math:`2a + 2` has neither the cost nor the margin in it, and is too small once their product
    exceeds one.

    Parameters
    ----------
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float
        Uneven margin of the negative class.
    score_bound : float
        Largest absolute score.

    Examples
    --------
    >>> lipschitz_constant(0.5, 5.0, 1.0)  # 4 as printed
    6.0
    """
    share, gamma = cost_share(cost), margin_value(margin)
    bound = _score_bound(score_bound)
    return max(2 * (1 - share) * (1 + bound), 2 * share * (1 + gamma * bound))


def loss_range(cost: CostLike, margin: float, score_bound: float) -> float:
    r"""Return the largest uneven squared loss for scores up to a bound.

    :math:`\max((1-\alpha)(1+a)^2,\; (\alpha/\gamma)(1+\gamma a)^2)`: the factor that the deviation
    term of Lemma 1 leaves out.
    """
    bound = _score_bound(score_bound)
    loss = uneven_squared(cost, margin)
    return float(max(loss.value(1, -bound), loss.value(-1, bound)))


def _score_bound(score_bound: float) -> float:
    if not (score_bound >= 0 and np.isfinite(score_bound)):
        msg = f"`score_bound` must be a finite number of at least 0; got {score_bound:g}."
        raise ValueError(msg)
    return float(score_bound)


@dataclass(frozen=True)
class DeviationBound:
    r"""Lemma 1: how far the empirical risk may be from the risk, over a whole class.

    Attributes
    ----------
    printed_estimation, estimation : float
        :math:`2 L \mathfrak R` with the printed and with the right Lipschitz constant.
    printed_confidence, confidence : float
        :math:`\sqrt{\log(1/\delta)/2m}` as printed, and
        :math:`M\sqrt{\log(2/\delta)/2m}` with the loss range M and both directions counted.
    """

    printed_estimation: float
    estimation: float
    printed_confidence: float
    confidence: float

    @property
    def printed(self) -> float:
        """The bound as the paper prints it."""
        return self.printed_estimation + self.printed_confidence

    @property
    def corrected(self) -> float:
        """The bound that is proved."""
        return self.estimation + self.confidence


def lemma_1(
    n_rows: int,
    complexity: float,
    cost: CostLike,
    margin: float = 1.0,
    *,
    score_bound: float,
    delta: float = 0.05,
) -> DeviationBound:
    r"""Bound, with probability 1 - delta, the deviation of the empirical from the true risk.

    For every score of the class at once, on whatever labels the sample has (noisy ones, in the
    paper), by symmetrisation, contraction and the bounded-differences inequality.

    Parameters
    ----------
    n_rows : int
        Size of the sample.
    complexity : float
        (Expected) Rademacher complexity of the class of scores.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    score_bound : float
        Largest absolute score of the class.
    delta : float, default=0.05
        Probability that the bound may fail.

    Notes
    -----
    Replacing one row moves the supremum by at most :math:`M/m`, M being the range of the loss,
    which puts M before the root; the absolute value is two one-sided statements, each with
    :math:`\delta/2`. The contraction inequality allows a different Lipschitz function per row,
    here :math:`\ell_{y_i}`, so the labels do no harm.

    Examples
    --------
    >>> bound = lemma_1(10_000, complexity=0.01, cost=0.2, margin=4.0, score_bound=1.0)
    >>> print(round(bound.printed, 4), round(bound.corrected, 4))
    0.0922 0.1075
    """
    if not (n_rows >= 1 and 0 < delta < 1):
        msg = (
            "`n_rows` must be at least 1 and `delta` must lie in (0, 1); "
            f"got {n_rows} and {delta:g}."
        )
        raise ValueError(msg)
    spread = loss_range(cost, margin, score_bound)
    return DeviationBound(
        printed_estimation=2 * (2 * score_bound + 2) * complexity,
        estimation=2 * lipschitz_constant(cost, margin, score_bound) * complexity,
        printed_confidence=float(np.sqrt(np.log(1 / delta) / (2 * n_rows))),
        confidence=spread * float(np.sqrt(np.log(2 / delta) / (2 * n_rows))),
    )


@dataclass(frozen=True)
class NoisyRisk:
    """Lemma 2: the risk on noisy labels, written with clean ones.

    Attributes
    ----------
    clean : float
        Risk on clean labels.
    noisy : float
        Risk on noisy labels, computed on the noisy law itself.
    printed : float
        What the paper's formula gives for it.
    corrected : float
        What the right formula gives for it.
    clean_weights : float
        Risk with the targets flipped and the weights of clean labels: what the paper's proof, and
        so its formula, speaks of.
    """

    clean: float
    noisy: float
    printed: float
    corrected: float
    clean_weights: float


def lemma_2(
    law: DiscreteLaw,
    scores: ArrayLike,
    cost: CostLike,
    margin: float = 1.0,
    *,
    noise_rate: NoiseRateLike,
) -> NoisyRisk:
    r"""Relate the uneven squared risk on noisy labels to the one on clean labels.

    Parameters
    ----------
    law : DiscreteLaw
        The clean law.
    scores : array-like of shape (n_points,)
        Score at each point.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.
    noise_rate : float or None
        Rate of symmetric noise.

    Notes
    -----
    Printed: :math:`\tilde R(f) = R(f) + 4\rho E[f(\eta-\alpha)]`. Right, since a flip changes the
    weight as well as the target:
    :math:`\tilde R(f) = R(f) + \rho E[(2\eta-1)(\ell_{-1}(f)-\ell_1(f))]`. At cost 1/2 and margin 1
    the two are the same.

    Examples
    --------
    >>> from flipcost.theory import DiscreteLaw
    >>> law = DiscreteLaw([0, 1], [0.5, 0.5], [0.1, 0.9])
    >>> risk = lemma_2(law, [-0.5, 1.0], cost=0.3, noise_rate=0.4)
    >>> print(f"noisy {risk.noisy:.4f}, corrected {risk.corrected:.4f}, printed {risk.printed:.4f}")
    noisy 0.6045, corrected 0.6045, printed 0.7325
    """
    rate = symmetric_rate(noise_rate)
    loss = uneven_squared(cost, margin)
    f = np.broadcast_to(np.asarray(scores, dtype=float), law.mass.shape)
    loss_pos, loss_neg = loss.value(1, f), loss.value(-1, f)
    clean = law.risk(loss, f)
    flipped_target = law.eta * (1 - loss.cost) * (1 + f) ** 2 + (1 - law.eta) * (
        loss.cost / loss.margin * (1 - loss.margin * f) ** 2
    )
    return NoisyRisk(
        clean=clean,
        noisy=law.noisy(rate).risk(loss, f),
        printed=clean + 4 * rate * float(law.mass @ (f * (law.eta - loss.cost))),
        corrected=clean + rate * float(law.mass @ ((2 * law.eta - 1) * (loss_neg - loss_pos))),
        clean_weights=(1 - rate) * clean + rate * float(law.mass @ flipped_target),
    )


def symmetric_rate(noise_rate: NoiseRateLike) -> float:
    """Return the rate of symmetric noise, or say that the paper covers no other.

    Examples
    --------
    >>> symmetric_rate(0.2), symmetric_rate((0.1, 0.1))
    (0.2, 0.1)
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    if rho_pos != rho_neg:
        msg = (
            "This statement of the paper is about symmetric noise: `noise_rate` must be one "
            f"number; got ({rho_pos:g}, {rho_neg:g})."
        )
        raise ValueError(msg)
    return rho_pos


def excess_cost_bound(excess_risk: ArrayLike, cost: CostLike, margin: float = 1.0) -> float:
    r"""Bound the excess weighted 0-1 cost by the excess uneven squared risk.

    The paper needs some :math:`\psi` with :math:`\psi(\text{excess cost}) \le \text{excess risk}`
    and leaves it abstract. This one is explicit:
    :math:`\psi^{-1}(v) = \sqrt{\max(1-\alpha, \gamma\alpha)\, v}`.

    Parameters
    ----------
    excess_risk : float
        Uneven squared risk beyond that of the best function of any shape; at least 0.
    cost : float or Costs
        Share of the cost that a false positive bears.
    margin : float, default=1
        Uneven margin of the negative class.

    Notes
    -----
    At a point the risk is :math:`a(\eta)(f - f^*)^2` beyond its least, with
    :math:`a(\eta) = (1-\alpha)\eta + \gamma\alpha(1-\eta) \le \max(1-\alpha, \gamma\alpha)` and
    :math:`f^* = (\eta-\alpha)/a(\eta)`. A wrong decision costs :math:`|\eta-\alpha|` too much, and
    then f is at least as far from :math:`f^*` as 0 is: the excess risk is at least
    :math:`(\eta-\alpha)^2/a(\eta)`. Jensen's inequality does the rest.

    Examples
    --------
    >>> print(round(excess_cost_bound(0.02, cost=0.5), 6))
    0.1
    """
    excess = float(np.asarray(excess_risk, dtype=float))
    if not excess >= 0:
        msg = f"`excess_risk` must be at least 0; got {excess:g}."
        raise ValueError(msg)
    share = cost_share(cost)
    return float(np.sqrt(max(1 - share, margin_value(margin) * share) * excess))


# 2^15 sign patterns (one sign is fixed by symmetry) take some ten milliseconds.
_MAX_EXACT_ROWS = 16


@dataclass(frozen=True)
class RademacherComplexity:
    """Empirical Rademacher complexity of a bounded linear class on given rows.

    Attributes
    ----------
    value : float
        The complexity: exact, or a Monte Carlo mean.
    standard_error : float
        Standard error of the mean; 0 when exact.
    lower, upper : float
        Bounds that hold without sampling.
    exact : bool
        Whether all sign patterns were enumerated.
    """

    value: float
    standard_error: float
    lower: float
    upper: float
    exact: bool


def rademacher_complexity(
    X: ArrayLike,
    radius: float,
    *,
    bias: bool = True,
    n_draws: int = 2000,
    random_state: int | np.random.Generator | None = 0,
) -> RademacherComplexity:
    """Return the empirical Rademacher complexity of linear scores of length at most ``radius``.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows.
    radius : float
        Largest Euclidean length of the coefficients, the bias included.
    bias : bool, default=True
        Whether the scores have a bias: a feature that is always 1.
    n_draws : int, default=2000
        Sign patterns drawn when there are more than 16 rows; with fewer all are enumerated.
    random_state : int, Generator or None, default=0
        Source of the signs.

    Returns
    -------
    RademacherComplexity
        The value, its standard error and two bounds.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> few = rademacher_complexity(X[:10], radius=1.0)
    >>> few.exact, round(few.value, 4), round(few.upper, 4)
    (True, 0.5168, 0.5485)
    >>> many = rademacher_complexity(X, radius=1.0)
    >>> many.lower < many.value < many.upper
    True
    """
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
        msg = f"`X` must be a table of finite numbers with at least one row; got {rows.shape}."
        raise ValueError(msg)
    if not radius > 0:
        msg = f"`radius` must be positive; got {radius:g}."
        raise ValueError(msg)
    if bias:
        rows = np.column_stack([rows, np.ones(len(rows))])
    scale = radius / len(rows)
    upper = scale * float(np.linalg.norm(rows))
    exact = len(rows) <= _MAX_EXACT_ROWS
    lengths = _all_lengths(rows) if exact else _drawn_lengths(rows, n_draws, random_state)
    spread = 0.0 if exact else float(lengths.std(ddof=1) / np.sqrt(n_draws))
    return RademacherComplexity(
        value=scale * float(lengths.mean()),
        standard_error=scale * spread,
        lower=upper / float(np.sqrt(2)),
        upper=upper,
        exact=exact,
    )


def _all_lengths(rows: Array) -> Array:
    """Return the lengths of all signed sums, the first sign fixed: lengths come in pairs."""
    sums = rows[:1]
    for row in rows[1:]:
        sums = np.concatenate([sums + row, sums - row])
    return np.asarray(np.linalg.norm(sums, axis=1))


def _drawn_lengths(
    rows: Array, n_draws: int, random_state: int | np.random.Generator | None
) -> Array:
    """Return the lengths of signed sums with random signs."""
    rng = np.random.default_rng(random_state)
    # One pattern at a time: a matrix of all patterns would outgrow X.
    lengths = [
        np.linalg.norm((2.0 * rng.integers(0, 2, size=len(rows)) - 1.0) @ rows)
        for _ in range(n_draws)
    ]
    return np.array(lengths)


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
    """Return the linear score of least uneven squared risk among those of bounded length."""
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
    steep_enough = 2 * bound + 2 >= lipschitz_constant(share, margin, bound)
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
