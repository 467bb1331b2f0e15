"""Reading files, whole, in batches or in ranges, with every field of text kept as text."""

from __future__ import annotations

import codecs
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from flipcost.exceptions import TableError
from flipcost.tables.arrow import without_views
from flipcost.tables.columns import amount
from flipcost.tables.sniff import (
    FileFormat,
    check_names,
    file_size,
    no_rows,
    not_utf8,
    open_bytes,
    sniff,
)

# A file may unpack to this many times its size, or to this many bytes if that is more.
MOST_TIMES, ALWAYS_BYTES = 100, 1 << 28
# Bytes of one column in a batch, and the rows of a batch at least.
_COLUMN_BYTES, _LEAST_ROWS = 1 << 26, 16
_LONGEST_CELL = 1 << 20
_BLOCK_BYTES = 1 << 22
# What decompressors raise on damaged files.
_UNREADABLE = (EOFError, OSError, lzma.LZMAError, zlib.error, pa.ArrowException)


def read_table(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    max_bytes: int | None = None,
) -> Any:
    r"""Read a CSV (any delimiter, compressed or not) or Parquet file into a pyarrow table.

    Parameters
    ----------
    path : path-like
        The file.
    delimiter, encoding : str, optional
        Of text, when they are not to be found out from the first lines.
    max_bytes : int, optional
        What the file may unpack to; a hundred times its size, or 256 MB if that is more, when None.

    Returns
    -------
    pyarrow.Table
        Text fields as strings, missing ones as nulls; Parquet columns as they are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n50,yes\n?,no\n")
    ...     read_table(path).to_pydict()
    {'age': ['50', None], 'ill': ['yes', 'no']}
    """
    batches = list(read_batches(path, delimiter=delimiter, encoding=encoding, max_bytes=max_bytes))
    if not batches:
        raise no_rows(path)
    return pa.Table.from_batches(batches)


def column_names(
    path: Any, *, delimiter: str | None = None, encoding: str | None = None
) -> list[str]:
    r"""Return the names of the columns of a file, without reading its rows.

    Parameters
    ----------
    path : path-like
        The file.
    delimiter, encoding
        As in `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n50,yes\n31,no\n")
    ...     column_names(path)
    ['age', 'ill']
    """
    form = sniff(path, delimiter=delimiter, encoding=encoding)
    if form.kind != "parquet":
        return list(form.names)
    with reading(path, form), pq.ParquetFile(path) as file:
        return list(file.schema_arrow.names)


def read_batches(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    max_bytes: int | None = None,
) -> Iterator[Any]:
    r"""Read a file as `read_table` does, a batch at a time, in constant memory.

    Parameters
    ----------
    path : path-like
        The file.
    delimiter, encoding, max_bytes
        As in `read_table`.

    Yields
    ------
    pyarrow.RecordBatch

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n50,yes\n31,no\n")
    ...     print([batch.num_rows for batch in read_batches(path)])
    [2]
    """
    form = sniff(path, delimiter=delimiter, encoding=encoding)
    path, unpacked = Path(path), Unpacked(path, max_bytes)
    if form.kind == "parquet":
        with reading(path, form):
            for batch in _parquet_batches(path):
                unpacked.add(batch.nbytes)
                yield batch
        return
    with open_bytes(path, form.compression) as file:
        yield from read_text(path, form, unpacked.reading(file))


