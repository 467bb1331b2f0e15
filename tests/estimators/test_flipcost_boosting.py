"""Boosting's score of new rows: scikit-learn's, missing values and categories included."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from flipcost import FlipCostClassifier
from flipcost.core.trees import TreeSum, read_trees
from flipcost.estimators.flipcost.boosting import (
    boosting_classifier,
    boosting_scores,
)


@pytest.fixture
def rows():
    """Return numbers, two columns of codes, gaps in all of them, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    X[:, 1], X[:, 3] = rng.integers(40, size=3000), rng.integers(3, size=3000)
    positive = (X[:, 0] * X[:, 2] > 0) ^ (X[:, 1] % 3 == 0) ^ (rng.random(3000) < 0.2)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, positive


@pytest.mark.parametrize("some", [(), (1,), (1, 3)], ids=["numbers", "one", "two"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_scores_are_those_of_scikit_learn(rows, some, gaps):
    """Also for codes and gaps that training did not have."""
    X, positive = rows
    learned = X if gaps else np.nan_to_num(X)
    is_category = np.isin(np.arange(5), some)
    fitted = boosting_classifier(is_category, 0).fit(learned[:2000], positive[:2000])
    X = X.copy()
    X[2500:, 1] += 30  # most of these were not seen
    found = read_trees(fitted).score(X)
    np.testing.assert_allclose(found, fitted.decision_function(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("some", [(), (1, 3)], ids=["numbers", "categories"])
def test_the_mean_of_boostings_is_one_sum_of_trees(rows, some):
    """Its score is the mean of theirs."""
    X, positive = rows
    is_category = np.isin(np.arange(5), some)
    fits = [boosting_classifier(is_category, k).fit(X[k::3], positive[k::3]) for k in range(3)]
    mean = TreeSum.mean([read_trees(fitted) for fitted in fits])
    theirs = np.mean([fitted.decision_function(X) for fitted in fits], axis=0)
    np.testing.assert_allclose(mean.score(X), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_no_row_is_scored_by_what_it_taught(rows, n_folds):
    """With the labels of one fold flipped, scores change in all others, but not in that fold."""
    X, positive = rows
    folds, none = np.arange(3000) % n_folds, np.zeros(5, bool)
    _, before = boosting_scores(X, none, positive, None, folds)
    _, after = boosting_scores(X, none, positive ^ (folds == 0), None, folds)
    assert np.array_equal(before[folds == 0], after[folds == 0])
    for k in range(1, n_folds):
        # Two folds are apart in each pair of halves with probability 1/2 or more.
        assert not np.array_equal(before[folds == k], after[folds == k])


def test_later_folds_teach_nothing_forward(rows):
    """With the labels of a fold flipped, only later ones, and the first, change."""
    X, positive = rows
    folds, none = np.arange(3000) // 600, np.zeros(5, bool)
    _, before = boosting_scores(X, none, positive, None, folds, forward=True)
    _, after = boosting_scores(X, none, positive ^ (folds == 3), None, folds, forward=True)
    changed = [not np.array_equal(before[folds == k], after[folds == k]) for k in range(5)]
    assert changed == [True, False, False, False, True]


def test_noisy_labels_lead_the_mean_less_astray():
    """Of a line with three labels in ten flipped, it orders rows better than one boosting does."""
    gained = []
    for seed in range(5):
        rng = np.random.default_rng([7, seed])
        X = rng.normal(size=(800, 8))
        noisy = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(800) < 0.3)
        mean, _ = boosting_scores(X, np.zeros(8, bool), noisy, None, np.arange(800) % 10)
        plain = boosting_classifier(np.zeros(8, bool), seed).fit(X, noisy)
        fresh = rng.normal(size=(4000, 8))
        right = fresh[:, 0] + fresh[:, 1] > 0
        scored = (made.score(fresh) for made in (mean, read_trees(plain)))
        found = [roc_auc_score(right, scores) for scores in scored]
        gained.append(found[0] - found[1])
    assert np.mean(gained) > 3 * np.std(gained, ddof=1) / np.sqrt(5)


def test_folds_whose_halves_lack_a_label_have_no_boosting(rows):
    """All positives in one fold leave nothing to learn from without it."""
    X, _ = rows
    folds = np.arange(3000) % 4
    assert boosting_scores(X, np.zeros(5, bool), folds == 0, None, folds) is None


def test_columns_known_in_few_rows_are_learned_from():
    """Halves in which nothing of a column is known are no reason to fail, whatever ties rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    positive, spans = X[:, 0] > rng.normal(size=600), np.arange(600) // 100
    seldom, late, grouped, never = (X.copy() for _ in range(4))
    seldom[3:, 2] = late[:400, 2] = grouped[spans >= 2, 2] = never[:, 2] = np.nan
    options = [(seldom, {}), (late, {"time": spans}), (grouped, {"groups": spans}), (never, {})]
    for cells, ties in options:
        model = FlipCostClassifier(random_state=0).fit(cells, positive, **ties)
        assert model.scorer_.boosting is not None
        assert np.isfinite(model.predict_proba(cells)).all()


@pytest.mark.parametrize("forward", [False, True])
def test_halves_without_weight_teach_nothing(rows, forward):
    """Rows of no weight are as if they were not there; where a label has none, no boosting is."""
    X, positive = rows
    folds, none = np.arange(3000) // 750, np.zeros(5, bool)
    known = (folds % 2 == 0).astype(float)
    made = boosting_scores(X, none, positive, known, folds, forward=forward)
    assert made is not None
    assert abs(made[0].baseline) < 1
    one_label = np.where(positive & (folds > 0), 0.0, 1.0)
    assert boosting_scores(X, none, positive, one_label, folds, forward=forward) is None


def test_trees_are_as_many_as_labels_bear_out():
    """Few rows with many wrong labels get few; more come with rows and clean labels."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12_000, 6))
    clean = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] > 0

    def length(n, wrong):
        noisy = clean[:n] ^ (rng.random(n) < wrong)
        made, _ = boosting_scores(X[:n], np.zeros(6, bool), noisy, None, np.arange(n) % 10)
        return len(made.trees)

    few, some, many = length(300, 0.4), length(2_000, 0.3), length(12_000, 0.0)
    assert few == 64
    assert few < some < many == 512


def test_boosting_does_not_end_with_many_rows():
    """Above 100,000 rows there is boosting as below."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(110_000, 2))
    noisy = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(len(X)) < 0.2)
    model = FlipCostClassifier(random_state=0).fit(X, noisy)
    right = model.predict(X[:5000]) == (X[:5000, 0] * X[:5000, 1] > 0)
    assert right.mean() > 0.97


def test_the_summary_says_what_scores_are_made_of_and_what_was_left_out(rows):
    X, positive = rows

    def said(X, positive, **options):
        summary = FlipCostClassifier(random_state=0, **options).fit(X, positive).summary()
        return " ".join(summary.partition("\n\n")[0].split())

    both = said(X, positive)
    assert "Scores: linear, splines of " in both
    assert " knots, boosting of " in both
    assert "Left out" not in both
    assert said(X, positive, features="linear").endswith("Scores: linear.")
    few = said(X[:100], np.arange(100) < 20)
    assert few.endswith(
        "Left out: boosting (under 30 rows of a label, or fewer rows than columns)."
    )
    X, sparse_rows = np.nan_to_num(np.tile(X, 11)), sparse.csr_matrix(np.nan_to_num(X))
    assert "Left out: splines (more than 50 numbers)." in said(X, positive)
    assert "splines (rows are sparse); boosting (rows are sparse)" in said(sparse_rows, positive)
