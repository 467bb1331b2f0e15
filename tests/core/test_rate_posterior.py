"""The posterior over rates: coverage, refinement, mixtures, and costs with the rate integrated."""

import numpy as np
import pytest
from scipy.special import expit

from flipcost.core.calibration import ScoreBins
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.rate_posterior import (
    RatePosterior,
    mixture_interval,
    rate_posterior,
    weighted_interval,
)
from flipcost.core.rate_search import integrate_rates


def noisy_bins(n, rate, seed, slope=2.0, offset=-0.7):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    clean = rng.random(n) < expit(slope * scores + offset)
    rho_pos, rho_neg = rate
    noisy = clean ^ (rng.random(n) < np.where(clean, rho_pos, rho_neg))
    return ScoreBins.from_scores(scores, noisy)


def posterior_of(fit):
    return RatePosterior(fit.rates, fit.weight.sum(axis=0))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.25, 0.4])
def test_interval_covers_the_rate(rate):
    """Of 40 draws, the 95 % interval covers in at least 34: fewer has probability below 0.002."""
    covered = 0
    for seed in range(40):
        fit = integrate_rates([noisy_bins(1500, (rate, rate), seed)])
        low, high = posterior_of(fit).interval(0.95)[0]
        covered += low <= rate <= high
    assert covered >= 34


def test_pair_interval_covers_both_rates():
    """Of 30 draws, both 90 % intervals of a pair cover in at least 20."""
    covered = np.zeros(2)
    for seed in range(30):
        fit = integrate_rates([noisy_bins(3000, (0.3, 0.1), seed)], "class_conditional")
        first, second = posterior_of(fit).interval(0.9)
        covered += [first[0] <= 0.3 <= first[1], second[0] <= 0.1 <= second[1]]
    assert covered.min() >= 20


def test_checked_rows_cover_rates_of_mistakes_that_follow_the_score():
    """Where constant rates are wrong, 30 checked rows give intervals that hold in 33 of 40 draws.

    At 0.95, fewer have a probability below 0.001.
    """
    covered = np.zeros(2)
    for seed in range(40):
        rng = np.random.default_rng([30, seed])
        scores = rng.normal(size=1_500)
        clean = rng.random(1_500) < expit(1.5 * scores - 1)
        noisy = clean ^ (rng.random(1_500) < expit(np.where(clean, -1.0 - scores, scores - 3.0)))
        rows = rng.permutation(1_500)[:30]
        bins = ScoreBins.from_scores(scores, noisy)
        bins = bins.with_checked(scores[rows], clean[rows], noisy[rows])
        limits = np.array(rate_posterior([bins], integrate_rates([bins])).interval())
        truth = np.array([(noisy != clean)[clean].mean(), (noisy != clean)[~clean].mean()])
        covered += (limits[:, 0] <= truth) & (truth <= limits[:, 1])
    assert covered.min() >= 33


def test_grid_refines_with_the_rows():
    """With many rows the grid zooms in: no point holds a third, and the interval is narrow."""
    fit = integrate_rates([noisy_bins(400_000, (0.2, 0.2), seed=1)])
    weight = fit.weight.sum(axis=0)
    assert weight.max() < 0.31
    low, high = posterior_of(fit).interval(0.95)[0]
    assert high - low < 0.02
    assert low < 0.2 < high


def test_a_tiny_rate_is_resolved():
    """One per cent of noise on rare positives is told from none and from two."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200_000)
    clean = rng.random(200_000) < expit(4 * scores - 8)
    noisy = clean ^ (rng.random(200_000) < 0.01)
    low, high = posterior_of(
        integrate_rates([ScoreBins.from_scores(scores, noisy)], "symmetric")
    ).interval()[0]
    assert 0.007 < low < 0.01 < high < 0.013


@pytest.mark.parametrize(("rate", "favoured"), [((0.2, 0.2), True), ((0.4, 0.05), False)])
def test_auto_finds_the_noise_model(rate, favoured):
    """With many rows the posterior weight goes to the noise model that made the labels."""
    fit = integrate_rates([noisy_bins(60_000, rate, seed=2)], "auto")
    weight = fit.weight.sum(axis=0)
    symmetric = weight[: np.count_nonzero(fit.rates[:, 0] == fit.rates[:, 1])]
    share = weight[fit.rates[:, 0] == fit.rates[:, 1]].sum()
    assert len(symmetric)
    assert (share > 0.7) == favoured


def test_known_rate_is_a_prior():
    """A rate known from elsewhere pulls a vague posterior to itself."""
    bins = noisy_bins(150, (0.1, 0.1), seed=3, slope=0.5)
    free = posterior_of(integrate_rates([bins])).mean[0]
    known = posterior_of(integrate_rates([bins], known=(0.1, 0.01))).mean[0]
    assert abs(known - 0.1) < 0.01 < abs(free - 0.1)


def test_cost_of_a_table_with_the_rate_known():
    """With one rate the cost is the denoised one of the table."""
    counts = np.array([[60.0, 20.0], [10.0, 30.0]])
    table = ConfusionCounts(counts, counts)
    posterior = RatePosterior(np.array([[0.1, 0.1]]), np.array([1.0]))
    interval, by_rate = posterior.cost(table, 0.2)
    assert interval.value == pytest.approx(float(table.cost(0.2, noise_rate=0.1)))
    assert by_rate.shape == (1,)
    known = table.interval("cost", cost=0.2, noise_rate=0.1)
    assert (interval.low, interval.high) == pytest.approx((known.low, known.high), abs=1e-9)


def test_not_knowing_the_rate_widens_the_interval():
    """A spread of rates gives a wider interval than its mean alone."""
    counts = np.array([[600.0, 200.0], [100.0, 300.0]])
    table = ConfusionCounts(counts, counts)
    sure = RatePosterior(np.array([[0.1, 0.1]]), np.array([1.0])).cost(table, 0.2)[0]
    rates = np.array([[0.02, 0.02], [0.18, 0.18]])
    unsure = RatePosterior(rates, np.array([0.5, 0.5])).cost(table, 0.2)[0]
    assert unsure.high - unsure.low > 1.5 * (sure.high - sure.low)


def test_intervals_of_samples_and_mixtures():
    """Quantiles of a uniform sample and of two far normals are where they must be."""
    low, high = weighted_interval(np.linspace(0, 1, 1001), np.ones(1001), 0.9)
    assert (low, high) == pytest.approx((0.05, 0.95), abs=1e-3)
    values = np.array([-10.0, 10.0])
    low, high = mixture_interval(values, np.ones(2), np.ones(2), 0.9)
    assert (low, high) == pytest.approx((-11.2816, 11.2816), abs=1e-3)
