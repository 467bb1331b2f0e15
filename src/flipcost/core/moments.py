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

Rows are read in one place (`gather`), which turns them into weights, means and scatters by group: a
class, or a class within a fold. Dense rows are read once, in cache-sized blocks, and no full-size
copy of them is made.

A file of moments begins with a line that names the format, its version, the number of features and
a checksum; counts, weights, means and scatters follow, eight bytes each, the lowest first.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from flipcost.core.arrays import Array, Indices, as_flags, rounding_spread
from flipcost.core.noise import NoiseRateLike, rate_pair, unmixing_matrix
from flipcost.core.system import read_regular, usable_memory, write_aside

_FIELDS = ("n_rows", "weight", "mean", "scatter")
# Moments of either kind: `ClassMoments`, or those of rows with costs of their own.
Mergeable = TypeVar("Mergeable", bound=Any)


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
        for name in _FIELDS:
            # A view, so that only our window on the caller's array becomes read-only.
            dtype = np.int64 if name == "n_rows" else float
            values = np.asarray(getattr(self, name), dtype=dtype).view()
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        d = self.mean.shape[-1] if self.mean.ndim else 0
        shapes = tuple(getattr(self, name).shape for name in _FIELDS)
        if shapes != _shapes(d):
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
        """Return the standard deviation of each feature over all rows.

        Infinite where a feature is constant: divided by it, as by `rescale`, it vanishes.
        """
        total, centre, scatter = pool(self.weight, self.mean, self.scatter.sum(axis=0))
        variance = scatter.diagonal() / total if total > 0 else np.zeros(self.n_features)
        varies = variance > rounding_spread(centre) ** 2
        return np.sqrt(np.where(varies, variance, np.inf))

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
        d = self.n_features
        if d > MOST_FEATURES:
            msg = f"Moments of at most {MOST_FEATURES:,} features can be saved; got {d:,}."
            raise ValueError(msg)
        kinds = ("<i8", "<f8", "<f8", "<f8")
        parts = [
            np.ascontiguousarray(getattr(self, f), k) for f, k in zip(_FIELDS, kinds, strict=True)
        ]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part.data)
        with write_aside(path) as stream:
            stream.write(f"{FORMAT} {VERSION} {d} {digest.hexdigest()}\n".encode())
            for part in parts:
                stream.write(part.data)

    @classmethod
    def load(cls, path: str | Path) -> ClassMoments:
        """Read moments written by `save`; a damaged or foreign file is refused.

        Raises
        ------
        ValueError
            When the file is not one of ours, was cut or altered, is of another version, or holds
            moments that no rows can have.
        """
        n_rows, *others = _read_file(path)
        try:
            moments = cls(n_rows.view(np.int64), *others)
            moments.check()
        except ValueError as error:
            reason = f"does not hold moments of rows ({error})"
            raise ValueError(_refusal(path, reason)) from error
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


def merge_others(parts: Sequence[Mergeable]) -> list[Mergeable]:
    """Return, for each part, the merge of all the others, in a linear number of merges.

    Training moments of each fold of a cross-validation. They are merged, not subtracted from the
    total: a difference loses digits where a fold holds most of a class.

    Examples
    --------
    >>> parts = fold_moments(np.ones((4, 1)), [0, 1, 0, 1], [0, 0, 1, 2], n_folds=3)
    >>> [int(m.n_rows.sum()) for m in merge_others(parts)]
    [2, 3, 3]
    """
    merge, empty = type(parts[0]).merge, type(parts[0]).zeros(parts[0].n_features)
    before = list(accumulate(parts[:-1], merge, initial=empty))
    after = list(accumulate(reversed(parts[1:]), merge, initial=empty))
    return [b.merge(a) for b, a in zip(before, reversed(after), strict=True)]


def _from_classes(
    n_rows: NDArray[np.int64], classes: Sequence[tuple[float, Array, Array]]
) -> ClassMoments:
    weight, mean, scatter = (np.stack(part) for part in zip(*classes, strict=True))
    return ClassMoments(n_rows, weight, mean, scatter)


