"""Engines that hold a table and answer questions about it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flipcost.exceptions import SourceError, TableError
from flipcost.tables.sql import ROW_NUMBER, ROWS, Dialect, Question, RowsWanted, literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flipcost.tables.sql import Expression

# What a query begins with; anything else is the name of a table.
_QUERY = re.compile(r"\s*\(*\s*(select|with|from|values)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
# Text, quoted names and comments, in which a semicolon means nothing.
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PART = re.compile(r'"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^."`]+')


@dataclass(frozen=True)
class ColumnKind:
    """What a column holds, and the engine's word for it.

    `kind` is "number", "whole", "truth", "text", "date" or "other".
    """

    kind: str
    type: str


@dataclass(frozen=True)
class Answer:
    """What an engine found for one group: its keys and values."""

    keys: tuple[Any, ...]
    values: tuple[Any, ...]


class Engine(ABC):
    """Holds a table and answers questions about it; nothing but answers leaves it.

    Attributes
    ----------
    where : str
        The table, named in messages.
    n_questions, n_bytes : int
        Questions so far, and the size of their answers, eight bytes a number.
    most_sums : int
        How many sums one question may ask for.
    """

    most_sums = 20_500

    def __init__(self, where: str):
        self.where = where
        self.n_questions = self.n_bytes = 0

    @abstractmethod
    def columns(self) -> dict[str, ColumnKind]:
        """Return the columns and what they hold."""

    @abstractmethod
    def _answers(self, question: Question) -> list[Answer]:
        """Answer a question."""

    @abstractmethod
    def fetch(self, wanted: RowsWanted) -> Any:
        """Return some rows as an Arrow table; they count among what has left the engine."""

    @abstractmethod
    def has_row_numbers(self) -> bool:
        """Tell whether rows have numbers of the engine's own."""

    @abstractmethod
    def fault(self, error: Exception) -> SourceError | None:
        """Return an error of the engine in one sentence; None if it is not the engine's."""

    def ask(self, question: Question) -> list[Answer]:
        """Answer a question; errors of the engine become one sentence."""
        with self.guarded():
            found = self._answers(question)
        self.n_questions += 1
        self.n_bytes += sum(_size(v) for a in found for v in (*a.keys, *a.values))
        return found

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
            raise said from None  # the engine's own error may hold what it was connected with

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of what was opened here."""


class SqlEngine(Engine):
    """An engine that is asked in SQL.

    Parameters
    ----------
    source : str
        A query, or the name of a table.

    Examples
    --------
    >>> import duckdb
    >>> from flipcost.tables.scan import sql_engine
    >>> engine = sql_engine(duckdb.connect(), "SELECT 1 AS x, 'a' AS town")
    >>> isinstance(engine, SqlEngine), list(engine.columns())
    (True, ['x', 'town'])
    """

    dialect: Dialect = Dialect()
    title = "The engine"

    def __init__(self, source: str):
        self._source, where = read_source(source, self.dialect)
        super().__init__(where)
        self.most_sums = self.dialect.most_sums

    @abstractmethod
    def run(self, statement: str) -> list[Any]:
        """Return the rows of a statement."""

    @abstractmethod
    def rows(self, size: int | None, n_rows: int, seed: int) -> Any:
        """Return `size` of the rows, drawn at random, as an Arrow table; all when None."""

    @abstractmethod
    def arrow(self, statement: str) -> Any:
        """Return the rows of a statement as an Arrow table."""

    def fetch(self, wanted: RowsWanted) -> Any:
        """Return some rows as an Arrow table; they count among what has left the engine."""
        with self.guarded():
            found = self.arrow(self.dialect.rows(self._source, wanted))
        self.n_questions += 1
        self.n_bytes += found.nbytes
        return found

    def batches(self, layers: Sequence[Mapping[str, Expression]], names: Sequence[str]) -> Any:
        """Yield what layers make of all rows, some at a time, as Arrow tables."""
        statement = self.dialect.rows(self._source, RowsWanted(tuple(layers), tuple(names), None))
        self.n_questions += 1
        with self.guarded():
            for found in self._streamed(statement):
                self.n_bytes += found.nbytes
                yield found

    def _streamed(self, statement: str) -> Iterator[Any]:
        """Yield the rows of a statement, some at a time."""
        yield self.arrow(statement)

    def has_row_numbers(self) -> bool:
        """Tell whether rows have numbers of the engine's own: those of tables may, not of queries.

        They stay the same while the table is not written to.
        """
        if self._source.startswith("("):
            return False
        try:
            self.fetch(RowsWanted(({"r": ROW_NUMBER},), ("r",), 0))
        except SourceError:  # a view, or an engine that has none
            return False
        return True

    def count(self) -> int:
        """Return the number of rows."""
        (found,) = self.ask(Question(({"one": literal(1)},), (ROWS,)))
        return int(found.values[0])

    def statement(self, question: Question) -> str:
        """Return a question in SQL."""
        return self.dialect.statement(self._source, question)

    def _answers(self, question: Question) -> list[Answer]:
        n = len(question.by)
        found = [tuple(row) for row in self.run(self.statement(question))]
        if self.dialect.packs:
            found = [(*row[:n], *row[n]) for row in found]
        return [Answer(row[:n], row[n:]) for row in found]

    def refused(self, said: str) -> SourceError:
        """Return the engine's own complaint in a sentence."""
        line = next((line.strip() for line in said.splitlines() if line.strip()), "no reason given")
        return SourceError(f"{self.where}: {self.title} could not answer ({line.rstrip('.')}).")

    def no_table(self) -> SourceError:
        """Return the error for a table that is not there."""
        msg = f"{self.title} has no {self.where}; check its name, and its schema if it has one."
        return SourceError(msg)

    def no_right(self) -> SourceError:
        """Return the error for a table that may not be read."""
        msg = (
            f"{self.title} does not let this user read {self.where}; ask for the right to "
            "SELECT from it, or connect as a user who has it."
        )
        return SourceError(msg)

    def lost(self) -> SourceError:
        """Return the error for a connection that is gone."""
        msg = (
            f"{self.title}: the connection was lost while {self.where} was read; connect again "
            "and start anew."
        )
        return SourceError(msg)


def read_source(source: Any, dialect: Dialect) -> tuple[str, str]:
    """Return what follows FROM for a query or a table, and what to call it in messages.

    Examples
    --------
    >>> read_source("sales.calls", Dialect())
    ('sales.calls', "table 'sales.calls'")
    >>> read_source("my calls", Dialect())[0]
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
        part if part[0] in '"`' or _PLAIN.fullmatch(part) else dialect.name(part)
        for part in _PART.findall(named)
    ]
    return ".".join(parts), f"table {named!r}"


def _size(value: Any) -> int:
    if value is None:
        return 0
    return len(value) if isinstance(value, str) else 8
