"""A row is a row and a cell a cell, whichever way a table arrives."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.audit import audit_files
from flipcost.cli import main
from flipcost.exceptions import TableError
from flipcost.tables.arrow import take_column
from flipcost.tables.columns import describe_column, text_type
from flipcost.tables.encoder import Encoder
from flipcost.tables.files import open_files
from flipcost.tables.paths import list_files
from flipcost.tables.reading import read_batches, read_table, split_text
from flipcost.tables.roles import read_labels, two_classes
from flipcost.tables.sniff import sniff

ROWS = [{"age": "50", "ill": "yes"}, {"age": "31", "ill": "no"}]
HEADERS = {
    "blank first line": "\nage,ill\n",
    "blanks first": "   \n\t\nage,ill\n",
    "delimiters first": ",\n,\nage,ill\n",
    "quoted line break": '"age",ill\n',
    "windows": "\r\n\r\nage,ill\r\n",
    "mark of order": "\ufeff\nage,ill\n",
}


@pytest.mark.parametrize("header", HEADERS)
def test_the_header_is_no_row(header, tmp_path):
    """Whatever comes before it, all of it is passed over, and counted so."""
    path = tmp_path / "a.csv"
    path.write_bytes((HEADERS[header] + "50,yes\n31,no\n").encode())
    assert read_table(path).to_pylist() == ROWS
    form = sniff(path)
    parts = split_text(path, form, 1 << 20)
    assert [part.count_rows() for part in parts] == [2]
    assert [row for part in parts for b in part.batches() for row in b.to_pylist()] == ROWS
    assert [rows.to_pylist() for rows in open_files(path).look(["age", "ill"], 10)] == [ROWS]


@pytest.mark.parametrize("name", ["a\nb", "a\r\nb", "a\u2028b", "a\u0085b", "a\x0bb", "a\x1cb"])
def test_names_may_hold_any_line_separator(name, tmp_path):
    """Those that end lines of CSV stand in quotes; the others are text."""
    path = tmp_path / "a.csv"
    quoted = f'"{name}"' if "\n" in name else name
    path.write_bytes(f"{quoted},ill\n50,yes\n31,no\n".encode())
    table = read_table(path)
    assert table.column_names == [name, "ill"]
    assert table["ill"].to_pylist() == ["yes", "no"]
    assert split_text(path, sniff(path), 1 << 20)[0].count_rows() == 2


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_headers_in_other_encodings(encoding, tmp_path):
    """Lines are counted in characters, not in bytes."""
    path = tmp_path / "a.csv"
    path.write_bytes('\n"a\nge",ill\n50,yes\n31,no\n'.encode(encoding))
    assert read_table(path, encoding=encoding).column_names == ["a\nge", "ill"]
    assert read_table(path, encoding=encoding)["ill"].to_pylist() == ["yes", "no"]


def test_a_header_of_many_columns_is_read(tmp_path):
    """Also one that is longer than what is looked at otherwise."""
    names = [f"column number {k}" for k in range(6_000)]
    path = tmp_path / "a.csv"
    path.write_text(",".join(names) + "\n" + ",".join("1" * 6_000) + "\n")
    assert path.stat().st_size > 1 << 16
    assert list(sniff(path).names) == names
    assert read_table(path).num_rows == 1


def test_predictions_have_a_row_for_each_row(tmp_path, capsys):
    """A blank first line does not shift them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = np.where(x + rng.normal(size=120) > 0, "yes", "no")
    rows = "".join(f"{a:.3f},{b}\n" for a, b in zip(x, y, strict=True))
    (tmp_path / "plain.csv").write_text("x,ill\n" + rows)
    (tmp_path / "blank.csv").write_text("\nx,ill\n" + rows)
    prices = ["--target", "ill", "--cost-fn", "4", "--cost-fp", "1", "--model", "linear", "--quiet"]
    assert main(["audit", str(tmp_path / "plain.csv"), *prices, "--out", str(tmp_path / "o")]) == 0
    for name in ("plain", "blank"):
        args = ["predict", str(tmp_path / "o" / "model.json"), str(tmp_path / f"{name}.csv")]
        assert main([*args, "--out", str(tmp_path / f"p-{name}.csv"), "--quiet"]) == 0
    assert (tmp_path / "p-plain.csv").read_bytes() == (tmp_path / "p-blank.csv").read_bytes()
    capsys.readouterr()


def test_labels_keep_all_their_digits():
    """Whole numbers that floats cannot distinguish are different labels."""
    labels = ["5", "9007199254740992", "9007199254740993"]
    for column in (pa.array(labels), pa.array([int(label) for label in labels])):
        found = read_labels(column, "y")
        assert found.tolist() == labels
        with pytest.raises(TableError, match="3 classes"):
            two_classes(found, "y")
    same = ["1", "1.0", "01", "+1", "1e0", "10e-1", "0.5", ".50", "5e-1"]
    assert read_labels(pa.array(same), "y").tolist() == ["1"] * 6 + ["0.5"] * 3
    assert text_type(pa.array(["1", "9" * 19]), "label") == pa.string()
    assert text_type(pa.array(["1.5", "0.12345678901234567"]), "label") == pa.string()
    long = ["1e400", "-1e-400", "0.1", "0.10000000000000000555", "1_0", "nan"]
    assert len(set(read_labels(pa.array(long), "y"))) == 6


