"""Walk through flipcost seven ways, and compare what comes out with reference files.

A walk goes from data to results as a user does: fit, fit_table from Parquet, audit of a CSV file,
audit of a DuckDB table, predict, a recheck round, and three tables of reproduce. Data are made here
with fixed seeds; only public names are used. The reference files in tests/walks hold what version
0.1 gave: probabilities, decisions, intervals, summary.json and SQL.

Usage::

    python tools/walks.py                  # compare with the reference files
    python tools/walks.py fit predict      # some of the walks
    python tools/walks.py --modules        # also count the modules that each walk crosses
    python tools/walks.py --freeze         # write the reference files anew
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import math
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import flipcost as fc
from flipcost.cli import main as command_line

REFERENCE = Path(__file__).resolve().parent.parent / "tests" / "walks"
SOURCE = Path(fc.__file__).resolve().parent
COSTS = ("--cost-fn", "4", "--cost-fp", "1")
TABLES = ("Re-sq-ERM-Bupa", "cost_clean_all_case2_BUPA", "eta_syn2D_KLIEP_123")
# Relative difference of two figures that counts as one: rounding moves the seventh digit at most.
TOLERANCE = 1e-6
SHOWN = 25

Values = dict[str, Any]
_crossed: set[str] | None = None  # files of flipcost that were entered, while a walk counts them


# ------------------------------------------------------------------------------------------ data


def numeric_table(n_rows: int, seed: int) -> pd.DataFrame:
    """Make four columns of numbers and a label of which 25 % of the positives are missed."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=["a", "b", "c", "d"])
    logit = 1.5 * frame["a"] - frame["b"] + np.abs(frame["c"]) - 1.2
    truth = rng.random(n_rows) < 1 / (1 + np.exp(-2 * logit))
    flipped = rng.random(n_rows) < np.where(truth, 0.25, 0.05)
    return frame.assign(truth=truth.astype(int), label=(truth ^ flipped).astype(int))


def mixed_table(n_rows: int, seed: int) -> pd.DataFrame:
    """Make several kinds of columns, with missing values; 20 % of the labels are wrong."""
    rng = np.random.default_rng(seed)
    town = np.minimum(rng.geometric(0.08, n_rows), 60)
    effect = np.sin(np.arange(61) * 2.4)
    age, income = rng.uniform(18, 80, n_rows), rng.lognormal(3, 0.5, n_rows)
    day = rng.integers(0, 700, n_rows)
    logit = (age - 50) / 12 + 1.5 * effect[town] - (income - 22) / 12 + np.sin(day / 58)
    truth = rng.random(n_rows) < 1 / (1 + np.exp(-1.5 * logit))
    flipped = rng.random(n_rows) < 0.2
    names = np.array([f"town {k:02d}" for k in range(61)], dtype=object)
    frame = pd.DataFrame(
        {
            "name": [f"r{k:05d}" for k in range(n_rows)],
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, age.round(1)),
            "income": income.round(2),
            "town": np.where(rng.random(n_rows) < 0.1, None, names[town]),
            "member": np.where(rng.random(n_rows) < 0.5, "yes", "no"),
            "since": (pd.Timestamp("2023-01-01") + pd.to_timedelta(day, "D")).strftime("%Y-%m-%d"),
            "amount": rng.lognormal(4, 1, n_rows).round(2),
        }
    )
    frame["truth"] = np.where(truth, "ill", "well")
    frame["label"] = np.where(truth ^ flipped, "ill", "well")
    return frame


# ----------------------------------------------------------------- public names, old and new ones


