"""What is said first: what can be said of the labels, and what to do.

Which of five states holds (`AuditResult.state`) decides the first sentence, the headline figures
and the advice. No share is shown that no table could tell from none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.noise import rate_pair
from flipcost.estimators.flipcost.fit import most_wrong
from flipcost.estimators.flipcost.summary import CHECK_ROWS, MODEL_WORDS, band, percent

if TYPE_CHECKING:
    from flipcost.audit import AuditResult

# Models of the noise with less weight than this are not named.
_LEAST_WEIGHT = 0.005
# Two rates are told apart when they differ by this much.
_APART = 0.05
# Rows of a label with which something can be said of noise.
_ENOUGH_ROWS = 20


def headline(result: AuditResult) -> str:
    """Say in a sentence or two what holds, and what to do.

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
    >>> print(headline(audit(table, "ill", 0.2))[:46])
    The columns say nothing about 'ill': no score
    """
    if result.rate_is_known:
        return f"{_given(result)} {_choice(result, 'ignoring')}"
    return {
        "clean": _clean,
        "noisy": _noisy,
        "undecided": _undecided,
        "no_signal": _no_signal,
        "small": _small,
    }[result.state](result)


def rate_sentence(result: AuditResult) -> str:
    """Say how many labels of each class are wrong, how surely, and what was assumed."""
    if result.rate_is_known:
        return f"{_given(result)} A wrong rate would go unnoticed."
    parts = []
    if result.state in ("noisy", "undecided") or result.n_checked:
        parts.append(_by_class(result))
    if result.n_checked:
        parts.append(f"Measured on {result.n_checked:,} checked rows.")
    elif result.state not in ("no_signal", "small"):
        parts.append(bounds_sentence(result))
    return " ".join([*parts, assumed_sentence(result)])


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


def _clean(result: AuditResult) -> str:
    seem = f"{band(0.0, result.wrong_share.value)} seem wrong{_measured(result)}"
    at_most = percent(max(most_wrong_share(result), 1e-9)).replace("under", "less than")
    return f"The labels look right: {seem}, at most {at_most}. {_choice(result, 'constant')}"


def _noisy(result: AuditResult) -> str:
    wrong = result.wrong_share
    said = f"About {percent(wrong.value)} of the labels are wrong ({band(wrong.low, wrong.high)}"
    said += f"{_measured(result)}{_which(result)}). {_choice(result, 'ignoring')}"
    return f"{said} Check the suspicious rows first." if result.suspects else said


def _undecided(result: AuditResult) -> str:
    wrong = result.wrong_share
    rows = rows_to_check(result)
    more = "more " if result.n_checked else ""
    decide = f"; checking {rows:,} {more}rows decides." if rows else "."
    return (
        f"Between {band(wrong.low, wrong.high).replace(' to ', ' and ')} of the labels are wrong"
        f"{_measured(result)}: the table cannot tell. The safe choice is {_chosen(result)}, which "
        f"averages over what is possible{decide}"
    )


def _no_signal(result: AuditResult) -> str:
    constants = [result.candidate(key) for key in ("all_positive", "all_negative")]
    cheaper = min(constants, key=lambda c: c.clean.value)
    return (
        f"The columns say nothing about {result.target!r}: no score orders its labels better than "
        f"chance. The cheaper answer is {cheaper.label}; nothing can be said of mistakes in the "
        "labels."
    )


def _small(result: AuditResult) -> str:
    n_negative = result.n_rows - result.n_positive
    rows, label = min((result.n_positive, result.positive), (n_negative, result.negative))
    return (
        f"Only {rows} rows are labelled {label!r}, too few to say how many labels are wrong: at "
        f"least {_ENOUGH_ROWS} are needed, some hundreds are better. Until then {_chosen(result)} "
        "is a guess."
    )


def _given(result: AuditResult) -> str:
    rates = rate_pair(result.noise_rate)
    if rates[0] == rates[1]:
        return f"{percent(rates[0])} of the labels are taken to be wrong, as given."
    return (
        f"{percent(rates[0])} of the true {result.positive!r} and {percent(rates[1])} of the true "
        f"{result.negative!r} are taken to be labelled wrong, as given."
    )


def _by_class(result: AuditResult) -> str:
    limits = np.broadcast_to(result.noise_interval, (2, 2))
    return (
        f"Labelled wrong are {band(*limits[0])} of the true {result.positive!r} and "
        f"{band(*limits[1])} of the true {result.negative!r} ({result.level:.0%} intervals)."
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


def _chosen(result: AuditResult) -> str:
    if result.chosen == "rule":
        return "this model"
    label = result.positive if result.chosen == "all_positive" else result.negative
    return f"always {label!r}"


def _choice(result: AuditResult, rival: str) -> str:
    """Say what to use, and what it saves."""
    scale = 1000 * result.unit
    against = "ignoring the noise"
    other = result.candidate("ignoring")
    if rival == "constant":
        constants = [result.candidate(key) for key in ("all_positive", "all_negative")]
        other = min(constants, key=lambda c: c.clean.value)
        against = other.label
    saved = scale * other.saving.value
    if result.chosen != "rule":
        return f"Answer {_chosen(result)}: no rule is estimated to cost less."
    if saved <= 0:
        return f"Use this model; {against} would cost no more."
    sure = "" if other.saving.low > 0 else " (not certain)"
    return f"Use this model: it saves {money(saved)} per 1,000 rows against {against}{sure}."


def money(amount: float) -> str:
    """Return an amount in the user's prices, as exact as it is of use.

    Examples
    --------
    >>> money(1234.5), money(2.53), money(0.001)
    ('1,234', '2.5', 'less than 0.1')
    """
    if 0 <= amount < 0.1:
        return "less than 0.1"
    return f"{amount:,.0f}" if amount >= 10 else f"{amount:,.1f}"
