r"""The one place that decides what to answer: by the Bayes rule, or with a constant.

The Bayes rule flags a row where the clean probability exceeds the row's threshold, which follows
from its costs (`bayes_flags`). Beside it stand two constants, "all negative" and "all positive".
Which of the three is used is decided by comparing what they cost (`decide`, and `choose_at_factors`
at many costs), or, by minimax regret, the one whose worst regret over the plausible rates is least
(`decide_minimax`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from flipcost.core.checked_rows import given_label
from flipcost.core.clean_means import LabelSums, cost_sums, saving_sums
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.costs import AnyCosts, RowCosts
from flipcost.core.curves import break_even, sums_at_factors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from flipcost.core.checked_rows import CheckedRows
    from flipcost.core.error_rates import RatePosterior

    Array = NDArray[np.float64]
    FlagSquares: TypeAlias = Callable[[NDArray[np.bool_]], Array]
    FlagDesign: TypeAlias = Callable[[NDArray[np.bool_], RatePosterior], float]

Answer: TypeAlias = Literal["rule", "all_negative", "all_positive"]
CONSTANTS: tuple[Answer, Answer] = ("all_negative", "all_positive")
ANSWERS: tuple[Answer, ...] = ("rule", *CONSTANTS)
# Gains smaller than rounding error count as zero: the rule and a constant that it equals differ by
# 1e-17 or so.
_TIE = 1e-9
# Shrinkage: with n checked rows their difference gets weight n / (n + 100). With 30 the noise tax
# of real labels was 0.162 at full weight, 0.147 so (five splits).
_CHECKED_ROWS = 100.0


@dataclass(frozen=True, eq=False)
class Decision:
    """The decision at one cost, and the alternatives.

    Attributes
    ----------
    chosen : {"rule", "all_negative", "all_positive"}
        The answer to use.
    tables : dict of ConfusionCounts
        Noisy labels against the flags of each answer.
    costs : dict of Interval
        Clean cost of a row under each answer, the rate integrated out.
    """

    chosen: Answer
    tables: Mapping[Answer, ConfusionCounts]
    costs: Mapping[Answer, Interval]

    @property
    def table(self) -> ConfusionCounts:
        """Noisy labels against the flags of the chosen answer."""
        return self.tables[self.chosen]

    @property
    def cost(self) -> Interval:
        """Clean cost of a row under the chosen answer."""
        return self.costs[self.chosen]


def bayes_flags(
    probability: ArrayLike, cost: AnyCosts, answer: Answer = "rule"
) -> NDArray[np.bool_]:
    """Return which rows are flagged: where the probability exceeds the cost, or a constant.

    Parameters
    ----------
    probability : array-like of shape (n,)
        Probability that the clean label is positive.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row.
    answer : {"rule", "all_negative", "all_positive"}, default="rule"
        What was decided.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> bayes_flags([0.1, 0.2, 0.9], 0.2)
    array([False, False,  True])
    >>> bayes_flags([0.1, 0.2, 0.9], 0.2, "all_positive")
    array([ True,  True,  True])
    """
    eta = np.asarray(probability, dtype=float)
    if answer == "rule":
        return RowCosts.of(cost).flags(eta)
    return np.full(eta.shape, answer == "all_positive")


def count_flags(
    positive: ArrayLike,
    flagged: NDArray[np.bool_],
    sample_weight: ArrayLike | None = None,
    flag_squares: FlagSquares | None = None,
) -> ConfusionCounts:
    """Count labels against flags, also of rows that represent more than one.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    flagged : ndarray of bool, shape (n,)
        Which rows are flagged.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    flag_squares : callable, optional
        From flags to the squared weights of their table, where rows represent more than one and
        the squared weights of these rows would not tell how uncertain the counts are.

    Examples
    --------
    >>> count_flags([True, False], np.array([True, True])).counts
    array([[0., 1.],
           [0., 1.]])
    """
    table = ConfusionCounts.from_labels(positive, flagged, sample_weight)
    return table if flag_squares is None else ConfusionCounts(table.counts, flag_squares(flagged))


def decide(
    positive: ArrayLike,
    probability: ArrayLike,
    cost: AnyCosts,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    *,
    flag_squares: FlagSquares | None = None,
    checked: CheckedRows | None = None,
    flag_design: FlagDesign | None = None,
    level: float = 0.95,
) -> Decision:
    """Decide between the Bayes rule and the two constants.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row.
    posterior : RatePosterior
        Over the noise rates.
    sample_weight, flag_squares
        As in `count_flags`.
    checked : CheckedRows, optional
        Rows whose right label is known: costs are then counted with these.
    flag_design : callable, optional
        From flags, and the posterior, to how many rows count for one in what these cost, where rows
        depend on each other; used with prices by row, `flag_squares` without.
    level : float, default=0.95
        Level of the intervals of the costs.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from flipcost.core.error_rates import RatePosterior
    >>> known = RatePosterior(np.array([[0.1, 0.1]]), np.ones(1))
    >>> labels, eta = np.tile([True, False], 50), np.tile([0.9, 0.1], 50)
    >>> decide(labels, eta, 0.2, known).chosen, decide(labels, eta, 0.05, known).chosen
    ('rule', 'all_positive')
    """
    costs = RowCosts.of(cost)
    flagged = {answer: bayes_flags(probability, costs, answer) for answer in ANSWERS}
    tables = {
        answer: count_flags(positive, flags, sample_weight, flag_squares)
        for answer, flags in flagged.items()
    }
    paid = {
        answer: clean_cost(
            positive,
            flags,
            costs,
            posterior,
            sample_weight,
            table=tables[answer],
            checked=checked,
            probability=probability,
            flag_design=flag_design,
            level=level,
        )
        for answer, flags in flagged.items()
    }
    chosen = fallback_to_constant(
        probability,
        costs,
        {answer: [found.value] for answer, found in paid.items()},
        sample_weight,
        checked_shrinkage=_checked_shrinkage(checked),
        no_signal=posterior.has_no_signal,
    )
    return Decision(chosen[0], tables, paid)


def _checked_shrinkage(checked: CheckedRows | None) -> float:
    """Return the weight of the checked rows' estimate, n / (n + n0); 1 without any."""
    return 1.0 if checked is None else len(checked.rows) / (len(checked.rows) + _CHECKED_ROWS)


