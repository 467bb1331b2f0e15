"""The classifiers that are compared, each judged on rows that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from flipcost._validation import check_is_fitted
from flipcost.audit._plain import PlainModel, plain_models, rival_folds
from flipcost.audit._saved import saved_calls
from flipcost.core.balanced_ridge import is_wide, rotate
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.cost_curves import confusions_at_costs, mean_costs
from flipcost.core.decision import (
    CONSTANTS,
    Answer,
    bayes_calls,
    choose_at_costs,
    count_calls,
    guard,
)
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.scoring import fold_confusions, fold_scores
from flipcost.core.solve import solve_path
from flipcost.estimators import (
    FlipCostClassifier,
    NoiseAwareThresholdClassifier,
    UnevenMarginClassifier,
)
from flipcost.estimators.flipcost.boosting import few_folds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._rows import Audited, JudgedRows

# Penalties of the closed form, on standardised features.
_L2S = (0.001, 0.01, 0.1, 1.0, 10.0)


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
        Features to calls, by the classifier trained on all rows.
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
        Where prices differ by row: the same tables, rows weighed by what a wrong call would cost
        in units of the mean price.
    """

    key: str
    label: str
    called: NDArray[np.bool_]
    tables: ConfusionCounts
    predict: Callable[[Any], NDArray[np.bool_]]
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
    rows: Audited, classifier: FlipCostClassifier, costs: NDArray[np.float64], index: int
) -> list[Candidate]:
    """Return the classifier and its rivals, on the rows that they are judged on.

    Parameters
    ----------
    rows : Audited
        What was read and asked.
    classifier : FlipCostClassifier
        Fitted.
    costs : ndarray
        The grid of costs.
    index : int
        Where the user's cost is among them.

    Returns
    -------
    list of Candidate
        The classifier first.
    """
    judged, model = rows.judged, rows.options.model
    folds = rival_folds(judged, rows.options.seed)
    found = [
        _flipcost(judged, classifier, costs, index),
        *_rivals(judged, folds, costs, index, plain_models(judged, rows.options.seed)),
        _constant(judged, "all_positive", rows.labels[1], len(costs)),
        _constant(judged, "all_negative", rows.labels[0], len(costs)),
    ]
    if is_fitted(model):
        found.append(_saved(rows, model, costs))
    return found


