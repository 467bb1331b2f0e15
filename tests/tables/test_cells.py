"""A cell, a missing value, a category, a date and a position mean the same by every route."""

import csv
import gzip
import io
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from flipcost.core.folds import hash_folds
from flipcost.tables import files as csv_files
from flipcost.tables.encoder import Encoder
from flipcost.tables.files import FileTable, Reading, open_files
from flipcost.tables.reading import read_batches, read_table
from flipcost.tables.roles import read_labels
from flipcost.tables.rows import Layout
from flipcost.tables.scan import scan_csv, scan_dask

CELLS = {
    "dose": ["1e5", "007", " 3 ", "-.5", "?", "NA", "", "+2", " ? ", "12.", "n/a", "0"],
    "smokes": ["yes", "No", "YES", "?", "", "no", "N/A", "no", "yes", " yes", "No ", "NULL"],
    "seen": ["2024-03-05", "", "1999-12-31", "2024-02-29", "?", "2000-01-01"] * 2,
    "town": ["Zürich", "東京", 'say "hi"', "two\nlines", "a,b", " Lyon ", "NA", "Lyon", "", "é"]
    * 2,
    "code": ["A07", "07", "7", "B1", "x", "A07", "?", "None", "B1", "x", "A07", "e5"],
    "ill": ["1", "0", "01", "0.0", "1", "0", "1.0", "0", "0", "1", "1", "0"],
}
NAMES = list(CELLS)
N = 600


@pytest.fixture(params=["plain", "compressed"])
def path(request, tmp_path):
    """Return a CSV file of nasty cells."""
    rows = [[CELLS[name][k % len(CELLS[name])] for name in NAMES] for k in range(N)]
    text = io.StringIO()
    csv.writer(text).writerows([NAMES, *rows])
    content = text.getvalue().encode()
    path = tmp_path / ("a.csv" if request.param == "plain" else "a.csv.gz")
    path.write_bytes(content if request.param == "plain" else gzip.compress(content))
    return path


@dataclass(frozen=True)
class Pieces:
    """Frames with the positions of their rows."""

    found: tuple = ()

    def __call__(self, piece):
        """Keep a piece."""
        return Pieces(((piece.positions, pa.table(piece.frame.select(NAMES).to_pydict())),))

    def merge(self, other):
        """Keep the pieces of both."""
        return Pieces(self.found + other.found)


def by_passes(path, **options):
    """Return positions and rows as a pass over a table finds them."""
    layout = Layout("ill", tuple(NAMES[:-1]))
    table = FileTable(open_files(path, as_text=True, **options), Reading(layout, **options))
    return table.reduce(Pieces()).found


def numbered(frames):
    start = 0
    for frame in frames:
        yield np.arange(start, start + frame.num_rows), frame
        start += frame.num_rows


ROUTES = {
    "memory": lambda path: numbered([read_table(path)]),
    "predict": lambda path: numbered(map(pa.table, read_batches(path))),
    "passes": by_passes,
    "passes on a cluster": lambda path: by_passes(path, on_cluster=True),
    "scan_csv": lambda path: scan_csv(path, "ill").reduce(Pieces()).found,
    "scan_dask": lambda path: scan_dask(path, "ill").reduce(Pieces()).found,
}


@pytest.fixture
def _small_ranges(monkeypatch):
    """Cut files of some kilobytes into many ranges, on the scheduler of this thread."""
    dask = pytest.importorskip("dask")
    monkeypatch.setattr(csv_files, "_RANGE_BYTES", 4_000)
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.usefixtures("_small_ranges")
@pytest.mark.parametrize("route", ROUTES)
def test_cells_positions_and_folds_do_not_depend_on_the_route(path, route):
    """However a CSV file arrives, the same rows with the same values lie in the same folds."""
    whole = read_table(path)
    encoder = Encoder.learn(whole, columns=NAMES[:-1], categorical=["code"])
    assert [column.kind for column in encoder.columns] == [
        "number",
        "boolean",
        "date",
        "category",
        "category",
    ]
    positions, frames = zip(*ROUTES[route](path), strict=True)
    places = np.concatenate(positions).astype(np.uint64)
    np.testing.assert_array_equal(places, np.arange(N))
    np.testing.assert_array_equal(
        hash_folds(places, 5), hash_folds(np.arange(N, dtype=np.uint64), 5)
    )
    found = np.concatenate([encoder.cells(frame) for frame in frames])
    np.testing.assert_array_equal(found, encoder.cells(whole))
    labels = np.concatenate([read_labels(frame["ill"].combine_chunks(), "ill") for frame in frames])
    assert labels.tolist() == [str(int(float(CELLS["ill"][k % 12]))) for k in range(N)]