def read_text(
    path: Any,
    form: FileFormat,
    source: Any,
    *,
    start: int = 0,
    columns: Sequence[str] | None = None,
    numbers: Mapping[str, Any] | None = None,
    quotes: bool = True,
    threads: bool = True,
    on_bad_row: Any = None,
) -> Iterator[Any]:
    """Read CSV text, a batch at a time: the one place where it becomes cells.

    Parameters
    ----------
    path : path-like
        The file, named in messages.
    form : FileFormat
        As `sniff` finds it.
    source : file
        Its bytes, decompressed, from a row on.
    start : int, default=0
        Byte of the file that the source begins with; the header is skipped at 0.
    columns : sequence of str, optional
        Columns to read; all when None.
    numbers : mapping of str to pyarrow.DataType, optional
        Columns to read as numbers at once, instead of as text; an error that pyarrow raises says
        that a cell is none as it stands.
    quotes : bool, default=True
        Whether there may be quotes, around line breaks perhaps; reading is faster without.
    threads : bool, default=True
        Whether columns are read in parallel.
    on_bad_row : function, optional
        Says what to do with a row of too many or too few cells, as in pyarrow; they are refused
        when None.

    Yields
    ------
    pyarrow.RecordBatch
    """
    names = list(form.names)
    types = dict.fromkeys(names, pa.string()) | dict(numbers or {})
    with reading(path, form, start):
        reader = csv.open_csv(
            source,
            csv.ReadOptions(
                column_names=names,
                skip_rows=form.header_lines if start == 0 else 0,
                encoding=form.encoding,
                block_size=_BLOCK_BYTES,
                use_threads=threads,
            ),
            csv.ParseOptions(
                delimiter=form.delimiter,
                newlines_in_values=quotes,
                ignore_empty_lines=True,
                invalid_row_handler=on_bad_row,
            ),
            csv.ConvertOptions(
                column_types=types,
                strings_can_be_null=True,
                null_values=list(form.missing),
                include_columns=columns or names,
            ),
        )
        for batch in reader:
            if batch.num_rows:
                yield tidy_text(batch, form)


@contextmanager
def reading(path: Any, form: FileFormat, start: int = 0) -> Iterator[None]:
    """Say what is wrong with a file when it cannot be read, from some byte on."""
    try:
        yield
    except pa.ArrowInvalid as error:
        # Lines are counted from where reading began.
        reason = re.sub(r"Row #\d+: ", "", str(error)) if start else str(error)
        raise _explain(path, form, reason) from error
    except UnicodeDecodeError as error:
        if form.kind == "parquet":  # a name of a column is no text
            msg = f"{path} cannot be read ({error}); fetch it again."
            raise TableError(msg) from error
        raise not_utf8(path, form.encoding, "a later line") from error
    except _UNREADABLE as error:
        msg = f"{path} cannot be read to its end ({error}); fetch it again."
        raise TableError(msg) from error


def _parquet_batches(path: Path) -> Iterator[Any]:
    with pq.ParquetFile(path) as file:
        check_names(file.schema_arrow.names, path)

    def open_file(names: list[str]) -> Any:
        return pq.ParquetFile(path, read_dictionary=names)

    for batch in parquet_batches(open_file, 1 << 16):
        if batch.num_rows:
            yield batch


def tidy_text(batch: Any, form: FileFormat) -> Any:
    """Drop blanks around fields of text, write decimal commas as points, and know what is missing.

    Examples
    --------
    >>> tidy_text(pa.record_batch({"age": [" 50 ", "?"]}), FileFormat("csv")).to_pydict()
    {'age': ['50', None]}
    """
    missing = pa.array(form.missing)
    columns = []
    for column in batch.columns:
        if column.type != pa.string():  # a number already
            columns.append(column)
            continue
        text = pc.utf8_trim_whitespace(column)
        if form.decimal == ",":
            # Beside a decimal comma points part thousands; alone they do where all in the file do.
            fraction = r"(?:,\d+)?" if form.groups_by_point else r",\d+"
            parted = "[1-9]\\d{0,2}(?:['\u2019 \u00a0\u202f]\\d{3})+,\\d+"
            digits = rf"(?:\d+,\d+|{parted}|[1-9]\d{{0,2}}(?:\.\d{{3}})+{fraction})"
            number = pc.match_substring_regex(text, amount(digits))
            plain = pc.replace_substring_regex(text, "[.'\u2019 \u00a0\u202f](\\d{3})", r"\1")
            plain = pc.replace_substring(plain, ",", ".")
            text = pc.if_else(number, plain, text)
        columns.append(pc.if_else(pc.is_in(text, value_set=missing), None, text))
    return type(batch).from_arrays(columns, names=batch.schema.names)


