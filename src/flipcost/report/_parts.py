"""The parts of the report, in order.

A part is a line in `PARTS`: its template is ``templates/<name>.html``, its styles and its script,
if it has any, are ``static/<name>.css`` and ``static/<name>.js``. What its function returns are the
names that the template knows beside `result`; None leaves the part out. Under the name ``data`` it
may give plain data for its script, which finds it as ``flipcost.data.parts.<name>`` and is told of
every move of the sliders by ``flipcost.onMove((k, rates) => ...)``: the place of the cost among
``flipcost.data.costs``, and the assumed rates of the true positives and negatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flipcost.exceptions import shorten
from flipcost.report._bands import make_asked, make_depth, make_price
from flipcost.report._figures import draw_curve, draw_path, draw_posterior
from flipcost.report._numbers import amounts, money, scale_of, span
from flipcost.report._payload import make_payload
from flipcost.report._plots import (
    calibration_bins,
    draw_calibration,
    draw_precision,
    draw_roc,
    draw_shape,
    ranking_areas,
)
from flipcost.report._state import rate_sentence
from flipcost.report._words import (
    candidate_table,
    cost_sentence,
    found_words,
    help_sentence,
)
from flipcost.report._workbench import make_way, make_workbench

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit import AuditResult
    from flipcost.core.arrays import Array

_EFFECTS_SHOWN = 20
# Log-odds that move by less do not move for anybody who looks.
_NO_CHANGE = 0.005


@dataclass(frozen=True)
class Part:
    """A part of the report.

    Attributes
    ----------
    name : str
        Names its files, and its place in the page: ``part-<name>``.
    title : str
        Its heading.
    make : callable
        From what the audit found to what the template shows.
    half : bool
        Whether it shares a line with its neighbour where there is room.
    """

    name: str
    title: str
    make: Callable[[AuditResult], dict[str, Any] | None]
    half: bool = False


def _path(result: AuditResult) -> dict[str, Any]:
    payload = make_payload(result)
    return {"picture": draw_path(payload, result.positive), "one": payload["rate"]["one"]}


def _noise(result: AuditResult) -> dict[str, Any]:
    return {"picture": draw_posterior(result), "said": rate_sentence(result)}


def _curve(result: AuditResult) -> dict[str, Any]:
    return {"picture": draw_curve(make_payload(result))}


def _calls(result: AuditResult) -> dict[str, Any]:
    return {"candidates": result.candidates}


def _candidates(result: AuditResult) -> dict[str, Any]:
    heads, rows = candidate_table(result)
    both = list(zip(result.candidates, rows, strict=True))
    return {"heads": heads, "rows": both, "said": cost_sentence(result)}


def _model(result: AuditResult) -> dict[str, Any] | None:
    """Return the largest effects with the width of their bars in per cent, and their shapes.

    None where there is nothing to see: the answer is a constant.
    """
    shown = sorted(result.effects, key=lambda e: (-e.importance, -abs(e.change)))[:_EFFECTS_SHOWN]
    if all(abs(e.change) < _NO_CHANGE and e.importance <= 0 for e in shown):
        return None
    scale = scale_of(result)
    largest = max((e.importance for e in shown), default=0.0) or 1.0
    rows = [
        {
            "effect": e,
            "worth": amounts(scale * max(e.importance, 0.0), scale)[0],
            "width": round(100 * max(e.importance, 0.0) / largest, 1),
            "shape": draw_shape(e),
        }
        for e in shown
    ]
    moved = [_flat(e.moved) for e in shown if e.moved is not None]
    return {"rows": rows, "data": moved}


def _flat(tables: Array) -> list[list[float]]:
    """Return tables of shares, cell by cell, as short as they are exact."""
    return [[float(f"{x:.10g}") for x in table.ravel()] for table in tables]


def _calibration(result: AuditResult) -> dict[str, Any]:
    bins = calibration_bins(result)
    data = {"probability": bins.probability.tolist(), "counts": bins.counts.tolist()}
    return {"picture": draw_calibration(result), "data": data}


def _roc(result: AuditResult) -> dict[str, Any]:
    return {
        "picture": draw_roc(result),
        "areas": ranking_areas(result),
        "data": {"counts": result.bins.counts.tolist()},
    }


def _precision(result: AuditResult) -> dict[str, Any]:
    return {"picture": draw_precision(result)}


def _data(result: AuditResult) -> dict[str, Any]:
    drifting = [c.name for c in result.columns if c.drifts]
    return {"columns": result.columns, "drifting": shorten(drifting) if drifting else ""}


def _help(result: AuditResult) -> dict[str, Any]:
    return {"said": help_sentence(result), "bars": _check_bars(result)}


def _check_bars(result: AuditResult) -> list[tuple[str, str, float]]:
    """Return ways to choose rows to check, what each saves, and the width of its bar."""
    found = result.information.checks
    if found is None:
        return []
    ways = {"where decisions turn": found.picked, "at random": found.random}
    if result.suspects:
        ways["the most suspicious"] = found.suspects
    largest = max(saving.value for saving in ways.values()) or 1.0
    scale = scale_of(result)
    return [
        (
            f"{found.n_rows:,} rows {words}"
            if words != "the most suspicious"
            else f"the {found.n_rows:,} most suspicious",
            f"{money(scale * saving.value)} ({span(saving, scale).split(' (')[1]}",
            round(100 * saving.value / largest, 1),
        )
        for words, saving in ways.items()
    ]


def _how(result: AuditResult) -> dict[str, Any]:
    return {"found": found_words(result)}


PARTS = (
    Part("path", "Cost against the assumed noise rate", _path, half=True),
    Part("noise", "How noisy the labels are", _noise, half=True),
    Part("curve", "Cost over all price ratios", _curve, half=True),
    Part("calls", "Right and wrong calls in 1,000 rows", _calls, half=True),
    Part("candidates", "What the candidates cost", _candidates),
    Part("asked", "Decisions that were asked about", make_asked),
    Part("depth", "If only so many rows can be called", make_depth),
    Part("price", "If prices were others", make_price),
    Part("help", "What would help most", _help),
    Part("way", "What checked rows have brought", make_way),
    Part("workbench", "Labels that look wrong, and rows to check", make_workbench),
    Part("model", "What the model looks at", _model),
    Part("calibration", "Are the probabilities right?", _calibration, half=True),
    Part("roc", "Found against false alarms", _roc, half=True),
    Part("precision", "How many calls are right", _precision, half=True),
    Part("data", "What the table holds", _data),
    Part("how", "How this was found", _how),
)
