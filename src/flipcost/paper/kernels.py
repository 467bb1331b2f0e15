r"""Gaussian kernels on chosen centres, and the widths worth trying.

Distances are computed once and reused for every width: a kernel is a function of the squared
distances, not of the rows. The kernel is

.. math::

    k_\sigma(x, c) = \exp\!\left(-\frac{\lVert x - c\rVert^2}{2\sigma^2}\right),

or, with ``halved=False``, the same without the 2, as in the code that the paper used.

Classifiers
-----------
Repeated rows are one row for classifiers on Gaussian kernels: centres and widths are drawn from the
distinct rows, so that a weight of three and three copies of a row draw the same ones, in whatever
order rows come.
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
# Multiples of the smallest centile that likelihood cross-validation tries too: in ten dimensions
# distances crowd together, and it sits at the narrow edge of the centiles.
NARROWER = (0.35, 0.5, 0.7)
# Pairs of rows of which centiles are taken, at most.
_N_PAIRS = 2000


def squared_distances(X: ArrayLike, centers: ArrayLike) -> Array:
    """Return the squared distance of every row to every centre.

    Differences are taken before squares: no distance is negative, that of a row to itself is zero,
    and an offset common to all rows costs no accuracy.
    """
    return np.asarray(cdist(np.asarray(X, float), np.asarray(centers, float), "sqeuclidean"))


def gaussian_kernel(sq_distances: ArrayLike, width: float, *, halved: bool = True) -> Array:
    """Return ``exp(-d^2 / (2 width^2))`` of squared distances, or the same without the 2."""
    # The square of a tiny width can underflow: a factor of minus infinity would make zero distances
    # undefined instead of one.
    factor = max((-0.5 if halved else -1.0) / width / width, float(np.finfo(float).min))
    with np.errstate(over="ignore"):
        exponent = np.atleast_1d(sq_distances) * factor
    # In place: a second large array takes several times as long as the exponential.
    return np.asarray(np.exp(exponent, out=exponent))


def choose_centers(X: ArrayLike, n_centers: int, rng: np.random.Generator) -> Array:
    """Draw kernel centres from the rows, without replacement; all rows if there are no more."""
    rows = np.asarray(X, dtype=float)
    return rows[rng.choice(len(rows), size=min(n_centers, len(rows)), replace=False)]


def centile_widths(X: ArrayLike, rng: np.random.Generator, *, narrower: ArrayLike = ()) -> Array:
    r"""Return kernel widths to try: centiles of the distance between two rows drawn at random.

    At most 2000 pairs are drawn by matching two random permutations of the rows, pairs of equal
    rows are dropped, and the width of centile :math:`C` is the distance of rank
    :math:`\lfloor n C / 100 \rfloor` among the :math:`n` that are left, for C = 10, 20, ..., 90.
    When all pairs of rows number no more than 2000, they are all used and nothing is random.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows, at least two of them distinct.
    rng : numpy.random.Generator
        Where the pairs come from.
    narrower : array-like, default=()
        Multiples of the smallest width to try too.

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
    >>> centile_widths(np.arange(5.0)[:, None], np.random.default_rng(0))
    array([1., 2., 3., 4.])
    """
    rows = np.asarray(X, dtype=float)
    distances = _pair_distances(rows, rng)
    if not distances.size:
        # Ties so heavy that every pair drawn was one: draw again from the distinct rows.
        distances = _pair_distances(np.unique(rows, axis=0), rng)
    if not distances.size:
        msg = (
            "`X` must have at least two distinct rows, or there is no distance to take a width "
            f"from; got {len(rows)} rows, all equal. Give the widths explicitly."
        )
        raise ValueError(msg)
    widths = np.unique(distances[(distances.size * np.array(CENTILES) / 100).astype(int)])
    return np.unique(np.append(widths, widths[0] * np.asarray(narrower, dtype=float)))


def _pair_distances(rows: Array, rng: np.random.Generator) -> Array:
    """Return the sorted positive distances between at most 2000 pairs of rows."""
    n = len(rows)
    if n * (n - 1) // 2 <= _N_PAIRS:
        distances = np.asarray(pdist(rows)) if n > 1 else np.empty(0)
    else:
        first, second = rng.permutation(n)[:_N_PAIRS], rng.permutation(n)[:_N_PAIRS]
        distances = np.linalg.norm(rows[first] - rows[second], axis=1)
    return np.sort(distances[distances > 0])


# What `_parameter_constraints` say of centres and widths.
KERNELS = {
    "widths": [StrOptions({"centiles"}), Interval(Real, 0, None, closed="neither"), "array-like"],
    "centers": [None, Interval(Integral, 1, None, closed="left")],
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
        if len(np.unique(self.codes)) < len(np.unique(codes)):
            msg = (
                "Each class must have a row of positive weight to learn from; got a class without. "
                "Check the weights, or drop the rows of that class."
            )
            raise ValueError(msg)
        self.weight = None if weight is None else weight[self.kept]
        self._distinct, place = np.unique(self.X, axis=0, return_inverse=True)
        self._place = place.reshape(-1)

    def centers(self, members: Any, n_centers: Any, rng: Any) -> Array:
        """Draw centres from the distinct rows among `members`; all of them when None."""
        candidates = self._distinct[np.unique(self._place[members])]
        return candidates if n_centers is None else choose_centers(candidates, n_centers, rng)

    def widths(self, widths: Any, rng: Any, narrower: Any = ()) -> Array:
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
