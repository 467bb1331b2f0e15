"""Rows that depend on each other: found, kept together, and counted for what they tell."""

import numpy as np
import pytest
from scipy import sparse

from flipcost.core.dependence import (
    cell_design,
    design_effect,
    drift,
    repeated_rows,
    time_spans,
    training_rows,
)
from flipcost.core.folds import group_folds


def test_the_design_effect_of_copies_is_their_number():
    """Rows that are there ten times count once, but for what few groups leave to chance."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    found = design_effect(np.repeat(rows, 10, axis=0), np.repeat(np.arange(400), 10))
    assert found == pytest.approx(10, rel=0.02)
    assert design_effect(rows, np.arange(400)) == 1.0


def test_the_design_effect_follows_the_correlation_within_groups():
    """Of one estimate it is 1 + (m - 1) icc, which is Kish's, to within the error of 400 groups."""
    rng = np.random.default_rng(1)
    for share in (0.0, 0.3, 0.8):
        common = np.repeat(rng.normal(size=400), 10)
        rows = np.sqrt(share) * common + np.sqrt(1 - share) * rng.normal(size=4000)
        found = design_effect(rows, np.repeat(np.arange(400), 10))
        assert found == pytest.approx(1 + 9 * share, rel=5 * np.sqrt(2 / 400))


def test_few_groups_make_intervals_as_wide_as_student_s():
    """With three groups the t-quantile of two degrees of freedom is allowed for."""
    rows = np.repeat([1.0, -2.0, 1.0], 4)
    assert design_effect(rows, np.repeat([0, 1, 2], 4)) == 12.0  # at most as many as rows
    many = design_effect(np.tile(rows, 10), np.repeat(np.arange(30), 4))
    assert 4 < many < 4 * 1.2


def test_cells_of_groups_that_are_called_together():
    """Counts of groups whose rows share a cell are those of as many rows as there are groups."""
    rng = np.random.default_rng(2)
    cells = np.repeat(rng.integers(0, 4, 200), 5)
    assert cell_design(cells, np.repeat(np.arange(200), 5)) == pytest.approx(5, rel=0.05)
    assert cell_design(rng.integers(0, 4, 1000), np.arange(1000)) == 1.0


@pytest.mark.parametrize("jitter", [0.0, 1e-9, 1e-5])
def test_copies_are_found_exact_or_near(jitter):
    """Rows that were copied, with or without rounding, get one number; others their own."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    X[::7, 1] = np.nan
    both = np.concatenate([X, X[:60] + jitter * rng.normal(size=(60, 4))])
    codes = repeated_rows(both)
    assert codes is not None
    assert np.mean(codes[:60] == codes[300:]) > 0.9
    assert len(np.unique(codes[:300])) == 300


def test_rows_that_coincide_by_chance_are_no_copies():
    """Tables of few values, of one column, or with one common row have no copies to speak of."""
    rng = np.random.default_rng(4)
    assert repeated_rows(rng.integers(0, 3, (500, 3)).astype(float)) is None
    assert repeated_rows(rng.normal(size=(2000, 1))) is None
    assert repeated_rows(rng.normal(size=(2000, 1)).round(2)) is None
    common = rng.normal(size=(500, 4))
    common[:100] = 0.0
    assert repeated_rows(common) is None
    assert repeated_rows(np.ones((500, 2))) is None


def test_copies_among_sparse_rows():
    """The same for sparse rows."""
    X = sparse.random_array((400, 50), density=0.1, random_state=0, format="csr")
    assert repeated_rows(X) is None
    codes = repeated_rows(sparse.vstack([X, X[:80]], format="csr"))
    assert codes is not None
    np.testing.assert_array_equal(codes[:80], codes[400:])


def test_folds_keep_groups_together():
    """Rows of one group share a fold; folds differ by few groups; every fold can be learned for."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        groups = np.sort(rng.integers(0, 40, 300))
        labels = rng.random(300) < rng.uniform(0.03, 0.97)
        if min(len(np.unique(groups[labels])), len(np.unique(groups[~labels]))) < 2:
            continue
        folds = group_folds(groups, labels, 5, rng)
        assert all(len(np.unique(folds[groups == g])) == 1 for g in np.unique(groups))
        for k in range(int(folds.max()) + 1):
            assert len(np.unique(labels[folds != k])) == 2


def test_a_label_in_one_group_only_is_refused():
    """No one can learn a label from other groups that have none of it."""
    with pytest.raises(ValueError, match="two groups"):
        group_folds([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], 3, np.random.default_rng(0))


def test_spans_of_time_follow_each_other():
    """Spans are in order, moments are not divided, and training rows are earlier."""
    rng = np.random.default_rng(6)
    time = rng.integers(0, 50, 400)
    spans = time_spans(time, 6)
    assert np.all(np.diff(spans[np.argsort(time, kind="stable")]) >= 0)
    assert all(len(np.unique(spans[time == t])) == 1 for t in np.unique(time))
    for k in range(1, 6):
        assert time[training_rows(spans, k, forward=True)].max() < time[spans == k].min()


def test_drift_is_noticed_beyond_chance():
    """Of 200 stable series hardly any is said to drift; one that turns is."""
    rng = np.random.default_rng(7)
    spans = np.repeat(np.arange(5), 100)
    found = 0
    for _ in range(200):
        score = rng.normal(size=500)
        labels = rng.random(500) < 1 / (1 + np.exp(-score))
        found += drift(score, labels, spans) is not None
    assert found <= 4
    turned = drift(score, (score > 0) ^ (spans > 2), spans)
    assert turned == (0.0, 1.0)