# What scatters may be off by, in units of the spreads of the features; and the least of these that
# rounding leaves any sense in, in units of the means.
_ROUNDING, _LEAST_SPREAD = 1e-6, 1e-8
# Sums of squares, and rows of a class, that leave room for some more.
_LARGEST, _MOST_ROWS = 1e290, 1 << 53


def _impossible(moments: ClassMoments) -> str | None:
    """Return why no rows can have these moments, or None."""
    if not (np.isfinite(moments.mean).all() and np.isfinite(moments.scatter).all()):
        return "a mean or a scatter is not finite"
    with np.errstate(over="ignore"):
        spread = np.abs(moments.scatter).max(axis=2, initial=0.0)
        squares = moments.weight.sum() * (moments.mean**2 + 1) + spread
    if squares.max(initial=0.0) > _LARGEST:
        return "a weight, a mean or a scatter is too large to compute with"
    if moments.n_rows.max() > _MOST_ROWS:
        return "there are more rows than can be counted"
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


Matrix: TypeAlias = "NDArray[Any] | sparse.csr_matrix | sparse.csr_array"
Group: TypeAlias = "tuple[int, float, Array, Array]"

# A block of rows is gathered by class into one buffer that stays in a second-level cache. Times for
# 100,000 x 50 and 1,000,000 x 20 are flat between 1 and 2 MB and 20 to 30 % worse at 0.2 MB.
_BLOCK_BYTES = 1_500_000
_SPARSE_BLOCK_ROWS = 65_536
# A block is accumulated about the current shift. When the squared offset of its mean exceeds this
# many variances, more than five of sixteen digits are at stake: centre the block, move the shift.
_OFFSET_LIMIT = 1e5
# Bytes that every machine can spare: a thousand features or so.
_ALWAYS_THERE = 1 << 25


def gather(
    X: Any,
    group: NDArray[np.signedinteger],
    n_groups: int,
    sample_weight: ArrayLike | None = None,
) -> list[Group]:
    """Return rows, weight, mean and centred scatter of each group; -1 leaves a row out."""
    rows: Any = _canonical(X) if sparse.issparse(X) else np.asarray(X)
    weight = _check_rows(rows, group, sample_weight)
    read = _gather_sparse if sparse.issparse(rows) else _gather_dense
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is named below
        groups = read(rows, group, n_groups, weight)
    if not all(np.isfinite(mean).all() and np.isfinite(s).all() for _, _, mean, s in groups):
        raise ValueError(_non_finite_message(rows))
    return groups


def _canonical(X: Any) -> Any:
    """Return CSR rows with one entry a place, as is when they are so already."""
    rows = sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def group_codes(
    positive: ArrayLike, folds: ArrayLike | None, n_folds: int
) -> NDArray[np.signedinteger]:
    """Return the class within the fold as ``2 * fold + class``; -1 for a row that is left out."""
    # Small integers sort in one or two passes.
    dtype: type[np.signedinteger] = np.int8 if n_folds < 64 else np.int32
    group: NDArray[np.signedinteger] = as_flags(positive, "positive").astype(dtype)
    if folds is None:
        return group
    given = np.asarray(folds)
    low, high = (given.min(), given.max()) if given.size else (0, 0)
    if given.shape != group.shape or low < -1 or high >= n_folds:
        msg = (
            f"`folds` must give each of the {len(group)} rows a fold from 0 to {n_folds - 1}, or "
            f"-1; got shape {given.shape} with values from {low} to {high}. "
            "Number the folds from zero."
        )
        raise ValueError(msg)
    fold: NDArray[np.signedinteger] = given.astype(dtype)
    return np.where(fold < 0, fold, 2 * fold + group)


