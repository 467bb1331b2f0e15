import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from flipcost.core.losses import uneven_squared
from flipcost.core.moments import ClassMoments
from flipcost.core.solve import solve
from flipcost.theory import (
    DiscreteLaw,
    linear_minimiser,
    noise_fixed_point,
    parallel_margin,
    parallel_shift,
    proof_minimiser,
    robustness_report,
    theorem_1_counterexample,
    theorem_1_counterexamples,
    theorem_1_holds,
    unshift,
)

SETTINGS = [(0.2, 0.7, 0.0), (0.2, 4.0, 0.1), (0.5, 1.0, 0.1), (0.8, 2.0, 1.0)]
RATES = [0.1, 0.37, 0.49, (0.3, 0.1), (0.0, 0.6)]


@pytest.mark.parametrize(("cost", "margin", "l2"), SETTINGS)
def test_minimiser_minimises(law, cost, margin, l2):
    """A general-purpose optimiser finds no linear score of smaller penalised risk."""
    loss = uneven_squared(cost, margin)

    def objective(w):
        return law.risk(loss, law.scores(w)) + l2 * w @ w

    coef = linear_minimiser(law, cost, margin, l2)
    found = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    assert objective(coef) <= found.fun + 1e-14
    np.testing.assert_allclose(coef, found.x, atol=1e-5)


def test_free_bias_makes_the_mean_score_exact(law):
    """With an unpenalised bias the derivative of the risk in the bias is zero."""
    coef = linear_minimiser(law, 0.3, 0.7, 0.5, penalize_bias=False)
    loss, f = uneven_squared(0.3, 0.7), law.scores(coef)
    slope = law.eta * loss.derivative(1, f) + (1 - law.eta) * loss.derivative(-1, f)
    assert abs(law.mass @ slope) < 1e-13


# One-sided noise is left out: its fixed point, 0 or 1, is not a cost.
@pytest.mark.parametrize("rate", [0.1, 0.37, 0.49, (0.3, 0.1), (0.05, 0.6)])
@pytest.mark.parametrize("l2", [0.0, 0.1, 10.0])
def test_theorem_1_where_it_holds(law, rate, l2):
    """At the fixed point with the parallel margin the noisy score is k times the clean one."""
    cost = noise_fixed_point(rate)
    margin = parallel_margin(cost)
    assert theorem_1_holds(cost, margin, rate)
    kept = 1 - np.sum(np.broadcast_to(rate, 2))
    clean = linear_minimiser(law, cost, margin, l2)
    noisy = linear_minimiser(law.noisy(rate), cost, margin, l2)
    np.testing.assert_allclose(noisy, kept * clean, atol=1e-12 * np.abs(clean).max())
    assert robustness_report(law, cost, margin, noise_rate=rate, l2=l2).robust


def test_theorem_1_holds_at_one_half_and_one():
    """Under symmetric noise the exact condition is cost 1/2 and margin 1, or no noise."""
    for rate in (0.01, 0.3, 0.49):
        assert theorem_1_holds(0.5, 1.0, rate)
        assert not theorem_1_holds(0.5, 1.01, rate)
        assert not theorem_1_holds(0.49, 1.0, rate)
    assert theorem_1_holds(0.2, 3.0, None)
    assert theorem_1_holds(0.2, 3.0, 0.0)


