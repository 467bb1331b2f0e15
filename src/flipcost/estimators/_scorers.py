"""Scores whose ordering symmetric noise leaves alone, out of fold and for new rows.

The closed form at cost 1/2 and margin 1 is the one member of the family that symmetric label noise
only rescales. Here it is solved for several penalties, on the features as they are and on features
that bend, all from the same fold moments.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.scoring import fold_scores
from flipcost.core.solve import solve_path

# Rows are expanded in chunks, so that no expanded copy of X is made.
_CHUNK_ROWS = 8_192
# Expanded columns: above this the moments cost more than they give.
_MOST_COLUMNS = 100
_MOST_KNOTS = 3


class MomentScores:
    """Closed-form scores at several penalties, linear and bent, from one pass over fold moments.

    Parameters
    ----------
    l2s : sequence of floats
        Penalties, on standardised features.
    bend : bool
        Whether to add scores of hinge-expanded features.
    """

    def __init__(self, l2s, *, bend):
        self.l2s = tuple(l2s)
        self.bend = bend

    def fit(self, X, positive, weight, folds, n_folds):
        """Return out-of-fold scores of shape (n_scores, n), and keep what scores new rows."""
        d = X.shape[1]
        knots = min(_MOST_KNOTS, _MOST_COLUMNS // max(d, 1) - 1) if self.bend else 0
        self.basis_ = HingeBasis.from_rows(X, max(knots, 0), weight)
        families = [np.arange(d)]
        if self.basis_.n_columns > d:
            families.append(np.arange(self.basis_.n_columns))

        buffer = np.empty((min(_CHUNK_ROWS, len(X)), self.basis_.n_columns))
        parts = [ClassMoments.zeros(self.basis_.n_columns)] * n_folds
        for rows in _chunks(len(X)):
            more = fold_moments(
                self.basis_.expand(X[rows], buffer),
                positive[rows],
                folds[rows],
                n_folds,
                None if weight is None else weight[rows],
            )
            parts = [a.merge(b) for a, b in zip(parts, more, strict=True)]
        others = merge_others(parts)
        held_out = np.stack([self._solve(train, families) for train in others])
        self.coefficients_ = self._solve(parts[0].merge(others[0]), families)

        return fold_scores(X, held_out, folds, self.basis_.expand)

    def _solve(self, moments, families):
        """Return coefficients in the units of the rows, one score a row, bias last."""
        centre, spread = moments.centre(), moments.spread()
        scaled = moments.rescale(centre, spread)
        solutions = []
        for columns in families:
            path = solve_path(scaled.take(columns), [0.5], [1.0], self.l2s)[0, 0, :, 0]
            full = np.zeros((len(self.l2s), moments.n_features + 1))
            full[:, columns] = path[:, :-1] / spread[columns]
            full[:, -1] = path[:, -1] - full[:, :-1] @ centre
            solutions.append(full)
        return np.concatenate(solutions)

    def score(self, X, which):
        """Return the chosen scores of rows, shape (len(which), n)."""
        coefficients, d = self.coefficients_[which], self.basis_.n_features
        if coefficients[:, d:-1].any():
            return fold_scores(X, coefficients[None], expand=self.basis_.expand)
        return fold_scores(X, coefficients[None][..., [*range(d), -1]])


class EstimatorScores:
    """The scores of any classifier, out of fold; probabilities are turned to log-odds."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, labels, weight, folds, n_folds):
        """Return out-of-fold scores of shape (1, n), and keep the classifier of all rows."""
        scores = np.empty(len(labels))
        for k in range(n_folds):
            train, test = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
            scores[test] = _real_scores(self._fit(X, labels, weight, train), X[test])
        self.estimator_ = self._fit(X, labels, weight, np.arange(len(labels)))
        return scores[None, :]

    def _fit(self, X, labels, weight, rows):
        options = {}
        if weight is not None:
            if not has_fit_parameter(self.estimator, "sample_weight"):
                msg = (
                    f"{type(self.estimator).__name__} must take `sample_weight` in `fit` when "
                    "weights are given; leave them out, or choose another estimator."
                )
                raise ValueError(msg)
            options["sample_weight"] = weight[rows]
        return clone(self.estimator).fit(X[rows], labels[rows], **options)

    def score(self, X, which):  # noqa: ARG002 - there is one score
        """Return the score of rows, shape (1, n)."""
        return _real_scores(self.estimator_, X)[None, :]


def _real_scores(model, X):
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    if not hasattr(model, "predict_proba"):
        msg = (
            f"`estimator` must have `decision_function` or `predict_proba`; "
            f"{type(model).__name__} has neither."
        )
        raise TypeError(msg)
    return logit(np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6))


def _chunks(n):
    for start in range(0, n, _CHUNK_ROWS):
        yield slice(start, min(start + _CHUNK_ROWS, n))
