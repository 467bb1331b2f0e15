"""Intervals of many mixtures at once: where the distribution functions reach the level."""

import numpy as np
from scipy.special import ndtr

from flipcost.core import error_rates as mixtures
from flipcost.core.error_rates import mixture_intervals


def test_ends_have_the_level_below_them():
    """Few parts or many, close or far apart, of any spread: the ends cut off what they should."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(1, 200))
        values = rng.normal(size=(3, n)) * 10 ** rng.uniform(-4, 3)
        errors = np.abs(rng.normal(size=(3, n))) * 10 ** rng.uniform(-3, 2)
        weight = rng.random(n) ** 8
        ends = mixture_intervals(values, errors, weight, 0.9)
        for end, target in zip(ends, (0.05, 0.95), strict=True):
            below = ndtr((end[:, None] - values) / errors) @ weight / weight.sum()
            np.testing.assert_allclose(below, target, atol=1e-8)


def test_certain_parts_are_steps():
    """Without spread the ends are the parts at which the weight passes the level."""
    low, high = mixture_intervals(np.arange(100.0)[None], np.zeros((1, 100)), np.ones(100), 0.9)
    np.testing.assert_allclose([low[0], high[0]], [5, 94], atol=1.01)


def test_steps_between_parts_far_apart_do_not_overflow():
    """Where the density between two parts is the least that there is, ends are within reach."""
    for error in np.linspace(0.5 / 38.7, 0.5 / 37.5, 300):  # 38 spreads from the middle to either
        low, high = mixture_intervals(
            np.array([[0.0, 1.0]]), np.full((1, 2), error), np.ones(2), 1e-9
        )
        assert -10 * error <= low[0] <= high[0] <= 1 + 10 * error


def test_what_is_found_is_not_left(monkeypatch):
    """One part starts at its ends, and stays there: two steps, where halving takes thirty."""
    steps = []
    monkeypatch.setattr(mixtures, "ndtr", lambda z: steps.append(len(z)) or ndtr(z))
    errors = np.geomspace(1e-6, 1e6, 13)[:, None]
    low, high = mixture_intervals(np.zeros((13, 1)), errors, np.ones(1), 0.95)
    np.testing.assert_allclose(high / errors[:, 0], 1.959963984540054, rtol=1e-14)
    np.testing.assert_allclose(low, -high, rtol=1e-14)
    assert len(steps) <= 2
