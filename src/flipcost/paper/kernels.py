r"""Gaussian kernels on chosen centres, and the widths worth trying.

Distances are computed once and reused for every width: a kernel is a function of the squared
distances, not of the rows. The kernel is

.. math::

    k_\sigma(x, c) = \exp\!\left(-\frac{\lVert x - c\rVert^2}{2\sigma^2}\right),

or, with ``halved=False``, the same without the 2, a form that some published code uses.

Classifiers
-----------
What the classifiers on Gaussian kernels share: labels, centres, widths and folds.

Repeated rows are one row here: centres and widths are drawn from the distinct rows, so that a
weight of three and three copies of a row draw the same ones, in whatever order rows come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import check_classification_targets

from flipcost._validation import Interval, StrOptions
from flipcost.core.arrays import Array, Indices
from flipcost.estimators.base import fold_numbers

CENTILES = (10, 20, 30, 40, 50, 60, 70, 80, 90)


def _rows(X: ArrayLike, name: str) -> Array:
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2:
        msg = f"`{name}` must have two axes, rows and features; got shape {rows.shape}."
        raise ValueError(msg)
    return rows


def squared_distances(X: ArrayLike, centers: ArrayLike) -> Array:
    """Return the squared Euclidean distance of every row to every centre.

    Differences are taken before squares, so that no distance is negative, that of a row to itself
    is exactly zero, and an offset common to all rows costs no accuracy (expanding the square into
    inner products loses all three).

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows.
    centers : array-like of shape (n_centers, n_features)
        Centres.

    Returns
    -------
    ndarray of shape (n_rows, n_centers)
        Squared distances.

    Examples
    --------
    >>> squared_distances([[0.0, 0.0], [1e8, 1.0]], [[1e8, 0.0]])
    array([[1.e+16],
           [1.e+00]])
    """
    rows, points = _rows(X, "X"), _rows(centers, "centers")
    if rows.shape[1] != points.shape[1]:
        msg = (
            "`X` and `centers` must have the same number of features; "
            f"got {rows.shape[1]} and {points.shape[1]}."
        )
        raise ValueError(msg)
    return np.asarray(cdist(rows, points, "sqeuclidean"))


def gaussian_kernel(sq_distances: ArrayLike, width: float, *, halved: bool = True) -> Array:
    """Return the Gaussian kernel of squared distances.

    Parameters
    ----------
    sq_distances : array-like
        Squared distances, of any shape.
    width : float
        Kernel width sigma, above 0.
    halved : bool, default=True
        Divide by ``2 * width**2``; by ``width**2`` if False.

    Returns
    -------
    ndarray
        Kernel values in [0, 1], shaped as ``sq_distances``.

    Examples
    --------
    >>> gaussian_kernel([0.0, 2.0], 1.0).round(4)
    array([1.    , 0.3679])
    >>> gaussian_kernel([0.0, 2.0], 1.0, halved=False).round(4)
    array([1.    , 0.1353])
    """
    if not (width > 0 and np.isfinite(width)):
        msg = f"`width` must be a finite number above 0; got {width:g}."
        raise ValueError(msg)
    # The square of a tiny width can underflow: a factor of minus infinity would make zero distances
    # undefined instead of one.
    factor = max((-0.5 if halved else -1.0) / width / width, float(np.finfo(float).min))
    with np.errstate(over="ignore"):
        exponent = np.asarray(sq_distances, dtype=float) * factor
    return np.asarray(np.exp(exponent, out=exponent if exponent.ndim else None))


def choose_centers(X: ArrayLike, n_centers: int, rng: np.random.Generator) -> Array:
    """Draw kernel centres from the rows, without replacement; all rows if there are no more.

    Examples
    --------
    >>> X = np.arange(10.0).reshape(5, 2)
    >>> choose_centers(X, 2, np.random.default_rng(0)).shape
    (2, 2)
    >>> choose_centers(X, 100, np.random.default_rng(0)).shape
    (5, 2)
    """
    rows = _rows(X, "X")
    if not (n_centers >= 1 and len(rows) >= 1):
        msg = (
            "`n_centers` must be at least 1 and `X` must have rows to draw from; "
            f"got n_centers={n_centers} and {len(rows)} rows."
        )
        raise ValueError(msg)
    return rows[rng.choice(len(rows), size=min(n_centers, len(rows)), replace=False)]


def centile_widths(
    X: ArrayLike,
    rng: np.random.Generator,
    *,
    centiles: ArrayLike = CENTILES,
    n_pairs: int = 2000,
    narrower: ArrayLike = (),
) -> Array:
    r"""Return kernel widths to try: centiles of the distance between two rows drawn at random.

    At most ``n_pairs`` pairs are drawn by matching two random permutations of the rows, pairs of
    equal rows are dropped, and the width of centile :math:`C` is the distance of rank
    :math:`\lfloor n C / 100 \rfloor` among the :math:`n` that are left. When all pairs of distinct
    rows number no more than ``n_pairs``, they are all used and nothing is random.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows, at least two of them distinct.
    rng : numpy.random.Generator
        Where the pairs come from.
    centiles : array-like, default=(10, 20, ..., 90)
        Centiles, in [0, 100).
    n_pairs : int, default=2000
        Largest number of pairs.
    narrower : array-like, default=()
        Multiples of the smallest width to try too. In many dimensions distances crowd together, and
        the widths that serve best may lie below the centiles; ``(0.35, 0.5, 0.7)`` has done well.

    Returns
    -------
    ndarray
        Widths in ascending order, without repeats (data with few distinct rows give fewer widths
        than centiles).

    References
    ----------
    Tripathi and Hemachandra, "Cost Sensitive Learning in the Presence of Symmetric Label Noise",
    PAKDD 2019, section F.4 of the supplement ("Centile method"). There a pair may join a row to
    itself, which gives a width of zero for low centiles; here such pairs are dropped.

    Examples
    --------
    >>> X = np.arange(5.0)[:, None]
    >>> centile_widths(X, np.random.default_rng(0), centiles=[0, 50, 90])
    array([1., 2., 4.])
    """
    rows = _rows(X, "X")
    ranks = np.asarray(centiles, dtype=float).ravel()
    if not (ranks.size and np.all((ranks >= 0) & (ranks < 100))):
        msg = f"`centiles` must lie in [0, 100), at least one of them; got {ranks.tolist()}."
        raise ValueError(msg)
    distances = _pair_distances(rows, rng, n_pairs)
    if not distances.size:
        # Ties so heavy that every pair drawn was one: draw again from the distinct rows.
        distances = _pair_distances(np.unique(rows, axis=0), rng, n_pairs)
    if not distances.size:
        msg = (
            "`X` must have at least two distinct rows, or there is no distance to take a width "
            f"from; got {len(rows)} rows, all equal. Give the widths explicitly."
        )
        raise ValueError(msg)
    widths = np.unique(distances[(distances.size * ranks / 100).astype(int)])
    return np.unique(np.append(widths, widths[0] * np.asarray(narrower, dtype=float)))


def _pair_distances(rows: Array, rng: np.random.Generator, n_pairs: int) -> Array:
    """Return the sorted positive distances between at most ``n_pairs`` pairs of rows."""
    n = len(rows)
    if n * (n - 1) // 2 <= n_pairs:
        distances = np.asarray(pdist(rows)) if n > 1 else np.empty(0)
    else:
        first, second = rng.permutation(n)[:n_pairs], rng.permutation(n)[:n_pairs]
        distances = np.linalg.norm(rows[first] - rows[second], axis=1)
    return np.sort(distances[distances > 0])


# What `_parameter_constraints` say of centres and widths.
KERNELS = {
    "widths": [StrOptions({"centiles"}), Interval(Real, 0, None, closed="neither"), "array-like"],
    "centers": [None, Interval(Integral, 1, None, closed="left")],
    "narrower": ["array-like"],
    "halved": ["boolean"],
    "random_state": ["random_state"],
}


def encode_classes(y: Any) -> Any:
    """Return the sorted classes, two or more, and the place of each label among them."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        msg = (
            "`y` must hold two or more classes to learn from; got one class only: "
            f"{classes.tolist()[0]!r}. Check the column or the filter that made the labels."
        )
        raise ValueError(msg)
    return classes, codes.reshape(-1)


