"""The closed form: grids, symmetries, offsets, singular and indefinite systems."""

import importlib
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from flipcost.core.costs import Costs
from flipcost.core.moments import ClassMoments
from flipcost.core.solve import (
    denoised_systems,
    normal_equations,
    path_of_systems,
    solve,
    solve_path,
)
from tests.reference.brute import mixed_moments, two_classes

RATES = [None, 0.1, 0.2, (0.25, 0.1)]

solve_module = importlib.import_module("flipcost.core.solve")


@pytest.fixture
def moments():
    return ClassMoments.from_rows(*two_classes(n=150, d=3))


def test_four_rows_by_hand():
    """The solution of four rows on a line is the one computed by hand."""
    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    moments = ClassMoments.from_rows(X, [False, False, True, True])
    # Least squares on -1, -1, 1, 1: slope 6/10, through the mean (2, 0).
    np.testing.assert_allclose(solve(moments, l2=0.0), [0.6, -1.2], rtol=1e-14)
    # A = (1-a) M+ + g a M-, with a = 0.2, g = 2; c = (1-a) s+ - a s-.
    A = 0.8 * np.array([[25, 7], [7, 2]]) + 0.4 * np.array([[1, 1], [1, 2]])
    c = 0.8 * np.array([7, 2]) - 0.2 * np.array([1, 2])
    expected = np.linalg.solve(A + 4 * 0.3 * np.eye(2), c)
    np.testing.assert_allclose(solve(moments, 0.2, 2.0, 0.3), expected, rtol=1e-13)
    expected = np.linalg.solve(A + 0.3 * np.eye(2), c)
    np.testing.assert_allclose(solve(moments, 0.2, 2.0, 0.3, l2_scale="sum"), expected, rtol=1e-13)


@pytest.mark.parametrize("l2_scale", ["mean", "sum"])
@pytest.mark.parametrize("penalize_bias", [False, True])
def test_the_path_is_made_of_separate_solutions(moments, monkeypatch, l2_scale, penalize_bias):
    """Each cell of a path is the solution of its own problem, however the systems are stacked."""
    costs, margins, l2s = [0.2, Costs(fn=1, fp=1), 0.7], [0.5, 1.0], [0.0, 0.01, 1.0]
    options = {"l2_scale": l2_scale, "penalize_bias": penalize_bias}
    path = solve_path(moments, costs, margins, l2s, RATES, **options)
    assert path.shape == (3, 2, 3, 4, 4)
    for i, cost in enumerate(costs):
        for j, margin in enumerate(margins):
            for k, l2 in enumerate(l2s):
                for m, rate in enumerate(RATES):
                    alone = solve(moments, cost, margin, l2, noise_rate=rate, **options)
                    np.testing.assert_allclose(path[i, j, k, m], alone, rtol=1e-11, atol=1e-13)
    monkeypatch.setattr(sys.modules[solve.__module__], "_STACK_BYTES", 1)
    again = solve_path(moments, costs, margins, l2s, RATES, **options)
    np.testing.assert_allclose(again, path, rtol=1e-11, atol=1e-13)


def test_systems_can_be_reused(moments):
    """Solving from systems that were denoised before gives the path."""
    path = solve_path(moments, [0.3], [1.0], [0.1], RATES)
    again = path_of_systems(denoised_systems(moments, RATES), [0.3], [1.0], [0.1])
    np.testing.assert_array_equal(again, path)


