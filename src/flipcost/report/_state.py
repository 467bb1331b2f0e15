"""What is said first: what can be said of the labels, what to use, what to do next.

Which of five states holds (`AuditResult.state`) decides the first sentence, the headline figures
and the advice. No share is shown that no table could tell from none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.noise import rate_pair
from flipcost.core.noise_by_score import furthest_apart
from flipcost.estimators.flipcost.result import most_wrong
from flipcost.estimators.flipcost.summary import CHECK_ROWS, MODEL_WORDS, band, percent
from flipcost.report._numbers import saving_words, scale_of

if TYPE_CHECKING:
    from flipcost.audit import AuditResult, Candidate

# Models of the noise with less weight than this are not named.
_LEAST_WEIGHT = 0.005
# Two rates are told apart when they differ by this much.
_APART = 0.05
# Rows of a label with which something can be said of noise.
ENOUGH_ROWS = 20
# Where checking rows would save less than this share of the cost, other things help more.
_LITTLE = 0.02


def headline(result: AuditResult) -> str:
    """Say in one sentence what holds of the labels, what to use, what it saves, and what is next.

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
    >>> y = rng.random(400) < 0.5
    >>> table = pa.table({"age": rng.normal(size=400), "ill": y})
    >>> print(headline(audit(table, "ill", 0.2))[:37])
    The columns say nothing about 'ill',
    """
    return f"{_labels(result)}: {_use(result)}; next, {next_step(result)}."


def next_step(result: AuditResult) -> str:
    """Say the one thing to do next, as the end of a sentence."""
    if result.rate_is_known:
        return "make sure of that rate, since a wrong one goes unnoticed"
    if result.state == "no_signal":
        return "look for columns that tell the two labels apart"
    if result.state == "small":
        label = rarer_label(result)[1]
        return f"label more rows until some hundreds, {ENOUGH_ROWS} at the least, are {label!r}"
    rows, more = rows_to_check(result), "more " if result.n_checked else ""
    if result.state == "undecided" and rows:
        return f"check {rows:,} {more}rows, which decides"
    if result.state == "noisy" and rows and checks_pay(result):
        return f"check {rows:,} {more}rows where decisions turn"
    if result.state == "noisy" and result.suspects:
        return f"mend the {min(CHECK_ROWS, len(result.suspects)):,} most suspicious labels"
    return "put it to use"


def checks_pay(result: AuditResult) -> bool:
    """Tell whether checking rows is expected to save more than hardly anything."""
    found = result.information.checks
    return found is not None and found.picked.value >= _LITTLE * result.best.likely.value


def rival_of(result: AuditResult) -> tuple[Candidate, str]:
    """Return whom the headline compares with: who ignores the noise, or the better constant."""
    against = result.candidate("ignoring")
    if result.state in ("clean", "no_signal", "small") or result.best is against:
        constants = [result.candidate(key) for key in ("all_positive", "all_negative")]
        others = [c for c in constants if np.any(c.called != result.best.called)] or constants
        against = min(others, key=lambda c: c.likely.value)
    return against, against.label


def supposed(result: AuditResult) -> str:
    """Return what the figures that are shown first suppose, to end a sentence with; or nothing."""
    if result.rate_is_known or result.n_checked:
        return ""
    if result.state == "clean":
        return "if mistakes do not follow the columns"
    if result.state in ("no_signal", "small"):
        return "by the labels as they are"
    return ""


def rate_sentence(result: AuditResult) -> str:
    """Say how many labels of each class are wrong, and how surely."""
    if result.rate_is_known:
        return f"{_given(result)}. A wrong rate would go unnoticed."
    if result.state == "no_signal":
        return "Nobody can tell: labels that no column speaks of can be right or wrong alike."
    if result.state == "small":
        return "Too few rows to tell: a curve through them fits anything."
    parts = []
    if result.state in ("noisy", "undecided") or result.n_checked:
        parts.append(_by_class(result))
    if result.n_checked:
        parts.append(f"Measured on {result.n_checked:,} checked rows.{_along(result)}")
    else:
        parts.append(bounds_sentence(result))
    return " ".join(parts)


def _along(result: AuditResult) -> str:
    """Say where labels are wrong more often than elsewhere, if the checked rows show it."""
    found = furthest_apart(result.noise_by_score)
    if found is None:
        return ""
    side, *bands = found
    name = result.positive if side == "positives" else result.negative
    hard, easy = (
        f"{band(getattr(part, side).low, getattr(part, side).high)} where the model gives "
        f"{result.positive!r} {percent(part.low)} to {percent(part.high)}"
        for part in bands
    )
    return f" Mistakes follow the columns: of the true {name!r}, {hard}, and {easy}."


def bounds_sentence(result: AuditResult) -> str:
    """Say what holds whatever the curve, and whether it tells the same story."""
    high = [float(x) for x in np.ravel(result.noise_bounds.high)]
    said = (
        f"At most {percent(high[0])} of the true {result.positive!r} and {percent(high[1])} of the "
        f"true {result.negative!r}, if mistakes do not follow the columns."
    )
    if result.state == "clean":
        return f"{said} Mistakes that do would not show in the table; checked rows would tell."
    if result.state == "undecided":
        return f"{said} Whether they do the table cannot tell; checked rows would."
    return said


def assumed_sentence(result: AuditResult) -> str:
    """Say which models of the noise were weighed, and how much each counts."""
    weights = {name: w for name, w in result.noise_models.items() if w > _LEAST_WEIGHT}
    if not weights or result.rate_is_known:
        return f"Assumed: {result.noise_source}."
    shown = "; ".join(f"{MODEL_WORDS[name]} {percent(w)}" for name, w in weights.items())
    words = {"positives": f"{result.positive!r}", "negatives": f"{result.negative!r}"}
    for plain, label in words.items():
        shown = shown.replace(plain, label)
    source = "" if result.noise_source.startswith("integrated out") else f" ({result.noise_source})"
    return f"Assumed, each with its weight: {shown}{source}."


def rows_to_check(result: AuditResult) -> int:
    """Return how many rows to ask for: never more than there are left."""
    return max(0, min(CHECK_ROWS, result.n_rows - result.n_checked))


def most_wrong_share(result: AuditResult) -> float:
    """Return the largest share of labels that may be wrong, if mistakes do not follow the columns.

    With checked rows it is what these leave, whatever mistakes follow.
    """
    if result.n_checked:
        return result.wrong_share.high
    bounds = most_wrong(result.noise_bounds, result.n_positive / result.n_rows)
    return max(bounds, result.wrong_share.value)


def shown_limits(result: AuditResult) -> list[tuple[float, float]]:
    """Return the limits of the rates that pictures show: where labels look right, the bounds."""
    limits = [tuple(pair) for pair in np.reshape(result.noise_interval, (-1, 2)).tolist()]
    if result.state != "clean" or result.n_checked or result.rate_is_known:
        return limits
    high = np.broadcast_to(result.noise_bounds.high, 2)[: len(limits)]
    rates = np.broadcast_to(result.noise_rate, 2)[: len(limits)]
    return [(0.0, float(max(pair))) for pair in zip(high, rates, strict=True)]


def wrong_rows(result: AuditResult) -> str:
    """Return how many labels are wrong, as far as that can be told.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from flipcost.core.confusion import Interval
    >>> found = SimpleNamespace(n_rows=1000, state="noisy", wrong_share=Interval(0.2, 0.1, 0.3))
    >>> wrong_rows(found)
    '200 (100 to 300)'
    """
    value, low, high = (
        round(result.n_rows * x)
        for x in (result.wrong_share.value, result.wrong_share.low, result.wrong_share.high)
    )
    limits = f"{low:,} to {high:,}"
    return limits if result.state == "undecided" else f"{value:,} ({limits})"


def model_words(result: AuditResult) -> str:
    """Say what to use, in the imperative."""
    best = result.best
    if best.key not in ("flipcost", "all_positive", "all_negative"):
        return f"use {best.label}"
    if result.chosen == "rule":
        return "use this model"
    label = result.positive if result.chosen == "all_positive" else result.negative
    return f"answer {label!r} always"


def _labels(result: AuditResult) -> str:
    """Say what can be said of the labels."""
    wrong = result.wrong_share
    if result.rate_is_known:
        return _given(result)
    limits = f"{band(wrong.low, wrong.high)}{_measured(result)}"
    rows, label = rarer_label(result)
    at_most = percent(max(most_wrong_share(result), 1e-9)).replace("under", "less than")
    return {
        "clean": f"The labels look right ({band(0.0, wrong.value)} seem wrong{_measured(result)}, "
        f"at most {at_most})",
        "noisy": f"About {percent(wrong.value)} of the labels are wrong ({limits}{_which(result)})",
        "undecided": f"{_anything(limits)} wrong, the table cannot tell",
        "no_signal": f"The columns say nothing about {result.target!r}, so that nothing can be "
        "said of mistakes in its labels",
        "small": f"Only {rows} rows are labelled {label!r}, too few to say how many labels are "
        "wrong",
    }[result.state]


def _anything(limits: str) -> str:
    """Begin a sentence on a share of which only limits are known."""
    if limits.startswith("up to"):
        return f"Anything {limits} of the labels may be"
    return f"Between {limits.replace(' to ', ' and ')} of the labels are"


def _use(result: AuditResult) -> str:
    """Say what to use, and what it saves."""
    rival, against = rival_of(result)
    saved = saving_words(rival.saving_likely, scale_of(result), against)
    what = model_words(result)
    if result.state == "small":
        return f"until there are more, {what}, which is a guess"
    if result.state == "undecided" and what == "use this model":
        what = "the safe choice is this model"
    if result.chosen != "rule" and result.best.key == "flipcost" and rival.saving_likely.low <= 0:
        return f"{what}, since no rule is estimated to cost less"
    if supposed(result).startswith("by"):
        saved = f"{supposed(result)} {saved}"
    return f"{what}, which {saved}"


def rarer_label(result: AuditResult) -> tuple[int, str]:
    """Return how many rows have the rarer label, and that label."""
    n_negative = result.n_rows - result.n_positive
    return min((result.n_positive, result.positive), (n_negative, result.negative))


def _given(result: AuditResult) -> str:
    rates = rate_pair(result.noise_rate)
    if rates[0] == rates[1]:
        return f"{percent(rates[0])} of the labels are taken to be wrong, as given"
    return (
        f"{percent(rates[0])} of the true {result.positive!r} and {percent(rates[1])} of the true "
        f"{result.negative!r} are taken to be labelled wrong, as given"
    )


def _by_class(result: AuditResult) -> str:
    limits = np.broadcast_to(result.noise_interval, (2, 2))
    return (
        f"Labelled wrong are {band(*limits[0])} of the true {result.positive!r} and "
        f"{band(*limits[1])} of the true {result.negative!r} ({percent(result.level)} intervals)."
    )


def _measured(result: AuditResult) -> str:
    return f", measured on {result.n_checked:,} checked rows" if result.n_checked else ""


def _which(result: AuditResult) -> str:
    """Say among which class more are wrong, where that is clear enough to say."""
    rates = rate_pair(result.noise_rate)
    if abs(rates[0] - rates[1]) < _APART:
        return ""
    names = (result.positive, result.negative)
    first = int(rates[1] > rates[0])
    return (
        f"; more among the true {names[first]!r}, {percent(rates[first])}, than among the true "
        f"{names[1 - first]!r}, {percent(rates[1 - first])}"
    )
