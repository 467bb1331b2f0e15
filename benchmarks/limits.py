"""What labels can and cannot tell: laws whose truth is known, from no signal to exclusive-or.

Rows are drawn from laws with a known probability ``eta`` of a positive, labels flipped at known
rates; `FlipCostClassifier` with its defaults knows neither. Costs are expectations under eta on
rows drawn afresh, so that they are not blurred by labels. *Regret* is the cost above that of the
best possible rule, as a share of the better constant's: 0 is the best rule, 1 a constant.

Run as ``python -m benchmarks.limits [--seeds 5] [--only no_signal ...]``.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.timing import verdict
from flipcost import FlipCostClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

_TEST_ROWS = 20_000
# An interval this wide says nothing; narrower ones are allowed where few labels are of one class.
_WIDE = 0.2


class Law(NamedTuple):
    """A probability of positives by row, how rows are drawn, and how labels go wrong."""

    eta: Callable
    n_features: int
    rates: tuple[float, float]
    cost: float

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their noisy labels."""
        X, _, noisy = self.draw_both(n, seed)
        return X, noisy

    def draw_both(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows with their clean and their noisy labels."""
        rng = np.random.default_rng([12, seed])
        X = rng.normal(size=(n, self.n_features))
        clean = rng.random(n) < self.eta(X)
        return X, clean, clean ^ (rng.random(n) < np.where(clean, *self.rates))


class Found(NamedTuple):
    """One fit: its expected cost, that of the best rule and the better constant, and claims."""

    cost: float
    best: float
    constant: float
    model: FlipCostClassifier

    @property
    def regret(self) -> float:
        """Cost above the best, as a share of what the constant costs above it."""
        return (self.cost - self.best) / (self.constant - self.best)


def expected_cost(flagged: np.ndarray, eta: np.ndarray, cost: float) -> float:
    """Return the mean cost of calls for rows that are positive with these probabilities."""
    return float(np.where(flagged, cost * (1 - eta), (1 - cost) * eta).mean())


def fit(law: Law, n: int, seed: int, model: object = None) -> Found:
    """Fit on noisy rows; judge by the law."""
    X, noisy = law.draw(n, seed)
    model = FlipCostClassifier(law.cost, random_state=seed) if model is None else model
    model.fit(X, noisy)
    fresh = np.random.default_rng([13, seed]).normal(size=(_TEST_ROWS, law.n_features))
    eta = law.eta(fresh)
    if isinstance(model, FlipCostClassifier):
        flagged = model.predict(fresh)
    else:
        flagged = model.predict_proba(fresh)[:, 1] > law.cost
    costs = [expected_cost(np.full(_TEST_ROWS, c), eta, law.cost) for c in (False, True)]
    best = expected_cost(eta > law.cost, eta, law.cost)
    return Found(expected_cost(flagged, eta, law.cost), best, min(costs), model)


def _line(intercept: float, *slopes: float) -> Callable:
    return lambda X: expit(intercept + X[:, : len(slopes)] @ np.array(slopes))


def _exclusive_or(X: np.ndarray) -> np.ndarray:
    return (X[:, 0] * X[:, 1] > 0).astype(float)


def _ring(X: np.ndarray) -> np.ndarray:
    return ((X[:, :2] ** 2).sum(axis=1) < 2 * np.log(2)).astype(float)


def _rates(model: FlipCostClassifier) -> np.ndarray:
    """Return the intervals of both rates, shape (2, 2), whichever noise model there was."""
    limits = np.asarray(model.noise_rate_interval_, dtype=float)
    return np.stack([limits, limits]) if limits.ndim == 1 else limits


def no_signal(seeds: range) -> None:
    """Clean labels that the columns say nothing about."""
    print("\nNo signal, clean labels: cost against the better constant, worst of seeds")
    print("  rows, share of positives, cost: times the constant; widths of the intervals (least)")
    worst, narrow = 0.0, np.inf
    for n in (200, 2_000, 20_000):
        for share in (0.05, 0.3, 0.5):
            for cost in (0.25, share / 2):
                law = Law(lambda X, s=share: np.full(len(X), s), 5, (0.0, 0.0), cost)
                runs = [fit(law, n, seed) for seed in seeds]
                times = np.array([run.cost / run.constant for run in runs])
                widths = np.array([np.diff(_rates(run.model)).ravel() for run in runs])
                # Rates of negatives reach no further than the share of positive labels.
                seen = [min(_WIDE, law.draw(n, seed)[1].mean()) for seed in seeds]
                room = np.column_stack([np.full(len(runs), _WIDE), seen])
                states = [run.model.state_ for run in runs]
                print(
                    f"  {n:6d}  {share:.2f}  {cost:.3f}:  mean {times.mean():.3f}  "
                    f"worst {times.max():.3f};  positives {widths[:, 0].min():.2f}  "
                    f"negatives {widths[:, 1].min():.2f};  {states.count('no_signal')} of "
                    f"{len(states)} say no_signal"
                )
                worst = max(worst, times.max())
                narrow = min(narrow, (widths / room).min())
    print(f"  largest: {worst:.3f} times  {verdict(worst, 1.02, at_most=True)}")
    print(
        f"  narrowest interval, as a share of {_WIDE} or the smaller class: {narrow:.2f}  "
        f"{verdict(narrow, 0.9, at_most=False)}"
    )


def weak_signal(seeds: range) -> None:
    """Clean labels that one column says little about."""
    law = Law(_line(-0.5, 0.4), 1, (0.0, 0.0), 0.25)
    runs = [fit(law, 2_000, seed) for seed in seeds]
    peer = [fit(law, 2_000, seed, LogisticRegression()) for seed in seeds]
    print("\nWeak signal, clean labels, 2,000 rows: regret as a share of the constant's")
    for name, found in (("FlipCostClassifier", runs), ("logistic regression", peer)):
        regret = np.array([run.regret for run in found])
        times = np.array([run.cost / run.constant for run in found])
        print(
            f"  {name:<20} mean {regret.mean():.2f}  largest {regret.max():.2f};  costs "
            f"{times.mean():.3f} of the constant, at most {times.max():.3f}"
        )
    mean = np.mean([run.regret for run in runs])
    print(f"  {verdict(mean, 1.0, at_most=True)}")
    _claims(runs, law)


def clean_labels(seeds: range) -> None:
    """Clean labels, 50,000 rows and an area of 0.65, at seven costs."""
    print("\nClean labels, area 0.65, 50,000 rows: cost above the least, of the constant's")
    worst = 0.0
    for cost in (0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.5):
        law = Law(_line(-0.8, 0.55), 3, (0.0, 0.0), cost)
        runs = [fit(law, 50_000, seed) for seed in seeds]
        mean = float(np.mean([(run.cost - run.best) / run.constant for run in runs]))
        print(f"  cost {cost:g}: {mean:.4f}")
        worst = max(worst, mean)
    print(f"  {verdict(worst, 0.02, at_most=True)}")


def shapes(seeds: range) -> None:
    """Signal that no linear score sees, a fifth of the labels wrong."""
    goals = {"exclusive-or": (_exclusive_or, 0.25), "ring": (_ring, 0.05)}
    for name, (eta, goal) in goals.items():
        law = Law(eta, 2, (0.2, 0.2), 0.3)
        runs = [fit(law, 5_000, seed) for seed in seeds]
        boosted = HistGradientBoostingClassifier(random_state=0)
        peer = [fit(law, 5_000, seed, boosted).regret for seed in seeds]
        regret = np.array([run.regret for run in runs])
        print(f"\n{name}, 20 % flips, 5,000 rows: regret as a share of the constant's")
        print(
            f"  FlipCostClassifier mean {regret.mean():.3f}  largest {regret.max():.3f}  "
            f"{verdict(regret.mean(), goal, at_most=True)}"
        )
        print(f"  boosting at the cost mean {np.mean(peer):.3f}")
        _claims(runs, law)


def one_sided(seeds: range) -> None:
    """Three positives in ten missed, all else as assumed."""
    law = Law(_line(-1.0, 1.5, -1.0, 0.5, 0.0, 0.0), 5, (0.3, 0.0), 0.25)
    runs = [fit(law, 20_000, seed) for seed in seeds]
    peer = [fit(law, 20_000, seed, LogisticRegression()).regret for seed in seeds]
    regret = np.array([run.regret for run in runs])
    print("\n30 % of positives missed, 20,000 rows, logistic: regret as a share of the constant's")
    print(
        f"  FlipCostClassifier mean {regret.mean():.3f}  largest {regret.max():.3f}  "
        f"{verdict(regret.mean(), 0.03, at_most=True)}"
    )
    print(f"  logistic regression at the cost mean {np.mean(peer):.3f}")
    covered = _claims(runs, law)
    print(f"  positives' rate covered  {verdict(covered['positives'], 0.9, at_most=False)}")


def well_specified(seeds: range) -> None:
    """Intervals where the curve is logistic and mistakes do not follow the features."""
    print("\nCoverage at 0.95 where the model is true, 2,000 rows")
    cells = []
    for rates in ((0.0, 0.0), (0.2, 0.2), (0.3, 0.0), (0.0, 0.2), (0.3, 0.1)):
        law = Law(_line(-0.5, 1.5, -1.0, 0.5, 0.0, 0.0), 5, rates, 0.25)
        runs = [fit(law, 2_000, seed) for seed in seeds]
        regret = np.mean([run.regret for run in runs])
        print(f"  rates {rates}: regret {regret:.3f}")
        cells.append(_claims(runs, law))
    for name in cells[0]:
        mean = np.mean([cell[name] for cell in cells])
        print(f"  {name}: {mean:.3f}  {verdict(mean, 0.9, at_most=False)}")


# Slopes of one column that separate the classes with these areas under the ROC curve, and rates of
# positives and of negatives that are labelled wrong.
_SLOPES = {0.65: 0.55, 0.8: 1.3, 0.95: 3.6}
_RATES = {
    "clean": (0.0, 0.0),
    "symmetric": (0.2, 0.2),
    "missed_positives": (0.3, 0.0),
    "wrong_negatives": (0.0, 0.1),
    "class_conditional": (0.3, 0.1),
}
_TIER_ROWS = (500, 5_000, 50_000)


def best_estimate(seeds: range) -> None:
    """How often the interval that holds if errors are random holds, and how often it decides."""
    print("\nShare of wrong labels if errors are random: covered at 0.95 (mean width), undecided")
    print("  rows, noise:" + "".join(f"{f'AUC {auc}':>26}" for auc in _SLOPES))
    covered: list[float] = []
    undecided: list[bool] = []
    for n in _TIER_ROWS:
        for name, rates in _RATES.items():
            line = []
            for auc, slope in _SLOPES.items():
                law = Law(_line(-0.8, slope, 0.0, 0.0), 3, rates, 0.25)
                held, widths, states = [], [], []
                for seed in seeds:
                    X, clean, noisy = law.draw_both(n, seed)
                    wrong = np.mean(noisy != clean)
                    model = FlipCostClassifier(law.cost, features="linear", random_state=seed)
                    share = model.fit(X, noisy).wrong_share_if_random_
                    held.append(share.low <= wrong <= share.high)
                    widths.append(share.high - share.low)
                    states.append(model.state_ == "undecided")
                if name != "clean":
                    covered.append(float(np.mean(held)))
                if auc == 0.8 and n == 5_000:
                    undecided += states
                line.append(f"{np.mean(held):.2f} ({np.mean(widths):.3f}), {np.mean(states):.2f}")
            print(f"  {n:6d} {name:<18}" + "".join(f"{cell:>24}" for cell in line), flush=True)
    mean, worst = np.mean(covered), min(covered)
    print(f"  mean {mean:.3f}, worst cell {worst:.2f}  {verdict(worst, 0.9, at_most=False)}")
    share = float(np.mean(undecided))
    print(f"  undecided at AUC 0.8, 5,000 rows {share:.2f}  {verdict(share, 0.2, at_most=True)}")


def _claims(runs: list[Found], law: Law) -> dict[str, float]:
    """Print and return how often the intervals cover the truth; print their widths."""
    rates = np.array([_rates(run.model) for run in runs])
    truth = np.array(law.rates)
    held = (rates[:, :, 0] <= truth + 1e-9) & (truth <= rates[:, :, 1])
    costs = np.array([run.model.cost_interval_ for run in runs])
    paid = np.array([run.cost for run in runs])
    covered = {
        "positives": held[:, 0].mean(),
        "negatives": held[:, 1].mean(),
        "cost": ((costs[:, 0] <= paid) & (paid <= costs[:, 1])).mean(),
    }
    widths = (*np.diff(rates, axis=2).mean(axis=(0, 2)), np.diff(costs).mean())
    shown = "; ".join(
        f"{name} covered {share:.2f}, width {width:.3f}"
        for (name, share), width in zip(covered.items(), widths, strict=True)
    )
    shares = [run.model.wrong_share_ for run in runs]
    wrong = np.mean([(share.value, share.low, share.high) for share in shares], axis=0)
    states = sorted({run.model.state_ for run in runs})
    print(f"    {shown}")
    print(
        f"    labels wrong {wrong[0]:.3f} ({wrong[1]:.3f} to {wrong[2]:.3f}), {', '.join(states)};"
        f" cost {paid.mean():.4f}, claimed {np.mean([r.model.cost_estimate_ for r in runs]):.4f}"
    )
    return covered


PARTS = {
    "no_signal": no_signal,
    "weak_signal": weak_signal,
    "clean_labels": clean_labels,
    "shapes": shapes,
    "one_sided": one_sided,
    "well_specified": well_specified,
    "best_estimate": best_estimate,
}


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks limits", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--final", action="store_true", help="use seeds 1000 and up")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args([] if arguments is None else arguments)
    first = 1000 if options.final else 0
    seeds = range(first, first + options.seeds)
    print(f"Limits, seeds {seeds.start} to {seeds.stop - 1}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only:
            PARTS[name](seeds)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
