"""Several annotators: accuracy, log loss and time beside Dawid and Skene and the majority.

Simulated crowds whose truth is known, and those of a folder given by path: ``*.csv`` with columns
``item``, ``worker``, ``label`` (0 or 1), and ``gold`` of the item. *Regret* is the cost at 0.3 of
calling an item positive where its probability exceeds 0.3 (a false alarm bears 0.3 of the cost),
above that of the truth; the majority's probability is its share of positive labels. Dawid and
Skene is that of ``crowd-kit``, left out where it is not installed.

Run as ``python -m benchmarks.crowds [FOLDER] [--draws 10]``.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import flipcost as fc
from benchmarks.timing import verdict

COST = 0.3
SECONDS, COLUMN_SECONDS, REGRET = 0.1, 3.0, 0.65


class Crowd(NamedTuple):
    """Labels, the truth, and columns of the items where there are some."""

    item: np.ndarray
    worker: np.ndarray
    label: np.ndarray
    true: np.ndarray
    X: np.ndarray | None = None


def crowd(seed: int, n: int, n_workers: int, each: int, *, guessing: float = 0.0) -> Crowd:
    """Draw a crowd of annotators of whom few label much, and some guess."""
    rng = np.random.default_rng([31, seed])
    true = rng.random(n) < 0.4
    busy = rng.pareto(1.2, n_workers) + 0.2
    busy /= busy.sum()
    worker = np.concatenate([rng.choice(n_workers, each, replace=False, p=busy) for _ in range(n)])
    item = np.repeat(np.arange(n), each)
    hit, alarm = rng.beta(8, 2, n_workers), rng.beta(2, 8, n_workers)
    guess = rng.random(n_workers) < guessing
    hit[guess] = alarm[guess] = 0.5
    label = rng.random(len(item)) < np.where(true[item], hit[worker], alarm[worker])
    return Crowd(item, worker, label, true)


def three(seed: int) -> Crowd:
    """Draw three annotators of much the same quality, on every row."""
    rng = np.random.default_rng([32, seed])
    true, item = rng.random(1000) < 0.4, np.repeat(np.arange(1000), 3)
    label = true[item] ^ (rng.random(3000) < 0.2)
    return Crowd(item, np.tile(np.arange(3), 1000), label, true)


def with_columns(seed: int) -> Crowd:
    """Draw items with nine columns that tell something of them, three labels each."""
    rng = np.random.default_rng([33, seed])
    X = rng.normal(size=(3000, 9))
    score = 2 * X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * X[:, 3] ** 2 - 2
    true = rng.random(3000) < 1 / (1 + np.exp(-score))
    drawn = crowd(seed, 3000, 60, 3)
    hit, alarm = rng.beta(6, 3, 60), rng.beta(2, 9, 60)
    rate = np.where(true[drawn.item], hit[drawn.worker], alarm[drawn.worker])
    return Crowd(drawn.item, drawn.worker, rng.random(9000) < rate, true, X)


def read_folder(folder: Path) -> dict[str, list[Crowd]]:
    """Return the crowds of a folder by name."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names, item = np.unique([row["item"] for row in rows], return_inverse=True)
        _, worker = np.unique([row["worker"] for row in rows], return_inverse=True)
        label = np.array([row["label"] == "1" for row in rows])
        true = np.zeros(len(names), dtype=bool)
        true[item] = [row["gold"] == "1" for row in rows]
        found[path.stem] = [Crowd(item, worker, label, true)]
    return found


def majority(drawn: Crowd) -> np.ndarray:
    """Return the share of positive labels of each item."""
    n = len(drawn.true)
    return np.bincount(drawn.item, drawn.label, n) / np.maximum(
        np.bincount(drawn.item, minlength=n), 1
    )


def ours(drawn: Crowd) -> np.ndarray:
    """Return the probabilities that labels alone give."""
    found = fc.CrowdLabels.from_long(drawn.item, drawn.worker, drawn.label).fit()
    return found.probability_[np.argsort(found.items_)]


def ours_with_columns(drawn: Crowd) -> np.ndarray:
    """Return those that labels and columns give."""
    found = fc.CrowdLabels.from_long(drawn.item, drawn.worker, drawn.label)
    found.fit(X=drawn.X[found.items_], random_state=0)
    return found.probability_[np.argsort(found.items_)]


