"""LSPC: closed forms, rows left out, probabilities, and how well eta is estimated."""

from __future__ import annotations

import numpy as np
import pytest

from flipcost.datasets import make_syn2d
from flipcost.paper import lspc
from flipcost.paper.kernels import (
    choose_centers,
    gaussian_kernel,
    squared_distances,
)
from flipcost.paper.lspc import (
    RidgeSpectrum,
    lspc_fit,
    lspc_outputs,
    lspc_probabilities,
    lspc_search,
)


def three_classes(seed=0, n_rows=90):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[codes]
    sq = [squared_distances(X, X[codes == code][:15]) for code in range(3)]
    return X, codes, sq, [gaussian_kernel(base, 1.0) for base in sq], rng


def test_coefficients_solve_the_stated_system():
    """Each class's coefficients satisfy (H + l2 I) theta = h with H over all rows."""
    _, codes, _, phis, _ = three_classes()
    for code, theta in enumerate(lspc_fit(phis, codes, 0.01)):
        H = phis[code].T @ phis[code] / len(codes)
        h = phis[code][codes == code].sum(axis=0) / len(codes)
        np.testing.assert_allclose(H @ theta + 0.01 * theta, h, atol=1e-13)


def test_joint_system_splits_into_classes():
    """The one big system over (x, y) features is block diagonal: its solution is class by class."""
    _, codes, _, phis, _ = three_classes()
    sizes = [phi.shape[1] for phi in phis]
    offsets = np.cumsum([0, *sizes])
    H, h = np.zeros((offsets[-1], offsets[-1])), np.zeros(offsets[-1])
    for row, label in enumerate(codes):
        for code in range(3):
            feature = np.zeros(offsets[-1])
            feature[offsets[code] : offsets[code + 1]] = phis[code][row]
            H += np.outer(feature, feature) / len(codes)
            h += (label == code) * feature / len(codes)
    joint = np.linalg.solve(H + 0.1 * np.eye(len(h)), h)
    np.testing.assert_allclose(np.concatenate(lspc_fit(phis, codes, 0.1)), joint, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_minimum_squared_deviation_is_the_same_solution(n_classes):
    """Ridge regression of the class indicators on common kernels (section F.5) is LSPC."""
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(50, 2)), rng.integers(0, n_classes, 50)
    phi = gaussian_kernel(squared_distances(X, X), 1.0)
    l2 = 0.03
    # Least squares with the penalty as extra rows: no normal equations involved.
    stacked = np.vstack([phi, np.sqrt(50 * l2) * np.eye(50)])
    indicators = np.vstack([np.eye(n_classes)[codes], np.zeros((50, n_classes))])
    deviation = np.linalg.lstsq(stacked, indicators, rcond=None)[0]
    fitted = lspc_fit([phi], codes, l2)
    np.testing.assert_allclose(np.column_stack(fitted), deviation, atol=1e-10)
    np.testing.assert_allclose(lspc_outputs([phi], fitted), phi @ deviation, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_outputs_equal_refits(weighted):
    """Closed-form left-out outputs are those of fits without the row, total penalty unchanged."""
    _, codes, _, phis, rng = three_classes(2, n_rows=40)
    weight = rng.uniform(0.2, 3, 40) if weighted else np.ones(40)
    l2s, phi = np.array([1e-3, 0.1, 2.0]), phis[0]
    target = (codes == 0).astype(float)[:, None]
    spectrum = RidgeSpectrum.from_columns(phi, weight if weighted else None)
    left_out = spectrum.left_out(target, l2s)
    for row in range(40):
        rest = np.arange(40) != row
        gram = (phi[rest] * weight[rest, None]).T @ phi[rest]
        moment = phi[rest].T @ (weight[rest] * target[rest, 0])
        for column, l2 in enumerate(l2s):
            penalty = weight.sum() * l2 * np.eye(phi.shape[1])
            theta = np.linalg.solve(gram + penalty, moment)
            np.testing.assert_allclose(left_out[row, 0, column], phi[row] @ theta, atol=1e-10)


def test_weights_are_repetitions():
    """A row of weight three counts as three rows."""
    _, codes, _, phis, rng = three_classes(4)
    counts = rng.integers(0, 4, len(codes))
    weighted = lspc_fit(phis, codes, 0.01, sample_weight=counts)
    repeated = lspc_fit(
        [np.repeat(phi, counts, axis=0) for phi in phis], np.repeat(codes, counts), 0.01
    )
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("folds", [None, "five"])
def test_search_equals_a_plain_loop(shared, folds):
    """Every score is that of separate fits without the rows that are scored."""
    X, codes, sq, _, rng = three_classes(5, n_rows=45)
    sq = [squared_distances(X, X[:20])] if shared else sq
    fold_of = np.arange(45) if folds is None else rng.integers(0, 5, 45)
    widths, l2s = [0.5, 2.0], [1e-3, 0.1]
    scores = lspc_search(sq, codes, widths, l2s, folds=None if folds is None else fold_of)
    prior = np.bincount(codes) / 45
    for i, width in enumerate(widths):
        phis = [gaussian_kernel(q, width) for q in sq]
        for j, l2 in enumerate(l2s):
            error = np.empty(45)
            for fold in np.unique(fold_of):
                rest, held = fold_of != fold, fold_of == fold
                # Leaving one row out keeps the total penalty; folds keep the mean penalty.
                penalty = l2 * 45 / 44 if folds is None else l2
                theta = lspc_fit([phi[rest] for phi in phis], codes[rest], penalty)
                proba = lspc_probabilities(lspc_outputs([p[held] for p in phis], theta), prior)
                error[held] = 0.5 * ((proba - np.eye(3)[codes[held]]) ** 2).sum(axis=1)
            np.testing.assert_allclose(scores[i, j], -error.mean(), rtol=1e-9)


def test_probabilities_add_up_to_one():
    """Rounded outputs are normalised; the prior steps in where none is positive."""
    rng = np.random.default_rng(8)
    outputs = rng.normal(size=(200, 4, 3))
    outputs[:5] = -1.0
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    proba = lspc_probabilities(outputs, prior)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)
    assert np.all(proba >= 0)
    np.testing.assert_allclose(proba[:5], np.broadcast_to(prior[:, None], (5, 4, 3)))
    said = (outputs > 0).any(axis=1, keepdims=True)
    assert np.all(proba[said & (outputs <= 0)] == 0)


