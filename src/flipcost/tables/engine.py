"""Engines that hold a table and are asked about it in SQL.

They are registered among the `_CONNECTIONS` of `tables/scan.py`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.core.folds import PRIME, engine_constants
from flipcost.exceptions import SourceError, TableError, unknown_column
from flipcost.tables.arrow import is_number, is_text
from flipcost.tables.columns import FALSE_WORDS, TRUE_WORDS

if TYPE_CHECKING:
    from flipcost.tables.encoder import Column
    from flipcost.tables.rows import Layout

# What a query begins with; anything else is the name of a table.
_QUERY = re.compile(r"\s*\(*\s*(select|with|from|values)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
# Text, quoted names and comments, in which a semicolon means nothing.
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PART = re.compile(r'"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^."`]+')


# Codes of labels after the two: none, and any other.
NO_LABEL, OTHER_LABEL = 2, 3
# Below it, twice the prime times a multiplier fits in 64 bits.
_SMALL = 1 << 30
# What is said of an engine that cannot answer, by the reason.
FAULTS = {
    "no table": "{title} has no {where}; check its name, and its schema if it has one.",
    "no right": "{title} does not let this user read {where}; ask for the right to SELECT from it, "
    "or connect as a user who has it.",
    "lost": "{title}: the connection was lost while {where} was read; connect again and start "
    "anew.",
}


class Engine(ABC):
    """A table or a query in an engine, and the engine's own words where its SQL has some.

    Attributes
    ----------
    where : str
        The table, named in messages.
    n_questions, n_bytes : int
        Questions so far, and the size of their answers, eight bytes a number.

    Examples
    --------
    >>> import duckdb
    >>> from flipcost.tables.scan import sql_engine
    >>> engine = sql_engine(duckdb.connect(), "SELECT 1 AS x, 'a' AS town")
    >>> engine.schema().names, engine.count()
    (['x', 'town'], 1)
    """

    title = "The engine"
    double, text, quotes = "DOUBLE", "VARCHAR", '"'
    # Of whole numbers below 128: groups of a small type are found faster.
    tiny = "SMALLINT"
    # After a subquery, to have its expressions computed once and not where they are used.
    fence = ""
    # The engine's own number of a row, and whether it counts rows from the first.
    row_number, counts_rows = "", False
    # Whether the answers travel as one array: some engines limit the columns of a result.
    packs = False
    # Most sums in one statement: those of 200 columns and of all their products.
    most_sums = 20_500

    def __init__(self, source: str):
        self.source, self.where = read_source(source, self.name)
        self.n_questions = self.n_bytes = 0

    def schema(self) -> Any:
        """Return the columns and their Arrow types."""
        with self.guarded():
            return self.arrow(f"SELECT * FROM {self.source} AS source LIMIT 0").schema

    def run(self, statement: str) -> list[Any]:
        """Return the rows of a statement that gives few."""
        return [tuple(row.values()) for row in self.arrow(statement).to_pylist()]

    @abstractmethod
    def arrow(self, statement: str) -> Any:
        """Return the rows of a statement as an Arrow table."""

    @abstractmethod
    def text_key(self, name: str) -> str:
        """Return the first 32 bits of the MD5 of a column as text, as a number."""

    @abstractmethod
    def fault(self, error: Exception) -> str | None:
        """Return the reason of an error, one of `FAULTS` or as the engine says it.

        None if it is not the engine's.
        """

    def streamed(self, statement: str) -> Iterator[Any]:
        """Yield the rows of a statement, some at a time."""
        yield self.arrow(statement)

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of what was opened here."""

    @classmethod
    def name(cls, name: str) -> str:
        """Return a name in quotes."""
        return cls.quotes + name.replace(cls.quotes, 2 * cls.quotes) + cls.quotes

    def quoted(self, text: str) -> str:
        """Return text in quotes."""
        return "'" + text.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """Return a floating number, with as many digits as distinguish doubles."""
        return f"CAST('{value:.16e}' AS {self.double})"

    def literal(self, value: Any) -> str:
        """Return a label or a level as an SQL literal."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.quoted(value)
        return self.number(value) if isinstance(value, float) else f"({value})"

    def is_nan(self, value: str) -> str:
        """Return SQL that tests whether a floating number is NaN."""
        return f"isnan({value})"

    def layered(
        self, *layers: Mapping[str, str], first_rows: int | None = None, fenced: bool = True
    ) -> str:
        """Return what follows FROM: layers of columns, each in terms of the one before.

        Layers that compute little need no fence, which may keep the engine from working in
        parallel.
        """
        inner = f"{self.source} AS source"
        if first_rows is not None:
            inner = f"(SELECT * FROM {inner} LIMIT {first_rows}) AS source"
        for layer in layers:
            chosen = ", ".join(f"{value} AS {name}" for name, value in layer.items())
            inner = f"(SELECT {chosen} FROM {inner}{self.fence if fenced else ''}) AS layer"
        return inner

    def ask(self, answers: list[str], inner: str, by: str = "", most: int | None = None) -> Any:
        """Return aggregates for each group of some columns, after the values of these columns."""
        keys = by.split(", ") if by else []
        if self.packs:
            chosen = [*keys, f"ARRAY[{', '.join(f'CAST({a} AS {self.double})' for a in answers)}]"]
        else:
            chosen = [*keys, *(f"{answer} AS a{k}" for k, answer in enumerate(answers))]
        statement = f"SELECT {', '.join(chosen)} FROM {inner}"
        statement += f" GROUP BY {by}" if by else ""
        statement += f" LIMIT {most}" if most is not None else ""
        with self.guarded():
            found = [tuple(row) for row in self.run(statement)]
        if self.packs:
            found = [(*row[:-1], *row[-1]) for row in found]
        self.n_questions += 1
        self.n_bytes += sum(_size(value) for row in found for value in row)
        return found

    def fetch(self, names: str, inner: str, beyond: str = "") -> Any:
        """Return some rows as an Arrow table; they count among what has left the engine."""
        with self.guarded():
            found = self.arrow(f"SELECT {names} FROM {inner} {beyond}")
        self.n_questions += 1
        self.n_bytes += found.nbytes
        return found

    def batches(self, names: str, inner: str) -> Iterator[Any]:
        """Yield all rows, some at a time, as Arrow tables."""
        self.n_questions += 1
        with self.guarded():
            for found in self.streamed(f"SELECT {names} FROM {inner}"):
                self.n_bytes += found.nbytes
                yield found

    def count(self) -> int:
        """Return the number of rows."""
        return int(self.ask(["COUNT(*)"], self.layered())[0][0])

    def has_row_numbers(self) -> bool:
        """Tell whether rows have numbers of the engine's own: those of tables may, not of queries.

        They stay the same while the table is not written to.
        """
        if not self.row_number or self.source.startswith("("):
            return False
        try:
            self.fetch("r", self.layered({"r": self.row_number}), "LIMIT 0")
        except SourceError:  # a view
            return False
        return True

    def rows(self, size: int | None, n_rows: int, seed: int) -> Any:
        """Return `size` of the rows, drawn at random, as an Arrow table; all when None."""
        chosen = "" if size is None else self.drawn_by_chance(size, n_rows, seed)
        with self.guarded():
            return self.arrow(f"SELECT source.* FROM {self.source} AS source{chosen}")

    def drawn_by_chance(self, size: int, n_rows: int, seed: int) -> str:
        """Return the end of a statement that draws `size` rows: of a few more, these at random."""
        share = 1.05 * size / n_rows + 20 / n_rows
        return f" WHERE rand({seed}) < {share:.12f} ORDER BY rand({seed + 1}) LIMIT {size}"

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn errors of the engine into ours."""
        try:
            yield
        except TableError:
            raise
        except Exception as error:
            said = self.fault(error)
            if said is None:
                raise
            # The engine's own error may hold what it was connected with.
            raise SourceError(self._sentence(said)) from None

    def _sentence(self, said: str) -> str:
        if said in FAULTS:
            return FAULTS[said].format(title=self.title, where=self.where)
        line = next((line.strip() for line in said.splitlines() if line.strip()), "no reason given")
        return f"{self.where}: {self.title} could not answer ({line.rstrip('.')})."


