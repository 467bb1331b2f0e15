"""Prices of rows from the columns of a table, whichever way it was read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from flipcost.core.arrays import Array
from flipcost.core.costs import Costs
from flipcost.core.prices import Prices
from flipcost.data.arrow import as_arrow, take_column
from flipcost.exceptions import TableError, unknown_column


def price_columns(costs: Costs, names: list[str], where: str) -> list[str]:
    """Return the columns that prices are made of, all of which must be there.

    Parameters
    ----------
    costs : Costs
        The prices.
    names : list of str
        The columns of the table.
    where : str
        What the table is called in messages.

    Examples
    --------
    >>> price_columns(Costs(fn="0.8*amount + 12", fp=5), ["age", "amount"], "a.csv")
    ['amount']
    """
    try:
        needed = costs.columns(names)
    except ValueError as error:
        raise TableError(str(error)) from error
    for name in needed:
        if name not in names:
            raise unknown_column(name, names, where)
    return needed


def row_prices(costs: Any, table: Any, where: str) -> Prices | None:
    """Return the prices of the rows of a table, or None where they are the same for all.

    Parameters
    ----------
    costs : Costs or anything else
        The prices; whatever is no `Costs` has none by row.
    table : pyarrow, pandas or polars table
        The rows; columns of text that hold numbers count as these.
    where : str
        What the table is called in messages.

    Examples
    --------
    >>> table = pa.table({"amount": ["10", "500"]})
    >>> row_prices(Costs(fn="amount", fp=5), table, "a.csv").threshold.round(3)
    array([0.333, 0.01 ])
    """
    if not isinstance(costs, Costs) or not costs.is_by_row:
        return None
    arrow = as_arrow(table)
    needed = price_columns(costs, arrow.column_names, where)
    frame: Any = {name: _numbers(take_column(arrow, name, where), name) for name in needed}
    if any(callable(getattr(costs, name)) for name in ("fn", "fp", "tp", "tn")):
        frame = _Columns(table, frame)
    try:
        return costs.by_row(frame, arrow.num_rows)
    except ValueError as error:
        raise TableError(str(error)) from error


class _Columns(dict):  # type: ignore[type-arg]
    """Columns that were read, and all others as the table has them, for callables."""

    def __init__(self, table: Any, read: dict[str, Array]) -> None:
        super().__init__(read)
        self._table = table

    def __missing__(self, name: str) -> Any:
        return self._table[name]


def _numbers(column: Any, name: str) -> Array:
    try:
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (ValueError, NotImplementedError) as error:
        msg = f"Column {name!r} must hold numbers to serve as a price."
        raise TableError(msg) from error
    return np.asarray(values, dtype=float)
