"""Columns that people leave in a table and would regret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.arrays import Array, Flags
from flipcost.exceptions import TableError, shorten

if TYPE_CHECKING:
    from flipcost.data._reader import ColumnReader

_MOST_LEVELS = 1000
_FEW_LEVELS = 50


def check_features(schema: list[dict[str, Any]], n_rows: int) -> None:
    """Refuse columns that cannot be used, all of them in one message.

    Parameters
    ----------
    schema : list of dict
        As found by `ColumnReader`.
    n_rows : int
        Number of rows.

    Returns
    -------
    None

    Examples
    --------
    >>> check_features([{"name": "age", "kind": "number"}, {"name": "note", "kind": "empty"}], 50)
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: Column 'note' is empty; `drop=['note']`, or
    `drop_unusable=True`.
    """
    problems = unusable_columns(schema, n_rows)
    if not problems:
        return
    parts = [_sentence(what, [n for n in problems if problems[n] == what]) for what in _WHAT]
    said = "; ".join(part for part in parts if part)
    drops = f"`drop={list(problems)}`, or " if len(problems) <= 5 else ""
    msg = f"{said}; {drops}`drop_unusable=True`."
    raise TableError(msg)


def unusable_columns(schema: list[dict[str, Any]], n_rows: int) -> dict[str, str]:
    """Return the names of columns that cannot be used, each with the reason.

    Examples
    --------
    >>> levels = [str(k) for k in range(10_000)]
    >>> unusable_columns([{"name": "name", "kind": "category", "levels": levels}], 20_000)
    {'name': 'levels'}
    """
    found = {}
    for column in schema:
        kind, levels = column["kind"], len(column.get("levels", ()))
        if kind in ("empty", "constant"):
            found[column["name"]] = kind
        elif levels > _MOST_LEVELS or (levels > _FEW_LEVELS and 2 * levels > n_rows):
            found[column["name"]] = "levels"
    return found


_WHAT = {
    "empty": ("is empty", "are empty"),
    "constant": ("has one value throughout", "have one value throughout"),
    "levels": (
        "has too many categories to learn from (text or an identifier?)",
        "have too many categories to learn from (text or identifiers?)",
    ),
}


def _sentence(what: str, names: list[str]) -> str:
    if not names:
        return ""
    one, many = _WHAT[what]
    listed = shorten(names)
    return f"Column {listed} {one}" if len(names) == 1 else f"Columns {listed} {many}"


def find_leaks(reader: ColumnReader, numbers: Array, positive: Flags) -> list[str]:
    """Return the names of columns that tell the label without a single mistake.

    Such a column is mostly the label itself under another name, or was filled in after it.

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
    list of str

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.data import ColumnReader
    >>> table = pa.table({"age": [50, 31, 40, 22] * 3, "code": ["A", "B", "A", "B"] * 3})
    >>> reader = ColumnReader().fit(table)
    >>> find_leaks(reader, reader.transform(table), np.array([True, False, True, False] * 3))
    ['code', 'age']
    """
    found: dict[str, str] = {}
    for j, (_, place) in enumerate(reader.sources()):
        column = reader.schema_[place]
        values = numbers[:, j]
        leaks = _separates if column["kind"] in ("number", "date") else _determines
        if column["kind"] not in ("empty", "constant") and leaks(values, positive):
            found.setdefault(column["name"], column["kind"])
    return sorted(found, key=lambda name: found[name] == "number")


def _separates(values: Array, positive: Flags) -> bool:
    """Whether a threshold parts the classes, in a column that most rows have."""
    known = ~np.isnan(values)
    above, below = values[known & positive], values[known & ~positive]
    if min(len(above), len(below)) < 5 or np.mean(known) < 0.5:
        return False
    return bool(above.min() > below.max() or above.max() < below.min())


def _determines(values: Array, positive: Flags) -> bool:
    """Whether each level is of one class; levels of few rows prove nothing."""
    codes, levels = np.unique(np.where(np.isnan(values), -2, values), return_inverse=True)
    rows = np.bincount(levels)
    hits = np.bincount(levels, weights=positive)
    return len(codes) * 5 <= len(values) and bool(np.all((hits == 0) | (hits == rows)))
