"""Limited capacity: which rows are called, how ties break, and what that brings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior
from flipcost.core.gains import (
    Capacity,
    TopRows,
    gains_curve,
    group_sizes,
    read_capacity,
    saving_order,
)


def call_within(gain, capacity, groups=None):
    """Return which rows are among the best of all, or of their group."""
    values = np.asarray(gain, dtype=float)
    names = np.zeros(len(values), dtype=int) if groups is None else np.asarray(groups)
    found, sizes = np.unique(names, return_counts=True)
    counts = dict(zip(found.tolist(), sizes.tolist(), strict=True))
    sizes = {0: capacity.of(len(values))} if groups is None else group_sizes(capacity, counts)
    flagged = np.zeros(len(values), dtype=bool)
    for name, size in sizes.items():
        rows = np.flatnonzero(names == name)
        top = TopRows.none(size).seen(values[rows], rows)
        flagged[rows] = top.are_flagged(values[rows], rows)
    return flagged


gains = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=60)


@given(gains, st.integers(1, 70), st.randoms())
def test_any_order_and_any_pieces_call_the_same_rows(values, size, random):
    """Ties go by position alone: pieces and their order change nothing."""
    gain, position = np.array(values), np.arange(len(values))
    size = min(size, len(values))
    whole = call_within(gain, Capacity(size))
    assert whole.sum() == min(size, int((gain > 0).sum()))
    order = list(range(len(values)))
    random.shuffle(order)
    cut = random.randint(0, len(values))
    top = TopRows.none(size)
    for part in (order[:cut], order[cut:]):
        top = top.seen(gain[part], position[part])
    np.testing.assert_array_equal(top.are_flagged(gain, position), whole)


def test_the_best_rows_are_called():
    """No row that is left out saves more than one that is called."""
    rng = np.random.default_rng(0)
    gain = rng.normal(size=500)
    flagged = call_within(gain, Capacity.read("10%"))
    assert flagged.sum() == 50
    assert gain[flagged].min() >= gain[~flagged].max()
    np.testing.assert_array_equal(np.flatnonzero(flagged), np.sort(saving_order(gain)[:50]))


def test_groups_have_capacities_of_their_own():
    """One capacity is each group's; named ones are for those groups, and none for others."""
    rng = np.random.default_rng(1)
    gain, groups = rng.random(300), np.repeat(["a", "b", "c"], [200, 90, 10])
    flagged = call_within(gain, Capacity(10), groups)
    assert [flagged[groups == g].sum() for g in "abc"] == [10, 10, 10]
    flagged = call_within(gain, read_capacity("a=20,b=10%", "group"), groups)
    assert [flagged[groups == g].sum() for g in "abc"] == [20, 9, 0]


@pytest.mark.parametrize(
    "text", ["0", "-5", "0%", "101%", "5.5", "many", "", "a=5,a=6", "=5", "a="]
)
def test_bad_capacities_are_refused(text):
    """A capacity is a number of rows or a share of them."""
    with pytest.raises(ValueError, match=r"`capacity`"):
        read_capacity(text, "group")


def test_more_than_there_are_is_refused():
    """A capacity above the rows is refused, in all or in a group."""
    with pytest.raises(ValueError, match="only 3 rows"):
        call_within([1, 2, 3], Capacity(4))
    with pytest.raises(ValueError, match="only 1 rows of 'b'"):
        call_within([1, 2, 3], Capacity(2), ["a", "a", "b"])
    with pytest.raises(ValueError, match="names a group 'c' that has no rows"):
        call_within([1, 2, 3], {"c": Capacity(2)}, ["a", "a", "b"])


def test_without_noise_the_curve_is_counted():
    """With clean labels the curve is what counting gives, and labels as they are say the same."""
    rng = np.random.default_rng(2)
    eta = rng.random(1000)
    y = rng.random(1000) < eta
    prices = RowCosts(rng.uniform(1, 9, 1000), np.full(1000, 2.0))
    clean = RatePosterior(np.zeros((1, 2)), np.ones(1))
    curve = gains_curve(y, eta, prices, clean, depths=[0.1, 0.4, 1.0])
    order = saving_order(prices.gain(eta))
    for k, n in enumerate((100, 400, 1000)):
        flagged = order[:n]
        profit = np.where(y[flagged], prices.miss[flagged], -prices.alarm[flagged]).sum() / 1000
        expected = {
            "precision": y[flagged].mean(),
            "recall": y[flagged].sum() / y.sum(),
            "lift": y[flagged].mean() / y.mean(),
            "profit": profit,
        }
        for name, value in expected.items():
            assert curve.clean[name][k, 0] == pytest.approx(value)
            assert curve.observed[name][k] == pytest.approx(value)
            assert curve.clean[name][k, 1] <= value <= curve.clean[name][k, 2]
    assert curve.everyone.value == pytest.approx(curve.clean["profit"][2, 0])


@pytest.mark.parametrize("rates", [(0.3, 0.1), pytest.param((0.2, 0.2), marks=pytest.mark.slow)])
def test_coverage_of_the_curve(rates):
    """95 % intervals of all four measures hold the truth in 92 to 98 % of 500 draws."""
    rng = np.random.default_rng(3)
    n, draws, depths = 1000, 500, [0.1, 0.3]

    def draw(size):
        x = rng.normal(size=size)
        eta = 1 / (1 + np.exp(1 - 1.5 * x))
        prices = RowCosts(np.exp(0.5 * x + 0.5 * rng.normal(size=size)) * 20, np.full(size, 5.0))
        return rng.random(size) < eta, eta, prices

    clean = RatePosterior(np.zeros((1, 2)), np.ones(1))
    y, eta, prices = draw(1_000_000)
    truth = gains_curve(y, eta, prices, clean, depths=depths)
    known = RatePosterior(np.array([rates]), np.ones(1))
    names = ("precision", "recall", "lift", "profit")
    covered = np.zeros((len(names), 2))
    for _ in range(draws):
        y, eta, prices = draw(n)
        noisy = y ^ (rng.random(n) < np.where(y, rates[0], rates[1]))
        curve = gains_curve(noisy, eta, prices, known, depths=depths)
        for i, name in enumerate(names):
            ends = curve.clean[name]
            true = truth.clean[name][:, 0]
            covered[i] += (ends[:, 1] <= true) & (true <= ends[:, 2])
    assert np.all((covered / draws > 0.92) & (covered / draws < 0.98)), covered / draws
