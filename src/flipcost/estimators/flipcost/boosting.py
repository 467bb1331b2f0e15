"""Gradient boosting among the scores: the mean of many small ones, each of half of the rows.

Boosting follows the labels, and noisy ones lead it astray: on four tables with flipped labels, told
the rates, one boosting of 60 trees had a noise tax of 0.42, and the mean of eight boostings of
eight trees, each of the rows of half the folds, 0.28 (class-conditional flips: 0.31 and 0.12). Each
scores the other half: no row is scored by a boosting that has seen it, and none is fitted for that
alone, but where later rows may not score earlier ones.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from joblib import cpu_count
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from flipcost._threads import thread_limits
from flipcost._validation import take_rows
from flipcost.core.dependence import training_rows
from flipcost.core.quantiles import weighted_quantile
from flipcost.core.trees import TreeSum, read_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]

_Part = TypeVar("_Part")
_Found = TypeVar("_Found")

# Boosting learns from so many rows of the rarer label at least, and from so many rows at most:
# above, its fits take longer than all else together.
_FEWEST_FOR_TREES, _MOST_FOR_TREES = 30, 100_000
# So many pairs of halves, and boostings of them twice that. Ten or twenty boostings were no better
# than eight, six were worse; more and smaller steps, or 0.7 of the rows, no better.
_PAIRS = 4
# Halves that lack a label are drawn again, so often at most.
_DRAWS = 20
# What a row without weight is, beside 0 for negative and 1 for positive.
_NEITHER = 2
# What many would fit is scored out of so many folds, however many there are.
_FEW_FOLDS = 5
# From so many rows on half of them teach plain classifiers what all do, and fits run beside each
# other; with fewer, threads wait for each other.
MANY_ROWS = 20_000
# Bins of a column, as many as scikit-learn makes.
_BINS = 255


def boosting_classifier(is_category: NDArray[np.bool_], seed: int) -> Any:
    """Return plain boosting, as a rival: small trees, since labels are noisy.

    Examples
    --------
    >>> boosting_classifier(np.array([False, True]), 0).max_leaf_nodes
    15
    """
    return HistGradientBoostingClassifier(
        max_iter=60,
        learning_rate=0.1,
        max_leaf_nodes=15,
        l2_regularization=1.0,
        early_stopping=False,
        categorical_features=is_category if is_category.any() else None,
        random_state=seed,
    )


def _short_boosting(is_category: NDArray[np.bool_]) -> Any:
    """Return one of those that are averaged: few steps, and each split sees some of the columns."""
    return HistGradientBoostingClassifier(
        max_iter=8,
        learning_rate=0.3,
        max_leaf_nodes=15,
        min_samples_leaf=15,
        max_features=float(np.clip(2 / max(len(is_category), 1), 0.5, 1.0)),
        l2_regularization=1.0,
        early_stopping=False,
        categorical_features=is_category if is_category.any() else None,
    )


def allows_trees(positive: Flags, n_columns: int = 1) -> bool:
    """Tell whether rows are enough, and few enough, to learn trees from.

    Of more columns than rows, some fit the labels by chance in any table, and trees find those.

    Examples
    --------
    >>> allows_trees(np.arange(100) < 29), allows_trees(np.arange(100) < 30)
    (False, True)
    >>> allows_trees(np.arange(100) < 30, 100)
    False
    """
    rarer = min(np.count_nonzero(positive), np.count_nonzero(~positive))
    return bool(rarer >= _FEWEST_FOR_TREES and n_columns < len(positive) <= _MOST_FOR_TREES)


class _Fit(NamedTuple):
    """One boosting: the rows that it learns from, those it scores, its seed, whether it is kept."""

    learned: Indices
    scored: Indices
    seed: int
    kept: bool = True


def boosting_scores(
    cells: Array,
    is_category: NDArray[np.bool_],
    positive: Flags,
    weight: Array | None,
    folds: Indices,
    *,
    forward: bool = False,
    seed: int = 0,
) -> tuple[TreeSum, Array] | None:
    """Average boostings of halves of the folds; return their mean, and scores out of fold.

    Fits on many rows run beside each other, each on one thread: they do not wait for each other,
    and give the same whatever the cores are.

    Parameters
    ----------
    cells : ndarray of shape (n, d)
        Rows, with codes of categories, and NaN where there is nothing.
    is_category : ndarray of bool, shape (d,)
        Which columns hold codes of categories.
    positive, weight, folds : arrays of n rows
        Which are positive, their weights or None, and their folds.
    forward : bool, default=False
        Whether a fold is scored by earlier ones only.
    seed : int, default=0
        Seed of the halves, and of the columns that splits see.

    Returns
    -------
    boosting : TreeSum
        For new rows.
    scores : ndarray of shape (n,)
        Log-odds out of fold.
        None in place of both where halves of the folds do not have both labels.

    Examples
    --------
    >>> X, positive = np.arange(90.0)[:, None], np.arange(90) > 40
    >>> boosting, scores = boosting_scores(X, np.array([False]), positive, None, np.arange(90) % 3)
    >>> scores.shape, bool(scores[80] > scores[10]), len(boosting.trees)
    ((90,), True, 64)
    """
    n, labels = len(positive), positive.astype(int)
    # A label without weight teaches nothing.
    kinds = labels if weight is None else np.where(weight > 0, labels, _NEITHER)
    fits = _fits(kinds, folds, np.random.default_rng(seed), forward=forward)
    if fits is None:
        return None
    told = cells if weight is None else coarse_columns(cells, is_category, weight)

    def call(fit: _Fit) -> tuple[TreeSum, Array]:
        model = _short_boosting(is_category).set_params(random_state=fit.seed)
        made = _learned(model, told, labels, weight, fit.learned)
        return made, made.score(take_rows(cells, fit.scored))

    total, count = np.zeros(n), np.zeros(n)
    found = _each(call, fits, n)
    for fit, (_, own) in zip(fits, found, strict=True):
        total[fit.scored] += own
        count[fit.scored] += 1
    kept = [made for fit, (made, _) in zip(fits, found, strict=True) if fit.kept]
    return TreeSum.mean(kept), total / count


def _fits(
    kinds: NDArray[np.int_], folds: Indices, rng: np.random.Generator, *, forward: bool
) -> list[_Fit] | None:
    """Return what is fitted: pairs of halves that score each other, or early folds a later one.

    None where there is nothing to learn from without some folds.
    """
    n_folds, none = int(folds.max()) + 1, np.empty(0, np.intp)
    fits: list[_Fit] = []
    for _ in range(_PAIRS):
        half = _half(kinds, folds, np.arange(n_folds), rng)
        if half is None:
            return None
        sides = (np.flatnonzero(half), np.flatnonzero(~half))
        for one, other in (sides, sides[::-1]):
            fits.append(_Fit(one, none if forward else other, int(rng.integers(1 << 31))))
    for k in range(n_folds) if forward else ():
        before = training_rows(folds, k, forward=True)
        if not _has_both(kinds[before]):
            return None
        for _ in range(_PAIRS):
            half = _half(kinds[before], folds[before], np.unique(folds[before]), rng)
            learned = before if half is None else before[half]
            seed = int(rng.integers(1 << 31))
            fits.append(_Fit(learned, np.flatnonzero(folds == k), seed, kept=False))
    return fits


def _half(
    kinds: NDArray[np.int_], folds: Indices, some: Indices, rng: np.random.Generator
) -> Flags | None:
    """Tell which rows are in a random half of some folds; both sides have both labels, or None."""
    for _ in range(_DRAWS if len(some) > 1 else 0):
        half = np.isin(folds, rng.permutation(some)[: len(some) // 2])
        if _has_both(kinds[half]) and _has_both(kinds[~half]):
            return half
    return None


def _has_both(kinds: NDArray[np.int_]) -> bool:
    """Tell whether there are negative and positive labels."""
    return bool(np.any(kinds == 0) and np.any(kinds == 1))


def _learned(
    model: Any, cells: Array, labels: NDArray[np.int_], weight: Array | None, rows: Indices
) -> TreeSum:
    """Fit boosting to some rows, and read its trees."""
    by = {} if weight is None else {"sample_weight": weight[rows]}
    some = take_rows(cells, rows)
    # Scikit-learn cannot bin a column in which nothing is known; one that is constant is not split.
    unknown = np.isnan(some).all(axis=0)
    if unknown.any():
        some = np.where(unknown, 0.0, some)
    return read_trees(model.fit(some, labels[rows], **by))


def plain_scores(
    trees: Any,
    cells: Array,
    positive: Flags,
    weight: Array | None,
    folds: Indices,
    *,
    forward: bool = False,
) -> Array:
    """Return the log-odds that plain boosting gives rows out of fold.

    Parameters
    ----------
    trees : HistGradientBoostingClassifier
        Not fitted.
    cells, positive, weight, folds, forward
        As in `boosting_scores`.

    Examples
    --------
    >>> X, positive = np.arange(90.0)[:, None], np.arange(90) > 40
    >>> trees = boosting_classifier(np.array([False]), 0)
    >>> plain_scores(trees, X, positive, None, np.arange(90) % 3).shape
    (90,)
    """
    n, labels = len(positive), positive.astype(int)
    told = cells if weight is None else coarse_columns(cells, trees.categorical_features, weight)
    few = folds if forward else few_folds(folds)
    held_out = [np.flatnonzero(few == k) for k in range(int(few.max()) + 1)]

    def call(k: int) -> Array:
        rows = training_rows(few, k, forward=forward)
        made = _learned(clone(trees), told, labels, weight, rows)
        return made.score(take_rows(cells, held_out[k]))

    scores = np.empty(n)
    for rows, own in zip(held_out, _each(call, range(len(held_out)), n), strict=True):
        scores[rows] = own
    return scores


def few_folds(folds: Indices) -> Indices:
    """Return fewer folds, five, or two of many rows, by which plain classifiers are held out.

    Examples
    --------
    >>> few_folds(np.arange(10)).tolist()
    [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    """
    return folds % (2 if len(folds) >= MANY_ROWS else _FEW_FOLDS)


def _each(call: Callable[[_Part], _Found], parts: Sequence[_Part], n_rows: int) -> list[_Found]:
    """Call with each part on one thread, several at a time where rows are many."""
    if n_rows < MANY_ROWS:
        return _on_one_thread(lambda: [call(part) for part in parts])
    with ThreadPoolExecutor(max(1, min(free_cores(), len(parts)))) as pool:
        return list(pool.map(lambda part: _on_one_thread(lambda: call(part)), parts))


def coarse_columns(cells: Array, is_category: NDArray[np.bool_] | None, weight: Array) -> Array:
    """Return rows whose numbers take no more values than boosting has bins, by weighted quantiles.

    Boosting would find such bins itself, but of weighted rows by sorting a column once for each:
    four fifths of the time of a fit on 800 rows.

    Parameters
    ----------
    cells : ndarray of shape (n, d)
        Rows; NaN stays.
    is_category : ndarray of bool, shape (d,), or None
        Which columns hold codes of categories.
    weight : ndarray of shape (n,)
        Weights of the rows.

    Examples
    --------
    >>> X = np.arange(1000.0)[:, None]
    >>> coarse = coarse_columns(X, None, np.ones(1000))
    >>> len(np.unique(coarse)), bool(np.abs(coarse - X).max() < 4)
    (255, True)
    """
    made = np.array(cells, dtype=float)
    for j in range(made.shape[1]):
        column = made[:, j]
        known = np.flatnonzero(np.isfinite(column) & (weight > 0))
        if (is_category is not None and is_category[j]) or len(known) <= _BINS:
            continue
        values = column[known]
        if len(np.unique(values)) <= _BINS:
            continue
        edges = weighted_quantile(values, np.arange(1, _BINS) / _BINS, weight[known])
        place = np.searchsorted(np.unique(edges), values)
        count = np.bincount(place)
        mean = np.bincount(place, values) / np.maximum(count, 1)
        column[known] = mean[place]
    return made


def _on_one_thread(call: Callable[[], Any]) -> Any:
    """Call with one OpenMP thread; the limit is of the thread that this is called in."""
    with thread_limits(1, "openmp"):
        return call()


def free_cores() -> int:
    """Return how many threads can run at once: cores that this process may use, less busy ones.

    Examples
    --------
    >>> free_cores() >= 1
    True
    """
    cores = int(cpu_count())
    try:
        waiting = os.getloadavg()[0] - cores
    except (AttributeError, OSError):  # not every system tells
        return cores
    return int(np.clip(cores - round(max(waiting, 0.0)), 1, cores))