@pytest.mark.parametrize(("cost", "margin", "l2"), SETTINGS)
def test_the_proof_s_version_always_scales(law, cost, margin, l2):
    """With clean-label weights the noisy score is (1 - 2 rho) times the clean one, any setting."""
    clean = linear_minimiser(law, cost, margin, l2)
    proof = proof_minimiser(law, cost, margin, l2, noise_rate=0.37)
    np.testing.assert_allclose(proof, 0.26 * clean, atol=1e-12 * np.abs(clean).max())


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("cost", "margin", "l2"), SETTINGS)
def test_denoising_gives_the_clean_score(law, cost, margin, l2, rate):
    """Unmixing the class moments of the noisy law gives the clean minimizer back."""
    clean = linear_minimiser(law, cost, margin, l2)
    denoised = linear_minimiser(law.noisy(rate), cost, margin, l2, noise_rate=rate)
    # The inversion divides rounding errors by k, at least 0.02 here, and the solve by its rank.
    np.testing.assert_allclose(denoised, clean, atol=1e-9 * np.abs(clean).max())


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("l2", "penalize_bias"), [(0.0, True), (0.3, False)])
def test_parallel_hyperplanes(law, rate, l2, penalize_bias):
    """At margin (1 - cost) / cost with a free bias, noise scales the score and shifts the bias."""
    cost = 0.2
    margin = parallel_margin(cost)
    clean = linear_minimiser(law, cost, margin, l2, penalize_bias=penalize_bias)
    noisy = linear_minimiser(law.noisy(rate), cost, margin, l2, penalize_bias=penalize_bias)
    kept = 1 - np.sum(np.broadcast_to(rate, 2))
    expected = kept * clean + [0, 0, parallel_shift(cost, rate)]
    np.testing.assert_allclose(noisy, expected, atol=1e-12 * np.abs(clean).max())
    np.testing.assert_allclose(unshift(noisy, cost, rate), clean, atol=1e-10 * np.abs(clean).max())


def test_parallel_shift_under_symmetric_noise():
    """The shift is rho (1 - 2 cost) / (1 - cost) when the noise is symmetric."""
    assert parallel_shift(0.3, 0.2) == pytest.approx(0.2 * 0.4 / 0.7)


def test_penalised_bias_breaks_parallelism(law):
    """With the bias penalised the shift is no longer along the bias alone."""
    cost, rate, l2 = 0.2, 0.3, 0.3
    clean = linear_minimiser(law, cost, 4.0, l2)
    noisy = linear_minimiser(law.noisy(rate), cost, 4.0, l2)
    assert np.abs(noisy - 0.4 * clean)[:-1].max() > 1e-3


def test_counterexamples_to_theorem_1():
    """The three counter-examples have the scores and costs found by another program."""
    constant, two_points, even_cost = (e.report for e in theorem_1_counterexamples())
    assert constant.scores["clean"] == pytest.approx([-0.2174], abs=5e-5)
    assert constant.scores["noisy"] == pytest.approx([0.3746], abs=5e-5)
    assert two_points.scores["clean"] == pytest.approx([-0.588, 0.909], abs=5e-4)
    assert two_points.scores["noisy"] == pytest.approx([0.256, 0.526], abs=5e-4)
    assert two_points.cost_paid["clean"] == pytest.approx(0.05)
    assert two_points.cost_paid["noisy"] == pytest.approx(0.15)
    # Its mass and eta are given to three decimals, hence the wider tolerance.
    assert even_cost.scores["clean"][1] == pytest.approx(-0.134, abs=3e-3)
    assert even_cost.scores["noisy"][1] == pytest.approx(0.048, abs=3e-3)
    for report in (constant, two_points, even_cost):
        assert not report.robust
        assert not report.same_signs
        assert report.cost_paid["proof"] == report.cost_paid["clean"]
        assert report.cost_paid["denoised"] == report.cost_paid["clean"]


@pytest.mark.parametrize("l2", [0.0, 0.01, 1.0, 10.0])
def test_no_penalty_rescues_theorem_1(l2):
    """With a constant eta the sign of the score is that of eta - cost, whatever the penalty."""
    law = DiscreteLaw([0.0], [1.0], [0.2])
    report = robustness_report(law, 0.25, 0.4, noise_rate=0.3, l2=l2)
    assert report.scores["clean"][0] < 0 < report.scores["noisy"][0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    cost=st.one_of(st.just(0.5), st.floats(0.02, 0.98)),
    log_margin=st.floats(-3, 3),
    rate=st.floats(0.01, 0.49),
    l2=st.sampled_from([0.0, 0.01, 1.0]),
)
def test_a_counterexample_exists_everywhere_else(cost, log_margin, rate, l2):
    """Away from cost 1/2 and margin 1 a law is built on which the noisy rule costs otherwise."""
    margin = float(np.exp(log_margin))
    if abs(cost - 0.5) < 1e-6 and abs(margin - 1) < 1e-3:
        return
    report = theorem_1_counterexample(cost, margin, rate, l2).report
    assert not report.robust
    assert report.agreement["noisy"] < 1


