import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from flipcost.core.losses import uneven_squared
from flipcost.paper.theory.bounds import ball_minimiser, loss_range
from flipcost.theory import (
    DiscreteLaw,
    excess_cost_bound,
    lemma_1,
    lemma_2,
    linear_minimiser,
    lipschitz_constant,
    rademacher_complexity,
    theorem_2,
    theorem_2_counterexample,
    uneven_squared_scores,
    weighted_zero_one_rules,
)

GRID = [(0.2, 1.0, 1.0), (0.5, 5.0, 1.0), (0.8, 0.3, 2.5), (0.1, 20.0, 0.5)]


@pytest.mark.parametrize(("cost", "margin", "bound"), GRID)
def test_lipschitz_constant_and_range_are_attained(cost, margin, bound):
    """The corrected constants are the largest slope and loss over the interval, no more."""
    f = np.linspace(-bound, bound, 2001)
    loss = uneven_squared(cost, margin)
    slope = max(np.abs(loss.derivative(y, f)).max() for y in (1, -1))
    value = max(loss.value(y, f).max() for y in (1, -1))
    assert lipschitz_constant(cost, margin, bound) == pytest.approx(slope, rel=1e-12)
    assert loss_range(cost, margin, bound) == pytest.approx(value, rel=1e-12)


def test_printed_lipschitz_constant_fails_for_a_large_margin():
    """2a + 2 suffices while cost * margin is at most 1 and fails beyond."""
    for cost, margin, bound in itertools.product((0.1, 0.5, 0.9), (0.1, 1.0, 10.0), (0.1, 1, 10)):
        steep = lipschitz_constant(cost, margin, bound)
        if cost * margin <= 1:
            assert 2 * bound + 2 >= steep
    assert lipschitz_constant(0.5, 5.0, 1.0) > 2 * 1.0 + 2


def test_lemma_1_as_printed_fails_and_corrected_holds():
    """Biases in [-1, 1] at margin 100: the printed bound fails more often than delta allows."""
    cost, margin, m, delta, draws = 0.5, 100.0, 10_000, 0.05, 400
    loss, b = uneven_squared(cost, margin), np.linspace(-1, 1, 401)
    widest = np.abs(loss.value(1, b) - loss.value(-1, b)).max()
    deviation = widest * np.abs(np.random.default_rng(0).binomial(m, 0.5, draws) / m - 0.5)
    bound = lemma_1(m, 1 / math.sqrt(m), cost, margin, score_bound=1.0, delta=delta)
    assert (deviation > bound.printed).mean() > 0.5
    assert (deviation <= bound.corrected).all()


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.49])
@pytest.mark.parametrize(("cost", "margin"), [(0.2, 0.7), (0.7, 3.0), (0.5, 1.0)])
def test_lemma_2(law, cost, margin, rate):
    """The corrected formula is the noisy risk; the printed one is the clean-weight risk."""
    scores = np.random.default_rng(1).normal(size=len(law.mass))
    risk = lemma_2(law, scores, cost, margin, noise_rate=rate)
    assert risk.corrected == pytest.approx(risk.noisy, rel=1e-12)
    assert risk.printed == pytest.approx(risk.clean_weights, rel=1e-12)
    agrees = math.isclose(risk.printed, risk.noisy, rel_tol=1e-9)
    assert agrees == (cost == 0.5 and margin == 1.0)


def test_statements_on_symmetric_noise_say_so(law):
    """Class-conditional rates are refused by statements that are about symmetric noise."""
    with pytest.raises(ValueError, match="symmetric"):
        lemma_2(law, np.zeros(6), 0.3, noise_rate=(0.3, 0.1))


@pytest.mark.parametrize(("cost", "margin"), [(0.2, 0.7), (0.7, 3.0), (0.5, 1.0)])
def test_excess_cost_is_bounded_by_excess_risk(law, cost, margin):
    """No score's excess cost exceeds the bound by its excess risk, on random laws and scores."""
    rng = np.random.default_rng(2)
    loss = uneven_squared(cost, margin)
    best_risk = law.risk(loss, uneven_squared_scores(law.eta, cost, margin))
    best_cost = law.expected_cost(weighted_zero_one_rules(cost).clean(law.eta), cost)
    for scale in (0.01, 0.1, 1.0):
        for _ in range(50):
            f = scale * rng.normal(size=len(law.mass))
            excess = law.expected_cost(f > 0, cost) - best_cost
            assert excess <= excess_cost_bound(law.risk(loss, f) - best_risk, cost, margin) + 1e-15


def test_excess_cost_bound_is_attained():
    """A certain positive with score zero attains the bound when 1 - cost is the larger weight."""
    cost, margin = 0.2, 1.0
    law = DiscreteLaw([0.0], [1.0], [1.0])
    excess_risk = law.risk(uneven_squared(cost, margin), [0.0])
    assert excess_cost_bound(excess_risk, cost, margin) == pytest.approx(
        law.expected_cost([False], cost)
    )


def test_rademacher_complexity_by_enumeration():
    """With few rows the value is the mean over all sign patterns."""
    X = np.random.default_rng(0).normal(size=(8, 3))
    rows = np.column_stack([X, np.ones(8)])
    lengths = [np.linalg.norm(np.array(s) @ rows) for s in itertools.product((-1, 1), repeat=8)]
    got = rademacher_complexity(X, radius=2.5)
    assert got.exact
    assert got.standard_error == 0
    assert got.value == pytest.approx(2.5 * np.mean(lengths) / 8, rel=1e-13)


