"""Reading tables whole or in batches, with every field of text kept as text.

Text is read as strings and understood later, by one rule for all columns: a type guessed from the
first block of a file would fail on, or worse reinterpret, what comes after it.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from flipcost.core.arrays import Array
from flipcost.data._limits import Unpacked, parquet_batches
from flipcost.data._open import FileFormat, check_names, no_rows, not_utf8, open_bytes, sniff
from flipcost.exceptions import TableError

_BLOCK_BYTES = 1 << 22
# What decompressors raise on damaged files.
_UNREADABLE = (EOFError, OSError, lzma.LZMAError, zlib.error, pa.ArrowException)
# Keeps our random numbers apart from those of a user who made labels with the same seed: a sample
# by the same numbers would be a sample by label.
_STREAM = 0x666C6970


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
    form = sniff(path, delimiter=delimiter, encoding=encoding)
    batches = list(read_file(Path(path), form, max_bytes))
    if not batches or not sum(batch.num_rows for batch in batches):
        raise no_rows(path)
    return pa.Table.from_batches(batches)


def read_sample(
    path: Any,
    max_rows: int,
    *,
    seed: int = 0,
    delimiter: str | None = None,
    encoding: str | None = None,
    max_bytes: int | None = None,
) -> tuple[Any, NDArray[np.int64], int]:
    r"""Read a random sample of the rows of a file, without holding more than a few of them.

    Every row gets a random key, and the rows with the smallest keys are kept, in their order: a
    file of any size is sampled in one pass and in constant memory.

    Parameters
    ----------
    path : path-like
        The file.
    max_rows : int
        Rows to keep; a smaller file is read whole.
    seed : int, default=0
        Seed of the keys.
    delimiter, encoding, max_bytes
        As in `read_table`.

    Returns
    -------
    table : pyarrow.Table
        The sample.
    rows : ndarray of int
        Which rows of the file they are, the first being 0.
    n_rows : int
        Rows in the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n" + "50,yes\n" * 1000)
    ...     table, rows, n_rows = read_sample(path, 100)
    >>> table.num_rows, len(rows), n_rows
    (100, 100, 1000)
    """
    rng = np.random.default_rng([seed, _STREAM])
    kept: list[tuple[Any, Array, NDArray[np.int64]]] = []
    n_rows = held = 0
    limit = 1.0
    for batch in read_batches(path, delimiter=delimiter, encoding=encoding, max_bytes=max_bytes):
        keys = rng.random(batch.num_rows)
        kept.append(_filter(batch, keys, n_rows + np.arange(batch.num_rows), limit))
        n_rows += batch.num_rows
        held += kept[-1][0].num_rows
        if held > 2 * max_rows:
            limit, held = _limit(kept, max_rows), max_rows
            kept = [_filter(*part, limit) for part in kept]
    if not n_rows:
        raise no_rows(path)
    if held > max_rows:
        kept = [_filter(*part, _limit(kept, max_rows)) for part in kept]
    table = pa.Table.from_batches([batch for batch, _, _ in kept])
    return table, np.concatenate([rows for _, _, rows in kept]), n_rows


def _limit(kept: list[tuple[Any, Any, Any]], max_rows: int) -> float:
    keys = np.concatenate([keys for _, keys, _ in kept])
    return float(np.partition(keys, max_rows - 1)[max_rows - 1])


def _filter(batch: Any, keys: Any, rows: Any, limit: float) -> tuple[Any, Any, Any]:
    inside = keys <= limit
    if inside.all():
        return batch, keys, rows
    return batch.filter(pa.array(inside)), keys[inside], rows[inside]


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
    yield from read_file(Path(path), form, max_bytes)


def read_file(path: Path, form: FileFormat, max_bytes: int | None = None) -> Iterator[Any]:
    """Read a file whose form is known, a batch at a time, up to what it may unpack to."""
    unpacked = Unpacked(path, max_bytes)
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
            text = pc.replace_substring_regex(text, r"^([+-]?\d+),(\d+)$", r"\1.\2")
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
