"""Splits, scores and results of a grid searched from fold moments."""

from __future__ import annotations

from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from flipcost.core.confusion import measure
from flipcost.core.folds import stratified_folds
from flipcost.core.scoring import fold_confusions

if TYPE_CHECKING:
    from flipcost.core.confusion import ConfusionCounts


def count_fold_mistakes(
    X: Any, positive: Any, folds: Any, weight: Any, paths: Any
) -> ConfusionCounts:
    """Count labels against the calls of each fold's own candidates, coefficients last."""
    return fold_confusions(X, positive, paths, folds, weight)


def as_list(values: Any) -> list[Any]:
    """Return candidates as a list; a single one becomes a list of one."""
    return [values] if np.ndim(values) == 0 else list(values)


def folds_or_splits(cv: Any, positive: Any, groups: Any) -> Any:
    """Return the fold of each row when test sets partition the rows, and any other splits as such.

    Splits are pairs of how often each row is trained on and tested on. They are drawn one by one:
    the first that does not go on with a partition ends the search for one.
    """
    if isinstance(cv, Integral):
        return stratified_folds(positive, int(cv)), None
    n = len(positive)
    splits = iter(
        check_cv(cv, positive, classifier=True).split(
            np.empty((n, 0)), positive.astype(np.int8), groups
        )
    )
    fold, drawn = np.full(n, -1, np.int32), []
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


def chosen_rows(times: Any, weight: Any) -> Any:
    """Return the chosen rows as fold 0, and their weight: a row chosen twice counts twice."""
    folds = np.where(times > 0, np.int8(0), np.int8(-1))
    if times.max() <= 1:
        return folds, weight
    return folds, times.astype(float) if weight is None else times * weight


def score_candidates(table: Any, paths: Any, name: Any, scoring: Any) -> Any:
    """Return scores of shape (candidates, folds); NaN for candidates without a solution."""
    sign, cost, rate = scoring
    scores = sign * measure(table.denoised(rate), name, cost)
    return np.where(np.isnan(paths[..., -1]), np.nan, scores).T


def search_results(candidates: Any, scores: Any, seconds: Any) -> dict[str, Any]:
    """Lay scores out as GridSearchCV does."""
    n_candidates, n_splits = scores.shape
    results = {}
    for name, spent in zip(("fit_time", "score_time"), seconds, strict=True):
        results[f"mean_{name}"] = np.full(n_candidates, spent / scores.size)
        results[f"std_{name}"] = np.zeros(n_candidates)
    for name in candidates[0]:
        values = np.empty(n_candidates, dtype=object)
        values[:] = [candidate[name] for candidate in candidates]
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=False)
    results["params"] = candidates
    for k in range(n_splits):
        results[f"split{k}_test_score"] = scores[:, k]
    mean = scores.mean(axis=1)
    results["mean_test_score"] = mean
    results["std_test_score"] = scores.std(axis=1)
    worst = np.where(np.isnan(mean), -np.inf, mean)
    results["rank_test_score"] = rankdata(-worst, method="min").astype(np.int32)
    return results
