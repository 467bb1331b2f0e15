"""Whether files fit into memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flipcost.scale import _arrow
from flipcost.scale._files import CsvFiles, ParquetFiles
from flipcost.scale._listing import list_files

if TYPE_CHECKING:
    from flipcost.scale._listing import Source

# Where a container's limit is found, in the second version of control groups and in the first.
_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def exceeds_memory(source: Source, share: float = 0.25) -> bool:
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


def _size_in_memory(path: str, filesystem: Any) -> int:
    pa = _arrow.require("pyarrow")
    size = int(filesystem.get_file_info(path).size)
    if path.lower().endswith(ParquetFiles.suffixes):
        try:
            footer = _arrow.require("pyarrow.parquet").read_metadata(path, filesystem=filesystem)
        except (pa.ArrowException, OSError):
            return size  # whoever reads it will say what is wrong
        return 8 * int(footer.num_rows) * int(footer.num_columns)
    return (5 if path.lower().endswith((".gz", ".bz2", ".zst", ".xz", ".lz4")) else 1) * size


def usable_memory() -> float:
    """Return the bytes of memory that this process may use, as far as the system says."""
    if not hasattr(os, "sysconf"):  # not a POSIX system: let the caller find out
        return float("inf")
    found = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    for limit in _GROUP_LIMITS:
        try:
            found = min(found, float(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such limit, or "max"
            continue
    return found
