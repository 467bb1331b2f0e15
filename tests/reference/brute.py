"""Slow and obvious computations that the library's are compared with."""

from fractions import Fraction

import numpy as np
from scipy.optimize import minimize

from flipcost.core.moments import ClassMoments
from flipcost.core.noise import transition_matrix

EPS = np.finfo(float).eps


def two_classes(n=120, d=3, seed=0, shift=0.8, share=0.4):
    """Rows of two overlapping, unequally spread classes; labels as booleans."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:4] = [True, False, True, False]
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[positive] = 0.6 * X[positive] + shift
    return X, positive


def plain_moments(X, positive, weight=None):
    """Moments by the definition, one class after the other."""
    X = np.asarray(X, float)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    d = X.shape[1]
    total, mean, scatter = np.zeros(2), np.zeros((2, d)), np.zeros((2, d, d))
    for c in (0, 1):
        rows, share = X[positive == bool(c)], w[positive == bool(c)]
        total[c] = share.sum()
        if total[c] > 0:
            mean[c] = share @ rows / total[c]
            deviation = rows - mean[c]
            scatter[c] = (share[:, None] * deviation).T @ deviation
    n_rows = np.array([np.sum(~positive), np.sum(positive)])
    return ClassMoments(n_rows, total, mean, scatter)


def exact_scatter(numerators, denominator):
    """Scatter of rows of integers over one denominator, without any rounding before the last."""
    rows = np.array(numerators, dtype=object)
    n = len(rows)
    first = rows.sum(axis=0)
    second = rows.T.dot(rows)
    exact = [
        [
            Fraction(int(n * second[i, j] - first[i] * first[j]), n * denominator**2)
            for j in range(len(first))
        ]
        for i in range(len(first))
    ]
    return np.array([[float(value) for value in row] for row in exact])


def assert_same_moments(a, b, *, scale, slack=64):
    """Equal counts; weights, means and scatters equal up to rounding at the scale of the rows.

    A sum of n products of size ``scale**2`` in any order is off by a few units in the last place
    of ``n * scale**2``.
    """
    np.testing.assert_array_equal(a.n_rows, b.n_rows)
    weight = max(a.weight.max(), b.weight.max(), 1e-300)
    np.testing.assert_allclose(a.weight, b.weight, rtol=slack * EPS, atol=0)
    np.testing.assert_allclose(a.mean, b.mean, rtol=0, atol=slack * EPS * scale)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=0, atol=slack * EPS * weight * scale**2)


def mixed_moments(moments, noise_rate):
    """Moments that flips give in expectation: class totals mixed by the transition matrix."""
    centre = moments.centre()
    mixed = np.tensordot(transition_matrix(noise_rate).T, moments.about(centre), axes=1)
    return moments_of_seconds(mixed, centre, moments.n_rows)


def moments_of_seconds(second, centre, n_rows):
    """Turn second moments of (x - centre, 1) per class back into class moments."""
    weight = second[:, -1, -1]
    safe = np.where(weight > 0, weight, 1.0)
    offset = second[:, :-1, -1] / safe[:, None]
    scatter = second[:, :-1, :-1] - weight[:, None, None] * np.einsum("ci,cj->cij", offset, offset)
    return ClassMoments(n_rows, weight, centre + offset, scatter)


def objective(w, X, positive, cost, margin, l2, *, weight=None, mean=True, penalize_bias=True):
    """Return the objective as the paper states it (or with the summed loss), from the rows."""
    f = X @ w[:-1] + w[-1]
    rows = np.where(positive, (1 - cost) * (1 - f) ** 2, cost / margin * (1 + margin * f) ** 2)
    share = np.ones(len(X)) if weight is None else weight
    loss = (share * rows).sum() / (share.sum() if mean else 1.0)
    return loss + l2 * np.sum((w if penalize_bias else w[:-1]) ** 2)


def gradient(w, X, positive, cost, margin, l2, *, weight=None, mean=True, penalize_bias=True):
    """Return the derivative of the objective in the coefficients."""
    f = X @ w[:-1] + w[-1]
    slope = np.where(positive, -2 * (1 - cost) * (1 - f), 2 * cost * (1 + margin * f))
    share = np.ones(len(X)) if weight is None else weight
    slope = share * slope / (share.sum() if mean else 1.0)
    penalised = w if penalize_bias else np.append(w[:-1], 0.0)
    return np.append(X.T @ slope, slope.sum()) + 2 * l2 * penalised


def minimizer(X, *args, **options):
    """Minimise the objective by a general method that knows its gradient only."""
    result = minimize(
        lambda w: objective(w, X, *args, **options),
        np.zeros(X.shape[1] + 1),
        jac=lambda w: gradient(w, X, *args, **options),
        method="BFGS",
        options={"gtol": 1e-11, "maxiter": 5000},
    )
    return result.x
