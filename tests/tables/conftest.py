import gzip

import numpy as np
import pytest

from flipcost.tables.scan import scan_batches, scan_csv, scan_dask, scan_parquet

pa = pytest.importorskip("pyarrow")
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from scipy import sparse  # noqa: E402

NAMES = ["a", "b", "c", "d"]


class Rows:
    """A table in memory: features with offsets, two text labels, weights and identifiers."""

    def __init__(self, n=997, seed=0):
        rng = np.random.default_rng(seed)
        self.positive = rng.random(n) < 0.3
        self.X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 3] + [0, 1000, -5, 2]
        self.X[:, 3] = np.round(self.X[:, 3])
        self.X[:, 0] += self.positive
        self.y = np.where(self.positive, "yes", "no")
        self.w = rng.integers(0, 4, n).astype(float)
        self.id = rng.integers(0, 200, n)

    def frame(self, rows=slice(None)):
        """Return rows as a pandas frame."""
        columns = {name: self.X[rows, j] for j, name in enumerate(NAMES)}
        columns["d"] = columns["d"].astype(np.int32)
        return pd.DataFrame({**columns, "y": self.y[rows], "w": self.w[rows], "id": self.id[rows]})

    def arrow(self, rows=slice(None)):
        """Return rows as an Arrow table."""
        return pa.Table.from_pandas(self.frame(rows), preserve_index=False)


@pytest.fixture(scope="session")
def rows():
    return Rows()


CUTS = [slice(0, 300), slice(300, 300), slice(300, 310), slice(310, None)]


def _csv(frame, delimiter=","):
    # pandas writes the shortest text that reads back as the same float.
    return frame.to_csv(index=False, sep=delimiter)


def _arrays(rows, folder, **options):
    options.pop("columns")
    weighted = options.pop("sample_weight", None)
    parts = [(rows.X[c], rows.y[c], *([rows.w[c]] if weighted else [])) for c in CUTS]
    return scan_batches(lambda: iter(parts), **options)


def _sparse(rows, folder, **options):
    options.pop("columns")
    weighted = options.pop("sample_weight", None)
    parts = [
        (sparse.csr_array(rows.X[c]), rows.y[c], *([rows.w[c]] if weighted else [])) for c in CUTS
    ]
    return scan_batches(parts, **options)


def _record_batches(rows, folder, **options):
    return scan_batches(rows.arrow().to_batches(max_chunksize=111), "y", **options)


def _arrow_tables(rows, folder, **options):
    return scan_batches([rows.arrow(c) for c in CUTS], "y", **options)


def _pandas(rows, folder, **options):
    return scan_batches([rows.frame(c) for c in CUTS], "y", **options)


def _polars(rows, folder, **options):
    return scan_batches([pl.from_pandas(rows.frame(c)) for c in CUTS], "y", **options)


def _dictionary(rows, folder, **options):
    table = rows.arrow()
    place = table.schema.get_field_index("y")
    table = table.set_column(place, "y", table.column("y").dictionary_encode())
    return scan_batches(table.to_batches(max_chunksize=400), "y", **options)


def _parquet_file(rows, folder, **options):
    pq.write_table(rows.arrow(), folder / "a.parquet", row_group_size=250)
    return scan_parquet(folder / "a.parquet", "y", batch_rows=70, **options)


def _parquet_folder(rows, folder, **options):
    for k, cut in enumerate(CUTS):
        pq.write_table(rows.arrow(cut), folder / f"part-{k}.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "readme.txt").write_text("not rows")
    return scan_parquet(folder, "y", n_threads=3, **options)


def _parquet_list(rows, folder, **options):
    for k, cut in enumerate(CUTS):
        pq.write_table(rows.arrow(cut), folder / f"part-{k}.parquet")
    return scan_parquet([folder / f"part-{k}.parquet" for k in range(4)], "y", **options)


def _parquet_glob(rows, folder, **options):
    for k, cut in enumerate(CUTS):
        (folder / f"day-{k}").mkdir()
        pq.write_table(rows.arrow(cut), folder / f"day-{k}" / "rows.parquet")
    (folder / "other").mkdir()
    pq.write_table(rows.arrow(), folder / "other" / "rows.parquet")
    return scan_parquet(str(folder / "day-*" / "*.parquet"), "y", **options)


def _parquet_hive(rows, folder, **options):
    for k, cut in enumerate(CUTS):
        (folder / f"day={k}").mkdir()
        pq.write_table(rows.arrow(cut), folder / f"day={k}" / "rows.parquet")
    return scan_parquet(folder, "y", n_threads=1, **options)


def _csv_file(rows, folder, **options):
    (folder / "a.csv").write_text(_csv(rows.frame()))
    return scan_csv(folder / "a.csv", "y", **options)


def _csv_semicolon_gz(rows, folder, **options):
    with gzip.open(folder / "a.csv.gz", "wt") as stream:
        stream.write(_csv(rows.frame(), ";"))
    return scan_csv(folder / "a.csv.gz", "y", delimiter=";", **options)


def _tsv_folder(rows, folder, **options):
    for k, cut in enumerate([slice(0, 400), slice(400, None)]):
        (folder / f"{k}.tsv").write_text(_csv(rows.frame(cut), "\t"))
    return scan_csv(folder / "*.tsv", "y", **options)


def _dask_array(rows, folder, **options):
    da = pytest.importorskip("dask.array")
    options.pop("columns")
    X = da.from_array(rows.X, chunks=(150, 3))
    if options.get("sample_weight"):
        options["sample_weight"] = da.from_array(rows.w, chunks=70)
    return scan_dask(X, da.from_array(rows.y, chunks=200), **options)


def _dask_frame(rows, folder, **options):
    dd = pytest.importorskip("dask.dataframe")
    return scan_dask(dd.from_pandas(rows.frame(), npartitions=11, sort=False), "y", **options)


ROUTES = {
    function.__name__.strip("_"): function
    for function in (
        _arrays,
        _sparse,
        _record_batches,
        _arrow_tables,
        _pandas,
        _polars,
        _dictionary,
        _parquet_file,
        _parquet_folder,
        _parquet_list,
        _parquet_glob,
        _parquet_hive,
        _csv_file,
        _csv_semicolon_gz,
        _tsv_folder,
        _dask_array,
        _dask_frame,
    )
}


@pytest.fixture(params=ROUTES)
def route(request, rows, tmp_path):
    """Return a function that opens the same rows by one of the routes."""

    def opened(**options):
        return ROUTES[request.param](rows, tmp_path, **{"columns": NAMES, **options})

    opened.name = request.param
    if not request.param.startswith("dask"):
        yield opened
        return
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield opened


@pytest.fixture
def parquet(rows, tmp_path):
    """Return a folder of a dozen small Parquet files."""
    folder = tmp_path / "files"
    folder.mkdir()
    for k in range(12):
        cut = slice(k * 80, (k + 1) * 80)
        pq.write_table(rows.arrow(cut), folder / f"{k:02}.parquet", row_group_size=20)
    return folder
