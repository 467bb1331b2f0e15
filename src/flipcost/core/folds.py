"""Assigning rows to the folds of a cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def stratified_folds(positive: ArrayLike, n_folds: int) -> NDArray[np.int16]:
    """Assign rows to folds so that each fold has its share of both classes, in order of the rows.

    The folds are those of scikit-learn's ``StratifiedKFold`` without shuffling, found without
    sorting labels or listing rows.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which rows are of the positive class.
    n_folds : int
        Number of folds, at least two and at most the rows of the larger class.

    Returns
    -------
    ndarray of int, shape (n,)
        Fold of each row.

    Examples
    --------
    >>> stratified_folds([0, 0, 0, 0, 1, 1], 2)
    array([0, 0, 1, 1, 0, 1], dtype=int16)
    """
    labels = np.asarray(positive, dtype=bool)
    n_positive = int(np.count_nonzero(labels))
    larger = max(n_positive, len(labels) - n_positive)
    if not 2 <= n_folds <= larger:
        msg = (
            "The number of folds must be at least 2 and at most the rows of the larger class, "
            f"{larger}; got {n_folds}. Choose a number in between, or gather more rows."
        )
        raise ValueError(msg)
    first = bool(labels[0])
    n_first = n_positive if first else len(labels) - n_positive
    # Deal the rows, sorted by class, to the folds in turn: fold k gets places k, k + n_folds, ...
    turns = np.arange(n_folds)
    dealt_first = np.maximum(0, -(-(n_first - turns) // n_folds))
    dealt_all = np.maximum(0, -(-(len(labels) - turns) // n_folds))
    folds = np.empty(len(labels), np.int16)
    small = turns.astype(np.int16)
    folds[labels == first] = np.repeat(small, dealt_first)
    folds[labels != first] = np.repeat(small, dealt_all - dealt_first)
    return folds
