"""FlipCostClassifier from tables: what memory gives of the rows that are drawn, on every route."""

import itertools
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flipcost import FlipCostClassifier
from flipcost.exceptions import SourceError
from flipcost.noise import flip_labels
from flipcost.scale import scan_batches, scan_dask, scan_lazy, scan_parquet, scan_sql
from flipcost.tables import sample
from flipcost.tables.sample import Kept, Rows, draw_keys, fit_weight
from tests.tables.cluster import local_cluster

FEATURES = ["x", "z", "town"]


def mixed_rows(n=3000, seed=0):
    """Return rows with a category of 60 levels, and a tenth of the values missing."""
    rng = np.random.default_rng(seed)
    x, z, town = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 60, n)
    logit = 2 * x + 1.5 * np.abs(z) - 2.5 + 1.5 * (town % 7 == 0)
    clean = rng.random(n) < 1 / (1 + np.exp(-logit))
    y = np.where(clean & (rng.random(n) < 0.7), "yes", "no")
    xs = [None if gone else float(v) for v, gone in zip(x, rng.random(n) < 0.1, strict=True)]
    towns = [None if gone else f"t{v}" for v, gone in zip(town, rng.random(n) < 0.1, strict=True)]
    return pa.table({"id": np.arange(n), "x": xs, "z": z, "town": towns, "y": y})


