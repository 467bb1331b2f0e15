"""Scoring new rows: `predict_proba` beside logistic regression's, and `flipcost predict` of a file.

Ratios in one run, calls in turns, the best of several; processor time beside wall time. Boosting
has a share in the scores only where its posterior weight is at least a thousandth of the heaviest
score's; its trees are set beside scikit-learn's own prediction too.

Run as ``python -m benchmarks.predict [--rows 1000000] [--repeats 5]``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.timing import verdict
from flipcost import FlipCostClassifier, save
from flipcost.cli import main as command
from flipcost.core.trees import read_trees
from flipcost.estimators.flipcost.boosting import boosting_classifier
from flipcost.estimators.flipcost.scores import PooledRule
from flipcost.tables.encoder import Encoder
from flipcost.tables.pipelines import PlainColumns

if TYPE_CHECKING:
    from collections.abc import Callable

_GOAL = 3.0
_ROWS_A_SECOND = 1_000_000
_TRAIN = 4_000


def best_of_both(
    flags: dict[str, Callable[[], object]], repeats: int
) -> dict[str, tuple[float, float]]:
    """Return the shortest wall and processor times of several calls, made in turns."""
    best = dict.fromkeys(flags, (np.inf, np.inf))
    for turn in range(repeats + 1):
        for name, call in flags.items():
            wall, busy = perf_counter(), process_time()
            call()
            took = perf_counter() - wall, process_time() - busy
            if turn:  # the first one warms up
                best[name] = (min(best[name][0], took[0]), min(best[name][1], took[1]))
    return best


def in_memory(n_rows: int, repeats: int) -> None:
    """Compare `predict_proba` on rows of 20 numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20))
    signal = X @ rng.normal(size=20)
    labels = {
        "straight": signal + rng.normal(size=n_rows) > 1,
        "bent": signal + 2 * np.abs(X[:, 0]) + rng.normal(size=n_rows) > 3,
        # What only trees see: boosting has a share.
        "crossed": X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=n_rows) > 0,
    }
    noisy = {name: y ^ (rng.random(n_rows) < 0.2) for name, y in labels.items()}
    small = X[:_TRAIN]
    regression = LogisticRegression().fit(small, noisy["straight"][:_TRAIN])
    models = {"logistic regression": regression}
    for features in ("linear", "splines", "auto"):
        for name, y in noisy.items():
            if name == "crossed" and features != "auto":
                continue
            model = FlipCostClassifier(features=features, random_state=0)
            models[f"{features}, {name}"] = model.fit(small, y[:_TRAIN])
    flags = {name: lambda model=model: model.predict_proba(X) for name, model in models.items()}
    best = best_of_both(flags, repeats)
    wall, busy = best["logistic regression"]
    print(f"predict_proba of {n_rows:,} x 20 (logistic regression {1e3 * wall:.0f} ms wall)")
    for name, model in models.items():
        if model is not regression:
            rule = PooledRule.of(model.scorer_, model._result.curves)  # noqa: SLF001
            ratios = best[name][0] / wall, best[name][1] / busy
            said = verdict(max(ratios), _GOAL, at_most=True)
            if rule.boosting_share.any():
                said += ", with boosting"
            print(
                f"  {name:18} {len(rule.tables.values):2} scores, {len(rule.places.basis.knot):2} "
                f"bends: {ratios[0]:.1f} x wall, {ratios[1]:.1f} x processor time; {said}"
            )

    trees(X, noisy["crossed"], repeats)


def trees(X: Any, y: Any, repeats: int) -> None:
    """Compare 60 trees of boosting, evaluated as bits, with scikit-learn's own prediction."""
    boosting = boosting_classifier(np.zeros(X.shape[1], bool), 0).fit(X[:_TRAIN], y[:_TRAIN])
    flags = {
        "ours": lambda: read_trees(boosting).score(X),
        "scikit-learn's": lambda: boosting.decision_function(X),
    }
    best = best_of_both(flags, repeats)
    (wall, busy), (their_wall, their_busy) = best.values()
    print(
        f"  trees alone: {1e3 * busy:.0f} ms of processor time, scikit-learn's take "
        f"{their_busy / busy:.1f} times that, {their_wall / wall:.1f} times by the clock"
    )


def from_file(n_rows: int, repeats: int) -> None:
    """Time `flipcost predict` of a Parquet file of nine columns, Parquet and CSV out."""
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=n_rows) for k in range(7)}
    columns["visits"] = rng.integers(0, 40, size=n_rows)
    columns["town"] = np.array(["Lyon", "Paris", "Oslo", "Rome"])[rng.integers(0, 4, size=n_rows)]
    table = pa.table(columns)
    y = columns["x0"] + columns["x1"] + (columns["town"] == "Oslo") + rng.normal(size=n_rows) > 1
    some = table.slice(0, _TRAIN)
    first = PlainColumns(Encoder.learn(some))
    classifier = FlipCostClassifier(0.2, features="splines", pos_label="yes", random_state=0)
    model = make_pipeline(first, classifier)  # as an audit saves it
    model.fit(some, np.where(y[:_TRAIN], "yes", "no"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save(model, folder / "model.json")
        pq.write_table(table, folder / "rows.parquet")

        def predict(out: str) -> None:
            arguments = [str(folder / name) for name in ("model.json", "rows.parquet")]
            options = ["--out", str(folder / out), "--overwrite", "--quiet"]
            if command(["predict", *arguments, *options]) != 0:
                msg = "`flipcost predict` failed."
                raise RuntimeError(msg)

        names = ("out.parquet", "out.csv")
        best = best_of_both({name: lambda n=name: predict(n) for name in names}, repeats)
    print(f"flipcost predict, {n_rows:,} rows of 9 columns from Parquet")
    for name, (wall, busy) in best.items():
        said = verdict(n_rows / busy, _ROWS_A_SECOND, at_most=False)
        print(
            f"  to {name:12} {n_rows / wall:,.0f} rows/s, {n_rows / busy:,.0f} rows per second of "
            f"processor time; {said}"
        )


def main(arguments: list[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.predict", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    in_memory(options.rows, options.repeats)
    from_file(options.rows, options.repeats)


if __name__ == "__main__":
    main()
