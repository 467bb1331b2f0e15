"""Columns of a table in an engine as expressions: features, labels, weights, keys and folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.folds import PRIME, engine_constants
from flipcost.exceptions import SourceError, unknown_column
from flipcost.tables.columns import FALSE_WORDS, TRUE_WORDS
from flipcost.tables.sql import (
    MISSING,
    Expression,
    case,
    column,
    literal,
    number,
)

if TYPE_CHECKING:
    from flipcost.tables.encoder import Column
    from flipcost.tables.engine import ColumnKind, Engine
    from flipcost.tables.rows import Layout

Layer = Mapping[str, Expression]

# Codes of labels after the two: none, and any other.
NO_LABEL, OTHER_LABEL = 2, 3
# Below it, twice the prime times a multiplier fits in 64 bits.
_SMALL = 1 << 30


@dataclass(frozen=True)
class EngineColumns:
    """How an engine reads the columns of a table.

    Parameters
    ----------
    engine : Engine
        The engine that holds the table.
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

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        step = self.layout.encoder
        return (self.layout.columns or ()) if step is None else step.feature_names

    @cached_property
    def features(self) -> list[Expression]:
        """The features: columns of numbers as they are, or as the encoder reads them."""
        step = self.layout.encoder
        if step is None:
            return [self.plain_number(name) for name in self.layout.columns or ()]
        plain, flags, levels = [], [], []
        for known in step.encoder.columns:
            if known.kind in ("constant", "empty"):
                continue
            value = self._category(known) if known.kind == "category" else self._value(known)
            if known.kind == "category":
                levels += _level_flags(value, known)
            else:
                plain.append(_filled(value, known))
            if known.has_missing:
                flags.append(case([(value.is_missing(), number(1.0))], number(0.0)))
        scaled = zip(
            (*plain, *flags, *levels), step.mean_.tolist(), step.scale_.tolist(), strict=True
        )
        return [(value - number(mean)) / number(scale) for value, mean, scale in scaled]

    def kind(self, name: str) -> ColumnKind:
        """Return what a column holds; suggest a name where there is no such column."""
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
                f"{self.engine.where}: column {name!r} must hold numbers; got {kind.type}. Leave "
                "it out of `columns`, make numbers of it in a SELECT, or, for a category, read the "
                "table `with_encoder`."
            )
            raise SourceError(msg)
        return column(name).as_double()

    def number_or_missing(self, name: str) -> Expression:
        """Return a column of numbers, missing also where the engine has a "not a number"."""
        value = self.plain_number(name)
        may_be_nan = self.kind(name).kind == "number"
        return case([(value.is_nan(), MISSING)], value) if may_be_nan else value

    def _value(self, known: Column) -> Expression:
        """Return the number of a column that the encoder reads as a number, or yes or no."""
        if known.kind == "boolean" and self.kind(known.name).kind == "text":
            word = column(known.name).as_text().lower()
            yes = [(word.equals(literal(said)), number(1.0)) for said in TRUE_WORDS]
            return case([*yes, *((word.equals(literal(s)), number(0.0)) for s in FALSE_WORDS)])
        return self.number_or_missing(known.name)

    def _category(self, known: Column) -> Expression:
        value = self.plain_level(known.name)
        return value if self.kind(known.name).kind == "text" else value.as_text()

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
            f"category; got {kind.type}. Leave it out of `columns`."
        )
        raise SourceError(msg)

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
        msg = f"{self.engine.where}: labels must be numbers, text or booleans; got {kind.type}."
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
            f"{self.rule}; got {kind.type}."
        )
        raise SourceError(msg)

    @property
    def draw_key(self) -> Expression:
        """What rows without numbers are drawn by: the key, of a column of any type."""
        name = self.layout.fold_by
        if name is None or self.kind(name).kind in ("whole", "text"):
            key = self.key
        else:
            key = column(name).as_text().text_key()
        return key if name is None else case([(column(name).is_missing(), literal(0))], key)


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


def _filled(value: Expression, known: Column) -> Expression:
    """Return a number with what is missing filled, and clipped as the encoder clips."""
    (fill,), (low,), (high,) = known.fill, known.low, known.high
    branches = [(value.is_missing(), number(fill))]
    if np.isfinite([low, high]).any():
        branches.append((value.is_infinite(), value))  # which the sums then show
    if np.isfinite(high):
        branches.append((value.above(number(high)), number(high)))
    if np.isfinite(low):
        branches.append((number(low).above(value), number(low)))
    return case(branches, value)


def _level_flags(value: Expression, known: Column) -> list[Expression]:
    """Return a flag for each level of a category, and for any other if the encoder has one."""
    yes, no = number(1.0), number(0.0)
    found = [case([(value.equals(literal(level)), yes)], no) for level in known.levels]
    if known.has_other:
        levels = [(value.equals(literal(level)), no) for level in known.levels]
        found.append(case([*levels, (value.is_missing(), no)], yes))
    return found


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class EngineRows:
    """Rows of a table as features ``x0``, ``x1``, ..., code ``y``, weight ``w`` and fold ``f``.

    Parameters
    ----------
    columns : EngineColumns
        How the columns are read.
    labels : tuple
        The two labels, or fewer.
    n_folds : int
        Number of folds.
    """

    columns: EngineColumns
    labels: tuple[Any, ...]
    n_folds: int = 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns.features)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.columns.weight is not None

    def layers(self) -> list[Layer]:
        """Return the layers; the last one has ``x``, ``y``, ``f``, and ``w`` if there are any."""
        columns = self.columns
        first = {f"x{j}": feature for j, feature in enumerate(columns.features)}
        first["y"] = columns.label_code(self.labels)
        if columns.weight is not None:
            first["w"] = columns.weight
        found: list[Layer] = [first]
        hashes = self.n_folds > 1 and columns.rule == "hash"
        if self.n_folds > 1:
            first["k"] = columns.key
        if hashes:
            found += hashed(found[-1], "k", "h", columns.layout.fold_seed)
        found.append(self._last(found[-1], hashes=hashes))
        return found

    def _last(self, before: Layer, *, hashes: bool) -> Layer:
        last = {name: column(name) for name in before if name not in ("h", "k")}
        fold = literal(0)
        if self.n_folds > 1:
            fold = modulus(column("k"), self.n_folds)
            if hashes:
                fold = column("h") % literal(self.n_folds)
        last["f"] = fold
        return last
