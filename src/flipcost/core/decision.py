r"""The one place where it is decided what to answer: by the rule, or always the same.

At a cost :math:`c`, the share that a false positive bears, the Bayes rule calls a row positive
where the clean probability exceeds :math:`c` (`bayes_calls`); with prices by row, where it exceeds
the row's own threshold, and costs are then in the units of these. Beside it stand two constants,
"all negative" and "all positive". Which of the three is used is the guard's decision (`decide`),
or, by minimax regret, the one whose worst regret over the plausible rates is least
(`decide_minimax`). Both decide at one cost; for a grid of costs they are called once for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from flipcost.core.checked_rows import given_label
from flipcost.core.clean_means import LabelSums, cost_sums
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.costs import CostLike, RowCosts, cost_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from flipcost.core.checked_rows import CheckedRows
    from flipcost.core.noise_posterior import RatePosterior

    Array = NDArray[np.float64]
    CallSquares: TypeAlias = Callable[[NDArray[np.bool_]], Array]
    CallDesign: TypeAlias = Callable[[NDArray[np.bool_], RatePosterior], float]
    Priced: TypeAlias = CostLike | RowCosts

Answer: TypeAlias = Literal["rule", "all_negative", "all_positive"]
CONSTANTS: tuple[Answer, Answer] = ("all_negative", "all_positive")
# Gains below rounding are none: the rule and a constant that it equals differ by 1e-17 or so.
_TIE = 1e-9
# With so many checked rows the difference that they show weighs half of what it weighs with many.
# With 30 the noise tax of real labels was 0.162 when it weighed all, 0.147 so (five splits).
_CHECKED_ROWS = 100.0


@dataclass(frozen=True, eq=False)
class Decision:
    """What was decided at one cost, and between what.

    Attributes
    ----------
    chosen : {"rule", "all_negative", "all_positive"}
        The answer to use.
    tables : dict of ConfusionCounts
        Noisy labels against the calls of each answer.
    costs : dict of Interval
        Clean cost of a row under each answer, the rate integrated out.
    """

    chosen: Answer
    tables: Mapping[Answer, ConfusionCounts]
    costs: Mapping[Answer, Interval]

    @property
    def table(self) -> ConfusionCounts:
        """Noisy labels against the calls of the chosen answer."""
        return self.tables[self.chosen]

    @property
    def cost(self) -> Interval:
        """Clean cost of a row under the chosen answer."""
        return self.costs[self.chosen]


def bayes_calls(probability: ArrayLike, cost: Priced, answer: Answer = "rule") -> NDArray[np.bool_]:
    """Return which rows are called positive: where the probability exceeds the cost, or a constant.

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
    >>> bayes_calls([0.1, 0.2, 0.9], 0.2)
    array([False, False,  True])
    >>> bayes_calls([0.1, 0.2, 0.9], 0.2, "all_positive")
    array([ True,  True,  True])
    """
    eta = np.asarray(probability, dtype=float)
    if answer == "rule":
        if isinstance(cost, RowCosts):
            return np.asarray(cost.gain(eta) > 0)
        return np.asarray(eta > cost_share(cost))
    return np.full(eta.shape, answer == "all_positive")


def count_calls(
    positive: ArrayLike,
    called: NDArray[np.bool_],
    sample_weight: ArrayLike | None = None,
    call_squares: CallSquares | None = None,
) -> ConfusionCounts:
    """Count labels against calls, also of rows that stand for more of them.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    called : ndarray of bool, shape (n,)
        Which rows are called positive.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    call_squares : callable, optional
        From calls to the squared weights of their table, where rows stand for more of them and
        the squared weights of these rows would not tell how uncertain the counts are.

    Examples
    --------
    >>> count_calls([True, False], np.array([True, True])).counts
    array([[0., 1.],
           [0., 1.]])
    """
    table = ConfusionCounts.from_labels(positive, called, sample_weight)
    return table if call_squares is None else ConfusionCounts(table.counts, call_squares(called))


def decide(
    positive: ArrayLike,
    probability: ArrayLike,
    cost: Priced,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    *,
    call_squares: CallSquares | None = None,
    checked: CheckedRows | None = None,
    call_design: CallDesign | None = None,
    level: float = 0.95,
) -> Decision:
    """Decide between the Bayes rule and the two constants at one cost, by the guard.

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
    sample_weight, call_squares
        As in `count_calls`.
    checked : CheckedRows, optional
        Rows whose right label is known: costs are then counted with these.
    call_design : callable, optional
        From calls, and the posterior, to how many rows count for one in what these cost, where rows
        depend on each other; used with prices by row, `call_squares` without.
    level : float, default=0.95
        Level of the intervals of the costs.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from flipcost.core.noise_posterior import RatePosterior
    >>> known = RatePosterior(np.array([[0.1, 0.1]]), np.ones(1))
    >>> labels, eta = np.tile([True, False], 50), np.tile([0.9, 0.1], 50)
    >>> decide(labels, eta, 0.2, known).chosen, decide(labels, eta, 0.05, known).chosen
    ('rule', 'all_positive')
    """
    answers: tuple[Answer, ...] = ("rule", *CONSTANTS)
    tables = {
        answer: count_calls(
            positive, bayes_calls(probability, cost, answer), sample_weight, call_squares
        )
        for answer in answers
    }
    costs = {
        answer: clean_cost(
            positive,
            bayes_calls(probability, cost, answer),
            cost,
            posterior,
            sample_weight,
            table=table,
            checked=checked,
            probability=probability,
            call_design=call_design,
            level=level,
        )
        for answer, table in tables.items()
    }
    told = 1.0 if checked is None else _told(checked)
    chosen = guard(
        probability, cost, costs, sample_weight, told=told, no_signal=posterior.has_no_signal
    )
    return Decision(chosen, tables, costs)


def _told(checked: CheckedRows) -> float:
    """Return how much checked rows are believed, from 0 to 1."""
    return len(checked.rows) / (len(checked.rows) + _CHECKED_ROWS)


def choose_at_costs(
    positive: ArrayLike,
    probability: ArrayLike,
    costs: ArrayLike,
    posterior: RatePosterior,
    checked: CheckedRows,
    sample_weight: ArrayLike | None = None,
) -> list[Answer]:
    """Return what `decide` chooses at each of many costs, from checked rows.

    What calls miss, and call for nothing, does not depend on the cost: of the constants it is found
    once, and of the rule wherever a cost changes a call.

    Parameters
    ----------
    positive, probability, posterior, checked, sample_weight
        As in `decide`.
    costs : array-like of shape (K,)
        Shares of the cost that a false positive bears.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from flipcost.core.checked_rows import CheckedRows
    >>> from flipcost.core.noise_posterior import RatePosterior
    >>> known = RatePosterior(np.array([[0.1, 0.1]]), np.ones(1))
    >>> labels, eta = np.tile([True, False], 50), np.tile([0.9, 0.1], 50)
    >>> checked = CheckedRows(np.arange(20), labels[:20])
    >>> choose_at_costs(labels, eta, [0.2, 0.01], known, checked)
    ['rule', 'all_positive']
    """
    expected = given_label(probability, positive, posterior.mean)
    found: dict[bytes, tuple[float, float]] = {}

    def paid(cost: float, answer: Answer) -> Interval:
        called = bayes_calls(probability, cost, answer)
        key = called.tobytes()
        if key not in found:
            found[key] = checked.mistakes(positive, called, expected, sample_weight, probability)
        misses, alarms = found[key]
        value = (1 - cost) * misses + cost * alarms
        return Interval(value, value, value)

    told, no_signal = _told(checked), posterior.has_no_signal
    return [
        guard(
            probability,
            cost,
            {answer: paid(cost, answer) for answer in ("rule", *CONSTANTS)},
            sample_weight,
            told=told,
            no_signal=no_signal,
        )
        for cost in np.asarray(costs, dtype=float).tolist()
    ]


def clean_cost(
    positive: ArrayLike,
    called: NDArray[np.bool_],
    cost: Priced,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    *,
    table: ConfusionCounts | None = None,
    checked: CheckedRows | None = None,
    probability: ArrayLike | None = None,
    call_design: CallDesign | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the clean cost of a row under calls: on checked rows if there are any, else denoised.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    called : ndarray of bool, shape (n,)
        Which rows are called positive, out of fold.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row: the cost is then in their
        units.
    posterior : RatePosterior
        Over the noise rates.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    table : ConfusionCounts, optional
        Labels against calls, when they were counted already.
    checked : CheckedRows, optional
        Rows whose right label is known.
    probability : array-like of shape (n,), optional
        Out-of-fold probability that the clean label is positive; needed with checked rows.
    call_design : callable, optional
        As in `decide`.
    level : float, default=0.95
        Level of the interval.

    Examples
    --------
    >>> from flipcost.core.noise_posterior import RatePosterior
    >>> known = RatePosterior(np.array([[0.1, 0.1]]), np.ones(1))
    >>> labels = np.tile([True, False], 50)
    >>> prices = RowCosts(np.full(100, 8.0), np.full(100, 2.0))
    >>> all_called = np.ones(100, bool)
    >>> print(round(clean_cost(labels, all_called, prices, known).value, 6),
    ...       round(clean_cost(labels, all_called, 0.2, known).value, 6))
    1.0 0.1
    """
    if checked is not None:
        expected = given_label(probability, positive, posterior.mean)  # type: ignore[arg-type]
        if isinstance(cost, RowCosts):
            return checked.priced_cost(
                positive, called, expected, cost, sample_weight, level, probability
            )
        return checked.cost(positive, called, expected, cost, sample_weight, level, probability)
    if isinstance(cost, RowCosts):
        design = 1.0 if call_design is None else call_design(called, posterior)
        sums = cost_sums(positive, called, cost, sample_weight).thinned(design)
        return sums.mean(posterior, level)
    if table is None:
        table = count_calls(positive, called, sample_weight)
    return posterior.cost(table, cost, level)[0]


