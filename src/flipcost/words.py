"""The one way to write figures: shares, costs, intervals and labels, wherever people read them.

Figures have two significant digits, more where an interval is narrow, fewer where it is wide. An
interval is written "value (low to high)", a share "19%", a label “yes”; `on_screen` turns the
quotation marks into those that any terminal can show.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flipcost.core.confusion import Interval
    from flipcost.core.label_errors import BreakEven, LabelErrors

# Smaller shares are not shown as numbers: no table can tell them from none.
LEAST_SHARE = 0.005
# Further wrong labels that are too few to speak of.
_HARDLY_ANY = 0.001
_MILLION = 1e6
_UNBROKEN = re.compile(r"\(-?[\d.,]+ to [^(),]{1,20}\)|--[a-z-]+ \S+")
# Answers that are the same for all rows.
CONSTANT_WORDS = {"all_positive": "every", "all_negative": "no"}


def percent(share: float) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> percent(0.123), percent(0.001), percent(0.0), percent(1.0)
    ('12%', 'under 0.5%', '0%', '100%')
    """
    return "under 0.5%" if 0 < share < LEAST_SHARE else f"{share:.0%}"


def shares(low: float, high: float) -> str:
    """Return an interval of shares.

    Examples
    --------
    >>> shares(0.1, 0.3), shares(0.001, 0.3), shares(0.0, 0.002), shares(0.2, 0.203)
    ('10 to 30%', 'up to 30%', 'under 0.5%', '20%')
    """
    if high < LEAST_SHARE:
        return percent(max(high, 1e-9))
    if low < LEAST_SHARE:
        return f"up to {percent(high)}"
    if percent(low) == percent(high):
        return percent(high)
    return f"{percent(low)[:-1]} to {percent(high)}"


def share_span(found: Interval) -> str:
    """Return a share with its interval.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> share_span(Interval(0.19, 0.12, 0.24)), share_span(Interval(0.19, 0.0, 0.24))
    ('19% (12 to 24%)', '19% (up to 24%)')
    """
    value, limits = percent(found.value), shares(found.low, found.high)
    return value if value == limits else f"{value} ({limits})"


def figure(value: float, step: float | None = None) -> str:
    """Return a number with two significant digits, or rounded to a step.

    Examples
    --------
    >>> figure(1234.5), figure(118.9), figure(2.53), figure(0.0123), figure(-40.2), figure(0.0)
    ('1,200', '120', '2.5', '0.012', '-40', '0')
    >>> figure(123_456.7), figure(118.9, 1), figure(-0.2, 1), figure(15_234_000.0), figure(2.0)
    ('120,000', '119', '0', '15 million', '2')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value + 0.0:g}"
    if step is None:  # alone, a figure needs no zeros that say how exact it is
        text, million, unit = figure(value, _order(value) / 10).partition(" million")
        return (text.rstrip("0").rstrip(".") if "." in text else text) + million + unit
    rounded, unit = round(value / step) * step, ""
    if abs(rounded) >= _MILLION and step >= _MILLION / 100:
        rounded, step, unit = rounded / _MILLION, step / _MILLION, " million"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    # Adding zero turns what would print as -0 into 0.
    return f"{round(rounded, digits) + 0.0:,.{digits}f}{unit}"


def figures(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a value and its limits with the digits that the interval bears out.

    Two significant digits each, but none finer than a tenth of the first digit of half its width,
    and as many as tell the ends of a narrow interval apart. From a half width of 1 on no decimals.

    Examples
    --------
    >>> figures(118.9, -41.3, 272.0), figures(382.0, 378.2, 386.4), figures(1031.0, 631.0, 1298.0)
    (('120', '-40', '270'), ('382', '378', '386'), ('1,000', '630', '1,300'))
    >>> figures(0.2, -5.04, 5.44), figures(154.0, 154.0, 154.0), figures(2.04e6, -2e5, 4.28e6)
    (('0', '-5', '5'), ('150', '150', '150'), ('2.0 million', '-0.2', '4.3 million'))
    """
    half, scale, unit = (high - low) / 2, 1.0, ""
    first = _order(half) if half > 0 else math.inf
    if max(abs(value), abs(low), abs(high)) >= _MILLION <= 100 * first:
        scale, unit = _MILLION, " million"
    finest = first / 10 if half > 0 else 0.0
    finest = max(finest, 1.0) if half >= 1 and not unit else finest

    def shown(x: float) -> str:
        step = max(finest, min(_order(x) / 10, first)) if x else 1.0
        return figure(x / scale, step / scale)

    # The unit of the limits is written once.
    return shown(value) + unit, shown(low), shown(high) + unit


def span(found: Interval, scale: float = 1.0) -> str:
    """Return a value with its interval, scaled.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> span(Interval(0.119, -0.041, 0.272), 1000)
    '120 (-40 to 270)'
    >>> span(Interval(13e6, 9.2e6, 17e6))
    '13 million (9.2 to 17 million)'
    """
    value, low, high = figures(scale * found.value, scale * found.low, scale * found.high)
    return f"{value} ({low} to {high})"


def label(name: object) -> str:
    """Return a label or the name of a column as sentences show it.

    Examples
    --------
    >>> label("yes")
    '“yes”'
    """
    return f"“{name}”"


