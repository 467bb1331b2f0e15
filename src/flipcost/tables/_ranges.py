"""Parts of CSV files that can be read on their own, each a run of whole rows."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from flipcost.tables._open import Layout, sniff
from flipcost.tables._read import csv_options, read_layout, reading, tidy_text

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is read to find where a row begins.
_WINDOW = 1 << 20
# Places of a file that are looked at without reading it whole, and what is read of each at least.
_PLACES = 16
_LEAST_BYTES = 1 << 16


@dataclass(frozen=True)
class TextRange:
    """Some consecutive rows of a CSV file.

    Parameters
    ----------
    path : str
        The file.
    layout : Layout
        How it is laid out.
    start, stop : int
        Bytes from which, and up to which, its rows go; a file that cannot be cut is read whole.
    """

    path: str
    layout: Layout
    start: int
    stop: int

    def batches(self) -> Iterator[Any]:
        """Yield the rows as record batches of text."""
        path = Path(self.path)
        if not can_be_cut(self.layout):
            yield from read_layout(path, self.layout)
            return
        with reading(path, self.layout), path.open("rb") as file:
            file.seek(self.start)
            block = file.read(self.stop - self.start)
            if not block.strip():
                return
            options = csv_options(self.layout, skip=int(self.start == 0), threads=False)
            for batch in csv.open_csv(pa.BufferReader(block), **options):
                if batch.num_rows:
                    yield tidy_text(batch, self.layout.decimal)


def can_be_cut(layout: Layout) -> bool:
    """Tell whether a file can be read from the middle: not if compressed, or of wide characters.

    Examples
    --------
    >>> can_be_cut(Layout("csv")), can_be_cut(Layout("csv", compression="gzip"))
    (True, False)
    """
    wide = codecs.lookup(layout.encoding).name.startswith(("utf-16", "utf-32"))
    return layout.compression is None and not wide


def split_text(path: Any, layout: Layout, n_bytes: int) -> list[TextRange]:
    r"""Cut a CSV file into ranges of about so many bytes.

    Cuts are made at line breaks outside of quotes, as far as the text around them tells; where it
    misleads, reading the range fails with an error, because fields are too many or too few.

    Parameters
    ----------
    path : path-like
        The file.
    layout : Layout
        As `sniff` finds it.
    n_bytes : int
        About how long a range is.

    Returns
    -------
    list of TextRange

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n50,yes\n31,no\n45,no\n")
    ...     ranges = split_text(path, sniff(path), 15)
    ...     [batch.to_pylist() for part in ranges for batch in part.batches()]
    [[{'age': '50', 'ill': 'yes'}, {'age': '31', 'ill': 'no'}], [{'age': '45', 'ill': 'no'}]]
    """
    path = Path(path)
    size = path.stat().st_size
    cuts = [0]
    if can_be_cut(layout):
        with path.open("rb") as file:
            for offset in range(n_bytes, size, n_bytes):
                file.seek(offset)
                window = file.read(_WINDOW)
                begin = _row_start(window, layout)
                if begin and offset + begin > cuts[-1]:
                    cuts.append(offset + begin)
    stops = [*cuts[1:], size]
    return [
        TextRange(str(path), layout, start, stop)
        for start, stop in zip(cuts, stops, strict=True)
        if stop > start
    ]


def read_places(
    path: Any, n_rows: int, *, delimiter: str | None = None, encoding: str | None = None
) -> list[Any]:
    r"""Read some rows of a CSV file, from places spread over it, without reading it to its end.

    Parameters
    ----------
    path : path-like
        The file. Of one that is compressed, or in wide characters, the beginning is read.
    n_rows : int
        About how many rows to read in all.
    delimiter, encoding : str, optional
        As in `read_table`.

    Returns
    -------
    list of pyarrow tables
        Consecutive rows each.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,ill\n50,yes\n31,no\n")
    ...     [block.to_pydict() for block in read_places(path, 100)]
    [{'age': ['50', '31'], 'ill': ['yes', 'no']}]
    """
    path = Path(path)
    layout = sniff(path, delimiter=delimiter, encoding=encoding)
    each = max(1, n_rows // _PLACES)
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(1 << 16)
        n_bytes = max(_LEAST_BYTES, 2 * each * len(head) // max(1, head.count(b"\n")))
        if not can_be_cut(layout) or size < 2 * _PLACES * n_bytes:
            return [_first_rows(read_layout(path, layout), n_rows)]
        found = [_first_rows(read_layout(path, layout), each)]
        for k in range(1, _PLACES):
            file.seek(k * (size - n_bytes) // (_PLACES - 1))
            block = file.read(n_bytes)
            rows = _parse_place(block[_row_start(block, layout) : block.rfind(b"\n") + 1], layout)
            if rows is not None:
                found.append(rows.slice(0, each))
    return found


def _row_start(block: bytes, layout: Layout) -> int:
    """Return where the first whole row begins; 0 when that is not to be seen.

    A quote that does not follow a delimiter or a line break ends a field that began before the
    block did: what comes before is a part of a row, however many lines it has.
    """
    start = block.find(b"\n") + 1
    quote = block.find(b'"', start)
    if quote > start > 0 and block[quote - 1 : quote] not in (b"\n", layout.delimiter.encode()):
        start = block.find(b"\n", quote) + 1
    return start


def _parse_place(block: bytes, layout: Layout) -> Any:
    """Return the rows of a piece of a file; None when most of it does not read as rows."""
    skipped = 0

    def skip(_: Any) -> str:
        nonlocal skipped
        skipped += 1
        return "skip"

    try:
        rows = csv.read_csv(
            pa.BufferReader(block), **csv_options(layout, skip=0, invalid_row_handler=skip)
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    return tidy_text(rows, layout.decimal) if rows.num_rows > skipped else None


def _first_rows(batches: Iterator[Any], n_rows: int) -> Any:
    found: list[Any] = []
    held = 0
    for batch in batches:
        found.append(batch.slice(0, n_rows - held))
        held += found[-1].num_rows
        if held >= n_rows:
            break
    return pa.Table.from_batches(found)
