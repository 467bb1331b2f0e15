"""Newton steps reach the minimum that closed forms and other solvers know."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge

from flipcost.paper.losses import (
    LINK_LOSSES,
    MAX_FEATURES,
    Design,
    exponential,
    logistic,
)

LOSSES = sorted(LINK_LOSSES)


def overlapping(n=200, d=3, seed=0):
    """Two classes that overlap, with uneven weights."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    X = rng.normal(size=(n, d)) + np.where(positive, 0.8, 0.0)[:, None] * np.arange(1, d + 1) / d
    return X, positive, rng.uniform(0.2, 2.0, n)


def objective(w, X, positive, weight, name, l2):
    """Mean loss and penalty, written out."""
    f = X @ w[:-1] + w[-1]
    loss = np.average(LINK_LOSSES[name].value(positive, f), weights=weight)
    return loss + l2 * w[:-1] @ w[:-1]


@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_logistic_agrees_with_scikit_learn(l2):
    """The mean-loss penalty l2 is scikit-learn's C = 1 / (2 n l2)."""
    X, positive, _ = overlapping()
    fit = Design(X).minimize(LINK_LOSSES["logistic"].rows(positive), l2)
    peer = LogisticRegression(C=1 / (2 * len(X) * l2), tol=1e-10, max_iter=1000).fit(X, positive)
    # Its stopping rule leaves a gradient of 1e-10 in the sum; conditioning here is below 1e3.
    assert np.allclose(fit.coefficients, np.append(peer.coef_, peer.intercept_), atol=1e-6)


def test_squared_loss_takes_one_step_and_agrees_with_ridge():
    """Squared loss is a linear system: labels 1 and -1 regressed with ridge penalty n l2."""
    X, positive, weight = overlapping()
    fit = Design(X, weight).minimize(LINK_LOSSES["squared"].rows(positive), 0.1)
    sign = np.where(positive, 1.0, -1.0)
    peer = Ridge(alpha=0.1 * weight.sum(), tol=1e-12).fit(X, sign, weight)
    assert fit.n_iter == 1
    assert np.allclose(fit.coefficients, np.append(peer.coef_, peer.intercept_), atol=1e-10)


@pytest.mark.parametrize("name", LOSSES)
def test_no_other_solver_finds_less(name):
    """A general minimizer started at the solution and at zero does not get below it."""
    X, positive, weight = overlapping()
    fit = Design(X, weight).minimize(LINK_LOSSES[name].rows(positive), 0.01)

    def value(w):
        return objective(w, X, positive, weight, name, 0.01)

    assert fit.converged
    assert fit.gradient_norm <= 1e-8
    assert fit.objective == pytest.approx(value(fit.coefficients), abs=1e-14)
    for start in (np.zeros(4), fit.coefficients):
        assert minimize(value, start).fun >= fit.objective - 1e-14


@pytest.mark.parametrize("name", LOSSES)
def test_weights_are_repetitions(name):
    """Integer weights give what repeated rows give."""
    X, positive, _ = overlapping()
    times = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = Design(X, times).minimize(LINK_LOSSES[name].rows(positive), 0.01)
    rows = LINK_LOSSES[name].rows(np.repeat(positive, times))
    repeated = Design(np.repeat(X, times, axis=0)).minimize(rows, 0.01)
    assert np.allclose(weighted.coefficients, repeated.coefficients, atol=1e-8)


