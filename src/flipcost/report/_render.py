"""Putting the report together."""

from __future__ import annotations

import datetime as dt
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from flipcost._version import __version__
from flipcost.report._figures import draw_curve, draw_path, draw_posterior
from flipcost.report._payload import make_payload
from flipcost.report._words import answers, candidate_table, reading_words

if TYPE_CHECKING:
    from flipcost.audit import AuditResult


_SUSPECTS_SHOWN = 25
_EFFECTS_SHOWN = 20


def render_report(result: AuditResult) -> str:
    """Return the report of an audit as HTML.

    One file that holds everything: styles, figures, the script that moves them, and the tables of
    counts that it computes from. Text from the data is escaped throughout.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

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
    payload = make_payload(result)
    here = files("flipcost.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((here / "report.html").read_text(encoding="utf-8"))
    heads, rows = candidate_table(result)
    return template.render(
        result=result,
        answers=answers(result),
        tiles=_tiles(result),
        heads=heads,
        rows=list(zip(result.candidates, rows, strict=True)),
        suspects=result.suspects[:_SUSPECTS_SHOWN],
        effects=_effects(result),
        reading=reading_words(result),
        payload=payload,
        path=draw_path(payload),
        curve=draw_curve(payload),
        posterior=draw_posterior(result),
        style=Markup((here / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        script=Markup((here / "report.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        version=__version__,
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
    )


def _tiles(result: AuditResult) -> list[tuple[str, str, str]]:
    """Return the four figures at the top: what it is, the figure, what stands under it."""
    scale = 1000 * result.unit
    rates = np.atleast_1d(result.noise_rate)
    limits = np.reshape(result.noise_interval, (len(rates), 2))
    ignoring = result.candidate("ignoring")
    noise = " / ".join(f"{rate:.0%}" for rate in rates)
    whose = "of the labels are wrong"
    if len(rates) == 2:
        whose = f"of true {result.positive!r} / {result.negative!r} are labelled wrongly"
    return [
        (
            whose,
            noise,
            " and ".join(f"{low:.0%} to {high:.0%}" for low, high in limits),
        ),
        (
            "cost of 1,000 rows on clean labels",
            f"{scale * result.best.clean.value:,.0f}",
            f"{scale * result.best.clean.low:,.0f} to {scale * result.best.clean.high:,.0f}",
        ),
        (
            "saved against ignoring the noise",
            f"{scale * ignoring.saving.value:,.0f}",
            f"{scale * ignoring.saving.low:,.0f} to {scale * ignoring.saving.high:,.0f}",
        ),
        (
            "labels expected to be wrong",
            f"{result.information.wrong_labels:,.0f}",
            f"of {result.n_rows:,} rows",
        ),
    ]


def _effects(result: AuditResult) -> list[tuple[Any, float]]:
    """Return the largest effects with the width of their bars in per cent."""
    shown = result.effects[:_EFFECTS_SHOWN]
    largest = max((abs(effect.change) for effect in shown), default=0.0) or 1.0
    return [(effect, round(50 * abs(effect.change) / largest, 1)) for effect in shown]
