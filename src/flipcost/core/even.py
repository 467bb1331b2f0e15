r"""The closed form at cost 1/2 and margin 1, from moments of rows with their labels beside them.

There both classes weigh the same in the quadratic part, so the scatter of all rows about their
common mean and its covariance with the label are all that it takes: one scatter in place of two.
With features standardized to correlations :math:`R`, :math:`r` the covariance of the features with
the label (0 or 1) and :math:`\pi` the share of positives, the coefficients at penalty
:math:`\lambda` are

.. math::

    \beta = (R / 2 + \lambda I)^{-1} r, \qquad b = (2\pi - 1) / (1 + 2\lambda) .
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from scipy.linalg.lapack import dposv

from flipcost.core._rows import pool
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.moments import ClassMoments
from flipcost.core.solve import penalty_value, solve_definite

# A constant may keep a few units of its last place by rounding.
_CONSTANT_ULPS = 16


@dataclass(frozen=True, eq=False)
class LabelMoments:
    """Weight, mean and scatter of rows with their label, 0 or 1, as a last column.

    Attributes
    ----------
    weight : float
        Weight of the rows.
    mean : ndarray of shape (d + 1,)
        Means of the features; the last entry is the share of positives.
    scatter : ndarray of shape (d + 1, d + 1)
        Sum of squares and products about the mean.

    Examples
    --------
    >>> X, positive = np.array([[0.0], [1.0], [3.0], [4.0]]), [False, False, True, True]
    >>> moments = LabelMoments.from_classes(ClassMoments.from_rows(X, positive))
    >>> moments.mean, moments.scatter
    (array([2. , 0.5]), array([[10.,  3.],
           [ 3.,  1.]]))
    """

    weight: float
    mean: Array
    scatter: Array

    @classmethod
    def from_classes(cls, moments: ClassMoments) -> LabelMoments:
        """Put the moments of the two classes together."""
        mean = np.column_stack([moments.mean, [0.0, 1.0]])
        scatter = np.zeros((mean.shape[1], mean.shape[1]))
        np.add(moments.scatter[0], moments.scatter[1], out=scatter[:-1, :-1])
        return cls(*pool(moments.weight, mean, scatter))

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.mean) - 1

    def merge(self, other: LabelMoments) -> LabelMoments:
        """Return the moments of the union of two disjoint sets of rows."""
        weight = np.array([self.weight, other.weight])
        scatter = self.scatter + other.scatter
        return LabelMoments(*pool(weight, np.stack([self.mean, other.mean]), scatter))


def each_without(parts: Sequence[LabelMoments]) -> Iterator[LabelMoments]:
    """Yield, for each part, the merge of all the others: what it is scored by.

    They are merged, not subtracted from the total: a difference loses digits where a part holds
    most of a scatter.

    Examples
    --------
    >>> parts = [LabelMoments(w, np.zeros(2), np.zeros((2, 2))) for w in (1.0, 2.0, 4.0)]
    >>> [part.weight for part in each_without(parts)]
    [6.0, 5.0, 3.0]
    """
    after = [parts[-1]]
    for part in reversed(parts[1:-1]):
        after.append(part.merge(after[-1]))
    before: LabelMoments | None = None
    for k, part in enumerate(parts):
        rest = after.pop() if k < len(parts) - 1 else None
        if before is None or rest is None:
            yield rest or before or LabelMoments(0.0, 0 * part.mean, 0 * part.scatter)
        else:
            yield before.merge(rest)
        before = part if before is None else before.merge(part)


def training_moments(
    parts: Sequence[LabelMoments], *, forward: bool = False
) -> Iterator[LabelMoments]:
    """Yield the moments of the rows that score each fold, as in `dependence.training_rows`.

    Parameters
    ----------
    parts : sequence of LabelMoments
        Those of each fold.
    forward : bool, default=False
        Whether a fold is scored by earlier ones only; the first is scored by all others.

    Examples
    --------
    >>> parts = [LabelMoments(w, np.zeros(2), np.zeros((2, 2))) for w in (1.0, 2.0, 4.0)]
    >>> [part.weight for part in training_moments(parts, forward=True)]
    [6.0, 1.0, 3.0]
    """
    others = each_without(parts)
    if not forward:
        yield from others
        return
    yield next(others)
    yield from accumulate(parts[:-1], lambda one, other: one.merge(other))


def even_scores(moments: LabelMoments, families: Sequence[Indices], l2s: Sequence[float]) -> Array:
    """Return the coefficients of each family of features at each penalty.

    Parameters
    ----------
    moments : LabelMoments
        Of rows with their labels as observed.
    families : sequence of ndarray of int
        Which features each family has.
    l2s : sequence of floats
        Penalties on the mean loss, on standardized features.

    Returns
    -------
    ndarray of shape (len(families) * len(l2s), d + 1)
        Coefficients in the units of the rows, those of other features zero, the bias last.

    Examples
    --------
    >>> X, positive = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> moments = LabelMoments.from_classes(ClassMoments.from_rows(X, positive))
    >>> even_scores(moments, [np.arange(1)], [1e-9]).round(3)
    array([[ 0.8, -1.2]])
    """
    penalties = np.array([penalty_value(l2) for l2 in l2s])
    d, weight = moments.n_features, moments.weight or 1.0
    centre, share = moments.mean[:-1], float(moments.mean[-1])
    spread, varies = _spread(moments.scatter.diagonal()[:-1] / weight, centre)
    unit = np.where(varies, 1 / spread, 0.0)
    half = moments.scatter[:-1, :-1] * (0.5 / weight * unit)
    half *= unit[:, None]
    right = moments.scatter[:-1, -1] * unit / weight
    found = np.zeros((len(families), len(l2s), d + 1))
    for k, columns in enumerate(families):
        own = half if len(columns) == d else half[np.ix_(columns, columns)]
        found[k][:, columns] = _ridge_path(own, right[columns], penalties) / spread[columns]
    found[:, :, -1] = (2 * share - 1) / (1 + 2 * penalties)
    found[:, :, -1] -= found[:, :, :-1] @ centre
    return found.reshape(-1, d + 1)


def _spread(variance: Array, centre: Array) -> tuple[Array, Flags]:
    """Return standard deviations, 1 where a feature is constant, and where it is not."""
    varies = variance > (_CONSTANT_ULPS * np.finfo(float).eps * centre) ** 2
    return np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), 1.0), varies


def _ridge_path(matrix: Array, right: Array, l2s: Array) -> Array:
    """Solve ``(matrix + l2) x = right`` at each penalty; shape (len(l2s), d)."""
    d = len(matrix)
    path = np.zeros((len(l2s), d))
    if not d:
        return path
    work = np.empty((d, d))
    diagonal = work.ravel()[:: d + 1]
    for k, l2 in enumerate(l2s):
        np.copyto(work, matrix)
        diagonal += l2
        least = 16 * d * np.finfo(float).eps * diagonal
        # Of a symmetric matrix the transpose is the same, in the layout that LAPACK reads.
        factor, found, info = dposv(work.T, right, lower=1, overwrite_a=1)
        if info == 0 and (factor.diagonal() ** 2 > least).all():
            path[k] = found
        else:
            path[k] = solve_definite(matrix + l2 * np.eye(d), right[:, None])[:, 0]
    return path
