"""Columns that tell the label too well: its copies, nearly so, and numbers of rows in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from flipcost.core.arrays import Array, Flags
    from flipcost.data._reader import ColumnReader

Leak: TypeAlias = Literal["label", "nearly", "id"]
# A column tells the label nearly when it alone orders the rows this well, or decides so many.
_NEARLY = 0.98
# Rows of each class, and of a level, that prove something.
_FEW_ROWS, _LEVEL_ROWS = 5, 5
# A number that is of one row each tells the label when it orders rows this well, beyond chance.
_ORDERED, _BEYOND_CHANCE = 0.6, 5.0
# Numbers of rows: all different, and taken from no more than so many times as many.
_DIFFERENT, _DENSE = 0.99, 3.0


def find_leaks(reader: ColumnReader, numbers: Array, positive: Flags) -> dict[str, Leak]:
    """Return the names of columns that tell the label, and how.

    Parameters
    ----------
    reader : ColumnReader
        Fitted.
    numbers : ndarray of shape (n, n_numbers)
        What it read.
    positive : ndarray of bool, shape (n,)
        Which labels are positive.

    Returns
    -------
    dict of str to {"label", "nearly", "id"}
        Columns that tell the label without a mistake, nearly so, or that number the rows and yet
        tell it, the surest first.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.data import ColumnReader
    >>> table = pa.table({"age": [50, 31, 40, 22] * 3, "code": ["A", "B", "A", "B"] * 3})
    >>> reader = ColumnReader().fit(table)
    >>> find_leaks(reader, reader.transform(table), np.array([True, False, True, False] * 3))
    {'code': 'label', 'age': 'label'}
    """
    found: dict[str, tuple[int, bool, Leak]] = {}
    for j, (_, place) in enumerate(reader.sources()):
        column = reader.schema_[place]
        kind = column["kind"]
        if kind in ("empty", "constant"):
            continue
        ordered = kind in ("number", "date")
        leak = (_of_numbers if ordered else _of_levels)(numbers[:, j], positive)
        if leak is not None:
            surest = ("label", "nearly", "id").index(leak)
            known = found.get(column["name"], (9, False, leak))
            found[column["name"]] = min(known, (surest, ordered, leak))
    return {name: found[name][2] for name in sorted(found, key=lambda name: found[name][:2])}


def _of_numbers(values: Array, positive: Flags) -> Leak | None:
    """Say how well a threshold parts the classes, in a column that most rows have."""
    known = ~np.isnan(values)
    above, below = values[known & positive], values[known & ~positive]
    if min(len(above), len(below)) < _FEW_ROWS or np.mean(known) < 0.5:
        return None
    if above.min() > below.max() or above.max() < below.min():
        return "label"
    area = _area(above, below)
    if area > _NEARLY:
        return "nearly"
    error = np.sqrt((len(above) + len(below) + 1) / (12 * len(above) * len(below)))
    told = area > _ORDERED and area - 0.5 > _BEYOND_CHANCE * error
    return "id" if told and _numbers_rows(values[known]) else None


def _area(above: Array, below: Array) -> float:
    """Return the area under the curve of a column, in whichever direction it is larger."""
    order = np.unique(np.concatenate([above, below]), return_inverse=True)[1]
    counts = np.bincount(order)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[order[: len(above)]]
    area = (ranks.sum() - len(above) * (len(above) + 1) / 2) / (len(above) * len(below))
    return float(max(area, 1 - area))


def _numbers_rows(values: Array) -> bool:
    """Tell whether values are whole, hardly any twice, and dense or in the order of the rows."""
    if not np.all(values == np.round(values)):
        return False
    if len(np.unique(values)) < _DIFFERENT * len(values):
        return False
    in_order = abs(np.mean(np.sign(np.diff(values)))) > _DIFFERENT
    return bool(in_order or values.max() - values.min() < _DENSE * len(values))


def _of_levels(values: Array, positive: Flags) -> Leak | None:
    """Say how many rows the commoner class of each level decides, if levels have rows enough."""
    codes, levels = np.unique(np.where(np.isnan(values), -2, values), return_inverse=True)
    rows = np.bincount(levels)
    hits = np.bincount(levels, weights=positive)
    if len(codes) * _LEVEL_ROWS > len(values):
        return None
    if np.all((hits == 0) | (hits == rows)):
        return "label"
    # Each class must be told: a rare one is no mistake of a column that says "no" always.
    mostly = 2 * hits > rows
    right = (hits[mostly].sum() / hits.sum(), (rows - hits)[~mostly].sum() / (rows - hits).sum())
    return "nearly" if sum(right) / 2 > _NEARLY else None
