"""Noise rates by likelihood: exact on exact data, calibrated on drawn data."""

import numpy as np
import pytest
from scipy.special import expit

from flipcost.core.noise import flip, noisy_eta
from flipcost.paper.forward import pair_of_rates, symmetric_rate
from flipcost.paper.losses import Design

TRUE = np.array([1.5, -0.7, 0.3])


def population(rate, n=400, seed=0):
    """Each point once with either label, weighed by its probability: no sampling error in y."""
    X = 2 * np.random.default_rng(seed).normal(size=(n, 2))
    eta = noisy_eta(expit(X @ TRUE[:-1] + TRUE[-1]), rate)
    positive = np.repeat([True, False], n)
    return Design(np.vstack([X, X]), np.concatenate([eta, 1 - eta])), positive


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.4])
def test_symmetric_rate_is_exact_on_a_population(rate):
    """With labels replaced by their probabilities, rate and coefficients come back."""
    found = symmetric_rate(*population(rate), 0.0, n_rows=400)
    # The slope vanishes to 1e-10, so the rate is off by that over the curvature.
    assert found.rates == pytest.approx((rate, rate), abs=1e-6)
    assert np.allclose(found.fit.coefficients, TRUE, atol=1e-5)
    low, high = found.intervals[0]
    assert low < rate < high


def test_clean_labels_give_a_rate_of_zero():
    """Without noise the estimate is at the end of its range, and so is the interval."""
    found = symmetric_rate(*population(0.0), 0.0, n_rows=400)
    assert found.rates[0] == pytest.approx(0.0, abs=1e-6)
    assert found.intervals[0, 0] == 0.0


def test_pair_of_rates_is_exact_on_a_population():
    """Two rates come back as well, less sharply: the profile is flatter."""
    found = pair_of_rates(*population((0.3, 0.1)), 0.0, n_rows=400)
    assert found.rates == pytest.approx((0.3, 0.1), abs=1e-3)
    assert (found.intervals[:, 0] < (0.3, 0.1)).all()
    assert (found.intervals[:, 1] > (0.3, 0.1)).all()


def test_one_rate_is_known_better_than_two():
    """Leaving the second rate free widens the interval of the first."""
    design, positive = population(0.2)
    one = symmetric_rate(design, positive, 0.0, n_rows=400).intervals[0]
    two = pair_of_rates(design, positive, 0.0, n_rows=400).intervals
    assert (np.diff(two)[:, 0] > np.diff(one)[0]).all()


def test_intervals_shrink_with_rows_and_grow_with_the_level():
    """Their width goes like one over the root of the rows."""
    design, positive = population(0.2)
    few = symmetric_rate(design, positive, 0.0, n_rows=1000).intervals[0]
    many = symmetric_rate(design, positive, 0.0, n_rows=100_000).intervals[0]
    sure = symmetric_rate(design, positive, 0.0, n_rows=1000, level=0.99).intervals[0]
    # Asymptotics in the width: a tenth, to within the curvature that the wide one sees.
    assert np.diff(many)[0] == pytest.approx(np.diff(few)[0] / 10, rel=0.2)
    assert sure[0] < few[0] < few[1] < sure[1]


@pytest.mark.slow
def test_interval_covers_the_rate_as_often_as_it_says():
    """Over 60 draws, coverage is at least 0.95 less three standard errors."""
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 7])
        X = 2 * rng.normal(size=(500, 2))
        clean = rng.random(500) < expit(X @ TRUE[:-1] + TRUE[-1])
        noisy = flip(clean, 0.2, rng)
        low, high = symmetric_rate(Design(X), noisy, 0.0, n_rows=500).intervals[0]
        covered += low <= 0.2 <= high
    assert covered / 60 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 60)
