"""The classifiers that are compared, each on rows that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from flipcost._validation import check_is_fitted
from flipcost.audit._saved import saved_calls
from flipcost.core.balanced_ridge import is_wide, rotate
from flipcost.core.clean_means import told_costs
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.costs import RowCosts
from flipcost.core.curves import break_even, confusions_at_costs
from flipcost.core.decision import bayes_calls, choose_at_factors
from flipcost.core.dependence import training_rows
from flipcost.core.folds import group_folds, random_folds, usual_folds
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.scoring import fold_confusions, fold_scores
from flipcost.core.solve import solve_path
from flipcost.estimators import (
    FlipCostClassifier,
    NoiseAwareThresholdClassifier,
    UnevenMarginClassifier,
)
from flipcost.estimators.flipcost.boosting import (
    allows_trees,
    boosting_classifier,
    few_folds,
    plain_scores,
)
from flipcost.model import Formula

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._rows import Audited, JudgedRows

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Penalties of the closed form, on standardised features.
_L2S = (0.001, 0.01, 0.1, 1.0, 10.0)
# Answers that are the same for all rows, as people read them.
CONSTANT_LABELS = {"all_positive": "flag all", "all_negative": "flag none"}


@dataclass(frozen=True)
class Candidate:
    """A classifier in the comparison.

    Attributes
    ----------
    key : str
        Its short name, as in ``summary.json``.
    label : str
        Its name for people.
    called : ndarray of bool, shape (n,)
        Training rows that it calls positive at the user's cost, out of fold.
    tables : ConfusionCounts of shape (n_costs, 2, 2)
        Noisy labels against calls, at each cost of the grid.
    predict : callable
        Features and costs of rows to decisions, by the classifier trained on all rows.
    share_called : float
        Share of the rows that it calls positive.
    observed : Interval
        Cost of a row counted with the labels as they are.
    clean : Interval
        Cost of a row on clean labels, the rate integrated out.
    saving : Interval
        What the chosen model saves over this one.
    likely, saving_likely : Interval
        The same two as they are shown first: where labels look right, if mistakes do not follow
        the columns; where nothing can be said of mistakes, by the labels as they are.
    test : Interval or None
        Cost on the test rows, whose labels are clean.
    estimator : estimator or None
        What to fit and save if this one wins.
    paid : ConfusionCounts of shape (n_costs, 2, 2) or None
        The same tables, rows weighed by what a wrong decision would cost in units of its mean;
        None where that is one for all rows.
    """

    key: str
    label: str
    called: Flags
    tables: ConfusionCounts
    predict: Callable[[Any, RowCosts], Flags]
    share_called: float = 0.0
    observed: Interval = field(default=Interval(0.0, 0.0, 0.0))
    clean: Interval = field(default=Interval(0.0, 0.0, 0.0))
    saving: Interval = field(default=Interval(0.0, 0.0, 0.0))
    likely: Interval = field(default=Interval(0.0, 0.0, 0.0))
    saving_likely: Interval = field(default=Interval(0.0, 0.0, 0.0))
    test: Interval | None = None
    estimator: Any = None
    paid: ConfusionCounts | None = None

    def table(self, index: int) -> ConfusionCounts:
        """Return the table at one cost of the grid."""
        return ConfusionCounts(self.tables.counts[index], self.tables.squares[index])


def cost_grid(cost: float) -> tuple[NDArray[np.float64], int]:
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


def compare(
    rows: Audited, classifier: FlipCostClassifier, costs: Array, index: int
) -> list[Candidate]:
    """Return the classifier, which is fitted, and its rivals, on the rows that they are judged on.

    `costs` is the grid of shares of the cost that a false positive bears, with the user's at
    `index`: at each, the costs of misses are multiplied by one factor.
    """
    judged = rows.judged
    found = [_flipcost(_Maker(judged, rows.costs, costs, index), classifier)]
    made = _Maker(judged, rows.costs, costs, index)
    folds = rival_folds(judged, rows.options.seed)
    axes: Array | None = None
    # Of fewer rows than columns there are linear rivals only, which depend on the inner products of
    # the rows alone.
    if is_wide(judged.X):
        rotated, axes = rotate(judged.X)
        made = _Maker(replace(judged, X=rotated), rows.costs, costs, index)
        if judged.ties is None:
            folds = few_folds(folds)
    rivals = [_uncorrected(made, folds, rows.options.prices)]
    rivals += [
        _plain(made, folds, rows.options.prices, plain)
        for plain in plain_models(judged, rows.options.seed)
    ]
    found += [one if axes is None else _turned(one, axes) for one in rivals]
    for key, label in CONSTANT_LABELS.items():
        found.append(made.fixed(key, label, np.full(len(made.positive), key == "all_positive")))
    if is_fitted(rows.options.model):
        found.append(_saved(made, rows))
    return found


def is_fitted(model: Any) -> bool:
    """Tell whether this is a model, not the name of one, and is fitted; a file holds no other."""
    if isinstance(model, Formula):
        return True
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


class _Maker:
    """Make candidates from what they decide at each cost of the grid."""

    def __init__(self, judged: JudgedRows, own: RowCosts, costs: Array, index: int) -> None:
        self.judged, self.own, self.costs, self.index = judged, own, costs, index
        self.positive, self.weight = judged.positive, judged.weight
        ratios = (1 - costs) / costs
        self.factors = ratios / ratios[index]
        miss, alarm = own.mean(self.weight)
        # What a miss and a false alarm on a row cost in units of their means: none where that is
        # one for all rows.
        self.stakes: tuple[Array, Array] | None = None
        if not own.is_constant:
            parts = (own.miss / max(miss, 1e-300), own.alarm / max(alarm, 1e-300))
            self.stakes = (np.maximum(parts[0], 0.0), np.maximum(parts[1], 0.0))

    def weighed(self, stake: Array) -> Array:
        """Return the weights of rows that count by what is at stake on each."""
        return stake if self.weight is None else stake * self.weight

    def candidate(
        self, key: str, label: str, even: Array, called: Flags, predict: Any, estimator: Any = None
    ) -> Candidate:
        """Return a candidate that flags rows at the factors above those that they break even at."""

        def count(weight: Array | None) -> ConfusionCounts:
            return confusions_at_costs(self.positive, -even, -self.factors, weight)

        return self.of_tables(key, label, count, called, predict, estimator)

    def of_tables(
        self,
        key: str,
        label: str,
        count: Callable[[Array | None], ConfusionCounts],
        called: Flags,
        predict: Any,
        estimator: Any = None,
    ) -> Candidate:
        """Return a candidate, given what counts labels against its decisions by weights of rows."""
        tables, paid = count(self.weight), None
        if self.stakes is not None:
            by_miss, by_alarm = (count(self.weighed(stake)) for stake in self.stakes)
            paid = ConfusionCounts(
                *(
                    np.stack([left[..., 0], flagged[..., 1]], axis=-1)
                    for left, flagged in (
                        (by_miss.counts, by_alarm.counts),
                        (by_miss.squares, by_alarm.squares),
                    )
                )
            )
            paid = ConfusionCounts(paid.counts, self._design(called) * paid.squares)
        if self.judged.call_squares is not None:
            # Rows that depend on each other, or stand for others, as at the user's costs.
            plain = ConfusionCounts.from_labels(self.positive, called, self.weight).squares
            known = self.judged.call_squares(called)
            ratio = np.divide(known, plain, out=np.ones((2, 2)), where=plain > 0)
            tables = ConfusionCounts(tables.counts, ratio * tables.squares)
        return Candidate(key, label, called, tables, predict, estimator=estimator, paid=paid)

    def fixed(self, key: str, label: str, called: Flags, predict: Any = None) -> Candidate:
        """Return a candidate whose decisions do not depend on the costs."""
        even = np.where(called, -np.inf, np.inf)
        given = predict or (lambda X, _: np.full(len(X), bool(called[0])))
        return self.candidate(key, label, even, called, given)

    def _design(self, called: Flags) -> float:
        """Return for how many rows one counts in what decisions cost."""
        if self.judged.ties is None:
            return 1.0
        paid = told_costs(self.positive, called, self.own, None)
        return self.judged.ties.mean_design(paid, self.weight, 0.95)


def _flipcost(made: _Maker, model: FlipCostClassifier) -> Candidate:
    """Return the chosen model: its rule, or the constant that beats it, at each cost."""
    eta = model.oof_probability_
    answers = choose_at_factors(
        made.positive,
        eta,
        made.own,
        made.factors,
        model.rate_posterior_,
        made.weight,
        made.judged.checked,
    )
    by_answer = {"rule": break_even(eta, made.own)}
    by_answer |= {
        "all_positive": np.full(len(eta), -np.inf),
        "all_negative": np.full(len(eta), np.inf),
    }

    def count(weight: Array | None) -> ConfusionCounts:
        each = {
            answer: confusions_at_costs(made.positive, -by_answer[answer], -made.factors, weight)
            for answer in set(answers)
        }
        return ConfusionCounts(
            np.stack([each[answer].counts[k] for k, answer in enumerate(answers)]),
            np.stack([each[answer].squares[k] for k, answer in enumerate(answers)]),
        )

    def predict(X: Any, costs: RowCosts) -> Flags:
        given = {} if costs.is_constant else {"prices": costs}
        return np.asarray(model.predict(X, **given) == model.pos_label)

    called = bayes_calls(eta, made.own, answers[made.index])
    return made.of_tables("flipcost", "flipcost model", count, called, predict)


def _uncorrected(made: _Maker, folds: NDArray[Any], costs: Any) -> Candidate:
    """Return the closed form that takes labels as they are, its penalty tuned on them.

    Rows weigh what a mistake on them costs. All costs, penalties and folds come from one pass over
    the rows; another one counts.
    """
    judged, X, positive = made.judged, made.judged.X, made.positive
    grid, by = made.costs, judged.learned_by
    stake = None if made.stakes is None else np.where(positive, *made.stakes)
    weight = stake if by is None else by if stake is None else by * stake
    parts = fold_moments(X, positive, folds, int(folds.max()) + 1, weight)
    training = others_of(judged, parts)
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
    called = fold_scores(X, path[:, index, best[index]][:, None], folds)[0] > 0
    l2, whole = _L2S[best[index]], ClassMoments.merge_all(parts)
    solved = solve_path(whole, [float(grid[index])], [1.0], [l2])[0, 0, 0, 0]
    if stake is not None:  # the estimator counts rows, not what they cost
        rows = len(X) if by is None else float(by.sum())
        l2 *= float(whole.weight.sum()) / rows
    cost = float(grid[index]) if stake is None else costs
    return made.of_tables(
        "ignoring",
        "linear, uncorrected",
        count,
        called,
        lambda X, _: np.asarray(X @ solved[:-1] + solved[-1] > 0),
        UnevenMarginClassifier(cost=cost, l2=l2),
    )


def _plain(made: _Maker, folds: NDArray[Any], costs: Any, plain: PlainModel) -> Candidate:
    """Return a plain classifier, its probabilities cut at the threshold of each row."""
    probability, whole = plain.out_of_fold(made.judged, folds), plain.whole(made.judged)
    cost = float(made.costs[made.index]) if made.own.is_constant else costs
    return made.candidate(
        plain.key,
        plain.label,
        break_even(probability, made.own),
        bayes_calls(probability, made.own),
        lambda X, costs: bayes_calls(whole(X), costs),
        NoiseAwareThresholdClassifier(clone(plain.model), cost=cost),
    )


def _saved(made: _Maker, rows: Audited) -> Candidate:
    """Return a model that was made before, which reads tables."""
    judged, model = made.judged, rows.options.model
    predict = saved_calls(rows, model)
    called = predict(judged.frame)
    if not (made.own.is_constant and hasattr(model, "predict_proba")):
        return made.fixed("saved", "saved model", called, predict)
    place = [str(label) for label in model.classes_].index(rows.labels[1])
    even = break_even(model.predict_proba(judged.frame)[:, place], made.own)
    return made.candidate("saved", "saved model", even, called, predict)


def _turned(candidate: Candidate, axes: Array) -> Candidate:
    """Return a candidate that was fitted to rotated features as one of features."""
    predict = candidate.predict
    return replace(candidate, predict=lambda X, costs: predict(X @ axes, costs))


def others_of(judged: JudgedRows, parts: Sequence[ClassMoments]) -> list[ClassMoments]:
    """Return the moments that score each fold: of all others, or of earlier ones."""
    training = merge_others(parts)
    if judged.ties is not None and judged.ties.forward:
        training[1:] = accumulate(parts[:-1], lambda one, other: one.merge(other))
    return training


@dataclass(frozen=True, eq=False)
class PlainModel:
    """A plain classifier.

    Attributes
    ----------
    key, label : str
        Its short name, and its name for people.
    model : estimator
        Not fitted.
    """

    key: str
    label: str
    model: Any

    def out_of_fold(self, judged: JudgedRows, folds: NDArray[Any]) -> Array:
        """Return the probability that it gives each row without having seen it."""
        by = judged.learned_by
        forward = judged.ties is not None and judged.ties.forward
        if self.key == "boosting":
            known = (judged.X, judged.positive, by, folds)
            return np.asarray(expit(plain_scores(self.model, *known, forward=forward)))
        few = folds if forward else few_folds(folds)
        splits = [
            (training_rows(few, k, forward=forward), np.flatnonzero(few == k))
            for k in range(int(few.max()) + 1)
        ]
        return np.asarray(
            cross_val_predict(
                self.model,
                judged.X,
                judged.positive,
                cv=splits,
                method="predict_proba",
                params=None if by is None else {"sample_weight": by},
            )[:, 1]
        )

    def whole(self, judged: JudgedRows) -> Callable[[Any], Array]:
        """Return what gives the probability of new rows; fitted when it is asked first."""
        fitted: list[Any] = []

        def probability(X: Any) -> Array:
            if not fitted:  # only where there are rows to test on
                model, by = clone(self.model), judged.learned_by
                fitted.append(model.fit(judged.X, judged.positive, sample_weight=by))
            return np.asarray(fitted[0].predict_proba(X)[:, 1])

        return probability


def rival_folds(judged: JudgedRows, seed: int) -> NDArray[np.intp]:
    """Return the folds that rivals are held out by: those of the fit, where rows depend."""
    rng, n_folds = np.random.default_rng(seed), usual_folds(len(judged.positive))
    if judged.ties is None:
        return random_folds(judged.positive, n_folds, rng)
    if judged.ties.folds is None:
        return group_folds(judged.ties.groups, judged.positive, n_folds, rng)
    return judged.ties.folds


def plain_models(judged: JudgedRows, seed: int) -> list[PlainModel]:
    """Return the plain classifiers.

    Boosting only of more rows than columns.
    """
    models = [PlainModel("logistic", "logistic regression", LogisticRegression(max_iter=1000))]
    n_columns = judged.X.shape[1]
    if allows_trees(judged.positive, n_columns):
        trees = boosting_classifier(np.zeros(n_columns, dtype=bool), seed)
        models.append(PlainModel("boosting", "boosting", trees))
    return models
