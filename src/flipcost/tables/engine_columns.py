"""Columns of a table in an engine, in SQL: features, labels, weights, keys and folds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.core.folds import PRIME, engine_constants
from flipcost.exceptions import SourceError, unknown_column
from flipcost.tables.arrow import is_number, is_text
from flipcost.tables.columns import FALSE_WORDS, TRUE_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flipcost.tables.encoder import Column
    from flipcost.tables.engine import Engine
    from flipcost.tables.rows import Layout

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
    def types(self) -> dict[str, Any]:
        """The Arrow types of the columns of the source."""
        schema = self.engine.schema()
        return dict(zip(schema.names, schema.types, strict=True))

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.layout.weight is not None

    @cached_property
    def features(self) -> list[str]:
        """The features: columns of numbers as they are, or as the encoder reads them."""
        step = self.layout.encoder
        if step is None:
            return [self.plain_number(name) for name in self.layout.columns or ()]
        number = self.engine.number
        plain, flags, levels = [], [], []
        for known in step.encoder.columns:
            if known.kind in ("constant", "empty"):
                continue
            if known.kind == "category":
                value = self._level(known.name)
                levels += self._level_flags(value, known)
            else:
                value = self._value(known)
                plain.append(self._filled(value, known))
            if known.has_missing:
                flags.append(self._flag(f"{value} IS NULL"))
        scaled = zip(
            (*plain, *flags, *levels), step.mean_.tolist(), step.scale_.tolist(), strict=True
        )
        return [f"({value} - {number(mean)}) / {number(scale)}" for value, mean, scale in scaled]

    def kind(self, name: str) -> str:
        """Return "number", "whole", "truth", "text" or "other"; suggest a name if there is none."""
        if name not in self.types:
            where = self.engine.where
            raise unknown_column(name, list(self.types), where[:1].upper() + where[1:])
        return _kind(self.types[name])

    def plain_number(self, name: str) -> str:
        """Return a column of numbers as it is; what is not finite is found in the sums."""
        kind, column = self.kind(name), self.engine.name(name)
        if kind == "truth":
            one, zero = self.engine.number(1.0), self.engine.number(0.0)
            return f"CASE WHEN {column} = TRUE THEN {one} WHEN {column} = FALSE THEN {zero} END"
        if kind not in ("number", "whole"):
            msg = (
                f"{self.engine.where}: column {name!r} must hold numbers; got "
                f"{self.types[name]}. Leave it out of `columns`, make numbers of it in a "
                "SELECT, or, for a category, read the table `with_encoder`."
            )
            raise SourceError(msg)
        return f"CAST({column} AS {self.engine.double})"

    def number_or_missing(self, name: str) -> str:
        """Return a column of numbers, missing also where the engine has a "not a number"."""
        value = self.plain_number(name)
        if self.kind(name) != "number":
            return value
        return f"CASE WHEN {self.engine.is_nan(value)} THEN NULL ELSE {value} END"

    def _value(self, known: Column) -> str:
        """Return the number of a column that the encoder reads as a number, or yes or no."""
        if known.kind != "boolean" or self.kind(known.name) != "text":
            return self.number_or_missing(known.name)
        word = f"LOWER({self._text(known.name)})"
        yes, no = (", ".join(map(self.engine.quoted, w)) for w in (TRUE_WORDS, FALSE_WORDS))
        one, zero = self.engine.number(1.0), self.engine.number(0.0)
        return f"CASE WHEN {word} IN ({yes}) THEN {one} WHEN {word} IN ({no}) THEN {zero} END"

    def _text(self, name: str) -> str:
        return f"CAST({self.engine.name(name)} AS {self.engine.text})"

    def _level(self, name: str) -> str:
        """Return a category as text; empty text is missing."""
        if self.kind(name) not in ("text", "whole", "truth"):
            msg = (
                f"{self.engine.where}: column {name!r} must hold text, integers or booleans to be "
                f"a category; got {self.types[name]}. Leave it out of `columns`."
            )
            raise SourceError(msg)
        return f"NULLIF({self._text(name)}, '')"

    def _flag(self, condition: str) -> str:
        number = self.engine.number
        return f"CASE WHEN {condition} THEN {number(1.0)} ELSE {number(0.0)} END"

    def _level_flags(self, value: str, known: Column) -> list[str]:
        """Return a flag for each level of a category, and for any other if the encoder has one."""
        levels = [self.engine.quoted(level) for level in known.levels]
        found = [self._flag(f"{value} = {level}") for level in levels]
        if known.has_other:
            other = f" AND {value} NOT IN ({', '.join(levels)})" if levels else ""
            found.append(self._flag(f"{value} IS NOT NULL{other}"))
        return found

    def _filled(self, value: str, known: Column) -> str:
        """Return a number with what is missing filled, and clipped as the encoder clips."""
        number = self.engine.number
        cases = f"WHEN {value} IS NULL THEN {number(known.fill[0])}"
        ends = [(">", known.high[0]), ("<", known.low[0])]
        ends = [(sign, end) for sign, end in ends if np.isfinite(end)]
        if ends:
            cases += f" WHEN {self.is_infinite(value)} THEN {value}"  # which the sums then show
        for sign, end in ends:
            cases += f" WHEN {value} {sign} {number(end)} THEN {number(end)}"
        return f"CASE {cases} ELSE {value} END"

    def is_infinite(self, value: str) -> str:
        """Return SQL that tests whether a floating number is infinite."""
        largest = float(np.finfo(float).max)
        low, high = self.engine.number(-largest), self.engine.number(largest)
        return f"({value} > {high} OR {value} < {low})"

    @property
    def label(self) -> str:
        """The label as it is."""
        return self.label_of(self.layout.target or "")

    def label_of(self, name: str) -> str:
        """Return the labels that a column holds; empty text counts as missing."""
        kind, column = self.kind(name), self.engine.name(name)
        words = {
            "text": f"NULLIF({self._text(name)}, '')",
            "whole": f"CAST({column} AS BIGINT)",
            "number": f"CAST({column} AS {self.engine.double})",
            "truth": column,
        }
        if kind not in words:
            msg = (
                f"{self.engine.where}: labels must be numbers, text or booleans; got "
                f"{self.types[name]}."
            )
            raise SourceError(msg)
        return words[kind]

    def label_code(self, labels: tuple[Any, ...]) -> str:
        """Return 0 and 1 for the labels, and other codes for rows without one, or another."""
        label, literal = self.label, self.engine.literal
        known = " ".join(f"WHEN {label} = {literal(v)} THEN {k}" for k, v in enumerate(labels))
        return f"CASE {known} WHEN {label} IS NULL THEN {NO_LABEL} ELSE {OTHER_LABEL} END"

    @property
    def key(self) -> str:
        """The key of a row, a whole number."""
        name = self.layout.fold_by
        if name is None:
            msg = (
                f"{self.engine.where}: rows of a table in an engine have no order, so that "
                "`fold_by` must name the column, of integers or text, whose hash puts them into "
                "folds; got none."
            )
            raise SourceError(msg)
        if self.kind(name) == "whole" or (self.kind(name) == "text" and self.rule == "hash"):
            return self.any_key
        wanted = "integers or text" if self.rule == "hash" else "integers"
        msg = (
            f"{self.engine.where}: column {name!r} must hold {wanted} to make folds by its "
            f"{self.rule}; got {self.types[name]}."
        )
        raise SourceError(msg)

    @property
    def any_key(self) -> str:
        """The same of a column of any type."""
        name = self.layout.fold_by
        if name is None:
            return self.key
        if self.kind(name) == "whole":
            return f"CAST({self.engine.name(name)} AS BIGINT)"
        return self.engine.text_key(name)

    def layers(self, labels: tuple[Any, ...], n_folds: int = 1) -> list[dict[str, str]]:
        """Return layers whose last has features ``x``, code ``y``, weight ``w`` and fold ``f``."""
        first = {f"x{j}": feature for j, feature in enumerate(self.features)}
        first["y"] = self.label_code(labels)
        if self.layout.weight is not None:
            first["w"] = self.plain_number(self.layout.weight)
        last = {name: name for name in first}
        if n_folds == 1:
            return [first, {**last, "f": "0"}]
        first["k"] = self.key
        if self.rule == "modulus":
            return [first, {**last, "f": f"(k % {n_folds} + {n_folds}) % {n_folds}"}]
        hashes = hashed(first, "k", "h", self.layout.fold_seed)
        return [first, *hashes, {**last, "f": f"h % {n_folds}"}]


def _kind(type_: Any) -> str:
    """Return what a column of an Arrow type holds; large integers come as decimals."""
    types = pa.types
    if types.is_integer(type_) or (types.is_decimal(type_) and type_.scale == 0):
        return "whole"
    if types.is_boolean(type_):
        return "truth"
    if is_number(type_):
        return "number"
    values = type_.value_type if types.is_dictionary(type_) else type_
    return "text" if is_text(values) else "other"


def hashed(names: Sequence[str] | dict[str, str], key: str, name: str, seed: int) -> Any:
    """Return layers that add the hash of a key under a name; see `flipcost.core.folds`."""
    multiplier, offset = engine_constants(seed)
    kept = {known: known for known in names}
    # The remainder of a negative key is negative in some engines.
    inside = f"({key} % {PRIME} + {PRIME})"
    if multiplier >= _SMALL:
        inside = f"({inside} % {PRIME})"
    return [
        {**kept, "h1": f"({inside} * {multiplier} + {offset}) % {PRIME}"},
        {**kept, "h1": "h1", "h2": f"(h1 * h1) % {PRIME}"},
        {**kept, name: f"(((h2 * h2) % {PRIME}) * h1) % {PRIME}"},
    ]
