"""Means on clean labels from noisy ones: exact in expectation, covered by their intervals."""

import itertools

import numpy as np
import pytest

from flipcost.core.checked_rows import CheckedRows, given_label
from flipcost.core.clean_means import (
    LabelSums,
    cost_sums,
    denoised_mean,
    saving_sums,
    unbiased_mean,
)
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior


def test_the_mean_over_all_flips_is_the_clean_mean():
    """Averaged over every flip, weighted by its probability, the denoised cost is the clean one."""
    rng = np.random.default_rng(0)
    n, rates = 6, (0.3, 0.15)
    y, flagged = rng.random(n) < 0.5, rng.random(n) < 0.5
    prices, weight = RowCosts(*rng.uniform(0.5, 9, (2, n))), rng.uniform(0.5, 2, n)
    truth = np.average(prices.paid(y, flagged), weights=weight)
    expected = 0.0
    for flips in itertools.product([False, True], repeat=n):
        flip = np.array(flips)
        rate = np.where(y, rates[0], rates[1])
        chance = np.prod(np.where(flip, rate, 1 - rate))
        sums = cost_sums(y ^ flip, flagged, prices, weight)
        expected += chance * unbiased_mean(sums, rates)
    assert expected == pytest.approx(truth, rel=1e-12)


def test_savings_are_differences():
    """A saving is the difference of two costs."""
    rng = np.random.default_rng(1)
    n = 400
    y, ours, theirs = rng.random((3, n)) < 0.5
    prices = RowCosts(*rng.uniform(0.5, 9, (2, n)))
    costs = [unbiased_mean(cost_sums(y, c, prices), 0.2) for c in (theirs, ours)]
    saving = unbiased_mean(saving_sums(y, ours, theirs, prices), 0.2)
    assert saving == pytest.approx(costs[0] - costs[1], rel=1e-9)


@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.1)])
def test_coverage_with_prices_that_depend_on_the_features(rates):
    """95 % intervals of cost and saving hold the truth in 92 to 98 % of 600 draws.

    Amounts grow with the feature that tells the label, so that dear rows are called more often.
    """
    rng = np.random.default_rng(2)
    n, draws = 800, 600

    def draw(size):
        x = rng.normal(size=size)
        y = rng.random(size) < 1 / (1 + np.exp(1 - 1.5 * x))
        prices = RowCosts(np.exp(0.6 * x + 0.5 * rng.normal(size=size)) * 20, np.full(size, 5.0))
        # The rule may be wrong: what is estimated is what it costs.
        flagged = prices.gain(1 / (1 + np.exp(0.5 - x))) > 0
        return y, flagged, prices

    y, flagged, prices = draw(400_000)
    everything = np.ones_like(flagged)
    truth = prices.paid(y, flagged).mean()
    better = prices.paid(y, everything).mean() - truth
    covered = np.zeros(2)
    values = []
    for _ in range(draws):
        y, flagged, prices = draw(n)
        noisy = y ^ (rng.random(n) < np.where(y, rates[0], rates[1]))
        cost = denoised_mean(cost_sums(noisy, flagged, prices), rates)
        saving = denoised_mean(saving_sums(noisy, flagged, np.ones(n, bool), prices), rates)
        covered += [cost.low <= truth <= cost.high, saving.low <= better <= saving.high]
        values.append(unbiased_mean(cost_sums(noisy, flagged, prices), rates))
    assert np.all(covered / draws > 0.92), covered / draws
    assert np.all(covered / draws < 0.98), covered / draws
    error = np.std(values) / np.sqrt(draws)
    assert abs(np.mean(values) - truth) < 4 * error


def test_checked_rows_cover_the_cost_at_prices_by_row():
    """With prices by row the cost from checked rows covers the truth, labels following features."""
    rng = np.random.default_rng(3)
    n, n_checked, draws, covered = 3000, 200, 120, 0
    for _ in range(draws):
        x = rng.normal(size=n)
        eta = 1 / (1 + np.exp(-2 * x))
        y = rng.random(n) < eta
        noisy = y ^ (rng.random(n) < np.where(x > 0, 0.3, 0.05))
        prices = RowCosts(np.exp(0.5 * rng.normal(size=n)) * 20, np.full(n, 8.0))
        flagged = prices.gain(eta) > 0
        rows = rng.choice(n, n_checked, replace=False)
        checked = CheckedRows(rows, y[rows])
        expected = given_label(eta, noisy, (0.15, 0.15))
        found = checked.cost(
            positive=noisy, flagged=flagged, expected=expected, score=expected, costs=prices
        )
        covered += found.low <= prices.paid(y, flagged).mean() <= found.high
    # 95 % of 120, less three standard errors of chance; the truth here is that of the rows.
    assert covered / draws > 0.95 - 3 * np.sqrt(0.05 * 0.95 / draws)


def test_nothing_impossible_is_estimated():
    """Estimates over a posterior and limits lie between the least and the most that can be."""
    rng = np.random.default_rng(4)
    posterior = RatePosterior(np.array([[0.4, 0.4], [0.1, 0.1]]), np.array([0.5, 0.5]))
    for _ in range(50):
        n = int(rng.integers(2, 12))
        sums = LabelSums.of_rows(rng.random(n) < 0.5, rng.normal(size=n), rng.normal(size=n))
        least, most = sums.limits()
        found = sums.mean(posterior)
        assert least - 1e-12 <= found.low <= found.value <= found.high <= most + 1e-12
