"""How many systematic label errors it takes to change a decision, and how many checks settle it.

Errors that follow the columns leave no trace in a table: nothing in it bounds them. But a decision
can be asked how many it survives. Spread evenly over the rows of a label, further errors change the
difference of two answers' costs in a straight line, so where it crosses nothing is a division.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from flipcost.core.arrays import Array, Flags
from flipcost.core.costs import RowCosts


@dataclass(frozen=True)
class BreakEven:
    """Shares of wrong labels, beyond random errors, at which another answer would cost less.

    Attributes
    ----------
    missed_positives : float or None
        Share of the rows labelled negative that would have to be positive; None where no share
        changes the decision.
    wrong_positives : float or None
        Share of the rows labelled positive that would have to be negative, likewise.
    n_checks : int or None
        Rows to check at random to tell, at one error in twenty either way, whether it is so; None
        where nothing changes the decision.
    """

    missed_positives: float | None
    wrong_positives: float | None
    n_checks: int | None


def break_even_errors(
    positive: ArrayLike,
    called: Mapping[str, Flags],
    paid: Mapping[str, float],
    chosen: str,
    costs: RowCosts,
    wrong: tuple[float, float],
    sample_weight: Array | None = None,
) -> BreakEven:
    """Return how many systematic errors it takes until another answer costs less than the chosen.

    `called` are the rows that each answer flags, `paid` what it is estimated to cost, and `wrong`
    the estimated shares of rows labelled negative, and positive, that are labelled wrong.
    """
    labels = np.asarray(positive, dtype=bool)
    weight = np.ones(len(labels)) if sample_weight is None else sample_weight
    share = np.array([weight[~labels].sum(), weight[labels].sum()]) / weight.sum()
    rise = {name: _rise(labels, calls, costs, weight) for name, calls in called.items()}
    found: list[float | None] = []
    checks = 0.0
    for k in (0, 1):
        crossings = [1.0]
        for name, slope in rise.items():
            fall = rise[chosen][k] - slope[k]
            if name != chosen and fall > 0:
                crossings.append(max(paid[name] - paid[chosen], 0.0) / fall)
        least, room = min(crossings), 1 - wrong[k]
        found.append(least if least < room else None)
        if least < room:
            checks = max(checks, _rows_to_tell(wrong[k], wrong[k] + least) / max(share[k], 1e-9))
    return BreakEven(found[0], found[1], int(np.ceil(min(checks, 1e9))) or None)


def _rise(labels: Flags, called: Flags, costs: RowCosts, weight: Array) -> tuple[float, float]:
    """Return what a row costs more if all labels of one kind are wrong: negatives, positives."""
    turned = np.where(called, -costs.alarm, costs.miss) * np.where(labels, -weight, weight)
    total = weight.sum()
    return float(turned[~labels].sum() / total), float(turned[labels].sum() / total)


def _rows_to_tell(one: float, other: float) -> float:
    """Return how many rows tell two shares apart, at one error in twenty either way."""
    gap, far = other - one, float(ndtri(0.95))
    if gap <= 0:
        return np.inf
    spread = far * (np.sqrt(one * (1 - one)) + np.sqrt(other * (1 - other)))
    # As many as rule the other share out when none is found wrong, at least.
    return float(max((spread / gap) ** 2, np.log(0.05) / np.log1p(-min(other, 1 - 1e-9))))
