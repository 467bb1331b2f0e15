"""The data that the report carries, from which its script moves the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from flipcost.core.arrays import Array
from flipcost.core.noise import rate_pair

if TYPE_CHECKING:
    from flipcost.audit import Candidate, Findings


# Two rates together leave something of what labels tell.
_LARGEST_SUM = 0.9
# Rates that are impossible are not assumed, nor those close to them.
_REACH = 0.95
# How far the axis goes on beyond the last rate that is possible.
_BEYOND = 1.12
_STEPS = (0.005, 0.001, 0.0001)
_POSITIONS = 30


def make_payload(result: Findings) -> dict[str, Any]:
    """Return what the script needs, as plain data.

    Tables of counts at every cost of the grid say it all: a cost at an assumed noise rate is a
    small sum over four of them.
    """
    return {
        "costs": [float(f"{c:.12g}") for c in result.priced.costs],
        "index": result.priced.cost_index,
        "priceFp": result.priced.mean_prices[1],
        "reach": float(ndtri((1 + result.level) / 2)),
        "rate": assumed_rates(result),
        "candidates": [_candidate(c, result) for c in result.models.candidates],
    }


def assumed_rates(result: Findings) -> dict[str, Any]:
    """Return what the sliders of the error rates move over: one for both labels, or one for each.

    They end where rates become impossible: where a class would be empty, or where labels would be
    more mixed than they are in the purest rows. No noise and the estimate are always among what can
    be assumed.
    """
    one = result.labels.posterior.is_symmetric
    rates = np.array(rate_pair(result.labels.noise_rate))
    share = result.table.n_positive / result.table.n_rows
    room = np.minimum(np.broadcast_to(result.labels.noise_bounds.high, 2), [1 - share, share])
    most = np.minimum(_REACH * room, _LARGEST_SUM / 2) if room.sum() >= 1 else _REACH * room
    if one:
        most = np.full(2, most.min())
    most = np.maximum(most, rates)
    limits = result.labels.errors.rates[0].low, result.labels.errors.rates[0].high
    sides = [_side(float(rate), float(end)) for rate, end in zip(rates, most, strict=True)]
    return {
        "one": one,
        "value": [side["value"] for side in sides],
        "most": [side["most"] for side in sides],
        "step": [side["step"] for side in sides],
        # Of the first rate, which pictures are drawn against: its interval, the end of the axis.
        "low": float(limits[0]),
        "high": float(limits[1]),
        "axis": float(max(_BEYOND * sides[0]["most"], _STEPS[-1] * _POSITIONS)),
    }


def _side(rate: float, most: float) -> dict[str, float]:
    step = next((s for s in _STEPS if most / s >= _POSITIONS), _STEPS[-1])
    # Whole steps, and never less than one.
    end = max(np.floor(most / step + 1e-9), 1.0) * step
    return {"value": rate, "most": float(max(end, rate)), "step": step}


def _candidate(candidate: Candidate, result: Findings) -> dict[str, Any]:
    # Money where prices differ by row; the script counts in shares of mean prices.
    unit = result.unit * result.priced.cost / result.priced.mean_prices[1]
    likely = candidate.cost_if_random
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