@pytest.mark.usefixtures("_small_ranges")
def test_moments_of_nasty_cells_are_those_of_memory(path):
    """Encoded by means and levels, a pass here and on a cluster sums up what memory holds."""
    columns = ["dose", "smokes", "town"]
    encoder = scan_csv(path, "ill", columns).learn_encoder()
    whole = read_table(path)
    rows = encoder.transform(whole)
    read = Encoder.learn(whole, columns=columns)
    assert encoder.encoder == read
    here = scan_csv(path, "ill", encoder=encoder).moments()
    there = scan_dask(path, "ill", encoder=encoder).moments()
    positive = np.array([float(CELLS["ill"][k % 12]) == 1 for k in range(N)])
    for found in (here, there):
        assert found.n_rows.tolist() == [N - positive.sum(), positive.sum()]
        np.testing.assert_allclose(
            found.mean, [rows[~positive].mean(axis=0), rows[positive].mean(axis=0)], atol=1e-12
        )
    folds = [scan(path, "ill", encoder=encoder).fold_moments(4) for scan in (scan_csv, scan_dask)]
    for a, b in zip(folds[0].parts, folds[1].parts, strict=True):
        assert a.n_rows.tolist() == b.n_rows.tolist()
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12)


@pytest.mark.usefixtures("_small_ranges")
def test_several_files_of_other_column_orders_are_numbered_through(tmp_path):
    """Rows are counted over files and ranges, and cells are found by the header of their file."""
    n = 0
    for k, names in enumerate((["x", "y"], ["y", "x"], ["x", "y"])):
        rows = [{"x": f"{v}", "y": f"{v % 2}"} for v in range(n, n + 1000 + k)]
        n += len(rows)
        text = "\n".join([",".join(names), *(",".join(row[c] for c in names) for row in rows)])
        (tmp_path / f"{k}.csv").write_text(text + "\n\n" * (k == 1))
    table = scan_csv(tmp_path, "y")
    seen = table.reduce(XPieces()).found
    np.testing.assert_array_equal(np.concatenate([p for p, _ in seen]), np.arange(n))
    np.testing.assert_array_equal(np.concatenate([x for _, x in seen]), np.arange(n))
    assert table.n_rows == n


class XPieces(Pieces):
    """The column x with the positions of its rows."""

    def __call__(self, piece):
        """Keep the column of a piece."""
        return Pieces(((piece.positions, piece.frame.column("x").to_numpy()),))


def test_words_for_missing_values_can_be_given(tmp_path):
    """What `null_values` lists is missing, and nothing else is."""
    (tmp_path / "a.csv").write_text("x,y\n-9,0\n3,1\n5,1\n")
    table = scan_csv(tmp_path / "a.csv", "y", null_values=["-9"])
    assert table.learn_encoder().encoder.columns[0].has_missing
    (tmp_path / "b.csv").write_text("x,y\n?,0\n-9,1\n?,1\nb,0\n")
    (tmp_path / "c.csv").write_text("x,y\n?,0\n-9,1\n5,1\n")
    (given,) = scan_csv(tmp_path / "b.csv", "y", null_values=["-9"]).learn_encoder().encoder.columns
    (usual,) = scan_csv(tmp_path / "c.csv", "y").learn_encoder().encoder.columns
    assert given.has_missing
    assert usual.has_missing
    assert given.levels == ("?", "b")  # a word like any other when only -9 is missing
    assert usual.fill == (-2.0,)  # and -9 is a number when nothing says otherwise
