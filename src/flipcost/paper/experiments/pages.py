"""The tables as pages: HTML and Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from flipcost._version import __version__
from flipcost.paper.experiments.problems import TABLES
from flipcost.paper.experiments.results import (
    DIFFERS,
    IMPOSSIBLE,
    NOT_GIVEN,
    WITHIN,
    Row,
    summarize,
)

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


_MARKS = {WITHIN: "=", DIFFERS: "!", IMPOSSIBLE: "?"}
_CLASSES = {WITHIN: "ok", DIFFERS: "off", IMPOSSIBLE: "odd", NOT_GIVEN: "na", "": "ours"}
_LEGEND = (
    "Printed figure / ours. `=` within one standard deviation (the larger of the two), "
    "`!` differs, `?` impossible as printed, no mark: one of the two is not given."
)


@dataclass
class Cell:
    """A cell: the row to show, its other readings, and the last printed digit."""

    row: Row
    others: list[Row]
    digit: float

    @property
    def ours(self) -> str:
        """Our figure."""
        return figure(self.row["mean"], self.row["std"], self.digit)

    @property
    def paper(self) -> str:
        """The printed figure; empty where the paper has none."""
        row = self.row
        return figure(row["paper_mean"], row["paper_std"], self.digit) if row["verdict"] else ""

    @property
    def mark(self) -> str:
        """How the two compare, as a sign."""
        return _MARKS.get(self.row["verdict"], "")

    @property
    def kind(self) -> str:
        """How the two compare, as a class of the style sheet."""
        return _CLASSES[self.row["verdict"]]

    @property
    def hint(self) -> str:
        """Readings and errata."""
        notes = [f"reading: {self.row['reading']}"]
        notes += [f"{r['reading']}: {figure(r['mean'], r['std'], self.digit)}" for r in self.others]
        return "; ".join([*notes, *filter(None, [self.row["errata"]])])


@dataclass
class Pivot:
    """A table: heads of rows and columns in order, cells by both."""

    name: str
    row_fields: tuple[str, ...]
    row_heads: list[tuple[str, ...]] = field(default_factory=list)
    column_heads: list[str] = field(default_factory=list)
    cells: dict[tuple[tuple[str, ...], str], Cell] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the table shows."""
        return TABLES[self.name].title

    @property
    def heads(self) -> list[str]:
        """Heads of all columns."""
        return [*self.row_fields, *self.column_heads]

    def add(self, head: tuple[str, ...], column: str, row: Row, *, other: bool = False) -> None:
        """Put a row into its cell."""
        if head not in self.row_heads:
            self.row_heads.append(head)
        if column not in self.column_heads:
            self.column_heads.append(column)
        cell = self.cells.get((head, column))
        if cell is None:
            self.cells[head, column] = Cell(row, [], TABLES[self.name].digit)
        elif other:
            cell.others.append(row)
        else:
            cell.others.append(cell.row)
            cell.row = row

    def lines(self) -> Iterator[tuple[tuple[str, ...], list[Cell | None]]]:
        """Yield the head and the cells of each row."""
        for head in self.row_heads:
            yield head, [self.cells.get((head, column)) for column in self.column_heads]


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
    """Return what to call a method."""
    return METHOD_WORDS.get(name, name.replace("kliep_", "KLIEP ").replace("_", ","))


def figure(mean: float, std: float, digit: float) -> str:
    """Return a mean with its spread as text."""
    if math.isnan(mean):
        return "NA"
    places = 3 if digit < 0.01 else 2
    text = f"{mean:.{places}f}"
    return text if math.isnan(std) else f"{text} ± {std:.{places}f}"


def to_markdown(rows: list[Row]) -> str:
    """Return all tables as Markdown."""
    lines = ["# The paper's tables, printed and reproduced", "", _LEGEND, ""]
    for table in _tables(rows):
        lines += [f"## {table.title} (`{table.name}`)", ""]
        lines += [f"| {' | '.join(table.heads)} |", f"|{'---|' * len(table.heads)}"]
        for head, cells in table.lines():
            shown = [
                ""
                if cell is None
                else f"{cell.paper} / {cell.ours} {cell.mark}".strip()
                if cell.paper
                else cell.ours
                for cell in cells
            ]
            lines.append(f"| {' | '.join([*head, *shown])} |")
        lines.append("")
    return "\n".join(lines)


def _tables(rows: list[Row]) -> list[Pivot]:
    names = dict.fromkeys(row["table"] for row in rows)
    return [pivot(name, [row for row in rows if row["table"] == name]) for name in names]


def to_html(rows: list[Row], about: dict[str, Any]) -> str:
    """Return the page."""
    summary = summarize(rows)
    total = {
        name: sum(entry[name] for entry in summary)
        for name in ("agree", "cells", "touched_agree", "touched_cells")
    }
    methods, agreement = agreement_by_method(summary)
    page = (files("flipcost.paper.experiments") / "page.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(page).render(
        **about,
        **total,
        share=f"{total['agree'] / max(total['cells'], 1):.0%}",
        version=__version__,
        methods=methods,
        agreement=[(TABLES[table].title, counts) for table, counts in agreement.items()],
        tables=_tables(rows),
    )


def agreement_by_method(
    summary: list[Row],
) -> tuple[list[str], dict[str, list[tuple[int, int] | None]]]:
    """Return methods, and for each table how many cells of each agree, of how many.

    The eight KLIEP estimates of a table are added up. Cells that an erratum touches are counted
    under the reading that they are taken to come from, as in the summary.
    """
    tally: dict[tuple[str, str], tuple[int, int]] = {}
    for entry in summary:
        place = entry["table"], METHOD_WORDS.get(entry["method"], METHOD_WORDS["kliep"])
        agree, cells = tally.get(place, (0, 0))
        agree += int(entry["agree"]) + int(entry["touched_agree"])
        cells += int(entry["cells"]) + int(entry["touched_cells"])
        tally[place] = agree, cells
    methods = [word for word in METHOD_WORDS.values() if any(m == word for _, m in tally)]
    tables = dict.fromkeys(table for table, _ in tally)
    return methods, {table: [tally.get((table, m)) for m in methods] for table in tables}
