"""Tables in files: Parquet and CSV, read by pyarrow in batches.

pyarrow's own dataset scanner is not used: with many small row groups, rows summed up more slowly
than read, and read-ahead set to two batches and one file, what it held grew to 1.1 GB (pyarrow 26).
Here each thread reads, decodes and sums up one row group at a time, so that what is held is one
batch for each thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as pa_csv

from flipcost.data import arrow, check_stamp, file_stamp, folder_keys, list_files
from flipcost.exceptions import SourceError
from flipcost.scale._progress import Progress, Reporter
from flipcost.scale._reduce import Unit, reduce_pieces, reduce_units, thread_count
from flipcost.scale._rows import Piece
from flipcost.scale._table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flipcost.data import Paths
    from flipcost.scale._rows import Layout
    from flipcost.scale._tasks import Task

# Rows of a batch. At 20 float32 features 128 Ki rows are 10 MB; wide tables get fewer rows, so that
# memory depends on neither the length nor the width of the table.
_BATCH_BYTES = 20_000_000
_BATCH_ROWS = (1_024, 131_072)
# Row groups of fewer rows are read together.
_UNIT_ROWS = 131_072
# Places that a look without a pass reads from, and the rows up to which all may be decoded for it.
_LOOKS = 16
_CHEAP_ROWS = 2_000_000
# Column chunks of local files are read in steps of this size instead of whole.
_STREAM_BYTES = 1 << 18


@dataclass(frozen=True)
class Reading:
    """How a pass reads files."""

    layout: Layout
    reporter: Reporter
    n_threads: int
    batch_rows: int


@dataclass(frozen=True)
class Span:
    """Row groups of a file that are read one after the other, and where their rows begin."""

    path: str
    groups: tuple[int, ...]
    start: int
    n_rows: int


class FileSet(ABC):
    """Files of one format with the same columns, looked at before any of their rows are read."""

    suffixes: tuple[str, ...] = ()

    def __init__(self, source: Paths, filesystem: Any = None):
        self.filesystem, self.paths = list_files(source, self.suffixes, filesystem)
        self.stamps = [file_stamp(self.filesystem, path) for path in self.paths]
        self.keys = folder_keys(self.paths)
        self.schemas = []
        for path in self.paths:
            with self.naming(path):
                self.schemas.append(self.look_at(path))

    @abstractmethod
    def look_at(self, path: str) -> Any:
        """Return the schema of a file."""

    @property
    def names(self) -> list[str]:
        """Columns of the first file."""
        return list(self.schemas[0].names)

    @property
    def n_rows(self) -> int | None:
        """Number of rows, when the files say."""
        return None

    def check_columns(self, wanted: list[str]) -> None:
        """Refuse files that lack a column, or have another kind of values in it."""
        for name in wanted:
            if name in self.keys and name not in self.names:
                continue
            kinds: dict[str, tuple[str, Any]] = {}
            for path, schema in zip(self.paths, self.schemas, strict=True):
                place = schema.get_field_index(name)
                if place < 0:
                    raise SourceError(_no_column(path, name, schema.names, self.paths[0]))
                type_ = schema.field(place).type
                kind = _kind(type_)
                if kind != "null":
                    kinds.setdefault(kind, (path, type_))
                if len(kinds) > 1:
                    raise SourceError(_two_kinds(name, list(kinds.values())))

    def check_unchanged(self) -> None:
        """Refuse the result of a pass during which a file went away or changed."""
        for path in self.paths:
            self._check_stamp(path)

    @contextmanager
    def naming(self, path: str) -> Iterator[None]:
        """Turn errors of pyarrow into one that names the file and, if known, what befell it."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            self._check_stamp(path)
            reason = " ".join(str(error).split())
            msg = (
                f"file {path!r} cannot be read: {reason} It may be cut short, damaged, or of "
                "another kind."
            )
            raise SourceError(msg) from error

    @abstractmethod
    def reduce(self, task: Task, reading: Reading) -> Any:
        """Run a task on all batches and merge what it returns."""

    def with_keys(self, batch: Any, path: str, wanted: list[str]) -> Any:
        """Add the columns that folders give, in the order wanted."""
        if set(wanted) == set(batch.schema.names):
            return batch
        columns = []
        for name in wanted:
            place = batch.schema.get_field_index(name)
            if place >= 0:
                columns.append(batch.column(place))
            else:
                value = pa.scalar(self.keys[name][path])
                columns.append(pa.repeat(value, batch.num_rows))
        return pa.RecordBatch.from_arrays(columns, names=wanted)

    def _check_stamp(self, path: str) -> None:
        check_stamp(self.filesystem, path, self.stamps[self.paths.index(path)])