def run(*args: str) -> None:
    """Run a command of flipcost in this process; its exit code must be 0."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), crossing():
        code = command_line([str(arg) for arg in args])
    if code:
        msg = f"flipcost {' '.join(map(str, args))} ended with {code}:\n{said.getvalue()}"
        raise RuntimeError(msg)


def model_file(folder: Path) -> Path:
    """Return the model that an audit saved."""
    return folder / "model.json"


def interval(found: Any) -> list[float | None]:
    """Return value, low and high of an interval; two numbers have no value of their own."""
    if hasattr(found, "low"):
        return [float(getattr(found, "value", math.nan)), float(found.low), float(found.high)]
    return np.asarray(found, dtype=float).ravel().tolist()


def attribute(model: Any, *names: str) -> Any:
    """Return the first of these attributes that the model has."""
    return next((getattr(model, name) for name in names if hasattr(model, name)), None)


def fitted(model: Any, X: Any, positive: Any) -> Values:
    """Return what a fitted FlipCostClassifier says, and its probabilities and decisions of rows."""
    return {
        "noise_rate": np.ravel(model.noise_rate_).tolist(),
        "noise_rate_interval": np.ravel(model.noise_rate_interval_).tolist(),
        "wrong_share": interval(model.wrong_share_),
        "cost_estimate": float(model.cost_estimate_),
        "cost_interval": interval(model.cost_interval_),
        "chosen": str(attribute(model, "chosen_", "decision_")),
        "state": str(model.state_),
        "probability": model.predict_proba(X)[:, 1].tolist(),
        "flagged": (model.predict(X) == positive).astype(int).tolist(),
    }


def read_rows(path: Path, n_rows: int) -> list[dict[str, str]]:
    """Return the first rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row, _ in zip(csv.DictReader(file), range(n_rows), strict=False)]


