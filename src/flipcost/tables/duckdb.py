"""DuckDB, embedded; the only file that imports it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from flipcost.exceptions import TableError
from flipcost.tables.engine import Engine

# Rows that come at a time, where all come.
_BATCH_ROWS = 100_000


class DuckDBEngine(Engine):
    """A table or a query of a DuckDB connection."""

    title = "DuckDB"
    tiny = "TINYINT"
    row_number, counts_rows = "rowid", True

    def __init__(self, connection: Any, source: str, *, owned: bool = False):
        super().__init__(source)
        self._connection, self._owned = connection, owned

    def arrow(self, statement: str) -> Any:
        return self._relation(statement).to_arrow_table()

    def streamed(self, statement: str) -> Iterator[Any]:
        for batch in self._relation(statement).to_arrow_reader(_BATCH_ROWS):
            yield pa.Table.from_batches([batch])

    def text_key(self, name: str) -> str:
        value = f"CAST({self.name(name)} AS VARCHAR)"
        return f"CAST('0x' || substr(md5({value}), 1, 8) AS BIGINT)"

    def drawn_by_chance(self, size: int, n_rows: int, seed: int) -> str:  # noqa: ARG002
        return f" USING SAMPLE reservoir({size} ROWS) REPEATABLE ({seed})"

    def _relation(self, statement: str) -> Any:
        return self._connection.sql(statement)

    def fault(self, error: Exception) -> str | None:
        if not isinstance(error, duckdb.Error):
            return None
        said = str(error)
        if isinstance(error, duckdb.CatalogException) and "Table with name" in said:
            return "no table"
        if isinstance(error, duckdb.PermissionException):
            return "no right"
        if isinstance(error, duckdb.ConnectionException):
            return "lost"
        return said.partition("LINE ")[0]

    def close(self) -> None:
        if self._owned:
            self._connection.close()


class DuckDBRelation(DuckDBEngine):
    """A relation, which is DuckDB's lazy frame."""

    def __init__(self, relation: Any):
        super().__init__(None, "relation")
        self.where = "the relation"
        self._frame = relation

    def _relation(self, statement: str) -> Any:
        return self._frame.query("relation", statement)


def open_file(path: str) -> Any:
    """Open a DuckDB file for reading."""
    if not Path(path).is_file():
        msg = f"There is no DuckDB file at {path!r}; check the path."
        raise TableError(msg)
    try:
        return duckdb.connect(path, read_only=True)
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        msg = f"{path!r} cannot be opened as a DuckDB file ({said.rstrip('.')})."
        raise TableError(msg) from error