def routes(table, folder):
    """Yield the same rows as tables of all kinds, lazily."""
    duckdb, dd = pytest.importorskip("duckdb"), pytest.importorskip("dask.dataframe")
    path = folder / "a.parquet"
    pq.write_table(table, path, row_group_size=max(500, table.num_rows // 20))
    connection = duckdb.connect()
    connection.register("seen", table)
    connection.execute("CREATE TABLE calls AS SELECT * FROM seen")
    parts = dd.from_pandas(table.to_pandas(), npartitions=7, sort=False)
    return {
        "parquet": lambda: scan_parquet(path, "y", FEATURES),
        "batches": lambda: scan_batches(table.to_batches(max_chunksize=777), "y", FEATURES),
        "duckdb": lambda: scan_sql(connection, "calls", "y", FEATURES),
        "query": lambda: scan_sql(
            connection, "SELECT * FROM calls WHERE id >= 0", "y", FEATURES, fold_by="id"
        ),
        "polars": lambda: scan_lazy(pl.scan_parquet(path), "y", FEATURES),
        "dask": lambda: scan_dask(parts, "y", FEATURES),
    }


ROUTES = ("parquet", "batches", "duckdb", "query", "polars", "dask")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    table = mixed_rows()
    X = table.select(FEATURES).to_pandas()
    model = FlipCostClassifier(cost=0.2, random_state=0).fit(X, table["y"].to_pylist())
    return table, X, model, routes(table, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return more rows than are learned from."""
    table = mixed_rows(20_000)
    X = table.select(FEATURES).to_pandas()
    before = sample.SAMPLE_ROWS, sample._FEWEST_ROWS
    sample.SAMPLE_ROWS = sample._FEWEST_ROWS = 8_000
    model = FlipCostClassifier(cost=0.2, random_state=0).fit(X, table["y"].to_pylist())
    yield table, X, model, routes(table, tmp_path_factory.mktemp("large"))
    sample.SAMPLE_ROWS, sample._FEWEST_ROWS = before


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("size", ["small", "large"])
def test_every_route_gives_what_memory_gives(size, route, request):
    """The same rows are drawn wherever they are, so that the same is learned from them."""
    table, X, memory, tables = request.getfixturevalue(size)
    model = FlipCostClassifier(cost=0.2, random_state=0).fit_table(tables[route]())
    np.testing.assert_allclose(model.predict_proba(X), memory.predict_proba(X), atol=1e-9)
    assert (model.predict(X) == memory.predict(X)).all()
    np.testing.assert_allclose(model.noise_rate_interval_, memory.noise_rate_interval_)
    np.testing.assert_allclose(model.oof_probability_, memory.oof_probability_, atol=1e-9)
    assert model.sample_.n_rows == table.num_rows
    assert model.feature_names_in_.tolist() == FEATURES


def test_the_sample_stands_for_the_table(large):
    """All of the rarer label up to half, weights that add up to all, and a word on it."""
    table, _, model, _ = large
    y = np.array(table["y"]) == "yes"
    found = model.sample_
    assert len(found.position) == len(model.oof_probability_) == 8_000
    assert found.positive.sum() == min(y.sum(), 4_000)
    assert (y[found.position] == found.positive).all()
    for label in (False, True):
        assert found.weight[found.positive == label].sum() == pytest.approx((y == label).sum())
    assert "20,000 rows (learned from 8,000" in model.summary()
    again = pickle.loads(pickle.dumps(model))
    assert (again.sample_.position == found.position).all()


def test_checked_rows_are_always_in_the_sample(large):
    """Their right labels count as one row each, whatever the others stand for."""
    table, X, plain, _ = large
    y = np.array(table["y"])
    trusted = np.full(len(y), None, dtype=object)
    trusted[::100] = y[::100]
    model = FlipCostClassifier(cost=0.2, random_state=0).fit(X, y, trusted=trusted)
    assert set(range(0, 20_000, 100)) <= set(model.sample_.position.tolist())
    assert sum(bins.flips.sum() for bins in model._result.bins[:1]) == pytest.approx(200)
    assert model.wrong_share_.high < plain.wrong_share_.high


def test_rows_that_belong_together_count_as_groups(small):
    """A column `fold_by` whose values rows share makes groups, as in memory."""
    table, X, _, _ = small
    patient = np.arange(len(X)) // 3
    told = table.append_column("patient", pa.array(patient))
    scanned = scan_batches([told], "y", FEATURES, fold_by="patient")
    model = FlipCostClassifier(cost=0.2, random_state=0).fit_table(scanned)
    peer = FlipCostClassifier(cost=0.2, random_state=0)
    peer.fit(X, table["y"].to_pylist(), groups=patient)
    assert model.n_effective_ == pytest.approx(peer.n_effective_)
    assert (model.predict(X) == peer.predict(X)).all()


def test_any_scorer_learns_from_a_table(small):
    """An estimator of one's own, a number of folds, the other positive label."""
    table, X, _, _ = small
    numbers = X[["x", "z"]].fillna(0.0)
    frame = pa.Table.from_pandas(numbers).append_column("y", table["y"])
    model = FlipCostClassifier(
        cost=0.2,
        estimator=make_pipeline(StandardScaler(), LogisticRegression()),
        cv=3,
        pos_label="no",
        random_state=0,
    )
    model.fit_table(scan_batches([frame], "y"))
    peer = FlipCostClassifier(**model.get_params(deep=False)).fit(numbers, table["y"].to_pylist())
    assert (model.predict(numbers) == peer.predict(numbers)).all()


def test_boosting_learns_from_any_number_of_rows(large):
    """It is among the scores of a sample as it is among those of few rows."""
    _, _, model, tables = large
    assert model.scorer_.boosting is not None
    model = FlipCostClassifier(cost=0.2, random_state=0).fit_table(tables["parquet"]())
    assert model.scorer_.boosting is not None


def test_costs_of_a_sample_agree_with_all_rows():
    """Rare positives, all of them drawn: interval and truth agree, and nothing is claimed."""
    rng = np.random.default_rng(1)
    n = 60_000
    clean = rng.random(n) < 0.03
    X = rng.normal(size=(n, 2)) + 1.5 * clean[:, None]
    noisy = np.where(rng.random(n) < 0.3, 0, clean)
    every = FlipCostClassifier(cost=0.05, random_state=0).fit(X, noisy)
    some = FlipCostClassifier(cost=0.05, random_state=0)
    some.fit_table(scan_batches([(X, noisy)]), sample_rows=10_000)
    assert some.sample_.positive.sum() == noisy.sum()
    wide, narrow = (model.rule_cost_.high - model.rule_cost_.low for model in (some, every))
    assert 0.9 * narrow < wide < 3 * narrow
    flagged = some.predict(X)
    cost = np.mean(np.where(clean, 0.95 * (flagged == 0), 0.05 * (flagged == 1)))
    assert some.rule_cost_.low < cost < some.rule_cost_.high


def test_weights_of_a_sample_say_how_much_its_rows_tell():
    """A comparison of two labels has the variance of the rows that were drawn."""
    positive, stands_for = np.arange(300) < 100, np.where(np.arange(300) < 100, 1.0, 10.0)
    weight = fit_weight(stands_for, positive, None)
    totals = weight[positive].sum(), weight[~positive].sum()
    assert totals[1] / totals[0] == pytest.approx(20)
    assert 1 / totals[0] + 1 / totals[1] == pytest.approx(1 / 100 + 1 / 200)
    assert fit_weight(np.ones(300), positive, None) is None


def test_samples_of_parts_merge_to_that_of_the_whole():
    """In any cut, and if parts send their share only, rows with the smallest hashes are kept."""
    n = 30_000
    where = np.arange(n)
    rows = Rows(where[:, None], where, draw_keys(where, 0), {})
    smallest = np.sort(np.argsort(rows.keys, kind="stable")[:2_000])
    for cuts in ([0, n], [0, 11, 12_000, n], list(range(0, n + 1, 500))):
        total = None
        for a, b in itertools.pairwise(cuts):
            part = Kept.of(2_000, rows.take(where[a:b])).sorted_out(
                1_000 if b - a < 2_000 else None
            )
            total = part if total is None else total.merge(part)
        assert (np.sort(total.sorted_out().parts[0].position) == smallest).all()
        assert total.n_rows == n


@pytest.mark.slow
def test_on_a_cluster(small):
    """Tasks and results travel between real processes, and the model is that of one process."""
    distributed = pytest.importorskip("distributed")
    _, X, memory, tables = small
    with local_cluster() as cluster, distributed.Client(cluster):
        model = FlipCostClassifier(cost=0.2, random_state=0).fit_table(tables["dask"]())
    assert (model.predict(X) == memory.predict(X)).all()


def test_what_cannot_be_fitted_is_refused(small):
    """No table, one label, no rows, numbers that are not finite, another positive label."""
    table, X, _, tables = small
    rows, y = np.random.default_rng(0).normal(size=(900, 2)), np.arange(900) % 2
    with pytest.raises(TypeError, match="scan functions; got DataFrame"):
        FlipCostClassifier().fit_table(X)
    with pytest.raises(ValueError, match="at least 50; got 10"):
        FlipCostClassifier().fit_table(tables["parquet"](), sample_rows=10)
    with pytest.raises(ValueError, match="two labels"):
        FlipCostClassifier().fit_table(scan_batches([(rows, np.zeros(900))]))
    with pytest.raises(SourceError, match="must hold rows"):
        FlipCostClassifier().fit_table(scan_batches([(rows[:0], y[:0])]))
    with pytest.raises(ValueError, match=r"`pos_label` must be the positive label of the table"):
        FlipCostClassifier(pos_label="yes").fit_table(
            scan_batches([table], "y", FEATURES, positive="no")
        )
    rows[650, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        FlipCostClassifier().fit_table(scan_batches([(rows, y)]))


def test_more_rows_than_are_learned_from_need_something_to_draw_by(large):
    """A query has no numbers of rows; without `fold_by` the refusal says what to give."""
    duckdb = pytest.importorskip("duckdb")
    query = "SELECT sin(i) AS x, i % 2 AS y FROM range(20000) t(i)"
    with pytest.raises(SourceError, match="`fold_by` must name the column"):
        FlipCostClassifier().fit_table(scan_sql(duckdb.connect(), query, "y"))


def test_dask_collections_can_be_fitted():
    """`fit` takes Dask arrays and gives what memory gives."""
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = flip_labels((X[:, 0] > 0).astype(int), 0.2, random_state=0)
    with dask.config.set(scheduler="synchronous"):
        model = FlipCostClassifier(cost=0.3, random_state=0)
        model.fit(da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=100))
    peer = FlipCostClassifier(cost=0.3, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-9)
