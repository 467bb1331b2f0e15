"""The sections of the report, in order.

A section is a line in `SECTIONS`. Its template is ``templates/<name>.html``; its styles and its
script, if it has any, are ``static/<name>.css`` and ``static/<name>.js``. What its function returns
are the names that the template knows beside `result`; None leaves the section out. Under the name
``data`` it may give plain data for its script, which finds it as ``flipcost.data.parts.<name>`` and
follows the sliders by ``flipcost.onMove((k, rates) => ...)``: the place of the cost among
``flipcost.data.costs``, and the assumed rates of the true positives and negatives.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.exceptions import shorten
from flipcost.recheck import csv_cells, csv_header
from flipcost.report.charts import (
    LEFT,
    RIGHT,
    across,
    draw_calibration,
    draw_decisions,
    draw_history,
    draw_path,
    draw_posterior,
    draw_precision,
    draw_roc,
    draw_shape,
)
from flipcost.report.headline import scale_of
from flipcost.report.payload import make_payload
from flipcost.report.sentences import (
    annotators_table,
    candidate_table,
    capacity_table,
    checks_sentence,
    cost_sentence,
    decision_answers,
    errors_sentences,
    history_table,
    method_words,
    segment_table,
    suspects_sentence,
)
from flipcost.words import figure, label, percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit import Findings
    from flipcost.core.arrays import Array
    from flipcost.recheck import RowToCheck

_EFFECTS_SHOWN, _CALIBRATION_BINS = 20, 10
# Changes of the log-odds below this cannot be seen.
_NO_CHANGE = 0.005
# Longer cells are cut in the page; the rows in it have this many characters at most.
_LONGEST_CELL, _MOST_TEXT = 300, 150_000
_DEPTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Attributes
    ----------
    name : str
        Names its files, and its place in the page: ``part-<name>``.
    title : str
        Its heading.
    make : callable
        From what the audit found to what the template shows.
    folded : bool
        Whether it is under Details, to be unfolded.
    """

    name: str
    title: str
    make: Callable[[Findings], dict[str, Any] | None]
    folded: bool = False


def _cost(result: Findings) -> dict[str, Any]:
    heads, rows = candidate_table(result, recorded=True)
    return {"heads": heads, "rows": rows, "said": cost_sentence(result)}


def _errors(result: Findings) -> dict[str, Any] | None:
    said = errors_sentences(result)
    return {"picture": draw_posterior(result), "said": said} if said else None


def _annotators(result: Findings) -> dict[str, Any] | None:
    heads, rows = annotators_table(result)
    return {"heads": heads, "rows": rows} if rows else None


def make_check(result: Findings) -> dict[str, Any]:
    """Return rows that can be checked in the page, what its script needs, and the progress."""
    batch = result.recheck.batch
    drawn = [] if batch is None else batch.rows
    known = {row.row for row in drawn}
    picked = [row for row in result.recheck.suspects if row.row not in known]
    columns = () if batch is None else batch.columns
    names = list(dict.fromkeys([*columns, *(name for row in drawn + picked for name in row.cells)]))
    rows = _fitting([*((row, True) for row in drawn), *((row, False) for row in picked)])
    with_id = any(row.id is not None for row, _ in rows)
    labels = [result.table.negative, result.table.positive]
    shown = [
        {
            "name": str(row.row) if row.id is None else row.id,
            "label": row.label,
            "other": labels[row.label != labels[1]],
            "wrong": round(row.suspicion, 4),
            "percent": percent(row.suspicion),
            "why": _in_quotes(row.reason, labels),
            "next": is_next,
            "row": row.row,
            "cells": [row.cells.get(name, "")[:_LONGEST_CELL] for name in names],
            "csv": csv_cells(row, columns, with_id=with_id),
        }
        for row, is_next in rows
    ]
    return {
        "rows": shown,
        "labels": labels,
        "said": suspects_sentence(result),
        "worth": checks_sentence(result),
        "n_next": sum(is_next for _, is_next in rows),
        "history": make_history(result),
        "data": {
            # Answers are kept in the page's own storage, under a name of these rows.
            "key": f"flipcost-{zlib.crc32(repr((result.table.name, shown)).encode()):08x}",
            "columns": names,
            "matter": len(columns),
            "header": csv_header(columns, with_id=with_id),
            "rows": shown,
        },
    }


def _in_quotes(text: str, labels: list[str]) -> str:
    """Return a reason with its labels in the quotation marks of the page."""
    for one in labels:
        text = text.replace(f'"{one}"', label(one))
    return text


def _fitting(rows: list[tuple[RowToCheck, bool]]) -> list[tuple[RowToCheck, bool]]:
    """Return the first rows that the page has room for."""
    sizes = [sum(min(len(cell), _LONGEST_CELL) + 4 for cell in r.cells.values()) for r, _ in rows]
    n = int(np.searchsorted(np.cumsum(sizes), _MOST_TEXT, side="right")) if sizes else 0
    return rows[: max(n, min(len(rows), 20))]


def make_history(result: Findings) -> dict[str, Any] | None:
    """Return the checking progress, as a picture and a table; None before any row is checked."""
    heads, rows = history_table(result)
    if not rows:
        return None
    history = result.recheck.history
    picture = draw_history([p.n_checked for p in history], [p.wrong_share for p in history])
    return {"picture": picture, "heads": heads, "rows": rows}


