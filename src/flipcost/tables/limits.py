"""Limits on what a file unpacks to: small files that would fill the memory are refused."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from flipcost.exceptions import TableError
from flipcost.tables.arrow import without_views
from flipcost.tables.paths import list_files

# A file may unpack to this many times its size, or to this many bytes if that is more.
MOST_TIMES, ALWAYS_BYTES = 100, 1 << 28
# Bytes of one column in a batch, and the rows of a batch at least.
_COLUMN_BYTES, _LEAST_ROWS = 1 << 26, 16
_LONGEST_CELL = 1 << 20


class Unpacked:
    """Count what a file unpacks to, and refuse when it is too much.

    Parameters
    ----------
    path : path-like
        The file.
    max_bytes : int, optional
        What it may unpack to; a hundred times its size, or 256 MB if that is more, when None.

    Examples
    --------
    >>> Unpacked(__file__, max_bytes=10).add(11)
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: ...limits.py holds more than 10 bytes once it is unpacked; if
    that is right, give a larger `max_bytes`.
    """

    def __init__(self, path: Any, max_bytes: int | None = None) -> None:
        self._path, self._given = path, max_bytes
        self._most = max(ALWAYS_BYTES, MOST_TIMES * Path(path).stat().st_size)
        if max_bytes is not None:
            self._most = max_bytes
        self._total = 0

    def add(self, n_bytes: int) -> None:
        """Count some more bytes."""
        self._total += n_bytes
        if self._total <= self._most:
            return
        what = f"holds more than {self._most:,} bytes once it is unpacked"
        if self._given is None:
            what = f"unpacks to over {MOST_TIMES} times its size ({self._total:,} bytes so far)"
        msg = f"{self._path} {what}; if that is right, give a larger `max_bytes`."
        raise TableError(msg)

    def reading(self, file: IO[bytes]) -> Any:
        """Return a file whose bytes are counted as they are read."""
        return pa.PythonFile(_Counted(file, self), mode="r")


class _Counted:
    closed = False

    def __init__(self, file: IO[bytes], unpacked: Unpacked) -> None:
        self._file, self._unpacked = file, unpacked

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes."""
        block = self._file.read(size)
        self._unpacked.add(len(block))
        return block

    def close(self) -> None:
        """Do nothing: the file is closed where it was opened."""


def check_sizes(source: Any, max_bytes: int | None) -> None:
    """Refuse files that are larger than they may be as they are, packed or not.

    What is read in passes is not held, so that it may unpack to any size.

    Examples
    --------
    >>> check_sizes(__file__, None)
    >>> check_sizes(__file__, 10)
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: ...limits.py holds ... bytes; if that is right, give a larger
    `max_bytes`.
    """
    if max_bytes is None:
        return
    filesystem, paths = list_files(source)
    size = sum(int(filesystem.get_file_info(path).size or 0) for path in paths)
    if size > max_bytes:
        msg = f"{source} holds {size:,} bytes; if that is right, give a larger `max_bytes`."
        raise TableError(msg)


def check_regular(path: Path) -> None:
    """Refuse what is no file with a beginning and an end: pipes, sockets and devices.

    Examples
    --------
    >>> check_regular(Path("/dev/null"))
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: /dev/null is a device, not a file; copy its content to a file.
    """
    mode = path.stat().st_mode
    for is_kind, what in _KINDS.items():
        if is_kind(mode):
            msg = f"{path} is a {what}, not a file; copy its content to a file."
            raise TableError(msg)


_KINDS = {
    stat.S_ISFIFO: "pipe",
    stat.S_ISSOCK: "socket",
    stat.S_ISCHR: "device",
    stat.S_ISBLK: "device",
}


