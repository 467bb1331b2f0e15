"""What `summary.json` says of decisions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flipcost.audit._result import AuditResult
    from flipcost.core.confusion import Interval


def decisions_summary(result: AuditResult) -> dict[str, Any]:
    """Return what was found on decisions as plain data, money for each row."""
    found, unit = result.decisions, result.unit
    assert found is not None  # noqa: S101 - asked by the caller
    curve = found.curve
    return {
        "curve": {
            "depth": curve.depth.tolist(),
            **{name: values.tolist() for name, values in curve.clean.items()},
            "observed": {name: values.tolist() for name, values in curve.observed.items()},
        },
        "capacity": found.capacity,
        "called": [asdict(one) for one in found.called],
        "by": found.by,
        "segments": [asdict(segment) for segment in found.segments],
        "ranges": [
            {
                "price": one.name,
                "low": one.low,
                "high": one.high,
                "cost_low": _money(one.cost[0], unit),
                "cost_middle": _money(one.cost[1], unit),
                "cost_high": _money(one.cost[2], unit),
                "regret_low": _money(one.regret[0], unit),
                "regret_high": _money(one.regret[1], unit),
                "calls_changed_low": one.changes[0],
                "calls_changed_high": one.changes[1],
                "switch": one.switch,
                "switch_to": one.switch_to,
                "turns": [{"low": low, "high": high, "to": to} for low, high, to in one.turns],
            }
            for one in found.ranges
        ],
    }


def _money(found: Interval, unit: float) -> dict[str, float]:
    return {"value": unit * found.value, "low": unit * found.low, "high": unit * found.high}
