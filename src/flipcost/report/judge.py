"""What human labels say about a judge, in words and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flipcost._version import __version__
from flipcost.core.confusion import Interval
from flipcost.report.render import fill, static
from flipcost.words import count, figure, figures, label

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
        f"{figure(100 * found.judged_share_)}%."
    )
    errors = (
        f"The judge misses {span(found.miss_rate_)} of the truly {positive} rows, and labels "
        f"{span(found.false_alarm_rate_)} of the truly {negative} rows {positive}."
    )
    said = [share, errors]
    if findings.difference is not None and findings.other is not None:
        first, second = map(label, findings.systems)
        gap, more, than = findings.difference, second, first
        if gap.value < 0:
            gap, more, than = Interval(-gap.value, -gap.high, -gap.low), first, second
        value, low, high = figures(*(100 * x for x in (gap.value, gap.low, gap.high)))
        doubt = ", not a clear difference" if gap.low <= 0 else ""
        said.append(f"Best estimate for {second}: {span(findings.other.share_)}.")
        said.append(
            f"{more} has {value} percentage points more truly {positive} rows than {than} ({low} "
            f"to {high}){doubt}."
        )
    seen = found.confusion_.sum(axis=0)
    few = [
        f"{count(int(n), 'row')} that the judge labels {label(name)}"
        for k, (n, name) in enumerate(zip(seen, findings.labels, strict=True))
        if found.judged_share_ != 1 - k and n < _FEW
    ]
    if few:
        said.append(
            f"People labelled only {' and '.join(few)}: have at least {_FEW} of each labelled, "
            "drawn at random."
        )
    return said


def span(interval: Interval) -> str:
    """Return a share with its interval, with decimals where it is known that well.

    Examples
    --------
    >>> span(Interval(0.19, 0.12, 0.24)), span(Interval(0.0213, 0.0191, 0.0242))
    ('19% (12 to 24%)', '2.1% (1.9 to 2.4%)')
    """
    value, low, high = figures(*(100 * x for x in (interval.value, interval.low, interval.high)))
    return f"{value}% ({low} to {high}%)"


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
    false = f"of the truly {negative} rows are labelled {positive} by the judge"
    shown = [
        (f"of the rows are truly {positive}", found.share_),
        (f"of the truly {positive} rows are missed by the judge", found.miss_rate_),
        (false, found.false_alarm_rate_),
    ]
    if findings.other is not None:
        shown.append(
            (f"of {label(findings.systems[1])} are truly {positive}", findings.other.share_)
        )
    return [{"what": what, "interval": one, "text": span(one)} for what, one in shown]