def findings(folder: Path) -> Values:
    """Return what an audit wrote, but for what names versions and folders."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for key in ("flipcost_version", "schema_version"):
        summary.pop(key, None)
    for key in ("name", "reading"):
        summary.get("data", {}).pop(key, None)
    return {
        "summary": summary,
        "suspects": read_rows(folder / "suspects.csv", 20),
        "to_check": [
            {key: value for key, value in row.items() if key not in ("reason", "checked")}
            for row in read_rows(folder / "recheck.csv", 20)
        ],
    }


def predicted(path: Path) -> Values:
    """Return probabilities and decisions that `flipcost predict` wrote."""
    rows = read_rows(path, 1_000_000)
    numbers = {
        name: [float(row[name]) for row in rows]
        for name in rows[0]
        if name.startswith(("probability", "threshold", "saving", "expected"))
    }
    return {**numbers, "prediction": [row["prediction"] for row in rows]}


# ----------------------------------------------------------------------------------------- walks


def walk_fit(_folder: Path) -> Values:
    """Fit frames and arrays in memory: numbers, a mixed frame, checked rows, costs by row."""
    numeric, new = numeric_table(1500, 1), numeric_table(120, 2)
    X, y, X_new = numeric[list("abcd")], numeric["label"], new[list("abcd")]
    checked = pd.Series(np.where(np.arange(1500) % 15 == 0, numeric["truth"], np.nan))
    mixed, mixed_new = mixed_table(1500, 3), mixed_table(120, 4)
    columns = ["age", "income", "town", "member", "since"]
    priced = fc.Costs(fn="amount", fp=30)
    found: Values = {}
    with crossing():
        model = fc.FlipCostClassifier(fc.Costs(fn=4, fp=1), random_state=0).fit(X, y)
    found["numbers"] = fitted(model, X_new, 1)
    model = fc.FlipCostClassifier(0.2, noise_rate=(0.25, 0.05), random_state=0).fit(X, y)
    found["rate given"] = fitted(model, X_new, 1)
    model = fc.FlipCostClassifier(0.2, random_state=0).fit(X, y, trusted=checked)
    found["checked rows"] = fitted(model, X_new, 1)
    model = fc.FlipCostClassifier(fc.Costs(fn=4, fp=1), pos_label="ill", random_state=0)
    model.fit(mixed[columns], mixed["label"])
    found["mixed"] = fitted(model, mixed_new[columns], "ill")
    model = fc.FlipCostClassifier(priced, random_state=0).fit(X.assign(amount=mixed["amount"]), y)
    found["costs by row"] = fitted(model, X_new.assign(amount=mixed_new["amount"]), 1)
    closed = fc.UnevenMarginClassifier(cost=0.2, margin=2.0, l2=0.1, noise_rate=(0.25, 0.05))
    closed.fit(X.to_numpy(), y)
    found["closed form"] = {
        "coef": np.ravel(closed.coef_).tolist(),
        "intercept": np.ravel(closed.intercept_).tolist(),
        "probability": closed.predict_proba(X_new.to_numpy())[:, 1].tolist(),
        "sql": fc.export.to_sql(closed, "duckdb", table="new"),
    }
    return found


def walk_fit_table(folder: Path) -> Values:
    """Fit a Parquet file: the flagship, and the closed form from exact moments."""
    path = folder / "rows.parquet"
    numeric_table(20_000, 5).drop(columns="truth").to_parquet(path)
    X_new = numeric_table(120, 2)[list("abcd")]
    found: Values = {}
    with crossing():
        model = fc.FlipCostClassifier(fc.Costs(fn=4, fp=1), random_state=0)
        model.fit_table(fc.scale.scan_parquet(path, target="label"))
    found["flagship"] = fitted(model, X_new, 1)
    tuned = fc.UnevenMarginClassifierCV(costs=[0.2], margins=[0.5, 1.0, 2.0], l2s=[0.01, 0.1, 1.0])
    tuned.fit_table(fc.scale.scan_parquet(path, target="label"))
    moments = fc.scale.scan_parquet(path, target="label").moments()
    found["closed form"] = {
        "coef": np.ravel(tuned.coef_).tolist(),
        "intercept": np.ravel(tuned.intercept_).tolist(),
        "best_score": float(tuned.best_score_),
        "rows": np.ravel(moments.n_rows).tolist(),
        "mean": np.ravel(moments.mean).tolist(),
    }
    return found


def audit_csv(folder: Path) -> Path:
    """Audit the mixed table as a CSV file, and return the folder of the results."""
    path, out = folder / "table.csv", folder / "audit"
    mixed_table(1500, 3).drop(columns=["truth", "amount"]).to_csv(path, index=False)
    run(
        "audit",
        path,
        "--target",
        "label",
        "--positive",
        "ill",
        "--id",
        "name",
        *COSTS,
        "--out",
        out,
    )
    return out


def walk_audit(folder: Path) -> Values:
    """Audit a CSV file with numbers, categories, dates and missing values."""
    return findings(audit_csv(folder))


def walk_database(folder: Path) -> Values:
    """Audit a table of a DuckDB file."""
    rows = mixed_table(6000, 6).drop(columns=["truth", "amount"])
    rows["since"] = pd.to_datetime(rows["since"])
    with contextlib.closing(duckdb.connect(folder / "rows.duckdb")) as connection:
        connection.register("made", rows)
        connection.execute("CREATE TABLE people AS SELECT * FROM made")
    out = folder / "audit"
    where = f"{folder / 'rows.duckdb'}::people"
    run(
        "audit",
        where,
        "--target",
        "label",
        "--positive",
        "ill",
        "--id",
        "name",
        *COSTS,
        "--out",
        out,
    )
    return findings(out)


def walk_predict(folder: Path) -> Values:
    """Predict new rows with the model of an audit, and with its SQL; then with costs by row."""
    with uncounted():
        model = model_file(audit_csv(folder))
    new = mixed_table(120, 4).drop(columns=["truth", "label"])
    # Never seen when the model learned, missing throughout a row, and far outside.
    new.loc[0, "town"], new.loc[2, "income"] = "elsewhere", 1e6
    new.loc[1, ["age", "income", "town", "member", "since"]] = None
    new.to_csv(folder / "new.csv", index=False)
    run("predict", model, folder / "new.csv", "--id", "name", "--out", folder / "predicted.csv")
    with uncounted():
        run(
            "export",
            model,
            "--to",
            "sql",
            "--table",
            "new",
            "--keep",
            "name",
            "--out",
            folder / "m.sql",
        )
    found = {"file": predicted(folder / "predicted.csv")}
    with contextlib.closing(duckdb.connect()) as connection:
        connection.register("new", new)
        query = (folder / "m.sql").read_text(encoding="utf-8")
        scored = connection.sql(query).df().sort_values("name")
    found["sql"] = {
        "columns": [name for name in scored.columns if name != "name"],
        "probability": scored.filter(like="probability").iloc[:, 0].tolist(),
        "prediction": scored["prediction"].tolist(),
    }
    with uncounted():
        priced = folder / "priced"
        path = folder / "priced.csv"
        mixed_table(1500, 3).drop(columns="truth").to_csv(path, index=False)
        run(
            *("audit", path, "--target", "label", "--positive", "ill", "--id", "name"),
            *("--cost-fn", "amount", "--cost-fp", "30", "--out", priced),
        )
        run("predict", model_file(priced), folder / "new.csv", "--out", folder / "priced_out.csv")
    found["costs by row"] = predicted(folder / "priced_out.csv")
    return found


def walk_recheck(folder: Path) -> Values:
    """Fill in the rows to check, ask for more of them, and audit again."""
    with uncounted():
        out = audit_csv(folder)
    truth = mixed_table(1500, 3)["truth"]
    path = out / "recheck.csv"
    rows = read_rows(path, 1000)
    for row in rows:
        row["checked"] = truth[int(row["row"]) - 1]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    run("recheck", out, "--n", "20")
    more = read_rows(out / "recheck-2.csv", 20)
    again = folder / "again"
    with uncounted():
        run(
            *("audit", folder / "table.csv", "--target", "label", "--positive", "ill"),
            *("--id", "name", *COSTS, "--checked", path, "--out", again),
        )
    return {"more": [row["row"] for row in more], **findings(again)}


def walk_reproduce(folder: Path) -> Values:
    """Regenerate three of the paper's tables, with two trials."""
    run("reproduce", *TABLES, "--trials", "2", "--quiet", "--out", folder / "tables")
    names = ("table", "dataset", "cost", "rho", "pi", "gamma", "method", "reading", "measure")
    return {
        "/".join(row[name] for name in names): [float(row["mean"]), float(row["std"])]
        for row in read_rows(folder / "tables" / "results.csv", 10_000)
        if row["mean"] and row["std"]
    }


