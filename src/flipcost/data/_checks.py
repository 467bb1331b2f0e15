"""Columns that people leave in a table and would regret."""

from __future__ import annotations

from typing import Any

from flipcost.exceptions import TableError, shorten

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
