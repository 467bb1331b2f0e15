import os

import numpy as np
import pytest

from flipcost import ClassMoments
from flipcost.core.folds import hash_folds
from flipcost.core.moments import fold_moments
from flipcost.tables.files import _BATCH_BYTES
from flipcost.tables.sample import draw_keys
from flipcost.tables.scan import scan_batches, scan_csv, scan_dask, scan_parquet
from tests.tables.conftest import NAMES

# Sums of a thousand rows in another order differ by some rounding errors of their largest term.
RELATIVE = 1e-12


def assert_same(found: ClassMoments, expected: ClassMoments, relative: float = RELATIVE):
    """Moments agree relative to the size of what was summed."""
    assert found.n_rows.tolist() == expected.n_rows.tolist()
    np.testing.assert_allclose(found.weight, expected.weight, rtol=relative)
    scale = np.abs(expected.mean).max(axis=0) + np.sqrt(
        np.diagonal(expected.scatter.sum(axis=0)) / expected.weight.sum()
    )
    np.testing.assert_allclose(found.mean / scale, expected.mean / scale, atol=relative)
    product = np.outer(scale, scale) * expected.weight.sum()
    np.testing.assert_allclose(found.scatter / product, expected.scatter / product, atol=relative)


def test_every_route_gives_the_same_moments(route, rows):
    """Moments do not depend on how the rows arrive."""
    assert_same(route().moments(), ClassMoments.from_rows(rows.X, rows.positive))


def test_every_route_takes_weights(route, rows):
    """Weights from a column, or beside the rows, count as repetitions on every route."""
    found = route(sample_weight="w").moments()
    assert_same(found, ClassMoments.from_rows(rows.X, rows.positive, rows.w))
    times = rows.w.astype(int)
    repeated = ClassMoments.from_rows(
        np.repeat(rows.X, times, axis=0), np.repeat(rows.positive, times)
    )
    np.testing.assert_array_equal(found.weight, repeated.weight)
    np.testing.assert_allclose(found.mean, repeated.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.scatter, repeated.scatter, rtol=1e-9, atol=1e-8)


def test_the_positive_label_can_be_chosen(route, rows):
    """`positive` puts its label at 1 on every route."""
    expected = ClassMoments.from_rows(rows.X, ~rows.positive)
    assert_same(route(positive="no").moments(), expected)


def test_folds_by_position_do_not_depend_on_the_route(route, rows):
    """Rows go to the same folds whatever the chunking."""
    found = route().fold_moments(3).oriented().parts
    folds = hash_folds(np.arange(len(rows.X), dtype=np.uint64), 3)
    for part, expected in zip(found, fold_moments(rows.X, rows.positive, folds, 3), strict=True):
        assert_same(part, expected)


def test_folds_by_identifier_do_not_depend_on_the_route(route, rows):
    """Rows with one identifier are in one fold, the same on every route that has columns."""
    if route.name in ("arrays", "sparse", "dask_array"):
        pytest.skip("arrays have no named columns")
    found = route(fold_by="id").fold_moments(4).oriented().parts
    folds = hash_folds(rows.id.astype(np.uint64), 4)
    for part, expected in zip(found, fold_moments(rows.X, rows.positive, folds, 4), strict=True):
        assert_same(part, expected)


def test_rows_that_are_drawn_have_the_folds_of_the_moments(route, rows):
    """Candidates are compared on rows in the folds that they have not seen."""
    sample = route(sample_weight="w").sample(n_folds=3)
    order = np.lexsort(sample.X.T)
    expected = np.lexsort(rows.X.T)
    np.testing.assert_array_equal(sample.X[order], rows.X[expected])
    np.testing.assert_array_equal(sample.weight[order], rows.w[expected])
    folds = hash_folds(np.arange(len(rows.X), dtype=np.uint64), 3)
    np.testing.assert_array_equal(sample.folds[order], folds[expected])


