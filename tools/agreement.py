"""Draw the agreement with the paper's tables that the guide shows.

``flipcost reproduce --out reproduction && python -m tools.agreement reproduction/summary.csv``
"""

from __future__ import annotations

import csv
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flipcost.paper.experiments import TABLES
from flipcost.paper.experiments.pages import agreement_by_method

if TYPE_CHECKING:
    from collections.abc import Sequence

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "agreement.svg"
_ROW, _COLUMN, _LEFT, _TOP = 19, 64, 270, 26


def agreement_svg(summary: Sequence[dict[str, Any]]) -> str:
    """Draw how many cells agree, by table and method, as a grid."""
    methods, tables = agreement_by_method(list(summary))
    width, height = _LEFT + _COLUMN * len(methods) + 8, _TOP + _ROW * len(tables) + 8
    box = f'viewBox="0 0 {width} {height}" font-family="system-ui,sans-serif" font-size="10"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">',
        "<title>Printed cells that agree with ours, by table and method</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for k, method in enumerate(methods):
        x = _LEFT + _COLUMN * (k + 0.5)
        parts.append(
            f'<text x="{x:g}" y="16" text-anchor="middle">{method.removeprefix("link, ")}</text>'
        )
    for j, (table, counts) in enumerate(tables.items()):
        y = _TOP + _ROW * j
        parts.append(f'<text x="4" y="{y + 13}">{escape(TABLES[table].title)}</text>')
        for k, count in enumerate(counts):
            if count:
                x = _LEFT + _COLUMN * k
                hue = f"hsl({120 * count[0] / count[1]:.0f},60%,80%)"
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{_COLUMN - 2}" height="{_ROW - 2}" '
                    f'fill="{hue}"/>'
                    f'<text x="{x + _COLUMN / 2 - 1:g}" y="{y + 13}" text-anchor="middle">'
                    f"{count[0]} of {count[1]}</text>"
                )
    return "".join(parts) + "</svg>\n"


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        PICTURE.write_text(agreement_svg(list(csv.DictReader(file))), encoding="utf-8")
