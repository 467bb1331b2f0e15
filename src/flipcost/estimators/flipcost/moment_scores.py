"""Scores from moments: of all rows where they are straight, of some rows where they bend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.balanced_ridge import LabelMoments, ridge_path_scores
from flipcost.core.calibration import ScoreBins
from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.noise_posterior import integrate_rates
from flipcost.estimators.flipcost.scores import RidgeScores, spline_basis
from flipcost.tables.histogram import score_limits
from flipcost.tables.rows import LabeledMoments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.estimators.flipcost.sample import DrawnRows

    Array = NDArray[np.float64]

REACH = 4.0  # of the bins, in standard deviations; that of `ScoreBins`


@dataclass(frozen=True, eq=False)
class LearnedScores:
    """Scores from moments, out of fold and of all rows.

    Attributes
    ----------
    scorer : RidgeScores
        Those of all rows, for new ones.
    held_out : ndarray of shape (n_folds, n_scores, n_columns + 1)
        Coefficients of each fold, for its own rows.
    limits : ndarray of shape (2, n_scores)
        Limits of the bins that scores are counted in.
    lead : int
        The score that tells the labels apart best.
    """

    scorer: RidgeScores
    held_out: Array
    limits: Array
    lead: int


def learn_scores(
    parts: Sequence[ClassMoments],
    l2s: Sequence[float],
    bent: tuple[HingeBasis, LabeledMoments] | None,
) -> LearnedScores:
    """Solve for the scores of each fold and of all rows.

    Linear scores come from the moments of all rows, those that bend from some rows, if there are
    any. The score that tells the labels apart best leads.

    Parameters
    ----------
    parts : sequence of ClassMoments
        Moments of each fold.
    l2s : sequence of floats
        Penalties.
    bent : tuple of HingeBasis and LabeledMoments, or None
        Hinges, and the moments by fold of some rows' features with these.

    Examples
    --------
    >>> X, positive = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([False, True] * 2)
    >>> parts = fold_moments(X, positive, np.array([0, 0, 1, 1]), 2)
    >>> learn_scores(parts, [0.1, 1.0], None).held_out.shape
    (2, 2, 2)
    """
    d = parts[0].n_features
    basis = HingeBasis.linear(d)
    held_out, everywhere, limits, merit = _solve(parts, l2s)
    if bent is not None:
        wanted, some_rows = bent[0], bent[1].parts
        some = min(train.weight.min() for train in merge_others(some_rows)) > 0
        if wanted.n_columns > d and some:
            basis, wide = wanted, _solve(some_rows, l2s)
            held_out = np.concatenate([_widen(held_out, basis), wide[0]], axis=1)
            everywhere = np.concatenate([_widen(everywhere, basis), wide[1]])
            limits = np.concatenate([limits, wide[2]], axis=1)
            merit = np.concatenate([merit, wide[3]])
    return LearnedScores(RidgeScores(basis, everywhere), held_out, limits, int(np.nanargmax(merit)))


def bent_moments(drawn: DrawnRows, n_folds: int) -> tuple[HingeBasis, LabeledMoments]:
    """Return hinges for drawn rows, and the moments of their features with these.

    Examples
    --------
    >>> from flipcost.estimators.flipcost.sample import DrawnRows, TableSample
    >>> X, positive = np.arange(40.0)[:, None], np.arange(40) % 2 == 1
    >>> drawn = DrawnRows(X, np.arange(40) // 20, TableSample(None, positive, np.ones(40)))
    >>> basis, moments = bent_moments(drawn, 2)
    >>> len(moments.parts), moments.parts[0].n_features == basis.n_columns
    (2, True)
    """
    sample = drawn.sample
    basis = spline_basis(drawn.X, sample.weight)
    parts = fold_moments(
        basis.expand(drawn.X), sample.positive, drawn.folds, n_folds, sample.weight
    )
    return basis, LabeledMoments((False, True), tuple(parts))


def likeliest_score(rows: DrawnRows) -> int:
    """Return the score that explains the labels of drawn rows best, noise integrated out.

    Examples
    --------
    >>> from flipcost.estimators.flipcost.sample import DrawnRows, TableSample
    >>> told = np.linspace(-3, 3, 90)
    >>> about = TableSample(None, told > 0, np.ones(90))
    >>> blind = np.cos(np.arange(90.0))
    >>> drawn = DrawnRows(told[:, None], np.zeros(90), about, scores=np.array([blind, told]))
    >>> likeliest_score(drawn)
    1
    """
    sample = rows.sample
    bins = [ScoreBins.from_scores(s, sample.positive, sample.weight) for s in rows.scores]
    return int(integrate_rates(bins).weight.sum(axis=1).argmax())


def _solve(
    parts: Sequence[ClassMoments], l2s: Sequence[float]
) -> tuple[Array, Array, Array, Array]:
    """Return coefficients by fold, those of all rows, limits of the scores, and their merit."""
    columns = [np.arange(parts[0].n_features)]
    others = merge_others(parts)
    trained = [LabelMoments.from_classes(train) for train in (*others, parts[0].merge(others[0]))]
    *solved, everywhere = (ridge_path_scores(train, columns, l2s) for train in trained)
    held_out = np.stack(solved)
    limits = np.stack(score_limits(parts, held_out, REACH))
    return held_out, everywhere, limits, _merit(parts, held_out)


def _merit(parts: Sequence[ClassMoments], held_out: Array) -> Array:
    """Return how far apart the mean out-of-fold scores of the two labels lie, in deviations."""
    weight = np.stack([part.weight for part in parts])
    mean = np.stack(
        [p.mean @ path[:, :-1].T + path[:, -1] for p, path in zip(parts, held_out, strict=True)]
    )
    gap = np.diff((weight[:, :, None] * mean).sum(axis=0) / weight.sum(axis=0)[:, None], axis=0)[0]
    low, high = score_limits(parts, held_out, 1.0)
    return np.asarray(2 * gap / (high - low))


def _widen(coefficients: Array, basis: HingeBasis) -> Array:
    """Give the hinges no weight."""
    d = basis.n_features
    wide = np.zeros((*coefficients.shape[:-1], basis.n_columns + 1))
    wide[..., :d], wide[..., -1] = coefficients[..., :d], coefficients[..., -1]
    return wide
