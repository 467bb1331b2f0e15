"""What human labels say about a judge, in words and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flipcost._version import __version__
from flipcost.core.confusion import Interval
from flipcost.report._render import fill, static
from flipcost.words import label

if TYPE_CHECKING:
    from flipcost.noise import JudgedRows

# With fewer human labels of a kind a rate is hardly known.
_FEW = 20


@dataclass(frozen=True)
class JudgeFindings:
    """Estimates about a judge, and the names of things.

    Attributes
    ----------
    name : str
        Of the table.
    labels : pair of str
        The negative label and the positive one.
    found : JudgedRows
        The estimates.
    other : JudgedRows or None
        Those of a second system.
    difference : Interval or None
        Of its share to the first one's.
    systems : pair of str
        Columns of the judge's labels of each system.
    """

    name: str
    labels: tuple[str, str]
    found: JudgedRows
    other: JudgedRows | None = None
    difference: Interval | None = None
    systems: tuple[str, str] = ("", "")


def judge_sentences(findings: JudgeFindings) -> list[str]:
    """Return the answer: the share, the judge's errors, the difference, and what is uncertain."""
    found = findings.found
    negative, positive = map(label, findings.labels)
    share = (
        f"Best estimate: {span(found.share_)} of the rows are truly {positive}; the judge says "
        f"{percent(found.judged_share_)}."
    )
    errors = (
        f"The judge misses {span(found.miss_rate_)} of the truly {positive} rows, and calls "
        f"{span(found.false_alarm_rate_)} of the truly {negative} rows {positive}."
    )
    said = [share, errors]
    if findings.difference is not None and findings.other is not None:
        (low, high), gap = map(label, findings.systems), findings.difference
        second = high
        if gap.value < 0:
            low, high = high, low
            gap = Interval(-gap.value, -gap.high, -gap.low)
        doubt = ", which is not a clear difference" if gap.low <= 0 else ""
        said.append(
            f"{high} has {points(gap)} percentage points more rows that are truly {positive} than "
            f"{low}{doubt}. Best estimate for {second}: {span(findings.other.share_)}."
        )
    for place, name in enumerate(findings.labels):
        seen = int(found.confusion_[:, place].sum())
        if found.judged_share_ != 1 - place and seen < _FEW:
            said.append(
                f"Only {seen} of the rows that the judge calls {label(name)} have a human label: "
                f"have at least {_FEW} labelled, drawn at random."
            )
    return said


def percent(share: float) -> str:
    """Return a share with two figures, as a percentage.

    Examples
    --------
    >>> percent(0.194), percent(0.0234), percent(0.997), percent(0.0)
    ('19%', '2.3%', '99.7%', '0%')
    """
    return f"{_figures(share, share)}%"


def span(interval: Interval) -> str:
    """Return a share with its interval.

    Examples
    --------
    >>> span(Interval(0.19, 0.12, 0.24)), span(Interval(0.021, 0.0, 0.06))
    ('19% (12 to 24%)', '2.1% (0 to 6.0%)')
    """
    low, high = (_figures(x, interval.value) for x in (interval.low, interval.high))
    return f"{percent(interval.value)} ({low} to {high}%)"


def points(interval: Interval) -> str:
    """Return a difference of shares with its interval, in percentage points.

    Examples
    --------
    >>> points(Interval(0.081, -0.02, 0.18))
    '8.1 (-2.0 to 18.0)'
    """
    value, low, high = (100 * x for x in (interval.value, interval.low, interval.high))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def _figures(share: float, beside: float) -> str:
    exact = min(share, 1 - share) < 0.1 and min(beside, 1 - beside) < 0.1
    return f"{100 * share:.{1 if exact and 0 < share < 1 else 0}f}"


def judge_page(findings: JudgeFindings, sentences: list[str]) -> str:
    """Return the page about a judge: the sentences, intervals as bars, and what was counted."""
    return fill(
        "judge",
        findings=findings,
        sentences=sentences,
        bars=_bars(findings),
        counts=findings.found.confusion_.tolist(),
        style=static("report.css"),
        version=__version__,
    )


def _bars(findings: JudgeFindings) -> list[dict[str, Any]]:
    found = findings.found
    negative, positive = map(label, findings.labels)
    shown = [
        (f"of the rows are truly {positive}", found.share_),
        (f"of the truly {positive} rows are missed by the judge", found.miss_rate_),
        (f"of the truly {negative} rows are called {positive}", found.false_alarm_rate_),
    ]
    if findings.other is not None:
        shown.append(
            (f"of {label(findings.systems[1])} are truly {positive}", findings.other.share_)
        )
    return [{"what": what, "interval": one, "text": span(one)} for what, one in shown]
