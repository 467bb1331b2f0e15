"""Scores that are pooled by their evidence, out of fold and for new rows.

The closed form at cost 1/2 and margin 1 is the one member of the family that symmetric label noise
only rescales. Here it is solved for several penalties, on the features as they are and on features
that bend, all from the same fold moments. Gradient boosting sees what neither can, and averages of
boosting with a smooth score follow the noise less than boosting alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from flipcost._validation import take_rows
from flipcost.core.dependence import training_rows
from flipcost.core.even import LabelMoments, even_scores, training_moments
from flipcost.core.hinge_moments import hinge_scores, label_moments
from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import ClassMoments, fold_moments
from flipcost.core.scoring import fold_scores, row_scores
from flipcost.core.sparse_scores import dense_scores, sparse_scores
from flipcost.core.wide import is_wide, wide_scores
from flipcost.estimators.flipcost.boosting import (
    allows_trees,
    boosting_scores,
    free_cores,
)
from flipcost.estimators.flipcost.threads import linear_algebra_threads
from flipcost.tables.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Expanded columns: above this the moments cost more than they give.
_MOST_COLUMNS = 100
# Knots of a feature; or as many as make up so many columns, if that is more, but so many at most.
# Of a ring in two columns with 20 % of the labels flipped three knots left 0.080 of the regret of a
# constant, fifteen 0.049.
_KNOTS, _FEW_COLUMNS, _MOST_KNOTS = 3, 40, 15
# Sparse rows of more columns are never turned into a scatter of columns by columns; of dense ones
# of so many columns it is tried without.
_MOST_SCATTERED, _MANY_COLUMNS = 1_000, 500
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

    def collapsed(self, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the coefficients of the chosen scores, and the share of boosting: none."""
        return self.coefficients[which], np.zeros(len(which))


