"""Engines that hold a table and are asked about it in SQL.

They are registered in `sql_engine` of `tables/scan.py`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flipcost.exceptions import SourceError, TableError

# What a query begins with; anything else is the name of a table.
_QUERY = re.compile(r"\s*\(*\s*(select|with|from|values)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
# Text, quoted names and comments, in which a semicolon means nothing.
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PART = re.compile(r'"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^."`]+')


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
