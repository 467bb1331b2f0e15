"""What classifiers of two classes share: labels, linear scores, wrapping, tables, seeds, folds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_random_state, column_or_1d, get_tags
from sklearn.utils.validation import has_fit_parameter

from flipcost._validation import (
    Hidden,
    check_is_fitted,
    check_weights,
    encode_labels,
    positive_index,
    validate_data,
)
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.costs import Costs, takes_prices
from flipcost.core.folds import group_folds, random_folds, stratified_folds
from flipcost.core.noise import NoiseRate
from flipcost.core.scoring import AdditiveScores, HingeBasis
from flipcost.tables.scan import scan_dask
from flipcost.tables.source import Table

# What `_parameter_constraints` say of the parameters that many of them have.
COST_AND_RATE = {
    "cost": [Real, Costs, Hidden(dict)],  # the last is refused with a hint
    "noise_rate": [Real, "array-like", NoiseRate, None],
    "pos_label": "no_validation",
}


class BinaryClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers of two classes, one of which is the positive one.

    Subclasses have the parameter `pos_label`.
    """

    _index = 1

    @property
    def _sign(self) -> float:
        """What turns scores in favour of the positive class into those of ``classes_[1]``."""
        return 1.0 if self._index == 1 else -1.0

    def _read_labels(self, y: Any, n_rows: int, classes: Any = None) -> Flags:
        """Keep the classes, and which of them is positive; return which labels are."""
        self.classes_, second = encode_labels(self, y, n_rows, classes)
        self._index = positive_index(self.classes_, self.pos_label)
        return second if self._index == 1 else ~second

    def _table_labels(self, table: Table, labels: Any) -> Any:
        """Keep the labels of a table as classes, and return the positive one."""
        classes = sorted(labels)
        self.classes_ = np.array(classes)
        positive = classes[positive_index(self.classes_, self.pos_label)]
        if table.positive is not None and table.positive != positive:
            msg = (
                f"`pos_label` must be the positive label of the table, {table.positive!r}; got "
                f"{self.pos_label!r}, which means {positive!r}. Set pos_label={table.positive!r}."
            )
            raise ValueError(msg)
        return positive

    def _classes_of(self, positive: Flags) -> NDArray[Any]:
        """Return the labels of rows that are, or are not, flagged as positive."""
        return self.classes_[np.where(positive, self._index, 1 - self._index)]

    def _columns(self, eta: Array) -> Array:
        """Lay out the probabilities of the positive class as scikit-learn does."""
        both = np.empty((len(eta), 2))
        both[:, self._index] = eta
        np.subtract(1.0, eta, out=both[:, 1 - self._index])
        return both

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearClassifier(BinaryClassifier, ABC):
    """Base of classifiers with a linear score.

    Subclasses find coefficients in terms of the positive class, and say in `_positive_eta` what
    probability of it a score in its favour represents.
    """

    def _orient(self, coefficients: Array) -> None:
        """Keep coefficients in scikit-learn's orientation: a positive score means classes_[1]."""
        self._index = positive_index(self.classes_, self.pos_label)
        self.coef_ = self._sign * coefficients[None, :-1]
        self.intercept_ = self._sign * coefficients[-1:]

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row; above zero it is labelled ``classes_[1]``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric")
        # A row gets the same score whichever rows come with it.
        basis = HingeBasis.linear(X.shape[1])
        return AdditiveScores(basis, self.coef_, self.intercept_).score(X)[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row; a score of zero is labelled negative.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._classes_of(self._sign * self.decision_function(X) > 0)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class; the class docstring says of which labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        # Of the linear score, even where decisions depend on costs by row.
        scores = LinearClassifier.decision_function(self, X)
        return self._columns(self._positive_eta(self._sign * scores))

    @abstractmethod
    def _positive_eta(self, scores: Array) -> Array:
        """Return the probability of the positive class that scores in its favour stand for."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class WrappingClassifier(MetaEstimatorMixin, BinaryClassifier):
    """Base of classifiers that threshold the probabilities of an inner one.

    X goes to the inner estimator as it came, so that a pipeline finds its columns. Subclasses give
    `_inner`, the unfitted inner estimator, and set `_cut`, the threshold on the probability of the
    class `_index`.
    """

    _cut = 0.5

    def _prepare(self, X, y, sample_weight):
        """Check the labels; return them, which are positive, and weights or None."""
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if len(shape) == 0 or 0 in shape:
            check_array(X, accept_sparse=True)  # says what is wrong
        positive = self._read_labels(y, shape[0])
        weight = check_weights(sample_weight, positive[:, None])
        inner = self._inner()
        if not hasattr(inner, "predict_proba"):
            msg = (
                "`estimator` must have `predict_proba`; got "
                f"{type(inner).__name__}, which has none as it is set."
            )
            raise TypeError(msg)
        return column_or_1d(y), positive, weight

    def _inner_eta(self, X: Any) -> Array:
        """Return the inner estimator's probability of the positive class."""
        check_is_fitted(self)
        inner = self.estimator_
        column = int(np.flatnonzero(inner.classes_ == self.classes_[self._index])[0])
        return np.asarray(inner.predict_proba(X), dtype=float)[:, column]

    def decision_function(self, X: Any) -> Array:
        """Return the inner probability less its threshold, positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._sign * (self._inner_eta(X) - self._cut)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row; one that is at the threshold is labelled negative.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._classes_of(self._inner_eta(X) > self._cut)

    @property
    def n_features_in_(self) -> int:
        """Number of features that the inner estimator saw."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, when the inner estimator saw them."""
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.input_tags = inner.input_tags
        return tags


def weight_params(estimator: Any, sample_weight: Any) -> dict[str, Any]:
    """Return weights under the name by which an estimator's fit takes them.

    A pipeline takes them for its last step.
    """
    if sample_weight is None:
        return {}
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": sample_weight}
    steps = getattr(estimator, "steps", None)
    if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
        return {f"{steps[-1][0]}__sample_weight": sample_weight}
    msg = (
        f"{type(estimator).__name__} takes no sample weights. Leave them out, or choose another "
        "estimator."
    )
    raise TypeError(msg)


class PricedScoreMixin:
    """Predict at the costs of the rows, where these differ, when scored."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> float:
        """Return the accuracy, labels taken as they are.

        Money has its scorer, `flipcost.metrics.cost_scorer`, which corrects for label errors too.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each of these rows cost, as in `predict` where it takes them: decisions
            depend on it, their score does not.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        given = {"prices": prices} if prices is not None and takes_prices(self) else {}
        flagged = self.predict(X, **given)  # type: ignore[attr-defined]
        return float(accuracy_score(y, flagged, sample_weight=sample_weight))


def dask_table(X: Any, y: Any, sample_weight: Any, **beside: Any) -> Table | None:
    """Return a Dask collection with its labels as a table, and None for other rows.

    What else came with the rows, by name, is refused: a table holds none of it.
    """
    if type(X).__module__.partition(".")[0] != "dask":  # without importing Dask
        return None
    for name, values in beside.items():
        if values is not None:
            msg = (
                f"`{name}` is of rows in memory, and a Dask collection is not: learn from a sample "
                "of its rows, or give `fit_table` a table, which has roles for columns."
            )
            raise ValueError(msg)
    return scan_dask(X, y, sample_weight=sample_weight)


def check_table(table: Any, cost: Any = None) -> None:
    """Refuse what is not a table, and costs by row where class moments are all that is kept."""
    if not isinstance(table, Table):
        msg = (
            f"`table` must be made by one of flipcost.scale's scan functions; got "
            f"{type(table).__name__}. For rows in memory use `fit`."
        )
        raise TypeError(msg)
    if isinstance(cost, Costs) and cost.is_by_row:
        msg = (
            "Costs that differ by row need rows in memory, not a table: moments by class do not "
            "tell what their rows cost. Give one cost, or learn from a sample of the rows."
        )
        raise ValueError(msg)


def name_features(estimator: Any, names: Any) -> None:
    """Keep the names of the features as scikit-learn does."""
    vars(estimator).pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def generator(random_state: Any) -> np.random.Generator:
    """Return a numpy generator from what scikit-learn takes as a seed."""
    seeds = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seeds)


