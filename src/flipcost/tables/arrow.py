"""Arrow tables and columns: from the frames that people have to arrays to compute with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flipcost.exceptions import SourceError, TableError, shorten, unknown_column


def as_arrow(frame: Any, where: str = "The table") -> Any:
    """Return a pyarrow, pandas or polars table as a pyarrow table.

    Examples
    --------
    >>> import polars
    >>> as_arrow(polars.DataFrame({"age": [50, 31]})).column_names
    ['age']
    """
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([without_views(frame)])
    if isinstance(frame, pa.Table):
        return without_views(frame)
    lazy = next((name for name in ("collect", "compute") if hasattr(frame, name)), None)
    if lazy:
        msg = (
            f"{where} must be in memory; got a {type(frame).__name__}. Call `.{lazy}()` first, or "
            "see `fc.scale` for tables that are larger than memory."
        )
        raise TypeError(msg)
    if not hasattr(frame, "columns"):
        msg = (
            f"{where} must have named columns: a pandas, polars or pyarrow table; got "
            f"{type(frame).__name__}."
        )
        raise TypeError(msg)
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        mixed = [name for k, name in enumerate(frame.columns) if _is_mixed(frame.iloc[:, k])]
        msg = (
            f"{where}: {shorten(mixed)} must hold values of one type each, such as numbers or "
            "text; convert them, as by `astype(str)`."
        )
        raise SourceError(msg) from error


def _is_mixed(column: Any) -> bool:
    """Tell whether Arrow has no type for the values of a column."""
    try:
        pa.array(column, from_pandas=True)
    except pa.ArrowException:
        return True
    return False


def without_views(frame: Any) -> Any:
    """Return a table or batch with plain columns in place of views, which pyarrow cannot `take`.

    Examples
    --------
    >>> views = pa.record_batch({"town": pa.array(["Lyon"]).cast(pa.string_view())})
    >>> without_views(views).schema.field("town").type
    DataType(string)
    """
    kinds = {"string_view": pa.string(), "binary_view": pa.binary()}
    for place, field in enumerate(frame.schema):
        plain = kinds.get(str(field.type))
        if plain is not None:
            frame = frame.set_column(place, field.name, frame.column(place).cast(plain))
    return frame


def take_column(table: Any, name: str, where: str) -> Any:
    """Return a column as one Arrow array, dictionaries decoded; suggest a name if there is none.

    Examples
    --------
    >>> take_column(pa.table({"age": [50, 31]}), "age", "a.csv").to_pylist()
    [50, 31]
    """
    # Names are looked at one by one only where there is none, or two of them.
    if table.schema.get_field_index(name) < 0 and name not in table.schema.names:
        raise unknown_column(name, table.schema.names, where)
    column = table.column(name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        column = _without_empty(column)
    return column


def _without_empty(column: Any) -> Any:
    """Return a column of text as plain strings; an empty one is missing, as it is in CSV."""
    column = column.cast(pa.string())
    is_empty = pc.equal(column, "")
    return pc.if_else(is_empty, None, column) if pc.any(is_empty).as_py() else column


def as_text(column: Any, name: str, what: str) -> Any:
    """Return a column as strings; refuse types that have no text.

    Examples
    --------
    >>> as_text(pa.array([1, None]), "key", "names of rows").to_pylist()
    ['1', None]
    """
    kind, types = column.type, pa.types
    refused = (
        types.is_nested,
        types.is_binary,
        types.is_large_binary,
        types.is_fixed_size_binary,
        types.is_binary_view,
    )
    if not any(is_kind(kind) for is_kind in refused):
        with contextlib.suppress(pa.ArrowException):
            return column.cast(pa.string())
    msg = f"Column {name!r} holds {kind} values, which cannot be {what}."
    raise TableError(msg)


def is_text(type_: Any) -> bool:
    """Tell whether values of an Arrow type are text.

    Examples
    --------
    >>> is_text(pa.large_string()), is_text(pa.binary())
    (True, False)
    """
    types = pa.types
    of = (types.is_string, types.is_large_string, types.is_string_view)
    return any(is_kind(type_) for is_kind in of)


def concatenate(frames: list[Any]) -> Any:
    """Return the rows of several record batches or tables as one table.

    Columns whose types differ are brought to a common one: numbers to float64, or int64 if all are
    whole, texts to strings; a column without a type, because it is empty, takes that of the others.

    Examples
    --------
    >>> a, b = pa.record_batch({"age": [1]}), pa.record_batch({"age": [2.5]})
    >>> concatenate([a, b])["age"].to_pylist()
    [1.0, 2.5]
    """
    tables = [pa.Table.from_batches([f]) if isinstance(f, pa.RecordBatch) else f for f in frames]
    if any(table.schema != tables[0].schema for table in tables):
        names = tables[0].schema.names
        types = [
            _common_type([table.schema.field(name).type for table in tables]) for name in names
        ]
        schema = pa.schema(list(zip(names, types, strict=True)))
        tables = [table.select(names).cast(schema) for table in tables]
    return pa.concat_tables(tables).combine_chunks()


def _common_type(types: list[Any]) -> Any:
    """Return a type that holds the values of all."""
    kinds = {t.value_type if pa.types.is_dictionary(t) else t for t in types}
    kinds.discard(pa.null())
    if len(kinds) == 1:
        return kinds.pop()
    if all(map(is_number, kinds)):
        whole = all(pa.types.is_integer(kind) or pa.types.is_boolean(kind) for kind in kinds)
        return pa.int64() if whole else pa.float64()
    return pa.string() if kinds else pa.null()


def is_number(type_: Any) -> bool:
    """Tell whether values of an Arrow type are numbers: also booleans, and columns of nulls.

    Examples
    --------
    >>> is_number(pa.float32()), is_number(pa.string())
    (True, False)
    """
    types = pa.types
    of = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return _is_any(type_, of)


def is_plain_number(type_: Any) -> bool:
    """Tell whether values of an Arrow type are whole or floating numbers."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))


