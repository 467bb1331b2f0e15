"""What linear classifiers fitted by Newton steps share."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from flipcost._validation import check_weights, validate_data
from flipcost.estimators._linear import LinearClassifier


class LinearScoreClassifier(LinearClassifier):
    """Base of classifiers whose coefficients come from Newton steps on the rows."""

    def _prepare(self, X, y, sample_weight):
        """Check the data; return rows, which are positive, and weights or None."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        positive = self._read_labels(y, X.shape[0])
        weight = check_weights(sample_weight, X)
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
        self._orient(np.append(fit.coefficients[:-1], fit.coefficients[-1] - shift))
        self.n_iter_ = fit.n_iter
        self.gradient_norm_ = fit.gradient_norm
        return self
