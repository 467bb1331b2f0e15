"""What the classifiers on Gaussian kernels share: labels, centres, widths and folds.

Repeated rows are one row here: centres and widths are drawn from the distinct rows, so that a
weight of three and three copies of a row draw the same ones, in whatever order rows come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from flipcost._validation import Interval, StrOptions
from flipcost.core.arrays import Array, Indices
from flipcost.core.kernels import centile_widths, choose_centers
from flipcost.estimators._folds import fold_numbers

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
