"""Putting the report together."""

from __future__ import annotations

import datetime as dt
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import BytecodeCache, Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from flipcost._version import __version__
from flipcost.report._headline import headline, rows_to_check, scale_of
from flipcost.report._parts import PARTS
from flipcost.report._payload import make_payload
from flipcost.report._plots import draw_range
from flipcost.report._sections import candidate_name, price_sentence, title_sentence
from flipcost.words import span, unbroken

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from jinja2.bccache import Bucket

    from flipcost.audit import Findings


class _Compiled(BytecodeCache):
    """Templates as they were compiled, for as long as the process lasts."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what was compiled of the same text."""
        bucket.code = self.kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        if bucket.code is not None:
            self.kept[bucket.key, bucket.checksum] = bucket.code


# To compile them takes half of the time of a report.
_COMPILED = _Compiled()


def render_report(
    result: Findings, say: Callable[[str], str] = str, later: str | None = None
) -> str:
    """Return the report of an audit as HTML.

    One file that holds everything: styles, figures, the script that moves them, and the tables of
    counts that it computes from. Text from the data is escaped throughout.

    Parameters
    ----------
    result : Findings
        What the audit found.
    say : callable, default=str
        What makes of parameters that a sentence names, in backticks, what the reader would type.
    later : str, optional
        Where the report is that follows once these rows are checked.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> table = pa.table({"<b>age</b>": rng.normal(size=200) + y, "ill": y})
    >>> html = render_report(audit(table, "ill", 0.2))
    >>> "&lt;b&gt;age&lt;/b&gt;" in html, "<b>age</b>" in html
    (True, False)
    """
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        loader=FunctionLoader(lambda name: _text("templates", name)),
        bytecode_cache=_COMPILED,
    )
    environment.filters["say"] = say
    environment.filters["unbroken"] = unbroken
    environment.filters["flags"] = _flags_on_one_line
    environment.globals |= {
        "result": result,
        "version": __version__,
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
    }
    payload = make_payload(result)
    made = [(part, part.make(result)) for part in PARTS]
    shown = [(part, known) for part, known in made if known is not None]
    payload["parts"] = {part.name: known["data"] for part, known in shown if "data" in known}
    names = ["report", *(part.name for part, _ in shown)]
    return environment.get_template("page.html").render(
        answer=_fill(environment, "answer", _answer(result, say, later)),
        parts=[(part, _fill(environment, part.name, known)) for part, known in shown],
        payload=payload,
        style=_joined(names, "css"),
        script=_joined(names, "js"),
    )


def _flags_on_one_line(text: str) -> Markup:
    """Return a sentence whose options are not broken at their dashes."""
    code = r'<code style="white-space:nowrap">\1</code>'
    return Markup(re.sub(r"(--[a-z][a-z-]*)", code, str(escape(text))))  # noqa: S704


def _fill(environment: Environment, name: str, known: dict[str, Any]) -> Markup:
    """Return what a template makes of what it is told."""
    text = environment.get_template(f"{name}.html").render(known)
    return Markup(text)  # noqa: S704 - escaped by the template


def _joined(names: list[str], kind: str) -> Markup:
    """Return the files of one kind that the parts have, one after the other."""
    here = files("flipcost.report") / "static"
    wanted = [f"{name}.{kind}" for name in names]
    text = "\n".join(_text("static", name) for name in wanted if (here / name).is_file())
    return Markup(text)  # noqa: S704 - our own files


def _text(folder: str, name: str) -> str:
    return (files("flipcost.report") / folder / name).read_text(encoding="utf-8")


def _answer(result: Findings, say: Callable[[str], str], later: str | None) -> dict[str, Any]:
    said = headline(result)
    return {
        "kind": said.kind,
        "badge": said.badge,
        "lines": [say(line) for line in said.lines],
        "facts": f"{title_sentence(result)} {say(price_sentence(result))}",
        "range": draw_range(result),
        "models": model_bars(result),
        "n_check": rows_to_check(result) if "check the" in said.next else 0,
        "later": later,
    }


def model_bars(result: Findings) -> list[dict[str, Any]]:
    """Return each model with its expected cost, and where its dot and its interval lie in %."""
    scale = scale_of(result)
    best = result.best
    found = sorted(result.models.candidates, key=lambda c: (c is not best, c.likely.value))
    # The dearest, mostly a constant, may leave the picture; the others must not shrink.
    dearest = sorted(c.likely.value for c in found)[-2:][0]
    most = min(max(c.likely.high for c in found), 2 * dearest) or 1.0

    def place(cost: float) -> float:
        return round(100 * min(cost / most, 1.0), 1)

    return [
        {
            "name": candidate_name(c, result),
            "said": span(c.likely, scale),
            "low": place(c.likely.low),
            "high": place(c.likely.high),
            "dot": place(c.likely.value),
        }
        for c in found
    ]
