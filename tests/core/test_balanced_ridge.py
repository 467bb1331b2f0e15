"""Ridge regression on labels of -1 and 1: every solver gives the closed form's solution."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from flipcost.core import ClassMoments
from flipcost.core import balanced_ridge as module
from flipcost.core.balanced_ridge import (
    is_wide,
    krylov_path,
    ridge_path,
    ridge_scores,
    rotate,
    training_moments,
    wide_path,
)
from flipcost.core.dependence import training_rows
from flipcost.core.moments import fold_moments
from flipcost.core.scoring import HingeBasis
from flipcost.core.solve import solve_path
from flipcost.estimators.flipcost import FlipCostClassifier

L2S = [0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0]


def draw(seed, n=200, d=5):
    """Return rows with an offset, a constant and two equal columns, labels and folds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 10
    X[:, 2], X[:, 4] = 3.1, X[:, 1]
    return X, X[:, 0] + rng.normal(size=n) > 10.5, rng.integers(0, 4, n)


def closed_form(moments, l2s):
    """Solve on standardised features by the moments of the classes, in the units of the rows."""
    centre, spread = moments.centre(), moments.spread()
    path = solve_path(moments.rescale(centre, spread), [0.5], [1.0], l2s)[0, 0, :, 0]
    slopes = path[:, :-1] / spread
    return np.column_stack([slopes, path[:, -1] - slopes @ centre])


def test_it_is_ridge_regression():
    """Of scikit-learn on standardised features, the intercept as one more column of ones."""
    X, positive, folds = draw(0)
    X = X[:, [0, 1, 3]]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = Ridge(alpha=2 * 0.3 * len(X), fit_intercept=False)
    peer.fit(np.column_stack([Z, np.ones(len(X))]), np.where(positive, 1.0, -1.0))
    found, _ = ridge_scores(X, HingeBasis.linear(3), positive, None, folds, [0.3])
    np.testing.assert_allclose(
        X @ found[0, :-1] + found[0, -1], Z @ peer.coef_[:-1] + peer.coef_[-1]
    )


@pytest.mark.parametrize("l2s", [[1e-3, 0.1, 10.0], [0.0, 1.0]])
def test_moments_give_the_closed_form(l2s):
    """At cost 1/2 and margin 1, on standardised features, also where systems are singular."""
    X, positive, _ = draw(0)
    moments = ClassMoments.from_rows(X, positive)
    found = ridge_path(moments, [np.arange(5), np.arange(2)], l2s)
    for k, columns in enumerate([np.arange(5), np.arange(2)]):
        expected = np.zeros((len(l2s), 6))
        expected[:, [*columns, -1]] = closed_form(moments.take(columns), l2s)
        part = found[k * len(l2s) : (k + 1) * len(l2s)]
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("forward", [False, True])
def test_folds_are_scored_by_the_rows_of_others(forward):
    """Merged moments are those of the rows that each fold is scored by, and last of all rows."""
    X, positive, folds = draw(1)
    parts = fold_moments(X, positive, folds, 4)
    trained = [training_rows(folds, k, forward=forward) for k in range(4)]
    found = training_moments(parts, forward=forward)
    for own, rows in zip(found, [*trained, np.arange(len(X))], strict=True):
        expected = ClassMoments.from_rows(X[rows], positive[rows])
        np.testing.assert_array_equal(own.weight, expected.weight)
        np.testing.assert_allclose(own.mean, expected.mean)
        np.testing.assert_allclose(own.scatter, expected.scatter, atol=1e-8)


def test_a_penalty_below_zero_is_refused():
    """The sentence is that of the general solution."""
    X, positive, folds = draw(1)
    with pytest.raises(ValueError, match="`l2` must be zero or a positive number"):
        ridge_scores(X, HingeBasis.linear(5), positive, None, folds, [-1.0])


