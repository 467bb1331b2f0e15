"""Seeds and folds as scikit-learn takes them."""

from __future__ import annotations

from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from flipcost.core.arrays import Indices
from flipcost.core.folds import group_folds, random_folds, stratified_folds


def generator(random_state: Any) -> np.random.Generator:
    """Return a numpy generator from what scikit-learn takes as a seed."""
    seeds = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seeds)


def fold_numbers(cv: Any, codes: Any, rng: Any, groups: Any = None) -> Indices:
    """Return the fold of each row: random and stratified for a number, else as the splitter says.

    Parameters
    ----------
    cv : int, splitter or iterable
        Folds. Test sets must partition the rows, since rows are held out fold by fold.
    codes : ndarray of shape (n,)
        Class numbers.
    rng : numpy.random.Generator
        Where folds come from when `cv` is a number.
    groups : ndarray of shape (n,), optional
        For splitters that take groups.
    """
    n_rows = len(codes)
    if isinstance(cv, Integral):
        if not 2 <= int(cv) <= n_rows:
            msg = f"`cv` must be at least 2 and at most the number of rows, {n_rows}; got {cv}."
            raise ValueError(msg)
        return random_folds(codes, int(cv), rng)
    folds, _ = folds_or_splits(cv, codes, groups)
    if folds is None:
        msg = (
            "The test sets of `cv` must partition the rows, each trained on all the others; got "
            "splits that do not. Give a number of folds, or a splitter such as KFold."
        )
        raise ValueError(msg)
    return folds


def folds_or_splits(cv: Any, codes: Any, groups: Any = None) -> Any:
    """Return the fold of each row when test sets partition the rows, and any other splits as such.

    A number stands for stratified folds in order of the rows, or of groups. Splits are pairs of how
    often each row is trained on and tested on. They are drawn one by one: the first that does not
    go on with a partition ends the search for one.
    """
    if isinstance(cv, Integral):
        if groups is None:
            return stratified_folds(codes, int(cv)), None
        stratified_folds(codes, int(cv))  # says what is wrong with the number
        return group_folds(groups, codes, int(cv), np.random.default_rng(0)), None
    n = len(codes)
    splits = iter(check_cv(cv, codes, classifier=True).split(np.empty((n, 0)), codes, groups))
    fold, drawn = np.full(n, -1, np.intp), []
    for train, test in splits:
        drawn.append((_times(train, n), _times(test, n)))
        trained, tested = drawn[-1]
        once = max(trained.max(), tested.max()) <= 1 and np.all(trained != tested)
        if not (once and np.all(fold[tested > 0] < 0)):
            break
        fold[tested > 0] = len(drawn) - 1
    else:
        if np.all(fold >= 0):
            return fold, None
    return None, chain(drawn, ((_times(train, n), _times(test, n)) for train, test in splits))


def _times(rows, n):
    """Return how often each of n rows is chosen, by number or by mask, in the smallest integers."""
    times = np.bincount(np.arange(n)[rows], minlength=n)
    return times.astype(np.min_scalar_type(int(times.max(initial=0))))


def chosen_rows(times: Any, weight: Any) -> dict[str, Any]:
    """Return the chosen rows as fold 0, and their weight: a row chosen twice counts twice."""
    folds = np.where(times > 0, np.int8(0), np.int8(-1))
    if times.max() > 1:
        weight = times.astype(float) if weight is None else times * weight
    return {"folds": folds, "sample_weight": weight}
