"""CSV files, whose cells mean what `flipcost.data` says, in ranges of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

import pyarrow as pa

from flipcost.data import (
    FileFormat,
    LevelColumn,
    Paths,
    TextRange,
    concatenate,
    read_cells,
    read_places,
    sniff,
    split_text,
    text_type,
)
from flipcost.exceptions import TableError
from flipcost.scale._files import FileSet, Reading
from flipcost.scale._optional import cluster_module
from flipcost.scale._reduce import Unit, thread_count, threaded
from flipcost.scale._rows import Layout, Piece

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
        What stands for a missing value, when it is not the usual.
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
        types = {name: text_type(rows[name], layout.role_of(name)) for name in stored}
        encoded = layout.encoder.columns if layout.encoder else ()
        levels = [column for column in encoded if isinstance(column, LevelColumn)]
        named = [c.name for c in levels if all(isinstance(level, str) for level in c.levels)]
        types |= {name: pa.string() for name in named if name in stored}
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