def guard(
    probability: ArrayLike,
    cost: Priced,
    costs: Mapping[Answer, Interval],
    sample_weight: ArrayLike | None = None,
    *,
    told: float = 1.0,
    no_signal: bool = False,
) -> Answer:
    """Return the rule if it is estimated to beat the better constant, else that constant.

    Two estimates of the gain are averaged: what the probabilities promise, which is never negative
    but trusts the model, and the denoised difference out of fold, which does not but is noisy. The
    guard is insurance and has a price. Over five tables and five rates (20 splits) the mean noise
    tax was 0.133 without one, 0.149 with this one, and 0.163 when the denoised difference decided
    alone; on 300 rows without any signal, where the constant costs 0.120, the mean cost was 0.149,
    0.140 and 0.133.

    Parameters
    ----------
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row.
    costs : dict of Interval
        Denoised cost of a row under the rule and under each constant.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    told : float, default=1.0
        How far the denoised difference is believed, from 0 to 1: few checked rows tell little.
    no_signal : bool, default=False
        Whether the scores say nothing about the labels: then there is no rule to keep.

    Examples
    --------
    >>> costs = {"rule": Interval(0.12, 0.1, 0.2), "all_negative": Interval(0.4, 0.3, 0.5),
    ...          "all_positive": Interval(0.1, 0.1, 0.1)}
    >>> guard([0.1, 0.9], 0.2, costs), guard([0.19, 0.9], 0.2, costs)
    ('rule', 'all_positive')
    """
    eta = np.asarray(probability, dtype=float)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if isinstance(cost, RowCosts):
        alarm, miss = cost.alarm, cost.miss
    else:
        alarm = np.asarray(cost_share(cost))
        miss = 1 - alarm
    if_negative, if_positive = miss * eta, 1 - eta
    if_positive *= alarm
    by_constant = [_mean(paid, weight) for paid in (if_negative, if_positive)]
    constant = CONSTANTS[int(by_constant[1] < by_constant[0])]
    if no_signal:
        return constant
    by_rule = _mean(np.minimum(if_positive, if_negative, out=if_positive), weight)
    promised = min(by_constant) - by_rule
    denoised = costs[constant].value - costs["rule"].value
    return "rule" if promised + told * denoised > _TIE else constant


