"""The classifiers that are compared, each judged on rows that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.cost_curves import confusions_at_costs
from flipcost.core.decision import bayes_calls, decide
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.scoring import fold_confusions, fold_scores
from flipcost.core.solve import solve_path
from flipcost.estimators import UnevenMarginClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

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
    test : Interval or None
        Cost on the test rows, whose labels are clean.
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
    test: Interval | None = None

    def table(self, index):
        """Return the table at one cost of the grid."""
        return ConfusionCounts(self.tables.counts[index], self.tables.squares[index])


def cost_grid(cost):
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


def flipcost_candidate(model, positive, weight, costs, index, call_squares=None):
    """Return the chosen model: its rule, or the constant that beats it, at each cost.

    Where the rows stand for more of them, `call_squares` gives the squared weights of the table
    that calls of these rows make.
    """
    probability = model.oof_probability_
    decisions = [
        decide(
            positive, probability, cost, model.rate_posterior_, weight, call_squares=call_squares
        )
        for cost in costs
    ]
    tables = [decision.table for decision in decisions]

    def predict(X):
        return model.predict(X) == model.pos_label

    return Candidate(
        "flipcost",
        "flipcost",
        bayes_calls(probability, costs[index], decisions[index].chosen),
        ConfusionCounts(
            np.stack([table.counts for table in tables]),
            np.stack([table.squares for table in tables]),
        ),
        predict,
    )


def constant_candidate(positive, weight, costs, *, everything, name, call_squares=None):
    """Return the candidate that gives the same answer always."""
    called = np.full(len(positive), everything)
    one = ConfusionCounts.from_labels(positive, called, weight)
    if call_squares is not None:
        one = ConfusionCounts(one.counts, call_squares(called))
    tables = ConfusionCounts(*(np.tile(a, (len(costs), 1, 1)) for a in (one.counts, one.squares)))
    key = "all_positive" if everything else "all_negative"
    label = f"always {name!r}"
    return Candidate(key, label, called, tables, lambda X: np.full(len(X), everything))


def ignoring_candidate(X, positive, weight, folds, costs, index, parts=None):
    """Return the closed form that takes the labels as they are, its penalty tuned on them.

    All costs, penalties and folds come from one pass over the rows; a second one counts. Where the
    rows are a sample, `parts` are the moments of the folds of all rows.
    """
    if parts is None:
        parts = fold_moments(X, positive, folds, int(folds.max()) + 1, weight)
    n_folds = len(parts)
    path = np.stack([solve_path(m, costs, [1.0], _L2S)[:, 0, :, 0] for m in merge_others(parts)])
    flat = path.reshape(n_folds, -1, path.shape[-1])
    tables = fold_confusions(X, positive, flat, folds, weight)
    shape = (len(costs), len(_L2S), 2, 2)
    counts, squares = (a.sum(axis=0).reshape(shape) for a in (tables.counts, tables.squares))
    missed, alarms = counts[..., 1, 0], counts[..., 0, 1]
    share = np.asarray(costs)[:, None]
    best = np.argmin((1 - share) * missed + share * alarms, axis=1)
    rows = np.arange(len(costs))
    called = fold_scores(X, path[:, index, best[index]][:, None], folds)[0] > 0
    model = UnevenMarginClassifier(cost=float(costs[index]), l2=_L2S[best[index]])
    model.fit_moments(ClassMoments.merge_all(parts), classes=[False, True])
    picked = ConfusionCounts(counts[rows, best], squares[rows, best])
    return Candidate("ignoring", "ignoring the noise", called, picked, model.predict)


def logistic_candidate(X, positive, weight, folds, costs, index):
    """Return plain logistic regression, its probability cut at the cost."""
    model = LogisticRegression(max_iter=1000)
    probability = np.empty(len(positive))
    for k in range(int(folds.max()) + 1):
        train, test = folds != k, folds == k
        options = {} if weight is None else {"sample_weight": weight[train]}
        fitted = clone(model).fit(X[train], positive[train], **options)
        probability[test] = fitted.predict_proba(X[test])[:, 1]
    model.fit(X, positive, sample_weight=weight)
    cost = float(costs[index])
    return Candidate(
        "logistic",
        "logistic regression",
        probability > cost,
        confusions_at_costs(positive, probability, costs, weight),
        lambda X: model.predict_proba(X)[:, 1] > cost,
    )


def saved_candidate(probability, called, predict, positive, weight, costs):
    """Return a model that was made before; rows that it was trained on flatter it."""
    if probability is None:
        one = ConfusionCounts.from_labels(positive, called, weight)
        tables = ConfusionCounts(
            *(np.tile(a, (len(costs), 1, 1)) for a in (one.counts, one.squares))
        )
    else:
        tables = confusions_at_costs(positive, probability, costs, weight)
    return Candidate("saved", "saved model", called, tables, predict)