def test_rademacher_complexity_of_orthonormal_rows():
    """Orthonormal rows attain the upper bound: every signed sum has length sqrt(m)."""
    got = rademacher_complexity(np.eye(12), radius=1.0, bias=False)
    assert got.value == pytest.approx(math.sqrt(12) / 12, rel=1e-13)
    assert got.value == pytest.approx(got.upper, rel=1e-13)


def test_rademacher_complexity_of_a_bias_alone():
    """With a bias alone the value is a mean of fair signs; two rows attain the lower bound."""
    for m in (2, 7, 16):
        got = rademacher_complexity(np.empty((m, 0)), radius=1.0)
        mean = sum(math.comb(m, j) * abs(2 * j - m) for j in range(m + 1)) / 2**m
        assert got.value == pytest.approx(mean / m, rel=1e-13)
    two = rademacher_complexity(np.empty((2, 0)), radius=1.0)
    assert two.value == pytest.approx(two.lower, rel=1e-13)


def test_rademacher_complexity_by_sampling():
    """Sampled signs agree with the closed form for a bias within five standard errors."""
    m = 200
    got = rademacher_complexity(np.empty((m, 0)), radius=1.0, n_draws=4000, random_state=1)
    mean = sum(math.comb(m, j) * abs(2 * j - m) for j in range(m + 1)) / 2**m
    assert not got.exact
    assert abs(got.value - mean / m) < 5 * got.standard_error
    assert got.lower <= got.value <= got.upper


@pytest.mark.parametrize(("X", "radius"), [(np.empty((0, 2)), 1.0), (np.ones((3, 2)), 0.0)])
def test_bad_rademacher_input_is_refused(X, radius):
    """No rows and a radius of zero are refused."""
    with pytest.raises(ValueError, match="must be"):
        rademacher_complexity(X, radius)


@pytest.mark.parametrize("radius", [0.1, 0.5, 50.0])
def test_ball_minimiser(law, radius):
    """A constrained optimiser finds no score within the ball of smaller risk."""
    loss = uneven_squared(0.3, 0.7)
    coef = ball_minimiser(law, 0.3, 0.7, radius=radius)
    assert np.linalg.norm(coef) <= radius * (1 + 1e-10)
    found = minimize(
        lambda w: law.risk(loss, law.scores(w)),
        np.zeros(3),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: radius**2 - w @ w},
        options={"ftol": 1e-14},
    )
    assert law.risk(loss, law.scores(coef)) <= found.fun + 1e-9


def test_theorem_2_is_broken_as_printed():
    """The printed bound fails on every sample drawn; the corrected one holds on each."""
    for seed in range(100):
        bound = theorem_2_counterexample(random_state=seed)
        assert bound.printed < bound.risk <= bound.corrected
        assert bound.excess_cost <= bound.excess_cost_bound
    noise = bound.terms[-1]
    assert noise.name == "noise"
    assert noise.printed < 0
    assert not noise.proved


def test_theorem_2_in_the_limit():
    """With no sampling error the printed bound claims that a worse score beats the best one."""
    law, cost, margin, rate = DiscreteLaw([0.0], [1.0], [0.2]), 0.25, 0.4, 0.3
    noisy = linear_minimiser(law.noisy(rate), cost, margin)
    bound = theorem_2(
        law, noisy, 10**12, cost, margin, noise_rate=rate, l2=0.0, radius=1.0, complexity=0.0
    )
    least = bound.terms[0].printed
    # 8 rho^2 / (1 - 2 rho) E[f (eta - cost)] with f = .3746 and a(eta) (f - f*)^2 beyond the least.
    assert bound.printed - least == pytest.approx(-0.0337176, abs=2e-5)
    assert bound.risk - least == pytest.approx(0.0806152, abs=1e-7)


@pytest.mark.parametrize(("cost", "margin"), [(0.2, 0.7), (0.5, 1.0), (0.7, 3.0)])
def test_corrected_theorem_2_holds_on_samples(make_law, cost, margin):
    """The corrected bound holds on samples of random laws, tight or not, and its parts add up."""
    rng = np.random.default_rng(5)
    for seed in range(20):
        law, rate, l2, m = make_law(seed), 0.3, 0.01, 2000
        counts = rng.multinomial(m, law.mass)
        positives = rng.binomial(counts, law.noisy(rate).eta)
        sample = DiscreteLaw(law.points, counts / m, positives / np.maximum(counts, 1))
        fitted = linear_minimiser(sample, cost, margin, l2)
        radius = 1.01 * np.linalg.norm(fitted)
        bound = theorem_2(law, fitted, m, cost, margin, noise_rate=rate, l2=l2, radius=radius)
        assert bound.risk <= bound.corrected
        assert bound.excess_cost <= bound.excess_cost_bound
        assert str(bound).count("\n") == 7


def test_noise_terms_agree_at_even_cost_and_margin(law):
    """At cost 1/2 and margin 1 the printed noise term is the corrected one, and proved."""
    fitted = linear_minimiser(law.noisy(0.3), 0.5, l2=0.05)
    bound = theorem_2(law, fitted, 1000, 0.5, noise_rate=0.3, l2=0.05, radius=50.0)
    noise = bound.terms[-1]
    assert noise.proved
    assert noise.printed == pytest.approx(noise.corrected, abs=1e-12)


def test_scores_outside_the_class_are_refused(law):
    """The bound is about scores within the radius and refuses others."""
    with pytest.raises(ValueError, match="larger radius"):
        theorem_2(law, [3, 4, 0], 100, 0.3, noise_rate=0.1, l2=0.1, radius=4.9)
