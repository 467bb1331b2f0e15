"""Label errors that follow the columns: what checked rows correct, and what they teach alone.

Rows of five laws whose truth is known; where labels are wrong depends on columns, that of the law
or others. Rows are checked at random. Regret is the cost on new rows above the least possible, as a
share of the better constant's; beside it the cost itself as such a share. Peers: logistic
regression on the recorded labels, and on the checked rows alone.

Run as ``python -m benchmarks.systematic [--draws 6] [--first 0] [--checked 100 300]``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from benchmarks.coverage import Law, always
from benchmarks.timing import verdict
from flipcost import FlipCostClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, FRESH, COLUMNS, COST = 2_000, 20_000, 6, 0.3
LAWS = {
    "line, missed by another column": Law(
        lambda X: expit(1.5 * X[:, 0] + X[:, 1] - 0.5),
        lambda X: 0.8 * (X[:, 2] > 0),
        always(0.0),
        COST,
    ),
    "line, both labels by columns": Law(
        lambda X: expit(1.5 * X[:, 0] + X[:, 1] - 1),
        lambda X: expit(-1 + 1.2 * X[:, 1] - 0.5 * X[:, 0]),
        lambda X: expit(-3 + X[:, 3]),
        COST,
    ),
    "line, by its own columns": Law(
        lambda X: expit(1.5 * X[:, 0] - X[:, 1]),
        lambda X: expit(1.5 * X[:, 1]),
        lambda X: 0.3 * (X[:, 0] < 0),
        COST,
    ),
    "exclusive-or, by other columns": Law(
        lambda X: np.where(X[:, 0] * X[:, 1] > 0, 0.9, 0.1),
        lambda X: 0.7 * (X[:, 2] > 0),
        lambda X: 0.2 * (X[:, 3] > 0),
        COST,
    ),
    "bend, missed by another column": Law(
        lambda X: expit(2 * np.abs(X[:, 0]) + X[:, 1] - 2),
        lambda X: 0.8 * (X[:, 4] > 0.3),
        always(0.1),
        COST,
    ),
}


def models(law: Law, seed: int, checked: list[int]) -> Iterator[tuple[str, Any]]:
    """Draw rows of a law, and give each method's name and fitted model."""
    rng = np.random.default_rng([89, seed])
    X = rng.normal(size=(ROWS, COLUMNS))
    right = rng.random(ROWS) < law.eta(X)
    draws = rng.random((2, ROWS))
    labels = np.where(right, draws[0] >= law.missed(X), draws[1] < law.false(X))
    order = rng.permutation(ROWS)
    yield "logistic regression", LogisticRegression().fit(X, labels)
    for n in (0, *checked):
        trusted = np.full(ROWS, np.nan)
        trusted[order[:n]] = right[order[:n]]
        known = {"trusted": trusted} if n else {}
        yield (
            f"ours, {n} checked",
            FlipCostClassifier(COST, random_state=seed).fit(X, labels, **known),
        )
    for n in checked:
        yield f"{n} checked rows alone", LogisticRegression().fit(X[order[:n]], right[order[:n]])


def figures(law: Law, seed: int, checked: list[int]) -> dict[str, tuple[float, float]]:
    """Return regret and cost of each method, as shares of the better constant's."""
    fresh = np.random.default_rng([90, seed]).normal(size=(FRESH, COLUMNS))
    eta, found = law.eta(fresh), {}

    def paid(flagged: Any) -> float:
        return float(np.mean(np.where(flagged, COST * (1 - eta), (1 - COST) * eta)))

    least, constant = paid(eta > COST), min(paid(True), paid(False))  # noqa: FBT003 - a flag
    for name, model in models(law, seed, checked):
        if isinstance(model, FlipCostClassifier):
            cost = paid(model.predict(fresh))
        else:
            cost = paid(model.predict_proba(fresh)[:, 1] > COST)
        found[name] = (cost - least) / (constant - least), cost / constant
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks systematic", description=__doc__)
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--checked", type=int, nargs="+", default=[100, 300])
    options = parser.parse_args([] if arguments is None else arguments)
    seeds = range(options.first, options.first + options.draws)
    print(f"Label errors that follow the columns, {ROWS:,} rows: regret (cost)")
    means: dict[str, list[np.ndarray]] = {}
    for title, law in LAWS.items():
        print(f"\n{title}")
        each = [figures(law, seed, options.checked) for seed in seeds]
        for name in each[0]:
            regret, cost = np.mean([one[name] for one in each], axis=0)
            means.setdefault(name, []).append(np.array([regret, cost]))
            print(f"  {name:<24} {regret:6.3f} ({cost:.3f})")
    print("\nmean of the laws")
    for name, found in means.items():
        print("  {:<24} {:6.3f} ({:.3f})".format(name, *np.mean(found, axis=0)))
    for n in options.checked:
        ours, alone = (
            np.mean(means[name], axis=0)[1]
            for name in (f"ours, {n} checked", f"{n} checked rows alone")
        )
        said = verdict(ours / alone, 1.0, at_most=True)
        print(f"  {n} checked, ours / alone {ours / alone:.2f} {said}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(sys.argv[1:])