def test_tiny_outputs_keep_their_proportions():
    """Outputs at the edge of underflow are normalised as any others."""
    proba = lspc_probabilities([[3e-323, 1e-323]], [0.5, 0.5])
    np.testing.assert_allclose(proba, [[0.75, 0.25]])


def test_gram_matrix_over_own_class_only_estimates_something_else():
    """With H over the rows of the class alone, as printed, eta is missed by far more."""
    rng, data = np.random.default_rng(9), make_syn2d(1000, random_state=9)
    X, codes, eta = data.data, (data.target > 0).astype(int), data.eta
    phis = [
        gaussian_kernel(squared_distances(X, choose_centers(X[codes == code], 100, rng)), 1.0)
        for code in (0, 1)
    ]
    prior = np.bincount(codes) / 1000
    right = lspc_probabilities(lspc_outputs(phis, lspc_fit(phis, codes, 1e-3)), prior)[:, 1]
    printed = []
    for code, phi in enumerate(phis):
        own = phi[codes == code]
        H = 2 * own.T @ own / 1000  # the printed sum over both classes only doubles it
        printed.append(np.linalg.solve(H + 1e-3 * np.eye(100), own.sum(axis=0) / 1000))
    wrong = lspc_probabilities(lspc_outputs(phis, printed), prior)[:, 1]
    assert np.mean((wrong - eta) ** 2) > 5 * np.mean((right - eta) ** 2)


def test_rows_left_out_do_not_depend_on_blocks(monkeypatch):
    """However many rows are rotated at a time, predictions without a row are the same."""
    rng = np.random.default_rng(9)
    spectrum = RidgeSpectrum.from_columns(rng.random((50, 5)))
    targets, l2s = rng.random((50, 2)), np.array([1e-3, 1.0])
    whole = spectrum.left_out(targets, l2s)
    monkeypatch.setattr(lspc, "_BLOCK_ROWS", 7)
    np.testing.assert_allclose(spectrum.left_out(targets, l2s), whole, rtol=1e-12)
