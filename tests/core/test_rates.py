"""Rates with limits: binomial, of a disagreement, of a quantile, of the purest tail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from flipcost.core.noise import (
    NoiseRate,
    check_level,
    clopper_pearson,
    purest_tail,
    quantile_interval,
    rate_of_disagreement,
    rate_pair,
    tail_counts,
    transition_matrix,
)

LEVELS = (0.8, 0.95, 0.99)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 7, 40])
def test_binomial_limits_cover_at_every_probability(n, level):
    """Summed over all outcomes, two-sided limits cover with at least their level."""
    low, high = clopper_pearson(np.arange(n + 1), n, level)
    p = np.linspace(0.001, 0.999, 333)[:, None]
    cover = (binom.pmf(np.arange(n + 1), n, p) * ((low <= p) & (p <= high))).sum(axis=1)
    assert cover.min() >= level - 1e-12


def test_limits_are_the_definition():
    """At the limits, a count as extreme as the one observed has half of what the level leaves."""
    low, high = clopper_pearson(6, 25, 0.9)
    np.testing.assert_allclose(binom.sf(5, 25, low), 0.05, rtol=1e-9)
    np.testing.assert_allclose(binom.cdf(6, 25, high), 0.05, rtol=1e-9)


def test_limits_at_the_ends():
    """No success gives a lower limit of 0, only successes an upper one of 1, no trials both."""
    low, high = clopper_pearson([0, 5, 0], [5, 5, 0])
    np.testing.assert_array_equal(low[[0, 2]], 0.0)
    np.testing.assert_array_equal(high[1:], 1.0)
    # (1 - p)^5 = 0.025
    np.testing.assert_allclose(high[0], 1 - 0.025 ** (1 / 5), rtol=1e-12)


@given(st.floats(0, 0.5))
def test_disagreement_there_and_back(rate):
    """The rate of the disagreement that a rate makes is that rate."""
    back = rate_of_disagreement(2 * rate * (1 - rate))
    # The square root at one half turns rounding of eps into one of sqrt(eps).
    np.testing.assert_allclose(back, rate, atol=2e-8, rtol=1e-12 if rate < 0.4 else 1e-7)


def test_disagreement_follows_from_the_transition_matrix():
    """For any class, two labels drawn by the transition matrix disagree as often as is inverted."""
    rate = 0.17
    T = transition_matrix(rate)
    disagree = 2 * T[:, 0] * T[:, 1]
    np.testing.assert_allclose(rate_of_disagreement(disagree), rate, rtol=1e-12)


def test_quantile_limits_cover_by_counting():
    """The two order statistics enclose the quantile with at least the level, and not far more."""
    for n, share in [(50, 0.5), (400, 0.01), (1000, 0.1)]:
        _, low, high = quantile_interval(np.arange(1, n + 1), share, 0.95)
        first = 0 if low == -np.inf else int(low)
        last = n + 1 if high == np.inf else int(high)
        # first <= number below the quantile < last
        below = binom.cdf(first - 1, n, share) if first else 0.0
        above = binom.sf(last - 1, n, share) if last <= n else 0.0
        assert below <= 0.025
        assert above <= 0.025
        if first:
            assert binom.cdf(first, n, share) > 0.025


def test_tails_keep_ties_together_whatever_the_order():
    """Shuffling rows changes no count, even when most scores are tied."""
    rng = np.random.default_rng(0)
    scores, odd = rng.integers(0, 4, 200), rng.random(200) < 0.3
    expected = tail_counts(scores, odd, 10)
    by_label = np.argsort(odd)
    np.testing.assert_array_equal(tail_counts(scores[by_label], odd[by_label], 10), expected)
    assert expected[-1].tolist() == [int(odd.sum()), 200]
    for n_odd, rows in expected:
        inside = scores <= np.sort(scores)[rows - 1]
        assert (inside.sum(), odd[inside].sum()) == (rows, n_odd)


@pytest.mark.parametrize("n", [1, 9, 10, 11, 1000])
def test_tails_end_with_all_rows(n):
    """Tails grow from the smallest up to all rows, also when there are fewer rows than that."""
    counts = tail_counts(np.arange(n), np.ones(n, bool), 10)
    assert counts[0, 1] == min(10, n)
    assert counts[-1, 1] == n
    assert np.all(np.diff(counts[:, 1]) > 0)


def test_purest_tail_has_a_corrected_limit():
    """The limit is the binomial one at a level shared over all tails."""
    counts = np.array([[3, 10], [5, 40], [40, 160]])
    found = purest_tail(counts, 0.06)
    np.testing.assert_allclose(found.limit, clopper_pearson(5, 40, 0.96)[1], rtol=1e-12)
    assert (found.share, found.n_rows) == (5 / 40, 40)


def test_noise_rate_is_taken_wherever_a_rate_is():
    """Core takes the value of an estimate, symmetric or not."""
    assert rate_pair(NoiseRate(0.2, 0.1, 0.3, "known")) == (0.2, 0.2)
    assert rate_pair(NoiseRate((0.3, 0.1), (0.2, 0.0), (0.4, 0.2), "known")) == (0.3, 0.1)
    with pytest.raises(ValueError, match=r"must lie in \[0, 0\.5\); got 0\.5"):
        rate_pair(NoiseRate(0.5, 0.3, 0.5, "chance"))


def test_noise_rate_holds_plain_numbers():
    """Arrays become floats and tuples, so that rates compare, hash and print alike."""
    pair = NoiseRate(np.array([0.3, 0.1]), [0.2, 0.0], (0.4, 0.2), "known")
    assert pair == NoiseRate((0.3, 0.1), (0.2, 0.0), (0.4, 0.2), "known")
    assert hash(pair) == hash(NoiseRate((0.3, 0.1), (0.2, 0.0), (0.4, 0.2), "known"))
    assert not pair.symmetric
    assert type(NoiseRate(np.float64(0.2), 0, 1, "known").value) is float


def test_noise_rate_prints_both_classes():
    """A pair says which rate is whose, and at which level."""
    text = str(NoiseRate((0.3, 0.1), (0.2, 0.0), (0.4, 0.2), "known", level=0.9))
    assert text == (
        "positives 0.300, 90% interval 0.200 to 0.400; "
        "negatives 0.100, 90% interval 0.000 to 0.200 (known)"
    )


@pytest.mark.parametrize(
    "parts",
    [(0.2, 0.3, 0.4), (0.2, -0.1, 0.4), (0.2, 0.1, 1.1), (np.nan, 0.1, 0.2)],
)
def test_noise_rate_refuses_disorder(parts):
    """A value outside its limits, or limits outside [0, 1], is a mistake."""
    with pytest.raises(ValueError, match="must lie between its limits"):
        NoiseRate(*parts, "known")


def test_noise_rate_refuses_mixed_forms():
    """Numbers and pairs do not mix."""
    with pytest.raises(ValueError, match="all be numbers, or all pairs"):
        NoiseRate((0.2, 0.1), 0.0, 0.5, "known")


@pytest.mark.parametrize("level", [0.0, 1.0, 95, np.nan])
def test_levels_are_probabilities(level):
    """A level is a probability, not a percentage."""
    with pytest.raises(ValueError, match=r"`level` must lie in \(0, 1\)"):
        check_level(level)
