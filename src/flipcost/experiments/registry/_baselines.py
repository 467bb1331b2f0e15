"""The methods that the paper compares with, constants, the Bayes rule, and ours."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from flipcost.core.arrays import Flags
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.losses import weighted_zero_one
from flipcost.core.noise import clean_marginal
from flipcost.core.resampling import margin_grid
from flipcost.estimators import (
    FlipCostClassifier,
    UnbiasedLogisticClassifier,
    WeightedLogisticClassifier,
)
from flipcost.exceptions import DenoisingWarning
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


def run_natarajan(
    trial: Trial, method: str, rho: float, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """Tune the penalty of MUB or S-W0-1, the rate being known; return ``(measure, value)``.

    Accuracy asks for the threshold 1/2, AM for the share of positives, as in the source.
    """
    folds = random_folds(trial.noisy, N_FOLDS, rng)
    found = []
    for name in ("Acc", "AM"):
        scores = [_left_out(trial, folds, method, rho, name, l2) for l2 in L2S]
        l2 = L2S[int(np.argmax(scores))]
        calls = _fit(trial.X, trial.noisy, method, rho, name, l2).predict(trial.X_test)
        table = ConfusionCounts.from_labels(trial.positive, calls).counts
        found.append((name, float(scores_of(table, name))))
    return found


def _left_out(
    trial: Trial, folds: NDArray[np.int_], method: str, rho: float, name: str, l2: float
) -> Any:
    counts = np.zeros((2, 2))
    for fold in range(N_FOLDS):
        rest, at = folds != fold, folds == fold
        model = _fit(trial.X[rest], trial.noisy[rest], method, rho, name, l2)
        counts += ConfusionCounts.from_labels(trial.noisy[at], model.predict(trial.X[at])).counts
    return float(scores_of(counts, name))


def _fit(X: Any, noisy: Flags, method: str, rho: float, name: str, l2: float) -> Any:
    penalty = l2 / len(X)
    if method == "sw01_log":
        target = {"Acc": "accuracy", "AM": "am"}[name]
        model = WeightedLogisticClassifier(noise_rate=rho, target=target, l2=penalty)
    else:
        rate = possible_rate(rho, noisy)
        cost = 0.5 if name == "Acc" else float(clean_marginal(float(noisy.mean()), rate))
        model = UnbiasedLogisticClassifier(cost=cost, noise_rate=rate, l2=penalty)
    with warnings.catch_warnings():
        # The unbiased loss of few rows can fall almost without end under the smallest penalties;
        # cross-validation decides what becomes of them.
        warnings.simplefilter("ignore", DenoisingWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, noisy)


def run_flipcost(trial: Trial, cost: float, rng: np.random.Generator) -> Any:
    """Return ``(measure, value)`` of FlipCostClassifier, which is told no rate."""
    model = FlipCostClassifier(cost=cost, random_state=int(rng.integers(2**31)))
    calls = model.fit(trial.X, trial.noisy).predict(trial.X_test)
    return list(clean_scores(trial, calls, cost).items())


def run_constants(trial: Trial, cost: float) -> Any:
    """Return ``(method, measure, value)`` of calling every row positive, or negative.

    The printed form of the weighted cost is counted at the margin that makes it smallest, the
    largest of the grid.
    """
    found = []
    for method, call in (("all_positive", True), ("all_negative", False)):
        calls = np.full(len(trial.positive), call)
        values = clean_scores(trial, calls, cost, margin_grid(cost)[-1])
        found += [(method, name, value) for name, value in values.items()]
    return found


def run_bayes(trial: Trial, cost: float, margins: Sequence[float]) -> Any:
    """Return ``(measure, value)`` of the Bayes rule, its margin tuned on clean training rows."""
    thresholds = [weighted_zero_one(cost, margin).threshold for margin in margins]
    counts = np.stack(
        [ConfusionCounts.from_labels(trial.clean, trial.eta > t).counts for t in thresholds]
    )[:, None]
    found = []
    for name in MEASURES:
        place, _ = choose(counts, name, cost, margins)
        values = clean_scores(trial, trial.eta_test > thresholds[place], cost, margins[place])
        found.append((name, values[name]))
        if name == "WC":
            found.append(("WC1", values["WC1"]))
    return found
