"""The figures at the top of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.noise import rate_pair
from flipcost.estimators.flipcost.summary import band, percent
from flipcost.report._numbers import more_or_less, scale_of, span
from flipcost.report._state import most_wrong_share, rival_of, supposed, wrong_rows

if TYPE_CHECKING:
    from flipcost.audit import AuditResult
    from flipcost.core.confusion import Interval


def tiles(result: AuditResult) -> list[tuple[str, str, str]]:
    """Return the figures at the top: what it is, the figure, what stands under it."""
    scale, best = scale_of(result), result.best
    under = supposed(result)
    cost, limits = _value_and_limits(best.likely, scale)
    limits = f"{limits} {under}".rstrip()
    # Where nothing can be said of mistakes there is but one cost.
    on_clean = "" if under.startswith("by") else " on clean labels"
    found = [_noise_tile(result), (f"cost of 1,000 rows{on_clean}", cost, limits)]
    rival, words = rival_of(result)
    if np.any(rival.called != best.called):
        found.append((f"saved against {words}", *_saved(rival.saving_likely, scale)))
    if result.state in ("noisy", "undecided") and not result.rate_is_known:
        number, _, limits = wrong_rows(result).partition(" (")
        under = f"of {result.n_rows:,} rows" + (f"; {limits.rstrip(')')}" if limits else "")
        found.append(("rows labelled wrong", number, under))
    return found


def _value_and_limits(found: Interval, scale: float) -> tuple[str, str]:
    value, limits = span(found, scale).split(" ", 1)
    return value, limits.strip("()")


def _saved(saving: Interval, scale: float) -> tuple[str, str]:
    """Return what is saved, and its limits: no figure where nobody can tell who is cheaper."""
    if saving.value <= 0 <= saving.high:
        return "nothing sure", f"{more_or_less(saving, scale)} per 1,000 rows"
    value, limits = _value_and_limits(saving, scale)
    return value, limits if saving.low >= 0 or saving.high < 0 else more_or_less(saving, scale)


def _noise_tile(result: AuditResult) -> tuple[str, str, str]:
    """Return the figure of the noise: no number where none can be told."""
    wrong, whose = result.wrong_share, "labels that are wrong"
    if result.rate_is_known:
        rates = rate_pair(result.noise_rate)
        if rates[0] != rates[1]:
            whose = f"true {result.positive!r} / {result.negative!r} labelled wrong"
            return whose, " / ".join(percent(rate) for rate in rates), "as given"
        return whose, percent(rates[0]), "as given"
    limits = band(wrong.low, wrong.high)
    if result.n_checked:
        limits += f", measured on {result.n_checked:,} checked rows"
    at_most = f"at most {percent(most_wrong_share(result))}"
    return {
        "clean": (whose, band(0.0, wrong.value), limits if result.n_checked else at_most),
        "noisy": (whose, percent(wrong.value), limits),
        "undecided": (whose, band(wrong.low, wrong.high), "the table cannot tell"),
        "no_signal": ("share of wrong labels", "unknown", "the columns say nothing"),
        "small": ("share of wrong labels", "unknown", "too few rows of a label"),
    }[result.state]
