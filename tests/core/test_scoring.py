"""Scoring many classifiers on many rows."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks.timing import peak_extra_bytes
from flipcost.core import scoring
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.scoring import fold_confusions, fold_scores
from tests.reference.brute import two_classes


@pytest.mark.parametrize("rows_in_block", [64, 65_536])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "make", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix]
)
def test_counts_by_brute_force(monkeypatch, rows_in_block, weighted, make):
    """Counts of every fold and classifier are those of scoring them one by one."""
    monkeypatch.setattr(scoring, "block_size", lambda d: rows_in_block)
    rng = np.random.default_rng(0)
    X, positive = two_classes(n=500, d=3)
    path = rng.normal(size=(4, 6, 4))
    folds = rng.integers(-1, 4, 500)
    weight = rng.random(500) if weighted else None
    table = fold_confusions(make(X), positive, path, folds, weight)
    assert table.counts.shape == (4, 6, 2, 2)
    for k in range(4):
        inside = folds == k
        for j in range(6):
            flagged = X[inside] @ path[k, j, :-1] + path[k, j, -1] > 0
            share = None if weight is None else weight[inside]
            expected = ConfusionCounts.from_labels(positive[inside], flagged, share)
            # Up to 150 weights below one add up; a miss is what is left of them.
            np.testing.assert_allclose(table.counts[k, j], expected.counts, atol=1e-12)
            np.testing.assert_allclose(table.squares[k, j], expected.squares, atol=1e-12)


def test_without_folds_all_rows_are_scored():
    """Rows are all of fold 0 when no folds are given."""
    X, positive = two_classes(n=100, d=2)
    table = fold_confusions(X.astype(np.float32), positive, np.ones((1, 1, 3)))
    flagged = X.astype(np.float32).sum(axis=1) + 1 > 0
    expected = ConfusionCounts.from_labels(positive, flagged)
    np.testing.assert_array_equal(table.counts[0, 0], expected.counts)


def test_a_score_of_zero_is_called_negative():
    """Rows whose score is exactly zero are called negative."""
    table = fold_confusions(np.ones((4, 1)), [1, 1, 0, 0], [[[1.0, -1.0], [0.0, 0.0]]])
    np.testing.assert_array_equal(table.counts[0], [[[2, 0], [2, 0]], [[2, 0], [2, 0]]])


def test_coefficients_that_are_not_numbers_call_nothing():
    """A classifier without a solution (NaN) calls every row negative, and disturbs no other."""
    X, positive = two_classes(n=50, d=2)
    path = np.array([[[np.nan] * 3, [1.0, 1.0, 0.0]]])
    table = fold_confusions(X, positive, path)
    assert table.counts[0, 0, :, 1].sum() == 0
    np.testing.assert_array_equal(
        table.counts[0, 1], fold_confusions(X, positive, path[:, 1:]).counts[0, 0]
    )


def test_no_rows():
    """No rows give tables of zeros."""
    assert not fold_confusions(np.empty((0, 2)), [], np.ones((2, 3, 3))).counts.any()


def test_scores_are_not_all_held_at_once():
    """Scoring many classifiers takes less than a quarter of the memory of the rows."""
    X = np.random.default_rng(0).normal(size=(60_000, 40))
    positive = np.arange(60_000) % 3 == 0
    path = np.random.default_rng(1).normal(size=(1, 48, 41))
    assert peak_extra_bytes(lambda: fold_confusions(X, positive, path)) < 0.25 * X.nbytes
    # Four columns of each row.
    where = np.random.default_rng(0).integers(0, 400, 4 * 60_000)
    ends = np.arange(0, len(where) + 1, 4)
    rows = sparse.csr_matrix((np.ones(len(where)), where, ends), shape=(60_000, 400))
    path = np.random.default_rng(1).normal(size=(1, 48, 401))
    dense_bytes = 8 * 60_000 * 400
    assert peak_extra_bytes(lambda: fold_confusions(rows, positive, path)) < 0.1 * dense_bytes


@pytest.mark.parametrize(
    ("kind", "expand"),
    [
        (np.asarray, None),
        (np.asarray, lambda rows: np.hstack([rows, rows**2])),
        (sparse.csr_array, None),
    ],
)
def test_scores_are_those_of_each_rows_own_fold(kind, expand):
    """Every row, also of many blocks, gets the scores of its fold; a row left out gets none."""
    rng = np.random.default_rng(0)
    X, folds = rng.normal(size=(70_000, 3)), rng.integers(-1, 4, 70_000)
    wide = X if expand is None else expand(X)
    path = rng.normal(size=(4, 2, wide.shape[1] + 1))
    found = fold_scores(kind(X), path, folds, expand)
    expected = np.einsum("nmd,nd->mn", path[folds, :, :-1], wide) + path[folds, :, -1].T
    expected[:, folds < 0] = np.nan
    np.testing.assert_allclose(found, expected, atol=1e-12)
