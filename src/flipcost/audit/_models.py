"""The models that are compared, each on rows that it did not learn from, and which of them wins."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from flipcost._validation import check_is_fitted
from flipcost.audit._fit import AS_RECORDED
from flipcost.core.balanced_ridge import is_wide, rotate
from flipcost.core.checked_rows import given_label
from flipcost.core.clean_means import cost_sums, denoised_mean, paired_saving
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.costs import RowCosts
from flipcost.core.curves import break_even, confusions_at_costs
from flipcost.core.decision import bayes_flags, choose_at_factors, clean_cost
from flipcost.core.dependence import training_rows
from flipcost.core.folds import random_folds, usual_folds
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.scoring import fold_confusions, fold_scores
from flipcost.core.solve import solve_path
from flipcost.estimators import NoiseAwareThresholdClassifier, UnevenMarginClassifier
from flipcost.estimators.flipcost.boosting import (
    allows_trees,
    boosting_classifier,
    few_folds,
    plain_scores,
)
from flipcost.exceptions import ExportError, TableError
from flipcost.model import Formula
from flipcost.model.convert import formula_of
from flipcost.tables.roles import row_prices

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._fit import AuditData, CleanRows, EvaluationRows
    from flipcost.core.arrays import Array, Flags
    from flipcost.core.error_rates import RatePosterior


# Penalties of the closed form, on standardised features.
_L2S = (0.001, 0.01, 0.1, 1.0, 10.0)
_NOTHING = Interval(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Candidate:
    """A model in the comparison.

    Attributes
    ----------
    key, label : str
        Its short name, as in ``summary.json``, and its name for people.
    flagged : ndarray of bool, shape (n,)
        Rows that it flags at the user's costs, out of fold.
    tables : ConfusionCounts of shape (n_costs, 2, 2)
        Recorded labels against flags, at each cost of the grid.
    predict : callable
        From test rows and their costs to flags, by the model trained on all rows.
    share_flagged : float
        Share of the rows that it flags.
    observed : Interval
        Cost of a row by recorded labels.
    clean, saving : Interval
        Cost of a row on clean labels, the error rates integrated out; and what the chosen model
        saves over this one.
    cost_if_random, saving_if_random : Interval
        The same two as they are shown first: if errors are random; where nothing can be said of
        errors, by recorded labels.
    test : Interval or None
        Cost by labels that are known to be right.
    estimator : estimator or None
        What to fit and save if this one wins.
    paid : ConfusionCounts of shape (n_costs, 2, 2) or None
        The same tables, rows weighted by row costs over their means; None when costs are constant.
    """

    key: str
    label: str
    flagged: Flags
    tables: ConfusionCounts
    predict: Callable[[CleanRows, RowCosts], Flags]
    share_flagged: float = 0.0
    observed: Interval = field(default=_NOTHING)
    clean: Interval = field(default=_NOTHING)
    saving: Interval = field(default=_NOTHING)
    cost_if_random: Interval = field(default=_NOTHING)
    saving_if_random: Interval = field(default=_NOTHING)
    test: Interval | None = None
    estimator: Any = None
    paid: ConfusionCounts | None = None

    def table(self, index: int) -> ConfusionCounts:
        """Return the table at one cost of the grid."""
        return ConfusionCounts(self.tables.counts[index], self.tables.squares[index])


def cost_grid(cost: float) -> tuple[Array, int]:
    """Return the costs that the report can move to, the user's among them, and where that is.

    Ratios of the two prices by steps of a quarter of a doubling, from 1:32 to 32:1 or to twice the
    user's ratio.

    Examples
    --------
    >>> costs, index = cost_grid(0.2)
    >>> len(costs), float(costs[index])
    (41, 0.2)
    """
    reach = max(5, int(np.ceil(abs(np.log2((1 - cost) / cost)))) + 1)
    ratios = 2.0 ** np.linspace(-reach, reach, 8 * reach + 1)
    grid = 1 / (1 + ratios[::-1])
    near = np.argmin(np.abs(np.log(grid / (1 - grid)) - np.log(cost / (1 - cost))))
    if abs(grid[near] - cost) < 1e-9:
        grid[near] = cost
    else:
        near = np.searchsorted(grid, cost)
        grid = np.insert(grid, near, cost)
    return grid, int(near)


def compare(data: AuditData, grid: Array, index: int) -> list[Candidate]:
    """Return the fitted classifier and its rivals with what they cost, the winner first.

    `grid` has shares of the cost that a false alarm bears, with the user's at `index`: at each,
    the costs of misses are multiplied by one factor.

    The classifier wins unless another model is clearly cheaper: the interval of what it saves over
    that one, on the same rows, lies below 0. A saved model, which may have seen the rows, is shown
    but does not win.
    """
    made = _Comparison(data, data.rows, grid, index)
    found = [_flipcost(made), *_rivals(made)]
    for key, label in (("all_positive", "flag all"), ("all_negative", "flag none")):
        found.append(made.fixed(key, label, np.full(len(made.positive), key == "all_positive")))
    if is_fitted(data.options.model):
        found.append(_saved(made))
    evaluated = [_evaluated(data, c, found[0]) for c in found]
    cheaper = [c for c in evaluated if c.estimator is not None and c.saving_if_random.high < 0]
    if data.classifier.state_ == "small" or not cheaper:
        return evaluated
    winner = min(cheaper, key=lambda c: c.cost_if_random.value)
    order = [winner, *(c for c in evaluated if c is not winner)]
    return [_evaluated(data, c, winner) for c in order]


def is_fitted(model: Any) -> bool:
    """Tell whether this is a fitted model, and not the name of one."""
    if isinstance(model, Formula):
        return True
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


class _Comparison:
    """Make candidates from what they decide at each cost of the grid."""

    def __init__(self, data: AuditData, rows: EvaluationRows, grid: Array, index: int) -> None:
        self.data, self.rows, self.grid, self.index = data, rows, grid, index
        self.own, self.positive, self.weight = rows.costs, rows.positive, rows.weight
        ratios = (1 - grid) / grid
        self.factors = ratios / ratios[index]
        # What rivals are given as costs when they are saved.
        self.cost = float(grid[index]) if self.own.is_constant else data.options.prices
        # What a miss and a false alarm on a row cost in units of their means: none where that is
        # one for all rows.
        self.stakes: tuple[Array, Array] | None = None
        if not self.own.is_constant:
            miss, alarm = self.own.mean(self.weight)
            parts = (self.own.miss / max(miss, 1e-300), self.own.alarm / max(alarm, 1e-300))
            self.stakes = (np.maximum(parts[0], 0.0), np.maximum(parts[1], 0.0))

    def weighed(self, stake: Array) -> Array:
        """Return the weights of rows, times what is at stake on each."""
        return stake if self.weight is None else stake * self.weight

    def candidate(
        self,
        key: str,
        label: str,
        count: Callable[[Array | None], ConfusionCounts],
        flagged: Flags,
        predict: Any,
        estimator: Any = None,
    ) -> Candidate:
        """Return a candidate, given what counts labels against its flags by weights of rows."""
        tables, paid = count(self.weight), None
        if self.stakes is not None:
            miss, alarm = (count(self.weighed(stake)) for stake in self.stakes)
            counts, squares = (
                np.stack([left[..., 0], flagged[..., 1]], axis=-1)
                for left, flagged in ((miss.counts, alarm.counts), (miss.squares, alarm.squares))
            )
            paid = ConfusionCounts(counts, self.rows.design(flagged, self.own) * squares)
        if self.rows.flag_squares is not None:
            # Rows that depend on each other count for fewer, here as at the user's costs.
            plain = ConfusionCounts.from_labels(self.positive, flagged, self.weight).squares
            known = self.rows.flag_squares(flagged)
            ratio = np.divide(known, plain, out=np.ones((2, 2)), where=plain > 0)
            tables = ConfusionCounts(tables.counts, ratio * tables.squares)
        return Candidate(key, label, flagged, tables, predict, estimator=estimator, paid=paid)

    def flagged_above(self, even: Array) -> Callable[[Array | None], ConfusionCounts]:
        """Return what counts rows as flagged at factors above those that they break even at."""
        return lambda weight: confusions_at_costs(self.positive, -even, -self.factors, weight)

    def cut(
        self,
        key: str,
        label: str,
        probability: Array,
        of_test: Callable[[CleanRows], Array],
        estimator: Any = None,
    ) -> Candidate:
        """Return a candidate that cuts probabilities at the threshold of each row."""
        return self.candidate(
            key,
            label,
            self.flagged_above(break_even(probability, self.own)),
            bayes_flags(probability, self.own),
            lambda test, costs: bayes_flags(of_test(test), costs),
            estimator,
        )

    def fixed(self, key: str, label: str, flagged: Flags, predict: Any = None) -> Candidate:
        """Return a candidate whose flags do not depend on the costs."""
        count = self.flagged_above(np.where(flagged, -np.inf, np.inf))
        given = predict or (lambda test, _: np.full(len(test.X), bool(flagged[0])))
        return self.candidate(key, label, count, flagged, given)


def _flipcost(made: _Comparison) -> Candidate:
    """Return the classifier: its rule, or the constant that beats it, at each cost."""
    data, model = made.data, made.data.classifier
    eta = model.oof_probability_
    answers = choose_at_factors(
        made.positive,
        eta,
        made.own,
        made.factors,
        model.rate_posterior_,
        made.weight,
        made.rows.checked,
    )
    answers[made.index] = model.chosen_
    even = {
        "rule": break_even(eta, made.own),
        "all_positive": np.full(len(eta), -np.inf),
        "all_negative": np.full(len(eta), np.inf),
    }

    def count(weight: Array | None) -> ConfusionCounts:
        each = {answer: made.flagged_above(even[answer])(weight) for answer in set(answers)}
        return ConfusionCounts(
            np.stack([each[answer].counts[k] for k, answer in enumerate(answers)]),
            np.stack([each[answer].squares[k] for k, answer in enumerate(answers)]),
        )

    def predict(test: CleanRows, costs: RowCosts) -> Flags:
        given = {} if costs.is_constant else {"prices": costs}
        found = model.predict(data.maker.inputs(test.frame, model), **given)
        return np.asarray(found == model.pos_label)

    flagged = bayes_flags(eta, made.own, answers[made.index])
    return made.candidate("flipcost", "flipcost model", count, flagged, predict)


def _rivals(made: _Comparison) -> list[Candidate]:
    """Return the models that take labels as they are: linear, logistic and, if rows allow, trees.

    Of fewer rows than columns there are linear rivals only. These depend on the inner products of
    the rows alone, and so learn from rotated features. Beside given scores: logistic regression on
    these, and probabilities as they are.
    """
    rows, seed = made.rows, made.data.options.random_state
    folds = rows.folds
    if folds is None:
        n_folds = usual_folds(len(rows.positive))
        folds = random_folds(rows.positive, n_folds, np.random.default_rng(seed))
    plain = "logistic", "logistic regression", LogisticRegression(max_iter=1000)
    if made.data.options.scores:
        return [*_given(made), _plain(made, folds, *plain)]
    axes: Array | None = None
    if is_wide(rows.X):
        rotated, axes = rotate(rows.X)
        made = _Comparison(made.data, replace(rows, X=rotated), made.grid, made.index)
        folds = few_folds(folds) if rows.groups is None else folds
    found = [
        _uncorrected(made, folds),
        _plain(made, folds, *plain),
    ]
    n_columns = made.rows.X.shape[1]
    if allows_trees(rows.positive, n_columns):
        trees = boosting_classifier(np.zeros(n_columns, dtype=bool), seed)
        found.append(_plain(made, folds, "boosting", "boosting", trees))
    return found if axes is None else [_rotated(one, axes) for one in found]


def _given(made: _Comparison) -> list[Candidate]:
    """Return the probabilities of the user's own model, cut at the threshold of each row."""
    data = made.data
    if data.options.score_kind != "probability" or len(data.options.scores) > 1:
        return []

    def of_test(test: CleanRows) -> Array:
        return np.asarray(data.maker.encoder.cells(test.frame)[:, 0])

    return [made.cut("given", "your probabilities", data.cells[:, 0], of_test)]


