"""What is said first: the estimate, one recommendation against one rival, one next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core import priors
from flipcost.words import (
    CONSTANT_WORDS,
    LEAST_SHARE,
    capital,
    count,
    errors_sentence,
    figures,
    label,
    percent,
)

if TYPE_CHECKING:
    from flipcost.audit import Candidate, Findings
    from flipcost.core.confusion import Interval
    from flipcost.recheck import Batch

# Rows of a label with which something can be said of label errors.
ENOUGH_ROWS = 20
# Likely errors that are worth a look at once.
_REVIEW = 100
# A saving below this share of the width of its interval is a tie.
_TIE = 0.05
_BADGES = {
    "clean": "Labels look clean",
    "noisy": "Labels are noisy",
    "undecided": "Error rate uncertain",
    "no_signal": "No signal",
    "small": "Too few rows",
    "given": "Error rate set by you",
    "too_good": "Too good to be true",
}
_FEW_WRONG = "Some labels may be wrong"


@dataclass(frozen=True)
class Headline:
    """Three sentences that answer what an audit is asked.

    Attributes
    ----------
    kind : str
        The state of the labels, or "given" or "too_good".
    badge : str
        The answer in a few words.
    estimate, use, next : str
        How many labels are wrong; what to use, and what that saves; what to do next.
    """

    kind: str
    badge: str
    estimate: str
    use: str
    next: str

    @property
    def lines(self) -> tuple[str, str, str]:
        """The three sentences."""
        return self.estimate, self.use, self.next

    def __str__(self) -> str:
        return " ".join(self.lines)


def headline(result: Findings) -> Headline:
    """Say what holds of the labels, what to use, what it saves, and what is next."""
    if result.labels.leaks:
        return _too_good(result)
    kind = "given" if result.labels.errors.is_given else result.labels.errors.state
    badge = _FEW_WRONG if kind == "noisy" and _may_be_clean(result) else _BADGES[kind]
    return Headline(kind, badge, _estimate(result), _use(result), f"Next: {next_step(result)}.")


def _may_be_clean(result: Findings) -> bool:
    """Tell whether labels that are not clean by the rules may yet hold hardly any error."""
    measured = result.n_checked or measured_on(result)
    return not measured and result.labels.errors.share.low < LEAST_SHARE


def _too_good(result: Findings) -> Headline:
    leak, target = result.labels.leaks[0], label(result.table.target)
    columns = [one.column for one in result.labels.leaks]
    names = " and ".join(label(one) for one in columns)
    are, them = ("are", "them") if columns[1:] else ("is", "it")
    column, share = leak.column, percent(min(leak.explained, 0.99))
    said = {
        "label": f"{label(column)} alone predicts {target} without an error",
        "date": f"how long {label(column)} is after another date explains {share} of {target}",
        "row number": f"{label(column)} numbers the rows and yet predicts {target}",
    }.get(leak.kind, f"{label(column)} alone explains {share} of {target}")
    return Headline(
        "too_good",
        _BADGES["too_good"],
        f"Too good to be true: {said}.",
        f"Use no model yet: the figures below rest on {names}.",
        f"Next: find out whether {names} {are} known when the decision is made; if not, run again "
        f"without {them} (`drop={columns}`).",
    )


def next_step(result: Findings) -> str:
    """Say the one thing to do next, as the end of a sentence."""
    state, n = result.labels.errors.state, rows_to_check(result)
    more = "new " if result.n_checked else ""
    where = f" in {result.batch_file}" if result.batch_file else f" under {label('Rows to check')}"
    check = f"check the {count(n, f'{more}row')}{where}"
    if result.labels.errors.is_given:
        return f"{check} to test {_rates(result)}" if n else "deploy it"
    if state == "no_signal":
        return "add columns that separate the classes"
    if state == "small":
        name = label(rarer_label(result)[1])
        return f"label more rows, to at least {ENOUGH_ROWS} {name}, ideally several hundred"
    if state == "undecided" and n and (not result.n_checked or checks_pay(result)):
        return f"{check} to narrow that range"
    if state == "noisy" and n and checks_pay(result):
        return check
    if state == "noisy" and result.labels.suspects and not _checks_cost_more(result):
        wrong = min(_REVIEW, len(result.labels.suspects))
        listed = " in suspects.csv" if result.batch_file else ""
        return f"review the {count(wrong, 'likeliest error')}{listed}"
    rival = rival_of(result)
    is_tie = rival is not None and _is_tie(rival.saving_if_random)
    return "deploy whichever is easier to run" if is_tie else "deploy it"


def rows_to_check(result: Findings) -> int:
    """Return how many rows to check next; none where that costs more than it saves."""
    batch = result.recheck.batch
    return 0 if batch is None or _checks_cost_more(result) else len(batch.rows)


def _checks_cost_more(result: Findings) -> bool:
    """Tell whether checks were given a price above what the next ones save on these rows."""
    batch, price = result.recheck.batch, result.recheck.cost_check
    if batch is None or not price:
        return False
    return len(batch.rows) * price > _worth(batch) * batch.n_rows


def _worth(batch: Batch) -> float:
    """Return what checks may save a row: of the first ones not even the power of ten is known."""
    return batch.saving.value if batch.n_checked else batch.saving.high


def checks_pay(result: Findings) -> bool:
    """Tell whether checking the next rows is expected to save more than hardly anything."""
    batch = result.recheck.batch
    cost = result.unit * result.best.cost_if_random.value
    return batch is not None and _worth(batch) >= priors.LITTLE * cost


def rival_of(result: Findings) -> Candidate | None:
    """Return the cheapest of the others that decide otherwise; None where all decide alike."""
    best = result.best
    others = [c for c in result.models.candidates if np.any(c.flagged != best.flagged)]
    return min(others, key=lambda c: c.cost_if_random.value, default=None)


def saving_phrase(saving: Interval, scale: float, rival: str) -> str:
    """Say what is saved against a rival, as the end of a sentence.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> saving_phrase(Interval(0.2, -0.05, 0.3), 1000, "boosting")
    'saves about 200 per 1,000 rows over boosting (-50 to 300)'
    >>> saving_phrase(Interval(-0.006, -0.026, 0.009), 1000, "boosting")
    'costs about 6 more per 1,000 rows than boosting (-9 to 26)'
    >>> saving_phrase(Interval(-0.0002, -0.0114, 0.012), 1000, "boosting")
    'costs as much as boosting (-11 to 12)'
    """
    value, low, high = (scale * x for x in (saving.value, saving.low, saving.high))
    shown, first, last = figures(value, low, high)
    said = f"saves about {shown} per 1,000 rows over"
    if shown == "0":
        said = "costs as much as"
    elif value < 0:
        shown, first, last = figures(-value, -high, -low)
        said = f"costs about {shown} more per 1,000 rows than"
    return f"{said} {rival} ({first} to {last})"


def _estimate(result: Findings) -> str:
    table, (n_rarer, rarer) = result.table, rarer_label(result)
    return errors_sentence(
        result.labels.errors,
        label(table.target),
        (label(table.negative), label(table.positive)),
        (n_rarer, label(rarer)),
        measured_on(result),
        "the labels" if result.labels.pooled is None else "the pooled labels",
    )


def measured_on(result: Findings) -> str:
    """Return what the error rate was measured on, such as second labels; "" if on none."""
    source = result.labels.measured_on
    return f"the {source}" if source else ""


def _use(result: Findings) -> str:
    """Say what to use, and what it saves over the cheapest of the others."""
    best, rival, state = result.best, rival_of(result), result.labels.errors.state
    if state == "small":
        return "Treat this model as provisional."
    constant = CONSTANT_WORDS.get(result.models.chosen if best.key == "flipcost" else best.key)
    basis = "by recorded labels " if state == "no_signal" else ""
    basis = f"at {_rates(result)} " if result.labels.errors.is_given else basis
    what = f"Use {name_in_sentence(best)}"
    what = f"Flag {constant} row" if constant else what
    if rival is None:
        return f"{what}: no other model decides otherwise."
    saving, against = rival.saving_if_random, name_in_sentence(rival)
    saved = saving_phrase(saving, scale_of(result), against)
    if not _is_tie(saving):
        return f"{what}: {basis}{'that' if constant else 'it'} {saved}."
    if constant:
        return f"{what}: {basis}no model is clearly cheaper; that {saved}."
    name = name_in_sentence(best)
    return capital(f"{basis}no model is clearly cheaper: {name} {saved}. Use either.")


def _rates(result: Findings) -> str:
    return "that rate" if one_rate_given(result) else "those rates"


def one_rate_given(result: Findings) -> bool:
    """Tell whether the error rate that was given reads the same for both classes."""
    missed, wrong = (rate.value for rate in result.labels.errors.rates)
    return percent(missed) == percent(wrong)


def name_in_sentence(candidate: Candidate) -> str:
    """Return the name of a candidate as a sentence has it."""
    text = candidate.label.replace("flag ", "flagging ")
    return f"the {text}" if text.endswith(" model") else text


def _is_tie(saving: Interval) -> bool:
    return saving.value <= _TIE * (saving.high - saving.low) and saving.high >= 0


def scale_of(result: Findings) -> float:
    """Return what turns a cost of the library into the user's costs of 1,000 rows."""
    return 1000 * result.unit


def rarer_label(result: Findings) -> tuple[int, str]:
    """Return how many rows have the rarer label, and that label."""
    n_negative = result.table.n_rows - result.table.n_positive
    return min(
        (result.table.n_positive, result.table.positive), (n_negative, result.table.negative)
    )
