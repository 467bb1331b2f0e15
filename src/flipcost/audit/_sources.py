"""Where the rows of a large table are: files here, or files that a cluster reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flipcost.data import is_many, sniff
from flipcost.exceptions import TableError
from flipcost.scale import FileSet, FileTable, Layout, Table, open_files


@dataclass(frozen=True, eq=False)
class Source:
    """Files that are looked at first and read in passes after, text kept as text."""

    files: FileSet
    dask: bool

    @property
    def names(self) -> list[str]:
        """Columns."""
        return self.files.names

    def look(self, columns: list[str], n_rows: int) -> list[Any]:
        """Return consecutive rows of several places, about so many in all."""
        self.files.check_columns(columns)
        return self.files.look(columns, n_rows)

    def table(self, columns: list[str], seed: int, progress: Any) -> Table:
        """Return the table for passes over these columns, the first of which is the target."""
        target, *others = columns
        layout = Layout(target, tuple(others), fold_seed=seed)
        return FileTable(self.files, layout, progress=progress, on_cluster=self.dask)


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
    if not is_many(path):
        sniff(path, delimiter=delimiter, encoding=encoding)  # says why one file is not a table
    try:
        files = open_files(
            path, on_cluster=dask, as_text=True, delimiter=delimiter, encoding=encoding
        )
        return Source(files, dask)
    except FileNotFoundError as error:
        msg = f"There is no file at {path}; check the folder or the pattern."
        raise TableError(msg) from error