def _rotated(candidate: Candidate, axes: Array) -> Candidate:
    """Return a candidate that learned from rotated features as one that takes plain features."""
    predict = candidate.predict
    return replace(
        candidate, predict=lambda test, costs: predict(replace(test, X=test.X @ axes), costs)
    )


def _uncorrected(made: _Comparison, folds: NDArray[Any]) -> Candidate:
    """Return the closed form that takes labels as they are, its penalty tuned on them.

    Rows weigh what a mistake on them costs. All costs, penalties and folds come from one pass over
    the rows; another one counts.
    """
    X, positive, grid, by = made.rows.X, made.positive, made.grid, made.rows.learned_by
    stake = None if made.stakes is None else np.where(positive, *made.stakes)
    weight = stake if by is None else by if stake is None else by * stake
    parts = fold_moments(X, positive, folds, int(folds.max()) + 1, weight)
    training = merge_others(parts)
    if made.rows.forward:  # each fold is scored by earlier ones
        training[1:] = accumulate(parts[:-1], lambda one, other: one.merge(other))
    path = np.stack([solve_path(m, grid.tolist(), [1.0], _L2S)[:, 0, :, 0] for m in training])
    flat = path.reshape(len(parts), -1, path.shape[-1])

    def count_all(weight: Array | None) -> ConfusionCounts:
        tables = fold_confusions(X, positive, flat, folds, weight)
        shape = (len(grid), len(_L2S), 2, 2)
        counts, squares = (
            part.sum(axis=0).reshape(shape) for part in (tables.counts, tables.squares)
        )
        return ConfusionCounts(counts, squares)

    paid = count_all(made.weight if stake is None else made.weighed(stake)).counts
    losses = (1 - grid)[:, None] * paid[..., 1, 0] + grid[:, None] * paid[..., 0, 1]
    each, best = np.arange(len(grid)), np.argmin(losses, axis=1)

    def count(weight: Array | None) -> ConfusionCounts:
        tables = count_all(weight)
        return ConfusionCounts(tables.counts[each, best], tables.squares[each, best])

    index = made.index
    flagged = fold_scores(X, path[:, index, best[index]][:, None], folds)[0] > 0
    l2, whole = _L2S[best[index]], ClassMoments.merge_all(parts)
    solved = solve_path(whole, [float(grid[index])], [1.0], [l2])[0, 0, 0, 0]
    if stake is not None:  # the estimator counts rows, not what they cost
        rows = len(X) if by is None else float(by.sum())
        l2 *= float(whole.weight.sum()) / rows
    return made.candidate(
        "ignoring",
        "uncorrected linear model",
        count,
        flagged,
        lambda test, _: np.asarray(test.X @ solved[:-1] + solved[-1] > 0),
        UnevenMarginClassifier(cost=made.cost, l2=l2),
    )