@pytest.mark.parametrize("margin", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("penalize_bias", [False, True])
@pytest.mark.parametrize("noise_rate", [None, 0.1, (0.25, 0.1)])
def test_swapping_the_classes_mirrors_the_cost(margin, penalize_bias, noise_rate):
    """With the classes swapped, cost 1-a, margin 1/g and penalty l/g give -g times the solution.

    Put f' = -g f: then (1-f)^2 = (1 + f'/g)^2 and (1 + g f)^2 = (1 - f')^2, so that the loss at
    cost 1-a and margin 1/g is g times the old one, and the penalty l/g on f' is g times that on f.
    At margin 1 the solution changes its sign and nothing else does.
    """
    X, positive = two_classes(n=90, d=3, seed=4)
    cost, l2 = 0.3, 0.2
    weight = np.random.default_rng(1).random(90)
    swapped_rate = noise_rate[::-1] if isinstance(noise_rate, tuple) else noise_rate
    here = solve(
        ClassMoments.from_rows(X, positive, weight),
        cost,
        margin,
        l2,
        noise_rate=noise_rate,
        penalize_bias=penalize_bias,
    )
    there = solve(
        ClassMoments.from_rows(X, ~positive, weight),
        1 - cost,
        1 / margin,
        l2 / margin,
        noise_rate=swapped_rate,
        penalize_bias=penalize_bias,
    )
    np.testing.assert_allclose(there, -margin * here, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("cost", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("rho", [0.1, 0.3, 0.45])
@pytest.mark.parametrize("l2", [0.0, 0.2])
def test_the_margin_at_which_noise_moves_the_bias_only(cost, rho, l2):
    """At margin (1-a)/a with a free bias, noise maps f to (1-2r) f + r (1-2a)/(1-a), exactly."""
    moments = ClassMoments.from_rows(*two_classes(n=80, d=3, seed=5))
    margin = (1 - cost) / cost
    options = {"margin": margin, "l2": l2, "penalize_bias": False}
    clean = solve(moments, cost, **options)
    noisy = solve(mixed_moments(moments, rho), cost, **options)
    np.testing.assert_allclose(noisy[:-1], (1 - 2 * rho) * clean[:-1], rtol=1e-10, atol=1e-12)
    shift = rho * (1 - 2 * cost) / (1 - cost)
    np.testing.assert_allclose(noisy[-1], (1 - 2 * rho) * clean[-1] + shift, atol=1e-12)


def test_noise_moves_the_decision_elsewhere():
    """At another cost, or margin, the hyperplanes of clean and noisy moments are not parallel."""
    moments = ClassMoments.from_rows(*two_classes(n=80, d=3, seed=5))
    for cost, margin, parallel in ((0.5, 1.0, True), (0.3, 1.0, False), (0.5, 2.0, False)):
        clean = solve(moments, cost, margin, 0.0)[:-1]
        noisy = solve(mixed_moments(moments, 0.3), cost, margin, 0.0)[:-1]
        cosine = clean @ noisy / np.linalg.norm(clean) / np.linalg.norm(noisy)
        assert (1 - cosine < 1e-12) == parallel


@pytest.mark.parametrize("noise_rate", [None, 0.15])
@pytest.mark.parametrize("penalize_bias", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_offsets(noise_rate, penalize_bias, l2):
    """Features at 1e8 give the scores that exact arithmetic gives, up to the rounding of rows.

    Only with a free bias, or none at all, is that the solution without the offset; a penalised
    bias is compared with the solution of the augmented system in fractions.
    """
    X, positive = two_classes(n=200, d=2)
    X = np.round(X * 1024) / 1024  # so that the offset rounds nothing
    offset = np.array([1e8, -5e7])
    options = {"noise_rate": noise_rate, "penalize_bias": penalize_bias, "l2": l2}
    moved = ClassMoments.from_rows(X + offset, positive)
    w = solve(moved, 0.3, 2.0, **options)
    centred = X - X.mean(axis=0)
    scores = centred @ w[:-1] + (w[-1] + w[:-1] @ (offset + X.mean(axis=0)))
    if penalize_bias and l2:
        # The bias is b = t - (offset + mean) @ beta: make t the variable, penalise |b|.
        alpha, gamma, m = 0.3, 2.0, 200
        second = denoised_systems(ClassMoments.from_rows(centred, positive), [noise_rate])[0].second
        A = gamma * alpha * second[0] + (1 - alpha) * second[1]
        c = (1 - alpha) * second[1][-1] - alpha * second[0][-1]
        where = np.append(-(offset + X.mean(axis=0)), 1.0)
        exact = np.vectorize(Fraction)
        where, ridge = exact(where), Fraction(m * l2)
        penalty = ridge * (exact(np.diag([1.0, 1.0, 0.0])) + np.outer(where, where))
        reference = _solve_exactly(exact(A) + penalty, c)
        expected = centred @ reference[:-1] + reference[-1]
        atol = 1e-6
    else:
        reference = solve(ClassMoments.from_rows(X, positive), 0.3, 2.0, **options)
        expected = X @ reference[:-1] + reference[-1]
        atol = 1e-7  # 1e8 * coefficients * rounding
    np.testing.assert_allclose(scores, expected, rtol=0, atol=atol)


def _solve_exactly(A, c):
    """Gaussian elimination in fractions."""
    rows = [[Fraction(v) for v in [*row, right]] for row, right in zip(A, c, strict=True)]
    for i in range(len(rows)):
        for j in range(len(rows)):
            if i != j:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [v - factor * u for v, u in zip(rows[j], rows[i], strict=True)]
    return np.array([float(row[-1] / row[i]) for i, row in enumerate(rows)])


@pytest.mark.parametrize("noise_rate", [None, 0.1])
def test_duplicate_columns_share_the_coefficient(noise_rate):
    """Without a penalty, a column given twice has the single column's coefficient, halved."""
    X, positive = two_classes(n=80, d=2)
    single = solve(ClassMoments.from_rows(X, positive), 0.3, 1.5, 0.0, noise_rate=noise_rate)
    moments = ClassMoments.from_rows(X[:, [0, 1, 1]], positive)
    twice = solve(moments, 0.3, 1.5, 0.0, noise_rate=noise_rate)
    expected = [single[0], single[1] / 2, single[1] / 2, single[2]]
    np.testing.assert_allclose(twice, expected, rtol=1e-9, atol=1e-12)


def test_the_least_norm_is_in_standardised_features():
    """Among collinear columns the solution of least norm does not depend on their units."""
    X, positive = two_classes(n=80, d=1)
    moments = ClassMoments.from_rows(np.column_stack([X, 1000 * X]), positive)
    single = solve(ClassMoments.from_rows(X, positive), l2=0.0)
    expected = [single[0] / 2, single[0] / 2000, single[1]]
    np.testing.assert_allclose(solve(moments, l2=0.0), expected, rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 0.7, 1e8 / 3])
@pytest.mark.parametrize("n", [7, 50, 1000])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("noise_rate", [None, 0.1])
def test_constant_columns_change_nothing(value, n, make, noise_rate):
    """A constant column gets no weight without a penalty, and is no direction to clip."""
    X, _ = two_classes(n=n, d=2)
    positive = np.arange(n) % 3 == 0
    without = ClassMoments.from_rows(X, positive)
    moments = ClassMoments.from_rows(make(np.insert(X, 1, value, axis=1)), positive)
    expected = solve(without, 0.3, 2.0, 0.0, noise_rate=noise_rate)
    w = solve(moments, 0.3, 2.0, 0.0, noise_rate=noise_rate)
    assert w[1] == 0
    np.testing.assert_allclose(w[[0, 2, 3]], expected, rtol=1e-9, atol=1e-11)
    here, there = (denoised_systems(m, [noise_rate])[0] for m in (without, moments))
    np.testing.assert_allclose(there.shares, here.shares, rtol=0, atol=1e-10)


def test_more_features_than_rows():
    """With more features than rows and no penalty, every row is fitted exactly."""
    rng = np.random.default_rng(0)
    X, positive = rng.normal(size=(8, 20)), np.arange(8) % 2 == 0
    moments = ClassMoments.from_rows(X, positive)
    for cost, margin in ((0.5, 1.0), (0.2, 3.0)):
        w = solve(moments, cost, margin, 0.0)
        scores = X @ w[:-1] + w[-1]
        np.testing.assert_allclose(scores, np.where(positive, 1.0, -1 / margin), atol=1e-9)
    assert np.isfinite(solve(moments, 0.5, 1.0, 0.0, noise_rate=0.1)).all()


def test_one_class_gives_its_constant():
    """Rows of one class are fitted by the constant that its loss asks for."""
    X, _ = two_classes(n=30, d=2)
    for positive, constant in ((True, 1.0), (False, -0.5)):
        moments = ClassMoments.from_rows(X, np.full(30, positive))
        w = solve(moments, 0.3, 2.0, 0.0)
        np.testing.assert_allclose(w, [0, 0, constant], atol=1e-12)


def test_without_clipping_the_system_would_be_indefinite():
    """What `is_indefinite` says is what the eigenvalues of the unprojected system say."""
    found = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        moments = ClassMoments.from_rows(rng.normal(size=(20, 3)), np.arange(20) % 2 == 0)
        system = denoised_systems(moments, [0.3])[0]
        raw = moments.denoise(0.3).about(system.centre)
        for cost, margin in ((0.1, 1.0), (0.5, 1.0), (0.9, 1.0), (0.5, 0.1)):
            matrix = (1 - cost) * raw[1] + margin * cost * raw[0]
            indefinite = np.linalg.eigvalsh(matrix).min() <= 0
            assert system.is_indefinite(cost, margin) == indefinite
            found.add((indefinite, system.n_clipped > 0))
            projected = normal_equations(system, cost, margin).scatter
            assert np.linalg.eigvalsh(projected).min() > -1e-10
            assert np.isfinite(path_of_systems([system], [cost], [margin], [0.0])).all()
    assert found == {(True, True), (False, True), (False, False)}


def test_even_costs_are_never_indefinite():
    """At cost 1/2 and margin 1 the quadratic part is that of all rows, which noise cannot move."""
    rng = np.random.default_rng(0)
    moments = ClassMoments.from_rows(rng.normal(size=(20, 5)), np.arange(20) % 2 == 0)
    system = denoised_systems(moments, [0.45])[0]
    assert system.n_clipped
    assert not system.is_indefinite(0.5, 1.0)


def test_rates_of_a_path_do_not_touch_each_other(moments):
    """Denoising at one rate leaves the moments as they are for the others."""
    together = denoised_systems(moments, [0.3, None, 0.1])
    for rate, system in zip([0.3, None, 0.1], together, strict=True):
        alone = denoised_systems(moments, [rate])[0]
        np.testing.assert_array_equal(system.second, alone.second)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost": 0}, r"`cost` must lie in \(0, 1\); got 0\..*Costs\("),
        ({"cost": 1}, r"`cost` must lie in \(0, 1\); got 1\..*Costs\("),
        ({"cost": 2}, r"`cost` must lie in \(0, 1\); got 2\..*Costs\("),
        ({"margin": 0}, r"`margin` must be a positive number; got 0\. Use 1"),
        ({"margin": np.inf}, r"`margin` must be a positive number; got inf\. Use 1"),
        ({"l2": -1}, r"`l2` must be zero or a positive number; got -1\. Use 0"),
        ({"l2": np.nan}, r"`l2` must be zero or a positive number; got nan\. Use 0"),
        ({"noise_rate": 0.5}, r"`noise_rate` must lie in \[0, 0\.5\); got 0\.5.*swap the labels"),
        ({"noise_rate": (0.6, 0.4)}, r"sum below 1; got \(0\.6, 0\.4\).*swap the labels"),
        ({"noise_rate": (0.1, 0.1, 0.1)}, r"pair.*got an array of shape \(3,\).*one for each"),
        ({"noise_rate": 0.49}, r"impossible.*share.*smaller rate"),
        ({"l2_scale": "median"}, r"`l2_scale` must be 'mean' or 'sum'; got 'median'"),
    ],
)
def test_bad_parameters_are_refused(moments, arguments, message):
    """Parameters out of range are refused with what must hold, what was got, what to do."""
    with pytest.raises(ValueError, match=message):
        solve(moments, **arguments)
