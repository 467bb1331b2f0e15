"""Parts of a table: pooled partially, covered by their intervals, the worst one named."""

import numpy as np
import pytest
from scipy.special import expit

from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior
from flipcost.core.segments import pool_normal, segment_figures

KNOWN = RatePosterior(np.array([[0.15, 0.15]]), np.ones(1))
SIZES = np.array([900, 500, 300, 200, 120, 80, 50, 30])


def draw(rng, spread=0.5):
    """Draw rows of eight parts, whose rates differ, and what holds of each in truth."""
    part = np.repeat(np.arange(len(SIZES)), SIZES)
    rate = expit(np.log(0.15 / 0.85) + spread * rng.normal(size=len(SIZES)))[part]
    x = rng.normal(size=len(part)) + 0.3 * (part % 3)
    eta = expit(2 * x - 0.5)
    y = rng.random(len(part)) < eta
    noisy = y ^ (rng.random(len(part)) < rate)
    prices = RowCosts(20 * np.exp(0.4 * rng.normal(size=len(part))), np.full(len(part), 5.0))
    return part, rate, eta, y, noisy, prices


def test_intervals_cover_the_parts():
    """Intervals of noise, cost, precision and recall of parts hold the truth about as often."""
    rng = np.random.default_rng(0)
    draws, covered = 60, np.zeros(4)
    for _ in range(draws):
        part, rate, eta, _, noisy, prices = draw(rng)
        flagged = prices.gain(eta) > 0
        found = segment_figures(part, noisy, eta, flagged, prices, KNOWN)
        for segment in found:
            mine = part == int(segment.name)
            expected = np.where(flagged, (1 - eta) * prices.alarm, eta * prices.miss)[mine].mean()
            truths = (
                rate[mine].mean(),
                expected,
                eta[mine & flagged].mean(),
                eta[mine & flagged].sum() / eta[mine].sum(),
            )
            pairs = zip(
                truths,
                (segment.wrong_share, segment.cost, segment.precision, segment.recall),
                strict=True,
            )
            covered += [i.low <= t <= i.high for t, i in pairs]
    rate = covered / (draws * len(SIZES))
    assert np.all(rate > 0.92), rate
    assert rate[0] < 0.99, rate


def test_small_parts_do_not_shout():
    """Where all parts are alike, small ones are drawn to the rest, and nearer than they look."""
    rng = np.random.default_rng(1)
    part, _, eta, _, noisy, prices = draw(rng, spread=0.0)
    found = segment_figures(part, noisy, eta, prices.gain(eta) > 0, prices, KNOWN)
    wrong = np.array([s.wrong_share.value for s in found])
    assert wrong.max() - wrong.min() < 0.06
    means, _, weight = pool_normal([0.1, 0.1, 0.1, 0.9], [0.02, 0.02, 0.02, 0.4])
    assert weight @ means[:, 3] < 0.3


def test_the_worst_part_is_named():
    """A part whose labels are clearly worse comes first, and is said to be the worst."""
    rng = np.random.default_rng(2)
    part, _, eta, y, _, prices = draw(rng)
    noisy = y ^ (rng.random(len(part)) < np.where(part == 1, 0.35, 0.1))
    found = segment_figures(part, noisy, eta, prices.gain(eta) > 0, prices, KNOWN)
    assert found[0].name == "1"
    assert found[0].chance_worst > 0.95
    assert sum(s.chance_worst for s in found) == pytest.approx(1.0)


def test_parts_in_which_nothing_is_called_have_figures_too():
    """Precision of a part without calls is that of the others, and unsure."""
    rng = np.random.default_rng(3)
    part, _, eta, _, noisy, prices = draw(rng)
    flagged = (prices.gain(eta) > 0) & (part != 7)
    found = {s.name: s for s in segment_figures(part, noisy, eta, flagged, prices, KNOWN)}
    assert 0 <= found["7"].precision.low < found["7"].precision.high <= 1
    alone = segment_figures(np.zeros(len(part)), noisy, eta, flagged, prices, KNOWN)
    assert len(alone) == 1
    assert alone[0].cost.low < alone[0].cost.value < alone[0].cost.high
