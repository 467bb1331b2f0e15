"""Moments and scores of rows that bend: the same as of expanded rows."""

import numpy as np
import pytest

from flipcost.core import hinge_moments as module
from flipcost.core.even import LabelMoments
from flipcost.core.hinge_moments import hinge_scores, label_moments
from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import fold_moments
from flipcost.core.scoring import fold_scores


def draw(seed, n=700, d=4):
    """Return rows with an offset, a constant and an indicator, labels, folds and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + np.arange(d) * 1e4
    X[:, 1], X[:, 2] = 7.3, rng.random(n) < 0.1
    return X, rng.random(n) < 0.4, rng.integers(0, 3, n), rng.integers(0, 3, n).astype(float)


def assert_same_moments(found, classes):
    """Compare to rounding, in the units of the features, with what class moments come to."""
    for a, b in zip(found, map(LabelMoments.from_classes, classes), strict=True):
        np.testing.assert_allclose(a.weight, b.weight)
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(a.scatter, b.scatter, atol=1e-9 * np.trace(b.scatter))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("block_bytes", [1, 1_500_000])
def test_moments_are_those_of_expanded_rows(monkeypatch, weighted, order, block_bytes):
    """Whatever the blocks, the layout and the weights, and a large offset costs no digits."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
    X, positive, folds, weight = draw(0)
    basis = HingeBasis.from_rows(X, 3)
    weight = weight if weighted else None
    expected = fold_moments(basis.expand(X), positive, folds, 3, weight)
    found = label_moments(np.asarray(X, order=order), basis, positive, folds, 3, weight)
    assert_same_moments(found, expected)


def test_offsets_within_a_fold_go_the_careful_way():
    """A light fold far off, against the spread of all rows, keeps its digits."""
    X, positive, folds, _ = draw(1)
    light = folds == 2
    X[light, 0] += 1e8
    weight = np.where(light, 1e-15, 1.0)
    basis = HingeBasis.from_rows(X, 2, weight)
    expected = fold_moments(basis.expand(X), positive, folds, 3, weight)
    found = label_moments(X, basis, positive, folds, 3, weight)
    assert_same_moments(found, expected)
    careful = LabelMoments.from_classes(expected[2]).scatter
    np.testing.assert_allclose(found[2].scatter, careful, atol=1e-20)


def test_what_overflows_is_said():
    """Values whose squares overflow are refused with the sentence of all moments."""
    X, positive, folds, _ = draw(2)
    X[0, 0] = 1e200
    with pytest.raises(ValueError, match="must not overflow"):
        label_moments(X, HingeBasis.from_rows(X, 2), positive, folds, 3)


@pytest.mark.parametrize("bent", [range(5), [1, 2], [0, 3], []], ids=str)
@pytest.mark.parametrize("sorted_folds", [False, True])
def test_scores_are_those_of_expanded_rows(monkeypatch, bent, sorted_folds):
    """Whatever lies in a block, each row is scored by its own fold, and comes back in its place."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(module, "_SORTED_ROWS", 200)
    X, _, folds, _ = draw(3)
    folds = np.sort(folds) if sorted_folds else folds
    basis = HingeBasis.from_rows(X, 2)
    path = np.random.default_rng(4).normal(size=(3, 5, basis.n_columns + 1))
    path[:, [c for c in range(5) if c not in bent], X.shape[1] : -1] = 0.0
    expected = fold_scores(X, path, folds, basis.expand)
    np.testing.assert_allclose(hinge_scores(X, basis, path, folds), expected, rtol=1e-11)
