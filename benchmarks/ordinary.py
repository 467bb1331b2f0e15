"""Ordinary tables, where allowing for wrong labels must not be worse than the obvious.

Takes a folder of tables, ``*.csv`` or ``*.csv.gz``, each with a column ``label`` (1 is positive),
and ``prices.json``, which says for each table what a miss (``fn``) and a false alarm (``fp``) cost.
Their labels are taken as right. Methods learn from 60 % of the rows: as recorded, with 15 % of the
labels flipped, and with 40 % of the positives labelled negative. They are judged by the labels as
recorded of the other 40 %, by their cost as a share of the better constant's.

Splits 0 to 9 were used while the method was developed; ``--first`` takes others.

Run as ``python -m benchmarks.ordinary FOLDER [--splits 2] [--only NAME ...] [--features splines]``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from benchmarks.timing import verdict
from flipcost import Costs, FlipCostClassifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

OURS, CHECKED, TRUSTING = "ours", "ours, 100 checked", "ours, noise_rate=0"
METHODS = (OURS, CHECKED, TRUSTING, "logistic", "boosting")
N_CHECKED, TEST_SHARE = 100, 0.4
# Rates of positives and of negatives that are labelled wrong.
NOISE = {
    "as recorded": (0.0, 0.0),
    "15 % flipped": (0.15, 0.15),
    "40 % of positives missed": (0.4, 0.0),
}
# Goals for ours: mean, and the worst as recorded.
GOALS = {"as recorded": 0.68, "15 % flipped": 0.82, "40 % of positives missed": 0.73}
WORST, UNDECIDED = 1.02, 0.4


class Table(NamedTuple):
    """Rows with their label and what mistakes cost."""

    name: str
    X: Any
    y: np.ndarray
    fn: float
    fp: float

    @property
    def cost(self) -> float:
        """Share of the cost that a false alarm bears."""
        return self.fp / (self.fn + self.fp)


class Split(NamedTuple):
    """Training rows, their labels as given and right, the rows that get checked, and test rows."""

    X: Any
    noisy: np.ndarray
    y: np.ndarray
    checked: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def trusted(self) -> np.ndarray:
        """Right labels of the rows that were checked, and nothing elsewhere."""
        values = np.full(len(self.y), np.nan)
        values[self.checked] = self.y[self.checked]
        return values


def read_tables(folder: Path, only: Iterable[str] | None = None) -> list[Table]:
    """Read the tables of a folder that have prices."""
    import pandas as pd

    prices = json.loads((folder / "prices.json").read_text())
    found = []
    for path in sorted(p for p in folder.iterdir() if p.name.endswith((".csv", ".csv.gz"))):
        name = path.name.split(".csv")[0]
        if name in prices and (only is None or name in only):
            rows = pd.read_csv(path)
            y = rows.pop("label").to_numpy() > 0
            found.append(Table(name, rows, y, **prices[name]))
    return found


def split(table: Table, seed: int, noise: str) -> Split:
    """Hold out 40 % of the rows, and make labels of the others wrong."""
    chooser = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=seed)
    train, test = next(chooser.split(table.X, table.y))
    rng = np.random.default_rng([28, seed])
    y = table.y[train]
    wrong = rng.random(len(y)) < np.where(y, *NOISE[noise])
    checked = rng.permutation(len(y))[:N_CHECKED]
    return Split(table.X.iloc[train], y ^ wrong, y, checked, table.X.iloc[test], table.y[test])


def _logistic() -> Any:
    text = make_column_selector(dtype_include=object)
    numbers = make_column_selector(dtype_exclude=object)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=10), text),
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2_000))


def _boosting() -> Any:
    text = make_column_selector(dtype_include=object)
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = make_column_transformer((levels, text), remainder="passthrough")
    return make_pipeline(columns, HistGradientBoostingClassifier(random_state=0))


def _ours(table: Table, rows: Split, seed: int, **given: Any) -> FlipCostClassifier:
    trusted = given.pop("trusted", None)
    model = FlipCostClassifier(Costs(fn=table.fn, fp=table.fp), random_state=seed, **given)
    return model.fit(rows.X, rows.noisy, trusted=trusted)


def flags(
    table: Table, rows: Split, seed: int, methods: Sequence[str], features: str = "auto"
) -> Iterator[tuple[str, np.ndarray, Any]]:
    """Give each method's name, its calls of the test rows and, of ours, the fitted model."""
    ours = {OURS: {}, CHECKED: {"trusted": rows.trusted}, TRUSTING: {"noise_rate": 0}}
    peers = {"logistic": _logistic, "boosting": _boosting}
    for name in methods:
        if name in ours:
            model = _ours(table, rows, seed, features=features, **ours[name])
            yield name, model.predict(rows.X_test).astype(bool), model
        else:
            model = peers[name]().fit(rows.X, rows.noisy)
            yield name, model.predict_proba(rows.X_test)[:, 1] > table.cost, None


