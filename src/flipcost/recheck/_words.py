"""Why a row is worth checking, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.recheck import CellChoice

# A label that is wrong with at least this probability is a reason of its own.
_LIKELY_WRONG = 0.4


def reasons(
    choice: CellChoice,
    rows: NDArray[np.intp],
    cost: float,
    names: tuple[Any, Any],
    *,
    random: bool = False,
    n_rows: int | None = None,
) -> tuple[str, ...]:
    """Return a reason for each row, the first that holds.

    Parameters
    ----------
    choice : CellChoice
        What checks are worth.
    rows : ndarray of int
        Which rows were drawn.
    cost : float
        Where decisions turn.
    names : pair
        The negative and the positive label.
    random : bool, default=False
        Whether all rows were as likely.
    n_rows : int, optional
        Rows of the table, where these represent more.

    Examples
    --------
    >>> from flipcost.core.noise_posterior import RatePosterior
    >>> from flipcost.core.recheck import value_checks
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> choice = value_checks([True, False] * 50, [0.05, 0.1] * 50, known, 0.3, 10)
    >>> reasons(choice, np.array([0]), 0.3, ("no", "yes"))
    ("label 'yes' is probably wrong (83%)",)
    """
    if random:
        return ("drawn at random",) * len(rows)
    return tuple(_reason(choice, int(row), cost, names, n_rows) for row in rows)


def _reason(
    choice: CellChoice, row: int, cost: float, names: tuple[Any, Any], n_rows: int | None
) -> str:
    cell = int(choice.cells.cell[row])
    label = names[int(choice.cells.label[cell])]
    wrong = float(choice.suspicion[row])
    if wrong >= _LIKELY_WRONG:
        sure = "is probably" if wrong >= 0.5 else "may be"
        return f"label {label!r} {sure} wrong ({100 * wrong:.0f}%)"
    low, high = float(choice.low[row]), float(choice.high[row])
    if low < cost < high:
        return (
            f"decision in doubt: {100 * low:.0f} to {100 * high:.0f}% of similar rows may be "
            f"{names[1]!r}; threshold {100 * cost:.0f}%"
        )
    alike = int(np.count_nonzero(choice.cells.cell == cell))
    if n_rows is not None:
        alike = max(1, round(n_rows * float(choice.cells.share[cell])))
    seen = int(choice.posterior.positives[cell] + choice.posterior.negatives[cell])
    checked = f"{seen:,} of them checked" if seen else "none of them checked"
    return f"represents {alike:,} rows labelled {label!r} with similar scores, {checked}"
