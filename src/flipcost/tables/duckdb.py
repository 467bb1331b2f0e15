"""DuckDB, embedded; the only file that imports it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from flipcost.exceptions import SourceError, TableError
from flipcost.tables.engine import ColumnKind, SqlEngine
from flipcost.tables.sql import DuckDBDialect

# Rows that come at a time, where all come.
_BATCH_ROWS = 100_000
_WHOLE = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip
_NUMBER = {"FLOAT", "DOUBLE", "DECIMAL", '"NULL"'}
_TEXT = {"VARCHAR", "ENUM", "UUID"}
_DATE = {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}
_WORDS = (("whole", _WHOLE), ("number", _NUMBER), ("text", _TEXT), ("date", _DATE))


class DuckDBEngine(SqlEngine):
    """A table or a query of a DuckDB connection."""

    dialect = DuckDBDialect()
    title = "DuckDB"

    def __init__(self, connection: Any, source: str, *, owned: bool = False):
        super().__init__(source)
        self._connection, self._owned = connection, owned

    def run(self, statement: str) -> list[Any]:
        return list(self._connection.execute(statement).fetchall())

    def columns(self) -> dict[str, ColumnKind]:
        with self.guarded():
            found = self.run(f"DESCRIBE SELECT * FROM {self._source} AS source")
        return {row[0]: ColumnKind(_kind(row[1]), row[1]) for row in found}

    def rows(self, size: int | None, n_rows: int, seed: int) -> Any:  # noqa: ARG002
        statement = f"SELECT * FROM {self._source} AS source"
        if size is not None:
            sample = f"USING SAMPLE reservoir({size} ROWS) REPEATABLE ({seed})"
            statement = f"SELECT * FROM ({statement}) AS source {sample}"
        with self.guarded():
            return self.arrow(statement)

    def arrow(self, statement: str) -> Any:
        return self._relation(statement).to_arrow_table()

    def _streamed(self, statement: str) -> Any:
        found = self._relation(statement)
        # The later name is that of DuckDB 1.4 on.
        read = getattr(found, "to_arrow_reader", None) or found.fetch_record_batch
        for batch in read(_BATCH_ROWS):
            yield pa.Table.from_batches([batch])

    def _relation(self, statement: str) -> Any:
        return self._connection.sql(statement)

    def fault(self, error: Exception) -> SourceError | None:
        if not isinstance(error, duckdb.Error):
            return None
        said = str(error)
        if isinstance(error, duckdb.CatalogException) and "Table with name" in said:
            return self.no_table()
        if isinstance(error, duckdb.PermissionException):
            return self.no_right()
        if isinstance(error, duckdb.ConnectionException):
            return self.lost()
        return self.refused(said.partition("LINE ")[0])

    def close(self) -> None:
        if self._owned:
            self._connection.close()


class DuckDBRelation(DuckDBEngine):
    """A relation, which is DuckDB's lazy frame."""

    def __init__(self, relation: Any):
        super().__init__(None, "relation")
        self.where = "the relation"
        self._frame = relation

    def run(self, statement: str) -> list[Any]:
        if statement.startswith("DESCRIBE"):
            return [
                (n, str(t)) for n, t in zip(self._frame.columns, self._frame.types, strict=True)
            ]
        return list(self._relation(statement).fetchall())

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


def _kind(said: str) -> str:
    word = said.partition("(")[0].strip()
    if said.endswith("]"):  # a list of them
        return "other"
    for kind, words in _WORDS:
        if word in words:
            return kind
    return "truth" if word == "BOOLEAN" else "other"
