"""Flips on labels, probabilities, thresholds and counts, and their inverses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flipcost.core.noise import (
    clean_eta,
    clean_threshold,
    flip,
    noisy_eta,
    noisy_marginal,
    noisy_threshold,
    rate_pair,
    transition_matrix,
    unmixing_matrix,
)
from tests.properties.strategies import noise_rates

probabilities = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=5)


def kept(noise_rate):
    """Return one less both rates: what inverting divides by."""
    rho_pos, rho_neg = rate_pair(noise_rate)
    return 1 - rho_pos - rho_neg


@given(noise_rates, probabilities)
def test_probabilities_go_there_and_back(noise_rate, eta):
    """The clean probability of the noisy one is the one we started from, and the other way."""
    atol = 8 * np.finfo(float).eps / kept(noise_rate)
    np.testing.assert_allclose(clean_eta(noisy_eta(eta, noise_rate), noise_rate), eta, atol=atol)
    back = noisy_eta(clean_eta(eta, noise_rate, clip=False), noise_rate)
    np.testing.assert_allclose(back, eta, atol=atol)


@given(noise_rates, probabilities)
def test_thresholds_and_marginals_move_as_probabilities_do(noise_rate, values):
    """A threshold and a share of positives are moved by the same affine map."""
    expected = noisy_eta(values, noise_rate)
    np.testing.assert_array_equal(noisy_threshold(values, noise_rate), expected)
    np.testing.assert_array_equal(noisy_marginal(values, noise_rate), expected)
    unclipped = clean_eta(values, noise_rate, clip=False)
    np.testing.assert_array_equal(clean_threshold(values, noise_rate), unclipped)


@given(noise_rates, st.floats(0, 1, allow_subnormal=False))
def test_the_map_is_the_transition_matrix(noise_rate, eta):
    """The noisy probability is the second entry of (1 - eta, eta) times the transition matrix."""
    mixed = np.array([1 - eta, eta]) @ transition_matrix(noise_rate)
    np.testing.assert_allclose(noisy_eta(eta, noise_rate), mixed[1], atol=1e-15)


@given(noise_rates)
def test_unmixing_inverts_mixing(noise_rate):
    """Rows of the transition matrix add up to one; unmixing is the inverse of its transpose."""
    transition = transition_matrix(noise_rate)
    np.testing.assert_allclose(transition.sum(axis=1), 1, rtol=1e-15)
    atol = 8 * np.finfo(float).eps / kept(noise_rate)
    product = unmixing_matrix(noise_rate) @ transition.T
    np.testing.assert_allclose(product, np.eye(2), rtol=0, atol=atol)


@given(noise_rates)
def test_the_product_formula(noise_rate):
    """Unmixing is M+ = ((1 - r-) N+ - r- N-) / k, M- = ((1 - r+) N- - r+ N+) / k."""
    rho_pos, rho_neg = rate_pair(noise_rate)
    noisy = np.array([3.0, 5.0])
    negative = ((1 - rho_pos) * 3 - rho_pos * 5) / kept(noise_rate)
    positive = ((1 - rho_neg) * 5 - rho_neg * 3) / kept(noise_rate)
    expected = [negative, positive]
    scale = 1e-14 / kept(noise_rate)
    np.testing.assert_allclose(unmixing_matrix(noise_rate) @ noisy, expected, atol=scale)


def test_values_by_hand():
    """Rates of 0.3 for positives and 0.1 for negatives map 1/2 to 0.4, and 0.4 to 1/2."""
    assert noisy_eta(0.5, (0.3, 0.1)) == pytest.approx(0.4)
    assert clean_eta(0.4, (0.3, 0.1)) == pytest.approx(0.5)
    np.testing.assert_array_equal(clean_eta([0.0, 1.0], 0.2), [0, 1])
    np.testing.assert_allclose(clean_threshold([0.1, 0.9], 0.2), [-1 / 6, 7 / 6])
    assert rate_pair(np.float32(0.25)) == (0.25, 0.25)
    assert rate_pair([0.2, 0.1]) == (0.2, 0.1)


def test_one_half_stays_one_half():
    """Symmetric noise does not move a probability of one half; nothing else is its fixed point."""
    for rho in (0.1, 0.3, 0.49):
        assert noisy_eta(0.5, rho) == pytest.approx(0.5, abs=1e-16)
        assert abs(float(noisy_eta(0.4, rho)) - 0.4) > 0.01


@pytest.mark.parametrize("noise_rate", [0.2, (0.35, 0.05), (0.0, 0.4)])
def test_flips_have_the_given_rates(noise_rate):
    """The share of flipped labels of each class is its rate, within 4 standard errors."""
    labels = np.arange(40_000) % 2 == 0
    flipped = flip(labels, noise_rate, np.random.default_rng(0)) != labels
    for inside, rho in zip((labels, ~labels), rate_pair(noise_rate), strict=True):
        error = np.sqrt(rho * (1 - rho) / inside.sum())
        assert abs(flipped[inside].mean() - rho) <= 4 * error


def test_no_noise_flips_nothing():
    """A rate of None, or zero, leaves every label as it is."""
    labels = np.arange(100) % 3 == 0
    for rate in (None, 0, (0, 0)):
        np.testing.assert_array_equal(flip(labels, rate, np.random.default_rng(0)), labels)


@pytest.mark.parametrize(
    ("noise_rate", "message"),
    [
        (0.5, r"must lie in \[0, 0\.5\); got 0\.5.*swap"),
        (0.7, r"must lie in \[0, 0\.5\); got 0\.7.*swap"),
        (-0.1, r"must lie in \[0, 0\.5\); got -0\.1"),
        (float("nan"), r"must lie in \[0, 0\.5\); got nan"),
        ((0.5, 0.5), r"non-negative with a sum below 1; got \(0\.5, 0\.5\).*swap"),
        ((-0.1, 0.2), r"non-negative.*got \(-0\.1, 0\.2\)"),
        ((0.1, float("nan")), r"non-negative.*got \(0\.1, nan\)"),
        ((0.1,), r"pair.*got an array of shape \(1,\)"),
        ([[0.1, 0.2]], r"pair.*got an array of shape \(1, 2\)"),
    ],
)
def test_bad_rates_are_refused(noise_rate, message):
    """A rate at or above one half, or of another shape, is refused with what to do."""
    with pytest.raises(ValueError, match=message):
        rate_pair(noise_rate)
