"""Seeds and folds as scikit-learn takes them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from flipcost.core.arrays import Indices
from flipcost.core.folds import random_folds


def generator(random_state: Any) -> np.random.Generator:
    """Return a numpy generator from what scikit-learn takes as a seed."""
    seeds = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seeds)


def fold_numbers(cv: Any, codes: Any, rng: Any) -> Indices:
    """Return the fold of each row: random and stratified for a number, else as the splitter says.

    Parameters
    ----------
    cv : int, splitter or iterable
        Folds. Test sets must partition the rows, since rows are held out fold by fold.
    codes : ndarray of shape (n,)
        Class numbers.
    rng : numpy.random.Generator
        Where folds come from when `cv` is a number.
    """
    n_rows = len(codes)
    if isinstance(cv, Integral):
        if not 2 <= int(cv) <= n_rows:
            msg = f"`cv` must be at least 2 and at most the number of rows, {n_rows}; got {cv}."
            raise ValueError(msg)
        return random_folds(codes, int(cv), rng)
    folds = np.full(n_rows, -1)
    splits = check_cv(cv, codes, classifier=True).split(np.empty((n_rows, 0)), codes)
    rows = np.arange(n_rows)
    for number, (train, test) in enumerate(splits):
        tested = rows[test]
        others = np.setdiff1d(rows, tested)
        if np.any(folds[tested] >= 0) or not np.array_equal(np.sort(rows[train]), others):
            folds[:] = -1
            break
        folds[tested] = number
    if np.any(folds < 0):
        msg = (
            "The test sets of `cv` must partition the rows, each trained on all the others; got "
            "splits that do not. Give a number of folds, or a splitter such as KFold."
        )
        raise ValueError(msg)
    return folds
