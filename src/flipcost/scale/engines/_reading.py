"""Columns of a source as expressions: features, labels, weights, keys and folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flipcost.core.folds import PRIME, engine_constants
from flipcost.data import LevelColumn, NumberColumn, TableEncoder
from flipcost.exceptions import SourceError, unknown_column
from flipcost.scale.engines._expression import MISSING, Expression, case, column, literal, number

if TYPE_CHECKING:
    from flipcost.scale._rows import Layout
    from flipcost.scale.engines._engine import ColumnKind, Engine

Layer = Mapping[str, Expression]

# Codes of labels after the two: none, and any other.
NO_LABEL, OTHER_LABEL = 2, 3
# Below it, twice the prime times a multiplier fits in 64 bits.
_SMALL = 1 << 30


@dataclass(frozen=True)
class Reading:
    """How an engine reads the columns of a table.

    Parameters
    ----------
    engine : Engine
        Who holds it.
    layout : Layout
        Roles of the columns; the features are named.
    rule : {"hash", "modulus"}
        How keys make folds.
    """

    engine: Engine
    layout: Layout
    rule: str = "hash"

    @cached_property
    def kinds(self) -> dict[str, ColumnKind]:
        """What the columns of the source hold."""
        return self.engine.columns()

    @cached_property
    def encoder(self) -> TableEncoder:
        """How columns become features."""
        return self.layout.encoder or TableEncoder(
            tuple(NumberColumn(name) for name in self.layout.columns or ())
        )

    @cached_property
    def features(self) -> list[Expression]:
        """The features."""
        found: list[Expression] = []
        for part in self.encoder.columns:
            if isinstance(part, LevelColumn):
                found += self._levels(part, self.kind(part.name))
            else:
                found.append(self._number(part))
        return found

    def kind(self, name: str) -> ColumnKind:
        """Return what a column holds, or say which one was meant."""
        if name not in self.kinds:
            raise unknown_column(name, list(self.kinds), _capital(self.engine.where))
        return self.kinds[name]

    def plain_number(self, name: str) -> Expression:
        """Return a column of numbers as it is; what is not finite is found in the sums."""
        kind = self.kind(name)
        if kind.kind == "truth":
            yes = column(name).equals(literal(value=True))
            no = column(name).equals(literal(value=False))
            return case([(yes, number(1.0)), (no, number(0.0))])
        if kind.kind not in ("number", "whole"):
            msg = (
                f"{self.engine.where}: column {name!r} must hold numbers; got {kind.said}. Leave "
                "it out of `columns`, or give an `encoder` that knows its levels."
            )
            raise SourceError(msg)
        return column(name).as_double()

    def number_or_missing(self, name: str) -> Expression:
        """Return a column of numbers, missing also where the engine has a "not a number"."""
        value = self.plain_number(name)
        return case([(value.is_nan(), MISSING)], value) if self._may_be_nan(name) else value

    def _may_be_nan(self, name: str) -> bool:
        return self.kind(name).kind == "number"

    def _number(self, part: NumberColumn) -> Expression:
        value = self.plain_number(part.name)
        if part.fill is not None:
            is_missing = value.is_missing()
            if self._may_be_nan(part.name):
                is_missing = is_missing.either(value.is_nan())
            value = case([(is_missing, number(part.fill))], value)
        if part.centre != 0:
            value = value - number(part.centre)
        return value if part.scale == 1 else value / number(part.scale)

    def plain_level(self, name: str) -> Expression:
        """Return a category as text, a whole number or a truth value; empty text is missing."""
        kind = self.kind(name)
        if kind.kind == "text":
            value = column(name).as_text()
            return case([(value.equals(literal("")), MISSING)], value)
        if kind.kind == "whole":
            return column(name).as_integer()
        if kind.kind == "truth":
            return column(name)
        msg = (
            f"{self.engine.where}: column {name!r} must hold text, integers or booleans to be a "
            f"category; got {kind.said}. Leave it out of `columns`."
        )
        raise SourceError(msg)

    def _levels(self, part: LevelColumn, kind: ColumnKind) -> list[Expression]:
        value = self.plain_level(part.name)
        if part.fill is not None:
            value = case([(value.is_missing(), literal(part.fill))], value)
        found = []
        for level in part.levels:
            _check_level(level, kind, part.name, self.engine.where)
            # What is no level stays missing, and is then found by the count of whole rows.
            branches = [(value.equals(literal(level)), number(1.0))]
            branches += [
                (value.equals(literal(other)), number(0.0))
                for other in part.levels
                if other != level and part.unknown == "error"
            ]
            if part.unknown != "error":
                branches.append((value.is_missing(), MISSING))
            found.append(case(branches, MISSING if part.unknown == "error" else number(0.0)))
        return found

    @cached_property
    def label(self) -> Expression:
        """The label as it is."""
        return self.label_of(self.layout.target or "")

    def label_of(self, name: str) -> Expression:
        """Return the labels that a column holds; an empty text is none."""
        kind = self.kind(name)
        if kind.kind in ("text", "whole", "truth"):
            return self.plain_level(name)
        if kind.kind == "number":
            return column(name).as_double()
        msg = f"{self.engine.where}: labels must be numbers, text or booleans; got {kind.said}."
        raise SourceError(msg)

    def label_code(self, labels: tuple[Any, ...]) -> Expression:
        """Return 0 and 1 for the labels, and other codes for rows without one, or another."""
        known = [(self.label.equals(literal(v)), literal(k)) for k, v in enumerate(labels)]
        return case([*known, (self.label.is_missing(), literal(NO_LABEL))], literal(OTHER_LABEL))

    @cached_property
    def weight(self) -> Expression | None:
        """The weight of a row."""
        return None if self.layout.weight is None else self.plain_number(self.layout.weight)

    @cached_property
    def key(self) -> Expression:
        """The key of a row, a whole number."""
        name = self.layout.fold_by
        if name is None:
            msg = (
                f"{self.engine.where}: rows of a table in an engine have no order, so that "
                "`fold_by` must name the column, of integers or text, whose hash puts them into "
                "folds; got none."
            )
            raise SourceError(msg)
        kind = self.kind(name)
        if kind.kind == "whole":
            return column(name).as_integer()
        if kind.kind == "text" and self.rule == "hash":
            return column(name).as_text().text_key()
        wanted = "integers or text" if self.rule == "hash" else "integers"
        msg = (
            f"{self.engine.where}: column {name!r} must hold {wanted} to make folds by its "
            f"{self.rule}; got {kind.said}."
        )
        raise SourceError(msg)


def hashed(layer: Layer, key: str, name: str, seed: int) -> list[Layer]:
    """Return layers that add the hash of a key under a name; see `flipcost.core.folds`."""
    multiplier, offset = engine_constants(seed)
    prime = literal(PRIME)
    kept = {known: column(known) for known in layer}
    # The remainder of a negative key is negative in some engines.
    inside = column(key) % prime + prime
    if multiplier >= _SMALL:
        inside = inside % prime
    start = (inside * literal(multiplier) + literal(offset)) % prime
    a, b = f"{name}_1", f"{name}_2"
    square = column(b) * column(b) % prime
    return [
        {**kept, a: start},
        {**kept, a: column(a), b: column(a) * column(a) % prime},
        {**kept, name: square * column(a) % prime},
    ]


def modulus(key: Expression, n: int) -> Expression:
    """Return the remainder of a key, from 0 on, whatever its sign."""
    return (key % literal(n) + literal(n)) % literal(n)


def _check_level(level: Any, kind: ColumnKind, name: str, where: str) -> None:
    wanted = {"text": str, "truth": bool, "whole": int}[kind.kind]
    if not isinstance(level, wanted) or (wanted is int and isinstance(level, bool)):
        msg = f"{where}: column {name!r} must hold levels such as {level!r}; got {kind.said}."
        raise SourceError(msg)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
