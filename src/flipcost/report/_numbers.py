"""How numbers are written, on the screen and in the report: one style."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flipcost.core.confusion import Interval

if TYPE_CHECKING:
    from flipcost.audit import AuditResult

# Amounts below this are written with decimals.
_WHOLE = 10.0
# Of amounts from here on, three figures are said: more would be finer than any interval.
_LARGE = 10_000.0


def money(amount: float) -> str:
    """Return an amount in the user's prices, as exact as it is of use.

    Examples
    --------
    >>> money(1234.5), money(2.53), money(0.001), money(-40.2)
    ('1,234', '2.5', 'less than 0.1', '-40')
    >>> money(123_456.7)
    '123,000'
    """
    if 0 <= amount < 0.1:
        return "less than 0.1"
    return f"{shown(amount):,.0f}" if abs(amount) >= _WHOLE else f"{amount:,.1f}"


def shown(amount: float) -> float:
    """Return an amount as it is shown: of a large one, three figures.

    Examples
    --------
    >>> shown(1234.5), shown(123_456.7), shown(-45_670.0)
    (1234.5, 123000.0, -45700.0)
    """
    return float(f"{amount:.3g}") if abs(amount) >= _LARGE else amount


def amounts(*values: float) -> list[str]:
    """Return amounts that stand together, all with as many decimals.

    Examples
    --------
    >>> amounts(100.4, 5.0), amounts(1.5, -0.001)
    (['100', '5'], ['1.50', '0.00'])
    """
    digits = 0 if max(map(abs, values)) >= _WHOLE else 2
    # Adding zero turns what would print as -0 into 0.
    return [f"{round(shown(x), digits) + 0.0:,.{digits}f}" for x in values]


def span(interval: Interval, scale: float) -> str:
    """Return a value with its interval, scaled.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> span(Interval(0.1, 0.05, 0.2), 1000)
    '100 (50 to 200)'
    """
    value, low, high = amounts(*(scale * x for x in (interval.value, interval.low, interval.high)))
    return f"{value} ({low} to {high})"


def unbroken(text: str) -> str:
    """Return a figure whose interval stays on one line.

    Examples
    --------
    >>> unbroken("100 (50 to 200)").split()
    ['100', '(50', 'to', '200)']
    >>> unbroken("100 (50 to 200)").split(" ")[0]
    '100'
    """
    value, opened, limits = text.partition(" (")
    return value + opened + limits.replace(" ", "\u00a0")


def scale_of(result: AuditResult) -> float:
    """Return what turns a cost of the library into the user's prices of 1,000 rows."""
    return 1000 * result.unit


def more_or_less(saving: Interval, scale: float) -> str:
    """Return the limits of a saving that may be a loss.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> more_or_less(Interval(-0.05, -0.1, 0.3), 1000)
    '300 less to 100 more'
    """
    less, more = amounts(scale * saving.high, -scale * saving.low)
    return f"{less} less to {more} more"


def saving_words(saving: Interval, scale: float, against: str) -> str:
    """Say what is saved against a rival, as sure as its interval is.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> saving_words(Interval(0.2, 0.1, 0.3), 1000, "always 'no'")
    "saves 200 per 1,000 rows (100 to 300) against always 'no'"
    >>> saving_words(Interval(-0.018, -0.033, -0.003), 1000, "boosting")
    'costs 18 more per 1,000 rows (3 to 33) than boosting'
    >>> saving_words(Interval(0.2, -0.05, 0.3), 1000, "it")
    'is estimated to save 200 per 1,000 rows against it (not certain: it costs 50 more to 300 less)'
    >>> saving_words(Interval(-0.05, -0.1, 0.3), 1000, "boosting")
    'costs about as much as boosting (per 1,000 rows 300 less to 100 more)'
    """
    if saving.high < 0:
        more = Interval(-saving.value, -saving.high, -saving.low)
        value, _, limits = span(more, scale).partition(" ")
        return f"costs {value} more per 1,000 rows {limits} than {against}"
    value, low, high = amounts(*(scale * x for x in (saving.value, saving.low, saving.high)))
    if saving.low > 0:
        return f"saves {value} per 1,000 rows ({low} to {high}) against {against}"
    if saving.value > 0 and float(value.replace(",", "")) > 0:
        more_ = low.replace("-", "")
        return (
            f"is estimated to save {value} per 1,000 rows against {against} "
            f"(not certain: it costs {more_} more to {high} less)"
        )
    return f"costs about as much as {against} (per 1,000 rows {more_or_less(saving, scale)})"