def test_a_counterexample_exists_under_class_conditional_noise():
    """Cost 1/2 and margin 1 are not robust to uneven flips, nor is the fixed point alone."""
    assert not theorem_1_counterexample(0.5, 1.0, (0.3, 0.1)).report.robust
    assert not theorem_1_counterexample(0.25, 1.0, (0.3, 0.1)).report.robust


@pytest.mark.parametrize(("cost", "rate"), [(0.5, 0.3), (0.3, 0.0)])
def test_no_counterexample_where_the_theorem_holds(cost, rate):
    """Asking for a counter-example where there is none says so."""
    with pytest.raises(ValueError, match="no counter-example"):
        theorem_1_counterexample(cost, 1.0, rate)


def test_negative_penalties_are_refused(law):
    """A negative penalty is refused with what must hold."""
    with pytest.raises(ValueError, match="`l2` must be at least 0"):
        linear_minimiser(law, 0.3, l2=-1.0)


def test_sampled_rows_approach_the_law(make_law):
    """The score fitted to many noisy rows is the noisy minimizer of the law, not the clean one."""
    law, cost, margin, rate, n = make_law(3), 0.2, 0.7, 0.3, 200_000
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n, law.mass)
    positives = rng.binomial(counts, law.noisy(rate).eta)
    sample = DiscreteLaw(law.points, counts / n, positives / counts)
    fitted = linear_minimiser(sample, cost, margin)
    noisy = linear_minimiser(law.noisy(rate), cost, margin)
    clean = linear_minimiser(law, cost, margin)
    # Delta method: w has covariance A^-1 V A^-1 / n with V that of the score equations.
    loss, f, eta = uneven_squared(cost, margin), law.scores(noisy), law.noisy(rate).eta
    gradient = [0.5 * loss.derivative(s, f)[:, None] * law.design for s in (1, -1)]
    chances = [law.mass * eta, law.mass * (1 - eta)]
    spread = sum(np.einsum("n,ni,nj->ij", p, g, g) for p, g in zip(chances, gradient, strict=True))
    curvature = (1 - cost) * eta + margin * cost * (1 - eta)
    bread = np.linalg.inv(np.einsum("n,ni,nj->ij", law.mass * curvature, law.design, law.design))
    error = np.sqrt(np.diag(bread @ spread @ bread) / n)
    assert (np.abs(fitted - noisy) < 5 * error).all()
    assert (np.abs(fitted - clean) > 20 * error).any()


@pytest.mark.parametrize("rate", [None, 0.1, 0.37, (0.3, 0.1)])
@pytest.mark.parametrize(("cost", "margin", "l2"), SETTINGS)
def test_the_library_s_solver_finds_the_same_score(law, cost, margin, l2, rate):
    """Class moments of the noisy law, solved by the core, give the clean minimizer of the law."""
    noisy = law.noisy(rate)
    moments = ClassMoments.from_rows(
        np.vstack([law.points, law.points]),
        np.repeat([False, True], len(law.mass)),
        np.concatenate([law.mass * (1 - noisy.eta), law.mass * noisy.eta]),
    )
    coef = solve(moments, cost, margin, l2, noise_rate=rate)
    clean = linear_minimiser(law, cost, margin, l2)
    np.testing.assert_allclose(coef, clean, atol=1e-9 * np.abs(clean).max())
