"""Splits, scores and results of a grid searched from fold moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from flipcost.core.confusion import measure


def as_list(values: Any) -> list[Any]:
    """Return candidates as a list; a single one becomes a list of one."""
    return [values] if np.ndim(values) == 0 else list(values)


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