def read_source(source: Any, in_quotes: Any) -> tuple[str, str]:
    """Return what follows FROM for a query or a table, and what to call it in messages.

    Examples
    --------
    >>> read_source("sales.calls", Engine.name)
    ('sales.calls', "table 'sales.calls'")
    >>> read_source("my calls", Engine.name)[0]
    '"my calls"'
    """
    if not isinstance(source, str):
        msg = f"`query_or_table` must be SQL or the name of a table; got {type(source).__name__}."
        raise TypeError(msg)
    if not source.strip():
        msg = "`query_or_table` must name a table, or be a query; got nothing."
        raise TableError(msg)
    if ";" in _QUOTED.sub("", source):
        msg = (
            "The query must be one SELECT without a semicolon, since others are put around it; got "
            f"{source.strip()!r}. Leave the semicolon out."
        )
        raise TableError(msg)
    if _QUERY.match(source):
        return f"(\n{source}\n)", "the query"
    named = source.strip()
    parts = [
        part if part[0] in '"`' or _PLAIN.fullmatch(part) else in_quotes(part)
        for part in _PART.findall(named)
    ]
    return ".".join(parts), f"table {named!r}"


def _size(value: Any) -> int:
    if value is None:
        return 0
    return len(value) if isinstance(value, str) else 8


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
