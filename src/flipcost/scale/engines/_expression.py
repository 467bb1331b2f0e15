"""Expressions of columns, and the questions that are put to an engine with them.

An engine understands few things: arithmetic, cases, missing values and sums by group. What the
passes need is said in these, once; `_dialect` writes it as SQL and `_narwhals` as expressions of a
lazy frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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

    def floor(self) -> Expression:
        """Return the whole number below, in 64 bits."""
        return Expression("floor", (self,))

    def small(self, most: int) -> Expression:
        """Return a whole number from 0 to a bound in as few bits as the engine groups faster by."""
        return Expression("small", (self, most))

    def at_least(self, other: Expression) -> Expression:
        """Return the larger of both."""
        return Expression("at_least", (self, other))

    def at_most(self, other: Expression) -> Expression:
        """Return the smaller of both."""
        return Expression("at_most", (self, other))

    def text_key(self) -> Expression:
        """Return the first 32 bits of the MD5 of text, as a number."""
        return Expression("text_key", (self,))

    def among(self, values: Sequence[Any]) -> Expression:
        """Return whether this is one of some values; unknown where it is missing."""
        return Expression("among", (self, tuple(values)))

    def lower(self) -> Expression:
        """Return text in small letters."""
        return Expression("lower", (self,))

    def days(self) -> Expression:
        """Return the days since 1970 of a date or a point in time, to the second."""
        return Expression("days", (self,))

    def sine(self) -> Expression:
        """Return the sine of an angle."""
        return Expression("sine", (self,))

    def cosine(self) -> Expression:
        """Return the cosine of an angle."""
        return Expression("cosine", (self,))


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
    """What is asked of a group: ``count``, ``sum``, ``min``, ``max``, ``median``, ``distinct``.

    Or ``quantile`` and its level. `of` is None for a count of rows.
    """

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
    by : tuple of tuples of str
        Sets of names to group by, each answered on its own; one empty set for all rows.
    where : Expression, optional
        Which rows of the last layer to keep.
    first_rows : int, optional
        How many rows of the source to look at, whichever these are; all when None.
    most_groups : int, optional
        How many groups to return; all when None.
    """

    layers: tuple[Mapping[str, Expression], ...]
    answers: tuple[Aggregate, ...]
    by: tuple[tuple[str, ...], ...] = ((),)
    where: Expression | None = None
    first_rows: int | None = None
    most_groups: int | None = None
    keys: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = dict.fromkeys(name for names in self.by for name in names)
        object.__setattr__(self, "keys", tuple(names))


@dataclass(frozen=True)
class RowsWanted:
    """Some rows of what layers make of the source: the few that may leave it.

    Attributes
    ----------
    layers : tuple of mappings
        As of a `Question`.
    names : tuple of str
        Which of the last one to return.
    most : int
        How many rows at most.
    where : Expression, optional
        Which rows to choose from.
    order : tuple of str
        What to order by, the smallest first; they come in any order without.
    """

    layers: tuple[Mapping[str, Expression], ...]
    names: tuple[str, ...]
    most: int
    where: Expression | None = None
    order: tuple[str, ...] = ()
