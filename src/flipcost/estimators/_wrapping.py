"""What classifiers around another classifier share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import check_array, column_or_1d, get_tags
from sklearn.utils.validation import has_fit_parameter

from flipcost._validation import check_is_fitted, check_weights
from flipcost.core.arrays import Array
from flipcost.estimators._binary import BinaryClassifier


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
        excess = self._inner_eta(X) - self._cut
        return excess if self._index == 1 else -excess

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row; one that is at the threshold is called negative.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.

        Returns
        -------
        ndarray of shape (n,)
        """
        positive = self._inner_eta(X) - self._cut > 0
        return self.classes_[np.where(positive, self._index, 1 - self._index)]

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
        f"{type(estimator).__name__} takes no sample weights. Leave them out, choose another "
        "estimator, or draw rows (mode='undersample') in place of weighing them."
    )
    raise TypeError(msg)


def take_rows(X: Any, index: Any) -> Any:
    """Return some rows of an array, sparse matrix or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "tocsr"):
        return X.tocsr()[index]
    if hasattr(X, "shape"):
        return X[index]
    return np.asarray(X)[index]
