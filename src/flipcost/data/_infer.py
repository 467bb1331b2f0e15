"""What a column holds: numbers, yes or no, dates, or categories."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flipcost.exceptions import TableError, shorten

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})
TRUE_WORDS = ("true", "yes", "t", "y")
# Day before month where both readings fit, as in most of the world; ISO comes first.
_DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
)
# A column of which at least this share, but not all, are numbers is a column of numbers with
# something wrong in it rather than one of categories that happen to look like numbers.
_MIXED_SHARE = 0.5


def describe_column(name: str, column: Any, *, categorical: bool = False) -> dict[str, Any]:
    """Find out what a column holds.

    Parameters
    ----------
    name : str
        Its name.
    column : pyarrow array
        Its values.
    categorical : bool, default=False
        Whether the user says that it holds categories, whatever they look like.

    Returns
    -------
    dict
        ``name``, ``kind`` (``"number"``, ``"boolean"``, ``"date"``, ``"category"``, or ``"empty"``
        and ``"constant"`` for columns that say nothing), and what is needed to read it again:
        ``levels`` or ``format``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> describe_column("when", pa.array(["2024-02-01", None, "2024-03-05"]))
    {'name': 'when', 'kind': 'date', 'format': '%Y-%m-%d'}
    >>> describe_column("town", pa.array(["Lyon", "Paris", "Lyon"]))
    {'name': 'town', 'kind': 'category', 'levels': ['Lyon', 'Paris']}
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return {"name": name, "kind": "empty"}
    if _is_constant(column):
        return {"name": name, "kind": "constant"}
    if categorical:
        return _category(name, column.cast(pa.string()))
    if pa.types.is_boolean(kind):
        return {"name": name, "kind": "boolean"}
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return {"name": name, "kind": "number"}
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind) and not pa.types.is_time(kind):
        return {"name": name, "kind": "date", "format": None}
    if pa.types.is_duration(kind):
        return {"name": name, "kind": "number"}
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or "string_view" in str(kind):
        return _describe_text(name, column.cast(pa.string()))
    msg = f"Column {name!r} holds values of type {kind}, which cannot be used; `drop={[name]}`."
    raise TableError(msg)


def _is_constant(column: Any) -> bool:
    """Whether all values are the same and none is missing, found by one comparison."""
    if column.null_count:
        return False
    try:
        return bool(pc.all(pc.equal(column, column[0])).as_py())
    except NotImplementedError:  # nested values, refused later
        return False


def _describe_text(name: str, column: Any) -> dict[str, Any]:
    distinct = pc.unique(column.drop_null())
    words = {word.lower() for word in distinct.slice(0, 5).to_pylist()} if len(distinct) < 5 else ()
    if words and any(words <= pair for pair in _BOOLEANS):
        return {"name": name, "kind": "boolean"}
    numeric = pc.match_substring_regex(distinct, _NUMBER)
    share = pc.mean(numeric).as_py()
    if share == 1:
        return {"name": name, "kind": "number"}
    if share >= _MIXED_SHARE and len(distinct) > 2:
        strange = distinct.filter(pc.invert(numeric)).to_pylist()
        line = pc.index(column, strange[0]).as_py() + 2
        msg = (
            f"Column {name!r} mixes numbers with {shorten(strange, 3)} (first in line {line}); "
            f"correct or empty these, or give `categorical={[name]}` or `drop={[name]}`."
        )
        raise TableError(msg)
    written = _date_format(distinct)
    if written:
        return {"name": name, "kind": "date", "format": written}
    return _category(name, column)


def _date_format(distinct: Any) -> str | None:
    """Return the format that reads every value, if there is one."""
    if not pc.all(pc.match_substring_regex(distinct, r"^\d{1,4}[-/.]\d{1,2}[-/.]\d")).as_py():
        return None
    for written in _DATE_FORMATS:
        if not pc.strptime(distinct, written, "s", error_is_null=True).null_count:
            return written
    return None


def _category(name: str, column: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "category",
        "levels": sorted(pc.unique(column.drop_null()).to_pylist()),
    }
