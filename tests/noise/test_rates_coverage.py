"""Intervals cover: simulated, with a tolerance of three binomial standard errors."""

import numpy as np
import pytest
from scipy.special import expit

from flipcost.noise import (
    flip_labels,
    rate_bounds,
    rate_by_likelihood,
    rate_by_range,
    rate_from_repeats,
    rate_from_trusted,
)

FEW, MANY = 40, 400


def covered(estimate, truth, n_draws, level=0.95):
    """Assert that the interval holds the truth as often as its level, for each rate."""
    truth = np.atleast_1d(truth)
    rng = np.random.default_rng(2026)
    hits = np.zeros(len(truth))
    for _ in range(n_draws):
        found = estimate(rng)
        hits += (np.ravel(found.low) <= truth) & (truth <= np.ravel(found.high))
    se = np.sqrt(level * (1 - level) / n_draws)
    assert np.all(hits / n_draws >= level - 3 * se), hits / n_draws


def columns(rng, n, prior, rates):
    clean = rng.random(n) < prior
    return clean, [flip_labels(clean, rate, rng) for rate in rates]


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.45])
@pytest.mark.parametrize("n", [15, 150])
def test_trusted(n, rate):
    """One rate from trusted labels."""

    def estimate(rng):
        clean, (noisy,) = columns(rng, n, 0.3, [rate])
        return rate_from_trusted(noisy, clean)

    covered(estimate, rate, MANY)


def test_trusted_by_class():
    """Two rates from trusted labels, each with its own interval."""

    def estimate(rng):
        clean, (noisy,) = columns(rng, 120, 0.3, [(0.3, 0.1)])
        return rate_from_trusted(noisy, clean, class_conditional=True)

    covered(estimate, (0.3, 0.1), MANY)


@pytest.mark.filterwarnings("ignore:The two columns disagree")
@pytest.mark.parametrize("rate", [0.01, 0.2, 0.4, 0.49])
def test_two_repeats(rate):
    """One rate from two labels, up to where the disagreement is that of chance."""

    def estimate(rng):
        return rate_from_repeats(*columns(rng, 60, 0.3, [rate, rate])[1])

    covered(estimate, rate, MANY)


THREE = [(200, (0.2, 0.2, 0.1)), (60, (0.2, 0.3, 0.3)), (200, (0.4, 0.2, 0.3))]


def three_repeats(n, rates):
    def estimate(rng):
        return rate_from_repeats(*columns(rng, n, 0.3, rates)[1])

    return estimate


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rates"), THREE[:2])
def test_three_repeats(n, rates):
    """The first one's rate from three labels."""
    covered(three_repeats(n, rates), rates[0], FEW // 2)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rates"), THREE)
def test_three_repeats_many(n, rates):
    """The same, with many draws."""
    covered(three_repeats(n, rates), rates[0], MANY // 2)


def pair_of_repeats(rng):
    rates = [(0.3, 0.1), (0.2, 0.2), (0.1, 0.1)]
    found = columns(rng, 500, 0.4, rates)[1]
    found[2] = np.where(rng.random(500) < 0.3, np.nan, found[2].astype(float))
    return rate_from_repeats(*found, class_conditional=True)


@pytest.mark.slow
def test_three_repeats_by_class():
    """Both rates of the first of three, some labels missing."""
    covered(pair_of_repeats, (0.3, 0.1), 6)


@pytest.mark.slow
def test_three_repeats_by_class_many():
    """The same, with many draws."""
    covered(pair_of_repeats, (0.3, 0.1), MANY // 4)


def pure_tails(rng, n, noise_rate):
    """Draw noisy labels whose clean class is sure in the outer tenths."""
    x = rng.random(n)
    eta = np.clip((x - 0.1) / 0.8, 0.0, 1.0)
    return x, flip_labels(rng.random(n) < eta, noise_rate, rng)


def test_range_with_labels():
    """Rates from the labels in pure tails, whatever the probabilities are worth."""

    def pooled(rng):
        x, y = pure_tails(rng, 400, 0.2)
        return rate_by_range(x**3, y, tail=0.05)

    def pair(rng):
        x, y = pure_tails(rng, 400, (0.3, 0.1))
        return rate_by_range(x**3, y, tail=0.05, class_conditional=True)

    covered(pooled, 0.2, MANY)
    covered(pair, (0.3, 0.1), MANY)


def test_range_without_labels():
    """Quantiles of the probabilities are covered; they are the rates only where tails are pure."""

    def pair(rng):
        return rate_by_range(0.1 + 0.6 * rng.random(500), tail=0.02, class_conditional=True)

    def pooled(rng):
        return rate_by_range(0.1 + 0.6 * rng.random(500), tail=0.02)

    covered(pair, (0.3 + 0.02 * 0.6, 0.1 + 0.02 * 0.6), MANY)
    covered(pooled, 0.2 + 0.02 * 0.6, MANY)


CURVES = [(400, 3.0, 0.0, 0.2), (400, 3.0, -1.0, 0.3), (400, 3.0, 0.0, 0.0), (1000, 1.0, -1.0, 0.1)]


def by_likelihood(n, slope, offset, noise_rate, **options):
    def estimate(rng):
        scores = rng.normal(size=n)
        clean = rng.random(n) < expit(slope * scores + offset)
        return rate_by_likelihood(flip_labels(clean, noise_rate, rng), scores, **options)

    return estimate


@pytest.mark.parametrize(("n", "slope", "offset", "rate"), CURVES[:2])
def test_likelihood(n, slope, offset, rate):
    """The profile interval, when clean log-odds are linear in the score."""
    covered(by_likelihood(n, slope, offset, rate), rate, FEW)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "slope", "offset", "rate"), CURVES)
def test_likelihood_many(n, slope, offset, rate):
    """The same, with many draws, at no noise, and where the score hardly shows the rate."""
    covered(by_likelihood(n, slope, offset, rate), rate, MANY)


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.3, 0.1), (0.1, 0.3)])
def test_likelihood_by_class_many(rates):
    """Each profile interval, the other rate profiled out."""
    estimate = by_likelihood(600, 3.0, -0.5, rates, class_conditional=True)
    covered(estimate, rates, 100)


def test_bounds_hold():
    """The bound exceeds the rate, where tails are pure and where they are not."""

    def pure(rng):
        x, y = pure_tails(rng, 1000, 0.2)
        return rate_bounds(y, x)

    def overlapping(rng):
        x = rng.random(500)
        y = flip_labels(rng.random(500) < 0.2 + 0.6 * x, (0.3, 0.1), rng)
        return rate_bounds(y, x, class_conditional=True)

    covered(pure, 0.2, MANY)
    covered(overlapping, (0.3, 0.1), MANY)


def test_bounds_hold_for_scores_out_of_fold():
    """The bound holds for scores learnt from the noisy labels of the other folds."""

    def estimate(rng):
        X = np.column_stack([rng.normal(size=(300, 5)), np.ones(300)])
        y = flip_labels(X[:, 0] > 0, 0.2, rng)
        fold = rng.integers(0, 5, 300)
        scores = np.empty(300)
        for k in range(5):
            gram = X[fold != k].T @ X[fold != k] + np.eye(6)
            scores[fold == k] = X[fold == k] @ np.linalg.solve(
                gram, X[fold != k].T @ (2.0 * y - 1)[fold != k]
            )
        return rate_bounds(y, scores)

    covered(estimate, 0.2, MANY)
