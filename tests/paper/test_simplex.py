"""Mixture weights of greatest likelihood and their certificate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from flipcost.paper.kliep import maximize_mixture


def random_problem(seed, n_rows=60, n_components=12):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(n_rows, n_components)) + 1e-3, rng


def objective(psi, mass, weight=None):
    return np.average(np.log(psi @ mass), weights=weight)


def test_disjoint_components_get_their_share_of_rows():
    """A component that alone explains k of n rows gets k / n, whatever its scale."""
    groups = np.repeat([0, 1, 2], [5, 2, 3])
    psi = np.eye(3)[groups] * np.array([1e-3, 1.0, 1e6])
    fit = maximize_mixture(psi, tol=1e-12)
    np.testing.assert_allclose(fit.mass, [0.5, 0.2, 0.3], atol=1e-11)


@pytest.mark.parametrize("seed", range(10))
def test_optimality_conditions_hold(seed):
    """No component pulls more than 1 + tol, and those with mass pull exactly 1."""
    psi, _ = random_problem(seed)
    fit = maximize_mixture(psi, tol=1e-10)
    gradient = (psi / (psi @ fit.mass)[:, None]).mean(axis=0)
    assert fit.gap <= 1e-10
    assert gradient.max() <= 1 + 1e-10
    # mass @ gradient is one, so what the others lack is bounded by the gap over the mass.
    heavy = fit.mass > 1e-3
    assert np.all(gradient[heavy] >= 1 - 1e-10 / 1e-3)
    assert np.all(fit.mass >= 0)
    assert abs(fit.mass.sum() - 1) < 1e-14


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_general_solver(seed):
    """Sequential least squares from scipy finds no better point."""
    psi, _ = random_problem(seed, n_rows=40, n_components=6)
    fit = maximize_mixture(psi)
    other = minimize(
        lambda q: -objective(psi, q),
        np.full(6, 1 / 6),
        jac=lambda q: -(psi / (psi @ q)[:, None]).mean(axis=0),
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert objective(psi, fit.mass) >= -other.fun - 1e-6


@pytest.mark.parametrize("max_iter", [0, 1, 100])
def test_certificate_bounds_the_optimum_at_any_stage(max_iter):
    """However early the solver stops, the optimum is at most the gap away."""
    psi, rng = random_problem(3, n_rows=200, n_components=40)
    psi[:20] **= 4
    best = objective(psi, maximize_mixture(psi, tol=1e-12).mass)
    fit = maximize_mixture(psi, max_iter=max_iter, tol=0.0)
    assert fit.n_iter <= max_iter
    assert best <= objective(psi, fit.mass) + fit.gap + 1e-12
    anything = rng.dirichlet(np.ones(40))
    assert objective(psi, anything) <= objective(psi, fit.mass) + fit.gap


def test_weights_are_repetitions():
    """A row of weight three counts as three rows."""
    psi, rng = random_problem(7)
    counts = rng.integers(1, 4, size=len(psi))
    weighted = maximize_mixture(psi, sample_weight=counts.astype(float), tol=1e-12)
    repeated = maximize_mixture(np.repeat(psi, counts, axis=0), tol=1e-12)
    np.testing.assert_allclose(weighted.mass, repeated.mass, atol=1e-8)


def test_row_scales_do_not_matter():
    """Multiplying rows by anything between 1e-100 and 1e100 leaves the solution where it was."""
    psi, rng = random_problem(8)
    scales = 10.0 ** rng.uniform(-100, 100, size=(len(psi), 1))
    plain, scaled = maximize_mixture(psi, tol=1e-12), maximize_mixture(psi * scales, tol=1e-12)
    np.testing.assert_allclose(scaled.mass, plain.mass, atol=1e-8)


def test_duplicated_components_are_no_obstacle():
    """With every column three times over, the objective is that of one of each."""
    psi, _ = random_problem(9)
    once, thrice = maximize_mixture(psi), maximize_mixture(np.tile(psi, 3))
    assert thrice.gap <= 1e-6
    assert abs(objective(psi, once.mass) - objective(np.tile(psi, 3), thrice.mass)) <= 1e-6


def test_any_start_leads_to_the_optimum():
    """A warm start, a vertex, and a start that gives some rows no likelihood end alike."""
    rng = np.random.default_rng(10)
    psi = np.where(rng.random((100, 20)) < 0.5, rng.random((100, 20)), 0.0)
    psi = psi[psi.max(axis=1) > 0]
    cold = maximize_mixture(psi)
    for start in (cold.mass, np.eye(20)[0], np.eye(20)[:3].sum(axis=0)):
        warm = maximize_mixture(psi, start=start)
        assert warm.gap <= 1e-6
        assert abs(objective(psi, warm.mass) - objective(psi, cold.mass)) <= 1e-6


def test_one_component_is_the_whole_mixture():
    """With a single component there is nothing to choose."""
    fit = maximize_mixture(np.array([[0.3], [2.0]]))
    assert (fit.mass.tolist(), fit.gap, fit.n_iter) == ([1.0], 0.0, 0)


def test_a_row_is_never_given_up():
    """Rows that one light component alone explains keep their likelihood (a stiff problem)."""
    rng = np.random.default_rng(11)
    psi = rng.random((500, 50))
    psi[0] = 0.0
    psi[0, 7] = 1e-12
    psi[1:, 7] *= 1e-6
    fit = maximize_mixture(psi)
    assert fit.gap <= 1e-6
    # At the optimum the component's pull is one, nearly all of it from its own row.
    assert abs(fit.mass[7] - 1 / 500) < 1e-5


def test_a_start_that_leads_nowhere_is_given_up():
    """Rows that only components without starting mass explain do not cost the certificate."""
    psi = np.eye(8)[np.repeat(np.arange(8), 5)]
    start = np.zeros(8)
    start[0] = 1.0
    fit = maximize_mixture(psi, start=start, tol=1e-9)
    assert fit.gap <= 1e-9
    np.testing.assert_allclose(fit.mass, 1 / 8, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_rows_may_lie_or_stand(seed):
    """The layout of the component values in memory does not matter."""
    psi, _ = random_problem(seed)
    circle = np.concatenate([psi.T, psi.T], axis=1).T
    for other in (np.asfortranarray(psi), circle[7 : 7 + len(psi)]):
        fit = maximize_mixture(other, tol=1e-10)
        assert fit.gap <= 1e-10
        assert abs(objective(psi, fit.mass) - objective(psi, maximize_mixture(psi).mass)) < 2e-6


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_weight_are_as_good_as_absent(seed):
    """A row of weight zero needs no component that explains it."""
    psi, rng = random_problem(seed)
    weight = rng.integers(0, 3, size=60).astype(float)
    psi[weight == 0] = 0.0
    fit = maximize_mixture(psi, sample_weight=weight, tol=1e-10)
    live = weight > 0
    plain = maximize_mixture(psi[live], sample_weight=weight[live], tol=1e-10)
    np.testing.assert_allclose(fit.mass, plain.mass, atol=1e-7)


@pytest.mark.parametrize("width", [0.01, 0.1, 0.5, 3.0])
def test_few_components_at_a_time_end_where_all_at_once_would(width):
    """With 300 kernels, narrow or wide, no component pulls more than 1 + tol in the end."""
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(600, 2))
    centers = rows[:300]
    psi = np.exp(-((rows[:, None] - centers) ** 2).sum(axis=2) / (2 * width**2))
    psi = psi[psi.max(axis=1) > 1e-200]
    for start in (None, np.eye(300)[0]):
        fit = maximize_mixture(psi, start=start)
        gradient = (psi / (psi @ fit.mass)[:, None]).mean(axis=0)
        assert fit.gap <= 1e-6
        assert gradient.max() <= 1 + 1.1e-6
