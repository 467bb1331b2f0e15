"""Losses: values by hand, derivatives by differences, minimizers by search, links inverted."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from flipcost.core import (
    exponential,
    logistic,
    modified_squared,
    squared,
    uneven_squared,
    unhinged,
    weighted_zero_one,
)
from flipcost.core.costs import Costs

SMOOTH = {
    "logistic": logistic,
    "exponential": exponential,
    "squared": squared,
    "modified_squared": modified_squared,
    "uneven 0.25 0.4": uneven_squared(0.25, 0.4),
    "uneven 0.7 3": uneven_squared(0.7, 3.0),
    "uneven 0.5 1": uneven_squared(0.5),
}
ETA = np.array([0.01, 0.2, 0.38, 0.5, 0.77, 0.99])


@pytest.mark.parametrize(
    ("loss", "positive", "negative"),
    [
        (logistic, np.log1p(np.exp(-0.5)), np.log1p(np.exp(0.5))),
        (exponential, np.exp(-0.5), np.exp(0.5)),
        (squared, 0.25, 2.25),
        (modified_squared, 0.25, 2.25),
        (unhinged, 0.5, 1.5),
        (uneven_squared(0.25, 0.4), 0.75 * 0.25, 0.625 * 1.44),
        (weighted_zero_one(0.2), 0.0, 0.2),
        (weighted_zero_one(0.2, 0.5), 0.0, 0.4),
    ],
)
def test_values_by_hand(loss, positive, negative):
    """Losses of a positive and a negative row at a score of one half are those of the formulas."""
    np.testing.assert_allclose(loss.value([1, -1], 0.5), [positive, negative], rtol=1e-14)
    np.testing.assert_allclose(loss.value([True, False], [0.5, 0.5]), [positive, negative])


def test_beyond_the_margin():
    """The squared loss punishes a score above one, the modified one does not."""
    assert squared.value(1, 3.0) == 4
    assert modified_squared.value(1, 3.0) == 0
    assert modified_squared.derivative(1, 3.0) == 0


def test_a_score_of_zero_is_called_negative():
    """The 0-1 loss of a score of zero is that of a negative call."""
    loss = weighted_zero_one(0.2)
    np.testing.assert_array_equal(loss.value([1, -1], [0.0, 0.0]), [0.8, 0.0])


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("y", [1, -1])
def test_derivatives_by_differences(name, y):
    """Derivatives are the central differences of the values, up to the square of the step."""
    loss, f, step = SMOOTH[name], np.linspace(-2.6, 2.6, 26), 1e-5  # none at a kink
    difference = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    scale = np.abs(loss.derivative(y, f)).max()
    np.testing.assert_allclose(loss.derivative(y, f), difference, rtol=0, atol=1e-8 * scale)


def test_derivatives_of_the_losses_without_a_link():
    """The unhinged loss has slope -y; the 0-1 loss is flat, in the shape of its arguments."""
    np.testing.assert_array_equal(unhinged.derivative([1, -1], [5.0, 0.0]), [-1, 1])
    assert weighted_zero_one(0.3).derivative(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    assert not weighted_zero_one(0.3).derivative(1, np.ones(3)).any()


@pytest.mark.parametrize("name", SMOOTH)
def test_minimisers_by_search(name):
    """The minimizer is where a search finds the expected loss at each probability to be least."""
    loss = SMOOTH[name]
    for eta in ETA:
        found = minimize_scalar(
            lambda f, p=eta: float(p * loss.value(1, f) + (1 - p) * loss.value(-1, f)),
            bounds=(-20, 20),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        assert loss.minimizer(eta) == pytest.approx(found, abs=1e-5)
        slope = eta * loss.derivative(1, loss.minimizer(eta)) + (1 - eta) * loss.derivative(
            -1, loss.minimizer(eta)
        )
        assert abs(slope) < 1e-14


@pytest.mark.parametrize("name", SMOOTH)
def test_the_inverse_link_inverts_the_minimiser(name):
    """Probabilities come back from their minimizers, at both ends too."""
    loss, eta = SMOOTH[name], np.concatenate([[0.0], ETA, [1.0]])
    np.testing.assert_allclose(loss.inverse_link(loss.minimizer(eta)), eta, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", SMOOTH)
def test_links_are_probabilities_of_any_score(name):
    """Any score represents a probability in [0, 1], the higher the higher."""
    eta = SMOOTH[name].inverse_link(np.linspace(-50, 50, 1001))
    assert np.all((eta >= 0) & (eta <= 1))
    assert np.all(np.diff(eta) >= 0)


@pytest.mark.parametrize("cost", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("margin", [0.2, 1.0, 4.0])
def test_the_uneven_loss_changes_sign_at_the_cost(cost, margin):
    """Whatever the margin, the minimizer is zero where eta is the cost, and lies in [-1/g, 1]."""
    loss = uneven_squared(cost, margin)
    assert loss.minimizer(cost) == 0
    assert loss.inverse_link(0.0) == pytest.approx(cost, abs=1e-16)
    np.testing.assert_allclose(loss.minimizer([0.0, 1.0]), [-1 / margin, 1], rtol=1e-15)
    np.testing.assert_array_equal(np.sign(loss.minimizer(ETA)), np.sign(ETA - cost))


def test_the_margin_that_makes_the_link_affine():
    """At margin (1-a)/a the probability is a + (1-a) f."""
    cost = 0.3
    loss = uneven_squared(cost, (1 - cost) / cost)
    f = np.linspace(-cost / (1 - cost), 1, 9)
    np.testing.assert_allclose(loss.inverse_link(f), cost + (1 - cost) * f, atol=1e-15)


def test_even_costs_and_margin_give_half_the_squared_loss():
    """At cost 1/2 and margin 1 the uneven loss is half the squared one."""
    f = np.linspace(-2, 2, 9)
    for y in (1, -1):
        np.testing.assert_allclose(uneven_squared(0.5).value(y, f), squared.value(y, f) / 2)


@pytest.mark.parametrize(("cost", "margin"), [(0.2, 1.0), (0.2, 0.5), (0.7, 3.0)])
def test_the_zero_one_threshold(cost, margin):
    """The threshold is where both calls cost the same; above it positive is best."""
    loss = weighted_zero_one(cost, margin)
    at = loss.threshold
    assert at == pytest.approx(cost / (margin + (1 - margin) * cost), rel=1e-14)
    for eta in (at - 0.01, at + 0.01):
        best = loss.minimizer(eta)
        expected = [
            float(eta * loss.value(1, call) + (1 - eta) * loss.value(-1, call))
            for call in (best, -best)
        ]
        assert expected[0] < expected[1]
    assert weighted_zero_one(Costs(fn=4, fp=1)) == weighted_zero_one(0.2)


def test_the_unhinged_loss_is_symmetric():
    """Losses of both labels add up to a constant, and only the sign of the score is left."""
    f = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(unhinged.value(1, f) + unhinged.value(-1, f), 2)
    np.testing.assert_array_equal(unhinged.minimizer([0.4, 0.6]), [-1, 1])
    np.testing.assert_array_equal(unhinged.inverse_link([-2, 0, 2]), [0, 0.5, 1])


def test_large_scores_do_not_overflow():
    """The logistic loss is linear for large scores of the wrong sign, and its link stays exact."""
    assert logistic.value(-1, 1e6) == 1e6
    assert logistic.derivative(-1, 1e6) == 1
    assert logistic.inverse_link(-1000.0) == 0
    np.testing.assert_array_equal(logistic.minimizer([0.0, 1.0]), [-np.inf, np.inf])


def test_bad_parameters_are_refused():
    """Losses of an impossible cost or margin cannot be made."""
    for make in (weighted_zero_one, uneven_squared):
        with pytest.raises(ValueError, match="`cost` must lie in"):
            make(1.0)
        with pytest.raises(ValueError, match="`margin` must be a positive number"):
            make(0.5, 0.0)