def _asked(result: Findings) -> dict[str, Any] | None:
    said, segments = decision_answers(result), segment_table(result)
    tables = [table for table in (capacity_table(result), segments) if table[1]]
    return {"said": said, "tables": tables, "is_shrunk": bool(segments[1])} if said else None


def _what_if(result: Findings) -> dict[str, Any]:
    payload = make_payload(result)
    # Where label errors cannot be estimated there is no rate to move.
    known = result.state not in ("no_signal", "small") or result.labels.errors.is_given
    path = draw_path(payload, result.table.positive) if known else None
    return {"payload": payload, "path": path, **make_price(result)}


def make_price(result: Findings) -> dict[str, Any]:
    """Return the cost of 1,000 rows over the cost ratio."""
    ratio = -np.log2((1 - result.priced.costs) / result.priced.costs)
    ends = float(ratio[0]), float(ratio[-1])
    x, reach = across(ratio, *ends), int(np.floor(ratio[-1]))
    ticks = [
        (float(across(m, *ends)), f"{2**-m}:1" if m < 0 else f"1:{2**m}")
        for m in range(-reach, reach + 1)
        if m % 2 == reach % 2
    ]
    curve = result.models.decisions.price
    picture = draw_decisions(
        "price-price",
        "Cost of 1,000 rows, decided at each cost ratio",
        x,
        1000 * curve.clean,
        1000 * curve.observed,
        {"all_positive": 1000 * curve.all_positive, "all_negative": 1000 * curve.all_negative},
        ticks,
        "cost of a miss : cost of a false alarm",
    )
    return {"price": picture, "data": {"x": _short(x)}}


def _capacity(result: Findings) -> dict[str, Any]:
    """Return what flagging the best rows saves, and what its slider moves over."""
    found = result.models.decisions
    curve = found.curve
    x = across(curve.depth, 0.0, 1.0)
    zero = np.zeros(len(x))
    profit = draw_decisions(
        "capacity-profit",
        "Saving per 1,000 rows by flagging the best rows",
        x,
        1000 * curve.clean["profit"],
        1000 * curve.observed["profit"],
        {"all_positive": zero + 1000 * curve.everyone.value, "all_negative": zero},
        [(LEFT + (RIGHT - LEFT) * depth, f"{depth:.0%}") for depth in _DEPTHS],
        "share of rows flagged",
    )
    asked = sum(one.n_flagged for one in found.flagged) / result.table.n_rows
    data = {
        "depth": _short(curve.depth),
        "x": _short(x),
        "n": result.table.n_rows,
        "start": curve.at(asked) if found.flagged else curve.best(),
        **{name: [_short(row) for row in values] for name, values in curve.clean.items()},
    }
    return {"profit": profit, "data": data}


def _short(values: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _model(result: Findings) -> dict[str, Any] | None:
    """Return the largest effects with the width of their bars in per cent, and their shapes.

    None where there is nothing to see: the answer is a constant.
    """
    shown = sorted(result.models.effects, key=lambda e: (-e.importance, -abs(e.change)))
    shown = shown[:_EFFECTS_SHOWN]
    if all(abs(e.change) < _NO_CHANGE and e.importance <= 0 for e in shown):
        return None
    scale = scale_of(result)
    largest = max(e.importance for e in shown) or 1.0
    rows = [
        {
            "effect": e,
            "worth": figure(scale * max(e.importance, 0.0)),
            "width": round(100 * max(e.importance, 0.0) / largest, 1),
            "shape": draw_shape(e),
        }
        for e in shown
    ]
    moved = [[[float(f"{x:.10g}") for x in table.ravel()] for table in e.moved] for e in shown]
    return {"rows": rows, "data": moved}


def _calibration(result: Findings) -> dict[str, Any]:
    bins = result.labels.bins.coarser(_CALIBRATION_BINS)
    data = {"probability": bins.probability.tolist(), "counts": bins.counts.tolist()}
    return {"picture": draw_calibration(result, bins), "data": data}


def _roc(result: Findings) -> dict[str, Any]:
    areas = result.summary()["ranking"]
    return {
        "picture": draw_roc(result),
        "areas": [f"{areas[f'area_{kind}']:.3f}" for kind in ("observed", "denoised")],
        "data": {"counts": result.labels.bins.counts.tolist()},
    }


def _data(result: Findings) -> dict[str, Any]:
    drifting = [c.name for c in result.table.columns if c.drifts]
    return {"columns": result.table.columns, "drifting": shorten(drifting) if drifting else ""}


def _precision(result: Findings) -> dict[str, Any]:
    return {"drawn": draw_precision(result)}


SECTIONS = (
    Section("cost", "Cost by model", _cost),
    Section("errors", "Label errors", _errors),
    Section("annotators", "Annotators", _annotators),
    Section("check", "Rows to check", make_check),
    Section("asked", "Your questions", _asked),
    Section("whatif", "What if costs or error rates were different?", _what_if, folded=True),
    Section("capacity", "Limited capacity", _capacity, folded=True),
    Section("confusion", "Confusion matrix, per 1,000 rows", lambda _: {}, folded=True),
    Section("model", "Model drivers", _model, folded=True),
    Section("calibration", "Calibration", _calibration, folded=True),
    Section("roc", "ROC curve", _roc, folded=True),
    Section("precision", "Precision and recall", _precision, folded=True),
    Section("data", "Columns", _data, folded=True),
    Section("method", "Method", lambda r: {"found": method_words(r)}, folded=True),
)
