r"""Folds by a hash, so that a row's fold depends on nothing but its position or its identifier.

Conventions
-----------
A 64-bit key is mixed by the finaliser of SplitMix64 (Steele, Lea and Flood, 2014,
doi:10.1145/2660193.2660195), whose upper half, times the number of folds, gives the fold. Text is
turned into a key by a polynomial of its bytes modulo :math:`2^{64}`. Both are the same on every
machine and for every chunking of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.exceptions import SourceError
from flipcost.scale import _arrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
# Odd, so that powers never vanish modulo 2**64.
_BASE = np.uint64(0x100000001B3)


def hash_folds(keys: Keys, n_folds: int, seed: int = 0) -> NDArray[np.int16]:
    """Return the fold of each key.

    Parameters
    ----------
    keys : ndarray of uint64
        Row positions, or identifiers by `id_keys`.
    n_folds : int
        Number of folds, 1 to 32767.
    seed : int, default=0
        Another seed gives other folds.

    Examples
    --------
    >>> hash_folds(np.arange(10, dtype=np.uint64), 3)
    array([2, 1, 1, 0, 1, 1, 2, 1, 1, 2], dtype=int16)
    """
    if not 1 <= n_folds <= np.iinfo(np.int16).max:
        msg = f"`n_folds` must lie between 1 and 32767; got {n_folds}."
        raise ValueError(msg)
    upper = hash_keys(keys, seed) >> np.uint64(32)
    return ((upper * np.uint64(n_folds)) >> np.uint64(32)).astype(np.int16)


def hash_keys(keys: Keys, seed: int = 0) -> Keys:
    """Return keys scattered evenly over 64 bits; different keys stay different.

    Examples
    --------
    >>> int(hash_keys(np.array([0], dtype=np.uint64))[0])
    16294208416658607535
    """
    return _mix(keys + np.uint64((int(seed) * int(_GAMMA)) % 2**64))


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
    pa = _arrow.require("pyarrow")
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
    if _arrow.is_level(column.type) and not types.is_boolean(column.type):
        return _text_keys(column.cast(pa.large_string()))
    msg = (
        f"{where}: column {name!r} must hold integers, text, dates or times to make folds by; "
        f"got {column.type}."
    )
    raise SourceError(msg)


def _text_keys(column: Any) -> Keys:
    """Return sum(byte * base**place) + length of each text, over Arrow's own buffers."""
    n = len(column)
    _, offset_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[column.offset : column.offset + n + 1]
    lengths = np.diff(offsets)
    keys = lengths.astype(np.uint64)
    if data_buffer is None or not n or offsets[-1] == offsets[0]:
        return keys
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(int(lengths.max()), _BASE))
        place = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], lengths)
        terms = data.astype(np.uint64) * powers[place]
        filled = lengths > 0  # `reduceat` gives an empty segment the element that follows it
        keys[filled] += np.add.reduceat(terms, (offsets[:-1] - offsets[0])[filled])
    return keys


def _mix(keys: Keys) -> Keys:
    with np.errstate(over="ignore"):
        z = keys + _GAMMA
        z = (z ^ (z >> np.uint64(30))) * _MIX_1
        z = (z ^ (z >> np.uint64(27))) * _MIX_2
        return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)