def _explain(path: Path, form: FileFormat, reason: str) -> TableError:
    if "UTF8" in reason or "utf" in reason.lower():
        column = re.search(r"column #(\d+)", reason)
        place = f"column {form.names[int(column[1])]!r}" if column else "a later line"
        return not_utf8(path, form.encoding, place)
    ragged = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", reason)
    if ragged:
        where = f"line {ragged[1]}" if ragged[1] else "a line"
        msg = (
            f"{path} has {ragged[2]} column names but {ragged[3]} fields in {where}; "
            "check its quotes, or give `delimiter`."
        )
        return TableError(msg)
    return TableError(f"{path} cannot be read ({reason}); check that it is CSV or Parquet.")


# What is read to find where a row begins, and the fields that it must have at least to convince.
_WINDOW, _FIELDS = 1 << 18, 80
# A longer range, of a file that could not be cut, is not held.
_MOST_BYTES = 1 << 27
# Lines are counted in blocks of this size, which stay in a second-level cache.
_CACHED_BYTES = 1 << 19
# Places of a file that are looked at without reading it whole, and what is read of each at least.
_PLACES = 16
_LEAST_BYTES = 1 << 16


@dataclass(frozen=True)
class TextRange:
    r"""Some consecutive rows of a CSV file.

    Parameters
    ----------
    path : str
        The file.
    form : FileFormat
        How it is laid out.
    start, stop : int
        Bytes from which, and up to which, its rows go; a file that cannot be cut is read whole.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the file is, if not on this machine.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n50,yes\n31,no\n")
    ...     part = TextRange(str(path), sniff(path), 15, 21)
    ...     [batch.to_pylist() for batch in part.batches()]
    [[{'age': '31', 'ill': 'no'}]]
    """

    path: str
    form: FileFormat
    start: int
    stop: int
    filesystem: Any = None

    def batches(
        self, columns: Sequence[str] | None = None, numbers: Mapping[str, Any] | None = None
    ) -> Iterator[Any]:
        """Yield the rows as record batches.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns to read; all when None.
        numbers : mapping of str to pyarrow.DataType, optional
            Columns to read as numbers where all their cells are; others are read as text.
        """
        if self.form.decimal == ",":  # pyarrow would take other texts for numbers than we do
            numbers = None
        done = 0
        try:
            for batch in self._read(columns, numbers):
                done += batch.num_rows
                yield batch
        except TableError as error:
            if not numbers or not isinstance(error.__cause__, pa.ArrowInvalid):
                raise
            # A cell is no number as it stands (blanks around a missing value, say): text knows.
            for batch in self._read(columns):
                if batch.num_rows > done:
                    yield batch.slice(done)
                done = max(0, done - batch.num_rows)

    def count_rows(self) -> int:
        r"""Return how many rows there are, without reading their cells if lines tell.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "a.csv"
        ...     _ = path.write_text('age,ill\n50,"yes\n"\n31,no\n')
        ...     TextRange(str(path), sniff(path), 0, 24).count_rows()
        2
        """
        if can_be_cut(self.form):
            with open_bytes(self.path, filesystem=self.filesystem) as file:
                file.seek(self.start)
                # Names may be in quotes where cells are not.
                header = file.readline() if self.start == 0 else b""
                is_line = not header or (self.form.header_lines == 1 and b"\r" not in header)
                rows = _count_lines(file, self.stop - self.start - len(header)) if is_line else None
            if rows is not None:
                return rows
        return sum(batch.num_rows for batch in self._read(self.form.names[:1]))

    def _read(
        self, columns: Sequence[str] | None, numbers: Mapping[str, Any] | None = None
    ) -> Iterator[Any]:
        length = self.stop - self.start
        cut = can_be_cut(self.form)
        options: dict[str, Any] = {"columns": columns, "numbers": numbers, "threads": not cut}
        with open_bytes(self.path, self.form.compression, self.filesystem) as file:
            source: Any = file
            if cut:
                file.seek(self.start)
                source = pa.PythonFile(_Bounded(file, length), mode="r")
            if cut and length <= _MOST_BYTES:
                block = file.read(length)
                if not block.strip():
                    return
                source, options["quotes"] = pa.BufferReader(block), b'"' in block
            yield from read_text(self.path, self.form, source, start=self.start, **options)


