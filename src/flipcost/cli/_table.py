"""Rows under heads: with rules on a terminal, aligned by blanks elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from flipcost.cli._echo import echo
from flipcost.exceptions import clean_text

# Characters of a cell that are shown.
_CELL = 120


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
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

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
