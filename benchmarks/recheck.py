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

``--promises`` measures what is promised of checks instead: how many tables are decided after the 50
rows that were asked for (of the folder, and of eight laws), whether 300 right answers leave clean
labels clean, and what rounds of 50 rows are said to save and save.

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

from benchmarks.coverage import LAWS, Law, always, draw, expected, shifted
from benchmarks.real_noise import CONSTANTS, REFERENCE, Results, _linear, read_tables, split
from benchmarks.timing import verdict
from flipcost import FlipCostClassifier
from flipcost.datasets import make_syn10d
from flipcost.exceptions import FlipCostError
from flipcost.metrics import weighted_cost
from flipcost.noise import flip_labels
from flipcost.recheck import next_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.real_noise import Split, Table

OURS, RANDOM = "ours", "random"
CLEANLAB, UNCERTAIN = "cleanlab's label quality", "uncertainty"
BUDGETS = [0, 10, 20, 50, 100, 200]
MOST_SECONDS, NARROWER = 2.0, 0.6
FINAL = 2_000
ASKED, RIGHT_ANSWERS = 50, 300
DECIDED_LAWS, DECIDED_TABLES, OFF = 0.9, 0.7, 1.5
CLEAN_LAWS = {
    "clean": Law(shifted(-1), always(0.0), always(0.0), 0.2),
    "clean, rare": Law(shifted(-4), always(0.0), always(0.0), 0.06),
}
MORE_LAWS = {
    **LAWS,
    **CLEAN_LAWS,
    "one in ten flipped": Law(shifted(-0.5), always(0.1), always(0.1), 0.3),
}


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
                for name, flagged in zip(CONSTANTS, (False, True), strict=True):
                    flags = np.full(len(rows.y_test), flagged)
                    results.paid((name, table.name, which, 0, cost), rows, flags)
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


class Followed(NamedTuple):
    """A table checked round by round: states before and after, and what was said to save."""

    states: list[str]
    said: list[float]
    paid: list[float]


def follow(
    fit: Callable, pay: Callable, X: np.ndarray, noisy: np.ndarray, gold: np.ndarray, seed: int
) -> Followed:
    """Check rounds of the rows that are asked for."""
    trusted, model = np.full(len(gold), np.nan), fit(None)
    found = Followed([model.state_], [], [pay(model)])
    for k in range(3):
        known = trusted if k else None
        batch = next_rows(model, X, noisy, ASKED, trusted=known, random_state=seed)
        trusted[batch.rows] = gold[batch.rows]
        try:
            model = fit(trusted)
        except FlipCostError:  # taken for swapped labels
            break
        found.states.append(model.state_)
        found.said.append(batch.saving)
        found.paid.append(pay(model))
    return found


def promises(tables: list[Table], seeds: range, features: str) -> None:
    """Print what was promised of checks, and what they did."""
    by_law, by_table = [], []
    for law in MORE_LAWS.values():
        for seed in seeds:
            rows, fresh = draw(law, 2_000, seed), draw(law, 20_000, 50_000 + seed).X
            clf = FlipCostClassifier(law.cost, features="linear", random_state=seed)
            by_law.append(
                follow(
                    lambda t, m=clf, r=rows: m.fit(r.X, r.noisy, trusted=t),
                    lambda m, law=law, x=fresh: expected(m.predict(x), law.eta(x), law.cost),
                    rows.X, rows.noisy, rows.clean, seed,
                )
            )  # fmt: skip
    for table in tables:
        for seed in seeds:
            rows = split(table, seed)
            for which, cost in enumerate(table.costs):
                asked = Setting(table, rows, which, seed, features)
                by_table.append(
                    follow(
                        asked.fit,
                        lambda m, r=rows, c=cost: weighted_cost(
                            r.y_test, m.predict(r.X_test), c, normalize=True
                        ),
                        rows.X, rows.noisy, rows.gold, seed,
                    )
                )  # fmt: skip
    _still_clean(seeds)
    for name, found, goal in (
        ("laws", by_law, DECIDED_LAWS),
        ("tables", by_table, DECIDED_TABLES),
    ):
        if found:
            _say_followed(name, found, goal)


def _still_clean(seeds: range) -> None:
    """Print whether right answers leave clean labels clean."""
    for name, law in CLEAN_LAWS.items():
        kept, before = 0, 0
        for seed in seeds:
            rows = draw(law, 2_000, seed)
            clf = FlipCostClassifier(law.cost, features="linear", random_state=seed)
            if clf.fit(rows.X, rows.noisy).state_ != "clean":
                continue
            before += 1
            trusted = np.full(2_000, np.nan)
            trusted[:RIGHT_ANSWERS] = rows.clean[:RIGHT_ANSWERS]
            kept += clf.fit(rows.X, rows.noisy, trusted=trusted).state_ == "clean"
        said = verdict(kept, before, at_most=False)
        print(
            f"  {name}: still clean after {RIGHT_ANSWERS} right answers: {kept} of {before}  {said}"
        )


def _say_followed(name: str, found: list[Followed], goal: float) -> None:
    first = [one.states[1] for one in found if len(one.states) > 1]
    share = np.mean([state in ("clean", "noisy") for state in first])
    before = np.mean([one.states[0] in ("clean", "noisy") for one in found])
    said = verdict(share, goal, at_most=False)
    print(f"  {name}: decided before {before:.2f}, after {ASKED} rows {share:.2f}  {said}")
    for k in range(3):
        whole = [one for one in found if len(one.said) > k]
        promised = 1000 * np.mean([one.said[k] for one in whole])
        saved = 1000 * np.mean([one.paid[k] - one.paid[k + 1] for one in whole])
        ratio = max(promised, 1e-9) / max(saved, 1e-9)
        said = verdict(max(ratio, 1 / ratio), OFF, at_most=True)
        print(
            f"  {name}, round {k + 1}, per 1,000 rows: {promised:.1f} said, {saved:.1f} saved  "
            f"{said}"
        )


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
    parser.add_argument("--promises", action="store_true")
    parser.add_argument("--final", action="store_true", help="splits that nothing was chosen by")
    asked = parser.parse_args([] if arguments is None else arguments)
    if asked.promises:
        tables = [] if asked.folder is None else read_tables(asked.folder)
        start = FINAL if asked.final else 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            promises(tables, range(start, start + asked.splits), asked.features)
        return
    run(asked.folder, asked.splits, sorted({0, *asked.budgets}), asked.features, final=asked.final)


if __name__ == "__main__":
    main(sys.argv[1:])
