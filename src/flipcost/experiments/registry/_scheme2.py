"""Scheme 2: Algorithm (eta~, alpha), all measures and both readings of its folds in one pass.

The algorithm under-samples the negatives for each margin, estimates probabilities by five folds,
and takes the margin with the best measure "from the partitioned data". That can be read in two
ways, and one set of fits serves both:

- *resampled*: the measure is taken on the rows of the fold that the under-sampling kept. A large
  margin leaves few negatives there, so that calling everything positive looks good when labels are
  noisy. The printed columns look like this.
- *untouched*: the measure is taken on all rows of the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.arrays import Flags
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.resampling import kept_negatives, negative_ratio
from flipcost.experiments.registry._protocol import (
    MEASURES,
    N_FOLDS,
    Trial,
    choose,
    clean_scores,
    random_folds,
)

READINGS = ("resampled", "untouched")


def run_scheme2(
    trial: Trial,
    estimator: Any,
    cost: float,
    margins: Sequence[float],
    rng: np.random.Generator,
    fixed_margins: Sequence[float] = (),
) -> list[tuple[Any, ...]]:
    """Tune the margin and penalty for each measure, and score the clean test rows.

    Parameters
    ----------
    trial : Trial
        The rows.
    estimator : object
        With ``n_l2s`` and ``probabilities(rows, at)``: fit to the training rows of those numbers,
        evaluate at rows of the training part with the test part below it; shape (at, n_l2s).
    cost : float
        The cost.
    margins : sequence of float
        Candidates.
    rng : Generator
        For the draws.
    fixed_margins : sequence of float
        Margins to report on their own too, only the penalty being tuned.

    Returns
    -------
    list of tuple
        ``(reading, margin, measure, value)``; the margin is "tuned" or a fixed one.
    """
    counts = _cross_validate(trial, estimator, cost, margins, rng)
    final = _Refits(trial, estimator, cost, margins, rng)
    found: list[tuple[Any, ...]] = []
    for reading, tables in zip(READINGS, counts, strict=True):
        for name in MEASURES:
            place, l2 = choose(tables, name, cost, margins)
            found.append((reading, "tuned", name, final.value(place, l2, name)))
            if name == "WC":
                found.append((reading, "tuned", "WC1", final.value(place, l2, "WC1")))
        for margin in fixed_margins:
            place = int(np.flatnonzero(np.asarray(margins) == margin)[0])
            alone = tables[place : place + 1]
            for name in MEASURES:
                _, l2 = choose(alone, name, cost, [margin])
                found.append((reading, margin, name, final.value(place, l2, name)))
    return found


def _sample(noisy: Flags, order: NDArray[np.int_], ratio: float) -> Any:
    """Return which rows stay: all positives and the first negatives of a random order."""
    kept = np.zeros(len(noisy), dtype=bool)
    kept[noisy] = True
    kept[order[: kept_negatives(len(order), min(ratio, 1.0))]] = True
    return kept


def _cross_validate(
    trial: Trial, estimator: Any, cost: float, margins: Sequence[float], rng: np.random.Generator
) -> Any:
    """Return counts of shape (readings, margins, l2s, 2, 2), added up over the folds."""
    noisy = trial.noisy
    folds = random_folds(noisy, N_FOLDS, rng)
    order = rng.permutation(np.flatnonzero(~noisy))
    counts = np.zeros((2, len(margins), estimator.n_l2s, 2, 2))
    for place, margin in enumerate(margins):
        kept = _sample(noisy, order, negative_ratio(cost, margin))
        for fold in range(N_FOLDS):
            at = np.flatnonzero(folds == fold)
            calls = estimator.probabilities(np.flatnonzero(kept & (folds != fold)), at) > 0.5
            for column in range(estimator.n_l2s):
                inside = kept[at]
                counts[0, place, column] += _table(noisy[at][inside], calls[inside, column])
                counts[1, place, column] += _table(noisy[at], calls[:, column])
    return counts


def _table(labels: Flags, calls: Flags) -> Any:
    return ConfusionCounts.from_labels(labels, calls).counts


class _Refits:
    """Final fits on a fresh under-sample, each made once and kept."""

    def __init__(
        self,
        trial: Trial,
        estimator: Any,
        cost: float,
        margins: Sequence[float],
        rng: np.random.Generator,
    ) -> None:
        self._trial, self._estimator, self._cost = trial, estimator, cost
        self._margins = margins
        self._order = rng.permutation(np.flatnonzero(~trial.noisy))
        self._calls: dict[int, Any] = {}

    def value(self, place: int, l2: float, name: str) -> float:
        margin = self._margins[place]
        if place not in self._calls:
            kept = _sample(self._trial.noisy, self._order, negative_ratio(self._cost, margin))
            n = len(self._trial.noisy)
            at = np.arange(n, n + len(self._trial.positive))
            estimated = self._estimator.probabilities(np.flatnonzero(kept), at)
            self._calls[place] = estimated > 0.5
        return clean_scores(self._trial, self._calls[place][:, l2], self._cost, margin)[name]
