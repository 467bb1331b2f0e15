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
from flipcost.report._bands import make_depth, make_price
from flipcost.report._figures import draw_path, draw_posterior
from flipcost.report._headline import scale_of
from flipcost.report._payload import make_payload
from flipcost.report._plots import (
    calibration_bins,
    draw_calibration,
    draw_precision,
    draw_roc,
    draw_shape,
    ranking_areas,
)
from flipcost.report._sections import (
    candidate_table,
    cost_sentence,
    decision_answers,
    errors_sentences,
    method_words,
    segment_table,
)
from flipcost.report._workbench import make_check
from flipcost.words import figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit import Findings
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
    folded : bool
        Whether it stands under Details, to be unfolded.
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


def _asked(result: Findings) -> dict[str, Any] | None:
    said = decision_answers(result)
    heads, rows = segment_table(result)
    return {"said": said, "heads": heads, "rows": rows} if said else None


def _what_if(result: Findings) -> dict[str, Any]:
    payload = make_payload(result)
    # Where nothing can be said of label errors there is no rate to move.
    told = result.state not in ("no_signal", "small") or result.labels.errors.is_given
    path = draw_path(payload, result.table.positive) if told else None
    return {"payload": payload, "path": path, **(make_price(result) or {"price": None})}


def _calls(result: Findings) -> dict[str, Any]:
    return {"candidates": result.models.candidates}


def _model(result: Findings) -> dict[str, Any] | None:
    """Return the largest effects with the width of their bars in per cent, and their shapes.

    None where there is nothing to see: the answer is a constant.
    """
    shown = sorted(result.models.effects, key=lambda e: (-e.importance, -abs(e.change)))[
        :_EFFECTS_SHOWN
    ]
    if all(abs(e.change) < _NO_CHANGE and e.importance <= 0 for e in shown):
        return None
    scale = scale_of(result)
    largest = max((e.importance for e in shown), default=0.0) or 1.0
    rows = [
        {
            "effect": e,
            "worth": figure(scale * max(e.importance, 0.0)),
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


def _calibration(result: Findings) -> dict[str, Any]:
    bins = calibration_bins(result)
    data = {"probability": bins.probability.tolist(), "counts": bins.counts.tolist()}
    return {"picture": draw_calibration(result), "data": data}


def _roc(result: Findings) -> dict[str, Any]:
    return {
        "picture": draw_roc(result),
        "areas": ranking_areas(result),
        "data": {"counts": result.labels.bins.counts.tolist()},
    }


def _precision(result: Findings) -> dict[str, Any]:
    return {"picture": draw_precision(result)}


def _data(result: Findings) -> dict[str, Any]:
    drifting = [c.name for c in result.table.columns if c.drifts]
    return {"columns": result.table.columns, "drifting": shorten(drifting) if drifting else ""}


def _method(result: Findings) -> dict[str, Any]:
    return {"found": method_words(result)}


PARTS = (
    Part("cost", "Cost by model", _cost),
    Part("errors", "Label errors", _errors),
    Part("check", "Rows to check", make_check),
    Part("asked", "Your questions", _asked),
    Part("whatif", "What if costs or error rates were different?", _what_if, folded=True),
    Part("depth", "Limited capacity", make_depth, folded=True),
    Part("calls", "Confusion matrix, per 1,000 rows", _calls, folded=True),
    Part("model", "Model drivers", _model, folded=True),
    Part("calibration", "Calibration", _calibration, folded=True),
    Part("roc", "ROC curve", _roc, folded=True),
    Part("precision", "Precision and recall", _precision, folded=True),
    Part("data", "Columns", _data, folded=True),
    Part("method", "Method", _method, folded=True),
)
