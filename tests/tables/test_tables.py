"""Reading tables: what columns hold, and the numbers they become."""

import bz2
import lzma

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.exceptions import TableError
from flipcost.tables.columns import describe_column
from flipcost.tables.encoder import Encoder
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.reading import read_batches, read_table
from flipcost.tables.roles import read_labels, two_classes
from flipcost.tables.sniff import sniff


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", None, "-3e2", ".5"], "number"),
        (["yes", "no", None], "boolean"),
        (["True", "FALSE"], "boolean"),
        (["2024-01-31", "2023-12-01"], "date"),
        (["31/01/2024", "01/12/2023"], "date"),
        (["01/31/2024", "12/01/2023"], "date"),
        (["2024-01-31 12:30:00", "2023-12-01 00:00:00"], "date"),
        (["a", "b", "a"], "category"),
        (["007", "a1", "b2"], "category"),
        ([None, None], "empty"),
        (["a", "a"], "constant"),
        ([1, 2, None], "number"),
        ([True, False], "boolean"),
    ],
)
def test_kinds_are_found(values, kind):
    """Each kind of column is told from the others."""
    assert describe_column("x", pa.array(values))["kind"] == kind


def test_typed_columns_keep_their_kind():
    """Parquet's dates, decimals, dictionaries and durations need no guessing."""
    import datetime as dt
    from decimal import Decimal

    days = pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)])
    assert describe_column("x", days)["kind"] == "date"
    assert describe_column("x", pa.array([Decimal("1.5"), Decimal("2.5")]))["kind"] == "number"
    assert describe_column("x", pa.array(["a", "b"]).dictionary_encode())["kind"] == "category"
    assert describe_column("x", pa.array([1, 2], pa.duration("s")))["kind"] == "number"
    with pytest.raises(TableError, match="list"):
        describe_column("x", pa.array([[1], [2]]))


def test_dates_become_days_and_cycles():
    """A date is its day number and its place in the year and in the week."""
    table = pa.table({"d": ["1970-01-01", "1970-01-08", None]})
    found = Encoder.learn(table).cells(table)
    assert found[0, 0] == 0
    assert found[1, 0] == 7
    np.testing.assert_allclose(found[0, 3:], found[1, 3:], atol=1e-12)  # the same day of the week
    assert np.isnan(found[2]).all()


def test_frames_of_three_libraries_are_read_alike():
    """pandas, polars and pyarrow give the same numbers."""
    columns = {"age": [50.0, None, 31.0], "town": ["b", "a", None], "ok": [True, False, True]}
    expected = Encoder.learn(pa.table(columns)).cells(pa.table(columns))
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        np.testing.assert_array_equal(Encoder.learn(frame).cells(frame), expected)


def test_features_have_no_gaps_and_one_scale():
    """Numbers are imputed and scaled; levels, gaps and new levels get columns of 0 and 1."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "x": [None if k % 9 == 0 else v for k, v in enumerate(rng.normal(7, 3, 90).tolist())],
            "t": rng.choice(["a", "b", "c"], 90),
        }
    )
    step = TableEncoder(Encoder.learn(table))
    X = step.fit_transform(table)
    assert np.isfinite(X).all()
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    new = pa.table({"x": pa.array([None], pa.float64()), "t": ["never seen"]})
    assert np.isfinite(step.transform(new)).all()


def test_plain_types_have_the_same_cells():
    """What a classifier learns of a frame in plain types is what was learned of the table."""
    rng = np.random.default_rng(0)
    n = 200
    days = np.datetime64("2024-01-01") + rng.integers(0, 90, n)
    table = pa.table(
        {
            "dose": [None if k % 9 == 0 else f"1,{k:03d}.5" for k in range(n)],
            "smokes": rng.choice(["yes", "no"], n),
            "on": days.astype(str),
            "town": rng.choice(["b", "a", "rare"], n, p=[0.6, 0.39, 0.01]),
            "code": rng.choice(["10", "9"], n),
        }
    )
    encoder = Encoder.learn(table, categorical=["code"])
    kinds = [column.kind for column in encoder.columns]
    assert kinds == ["number", "boolean", "date", "category", "category"]
    frame = encoder.frame(table)
    own = Encoder.learn(frame)
    assert [column.levels for column in own.columns] == [c.levels for c in encoder.columns]
    np.testing.assert_array_equal(own.cells(frame), encoder.cells(table))
    np.testing.assert_array_equal(encoder.cells(frame), encoder.cells(table))


@pytest.mark.parametrize("compress", [None, bz2.compress, lzma.compress])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "^", "~", " "])
def test_delimiters_and_compressions_are_found_out(compress, delimiter, tmp_path):
    """The first lines tell how the fields are parted, the first bytes how they are packed."""
    text = "\n".join(delimiter.join(row) for row in [["a", "b"], ["1", "x"], ["2", "y"]]) + "\n"
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() if compress is None else compress(text.encode()))
    assert sniff(path).delimiter == delimiter
    assert read_table(path).to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}


def test_quotes_blanks_and_line_breaks_in_fields(tmp_path):
    """Quoted delimiters and line breaks stay in their field; blanks around it go."""
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"x, y", 1\n"two\nlines",2 \n')
    assert read_table(path).to_pydict() == {"a": ["x, y", "two\nlines"], "b": ["1", "2"]}


def test_a_late_surprise_does_not_break_reading(tmp_path):
    """A column of numbers with a word after many megabytes is read, and then found to be mixed."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "12345678,1\n" * 500_000 + "oops,2\n")
    batches = list(read_batches(path))
    assert len(batches) > 1
    table = read_table(path)
    assert table["a"][-1].as_py() == "oops"
    assert describe_column("b", table["b"].combine_chunks())["kind"] == "number"


