"""Splits, scores and results of a grid searched from fold moments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from flipcost.core.confusion import ConfusionCounts, measure


def as_list(values: Any) -> list[Any]:
    """Return candidates as a list; a single one becomes a list of one."""
    return [values] if np.ndim(values) == 0 else list(values)


class PaidCounts(NamedTuple):
    """What wrong calls cost by label and call, and the weight of the rows."""

    paid: Any
    weight: Any

    def cost(self, noise_rate: Any) -> Any:
        """Return what a row costs on average, denoised without bias if a rate is given."""
        clean = self.paid.denoised(noise_rate)
        return (clean[..., 1, 0] + clean[..., 0, 1]) / self.weight


def paid_confusions(count: Any, prices: Any, weight: Any) -> PaidCounts:
    """Count labels against calls: uncalled rows by what a miss costs, called ones by an alarm.

    A miss is a positive row that was not called, so that the two columns of calls need the two
    prices, whichever label a row has.

    Parameters
    ----------
    count : callable
        From weights of rows to `ConfusionCounts`.
    prices : RowCosts
        Of the rows.
    weight : ndarray of shape (n,)
        Weights of the rows.
    """
    parts = [count(weight * part) for part in (prices.miss, prices.alarm)]
    tables = np.stack([part.counts[..., call] for call, part in enumerate(parts)], axis=-1)
    total = count(weight).counts.sum(axis=(-2, -1))
    return PaidCounts(ConfusionCounts(tables, tables), total)


def score_candidates(table: Any, paths: Any, name: Any, scoring: Any) -> Any:
    """Return scores of shape (candidates, folds); NaN for candidates without a solution."""
    sign, cost, rate = scoring
    if isinstance(table, PaidCounts):
        scores = sign * table.cost(rate)
    else:
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