def is_fitted(model: Any) -> bool:
    """Tell whether this is a model, not the name of one, and is fitted."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def others_of(judged: JudgedRows, parts: Sequence[ClassMoments]) -> list[ClassMoments]:
    """Return the moments that score each fold: of all others, or of earlier ones."""
    training = merge_others(parts)
    if judged.ties is not None and judged.ties.forward:
        training[1:] = accumulate(parts[:-1], lambda one, other: one.merge(other))
    return training


def _flipcost(
    judged: JudgedRows, model: FlipCostClassifier, costs: NDArray[np.float64], index: int
) -> Candidate:
    """Return the chosen model: its rule, or the constant that beats it, at each cost."""
    probability = model.oof_probability_
    chosen, tables = _chosen_at(judged, model, costs)

    def predict(X: Any) -> NDArray[np.bool_]:
        return np.asarray(model.predict(X) == model.pos_label)

    called = bayes_calls(probability, costs[index], chosen[index])
    return Candidate("flipcost", "flipcost", called, tables, predict)


def _chosen_at(
    judged: JudgedRows, model: FlipCostClassifier, costs: NDArray[np.float64]
) -> tuple[list[Answer], ConfusionCounts]:
    """Return what is decided at each cost, and the table of it."""
    positive, weight = judged.positive, judged.weight
    probability, posterior = model.oof_probability_, model.rate_posterior_
    if judged.checked is not None:
        answers = choose_at_costs(positive, probability, costs, posterior, judged.checked, weight)
        tables = [
            count_calls(
                positive, bayes_calls(probability, cost, answer), weight, judged.call_squares
            )
            for cost, answer in zip(costs, answers, strict=True)
        ]
        return answers, ConfusionCounts(
            np.stack([table.counts for table in tables]),
            np.stack([table.squares for table in tables]),
        )
    by_answer: dict[Answer, ConfusionCounts] = {
        "rule": confusions_at_costs(positive, probability, costs, weight)
    }
    for name in CONSTANTS:
        calls = np.full(len(positive), name == "all_positive")
        table = ConfusionCounts.from_labels(positive, calls, weight)
        by_answer[name] = _at_all_costs(table, len(costs))
    paid = {name: mean_costs(tables, costs, posterior) for name, tables in by_answer.items()}
    chosen, counts, squares = [], [], []
    for k, cost in enumerate(costs):
        each = {name: Interval(values[k], values[k], values[k]) for name, values in paid.items()}
        answer = guard(probability, cost, each, weight, no_signal=posterior.has_no_signal)
        table = by_answer[answer]
        chosen.append(answer)
        counts.append(table.counts[k])
        squares.append(
            table.squares[k]
            if judged.call_squares is None
            else judged.call_squares(bayes_calls(probability, cost, answer))
        )
    return chosen, ConfusionCounts(np.stack(counts), np.stack(squares))


def _constant(judged: JudgedRows, key: str, label: str, n_costs: int) -> Candidate:
    """Return the candidate that gives the same answer always."""
    everything = key == "all_positive"
    called = np.full(len(judged.positive), everything)
    tables = _at_all_costs(judged.table(called), n_costs)
    return Candidate(
        key, f"always {label!r}", called, tables, lambda X: np.full(len(X), everything)
    )


def _at_all_costs(table: ConfusionCounts, n_costs: int) -> ConfusionCounts:
    """Return the tables of calls that do not depend on the cost."""
    return ConfusionCounts(*(np.tile(a, (n_costs, 1, 1)) for a in (table.counts, table.squares)))


def _ignoring(
    judged: JudgedRows, folds: NDArray[Any], costs: NDArray[np.float64], index: int
) -> Candidate:
    """Return the closed form that takes the labels as they are, its penalty tuned on them.

    All costs, penalties and folds come from one pass over the rows; a second one counts.
    """
    X, positive, weight = judged.X, judged.positive, judged.weight
    parts = judged.parts
    if judged.folds is not None:
        folds = judged.folds
    if parts is None:
        parts = fold_moments(X, positive, folds, int(folds.max()) + 1, judged.learned_by)
    training = others_of(judged, parts)
    path = np.stack([solve_path(m, costs.tolist(), [1.0], _L2S)[:, 0, :, 0] for m in training])
    flat = path.reshape(len(parts), -1, path.shape[-1])
    tables = fold_confusions(X, positive, flat, folds, weight)
    shape = (len(costs), len(_L2S), 2, 2)
    counts, squares = (a.sum(axis=0).reshape(shape) for a in (tables.counts, tables.squares))
    missed, alarms = counts[..., 1, 0], counts[..., 0, 1]
    best = np.argmin((1 - costs)[:, None] * missed + costs[:, None] * alarms, axis=1)
    rows = np.arange(len(costs))
    called = fold_scores(X, path[:, index, best[index]][:, None], folds)[0] > 0
    model = UnevenMarginClassifier(cost=float(costs[index]), l2=_L2S[best[index]])
    model.fit_moments(ClassMoments.merge_all(parts), classes=[False, True])
    picked = ConfusionCounts(counts[rows, best], squares[rows, best])
    again = UnevenMarginClassifier(cost=float(costs[index]), l2=_L2S[best[index]])
    return Candidate(
        "ignoring", "ignoring the noise", called, picked, model.predict, estimator=again
    )


def _rivals(
    judged: JudgedRows,
    folds: NDArray[Any],
    costs: NDArray[np.float64],
    index: int,
    models: list[PlainModel],
) -> list[Candidate]:
    """Return the closed form that ignores noise, and what many would fit: plain classifiers.

    Their probabilities are cut at the cost. Of fewer rows than columns there are linear ones only,
    which depend on the inner products of the rows alone.
    """
    axes: Any = None
    if judged.parts is None and is_wide(judged.X):
        rotated, axes = rotate(judged.X)
        judged = replace(judged, X=rotated)
        if judged.ties is None:
            folds = few_folds(folds)
    found = [_ignoring(judged, folds, costs, index)]
    found += [_cut_at_cost(judged, folds, costs, index, plain) for plain in models]
    if axes is None:
        return found
    return [replace(one, predict=partial(_predict_along, axes, one.predict)) for one in found]


def _predict_along(axes: NDArray[np.float64], predict: Any, X: Any) -> NDArray[np.bool_]:
    return np.asarray(predict(X @ axes))


def _cut_at_cost(
    judged: JudgedRows,
    folds: NDArray[Any],
    costs: NDArray[np.float64],
    index: int,
    plain: PlainModel,
) -> Candidate:
    probability = plain.out_of_fold(judged, folds)
    whole, cost = plain.whole(judged), float(costs[index])

    def predict(X: Any) -> NDArray[np.bool_]:
        return np.asarray(whole(X) > cost)

    return Candidate(
        plain.key,
        plain.label,
        probability > cost,
        confusions_at_costs(judged.positive, probability, costs, judged.weight),
        predict,
        estimator=NoiseAwareThresholdClassifier(clone(plain.model), cost=cost),
    )


def _saved(rows: Audited, model: Any, costs: NDArray[np.float64]) -> Candidate:
    """Return a model that was made before, which reads tables."""
    judged, predict = rows.judged, saved_calls(rows, model)
    called = predict(judged.frame)
    tables = _at_all_costs(
        ConfusionCounts.from_labels(judged.positive, called, judged.weight), len(costs)
    )
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(judged.frame)[
            :, [str(label) for label in model.classes_].index(rows.labels[1])
        ]
        tables = confusions_at_costs(judged.positive, probability, costs, judged.weight)
    return Candidate("saved", "saved model", called, tables, predict)