def test_bytes_that_are_not_utf8_late_in_a_file(tmp_path):
    """A wrong byte after the first block is named with its column."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 100_000 + "é,2\n".encode("latin-1"))
    with pytest.raises(TableError, match=r"not UTF-8 in column 'a'"):
        read_table(path)


def test_a_parquet_file_that_is_cut_off(tmp_path):
    """A damaged Parquet file is a sentence, not a traceback."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(TableError, match="cannot be read"):
        read_table(path)


def test_labels_that_are_the_same_number_are_the_same_label():
    """1, 1.0 and 01 are one label; words keep their spelling."""
    assert read_labels(pa.array(["1", "1.0", "01", "0"]), "y").tolist() == ["1", "1", "1", "0"]
    assert read_labels(pa.array([1.0, 0.0]), "y").tolist() == ["1", "0"]
    assert read_labels(pa.array([True, False]), "y").tolist() == ["true", "false"]
    assert read_labels(pa.array(["1", "one"]), "y").tolist() == ["1", "one"]


def test_the_positive_label_is_the_second_in_order():
    """Numbers are ordered as numbers, and --positive overrides."""
    labels = np.array(["10", "9", "9"], dtype=object)
    assert two_classes(labels, "y") == ("9", "10")
    assert two_classes(labels, "y", "9.0") == ("10", "9")


def test_every_type_of_parquet_becomes_numbers():
    """Typed columns, with gaps, are read as the numbers that they represent."""
    import datetime as dt
    from decimal import Decimal

    utc = dt.UTC
    table = pa.table(
        {
            "small": pa.array([1, None, 3], pa.uint8()),
            "half": pa.array(np.array([0.5, 1.5, 2.5], np.float16)),
            "exact": pa.array([Decimal("1.25"), None, Decimal("2.5")]),
            "flag": pa.array([True, None, False]),
            "day": pa.array([dt.date(1970, 1, 2), None, dt.date(1970, 1, 3)]),
            "time": pa.array(
                [dt.datetime(1970, 1, 2, 12, tzinfo=utc), None, dt.datetime(1970, 1, 3, tzinfo=utc)]
            ),
            "span": pa.array(
                [dt.timedelta(seconds=1), None, dt.timedelta(seconds=2)], pa.duration("s")
            ),
            "word": pa.array(["b", None, "a"], pa.large_string()),
            "code": pa.array(["y", "x", None]).dictionary_encode(),
        }
    )
    encoder = Encoder.learn(table)
    found = dict(zip(encoder.cell_names, encoder.cells(table).T, strict=True))
    nan = np.nan
    np.testing.assert_array_equal(found["small"], [1, nan, 3])
    np.testing.assert_array_equal(found["half"], [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(found["exact"], [1.25, nan, 2.5])
    np.testing.assert_array_equal(found["flag"], [1, nan, 0])
    np.testing.assert_array_equal(found["day days"], [1, nan, 2])
    np.testing.assert_array_equal(found["time days"], [1.5, nan, 2])
    np.testing.assert_array_equal(found["span"], [1, nan, 2])
    np.testing.assert_array_equal(found["word"], [1, nan, 0])
    np.testing.assert_array_equal(found["code"], [1, 0, nan])
