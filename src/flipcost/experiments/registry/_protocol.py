"""Splits, flips, folds and measures: what every method of a trial shares."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from flipcost.core.arrays import Array, Flags
from flipcost.core.confusion import ConfusionCounts, Measure, measure
from flipcost.core.folds import stratified_folds
from flipcost.core.noise import flip
from flipcost.experiments.registry._problems import PROBLEMS

L2S = (0.01, 0.1, 1.0, 10.0)
N_FOLDS = 5
TEST_SHARE = 0.2
_LEAST = 0.02
MEASURES: dict[str, Measure] = {"Acc": "accuracy", "AM": "am", "F": "f", "WC": "cost"}


def generator(seed: int, *identity: object) -> np.random.Generator:
    """Return a random generator that depends on the seed and on what it is for, and nothing else.

    Examples
    --------
    >>> a, b = generator(0, "pima", 3), generator(0, "pima", 3)
    >>> bool(a.random() == b.random() != generator(0, "pima", 4).random())
    True
    """
    text = "|".join(str(part) for part in identity)
    return np.random.default_rng([int(seed), zlib.crc32(text.encode())])


@dataclass(frozen=True, eq=False)
class Trial:
    """One split of a problem, its training labels flipped.

    Attributes
    ----------
    X, noisy : ndarray
        Training rows and which of them are labelled positive, after the flips.
    X_test, positive : ndarray
        Test rows and which of them are positive, clean.
    clean : ndarray
        Which training rows are positive, clean.
    eta, eta_test : ndarray or None
        The probability of the positive class, where the law is known.
    """

    X: np.ndarray
    noisy: np.ndarray
    X_test: np.ndarray
    positive: np.ndarray
    clean: np.ndarray
    eta: Any  # arrays; None where the law is not known
    eta_test: Any


def draw_trial(
    seed: int, name: str, trial: int, rho: float = 0.0, pi: float | None = None
) -> Trial:
    """Split a problem 80/20 by class and flip labels of the training part.

    The split depends on the problem and the trial, the flips on the noise rate too: methods and
    rates are compared on the same rows.

    Examples
    --------
    >>> trial = draw_trial(0, "thyroid", 0, rho=0.2)
    >>> trial.X.shape, trial.X_test.shape, int(trial.positive.sum())
    ((172, 5), (43, 5), 13)
    """
    problem = PROBLEMS[name]
    data = problem.load(generator(seed, "rows", name, pi, trial), pi)
    positive = np.asarray(data.target) == 1
    state = int(generator(seed, "split", name, pi, trial).integers(2**31))
    train, test = train_test_split(
        np.arange(len(positive)), test_size=TEST_SHARE, stratify=positive, random_state=state
    )
    X = np.asarray(data.data, dtype=float)
    noisy = flip(positive[train], rho, generator(seed, "flips", name, pi, trial, rho))
    eta = np.asarray(data.eta) if problem.synthetic else None
    return Trial(
        X[train],
        noisy,
        X[test],
        positive[test],
        positive[train],
        None if eta is None else eta[train],
        None if eta is None else eta[test],
    )


def random_folds(noisy: Flags, n_folds: int, rng: np.random.Generator) -> NDArray[np.int_]:
    """Deal rows to folds at random, each with its share of both labels.

    Examples
    --------
    >>> folds = random_folds(np.arange(20) < 5, 5, np.random.default_rng(0))
    >>> np.bincount(folds[:5])
    array([1, 1, 1, 1, 1])
    """
    shuffled = rng.permutation(len(noisy))
    folds = np.empty(len(noisy), dtype=np.intp)
    folds[shuffled] = stratified_folds(noisy[shuffled], n_folds)
    return folds


def possible_rate(rho: float, *labels: Flags) -> float:
    """Return the rate, or the largest one that leaves each set of labels 2 % of either class.

    A sample can contradict its own rate when that is near one half.

    Examples
    --------
    >>> noisy = np.arange(100) < 30
    >>> possible_rate(0.2, noisy), round(possible_rate(0.4, noisy), 4)
    (0.2, 0.2917)
    """
    rarer = min(min(float(y.mean()), 1 - float(y.mean())) for y in labels)
    return float(min(rho, max(0.0, (rarer - _LEAST) / (1 - 2 * _LEAST))))


def scores_of(counts: Array, name: str, cost: float = 0.5, margin: float = 1.0) -> Array:
    """Return a measure of confusion counts; the weighted cost is a sum over rows, as printed.

    Examples
    --------
    >>> print(scores_of(np.array([[30, 0], [13, 0]]), "WC", cost=0.3).round(2))
    9.1
    """
    counts = np.asarray(counts, dtype=float)
    value = measure(counts, MEASURES[name], cost, margin)
    return value * counts.sum(axis=(-2, -1)) if name == "WC" else value


def clean_scores(trial: Trial, calls: Flags, cost: float, margin: float = 1.0) -> dict[str, float]:
    """Return every measure of calls on the clean test rows; WC1 is the cost at margin 1."""
    table = ConfusionCounts.from_labels(trial.positive, calls).counts
    values = {name: float(scores_of(table, name, cost, margin)) for name in MEASURES}
    return {**values, "WC1": float(scores_of(table, "WC", cost))}


def choose(counts: Array, name: str, cost: float, margins: Sequence[float]) -> Any:
    """Return the place of the best candidate of counts shaped (margins, others, 2, 2).

    The weighted cost of a candidate is counted with its own margin, as printed: its values are
    then not comparable, and large margins are preferred whatever the calls. Of equal candidates
    the first wins; one without a value never does.
    """
    if name == "WC":
        values = -np.stack(
            [
                scores_of(table, name, cost, margin)
                for table, margin in zip(counts, margins, strict=True)
            ]
        )
    else:
        values = scores_of(counts, name)
    values = np.where(np.isnan(values), -np.inf, values)
    best = int(np.argmax(values > values.max() - 1e-12))
    return np.unravel_index(best, values.shape)