def block_size(n_features: int) -> int:
    """Return how many rows make a block."""
    return int(np.clip(_BLOCK_BYTES // (8 * max(n_features, 1)), 64, 65_536))


def pool(weight: Array, mean: Array, scatter: Array) -> tuple[float, Array, Array]:
    """Pool K parts, with weights of either sign, given the sum of their scatters.

    A scatter without columns is left alone, for callers who want the mean only.
    """
    total = float(weight.sum())
    if total == 0:
        return 0.0, np.zeros(mean.shape[1]), np.zeros_like(scatter)
    heaviest = mean[int(np.argmax(np.abs(weight)))]
    # Deviations from one of the parts, so that a common offset cancels before it is multiplied.
    centre = heaviest + weight @ (mean - heaviest) / total
    deviation = mean - centre
    if scatter.shape[1]:
        between = (deviation.T * weight) @ deviation
        between += scatter
        scatter = between
    return total, centre, scatter


def check_feature_count(n_features: int) -> None:
    """Refuse more features than moments fit for in memory, before anything is allocated.

    Examples
    --------
    >>> check_feature_count(1000)
    """
    # Two scatters, and about as much again for the solve.
    needed = 32 * n_features**2
    # Asking the system takes as long as the moments of a few rows do.
    if needed > _ALWAYS_THERE and needed > (memory := usable_memory()):
        largest = int((memory / 32) ** 0.5)
        msg = (
            f"Class moments of {n_features} features need about {needed / 1e9:,.0f} GB (32 bytes "
            f"for each pair of features), but this process may use {memory / 1e9:,.0f} GB. Select, "
            f"hash or project to fewer features (here at most {largest})."
        )
        raise ValueError(msg)


def _check_rows(
    X: Matrix, group: NDArray[np.signedinteger], sample_weight: ArrayLike | None
) -> Array | None:
    if X.ndim != 2:
        msg = (
            f"`X` must have two dimensions, rows and features; got {X.ndim}. "
            "A single feature is X.reshape(-1, 1)."
        )
        raise ValueError(msg)
    check_feature_count(X.shape[1])
    if group.shape != (X.shape[0],):
        msg = (
            f"`positive` must have shape ({X.shape[0]},), one entry a row; got {group.shape}. "
            "Give the labels of the same rows."
        )
        raise ValueError(msg)
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != group.shape:
        msg = (
            f"`sample_weight` must have shape {group.shape}, one entry a row; got {weight.shape}. "
            "Give the weights of the same rows."
        )
        raise ValueError(msg)
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        msg = "`sample_weight` must be finite and non-negative; drop or fix the rows that are not."
        raise ValueError(msg)
    return weight


def _gather_dense(
    X: Any, group: NDArray[np.signedinteger], n_groups: int, weight: Array | None
) -> list[Group]:
    """Pool blocks of rows, each sorted by group in a buffer."""
    n, d = X.shape
    # Each group of a block ends in sums of d x d numbers, which want as many rows to pay. Such a
    # block is no larger than the scatters are.
    size = max(block_size(d), n_groups * d)
    n_blocks = -(-n // size)
    counts = np.zeros((n_groups, n_blocks), np.int64)
    weights = np.zeros((n_groups, n_blocks))
    means = np.zeros((n_groups, n_blocks, d))
    scatters = np.zeros((n_groups, d, d))
    # Memory that is used again need not be asked for again, which is expensive for some processes.
    buffer = np.empty((min(size, n), d))
    direct = X.dtype == float and X.flags.c_contiguous
    plain = np.empty((0 if direct else len(buffer), d))
    shift = np.zeros(d)
    for b in range(n_blocks):
        rows = slice(b * size, min((b + 1) * size, n))
        order, bounds = sort_groups(group[rows], n_groups)
        source = X[rows]
        if not direct:
            plain[: len(source)] = source
            source = plain[: len(source)]
        block = np.take(source, order, axis=0, out=buffer[: len(order)], mode="clip")
        block_weight = None if weight is None else weight[rows][order]
        for g in range(n_groups):
            inside = slice(bounds[g], bounds[g + 1])
            if inside.start == inside.stop:
                continue
            part_weight = None if block_weight is None else block_weight[inside]
            counts[g, b] = inside.stop - inside.start
            weights[g, b], means[g, b], shift = _add_block(
                block[inside], part_weight, shift, scatters[g]
            )
    return [
        (int(counts[g].sum()), *pool(weights[g], means[g], scatters[g])) for g in range(n_groups)
    ]


def sort_groups(group: NDArray[np.signedinteger], n_groups: int) -> tuple[Indices, Indices]:
    """Return row numbers sorted by group, and where each group starts among them."""
    if n_groups == 2 and group.min() >= 0:  # three times as fast as sorting
        positive = group.view(bool) if group.dtype == np.int8 else group == 1
        n_negative = len(group) - int(np.count_nonzero(positive))
        order = np.empty(len(group), np.intp)
        order[:n_negative] = np.flatnonzero(~positive)
        order[n_negative:] = np.flatnonzero(positive)
        return order, np.array([0, n_negative, len(group)])
    order = np.argsort(group, kind="stable")
    left_out = np.count_nonzero(group < 0)
    sizes = np.bincount(group[order[left_out:]], minlength=n_groups)
    return order[left_out:], np.concatenate([[0], np.cumsum(sizes)])


def _add_block(
    part: Array, weight: Array | None, shift: Array, scatter: Array
) -> tuple[float, Array, Array]:
    """Add the scatter of rows about their mean to ``scatter``; overwrite the rows.

    Returns their weight, their mean, and the shift for the next block.
    """
    total = float(len(part)) if weight is None else float(weight.sum())
    if total == 0:
        return 0.0, np.zeros_like(shift), shift
    if shift.any():
        part -= shift
    root = None if weight is None else np.sqrt(weight)
    mean, second = _mean_and_second(part, weight, root, total)
    squared_offset = total * mean**2
    if np.any(squared_offset > _OFFSET_LIMIT * (second.diagonal() - squared_offset)):
        part -= mean
        residual, second = _mean_and_second(part, weight, root, total)
        absolute = shift + mean + residual
        # A handful of rows says little about where the next block lies.
        next_shift = absolute if len(part) >= 32 else shift
        mean = residual
    else:
        absolute, next_shift = shift + mean, shift
    scatter += second
    scatter -= np.outer(total * mean, mean, out=second)
    return total, absolute, next_shift


def _mean_and_second(
    part: Array, weight: Array | None, root: Array | None, total: float
) -> tuple[Array, Array]:
    """Return the mean of rows and their raw second moment.

    By `np.dot`: while it runs, other threads can too, which is not so of ``@``.
    """
    if weight is None or root is None:
        return np.dot(np.ones(len(part)), part) / total, np.dot(part.T, part)
    scaled = part * root[:, None]
    return np.dot(weight, part) / total, np.dot(scaled.T, scaled)


def _gather_sparse(
    X: sparse.csr_matrix, group: NDArray[np.signedinteger], n_groups: int, weight: Array | None
) -> list[Group]:
    """Pool sparse rows about a shift, in blocks that bound the size of the products."""
    d = X.shape[1]
    shift = _shift_of_full_columns(X)
    groups: list[Group] = []
    for g in range(n_groups):
        rows = np.flatnonzero(group == g)
        total, first, second = 0.0, np.zeros(d), np.zeros((d, d))
        for start in range(0, len(rows), _SPARSE_BLOCK_ROWS):
            inside = rows[start : start + _SPARSE_BLOCK_ROWS]
            part = X[inside].astype(float)
            if shift.any():
                part.data -= shift[part.indices]
            w = np.ones(len(inside)) if weight is None else weight[inside]
            total += float(w.sum())
            first += part.T @ w
            second += (part.T @ part.multiply(w[:, None]).tocsr()).toarray()
        offset = first / total if total > 0 else np.zeros(d)
        mean = shift + offset if total > 0 else offset
        groups.append((len(rows), total, mean, second - np.outer(first, offset)))
    return groups


def _shift_of_full_columns(X: sparse.csr_matrix) -> Array:
    """Return the means of the columns without gaps, zero elsewhere.

    Those can be shifted without making anything dense, and those alone can have an offset that is
    large against their spread.
    """
    n, d = X.shape
    if not n:
        return np.zeros(d)
    full = np.bincount(X.indices, minlength=d) == n
    if not full.any():
        return np.zeros(d)
    return np.where(full, np.ravel(X.sum(axis=0, dtype=float)) / n, 0.0)


def _non_finite_message(X: Any) -> str:
    """Say where X is not finite, or that its squares overflow."""
    if not isinstance(X, np.ndarray):
        values = X.tocoo()
        bad = np.flatnonzero(~np.isfinite(values.data))[:1]
        where = [(values.row[i], values.col[i], values.data[i]) for i in bad]
    else:
        where = []
        for start in range(0, X.shape[0], 8192):
            found = np.argwhere(~np.isfinite(X[start : start + 8192]))
            if len(found):
                i, j = found[0]
                where = [(start + i, j, X[start + i, j])]
                break
    if not where:
        return (
            "The squares of `X` must not overflow; some values are too large (infinite when "
            "squared). Rescale the features."
        )
    i, j, value = where[0]
    name = "NaN" if np.isnan(value) else "infinity (inf)"
    return (
        f"`X` must be finite: it contains {name}, first in row {i}, column {j}. "
        "Impute or drop missing values first, for instance with SimpleImputer in a pipeline."
    )


FORMAT, VERSION = "flipcost.ClassMoments", 2
# Moments of 10,000 features take 1.6 GB.
MOST_FEATURES = 10_000
_LINE = re.compile(rb"flipcost\.ClassMoments (\d{1,9}) (\d{1,9}) ([0-9a-f]{64})\n")
_LONGEST_LINE = 128


def _shapes(d: int) -> tuple[tuple[int, ...], ...]:
    return (2,), (2,), (2, d), (2, d, d)


def _read_file(path: str | Path) -> list[Array]:
    """Read the four arrays as floats; refuse a file that is damaged, foreign or of a later version.

    Whole numbers of rows are eight bytes too, to be viewed as what they are.
    """
    try:
        data = read_regular(path, 8 * _size(MOST_FEATURES) + _LONGEST_LINE)
    except ValueError as error:
        raise ValueError(_refusal(path, str(error))) from error
    line = _LINE.match(data[:_LONGEST_LINE])
    if line is None:
        old = data[:2] == b"PK"  # an archive, as version 0.1 wrote
        reason = "was written by flipcost 0.1" if old else "does not hold class moments"
        raise ValueError(_refusal(path, reason))
    version, d, checksum = int(line[1]), int(line[2]), line[3].decode()
    if version != VERSION:
        reason = f"is of format version {version}; this flipcost reads version {VERSION}"
        raise ValueError(_refusal(path, reason))
    content = memoryview(data)[line.end() :]
    if len(content) != 8 * _size(d) or hashlib.sha256(content).hexdigest() != checksum:
        raise ValueError(_refusal(path, "is damaged: its checksum does not match its content"))
    numbers = np.frombuffer(content, "<f8").astype(float)
    ends = np.cumsum([math.prod(shape) for shape in _shapes(d)])[:-1]
    parts = zip(np.split(numbers, ends), _shapes(d), strict=True)
    return [part.reshape(shape) for part, shape in parts]


def _size(d: int) -> int:
    return sum(math.prod(shape) for shape in _shapes(d))


def _refusal(path: str | Path, reason: str) -> str:
    """Return the words for a file that is not taken."""
    return (
        f"Class moments must be read from a file that `save` wrote: {os.fspath(path)!r} {reason}. "
        "Gather the moments again, or read the file with the flipcost that wrote it."
    )
