"""Figures are kept to what can be, in one place."""

import numpy as np
import pytest

from flipcost.core.checked_rows import contradict
from flipcost.core.clean_means import LabelSums, denoised_mean
from flipcost.core.confusion import ConfusionCounts, clip_interval
from flipcost.core.costs import RowCosts
from flipcost.core.curves import confusion_cells
from flipcost.core.error_rates import RatePosterior
from flipcost.core.noise import NoiseRate, not_identified, why_uninformative


def test_limits_contain_what_is_cut():
    """Whatever comes in, the estimate is inside its limits and these inside what can be."""
    rng = np.random.default_rng(0)
    strange = np.array([np.nan, np.inf, -np.inf, 0.0, -5.0, 5.0])
    for _ in range(500):
        value = float(rng.normal())
        low, high = np.where(rng.random(2) < 0.2, rng.choice(strange, 2), rng.normal(size=2))
        value, low, high = clip_interval(value, low, high, 0.0, 0.8)
        assert 0 <= low <= value <= high <= 0.8


def test_intervals_of_measures_contain_them():
    """Denoised by any rate, of any small table and level, a measure lies inside its interval."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        counts = rng.integers(0, 12, (2, 2)).astype(float)
        counts[0, 0] += 1
        rate = tuple(rng.uniform(0, 0.5, 2))
        table = ConfusionCounts(counts, counts)
        level = float(rng.choice([1e-9, 0.5, 0.95, 1 - 1e-12]))
        found = denoised_mean(LabelSums.of_table(table, RowCosts.of(0.2)), rate, level)
        # What is clipped at nothing, or at all, is so up to rounding.
        assert -1e-12 <= found.low <= found.value <= found.high <= 0.8 + 1e-12
        cells = confusion_cells(table, rate, level)
        assert np.all((cells >= 0) & (cells <= 1))
        assert np.all((cells[..., 1] <= cells[..., 0]) & (cells[..., 0] <= cells[..., 2]))


def test_a_rate_that_leaves_nothing_identifies_nothing():
    """Where the standard error of a share passes a quarter, intervals are all that can be."""
    assert "40,000 would be needed" in str(not_identified((0.6, 0.39), 39_999))
    assert not_identified((0.6, 0.39), 40_000) is None
    assert "not" not in str(not_identified(0.2, 5))  # few rows, not a useless rate
    counts = np.array([[350.0, 250.0], [200.0, 200.0]])
    table = ConfusionCounts(counts, counts)
    posterior = RatePosterior(np.array([[0.6, 0.39]]), np.ones(1))
    cost = LabelSums.of_table(table, RowCosts.of(0.2)).mean(posterior)
    assert cost.low == 0.0
    assert cost.high == pytest.approx(0.8 * 0.55 + 0.2 * 0.45)  # if every call is a mistake
    wrong = posterior.wrong_share(0.4, n_rows=1000)
    assert (wrong.low, wrong.high) == (0.39, 0.6)


def test_an_estimate_that_may_be_one_half_tells_nothing():
    """One rate whose interval reaches one half is no rate; pairs are left to their sum."""
    assert why_uninformative(NoiseRate(0.43, 0.38, 0.5, "two labels")) is not None
    assert why_uninformative(NoiseRate(0.43, 0.38, 0.49, "two labels")) is None
    assert why_uninformative(NoiseRate((0.3, 0.2), (0.1, 0.1), (0.6, 0.5), "three labels")) is None


def test_checks_contradict_by_count_or_by_odds():
    """Most labels wrong, or a label that makes its class less likely beyond chance."""
    right = np.repeat([True, False], [20, 80])
    assert contradict(~right, right)
    assert not contradict(right, right)
    # Few wrong, since positives are rare, and yet no positive is labelled so.
    labels = np.zeros(100, dtype=bool)
    labels[60:] = True
    assert contradict(labels, right)
    assert not contradict(np.zeros(100, dtype=bool), right)  # labels that say nothing
    assert not contradict(~right[:9], right[:9])  # too few to tell
