"""Words and tables on decisions: so many calls, parts of the table, prices in a range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flipcost.estimators.flipcost.summary import band, percent
from flipcost.report._numbers import amounts, scale_of, span

if TYPE_CHECKING:
    from flipcost.audit import AuditResult, Called, RangeFound, Segment
    from flipcost.core.confusion import Interval

_MISTAKE = {"fn": "a miss", "fp": "a false alarm", "tp": "a right call", "tn": "a right refusal"}


def decision_answers(result: AuditResult) -> list[tuple[str, str]]:
    """Return questions about decisions that were asked, with their answers.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

    Returns
    -------
    list of tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> table = pa.table({"age": rng.normal(size=200) + y, "ill": y})
    >>> [question for question, _ in decision_answers(audit(table, "ill", 0.2, capacity="10%"))]
    ['What if only 10 % of rows can be called?']
    """
    found = result.decisions
    if found is None:
        return []
    said = []
    if found.capacity is not None:
        question = f"What if only {found.capacity} can be called?"
        said.append((question, " ".join(called_sentence(one, result) for one in found.called)))
    for one in found.ranges:
        question = f"What if {_MISTAKE[one.name]} costs {one.low:.4g} to {one.high:.4g}?"
        said.append((question, range_sentence(one, result)))
    if found.segments:
        said.append((f"Where by {found.by!r} are labels worst?", segments_sentence(result)))
    return said


def called_sentence(called: Called, result: AuditResult) -> str:
    """Say what calling within a capacity brings."""
    where = "" if called.group is None else f"Of {called.group!r}, "
    if not called.n_called:
        return f"{where or 'By these figures '}no call is expected to pay."
    begin, true = (f"{where}the" if where else "The"), "true "
    if result.state in ("no_signal", "small"):
        begin, true = f"By the labels as they are, {begin[0].lower()}{begin[1:]}", ""
    return (
        f"{begin} {called.n_called:,} calls that save most find {_share(called.recall)} of the "
        f"{true}{result.positive!r}; {_share(called.precision)} of them are right, "
        f"{_times(called.lift)} as many as among random rows, and they save "
        f"{span(called.profit, 1.0)} in all."
    )


def range_sentence(found: RangeFound, result: AuditResult) -> str:
    """Say what a price in a range means for the decision."""
    scale, mistake = scale_of(result), _MISTAKE[found.name]
    low, middle, high = (span(cost, scale) for cost in found.cost)
    regrets = amounts(*(scale * one.value for one in found.regret))
    saved = ["nothing" if not float(r.replace(",", "")) else r for r in regrets]
    gained = "nothing" if saved == ["nothing"] * 2 else f"{saved[0]} and {saved[1]}"
    said = (
        f"Deciding for the middle, {found.middle:.4g}, is best on average. 1,000 rows then cost "
        f"{low} if {mistake} costs {found.low:.4g}, {middle} at the middle and {high} if it costs "
        f"{found.high:.4g}; knowing the price would save {gained} at the ends, "
        f"where {percent(found.changes[0])} and {percent(found.changes[1])} of the calls "
        "would be others."
    )
    if not found.turns:
        return f"{said} The decision is the same kind at every price in the range."
    words = {
        "rule": "the rule is used in place of a constant answer",
        "all_positive": f"every row is best called {result.positive!r}",
        "all_negative": f"every row is best called {result.negative!r}",
    }
    turns = []
    for first, last, answer in found.turns:
        if first == last:
            turns.append(f"From about {first:.3g} on, {words[answer]}.")
        else:
            turns.append(
                f"From about {first:.3g} to {last:.3g} the rule and one answer for all rows cost "
                f"nearly the same; above, {words[answer]}."
            )
    return " ".join([said, *turns])


def segments_sentence(result: AuditResult) -> str:
    """Say which part's labels are worst, and how surely."""
    found = result.decisions
    assert found is not None  # noqa: S101 - asked by the caller
    if result.state == "no_signal":
        return "Nobody can tell: the columns say nothing about the labels, in any part."
    worst = max(found.segments, key=lambda s: s.chance_worst)
    first = found.segments[0]
    measured = result.n_checked or result.rate_is_known
    supposing = "" if measured else " All this supposes that mistakes do not follow the columns."
    if worst.chance_worst < 0.5:
        limits = band(first.wrong_share.low, first.wrong_share.high)
        return (
            f"None stands out: {first.name!r} comes first with about "
            f"{percent(first.wrong_share.value)} wrong ({limits}), and is the worst with "
            f"probability {first.chance_worst:.2f}.{supposing}"
        )
    limits = band(worst.wrong_share.low, worst.wrong_share.high)
    return (
        f"In {worst.name!r}: about {percent(worst.wrong_share.value)} of the labels are wrong "
        f"({limits}); it is the worst with probability {worst.chance_worst:.2f}. Figures of small "
        f"parts are drawn towards those of all.{supposing}"
    )


def segment_table(result: AuditResult) -> tuple[list[str], list[list[str]]]:
    """Return a table of the parts, the noisiest labels first.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> segment_table(SimpleNamespace(decisions=None))
    ([], [])
    """
    found = result.decisions
    if found is None or not found.segments:
        return [], []
    heads = [str(found.by), "rows", "labels wrong", "cost of 1,000 rows", "precision", "recall"]
    rows = [_segment_row(s) for s in found.segments]
    if result.state == "no_signal":  # what is wrong cannot be told; the rest is by the labels
        return [*heads[:2], *heads[3:]], [[*row[:2], *row[3:]] for row in rows]
    return heads, rows


def _segment_row(segment: Segment) -> list[str]:
    return [
        segment.name,
        f"{segment.n_rows:,.0f}",
        _share(segment.wrong_share),
        span(segment.cost, 1000.0),
        _share(segment.precision),
        _share(segment.recall),
    ]


def _share(found: Interval) -> str:
    """Return a share with its limits, in per cent."""
    ends = f"{100 * found.low:.0f} to {100 * found.high:.0f} %"
    return f"{100 * found.value:.0f} % ({ends})"


def _times(found: Interval) -> str:
    return f"{found.value:.1f} times ({found.low:.1f} to {found.high:.1f})"
