"""Tables in files, read in parts by the threads of this process or the workers of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from flipcost.data import (
    Paths,
    arrow,
    check_names,
    check_stamp,
    file_stamp,
    folder_keys,
    list_files,
)
from flipcost.exceptions import SourceError, TableError
from flipcost.scale._optional import cluster_module
from flipcost.scale._progress import Progress, Reporter
from flipcost.scale._reduce import Unit, reduce_units, thread_count
from flipcost.scale._table import Table

if TYPE_CHECKING:
    from flipcost.scale._rows import Layout
    from flipcost.scale._tasks import Task

# Rows of a batch. At 20 float32 features 128 Ki rows are 10 MB; wide tables get fewer rows, so that
# memory depends on neither the length nor the width of the table.
_BATCH_BYTES = 20_000_000
_BATCH_ROWS = (1_024, 131_072)


@dataclass(frozen=True)
class Reading:
    """How a pass reads files."""

    layout: Layout
    n_threads: int = 1
    batch_rows: int = 0
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
    >>> from flipcost.scale import open_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,late\n1,0\n3,1\n")
    ...     open_files(path).look(["x"], 10)[0].to_pydict()
    {'x': ['1', '3']}
    """

    suffixes: tuple[str, ...] = ()

    def __init__(self, source: Paths, filesystem: Any = None):
        self.filesystem, self.paths = list_files(source, self.suffixes, filesystem)
        self.stamps = [file_stamp(self.filesystem, path) for path in self.paths]
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
        """Read about so many rows, of places at even distances, without a pass over the files.

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
        found.paths, found.stamps = [path], [self.stamps[place]]
        found.schemas = [self.schemas[place]]
        found.keys = {name: {path: values[path]} for name, values in self.keys.items()}
        return found

    def _check_stamp(self, path: str) -> None:
        check_stamp(self.filesystem, path, self.stamps[self.paths.index(path)])


class FileTable(Table):
    r"""A table in one or more files.

    Parameters
    ----------
    files : FileSet
        The files, as `open_files` returns them.
    layout : Layout
        Roles of the columns.
    positive : label, optional
        The positive label; the larger one when None.
    progress, n_threads, batch_rows
        As in `scan_parquet`.
    on_cluster : bool, default=False
        Whether the workers of a Dask cluster read them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from flipcost.scale import Layout, open_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x,late\n1,0\n3,1\n")
    ...     FileTable(open_files(path), Layout("late")).moments().mean.ravel()
    array([1., 3.])
    """

    def __init__(
        self,
        files: FileSet,
        layout: Layout,
        positive: Any = None,
        *,
        progress: Callable[[Progress], None] | str | None = None,
        n_threads: int | None = None,
        batch_rows: int | None = None,
        on_cluster: bool = False,
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
        self._on_cluster = on_cluster

    @property
    def n_rows(self) -> int | None:
        """Number of rows, when it is known without a pass."""
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

    @property
    def n_parts(self) -> int | None:
        """Number of parts that the workers of a cluster take; None if none do."""
        return len(self._units()) if self._on_cluster else None

    def reduce(self, task: Task) -> Any:
        units = self._units()
        if self._on_cluster:
            result = cluster_module().reduce_remotely(units, task)
        else:
            reporter = Reporter(self._progress, self.n_rows)
            result = reduce_units(units, task, reporter, thread_count(self._n_threads))
        self._files.check_unchanged()
        return result

    def _units(self) -> list[Unit]:
        n_threads = thread_count(self._n_threads)
        reading = Reading(self._layout, n_threads, self._batch_rows or 0, self._on_cluster)
        return self._files.units(reading)

    def _with_layout(self, layout: Layout) -> FileTable:
        return FileTable(
            self._files,
            layout,
            self._positive,
            progress=self._progress,
            n_threads=self._n_threads,
            batch_rows=self._batch_rows,
            on_cluster=self._on_cluster,
        )

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
