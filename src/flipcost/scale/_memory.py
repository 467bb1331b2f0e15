"""Whether files fit into memory."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flipcost.core.memory import usable_memory
from flipcost.data import Paths, list_files
from flipcost.scale._csv import CsvFiles
from flipcost.scale._parquet import ParquetFiles

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
        return 0  # whoever reads it will say what is wrong
    lines = int(head.count(b"\n"))
    return lines if len(head) < _HEAD else round(size * lines / _HEAD)


def _size_in_memory(path: str, filesystem: Any) -> int:
    size = int(filesystem.get_file_info(path).size)
    if path.lower().endswith(ParquetFiles.suffixes):
        try:
            footer = pq.read_metadata(path, filesystem=filesystem)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return size  # whoever reads it will say what is wrong
        return 8 * int(footer.num_rows) * int(footer.num_columns)
    return (5 if path.lower().endswith((".gz", ".bz2", ".zst", ".xz", ".lz4")) else 1) * size
