"""Expressions of columns, the questions that are put to an engine, and their SQL."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flipcost.exceptions import SourceError

# Sums of many terms are bracketed in groups: parsers recurse into them.
_TERMS = 16


@dataclass(frozen=True)
class Expression:
    """An operation on others, on names or on values.

    Examples
    --------
    >>> column("age") + number(1.0)
    Expression(op='add', args=(Expression(op='column', args=('age',)), Expression(op='number', args=(1.0,))))
    """  # noqa: E501

    op: str
    args: tuple[Any, ...]

    def __add__(self, other: Expression) -> Expression:
        return Expression("add", (self, other))

    def __sub__(self, other: Expression) -> Expression:
        return Expression("subtract", (self, other))

    def __mul__(self, other: Expression) -> Expression:
        return Expression("multiply", (self, other))

    def __truediv__(self, other: Expression) -> Expression:
        return Expression("divide", (self, other))

    def __mod__(self, other: Expression) -> Expression:
        return Expression("remainder", (self, other))

    def equals(self, other: Expression) -> Expression:
        """Return whether both are the same; unknown where one is missing."""
        return Expression("equals", (self, other))

    def above(self, other: Expression) -> Expression:
        """Return whether this is larger."""
        return Expression("above", (self, other))

    def either(self, other: Expression) -> Expression:
        """Return whether one of two conditions holds."""
        return Expression("either", (self, other))

    def is_missing(self) -> Expression:
        """Return whether there is no value."""
        return Expression("is_missing", (self,))

    def is_nan(self) -> Expression:
        """Return whether a floating number is none."""
        return Expression("is_nan", (self,))

    def is_infinite(self) -> Expression:
        """Return whether a floating number is beyond all others."""
        largest = number(1.7976931348623157e308)
        return self.above(largest).either((number(0.0) - largest).above(self))

    def as_double(self) -> Expression:
        """Return a number as a floating one of 64 bits."""
        return Expression("double", (self,))

    def as_integer(self) -> Expression:
        """Return a whole number in 64 bits."""
        return Expression("integer", (self,))

    def as_text(self) -> Expression:
        """Return text, also of an enumeration or an identifier."""
        return Expression("text", (self,))

    def small(self, most: int) -> Expression:
        """Return a whole number from 0 to a bound in as few bits as the engine groups faster by."""
        return Expression("small", (self, most))

    def text_key(self) -> Expression:
        """Return the first 32 bits of the MD5 of text, as a number."""
        return Expression("text_key", (self,))

    def among(self, values: Sequence[Any]) -> Expression:
        """Return whether this is one of some values; unknown where it is missing."""
        return Expression("among", (self, tuple(values)))

    def lower(self) -> Expression:
        """Return text in small letters."""
        return Expression("lower", (self,))


def column(name: str) -> Expression:
    """Return a column, or what an earlier layer called so."""
    return Expression("column", (name,))


def number(value: float) -> Expression:
    """Return a floating number."""
    return Expression("number", (float(value),))


def literal(value: Any) -> Expression:
    """Return a whole number, text or truth value."""
    return Expression("literal", (value,))


MISSING = Expression("literal", (None,))
# The engine's own number of a row of a table, where it has one.
ROW_NUMBER = Expression("row_number", ())


def case(
    branches: Sequence[tuple[Expression, Expression]], otherwise: Expression = MISSING
) -> Expression:
    """Return the value of the first condition that holds."""
    return Expression("case", (tuple(branches), otherwise))


def pick(chosen: Expression, values: Sequence[Expression]) -> Expression:
    """Return the value whose place a whole number names; only that one is computed.

    Examples
    --------
    >>> pick(column("fold"), [number(1.0)])
    Expression(op='number', args=(1.0,))
    """
    if len(values) == 1:
        return values[0]
    places = [(chosen.equals(literal(k)), value) for k, value in enumerate(values[:-1])]
    return case(places, values[-1])


def total(terms: Sequence[Expression]) -> Expression:
    """Return the sum of many terms.

    Examples
    --------
    >>> total([column("a")])
    Expression(op='column', args=('a',))
    """
    level = list(terms)
    while len(level) > 1:
        groups = [level[k : k + _TERMS] for k in range(0, len(level), _TERMS)]
        level = [
            group[0] if len(group) == 1 else Expression("add", tuple(group)) for group in groups
        ]
    return level[0]


@dataclass(frozen=True)
class Aggregate:
    """What is asked of a group: ``count``, ``sum``, ``min`` or ``max``; `of` None counts rows."""

    kind: str
    of: Expression | None = None


ROWS = Aggregate("count")


def sum_of(of: Expression) -> Aggregate:
    """Return the sum of an expression."""
    return Aggregate("sum", of)


@dataclass(frozen=True)
class Question:
    """Aggregates by groups of what layers make of the source.

    Attributes
    ----------
    layers : tuple of mappings
        Names and expressions, each in terms of the names of the one before; the first in terms of
        the columns of the source.
    answers : tuple of Aggregate
        What is asked of each group.
    by : tuple of str
        Names to group by; none for all rows together.
    first_rows : int, optional
        How many rows of the source to look at, whichever these are; all when None.
    most_groups : int, optional
        How many groups to return; all when None.
    """

    layers: tuple[Mapping[str, Expression], ...]
    answers: tuple[Aggregate, ...]
    by: tuple[str, ...] = ()
    first_rows: int | None = None
    most_groups: int | None = None


@dataclass(frozen=True)
class RowsWanted:
    """Some rows of what layers make of the source: the few that may leave it.

    Attributes
    ----------
    layers : tuple of mappings
        As of a `Question`.
    names : tuple of str
        Which of the last one to return.
    most : int or None
        How many rows at most; all when None.
    where : Expression, optional
        Which rows to choose from.
    order : tuple of str
        What to order by, the smallest first; they come in any order without.
    """

    layers: tuple[Mapping[str, Expression], ...]
    names: tuple[str, ...]
    most: int | None
    where: Expression | None = None
    order: tuple[str, ...] = ()


_SIGNS = {
    "add": " + ",
    "subtract": " - ",
    "multiply": " * ",
    "divide": " / ",
    "remainder": " % ",
    "equals": " = ",
    "above": " > ",
    "either": " OR ",
}


class Dialect:
    """Standard SQL; what an engine says in another way its own class does.

    Examples
    --------
    >>> from flipcost.tables.sql import column, number
    >>> Dialect().write(column("age") - number(40.0))
    '("age" - 4.0000000000000000e+01)'
    """

    double = "DOUBLE PRECISION"
    text = "VARCHAR"
    # Whether the answers travel as one array: some engines limit the columns of a result.
    packs = False
    # After a subquery, to have its expressions computed once and not where they are used.
    fence = ""
    # Whether the engine's own numbers of rows count them from the first.
    counts_rows = False
    # Most sums in one statement: those of 200 columns and of all their products.
    most_sums = 20_500

    def name(self, name: str) -> str:
        """Return a name in quotes."""
        return '"' + name.replace('"', '""') + '"'

    def write(self, expression: Expression) -> str:
        """Return an expression as SQL."""
        op, args = expression.op, expression.args
        if op in _SIGNS:
            return "(" + _SIGNS[op].join(self.write(part) for part in args) + ")"
        written: str = getattr(self, f"_{op}")(*args)
        return written

    def statement(self, source: str, question: Question) -> str:
        """Return a question as one statement on a table or a bracketed query."""
        inner = f"{source} AS source"
        if question.first_rows is not None:
            inner = f"(SELECT * FROM {inner} LIMIT {question.first_rows}) AS source"
        inner = self._layered(inner, question.layers)
        keys = [self.name(key) for key in question.by]
        answers = [self._aggregate(answer) for answer in question.answers]
        if self.packs:
            inside = ", ".join(f"CAST({answer} AS {self.double})" for answer in answers)
            answers = [f"ARRAY[{inside}]"]
        parts = [f"SELECT {', '.join([*keys, *answers])} FROM {inner}"]
        if keys:
            parts.append(f"GROUP BY {', '.join(keys)}")
        if question.most_groups is not None:
            parts.append(f"LIMIT {question.most_groups}")
        return " ".join(parts)

    def rows(self, source: str, wanted: RowsWanted) -> str:
        """Return a statement for some rows of a table or a bracketed query."""
        inner = self._layered(f"{source} AS source", wanted.layers)
        parts = [f"SELECT {', '.join(map(self.name, wanted.names))} FROM {inner}"]
        if wanted.where is not None:
            parts.append(f"WHERE {self.write(wanted.where)}")
        if wanted.order:
            parts.append(f"ORDER BY {', '.join(map(self.name, wanted.order))}")
        if wanted.most is not None:
            parts.append(f"LIMIT {wanted.most}")
        return " ".join(parts)

    def _layered(self, inner: str, layers: Sequence[Mapping[str, Expression]]) -> str:
        for number, layer in enumerate(layers):
            inner = f"(SELECT {self._columns(layer)} FROM {inner}{self.fence}) AS layer_{number}"
        return inner

    def _columns(self, layer: Mapping[str, Expression]) -> str:
        return ", ".join(
            f"{self.write(value)} AS {self.name(name)}" for name, value in layer.items()
        )

    def _aggregate(self, answer: Aggregate) -> str:
        if answer.of is None:
            return "COUNT(*)"
        return f"{answer.kind.upper()}({self.write(answer.of)})"

    def _column(self, name: str) -> str:
        return self.name(name)

    def _number(self, value: float) -> str:
        if not math.isfinite(value):
            msg = f"A number in a query must be finite; got {value}."
            raise ValueError(msg)
        written = f"{value:.16e}"  # as many digits as distinguish doubles
        return f"({written})" if value < 0 else written

    def _literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self._quoted(value)
        if isinstance(value, float):
            return self._number(value)
        return f"({value})" if value < 0 else str(value)

    def _quoted(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def _is_missing(self, of: Expression) -> str:
        return f"({self.write(of)} IS NULL)"

    def _is_nan(self, of: Expression) -> str:
        return f"isnan({self.write(of)})"

    def _double(self, of: Expression) -> str:
        return f"CAST({self.write(of)} AS {self.double})"

    def _integer(self, of: Expression) -> str:
        return f"CAST({self.write(of)} AS BIGINT)"

    def _text(self, of: Expression) -> str:
        return f"CAST({self.write(of)} AS {self.text})"

    def _small(self, of: Expression, most: int) -> str:
        return f"CAST({self.write(of)} AS {'SMALLINT' if most < 1 << 15 else 'INTEGER'})"

    def _case(
        self, branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression
    ) -> str:
        inside = " ".join(f"WHEN {self.write(c)} THEN {self.write(v)}" for c, v in branches)
        return f"CASE {inside} ELSE {self.write(otherwise)} END"

    def _among(self, of: Expression, values: tuple[Any, ...]) -> str:
        return f"({self.write(of)} IN ({', '.join(map(self._literal, values))}))"

    def _lower(self, of: Expression) -> str:
        return f"LOWER({self.write(of)})"

    def _row_number(self) -> str:
        msg = "Rows of this engine have no numbers."
        raise SourceError(msg)

    def _text_key(self, of: Expression) -> str:
        raise NotImplementedError


class DuckDBDialect(Dialect):
    """DuckDB."""

    double = "DOUBLE"
    counts_rows = True

    def _small(self, of: Expression, most: int) -> str:
        if most < 1 << 7:  # groups by a byte are found without hashing
            return f"CAST({self.write(of)} AS TINYINT)"
        return super()._small(of, most)

    def _row_number(self) -> str:
        return "rowid"

    def _text_key(self, of: Expression) -> str:
        return f"CAST('0x' || substr(md5({self.write(of)}), 1, 8) AS BIGINT)"


class PostgreSQLDialect(Dialect):
    """PostgreSQL: at most 1664 columns in a result, and subqueries are dissolved unless fenced."""

    text = "TEXT"
    packs = True
    fence = " OFFSET 0"

    def _number(self, value: float) -> str:
        return f"CAST({super()._number(value)} AS {self.double})"

    def _is_nan(self, of: Expression) -> str:
        return f"({self.write(of)} = 'NaN')"

    def _row_number(self) -> str:
        # Where a row lies: a page, and a place on it, of which a page has far fewer than 65,536.
        place = "CAST(CAST(ctid AS TEXT) AS POINT)"
        return f"(CAST(({place})[0] AS BIGINT) * 65536 + CAST(({place})[1] AS BIGINT))"

    def _text_key(self, of: Expression) -> str:
        return f"CAST(CAST('x' || substr(md5({self.write(of)}), 1, 8) AS bit(32)) AS BIGINT)"


class SparkDialect(Dialect):
    """Spark."""

    double = "DOUBLE"
    text = "STRING"
    # Code for more is too long for the Java machine, and is then interpreted.
    most_sums = 2_000

    def name(self, name: str) -> str:
        """Return a name in quotes."""
        return "`" + name.replace("`", "``") + "`"

    def _number(self, value: float) -> str:
        written = super()._number(value)
        return f"{written[:-1]}D)" if written.endswith(")") else f"{written}D"

    def _quoted(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def _text_key(self, of: Expression) -> str:
        return f"CAST(conv(substr(md5({self.write(of)}), 1, 8), 16, 10) AS BIGINT)"
