"""What is run: the paper's tables, problems and protocol."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from flipcost import datasets
from flipcost.core.arrays import Array, Flags
from flipcost.core.confusion import ConfusionCounts, Measure, measure
from flipcost.core.folds import stratified_folds
from flipcost.core.noise import flip


@dataclass(frozen=True)
class Table:
    """A table of the paper.

    Parameters
    ----------
    name : str
        Its label in the paper.
    kind : str
        The kind of units that make it.
    title : str
        What it shows.
    digit : float
        The last printed digit of most of its figures.
    """

    name: str
    kind: str
    title: str
    digit: float


_TABLES = (
    ("Ac_measure_cost", "noisy", "Accuracy on four UCI sets", 0.01),
    ("AM_measure_cost", "noisy", "AM on four UCI sets", 0.01),
    ("F_measure_cost", "noisy", "F measure on four UCI sets", 0.01),
    ("WC_measure_cost", "noisy", "Weighted cost on four UCI sets", 0.01),
    ("Re-lg-ERM-Bupa", "noisy", "Bupa, scheme 2 with logistic loss", 0.01),
    ("Re-sq-ERM-Bupa", "noisy", "Bupa, scheme 2 with squared loss", 0.01),
    ("syn_cost_bayes", "noisy", "Syn3D-imbalanced: the Bayes rule", 0.01),
    ("syn_cost_AC_AM", "noisy", "Syn3D-imbalanced: accuracy and AM", 0.01),
    ("syn_cost_F_WC", "noisy", "Syn3D-imbalanced: F and weighted cost", 0.01),
    ("cost_clean_acc_case1", "case1", "Imbalance only: accuracy of three approaches", 0.001),
    ("cost_clean_AM_case1", "case1", "Imbalance only: AM of three approaches", 0.001),
    ("cost_clean_F_case1", "case1", "Imbalance only: F of three approaches", 0.001),
    ("cost_clean_all_case2_BUPA", "case2", "Cost only: Bupa, margin tuned and fixed", 0.001),
    ("cost_clean_all_case3_syn2", "case3", "Cost and imbalance: Syn-dataset2", 0.001),
    ("eta_syn2D_cls_LSPC", "eta", "Probabilities on Syn2D: links, LSPC, neighbours", 0.001),
    ("eta_syn2D_KLIEP_123", "eta", "Probabilities on Syn2D: KLIEP", 0.001),
    ("eta_syn2D_KLIEP_45678", "eta", "Probabilities on Syn2D: scaled KLIEP", 0.001),
    ("eta_syn3D_cls_LSPC", "eta", "Probabilities on Syn3D: links, LSPC, neighbours", 0.001),
    ("eta_syn3D_KLIEP_123", "eta", "Probabilities on Syn3D: KLIEP", 0.001),
    ("eta_syn3D_KLIEP_45678", "eta", "Probabilities on Syn3D: scaled KLIEP", 0.001),
    ("eta_syn10D_cls_LSPC", "eta", "Probabilities on Syn10D: links, LSPC, neighbours", 0.001),
    ("eta_syn10D_KLIEP_123", "eta", "Probabilities on Syn10D: KLIEP", 0.001),
    ("eta_syn10D_KLIEP_45678", "eta", "Probabilities on Syn10D: scaled KLIEP", 0.001),
)
TABLES = {row[0]: Table(*row) for row in _TABLES}


UCI_RATES = (0.0, 0.2, 0.4)
BUPA_RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
SYNTHETIC_RATES = (0.1, 0.2, 0.3, 0.4, 0.45, 0.49)
PRIORS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# The costs of section D.3, in the order of the priors.
CASE3_COSTS = (0.25, 0.35, 0.45, 0.4, 0.55, 0.65, 0.75)
BUPA_MARGINS = (0.5, 0.8, 1.0, 1.2, 1.5)


@dataclass(frozen=True)
class Problem:
    """A set of rows, fixed or drawn anew for each trial.

    Parameters
    ----------
    name : str
        Its name in the table of printed cells.
    load : callable
        From a random generator and the share of positives (None for the set's own) to a Bunch.
    synthetic : bool
        Whether rows are drawn from a law, so that eta is known. Features are used as the loaders
        give them: standardised for German, in the units of the files for the other public sets.
        The paper is silent; the figures of the kernel methods fit this better than features
        standardised on the training part.
    cost : float
        The paper's cost, where it has one.
    rates : tuple of float
        Noise rates added to the training part.
    """

    name: str
    load: Callable[[np.random.Generator, float | None], Any]
    synthetic: bool = False
    cost: float = 0.5
    rates: tuple[float, ...] = (0.0,)


def _fixed(loader: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _rng, _pi: loader()


def _drawn(maker: Callable[..., Any], n_samples: int) -> Callable[..., Any]:
    def load(rng: np.random.Generator, pi: float | None) -> Any:
        return maker(n_samples, **({} if pi is None else {"pi": pi}), random_state=rng)

    return load


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            "breast_cancer",
            _fixed(datasets.load_breast_cancer_ljubljana),
            cost=0.2,
            rates=UCI_RATES,
        ),
        Problem("pima", _fixed(datasets.load_pima), cost=0.25, rates=UCI_RATES),
        Problem("german", _fixed(datasets.load_german_credit), cost=0.16, rates=UCI_RATES),
        Problem("thyroid", _fixed(datasets.load_thyroid), cost=0.3, rates=UCI_RATES),
        Problem("bupa", _fixed(datasets.load_bupa), cost=0.25, rates=BUPA_RATES),
        Problem(
            "syn3d_imb",
            _drawn(datasets.make_syn3d_imbalanced, 4000),
            synthetic=True,
            cost=0.3,
            rates=SYNTHETIC_RATES,
        ),
        Problem("syn1", _drawn(datasets.make_syn1, 1000), synthetic=True),
        Problem("syn2", _drawn(datasets.make_syn2, 1000), synthetic=True),
        Problem("syn2d", _drawn(datasets.make_syn2d, 1000), synthetic=True),
        Problem("syn3d", _drawn(datasets.make_syn3d, 1000), synthetic=True),
        Problem("syn10d", _drawn(datasets.make_syn10d, 1000), synthetic=True),
    )
}
UCI = ("breast_cancer", "pima", "german", "thyroid")


L2S = (0.01, 0.1, 1.0, 10.0)
N_FOLDS = 5
TEST_SHARE = 0.2
_LEAST = 0.02
MEASURES: dict[str, Measure] = {"Acc": "accuracy", "AM": "am", "F": "f", "WC": "cost"}


def generator(seed: int, *identity: object) -> np.random.Generator:
    """Return a random generator that depends on the seed and on what it is for, nothing else."""
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
    """Deal rows to folds at random, each with its share of both labels."""
    shuffled = rng.permutation(len(noisy))
    folds = np.empty(len(noisy), dtype=np.intp)
    folds[shuffled] = stratified_folds(noisy[shuffled], n_folds)
    return folds


def possible_rate(rho: float, *labels: Flags) -> float:
    """Return the rate, or the largest one that leaves each set of labels 2 % of either class.

    A sample can contradict its own rate when that is near one half.
    """
    rarer = min(min(float(y.mean()), 1 - float(y.mean())) for y in labels)
    return float(min(rho, max(0.0, (rarer - _LEAST) / (1 - 2 * _LEAST))))


def scores_of(counts: Array, name: str, cost: float = 0.5, margin: float = 1.0) -> Array:
    """Return a measure of confusion counts; the weighted cost is a sum over rows, as printed."""
    counts = np.asarray(counts, dtype=float)
    value = measure(counts, MEASURES[name], cost, margin)
    return value * counts.sum(axis=(-2, -1)) if name == "WC" else value


def clean_scores(trial: Trial, flags: Flags, cost: float, margin: float = 1.0) -> dict[str, float]:
    """Return every measure of calls on the clean test rows; WC1 is the cost at margin 1."""
    table = ConfusionCounts.from_labels(trial.positive, flags).counts
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
