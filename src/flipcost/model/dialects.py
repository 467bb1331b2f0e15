"""The SQL dialects of engines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from flipcost.exceptions import ExportError
from flipcost.tables.columns import ISO_FORMAT, UNITS

DialectName = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]
# Transpiled from the dialect of DuckDB.
TRANSPILED = ("bigquery", "snowflake")

_ISO = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")
# Letters of date formats, by engine.
_POSTGRES = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%H": "HH24", "%M": "MI", "%S": "SS"}
_SPARK = {"%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": "mm", "%S": "ss"}


@dataclass(frozen=True)
class Dialect:
    """How an engine writes numbers, names, texts and dates.

    In the templates `{}` is a value and `{format}` a date format, whose `letters` replace Python's
    (unless empty). A `fence` after ``AS`` makes the engine compute a stage only once.
    """

    real: str
    text: str
    literal: str
    is_nan: str
    seconds: str
    seconds_of_text: str
    letters: dict[str, str]
    quotes: str = '"'
    backslash: bool = False
    fence: str = ""

    def number(self, value: float) -> str:
        """Return a number with all its digits."""
        digits, _, exponent = f"{value!r}".partition("e")
        return self.literal.format(f"{digits}e{exponent or 0}")

    def name(self, name: str) -> str:
        """Return a quoted name of a column or a table."""
        if not name:
            msg = "A column or a table without a name cannot be written as SQL; name it."
            raise ExportError(msg)
        return self.quotes + name.replace(self.quotes, self.quotes * 2) + self.quotes

    def string(self, text: str) -> str:
        """Return a quoted text."""
        if self.backslash:
            text = text.replace("\\", "\\\\").replace("'", "\\'")
        else:
            text = text.replace("'", "''")
        return f"'{text}'"

    def plain_number(self, column: str, style: str) -> str:
        """Return text that holds a number in some style as text that can be cast to one.

        Where points part thousands, they go from text that has a comma or a unit: 1.234 may also
        be what a column of numbers holds.
        """
        text = f"CAST({column} AS {self.text})"
        marks = {"1,234.5": ",", "1'234.5": "'\u2019"}.get(style, "")
        value = self._replaced(text, *((sign, "") for sign in (*UNITS, *" \u00a0\u202f)", *marks)))
        value = self._replaced(value, ("(", "-"), ("\u2212", "-"))
        plain = self._replaced(value, (",", "."))
        if style == "1.234,5":
            parted = self._replaced(value, (".", ""), (",", "."))
            is_text = f"{value} <> {text} OR {text} LIKE {self.string('%,%')}"
            plain = f"CASE WHEN {is_text} THEN {parted} ELSE {plain} END"
        return f"NULLIF({plain}, '')"

    def _replaced(self, value: str, *pairs: tuple[str, str]) -> str:
        for found, plain in pairs:
            value = f"REPLACE({value}, {self.string(found)}, {self.string(plain)})"
        return value

    def days(self, column: str, written: str | None) -> str:
        """Return the days since 1970 of a date, or of a date written as text."""
        if written == ISO_FORMAT:
            msg = (
                f"Column {column} held times as text with zones or fractions, which databases read "
                "in their own ways; make it a column of timestamps before the audit."
            )
            raise ExportError(msg)
        if written is None:
            seconds = self.seconds.format(column)
        else:
            as_text = f"NULLIF(CAST({column} AS {self.text}), '')"
            if written in _ISO and self.letters:
                seconds = self.seconds.format(f"CAST({as_text} AS TIMESTAMP)")
            else:
                for code, letters in self.letters.items():
                    written = written.replace(code, letters)
                seconds = self.seconds_of_text.format(as_text, format=self.string(written))
        return f"FLOOR({seconds}) / {self.number(86400.0)}"


_DUCKDB = Dialect(
    real="DOUBLE",
    text="VARCHAR",
    literal="{}",
    is_nan="ISNAN({})",
    seconds="EPOCH({})",
    seconds_of_text="EPOCH(STRPTIME({}, {format}))",
    letters={},
)
_DIALECTS = {
    "duckdb": _DUCKDB,
    "postgres": Dialect(
        real="DOUBLE PRECISION",
        text="TEXT",
        literal="{}::float8",
        is_nan="{} = 'NaN'::float8",
        seconds="CAST(EXTRACT(EPOCH FROM {}) AS DOUBLE PRECISION)",
        seconds_of_text=(
            "CAST(EXTRACT(EPOCH FROM TO_TIMESTAMP({}, {format})::timestamp) AS DOUBLE PRECISION)"
        ),
        letters=_POSTGRES,
        fence="MATERIALIZED ",
    ),
    "spark": Dialect(
        real="DOUBLE",
        text="STRING",
        literal="{}D",
        is_nan="ISNAN({})",
        seconds="UNIX_SECONDS(CAST({} AS TIMESTAMP))",
        seconds_of_text="UNIX_SECONDS(TO_TIMESTAMP({}, {format}))",
        letters=_SPARK,
        quotes="`",
        backslash=True,
    ),
    # sqlglot turns EPOCH into a function that BigQuery lacks.
    "bigquery": replace(
        _DUCKDB,
        seconds="UNIX_SECONDS(CAST({} AS TIMESTAMPTZ))",
        seconds_of_text="UNIX_SECONDS(STRPTIME({}, {format}))",
    ),
    # Snowflake has no ISNAN, but its NaN equals itself.
    "snowflake": replace(_DUCKDB, is_nan="{} = CAST('NaN' AS DOUBLE)"),
}


def dialect_of(name: str) -> Dialect:
    r"""Return the dialect of this name.

    Examples
    --------
    >>> print(dialect_of("postgres").number(0.25), dialect_of("spark").string("it's"))
    0.25e0::float8 'it\'s'
    """
    if name not in _DIALECTS:
        msg = f"`dialect` must be one of {', '.join(get_args(DialectName))}; got {name!r}."
        raise ExportError(msg)
    return _DIALECTS[name]
