"""Wide sparse rows: the scores are those of the closed form."""

import numpy as np
import pytest
from scipy import sparse

from flipcost.core import sparse_scores as module
from flipcost.core.dependence import training_rows
from flipcost.core.even import LabelMoments, even_scores, training_moments
from flipcost.core.moments import fold_moments
from flipcost.core.sparse_scores import dense_scores, sparse_scores

L2S = [0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0]


def draw(seed, n=400, d=60):
    """Return sparse rows with a constant column and an empty one, labels, folds and weights."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, size=(n, d)).astype(float)
    X[:, 3], X[:, 4] = 2.0, 0.0
    positive = X @ rng.normal(size=d) + rng.normal(size=n) > 0
    return X, positive, rng.integers(0, 4, n), rng.integers(1, 3, n).astype(float)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_solve_the_normal_equations(monkeypatch, weighted, forward):
    """Run to the end, conjugate gradients give what dense algebra gives, part by part."""
    monkeypatch.setattr(module, "_TOLERANCE", 1e-11)
    X, positive, folds, weight = draw(0)
    weight = weight if weighted else None
    rows = sparse.csr_matrix(X)
    found = sparse_scores(rows, positive, folds, 4, L2S, weight, forward=forward)
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


def test_scores_are_close_at_the_usual_tolerance():
    """Where it stops usually, scores are off by less than a thousandth of their spread."""
    X, positive, folds, _ = draw(1)
    expected = by_hand(X, positive, None, np.arange(len(X)))
    found = sparse_scores(sparse.csr_matrix(X), positive, folds, 4, L2S)[-1]
    off = X @ (found - expected)[:, :-1].T
    assert np.all(off.std(axis=0) < 1e-3 * (X @ expected[:, :-1].T).std(axis=0))


def test_labels_that_nothing_tells_apart_give_no_slopes():
    """Without covariance with the labels there is nothing to solve."""
    X = sparse.csr_matrix(np.ones((6, 2)))
    found = sparse_scores(X, [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2], 3, [0.1])
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_dense_rows_give_what_scatters_give(monkeypatch, weighted, forward):
    """Steps on dense rows end where the factors of their scatters do, part by part."""
    monkeypatch.setattr(module, "_COLUMNS_OF_A_STEP", 0.1)
    monkeypatch.setattr(module, "_DENSE_TOLERANCE", 1e-11)
    monkeypatch.setattr(module, "_DENSE_BLOCK", 8 * 60 * 33)
    X, positive, folds, weight = draw(2)
    X = X + np.linspace(-3, 3, X.shape[1])
    weight = weight if weighted else None
    found = dense_scores(X, positive, folds, 4, L2S, weight, forward=forward)
    classes = fold_moments(X, positive, folds, 4, weight)
    parts = [LabelMoments.from_classes(part) for part in classes]
    trained = [*training_moments(parts, forward=forward)]
    trained.append(trained[0].merge(parts[0]))
    for own, train in zip(found, trained, strict=True):
        expected = even_scores(train, [np.arange(X.shape[1])], L2S)
        np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-8)


def test_dense_rows_that_take_long_are_left_to_scatters(monkeypatch):
    """Nearly dependent columns, columns far from zero and what is not finite are given back."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr(module, "_COLUMNS_OF_A_STEP", 2.0)
    X, folds = rng.normal(size=(500, 40)), np.arange(500) % 5
    y = X[:, 0] + rng.normal(size=500) > 0
    assert dense_scores(X, y, folds, 5, L2S) is not None
    assert dense_scores(np.cumsum(X, axis=1), y, folds, 5, L2S) is None
    assert dense_scores(X + 1e5, y, folds, 5, L2S) is None
    X[7, 7] = np.nan
    assert dense_scores(X, y, folds, 5, L2S) is None
