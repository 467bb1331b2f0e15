"""Tables as no one should send them: CSV and Parquet files, made from a seed."""

import bz2
import contextlib
import decimal
import gzip
import lzma
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# What people, programs and attackers put into cells.
ODD = [
    "", " ", "NA", "?", "nan", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e308", "1e-320",
    "0x1F", "1_000", "1,5", "1.5.2", "٣", "½", "9007199254740993", "1" * 400, "9" * 20,
    "true", "FALSE", "None", "NULL", "2021-02-30", "2021-02-28", "0001-01-01", "31/12/2020", "-0",
    "'", '"', '""', 'a"b', "a,b", "a;b", "a\tb", "a\nb", "a\r\nb", "a\rb", "a\u2028b", "a\x85b",
    "a\x0bb", "a\x00b", "\x1b[2J", "\u202eevil", "\ufeff", "é", "\U0001f600", "\ud7ff", "=1+1",
    "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "<script>alert(1)</script>", "</script>", "{{7*7}}",
    "${jndi:ldap://x}", "../../etc/passwd", "x" * 5000, "%s%n", "`drop`", "--out", "yes", "no", "y",
]  # fmt: skip
TOKENS = [
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b'"', b'""', b"\n", b"\r", b"\r\n", b",", b";",
    b"\t", b"\x1a", b"\xc3", b"\xed\xa0\x80", "\u2028".encode(), "\x85".encode(), b"\x0b", b"\x0c",
    b"PAR1", b"\x1f\x8b", b"PK\x03\x04", b"#", b"\\", b"'", b" " * 300, b"A" * 70_000,
]  # fmt: skip
ENCODINGS = [
    "utf-8",
    "utf-8",
    "utf-8",
    "utf-8-sig",
    "latin-1",
    "cp1252",
    "utf-16",
    "utf-16-le",
    "utf-32",
]
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def columns(rng, n=None):
    """Return a small table that can be learned from, as lists by name."""
    n = int(rng.integers(30, 140)) if n is None else n
    signal = rng.normal(size=n)
    ill = rng.random(n) < 1 / (1 + np.exp(-2 * signal))
    noisy = ill ^ (rng.random(n) < 0.15)
    checked = np.where(rng.random(n) < 0.3, np.where(ill, "yes", "no"), "")
    start = datetime(2020, 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=int(k)) for k in rng.integers(0, 900, n)]
    return {
        "key": [f"r{k}" for k in range(n)],
        "age": np.round(50 + 9 * signal + rng.normal(size=n), 1).tolist(),
        "dose": rng.integers(0, 9, n).tolist(),
        "town": rng.choice(["Lyon", "Paris", "Nice"], n).tolist(),
        "seen": [day.date().isoformat() for day in days],
        "w": np.round(rng.gamma(2.0, 1.0, n) + 0.1, 2).tolist(),
        "again": np.where(ill ^ (rng.random(n) < 0.1), "yes", "no").tolist(),
        "checked": checked.tolist(),
        "ill": np.where(noisy, "yes", "no").tolist(),
    }


def csv_bytes(rng, damage=True):
    """Return a CSV file, as bytes and the ending of its name, with some damage done to it."""
    table = columns(rng)
    names = list(table)
    rows = [list(map(str, row)) for row in zip(*table.values(), strict=True)]
    if damage:
        for _ in range(int(rng.integers(0, 4))):
            _damage_cells(rng, names, rows)
    mark = str(rng.choice([",", ",", ",", ";", "\t", "|"]))
    end = str(rng.choice(["\n", "\n", "\n", "\r\n", "\r"]))
    quoted = rng.random() < 0.3
    text = end.join(mark.join(_quote(cell, mark, quoted) for cell in row) for row in [names, *rows])
    text += end if rng.random() < 0.8 else ""
    encoding = str(rng.choice(ENCODINGS)) if damage and rng.random() < 0.15 else "utf-8"
    data = text.encode(encoding, "replace")
    if damage and rng.random() < 0.4:
        for _ in range(int(rng.integers(1, 4))):
            data = damage_bytes(rng, data)
    suffix = ".csv"
    if damage and rng.random() < 0.15:
        packed = str(rng.choice(list(PACKERS)))
        data, suffix = PACKERS[packed](data), suffix + packed
        if rng.random() < 0.6:
            data = damage_bytes(rng, data)
    return data, suffix