@pytest.mark.parametrize("name", LOSSES)
def test_sparse_rows_give_what_dense_ones_give(name):
    """The sparse route, which does not centre, ends at the same coefficients."""
    X, positive, weight = overlapping()
    X[np.abs(X) < 0.5] = 0.0
    dense = Design(X, weight).minimize(LINK_LOSSES[name].rows(positive), 0.01)
    thin = Design(sparse.csr_array(X), weight).minimize(LINK_LOSSES[name].rows(positive), 0.01)
    assert np.allclose(dense.coefficients, thin.coefficients, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_units_do_not_matter_without_a_penalty(name):
    """Rescaled and shifted features give the same scores, also far from the origin."""
    X, positive, _ = overlapping()
    far = X * np.array([1e-6, 1.0, 1e6]) + np.array([1.0, 1e6, -1e9])
    rows = LINK_LOSSES[name].rows(positive)
    here, there = Design(X), Design(far)
    scores = here.scores(here.minimize(rows, 0.0).coefficients)
    others = there.scores(there.minimize(rows, 0.0).coefficients)
    # The shift costs the first feature 1e-16 / 1e-6 of its spread.
    assert np.allclose(scores, others, atol=1e-7)


def test_a_repeated_feature_shares_its_coefficient():
    """Collinear features without a penalty get the shortest solution, not an endless one."""
    X, positive, _ = overlapping(d=2)
    rows = LINK_LOSSES["logistic"].rows(positive)
    single = Design(X).minimize(rows, 0.0).coefficients
    double = Design(np.column_stack([X, X[:, 0]])).minimize(rows, 0.0).coefficients
    assert double[0] == pytest.approx(double[2], abs=1e-8)
    assert double[0] + double[2] == pytest.approx(single[0], abs=1e-7)


def test_a_constant_feature_is_left_alone():
    """A column that only repeats the bias does not disturb the fit."""
    X, positive, _ = overlapping(d=2)
    rows = LINK_LOSSES["logistic"].rows(positive)
    with_constant = Design(np.column_stack([X, np.full(len(X), 0.1)])).minimize(rows, 0.01)
    assert with_constant.converged
    assert np.allclose(
        with_constant.coefficients[[0, 1, 3]], Design(X).minimize(rows, 0.01).coefficients
    )


@pytest.mark.parametrize("name", ["logistic", "exponential"])
@pytest.mark.parametrize("quasi", [False, True])
def test_separable_classes_without_a_penalty_are_reported(name, quasi):
    """No minimum exists: the steps end, and say so; with a penalty there is one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    positive = X[:, 0] > 0
    if quasi:  # one row of each class on the plane between them
        X[:2, 0] = 0.0
        X[0, 1] = X[1, 1] = 0.3
        positive[:2] = True, False
    design = Design(X)
    assert not design.minimize(LINK_LOSSES[name].rows(positive), 0.0).bounded
    fit = design.minimize(LINK_LOSSES[name].rows(positive), 1e-6)
    assert fit.bounded
    assert fit.converged


def test_modified_squared_loss_has_a_minimum_on_separable_classes():
    """Its minimum there is zero, and is reached."""
    X = np.linspace(-1, 1, 20)[:, None]
    fit = Design(X).minimize(LINK_LOSSES["modified_squared"].rows(X[:, 0] > 0), 0.0)
    assert fit.bounded
    assert fit.converged
    assert fit.objective == 0.0


def test_exponential_loss_survives_an_outlier():
    """A row at a thousand standard deviations neither overflows nor stops the steps."""
    X, positive, _ = overlapping()
    X[0] = 1000.0
    positive[0] = False
    fit = Design(X).minimize(LINK_LOSSES["exponential"].rows(positive), 1e-4)
    assert fit.converged
    assert fit.objective < exponential.value(True, 0.0)


def test_start_does_not_matter():
    """A convex problem ends at the same place from a far start."""
    X, positive, _ = overlapping()
    design, rows = Design(X), LINK_LOSSES["logistic"].rows(positive)
    near = design.minimize(rows, 0.01)
    far = design.minimize(rows, 0.01, start=np.full(4, 30.0))
    assert np.allclose(near.coefficients, far.coefficients, atol=1e-7)
    assert near.objective < logistic.value(True, 0.0)


def test_too_many_features_are_refused():
    """The matrix of so many features would not be solved in reasonable time."""
    with pytest.raises(ValueError, match="at most 10000 features"):
        Design(sparse.csr_array((2, MAX_FEATURES + 1)))
