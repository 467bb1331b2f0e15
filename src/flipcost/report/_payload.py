"""The data that the report carries, from which its script moves the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from flipcost.core.arrays import Array
from flipcost.core.noise import rate_pair

if TYPE_CHECKING:
    from flipcost.audit import AuditResult, Candidate


_LARGEST_RATE = 0.45
_STEP = 0.005


def make_payload(result: AuditResult) -> dict[str, Any]:
    """Return what the script needs, as plain data.

    Tables of counts at every cost of the grid say it all: a cost at an assumed noise rate is a
    small sum over four of them.
    """
    rho_pos, rho_neg = rate_pair(result.noise_rate)
    gap = rho_pos - rho_neg
    lowest = np.ceil(abs(gap) / 2 / _STEP) * _STEP
    middle = (rho_pos + rho_neg) / 2
    limits = np.reshape(result.noise_interval, (-1, 2)).mean(axis=0)
    return {
        "costs": [float(f"{c:.12g}") for c in result.costs],
        "index": result.cost_index,
        "priceFp": result.prices.fp - result.prices.tn,
        "reach": float(ndtri((1 + result.level) / 2)),
        "rate": {
            "value": float(middle),
            "low": float(limits[0]),
            "high": float(limits[1]),
            "gap": float(gap),
            "least": float(lowest),
            "most": _LARGEST_RATE,
            "step": _STEP,
        },
        "candidates": [_candidate(c) for c in result.candidates],
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    counts, squares = candidate.tables.counts, candidate.tables.squares
    same = np.array_equal(counts, squares)
    return {
        "key": candidate.key,
        "label": candidate.label,
        "counts": _rounded(counts),
        "squares": None if same else _rounded(squares),
    }


def _rounded(tables: Array) -> list[list[float]]:
    return [[float(f"{x:.10g}") for x in table.ravel()] for table in tables]
