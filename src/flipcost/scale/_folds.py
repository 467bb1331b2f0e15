"""Keys of rows, which `flipcost.core.folds` makes folds of: positions, or identifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flipcost.core.arrays import Keys
from flipcost.core.folds import text_keys
from flipcost.data import arrow
from flipcost.exceptions import SourceError


def position_keys(start: int, n: int) -> Keys:
    """Return the keys of n rows from a position on."""
    return np.arange(start, start + n, dtype=np.uint64)


def id_keys(column: Any, name: str, where: str) -> Keys:
    """Return keys of identifiers: an Arrow array of integers, text, dates or times.

    Examples
    --------
    >>> import pyarrow as pa
    >>> first, other, again = id_keys(pa.array(["ann", "bob", "ann"]), "name", "batch 0")
    >>> bool(first == again), bool(first == other)
    (True, False)
    """
    types = pa.types
    if column.null_count:
        msg = f"{where}: column {name!r} makes the folds and must not have missing values."
        raise SourceError(msg)
    if types.is_integer(column.type):
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        signed = values.astype(np.int64) if values.dtype.kind == "i" else values
        return signed.astype(np.uint64)
    if types.is_temporal(column.type):
        width = pa.int32() if column.type.bit_width == 32 else pa.int64()
        return id_keys(column.cast(width), name, where)
    if arrow.is_level(column.type) and not types.is_boolean(column.type):
        return _text_keys(column.cast(pa.large_string()))
    msg = (
        f"{where}: column {name!r} must hold integers, text, dates or times to make folds by; "
        f"got {column.type}."
    )
    raise SourceError(msg)


def _text_keys(column: Any) -> Keys:
    """Return the keys of a column of text, over Arrow's own buffers."""
    _, offset_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[
        column.offset : column.offset + len(column) + 1
    ]
    return text_keys(np.frombuffer(data_buffer or b"", np.uint8), offsets)