def _plain(made: _Comparison, folds: NDArray[Any], key: str, label: str, model: Any) -> Candidate:
    """Return a plain classifier, its probabilities cut at the threshold of each row."""
    rows, by, forward = made.rows, made.rows.learned_by, made.rows.forward
    if key == "boosting":
        known = (rows.X, rows.positive, by, folds)
        probability = expit(plain_scores(model, *known, forward=forward))
    else:
        few = folds if forward else few_folds(folds)
        splits = [
            (training_rows(few, k, forward=forward), np.flatnonzero(few == k))
            for k in range(int(few.max()) + 1)
        ]
        probability = cross_val_predict(
            model,
            rows.X,
            rows.positive,
            cv=splits,
            method="predict_proba",
            params=None if by is None else {"sample_weight": by},
        )[:, 1]

    @cache
    def whole() -> Any:  # only where there are rows to test on
        return clone(model).fit(rows.X, rows.positive, sample_weight=by)

    return made.cut(
        key,
        label,
        probability,
        lambda test: whole().predict_proba(test.X)[:, 1],
        NoiseAwareThresholdClassifier(clone(model), cost=made.cost),
    )


def _saved(made: _Comparison) -> Candidate:
    """Return a model that was made before, which reads tables and decides at its own costs."""
    data, saved = made.data, made.data.options.model
    negative, positive = data.labels
    classes = [str(label) for label in saved.classes_]
    if positive not in classes:
        msg = (
            f"The saved model tells {classes} apart, not {positive!r} and {negative!r}; give a "
            "model of the same labels."
        )
        raise TableError(msg)
    data.warnings.append(
        "The saved model is judged on all rows; if it was trained on some of them, it looks better "
        "than it is."
    )
    model = saved
    with suppress(ExportError):  # ours: as data it makes its own costs of the columns of rows
        model = formula_of(saved)

    def predict(test: CleanRows | EvaluationRows, _: Any = None) -> Flags:
        return np.array([str(label) == positive for label in model.predict(test.frame)])

    flagged = predict(made.rows)
    if not (made.own.is_constant and hasattr(saved, "predict_proba")):
        return made.fixed("saved", "saved model", flagged, predict)
    probability = saved.predict_proba(made.rows.frame)[:, classes.index(positive)]
    count = made.flagged_above(break_even(probability, made.own))
    return made.candidate("saved", "saved model", count, flagged, predict)


