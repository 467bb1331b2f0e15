"""Scores whose ordering symmetric noise leaves alone, out of fold and for new rows.

The closed form at cost 1/2 and margin 1 is the one member of the family that symmetric label noise
only rescales. Here it is solved for several penalties, on the features as they are and on features
that bend, all from the same fold moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.scoring import fold_scores, row_scores
from flipcost.core.solve import solve_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Rows are expanded in chunks, so that no expanded copy of X is made.
_CHUNK_ROWS = 8_192
# Expanded columns: above this the moments cost more than they give.
_MOST_COLUMNS = 100
_MOST_KNOTS = 3
# Probabilities are cut here before they become log-odds, so that a sure answer is a finite score.
_SUREST = 1e-6


@dataclass(frozen=True, eq=False)
class MomentScores:
    """Closed-form scores at several penalties, linear and bent.

    Attributes
    ----------
    basis : HingeBasis
        What rows are expanded by.
    coefficients : ndarray of shape (n_scores, n_columns + 1)
        Learned from all rows, in their units, bias last.
    """

    basis: HingeBasis
    coefficients: Array

    def score(self, X: Array, which: NDArray[np.intp]) -> Array:
        """Return the chosen scores of rows, shape (len(which), n)."""
        coefficients, d = self.coefficients[which], self.basis.n_features
        if coefficients[:, d:-1].any():
            return row_scores(X, coefficients, self.basis.expand)
        return row_scores(X, coefficients[:, [*range(d), -1]])


def moment_scores(
    X: Array,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    l2s: Sequence[float],
    *,
    bend: bool,
) -> tuple[MomentScores, Array]:
    """Learn scores from one pass over rows; return what scores new rows, and out-of-fold scores.

    Parameters
    ----------
    X, positive, weight, folds : arrays of n rows
        Rows, which are positive, their weights or None, and their folds.
    l2s : sequence of floats
        Penalties, on standardised features.
    bend : bool
        Whether to add scores of hinge-expanded features.

    Returns
    -------
    scorer : MomentScores
    scores : ndarray of shape (n_scores, n)

    Examples
    --------
    >>> X, positive = np.arange(8.0)[:, None], np.arange(8) % 3 > 0
    >>> scorer, scores = moment_scores(X, positive, None, np.arange(8) % 2, [0.1, 1.0], bend=False)
    >>> scores.shape, scorer.score(X[:3], np.array([1])).shape
    ((2, 8), (1, 3))
    """
    n_folds, d = int(folds.max()) + 1, X.shape[1]
    basis = bent_basis(X, weight) if bend else plain_basis(d)
    families = [np.arange(d)]
    if basis.n_columns > d:
        families.append(np.arange(basis.n_columns))
    buffer = np.empty((min(_CHUNK_ROWS, len(X)), basis.n_columns))
    parts = [ClassMoments.zeros(basis.n_columns)] * n_folds
    for start in range(0, len(X), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        more = fold_moments(
            basis.expand(X[rows], buffer),
            positive[rows],
            folds[rows],
            n_folds,
            None if weight is None else weight[rows],
        )
        parts = [a.merge(b) for a, b in zip(parts, more, strict=True)]
    others = merge_others(parts)
    held_out = np.stack([solve_scores(train, families, l2s) for train in others])
    scorer = MomentScores(basis, solve_scores(parts[0].merge(others[0]), families, l2s))
    return scorer, fold_scores(X, held_out, folds, basis.expand)


def plain_basis(n_features: int) -> HingeBasis:
    """Return the basis that leaves rows as they are.

    Examples
    --------
    >>> plain_basis(3).n_columns
    3
    """
    return HingeBasis(n_features, np.empty(0, np.intp), np.empty(0))


def bent_basis(X: Array, weight: Array | None) -> HingeBasis:
    """Place as many knots on each feature as the number of columns allows.

    Examples
    --------
    >>> bent_basis(np.arange(40.0)[:, None], None).n_columns
    4
    """
    knots = min(_MOST_KNOTS, _MOST_COLUMNS // max(X.shape[1], 1) - 1)
    return HingeBasis.from_rows(X, max(knots, 0), weight)


def solve_scores(
    moments: ClassMoments, families: Sequence[NDArray[np.intp]], l2s: Sequence[float]
) -> Array:
    """Return coefficients in the units of the rows, one score a row, bias last.

    Examples
    --------
    >>> moments = ClassMoments.from_rows(np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1])
    >>> solve_scores(moments, [np.arange(1)], [1e-9]).round(3)
    array([[ 0.8, -1.2]])
    """
    centre, spread = moments.centre(), moments.spread()
    scaled = moments.rescale(centre, spread)
    solutions = []
    for columns in families:
        path = solve_path(scaled.take(columns), [0.5], [1.0], l2s)[0, 0, :, 0]
        full = np.zeros((len(path), moments.n_features + 1))
        full[:, columns] = path[:, :-1] / spread[columns]
        full[:, -1] = path[:, -1] - full[:, :-1] @ centre
        solutions.append(full)
    return np.concatenate(solutions)


@dataclass(frozen=True, eq=False)
class EstimatorScores:
    """The score of any classifier; probabilities are turned to log-odds."""

    estimator: Any

    def score(self, X: Array, which: NDArray[np.intp]) -> Array:  # noqa: ARG002 - there is one
        """Return the score of rows, shape (1, n)."""
        return _real_scores(self.estimator, X)[None, :]


def estimator_scores(
    estimator: Any, X: Array, positive: Flags, weight: Array | None, folds: NDArray[np.intp]
) -> tuple[EstimatorScores, Array]:
    """Fit a classifier on each training part and on all rows; return it, and out-of-fold scores.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, positive = np.arange(8.0)[:, None], np.arange(8) % 3 > 0
    >>> scorer, scores = estimator_scores(GaussianNB(), X, positive, None, np.arange(8) % 2)
    >>> scores.shape
    (1, 8)
    """
    labels, scores = positive.astype(int), np.empty(len(X))
    for k in range(int(folds.max()) + 1):
        train, test = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
        scores[test] = _real_scores(_fitted(estimator, X, labels, weight, train), X[test])
    everywhere = _fitted(estimator, X, labels, weight, np.arange(len(X)))
    return EstimatorScores(everywhere), scores[None, :]


def _fitted(
    estimator: Any,
    X: Array,
    labels: NDArray[np.int_],
    weight: Array | None,
    rows: NDArray[np.intp],
) -> Any:
    options = {}
    if weight is not None:
        if not has_fit_parameter(estimator, "sample_weight"):
            msg = (
                f"{type(estimator).__name__} must take `sample_weight` in `fit` when "
                "weights are given; leave them out, or choose another estimator."
            )
            raise ValueError(msg)
        options["sample_weight"] = weight[rows]
    return clone(estimator).fit(X[rows], labels[rows], **options)


def _real_scores(model: Any, X: Array) -> Array:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    if not hasattr(model, "predict_proba"):
        msg = (
            f"`estimator` must have `decision_function` or `predict_proba`; "
            f"{type(model).__name__} has neither."
        )
        raise TypeError(msg)
    return np.asarray(logit(np.clip(model.predict_proba(X)[:, 1], _SUREST, 1 - _SUREST)))
