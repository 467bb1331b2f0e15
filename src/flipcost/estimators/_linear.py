"""What linear classifiers share: scoring rows with coefficients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot

from flipcost._validation import check_is_fitted, positive_index, validate_data
from flipcost.core.arrays import Array
from flipcost.core.losses import uneven_squared
from flipcost.estimators._binary import BinaryClassifier


class LinearClassifier(BinaryClassifier, ABC):
    """Base of classifiers with a linear score.

    Subclasses find coefficients in terms of the positive class, and say in `_positive_eta` what
    probability of it a score in its favour stands for.
    """

    def _orient(self, coefficients):
        """Keep coefficients in scikit-learn's orientation: a positive score means classes_[1]."""
        self._index = positive_index(self.classes_, self.pos_label)
        self._sign = 1.0 if self._index == 1 else -1.0
        self.coef_ = self._sign * coefficients[None, :-1]
        self.intercept_ = self._sign * coefficients[-1:]

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row; above zero it is called ``classes_[1]``.

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
        return np.ravel(safe_sparse_dot(X, self.coef_.T, dense_output=True)) + self.intercept_[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row; a score of zero is called negative.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self.decision_function(X)
        positive = self._sign * scores > 0
        return self.classes_[(positive == (self._sign > 0)).astype(np.intp)]

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
        scores = self.decision_function(X)
        return self._columns(self._positive_eta(self._sign * scores))

    @abstractmethod
    def _positive_eta(self, scores: Array) -> Array:
        """Return the probability of the positive class that scores in its favour stand for."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearMomentsClassifier(LinearClassifier):
    """Base of the closed-form classifiers, whose coefficients come from class moments."""

    def _store(self, solution, cost, margin):
        self._cost, self._margin = cost, margin
        self._orient(solution)

    def _positive_eta(self, scores: Array) -> Array:
        return uneven_squared(self._cost, self._margin).inverse_link(scores)