def measure(
    tables: list[Table], seeds: range, methods: Sequence[str] = METHODS, features: str = "auto"
) -> tuple[dict[tuple[str, str, str], list[float]], Counter]:
    """Return costs by noise, method and table, and the states of ours by noise."""
    costs: dict[tuple[str, str, str], list[float]] = {}
    states: Counter = Counter()
    start = perf_counter()
    for table in tables:
        for seed in seeds:
            for noise in NOISE:
                rows = split(table, seed, noise)
                y = rows.y_test
                constant = min(table.fp * np.sum(~y), table.fn * np.sum(y))
                for name, flagged, model in flags(table, rows, seed, methods, features):
                    paid = table.fp * np.sum(flagged & ~y) + table.fn * np.sum(~flagged & y)
                    costs.setdefault((noise, name, table.name), []).append(paid / constant)
                    if name == OURS:
                        states[noise, model.state_] += 1
        print(f"  {table.name}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return costs, states


def show(costs: dict, states: Counter) -> None:
    """Print all figures, and whether goals are reached."""
    tables = list(dict.fromkeys(key[2] for key in costs))
    methods = list(dict.fromkeys(key[1] for key in costs))
    for noise in NOISE:
        print(f"\nCost as a share of the better constant's, {noise}")
        print(" " * 22 + "".join(f"{t:>9}" for t in ("mean", "worst", *tables)))
        for method in methods:
            row = np.array([np.mean(costs[noise, method, t]) for t in tables])
            shown = "".join(f"{v:9.3f}" for v in (row.mean(), row.max(), *row))
            print(f"  {method:<20}{shown}")
            if method == OURS:
                mean, worst = row.mean(), row.max()
        print(f"  {OURS}, mean: {verdict(mean, GOALS[noise], at_most=True)}")
        if noise == "as recorded":
            print(f"  {OURS}, worst: {verdict(worst, WORST, at_most=True)}")
        found = {state: n for (where, state), n in states.items() if where == noise}
        share = found.get("undecided", 0) / sum(found.values())
        said = ", ".join(f"{state} {n}" for state, n in sorted(found.items()))
        print(f"  states: {said}; undecided {verdict(share, UNDECIDED, at_most=True)}")


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks ordinary", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="tables with label, and prices.json")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="the first split")
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--features", default="auto", help="of ours: linear, splines or auto")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args([] if arguments is None else arguments)
    if options.folder is None:
        print(
            "ordinary is left out: it needs a folder of tables with a column label; "
            "run python -m benchmarks.ordinary FOLDER"
        )
        return
    seeds = range(options.first, options.first + options.splits)
    print(f"Ordinary tables, splits {seeds.start} to {seeds.stop - 1}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        methods = METHODS[:3] if options.no_peers else METHODS
        tables = read_tables(options.folder, options.only)
        show(*measure(tables, seeds, methods, options.features))


if __name__ == "__main__":
    main(sys.argv[1:])
