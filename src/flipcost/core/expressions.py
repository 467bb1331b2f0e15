"""Prices written as arithmetic of columns: read by a grammar of their own, never run as code.

The grammar knows numbers, names of columns, ``+ - * /``, brackets, ``min``, ``max`` and ``abs``. A
name that is no plain word stands in backticks, as in ```loan amount` * 0.8``. Nothing else can be
written, so that nothing else can happen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from flipcost.core.arrays import Array

Value = TypeVar("Value")
# One step: a number, a column, or an operation on the last values.
Step: TypeAlias = "tuple[str, float | str, int]"

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)"
    r"|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d]\w*)|(?P<mark>[-+*/(),]))"
)
_LONGEST, _DEEPEST = 1000, 50
_FUNCTIONS = {"min": np.minimum, "max": np.maximum}


@dataclass(frozen=True)
class Expression:
    """Arithmetic of columns, read and ready to be computed.

    Attributes
    ----------
    text : str
        As it was written.
    steps : tuple
        What is done, operands first.

    Examples
    --------
    >>> price = parse_expression("0.8*amount + 12")
    >>> price.columns, price.evaluate({"amount": np.array([10.0, 100.0])}.__getitem__)
    (('amount',), array([20., 92.]))
    """

    text: str
    steps: tuple[Step, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs, in the order in which they are named."""
        return tuple(dict.fromkeys(str(value) for kind, value, _ in self.steps if kind == "column"))

    def evaluate(self, column: Callable[[str], Array]) -> Array:
        """Return the values, given what returns a column by its name."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.fold(
                lambda value: np.asarray(value, dtype=float),
                lambda name: np.asarray(column(name), dtype=float),
                _apply,
            )

    def fold(
        self,
        number: Callable[[float], Value],
        column: Callable[[str], Value],
        operation: Callable[[str, list[Value]], Value],
    ) -> Value:
        """Return what the steps make of numbers, columns and operations, in whatever language."""
        values: list[Value] = []
        for kind, value, n in self.steps:
            if kind == "number":
                values.append(number(float(value)))
            elif kind == "column":
                values.append(column(str(value)))
            else:
                taken = values[len(values) - n :]
                del values[len(values) - n :]
                values.append(operation(str(value), taken))
        return values[0]


def parse_expression(text: str) -> Expression:
    """Read arithmetic of columns.

    Parameters
    ----------
    text : str
        As in ``0.8*amount + 12`` or ``max(5, 0.1 * `loan amount`)``.

    Returns
    -------
    Expression

    Raises
    ------
    ValueError
        If the text is anything else.

    Examples
    --------
    >>> parse_expression("__import__('os')")
    Traceback (most recent call last):
        ...
    ValueError: "__import__('os')" cannot be read as a price at "('os')": write numbers, columns,
    + - * / and brackets, min, max or abs, and columns that are no plain word in backticks.
    """
    return Expression(text, tuple(_Parser(text).parse()))


def _apply(name: str, values: list[Array]) -> Array:
    if name in _FUNCTIONS:
        result = values[0]
        for value in values[1:]:
            result = _FUNCTIONS[name](result, value)
        return np.asarray(result)
    if name == "abs":
        return np.abs(values[0])
    if name == "negate":
        return -values[0]
    left, right = values
    if name == "+":
        return left + right
    if name == "-":
        return left - right
    return left * right if name == "*" else left / right


class _Parser:
    """A recursive descent through the text; its depth is limited, and so is its length."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.steps: list[Step] = []

    def parse(self) -> list[Step]:
        if len(self.text) > _LONGEST:
            msg = f"A price must be written in at most {_LONGEST} characters; got {len(self.text)}."
            raise ValueError(msg)
        self._sum()
        if self.text[self.place :].strip():
            self._refuse()
        return self.steps

    def _refuse(self) -> None:
        rest = self.text[self.place :].strip()
        where = f"at {rest[:40]!r}" if rest else "to its end"
        msg = (
            f"{self.text!r} cannot be read as a price {where}: write numbers, columns, + - * / and "
            "brackets, min, max or abs, and columns that are no plain word in backticks."
        )
        raise ValueError(msg)

    def _next(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.place)

    def _mark(self, wanted: str) -> str | None:
        """Take one of these marks if it comes next."""
        found = self._next()
        if found is None or found["mark"] is None or found["mark"] not in wanted:
            return None
        self.place = found.end()
        return found["mark"]

    def _sum(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._refuse()
        self._product()
        while mark := self._mark("+-"):
            self._product()
            self.steps.append(("do", mark, 2))
        self.depth -= 1

    def _product(self) -> None:
        self._signed()
        while mark := self._mark("*/"):
            self._signed()
            self.steps.append(("do", mark, 2))

    def _signed(self) -> None:
        minus = 0
        while mark := self._mark("+-"):
            minus += mark == "-"
        self._atom()
        if minus % 2:
            self.steps.append(("do", "negate", 1))

    def _atom(self) -> None:
        if self._mark("("):
            self._sum()
            if not self._mark(")"):
                self._refuse()
            return
        found = self._next()
        if found is None or found["mark"] is not None:
            self._refuse()
            return
        self.place = found.end()
        if found["number"] is not None:
            self.steps.append(("number", float(found["number"]), 0))
        elif found["name"] in (*_FUNCTIONS, "abs") and self._mark("("):
            self._call(found["name"])
        else:
            self.steps.append(("column", found["quoted"] or found["name"], 0))

    def _call(self, name: str) -> None:
        n = 1
        self._sum()
        while name != "abs" and self._mark(","):
            self._sum()
            n += 1
        if not self._mark(")"):
            self._refuse()
        self.steps.append(("do", name, n))
