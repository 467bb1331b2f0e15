"""Small files that unpack to very much, and what is no file, are refused with a sentence."""

import gzip
import os
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.exceptions import TableError
from flipcost.tables.files import open_files
from flipcost.tables.reading import read_batches, read_table

N = 200


def long_column(kind, length):
    """Return a column of one long text in all rows, stored once, and how to write it."""
    text = "q" * length
    if kind == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(N, np.int32)), [text]), {}
    if kind == "nested":
        return pa.array([{"s": text}] * N), {}
    if kind == "difference":
        options = {"use_dictionary": False, "column_encoding": {"t": "DELTA_BYTE_ARRAY"}}
        return pa.array([text] * N), options
    return pa.array([text] * N), {}


def write(path, kind, length):
    column, options = long_column(kind, length)
    table = pa.table({"x": np.arange(N) * 1.0, "t": column, "y": np.arange(N) % 2})
    pq.write_table(table, path, compression="zstd", dictionary_pagesize_limit=1 << 30, **options)


@pytest.mark.parametrize("kind", ["dictionary", "nested", "difference", "text"])
def test_a_value_that_stands_in_every_row_is_not_unpacked_for_all(kind, tmp_path):
    """Batches are as short as their cells are long."""
    write(tmp_path / "a.parquet", kind, 1_500_000)
    first = next(read_batches(tmp_path / "a.parquet", max_bytes=1 << 40))
    assert first.num_rows <= 44
    assert first.nbytes < 80_000_000
    with pytest.raises(TableError, match=r"over 100 times its size .* `max_bytes`"):
        read_table(tmp_path / "a.parquet")


def test_a_long_cell_is_refused_in_passes(tmp_path):
    """Rows that are drawn from a pass are held."""
    write(tmp_path / "a.parquet", "dictionary", 1_100_000)
    with pytest.raises(TableError, match=r"holds a cell of 1,100,000 bytes"):
        open_files(tmp_path / "a.parquet").look(["t"], 10)


def test_memory_stays_bounded(tmp_path):
    """A file of some kilobytes does not take gigabytes."""
    write(tmp_path / "a.parquet", "dictionary", 5_000_000)
    code = """
        import resource, sys
        from flipcost.tables.reading import read_table
        from flipcost.exceptions import TableError
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            read_table(sys.argv[1])
        except TableError:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "a.parquet")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 600_000  # kilobytes; all rows are 2 GB


def test_what_may_come_out_can_be_said(tmp_path):
    """`max_bytes` bounds tables of all kinds, and allows what is refused otherwise."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 300_000))
    assert read_table(path).num_rows == 300_000
    with pytest.raises(TableError, match="holds more than 1,000,000 bytes once it is unpacked"):
        read_table(path, max_bytes=1_000_000)
    (tmp_path / "b.csv").write_bytes(b"a,b\n" + b"1,2\n" * 300)
    with pytest.raises(TableError, match="more than 1,000 bytes"):
        read_table(tmp_path / "b.csv", max_bytes=1_000)
    assert read_table(tmp_path / "b.csv", max_bytes=1_204).num_rows == 300


def test_what_is_no_file_is_not_waited_for(tmp_path):
    """Pipes without a writer and devices without an end are refused at once."""
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(TableError, match="is a pipe, not a file"):
        read_table(tmp_path / "pipe.csv")
    with pytest.raises(TableError, match="is a device, not a file"):
        read_table("/dev/zero")


def test_views_of_text_are_text(tmp_path):
    """Pyarrow can do little with views."""
    views = pa.array(["a", None, "b"]).cast(pa.string_view())
    pq.write_table(pa.table({"k": views, "b": [b"x", None, b"y"]}), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.schema.field("k").type == pa.string()
    assert table.take([2, 1])["k"].to_pylist() == ["b", None]
