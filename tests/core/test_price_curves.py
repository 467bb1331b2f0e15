"""Curves over prices and thresholds: what each point is if it is worked out alone."""

import numpy as np
import pytest

from flipcost.core.clean_means import LabelSums, cost_sums
from flipcost.core.costs import RowCosts
from flipcost.core.curves import net_benefit_curve, price_curve
from flipcost.core.decision import bayes_flags
from flipcost.core.error_rates import RatePosterior

CLEAN = RatePosterior(np.zeros((1, 2)), np.ones(1))
FACTORS = np.array([4.0, 0.1, 1.0, 0.5, 30.0])


def _rows(n=800, seed=0):
    rng = np.random.default_rng(seed)
    eta = rng.random(n)
    return rng, eta, (rng.random(n) < eta) ^ (rng.random(n) < 0.15), rng.integers(1, 4, n) * 1.0


def _posterior(rng):
    rates, weight = 0.4 * rng.random((30, 2)), rng.random(30)
    wide = np.concatenate([rates, 0.5 * rng.random((10, 2))])
    share = np.concatenate([0.9 * weight / weight.sum(), np.full(10, 0.01)])
    anything = np.repeat([False, True], [30, 10])
    return RatePosterior(rates, weight / weight.sum(), wide, share, anything)


def _check(curve, sums, posterior):
    """Compare with sums of one point, given its place and calls: None, True or False."""
    for k in range(len(curve.x)):
        own = sums(k, None)
        found = own.mean(posterior)
        assert curve.clean[k] == pytest.approx((found.value, found.low, found.high), abs=1e-9)
        assert curve.observed[k] == pytest.approx(own.mean(CLEAN).value, abs=1e-12)
        constants = (float(posterior.weight @ sums(k, c).by_rate(posterior)) for c in (True, False))
        assert (curve.all_positive[k], curve.all_negative[k]) == pytest.approx(tuple(constants))


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_cost_over_prices_is_that_of_each_price(by_row, is_weighted):
    """Sums between break-even factors give what summing over rows at each factor gives.

    Where a miss costs less than a right call, the row is never called.
    """
    rng, eta, labels, weight = _rows()
    weight = weight if is_weighted else None
    prices = RowCosts(np.full(800, 4.0), np.ones(800))
    if by_row:
        cheaper = np.where(rng.random(800) < 0.1, 0.2, 0.0)
        prices = RowCosts(9 * rng.random(800) + 6.0 * (cheaper > 0), 3 * rng.random(800), cheaper)
    posterior = _posterior(rng)

    def sums(k, constant):
        scaled = prices.scaled(float(FACTORS[k]))
        flagged = bayes_flags(eta, scaled) if constant is None else np.full(800, constant)
        return cost_sums(labels, flagged, scaled, weight)

    _check(price_curve(labels, eta, prices, posterior, FACTORS, weight), sums, posterior)


def test_net_benefit_is_that_of_each_threshold():
    """Tables over thresholds give what summing over rows at each threshold gives."""
    rng, eta, labels, weight = _rows(seed=1)
    cuts, posterior = np.array([0.5, 0.1, 0.9]), _posterior(rng)

    def sums(k, constant):
        flagged = eta > cuts[k] if constant is None else np.full(800, constant)
        odds = cuts[k] / (1 - cuts[k])
        return LabelSums.of_rows(labels, flagged * (1 + odds), -odds * flagged, weight, flagged, 2)

    _check(net_benefit_curve(labels, eta, posterior, cuts, weight), sums, posterior)
