"""Additive scores and tables of curves: exact, monotone, and the same bytes in any company."""

import numpy as np
import pytest
from scipy import sparse

from flipcost.core import scoring
from flipcost.core.scoring import AdditiveScores, CurveTables, HingeBasis


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(5000, 6))


@pytest.fixture
def scores(rows):
    basis = HingeBasis.from_rows(rows, 3)
    rng = np.random.default_rng(1)
    return AdditiveScores(basis, rng.normal(size=(3, basis.n_columns)), rng.normal(size=3))


def test_scores_are_those_of_expanded_rows(rows, scores):
    """What no row is expanded for is what expanding it gives."""
    expected = scores.slopes @ scores.basis.expand(rows).T + scores.bias[:, None]
    np.testing.assert_allclose(scores.score(rows), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("by_sum", [False, True], ids=["as found", "by sums"])
def test_a_row_gets_the_same_bytes_whichever_rows_come_with_it(rows, scores, by_sum, monkeypatch):
    """Neither its place nor its company matters, whichever product is used."""
    if by_sum:
        monkeypatch.setattr(scoring, "_product", lambda *_, **__: scoring._by_sum)
    together = scores.score(rows)
    for part in (slice(0, 1), slice(1, 2), slice(17, 3000), slice(4999, 5000)):
        np.testing.assert_array_equal(scores.score(rows[part]), together[:, part])


def test_a_product_that_rounds_by_place_is_not_used(monkeypatch):
    """The trial notices a product whose last places are summed in another order."""

    def uneven(slopes, columns, out):
        np.dot(slopes, columns, out=out)
        out[:, -3:] = slopes[:, ::-1] @ columns[::-1, -3:]

    monkeypatch.setattr(scoring, "_by_blas", uneven)
    scoring._product.cache_clear()
    try:
        assert scoring._product(2, 50, 64, is_lying=True) is scoring._by_sum
    finally:
        scoring._product.cache_clear()


@pytest.mark.parametrize("n_knots", [0, 3])
def test_blocks_are_read_before_they_are_scored(rows, n_knots):
    """What makes the columns of rows is applied block by block."""
    basis = HingeBasis.from_rows(rows, n_knots)
    slopes = np.random.default_rng(1).normal(size=(3, basis.n_columns))
    scores = AdditiveScores(basis, slopes, np.ones(3))
    damaged = rows.copy()
    damaged[-7, 2] = np.nan
    found = scores.score(damaged, lambda block: np.where(np.isnan(block), 0.0, block))
    np.testing.assert_array_equal(found, scores.score(np.nan_to_num(damaged)))


def test_sparse_rows_get_the_same_scores(rows):
    """Sparse rows are never made dense, and are scored as dense ones are."""
    slopes = np.random.default_rng(1).normal(size=(5, 6))
    scores = AdditiveScores(HingeBasis.linear(6), slopes, np.arange(5.0))
    rows[rows < 0] = 0.0
    found = scores.score(sparse.coo_array(rows))
    np.testing.assert_allclose(found, scores.score(rows), rtol=0, atol=1e-13)


def test_rows_that_lie_in_memory_get_the_same_bytes(rows):
    """Rows by columns, or of another type, are scored as rows by rows are."""
    basis = HingeBasis(6, np.empty(0, np.intp), np.empty(0))
    scores = AdditiveScores(basis, np.random.default_rng(1).normal(size=(5, 6)), np.zeros(5))
    single = rows.astype(np.float32)
    expected = scores.score(single.astype(float))
    np.testing.assert_array_equal(scores.score(single), expected)
    np.testing.assert_array_equal(scores.score(np.asfortranarray(single, dtype=float)), expected)


def test_unused_hinges_are_left_out(rows):
    """A hinge without a coefficient is not computed, and scores stay as they were."""
    basis = HingeBasis.from_rows(rows, 3)
    slopes = np.random.default_rng(2).normal(size=(2, basis.n_columns))
    slopes[:, 8:] = 0.0
    kept = AdditiveScores.used(basis, slopes, np.zeros(2))
    assert kept.basis.n_columns == 8
    expected = AdditiveScores(basis, slopes, np.zeros(2)).score(rows)
    np.testing.assert_allclose(kept.score(rows), expected, rtol=0, atol=1e-13)


def test_wide_rows_come_in_small_blocks():
    """Ten thousand columns are scored in blocks of 64 rows."""
    X = np.random.default_rng(0).normal(size=(100, 10_000))
    basis = HingeBasis(10_000, np.empty(0, np.intp), np.empty(0))
    found = AdditiveScores(basis, np.ones((1, 10_000)), np.zeros(1)).score(X)
    np.testing.assert_allclose(found[0], X.sum(axis=1), atol=1e-10)
    assert scoring._block_rows(10_000) == 64


def test_tables_are_interpolated():
    """Sums of curves are those of numpy's interpolation, ends and what is no number included."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.random((4, 121)), axis=1)
    places = rng.normal(60, 50, size=(4, 3000))
    expected = sum(np.interp(p, np.arange(121), v) for p, v in zip(places, values, strict=True))
    np.testing.assert_allclose(CurveTables(values).sum_at(places), expected, rtol=0, atol=1e-14)
    places[2, 5] = np.nan
    assert np.flatnonzero(np.isnan(CurveTables(values).sum_at(places))).tolist() == [5]


def test_a_curve_never_falls():
    """From one double to the next, around every place and between, a curve does not go down."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.random((1, 121)), axis=1)
    values[0, 40:50] = values[0, 40]
    near = np.arange(1.0, 120.0)
    steps = [near]
    for _ in range(40):
        steps.insert(0, np.nextafter(steps[0], -np.inf))
        steps.append(np.nextafter(steps[-1], np.inf))
    places = np.sort(np.concatenate([*steps, rng.uniform(0, 120, 20_000)]))
    found = CurveTables(values).sum_at(places[None])
    assert (np.diff(found) >= 0).all()
    assert found.max() <= values.max()
