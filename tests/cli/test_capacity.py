"""`--capacity` on the command line: the rows that save most, streamed, and what is refused."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.cli import main
from flipcost.core.gains import saving_order


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Audit a table at one price, and keep it as CSV and as Parquet of small pieces."""
    rng = np.random.default_rng(0)
    n = 600
    x = rng.normal(size=n).round(1)  # many ties
    place = rng.choice(["north", "south"], n)
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(1 - 2 * x)), "yes", "no")
    folder = tmp_path_factory.mktemp("capacity")
    table = pa.table({"x": x, "place": place, "ill": ill})
    pq.write_table(table, folder / "rows.parquet", row_group_size=37)
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(zip(*(table[c].to_pylist() for c in table.column_names), strict=True))
    args = ["audit", str(folder / "rows.csv"), "--target", "ill", "--cost-fn", "4"]
    args += ["--cost-fp", "1", "--model", "linear", "--drop", "place", "--capacity", "5%"]
    assert main([*args, "--by", "place", "--out", str(folder / "audit"), "--quiet"]) == 0
    return folder


def predict(folder, name, out, *more):
    model = str(folder / "audit" / "model.json")
    return main(["predict", model, str(folder / name), "--out", str(out), "--quiet", *more])


def read(path):
    table = pq.read_table(path) if path.suffix == ".parquet" else None
    if table is not None:
        return table.to_pylist()
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_rows_that_save_most_are_marked_whichever_way_they_come(folder, tmp_path):
    """Ties included, CSV and Parquet of any pieces mark the rows that a full sort marks."""
    assert predict(folder, "rows.csv", tmp_path / "a.csv", "--capacity", "50") == 0
    assert predict(folder, "rows.parquet", tmp_path / "b.parquet", "--capacity", "50") == 0
    first, second = read(tmp_path / "a.csv"), read(tmp_path / "b.parquet")
    flagged = np.array([row["flagged"] == "true" for row in first])
    assert flagged.tolist() == [row["flagged"] for row in second]
    gain = np.array([row["expected_saving"] for row in second])
    # Rows are numbered from 1, in the file and in the keys of ties.
    best = saving_order(gain, np.arange(len(gain)) + 1)[:50]
    np.testing.assert_array_equal(np.flatnonzero(flagged), np.sort(best))
    assert flagged.sum() == 50
    assert [row["prediction"] for row in first] == np.where(flagged, "yes", "no").tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.parquet"]


def test_groups_and_shares(folder, tmp_path):
    """A share is of the rows; by group each has its own, and others none."""
    out = tmp_path / "a.parquet"
    assert predict(folder, "rows.csv", out, "--capacity", "10%") == 0
    assert sum(row["flagged"] for row in read(out)) == 60
    groups = ["--capacity", "north=7", "--capacity-by", "place", "--overwrite"]
    assert predict(folder, "rows.csv", out, *groups) == 0
    rows = read(out)
    assert sum(row["flagged"] for row in rows) == 7
    assert {row["group"] for row in rows if row["flagged"]} == {"north"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--capacity", "601"], "--capacity is 601, but there are only 600 rows"),
        (["--capacity", "none"], "--capacity must be a number of rows"),
        (["--capacity", "a=1"], "--capacity-by"),
        (["--capacity-by", "place"], "no --capacity of theirs"),
        (["--capacity", "5", "--capacity-by", "plaec"], "did you mean 'place'?"),
        (["--capacity", "up=5", "--capacity-by", "place"], "a group 'up' that has no rows"),
    ],
)
def test_bad_capacities_are_one_sentence(options, words, folder, tmp_path, capsys):
    """Capacities that cannot be: one line, exit code 2, nothing written, in both commands."""
    assert predict(folder, "rows.csv", tmp_path / "a.csv", *options) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
    args = ["audit", str(folder / "rows.csv"), "--target", "ill", "--cost-fn", "4"]
    args += ["--cost-fp", "1", "--model", "linear", "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*args, *options]) == 2
    assert not list(tmp_path.iterdir())