def parquet_batches(
    open_file: Callable[[list[str]], Any],
    n_rows: int,
    groups: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    *,
    threads: bool = True,
) -> Iterator[Any]:
    """Decode row groups of a Parquet file in batches that hold no more than they should.

    A value that the file holds once may stand in every row. The dictionaries of columns of text say
    how long it is at most, and so how many rows may be decoded at once.

    Parameters
    ----------
    open_file : callable
        Opens the file, given the columns to read as dictionaries.
    n_rows : int
        Rows of a batch at most.
    groups, columns : sequence, optional
        Row groups and columns to read; all when None.
    threads : bool, default=True
        Whether columns are decoded in parallel.

    Yields
    ------
    pyarrow.RecordBatch

    Examples
    --------
    >>> import pyarrow.parquet as pq
    >>> sink = pa.BufferOutputStream()
    >>> pq.write_table(pa.table({"note": ["x" * 1_000_000] * 100}), sink)
    >>> def open_file(names):
    ...     return pq.ParquetFile(pa.BufferReader(sink.getvalue()), read_dictionary=names)
    >>> [batch.num_rows for batch in parquet_batches(open_file, 65_536)]
    [67, 33]
    """
    with open_file([]) as file:
        chosen = list(range(file.num_row_groups) if groups is None else groups)
        names = [n for n in texts_of(file.schema_arrow) if columns is None or n in columns]
        with open_file(names) as as_dictionaries:
            for group in chosen:
                # What a footer says of columns ends the process if it cannot be: read them first.
                _longest_cells(file, group, names)
                stored, longest = _stored_whole(file, group, names, columns)
                known = [name for name in names if name not in stored]
                longest += _longest_cells(as_dictionaries, group, known)
                n_rows = max(_LEAST_ROWS, min(n_rows, _COLUMN_BYTES // max([1, *longest])))
        for batch in file.iter_batches(n_rows, chosen, columns, use_threads=threads):
            plain = without_views(batch)
            for place, field in enumerate(plain.schema):
                if pa.types.is_dictionary(field.type):
                    column = plain.column(place).dictionary_decode()
                    plain = plain.set_column(place, field.name, column)
            yield _checked_text(plain)


def _checked_text(batch: Any) -> Any:
    """Return a batch whose text is UTF-8, as Parquet promises and does not enforce."""
    for name in texts_of(batch.schema):
        try:
            batch.column(name).validate(full=True)
        except pa.ArrowInvalid as error:
            msg = f"Column {name!r} holds text that is not UTF-8; write it again, or leave it out."
            raise TableError(msg) from error
    return batch


def check_cells(batch: Any) -> Any:
    """Return a batch whose cells of text are not so long that a sample of them fills the memory.

    Examples
    --------
    >>> check_cells(pa.record_batch({"note": ["x" * 2_000_000]}))
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: Column 'note' holds a cell of 2,000,000 bytes; cells of files
    that are read in passes have at most 1,048,576. Leave the column out.
    """
    for name in texts_of(batch.schema):
        longest = pc.max(pc.binary_length(batch.column(name))).as_py() or 0
        if longest > _LONGEST_CELL:
            msg = (
                f"Column {name!r} holds a cell of {longest:,} bytes; cells of files that are read "
                f"in passes have at most {_LONGEST_CELL:,}. Leave the column out."
            )
            raise TableError(msg)
    return batch


def _longest_cells(file: Any, group: int, names: list[str]) -> list[int]:
    """Return the lengths of the longest cells of columns of text that the dictionaries hold."""
    if not names:
        return []
    for batch in file.iter_batches(1, [group], names, use_threads=False):
        columns = [c.dictionary if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        return [pc.max(pc.binary_length(column)).as_py() or 0 for column in columns]
    return []


def _stored_whole(
    file: Any, group: int, texts: list[str], columns: Sequence[str] | None
) -> tuple[list[str], list[int]]:
    """Return columns in which a cell may be as long as the column, and how long they are.

    These store what differs from the cell before, or are nested.
    """
    footer = file.metadata.row_group(group)
    names, sizes = [], []
    for place in range(len(file.schema)):
        path = file.schema.column(place).path
        if path in texts:
            column = footer.column(place)
            if "DELTA_BYTE_ARRAY" in column.encodings:
                names.append(path)
                sizes.append(max(column.total_uncompressed_size, column.total_compressed_size))
        elif "." in path and (columns is None or path.partition(".")[0] in columns):
            sizes.append(footer.total_byte_size)
    return names, sizes


def texts_of(schema: Any) -> list[str]:
    """Return the columns whose cells may be of any length."""
    types = pa.types
    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return [field.name for field in schema if any(is_kind(_values(field)) for is_kind in kinds)]


def _values(field: Any) -> Any:
    return field.type.value_type if pa.types.is_dictionary(field.type) else field.type
