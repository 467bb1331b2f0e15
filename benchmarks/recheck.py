"""Which rows to have checked: noise tax and width of the cost interval by number of checked rows.

Takes a folder of tables with the columns ``noisy`` and ``gold``, as `benchmarks.real_noise` does,
and the same splits, costs and tax. Rows are chosen in four ways, the fewer always among the more,
and all are learned from by the same classifier (``fit(..., trusted=)``):

- ours: `flipcost.recheck.next_rows`, in rounds; each round sees the answers of the former ones;
- random: a plain sample, as ``--random`` draws;
- cleanlab's label quality: the labels that logistic regression, out of fold, finds most wrong;
- uncertainty: rows whose probability by the same regression is closest to the cost.

Splits 0 to 4 were used while the method was developed; ``--final`` takes 2000 and up, by which
nothing was chosen. ``--features linear`` is fast and coarse.

Run as ``python -m benchmarks.recheck FOLDER [--splits 3] [--budgets 0 10 20 50 100 200]``; without
a folder it only times the choice of 50 rows of 100,000.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.model_selection import cross_val_predict

from benchmarks.real_noise import CONSTANTS, REFERENCE, Results, _linear, read_tables, split
from benchmarks.timing import verdict
from flipcost import FlipCostClassifier
from flipcost.datasets import make_syn10d
from flipcost.exceptions import FlipCostError
from flipcost.noise import flip_labels
from flipcost.recheck import next_rows

if TYPE_CHECKING:
    from benchmarks.real_noise import Split, Table

OURS, RANDOM = "ours", "random"
CLEANLAB, UNCERTAIN = "cleanlab's label quality", "uncertainty"
BUDGETS = [0, 10, 20, 50, 100, 200]
MOST_SECONDS, NARROWER = 2.0, 0.6
FINAL = 2_000


class Claim(NamedTuple):
    """What a fit said its rule costs, beside what it cost."""

    said: float
    width: float
    covered: bool


class Outcomes(Results):
    """Costs of all ways of choosing, and how often checks were refused."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: dict[str, int] = {}


class Setting(NamedTuple):
    """A split at one cost, and how it is learned from."""

    table: Table
    rows: Split
    which: int
    seed: int
    features: str

    @property
    def cost(self) -> float:
        """Share of the cost that a false positive bears."""
        return self.table.costs[self.which]

    def fit(self, trusted: np.ndarray | None) -> FlipCostClassifier:
        """Learn from all labels, and from right ones of some rows."""
        model = FlipCostClassifier(self.cost, features=self.features, random_state=self.seed)
        return model.fit(self.rows.X, self.rows.noisy, trusted=trusted)


def rank_by_quality(rows: Split, probability: np.ndarray) -> np.ndarray:
    """Return rows in cleanlab's order: the worst labels first."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        # Its default, self-confidence, is the probability of the label that a row has.
        quality = np.where(rows.noisy, probability, 1 - probability)
    else:
        both = np.column_stack([1 - probability, probability])
        quality = get_label_quality_scores(rows.noisy.astype(int), both)
    return np.argsort(quality, kind="stable")


def orders(setting: Setting) -> dict[str, np.ndarray]:
    """Return the orders in which rows are checked that do not depend on answers."""
    rows = setting.rows
    probability = cross_val_predict(_linear(), rows.X, rows.noisy, cv=5, method="predict_proba")[
        :, 1
    ]
    return {
        RANDOM: rows.order,
        CLEANLAB: rank_by_quality(rows, probability),
        UNCERTAIN: np.argsort(np.abs(probability - setting.cost), kind="stable"),
    }


def measure(
    tables: list[Table], seeds: range, budgets: list[int], features: str
) -> tuple[Outcomes, dict[tuple, list[Claim]]]:
    """Choose, learn and judge on every split of every table."""
    results, claims, start = Outcomes(), {}, perf_counter()
    for table in tables:
        for seed in seeds:
            rows = split(table, seed)
            reference = _linear().fit(rows.X, rows.gold).predict_proba(rows.X_test)[:, 1]
            for which, cost in enumerate(table.costs):
                results.paid((REFERENCE, table.name, which, 0, cost), rows, reference > cost)
                for name, called in zip(CONSTANTS, (False, True), strict=True):
                    calls = np.full(len(rows.y_test), called)
                    results.paid((name, table.name, which, 0, cost), rows, calls)
                _follow(results, claims, Setting(table, rows, which, seed, features), budgets)
        print(f"  {table.name}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return results, claims


def _follow(
    results: Outcomes, claims: dict[tuple, list[Claim]], setting: Setting, budgets: list[int]
) -> None:
    """Check more and more rows, in each way."""
    rows, first = setting.rows, setting.fit(None)
    refused = results.refused
    given = orders(setting)
    for method in (OURS, *given):
        model, trusted = first, np.full(len(rows.gold), np.nan)
        for budget in budgets:
            done = np.count_nonzero(~np.isnan(trusted))
            if budget > done:
                if method == OURS:
                    known = trusted if done else None
                    batch = next_rows(
                        model, rows.X, rows.noisy, budget - done, trusted=known,
                        random_state=setting.seed,
                    )  # fmt: skip
                    chosen = batch.rows
                else:
                    chosen = given[method][done:budget]
                trusted[chosen] = rows.gold[chosen]
                try:
                    model = setting.fit(trusted)
                except FlipCostError:  # nearly all labels among them are wrong: taken for swapped
                    refused[method] = refused.get(method, 0) + 1
            _judge(results, claims, setting, method, budget, model)


def _judge(
    results: Outcomes,
    claims: dict[tuple, list[Claim]],
    setting: Setting,
    method: str,
    budget: int,
    model: FlipCostClassifier,
) -> None:
    key = (method, setting.table.name, setting.which, budget)
    paid = results.paid((*key, setting.cost), setting.rows, model.predict(setting.rows.X_test))
    low, high = model.cost_interval_
    claim = Claim(model.cost_estimate_, high - low, low <= paid <= high)
    claims.setdefault(key, []).append(claim)


def show(
    results: Outcomes, claims: dict[tuple, list[Claim]], names: list[str], budgets: list[int]
) -> None:
    """Print tax, width and coverage by method and number of checked rows, and the verdicts."""
    methods = (OURS, RANDOM, CLEANLAB, UNCERTAIN)
    print("\nNoise tax, mean of all tables at both costs, by checked rows")
    _head(budgets)
    tax = {m: [results.tax(m, n, names).mean() for n in budgets] for m in methods}
    for method in methods:
        print(f"  {method:<26}" + "".join(f"{t:8.3f}" for t in tax[method]))
    print("\nWidth of the cost interval as a share of its width with none (covered, bias)")
    _head(budgets, 20)
    width = {}
    for method in methods:
        cells = [[claims[method, t, k, n] for t in names for k in (0, 1)] for n in budgets]
        width[method] = [_width(found, cells[0]) for found in cells]
        said = ""
        for n, w, found in zip(budgets, width[method], cells, strict=True):
            covered = np.mean([c.covered for cell in found for c in cell])
            said += f"{w:7.2f} ({covered:.2f},{_bias(results, claims, method, n, names):+.3f})"
        print(f"  {method:<26}{said}")
    if results.refused:
        said = ", ".join(f"{n} of {method}" for method, n in results.refused.items())
        print(f"  Checks taken for swapped, so that the model before them was kept: {said}")
    print()
    _judge_goals(tax, width, budgets)


def _head(budgets: list[int], wide: int = 8) -> None:
    print("  " + " " * 26 + "".join(f"{n:>{wide}d}" for n in budgets))


def _width(found: list[list[Claim]], first: list[list[Claim]]) -> float:
    """Return the mean over cells of widths, each as a share of the first one's."""
    return float(
        np.mean(
            [
                np.mean([c.width for c in now]) / np.mean([c.width for c in before])
                for now, before in zip(found, first, strict=True)
            ]
        )
    )


