"""What a file is: its compression, encoding and delimiter, from its first bytes."""

from __future__ import annotations

import bz2
import csv
import difflib
import gzip
import io
import lzma
import re
import stat
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from flipcost.exceptions import TableError, shorten

# What is looked at of a file, and at most if that is less than a line.
_HEAD, _LONGEST_HEAD = 1 << 16, 1 << 24
_MOST_LINES = 200
_DELIMITERS = (",", ";", "\t", "|", "^", "~", ":", " ")
_DECIMAL_COMMA = re.compile(r"\D{0,5}(\d+|\d{1,3}(\.\d{3})+),\d+\D{0,5}")
_DECIMAL_POINT = re.compile(r"\D{0,5}\d+\.\d+\D{0,5}")
_GROUPED_BY_POINT = re.compile(r"\D{0,5}[1-9]\d{0,2}\.\d{3}\D{0,5}")
# Spellings of missing values in text, as of pandas; "none" is a level of its own.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "NaT")
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")
# Files that people take for tables, by their first bytes.
_NOT_TABLES = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
}


@dataclass(frozen=True)
class FileFormat:
    """How the rows of a file are laid out.

    Parameters
    ----------
    kind : {"csv", "parquet"}
        Text with a delimiter, or Parquet.
    compression : {"gzip", "bz2", "zstd", "lz4", "xz"} or None
        Of the whole file; Parquet compresses within.
    encoding : str
        Of text.
    delimiter : str
        Between fields of text.
    decimal : {".", ","}
        Decimal mark of numbers in text.
    groups_by_point : bool
        Whether points part thousands, which they do beside decimal commas.
    names : tuple of str
        Header of text; empty for Parquet, which holds it itself.
    missing : tuple of str
        Spellings of missing values in text.
    header_lines : int
        Lines of text up to the first row: blank ones before the header, and those of the header,
        whose names may hold line breaks in quotes.
    """

    kind: str
    compression: str | None = None
    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    groups_by_point: bool = False
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = MISSING
    header_lines: int = 1


def sniff(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] | None = None,
    filesystem: Any = None,
    may_be_empty: bool = False,
) -> FileFormat:
    r"""Find out how a file is laid out, or say why it is not a table.

    Parameters
    ----------
    path : path-like
        The file.
    delimiter : str, optional
        Between fields, when it cannot be distinguished from the first lines.
    encoding : str, optional
        Of text; UTF-8 when not given.
    missing : sequence of str, optional
        Spellings of missing values, when not the usual.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the file is, if not on this machine.
    may_be_empty : bool, default=False
        Whether a header without rows will do.

    Returns
    -------
    FileFormat

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age;bmi;ill\n50;33,6;yes\n31;26,6;no\n")
    ...     form = sniff(path)
    >>> form.delimiter, form.decimal, form.names
    (';', ',', ('age', 'bmi', 'ill'))
    """
    path = Path(path) if filesystem is None else path
    start = _first_bytes(path, filesystem)
    if start[:4] == b"PAR1":
        return FileFormat("parquet")
    for magic, what in _NOT_TABLES.items():
        if start.startswith(magic):
            msg = f"{path} is {what}, not a table; export it as CSV or Parquet."
            raise TableError(msg)
    compression = _compression(start)
    head = _head(path, compression, filesystem)
    lines = _lines(path, head, encoding or "utf-8")
    if delimiter is not None and len(delimiter) != 1:
        msg = f"The delimiter must be one character; got {delimiter!r}."
        raise TableError(msg)
    mark = delimiter or _delimiter(lines)
    header_lines, rows = _rows(path, lines, mark)
    if len(rows) < 2 and not may_be_empty:
        raise no_rows(path)
    return FileFormat(
        "csv",
        compression,
        encoding or "utf-8",
        mark,
        *_decimal(rows[1:], mark),
        _names(path, rows[0]),
        MISSING if missing is None else tuple(missing),
        header_lines,
    )


