"""Folds, stratified in order and at random."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from flipcost.core.folds import random_folds, stratified_folds


@pytest.mark.filterwarnings("ignore:The least populated class")
@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(2, 9))
def test_folds_are_scikit_learns(labels, n_folds):
    """Rows go to the folds that StratifiedKFold puts them in, for any labels in any order."""
    positive = np.array(labels)
    assume(max(positive.sum(), (~positive).sum()) >= n_folds)
    expected = np.full(len(positive), -1)
    for k, (_, test) in enumerate(StratifiedKFold(n_folds).split(positive, positive)):
        expected[test] = k
    np.testing.assert_array_equal(stratified_folds(positive, n_folds), expected)


def test_shares_are_even():
    """Every fold has its share of both classes, to one row."""
    positive = np.random.default_rng(0).random(1003) < 0.23
    folds = stratified_folds(positive, 7)
    for inside in (positive, ~positive):
        sizes = np.bincount(folds[inside], minlength=7)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("n_folds", [1, 0, 4])
def test_bad_numbers_of_folds_are_refused(n_folds):
    """Fewer than two folds, or more than rows of the larger class, are refused."""
    with pytest.raises(ValueError, match=r"at least 2 and at most .* 3; got .*Choose"):
        stratified_folds([True, True, True, False], n_folds)


def test_random_folds_are_stratified():
    """Every class of a random assignment is spread over the folds to within one row."""
    classes = np.repeat([0, 1, 2], [101, 33, 7])
    folds = random_folds(classes, 5, np.random.default_rng(0))
    for inside in (slice(None), *(classes == c for c in range(3))):
        sizes = np.bincount(folds[inside], minlength=5)
        assert sizes.max() - sizes.min() <= 1
