"""One tidy table of finished units: ours beside the paper's, with verdict and errata."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from flipcost._version import __version__
from flipcost.datasets import load_paper_tables
from flipcost.paper.experiments.problems import TABLES

Row: TypeAlias = dict[str, Any]  # one cell of a table, or one figure of a unit


FIELDS = (
    *("table", "dataset", "cost", "rho", "pi", "gamma", "method", "reading", "measure"),
    *("paper_mean", "paper_std", "mean", "std", "verdict", "parity", "errata"),
    *("trials", "seed", "version"),
)
SUMMARY_FIELDS = ("table", "method", "agree", "cells", "touched_agree", "touched_cells")
WITHIN, DIFFERS = "within one sd", "differs"
IMPOSSIBLE, NOT_GIVEN = "impossible as printed", "not given"
# Columns that the paper does not have, shown beside those that it does.
_OURS = (
    ("usq_regerm", "denoised"),
    ("flipcost", "ours"),
    ("all_positive", "constant"),
    ("all_negative", "constant"),
)


def tidy(records_by_unit: dict[str, list[Row]], tables: list[str], seed: int) -> list[Row]:
    """Return the rows of the results, in the order of the paper's tables."""
    values = _gather(records_by_unit)
    cells = defaultdict(list)
    for cell in load_paper_tables():
        cells[cell["table"]].append(cell)
    rows = []
    for table in tables:
        printed = [row for cell in cells[table] for row in _printed(cell, values)]
        rows += printed + _further(table, cells[table], values)
    for row in rows:
        row.update(seed=seed, version=__version__)
    return rows


def _gather(records_by_unit: dict[str, list[Row]]) -> Any:
    """Return the values of all trials by kind, what the cell is of, and reading."""
    values: dict = defaultdict(lambda: defaultdict(list))
    for key in sorted(records_by_unit, key=_trial_last):
        kind = key.split("/", 1)[0]
        for record in records_by_unit[key]:
            value = math.nan if record["value"] is None else record["value"]
            values[(kind, *_identity(record))][record["reading"]].append(value)
    return values


def _trial_last(key: str) -> Any:
    head, trial = key.rsplit("/", 1)
    return head, int(trial)


def _identity(record: Row) -> Any:
    """Return the key that a cell shares with our records of it."""
    pi = record["pi"] if record["dataset"] in ("syn1", "syn2") else None
    return (
        record["dataset"],
        record["cost"],
        record["rho"],
        pi,
        record["gamma"],
        record["method"],
        record["measure"],
    )


def _row(cell: Row, reading: str, ours: Any) -> Row:
    paper = {"paper_mean": cell.get("mean", math.nan), "paper_std": cell.get("std", math.nan)}
    known = [value for value in ours if not math.isnan(value)]
    # Half of the values undefined is undefined: a mean over the rest would flatter.
    defined = 2 * len(known) > len(ours)
    return {
        **{key: cell[key] for key in ("table", "dataset", "cost", "rho", "pi", "gamma", "method")},
        "reading": reading,
        "measure": cell["measure"],
        **paper,
        "mean": float(np.mean(known)) if defined else math.nan,
        "std": float(np.std(known, ddof=1)) if defined and len(known) > 1 else math.nan,
        "trials": len(ours),
    }


def _printed(cell: Row, values: Any) -> Any:
    """Return a row for each reading of a printed cell."""
    found = values.get((TABLES[cell["table"]].kind, *_identity(cell)), {})
    best = parity_reading(cell)
    rows = []
    for reading, ours in found.items():
        if (cell["method"], reading) not in _OURS:
            row = _row(cell, reading, ours)
            row["verdict"] = verdict(cell, row)
            row["parity"] = "yes" if reading == best else "no"
            row["errata"] = " ".join(errata_of(cell))
            rows.append(row)
    return rows


def _further(table: str, cells: list[Row], values: Any) -> Any:
    """Return rows that the paper does not print: our columns, constants, cost at margin 1."""
    kind = TABLES[table].kind
    if kind != "noisy":
        return []
    wanted: dict = {}
    for cell in cells:
        for measure in ("WC", "WC1") if cell["measure"] == "WC" else (cell["measure"],):
            own = {**cell, "measure": measure, "mean": math.nan, "std": math.nan}
            if measure == "WC1":
                wanted[(cell["dataset"], cell["rho"], cell["method"], str(cell["gamma"]))] = (
                    own,
                    None,
                )
            for method, reading in _OURS:
                case = {**own, "method": method, "gamma": "tuned"}
                wanted[(cell["dataset"], cell["rho"], method, reading, measure)] = (case, reading)
    rows = []
    for case, only in wanted.values():
        for reading, ours in values.get((kind, *_identity(case)), {}).items():
            if only in (None, reading) and (only or (case["method"], reading) not in _OURS):
                row = _row(case, reading, ours)
                rows.append({**row, "verdict": "", "parity": "", "errata": ""})
    return rows


