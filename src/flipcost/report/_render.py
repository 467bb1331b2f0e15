"""Putting the report together."""

from __future__ import annotations

import datetime as dt
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from flipcost._version import __version__
from flipcost.core.noise import rate_pair
from flipcost.estimators.flipcost.summary import band, percent
from flipcost.report._figures import draw_curve, draw_path, draw_posterior
from flipcost.report._payload import make_payload
from flipcost.report._state import assumed_sentence, headline, most_wrong_share, wrong_rows
from flipcost.report._words import answers, candidate_table, reading_words, span

if TYPE_CHECKING:
    from flipcost.audit import AuditResult
    from flipcost.core.confusion import Interval


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
        headline=headline(result),
        assumed=assumed_sentence(result),
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
    """Return the figures at the top: what it is, the figure, what stands under it."""
    scale = 1000 * result.unit
    best = result.best.clean
    found = [
        _noise_tile(result),
        (
            "cost of 1,000 rows on clean labels",
            *_value_and_limits(best, scale),
        ),
    ]
    rival, words = result.candidate("ignoring"), "ignoring the noise"
    if result.state in ("clean", "no_signal"):
        constants = [result.candidate(key) for key in ("all_positive", "all_negative")]
        rival = min(constants, key=lambda c: c.clean.value)
        words = rival.label
    if np.any(rival.called != result.best.called):
        found.append((f"saved against {words}", *_value_and_limits(rival.saving, scale)))
    if result.state in ("noisy", "undecided") and not result.rate_is_known:
        number, _, limits = wrong_rows(result).partition(" (")
        under = f"of {result.n_rows:,} rows" + (f"; {limits.rstrip(')')}" if limits else "")
        found.append(("labels expected to be wrong", number, under))
    return found


def _value_and_limits(found: Interval, scale: float) -> tuple[str, str]:
    value, limits = span(found, scale).split(" ", 1)
    return value, limits.strip("[]").replace(", ", " to ")


def _noise_tile(result: AuditResult) -> tuple[str, str, str]:
    """Return the figure of the noise: no number where none can be told."""
    wrong, whose = result.wrong_share, "of the labels are wrong"
    if result.rate_is_known:
        rates = rate_pair(result.noise_rate)
        if rates[0] != rates[1]:
            whose = f"of true {result.positive!r} / {result.negative!r} are labelled wrongly"
            return whose, " / ".join(percent(rate) for rate in rates), "as given"
        return whose, percent(rates[0]), "as given"
    limits = band(wrong.low, wrong.high)
    if result.n_checked:
        limits += f", measured on {result.n_checked:,} checked rows"
    at_most = f"at most {percent(most_wrong_share(result))}"
    return {
        "clean": (whose, band(0.0, wrong.value), limits if result.n_checked else at_most),
        "noisy": (whose, percent(wrong.value), limits),
        "undecided": (whose, band(wrong.low, wrong.high), "the table cannot tell"),
        "no_signal": ("share of wrong labels", "unknown", "the columns say nothing"),
        "small": ("share of wrong labels", "unknown", "too few rows of a label"),
    }[result.state]


def _effects(result: AuditResult) -> list[tuple[Any, float]]:
    """Return the largest effects with the width of their bars in per cent."""
    shown = result.effects[:_EFFECTS_SHOWN]
    largest = max((abs(effect.change) for effect in shown), default=0.0) or 1.0
    return [(effect, round(50 * abs(effect.change) / largest, 1)) for effect in shown]
