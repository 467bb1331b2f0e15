"""What many would fit: plain classifiers that take labels as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from flipcost.core.dependence import training_rows
from flipcost.core.folds import group_folds, random_folds, usual_folds
from flipcost.estimators.flipcost.boosting import (
    allows_trees,
    boosting_classifier,
    few_folds,
    plain_scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._rows import JudgedRows

    Array = NDArray[np.float64]


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

    Boosting only of rows that are all at hand, and more of them than columns.
    """
    models = [PlainModel("logistic", "logistic regression", LogisticRegression(max_iter=1000))]
    n_columns = judged.X.shape[1]
    if judged.folds is None and allows_trees(judged.positive, n_columns):
        trees = boosting_classifier(np.zeros(n_columns, dtype=bool), seed)
        models.append(PlainModel("boosting", "boosting", trees))
    return models