def _count_lines(file: IO[bytes], length: int) -> int | None:
    """Return how many lines come next, if each is a row; None where only reading can tell.

    Quotes may hold line breaks, returns may end lines on their own, and empty lines are no rows.
    """
    lines, before = 0, b"\n"
    while length > 0 and (block := file.read(min(length, _CACHED_BYTES))):
        if b'"' in block or b"\r" in block:
            return None
        ends = np.frombuffer(before + block, np.uint8) == ord("\n")
        if np.any(ends[1:] & ends[:-1]):
            return None
        lines += int(np.count_nonzero(ends[1:]))
        length, before = length - len(block), block[-1:]
    return lines + (before != b"\n")


class _Bounded:
    """The next bytes of a file, as a file of their own."""

    closed = False

    def __init__(self, file: IO[bytes], length: int):
        self._file, self._left = file, length

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes."""
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        block = self._file.read(wanted)
        self._left -= len(block)
        return block

    def close(self) -> None:
        """Do nothing: the file is closed where it was opened."""


def can_be_cut(form: FileFormat) -> bool:
    """Tell whether a file can be read from the middle: not if compressed, or of wide characters.

    Examples
    --------
    >>> can_be_cut(FileFormat("csv")), can_be_cut(FileFormat("csv", compression="gzip"))
    (True, False)
    """
    wide = codecs.lookup(form.encoding).name.startswith(("utf-16", "utf-32"))
    return form.compression is None and not wide


def split_text(
    path: Any, form: FileFormat, n_bytes: int, filesystem: Any = None
) -> list[TextRange]:
    r"""Cut a CSV file into ranges of about `n_bytes` bytes.

    Cuts are made at line breaks outside of quotes: where the text that follows reads as rows. Where
    it does not, there is no cut.

    Parameters
    ----------
    path : path-like
        The file.
    form : FileFormat
        As `sniff` finds it.
    n_bytes : int
        About how long a range is.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the file is, if not on this machine.

    Returns
    -------
    list of TextRange

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n" + "50,yes\n" * 1000)
    ...     ranges = split_text(path, sniff(path), 3000)
    ...     [sum(batch.num_rows for batch in part.batches()) for part in ranges]
    [428, 429, 143]
    """
    size = file_size(path, filesystem)
    cuts = [0]
    if size > n_bytes and can_be_cut(form):
        with open_bytes(path, filesystem=filesystem) as file:
            for offset in range(n_bytes, size, n_bytes):
                file.seek(offset)
                window = file.read(_WINDOW)
                begin = _row_start(window, form)
                if begin and offset + begin > cuts[-1]:
                    cuts.append(offset + begin)
    stops = [*cuts[1:], size]
    return [
        TextRange(str(path), form, start, stop, filesystem)
        for start, stop in zip(cuts, stops, strict=True)
        if stop > start
    ]


def read_places(
    path: Any, n_rows: int, form: FileFormat | None = None, filesystem: Any = None
) -> list[Any]:
    r"""Read some rows of a CSV file, from places spread over it, without reading it to its end.

    Parameters
    ----------
    path : path-like
        The file. Where it is compressed, or in wide characters, or rows cannot be found from the
        middle, its beginning is read.
    n_rows : int
        About how many rows to read in all.
    form : FileFormat, optional
        As `sniff` finds it, which it does when not given.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the file is, if not on this machine.

    Returns
    -------
    list of pyarrow tables
        Consecutive rows each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n50,yes\n31,no\n")
    ...     [block.to_pydict() for block in read_places(path, 100)]
    [{'age': ['50', '31'], 'ill': ['yes', 'no']}]
    """
    form = form or sniff(path, filesystem=filesystem)
    each = max(1, n_rows // _PLACES)
    size = file_size(path, filesystem)
    with open_bytes(path, filesystem=filesystem) as file:
        head = file.read(1 << 16)
        n_bytes = max(_LEAST_BYTES, 2 * each * len(head) // max(1, head.count(b"\n")))
        if not can_be_cut(form) or size < 2 * _PLACES * n_bytes:
            return _beginning(path, form, n_rows, filesystem)
        found = []
        for k in range(_PLACES):
            file.seek(k * (size - n_bytes) // (_PLACES - 1))
            block = file.read(n_bytes)
            start = _row_start(block, form)
            rows = _parse_place(block[start : block.rfind(b"\n") + 1], form) if start else None
            if rows is not None:
                found.append(rows.slice(0, each))
    if len(found) < _PLACES // 2:  # rows cannot be found from the middle: more of the beginning
        return _beginning(path, form, n_rows, filesystem)
    return found


def _row_start(block: bytes, form: FileFormat) -> int:
    """Return where a whole row begins beyond doubt, soon after the block does; else 0.

    The block begins outside of quotes or inside, and either way the rest of its first row is read.
    It is believed if all that follows reads as rows; if both are, they must agree.
    """
    window = block[:_WINDOW]
    field, mark = _field(form)
    rest = rb"(?:" + mark + field + rb")*+\r?\n"
    found = set()
    for begin in (field, rb'[^"]*+(?:""[^"]*+)*+"'):
        first = re.match(begin + rest, window)
        if first and _are_rows(window, first.end(), form):
            found.add(first.end())
    return found.pop() if len(found) == 1 else 0


def _field(form: FileFormat) -> tuple[bytes, bytes]:
    """Return patterns of a field, with quotes around it or none in it, and of the delimiter."""
    mark = re.escape(form.delimiter).encode()
    return rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"\r\n' + mark + rb"]*+)", mark


def _are_rows(window: bytes, place: int, form: FileFormat) -> bool:
    """Tell whether all lines have as many fields as there are columns; the last may be cut short.

    Text with its quotes inside out may pass for a row or two, but not for many.
    """
    field, mark = _field(form)
    columns = len(form.names)
    row = re.compile(field + rb"(?:" + mark + field + rb"){%d}\r?\n|[ \t]*\r?\n" % (columns - 1))
    rows = 0
    while match := row.match(window, place):
        rows += bool(match[0].strip())
        place = match.end()
    left = window[place:]
    is_cut_short = b"\n" not in left or left.count(b'"') % 2 == 1
    return is_cut_short and rows >= max(3, _FIELDS // columns)


def _parse_place(block: bytes, form: FileFormat) -> Any:
    """Return the rows of a piece of a file; None when most of it does not read as rows."""
    skipped = 0

    def skip(_: Any) -> str:
        nonlocal skipped
        skipped += 1
        return "skip"

    try:
        rows = list(read_text("", form, pa.BufferReader(block), start=1, on_bad_row=skip))
    except TableError:
        return None
    return pa.Table.from_batches(rows) if sum(map(len, rows)) > skipped else None


def _beginning(path: Any, form: FileFormat, n_rows: int, filesystem: Any) -> list[Any]:
    with open_bytes(path, form.compression, filesystem) as file:
        found = first_rows(read_text(path, form, file), n_rows)
    return [pa.Table.from_batches(found)] if found else []


def first_rows(batches: Iterable[Any], n_rows: int) -> list[Any]:
    """Return batches until they hold some rows, and no more of them."""
    found: list[Any] = []
    held = 0
    for batch in batches:
        found.append(batch.slice(0, n_rows - held))
        held += found[-1].num_rows
        if held >= n_rows:
            break
    return found


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
    flipcost.exceptions.TableError: ...reading.py holds more than 10 bytes once it is unpacked; if
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
