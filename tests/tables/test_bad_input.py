import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost import ClassMoments
from flipcost.exceptions import SourceError
from flipcost.tables.files import exceeds_memory
from flipcost.tables.scan import scan_batches, scan_csv, scan_parquet
from tests.tables.conftest import NAMES


def rewrite(path, change):
    """Replace a Parquet file by a changed one."""
    pq.write_table(change(pq.read_table(path)), path)


def test_a_missing_column_names_file_and_column(parquet):
    """A file without a column that others have is named before any rows are read."""
    rewrite(parquet / "05.parquet", lambda t: t.drop_columns(["b"]))
    with pytest.raises(SourceError, match=r"05\.parquet.*no column 'b'.*00\.parquet"):
        scan_parquet(parquet, "y", NAMES)


def test_a_changed_type_names_file_and_column(parquet):
    """Text where other files have numbers is named before any rows are read."""
    rewrite(
        parquet / "05.parquet",
        lambda t: t.set_column(1, "b", pa.array([str(v) for v in t.column("b").to_pylist()])),
    )
    with pytest.raises(SourceError, match=r"05\.parquet.*column 'b'.*string here and double"):
        scan_parquet(parquet, "y", NAMES)


def test_kinds_of_numbers_may_differ_between_files(parquet, rows):
    """Whole numbers in one file and fractions in another are both numbers."""
    rewrite(
        parquet / "00.parquet",
        lambda t: t.set_column(1, "b", pa.array(np.arange(80, dtype=np.int16))),
    )
    X = rows.X[:960].copy()
    X[:80, 1] = np.arange(80)
    means = scan_parquet(parquet, "y", NAMES).moments().mean
    np.testing.assert_allclose(means[1], X[rows.positive[:960]].mean(axis=0), rtol=1e-12)


def test_unnamed_columns_may_differ(parquet, rows):
    """Files may differ in columns that no one asked for, and give the moments of all rows."""
    rewrite(parquet / "05.parquet", lambda t: t.drop_columns(["w", "id"]))
    found = scan_parquet(parquet, "y", NAMES).moments()
    expected = ClassMoments.from_rows(rows.X[:960], rows.positive[:960])
    np.testing.assert_array_equal(found.n_rows, expected.n_rows)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)


def test_a_truncated_file_is_named(parquet):
    """A Parquet file without its end is refused by name."""
    path = parquet / "07.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SourceError, match=r"07\.parquet' cannot be read.*cut short"):
        scan_parquet(parquet, "y", NAMES).moments()


def test_a_file_damaged_inside_is_named(parquet):
    """A file whose footer is whole but whose pages are not is named when the pass comes to it."""
    path = parquet / "07.parquet"
    content = bytearray(path.read_bytes())
    content[4:1500] = bytes(1496)
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"07\.parquet"):
        scan_parquet(parquet, "y", NAMES).moments()


def test_a_file_that_disappears_is_named(parquet):
    """A file removed during the pass gives an error, even if what was open could be read on."""

    def remove(progress):
        (parquet / "11.parquet").unlink(missing_ok=True)

    with pytest.raises(SourceError, match=r"11\.parquet.*gone"):
        scan_parquet(parquet, "y", NAMES, progress=remove).moments()


def test_a_file_that_changes_is_named(parquet, rows):
    """A file rewritten between two passes is not scored as if it were the one before."""
    table = scan_parquet(parquet, "y", NAMES)
    table.fold_moments(2)
    pq.write_table(rows.arrow(slice(0, 50)), parquet / "03.parquet")
    with pytest.raises(SourceError, match=r"03\.parquet.*changed"):
        table.sample(n_folds=2)


