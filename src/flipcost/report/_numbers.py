"""How numbers are written, on the screen and in the report: one style."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flipcost.core.confusion import Interval

if TYPE_CHECKING:
    from flipcost.audit import AuditResult

# Amounts below this are written with decimals.
_WHOLE = 10.0


def money(amount: float) -> str:
    """Return an amount in the user's prices, as exact as it is of use.

    Examples
    --------
    >>> money(1234.5), money(2.53), money(0.001), money(-40.2)
    ('1,234', '2.5', 'less than 0.1', '-40')
    """
    if 0 <= amount < 0.1:
        return "less than 0.1"
    return f"{amount:,.0f}" if abs(amount) >= _WHOLE else f"{amount:,.1f}"


def amounts(*values: float) -> list[str]:
    """Return amounts that stand together, all with as many decimals.

    Examples
    --------
    >>> amounts(100.4, 5.0), amounts(1.5, -0.001)
    (['100', '5'], ['1.50', '0.00'])
    """
    digits = 0 if max(map(abs, values)) >= _WHOLE else 2
    # Adding zero turns what would print as -0 into 0.
    return [f"{round(x, digits) + 0.0:,.{digits}f}" for x in values]


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


def scale_of(result: AuditResult) -> float:
    """Return what turns a cost of the library into the user's prices of 1,000 rows."""
    return 1000 * result.unit


def saving_words(saving: Interval, scale: float, against: str) -> str:
    """Say what is saved against a rival, as sure as its interval is.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> saving_words(Interval(0.2, 0.1, 0.3), 1000, "always 'no'")
    "saves 200 per 1,000 rows (100 to 300) against always 'no'"
    >>> saving_words(Interval(-0.018, -0.033, -0.003), 1000, "boosting")
    'costs 18 more per 1,000 rows (3 to 33) than boosting'
    >>> saving_words(Interval(0.2, -0.1, 0.3), 1000, "boosting")
    'is estimated to save 200 per 1,000 rows against boosting (not certain: -100 to 300)'
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
        return (
            f"is estimated to save {value} per 1,000 rows against {against} (not certain: {low} to "
            f"{high})"
        )
    less, more_ = amounts(scale * saving.high, -scale * saving.low)
    return f"costs about as much as {against} (per 1,000 rows {less} less to {more_} more)"
