import numpy as np
import pytest
from scipy.stats import multivariate_normal

from flipcost.core.losses import uneven_squared, weighted_zero_one
from flipcost.core.noise import noisy_eta
from flipcost.theory import (
    gaussian_eta,
    keeps_side,
    noise_fixed_point,
    uneven_squared_rules,
    uneven_squared_scores,
    uneven_zero_one_rules,
    weighted_zero_one_rules,
)

RATES = [None, 0.1, 0.4, (0.3, 0.1), (0.0, 0.6)]
# Off every threshold used below, so that no tie is decided by rounding.
ETA = np.linspace(0.00137, 0.99871, 301)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("cost", "margin"), [(0.2, 1.0), (0.5, 0.4), (0.7, 3.0)])
def test_zero_one_rules_minimise_their_risks(cost, margin, rate):
    """At each point the clean and the noisy rule choose the decision that costs less."""
    rules = uneven_zero_one_rules(cost, margin, rate)
    loss = weighted_zero_one(cost, margin)
    for eta, decided in ((ETA, rules.clean(ETA)), (noisy_eta(ETA, rate), rules.noisy(ETA))):
        called_positive = (1 - eta) * loss.value(-1, 1.0)
        called_negative = eta * loss.value(1, -1.0)
        np.testing.assert_array_equal(decided, called_positive < called_negative)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("margin", [0.4, 1.0, 3.0])
def test_squared_rules_are_the_signs_of_the_best_scores(margin, rate):
    """The uneven squared scores minimise the conditional risk and change sign at the cost."""
    cost = 0.3
    rules = uneven_squared_rules(cost, margin, rate)
    loss = uneven_squared(cost, margin)
    noisy = noisy_eta(ETA, rate)
    scores = uneven_squared_scores(ETA, cost, margin, rate)
    slope = noisy * loss.derivative(1, scores) + (1 - noisy) * loss.derivative(-1, scores)
    np.testing.assert_allclose(slope, 0, atol=1e-14)
    np.testing.assert_array_equal(rules.noisy(ETA), scores > 0)
    np.testing.assert_array_equal(rules.clean(ETA), uneven_squared_scores(ETA, cost, margin) > 0)


@pytest.mark.parametrize("rate", RATES)
def test_corrected_threshold_gives_the_clean_rule_back(rate):
    """Cutting the noisy probability at the corrected threshold decides as the clean rule does."""
    rules = weighted_zero_one_rules(0.2, rate)
    np.testing.assert_array_equal(rules.corrected(noisy_eta(ETA, rate)), rules.clean(ETA))


def test_noisy_rule_never_costs_less(law):
    """No rule costs less on clean labels than the clean Bayes rule."""
    for rate in RATES:
        clean, noisy = weighted_zero_one_rules(0.3, rate).costs(law)
        assert clean <= noisy + 1e-15


def test_margin_one_is_the_plain_weighted_loss():
    """The uneven 0-1 rules at margin 1 are the weighted ones."""
    plain, uneven = weighted_zero_one_rules(0.3, 0.2), uneven_zero_one_rules(0.3, 1.0, 0.2)
    assert uneven.threshold == pytest.approx(plain.threshold)
    assert uneven.induced_threshold == pytest.approx(plain.induced_threshold)


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.3, 0.42, 0.4999])
def test_monotonicity_lemma(rate):
    """Under symmetric noise every probability keeps its side of one half, ties included."""
    eta = np.append(np.linspace(0, 1, 1001), np.nextafter(0.5, [0, 1]))
    assert keeps_side(eta, rate).all()
    assert keeps_side(eta, rate, threshold=0.5).all()


@pytest.mark.parametrize("rate", [0.1, 0.4, (0.3, 0.1), (0.05, 0.6)])
@pytest.mark.parametrize("off", [-0.2, -0.01, 0.01, 0.2])
def test_monotonicity_fails_at_every_other_threshold(rate, off):
    """Off the fixed point, a probability at the threshold moves to the side of the fixed point."""
    fixed = noise_fixed_point(rate)
    threshold = fixed + off
    near = threshold + np.sign(off) * 1e-6
    assert keeps_side(np.linspace(0, 1, 101), rate).all()
    assert not keeps_side(near, rate, threshold)


def test_fixed_point_is_fixed():
    """Noise maps its fixed point to itself."""
    for rate in (0.1, 0.4, (0.3, 0.1), (0.05, 0.6)):
        fixed = noise_fixed_point(rate)
        assert float(noisy_eta(fixed, rate)) == pytest.approx(fixed, rel=1e-14)


def test_gaussian_lemma_as_printed():
    """The paper's explicit eta for Gaussian classes agrees with ours and with the densities."""
    rng = np.random.default_rng(0)
    mean_pos, mean_neg = rng.normal(size=(2, 3))
    cov_pos, cov_neg = (a @ a.T + np.eye(3) for a in rng.normal(size=(2, 3, 3)))
    X, p = rng.normal(size=(50, 3)), 0.3
    inv_pos, inv_neg = np.linalg.inv(cov_pos), np.linalg.inv(cov_neg)
    square = np.einsum("ni,ij,nj->n", X, inv_neg - inv_pos, X)
    linear = -2 * X @ (inv_neg @ mean_neg - inv_pos @ mean_pos)
    constant = mean_neg @ inv_neg @ mean_neg - mean_pos @ inv_pos @ mean_pos
    root = np.sqrt(np.linalg.det(cov_pos) / np.linalg.det(cov_neg))
    printed = 1 / (1 + (1 - p) / p * root * np.exp(-(square + linear + constant) / 2))
    joint_pos = p * multivariate_normal.pdf(X, mean_pos, cov_pos)
    joint_neg = (1 - p) * multivariate_normal.pdf(X, mean_neg, cov_neg)
    ours = gaussian_eta(X, mean_pos, mean_neg, cov_pos, cov_neg, p)
    np.testing.assert_allclose(ours, printed, rtol=1e-11)
    np.testing.assert_allclose(ours, joint_pos / (joint_pos + joint_neg), rtol=1e-11)
