"""Text that is not what its file says is refused in one sentence, on every way to read it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.exceptions import SourceError, TableError
from flipcost.scale import scan_parquet
from flipcost.tables.arrow import as_arrow
from flipcost.tables.reading import read_table


def latin(kind):
    """Return text of which one cell is not UTF-8."""
    cells = [b"a", b"\xff\xfe", b"b"] * 30
    wide = kind == pa.large_string()
    ends = np.cumsum([0, *map(len, cells)]).astype(np.int64 if wide else np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(cells))]
    array = pa.Array.from_buffers(pa.large_string() if wide else pa.string(), len(cells), buffers)
    return array.dictionary_encode() if kind == "dictionary" else array


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), "dictionary"])
@pytest.mark.parametrize("name", ["town", "ill"])
def test_parquet_text_that_is_not_utf8(kind, name, tmp_path):
    columns = {"x": np.arange(90.0), "town": ["a", "b", "c"] * 30, "ill": ["yes", "no", "no"] * 30}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns | {name: latin(kind)}), path)
    said = f"'{name}' holds text that is not UTF-8"
    with pytest.raises(TableError, match=said):
        read_table(path)
    if name == "ill":
        with pytest.raises(TableError, match=said):
            scan_parquet(path, "ill", columns=["x"]).moments()


def test_utf32_is_called_so(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-32"))
    with pytest.raises(TableError, match="utf-32"):
        read_table(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_text_of_two_bytes_a_letter_is_known_without_a_mark(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,ill\n50,yes\n31,no\n", encoding=encoding)
    with pytest.raises(TableError, match=f"looks like {encoding}"):
        read_table(path)
    assert read_table(path, encoding=encoding)["age"].to_pylist() == ["50", "31"]


@pytest.mark.parametrize("encoding", ["punycode", "idna", "undefined", "unicode_escape"])
def test_codecs_that_are_not_of_files_are_unknown(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,ill\n50,yes\n31,no\n")
    with pytest.raises(TableError, match="is not known"):
        read_table(path, encoding=encoding)


def test_frames_that_cannot_be_read_are_refused_by_name():
    """Columns of several types, and tables that are not in memory yet."""
    mixed = pd.DataFrame({"a": [1.0, 2.0], "code": [1, "x"], "y": [0, 1]})
    with pytest.raises(SourceError, match=r"'code' must hold values of one type.*astype"):
        as_arrow(mixed)
    lazy = pytest.importorskip("polars").LazyFrame({"a": [1.0]})
    with pytest.raises(TypeError, match=r"got a LazyFrame. Call `\.collect\(\)`"):
        as_arrow(lazy)
