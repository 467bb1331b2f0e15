"""The closed form against general minimizers and against scikit-learn's ridge."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from benchmarks.closed_form import WeightedRidge
from flipcost.core.moments import ClassMoments
from flipcost.core.solve import solve
from tests.reference.brute import gradient, minimizer, two_classes


def draw_problem(seed):
    """Random rows, weights, cost, margin, penalty and options."""
    rng = np.random.default_rng(seed)
    X, positive = two_classes(n=int(rng.integers(20, 80)), d=int(rng.integers(1, 5)), seed=seed)
    weight = None if seed % 2 else rng.gamma(1.0, size=len(X))
    cost, margin, l2 = rng.uniform(0.05, 0.95), np.exp(rng.normal()), np.exp(rng.normal() - 2)
    options = {"mean": bool(rng.random() < 0.5), "penalize_bias": bool(rng.random() < 0.5)}
    return X, positive, weight, (cost, margin, l2), options


def solved(X, positive, weight, parameters, options):
    return solve(
        ClassMoments.from_rows(X, positive, weight),
        *parameters,
        l2_scale="mean" if options["mean"] else "sum",
        penalize_bias=options["penalize_bias"],
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_solution_minimises_the_objective(seed):
    """A general minimizer of the stated objective ends where the closed form is."""
    X, positive, weight, parameters, options = draw_problem(seed)
    found = minimizer(X, positive, *parameters, weight=weight, **options)
    expected = solved(X, positive, weight, parameters, options)
    np.testing.assert_allclose(expected, found, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_the_gradient_vanishes_at_the_solution(seed):
    """The derivative of the objective at the solution is zero to rounding."""
    X, positive, weight, parameters, options = draw_problem(seed)
    w = solved(X, positive, weight, parameters, options)
    slope = gradient(w, X, positive, *parameters, weight=weight, **options)
    at_zero = gradient(0 * w, X, positive, *parameters, weight=weight, **options)
    assert np.abs(slope).max() <= 1e-11 * max(1.0, np.abs(at_zero).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2_scale", ["mean", "sum"])
@pytest.mark.parametrize("penalize_bias", [False, True])
def test_even_costs_and_margin_give_ridge_regression(weighted, l2_scale, penalize_bias):
    """At cost 1/2 and margin 1 the solution is scikit-learn's ridge on labels of -1 and +1."""
    X, positive = two_classes(n=200, d=4)
    weight = np.random.default_rng(0).random(200) if weighted else np.ones(200)
    l2 = 0.3
    # Half of the squared error is what the loss has at cost 1/2; hence twice the penalty.
    alpha = 2 * l2 * (weight.sum() if l2_scale == "mean" else 1.0)
    rows = np.column_stack([X, np.ones(200)]) if penalize_bias else X
    ridge = Ridge(alpha=alpha, fit_intercept=not penalize_bias, solver="cholesky")
    ridge.fit(rows, np.where(positive, 1.0, -1.0), sample_weight=weight)
    expected = ridge.coef_ if penalize_bias else np.append(ridge.coef_, ridge.intercept_)
    found = solve(
        ClassMoments.from_rows(X, positive, weight if weighted else None),
        0.5,
        1.0,
        l2,
        l2_scale=l2_scale,
        penalize_bias=penalize_bias,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_any_cost_and_margin_give_weighted_ridge(seed):
    """At any cost and margin the solution is a weighted ridge with targets 1 and -1/margin."""
    X, positive = two_classes(n=100, d=3, seed=seed)
    rng = np.random.default_rng(seed)
    cost, margin, l2 = rng.uniform(0.1, 0.9), rng.uniform(0.2, 3), rng.uniform(0.01, 1)
    peer = WeightedRidge(cost=cost, margin=margin, l2=l2).fit(X, positive.astype(int))
    found = solve(ClassMoments.from_rows(X, positive), cost, margin, l2)
    np.testing.assert_allclose(found, peer.ridge_.coef_, rtol=1e-9, atol=1e-11)
