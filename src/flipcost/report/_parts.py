"""The parts of the report, in order.

A part is a line in `PARTS`: its template is ``templates/<name>.html``, its styles and its script,
if it has any, are ``static/<name>.css`` and ``static/<name>.js``. What its function returns are the
names that the template knows beside `result`; None leaves the part out. Under the name ``data`` it
may give plain data for its script, which finds it as ``flipcost.data.parts.<name>`` and is told of
every move of the sliders by ``flipcost.onMove((k, rate) => ...)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flipcost.report._figures import draw_curve, draw_path, draw_posterior
from flipcost.report._payload import make_payload
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

_EFFECTS_SHOWN = 20


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
    return {"picture": draw_path(make_payload(result))}


def _noise(result: AuditResult) -> dict[str, Any]:
    return {"picture": draw_posterior(result), "said": rate_sentence(result)}


def _curve(result: AuditResult) -> dict[str, Any]:
    return {"picture": draw_curve(make_payload(result))}


def _calls(_: AuditResult) -> dict[str, Any]:
    return {}


def _candidates(result: AuditResult) -> dict[str, Any]:
    heads, rows = candidate_table(result)
    both = list(zip(result.candidates, rows, strict=True))
    return {"heads": heads, "rows": both, "said": cost_sentence(result)}


def _model(result: AuditResult) -> dict[str, Any]:
    """Return the largest effects with the width of their bars in per cent."""
    shown = result.effects[:_EFFECTS_SHOWN]
    largest = max((abs(effect.change) for effect in shown), default=0.0) or 1.0
    return {"effects": [(e, round(50 * abs(e.change) / largest, 1)) for e in shown]}


def _help(result: AuditResult) -> dict[str, Any]:
    return {"said": help_sentence(result)}


def _how(result: AuditResult) -> dict[str, Any]:
    return {"found": found_words(result)}


PARTS = (
    Part("path", "Cost against the assumed noise rate", _path, half=True),
    Part("noise", "How noisy the labels are", _noise, half=True),
    Part("curve", "Cost over all price ratios", _curve, half=True),
    Part("calls", "Right and wrong calls in 1,000 rows", _calls, half=True),
    Part("candidates", "What the candidates cost", _candidates),
    Part("way", "What checked rows have brought", make_way),
    Part("workbench", "Labels that look wrong, and rows to check", make_workbench),
    Part("model", "What the model looks at", _model),
    Part("help", "What would help most", _help),
    Part("how", "How this was found", _how),
)
