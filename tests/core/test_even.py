"""The closed form at even costs: the same as the general one."""

import numpy as np
import pytest

from flipcost.core.even import LabelMoments, each_without, even_scores
from flipcost.core.moments import ClassMoments, fold_moments
from flipcost.core.solve import solve_path


def draw(seed, n=200, d=5):
    """Return rows with an offset, a constant and two equal columns, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 10
    X[:, 2], X[:, 4] = 3.1, X[:, 1]
    return X, X[:, 0] + rng.normal(size=n) > 10.5, rng.integers(0, 4, n)


@pytest.mark.parametrize("l2s", [[1e-3, 0.1, 10.0], [0.0, 1.0]])
def test_scores_are_those_of_the_general_solution(l2s):
    """At cost 1/2 and margin 1, on standardized features, also where systems are singular."""
    X, positive, _ = draw(0)
    moments = ClassMoments.from_rows(X, positive)
    found = even_scores(LabelMoments.from_classes(moments), [np.arange(5), np.arange(2)], l2s)
    centre, spread = moments.centre(), moments.spread()
    scaled = moments.rescale(centre, spread)
    for k, columns in enumerate([np.arange(5), np.arange(2)]):
        path = solve_path(scaled.take(columns), [0.5], [1.0], l2s)[0, 0, :, 0]
        expected = np.zeros((len(l2s), 6))
        expected[:, columns] = path[:, :-1] / spread[columns]
        expected[:, -1] = path[:, -1] - expected[:, :-1] @ centre
        part = found[k * len(l2s) : (k + 1) * len(l2s)]
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)


def test_parts_without_each_are_merges_of_the_others():
    """Whatever the order, moments without a part are those of its rows left out."""
    X, positive, folds = draw(1)
    parts = [LabelMoments.from_classes(m) for m in fold_moments(X, positive, folds, 4)]
    for k, found in enumerate(each_without(parts)):
        rest = ClassMoments.from_rows(X[folds != k], positive[folds != k])
        expected = LabelMoments.from_classes(rest)
        assert found.weight == expected.weight
        np.testing.assert_allclose(found.mean, expected.mean)
        np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-8)


def test_a_penalty_below_zero_is_refused():
    """The sentence is that of the general solution."""
    moments = LabelMoments(1.0, np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="`l2` must be zero or a positive number"):
        even_scores(moments, [np.arange(1)], [-1.0])