def test_samples_do_not_depend_on_the_route(route, rows):
    """The same rows are drawn whatever the chunking, where rows are numbered through."""
    found = route(sample_weight="w").sample(60)
    assert found.X.shape == (60, 4)
    assert np.unique(found.y, return_counts=True)[1].tolist() == [30, 30]
    if route.name == "dask_frame":
        return
    keys = draw_keys(np.arange(len(rows.X)), 0)
    drawn = [np.flatnonzero(rows.y == v) for v in ("no", "yes")]
    order = np.sort(np.concatenate([own[np.argsort(keys[own])[:30]] for own in drawn]))
    np.testing.assert_array_equal(found.X, rows.X[order])
    np.testing.assert_array_equal(found.y, rows.y[order])
    stands_for = np.where(rows.positive[order], len(drawn[1]) / 30, len(drawn[0]) / 30)
    np.testing.assert_allclose(found.weight, stands_for * rows.w[order])


def test_a_sample_of_all_rows_is_all_rows(rows):
    """Asking for more rows than there are gives each once."""
    found = scan_batches([(rows.X, rows.y)]).sample(5000)
    assert sorted(found.X[:, 0]) == sorted(rows.X[:, 0])
    assert (found.weight == 1).all()
    with pytest.raises(ValueError, match="sample_rows"):
        scan_batches([(rows.X, rows.y)]).sample(0)


def test_a_given_chunking_is_repeated_to_the_bit(parquet):
    """The same files read twice, on any number of threads, give the same bits."""
    one, two = (scan_parquet(parquet, "y", NAMES, n_threads=n).moments() for n in (1, 3))
    assert one.scatter.tobytes() == two.scatter.tobytes()
    assert one.mean.tobytes() == two.mean.tobytes()


def test_the_four_functions_are_the_routes(rows, tmp_path, parquet):
    """Moments of any route are those of the rows."""
    dask = pytest.importorskip("dask")
    import dask.dataframe as dd

    expected = ClassMoments.from_rows(rows.X[:960], rows.positive[:960])
    frame = rows.frame(slice(0, 960))
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert_same(scan_parquet(parquet, "y", NAMES).moments(), expected)
    assert_same(scan_csv(tmp_path / "a.csv", "y", NAMES).moments(), expected)
    assert_same(scan_batches([frame], "y", NAMES).moments(), expected)
    with dask.config.set(scheduler="synchronous"):
        found = scan_dask(dd.from_pandas(frame, npartitions=3), "y", NAMES).moments()
    assert_same(found, expected)


def test_columns_without_a_role_are_the_features(rows, parquet):
    """Without `columns`, all columns are features but target, weight and identifier."""
    table = scan_parquet(parquet, "y", sample_weight="w", fold_by="id")
    assert table.feature_names == tuple(NAMES)
    assert table.n_rows == 960
    assert table.n_bytes == sum(path.stat().st_size for path in parquet.iterdir())


def test_keys_of_folders_are_columns_when_named(rows, tmp_path):
    """A ``key=value`` folder gives a column to those who ask for it."""
    import pyarrow.parquet as pq

    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        cut = slice(0, 100) if year == 2023 else slice(100, 300)
        pq.write_table(rows.arrow(cut), tmp_path / f"year={year}" / "a.parquet")
    X = np.column_stack([rows.X[:300, 0], np.repeat([2023.0, 2024.0], [100, 200])])
    expected = ClassMoments.from_rows(X, rows.positive[:300])
    assert_same(scan_parquet(tmp_path, "y", ["a", "year"]).moments(), expected)
    assert "year" not in scan_parquet(tmp_path, "y").feature_names


@pytest.mark.parametrize("y", [[0, 1], [False, True], [1.0, 2.0], ["a", "b"]])
def test_labels_of_any_type_are_sorted(y):
    """The larger label is positive, whether numbers, booleans or text."""
    X = np.array([[1.0], [5.0], [7.0]])
    found = scan_batches([(X, np.array([y[1], y[0], y[1]]))]).fold_moments(1)
    assert found.labels == (y[0], y[1])
    assert found.parts[0].mean.ravel().tolist() == [5.0, 4.0]


def test_pieces_with_one_label_are_seated_by_it():
    """Batches of a single class, in any order, fall into place when the other class appears."""
    X = np.arange(4.0)[:, None]
    batches = [(X[[k]], np.array([label])) for k, label in enumerate(["b", "b", "a", "b"])]
    expected = ClassMoments.from_rows(X, [True, True, False, True])
    assert_same(scan_batches(batches).moments(), expected)
    assert_same(scan_batches(batches[::-1]).moments(), expected)


