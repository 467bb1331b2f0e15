"""Sentences that the screen and the report share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flipcost.core.confusion import Interval
from flipcost.report._state import money, rate_sentence, rows_to_check, wrong_rows

if TYPE_CHECKING:
    from flipcost.audit import AuditResult

# Where knowing the rate would save less than this share of the cost, other things help more.
_LITTLE = 0.02


def candidate_table(result: AuditResult) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the comparison, in the user's prices for 1,000 rows.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

    Returns
    -------
    heads : list of str
    rows : list of list of str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> result = audit(pa.table({"age": rng.normal(size=200) + y, "ill": y}), "ill", 0.2)
    >>> heads, rows = candidate_table(result)
    >>> [row[0] for row in rows][:3]
    ['flipcost', 'ignoring the noise', 'logistic regression']
    """
    scale = 1000 * result.unit
    heads = ["per 1,000 rows", "as labelled", "on clean labels", "flipcost saves"]
    if result.best.test is not None:
        heads.append("on the true labels" if result.known_flips else "on the test rows")
    rows = []
    for c in result.candidates:
        row = [c.label, f"{scale * c.observed.value:,.0f}", span(c.clean, scale)]
        row.append("" if c is result.best else span(c.saving, scale))
        if c.test is not None:
            row.append(span(c.test, scale))
        rows.append(row)
    return heads, rows


def answers(result: AuditResult) -> list[tuple[str, str]]:
    """Return the four questions with their answers.

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
    >>> result = audit(pa.table({"age": rng.normal(size=200) + y, "ill": y}), "ill", 0.2)
    >>> [question for question, answer in answers(result)][0]
    'How noisy are the labels?'
    """
    return [
        ("How noisy are the labels?", rate_sentence(result)),
        ("What do mistakes cost?", cost_sentence(result)),
        ("Which labels look wrong?", suspects_sentence(result)),
        ("What would help most?", help_sentence(result)),
    ]


def reading_words(result: AuditResult) -> str:
    """Say how a table was read that was not held, as the end of a sentence; else nothing.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

    Returns
    -------
    str

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> reading_words(SimpleNamespace(reading="read in two passes", n_judged=40_000))
    '; read in two passes, candidates compared on 40,000 rows that stand for all'
    """
    if not result.reading:
        return ""
    return f"; {result.reading}, candidates compared on {result.n_judged:,} rows that stand for all"


def cost_sentence(result: AuditResult) -> str:
    """Say what was priced, what is chosen, and whether that is sure."""
    prices = (
        f"A missed {result.positive!r} costs {result.prices.fn:.4g}, a false alarm "
        f"{result.prices.fp:.4g}."
    )
    if result.chosen != "rule":
        label = result.positive if result.chosen == "all_positive" else result.negative
        return f"{prices} No rule beats calling every row {label!r}, so that is what is chosen."
    rival = min(result.candidates[1:], key=lambda c: c.clean.value)
    if rival.saving.value <= 0:
        return f"{prices} The flipcost model is no better than {rival.label}."
    sure = "clearly" if rival.saving.low > 0 else "probably"
    if result.state == "undecided":
        sure = "on balance"
    return f"{prices} The flipcost model {sure} costs least; next comes {rival.label}."


def suspects_sentence(result: AuditResult) -> str:
    """Say how many labels are expected to be wrong, and where to look first."""
    if result.state == "no_signal":
        return "Nobody can tell: the columns say nothing about the labels."
    if not result.suspects:
        return "None stands out." if not result.rate_is_known else "None: the noise rate is zero."
    first = result.suspects[0]
    where = f"row {first.row}" if first.id is None else f"row {first.id!r}"
    listed = min(100, len(result.suspects))
    found = result.information.wrong_in_first_100
    if result.state == "clean":
        text = f"{len(result.suspects):,} of {result.n_rows:,} stand out."
    else:
        text = (
            f"{wrong_rows(result)} of {result.n_rows:,}; of the {listed} most suspicious about "
            f"{min(found, listed):.0f}."
        )
    text += f" First {where}, labelled {first.label!r}, wrong with probability {first.wrong:.2f}"
    text += f" ({first.evidence})." if first.evidence else "."
    if result.known_flips:
        known = result.known_flips
        text += (
            f" In truth {known['wrong_labels']} are wrong, {known['wrong_in_first_100']} of them "
            "among the first 100."
        )
    return text


def help_sentence(result: AuditResult) -> str:
    """Say what would help most: never more rows than there are."""
    facts = result.information
    value = 1000 * result.unit * facts.value_of_rate
    cost = 1000 * result.unit * result.best.clean.value
    if result.rate_is_known:
        return (
            "The rate was given and taken as exact. If it is a guess, check it: "
            f"{facts.second_labels:,} rows labelled a second time pin it to "
            f"±{facts.precision:g}, or {facts.trusted_labels:,} checked by an expert."
        )
    if result.state == "no_signal":
        return "Other columns: these cannot tell the two labels apart."
    if result.state == "small":
        return "More labelled rows, of the rarer label above all."
    worth = f"Knowing the rate exactly would save {money(value)} per 1,000 rows (of {money(cost)})."
    rows, more = rows_to_check(result), "more " if result.n_checked else ""
    if result.state in ("clean", "noisy") and value < _LITTLE * cost:
        first = "checking the suspicious labels, " if result.suspects else ""
        return f"{worth} That is little: {first}other columns, or more rows, help more."
    if not rows:
        return worth
    return (
        f"Check {rows:,} {more}rows, drawn at random, and give their right labels in a column of "
        f"trusted labels: that tells what the table cannot. {worth}"
    )


def span(interval: Interval, scale: float) -> str:
    """Return a value with its interval, scaled.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> span(Interval(0.1, 0.05, 0.2), 1000)
    '100 [50, 200]'
    """
    value, low, high = (scale * x for x in (interval.value, interval.low, interval.high))
    digits = 0 if max(abs(low), abs(high)) >= 10 else 2
    # Adding zero turns what would print as -0 into 0.
    value, low, high = (round(x, digits) + 0.0 for x in (value, low, high))
    return f"{value:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"