def count(n: float, one: str, more: str | None = None) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row"), count(2, "is", "are")
    ('1 row', '1,200 rows', '2 are')
    """
    return f"{n:,.0f} {one if n == 1 else more or one + 's'}"


def capital(text: str) -> str:
    """Return a sentence with a capital letter.

    Examples
    --------
    >>> capital("if errors are random, ...")
    'If errors are random, ...'
    """
    return text[:1].upper() + text[1:]


def errors_sentence(
    errors: LabelErrors,
    target: str,
    names: tuple[str, str],
    rarer: tuple[int, str],
    source: str = "",
    subject: str = "the labels",
) -> str:
    """Say how many labels are wrong, and what that supposes.

    `target` is the column of labels, `names` are the negative and the positive label, and `rarer`
    counts the rows of the rarer one, all as a sentence shows them. `source` says what the rates
    were measured on, if not on these rows alone.
    """
    share = errors.share
    clean = f", by {count(errors.n_clean, 'clean test row')}" if errors.n_clean else ""
    if errors.is_given:
        pos, neg = (percent(rate.value) for rate in errors.rates)
        if pos == neg:
            return f"You set the error rate to {pos}; it was not tested."
        return (
            f"You set the error rates ({pos} of true {names[1]} rows, {neg} of true "
            f"{names[0]} rows); they were not tested."
        )
    if errors.state == "no_signal":
        return f"These columns do not predict {target}, so label errors cannot be estimated."
    if errors.state == "small":
        return (
            f"Only {count(rarer[0], 'row')} {'is' if rarer[0] == 1 else 'are'} labelled "
            f"{rarer[1]}: too few to estimate label errors."
        )
    source = count(errors.n_checked, "checked row") if errors.n_checked else source
    supposed = f", from {source}" if source else f" if errors are random{clean}"
    if errors.state == "clean":
        wrong = percent(max(share.value, 1e-9))
        wrong = wrong if wrong.startswith("under") else f"about {wrong}"
        most = f", at most {percent(share.high)}" if share.high >= LEAST_SHARE else ""
        return f"{capital(subject)} look clean: {wrong} wrong{most}{supposed}."
    wrong = f"{percent(share.value)} of {subject} are wrong"
    limits = shares(share.low, share.high) + supposed
    if errors.state == "noisy" and not source and share.low < LEAST_SHARE:
        return f"Best estimate: {wrong} ({limits}; systematic errors would come on top)."
    if errors.state == "noisy":
        return f"About {wrong} ({limits})."
    if source:
        return f"Best estimate: {wrong} ({limits})."
    most = percent(errors.most)
    wider = f"up to {most}" if most != percent(share.high) else "perhaps more"
    return (
        f"Best estimate: {wrong} ({limits}, {wider} if some are systematic). Only checked rows can "
        "settle it."
    )


def break_even_sentence(
    found: BreakEven | None, chosen: str, names: tuple[str, str], n_rows: int
) -> str:
    """Say how many systematic errors it takes to change a decision; nothing where it is not known.

    `names` are the negative and the positive labels, as a sentence shows them. More random checks
    than the table has rows are not asked for.

    Examples
    --------
    >>> from flipcost.core.label_errors import BreakEven
    >>> print(break_even_sentence(BreakEven(0.14, 0.3, 120), "rule", ("“no”", "“yes”"), 1000))
    Flagging all or none would be cheaper only if a further 14% of “no” labels or 30% of “yes”
    labels were wrong; 120 random checks would settle that.
    """
    if found is None:
        return ""
    both = zip((found.missed_positives, found.wrong_positives), names, strict=True)
    sides = [(share, name) for share, name in both if share is not None]
    if any(share < _HARDLY_ANY for share, _ in sides):  # the answers cost about the same as it is
        return ""
    # Drop a side that needs most labels of a class wrong, unless it is the only one.
    sides = [side for side in sides if side[0] < 0.5] or sides
    needed = " or ".join(
        f"{percent(share) if share >= 0.01 else f'{share:.1%}'} of {name} labels"
        for share, name in sides
    )
    constant = CONSTANT_WORDS.get(chosen)
    if not needed:
        best = f"Flagging {constant} row" if constant else "This model"
        return f"{best} is cheapest, however many errors are systematic."
    said = f"Flagging all or none would be cheaper only if a further {needed} were wrong"
    if constant:
        said = f"Flagging {constant} row is cheapest unless a further {needed} are wrong"
    n = found.n_checks
    if n is None or n > n_rows:
        return f"{said}."
    return f"{said}; {figure(n)} random check{'' if n == 1 else 's'} would settle that."


def on_screen(text: str) -> str:
    """Return text with the quotation marks that every terminal has.

    Examples
    --------
    >>> on_screen("labelled “yes”")
    'labelled "yes"'
    """
    return text.replace("“", '"').replace("”", '"')


def unbroken(text: str) -> str:
    r"""Return text whose intervals, and flags with their values, stay on one line.

    Examples
    --------
    >>> unbroken("100 (50 to 200)").split(" ")
    ['100', '(50\xa0to\xa0200)']
    """
    return _UNBROKEN.sub(lambda found: found[0].replace(" ", "\u00a0"), text)


def _order(value: float) -> float:
    """Return the power of ten at or below a value."""
    return float(10.0 ** math.floor(math.log10(abs(value)) + 1e-12))