def rows_with_offsets(seed, n=700, d=4):
    """Return rows with an offset, a constant and an indicator, labels, folds and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + np.arange(d) * 1e4
    X[:, 1], X[:, 2] = 7.3, rng.random(n) < 0.1
    return X, rng.random(n) < 0.4, rng.integers(0, 3, n), rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_expanded_some_at_a_time(monkeypatch, weighted):
    """Whatever the chunks and the weights, and a large offset costs no digits."""
    X, positive, folds, weight = rows_with_offsets(0)
    basis, weight = HingeBasis.from_rows(X, 3), weight if weighted else None
    expected = ridge_scores(X, basis, positive, weight, folds, [0.1])
    monkeypatch.setattr(module, "_CHUNK_ROWS", 100)
    found = ridge_scores(X, basis, positive, weight, folds, [0.1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-8)


def test_what_overflows_is_said():
    """Values whose squares overflow are refused with the sentence of all moments."""
    X, positive, folds, _ = rows_with_offsets(2)
    X[0, 0] = 1e200
    with pytest.raises(ValueError, match="must not overflow"):
        ridge_scores(X, HingeBasis.from_rows(X, 2), positive, None, folds, [1.0])


def test_splines_are_scored_out_of_fold():
    """Linear scores come first, then those of all columns, each from the other folds."""
    X, positive, folds, weight = rows_with_offsets(3)
    basis = HingeBasis.from_rows(X, 2)
    coefficients, scores = ridge_scores(X, basis, positive, weight, folds, [0.1, 1.0])
    assert coefficients.shape == (4, basis.n_columns + 1)
    assert not coefficients[:2, X.shape[1] : -1].any()
    for fold in range(3):
        train, own = folds != fold, folds == fold
        moments = ClassMoments.from_rows(basis.expand(X[train]), positive[train], weight[train])
        expected = closed_form(moments, [0.1, 1.0])
        by_hand = basis.expand(X[own]) @ expected[:, :-1].T + expected[:, -1]
        np.testing.assert_allclose(scores[2:, own], by_hand.T, atol=1e-7)


# More columns than rows.


def wide_rows(n=40, d=70, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.gamma(2.0, 1.0, d) + 5 * rng.normal(size=d)
    X[:, 3] = 7.25  # a constant
    X[:, 5] = X[:, 4]  # a copy
    return X, X[:, 0] + rng.normal(size=n) > np.median(X[:, 0]), rng.gamma(2.0, 1.0, n)


@pytest.mark.parametrize("weighted", [False, True])
def test_inner_products_tell_what_moments_tell(weighted):
    """Coefficients agree to rounding; those of constants are zero."""
    X, positive, weight = wide_rows()
    weight = weight if weighted else None
    found = wide_path(X, positive, weight, np.array(L2S))
    expected = closed_form(ClassMoments.from_rows(X, positive, weight), L2S)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    assert np.all(found[:, 3] == 0)


@pytest.mark.parametrize("forward", [False, True])
def test_wide_rows_are_scored_out_of_fold(forward):
    """Each fold is standardised and solved on its own training rows."""
    X, positive, weight = wide_rows()
    folds, basis = np.arange(len(X)) % 4, HingeBasis.linear(X.shape[1])
    _, scores = ridge_scores(X, basis, positive, weight, folds, L2S, forward=forward)
    for k in range(4):
        train = training_rows(folds, k, forward=forward)
        one = closed_form(ClassMoments.from_rows(X[train], positive[train], weight[train]), L2S)
        expected = one[:, :-1] @ X[folds == k].T + one[:, -1:]
        np.testing.assert_allclose(scores[:, folds == k], expected, atol=1e-6)


def test_rotated_rows_have_rotated_solutions():
    """At any cost, margin, penalty and rate."""
    X, positive, _ = wide_rows()
    rotated, axes = rotate(X)
    grid = ([0.2, 0.5], [1.0, 0.5], [1e-3, 0.1, 10.0], [None, 0.1])
    small = solve_path(ClassMoments.from_rows(rotated, positive), *grid)
    large = solve_path(ClassMoments.from_rows(X, positive), *grid)
    back = np.concatenate([small[..., :-1] @ axes.T, small[..., -1:]], axis=-1)
    np.testing.assert_allclose(back, large, atol=1e-6)


def test_wide_rows_that_are_not_finite_are_refused():
    """In the words of the parameter."""
    X, positive, _ = wide_rows()
    X[2, 2] = 1e200
    with pytest.raises(ValueError, match="squares must not overflow"):
        wide_path(X, positive, None, np.array(L2S))


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


# Many rows of many columns.


def counts(seed, n=400, d=60):
    """Return counts with a constant column and an empty one, labels, folds and weights."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, size=(n, d)).astype(float)
    X[:, 3], X[:, 4] = 2.0, 0.0
    positive = X @ rng.normal(size=d) + rng.normal(size=n) > 0
    return X, positive, rng.integers(0, 4, n), rng.integers(1, 3, n).astype(float)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_on_sparse_rows_solve_the_normal_equations(monkeypatch, weighted, forward):
    """Run to the end, conjugate gradients give what dense algebra gives, part by part."""
    monkeypatch.setattr(module, "_SPARSE_TOLERANCE", 1e-11)
    X, positive, folds, weight = counts(0)
    weight = weight if weighted else None
    rows = sparse.csr_matrix(X)
    found = krylov_path(rows, positive, folds, 4, L2S, weight, forward=forward)
    trained = [training_rows(folds, k, forward=forward) for k in range(4)]
    for part, own in zip(found, [*trained, np.arange(len(X))], strict=True):
        np.testing.assert_allclose(part, by_hand(X, positive, weight, own), rtol=1e-6, atol=1e-8)


