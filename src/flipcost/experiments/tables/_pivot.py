"""Tables as the paper lays them out, from the tidy rows: for pages of any format."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flipcost.experiments.registry._paper_tables import TABLES

if TYPE_CHECKING:
    from flipcost.experiments.tables._results import Row


METHOD_WORDS = {
    "lkfun_sq": "link, squared",
    "lkfun_log": "link, logistic",
    "lkfun_msq": "link, mod. squared",
    "lspc": "LSPC",
    "kliep": "KLIEP",
    "knn": "k-NN",
    "usq_regerm": "scheme 1",
    "mub_log": "MUB",
    "sw01_log": "S-W0-1",
    "bayes": "Bayes rule",
    "flipcost": "FlipCost",
    "all_positive": "all positive",
    "all_negative": "all negative",
}
DATA_WORDS = {
    "breast_cancer": "Breast Cancer",
    "pima": "Pima",
    "german": "German",
    "thyroid": "Thyroid",
    "bupa": "Bupa",
    "syn1": "Syn-dataset1",
    "syn2": "Syn-dataset2",
    "syn3d_imb": "Syn3D-imbalanced",
}
# Which fields head the rows and the columns of a table.
_LAYOUTS = {
    "case1": (("pi",), ("dataset", "approach")),
    "case2": (("measure",), ("gamma",)),
    "case3": (("pi", "cost"), ("measure",)),
    "eta": (("measure",), ("method",)),
}
_UCI_LAYOUT = (("dataset", "rho"), ("method",))
_SYNTHETIC_LAYOUT = (("rho",), ("measure", "method"))
_BUPA_LAYOUT = (("rho",), ("gamma", "measure"))


@dataclass
class Cell:
    """A cell: the row to show, and the other readings of it."""

    row: dict
    others: list = field(default_factory=list)


@dataclass
class Pivot:
    """A table: heads of rows and columns in order, cells by both."""

    name: str
    row_fields: tuple
    row_heads: list = field(default_factory=list)
    column_heads: list = field(default_factory=list)
    cells: dict = field(default_factory=dict)

    def add(self, head: Any, column: Any, row: Row, *, other: bool = False) -> None:
        """Put a row into its cell."""
        if head not in self.row_heads:
            self.row_heads.append(head)
        if column not in self.column_heads:
            self.column_heads.append(column)
        if (head, column) not in self.cells:
            self.cells[head, column] = Cell(row)
        elif other:
            self.cells[head, column].others.append(row)
        else:
            previous = self.cells[head, column]
            self.cells[head, column] = Cell(row, [*previous.others, previous.row])


def pivot(name: str, rows: list[Row]) -> Pivot:
    """Lay out the rows of one table.

    The first columns are the paper's, each with the reading that it is compared with; then come
    those that it does not have.
    """
    row_fields, column_fields = _layout(name)
    table = Pivot(name, row_fields)
    printed = [row for row in rows if row["verdict"]]
    for row in printed:
        head = tuple(_word(row, key) for key in row_fields)
        column = " ".join(_word(row, key) for key in column_fields)
        table.add(head, column, row, other=row["parity"] != "yes")
        if TABLES[name].kind == "noisy" and row["reading"] == "stated":
            # Shown on its own, beside what the printed figures fit.
            table.add(head, f"{column} as stated", row)
    for row in rows:
        if row["verdict"]:
            continue
        head = tuple(_word(row, key) for key in row_fields)
        extra = METHOD_WORDS[row["method"]]
        if row["reading"] not in ("ours", "constant"):
            extra += f" ({row['reading']})"
        if "measure" not in row_fields:
            extra = f"{extra}, {row['measure']}"
        if head in table.row_heads:
            table.add(head, extra, row)
    return table


def _layout(name: str) -> Any:
    kind = TABLES[name].kind
    if kind != "noisy":
        return _LAYOUTS[kind]
    if "Bupa" in name:
        return _BUPA_LAYOUT
    return _SYNTHETIC_LAYOUT if name.startswith("syn") else _UCI_LAYOUT


def _word(row: Row, key: str) -> str:
    if key == "approach":
        cost = "cost tuned" if row["cost"] == "tuned" else f"cost {row['cost']:g}"
        margin = "margin tuned" if row["gamma"] == "tuned" else f"margin {row['gamma']:g}"
        return f"{cost}, {margin}"
    value = row[key]
    if key == "gamma":
        return "margin tuned" if value == "tuned" else f"margin {value:g}"
    if key == "method":
        return method_words(value)
    if key == "dataset":
        return str(DATA_WORDS.get(value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def method_words(name: str) -> str:
    """Return what to call a method.

    Examples
    --------
    >>> method_words("lspc"), method_words("kliep_norm_s")
    ('LSPC', 'KLIEP norm,s')
    """
    return METHOD_WORDS.get(name, name.replace("kliep_", "KLIEP ").replace("_", ","))


def figure(mean: float, std: float, digit: float) -> str:
    """Return a mean with its spread as text.

    Examples
    --------
    >>> figure(0.7149, 0.04, 0.01), figure(0.5, float("nan"), 0.001), figure(float("nan"), 1, 1)
    ('0.71 ± 0.04', '0.500', 'NA')
    """
    if math.isnan(mean):
        return "NA"
    places = 3 if digit < 0.01 else 2
    text = f"{mean:.{places}f}"
    return text if math.isnan(std) else f"{text} ± {std:.{places}f}"