def choose_at_factors(
    positive: ArrayLike,
    probability: ArrayLike,
    cost: AnyCosts,
    factors: ArrayLike,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    checked: CheckedRows | None = None,
) -> list[Answer]:
    """Return what `decide` chooses if misses cost this many times as much, at each of many factors.

    Sums over rows that turn between two factors tell all; with checked rows, what a decision misses
    and flags in vain is found once for each set of flagged rows.

    Examples
    --------
    >>> from flipcost.core.checked_rows import CheckedRows
    >>> from flipcost.core.error_rates import RatePosterior
    >>> known = RatePosterior(np.array([[0.1, 0.1]]), np.ones(1))
    >>> labels, eta = np.tile([True, False], 50), np.tile([0.9, 0.1], 50)
    >>> checked = CheckedRows(np.arange(20), labels[:20])
    >>> choose_at_factors(labels, eta, 0.2, [1.0, 25.0], known, checked=checked)
    ['rule', 'all_positive']
    """
    costs, times = RowCosts.of(cost), np.asarray(factors, dtype=float)
    even = break_even(probability, costs)
    if checked is None:
        sums = sums_at_factors(positive, even, costs, times, sample_weight)
        order: tuple[Answer, ...] = ("rule", "all_positive", "all_negative")
        paid = {
            answer: one.by_rate(posterior) @ posterior.weight
            for answer, one in zip(order, sums, strict=True)
        }
    else:
        expected = given_label(probability, positive, posterior.mean)
        found: dict[bytes, tuple[float, float]] = {}

        def value(factor: float, flagged: NDArray[np.bool_]) -> float:
            key = flagged.tobytes()
            if key not in found:
                found[key] = checked.mistakes(
                    positive=positive,
                    flagged=flagged,
                    expected=expected,
                    score=probability,
                    costs=costs,
                    sample_weight=sample_weight,
                )
            return factor * found[key][0] + found[key][1]

        constant = {name: bayes_flags(even, costs, name) for name in CONSTANTS}
        paid = {"rule": np.array([value(factor, even < factor) for factor in times])}
        paid |= {
            name: np.array([value(factor, flagged) for factor in times])
            for name, flagged in constant.items()
        }
    return fallback_to_constant(
        probability,
        costs,
        paid,
        sample_weight,
        times,
        checked_shrinkage=_checked_shrinkage(checked),
        no_signal=posterior.has_no_signal,
    )


