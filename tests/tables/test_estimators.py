import numpy as np
import pytest

from flipcost import UnevenMarginClassifier, UnevenMarginClassifierCV
from flipcost.core.folds import hash_folds
from flipcost.tables.scan import scan_batches, scan_parquet
from tests.tables.conftest import NAMES, Rows

GRID = {"costs": 0.3, "margins": [0.5, 1.0], "l2s": [0.01, 0.1, 1.0]}


def position_splits(n, n_folds):
    folds = hash_folds(np.arange(n, dtype=np.uint64), n_folds)
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_folds)]


@pytest.mark.parametrize("pos_label", [None, "no"])
def test_a_table_gives_the_classifier_of_memory(parquet, rows, pos_label):
    """One pass over files gives the coefficients, classes and names of `fit`."""
    model = UnevenMarginClassifier(cost=0.3, l2=0.01, noise_rate=0.05, pos_label=pos_label)
    model.fit_table(scan_parquet(parquet, "y", NAMES, sample_weight="w"))
    frame = rows.frame(slice(0, 960))
    peer = UnevenMarginClassifier(cost=0.3, l2=0.01, noise_rate=0.05, pos_label=pos_label)
    peer.fit(frame[NAMES], frame["y"], frame["w"])
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
    assert model.classes_.tolist() == peer.classes_.tolist()
    assert model.feature_names_in_.tolist() == peer.feature_names_in_.tolist()
    assert (model.predict(frame[NAMES]) == peer.predict(frame[NAMES])).all()


@pytest.mark.parametrize("pos_label", [None, "no"])
@pytest.mark.parametrize("scoring", ["accuracy", "cost"])
def test_two_passes_give_the_search_of_memory(parquet, rows, scoring, pos_label):
    """The grid searched in two passes scores, chooses and fits as in memory on the same folds."""
    options = {**GRID, "scoring": scoring, "pos_label": pos_label}
    table = scan_parquet(parquet, "y", NAMES, sample_weight="w")
    search = UnevenMarginClassifierCV(**options, cv=4).fit_table(table)
    frame = rows.frame(slice(0, 960))
    peer = UnevenMarginClassifierCV(**options, cv=position_splits(960, 4))
    peer.fit(frame[NAMES], frame["y"], frame["w"])
    for k in range(4):
        name = f"split{k}_test_score"
        np.testing.assert_allclose(search.cv_results_[name], peer.cv_results_[name], rtol=1e-12)
    assert search.best_params_ == peer.best_params_
    np.testing.assert_allclose(search.coef_, peer.coef_, rtol=1e-9)
    assert (search.predict(frame[NAMES]) == peer.predict(frame[NAMES])).all()


def test_a_search_reads_the_rows_twice(rows):
    """Never more than two passes, whatever the grid."""
    passes = []

    def batches():
        passes.append(1)
        return [(rows.X, rows.y)]

    UnevenMarginClassifierCV(**GRID).fit_table(scan_batches(batches))
    assert len(passes) == 2


def test_dask_collections_can_be_fitted():
    """`fit` of both classifiers takes Dask arrays and frames, and gives what memory gives."""
    dask = pytest.importorskip("dask")
    import dask.array as da
    import dask.dataframe as dd

    rows = Rows(900, seed=2)
    frame = rows.frame()
    X, y = da.from_array(rows.X, chunks=(200, 4)), da.from_array(rows.y, chunks=100)
    lazy = dd.from_pandas(frame, npartitions=4)
    peer = UnevenMarginClassifier(cost=0.3).fit(rows.X, rows.y, rows.w)
    search_peer = UnevenMarginClassifierCV(**GRID, cv=position_splits(900, 3)).fit(rows.X, rows.y)
    with dask.config.set(scheduler="synchronous"):
        weight = da.from_array(rows.w, chunks=100)
        model = UnevenMarginClassifier(cost=0.3).fit(X, y, sample_weight=weight)
        named = UnevenMarginClassifier(cost=0.3).fit(lazy[NAMES], lazy["y"], lazy["w"])
        search = UnevenMarginClassifierCV(**GRID, cv=3).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(named.coef_, peer.coef_, rtol=1e-9)
    assert named.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(search.coef_, search_peer.coef_, rtol=1e-9)
    assert search.best_params_ == search_peer.best_params_


def test_what_cannot_be_fitted_is_refused(parquet, rows):
    """Rows for tables, splitters, one label and contrary positive labels are refused."""
    table = scan_parquet(parquet, "y", NAMES, positive="no")
    with pytest.raises(TypeError, match="scan functions; got ndarray"):
        UnevenMarginClassifier().fit_table(rows.X)
    with pytest.raises(ValueError, match="number of folds"):
        UnevenMarginClassifierCV(cv=position_splits(9, 2)).fit_table(table)
    with pytest.raises(ValueError, match="Set pos_label='no'"):
        UnevenMarginClassifier().fit_table(table)
    with pytest.raises(ValueError, match="two labels"):
        UnevenMarginClassifier().fit_table(scan_batches([(rows.X, np.zeros(len(rows.X)))]))
