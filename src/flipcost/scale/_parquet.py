"""Parquet files, read by pyarrow in batches.

pyarrow's own dataset scanner is not used: with many small row groups, rows summed up more slowly
than read, and read-ahead set to two batches and one file, what it held grew to 1.1 GB (pyarrow 26).
Here each thread reads, decodes and sums up one row group at a time, so that what is held is one
batch for each thread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow.parquet as pq

from flipcost.data import Paths, arrow, check_cells, parquet_batches
from flipcost.scale._files import FileSet, Reading
from flipcost.scale._reduce import Unit
from flipcost.scale._rows import Layout, Piece

# Row groups of fewer rows are read together: here, and on a cluster, whose scheduler has fewer
# tasks then.
_UNIT_ROWS, _PART_ROWS = 131_072, 1_000_000
# Places that a look without a pass reads from, and the rows up to which all may be decoded for it.
_LOOKS = 16
_CHEAP_ROWS = 2_000_000
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
        """Return row groups, joined to some so many rows of one file.

        For other processes each carries what is known of its own file only, and reads the footer
        anew.
        """
        if reading.on_cluster:
            alone = {path: self.only(path) for path in self.paths}
            return [alone[span.path].unit(span, reading) for span in self._spans(_PART_ROWS)]
        spans = list(self._spans(_UNIT_ROWS))
        # Fewer of them than threads leave cores idle: decode columns in parallel then.
        threads = len(spans) < reading.n_threads
        return [self.unit(span, reading, threads=threads) for span in spans]

    def only(self, path: str) -> ParquetFiles:
        """Return one of the files, without its footer."""
        found = super().only(path)
        found._footers = {}  # noqa: SLF001 - a copy of us
        return found

    def look(self, columns: Sequence[str], n_rows: int) -> list[Any]:
        """Read rows at even distances.

        Rows of a row group before the wanted ones must be decoded, which in a large table is done
        for a quarter of all rows at most.
        """
        self.check_columns(list(columns))
        reading = Reading(Layout(columns=tuple(columns)))
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
