"""Spark, which comes with the session or the DataFrame that it is asked by."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from flipcost.tables.engine import Engine

_NUMBERS = itertools.count()
# Rows that come at a time, where they come one by one.
_BATCH_ROWS = 50_000


class SparkEngine(Engine):
    """A table or a query of a Spark session."""

    title = "Spark"
    text, quotes = "STRING", "`"
    # Code for more is too long for the Java machine, and is then interpreted.
    most_sums = 2_000

    def __init__(self, session: Any, source: str):
        super().__init__(source)
        self._session = session

    def arrow(self, statement: str) -> Any:
        return self._session.sql(statement).toArrow()

    def streamed(self, statement: str) -> Iterator[Any]:
        # Spark hands out rows one by one, or all at once: here each is a batch of rows, where the
        # workers' Python has pyarrow to pack it.
        def packed(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, batch.schema) as stream:
                    stream.write_batch(batch)
                yield pa.record_batch({"batch": [sink.getvalue().to_pybytes()]})

        frame = self._session.sql(statement)
        batches = frame.mapInArrow(packed, "batch binary").toLocalIterator(prefetchPartitions=True)
        try:
            first = list(itertools.islice(batches, 1))
        except Exception as error:
            if "No module named" not in str(error):
                raise
            rows = frame.toLocalIterator(prefetchPartitions=True)
            while found := list(itertools.islice(rows, _BATCH_ROWS)):
                cells = [pa.array(values) for values in zip(*found, strict=True)]
                yield pa.table(cells, names=frame.columns)
            return
        for (batch,) in itertools.chain(first, batches):
            yield pa.ipc.open_stream(bytes(batch)).read_all()

    def quoted(self, text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def text_key(self, name: str) -> str:
        value = f"CAST({self.name(name)} AS STRING)"
        return f"CAST(conv(substr(md5({value}), 1, 8), 16, 10) AS BIGINT)"

    def fault(self, error: Exception) -> str | None:
        root = type(error).__module__.partition(".")[0]
        if root == "py4j" or isinstance(error, ConnectionError):
            return "lost"
        if root != "pyspark":
            return None
        said = str(error)
        condition = (error.getCondition() if hasattr(error, "getCondition") else None) or ""
        if condition == "TABLE_OR_VIEW_NOT_FOUND":
            return "no table"
        if "PERMISSION" in condition or "AccessControlException" in said:
            return "no right"
        return said.partition("SQLSTATE")[0]


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
