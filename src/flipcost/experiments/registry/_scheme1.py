"""Scheme 1, the closed form, from fold moments: every reading and measure of a trial at once.

Readings of the printed columns:

- *stated*: the loss of the paper with the stated cost, the margin tuned.
- *half*: cost 1/2 and margin 1, where the closed form is robust to symmetric noise. Its weighted
  cost is counted with the stated cost and the smallest margin of the grid, where both mistakes
  weigh the same.
- *weight*: the margin divides the weight of the negatives and leaves their target alone, so that
  it moves the threshold to ``cost / (margin + (1 - margin) * cost)``, as in the weighted 0-1 loss
  of scheme 2. At the smallest margin of the grid this is cost 1/2.
- *denoised*: ours. The stated cost, moments and counts denoised with the true rate, margin 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flipcost.core.arrays import Array, Flags
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.losses import weighted_zero_one
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.noise import NoiseRateLike
from flipcost.core.resampling import margin_grid
from flipcost.core.scoring import fold_confusions
from flipcost.core.solve import solve_path
from flipcost.experiments.registry._protocol import (
    L2S,
    MEASURES,
    N_FOLDS,
    Trial,
    choose,
    clean_scores,
    possible_rate,
    random_folds,
    scores_of,
)

# The set of scheme 1's margins in section D is never given.
CLEAN_MARGINS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
CLEAN_COSTS = tuple(np.round(np.arange(0.1, 0.91, 0.05), 2))


class Candidates:
    """Costs and margins to solve for, and the margins to count the weighted cost with."""

    def __init__(self, pairs: Any, counted: Any, noise_rate: NoiseRateLike = None) -> None:
        self.pairs, self.counted, self.noise_rate = pairs, counted, noise_rate

    def path(self, moments: ClassMoments) -> Array:
        """Return coefficients of shape (pairs, penalties, d + 1)."""
        return np.stack(
            [
                solve_path(moments, [cost], [margin], L2S, [self.noise_rate], l2_scale="sum")[
                    0, 0, :, 0
                ]
                for cost, margin in self.pairs
            ]
        )


def noisy_candidates(cost: float, margins: Sequence[float], rho: float) -> Any:
    """Return the candidates of each reading."""
    low = margin_grid(cost)[0]
    thresholds = [weighted_zero_one(cost, margin).threshold for margin in margins]
    return {
        "stated": Candidates([(cost, margin) for margin in margins], margins),
        "half": Candidates([(0.5, 1.0)], [low]),
        "weight": Candidates([(share, 1.0) for share in thresholds], margins),
        "denoised": Candidates([(cost, 1.0)], [1.0], rho),
    }


def run_scheme1(
    trial: Trial, cost: float, margins: Sequence[float], rho: float, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """Return ``(reading, measure, value)`` of every reading on the clean test rows."""
    folds = random_folds(trial.noisy, N_FOLDS, rng)
    parts = fold_moments(trial.X, trial.noisy, folds, N_FOLDS)
    training = merge_others(parts)
    total = parts[0].merge(training[0])
    rate = possible_rate(rho, *(trial.noisy[folds != fold] for fold in range(-1, N_FOLDS)))
    found = []
    for reading, candidates in noisy_candidates(cost, margins, rate).items():
        paths = np.stack([candidates.path(moments) for moments in training])
        shape = paths.shape[1:3]
        flat = paths.reshape(N_FOLDS, -1, paths.shape[-1])
        table = fold_confusions(trial.X, trial.noisy, flat, folds)
        counts = table.denoised(candidates.noise_rate).sum(axis=0).reshape(*shape, 2, 2)
        found += _test(trial, reading, candidates, counts, candidates.path(total), cost)
    return found


def _test(
    trial: Trial,
    reading: str,
    candidates: Candidates,
    counts: Any,
    path: Array,
    cost: float,
) -> Any:
    found = []
    for name in MEASURES:
        place, l2 = choose(counts, name, cost, candidates.counted)
        values = clean_scores(
            trial, _calls(trial.X_test, path[place, l2]), cost, candidates.counted[place]
        )
        found.append((reading, name, values[name]))
        if name == "WC":
            found.append((reading, "WC1", values["WC1"]))
    return found


def _calls(X: Any, weights: Array) -> Flags:
    return X @ weights[:-1] + weights[-1] > 0


def run_clean(trial: Trial, pairs_by_name: dict[Any, Any], rng: np.random.Generator) -> Any:
    """Tune costs and margins on 15 of the 80 hundredths left for training; section D.

    Parameters
    ----------
    pairs_by_name : dict
        Of lists of ``(cost, margin)``.

    Returns
    -------
    list of tuple
        ``(name, measure, value)``.
    """
    # Sixteenths of the training part: three of them are fifteen hundredths of all rows.
    valid = random_folds(trial.noisy, 16, rng) < 3
    moments = ClassMoments.from_rows(trial.X[~valid], trial.noisy[~valid])
    total = ClassMoments.from_rows(trial.X, trial.noisy)
    found = []
    for name, pairs in pairs_by_name.items():
        candidates = Candidates(pairs, [margin for _, margin in pairs])
        path = candidates.path(moments)
        shape = path.shape[:2]
        flat = path.reshape(1, -1, path.shape[-1])
        counts = fold_confusions(trial.X[valid], trial.noisy[valid], flat).counts
        counts = counts.reshape(*shape, 2, 2)
        refit = candidates.path(total)
        for measure in ("Acc", "AM", "F"):
            place = choose(counts, measure, 0.5, candidates.counted)
            table = ConfusionCounts.from_labels(
                trial.positive, _calls(trial.X_test, refit[place])
            ).counts
            found.append((name, measure, float(scores_of(table, measure))))
    return found


def as_weights(pairs: Any) -> Any:
    """Return the pairs whose margin acts as a weight: the threshold it stands for, at margin 1."""
    return [(weighted_zero_one(cost, margin).threshold, 1.0) for cost, margin in pairs]
