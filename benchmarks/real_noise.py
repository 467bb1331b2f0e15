"""Labels that were really wrong: noise tax, coverage and width, by number of checked rows.

Takes a folder of tables, ``*.csv`` or ``*.csv.gz``, each with a column ``noisy`` (what someone or
something recorded, 0 or 1), a column ``gold`` (what is true) and columns of numbers to learn from.
Methods learn from ``noisy``, and from ``gold`` on the rows that are said to be checked; they are
judged by ``gold`` on the 40 % of rows that are held out.

Each table has two costs: its share of positives in ``gold``, and half of that (at least 0.02). With
costs averaged over splits,

    tax = (cost - reference) / (better constant - reference)

where the reference is logistic regression on standardized features and gold labels; it is cut to
[-0.5, 2]. Checked rows are drawn at random, the fewer among the more. Peers get labels in which
what was checked is corrected.

Splits 0 to 4 were used while the method was developed; ``--final`` takes 1000 and up, by which
nothing was chosen, ``--first`` any others. Such tables exist in public: the jira defect sets of
Yatish et al. (2019) and the SZZ sets of Fan et al. (2019) with their two labelings, NHANES
questionnaires beside its measurements, UCI's mammographic masses with the radiologist's opinion
beside the biopsy.

Run as ``python -m benchmarks.real_noise FOLDER [--splits 5] [--checked 0 30 100 300]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.timing import verdict
from flipcost import FlipCostClassifier
from flipcost.metrics import weighted_cost

if TYPE_CHECKING:
    from collections.abc import Callable

OURS, ALONE = "FlipCostClassifier", "the checked rows alone"
REFERENCE, CONSTANTS = "reference", ("always negative", "always positive")
LEAST_COST, TEST_SHARE = 0.02, 0.4
CUT = (-0.5, 2.0)
# Goals by number of checked rows: mean tax, and the largest of a cell.
TAX_GOALS = {0: (0.24, 1.1), 30: (0.13, 1.0), 100: (0.07, 1.0), 300: (0.04, 1.0)}
COST_GOALS = {0: 0.90, 100: 0.93}


class Table(NamedTuple):
    """Rows with the label that was recorded and the right one."""

    name: str
    X: np.ndarray
    noisy: np.ndarray
    gold: np.ndarray

    @property
    def costs(self) -> tuple[float, float]:
        """The two costs to judge at."""
        share = float(self.gold.mean())
        return max(share, LEAST_COST), max(share / 2, LEAST_COST)


class Split(NamedTuple):
    """Training rows with the order in which they get checked, and test rows."""

    X: np.ndarray
    noisy: np.ndarray
    gold: np.ndarray
    order: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def labels(self, n_checked: int) -> np.ndarray:
        """Return the noisy labels with those that were checked corrected."""
        mended = self.noisy.copy()
        mended[self.order[:n_checked]] = self.gold[self.order[:n_checked]]
        return mended

    def trusted(self, n_checked: int) -> np.ndarray | None:
        """Return the right labels of the checked rows, and nothing elsewhere."""
        if not n_checked:
            return None
        values = np.full(len(self.gold), np.nan)
        values[self.order[:n_checked]] = self.gold[self.order[:n_checked]]
        return values

    @property
    def rates(self) -> np.ndarray:
        """The shares of positives and of negatives that are labelled wrong."""
        wrong = self.noisy != self.gold
        return np.array([wrong[self.gold].mean(), wrong[~self.gold].mean()])


class Claims(NamedTuple):
    """What a fit said, beside what was true."""

    held: np.ndarray  # of the positives' rate, the negatives' and the cost
    width: np.ndarray
    state: str


def read_tables(folder: Path) -> list[Table]:
    """Read all tables of a folder that have both columns of labels."""
    from pyarrow import csv

    found = []
    for path in sorted(p for p in folder.iterdir() if p.name.endswith((".csv", ".csv.gz"))):
        rows = csv.read_csv(path)
        if not {"noisy", "gold"} <= set(rows.column_names):
            print(f"{path.name} has no columns noisy and gold, and is left out", file=sys.stderr)
            continue
        noisy, gold = (rows[name].to_numpy() > 0.5 for name in ("noisy", "gold"))
        X = np.column_stack([column.to_numpy() for column in rows.drop(["noisy", "gold"]).columns])
        found.append(Table(path.name.split(".csv")[0], X.astype(float), noisy, gold))
    return found


def split(table: Table, seed: int) -> Split:
    """Hold out 40 % of the rows."""
    chooser = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=seed)
    train, test = next(chooser.split(table.X, table.gold))
    order = np.random.default_rng([12, seed]).permutation(len(train))
    rows = (table.X[train], table.noisy[train], table.gold[train])
    return Split(*rows, order, table.X[test], table.gold[test])


def _linear() -> object:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000))


def _probability(make: Callable) -> Callable:
    def call(rows: Split, n_checked: int) -> np.ndarray:
        return make().fit(rows.X, rows.labels(n_checked)).predict_proba(rows.X_test)[:, 1]

    return call


def _alone(rows: Split, n_checked: int) -> np.ndarray:
    """Learn from the checked rows only; from none, as if half of all rows were positive."""
    chosen = rows.order[:n_checked]
    y = rows.gold[chosen]
    if len(y) == 0 or y.all() or not y.any():
        return np.full(len(rows.y_test), (y.sum() + 0.5) / (len(y) + 1))
    return _linear().fit(rows.X[chosen], y).predict_proba(rows.X_test)[:, 1]


def _cleanlab(rows: Split, n_checked: int) -> np.ndarray:
    from cleanlab.classification import CleanLearning

    # As a user calls it, but for its pool of processes, which only slows so few rows down.
    model = CleanLearning(_linear(), verbose=False, find_label_issues_kwargs={"n_jobs": 1})
    model.fit(rows.X, rows.labels(n_checked).astype(int))
    return model.predict_proba(rows.X_test)[:, 1]


def peers() -> dict[str, Callable]:
    """Return what a user would pick instead: each gives probabilities of the test rows."""
    found = {
        "logistic regression at the cost": _probability(_linear),
        "HistGradientBoosting at the cost": _probability(
            lambda: HistGradientBoostingClassifier(random_state=0)
        ),
        ALONE: _alone,
    }
    if importlib.util.find_spec("cleanlab"):
        found["cleanlab at the cost"] = _cleanlab
    else:
        print("cleanlab is not installed and is left out; install it with: pip install cleanlab")
    return found


class Results:
    """Costs and claims of all methods, by table, cost, number of checked rows and split."""

    def __init__(self, *, share_known: bool = False) -> None:
        self.share_known = share_known
        self.costs: dict[tuple, list[float]] = {}
        self.claims: dict[tuple, list[Claims]] = {}

    def paid(self, key: tuple, rows: Split, flagged: np.ndarray) -> float:
        """Note what calls cost; the key is (method, table, which cost, checked), then the cost."""
        cost = weighted_cost(rows.y_test, flagged, key[-1], normalize=True)
        self.costs.setdefault(key[:-1], []).append(cost)
        return cost

    def tax(self, method: str, n_checked: int, names: list[str]) -> np.ndarray:
        """Return the tax of each cell, shape (tables, 2)."""
        return np.array([[self._tax(method, n_checked, n, k) for k in (0, 1)] for n in names])

    def _tax(self, method: str, n_checked: int, name: str, which: int) -> float:
        cost = np.mean(self.costs[method, name, which, n_checked])
        reference = np.mean(self.costs[REFERENCE, name, which, 0])
        constant = min(np.mean(self.costs[c, name, which, 0]) for c in CONSTANTS)
        return float(np.clip((cost - reference) / (constant - reference), *CUT))


def measure(
    tables: list[Table],
    seeds: range,
    budgets: list[int],
    rivals: dict[str, Callable],
    *,
    share_known: bool = False,
) -> Results:
    """Fit everything on every split of every table."""
    results, start = Results(share_known=share_known), perf_counter()
    for table in tables:
        for seed in seeds:
            rows = split(table, seed)
            _judge(results, table, rows, REFERENCE, 0, _linear().fit(rows.X, rows.gold))
            for k, cost in enumerate(table.costs):
                for name, flagged in zip(CONSTANTS, (False, True), strict=True):
                    results.paid(
                        (name, table.name, k, 0, cost), rows, np.full(len(rows.y_test), flagged)
                    )
            for n_checked in budgets:
                for method, call in rivals.items():
                    probability = call(rows, n_checked)
                    for k, cost in enumerate(table.costs):
                        key = (method, table.name, k, n_checked, cost)
                        results.paid(key, rows, probability > cost)
                _judge(results, table, rows, OURS, n_checked, None, seed)
        print(f"  {table.name}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return results


def _judge(
    results: Results,
    table: Table,
    rows: Split,
    method: str,
    n_checked: int,
    model: object,
    seed: int = 0,
) -> None:
    """Note what a fitted model costs; fit ours at each cost, and note its claims."""
    for k, cost in enumerate(table.costs):
        key = (method, table.name, k, n_checked)
        if model is not None:
            results.paid((*key, cost), rows, model.predict_proba(rows.X_test)[:, 1] > cost)
            continue
        share = float(rows.gold.mean()) if results.share_known else None
        ours = FlipCostClassifier(cost, prevalence=share, random_state=seed)
        ours.fit(rows.X, rows.noisy, trusted=rows.trusted(n_checked))
        paid = results.paid((*key, cost), rows, ours.predict(rows.X_test))
        limits = np.array([*ours.noise_rate_interval_, ours.cost_interval_])
        truth = np.array([*rows.rates, paid])
        held = (limits[:, 0] <= truth) & (truth <= limits[:, 1])
        claim = Claims(held, np.diff(limits)[:, 0], ours.state_)
        results.claims.setdefault((table.name, k, n_checked), []).append(claim)


def show_tables(results: Results, tables: list[Table], budgets: list[int]) -> None:
    """Print the taxes and claims of our method, table by table."""
    print("\nBy table: share of positives, rates of positives and negatives; then, by number of")
    print("checked rows, tax at both costs, and how often rates (+, -) and cost were covered")
    for table in tables:
        rates = Split(*table[1:], *[np.array([])] * 3).rates
        print(f"  {table.name}: {table.gold.mean():.3f}, {rates[0]:.2f}, {rates[1]:.2f}")
        for n in budgets:
            tax = results.tax(OURS, n, [table.name])[0]
            claims = [c for k in (0, 1) for c in results.claims[table.name, k, n]]
            held = np.mean([c.held for c in claims], axis=0)
            width = np.mean([c.width for c in claims], axis=0)
            states = sorted({c.state for c in claims})
            print(
                f"    {n:4d}: tax {tax[0]:6.2f} {tax[1]:6.2f};  covered "
                + " ".join(f"{h:.2f} ({w:.2f})" for h, w in zip(held, width, strict=True))
                + f";  {', '.join(states)}"
            )


def show_taxes(results: Results, names: list[str], budgets: list[int], methods: list[str]) -> None:
    """Print the tax of each method by number of checked rows."""
    print("\nNoise tax: mean of cells, largest, cells worse than a constant; by checked rows")
    print("  " + " " * 34 + "".join(f"{n:>20d}" for n in budgets))
    for method in methods:
        cells = [results.tax(method, n, names) for n in budgets]
        shown = "".join(
            f"    {t.mean():6.3f} {t.max():5.2f} {np.count_nonzero(t > 1):3d}" for t in cells
        )
        print(f"  {method:<34}{shown}")
    for n in budgets:
        if n in TAX_GOALS:
            tax, goals = results.tax(OURS, n, names), TAX_GOALS[n]
            for name, value, goal in zip(
                ("mean", "largest"), (tax.mean(), tax.max()), goals, strict=True
            ):
                print(f"  {n} checked, {name}: {value:.3f}  {verdict(value, goal, at_most=True)}")


def show_claims(results: Results, names: list[str], budgets: list[int]) -> None:
    """Print coverage and width of the intervals by number of checked rows."""
    print("\nIntervals at 0.95: covered (mean width), and tables covered in most splits")
    for n in budgets:
        tables = [[c for k in (0, 1) for c in results.claims[name, k, n]] for name in names]
        held = np.array([np.mean([c.held for c in claims], axis=0) for claims in tables])
        width = np.array([np.mean([c.width for c in claims], axis=0) for claims in tables])
        count = (held > 0.5).sum(axis=0)
        for k, name in enumerate(("positives' rate", "negatives' rate", "cost")):
            mean, wide = held[:, k].mean(), width[:, k].mean()
            said = ""
            if name == "cost" and n in COST_GOALS:
                said = verdict(mean, COST_GOALS[n], at_most=False)
            elif name != "cost" and n == 0:
                said = verdict(count[k] / len(names), 0.9, at_most=False)
            elif name != "cost" and n == 100:
                said = verdict(mean, 0.9, at_most=False)
                if k == 0:
                    said += f"; width {verdict(wide, 0.3, at_most=True)}"
            print(
                f"  {n:4d} {name:<16} {mean:.2f} ({wide:.3f}), {count[k]} of {len(names)}  {said}"
            )


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks real_noise", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="tables with noisy and gold")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--checked", type=int, nargs="+", default=[0, 30, 100, 300])
    parser.add_argument("--final", action="store_true", help="use splits 1000 and up")
    parser.add_argument("--first", type=int, default=0, help="the first split, if not final")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument(
        "--share-known", action="store_true", help="tell ours the share of positives (of its rows)"
    )
    options = parser.parse_args([] if arguments is None else arguments)
    if options.folder is None:
        print(
            "real_noise is left out: it needs a folder of tables with columns noisy and gold; "
            "run python -m benchmarks.real_noise FOLDER"
        )
        return
    tables = read_tables(options.folder) if options.folder.is_dir() else []
    if not tables:
        parser.error(f"no table with columns noisy and gold in {options.folder}")
    first = 1000 if options.final else options.first
    seeds = range(first, first + options.splits)
    print(f"Real noise, {len(tables)} tables, splits {seeds.start} to {seeds.stop - 1}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rivals = {} if options.no_peers else peers()
        results = measure(tables, seeds, options.checked, rivals, share_known=options.share_known)
    names = [table.name for table in tables]
    show_tables(results, tables, options.checked)
    show_taxes(results, names, options.checked, [OURS, *rivals])
    show_claims(results, names, options.checked)


if __name__ == "__main__":
    main(sys.argv[1:])