def _bias(
    results: Outcomes, claims: dict[tuple, list[Claim]], method: str, n: int, names: list[str]
) -> float:
    """Return by how much the cost that is said exceeds the one that is paid, on the mean."""
    return float(
        np.mean(
            [
                np.mean([c.said for c in claims[method, t, k, n]])
                - np.mean(results.costs[method, t, k, n])
                for t in names
                for k in (0, 1)
            ]
        )
    )


def _judge_goals(tax: dict[str, list], width: dict[str, list], budgets: list[int]) -> None:
    at = {n: k for k, n in enumerate(budgets)}
    if {50, 100} <= set(at):
        ours, random = tax[OURS][at[50]], tax[RANDOM][at[100]]
        said = verdict(ours, random, at_most=True)
        print(f"  tax of 50 of ours, against 100 random: {ours:.3f}  {said}")
    worst = max(a - b for a, b in zip(tax[OURS], tax[RANDOM], strict=True))
    print(f"  largest excess of tax over random: {worst:.3f}  {verdict(worst, 0.0, at_most=True)}")
    if 100 in at:
        found = width[OURS][at[100]]
        said = verdict(found, NARROWER, at_most=True)
        print(f"  width at 100 over that at 0: {found:.2f}  {said}")


def time_choice(n_rows: int = 100_000) -> float:
    """Return the seconds that choosing 50 of many rows takes, and print the verdict."""
    data = make_syn10d(n_rows, random_state=0)
    noisy = flip_labels(data.target, (0.2, 0.1), random_state=0)
    model = FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)
    start = perf_counter()
    next_rows(model, data.data, noisy, 50)
    took = perf_counter() - start
    goal = verdict(took, MOST_SECONDS, at_most=True)
    print(f"  choosing 50 of {n_rows:,} rows: {took:.2f} s  {goal}")
    return took


def run(
    folder: Path | None, n_splits: int, budgets: list[int], features: str, *, final: bool = False
) -> None:
    """Measure and print."""
    if folder is not None:
        tables = read_tables(folder)
        if not tables:
            sys.exit(f"{folder} holds no tables with the columns noisy and gold.")
        start = FINAL if final else 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure(tables, range(start, start + n_splits), budgets, features)
        show(*found, [table.name for table in tables], budgets)
    time_choice()


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    parser.add_argument("--features", choices=("auto", "splines", "linear"), default="auto")
    parser.add_argument("--final", action="store_true", help="splits that nothing was chosen by")
    asked = parser.parse_args([] if arguments is None else arguments)
    run(asked.folder, asked.splits, sorted({0, *asked.budgets}), asked.features, final=asked.final)


if __name__ == "__main__":
    main(sys.argv[1:])
