"""The tables in Markdown and in LaTeX: printed figures above ours."""

from __future__ import annotations

from typing import Any

from flipcost.experiments.registry._paper_tables import TABLES
from flipcost.experiments.tables._pivot import figure, pivot
from flipcost.experiments.tables._results import DIFFERS, IMPOSSIBLE, WITHIN, Row

_MARKS = {WITHIN: "=", DIFFERS: "!", IMPOSSIBLE: "?"}
_LEGEND = (
    "Printed figure / ours. `=` within one standard deviation (the larger of the two), "
    "`!` differs, `?` impossible as printed, no mark: one of the two is not given."
)


def _parts(cell: Any, digit: float) -> Any:
    row = cell.row
    ours = figure(row["mean"], row["std"], digit)
    if not row["verdict"]:
        return "", ours, ""
    paper = figure(row["paper_mean"], row["paper_std"], digit)
    return paper, ours, _MARKS.get(row["verdict"], "")


def to_markdown(rows: list[Row]) -> str:
    """Return all tables as Markdown."""
    lines = ["# The paper's tables, printed and reproduced", "", _LEGEND, ""]
    for name, table in _tables(rows):
        digit = TABLES[name].digit
        lines += [f"## {TABLES[name].title} (`{name}`)", ""]
        heads = [*table.row_fields, *table.column_heads]
        lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for head in table.row_heads:
            cells = []
            for column in table.column_heads:
                cell = table.cells.get((head, column))
                paper, ours, mark = _parts(cell, digit) if cell else ("", "", "")
                cells.append(f"{paper} / {ours} {mark}".strip() if paper else ours)
            lines.append(f"| {' | '.join([*head, *cells])} |")
        lines.append("")
    return "\n".join(lines)


def to_latex(rows: list[Row]) -> str:
    """Return all tables as LaTeX ``tabular`` environments, each in a ``table``."""
    blocks = [
        "% Printed figure above ours; = within one standard deviation, ! differs, ? impossible."
    ]
    for name, table in _tables(rows):
        digit = TABLES[name].digit
        columns = "l" * len(table.row_fields) + "c" * len(table.column_heads)
        heads = [*table.row_fields, *table.column_heads]
        body = [" & ".join(_escape(head) for head in heads) + r" \\ \hline"]
        for head in table.row_heads:
            upper, lower = [_escape(part) for part in head], [""] * len(head)
            for column in table.column_heads:
                cell = table.cells.get((head, column))
                paper, ours, mark = _parts(cell, digit) if cell else ("", "", "")
                upper.append(_maths(paper))
                lower.append(f"{_maths(ours)}{mark}")
            body += [" & ".join(upper) + r" \\", " & ".join(lower) + r" \\ \hline"]
        blocks.append(
            "\n".join(
                [
                    r"\begin{table}[p]\centering\scriptsize",
                    rf"\begin{{tabular}}{{{columns}}}",
                    *body,
                    r"\end{tabular}",
                    rf"\caption{{{_escape(TABLES[name].title)}}}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(blocks) + "\n"


def _tables(rows: list[Row]) -> Any:
    names = list(dict.fromkeys(row["table"] for row in rows))
    return [(name, pivot(name, [row for row in rows if row["table"] == name])) for name in names]


def _escape(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%").replace("&", r"\&")


def _maths(text: str) -> str:
    return f"${text.replace('±', chr(92) + 'pm')}$" if text and text != "NA" else text
