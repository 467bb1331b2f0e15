"""The workbench of the report: rows to check and labels that look wrong, whole, to be answered."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.recheck import csv_cells, csv_header
from flipcost.report._figures import BOTTOM, LEFT, RIGHT, TOP, axes, axis_top, svg
from flipcost.report._sections import checks_sentence, suspects_sentence, way_table
from flipcost.words import percent

if TYPE_CHECKING:
    from markupsafe import Markup

    from flipcost.audit import Findings
    from flipcost.core.confusion import Interval
    from flipcost.recheck import RowToCheck

# Longer cells are cut in the page, which holds so many characters of rows at most.
_LONGEST_CELL, _MOST_TEXT = 300, 150_000


def make_check(result: Findings) -> dict[str, Any]:
    """Return rows that can be checked in the page, what its script needs, and the progress."""
    found = result.recheck
    batch = None if found is None else found.batch
    drawn = [] if batch is None else batch.rows
    known = {row.row for row in drawn}
    picked = [] if found is None else [row for row in found.suspects if row.row not in known]
    columns = () if batch is None else batch.columns
    names = list(dict.fromkeys([*columns, *(name for row in drawn + picked for name in row.cells)]))
    rows = _fitting([*((row, True) for row in drawn), *((row, False) for row in picked)])
    with_id = any(row.id is not None for row, _ in rows)
    shown = [
        {
            "name": str(row.row) if row.id is None else row.id,
            "label": row.label,
            "other": result.table.negative
            if row.label == result.table.positive
            else result.table.positive,
            "wrong": round(row.suspicion, 4),
            "percent": percent(row.suspicion),
            "why": row.reason,
            "next": is_next,
            "row": row.row,
            "cells": [row.cells.get(name, "")[:_LONGEST_CELL] for name in names],
            "csv": csv_cells(row, columns, with_id=with_id),
        }
        for row, is_next in rows
    ]
    return {
        "rows": shown,
        "labels": [result.table.negative, result.table.positive],
        "said": suspects_sentence(result),
        "worth": checks_sentence(result),
        "n_next": sum(is_next for _, is_next in rows),
        "way": make_way(result),
        "data": {
            # What was answered is kept under a name of its own, in the page's own storage.
            "key": f"flipcost-{zlib.crc32(repr((result.table.name, shown)).encode()):08x}",
            "columns": names,
            "matter": len(columns),
            "header": csv_header(columns, with_id=with_id),
            "rows": shown,
        },
    }


def _fitting(rows: list[tuple[RowToCheck, bool]]) -> list[tuple[RowToCheck, bool]]:
    """Return the first rows that the page has room for."""
    sizes = [sum(min(len(cell), _LONGEST_CELL) + 4 for cell in r.cells.values()) for r, _ in rows]
    n = int(np.searchsorted(np.cumsum(sizes), _MOST_TEXT, side="right")) if sizes else 0
    return rows[: max(n, min(len(rows), 20))]


def make_way(result: Findings) -> dict[str, Any] | None:
    """Return the picture of the checking progress; None where nobody has checked a row."""
    heads, rows = way_table(result)
    if not rows or result.recheck is None:
        return None
    way = result.recheck.way
    checked = [point.n_checked for point in way]
    shares = [point.wrong_share for point in way]
    picture = draw_way("way-wrong", checked, shares, "Error rate by rows checked", share=True)
    return {"picture": picture, "heads": heads, "rows": rows}


def draw_way(
    name: str,
    checked: Sequence[int],
    found: Sequence[Interval],
    title: str,
    scale: float = 1.0,
    *,
    share: bool = False,
) -> Markup:
    """Draw intervals against the number of checked rows.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> "way-cost" in draw_way("way-cost", [0, 50], [Interval(0.2, 0.1, 0.5)] * 2, "Cost")
    True
    """
    values = scale * np.array([[x.value, x.low, x.high] for x in found])
    top = axis_top(float(values.max()))
    most = max(*checked, 1)
    x = LEFT + 14 + (RIGHT - LEFT - 28) * np.array(checked) / most
    y = BOTTOM - (BOTTOM - TOP) * values / top
    band = [*zip(x, y[:, 2], strict=True), *zip(x[::-1], y[::-1, 1], strict=True)]
    shapes = [f'<polygon class="band" points="{_points(band)}"/>']
    middle = _points(zip(x, y[:, 0], strict=True))
    shapes.append(f'<polyline class="line flipcost best" points="{middle}"/>')
    for k in range(len(x)):
        at = f'x1="{x[k]:.1f}" x2="{x[k]:.1f}" y1="{y[k, 1]:.1f}" y2="{y[k, 2]:.1f}"'
        shapes.append(f'<line class="limits thin" {at}/>')
    ticks = [(float(place), f"{n:,}") for place, n in zip(x, checked, strict=True)]
    kept = [t for k, t in enumerate(ticks) if not k or t[0] - ticks[k - 1][0] > 24]
    return svg(name, title, axes(kept, "rows checked", top, share=share) + "".join(shapes))


def _points(pairs: Any) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)
