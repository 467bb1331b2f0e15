"""Gaussian kernels, centres and centile widths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from flipcost.paper.kernels import (
    CENTILES,
    centile_widths,
    choose_centers,
    gaussian_kernel,
    squared_distances,
)


def test_distances_survive_a_common_offset():
    """Adding 2^26 to dyadic rows, which is exact in floating point, changes no distance at all."""
    X = np.random.default_rng(1).integers(-50, 50, size=(30, 3)) / 8
    np.testing.assert_array_equal(
        squared_distances(X + 2.0**26, X[:4] + 2.0**26), squared_distances(X, X[:4])
    )


@pytest.mark.parametrize("halved", [True, False])
def test_kernel_is_the_stated_exponential(halved):
    """The kernel is exp(-d^2 / (2 s^2)), or without the 2."""
    sq = np.array([[0.0, 1.0], [4.0, 1e9]])
    expected = np.exp(-sq / (2 if halved else 1) / 0.7**2)
    np.testing.assert_allclose(gaussian_kernel(sq, 0.7, halved=halved), expected, rtol=1e-13)
    assert gaussian_kernel(0.0, 0.7, halved=halved) == 1


def test_tiny_width_does_not_underflow():
    """A width whose square is below the smallest double still gives a kernel of 1 at distance 0."""
    np.testing.assert_array_equal(gaussian_kernel([0.0, 1.0], 1e-160), [1.0, 0.0])


def test_centers_are_distinct_rows():
    """Centres are rows, none twice, and all of them when more are asked for than there are."""
    X = np.arange(60.0).reshape(30, 2)
    for n_centers in (1, 7, 30, 99):
        centers = choose_centers(X, n_centers, np.random.default_rng(2))
        assert len(centers) == min(n_centers, 30)
        assert len(np.unique(centers, axis=0)) == len(centers)
        assert np.isin(centers[:, 0], X[:, 0]).all()


@pytest.mark.parametrize("n_features", [1, 3, 10])
def test_centile_widths_follow_the_law_of_distances(n_features):
    """For standard normal rows |x - x'|^2 / 2 is chi-squared, centile by centile."""
    rng = np.random.default_rng(3)
    widths = centile_widths(rng.normal(size=(4000, n_features)), rng)
    levels = np.array(CENTILES) / 100
    law = stats.chi2(n_features)
    # Asymptotic standard error of a sample quantile from 2000 pairs; rows recur in at most two.
    error = np.sqrt(levels * (1 - levels) / 2000) / law.pdf(law.ppf(levels))
    assert np.all(np.abs(widths**2 / 2 - law.ppf(levels)) < 5 * error)


def test_centile_widths_scale_with_the_rows():
    """Rows four times as large have widths four times as large."""
    X = np.random.default_rng(4).normal(size=(300, 2))
    once = centile_widths(X, np.random.default_rng(5))
    np.testing.assert_allclose(centile_widths(4 * X, np.random.default_rng(5)), 4 * once)


def test_centile_widths_of_few_rows_use_every_pair():
    """Below the limit on pairs nothing is random and ranks are exact."""
    X = np.array([[0.0], [1.0], [3.0], [7.0]])  # distances 1 2 3 4 6 7
    for seed in range(3):
        widths = centile_widths(X, np.random.default_rng(seed))
        np.testing.assert_array_equal(widths, [1, 2, 3, 4, 6, 7])


def test_centile_widths_are_positive_when_rows_repeat():
    """One odd row among thousands of equal ones still gives a width."""
    X = np.zeros((5000, 2))
    X[17] = [3.0, 4.0]
    np.testing.assert_array_equal(centile_widths(X, np.random.default_rng(0)), [5.0])


def test_narrower_widths_are_added():
    """Multiples of the smallest width come on top of the centiles, sorted."""
    X = np.array([[0.0], [1.0], [3.0]])
    widths = centile_widths(X, np.random.default_rng(0), narrower=[0.5, 0.25])
    np.testing.assert_array_equal(widths, [0.25, 0.5, 1.0, 2.0, 3.0])


def test_wrong_input_is_named():
    """Rows that are all equal have no distance to take a width from."""
    with pytest.raises(ValueError, match="two distinct rows"):
        centile_widths(np.ones((10, 2)), np.random.default_rng(0))
