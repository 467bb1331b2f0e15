"""Mergeable histograms of scores by fold, classifier and label.

Conventions
-----------
Bins are of equal width between ``low`` and ``high`` of each classifier; scores beyond go to the
first and the last. Each bin keeps the sum of its scores too, so that its rows can be represented by
their mean: what is then computed from bins instead of rows is wrong by the square of a bin's width
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags
from flipcost.core.moments import ClassMoments
from flipcost.core.scoring import score_parts


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """Weight of the rows in each bin of their score, by fold, classifier and label.

    Parameters
    ----------
    low, high : ndarray of shape (n_classifiers,)
        Limits of the bins of each classifier.
    weight : ndarray of shape (n_folds, n_classifiers, n_bins, 2)
        Weight of the rows, negative label first.
    squares : ndarray of the same shape
        Sum of their squared weights; equal to ``weight`` when rows weigh one.
    scores : ndarray of the same shape
        Sum of weight times score.

    Examples
    --------
    >>> X = np.array([[-3.0], [-1.0], [1.0], [3.0]])
    >>> histogram = ScoreHistogram.from_rows(
    ...     X, [False, False, True, True], [[[1.0, 0.0]]], low=-4, high=4, n_bins=2
    ... )
    >>> histogram.weight[0, 0]
    array([[2., 0.],
           [0., 2.]])
    >>> histogram.means()[0, 0]
    array([[-2., -2.],
           [ 2.,  2.]])
    """

    low: Array
    high: Array
    weight: Array
    squares: Array
    scores: Array

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return int(self.weight.shape[2])

    @classmethod
    def from_rows(
        cls,
        X: Any,
        positive: ArrayLike,
        coefficients: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        n_bins: int = 512,
        folds: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> ScoreHistogram:
        """Score rows by the classifiers of their own fold and count them in bins.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows.
        positive : array-like of bool, shape (n,)
            Which rows are of the positive class.
        coefficients : array-like of shape (n_folds, n_classifiers, d + 1)
            Coefficients with the bias last; a row of fold k is scored by ``coefficients[k]``.
        low, high : float or array-like of shape (n_classifiers,)
            Limits of the bins.
        n_bins : int, default=512
            Number of bins.
        folds : array-like of int, shape (n,), optional
            Fold of each row; all are of fold 0 when it is not given.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        """
        path = np.asarray(coefficients, dtype=float)
        n_folds, n_classifiers = path.shape[:2]
        limits = _check_limits(low, high, n_bins, n_classifiers)
        labels = np.asarray(positive, dtype=bool)
        w = None if sample_weight is None else np.asarray(sample_weight, float)
        sums = np.zeros((3, n_folds, n_classifiers, n_bins * 2))
        for part in score_parts(X, path, folds):
            scores = (part.scores + part.bias).T
            weight = None if w is None else w[part.rows]
            _add(sums[:, part.fold], scores, labels[part.rows], weight, limits)
        shaped = sums.reshape(3, n_folds, n_classifiers, n_bins, 2)
        return cls(limits[0], limits[1], *shaped)

    @classmethod
    def from_scores(
        cls,
        scores: Array,
        positive: Flags,
        low: ArrayLike,
        high: ArrayLike,
        n_bins: int,
        sample_weight: Array | None = None,
    ) -> ScoreHistogram:
        """Count rows whose scores, of shape (n, n_classifiers), are at hand, in one fold."""
        n_classifiers = scores.shape[1]
        limits = _check_limits(low, high, n_bins, n_classifiers)
        sums = np.zeros((3, n_classifiers, n_bins * 2))
        _add(sums, scores, positive, sample_weight, limits)
        return cls(limits[0], limits[1], *sums.reshape(3, 1, n_classifiers, n_bins, 2))

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        """Return the histogram of both sets of rows; the bins must be the same."""
        if self.weight.shape != other.weight.shape or not (
            np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)
        ):
            msg = "Histograms must have the same folds, classifiers and bins to be merged."
            raise ValueError(msg)
        return ScoreHistogram(
            self.low,
            self.high,
            self.weight + other.weight,
            self.squares + other.squares,
            self.scores + other.scores,
        )

    def pooled(self) -> ScoreHistogram:
        """Return the histogram over all folds, with a fold axis of length 1."""
        parts = (self.weight, self.squares, self.scores)
        return ScoreHistogram(self.low, self.high, *(p.sum(0, keepdims=True) for p in parts))

    def edges(self) -> Array:
        """Return the edges of the bins, shape (n_classifiers, n_bins + 1)."""
        return np.linspace(self.low, self.high, self.n_bins + 1, axis=1)

    def means(self) -> Array:
        """Return the mean score in each bin, by label; the other label's, or the middle, if empty.

        Shape (n_folds, n_classifiers, n_bins, 2).
        """
        edges = self.edges()
        middle = 0.5 * (edges[:, :-1] + edges[:, 1:])[None, :, :, None]
        both = self.weight.sum(-1, keepdims=True)
        total = self.scores.sum(-1, keepdims=True)
        common = np.where(both > 0, total / np.where(both > 0, both, 1.0), middle)
        return np.where(
            self.weight > 0, self.scores / np.where(self.weight > 0, self.weight, 1.0), common
        )


def score_limits(
    parts: Sequence[ClassMoments], coefficients: ArrayLike, n_deviations: float = 6.0
) -> tuple[Array, Array]:
    """Return limits for the bins of each classifier, from moments alone.

    Mean and standard deviation of a linear score follow from those of the rows, so that no pass is
    needed to find where the scores lie.

    Parameters
    ----------
    parts : sequence of ClassMoments
        Moments of the folds.
    coefficients : array-like of shape (n_folds, n_classifiers, d + 1)
        Coefficients of each fold; those with NaN get limits -1 and 1.
    n_deviations : float, default=6
        How far the limits lie from the mean of all out-of-fold scores; by Chebyshev's inequality
        at most a share ``1 / n_deviations ** 2`` of the weight lies beyond, and far less in
        practice.

    Returns
    -------
    low, high : ndarray of shape (n_classifiers,)

    Examples
    --------
    >>> from flipcost.core.moments import ClassMoments
    >>> X = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    >>> moments = ClassMoments.from_rows(X, [0, 0, 1, 1])
    >>> low, high = score_limits([moments], [[[2.0, 1.0]]])
    >>> low, high
    (array([-11.]), array([13.]))
    """
    location, scale = score_spread(parts, coefficients)
    flat = ~(scale > 1e-12 * np.maximum(1.0, np.abs(location)))  # also true of NaN
    reach = np.where(flat, 1.0, n_deviations * scale)
    middle = np.where(flat, np.nan_to_num(location), location)
    return middle - reach, middle + reach


def score_spread(parts: Sequence[ClassMoments], coefficients: ArrayLike) -> tuple[Array, Array]:
    """Return mean and standard deviation of the out-of-fold scores of each classifier.

    Parameters
    ----------
    parts : sequence of ClassMoments
        Moments of the folds.
    coefficients : array-like of shape (n_folds, n_classifiers, d + 1)
        Coefficients of each fold, applied to the rows of that fold.

    Returns
    -------
    mean, deviation : ndarray of shape (n_classifiers,)

    Examples
    --------
    >>> from flipcost.core.moments import ClassMoments
    >>> X = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    >>> score_spread([ClassMoments.from_rows(X, [0, 0, 1, 1])], [[[2.0, 1.0]]])
    (array([1.]), array([2.]))
    """
    path = np.asarray(coefficients, dtype=float)
    weight = np.array([part.weight.sum() for part in parts])
    means, variances = [], []
    for part, fold_path in zip(parts, path, strict=True):
        centre, weights = part.centre(), fold_path[:, :-1]
        total = max(float(part.weight.sum()), np.finfo(float).tiny)
        about = part.about(centre).sum(axis=0)[:-1, :-1] / total
        means.append(weights @ centre + fold_path[:, -1])
        variances.append(np.einsum("ij,jk,ik->i", weights, about, weights).clip(min=0))
    share = weight / max(float(weight.sum()), np.finfo(float).tiny)
    mean = share @ np.stack(means)
    variance = share @ (np.stack(variances) + (np.stack(means) - mean) ** 2)
    return np.asarray(mean), np.sqrt(variance)


def _check_limits(
    low: ArrayLike, high: ArrayLike, n_bins: int, n_classifiers: int
) -> tuple[Array, Array, int]:
    lows = np.broadcast_to(np.asarray(low, dtype=float), (n_classifiers,))
    highs = np.broadcast_to(np.asarray(high, dtype=float), (n_classifiers,))
    if n_bins < 1 or not np.all(lows < highs):
        msg = "`low` must be below `high`, and `n_bins` at least 1."
        raise ValueError(msg)
    return lows, highs, n_bins


def _add(
    sums: Array,
    scores: Array,
    labels: Flags,
    weight: Array | None,
    limits: tuple[Array, Array, int],
) -> None:
    """Add rows to weight, squared weight and weighted score of each bin and label.

    One classifier at a time, in buffers that stay in the cache: all at once took twice as long.
    """
    low, high, n_bins = limits
    if not len(labels):
        return
    second, place = n_bins * labels.astype(np.intp), np.empty(len(labels))
    cell = np.empty(len(labels), dtype=np.intp)
    for c, score in enumerate(scores.T):
        np.subtract(score, low[c], out=place)
        np.multiply(place, n_bins / (high[c] - low[c]), out=place)
        least, most = place.min(), place.max()
        if np.isnan(least):  # no solution at this candidate, and hence no scores
            continue
        if least < 0 or most >= n_bins:
            np.clip(place, 0.0, n_bins - 1.0, out=place)
        np.copyto(cell, place, casting="unsafe")  # rounds down, since none is negative
        np.add(cell, second, out=cell)
        # Two thirds of the time of `np.bincount`, which looks for the largest number first.
        more = np.zeros((3, 2 * n_bins))
        np.add.at(more[0], cell, 1.0 if weight is None else weight)
        np.add.at(more[2], cell, score if weight is None else weight * score)
        if weight is None:
            more[1] = more[0]
        else:
            np.add.at(more[1], cell, weight**2)
        sums[:, c] += more.reshape(3, 2, n_bins).swapaxes(1, 2).reshape(3, -1)  # bins, then labels
