"""Lazy frames of Polars, by its SQL; the only file that imports it."""

from __future__ import annotations

import hashlib
from typing import Any

import polars as pl

from flipcost.tables.engine import Engine


class PolarsEngine(Engine):
    """A lazy frame of Polars."""

    title = "Polars"
    row_number, counts_rows = 'CAST("flipcost row" AS BIGINT)', True

    def __init__(self, frame: Any):
        if not isinstance(frame, pl.LazyFrame):
            msg = (
                "`frame` must be lazy: a polars.LazyFrame, a DuckDB relation, a Spark DataFrame or "
                f"an Ibis table; got {type(frame).__name__}. Call its `lazy`, or `scan_batches`."
            )
            raise TypeError(msg)
        super().__init__("frame")
        self.where = "the frame"
        self._frame, self._keys = frame, dict[str, str]()

    def arrow(self, statement: str) -> Any:
        return self._collected(statement).to_arrow()

    def text_key(self, name: str) -> str:
        # Its SQL has no MD5: a column that is made where a statement asks for it.
        key = f"flipcost key of {name}"
        self._keys[key] = name
        return self.name(key)

    def is_nan(self, value: str) -> str:
        return f"({value} = {self.number(float('nan'))})"  # which equals itself here

    def _collected(self, statement: str) -> Any:
        frame = self._frame
        if self.row_number in statement:
            frame = frame.with_row_index("flipcost row")
        for key, name in self._keys.items():
            if self.name(key) in statement:
                text = pl.col(name).cast(pl.String)
                keys = text.map_batches(_text_keys, return_dtype=pl.Int64)
                frame = frame.with_columns(keys.alias(key))
        # Polars reads in batches when it streams, and holds the table otherwise.
        found = pl.SQLContext(frame=frame).execute(statement)
        return found.collect(engine="streaming")

    def fault(self, error: Exception) -> str | None:
        if isinstance(error, OSError) or type(error).__module__.partition(".")[0] == "polars":
            return str(error)
        return None


def _text_keys(texts: pl.Series) -> pl.Series:
    """Return the first 32 bits of the MD5 of texts."""
    keys = [
        None
        if text is None
        else int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)
        for text in texts.to_list()
    ]
    return pl.Series(texts.name, keys, pl.Int64)