def by_hand(X, positive, weight, rows):
    """Return coefficients from a scatter of the rows that are learned from."""
    w = np.ones(len(X)) if weight is None else weight
    everywhere = np.sqrt(np.cov(X.T, aweights=w, bias=True).diagonal())
    of_entries = np.repeat(everywhere, np.count_nonzero(X, axis=0))
    floor = np.quantile(of_entries, 0.5, method="inverted_cdf")
    covariance = np.cov(X[rows].T, aweights=w[rows], bias=True)
    scale = np.maximum(np.sqrt(covariance.diagonal()), floor)
    mean, share = (np.average(v[rows], axis=0, weights=w[rows]) for v in (X, positive))
    right = ((X[rows] - mean) * (positive[rows] * w[rows])[:, None]).sum(0) / w[rows].sum() / scale
    found = []
    for l2 in L2S:
        system = covariance / np.outer(scale, scale) / 2 + l2 * np.eye(len(scale))
        slopes = np.linalg.solve(system, right) / scale
        found.append([*slopes, (2 * share - 1) / (1 + 2 * l2) - slopes @ mean])
    return np.array(found)


def test_sparse_scores_are_close_at_the_usual_tolerance():
    """Where it stops usually, scores are off by less than a thousandth of their spread."""
    X, positive, folds, _ = counts(1)
    expected = by_hand(X, positive, None, np.arange(len(X)))
    found = krylov_path(sparse.csr_matrix(X), positive, folds, 4, L2S)[-1]
    off = X @ (found - expected)[:, :-1].T
    assert np.all(off.std(axis=0) < 1e-3 * (X @ expected[:, :-1].T).std(axis=0))


def test_labels_that_nothing_tells_apart_give_no_slopes():
    """Without covariance with the labels there is nothing to solve."""
    X = sparse.csr_matrix(np.ones((6, 2)))
    found = krylov_path(X, [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2], 3, [0.1])
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_on_dense_rows_give_what_scatters_give(monkeypatch, weighted, forward):
    """Steps on dense rows end where the factors of their scatters do, part by part."""
    monkeypatch.setattr(module, "_COLUMNS_OF_A_STEP", 0.1)
    monkeypatch.setattr(module, "_DENSE_TOLERANCE", 1e-11)
    monkeypatch.setattr(module, "_DENSE_BLOCK", 8 * 60 * 33)
    X, positive, folds, weight = counts(2)
    X = X + np.linspace(-3, 3, X.shape[1])
    weight = weight if weighted else None
    found = krylov_path(X, positive, folds, 4, L2S, weight, forward=forward)
    parts = fold_moments(X, positive, folds, 4, weight)
    for own, train in zip(found, training_moments(parts, forward=forward), strict=True):
        expected = ridge_path(train, [np.arange(X.shape[1])], L2S)
        np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-8)


def test_dense_rows_that_take_long_are_left_to_scatters(monkeypatch):
    """Nearly dependent columns, columns far from zero and what is not finite are given back."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr(module, "_COLUMNS_OF_A_STEP", 2.0)
    X, folds = rng.normal(size=(500, 40)), np.arange(500) % 5
    y = X[:, 0] + rng.normal(size=500) > 0
    assert krylov_path(X, y, folds, 5, L2S) is not None
    assert krylov_path(np.cumsum(X, axis=1), y, folds, 5, L2S) is None
    assert krylov_path(X + 1e5, y, folds, 5, L2S) is None
    X[7, 7] = np.nan
    assert krylov_path(X, y, folds, 5, L2S) is None