def fold_numbers(cv: Any, codes: Any, rng: Any, groups: Any = None) -> Indices:
    """Return the fold of each row: random and stratified for a number, else as the splitter says.

    Parameters
    ----------
    cv : int, splitter or iterable
        Folds. Test sets must partition the rows, since rows are held out fold by fold.
    codes : ndarray of shape (n,)
        Class numbers.
    rng : numpy.random.Generator
        Where folds come from when `cv` is a number.
    groups : ndarray of shape (n,), optional
        For splitters that take groups.
    """
    n_rows = len(codes)
    if isinstance(cv, Integral):
        if not 2 <= int(cv) <= n_rows:
            msg = f"`cv` must be at least 2 and at most the number of rows, {n_rows}; got {cv}."
            raise ValueError(msg)
        return random_folds(codes, int(cv), rng)
    folds, _ = folds_or_splits(cv, codes, groups)
    if folds is None:
        msg = (
            "The test sets of `cv` must partition the rows, each trained on all the others; got "
            "splits that do not. Give a number of folds, or a splitter such as KFold."
        )
        raise ValueError(msg)
    return folds


def folds_or_splits(cv: Any, codes: Any, groups: Any = None) -> Any:
    """Return the fold of each row when test sets partition the rows, and any other splits as such.

    A number represents stratified folds in order of the rows, or of groups. Splits are pairs of
    places of rows to train on and to test on.
    """
    if isinstance(cv, Integral):
        folds = stratified_folds(codes, int(cv))  # says what is wrong with the number
        if groups is None:
            return folds, None
        return group_folds(groups, codes, int(cv), np.random.default_rng(0)), None
    every = np.arange(len(codes))
    found = check_cv(cv, codes, classifier=True).split(np.empty((len(codes), 0)), codes, groups)
    splits = [(every[train], every[test]) for train, test in found]
    folds = np.full(len(codes), -1)
    for k, (_, test) in enumerate(splits):
        folds[test] = k
    if sum(len(test) for _, test in splits) == len(codes) and all(
        np.array_equal(np.sort(train), np.flatnonzero(folds != k))
        for k, (train, _) in enumerate(splits)
    ):
        return folds, None
    return None, splits
