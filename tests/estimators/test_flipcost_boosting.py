"""Boosting's score of new rows: scikit-learn's, missing values and categories included."""

import gc
import pickle

import numpy as np
import pytest

from flipcost.estimators.flipcost import boosting
from flipcost.estimators.flipcost.boosting import boosting_classifier, tree_scores


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
    found = tree_scores(fitted, X)
    np.testing.assert_allclose(found, fitted.decision_function(X), rtol=0, atol=1e-12)


def test_what_was_made_ready_goes_with_its_boosting(rows):
    """It is neither saved nor kept when the boosting is gone."""
    X, positive = rows
    fitted = boosting_classifier(np.zeros(5, bool), 0).fit(X, positive)
    before = pickle.dumps(fitted)
    tree_scores(fitted, X[:1])
    assert pickle.dumps(fitted) == before
    assert fitted in boosting._READY
    held = len(boosting._READY)
    del fitted
    gc.collect()
    assert len(boosting._READY) < held
