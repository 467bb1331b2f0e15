"""The data that the report carries, from which its script moves the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from flipcost.core.arrays import Array
from flipcost.core.noise import rate_pair
from flipcost.report._state import shown_limits

if TYPE_CHECKING:
    from flipcost.audit import AuditResult, Candidate


_LARGEST_RATE = 0.45
# Rates at which one class would be empty are not assumed, nor those close to them.
_REACH = 0.95
_STEPS = (0.005, 0.001, 0.0001)
_POSITIONS = 30


def make_payload(result: AuditResult) -> dict[str, Any]:
    """Return what the script needs, as plain data.

    Tables of counts at every cost of the grid say it all: a cost at an assumed noise rate is a
    small sum over four of them.
    """
    limits = np.mean(shown_limits(result), axis=0)
    return {
        "costs": [float(f"{c:.12g}") for c in result.costs],
        "index": result.cost_index,
        "priceFp": result.mean_prices[1],
        "reach": float(ndtri((1 + result.level) / 2)),
        "rate": assumed_rates(result) | {"low": float(limits[0]), "high": float(limits[1])},
        "candidates": [_candidate(c, result) for c in result.candidates],
    }


def assumed_rates(result: AuditResult) -> dict[str, Any]:
    """Return what the slider of the noise rate moves over.

    It moves the mean of the two rates; these keep the proportion that was estimated, so that no
    noise and the estimate are among what can be assumed. It ends before a class would be empty.
    """
    rates = np.array(rate_pair(result.noise_rate))
    middle = float(rates.mean())
    parts = rates / middle if middle > 1e-6 else np.ones(2)
    share = result.n_positive / result.n_rows
    room = [_REACH * x / part for x, part in zip((1 - share, share), parts, strict=True) if part]
    most = max(min(_LARGEST_RATE, *room), middle)
    step = next((s for s in _STEPS if most / s >= _POSITIONS), _STEPS[-1])
    return {
        "value": middle,
        "parts": [float(part) for part in parts],
        "most": float(max(np.floor(most / step + 1e-9) * step, middle)),
        "step": step,
    }


def _candidate(candidate: Candidate, result: AuditResult) -> dict[str, Any]:
    # Money where prices differ by row; the script counts in shares of mean prices.
    unit = result.unit * result.cost / result.mean_prices[1]
    likely = candidate.likely
    counts, squares = candidate.tables.counts, candidate.tables.squares
    same = np.array_equal(counts, squares)
    return {
        "key": candidate.key,
        "label": candidate.label,
        "likely": [unit * likely.value, unit * likely.low, unit * likely.high],
        "counts": _rounded(counts),
        "squares": None if same else _rounded(squares),
        "paid": None if candidate.paid is None else _rounded(candidate.paid.counts),
        "paidSquares": None if candidate.paid is None else _rounded(candidate.paid.squares),
    }


def _rounded(tables: Array) -> list[list[float]]:
    return [[float(f"{x:.10g}") for x in table.ravel()] for table in tables]