def moment_scores(
    X: Array,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    l2s: Sequence[float],
    *,
    bend: bool,
    forward: bool = False,
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
    forward : bool, default=False
        Whether a fold is scored by earlier ones only.

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
    # Threads bring little to the products of narrow blocks, and wait for each other: beside busy
    # neighbours 300,000 x 20 took 3.2 s of two processors with two threads, 0.2 s with one.
    threads = 1 if X.shape[1] <= _MANY_COLUMNS else free_cores()
    with linear_algebra_threads(threads):
        return _moment_scores(X, positive, weight, folds, l2s, bend=bend, forward=forward)


def _moment_scores(
    X: Array,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    l2s: Sequence[float],
    *,
    bend: bool,
    forward: bool,
) -> tuple[MomentScores, Array]:
    """Learn scores on as many threads as linear algebra has."""
    n_folds, d = int(folds.max()) + 1, X.shape[1]
    if sparse.issparse(X) and d > _MOST_SCATTERED:
        path = sparse_scores(X, positive, folds, n_folds, l2s, weight, forward=forward)
        return MomentScores(plain_basis(d), path[-1]), fold_scores(X, path[:-1], folds)
    basis = bent_basis(X, weight) if bend else plain_basis(d)
    families = [np.arange(d)]
    if basis.n_columns > d:
        families.append(np.arange(basis.n_columns))
    if len(families) == 1 and is_wide(X, l2s):
        training = [training_rows(folds, k, forward=forward) for k in range(n_folds)]
        found, scores = wide_scores(X, positive, weight, folds, l2s, training)
        return MomentScores(basis, found), scores
    if len(families) == 1 and d > _MANY_COLUMNS and not sparse.issparse(X):
        solved = dense_scores(X, positive, folds, n_folds, l2s, weight, forward=forward)
        if solved is not None:
            return MomentScores(basis, solved[-1]), hinge_scores(X, basis, solved[:-1], folds)
    if sparse.issparse(X):
        classes = fold_moments(X, positive, folds, n_folds, weight)
        parts = [LabelMoments.from_classes(part) for part in classes]
    else:
        parts = label_moments(X, basis, positive, folds, n_folds, weight)
    held_out, whole = [], parts[0]
    for k, train in enumerate(training_moments(parts, forward=forward)):
        held_out.append(even_scores(train, families, l2s))
        whole = train.merge(parts[0]) if k == 0 else whole
    scorer = MomentScores(basis, even_scores(whole, families, l2s))
    if sparse.issparse(X):
        return scorer, fold_scores(X, np.stack(held_out), folds)
    return scorer, hinge_scores(X, basis, np.stack(held_out), folds)


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
    16
    """
    return HingeBasis.from_rows(X, knot_count(X.shape[1]), weight)


def knot_count(n_features: int) -> int:
    """Return how many knots each feature may have.

    Examples
    --------
    >>> [knot_count(n) for n in (1, 5, 20, 40, 10_000)]
    [15, 7, 3, 1, 0]
    """
    d = max(n_features, 1)
    usual = min(_KNOTS, _MOST_COLUMNS // d - 1)
    return max(usual, min(_MOST_KNOTS, _FEW_COLUMNS // d - 1), 0)


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
    return even_scores(LabelMoments.from_classes(moments), families, l2s)


@dataclass(frozen=True, eq=False)
class EstimatorScores:
    """The score of any classifier; probabilities are turned to log-odds."""

    estimator: Any

    def score(self, X: Array, which: NDArray[np.intp]) -> Array:  # noqa: ARG002 - there is one
        """Return the score of rows, shape (1, n)."""
        return _real_scores(self.estimator, X)[None, :]


def estimator_scores(
    estimator: Any,
    X: Array,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    *,
    forward: bool = False,
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
    labels, scores = positive.astype(int), np.empty(len(positive))
    for k in range(int(folds.max()) + 1):
        train, test = training_rows(folds, k, forward=forward), np.flatnonzero(folds == k)
        fitted = _fitted(estimator, X, labels, weight, train)
        scores[test] = _real_scores(fitted, take_rows(X, test))
    everywhere = _fitted(estimator, X, labels, weight, np.arange(len(positive)))
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
    return clone(estimator).fit(take_rows(X, rows), labels[rows], **options)


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


@dataclass(frozen=True, eq=False)
class PooledScores:
    """Closed-form scores, boosting, and averages of the two.

    Attributes
    ----------
    smooth : MomentScores
        The closed-form scores, the first ones.
    boosting : TreeSum or None
        The next one, if rows allow it.
    averages : tuple of tuples of int
        Which scores make up each of the last ones.
    location, scale : ndarray
        What standardises the scores that are averaged.
    encoder : Encoder or None
        What columns are to either.
    """

    smooth: MomentScores
    boosting: Any
    averages: tuple[tuple[int, ...], ...]
    location: Array
    scale: Array
    encoder: Encoder | None

    def score(self, X: Any, which: NDArray[np.intp]) -> Array:
        """Return the chosen scores of rows, shape (len(which), n)."""
        n_smooth = len(self.smooth.coefficients)
        parts = {int(m): self._parts(int(m)) for m in which}
        needed = sorted({part for some in parts.values() for part in some})
        found: dict[int, Array] = {}
        smooth = np.array([m for m in needed if m < n_smooth], dtype=np.intp)
        if len(smooth):
            scores = self.smooth.score(self._numbers(X), smooth)
            found.update(zip(smooth.tolist(), scores, strict=True))
        if n_smooth in needed:
            found[n_smooth] = self.boosting_score(X)
        return np.stack([self._combined(found, parts[int(m)]) for m in which])

    def collapsed(self, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return coefficients of the chosen scores, and what boosting's score is multiplied by.

        Averages of standardised scores are linear in these, so one row of coefficients does.
        """
        n_smooth = len(self.smooth.coefficients)
        coefficients = np.zeros((len(which), self.smooth.coefficients.shape[1]))
        share = np.zeros(len(which))
        for row, parts in enumerate(self._parts(int(m)) for m in which):
            single = len(parts) == 1
            for m in parts:
                factor = 1.0 if single else 1 / (len(parts) * self.scale[m])
                coefficients[row, -1] -= 0.0 if single else factor * self.location[m]
                if m < n_smooth:
                    coefficients[row] += factor * self.smooth.coefficients[m]
                else:
                    share[row] += factor
        return coefficients, share

    def boosting_score(self, X: Any) -> Array:
        """Return the score that boosting gives rows, shape (n,)."""
        cells = X if self.encoder is None else self.encoder.cells(X)
        return np.asarray(self.boosting.score(cells))

    def _numbers(self, X: Any) -> Any:
        return X if self.encoder is None else self.encoder.numbers(self.encoder.cells(X))

    def _parts(self, m: int) -> tuple[int, ...]:
        n_single = len(self.smooth.coefficients) + (self.boosting is not None)
        return (m,) if m < n_single else self.averages[m - n_single]

    def _combined(self, scores: dict[int, Array], parts: tuple[int, ...]) -> Array:
        if len(parts) == 1:
            return scores[parts[0]]
        standard = [(scores[m] - self.location[m]) / self.scale[m] for m in parts]
        return np.asarray(np.mean(standard, axis=0))


def pooled_scores(
    X: Any,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    l2s: Sequence[float],
    *,
    bend: bool,
    boost: bool,
    forward: bool = False,
    seed: int = 0,
) -> tuple[PooledScores, Array]:
    """Learn all scores; return what scores new rows, and out-of-fold scores.

    Parameters
    ----------
    X : array, sparse matrix or frame of n rows
        Rows; missing values and categories are allowed.
    positive, weight, folds : arrays of n rows
        Which are positive, their weights or None, and their folds.
    l2s : sequence of floats
        Penalties of the closed form, on standardised features.
    bend, boost : bool
        Whether to add scores of hinge-expanded features, and boosting where rows allow it.
    forward : bool, default=False
        Whether a fold is scored by earlier ones only.
    seed : int, default=0
        Seed of the boosting.

    Returns
    -------
    scorer : PooledScores
    scores : ndarray of shape (n_scores, n)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> positive, folds = X[:, 0] * X[:, 1] > 0, np.arange(300) % 5
    >>> scorer, scores = pooled_scores(X, positive, None, folds, [0.3, 3.0], bend=True, boost=True)
    >>> len(scores), scorer.score(X[:7], np.array([4, 5])).shape
    (8, (2, 7))
    """
    encoder = None if sparse.issparse(X) else Encoder.learn(X, sample_weight=weight)
    cells = X if encoder is None else encoder.cells(X)
    smooth, scores = moment_scores(
        X if encoder is None else encoder.numbers(cells),
        positive,
        weight,
        folds,
        l2s,
        bend=bend and encoder is not None,
        forward=forward,
    )
    boosting = None
    if boost and encoder is not None and allows_trees(positive, cells.shape[1]):
        made = boosting_scores(
            cells,
            encoder.is_category,
            positive,
            weight,
            folds,
            forward=forward,
            seed=seed,
        )
        if made is not None:
            boosting, scores = made[0], np.concatenate([scores, made[1][None]])
    location, scale = _location_and_scale(scores)
    averages = _averages(len(smooth.coefficients), len(l2s)) if boosting is not None else ()
    scorer = PooledScores(smooth, boosting, averages, location, scale, encoder)
    single = dict(enumerate(scores))
    mixed = [scorer._combined(single, parts) for parts in averages]  # noqa: SLF001 - its maker
    return scorer, np.concatenate([scores, mixed]) if mixed else scores


def _location_and_scale(scores: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each score, 1 where it is constant."""
    location, scale = np.empty(len(scores)), np.ones(len(scores))
    off = np.empty(scores.shape[1])
    for m, score in enumerate(scores):  # one by one: no copy of all of them is made
        location[m] = score.mean()
        np.subtract(score, location[m], out=off)
        scale[m] = np.sqrt(np.dot(off, off) / len(off)) or 1.0
    return location, scale


def _averages(n_smooth: int, n_l2s: int) -> tuple[tuple[int, ...], ...]:
    """Average boosting with a light and with a heavy penalty, and with both or a bent score."""
    light, heavy = n_l2s // 2, max(n_l2s - 2, 0)
    third = n_l2s + light if n_smooth > n_l2s else heavy
    chosen = ({light, n_smooth}, {heavy, n_smooth}, {light, third, n_smooth})
    return tuple(tuple(sorted(parts)) for parts in chosen)
