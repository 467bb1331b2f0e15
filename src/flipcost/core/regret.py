"""Minimax regret: a choice that is never far from the best, whatever the noise rate is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regret:
    """Regret of candidates over states of the world, and the candidate whose worst is least.

    Attributes
    ----------
    cost : ndarray of shape (n_states, n_candidates)
        Cost of each candidate in each state.
    regret : ndarray of shape (n_states, n_candidates)
        How much more it costs than the best candidate of that state.
    worst : ndarray of shape (n_candidates,)
        Largest regret of each candidate.
    chosen : int
        The candidate with the least of these; the first one in a tie.
    """

    cost: Array
    regret: Array
    worst: Array
    chosen: int


def minimax_regret(cost: ArrayLike) -> Regret:
    """Choose by minimax regret from a table of costs, states by candidates.

    Examples
    --------
    >>> minimax_regret([[1.0, 2.0, 1.4], [3.0, 1.0, 1.5]]).chosen
    2
    """
    table = np.asarray(cost, dtype=float)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        msg = f"`cost` must be a finite table, states by candidates; got shape {table.shape}."
        raise ValueError(msg)
    regret = table - table.min(axis=1, keepdims=True)
    worst = regret.max(axis=0)
    return Regret(table, regret, worst, int(np.argmin(worst)))