def _evaluated(data: AuditData, candidate: Candidate, winner: Candidate) -> Candidate:
    """Return a candidate with what it costs, and what the winner saves over it."""
    wide, rows = data.classifier.rate_posterior_, data.rows

    def costs_by(posterior: RatePosterior) -> tuple[Interval, Interval]:
        clean = _clean_cost(data, posterior, candidate.flagged)
        same = candidate.key == winner.key
        return clean, _NOTHING if same else _saving(data, posterior, winner, candidate)

    clean, saving = costs_by(wide)
    likely, saving_if_random = (
        (clean, saving) if data.if_random is wide else costs_by(data.if_random)
    )
    # Its own table of flags, not that of the grid: a saved model may cut elsewhere.
    table = rows.table(candidate.flagged)
    observed = cost_sums(rows.positive, candidate.flagged, rows.costs, rows.weight, table)
    observed = observed.thinned(_design(rows, candidate.flagged, AS_RECORDED))
    return replace(
        candidate,
        share_flagged=float(np.average(candidate.flagged, weights=rows.weight)),
        observed=denoised_mean(observed, None, rows.level),
        clean=clean,
        saving=saving,
        cost_if_random=likely,
        saving_if_random=saving_if_random,
        test=_tested(data, candidate),
    )


def _design(
    rows: EvaluationRows, flagged: Flags, posterior: RatePosterior, labels: Flags | None = None
) -> float:
    """Return the design effect of what flags cost, beyond what their table says."""
    if rows.costs.is_constant:
        return 1.0
    return rows.design(flagged, rows.costs, posterior, labels=labels)


