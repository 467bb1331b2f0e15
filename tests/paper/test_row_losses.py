"""Row losses: derivatives, unbiasedness, convexity and likelihoods."""

import numpy as np
import pytest

from flipcost.core.costs import RowCosts, log_odds
from flipcost.core.noise import noisy_eta, rate_pair
from flipcost.paper.losses import (
    LINK_LOSSES,
    above_rows,
    convex_costs,
    even_odd_rows,
    expected_even_coefficients,
    forward_rate_slope,
    forward_rows,
    logistic,
    unbiased_coefficients,
    weighted_logistic_eta,
    weighted_logistic_rows,
)

T = np.linspace(-3.05, 3.05, 41)
RATES = [0.0, 0.2, 0.45, (0.3, 0.1), (0.05, 0.6)]
COSTS = [0.1, 0.3, 0.5, 0.8]


def row_losses():
    """All row losses, for positive and for negative rows."""
    for positive in (True, False):
        labels = np.full(len(T), positive)
        for name in LINK_LOSSES:
            yield LINK_LOSSES[name].rows(labels)
        yield weighted_logistic_rows(labels, 0.2)
        for rate in RATES:
            yield even_odd_rows(*unbiased_coefficients(labels, 0.3, rate))
            yield forward_rows(labels, rate)


