"""Where the rows of a large table are: files here, or files that a cluster reads."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flipcost import data
from flipcost.data import check_stamp, file_stamp, list_files
from flipcost.exceptions import SourceError, TableError
from flipcost.scale import Piece, Table
from flipcost.scale._files import FileTable
from flipcost.scale._files import ParquetFiles as Footers
from flipcost.scale._progress import Reporter
from flipcost.scale._reduce import Unit, reduce_units, thread_count
from flipcost.scale._rows import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flipcost.data import TextRange

# A range of text that a thread or a worker reads, and holds, at a time; the same for both, because
# rows are numbered, and put into folds, by range and place in it.
_RANGE_BYTES = 1 << 25
# Rows of a range, whose number is not known before it is read, are numbered as if each had so many.
_PLACES = 1 << 40
# Files that are looked at, of many.
_FILES = 16


class Source(ABC):
    """A table that is looked at first and read in passes after.

    Attributes
    ----------
    names : list of str
        Its columns.
    """

    names: list[str]

    @abstractmethod
    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Return consecutive rows of several places, about so many in all."""

    @abstractmethod
    def table(self, columns: list[str], seed: int, progress: Any) -> Table:
        """Return the table for passes over these columns, the first of which is the target."""


def is_many(path: Any) -> bool:
    """Tell whether a path stands for several files: a folder, or a pattern.

    Examples
    --------
    >>> is_many("sales/*.parquet"), is_many("sales.csv")
    (True, False)
    """
    text = os.fspath(path)
    return Path(text).is_dir() or (glob.has_magic(text) and not Path(text).exists())


def open_source(
    path: Any, *, dask: bool, delimiter: str | None = None, encoding: str | None = None
) -> Source:
    """Find out what kind of files there are, and return the way to read them.

    Parameters
    ----------
    path : path-like
        A file, or a folder or pattern of files of one kind.
    dask : bool
        Whether the active Dask client reads them.
    delimiter, encoding : str, optional
        Of text, when they are not to be found out from the first lines.

    Returns
    -------
    Source
    """
    paths = [os.fspath(path)]
    if is_many(path):
        try:
            paths = list_files(path, Footers.suffixes)[1]
        except FileNotFoundError as error:
            msg = f"There is no file at {path}; check the folder or the pattern."
            raise TableError(msg) from error
    layout = data.sniff(paths[0], delimiter=delimiter, encoding=encoding)
    # Workers run in folders of their own.
    paths = [os.path.abspath(one) for one in paths] if dask else paths  # noqa: PTH100 - as given
    if layout.kind == "parquet":
        return ParquetSource(paths, dask=dask)
    return TextSource(paths, layout, dask=dask)


class ParquetSource(Source):
    """Parquet files, read by threads, or workers of a cluster, that take row groups."""

    def __init__(self, paths: list[str], *, dask: bool):
        self._files = Footers(paths)
        self._dask = dask
        self.names = self._files.names

    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Read rows at even distances."""
        layout = _layout(columns)
        self._files.check_columns(layout.wanted)
        return self._files.look(n_rows, layout)

    def table(self, columns: list[str], seed: int, progress: Any) -> Table:
        """Return the files as a table."""
        layout = _layout(columns, seed)
        if self._dask:
            return _dask().ClusterFiles(self._files, layout)
        return FileTable(self._files, layout, progress=progress)


class TextSource(Source):
    """CSV files, their fields kept as text until a `ColumnReader` reads them."""

    def __init__(self, paths: list[str], layout: data.FileFormat, *, dask: bool):
        known = {"delimiter": layout.delimiter, "encoding": layout.encoding}
        self._files = {path: data.sniff(path, **known) for path in paths}
        self._known, self._dask = known, dask
        self.names = list(layout.names)
        for path, found in self._files.items():
            if found.names != layout.names:
                msg = f"{path} must have the columns of {paths[0]}, in their order; it has others."
                raise TableError(msg)

    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Read rows at even distances."""
        paths = list(self._files)
        chosen = paths[:: -(-len(paths) // _FILES)]
        each = n_rows // len(chosen)
        blocks = [block for p in chosen for block in data.read_places(p, each, **self._known)]
        return [block.select(columns) for block in blocks]

    def table(self, columns: list[str], seed: int, progress: Any) -> Table:
        """Return ranges of the files as a table."""
        return TextTable(self._files, _layout(columns, seed), progress, dask=self._dask)


class TextTable(Table):
    """CSV files in ranges of bytes, each read by a thread or by a worker of a cluster."""

    def __init__(
        self, files: dict[str, data.FileFormat], layout: Layout, progress: Any, *, dask: bool
    ):
        super().__init__(layout)
        self._files, self._progress, self._dask = files, progress, dask
        self._filesystem, paths = list_files(list(files))
        self._stamps = {path: file_stamp(self._filesystem, path) for path in paths}
        self._ranges = [
            part
            for path, text in files.items()
            for part in data.split_text(path, text, _RANGE_BYTES)
        ]

    @property
    def n_parts(self) -> int | None:
        """Number of ranges, on a cluster."""
        return len(self._ranges) if self._dask else None

    def reduce(self, task: Any) -> Any:
        units = [
            Unit(
                f"file {part.path!r}",
                part.stop - part.start,  # bytes stand for rows, which nobody has counted
                partial(_pieces, part, _PLACES * k, self._layout.wanted),
            )
            for k, part in enumerate(self._ranges)
        ]
        if self._dask:
            result = _dask().reduce_remotely(units, task)
        else:
            reporter = Reporter(self._progress, sum(unit.n_rows for unit in units))
            result = reduce_units(units, task, reporter, thread_count(None))
        for path, stamp in self._stamps.items():
            check_stamp(self._filesystem, path, stamp)
        return result

    def _with_layout(self, layout: Layout) -> TextTable:
        return TextTable(self._files, layout, self._progress, dask=self._dask)

    def _name(self) -> str:
        return next(iter(self._files))


def _pieces(part: TextRange, start: int, columns: list[str]) -> Iterator[Piece]:
    where = f"file {part.path!r}"
    try:
        for batch in part.batches():
            yield Piece(where, start, batch.select(columns))
            start += batch.num_rows
    except TableError as error:
        raise SourceError(str(error)) from error


def _layout(columns: list[str], seed: int = 0) -> Layout:
    target, *others = columns
    return Layout(target, tuple(others), fold_seed=seed)


def _dask() -> Any:
    from flipcost.scale import _dask as module  # noqa: PLC0415 - dask is an extra

    return module
