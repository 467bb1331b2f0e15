"""Boosting on columns that are binned once: scikit-learn's, by its grower or its public class."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from flipcost.core.trees import TreeSum
from flipcost.estimators.flipcost import boosting as grower
from flipcost.estimators.flipcost.boosting import BinnedColumns, Boosting, BoostingOptions

CATEGORY = np.array([False, False, True, False])


@pytest.fixture
def rows():
    """Return numbers, one of few values, a category, gaps in all of them, labels and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4)).round(1)
    X[:, 1], X[:, 2] = rng.integers(9, size=2000), rng.integers(40, size=2000)
    positive = (X[:, 0] > 0) ^ (X[:, 2] % 3 == 0) ^ (rng.random(2000) < 0.2)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, positive, rng.uniform(0.5, 2, 2000)


def grow(rows, weighted, *, steps=(5, 15)):
    """Return the trees of boosting that is grown step by step."""
    X, positive, weight = rows
    weight = weight if weighted else None
    bins = BinnedColumns.learn(X, CATEGORY, weight, 255)
    made = Boosting(bins, np.arange(2000), positive, weight, BoostingOptions(), 0)
    return TreeSum(sum((made.grown(k) for k in steps), ()), made.baseline)


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_those_of_scikit_learn(rows, weighted):
    """Where each value is a bin, but for rounding."""
    X, positive, weight = rows
    options = vars(BoostingOptions()) | {"max_iter": 20, "early_stopping": False}
    theirs = HistGradientBoostingClassifier(categorical_features=CATEGORY, **options)
    scaled = weight / weight.mean()
    theirs.fit(X, positive, sample_weight=scaled if weighted else None)
    found = grow(rows, weighted).score(X)
    np.testing.assert_allclose(found, theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_public_class_grows_the_same_trees(rows, weighted, monkeypatch):
    """Where a release of scikit-learn moves its grower, scores stay."""
    X, _, _ = rows
    ours = grow(rows, weighted).score(X)
    monkeypatch.setattr(grower, "TreeGrower", None)
    theirs = grow(rows, weighted).score(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_growing_on_is_growing_at_once(rows):
    """Steps leave no trace."""
    X, _, _ = rows
    at_once, in_steps = (grow(rows, weighted=False, steps=s).score(X) for s in ((20,), (1, 7, 12)))
    np.testing.assert_array_equal(at_once, in_steps)


def test_weights_count_by_their_ratios(rows):
    """A thousand times the weights give the same trees."""
    X, positive, weight = rows
    some, more = (grow((X, positive, w), weighted=True).score(X) for w in (weight, 1024 * weight))
    np.testing.assert_allclose(some, more, atol=1e-12)


def test_bins_hold_equal_weight(rows):
    """Of many values; of few values each is its own bin, as is each level of a category."""
    X, _, weight = rows
    X = X + np.array([1e-9, 0, 0, 0]) * np.arange(2000)[:, None]  # no two are the same
    bins = BinnedColumns.learn(X, CATEGORY, weight, 50)
    known = ~np.isnan(X)
    assert np.array_equal(bins.codes == bins.missing, ~known)
    mass = np.bincount(bins.codes[known[:, 0], 0], weight[known[:, 0]])
    assert len(mass) == 50
    assert np.abs(mass / mass.sum() - 1 / 50).max() < 0.002
    assert np.array_equal(bins.codes[known[:, 1], 1], X[known[:, 1], 1])
    assert np.array_equal(bins.codes[known[:, 2], 2], X[known[:, 2], 2])