def _quote(cell, mark, always):
    if always or any(c in cell for c in (mark, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _damage_cells(rng, names, rows):
    """Change some cells, a column, the header or the shape of the table, in place."""
    j = int(rng.integers(len(names)))
    odd = [str(rng.choice(ODD)) for _ in range(3)]
    DAMAGES[int(rng.integers(len(DAMAGES)))](rng, names, rows, j, odd)


def _some_cells(rng, names, rows, j, odd):
    for row in rows:
        if rng.random() < 0.2:
            row[j : j + 1] = [str(rng.choice(odd))]


def _one_column(rng, names, rows, j, odd):
    for row in rows:
        row[j : j + 1] = [odd[0]]


def _one_name(rng, names, rows, j, odd):
    names[j] = odd[0]


def _repeated_rows(rng, names, rows, j, odd):
    rows[:] = [row for row in rows for _ in range(int(rng.integers(0, 3)))]


def _more_columns(rng, names, rows, j, odd):
    for _ in range(int(rng.integers(1, 40))):
        names.append(f"c{len(names)}" if rng.random() < 0.95 else "age")
        for row in rows:
            row.append(str(rng.choice([*odd, "1", "2.5"])))


def _a_ragged_row(rng, names, rows, j, odd):
    for row in rows[: int(rng.integers(2))]:
        row[:] = row[: int(rng.integers(len(row) + 1))] if rng.random() < 0.5 else [*row, odd[0]]


def _fewer_rows(rng, names, rows, j, odd):
    del rows[int(rng.integers(0, len(rows) + 1)) :]


def _an_empty_row(rng, names, rows, j, odd):
    place = int(rng.integers(0, len(rows) + 1))
    rows.insert(place, [""] * int(rng.integers(1, len(names) + 1)))


def _numbers_of_any_size(rng, names, rows, j, odd):
    for row in rows:
        row[j : j + 1] = [str(rng.normal() * 10.0 ** int(rng.integers(-320, 308)))]


DAMAGES = [
    _some_cells, _one_column, _one_name, _repeated_rows, _more_columns, _a_ragged_row, _fewer_rows,
    _an_empty_row, _numbers_of_any_size,
]  # fmt: skip


def damage_bytes(rng, data):
    """Return bytes with one accident: a cut, a hole, a repetition, a flipped bit, foreign bytes."""
    if not data:
        return data
    kind = int(rng.integers(0, 6))
    a, b = sorted(int(k) for k in rng.integers(0, len(data) + 1, 2))
    if kind == 0:
        return data[:b]
    if kind == 1:
        return data[:a] + data[min(b, a + 50) :]
    if kind == 2:
        return data[:b] + data[a:]
    if kind == 3:
        place = int(rng.integers(len(data)))
        return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :]
    if kind == 4:
        return data[:a] + TOKENS[int(rng.integers(len(TOKENS)))] + data[a:]
    return TOKENS[int(rng.integers(len(TOKENS)))] + data


def _written(table, options):
    """Write a table as Parquet; without lists of fixed length where pyarrow cannot write gaps."""
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(table, sink, **options)
    except pa.ArrowNotImplementedError:
        plain = [not pa.types.is_fixed_size_list(field.type) for field in table.schema]
        sink = pa.BufferOutputStream()
        pq.write_table(table.select(np.flatnonzero(plain).tolist()), sink, **options)
    return sink.getvalue().to_pybytes()


def parquet_bytes(rng, damage=True):
    """Return a Parquet file with columns of any type, as bytes."""
    table = columns(rng)
    n = len(table["key"])
    arrays = {name: pa.array(values) for name, values in table.items()}
    if damage:
        for _ in range(int(rng.integers(1, 5))):
            name = str(rng.choice([*arrays, "extra", "", "x.y", "\x1b]0;x\x07", "a" * 3000]))
            arrays[name] = odd_column(rng, n)
    names, values = list(arrays), list(arrays.values())
    if damage and rng.random() < 0.05:
        names[0] = names[-1]
    whole = pa.Table.from_arrays(values, names=names)
    if damage and rng.random() < 0.08:
        whole = whole.slice(0, int(rng.integers(0, 20)))
    options = {
        "row_group_size": int(rng.integers(1, 200)),
        "compression": str(rng.choice(["snappy", "gzip", "zstd", "none"])),
        "use_dictionary": bool(rng.random() < 0.7),
        "store_schema": bool(rng.random() < 0.8),
    }
    data = _written(whole, options)
    if damage and rng.random() < 0.35:
        for _ in range(int(rng.integers(1, 4))):
            data = damage_bytes(rng, data)
    return data


def odd_column(rng, n):
    """Return a column of a type that people seldom have, with some values missing."""
    kind = ODD_COLUMNS[int(rng.integers(len(ODD_COLUMNS)))]
    column = kind(rng, n)
    if rng.random() < 0.5 and not pa.types.is_dictionary(column.type):
        missing = rng.random(n) < rng.choice([0.1, 0.9, 1.0])
        # Values that Python cannot hold stay as they are.
        with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            values = zip(missing, column.to_pylist(), strict=True)
            column = pa.array([None if gone else value for gone, value in values], column.type)
    return column


def _cells(rng, n):
    some = [c for c in (str(rng.choice(ODD)) for _ in range(4)) if c.isascii() or c.isprintable()]
    return [str(rng.choice([*some, "x"])) for _ in range(n)]


ODD_COLUMNS = [
    lambda rng, n: pa.array(rng.integers(-(2**62), 2**62, n)),
    lambda rng, n: pa.array(rng.integers(2**63, 2**64 - 1, n, dtype=np.uint64)),
    lambda rng, n: pa.array(rng.integers(0, 2, n).astype(np.int8)),
    lambda rng, n: pa.array(rng.normal(size=n) * 10.0 ** rng.integers(-320, 308, n)),
    lambda rng, n: pa.array(rng.choice([1.0, np.inf, -np.inf, np.nan], n)),
    lambda rng, n: pa.array(rng.normal(size=n).astype(np.float16)),
    lambda rng, n: pa.array(rng.normal(size=n).astype(np.float32)),
    lambda rng, n: pa.array([decimal.Decimal(k) / 8 for k in range(n)], pa.decimal128(30, 9)),
    lambda rng, n: pa.array([decimal.Decimal(k) for k in range(n)], pa.decimal256(70, 2)),
    lambda rng, n: pa.array(rng.integers(-(2**31), 2**31, n), pa.int32()).cast(pa.date32()),
    lambda rng, n: pa.array(rng.integers(-(2**62), 2**62, n)).cast(pa.timestamp("us")),
    lambda rng, n: pa.array(rng.integers(0, 2**40, n)).cast(pa.timestamp("ms", "Asia/Tokyo")),
    lambda rng, n: pa.array(rng.integers(0, 86_000, n).astype(np.int32)).cast(pa.time32("s")),
    lambda rng, n: pa.array(rng.integers(-(2**40), 2**40, n)).cast(pa.duration("us")),
    lambda rng, n: pa.array(_cells(rng, n), pa.string()),
    lambda rng, n: pa.array(_cells(rng, n), pa.large_string()),
    lambda rng, n: pa.array(_cells(rng, n), pa.string()).cast(pa.string_view()),
    lambda rng, n: pa.array([rng.bytes(4) for _ in range(n)]),
    lambda rng, n: pa.array([rng.bytes(4) for _ in range(n)], pa.binary(4)),
    lambda rng, n: pa.array(_cells(rng, n)).dictionary_encode(),
    lambda rng, n: pa.array(rng.integers(0, 3, n)).dictionary_encode(),
    lambda rng, n: pa.array([[1.0] * int(k) for k in rng.integers(0, 3, n)]),
    lambda rng, n: pa.array([{"a": int(k)} for k in range(n)]),
    lambda rng, n: pa.array([[("k", int(k))] for k in range(n)], pa.map_(pa.string(), pa.int64())),
    lambda rng, n: pa.array([[1, 2]] * n, pa.list_(pa.int64(), 2)),
    lambda rng, n: pa.nulls(n),
    lambda rng, n: pa.array(rng.random(n) < 0.5),
    lambda rng, n: pa.array([True] * n),
    lambda rng, n: pa.array(rng.choice([5, 2**53, 2**53 + 1], n)),
]  # fmt: skip
