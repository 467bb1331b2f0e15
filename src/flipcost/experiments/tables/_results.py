"""From finished units to one tidy table: ours beside the paper's, with a verdict for each cell."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from flipcost._version import __version__
from flipcost.datasets import load_paper_tables
from flipcost.experiments.registry._paper_tables import TABLES
from flipcost.experiments.tables._errata import errata_of, is_impossible
from flipcost.experiments.tables._readings import parity_reading

Row: TypeAlias = dict[str, Any]  # one cell of a table, or one figure of a unit


FIELDS = (
    "table",
    "dataset",
    "cost",
    "rho",
    "pi",
    "gamma",
    "method",
    "reading",
    "measure",
    "paper_mean",
    "paper_std",
    "mean",
    "std",
    "verdict",
    "parity",
    "errata",
    "trials",
    "seed",
    "version",
)
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
    """Return the rows of the results, in the order of the paper's tables.

    Parameters
    ----------
    records_by_unit : dict
        Records of finished units by the key of the unit.
    tables : sequence of str
        Names of tables.
    seed : int
        Written into every row.

    Returns
    -------
    list of dict
        With the keys ``FIELDS``.

    Examples
    --------
    >>> from flipcost.experiments import Unit, run_unit
    >>> unit = Unit("case2", "bupa", 0.0, None, "usq_regerm", 0)
    >>> rows = tidy({unit.key: run_unit(unit, 0)}, ["cost_clean_all_case2_BUPA"], 0)
    >>> [rows[0][key] for key in ("gamma", "reading", "measure", "paper_mean", "trials")]
    ['tuned', 'stated', 'Acc', 0.971, 1]
    """
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
    """Return what a cell and our records of it have in common."""
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
    """Return a row for each reading of a printed cell, and one without ours if there is none."""
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
    """Return rows of what the paper does not print: our columns, constants, cost at margin 1."""
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

    Examples
    --------
    >>> cell = {"table": "Ac_measure_cost", "dataset": "pima", "rho": 0.2, "method": "lspc",
    ...         "measure": "Acc", "mean": 0.71, "std": 0.04}
    >>> verdict(cell, {"mean": 0.745, "std": 0.02}), verdict(cell, {"mean": 0.76, "std": 0.02})
    ('within one sd', 'differs')
    """
    if math.isnan(cell["mean"]) or math.isnan(row["mean"]):
        return NOT_GIVEN
    if is_impossible(cell):
        return IMPOSSIBLE
    spreads = [s for s in (cell["std"], row["std"]) if not math.isnan(s)]
    reach = max([*spreads, TABLES[cell["table"]].digit])
    return WITHIN if abs(cell["mean"] - row["mean"]) <= reach + 1e-9 else DIFFERS


def summarize(rows: list[Row]) -> list[Row]:
    """Return agreement by table and method: of cells that no erratum touches, and of the others.

    Returns
    -------
    list of dict
        With ``table``, ``method``, ``agree``, ``cells``, ``touched_agree``, ``touched_cells``.

    Examples
    --------
    >>> row = {"table": "F_measure_cost", "method": "lspc", "parity": "yes", "errata": ""}
    >>> rows = [{**row, "verdict": word} for word in (WITHIN, WITHIN, DIFFERS, NOT_GIVEN)]
    >>> summarize([*rows, {**row, "verdict": DIFFERS, "errata": "E20"}])[0]["agree"]
    2
    """
    tally: dict = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        if row["parity"] == "yes" and row["verdict"] in (WITHIN, DIFFERS):
            place = 2 if row["errata"] else 0
            entry = tally[row["table"], row["method"]]
            entry[place] += row["verdict"] == WITHIN
            entry[place + 1] += 1
    names = ("agree", "cells", "touched_agree", "touched_cells")
    return [
        {"table": table, "method": method, **dict(zip(names, entry, strict=True))}
        for (table, method), entry in tally.items()
    ]


def write_csv(rows: list[Row], path: Path) -> None:
    """Write the rows with full precision: reading them back gives the same numbers."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _text(row[key]) for key in FIELDS})


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
