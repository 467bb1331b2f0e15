"""Tables of more columns than rows give the solutions of the moments of all columns."""

import numpy as np
import pytest
from scipy import sparse

from flipcost.core import ClassMoments
from flipcost.core.dependence import training_rows
from flipcost.core.solve import solve_path
from flipcost.core.wide import is_wide, rotate, solve_wide, wide_scores
from flipcost.estimators.flipcost import FlipCostClassifier

L2S = [1e-3, 0.1, 10.0]


def solve_scores(moments, l2s):
    """Solve on standardised features by the moments of all columns, in the units of the rows."""
    centre, spread = moments.centre(), moments.spread()
    path = solve_path(moments.rescale(centre, spread), [0.5], [1.0], l2s)[0, 0, :, 0]
    slopes = path[:, :-1] / spread
    return np.column_stack([slopes, path[:, -1] - slopes @ centre])


def wide_rows(n=40, d=70, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.gamma(2.0, 1.0, d) + 5 * rng.normal(size=d)
    X[:, 3] = 7.25  # a constant
    X[:, 5] = X[:, 4]  # a copy
    return X, X[:, 0] + rng.normal(size=n) > np.median(X[:, 0]), rng.gamma(2.0, 1.0, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_rows_tell_what_the_moments_tell(kind, weighted):
    """Coefficients agree to rounding; those of constants are zero."""
    X, positive, weight = wide_rows()
    weight = weight if weighted else None
    found = solve_wide(kind(X), positive, weight, L2S)
    moments = ClassMoments.from_rows(X, positive, weight)
    expected = solve_scores(moments, L2S)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    assert np.all(found[:, 3] == 0)


@pytest.mark.parametrize("forward", [False, True])
def test_scores_out_of_fold_agree(forward):
    """Each fold is standardised and solved on its own training rows."""
    X, positive, weight = wide_rows()
    folds = np.arange(len(X)) % 4
    training = [training_rows(folds, k, forward=forward) for k in range(4)]
    _, scores = wide_scores(X, positive, weight, folds, L2S, training)
    for k, train in enumerate(training):
        moments = ClassMoments.from_rows(X[train], positive[train], weight[train])
        one = solve_scores(moments, L2S)
        expected = one[:, :-1] @ X[folds == k].T + one[:, -1:]
        np.testing.assert_allclose(scores[:, folds == k], expected, atol=1e-6)


def test_rotated_rows_have_rotated_solutions():
    """At any cost, margin, penalty and rate."""
    X, positive, _ = wide_rows()
    rotated, axes = rotate(X)
    grid = ([0.2, 0.5], [1.0, 0.5], L2S, [None, 0.1])
    small = solve_path(ClassMoments.from_rows(rotated, positive), *grid)
    large = solve_path(ClassMoments.from_rows(X, positive), *grid)
    back = np.concatenate([small[..., :-1] @ axes.T, small[..., -1:]], axis=-1)
    np.testing.assert_allclose(back, large, atol=1e-6)


def test_what_is_not_finite_is_refused():
    """In the words of the parameter."""
    X, positive, _ = wide_rows()
    X[2, 2] = 1e200
    with pytest.raises(ValueError, match="squares must not overflow"):
        solve_wide(X, positive, None, L2S)


def test_no_penalty_is_left_to_moments():
    """Without one the solution of least norm depends on the coordinates."""
    assert is_wide(np.ones((3, 5)), [0.1])
    assert not is_wide(np.ones((3, 5)), [0.0, 0.1])


def test_a_wide_table_is_learned_from():
    """Thousands of columns take no longer than some hundred rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3_000)) * (rng.random((120, 3_000)) < 0.2)
    X[:, :40] += 2 * (np.arange(120) % 2)[:, None] - 1
    model = FlipCostClassifier(random_state=0).fit(X, np.arange(120) % 2)
    assert model.score(X, np.arange(120) % 2) > 0.9
