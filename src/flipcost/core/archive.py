"""Archives of arrays and JSON, unpacked within what they may unpack to.

What a file unpacks to is bounded by its own size, so that a small file cannot fill the memory. An
array is checked against its own header before any room is made for it. Nothing is ever unpickled.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.exceptions import UnreadableError

_MOST_PARTS = 200_000
# Characters for each list or object in a text of JSON; the descriptions of models have over 40.
_LEAST_SPACING, _ALWAYS_NESTS = 16, 1_000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LAST_CHARACTER = 0x10FFFF


class Archive:
    """The parts of a zip archive, unpacked when asked for, within what it may unpack to.

    Parameters
    ----------
    data : bytes
        The whole archive.
    times, always : int
        It may unpack to this many times its size, and to this many bytes more.

    Raises
    ------
    UnreadableError
        When it would unpack to more, holds a part twice, or is packed in an unusual way. On other
        bytes `zipfile` raises what it raises.

    Examples
    --------
    >>> stream = io.BytesIO()
    >>> np.savez(stream, a=np.arange(3))
    >>> archive = Archive(stream.getvalue(), times=2)
    >>> archive.names, archive.array("a.npy")
    (('a.npy',), array([0, 1, 2]))
    >>> np.savez_compressed(stream, a=np.zeros(100_000))
    >>> Archive(stream.getvalue(), times=2)
    Traceback (most recent call last):
        ...
    flipcost.exceptions.UnreadableError: it unpacks to far more than such a file can hold
    """

    def __init__(self, data: bytes, times: int, always: int = 0) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        entries = self._archive.infolist()
        self._entries = {entry.filename: entry for entry in entries}
        self._left = always + times * len(data)
        if len(self._entries) < len(entries) or len(entries) > _MOST_PARTS:
            msg = "it holds a part twice, or too many parts"
            raise UnreadableError(msg)
        for entry in entries:
            if entry.flag_bits & 0x1 or entry.compress_type not in _METHODS:
                msg = "it is packed in a way that such files are not"
                raise UnreadableError(msg)
        if sum(entry.file_size for entry in entries) > self._left:
            raise _too_large()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(self._entries)

    def json(self, name: str) -> Any:
        """Return a part that is text of JSON."""
        text = self.read(name)
        nests = text.count(b"[") + text.count(b"{")
        if nests > _ALWAYS_NESTS + len(text) // _LEAST_SPACING:
            raise _too_large()
        return json.loads(text)

    def array(self, name: str) -> NDArray[Any]:
        """Return a part that is an array."""
        data = self.read(name)
        # What is used several times takes its room each time.
        self._left -= len(data)
        if self._left < 0:
            raise _too_large()
        return read_array(data)

    def read(self, name: str) -> bytes:
        """Return the bytes of a part."""
        return self._archive.read(self._entries[name])


def read_array(data: bytes) -> NDArray[Any]:
    """Return an array of numpy's own format, which must be exactly as long as it says.

    Parameters
    ----------
    data : bytes
        What `numpy.save` wrote.

    Returns
    -------
    ndarray
        Of numbers, truth values or text; never of objects.

    Examples
    --------
    >>> stream = io.BytesIO()
    >>> np.save(stream, np.array([1.0, 2.0]))
    >>> read_array(stream.getvalue())
    array([1., 2.])
    """
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, by_columns, dtype = np.lib.format.read_array_header_2_0(stream)
    start, count = stream.tell(), math.prod(shape)
    if dtype.hasobject or any(length < 0 for length in shape):
        msg = "it holds an array of something else than numbers and text"
        raise UnreadableError(msg)
    if count * dtype.itemsize != len(data) - start or (count and not dtype.itemsize):
        msg = "it holds an array that is not as long as it says"
        raise UnreadableError(msg)
    flat = np.frombuffer(data, dtype, count, start) if count else np.empty(0, dtype)
    _check_cells(flat)
    if by_columns:
        return flat.reshape(shape, order="F").copy(order="F")
    return flat.reshape(shape).copy()


def _check_cells(flat: NDArray[Any]) -> None:
    """Refuse bytes that are no truth value and numbers that are no character."""
    if flat.dtype.kind == "b" and flat.size and flat.view(np.uint8).max() > 1:
        msg = "it holds truth values that are neither true nor false"
        raise UnreadableError(msg)
    if flat.dtype.kind == "U" and flat.size:
        codes = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
        if codes.max() > _LAST_CHARACTER:
            msg = "it holds text of characters that do not exist"
            raise UnreadableError(msg)


def _too_large() -> UnreadableError:
    return UnreadableError("it unpacks to far more than such a file can hold")
