"""Where the rows of a large table are: files here, or files that a cluster reads."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flipcost import scale, tables
from flipcost.scale import _arrow
from flipcost.scale._files import ParquetFiles as Footers
from flipcost.scale._listing import check_stamp, file_stamp, list_files
from flipcost.tables import TableError
from flipcost.tables._read import NULLS

if TYPE_CHECKING:
    from collections.abc import Callable


class Source(ABC):
    """A table that is looked at first and read in passes after.

    Attributes
    ----------
    names : list of str
        Its columns.
    tidy : callable or None
        What makes frames of it what a `ColumnReader` takes, if they are not that yet.
    """

    names: list[str]
    tidy: Callable[[Any], Any] | None = None

    def __init__(self, path: Any):
        self._filesystem, paths = list_files(path, Footers.suffixes)
        self._stamps = {one: file_stamp(self._filesystem, one) for one in paths}

    @abstractmethod
    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Return consecutive rows of several places, tidied, about so many in all."""

    @abstractmethod
    def table(self, columns: list[str], seed: int, progress: Any) -> scale.Table:
        """Return the table for passes over these columns, the first of which is the target."""

    def check_unchanged(self) -> None:
        """Refuse files that went away or changed since they were looked at first."""
        for path, stamp in self._stamps.items():
            check_stamp(self._filesystem, path, stamp)


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
        A file, or a folder or pattern of Parquet files; on a cluster also a pattern of CSV files.
    dask : bool
        Whether the active Dask client reads them.
    delimiter, encoding : str, optional
        Of text, when they are not to be found out from the first lines.

    Returns
    -------
    Source
    """
    first = path
    if is_many(path):
        try:
            first = list_files(path, Footers.suffixes)[1][0]
        except FileNotFoundError as error:
            msg = f"There is no file at {path}; check the folder or the pattern."
            raise TableError(msg) from error
    layout = tables.sniff(first, delimiter=delimiter, encoding=encoding)
    if layout.kind == "parquet":
        return ParquetFiles(path, dask=dask)
    if dask:
        return RemoteCsvFiles(path, layout)
    if is_many(path):
        what = "is a folder" if Path(path).is_dir() else "is a pattern"
        msg = (
            f"{path} {what} of files that are not Parquet ({Path(first).name}); give one CSV file."
        )
        raise TableError(msg)
    return CsvFile(path, layout, delimiter, encoding)


class ParquetFiles(Source):
    """Parquet files, read by threads, or workers of a cluster, that take row groups."""

    def __init__(self, path: Any, *, dask: bool):
        super().__init__(path)
        self._path = os.fspath(path)
        self._dask = dask
        self.names = Footers(self._path).names

    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Read the first rows of row groups at even distances."""
        target, *others = columns
        return scale.scan_parquet(self._path, target, others).look(n_rows)

    def table(self, columns: list[str], seed: int, progress: Any) -> scale.Table:
        """Return the files as a table."""
        target, *others = columns
        if self._dask:
            return scale.scan_dask(self._path, target, others, fold_seed=seed)
        return scale.scan_parquet(self._path, target, others, fold_seed=seed, progress=progress)


class CsvFile(Source):
    """A CSV file, its fields kept as text until a `ColumnReader` reads them."""

    def __init__(self, path: Any, layout: tables.Layout, delimiter: Any, encoding: Any):
        super().__init__(path)
        self._path = path
        self._options = {"delimiter": delimiter, "encoding": encoding}
        self.names = list(layout.names)

    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Read rows at even distances."""
        blocks = tables.read_places(self._path, n_rows, **self._options)
        return [block.select(columns) for block in blocks]

    def table(self, columns: list[str], seed: int, progress: Any) -> scale.Table:
        """Return batches of the file as a table."""
        target, *others = columns
        return scale.scan_batches(
            partial(tables.read_batches, self._path, **self._options),
            target,
            others,
            fold_seed=seed,
            progress=progress,
            n_threads=None,
            name=str(self._path),
        )


class RemoteCsvFiles(Source):
    """CSV files that the workers of a cluster read, their fields kept as text."""

    def __init__(self, path: Any, layout: tables.Layout):
        super().__init__(path)
        self._decimal = layout.decimal
        self.tidy = partial(tables.tidy_text, decimal=layout.decimal)
        self.names = list(layout.names)
        for other in self._stamps:
            found = tables.sniff(other, delimiter=layout.delimiter, encoding=layout.encoding)
            if (found.names, found.compression) != (layout.names, layout.compression):
                msg = (
                    f"{other} differs from the first file in its columns or its compression; make "
                    "all files alike."
                )
                raise TableError(msg)
        options = {
            "sep": layout.delimiter,
            "encoding": layout.encoding,
            "names": self.names,
            "header": 0,
            "dtype": str,
            "keep_default_na": False,
            "na_values": list(NULLS),
        }
        if layout.compression:  # cannot be cut into pieces
            options |= {"compression": layout.compression, "blocksize": None}
        _arrow.require("dask")
        from flipcost.scale import _dask  # noqa: PLC0415 - dask is an extra

        self._frame = _dask.read_csv(list(self._stamps), **options)

    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Read the first rows of partitions at even distances."""
        frames = self._scan(columns).look(n_rows)
        return [tables.tidy_text(frame, self._decimal) for frame in frames]

    def table(self, columns: list[str], seed: int, progress: Any) -> scale.Table:
        """Return the partitions as a table; the cluster shows its own progress."""
        del progress
        return self._scan(columns, fold_seed=seed)

    def _scan(self, columns: list[str], **options: Any) -> Any:
        target, *others = columns
        return scale.scan_dask(self._frame, target, others, **options)