def _mean(values: Array, weight: Array | None) -> float:
    return float(values.mean() if weight is None else values @ weight / weight.sum())


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
    rules: Sequence[ConfusionCounts] | Sequence[LabelSums],
    constants: Mapping[Answer, ConfusionCounts] | Mapping[Answer, LabelSums],
    cost: Priced,
    states: RatePosterior,
) -> tuple[Answer, int, Regret]:
    """Decide between the rules of several rates and the two constants, by minimax regret.

    Parameters
    ----------
    rules : sequence of ConfusionCounts, or of LabelSums
        Noisy labels against the calls of the rule of each rate, or what these cost.
    constants : dict of ConfusionCounts, or of LabelSums
        The same for the two constants.
    cost : float, Costs or RowCosts
        Share of the cost that a false positive bears, or prices by row, which need `LabelSums`.
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
    >>> from flipcost.core.noise_posterior import RatePosterior
    >>> states = RatePosterior(np.array([[0.1, 0.1], [0.2, 0.2]]), np.array([0.7, 0.3]))
    >>> labels = np.tile([True, False], 50)
    >>> rules = [count_calls(labels, labels), count_calls(labels, ~labels)]
    >>> constants = {name: count_calls(labels, bayes_calls(np.ones(100), 0.5, name))
    ...              for name in CONSTANTS}
    >>> decide_minimax(rules, constants, 0.5, states)[:2]
    ('rule', 0)
    """
    tables = [*rules, *(constants[name] for name in CONSTANTS)]
    paid = [
        t.by_rate(states) if isinstance(t, LabelSums) else states.cost(t, cost)[1]  # type: ignore[arg-type]
        for t in tables
    ]
    regret = minimax_regret(np.column_stack(paid))
    past_rules = regret.chosen - len(rules)
    if past_rules < 0:
        return "rule", regret.chosen, regret
    return CONSTANTS[past_rules], int(np.argmax(states.weight)), regret