def test_slopes_and_curvatures_are_derivatives():
    """Central differences of values give slopes, of slopes curvatures."""
    h = 1e-5
    for rows in row_losses():
        up, here, down = rows(T + h), rows(T), rows(T - h)
        # Differences err by h^2 and by rounding / h, about 1e-10 each, times the loss' size.
        assert np.allclose((up.value - down.value) / (2 * h), here.slope, atol=1e-7, rtol=1e-7)
        assert np.allclose((up.slope - down.slope) / (2 * h), here.curvature, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("cost", COSTS)
def test_unbiased_loss_has_the_clean_loss_as_its_mean(cost, rate):
    """Averaged over the flips of a clean label, it is the weighted loss of that label."""
    rho_pos, rho_neg = rate_pair(rate)
    value = {
        label: even_odd_rows(*unbiased_coefficients(np.full(len(T), label), cost, rate))(T).value
        for label in (True, False)
    }
    clean = {True: (1 - cost) * logistic.value(1, T), False: cost * logistic.value(-1, T)}
    for label, flip in ((True, rho_pos), (False, rho_neg)):
        mean = (1 - flip) * value[label] + flip * value[not label]
        assert np.allclose(mean, clean[label], atol=1e-12)


@pytest.mark.parametrize("rate", RATES)
def test_convex_costs_are_where_curvatures_change_sign(rate):
    """Inside both even coefficients are positive, outside one is negative."""
    low, high = convex_costs(rate)
    if rate == 0.2:
        assert (low, high) == pytest.approx((0.2, 0.8))
    for cost, convex in ((low + 1e-6, True), (high - 1e-6, True)):
        assert (unbiased_coefficients([True, False], cost, rate)[0] >= 0).all() == convex
    if low > 0:
        assert unbiased_coefficients([True, False], low - 1e-6, rate)[0].min() < 0
    if high < 1:
        assert unbiased_coefficients([True, False], high + 1e-6, rate)[0].min() < 0


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("cost", COSTS)
def test_expected_curvature_is_the_mean_over_noisy_labels(cost, rate):
    """The remedy's coefficient is the conditional mean of the unbiased ones, and positive."""
    eta = np.linspace(0, 1, 11)
    noisy = noisy_eta(eta, rate)
    plus, minus = unbiased_coefficients([True, False], cost, rate)[0]
    expected = expected_even_coefficients(noisy, cost, rate)
    assert np.allclose(expected, noisy * plus + (1 - noisy) * minus, atol=1e-12)
    assert expected.min() >= min(cost, 1 - cost) - 1e-12


@pytest.mark.parametrize("rate", RATES)
def test_forward_likelihoods_add_up_to_one(rate):
    """The two labels' likelihoods are the noisy probabilities of a logistic clean one."""
    plus = np.exp(-forward_rows(np.ones(len(T), bool), rate)(T).value)
    minus = np.exp(-forward_rows(np.zeros(len(T), bool), rate)(T).value)
    assert np.allclose(plus, noisy_eta(logistic.inverse_link(T), rate), atol=1e-15)
    assert np.allclose(plus + minus, 1.0, atol=1e-15)


@pytest.mark.parametrize("rate", RATES)
def test_safe_curvature_is_the_expected_one(rate):
    """Fisher's information: the curvature averaged over the labels that the model draws."""
    plus = forward_rows(np.ones(len(T), bool), rate)(T)
    minus = forward_rows(np.zeros(len(T), bool), rate)(T)
    mean = np.exp(-plus.value) * plus.curvature + np.exp(-minus.value) * minus.curvature
    assert np.allclose(plus.safe, mean, atol=1e-14)
    assert (plus.safe >= 0).all()


def test_forward_loss_without_noise_is_logistic_loss_to_the_ends():
    """Also where likelihoods underflow."""
    far = np.array([-2000.0, -40.0, 0.0, 40.0, 2000.0])
    rows = forward_rows(np.ones(5, bool), None)(far)
    assert np.allclose(rows.value, logistic.value(1, far), atol=1e-15)
    assert np.isfinite(rows.curvature).all()


@pytest.mark.parametrize("rate", [(0.2, 0.2), (0.3, 0.1)])
def test_rate_slopes_are_derivatives(rate):
    """Central differences in either rate give the slopes."""
    h = 1e-6
    for positive in (True, False):
        labels = np.full(len(T), positive)
        slopes = forward_rate_slope(labels, T, rate)
        for which in (0, 1):
            up, down = (
                forward_rows(labels, tuple(np.add(rate, sign * h * np.eye(2)[which])))(T).value
                for sign in (1, -1)
            )
            assert np.allclose((up - down) / (2 * h), slopes[which], atol=1e-7)


@pytest.mark.parametrize("threshold", COSTS)
def test_weighted_link_inverts_the_weighted_minimiser(threshold):
    """The score at which the expected weighted slope vanishes represents its own eta."""
    for eta in (0.05, 0.3, 0.9):
        score = np.array([np.log((1 - threshold) * eta / (threshold * (1 - eta)))])
        plus = weighted_logistic_rows([True], threshold)(score).slope
        minus = weighted_logistic_rows([False], threshold)(score).slope
        assert eta * plus + (1 - eta) * minus == pytest.approx(0.0, abs=1e-15)
        assert weighted_logistic_eta(score, threshold) == pytest.approx(eta, abs=1e-14)


@pytest.mark.parametrize("rate", RATES)
def test_unbiased_loss_at_prices_by_row_has_the_clean_loss_as_its_mean(rate):
    """Averaged over the flips of a clean label, a row's loss is the clean one at its own prices."""
    rng = np.random.default_rng(0)
    prices = RowCosts(rng.lognormal(2, 1, len(T)), rng.lognormal(0, 1, len(T)))
    rho_pos, rho_neg = rate_pair(rate)
    cut = log_odds(prices.threshold)
    value = {
        label: above_rows(
            even_odd_rows(*unbiased_coefficients(np.full(len(T), label), prices, rate)), cut
        )(T).value
        for label in (True, False)
    }
    clean = {
        True: prices.miss * logistic.value(1, T - cut),
        False: prices.alarm * logistic.value(-1, T - cut),
    }
    for label, flip in ((True, rho_pos), (False, rho_neg)):
        mean = (1 - flip) * value[label] + flip * value[not label]
        np.testing.assert_allclose(mean, clean[label], rtol=1e-9, atol=1e-9)
    expected = expected_even_coefficients(noisy_eta(np.full(len(T), 0.3), rate), prices, rate)
    np.testing.assert_allclose(expected, 0.3 * prices.miss + 0.7 * prices.alarm)


def test_weighted_loss_at_prices_by_row_is_least_at_the_log_odds():
    """Above each row's own cut, the score at which the expected slope vanishes is of its eta."""
    cuts, size = np.array([0.05, 0.3, 0.9]), np.array([5.0, 1.0, 0.2])
    losses = [
        above_rows(weighted_logistic_rows(np.full(3, side), cuts, size), np.log(cuts / (1 - cuts)))
        for side in (True, False)
    ]
    for eta in (0.05, 0.4, 0.95):
        score = np.full(3, np.log(eta / (1 - eta)))
        plus, minus = (loss(score).slope for loss in losses)
        np.testing.assert_allclose(eta * plus + (1 - eta) * minus, 0.0, atol=1e-15)
