"""Tables in CSV and Parquet files, read by threads or by the workers of a cluster."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from flipcost.core.system import usable_memory
from flipcost.exceptions import SourceError, TableError
from flipcost.tables import arrow
from flipcost.tables.arrow import concatenate
from flipcost.tables.columns import read_cells, text_type
from flipcost.tables.passes import (
    Progress,
    Reporter,
    Unit,
    cluster_module,
    reduce_units,
    thread_count,
    threaded,
)
from flipcost.tables.paths import Paths, folder_keys, list_files
from flipcost.tables.reading import (
    TextRange,
    check_cells,
    first_rows,
    parquet_batches,
    read_places,
    split_text,
)
from flipcost.tables.rows import Layout, Piece
from flipcost.tables.sniff import FileFormat, check_names, sniff
from flipcost.tables.source import Table

if TYPE_CHECKING:
    from flipcost.tables.passes import Task

# Rows of a batch. At 20 float32 features 128 Ki rows are 10 MB; wide tables get fewer rows, so that
# memory depends on neither the length nor the width of the table.
_BATCH_BYTES = 20_000_000
_BATCH_ROWS = (1_024, 131_072)


@dataclass(frozen=True)
class Reading:
    """How a pass reads files: by how many threads, all cores when None, or on a Dask cluster."""

    layout: Layout
    n_threads: int | None = None
    batch_rows: int | None = None
    on_cluster: bool = False

    @property
    def rows_of_a_batch(self) -> int:
        """How many rows to read at a time, by the number of columns unless given."""
        low, high = _BATCH_ROWS
        fitting = _BATCH_BYTES // (8 * len(self.layout.wanted))
        return self.batch_rows or max(low, min(high, fitting))


class FileSet(ABC):
    r"""Files of one format with the same columns, looked at before any of their rows are read.

    Made by `open_files`.

    Parameters
    ----------
    source : path, or sequence of paths
        The files.
    filesystem : pyarrow.fs.FileSystem, optional
        Where they are, when `source` does not say.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from flipcost.tables.files import open_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,late\n1,0\n3,1\n")
    ...     open_files(path).look(["x"], 10)[0].to_pydict()
    {'x': ['1', '3']}
    """

    suffixes: tuple[str, ...] = ()

    def __init__(self, source: Paths, filesystem: Any = None):
        self.filesystem, self.paths = list_files(source, self.suffixes, filesystem)
        self.stamps = {path: self._stamp(path) for path in self.paths}
        self.keys = folder_keys(self.paths)
        self.schemas = []
        for path in self.paths:
            with self.naming(path):
                self.schemas.append(self.look_at(path))
                check_names(self.schemas[-1].names, path)

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
        """Turn errors into one that names the file and, if known, what happened to it."""
        try:
            yield
        except SourceError:
            raise
        except TableError as error:
            self._check_stamp(path)
            said = str(error)
            raise SourceError(said if path in said else f"file {path!r}: {said}") from error
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            self._check_stamp(path)
            reason = " ".join(str(error).split()).rstrip(".")
            msg = (
                f"file {path!r} cannot be read: {reason}. It may be cut short, damaged, or of "
                "another kind."
            )
            raise SourceError(msg) from error

    @abstractmethod
    def units(self, reading: Reading) -> list[Unit]:
        """Return the parts that a thread or a worker reads at a time, in order."""

    @abstractmethod
    def look(self, columns: Sequence[str], n_rows: int) -> list[Any]:
        """Read about `n_rows` rows, from places at even distances, without a pass over the files.

        Returns tables of consecutive rows each.
        """

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
        return type(batch).from_arrays(columns, names=wanted)

    def only(self, path: str) -> Self:
        """Return one of the files, with what another process needs to know of it."""
        found, place = copy(self), self.paths.index(path)
        found.paths, found.stamps = [path], {path: self.stamps[path]}
        found.schemas = [self.schemas[place]]
        found.keys = {name: {path: values[path]} for name, values in self.keys.items()}
        return found

    def _stamp(self, path: str) -> tuple[int, int | None]:
        """Return what tells whether a file has changed: its size and when it was written."""
        info = self.filesystem.get_file_info(path)
        if info.size is None:
            msg = f"file {path!r} must stay where it is while it is read; it is gone."
            raise SourceError(msg)
        return int(info.size), info.mtime_ns

    def _check_stamp(self, path: str) -> None:
        if self._stamp(path) != self.stamps[path]:
            msg = (
                f"file {path!r} changed while the table was being read; results would mix its old "
                "rows with its new ones. Scan the files again once they are at rest."
            )
            raise SourceError(msg)


class FileTable(Table):
    r"""A table in one or more files.

    Parameters
    ----------
    files : FileSet
        The files, as `open_files` returns them.
    reading : Reading
        Roles of the columns, and who reads them.
    positive : label, optional
        The positive label; the larger one when None.
    progress
        As in `scan_parquet`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from flipcost.tables.files import Reading, open_files
    >>> from flipcost.tables.rows import Layout
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,late\n1,0\n3,1\n")
    ...     FileTable(open_files(path), Reading(Layout("late"))).moments().mean.ravel()
    array([1., 3.])
    """

    def __init__(
        self,
        files: FileSet,
        reading: Reading,
        positive: Any = None,
        progress: Callable[[Progress], None] | str | None = None,
    ):
        self._files, self._reading, self._progress = files, reading, progress
        super().__init__(reading.layout, positive)

    def _lay_out(self, layout: Layout) -> None:
        if layout.target is None:
            msg = "Files need a `target`, the name of the column of labels; got none."
            raise ValueError(msg)
        self._layout = layout.resolved(self._files.names)
        self._reading = replace(self._reading, layout=self._layout)
        self._files.check_columns(self._layout.wanted)

    @property
    def n_rows(self) -> int | None:
        """Number of rows, when it is known without a pass."""
        return self._files.n_rows

    @property
    def n_bytes(self) -> int:
        """Size of the files in bytes."""
        return sum(size for size, _ in self._files.stamps.values())

    @property
    def n_parts(self) -> int | None:
        """Number of parts that the workers of a cluster take; None if none do."""
        return len(self._files.units(self._reading)) if self._reading.on_cluster else None

    def reduce(self, task: Task) -> Any:
        units = self._files.units(self._reading)
        if self._reading.on_cluster:
            result = cluster_module().reduce_remotely(units, task)
        else:
            reporter = Reporter(self._progress, self.n_rows)
            result = reduce_units(units, task, reporter, thread_count(self._reading.n_threads))
        self._files.check_unchanged()
        return result

    def _name(self) -> str:
        return f"{self._files.paths[0]!r}" if len(self._files.paths) == 1 else "The files"


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


# A range of text that a thread or a worker reads, and holds, at a time.
_RANGE_BYTES = 1 << 25
# Files that are looked at, of many, and rows that tell what columns hold.
_FILES, _LOOK_ROWS = 16, 4_000


class CsvFiles(FileSet):
    """CSV files, plain or compressed: ranges of bytes are units of work.

    Parameters
    ----------
    source : path, or sequence of paths
        The files.
    delimiter, encoding : str, optional
        Of all files, when they are not to be found out from the first lines.
    missing : sequence of str, optional
        Spellings of missing values, when not the usual.
    as_text : bool, default=False
        Whether cells stay text, for a reader that comes after.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the files are, when `source` does not say.
    """

    suffixes = tuple(
        f".{kind}{packed}"
        for kind in ("csv", "tsv", "txt")
        for packed in ("", ".gz", ".bz2", ".zst", ".xz", ".lz4")
    )

    def __init__(
        self,
        source: Paths,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        missing: Sequence[str] | None = None,
        as_text: bool = False,
        filesystem: Any = None,
    ):
        self._known = {"delimiter": delimiter, "encoding": encoding, "missing": missing}
        self._as_text = as_text
        self._forms: dict[str, FileFormat] = {}
        self._ranges: list[TextRange] = []
        self._starts: list[int] = []
        self._n_rows: int | None = None
        self._typed: tuple[Layout, dict[str, Any]] | None = None
        super().__init__(source, filesystem)
        if any(form.decimal == "," for form in self._forms.values()):
            self._forms = {p: replace(f, decimal=",") for p, f in self._forms.items()}

    @property
    def _elsewhere(self) -> Any:
        """The file system, unless it is this machine's."""
        return None if self.filesystem.type_name == "local" else self.filesystem

    def look_at(self, path: str) -> Any:
        """Read the header."""
        known = self._known
        if self._forms:  # as in the first file
            known = known | {"delimiter": next(iter(self._forms.values())).delimiter}
        form = sniff(path, **known, filesystem=self._elsewhere, may_be_empty=True)  # type: ignore[arg-type]
        self._forms[path] = form
        return pa.schema([(name, pa.string()) for name in form.names])

    @property
    def n_rows(self) -> int | None:
        """Number of rows, once they were counted."""
        return self._n_rows

    def look(self, columns: Sequence[str], n_rows: int) -> list[Any]:
        """Read rows at even distances."""
        chosen = self.paths[:: -(-len(self.paths) // _FILES)]
        found = []
        for path in chosen:
            with self.naming(path):
                form, each = self._forms[path], -(-n_rows // len(chosen))
                for rows in read_places(path, each, form, self._elsewhere):
                    stored = [name for name in columns if name in rows.column_names]
                    found.append(self.with_keys(rows.select(stored), path, list(columns)))
        return found

    def units(self, reading: Reading) -> list[Unit]:
        """Return ranges of the files, whose rows are numbered through."""
        self._count(reading)
        types = {} if self._as_text else self._types(reading.layout)
        alone = {path: self.only(path) for path in self.paths}
        return [
            Unit(
                f"file {part.path!r}",
                partial(alone[part.path].pieces, part, start, reading.layout.wanted, types),
            )
            for part, start in zip(self._ranges, self._starts, strict=True)
        ]

    def only(self, path: str) -> CsvFiles:
        """Return one of the files."""
        found = super().only(path)
        found._forms, found._ranges, found._starts = {}, [], []  # noqa: SLF001 - a copy of us
        return found

    def _count(self, reading: Reading) -> None:
        """Find where ranges begin, and with which row; rows are counted if there are several."""
        if self._ranges:
            return
        ranges = []
        for path, form in self._forms.items():
            ranges += split_text(path, form, _RANGE_BYTES, self._elsewhere)
        lengths = [0]
        if len(ranges) > 1 and reading.on_cluster:
            lengths = cluster_module().map_remotely(_count_rows, ranges)
        elif len(ranges) > 1:
            lengths = threaded(_count_rows, ranges, thread_count(reading.n_threads))
        if len(ranges) > 1:
            self._n_rows = sum(lengths)
        self._ranges, self._starts = ranges, [0, *accumulate(lengths[:-1])]

    def _types(self, layout: Layout) -> dict[str, Any]:
        """Find out what the columns hold from a look at some rows, once for all passes."""
        if self._typed is not None and self._typed[0] == layout:
            return self._typed[1]
        stored = [name for name in layout.wanted if name in self.names]
        blocks = self.look(stored, _LOOK_ROWS)
        if not blocks:
            return {}
        rows = concatenate(blocks)
        types: dict[str, Any] = {n: text_type(rows[n], layout.role_of(n)) for n in stored}
        encoded = layout.encoder.encoder.columns if layout.encoder else ()
        for column in encoded:  # the encoder reads text, numbers are read faster as such
            is_plain = column.kind == "number" and column.format is None
            types[column.name] = pa.float64() if is_plain else pa.string()
        self._typed = layout, types
        return types

    def pieces(
        self, part: TextRange, start: int, wanted: list[str], types: dict[str, Any]
    ) -> Iterator[Piece]:
        """Yield the rows of a range, the first of which has a number."""
        stored = [name for name in wanted if name in part.form.names]
        numbers = {name: kind for name, kind in types.items() if kind in (pa.float64(), pa.int64())}
        with self.naming(part.path):
            for batch in part.batches(stored, numbers):
                columns = [_typed(batch[name], name, types) for name in batch.schema.names]
                frame = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
                frame = self.with_keys(frame, part.path, wanted)
                yield Piece(f"file {part.path!r}", start, frame)
                start += batch.num_rows


def _count_rows(part: TextRange) -> int:
    return part.count_rows()


def _typed(column: Any, name: str, types: dict[str, Any]) -> Any:
    try:
        return read_cells(column, types.get(name, column.type))
    except (ValueError, NotImplementedError) as error:  # pyarrow's errors are of these kinds
        reason = str(error).splitlines()[0]
        msg = f"column {name!r} does not hold throughout what its first rows do ({reason})."
        raise TableError(msg) from error


# Row groups of fewer rows are read together: here, and on a cluster, whose scheduler has fewer
# tasks then.
_UNIT_ROWS, _PART_ROWS = 131_072, 1_000_000
# Places that a look without a pass reads from.
_LOOKS = 16
# Column chunks of local files are read in steps of this size instead of whole.
_STREAM_BYTES = 1 << 18


@dataclass(frozen=True)
class Span:
    """Row groups of a file that are read one after the other, and where their rows begin."""

    path: str
    groups: tuple[int, ...]
    start: int
    n_rows: int


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

    def units(self, reading: Reading) -> list[Unit]:
        """Return row groups, small ones of one file joined.

        For other processes each carries what is known of its own file only, and reads the footer
        anew.
        """
        if reading.on_cluster:
            alone = {path: self.only(path) for path in self.paths}
            return [alone[span.path].unit(span, reading) for span in self._spans(_PART_ROWS)]
        spans = list(self._spans(_UNIT_ROWS))
        # Fewer of them than threads leave cores idle: decode columns in parallel then.
        threads = len(spans) < thread_count(reading.n_threads)
        return [self.unit(span, reading, threads=threads) for span in spans]

    def only(self, path: str) -> ParquetFiles:
        """Return one of the files, without its footer."""
        found = super().only(path)
        found._footers = {}  # noqa: SLF001 - a copy of us
        return found

    def look(self, columns: Sequence[str], n_rows: int) -> list[Any]:
        """Read the first rows of row groups at even distances."""
        self.check_columns(list(columns))
        reading = Reading(Layout(columns=tuple(columns)))
        each = -(-n_rows // _LOOKS)
        spans = list(self._spans(each))
        if sum(span.n_rows for span in spans) > n_rows:
            spans = spans[:: -(-len(spans) // _LOOKS)]
            each = -(-n_rows // len(spans))
        else:
            each = n_rows
        frames = ((p.frame for p in self.unit(span, reading).read()) for span in spans)
        return [concatenate(first_rows(some, each)) for some in frames]

    def _spans(self, n_rows: int) -> Iterator[Span]:
        """Yield row groups, joined within a file until they hold `n_rows` rows."""
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
        """Return the unit that reads row groups."""
        read = partial(self._batches, span, reading, threads=threads)
        return Unit(f"file {span.path!r}", read)

    def _batches(self, span: Span, reading: Reading, *, threads: bool) -> Iterator[Piece]:
        path, start = span.path, span.start
        wanted = reading.layout.wanted
        stored = [name for name in wanted if name not in self.keys or name in self.names]
        with self.naming(path):
            for batch in parquet_batches(
                partial(self._open, path),
                reading.rows_of_a_batch,
                span.groups,
                stored,
                threads=threads,
            ):
                rows = self.with_keys(check_cells(batch), path, wanted)
                yield Piece(f"file {path!r}", start, rows)
                start += batch.num_rows

    def _open(self, path: str, dictionaries: Sequence[str] = ()) -> Any:
        is_local = self.filesystem.type_name == "local"
        return pq.ParquetFile(
            path,
            filesystem=self.filesystem,
            metadata=self._footers.get(path),
            read_dictionary=list(dictionaries),
            # Far away, few large requests beat many small ones.
            pre_buffer=not is_local,
            buffer_size=_STREAM_BYTES if is_local else 0,
        )


def open_files(
    source: Paths,
    *,
    on_cluster: bool = False,
    as_text: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> FileSet:
    r"""Find out whether files are CSV or Parquet, and open them.

    Parameters
    ----------
    source : path, or sequence of paths
        Files of one kind, as in `scan_parquet`; a folder may hold others that are no tables, which
        are passed over.
    on_cluster : bool, default=False
        Whether workers of a cluster read them, which run in folders of their own.
    as_text : bool, default=False
        Whether cells of CSV files stay text, for an `Encoder` to read.
    delimiter, encoding : str, optional
        Of text, as in `scan_csv`.

    Returns
    -------
    FileSet

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,late\n1,0\n3,1\n")
    ...     open_files(path).names
    ['x', 'late']
    """
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if on_cluster:
        given = [_absolute(path) for path in given]
    filesystem, paths = list_files(given, ParquetFiles.suffixes)
    elsewhere = None if filesystem.type_name == "local" else filesystem
    form = sniff(
        paths[0], delimiter=delimiter, encoding=encoding, filesystem=elsewhere, may_be_empty=True
    )
    if form.kind == "parquet":
        _refuse_others(given, filesystem)
        return ParquetFiles(paths, filesystem)
    _, paths = list_files(given, CsvFiles.suffixes)
    known = {"delimiter": form.delimiter, "encoding": form.encoding}
    return CsvFiles(paths, **known, as_text=as_text, filesystem=filesystem)


def _refuse_others(given: list[str | os.PathLike[str]], filesystem: Any) -> None:
    """Refuse a folder of Parquet and of CSV files: which are the table, only their owner knows."""
    for path in given:
        if Path(path).is_dir():
            _, texts = list_files(path, CsvFiles.suffixes, filesystem)
            texts = [text for text in texts if text.lower().endswith(CsvFiles.suffixes)]
            if texts:
                msg = (
                    f"{path} holds CSV files beside Parquet files, as {Path(texts[0]).name!r}; "
                    "give a pattern that one kind fits, as 'folder/*.parquet'."
                )
                raise TableError(msg)


def _absolute(source: str | os.PathLike[str]) -> str:
    """Return a path, or a pattern of paths, that means the same in the folder of a worker."""
    path = os.fspath(source)
    return path if "://" in path else os.path.abspath(path)  # noqa: PTH100 - patterns too


# Bytes that lines are counted in.
_HEAD = 1 << 16


def exceeds_memory(source: Paths, share: float = 0.25) -> bool:
    r"""Tell whether files are too large to be read whole.

    Parameters
    ----------
    source : path, or sequence of paths
        Parquet or CSV files, as in `scan_parquet`.
    share : float, default=0.25
        Share of the memory that this process may use (of the machine, or of its control group if
        that has less) that the table may take. A Parquet file is counted by its rows and columns,
        eight bytes each; any other by its size, times five if compressed.

    Returns
    -------
    bool

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,y\n1,0\n")
    ...     exceeds_memory(path)
    False
    """
    if not share >= 0:
        msg = f"`share` must be at least 0; got {share:g}."
        raise ValueError(msg)
    filesystem, paths = list_files(source, (*ParquetFiles.suffixes, *CsvFiles.suffixes))
    needed = sum(_size_in_memory(path, filesystem) for path in paths)
    return bool(needed > share * usable_memory())


def check_sizes(source: Any, max_bytes: int | None) -> None:
    """Refuse files that are larger than they may be as they are, packed or not.

    What is read in passes is not held, so that it may unpack to any size.

    Examples
    --------
    >>> check_sizes(__file__, None)
    >>> check_sizes(__file__, 10)
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: ...files.py holds ... bytes; if that is right, give a larger
    `max_bytes`.
    """
    if max_bytes is None:
        return
    filesystem, paths = list_files(source)
    size = sum(int(filesystem.get_file_info(path).size or 0) for path in paths)
    if size > max_bytes:
        msg = f"{source} holds {size:,} bytes; if that is right, give a larger `max_bytes`."
        raise TableError(msg)


def expected_rows(path: Any) -> int:
    r"""Return about how many rows a file has, from a look at its beginning.

    Parameters
    ----------
    path : path-like
        A Parquet or CSV file. Compressed text is taken to be five times as long.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,y\n" + 999 * "1,0\n")
    ...     expected_rows(path)
    1000
    """
    filesystem, (name, *_) = list_files(path, (*ParquetFiles.suffixes, *CsvFiles.suffixes))
    size = _size_in_memory(name, filesystem)
    try:
        if name.lower().endswith(ParquetFiles.suffixes):
            return int(pq.read_metadata(name, filesystem=filesystem).num_rows)
        # By the name of the file, it is unpacked.
        with filesystem.open_input_stream(name, compression="detect") as file:
            head = file.read(_HEAD)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return 0  # reading it will raise the error
    lines = int(head.count(b"\n"))
    return lines if len(head) < _HEAD else round(size * lines / _HEAD)


def _size_in_memory(path: str, filesystem: Any) -> int:
    size = int(filesystem.get_file_info(path).size)
    if path.lower().endswith(ParquetFiles.suffixes):
        try:
            footer = pq.read_metadata(path, filesystem=filesystem)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return size  # reading it will raise the error
        return 8 * int(footer.num_rows) * int(footer.num_columns)
    return (5 if path.lower().endswith((".gz", ".bz2", ".zst", ".xz", ".lz4")) else 1) * size
