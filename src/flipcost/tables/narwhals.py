"""Lazy frames through narwhals; the only file that imports it.

Polars, and whatever else narwhals knows as a lazy frame, is asked by its expressions. They compute
what the SQL of `sql` computes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import reduce
from operator import add, gt, mod, mul, or_, sub, truediv
from typing import TYPE_CHECKING, Any

import narwhals as nw

from flipcost.core.system import require
from flipcost.exceptions import SourceError
from flipcost.tables.engine import Answer, ColumnKind, Engine

if TYPE_CHECKING:
    from flipcost.tables.sql import Aggregate, Expression, Question, RowsWanted

_SIGNS = {
    "add": add, "subtract": sub, "multiply": mul, "divide": truediv, "remainder": mod,
    "above": gt, "either": or_,
}  # fmt: skip

_KEY, _NUMBER = "flipcost key", "flipcost row"
# The first Polars whose `collect` has an engine that streams.
_STREAMING = (1, 24)


class NarwhalsEngine(Engine):
    """A lazy frame."""

    def __init__(self, frame: Any):
        super().__init__("the frame")
        found = nw.from_native(frame, pass_through=True)
        if not isinstance(found, nw.LazyFrame):
            msg = (
                "`frame` must be lazy: a polars.LazyFrame, a DuckDB relation, a Spark DataFrame or "
                f"an Ibis table; got {type(frame).__name__}. Call its `lazy`, or `scan_batches`."
            )
            raise TypeError(msg)
        self._frame = found
        self._is_polars = found.implementation.is_polars()
        version = found.implementation._backend_version() if self._is_polars else ()  # noqa: SLF001
        self._streams = version >= _STREAMING

    def columns(self) -> dict[str, ColumnKind]:
        with self.guarded():
            schema = self._frame.collect_schema()
        return {name: ColumnKind(_kind(dtype), str(dtype)) for name, dtype in schema.items()}

    def has_row_numbers(self) -> bool:
        return self._is_polars

    def fetch(self, wanted: RowsWanted) -> Any:
        with self.guarded():
            frame = self._frame
            if any(value.op == "row_number" for value in wanted.layers[0].values()):
                frame = nw.from_native(frame.to_native().with_row_index(_NUMBER))
            frame = self._layered(frame, wanted.layers)
            if wanted.where is not None:
                frame = frame.filter(_write(wanted.where))
            frame = frame.select(*wanted.names).head(wanted.most)
            found = frame.collect(**self._options).to_arrow()
        self.n_questions += 1
        self.n_bytes += found.nbytes
        return found

    def _layered(self, frame: Any, layers: Any) -> Any:
        for layer in layers:
            frame = self._with_text_keys(frame, layer)
            frame = frame.select(**{name: _write(value) for name, value in layer.items()})
        return frame

    def _answers(self, question: Question) -> list[Answer]:
        frame = self._frame
        if question.first_rows is not None:
            frame = frame.head(question.first_rows)
        frame, names = self._layered(frame, question.layers), question.by
        answers = {f"a{k}": _aggregate(answer) for k, answer in enumerate(question.answers)}
        frame = frame.group_by(*names).agg(**answers) if names else frame.select(**answers)
        if question.most_groups is not None:
            frame = frame.head(question.most_groups)
        rows = frame.select(*names, *answers).collect(**self._options).rows()
        return [Answer(tuple(row[: len(names)]), tuple(row[len(names) :])) for row in rows]

    def _with_text_keys(self, frame: Any, layer: Mapping[str, Expression]) -> Any:
        """Add the MD5 of texts, which narwhals has no expression for."""
        wanted = {value.args[0] for value in layer.values() if value.op == "text_key"}
        if not wanted:
            return frame
        if not self._is_polars:
            msg = "Folds by text need Polars, DuckDB, PostgreSQL or Spark; give integers instead."
            raise SourceError(msg)
        frame = frame.with_columns(**{_KEY: _write(wanted.pop())}).to_native()
        polars = require("polars")
        hashed = polars.col(_KEY).map_batches(_hash_texts, return_dtype=polars.Int64)
        return nw.from_native(frame.with_columns(hashed))

    @property
    def _options(self) -> dict[str, str]:
        # Polars reads in batches when it streams, and holds the table otherwise.
        return {"engine": "streaming"} if self._streams else {}

    def fault(self, error: Exception) -> SourceError | None:
        root = type(error).__module__.partition(".")[0]
        if root in ("polars", "narwhals", "ibis") or isinstance(error, OSError):
            said = next(iter(str(error).splitlines()), "no reason given").rstrip(".")
            return SourceError(f"{self.where}: its engine could not answer ({said}).")
        return None


def _kind(dtype: Any) -> str:
    if dtype.is_integer():
        return "whole"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "truth"
    is_text = dtype in (nw.String, nw.Categorical) or isinstance(dtype, nw.Enum)
    return "text" if is_text else "other"


def _aggregate(answer: Aggregate) -> Any:
    if answer.of is None:
        return nw.len()
    return getattr(_write(answer.of), answer.kind)()


def _write(expression: Expression) -> Any:
    """Return an expression in narwhals' words."""
    op, args = expression.op, expression.args
    if op in _SIGNS:
        return reduce(_SIGNS[op], map(_write, args))
    return _WORDS[op](*args)


def _literal(value: Any) -> Any:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return nw.lit(value, dtype=nw.Int64) if is_whole else nw.lit(value)


def _case(branches: Any, otherwise: Expression) -> Any:
    found = _write(otherwise)
    for condition, value in reversed(branches):
        found = nw.when(_write(condition)).then(_write(value)).otherwise(found)
    return found


def _hash_texts(texts: Any) -> Any:
    """Return the first 32 bits of the MD5 of a Polars series of texts."""
    keys = [
        None
        if text is None
        else int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)
        for text in texts.to_list()
    ]
    return type(texts)(texts.name, keys, require("polars").Int64)


_WORDS: dict[str, Any] = {
    "column": nw.col,
    "number": lambda value: nw.lit(value, dtype=nw.Float64),
    "literal": _literal,
    "case": _case,
    "equals": lambda a, b: _write(a) == _write(b),
    "is_missing": lambda of: _write(of).is_null(),
    "is_nan": lambda of: _write(of).is_nan(),
    "double": lambda of: _write(of).cast(nw.Float64),
    "integer": lambda of: _write(of).cast(nw.Int64),
    "text": lambda of: _write(of).cast(nw.String),
    "among": lambda of, values: _write(of).is_in(list(values)),
    "lower": lambda of: _write(of).str.to_lowercase(),
    "small": lambda of, most: _write(of),  # noqa: ARG005
    "row_number": lambda: nw.col(_NUMBER).cast(nw.Int64),  # made before
    "text_key": lambda of: nw.col(_KEY),  # noqa: ARG005 - made before
}