def test_a_cut_gzip_is_named(tmp_path):
    """A compressed CSV file that ends too early is refused by name."""
    rng = np.random.default_rng(0)
    lines = "".join(f"{v!r},{int(v > 0)}\n" for v in rng.normal(size=200_000).tolist())
    content = gzip.compress(b"x,y\n" + lines.encode())
    (tmp_path / "a.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"a\.csv\.gz"):
        scan_csv(tmp_path / "a.csv.gz", "y").moments()


def test_text_in_a_csv_column_of_numbers_is_named(tmp_path):
    """A word far down in a column that began with numbers names the file and the column."""
    lines = "".join(f"{k},{k % 2}\n" for k in range(300_000))
    (tmp_path / "a.csv").write_text("x,y\n" + lines + "seven,0\n")
    with pytest.raises(SourceError, match=r"a\.csv.*seven"):
        scan_csv(tmp_path / "a.csv", "y").moments()


def test_fractions_after_whole_numbers_are_numbers(tmp_path):
    """A CSV column that looks like whole numbers at first may hold fractions later."""
    lines = "".join(f"{k},{k % 2}\n" for k in range(300_000))
    (tmp_path / "a.csv").write_text("x,y\n" + lines + "0.5,0\n")
    found = scan_csv(tmp_path / "a.csv", "y").moments()
    assert found.n_rows.tolist() == [150_001, 150_000]
    # The even numbers below 300,000, and one half.
    np.testing.assert_allclose(found.mean[0], (150_000 * 149_999 + 0.5) / 150_001, rtol=1e-12)


@pytest.mark.parametrize("value", [None, np.nan, np.inf])
def test_missing_and_infinite_values_are_named(parquet, value):
    """Nulls, NaN and infinities are refused with file and column."""

    def spoil(table):
        values = table.column("b").to_pylist()
        values[17] = value
        return table.set_column(1, "b", pa.array(values, pa.float64(), from_pandas=False))

    rewrite(parquet / "04.parquet", spoil)
    with pytest.raises(SourceError, match=r"04\.parquet.*column 'b'"):
        scan_parquet(parquet, "y", NAMES).moments()


def test_missing_labels_are_named(parquet):
    """A row without a label names its file."""
    rewrite(
        parquet / "04.parquet",
        lambda t: t.set_column(4, "y", pa.array([None, *t.column("y").to_pylist()[1:]])),
    )
    with pytest.raises(SourceError, match=r"04\.parquet.*labels must not be missing; got 1"):
        scan_parquet(parquet, "y", NAMES).moments()


def test_a_third_label_is_named(parquet):
    """A third label names the file that brought it, within one file or across files."""
    rewrite(parquet / "04.parquet", lambda t: t.set_column(4, "y", pa.array(["maybe"] * 80)))
    with pytest.raises(SourceError, match=r"04\.parquet.*maybe"):
        scan_parquet(parquet, "y", NAMES).moments()
    with pytest.raises(SourceError, match=r"batch 0.*two labels; got more: 0, 1, 2"):
        scan_batches([(np.zeros((3, 1)), np.array([2, 0, 1]))]).moments()


def test_text_features_are_refused_with_advice(parquet):
    """A column of text is named, and the encoder recommended."""
    rewrite(parquet / "00.parquet", lambda t: t.append_column("town", pa.array(["Lyon"] * len(t))))
    with pytest.raises(SourceError, match=r"column 'town' must hold numbers; got string.*encoder"):
        scan_parquet(parquet / "00.parquet", "y", ["a", "town"]).moments()


def test_sources_that_are_not_there(tmp_path):
    """No file, an empty folder, an empty pattern and an empty list say what is missing."""
    for source in (tmp_path / "no.parquet", tmp_path, str(tmp_path / "*.parquet"), []):
        with pytest.raises(FileNotFoundError, match="source"):
            scan_parquet(source, "y")


def test_files_without_rows(tmp_path):
    """An empty partition is nothing; nothing but empty partitions is an error."""
    empty = pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    pq.write_table(empty, tmp_path / "0.parquet")
    with pytest.raises(SourceError, match="must hold rows"):
        scan_parquet(tmp_path, "y").moments()
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [0, 1]}), tmp_path / "1.parquet")
    assert scan_parquet(tmp_path, "y").moments().n_rows.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["a", "y"]}, "leak the label"),
        ({"columns": []}, "at least one feature"),
        ({"columns": ["a", "a"]}, "each feature once"),
        ({"columns": ["a", "zzz"]}, "no column 'zzz'"),
        ({"sample_weight": "zzz"}, "no column 'zzz'"),
        ({"n_threads": 0}, "n_threads"),
    ],
)
def test_wrong_options_say_what_to_do(parquet, options, message):
    """Options that cannot be met are refused before the pass."""
    with pytest.raises(ValueError, match=message):
        scan_parquet(parquet, "y", **{"columns": NAMES, **options}).moments()


def test_the_target_must_be_a_column(parquet):
    """A target that is not there lists the columns that are."""
    with pytest.raises(SourceError, match="no column 'label'; its columns are 'a', 'b'"):
        scan_parquet(parquet, "label")
    with pytest.raises(TypeError, match="sequence of names"):
        scan_parquet(parquet, "y", "a")


def test_batches_must_have_the_same_columns(rows):
    """A frame with other columns than the first is named by its number."""
    first, other = rows.frame().drop(columns=["w", "id"]), rows.frame()
    with pytest.raises(SourceError, match=r"batch 1: columns must be.*\['id', 'w'\]"):
        scan_batches([first, other], "y").moments()
    with pytest.raises(SourceError, match="batch 0: a batch must be a pair"):
        scan_batches([{"a": [1]}], "y").moments()
    with pytest.raises(SourceError, match=r"batch 0: .*\(n, d\).*\(n,\)"):
        scan_batches([(rows.X, rows.y[:5])]).moments()
    with pytest.raises(SourceError, match="batch 1 does not fit"):
        scan_batches([(rows.X, rows.y), (rows.X[:, :3], rows.y)]).moments()


def test_memory_is_asked_for_before_a_file_is_read_whole(parquet, tmp_path):
    """Files are compared with a share of this machine's memory."""
    assert not exceeds_memory(parquet)
    assert exceeds_memory(parquet, share=1e-9)
    with pytest.raises(ValueError, match="share"):
        exceeds_memory(parquet, share=-1)