def _tested(data: AuditData, candidate: Candidate) -> Interval | None:
    """Return what flags cost by labels known to be right; None without such labels."""
    rows, test = data.rows, data.test
    if data.truth is not None:
        sums = cost_sums(data.truth, candidate.flagged, rows.costs, rows.weight)
        sums = sums.thinned(_design(rows, candidate.flagged, AS_RECORDED, data.truth))
    elif test is not None:
        of_test = row_prices(data.options.prices, test.frame, "The test table")
        costs = rows.costs if of_test is None else of_test
        flagged = np.asarray(candidate.predict(test, costs), dtype=bool)
        sums = cost_sums(test.positive, flagged, costs)
    else:
        return None
    return denoised_mean(sums, None, rows.level)


def _clean_cost(data: AuditData, posterior: RatePosterior, flagged: Flags) -> Interval:
    """Return what flags cost on clean labels: by checked rows if there are any."""
    rows = data.rows
    return clean_cost(
        rows.positive,
        flagged,
        rows.costs,
        posterior,
        rows.weight,
        table=rows.table(flagged),
        checked=rows.checked,
        probability=data.classifier.oof_probability_,
        flag_design=lambda flagged, posterior: _design(rows, flagged, posterior),
        level=rows.level,
    )


def _saving(
    data: AuditData, posterior: RatePosterior, winner: Candidate, rival: Candidate
) -> Interval:
    """Return what the flags of one save over those of a rival, on the same rows."""
    rows, score = data.rows, data.classifier.oof_probability_
    both = (rows.positive, winner.flagged, rival.flagged)
    if rows.checked is None:
        if rows.costs.is_constant:
            cells = both[0] + 2 * both[1].astype(np.intp) + 4 * both[2]
            design = rows.cell_design(cells)
        else:
            design = rows.design(winner.flagged, rows.costs, posterior, rival.flagged)
        return paired_saving(*both, rows.costs, posterior, rows.weight, rows.level, design)
    expected = given_label(score, rows.positive, posterior.mean)
    low, high = rows.checked.saving_interval(
        positive=rows.positive,
        flagged=winner.flagged,
        rival_flagged=rival.flagged,
        expected=expected,
        score=score,
        costs=rows.costs,
        sample_weight=rows.weight,
        level=rows.level,
    )
    ours, theirs = (_clean_cost(data, posterior, c.flagged).value for c in (winner, rival))
    value = theirs - ours
    return Interval(value, min(low, value), max(high, value))