def test_a_single_label_is_legal_when_the_positive_one_is_named():
    """A site that has one class only can still give its moments."""
    X = np.arange(4.0)[:, None]
    sick, well = (scan_batches([(X, np.full(4, v))], positive=1).moments() for v in (1, 0))
    assert sick.n_rows.tolist() == [0, 4]
    assert well.n_rows.tolist() == [4, 0]
    with pytest.raises(ValueError, match="must hold two labels"):
        scan_batches([(X, np.ones(4))]).moments()


def test_integers_and_booleans_are_exact():
    """Large integers are summed in float64 and booleans as 0 and 1, alone or beside float32."""
    import pyarrow as pa

    big = np.array([2**24 + 1, 2**24 + 3, 5, 9])
    frame = pa.table(
        {
            "big": big,
            "flag": [True, False, True, True],
            "small": pa.array([1.5, 2.5, 3.5, 4.5], pa.float32()),
            "y": [0, 0, 1, 1],
        }
    )
    X = np.column_stack([big, [1, 0, 1, 1], [1.5, 2.5, 3.5, 4.5]])
    expected = ClassMoments.from_rows(X, [False, False, True, True])
    assert_same(scan_batches([frame], "y").moments(), expected)


def test_an_iterator_is_read_once_and_a_function_again():
    """A spent iterator is refused in the second pass instead of giving nothing."""
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    once = scan_batches(iter([(X, y)]))
    once.fold_moments(2)
    with pytest.raises(ValueError, match="read once only"):
        once.sample(n_folds=2)
    again = scan_batches(lambda: iter([(X, y)]))
    again.fold_moments(2)
    assert len(again.sample(n_folds=2).y) == 4


def test_buffers_may_be_filled_again(rows):
    """A source that reuses one buffer for all batches gives the moments of all rows."""

    def stream():
        buffer = np.empty((100, 4))
        for start in range(0, 900, 100):
            buffer[:] = rows.X[start : start + 100]
            yield buffer, rows.y[start : start + 100]

    expected = ClassMoments.from_rows(rows.X[:900], rows.positive[:900])
    assert_same(scan_batches(stream).moments(), expected)


def test_progress_counts_all_rows(parquet):
    """A progress function hears of every row once, in order, and of the total."""
    heard = []
    scan_parquet(parquet, "y", NAMES, progress=heard.append).moments()
    assert [p.rows for p in heard] == sorted(p.rows for p in heard)
    assert heard[-1].rows == heard[-1].total == 960
    assert heard[-1].share == 1.0
    assert "11.parquet" in heard[-1].where


def test_a_bar_can_be_drawn(parquet, capsys):
    """The bar goes to standard error and leaves standard output alone."""
    pytest.importorskip("rich")
    scan_parquet(parquet, "y", NAMES, progress="bar").moments()
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="'bar'"):
        scan_parquet(parquet, "y", NAMES, progress="line").moments()


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Arrow holds no more for 320 row groups than some of them take."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, d = 15_000, 10
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)] + [("y", pa.int8())])
    rows = pa.table([*rng.normal(size=(d, n)), np.arange(n, dtype=np.int8) % 2], schema=schema)
    with pq.ParquetWriter(tmp_path / "a.parquet", schema, use_dictionary=False) as writer:
        for _ in range(80):
            writer.write_table(rows)
    for k in range(3):
        os.link(tmp_path / "a.parquet", tmp_path / f"b{k}.parquet")
    held = []
    before = pa.total_allocated_bytes()
    scan_parquet(
        tmp_path,
        "y",
        n_threads=2,
        progress=lambda p: held.append(pa.total_allocated_bytes() - before),
    ).moments()
    # A batch for each thread, and what decoding takes.
    assert max(held) < 2 * 2 * _BATCH_BYTES < 0.25 * 320 * rows.nbytes


def test_a_sample_is_not_one_fold():
    """Drawn rows spread over the folds of the same seed: each of five holds 12 to 28 % of 2,000."""
    X, y = np.arange(40_000.0)[:, None], np.arange(40_000) % 2
    drawn = scan_batches([(X, y)]).sample(2000).X[:, 0].astype(np.uint64)
    share = np.bincount(hash_folds(drawn, 5), minlength=5) / 2000
    assert share.min() > 0.12
    assert share.max() < 0.28
