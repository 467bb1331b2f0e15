r"""Class moments: all that the closed-form classifier needs to know about the rows.

Conventions
-----------
Class axes come first, the negative class at 0 and the positive one at 1. Scatters are centred at
the mean of their own class, :math:`S_c = \sum_{i \in c} w_i (x_i - m_c)(x_i - m_c)^\top`, because
raw second moments lose everything under large offsets. All of it is float64.

Parts combine exactly, with weights of either sign:

.. math::

    W = \sum_k W_k, \quad m = \tfrac{1}{W}\sum_k W_k m_k, \quad
    S = \sum_k S_k + \sum_k W_k (m_k - m)(m_k - m)^\top .

Positive weights merge blocks of rows; the signed weights of a two-by-two inversion undo the
mixing of the classes by label noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core import _moments_file
from flipcost.core._rows import Matrix, check_feature_count, gather, group_codes, pool
from flipcost.core.arrays import Array
from flipcost.core.noise import NoiseRateLike, rate_pair, unmixing_matrix


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Count, weight, mean and centred scatter of each class.

    Moments of disjoint sets of rows merge to those of their union, whatever the split and the
    order, so they can be gathered in blocks, streams, files, folds or on several machines. Every
    cost, margin, penalty and noise rate is then a small linear solve.

    Parameters
    ----------
    n_rows : ndarray of shape (2,), int
        Rows of each class.
    weight : ndarray of shape (2,)
        Their total weight.
    mean : ndarray of shape (2, d)
        Their weighted mean; zero for a class without weight.
    scatter : ndarray of shape (2, d, d)
        Their weighted scatter about that mean.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [5.0], [7.0], [9.0]])
    >>> positive = np.array([False, False, True, True, True])
    >>> moments = ClassMoments.from_rows(X, positive)
    >>> moments.mean.ravel(), moments.scatter.ravel()
    (array([1., 7.]), array([2., 8.]))
    >>> parts = ClassMoments.from_rows(X[:3], positive[:3]) + ClassMoments.from_rows(
    ...     X[3:], positive[3:]
    ... )
    >>> bool(np.allclose(parts.scatter, moments.scatter))
    True
    """

    n_rows: NDArray[np.int64]
    weight: Array
    mean: Array
    scatter: Array

    def __post_init__(self) -> None:
        for name, dtype in (
            ("n_rows", np.int64),
            ("weight", float),
            ("mean", float),
            ("scatter", float),
        ):
            # A view, so that only our window on the caller's array becomes read-only.
            values = np.asarray(getattr(self, name), dtype=dtype).view()
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        d = self.mean.shape[-1] if self.mean.ndim else 0
        shapes = (self.n_rows.shape, self.weight.shape, self.mean.shape, self.scatter.shape)
        expected = ((2,), (2,), (2, d), (2, d, d))
        if shapes != expected:
            msg = (
                "`n_rows`, `weight`, `mean` and `scatter` must have shapes (2,), (2,), (2, d) and "
                f"(2, d, d); got {shapes}."
            )
            raise ValueError(msg)
        # NaN is neither: weights that overflowed are refused too.
        if np.any(self.n_rows < 0) or not np.all((self.weight >= 0) & (self.weight < np.inf)):
            msg = (
                "`n_rows` and `weight` must be finite and not below zero; "
                f"got {self.n_rows.tolist()} and {self.weight.tolist()}."
            )
            raise ValueError(msg)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return int(self.mean.shape[1])

    @classmethod
    def zeros(cls, n_features: int) -> ClassMoments:
        """Return the moments of no rows: the identity of `merge`.

        Examples
        --------
        >>> ClassMoments.zeros(2).weight
        array([0., 0.])
        """
        d = int(n_features)
        check_feature_count(d)
        return cls(np.zeros(2, np.int64), np.zeros(2), np.zeros((2, d)), np.zeros((2, d, d)))

    @classmethod
    def from_rows(
        cls, X: Matrix, positive: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ClassMoments:
        """Gather the moments of rows in one pass.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows; any real dtype, accumulated in float64. Dense rows are read in cache-sized blocks
            around a shift, so that no full-size copy is made and large offsets cost no digits.
            Sparse rows are never made dense; their columns without gaps are shifted likewise.
        positive : array-like of bool, shape (n,)
            Which rows are of the positive class.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.

        Returns
        -------
        ClassMoments
        """
        return fold_moments(X, positive, sample_weight=sample_weight)[0]

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of the union of two disjoint sets of rows; also ``a + b``."""
        if self.n_features != other.n_features:
            msg = (
                "Moments must have the same features to be merged; "
                f"got {self.n_features} and {other.n_features}. Gather both from the same columns."
            )
            raise ValueError(msg)
        classes = [
            pool(
                np.array([self.weight[c], other.weight[c]]),
                np.stack([self.mean[c], other.mean[c]]),
                self.scatter[c] + other.scatter[c],
            )
            for c in (0, 1)
        ]
        return _from_classes(self.n_rows + other.n_rows, classes)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        return self.merge(other)

    @classmethod
    def merge_all(cls, parts: Iterable[ClassMoments]) -> ClassMoments:
        """Merge any number of moments, at least one, in the order given.

        Examples
        --------
        >>> ClassMoments.merge_all([ClassMoments.zeros(1)] * 3).n_rows
        array([0, 0])
        """
        remaining = iter(parts)
        first = next(remaining, None)
        if first is None:
            msg = (
                "There must be at least one part to merge; got none. "
                "Start from ClassMoments.zeros(n_features)."
            )
            raise ValueError(msg)
        return reduce(cls.merge, remaining, first)

    def centre(self) -> Array:
        """Return the weighted mean of all rows, which no label noise can move."""
        return pool(self.weight, self.mean, np.zeros((self.n_features, 0)))[1]

    def about(self, point: ArrayLike) -> Array:
        """Return second moments of ``(x - point, 1)`` per class, shape (2, d + 1, d + 1).

        Label noise acts on these linearly. About the common centre they keep their digits.
        """
        offset = self.mean - np.asarray(point, dtype=float)
        d = self.n_features
        moments = np.empty((2, d + 1, d + 1))
        for c in (0, 1):
            linear = self.weight[c] * offset[c]
            inner = np.outer(linear, offset[c], out=moments[c, :d, :d])
            inner += self.scatter[c]
            moments[c, :d, d] = moments[c, d, :d] = linear
            moments[c, d, d] = self.weight[c]
        return moments

    def rescale(self, centre: ArrayLike, scale: ArrayLike) -> ClassMoments:
        """Return the moments of ``(x - centre) / scale`` without reading a row again.

        Examples
        --------
        >>> moments = ClassMoments.from_rows(np.array([[2.0], [4.0]]), [False, True])
        >>> moments.rescale(3.0, 0.5).mean.ravel()
        array([-2.,  2.])
        """
        by = np.broadcast_to(np.asarray(scale, dtype=float), (self.n_features,))
        return ClassMoments(
            self.n_rows,
            self.weight,
            (self.mean - np.asarray(centre, dtype=float)) / by,
            self.scatter / np.outer(by, by),
        )

    def take(self, features: ArrayLike) -> ClassMoments:
        """Return the moments of some of the features.

        Examples
        --------
        >>> ClassMoments.zeros(3).take([0, 2]).n_features
        2
        """
        chosen = np.asarray(features)
        return ClassMoments(
            self.n_rows,
            self.weight,
            self.mean[:, chosen],
            self.scatter[:, chosen[:, None], chosen],
        )

    def spread(self) -> Array:
        """Return the standard deviation of each feature over all rows, 1 where it is constant."""
        total, centre, scatter = pool(self.weight, self.mean, self.scatter.sum(axis=0))
        variance = scatter.diagonal() / total if total > 0 else np.zeros(self.n_features)
        # A constant may keep a few units of its last place by rounding.
        rounding = 16 * np.finfo(float).eps * np.abs(centre)
        varies = variance > rounding**2
        return np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), 1.0)

    def raw(self) -> Array:
        """Return raw second moments of ``(x, 1)`` per class, shape (2, d + 1, d + 1), bias last.

        Examples
        --------
        >>> ClassMoments.from_rows(np.array([[2.0], [3.0]]), [False, True]).raw()[1]
        array([[9., 3.],
               [3., 1.]])
        """
        return self.about(0.0)

    def denoise(self, noise_rate: NoiseRateLike) -> ClassMoments:
        r"""Undo label noise: the moments that clean labels would have given, in expectation.

        Flips mix the raw moments of the two classes linearly, so with
        :math:`k = 1 - \rho_+ - \rho_-`

        .. math::

            M_+ = \frac{(1-\rho_-)\tilde M_+ - \rho_- \tilde M_-}{k}, \qquad
            M_- = \frac{(1-\rho_+)\tilde M_- - \rho_+ \tilde M_+}{k} .

        The estimate is unbiased given the rows. Its variance grows like :math:`1/k^2`, and a
        scatter that was positive semidefinite may not stay so; `normal_equations`, and `solve`
        through it, see to that.

        Parameters
        ----------
        noise_rate : float, pair of floats, or None
            Symmetric rate, or ``(rho_pos, rho_neg)``.

        Returns
        -------
        ClassMoments
            ``n_rows`` still counts the rows by their noisy labels.

        Raises
        ------
        ValueError
            When the rate is impossible: with it, more labels of a class would have been seen than
            there are, so that its clean weight comes out at zero or below.

        Examples
        --------
        >>> X, positive = np.array([[0.0], [1.0], [3.0], [4.0]]), [False, False, True, True]
        >>> ClassMoments.from_rows(X, positive).denoise(0.25).mean.ravel()
        array([-1.,  5.])
        """
        unmix = unmixing_matrix(noise_rate)
        self.check_possible(noise_rate)
        classes = [
            pool(
                unmix[c] * self.weight,
                self.mean,
                np.tensordot(unmix[c], self.scatter, axes=1),
            )
            for c in (0, 1)
        ]
        return _from_classes(self.n_rows, classes)

    def is_possible(self, noise_rate: NoiseRateLike) -> bool:
        """Tell whether a noise rate leaves a positive clean weight to both classes.

        Examples
        --------
        >>> moments = ClassMoments.from_rows(np.zeros((10, 1)), np.arange(10) < 2)
        >>> moments.is_possible(0.1), moments.is_possible(0.3)
        (True, False)
        """
        if rate_pair(noise_rate) == (0.0, 0.0):
            return True
        return bool(np.all(unmixing_matrix(noise_rate) @ self.weight > 0))

    def check_possible(self, noise_rate: NoiseRateLike) -> None:
        """Raise a `ValueError` that says why, when a noise rate is impossible for the labels."""
        if self.is_possible(noise_rate):
            return
        rho_pos, rho_neg = rate_pair(noise_rate)
        share = self.weight[1] / self.weight.sum() if self.weight.sum() > 0 else float("nan")
        msg = (
            f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) is impossible for these labels: it implies "
            f"a share of positive labels between {rho_neg:g} and {1 - rho_pos:g}, but the share is "
            f"{share:.4g}. Give a smaller rate, or one for each class as (rho_pos, rho_neg)."
        )
        raise ValueError(msg)

    def check(self) -> None:
        """Raise a `ValueError` when no rows can have these moments.

        What `save` and `load` hold moments to: finite numbers, no weight without rows, scatters
        that are symmetric and positive semidefinite up to rounding. Denoised moments are estimates,
        and need not pass.

        Examples
        --------
        >>> moments = ClassMoments.from_rows(np.array([[0.0], [1.0]]), [False, True])
        >>> moments.check()
        >>> ClassMoments(moments.n_rows, moments.weight, moments.mean, -np.ones((2, 1, 1))).check()
        Traceback (most recent call last):
            ...
        ValueError: No rows can have these moments: the scatter of a class is not that of any rows.
        """
        reason = _impossible(self)
        if reason is not None:
            msg = f"No rows can have these moments: {reason}."
            raise ValueError(msg)

    def save(self, path: str | Path) -> None:
        """Write the moments to one file: a line that says what they are, and their numbers.

        The file is written aside and renamed, so that a crash leaves the old one or none. Moments
        that no rows can have (see `check`) are not written, since `load` would refuse them: save
        what was gathered, and denoise after loading.
        """
        self.check()
        _moments_file.write(
            path,
            {
                "n_rows": self.n_rows,
                "weight": self.weight,
                "mean": self.mean,
                "scatter": self.scatter,
            },
        )

    @classmethod
    def load(cls, path: str | Path) -> ClassMoments:
        """Read moments written by `save`; a damaged or foreign file is refused.

        Raises
        ------
        ValueError
            When the file is not one of ours, was cut or altered, is of another version, or holds
            moments that no rows can have.
        """
        arrays = _moments_file.read(path)
        try:
            moments = cls(**arrays)
            moments.check()
        except (TypeError, ValueError) as error:
            reason = f"does not hold moments of rows ({error})"
            raise ValueError(_moments_file.refusal(path, reason)) from error
        return moments


def fold_moments(
    X: Matrix,
    positive: ArrayLike,
    folds: ArrayLike | None = None,
    n_folds: int = 1,
    sample_weight: ArrayLike | None = None,
) -> list[ClassMoments]:
    """Gather the moments of every fold in one pass over the rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows, as in `ClassMoments.from_rows`.
    positive : array-like of bool, shape (n,)
        Which rows are of the positive class.
    folds : array-like of int, shape (n,), optional
        Fold of each row, from 0 to ``n_folds - 1``; -1 leaves a row out.
    n_folds : int, default=1
        Number of folds.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.

    Returns
    -------
    list of ClassMoments
        One for each fold.

    Examples
    --------
    >>> X = np.arange(6.0).reshape(6, 1)
    >>> first, second = fold_moments(X, [0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1], n_folds=2)
    >>> first.n_rows, second.n_rows
    (array([2, 1]), array([1, 2]))
    """
    groups = gather(X, group_codes(positive, folds, n_folds), 2 * n_folds, sample_weight)
    return [
        _from_classes(
            np.array([groups[2 * k][0], groups[2 * k + 1][0]]),
            [groups[2 * k][1:], groups[2 * k + 1][1:]],
        )
        for k in range(n_folds)
    ]


def merge_others(parts: Sequence[ClassMoments]) -> list[ClassMoments]:
    """Return, for each part, the merge of all the others, in a linear number of merges.

    Training moments of each fold of a cross-validation. They are merged, not subtracted from the
    total: a difference loses digits where a fold holds most of a class.

    Examples
    --------
    >>> parts = fold_moments(np.ones((4, 1)), [0, 1, 0, 1], [0, 0, 1, 2], n_folds=3)
    >>> [int(m.n_rows.sum()) for m in merge_others(parts)]
    [2, 3, 3]
    """
    empty = ClassMoments.zeros(parts[0].n_features)
    before, after = [empty], [empty]
    for left, right in zip(parts[:-1], reversed(parts[1:]), strict=True):
        before.append(before[-1].merge(left))
        after.append(after[-1].merge(right))
    return [b.merge(a) for b, a in zip(before, reversed(after), strict=True)]


def _from_classes(
    n_rows: NDArray[np.int64], classes: Sequence[tuple[float, Array, Array]]
) -> ClassMoments:
    weight, mean, scatter = (np.stack(part) for part in zip(*classes, strict=True))
    return ClassMoments(n_rows, weight, mean, scatter)


# What scatters may be off by, in units of the spreads of the features; and the least of these that
# rounding leaves any sense in, in units of the means.
_ROUNDING, _LEAST_SPREAD = 1e-6, 1e-8
# Sums of squares that leave room for some more.
_LARGEST = 1e290


def _impossible(moments: ClassMoments) -> str | None:
    """Return why no rows can have these moments, or None."""
    if not (np.isfinite(moments.mean).all() and np.isfinite(moments.scatter).all()):
        return "a mean or a scatter is not finite"
    with np.errstate(over="ignore"):
        spread = np.abs(moments.scatter).max(axis=2, initial=0.0)
        squares = moments.weight.sum() * (moments.mean**2 + 1) + spread
    if squares.max(initial=0.0) > _LARGEST:
        return "a weight, a mean or a scatter is too large to compute with"
    none = moments.n_rows == 0
    if np.any(none & (moments.weight > 0)) or moments.scatter[none].any():
        return "a class without rows has weight or scatter"
    least = _LEAST_SPREAD * np.sqrt(moments.weight)[:, None] * np.abs(moments.mean)
    if not all(_is_scatter(s, low) for s, low in zip(moments.scatter, least, strict=True)):
        return "the scatter of a class is not that of any rows"
    return None


def _is_scatter(scatter: Array, least: Array) -> bool:
    """Tell whether a matrix is symmetric and positive semidefinite, up to rounding."""
    spread = np.maximum(np.sqrt(np.maximum(scatter.diagonal(), 0.0)), least)
    flat = spread == 0
    if scatter[flat].any() or scatter[:, flat].any():
        return False
    scale = np.where(flat, 1.0, spread)
    unit = scatter / scale[:, None] / scale
    if np.abs(unit - unit.T).max(initial=0.0) > _ROUNDING:
        return False
    try:
        np.linalg.cholesky((unit + unit.T) / 2 + _ROUNDING * np.eye(len(unit)))
    except np.linalg.LinAlgError:
        return False
    return True