def open_bytes(path: Any, compression: str | None = None, filesystem: Any = None) -> IO[bytes]:
    """Open a file for reading bytes, decompressed."""
    file: Any = path if filesystem is None else filesystem.open_input_file(path)
    openers: dict[str | None, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    if compression in ("zstd", "lz4"):
        file = pa.CompressedInputStream(file, compression)
    elif compression is not None or filesystem is None:
        file = openers.get(compression, open)(file, "rb")
    found: IO[bytes] = file
    return found


def file_size(path: Any, filesystem: Any = None) -> int:
    """Return the length of a file in bytes."""
    if filesystem is None:
        return Path(path).stat().st_size
    return int(filesystem.get_file_info(str(path)).size)


def check_names(names: Sequence[str], where: Any) -> None:
    """Refuse columns of the same name.

    Examples
    --------
    >>> check_names(["age", "ill", "age"], "a.csv")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: a.csv has more than one column named 'age'; rename them.
    """
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        msg = f"{where} has more than one column named {shorten(repeated)}; rename them."
        raise TableError(msg)


def repeated_names(names: Sequence[str]) -> list[str]:
    """Return the names that were given to columns whose own name was taken.

    Examples
    --------
    >>> repeated_names(["age", "age (2)", "dose (2)"])
    ['age (2)']
    """
    found = [re.fullmatch(r"(.*) \(\d+\)", name) for name in names]
    return [match[0] for match in found if match and match[1] in names]


def no_rows(path: Any) -> TableError:
    """Return the error for a table without rows."""
    return TableError(f"{path} holds no rows under its header; give at least a few dozen.")


def _first_bytes(path: Any, filesystem: Any) -> bytes:
    try:
        if filesystem is None:
            _check_place(path)
        with open_bytes(path, filesystem=filesystem) as file:
            start = file.read(64)
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        msg = f"{path} cannot be read: {reason}; check its name and its permissions."
        raise TableError(msg) from error
    if not start:
        msg = f"{path} is empty; give a file with a header line and rows."
        raise TableError(msg)
    return start


def check_regular(path: Path) -> None:
    """Refuse what is no file with a beginning and an end: pipes, sockets and devices.

    Examples
    --------
    >>> check_regular(Path("/dev/null"))
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: /dev/null is a device, not a file; copy its content to a file.
    """
    mode = path.stat().st_mode
    for is_kind, what in _KINDS.items():
        if is_kind(mode):
            msg = f"{path} is a {what}, not a file; copy its content to a file."
            raise TableError(msg)


_KINDS = {
    stat.S_ISFIFO: "pipe",
    stat.S_ISSOCK: "socket",
    stat.S_ISCHR: "device",
    stat.S_ISBLK: "device",
}


def _check_place(path: Path) -> None:
    """Refuse a name under which there is no file."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        msg = f"{path} does not exist; check its name and the folder{_nearby(path)}."
        raise TableError(msg) from error
    if path.is_dir():
        msg = f"{path} is a folder; give a CSV or Parquet file."
        raise TableError(msg)
    check_regular(path)


def _nearby(path: Path) -> str:
    try:
        names = [other.name for other in path.parent.iterdir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, names, n=1)
    return f" (there is {close[0]!r})" if close else ""


def _compression(start: bytes) -> str | None:
    magics = {
        b"\x1f\x8b": "gzip",
        b"BZh": "bz2",
        b"\x28\xb5\x2f\xfd": "zstd",
        b"\x04\x22\x4d\x18": "lz4",
        b"\xfd7zXZ": "xz",
    }
    return next((name for magic, name in magics.items() if start.startswith(magic)), None)


def _head(path: Any, compression: str | None, filesystem: Any) -> bytes:
    try:
        with open_bytes(path, compression, filesystem) as file:
            head = file.read(_HEAD)
            # A header of many columns is long.
            while len(head) % _HEAD == 0 and _breaks(head) < 2 and len(head) < _LONGEST_HEAD:
                more = file.read(3 * len(head))
                head += more
                if not more:
                    break
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        msg = f"{path} cannot be decompressed ({error}); fetch it again."
        raise TableError(msg) from error
    if not head.strip():
        msg = f"{path} is empty; give a file with a header line and rows."
        raise TableError(msg)
    if compression and head.startswith(b"PAR1"):
        msg = f"{path} is Parquet inside {compression}; decompress it first."
        raise TableError(msg)
    return head


def _breaks(head: bytes) -> int:
    return head.count(b"\n") or head.count(b"\r")


# Codecs of Python that are not ways to write files.
_NO_FILES = ("punycode", "idna", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem")


def _lines(path: Path, head: bytes, encoding: str) -> list[str]:
    """Return the first lines as text, the last one only if it is whole."""
    utf16 = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not utf16 and encoding.lower().startswith("utf-8") and b"\x00" in head:
        # Text of two bytes a letter has a zero beside nearly every one.
        wide = next((k for k in (0, 1) if head[k::2].count(0) > 0.4 * len(head)), None)
        msg = f"{path} holds binary data, not a table; give a CSV or Parquet file."
        if wide is not None:
            name = ("utf-16-be", "utf-16-le")[wide]
            msg = f"{path} is not UTF-8 but looks like {name}; give `encoding={name!r}`."
        raise TableError(msg)
    whole = head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1] or head
    try:
        if encoding.lower().replace("_", "-") in _NO_FILES:
            raise LookupError
        text = whole.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError as error:
        msg = f"The encoding {encoding!r} is not known; try latin-1 or cp1252."
        raise TableError(msg) from error
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        guess = "latin-1 or cp1252"
        if utf16:
            guess = "utf-32" if head[2:4] == b"\x00\x00" else "utf-16"
        raise not_utf8(path, encoding, f"line {line}", guess) from error
    if text.lstrip()[:1] in "{[" or re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        msg = f"{path} looks like JSON, HTML or XML, not a table; export it as CSV."
        raise TableError(msg)
    # The ends of lines that the reader knows; `splitlines` knows others, which are text here.
    return list(islice(io.StringIO(text, newline=""), _MOST_LINES))


def _rows(path: Path, lines: list[str], mark: str) -> tuple[int, list[list[str]]]:
    """Return the lines up to the end of the header, and the first rows with the header."""
    reader = csv.reader(lines, delimiter=mark)
    end, rows = 0, []
    try:
        for row in reader:
            if any(field.strip() for field in row):  # blank lines, or of delimiters only, are none
                rows.append(row)
                end = end or reader.line_num
    except csv.Error as error:
        msg = f"{path} cannot be read as CSV ({error}); check its quotes, or give `delimiter`."
        raise TableError(msg) from error
    if not rows:
        msg = f"{path} is empty; give a file with a header line and rows."
        raise TableError(msg)
    return end, rows


def not_utf8(path: Path, encoding: str, where: str, guess: str = "latin-1 or cp1252") -> TableError:
    """Return the error for text in another encoding."""
    return TableError(f"{path} is not {encoding.upper()} in {where}; try `encoding` {guess}.")


def _delimiter(lines: list[str]) -> str:
    """Return the delimiter that splits the lines most evenly, and among equals into most fields."""

    def merit(mark: str) -> tuple[float, int]:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=mark) if any(row)]
        except csv.Error:
            return 0.0, 1
        if not counts:
            return 0.0, 1
        agree = sum(count == counts[0] for count in counts) / len(counts)
        # Blanks and colons also occur in prose and in times of the day.
        if counts[0] == 1 or (mark in " :" and agree < 1):
            return 0.0, counts[0]
        return agree, counts[0]

    best = max(_DELIMITERS, key=merit)
    return best if merit(best)[0] > 0.5 else ","


def _decimal(rows: list[list[str]], delimiter: str) -> tuple[str, bool]:
    """Return the decimal mark, and whether points part thousands."""
    if delimiter == ",":
        return ".", False
    fields = [field.strip() for row in rows for field in row]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(field)) for field in fields)
    points = sum(bool(_DECIMAL_POINT.fullmatch(field)) for field in fields)
    groups = sum(bool(_GROUPED_BY_POINT.fullmatch(field)) for field in fields)
    return ("," if commas > points - groups else "."), commas > 0 and points == groups


def _names(path: Path, header: list[str]) -> tuple[str, ...]:
    names = [name.strip() for name in header]
    if all(_NUMBER.fullmatch(name) for name in names):
        msg = f"{path} must begin with a line of column names; it begins with numbers."
        raise TableError(msg)
    if len(names) == 1:
        msg = (
            f"{path} does not look like a table: one field in its first line, {names[0][:40]!r}. "
            "Give a CSV or Parquet file, or `delimiter`."
        )
        raise TableError(msg)
    # A first column without a name is the index of a frame.
    names[0] = names[0] or "Unnamed: 0"
    names = [name or f"column_{place}" for place, name in enumerate(names, 1)]
    seen: Counter[str] = Counter()
    for place, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[place] = f"{name} ({seen[name]})"
    check_names(names, path)
    return tuple(names)
