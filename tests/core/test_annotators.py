"""Several annotators without a trusted label: likelihood, estimates, limits."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logit

from flipcost.core.annotators import AnnotatorModel, LabelPatterns


def exact_patterns(prior, rates, n):
    """Return all patterns of labels with their expected counts in n rows."""
    rates = np.asarray(rates)
    labels = np.indices((2,) * len(rates)).reshape(len(rates), -1).T
    if_pos = np.where(labels == 1, 1 - rates[:, 0], rates[:, 0]).prod(axis=1)
    if_neg = np.where(labels == 0, 1 - rates[:, 1], rates[:, 1]).prod(axis=1)
    counts = n * (prior * if_pos + (1 - prior) * if_neg)
    return LabelPatterns((labels == 1).astype(float), (labels == 0).astype(float), counts)


def random_model(rng, *, symmetric):
    labels = rng.integers(0, 2, (40, 3)).astype(float)
    labels[rng.random(labels.shape) < 0.2] = np.nan
    return AnnotatorModel(LabelPatterns.from_labels(labels), symmetric=symmetric)


@pytest.mark.parametrize("symmetric", [True, False])
def test_gradient_is_that_of_the_likelihood(symmetric):
    """The gradient agrees with finite differences."""
    rng = np.random.default_rng(0)
    model = random_model(rng, symmetric=symmetric)
    theta = rng.normal(size=model.size)
    value, gradient = model._objective(theta)
    numeric = approx_fprime(theta, lambda t: model._objective(t)[0], 1e-6)
    # Differences of values near 80 at a step of 1e-6 carry errors near 1e-6 (curvature) + 2e-8.
    np.testing.assert_allclose(gradient, numeric, atol=1e-4)
    assert np.isfinite(value)


def test_likelihood_is_the_sum_over_classes():
    """The likelihood of a row is the mixture over its two classes, missing labels left out."""
    labels = np.array([[1, 0, np.nan]])
    model = AnnotatorModel(LabelPatterns.from_labels(labels), symmetric=False)
    prior, pos, neg = 0.3, np.array([0.1, 0.2, 0.4]), np.array([0.25, 0.15, 0.3])
    theta = logit(np.concatenate([[prior], pos, neg]))
    expected = 0.3 * 0.9 * 0.2 + 0.7 * 0.25 * 0.85
    np.testing.assert_allclose(-model._objective(theta)[0], np.log(expected), rtol=1e-12)


@pytest.mark.parametrize("symmetric", [True, False])
def test_expected_counts_give_the_rates_back(symmetric):
    """At the expected counts of three annotators the likelihood peaks at the truth."""
    rates = (
        [[0.1, 0.1], [0.3, 0.3], [0.2, 0.2]] if symmetric else [[0.3, 0.1], [0.2, 0.2], [0.1, 0.3]]
    )
    model = AnnotatorModel(exact_patterns(0.35, rates, 1e4), symmetric=symmetric)
    found = model.fit()
    # The optimiser stops at relative gains of 1e-12 of a value near 2e4, that is 2e-8 in the
    # likelihood, whose curvature in a rate is of the order of 1e4.
    np.testing.assert_allclose(found.rates, rates, atol=1e-4)
    np.testing.assert_allclose(found.prior, 0.35, atol=1e-4)


def test_limits_are_where_the_profile_has_fallen():
    """At each limit the best likelihood is a chi-squared quantile below the best of all."""
    model = AnnotatorModel(exact_patterns(0.4, [[0.2, 0.2]] * 3, 500), symmetric=True)
    best = model.fit().log_likelihood
    _, low, high = model.interval(0, 0.95)
    for limit in (low, high):
        fixed = {1: float(logit(limit))}
        fall = best - model._best(model._starts(), fixed)[1]
        np.testing.assert_allclose(fall, 3.841459 / 2, rtol=2e-3)
    assert low < 0.2 < high


def test_swapping_the_classes_swaps_the_rates():
    """The rate on positives is the rate on negatives after the labels are exchanged."""
    patterns = exact_patterns(0.4, [[0.3, 0.1], [0.2, 0.2], [0.1, 0.1]], 800)
    swapped = LabelPatterns(patterns.negative, patterns.positive, patterns.counts)
    model, mirror = (AnnotatorModel(p, symmetric=False) for p in (patterns, swapped))
    np.testing.assert_allclose(model.interval(0), mirror.interval(1), atol=1e-3)


def test_repeating_rows_narrows_the_interval():
    """Four times the rows halve the interval, to first order."""
    wide = AnnotatorModel(exact_patterns(0.4, [[0.2, 0.2]] * 3, 2000), symmetric=True).interval(0)
    slim = AnnotatorModel(exact_patterns(0.4, [[0.2, 0.2]] * 3, 8000), symmetric=True).interval(0)
    np.testing.assert_allclose((wide[2] - wide[1]) / (slim[2] - slim[1]), 2.0, rtol=0.05)
    np.testing.assert_allclose(wide[0], slim[0], atol=1e-4)


def test_patterns_count_missing_apart():
    """Rows with a missing label make patterns of their own."""
    seen = LabelPatterns.from_labels([[1, np.nan], [1, 0], [1, np.nan]])
    order = np.argsort(seen.counts)
    np.testing.assert_array_equal(seen.counts[order], [1, 2])
    np.testing.assert_array_equal((seen.positive + seen.negative)[order], [[1, 1], [1, 0]])
