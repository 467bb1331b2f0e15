"""Weighted quantiles."""

import numpy as np

from flipcost.core.arrays import weighted_quantile

LEVELS = [0.0, 0.01, 0.25, 0.5, 0.8, 1.0]


def test_equal_weights_are_hazens_rule():
    """Without weights, and with equal ones of any size, numpy's quantile by the same rule."""
    x = np.random.default_rng(0).normal(size=101)
    expected = np.quantile(x, LEVELS, method="hazen")
    np.testing.assert_allclose(weighted_quantile(x, LEVELS), expected)
    np.testing.assert_allclose(weighted_quantile(x, LEVELS, np.full(101, 7.0)), expected)


def test_weights_count_as_repetitions_but_for_the_ends_of_steps():
    """A weight moves a quantile as copies do, to within the gap between neighbours."""
    rng = np.random.default_rng(1)
    x, w = np.sort(rng.normal(size=2_000)), rng.integers(1, 5, 2_000)
    found = weighted_quantile(x, LEVELS, w)
    copies = np.quantile(np.repeat(x, w), LEVELS, method="hazen")
    middle = slice(1, -1)
    assert np.abs(found - copies)[middle].max() < 5 * np.diff(x)[20:-20].max()
    # A weight of nought is no row at all.
    w[::3] = 0
    np.testing.assert_allclose(
        weighted_quantile(x, LEVELS[middle], w),
        weighted_quantile(x[w > 0], LEVELS[middle], w[w > 0]),
    )