WALKS: dict[str, Callable[[Path], Values]] = {
    "fit": walk_fit,
    "fit_table": walk_fit_table,
    "audit": walk_audit,
    "database": walk_database,
    "predict": walk_predict,
    "recheck": walk_recheck,
    "reproduce": walk_reproduce,
}


# ----------------------------------------------------------------------- counting and comparing


@contextlib.contextmanager
def crossing() -> Iterator[None]:
    """Note the modules of flipcost in which a function is called, if they are being counted."""
    if _crossed is None:
        yield
        return
    seen = _crossed

    def note(frame: Any, event: str, _arg: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Leave out what only prepares a walk."""
    global _crossed  # noqa: PLW0603 - a profile function has nowhere else to write
    kept, _crossed = _crossed, None
    try:
        yield
    finally:
        _crossed = kept


def take(name: str, *, count: bool) -> tuple[Values, list[str]]:
    """Go one walk; return what it gives, rounded, and the modules of flipcost that it crossed."""
    global _crossed  # noqa: PLW0603 - a profile function has nowhere else to write
    values: Values = {}
    files: list[Path] = []
    # What is counted is a second time: the first one imports, which runs code of every module.
    for counts in (False, True)[: 1 + count]:
        _crossed = set() if counts else None
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = rounded(WALKS[name](Path(folder)))
        files = sorted(Path(file) for file in _crossed or ())
    _crossed = None
    inside = [file.relative_to(SOURCE) for file in files if file.is_relative_to(SOURCE)]
    return values, [".".join(file.with_suffix("").parts) for file in inside]


def rounded(value: Any) -> Any:
    """Keep eight digits of every number, and None in place of what is no number."""
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    return value


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Give every figure, word and list of either by its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for place, item in enumerate(value):
            yield from leaves(item, f"{name}[{place}]")
    else:
        yield name, value


def number(value: Any) -> float | None:
    """Return a number, also one that is written as text, or None."""
    if isinstance(value, bool | None):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def is_same(before: Any, now: Any) -> bool:
    """Tell whether two figures agree within the tolerance, and words exactly."""
    a, b = number(before), number(now)
    if a is None or b is None:
        return bool(before == now)
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b), TOLERANCE)


def difference(before: Any, now: Any) -> str | None:
    """Say by how much two leaves differ, or nothing if they agree."""
    if not isinstance(before, list) or not isinstance(now, list):
        if is_same(before, now):
            return None
        a, b = number(before), number(now)
        if a is not None and b is not None:
            return f"{a:.5g} -> {b:.5g} ({b - a:+.2g})"
        return f"{shortened(before)} -> {shortened(now)}"
    if len(before) != len(now):
        return f"{len(before)} entries -> {len(now)}"
    other = [(a, b) for a, b in zip(before, now, strict=True) if not is_same(a, b)]
    if not other:
        return None
    pairs = [(number(a), number(b)) for a, b in other]
    gaps = [abs(b - a) for a, b in pairs if a is not None and b is not None]
    size = (
        f", by {max(gaps):.2g} at most and {sum(gaps) / len(before):.2g} on average" if gaps else ""
    )
    return f"{len(other)} of {len(before)} differ{size}"


def shortened(value: Any) -> str:
    """Return a value in a few words."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def compare(reference: Values, values: Values) -> list[str]:
    """Return one line for each leaf that differs, is gone or is new."""
    before, now = dict(leaves(reference)), dict(leaves(values))
    lines = []
    for name in [*before, *(name for name in now if name not in before)]:
        if name not in now:
            lines.append(f"{name}: gone")
        elif name not in before:
            lines.append(f"{name}: new")
        elif said := difference(before[name], now[name]):
            lines.append(f"{name}: {said}")
    return lines


def main() -> int:
    """Freeze or compare the walks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("walks", nargs="*", metavar="WALK", help=", ".join(WALKS))
    parser.add_argument("--freeze", action="store_true", help="write the reference files anew")
    parser.add_argument("--modules", action="store_true", help="count the modules crossed")
    parser.add_argument("--all", action="store_true", help="print every difference")
    options = parser.parse_args()
    if unknown := set(options.walks) - set(WALKS):
        parser.error(
            f"no walk is called {', '.join(sorted(unknown))}; there are {', '.join(WALKS)}"
        )
    differ = False
    for name in options.walks or WALKS:
        count = options.modules or options.freeze
        values, modules = take(name, count=count)
        path = REFERENCE / f"{name}.json"
        if options.freeze:
            written = {"modules": modules, "values": values}
            path.write_text(
                json.dumps(written, ensure_ascii=False, indent=0) + "\n", encoding="utf-8"
            )
            print(f"{name}: {len(modules)} modules, {path.stat().st_size:,} bytes")
            continue
        reference = json.loads(path.read_text(encoding="utf-8"))
        lines = compare(reference["values"], values)
        total = len(dict(leaves(reference["values"])))
        crossed = (
            f"; crosses {len(modules)} modules, {len(reference['modules'])} then" if count else ""
        )
        print(f"{name}: {len(lines)} of {total} entries differ{crossed}")
        for line in lines if options.all else lines[:SHOWN]:
            print(f"  {line}")
        if len(lines) > SHOWN and not options.all:
            print(f"  and {len(lines) - SHOWN} more (--all)")
        differ |= bool(lines)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