def test_a_label_is_short():
    """Megabytes are not a label."""
    with pytest.raises(TableError, match="a label of 5,000,000 characters"):
        read_labels(pa.array(["yes", "x" * 5_000_000]), "ill")


def test_a_folder_that_links_to_itself_is_read_once(tmp_path):
    """Each file counts once, whatever links lead to it."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").write_text("age,ill\n50,yes\n")
    (tmp_path / "in" / "deep" / "b.csv").write_text("age,ill\n31,no\n")
    (tmp_path / "in" / "deep" / "again").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "c.csv").symlink_to("a.csv")
    (tmp_path / "elsewhere.csv").write_text("age,ill\n40,no\n")
    (tmp_path / "in" / "d.csv").symlink_to(tmp_path / "elsewhere.csv")
    for source in (tmp_path / "in", tmp_path / "in" / "**" / "*.csv"):
        _, paths = list_files(str(source), (".csv",))
        assert [Path(path).name for path in paths] == ["a.csv", "d.csv", "b.csv"]


def test_files_that_are_being_written_are_passed_over(tmp_path):
    """In folders and patterns; a file that is named is read."""
    (tmp_path / "b.csv.tmp").write_text("age,ill\n50,yes\n")
    with pytest.raises(FileNotFoundError):
        list_files(tmp_path, (".csv",))
    with pytest.raises(FileNotFoundError):
        list_files(str(tmp_path / "*"), (".csv",))
    assert list_files(tmp_path / "b.csv.tmp", (".csv",))[1] == [str(tmp_path / "b.csv.tmp")]


def test_a_folder_of_two_kinds_is_refused(tmp_path):
    """CSV files beside Parquet files are not passed over in silence."""
    pq.write_table(pa.table({"age": [50], "ill": ["yes"]}), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("age,ill\n31,no\n")
    with pytest.raises(TableError, match="CSV files beside Parquet files"):
        open_files(tmp_path)
    with pytest.raises(TableError, match="CSV files beside Parquet files"):
        audit_files(tmp_path, "ill", 0.3)
    assert open_files(str(tmp_path / "*.parquet")).n_rows == 1


@pytest.mark.parametrize("cell", ["inf", "-inf", "1e400", "Infinity"])
def test_infinite_numbers_are_refused_however_they_are_written(cell, tmp_path):
    """In text, in Parquet, when a model is made and when it is used."""
    numbers = [str(k) for k in range(20)]
    with pytest.raises(TableError, match=r"'dose' (mixes numbers|holds infinite)"):
        describe_column("dose", pa.array([*numbers, cell]))
    with pytest.raises(TableError, match="'dose' holds infinite"):
        describe_column("dose", pa.array([1.0, 2.0, float(cell)]))
    encoder = Encoder.learn(pa.table({"dose": numbers}))
    for column in ([cell], [float(cell)]):
        with pytest.raises(TableError, match="'dose' holds infinite"):
            encoder.cells(pa.table({"dose": column}))


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("2021-02-30", "category"),
        ("2021-02-28", "date"),
        ("2021-2-3", "date"),
        ("31/04/2021", "category"),
        ("30/04/2021", "date"),
        ("2021-02-29 10:00", "category"),
        ("2020-02-29T10:00:00", "date"),
        ("2021-13-01", "category"),
    ],
)
def test_a_date_is_a_day_that_was(cell, kind):
    """30 February is no day."""
    other = {"/": "01/02/2021", "T": "2021-01-02T00:00:00", " ": "2021-01-02 00:00"}
    usual = next((day for mark, day in other.items() if mark in cell), "2021-01-02")
    assert describe_column("when", pa.array([usual, cell]))["kind"] == kind
    encoder = Encoder.learn(pa.table({"when": [usual, usual.replace("01", "03", 1)]}))
    if kind == "category":
        with pytest.raises(TableError, match="held dates"):
            encoder.cells(pa.table({"when": [cell]}))


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_an_empty_text_is_missing(type_, tmp_path):
    """In Parquet as in CSV; and text is text, however Arrow stores it."""
    column = pa.array(["yes", "", None, "no"]).cast(type_)
    pq.write_table(pa.table({"age": [1, 2, 3, 4], "ill": column}), tmp_path / "a.parquet")
    (batch,) = read_batches(tmp_path / "a.parquet")
    taken = take_column(batch, "ill", "a.parquet")
    assert taken.type == pa.string()
    assert read_labels(taken, "ill").tolist() == ["yes", None, None, "no"]
    assert describe_column("ill", taken)["kind"] == "boolean"