def is_level(type_: Any) -> bool:
    """Tell whether values of an Arrow type can be levels of a category.

    Examples
    --------
    >>> is_level(pa.string()), is_level(pa.float64())
    (True, False)
    """
    types = pa.types
    return _is_any(type_, (is_text, types.is_integer, types.is_boolean, types.is_null))


def _is_any(type_: Any, kinds: Sequence[Callable[[Any], bool]]) -> bool:
    """Tell whether a type, or that of the values of a dictionary, is of one of some kinds."""
    values = type_.value_type if pa.types.is_dictionary(type_) else type_
    return any(kind(values) for kind in kinds)


def numbers(column: Any, name: str, where: str) -> NDArray[Any]:
    """Return a column of numbers as an array, with NaN for what is missing.

    Columns without nulls of a floating or integer type are not copied.

    Examples
    --------
    >>> numbers(pa.array([1, None]), "age", "batch 0")
    array([ 1., nan])
    """
    if not is_number(column.type):
        msg = (
            f"{where}: column {name!r} must hold numbers; got {column.type}. Leave it out of "
            "`columns`, or read the table `with_encoder`."
        )
        raise SourceError(msg)
    if column.null_count:
        column = pc.fill_null(column.cast(_float_type(column.type)), float("nan"))
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def _float_type(type_: Any) -> Any:
    return pa.float32() if pa.types.is_float32(type_) else pa.float64()


def plain_numbers(frame: Any, names: Sequence[str], where: str) -> NDArray[Any]:
    """Return columns of numbers, none of them missing, as an array of shape (n, d).

    Examples
    --------
    >>> plain_numbers(pa.table({"age": [50, 31]}), ["age"], "batch 0").tolist()
    [[50.0], [31.0]]
    """
    columns = []
    for name in names:
        column = take_column(frame, name, where)
        values = numbers(column, name, where)
        if column.null_count:  # NaN of the file's own is found by the sums, for free
            missing = np.flatnonzero(np.isnan(values))
            msg = (
                f"{where}: column {name!r} must not have missing values; got {len(missing)}, first "
                f"in its row {missing[0]} of this batch. Drop those rows, leave the column out of "
                "`columns`, or read the table `with_encoder`."
            )
            raise SourceError(msg)
        columns.append(values)
    return stack_columns(columns, frame.num_rows)


# Columns that lie a multiple of 4096 bytes apart share the same lines of the cache; reading across
# them, as the moments do, is then three times slower. The gap keeps them apart.
_GAP = 80


def stack_columns(columns: list[NDArray[Any]], n_rows: int) -> NDArray[Any]:
    """Lay columns side by side, each contiguous: an array of shape (n, d) in Fortran order.

    float32 when that holds every value exactly, which halves the memory that is moved.

    Examples
    --------
    >>> stack_columns([np.ones(2, np.float32), np.array([True, False])], 2).dtype
    dtype('float32')
    """
    exact = np.result_type(np.float16, *(column.dtype for column in columns))
    dtype = np.float32 if exact in (np.float16, np.float32) else np.float64
    block = np.empty((len(columns), -(-n_rows // 1024) * 1024 + _GAP), dtype)[:, :n_rows]
    for place, column in enumerate(columns):
        block[place] = column
    return block.T