def dawid_skene(drawn: Crowd) -> np.ndarray:
    """Return those of the peer."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    rows = {"task": drawn.item, "worker": drawn.worker, "label": drawn.label.astype(int)}
    found = DawidSkene(n_iter=100).fit_predict_proba(pd.DataFrame(rows)).sort_index()
    return found[1].to_numpy()


def figures(probability: np.ndarray, true: np.ndarray) -> tuple[float, float, float]:
    """Return accuracy, log loss and regret."""
    sure = np.clip(np.where(true, probability, 1 - probability), 1e-6, 1)
    flagged = probability > COST
    cost = np.where(flagged, COST * ~true, (1 - COST) * true).mean()
    # A tie of the votes is broken by nothing.
    right = np.where(probability == 0.5, 0.5, (probability > 0.5) == true)
    return float(right.mean()), float(-np.log(sure).mean()), float(cost)


def compare(name: str, crowds: list[Crowd]) -> dict[str, np.ndarray]:
    """Print and return the figures of all methods, means over draws."""
    methods: dict[str, Callable[[Crowd], np.ndarray]] = {"majority": majority, "ours": ours}
    if importlib.util.find_spec("crowdkit") is not None:
        methods["Dawid-Skene"] = dawid_skene
    if crowds[0].X is not None:
        methods["ours, with columns"] = ours_with_columns
    print(f"{name}: {len(crowds[0].true)} items, {len(crowds)} draws")
    found = {}
    for method, fit in methods.items():
        rows = []
        for drawn in crowds:
            started = process_time()
            probability = fit(drawn)
            rows.append([*figures(probability, drawn.true), process_time() - started])
        found[method] = np.mean(rows, axis=0)
        found[method][3] = np.min(rows, axis=0)[3]
        accuracy, loss, cost, seconds = found[method]
        print(
            f"  {method:20} accuracy {accuracy:.4f}  log loss {loss:.3f}  cost {cost:.4f}  "
            f"{seconds:.3f} s"
        )
    return found


AUDITS = {
    "60 annotators, three labels each": (60, 3, (6, 3), (2, 9)),
    "three annotators of all": (3, 3, (8, 2), (2, 8)),
    "two annotators of all": (2, 2, (8, 2), (2, 8)),
    "30 annotators, two labels each": (30, 2, (6, 3), (2, 9)),
}


def labelled(
    seed: int, n: int, n_workers: int, each: int, hits: tuple[int, int], alarms: tuple[int, int]
) -> Crowd:
    """Draw items with nine columns whose labels have any annotators, all as busy as each other."""
    rng = np.random.default_rng([34, seed])
    X = rng.normal(size=(n, 9))
    score = 2 * X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * X[:, 3] ** 2 - 2
    true = rng.random(n) < 1 / (1 + np.exp(-score))
    item = np.repeat(np.arange(n), each)
    worker = np.concatenate([rng.choice(n_workers, each, replace=False) for _ in range(n)])
    hit, alarm = rng.beta(*hits, n_workers), rng.beta(*alarms, n_workers)
    label = rng.random(len(item)) < np.where(true[item], hit[worker], alarm[worker])
    return Crowd(item, worker, label, true, X)


def compare_audits(draws: int) -> None:
    """Print what models of pooled labels cost on new rows, beside those of items that enter twice.

    And how often an interval held that cost, the share of wrong labels, and that of positives.
    """
    import pyarrow as pa

    def held(found: Any, value: float) -> bool:
        return bool(found.low <= value <= found.high)

    for name, setting in AUDITS.items():
        rows = []
        for seed in range(draws):
            drawn, new = labelled(seed, 1500, *setting), labelled(1000 + seed, 20_000, *setting)
            columns = {f"x{j}": drawn.X[drawn.item, j] for j in range(9)}
            names = {"item": drawn.item, "who": drawn.worker, "label": drawn.label}
            found = fc.audit(pa.table(columns | names), "label", COST, worker="who", item="item")
            table = pa.table({f"x{j}": new.X[:, j] for j in range(9)})
            flagged = found.model.predict(table) == "true"
            cost = np.where(flagged, COST * ~new.true, (1 - COST) * new.true).mean()
            pooled = np.array(found.labels.pooled.labels) == "true"
            first = drawn.true[[int(name) for name in found.labels.pooled.ids]]
            crowd = fc.CrowdLabels.from_long(drawn.item, drawn.worker, drawn.label)
            crowd.fit(X=drawn.X[crowd.items_], random_state=0)
            item, positive, weight = crowd.doubled()
            twice = fc.FlipCostClassifier(cost=COST, noise_rate=0.0, random_state=0)
            twice.fit(drawn.X[crowd.items_][item], positive, sample_weight=weight, groups=item)
            other = np.where(twice.predict(new.X), COST * ~new.true, (1 - COST) * new.true).mean()
            low, high = twice.cost_interval_
            rows.append(
                [
                    cost,
                    held(found.best.cost_if_random, cost),
                    other,
                    low <= other <= high,
                    held(found.errors.share, (pooled != first).mean()),
                    held(found.errors.prevalence, first.mean()),
                ]
            )
        means = np.mean(rows, axis=0)
        print(
            f"{name}, {draws} draws: pooled {means[0]:.4f} (held {means[1]:.2f}), twice "
            f"{means[2]:.4f} (held {means[3]:.2f}); wrong labels held {means[4]:.2f}, prevalence "
            f"{means[5]:.2f}"
        )


def main() -> None:
    """Run what is simulated, and a folder if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    seeds = range(given.draws)
    found = compare("800 items, 164 workers", [crowd(s, 800, 164, 10) for s in seeds])
    print(f"  {verdict(found['ours'][3], SECONDS, at_most=True)}")
    guess = compare("160 workers, 30 % guess", [crowd(s, 800, 160, 5, guessing=0.3) for s in seeds])
    ratio = guess["ours"][2] / guess["majority"][2]
    print(f"  regret against the majority's {ratio:.2f} {verdict(ratio, REGRET, at_most=True)}")
    found = compare("three annotators on every row", [three(s) for s in seeds])
    more = found["ours"][0] - found["majority"][0]
    print(f"  accuracy above the majority's {more:.4f} {verdict(more, -0.001, at_most=False)}")
    found = compare("nine columns", [with_columns(s) for s in seeds])
    seconds = found["ours, with columns"][3]
    print(f"  {verdict(seconds, COLUMN_SECONDS, at_most=True)}")
    compare_audits(given.draws)
    for name, crowds in (read_folder(given.folder) if given.folder else {}).items():
        compare(name, crowds)


if __name__ == "__main__":
    main()