def refuse_weightless_classes(codes: Any, n_classes: Any, weight: Any) -> None:
    """Raise an error unless every class has a row of positive weight."""
    if weight is not None and not np.all(np.bincount(codes, weight, n_classes) > 0):
        msg = (
            "Each class must have a row of positive weight to learn from; got a class without. "
            "Check the weights, or drop the rows of that class."
        )
        raise ValueError(msg)


class KernelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of classifiers that estimate probabilities with kernels and call the likeliest class."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""

    @abstractmethod
    def _chosen(self) -> dict[str, Any]:
        """Return the parameters that ask for what this fit chose."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row; of equally likely ones the first.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]


def settle(estimator: Any, X: Any, y: Any, **fit_params: Any) -> Any:
    """Return a copy of an estimator whose kernel widths, if it has any, are chosen on these rows.

    Fits to many parts of the same rows then need no search of their own. Anything else, and a
    pipeline that ends in anything else, is returned as it is.
    """
    if not isinstance(_last(estimator), KernelClassifier):
        return estimator
    copy = clone(estimator)
    _last(copy).set_params(**_last(clone(estimator).fit(X, y, **fit_params))._chosen())  # noqa: SLF001
    return copy


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


class Rows:
    """Training rows of positive weight, and the distinct ones among them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows.
    codes : ndarray of shape (n,)
        Class numbers.
    weight : ndarray of shape (n,) or None
        Weights, all positive.
    kept : ndarray
        Which of the rows given these are.
    """

    def __init__(self, X: Any, codes: Any, weight: Any) -> None:
        self.kept = slice(None) if weight is None else np.flatnonzero(weight > 0)
        self.X, self.codes = X[self.kept], codes[self.kept]
        self.weight = None if weight is None else weight[self.kept]
        self._distinct, place = np.unique(self.X, axis=0, return_inverse=True)
        self._place = place.reshape(-1)

    def centers(self, members: Any, n_centers: Any, rng: Any) -> Array:
        """Draw centres from the distinct rows among `members`; all of them when None."""
        candidates = self._distinct[np.unique(self._place[members])]
        if n_centers is None:
            return candidates
        return choose_centers(candidates, n_centers, rng)

    def widths(self, widths: Any, narrower: Any, rng: Any) -> Array:
        """Return the widths to try, ascending and without repeats."""
        if isinstance(widths, str):
            return centile_widths(self._distinct, rng, narrower=narrower)
        return ascending(widths, "widths")

    def folds(self, cv: Any, codes: Any, rng: Any) -> Indices:
        """Return the fold of each row kept; a splitter is shown all rows, `codes` theirs."""
        if isinstance(cv, Integral):
            return fold_numbers(cv, self.codes, rng)
        return fold_numbers(cv, codes, rng)[self.kept]


def ascending(values: Any, name: Any) -> Array:
    """Return positive candidates, one or more, in ascending order without repeats."""
    grid = np.unique(np.asarray(values, dtype=float))
    if not (grid.size and grid[0] > 0 and np.isfinite(grid[-1])):
        msg = f"`{name}` must hold finite numbers above 0, one or more; got {grid.tolist()}."
        raise ValueError(msg)
    return grid
