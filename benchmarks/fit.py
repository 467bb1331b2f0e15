"""Fitting the classifier that needs no rate, beside one boosting of 100 trees on the same rows.

Ratios in one run, calls in turns, the best of several; processor time beside wall time, and the
verdicts by processor time, because neighbours are noisy.

Run as ``python -m benchmarks.fit [--only small large huge wide] [--repeats 5]``.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from benchmarks.timing import verdict, wall_and_busy
from flipcost import FlipCostClassifier, UnevenMarginClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

BOOSTING = "boosting of 100 trees"


def make_rows(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and labels that five columns tell, a fifth of them wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    line = X[:, :5] @ np.array([1.5, -1.0, 0.5, 0.5, -0.3]) - 0.5
    clean = rng.random(n) < 1 / (1 + np.exp(-line))
    return X, (clean ^ (rng.random(n) < 0.2)).astype(int)


def make_texts(n: int, d: int, words: int = 50) -> tuple[Any, np.ndarray]:
    """Return counts of words, few of which are frequent, and labels, a fifth of them wrong."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, d + 1)
    found = rng.choice(d, size=(n, words), p=frequency / frequency.sum())
    starts = np.arange(0, n * words + 1, words)
    X = sparse.csr_matrix((np.ones(n * words), found.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    line = X @ rng.normal(size=d)
    clean = rng.random(n) < 1 / (1 + np.exp(-2 * (line - line.mean()) / line.std()))
    return X, (clean ^ (rng.random(n) < 0.2)).astype(int)


def ours(X: Any, y: np.ndarray, features: str, noise_model: str = "auto") -> Callable[[], object]:
    """Return a call that fits the classifier."""
    options = {"features": features, "noise_model": noise_model, "random_state": 0}
    return lambda: FlipCostClassifier(0.25, **options).fit(X, y)


def show(title: str, times: dict[str, tuple[float, float]], unit: str) -> None:
    """Print times, and processor times as multiples of the first one's."""
    print(f"\n{title}")
    print(f"  {'':<34} {'wall':>10} {'processor':>10}    processor / {unit}")
    for name, (wall, busy) in times.items():
        ratio = busy / times[unit][1]
        print(f"  {name:<34} {1e3 * wall:>7.1f} ms {1e3 * busy:>7.1f} ms {ratio:>12.2f}")


def rows(n: int, most: float, repeats: int) -> None:
    """Time fits of 20 columns beside one boosting of 100 trees, in processor time."""
    X, y = make_rows(n, 20)
    boosting = HistGradientBoostingClassifier(max_iter=100, early_stopping=False)
    flags = {
        BOOSTING: lambda: boosting.fit(X, y),
        "LogisticRegression": lambda: LogisticRegression().fit(X, y),
        "closed form": lambda: UnevenMarginClassifier(0.25).fit(X, y),
    }
    flags |= {features: ours(X, y, features) for features in ("linear", "splines", "auto")}
    times = wall_and_busy(flags, repeats)
    show(f"{n:,} x 20", times, BOOSTING)
    ratio = times["auto"][1] / times[BOOSTING][1]
    print(f"  auto / boosting {ratio:8.2f}  {verdict(ratio, most, at_most=True)}")


def small(repeats: int) -> None:
    """10,000 rows."""
    rows(10_000, 1.5, repeats)


def large(repeats: int) -> None:
    """100,000 rows."""
    rows(100_000, 1.5, min(repeats, 3))


def huge(repeats: int) -> None:
    """1,000,000 rows, of which a fit learns from a sample."""
    rows(1_000_000, 0.5, min(repeats, 1))


def wide(repeats: int) -> None:
    """Many columns, dense and sparse, beside one fit of ridge or logistic regression."""
    tables = {
        "20,000 x 300": make_rows(20_000, 300),
        "5,000 x 2,000": make_rows(5_000, 2_000),
        "sparse, 100,000 x 10,000": make_texts(100_000, 10_000),
    }
    for name, (X, y) in tables.items():
        ridge = RidgeClassifier(solver="sparse_cg" if sparse.issparse(X) else "auto")
        flags = {
            "RidgeClassifier": lambda X=X, y=y, ridge=ridge: ridge.fit(X, y),
            "LogisticRegression": lambda X=X, y=y: LogisticRegression(max_iter=1000).fit(X, y),
            "linear": ours(X, y, "linear"),
        }
        times = wall_and_busy(flags, min(repeats, 2))
        show(name, times, "RidgeClassifier")
        peer = max(times["RidgeClassifier"][1], times["LogisticRegression"][1])
        ratio = times["linear"][1] / peer
        print(f"  linear / the slower peer {ratio:8.2f}  {verdict(ratio, 10.0, at_most=True)}")


PARTS = {"small": small, "large": large, "huge": huge, "wide": wide}


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks fit", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args([] if arguments is None else arguments)
    print("Fitting the classifier that needs no rate")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.only:
            PARTS[name](options.repeats)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
