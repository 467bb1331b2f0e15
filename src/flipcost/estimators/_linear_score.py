"""What linear classifiers fitted by Newton steps share."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot

from flipcost._validation import (
    check_is_fitted,
    check_weights,
    encode_labels,
    positive_index,
    validate_data,
)


class LinearScoreClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers with a linear score that is positive where they call ``classes_[1]``.

    Subclasses fit coefficients in terms of the positive class, and say in `_positive_eta` what
    probability of it a score in its favour stands for.
    """

    def _prepare(self, X, y, sample_weight):
        """Check the data; return rows, which are positive, and weights or None."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        self.classes_, second = encode_labels(self, y, X.shape[0])
        weight = check_weights(sample_weight, X)
        positive = second if positive_index(self.classes_, self.pos_label) == 1 else ~second
        if weight is not None and not (weight[positive].any() and weight[~positive].any()):
            msg = (
                "Each class must have a row of positive weight to learn from; got one class only. "
                "Check the weights."
            )
            raise ValueError(msg)
        return X, positive, weight

    def _store(self, fit, shift=0.0):
        """Keep a fit, its score lowered by a shift, in scikit-learn's orientation."""
        if not fit.bounded:
            msg = (
                "The classes can be separated, so without a penalty the loss has no minimum: it "
                "falls as coefficients grow without end. They were stopped at a gradient of "
                f"{fit.gradient_norm:.1g}; their probabilities are all near 0 or 1. Give l2 > 0."
            )
            warnings.warn(msg, ConvergenceWarning, 4)
        elif not fit.converged:
            msg = (
                f"Newton steps ended at a gradient of {fit.gradient_norm:.1g}, above the tolerance "
                f"of 1e-8, after {fit.n_iter} steps. Scale the features, or raise l2."
            )
            warnings.warn(msg, ConvergenceWarning, 4)
        self._sign = 1.0 if positive_index(self.classes_, self.pos_label) == 1 else -1.0
        self.coef_ = self._sign * fit.coefficients[None, :-1]
        self.intercept_ = self._sign * (fit.coefficients[-1:] - shift)
        self.n_iter_ = fit.n_iter
        self.gradient_norm_ = fit.gradient_norm
        return self

    def decision_function(self, X):
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
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return np.ravel(safe_sparse_dot(X, self.coef_.T, dense_output=True)) + self.intercept_[0]

    def predict(self, X):
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

    def predict_proba(self, X):
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
        eta = self._positive_eta(self._sign * scores)
        columns = [1 - eta, eta] if self._sign > 0 else [eta, 1 - eta]
        return np.column_stack(columns)

    def _positive_eta(self, scores):
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
