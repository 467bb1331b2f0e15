"""One screen of answers: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flipcost.cli._echo import echo
from flipcost.exceptions import clean_text
from flipcost.report import answers, candidate_table, found_words, headline, reading_words

if TYPE_CHECKING:
    from flipcost.audit import AuditResult


_WIDTH = 100
# Characters of a cell, and of the table's name, that are shown.
_CELL, _ANSWER = 120, 6000


def print_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    highlight: int | None = None,
) -> None:
    """Print rows under heads: with rules on a terminal, aligned by blanks elsewhere."""
    rows = [[clean_text(cell, _CELL) for cell in row] for row in rows]
    if sys.stdout.isatty():
        console = Console()
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
        narrow = sum(max(map(len, column)) + 1 for column in zip(heads, *rows, strict=True))
        for place, head in enumerate(heads):
            # On a narrow terminal heads and names may break; figures stay whole.
            broken = head.replace(" ", "\n", 1) if narrow > console.width else head
            figures = place in right
            table.add_column(broken, justify="right" if figures else "left", no_wrap=figures)
        for place, row in enumerate(rows):
            style = "bold green" if place == highlight else None
            table.add_row(*(Text(cell) for cell in row), style=style)
        console.print(table)
        return
    widths = [max(len(line[j]) for line in [heads, *rows]) for j in range(len(heads))]
    for line in [heads, *rows]:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        echo("  ".join(cells).rstrip())


def print_audit(result: AuditResult, folder: Path | None) -> None:
    """Print what an audit found."""
    share = result.n_positive / result.n_rows
    _say(
        f"{result.name}: {result.n_rows:,} rows, {len(result.schema)} columns, "
        f"{100 * share:.1f} % labelled {result.positive!r}{reading_words(result)}"
    )
    echo()
    _say(headline(result))
    for number, (question, answer) in enumerate(answers(result)):
        _ask(question)
        _say(answer.replace("column of trusted labels", "column of trusted labels (--trusted)"))
        if number == 1:
            print_table(*candidate_table(result), right={1, 2, 3, 4}, highlight=0)
    _ask("How was this found?")
    _say(dict(found_words(result))["Noise models"])
    echo()
    if folder is not None:
        _say(f"Written: {folder}/report.html, summary.json, model.skops, suspects.csv")


def _ask(question: str) -> None:
    echo()
    if sys.stdout.isatty():
        Console().print(Text(question, style="bold cyan"))
    else:
        echo(question)


def _say(text: str) -> None:
    width = min(_WIDTH, Console().width) if sys.stdout.isatty() else _WIDTH
    for line in textwrap.wrap(clean_text(text, _ANSWER), width):
        echo(line)