def clean_cost(
    positive: ArrayLike,
    flagged: NDArray[np.bool_],
    cost: AnyCosts,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    *,
    table: ConfusionCounts | None = None,
    checked: CheckedRows | None = None,
    probability: ArrayLike | None = None,
    flag_design: FlagDesign | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the clean cost of a row under flags: on checked rows if there are any, else denoised.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    flagged : ndarray of bool, shape (n,)
        Which rows are flagged, out of fold.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row: the cost is then in their
        units.
    posterior : RatePosterior
        Over the noise rates.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    table : ConfusionCounts, optional
        Labels against flags, when they were counted already.
    checked : CheckedRows, optional
        Rows whose right label is known.
    probability : array-like of shape (n,), optional
        Out-of-fold probability that the clean label is positive; needed with checked rows.
    flag_design : callable, optional
        As in `decide`.
    level : float, default=0.95
        Level of the interval.

    Examples
    --------
    >>> from flipcost.core.error_rates import RatePosterior
    >>> known = RatePosterior(np.array([[0.1, 0.1]]), np.ones(1))
    >>> labels = np.tile([True, False], 50)
    >>> prices = RowCosts(np.full(100, 8.0), np.full(100, 2.0))
    >>> all_called = np.ones(100, bool)
    >>> print(round(clean_cost(labels, all_called, prices, known).value, 6),
    ...       round(clean_cost(labels, all_called, 0.2, known).value, 6))
    1.0 0.1
    """
    costs = RowCosts.of(cost)
    if checked is not None:
        if probability is None:
            msg = "`probability` is needed with checked rows."
            raise ValueError(msg)
        return checked.cost(
            positive=positive,
            flagged=flagged,
            expected=given_label(probability, positive, posterior.mean),
            score=probability,
            costs=costs,
            sample_weight=sample_weight,
            level=level,
        )
    sums = cost_sums(positive, flagged, costs, sample_weight, table)
    if flag_design is not None:
        sums = sums.thinned(flag_design(flagged, posterior))
    # Sums of large and small prices can cancel to a rounding error below nothing.
    found = sums.mean(posterior, level)
    return Interval(*(max(end, 0.0) for end in (found.value, found.low, found.high)))


def fallback_to_constant(
    probability: ArrayLike,
    costs: RowCosts,
    estimates: Mapping[Answer, ArrayLike],
    sample_weight: ArrayLike | None = None,
    factors: ArrayLike = (1.0,),
    *,
    checked_shrinkage: float = 1.0,
    no_signal: bool = False,
) -> list[Answer]:
    """Return the rule where it is estimated to beat the better constant, else that constant.

    Two estimates of the gain are averaged: what the probabilities promise, which is never negative
    but trusts the model, and the denoised difference out of fold, which does not but is noisy. The
    fallback is insurance and has a price. Over five tables and five rates (20 splits) the mean
    noise tax was 0.133 without one, 0.149 with this one, and 0.163 when the denoised difference
    decided alone; on 300 rows without any signal, where the constant costs 0.120, the mean cost was
    0.149, 0.140 and 0.133.

    Parameters
    ----------
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    costs : RowCosts
        Of the rows.
    estimates : dict of array-like of shape (K,)
        Denoised cost of a row under the rule and under each constant, at each factor.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    factors : array-like of shape (K,), default=(1.0,)
        What misses cost times as much.
    checked_shrinkage : float, default=1.0
        Weight of the denoised difference, from 0 to 1: few checked rows tell little.
    no_signal : bool, default=False
        Whether the scores say nothing about the labels. What is left to decide by is the costs of
        a row: where they differ, rows can be distinguished by these at one probability for all, and
        where they do not there is no rule to keep.

    Examples
    --------
    >>> paid = {"rule": [0.12], "all_negative": [0.4], "all_positive": [0.1]}
    >>> costs = RowCosts.of(0.2)
    >>> [fallback_to_constant([eta, 0.9], costs, paid)[0] for eta in (0.1, 0.19)]
    ['rule', 'all_positive']
    """
    eta, times = np.asarray(probability, dtype=float), np.asarray(factors, dtype=float)
    weight = np.ones(len(eta)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    by_constant, by_rule = _expected_costs(eta, costs, times, weight)
    better = np.argmin(by_constant, axis=0)
    least = by_constant.min(axis=0)
    shown = np.where(
        better == 1, np.asarray(estimates["all_positive"]), np.asarray(estimates["all_negative"])
    ) - np.asarray(estimates["rule"])
    tie = _TIE * sum(costs.mean(sample_weight))
    keeps = least - by_rule + checked_shrinkage * shown > tie
    if no_signal:
        usual = np.full(len(eta), np.average(eta, weights=weight))
        flat_constant, flat_rule = _expected_costs(usual, costs, times, weight)
        keeps &= flat_constant.min(axis=0) - flat_rule > tie
    return ["rule" if keep else CONSTANTS[k] for keep, k in zip(keeps, better, strict=True)]


def saves_enough(
    positive: ArrayLike,
    probability: ArrayLike,
    flagged: NDArray[np.bool_],
    rival_flagged: NDArray[np.bool_],
    costs: RowCosts,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    design: float = 1.0,
) -> bool:
    """Return whether decisions save more than the standard error of that over those of a rival.

    The saving is the sum of what the probabilities promise and of the denoised difference, as in
    `fallback_to_constant`; decisions that are all the same do.

    Examples
    --------
    >>> from flipcost.core.error_rates import RatePosterior
    >>> known = RatePosterior(np.array([[0.1, 0.1]]), np.ones(1))
    >>> labels, eta = np.tile([True, False], 50), np.tile([0.9, 0.1], 50)
    >>> costs, every = RowCosts.of(0.2), np.ones(100, bool)
    >>> saves_enough(labels, eta, eta > 0.2, every, costs, known)
    True
    >>> saves_enough(labels[:4], eta[:4], every[:4], eta[:4] > 0.2, costs, known)
    False
    """
    rows = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    sums = saving_sums(positive, flagged, rival_flagged, costs, rows).thinned(design)
    unmix, weight = posterior.unmixings(sums.label_share, wide=False)
    saving, error = (float((part @ weight).sum()) for part in sums.at(unmix))
    apart = flagged.astype(float) - rival_flagged
    promised = float(np.average(apart * costs.gain(probability), weights=rows))
    return promised + saving >= error


def _expected_costs(
    eta: Array, costs: RowCosts, factors: Array, weight: Array
) -> tuple[Array, Array]:
    """Return what probabilities promise at each factor: of both constants, and of the rule."""
    ascending = np.argsort(factors, kind="stable")
    cell = np.searchsorted(factors[ascending], break_even(eta, costs), side="right")
    n, total = len(factors) + 1, weight.sum()
    alarms = np.cumsum(np.bincount(cell, weight * costs.alarm * (1 - eta), n)) / total
    misses = np.cumsum(np.bincount(cell, weight * costs.miss * eta, n)) / total
    by_rule = np.empty(len(factors))
    by_rule[ascending] = alarms[:-1] + factors[ascending] * (misses[-1] - misses[:-1])
    return np.stack([factors * misses[-1], np.full(len(factors), alarms[-1])]), by_rule


@dataclass(frozen=True, eq=False)
class Regret:
    """Regret of candidates over states of the world, and the candidate whose worst is least.

    Attributes
    ----------
    cost : ndarray of shape (n_states, n_candidates)
        Cost of each candidate in each state.
    regret : ndarray of shape (n_states, n_candidates)
        How much more it costs than the best candidate of that state.
    worst : ndarray of shape (n_candidates,)
        Largest regret of each candidate.
    chosen : int
        The candidate with the least of these; the first one in a tie.
    """

    cost: Array
    regret: Array
    worst: Array
    chosen: int

    def times(self, unit: float) -> Regret:
        """Return the same with costs in another unit."""
        return Regret(unit * self.cost, unit * self.regret, unit * self.worst, self.chosen)


def minimax_regret(cost: ArrayLike) -> Regret:
    """Choose by minimax regret from a table of costs, states by candidates.

    Examples
    --------
    >>> minimax_regret([[1.0, 2.0, 1.4], [3.0, 1.0, 1.5]]).chosen
    2
    """
    table = np.asarray(cost, dtype=float)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        msg = f"`cost` must be a finite table, states by candidates; got shape {table.shape}."
        raise ValueError(msg)
    regret = table - table.min(axis=1, keepdims=True)
    worst = regret.max(axis=0)
    return Regret(table, regret, worst, int(np.argmin(worst)))


def decide_minimax(
    rules: Sequence[LabelSums], constants: Mapping[Answer, LabelSums], states: RatePosterior
) -> tuple[Answer, int, Regret]:
    """Decide between the rules of several rates and the two constants, by minimax regret.

    Parameters
    ----------
    rules : sequence of LabelSums
        What the rule of each rate costs.
    constants : dict of LabelSums
        The same for the two constants.
    states : RatePosterior
        The rates that are plausible, one for each rule.

    Returns
    -------
    answer : {"rule", "all_negative", "all_positive"}
        What has the least worst regret.
    rate : int
        Which rate's rule it is; the likeliest rate's when it is a constant.
    regret : Regret
        Of all candidates, the constants last.

    Examples
    --------
    >>> from flipcost.core.error_rates import RatePosterior
    >>> states = RatePosterior(np.array([[0.1, 0.1], [0.2, 0.2]]), np.array([0.7, 0.3]))
    >>> labels, costs = np.tile([True, False], 50), RowCosts.of(0.5)
    >>> rules = [cost_sums(labels, labels, costs), cost_sums(labels, ~labels, costs)]
    >>> constants = {name: cost_sums(labels, bayes_flags(np.ones(100), costs, name), costs)
    ...              for name in CONSTANTS}
    >>> decide_minimax(rules, constants, states)[:2]
    ('rule', 0)
    """
    sums = [*rules, *(constants[name] for name in CONSTANTS)]
    regret = minimax_regret(np.column_stack([one.by_rate(states) for one in sums]))
    past_rules = regret.chosen - len(rules)
    if past_rules < 0:
        return "rule", regret.chosen, regret
    return CONSTANTS[past_rules], int(np.argmax(states.weight)), regret


def value_of_knowing_rate(
    given: ArrayLike,
    weight: ArrayLike,
    cost: AnyCosts,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return what a row would cost less if the noise rate were known exactly.

    The expected value of perfect information: what the rule that knows the posterior of the rate
    costs more, on average over that posterior, than the rule that knows the rate. Never negative,
    and nothing when the rate is known.

    Parameters
    ----------
    given : array-like of shape (R, n)
        Probability that the clean label of each row is positive, given each rate.
    weight : array-like of shape (R,)
        Posterior probabilities of the rates.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float

    Notes
    -----
    With :math:`e_r = c - \eta_r`, what calling a row positive costs more than calling it negative
    under rate r, the value is the mean over rows of
    :math:`\min(\sum_r w_r e_r, 0) - \sum_r w_r \min(e_r, 0)`.

    The probabilities are those that the calibration gives under each rate, since a classifier that
    is given the rate decides by them.

    Examples
    --------
    >>> eta = np.linspace(0, 1, 101)
    >>> unsure = [np.clip(eta - 0.1, 0, 1), np.clip(eta + 0.1, 0, 1)]
    >>> print(f"{value_of_knowing_rate(unsure, [0.5, 0.5], 0.2):.4f} "
    ...       f"{value_of_knowing_rate([eta], [1.0], 0.2):.4f}")
    0.0050 0.0000
    """
    eta = np.asarray(given, dtype=float)
    excess = -RowCosts.of(cost).gain(eta)
    share = np.asarray(weight, dtype=float)
    unsure = np.minimum(share @ excess, 0.0)
    sure = share @ np.minimum(excess, 0.0)
    rows = np.ones_like(sure) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return max(0.0, float(np.average(unsure - sure, weights=rows)))
