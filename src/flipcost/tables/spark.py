"""Spark, which comes with the session or the DataFrame that it is asked by."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flipcost.tables.engine import ColumnKind, SqlEngine
from flipcost.tables.sql import SparkDialect

if TYPE_CHECKING:
    from flipcost.exceptions import SourceError

_KINDS = {
    "tinyint": "whole", "smallint": "whole", "int": "whole", "bigint": "whole",
    "float": "number", "double": "number", "decimal": "number", "void": "number",
    "boolean": "truth",
    "string": "text", "char": "text", "varchar": "text",
}  # fmt: skip
_NUMBERS = itertools.count()
# Rows that come at a time, where all come.
_BATCH_ROWS = 50_000


class SparkEngine(SqlEngine):
    """A table or a query of a Spark session."""

    dialect = SparkDialect()
    title = "Spark"

    def __init__(self, session: Any, source: str):
        super().__init__(source)
        self._session = session

    def run(self, statement: str) -> list[Any]:
        return list(self._session.sql(statement).collect())

    def columns(self) -> dict[str, ColumnKind]:
        with self.guarded():
            found = self._session.sql(f"SELECT * FROM {self._source} AS source").dtypes
        return {
            n: ColumnKind(_KINDS.get(said.partition("(")[0], "other"), said) for n, said in found
        }

    def rows(self, size: int | None, n_rows: int, seed: int) -> Any:
        some = ""
        if size is not None:
            share = 1.05 * size / n_rows + 20 / n_rows
            some = f" WHERE rand({seed}) < {share:.12f} ORDER BY rand({seed + 1}) LIMIT {size}"
        with self.guarded():
            return self.arrow(f"SELECT source.* FROM {self._source} AS source{some}")

    def arrow(self, statement: str) -> Any:
        frame = self._session.sql(statement)
        if hasattr(frame, "toArrow"):  # Spark 4: columns travel, not objects
            return frame.toArrow()
        return _table(frame.collect(), frame.columns)

    def _streamed(self, statement: str) -> Any:
        frame = self._session.sql(statement)
        rows = frame.toLocalIterator(prefetchPartitions=True)
        while found := list(itertools.islice(rows, _BATCH_ROWS)):
            yield _table(found, frame.columns)

    def fault(self, error: Exception) -> SourceError | None:
        root = type(error).__module__.partition(".")[0]
        if root == "py4j" or isinstance(error, ConnectionError):
            return self.lost()
        if root != "pyspark":
            return None
        said = str(error)
        condition = (error.getCondition() if hasattr(error, "getCondition") else None) or ""
        if condition == "TABLE_OR_VIEW_NOT_FOUND":
            return self.no_table()
        if "PERMISSION" in condition or "AccessControlException" in said:
            return self.no_right()
        return self.refused(said.partition("SQLSTATE")[0])


class SparkFrame(SparkEngine):
    """A DataFrame, seen by Spark's SQL under a name of its own."""

    def __init__(self, frame: Any):
        view = f"flipcost_{os.getpid()}_{next(_NUMBERS)}"
        frame.createOrReplaceTempView(view)
        super().__init__(frame.sparkSession, view)
        self._view = view
        self.where = "the DataFrame"

    def close(self) -> None:
        self._session.catalog.dropTempView(self._view)


def _table(found: Any, names: Any) -> Any:
    cells = list(zip(*found, strict=True)) or [()] * len(names)
    return pa.table([pa.array(values) for values in cells], names=names)