def verdict(cell: Row, row: Row) -> str:
    """Compare a printed cell with ours.

    The two agree when they differ by no more than the larger standard deviation, or by no more
    than the last printed digit: figures are printed cut off, not rounded.
    """
    if math.isnan(cell["mean"]) or math.isnan(row["mean"]):
        return NOT_GIVEN
    if is_impossible(cell):
        return IMPOSSIBLE
    spreads = [s for s in (cell["std"], row["std"]) if not math.isnan(s)]
    reach = max([*spreads, TABLES[cell["table"]].digit])
    return WITHIN if abs(cell["mean"] - row["mean"]) <= reach + 1e-9 else DIFFERS


def summarize(rows: list[Row]) -> list[Row]:
    """Return agreement by table and method: of cells that no erratum touches, and of the others."""
    tally: dict = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        if row["parity"] == "yes" and row["verdict"] in (WITHIN, DIFFERS):
            place = 2 if row["errata"] else 0
            entry = tally[row["table"], row["method"]]
            entry[place] += row["verdict"] == WITHIN
            entry[place + 1] += 1
    return [
        dict(zip(SUMMARY_FIELDS, (*names, *entry), strict=True)) for names, entry in tally.items()
    ]


def write_csv(rows: list[Row], path: Path, fields: Sequence[str] = FIELDS) -> None:
    """Write the rows with full precision: reading them back gives the same numbers."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _text(row[key]) for key in fields})


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


_SYN10D_SHIFTED = ("kliep_pos_s", "kliep_neg_s", "kliep_norm_s", "kliep_cnorm_s", "kliep_avg_s")
_IMPOSSIBLE = {
    ("eta_syn3D_KLIEP_45678", "kliep_pos_s", "MAD"),
    ("eta_syn3D_KLIEP_45678", "kliep_pos_s", "RMSE"),
    ("eta_syn10D_cls_LSPC", "lkfun_msq", "RMSE"),
    ("eta_syn2D_KLIEP_45678", "kliep_cnorm_s", "MSE"),
    ("eta_syn3D_KLIEP_45678", "kliep_norm_s", "MSE"),
    *(("eta_syn10D_KLIEP_45678", method, "MSE") for method in _SYN10D_SHIFTED),
}


def is_impossible(cell: Row) -> bool:
    """Tell whether a printed cell cannot be right, whatever was run."""
    if (cell["table"], cell["method"], cell["measure"]) in _IMPOSSIBLE:
        return True
    if cell["measure"] not in ("Acc", "AM", "F"):
        return False
    # Ten values between 0 and 1 with this mean are spread most when each is 0 or 1.
    return cell["std"] ** 2 > cell["mean"] * (1 - cell["mean"]) * 10 / 9


def errata_of(cell: Row) -> list[str]:
    """Return the numbers of the errata that affect a printed cell."""
    found = []
    if cell["method"] == "usq_regerm" and cell["rho"] > 0:
        found.append("E1")
    if cell["method"] in ("mub_log", "sw01_log") and (
        (cell["dataset"] == "german" and cell["measure"] == "Acc")
        or (cell["dataset"], cell["measure"], cell["method"]) == ("breast_cancer", "AM", "sw01_log")
    ):
        found.append("E13")
    if is_impossible(cell):
        found.append("E14")
    if cell["dataset"] == "breast_cancer" and cell["measure"] in ("F", "WC"):
        found.append("E20")
    return found


def parity_reading(cell: Row) -> str:
    """Return the reading that a printed cell is compared with in the summary."""
    table, method = cell["table"], cell["method"]
    if table.startswith("eta_"):
        if method.startswith("kliep"):
            return "reference"
        return "five" if method == "knn" else "tuned"
    if table.startswith("cost_clean"):
        return "weight"
    if method == "usq_regerm":
        return "half" if table.endswith("_measure_cost") and cell["rho"] > 0 else "weight"
    return {"bayes": "exact", "mub_log": "rate known", "sw01_log": "rate known"}.get(
        method, "untouched"
    )
