"""Which reading of the text the printed figures seem to come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flipcost.experiments.tables._results import Row


def parity_reading(cell: Row) -> str:
    """Return the reading that a printed cell is compared with in the summary.

    Examples
    --------
    >>> parity_reading({"table": "Ac_measure_cost", "dataset": "pima", "rho": 0.2,
    ...                 "method": "usq_regerm"})
    'half'
    """
    table, method = cell["table"], cell["method"]
    if table.startswith("eta_"):
        if method.startswith("kliep"):
            return "reference"
        return "five" if method == "knn" else "tuned"
    if table.startswith("cost_clean"):
        return "weight"
    if method == "usq_regerm":
        return "half" if table.endswith("_measure_cost") and cell["rho"] > 0 else "weight"
    return {"bayes": "exact", "mub_log": "rate known", "sw01_log": "rate known"}.get(
        method, "untouched"
    )