class ParquetFiles(FileSet):
    """Parquet files: row groups are units of work for threads."""

    suffixes = (".parquet", ".pq", ".parq")

    def __init__(self, source: Paths, filesystem: Any = None):
        self._footers: dict[str, Any] = {}
        super().__init__(source, filesystem)

    def look_at(self, path: str) -> Any:
        """Read the footer."""
        with self._open(path) as file:
            self._footers[path] = file.metadata
            return file.schema_arrow

    @property
    def n_rows(self) -> int | None:
        """Number of rows by the footers."""
        return sum(int(footer.num_rows) for footer in self._footers.values())

    def reduce(self, task: Task, reading: Reading) -> Any:
        """Run a task on row groups, as many at a time as there are threads."""
        spans = list(self._spans(_UNIT_ROWS))
        # Fewer of them than threads leave cores idle: decode columns in parallel then.
        threads = len(spans) < reading.n_threads
        units = (self.unit(span, reading, threads=threads) for span in spans)
        return reduce_units(units, task, reading.reporter, reading.n_threads)

    def remote_units(self, reading: Reading, n_rows: int) -> list[Unit]:
        """Return row groups for other processes, joined to some so many rows of one file.

        Each carries what is known of its own file only, and reads the footer anew.
        """
        alone = {path: self._only(place) for place, path in enumerate(self.paths)}
        return [alone[span.path].unit(span, reading) for span in self._spans(n_rows)]

    def _only(self, place: int) -> ParquetFiles:
        """Return one of the files, without its footer."""
        found = copy(self)
        path = self.paths[place]
        found.paths, found.stamps = [path], [self.stamps[place]]
        found.schemas, found._footers = [self.schemas[place]], {}  # noqa: SLF001 - a copy of us
        found.keys = {name: {path: values[path]} for name, values in self.keys.items()}
        return found

    def look(self, n_rows: int, layout: Layout) -> list[Any]:
        """Read about so many rows, of places at even distances, without a pass over the files.

        Returns consecutive rows each, with the columns of the layout. Rows of a row group before
        the wanted ones must be decoded, which in a large table is done for a quarter of all rows
        at most.
        """
        reading = Reading(layout, Reporter(None, None), 1, rows_of_a_batch(layout))
        spans = list(self._spans(1))
        total = sum(span.n_rows for span in spans)
        each = -(-n_rows // _LOOKS)
        places = [k * (total - each) // (_LOOKS - 1) for k in range(_LOOKS)]
        if total <= n_rows:
            each, places = total, [0] if total else []
        reach = total if total <= _CHEAP_ROWS else total // (4 * _LOOKS)
        starts = [span.start for span in spans]
        found = []
        for place in places:
            first = bisect_right(starts, place) - 1
            skip = min(place - starts[first], reach)
            pieces = (piece for span in spans[first:] for piece in self.unit(span, reading).read())
            found.append(_rows_of(pieces, skip, each))
        return found

    def _spans(self, n_rows: int) -> Iterator[Span]:
        """Yield row groups of one file, joined to some so many rows."""
        start = 0
        for path in self.paths:
            footer = self._footers[path]
            groups: list[int] = []
            held = 0
            for group in range(footer.num_row_groups):
                rows = int(footer.row_group(group).num_rows)
                if rows:
                    groups.append(group)
                    held += rows
                if groups and (held >= n_rows or group == footer.num_row_groups - 1):
                    yield Span(path, tuple(groups), start, held)
                    groups, start, held = [], start + held, 0

    def unit(self, span: Span, reading: Reading, *, threads: bool = False) -> Unit:
        """Return the way to read row groups."""
        read = partial(self._batches, span, reading, threads=threads)
        return Unit(f"file {span.path!r}", span.n_rows, read)

    def _batches(self, span: Span, reading: Reading, *, threads: bool) -> Iterator[Piece]:
        path, start = span.path, span.start
        wanted = reading.layout.wanted
        stored = [name for name in wanted if name not in self.keys or name in self.names]
        with self.naming(path), self._open(path) as file:
            for batch in file.iter_batches(
                reading.batch_rows, list(span.groups), stored, use_threads=threads
            ):
                yield Piece(f"file {path!r}", start, self.with_keys(batch, path, wanted))
                start += batch.num_rows

    def _open(self, path: str) -> Any:
        is_local = self.filesystem.type_name == "local"
        return pq.ParquetFile(
            path,
            filesystem=self.filesystem,
            metadata=self._footers.get(path),
            # Far away, few large requests beat many small ones.
            pre_buffer=not is_local,
            buffer_size=_STREAM_BYTES if is_local else 0,
        )


@dataclass(frozen=True)
class CsvFormat:
    """How CSV text is read."""

    delimiter: str = ","
    null_values: tuple[str, ...] | None = None


class CsvFiles(FileSet):
    """CSV files, plain or compressed: read one after the other, summed up by other threads."""

    suffixes = tuple(
        f".{kind}{packed}"
        for kind in ("csv", "tsv", "txt")
        for packed in ("", ".gz", ".bz2", ".zst")
    )

    def __init__(self, source: Paths, csv: CsvFormat, filesystem: Any = None):
        self._csv = csv
        super().__init__(source, filesystem)

    def look_at(self, path: str) -> Any:
        """Guess the types from the first block."""
        with self._open(path) as reader:
            return reader.schema

    def reduce(self, task: Task, reading: Reading) -> Any:
        """Run a task on blocks of text; their size is pyarrow's."""
        pieces = self._pieces(reading.layout)
        return reduce_pieces(pieces, task, reading.reporter, reading.n_threads)

    def _pieces(self, layout: Layout) -> Iterator[Piece]:
        start = 0
        wanted = layout.wanted
        for path, schema in zip(self.paths, self.schemas, strict=True):
            stored = [name for name in wanted if name in schema.names]
            with self.naming(path), self._open(path, stored, self._types(layout)) as reader:
                for batch in reader:
                    yield Piece(f"file {path!r}", start, self.with_keys(batch, path, wanted))
                    start += batch.num_rows

    def _types(self, layout: Layout) -> dict[str, Any]:
        """Read features that look like numbers in any file as numbers, fractions included."""
        types = {}
        for name in layout.wanted:
            found = [s.field(name).type for s in self.schemas if name in s.names]
            solid = [type_ for type_ in found if not pa.types.is_null(type_)]
            if name in (layout.columns or ()) and all(
                pa.types.is_integer(t) or pa.types.is_floating(t) for t in solid
            ):
                types[name] = pa.float64()
            elif solid:
                types[name] = solid[0]
        return types

    def _open(
        self, path: str, columns: list[str] | None = None, types: dict[str, Any] | None = None
    ) -> Any:
        csv = pa_csv
        options: dict[str, Any] = {"strings_can_be_null": True}
        if self._csv.null_values is not None:
            options["null_values"] = list(self._csv.null_values)
        if columns is not None:
            options |= {"include_columns": columns, "column_types": types}
        return csv.open_csv(
            self.filesystem.open_input_stream(path),  # unpacks by the ending of the name
            parse_options=csv.ParseOptions(delimiter=self._csv.delimiter),
            convert_options=csv.ConvertOptions(**options),
        )


class FileTable(Table):
    """A table in one or more files."""

    def __init__(
        self,
        files: FileSet,
        layout: Layout,
        positive: Any = None,
        *,
        progress: Callable[[Progress], None] | str | None = None,
        n_threads: int | None = None,
        batch_rows: int | None = None,
    ):
        super().__init__(layout.resolved(files.names), positive)
        if self._layout.target is None:
            msg = "Files need a `target`, the name of the column of labels; got none."
            raise ValueError(msg)
        files.check_columns(self._layout.wanted)
        self._files = files
        self._progress = progress
        self._n_threads = n_threads
        self._batch_rows = batch_rows

    @property
    def n_rows(self) -> int | None:
        """Number of rows, when the files say; None for CSV."""
        return self._files.n_rows

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        encoder = self._layout.encoder
        return encoder.feature_names if encoder else self._layout.columns or ()

    @property
    def n_bytes(self) -> int:
        """Size of the files in bytes."""
        return sum(size for size, _ in self._files.stamps)

    def reduce(self, task: Task) -> Any:
        reporter = Reporter(self._progress, self.n_rows)
        n_threads = thread_count(self._n_threads)
        reading = Reading(self._layout, reporter, n_threads, self._rows_of_a_batch())
        result = self._files.reduce(task, reading)
        self._files.check_unchanged()
        return result

    def _rows_of_a_batch(self) -> int:
        return self._batch_rows or rows_of_a_batch(self._layout)

    def _with_layout(self, layout: Layout) -> FileTable:
        return FileTable(
            self._files,
            layout,
            self._positive,
            progress=self._progress,
            n_threads=self._n_threads,
            batch_rows=self._batch_rows,
        )

    def _name(self) -> str:
        return f"{self._files.paths[0]!r}" if len(self._files.paths) == 1 else "The files"


def rows_of_a_batch(layout: Layout) -> int:
    """Return how many rows to read at a time, by the number of columns."""
    low, high = _BATCH_ROWS
    return max(low, min(high, _BATCH_BYTES // (8 * len(layout.wanted))))


def _rows_of(pieces: Iterator[Piece], skip: int, n_rows: int) -> Any:
    """Return some rows of pieces as one table."""
    found, held = [], 0
    for piece in pieces:
        rows = piece.frame.slice(skip, n_rows - held)
        skip = max(0, skip - piece.n_rows)
        if rows.num_rows:
            found.append(rows)
            held += rows.num_rows
        if held >= n_rows:
            break
    return arrow.concatenate(found)


def _kind(type_: Any) -> str:
    if pa.types.is_null(type_):
        return "null"
    if arrow.is_number(type_):
        return "number"
    return "text" if arrow.is_level(type_) else str(type_)


def _two_kinds(name: str, found: list[tuple[str, Any]]) -> str:
    (first, type_), (other, other_type) = found
    return (
        f"file {other!r}: column {name!r} must be of the same kind in all files; got {other_type} "
        f"here and {type_} in {first!r}. Rewrite one of them."
    )


def _no_column(path: str, name: str, names: list[str], first: str) -> str:
    shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    if path == first:
        return f"file {path!r}: there is no column {name!r}; its columns are {shown}."
    return (
        f"file {path!r}: there is no column {name!r}, which {first!r} has; its columns are "
        f"{shown}. Rewrite it, or name the columns that all files have in `columns`."
    )
