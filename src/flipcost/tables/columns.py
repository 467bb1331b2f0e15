"""What a column holds, and which columns cannot be used or tell the label."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flipcost.exceptions import TableError, shorten
from flipcost.tables.arrow import as_text, is_text

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
# Ways to write numbers in text, by an example: what parts thousands, and the decimal mark.
NUMBER_STYLES = {
    "1234.5": ("", r"\."),
    "1,234.5": (",", r"\."),
    "1234,5": ("", ","),
    "1.234,5": (r"\.", ","),
    "1 234,5": ("[ \u00a0\u202f]", ","),
    "1 234.5": ("[ \u00a0\u202f]", r"\."),
    "1'234.5": ("['\u2019]", r"\."),
}
# Signs of a unit around a number.
UNITS = ("$", "€", "£", "¥", "₹", "%", "USD", "EUR", "GBP", "CHF", "JPY")
_UNIT = f"(?:{'|'.join(map(re.escape, UNITS))})"
_MONEY = f"(?:{'|'.join(re.escape(unit) for unit in UNITS if unit != '%')})"
# Programs put blanks that do not break lines between a number and its unit.
_BLANK = "[\\s\u00a0\u202f]"
_SIGN = "[-+\u2212]"
_BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})
TRUE_WORDS = ("true", "yes", "t", "y")
FALSE_WORDS = ("false", "no", "f", "n")
_WHOLE = r"^-?\d{1,18}$"
# More digits than a float has.
_LONG = r"(\d\.?){16,}"
# Day before month where both readings fit, as in most of the world; ISO comes first.
DATE_FORMATS = (
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
# ISO 8601 as programs write it: a T or a blank, seconds or none, fractions, Z or an offset. Times
# with an offset are read as UTC; those without are taken as they are.
ISO_FORMAT = "%Y-%m-%dT%H:%M:%S%z"
_ISO = (
    r"^(?P<date>\d{4}-\d{2}-\d{2})(?:[Tt ](?P<time>\d{2}:\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"(?P<zone>[Zz]|[+-]\d{2}(?::?\d{2})?)?)?$"
)
# Squares of larger numbers, and sums of them, are beyond what a float holds.
LARGEST = 1e100
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
        and ``"constant"`` for columns without information), and what is needed to read it again:
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
        return _category(name, as_text(column, name, "categories"))
    if pa.types.is_boolean(kind):
        return {"name": name, "kind": "boolean"}
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        refuse_infinite(column, name)
        return {"name": name, "kind": "number"}
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind) and not pa.types.is_time(kind):
        return {"name": name, "kind": "date", "format": None}
    if pa.types.is_duration(kind):
        return {"name": name, "kind": "number"}
    if is_text(kind):
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


def text_kind(distinct: Any) -> tuple[str, Any]:
    """Find out what the distinct cells of a column of text hold.

    Parameters
    ----------
    distinct : pyarrow array of strings
        None of them null.

    Returns
    -------
    kind : {"number", "mixed", "boolean", "date", "category"}
        Of which "mixed" is mostly numbers.
    detail : str, or pyarrow array
        The format of dates, or of numbers that need one; what among numbers is none.

    Examples
    --------
    >>> text_kind(pa.array(["05/03/2024", "17/03/2024"]))
    ('date', '%d/%m/%Y')
    """
    words = {word.lower() for word in distinct.slice(0, 5).to_pylist()} if len(distinct) < 5 else ()
    if words and any(words <= pair for pair in _BOOLEANS):
        return "boolean", None
    numeric = pc.match_substring_regex(distinct, _NUMBER)
    share = pc.mean(numeric).as_py()
    if share == 1:
        return "number", None
    if share is not None and (style := _number_style(distinct)):
        return "number", style
    if share is not None and share >= _MIXED_SHARE and len(distinct) > 2:
        return "mixed", distinct.filter(pc.invert(numeric))
    written = _date_format(distinct)
    return ("date", written) if written else ("category", None)


def _number_style(distinct: Any) -> str | None:
    """Return the style in which all cells are numbers, if there is one."""
    if not pc.all(pc.match_substring_regex(distinct, r"\d")).as_py():
        return None
    for style, (mark, decimal) in NUMBER_STYLES.items():
        grouped = rf"|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+" if mark else ""
        number = rf"(?:\d+{grouped})(?:{decimal}\d+)?"
        if pc.all(pc.match_substring_regex(distinct, amount(number))).as_py():
            return "1.234,5" if style == "1234.5" and _are_grouped(distinct) else style
    return None


def _are_grouped(distinct: Any) -> bool:
    """Tell whether points part thousands: of money there are no thousandths (1.200 €, 15 €)."""
    thousands = distinct.filter(pc.match_substring(distinct, "."))
    grouped = pc.match_substring_regex(thousands, amount(r"[1-9]\d{0,2}\.\d{3}"))
    money = pc.match_substring_regex(distinct, _MONEY)
    return bool(len(thousands) and pc.all(grouped).as_py() and pc.all(money).as_py())


def amount(number: str) -> str:
    """Return the pattern of a cell that holds a number, with what people write around it.

    That is a sign, a unit, or the brackets that accountants put around what is negative.
    """
    of_unit = rf"{number}{_BLANK}?{_UNIT}?"
    signed = rf"{_SIGN}?{_BLANK}?{_UNIT}?{_BLANK}?{_SIGN}?{of_unit}"
    return rf"^(?:{signed}|\({_UNIT}?{_BLANK}?{of_unit}\))$"


def styled_numbers(column: Any, style: str) -> Any:
    """Return text that holds numbers in some style as numbers.

    Examples
    --------
    >>> styled_numbers(pa.array(["1.250,50 €", None, "-3"]), "1.234,5").to_pylist()
    [1250.5, None, -3.0]
    >>> styled_numbers(pa.array(["(1,250.50)", "\u2212$3"]), "1,234.5").to_pylist()
    [-1250.5, -3.0]
    """
    mark, decimal = NUMBER_STYLES[style]
    left_out = "|".join(filter(None, [_UNIT, _BLANK, mark]))
    text = pc.replace_substring_regex(column, left_out, "")
    text = pc.replace_substring_regex(text, r"^\((.*)\)$|^\x{2212}", r"-\1")
    if decimal == ",":
        text = pc.replace_substring(text, ",", ".")
    return text.cast(pa.float64())


def read_any_numbers(column: Any) -> Any:
    """Return a column as numbers, in whichever style its text writes them.

    Examples
    --------
    >>> read_any_numbers(pa.array(["$1,200", "$15"])).to_pylist()
    [1200.0, 15.0]
    """
    if not is_text(column.type):
        return column.cast(pa.float64())
    text = column.cast(pa.string())
    kind, style = text_kind(pc.unique(text.drop_null()))
    return styled_numbers(text, style) if kind == "number" and style else text.cast(pa.float64())


def _describe_text(name: str, column: Any) -> dict[str, Any]:
    kind, detail = text_kind(pc.unique(column.drop_null()))
    if kind == "mixed":
        strange = detail.to_pylist()
        line = pc.index(column, strange[0]).as_py() + 2
        msg = (
            f"Column {name!r} mixes numbers with {shorten(strange, 3)} (first in line {line}); "
            f"correct or empty these, or give `categorical={[name]}` or `drop={[name]}`."
        )
        raise TableError(msg)
    if kind == "category":
        return _category(name, column)
    if kind == "number":
        numbers = styled_numbers(column, detail) if detail else column.cast(pa.float64())
        refuse_infinite(numbers, name)
    return {"name": name, "kind": kind} | ({"format": detail} if detail else {})


def _date_format(distinct: Any) -> str | None:
    """Return the format that reads every value, if there is one."""
    if not pc.all(pc.match_substring_regex(distinct, r"^\d{1,4}[-/.]\d{1,2}[-/.]\d")).as_py():
        return None
    for written in DATE_FORMATS:
        with contextlib.suppress(ValueError):
            _read_dates(distinct, written)
            return written
    with contextlib.suppress(ValueError):
        _read_iso(distinct)
        return ISO_FORMAT
    return None


def _read_iso(column: Any) -> Any:
    """Read ISO timestamps as seconds of UTC."""
    parts = pc.extract_regex(column, _ISO)
    unread = pc.and_(pc.is_valid(column), pc.is_null(parts))
    if pc.any(unread).as_py():
        msg = f"found {column.filter(unread)[0].as_py()!r}"
        raise ValueError(msg)

    def part(name: str, missing: str) -> Any:
        found = pc.struct_field(parts, name)
        return pc.if_else(pc.equal(found, ""), missing, found)

    pieces = (part("time", "00:00"), ":", part("second", "00"), pc.utf8_upper(part("zone", "Z")))
    moments = pc.binary_join_element_wise(part("date", ""), "T", *pieces, "")
    return moments.cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("s"))


def _read_dates(column: Any, written: str) -> Any:
    """Read dates by a format; days such as 31 June are refused."""
    moments = pc.strptime(column, written, "s")
    # `strptime` takes 30 February for 2 March.
    date = written.split("T", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    pattern = re.sub("%[Ym]", "[0-9]+", re.escape(date)).replace("%d", "(?P<day>[0-9]+)")
    said = pc.struct_field(pc.extract_regex(column, f"^{pattern}"), "day").cast(pa.int64())
    wrong = pc.fill_null(pc.not_equal(said, pc.day(moments)), fill_value=False)
    if pc.any(wrong).as_py():
        msg = f"found {column.filter(wrong)[0].as_py()!r}"
        raise ValueError(msg)
    return moments


def refuse_infinite(column: Any, name: str) -> None:
    """Refuse a column of numbers with one that is infinite, or too large to compute with.

    Examples
    --------
    >>> refuse_infinite(pa.array([1.0, float("-inf")]), "dose")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: Column 'dose' holds infinite values or numbers beyond 1e100
    (first in row 2); correct or empty these.
    """
    if not pa.types.is_floating(column.type):
        return
    infinite = pc.fill_null(
        pc.greater(pc.abs(column.cast(pa.float64())), LARGEST), fill_value=False
    )
    if pc.any(infinite).as_py():
        row = pc.index(infinite, pa.scalar(value=True)).as_py() + 1
        msg = (
            f"Column {name!r} holds infinite values or numbers beyond 1e100 (first in row {row}); "
            "correct or empty these."
        )
        raise TableError(msg)


def _category(name: str, column: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "category",
        "levels": sorted(pc.unique(column.drop_null()).to_pylist()),
    }


def text_type(column: Any, role: str = "feature") -> Any:
    """Find out the Arrow type that a column of text is read as, given some of its cells.

    Parameters
    ----------
    column : pyarrow array of strings
        Cells, missing ones null.
    role : {"feature", "label", "key"}, default="feature"
        Whole numbers are integers as labels and as keys, and numbers like others as features. A
        label is a number or text; a key may also be a date.

    Returns
    -------
    pyarrow.DataType, or str
        The format of dates, or of numbers such as ``1,234.5``.

    Examples
    --------
    >>> text_type(pa.array(["1", "2"])), text_type(pa.array(["1", None, "2"]), "label")
    (DataType(double), DataType(int64))
    """
    distinct = pc.unique(column.drop_null())
    kind, detail = text_kind(distinct) if len(distinct) else ("number", None)
    if kind == "number" and role != "feature" and len(distinct):
        whole = pc.all(pc.match_substring_regex(distinct, _WHOLE)).as_py()
        long = pc.any(pc.match_substring_regex(distinct, _LONG)).as_py()
        return pa.int64() if whole else pa.string() if long or detail else pa.float64()
    if kind == "number" and detail:
        return detail
    if kind == "number" or (kind == "mixed" and role == "feature"):
        return pa.float64()
    if kind == "date" and role != "label":
        return detail
    return pa.bool_() if kind == "boolean" and role == "feature" else pa.string()


def read_cells(column: Any, kind: Any) -> Any:
    """Return cells of text as values of a type, or by a format of dates.

    Examples
    --------
    >>> read_cells(pa.array(["yes", None]), pa.bool_()).to_pylist()
    [True, None]
    >>> read_cells(pa.array(["05/03/2024"]), "%d/%m/%Y").to_pylist()
    [datetime.date(2024, 3, 5)]
    """
    if column.type == kind:
        return column
    if kind in NUMBER_STYLES:
        return styled_numbers(column, kind)
    if isinstance(kind, str):
        moments = _read_iso(column) if kind == ISO_FORMAT else _read_dates(column, kind)
        return moments if "%H" in kind else moments.cast(pa.date32())
    if not pa.types.is_boolean(kind):
        return column.cast(kind)
    words = pc.utf8_lower(column)
    known = pa.array([*TRUE_WORDS, *FALSE_WORDS])
    strange = pc.and_(pc.is_valid(words), pc.invert(pc.is_in(words, value_set=known)))
    if pc.any(strange).as_py():
        msg = f"found {words.filter(strange)[0].as_py()!r}"
        raise ValueError(msg)
    return pc.if_else(pc.is_valid(words), pc.is_in(words, value_set=pa.array(TRUE_WORDS)), None)


_MOST_LEVELS = 1000
_FEW_LEVELS = 50


def check_features(schema: list[dict[str, Any]], n_rows: int) -> None:
    """Refuse columns that cannot be used, all of them in one message.

    Parameters
    ----------
    schema : list of dict
        As found by `describe_column`.
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
