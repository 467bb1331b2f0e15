"""An audit as a page, as a snippet for a notebook, and as Markdown."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from flipcost._shadow import in_shadow
from flipcost._version import __version__
from flipcost.report.charts import draw_range
from flipcost.report.headline import headline, rows_to_check, scale_of
from flipcost.report.payload import make_payload
from flipcost.report.sections import SECTIONS
from flipcost.report.sentences import (
    annotators_sentence,
    candidate_name,
    candidate_table,
    cost_sentence,
    decision_answers,
    errors_sentences,
    method_words,
    price_sentence,
    supposed,
    suspects_sentence,
    title_sentence,
)
from flipcost.words import span, unbroken

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit import Findings


def render_report(
    result: Findings, say: Callable[[str], str] = str, later: str | None = None
) -> str:
    """Return the report of an audit as HTML: one file that holds everything, text escaped.

    `say` turns parameters that a sentence names in backticks into what the reader would type, and
    `later` is the report that follows once these rows are checked.
    """
    made = [(part, part.make(result)) for part in SECTIONS]
    shown = [(part, known) for part, known in made if known is not None]
    names = ["report", *(part.name for part, _ in shown)]
    payload = make_payload(result)
    payload["parts"] = {part.name: known["data"] for part, known in shown if "data" in known}
    common = {
        "result": result,
        "version": __version__,
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
    }
    return fill(
        "page",
        **common,
        answer=fill("answer", **common, **_answer(result, say, later)),
        parts=[(part, fill(part.name, **(common | known))) for part, known in shown],
        payload=payload,
        style=Markup("\n").join(static(f"{name}.css") for name in names),
        script=Markup("\n").join(static(f"{name}.js") for name in names),
    )


def fill(template: str, **known: Any) -> Markup:
    """Return a template filled with what it names, which it escapes."""
    text = _environment().get_template(f"{template}.html").render(known)
    return Markup(text)  # noqa: S704 - escaped by the template


def static(name: str) -> Markup:
    """Return a file of styles or of code; nothing where a part has none."""
    path = files("flipcost.report") / "static" / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return Markup(text)  # noqa: S704 - our own files


@cache
def _environment() -> Environment:
    # Kept with the templates that it has compiled: that takes half of the time of a report.
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        loader=PackageLoader("flipcost.report"),
    )
    environment.filters |= {"unbroken": unbroken, "flags": _flags_on_one_line}
    return environment


def _flags_on_one_line(text: str) -> Markup:
    """Return a sentence whose options and parameters are code, on one line."""
    code = r'<code style="white-space:nowrap">\1\2</code>'
    return Markup(re.sub(r"(--[a-z][a-z-]*)|`([^`]+)`", code, str(escape(unbroken(text)))))  # noqa: S704


def _answer(result: Findings, say: Callable[[str], str], later: str | None) -> dict[str, Any]:
    said = headline(result)
    return {
        "kind": said.kind,
        "badge": said.badge,
        "lines": [say(line) for line in said.lines],
        "facts": f"{title_sentence(result)} {say(price_sentence(result))}",
        "range": draw_range(result),
        "basis": supposed(result),
        "models": model_bars(result),
        "n_check": rows_to_check(result) if "check the" in said.next else 0,
        "later": later,
    }


def model_bars(result: Findings) -> list[dict[str, Any]]:
    """Return each model with its expected cost, and where its dot and its interval lie in %."""
    scale, best = scale_of(result), result.best
    found = sorted(result.models.candidates, key=lambda c: (c is not best, c.cost_if_random.value))
    # The most expensive, mostly a constant, may leave the picture; the others must not shrink.
    second = sorted(c.cost_if_random.value for c in found)[-2:][0]
    most = min(max(c.cost_if_random.high for c in found), 2 * second) or 1.0

    def place(cost: float) -> float:
        return round(100 * min(cost / most, 1.0), 1)

    return [
        {
            "name": candidate_name(c, result),
            "said": span(c.cost_if_random, scale),
            "low": place(c.cost_if_random.low),
            "high": place(c.cost_if_random.high),
            "dot": place(c.cost_if_random.value),
            "beyond": c.cost_if_random.value > most,
        }
        for c in found
    ]


def render_snippet(result: Findings) -> str:
    """Return an audit for a notebook: isolated from its page, light and dark."""
    heads, rows = candidate_table(result)
    body = fill(
        "snippet",
        result=result,
        lines=headline(result).lines,
        picture=draw_range(result),
        heads=heads,
        rows=rows,
        facts=price_sentence(result),
    )
    return in_shadow(body, render_markdown(result), static("snippet.css"))


def render_markdown(result: Findings) -> str:
    """Return an audit as Markdown: the answer, the comparison, the user's questions."""
    heads, rows = candidate_table(result)
    lines = [f"# Audit of {_plain(result.table.name)}", ""]
    lines += [f"**{_plain(line)}**  " for line in headline(result).lines]
    lines += ["", _plain(f"{title_sentence(result)} {price_sentence(result)}")]
    lines += ["", "## Cost by model", "", _row(heads), _row(["---"] + ["---:"] * (len(heads) - 1))]
    lines += [*(_row(row) for row in rows), "", _plain(cost_sentence(result))]
    said = [*errors_sentences(result), annotators_sentence(result), suspects_sentence(result)]
    if any(said):
        lines += ["", "## Label errors", "", _plain(" ".join(filter(None, said)))]
    for question, answer in decision_answers(result):
        lines += ["", f"## {_plain(question)}", "", _plain(answer)]
    lines += ["", "## Method", ""]
    lines += [f"- {term}: {_plain(text)}" for term, text in method_words(result)]
    if result.warnings:
        lines += ["", "## Warnings", "", *(f"- {_plain(text)}" for text in result.warnings)]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(_plain(c) if c.strip("-:") else c for c in cells) + " |"


def _plain(text: str) -> str:
    """Return text in which nothing is taken for markup."""
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", " ".join(text.split()))
