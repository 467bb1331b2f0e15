"""Prices by row: where they come from, what they decide, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from flipcost import CostRange, Costs
from flipcost.core.costs import (
    RowCosts,
    price_weights,
    prices_of,
    prices_to_decide,
    read_prices,
    share_and_unit,
)
from flipcost.core.decision import bayes_flags, decide
from flipcost.core.error_rates import RatePosterior

AMOUNT = np.array([10.0, 500.0, 3.0])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_columns_of_every_kind_of_frame(make):
    """A column, an expression and a callable give the same prices from every kind of frame."""
    frame = make({"amount": AMOUNT})
    costs = Costs(fn="amount", fp=lambda f: 0.5 * np.asarray(f["amount"]), tn="0.1*amount - 0")
    prices = costs.by_row(frame, n_rows=3)
    np.testing.assert_allclose(prices.miss, AMOUNT)
    np.testing.assert_allclose(prices.alarm, 0.4 * AMOUNT)
    assert costs.is_by_row
    assert costs.columns(["amount"]) == ["amount"]


def test_the_cheaper_decision_is_taken_on_every_row():
    """A row is called exactly where calling it costs less on average, whatever the four prices."""
    rng = np.random.default_rng(0)
    fn, fp = rng.uniform(0, 10, (2, 2000))
    tp, tn = rng.uniform(-3, 5, (2, 2000))
    sane = (fn > tp) | (fp > tn)
    fn, fp, tp, tn = (part[sane] for part in (fn, fp, tp, tn))
    eta = rng.random(len(fn))
    prices = RowCosts(fn, fp, tp, tn)
    flagged = bayes_flags(eta, prices)
    saved = (eta * fn + (1 - eta) * tn) - (eta * tp + (1 - eta) * fp)
    np.testing.assert_array_equal(flagged, saved > 0)
    usual = (prices.miss > 0) & (prices.alarm > 0)
    np.testing.assert_array_equal(flagged[usual], (eta > prices.threshold)[usual])


def test_the_same_price_for_all_is_the_scalar_price():
    """Prices by row that are all the same decide, and cost, what the scalar ones do."""
    rng = np.random.default_rng(1)
    eta = rng.beta(0.5, 1.0, 3000)
    noisy = (rng.random(3000) < eta) ^ (rng.random(3000) < 0.2)
    known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    scalar = decide(noisy, eta, Costs(fn=40, fp=10), known)
    by_row = decide(noisy, eta, RowCosts(np.full(3000, 40.0), np.full(3000, 10.0)), known)
    assert scalar.chosen == by_row.chosen
    for answer, cost in scalar.costs.items():
        other = by_row.costs[answer]
        assert other.value == pytest.approx(50 * cost.value, rel=1e-9)
        assert (other.low, other.high) == pytest.approx((50 * cost.low, 50 * cost.high), rel=0.02)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        (Costs(fn="amuont", fp=1), "'amuont' that is not there; did you mean 'amount'"),
        (Costs(fn="amount", fp="name"), "'name' must hold numbers"),
        (Costs(fn="amount - 5", fp=1), "`fn` must be a cost of at least 0 .* negative on 1 of 3"),
        (Costs(fn="1/(amount - 10)", fp=1), "missing, or no number on 1 of 3, first on row 1"),
        (Costs(fn=AMOUNT[:2], fp=1), "a cost for each of the 3 rows"),
        (Costs(fn="amount", fp=1, tp="amount + 1", tn=2), "row 1 has neither"),
    ],
)
def test_prices_that_cannot_be_used_are_refused(costs, words):
    """Unknown columns, text, negative and missing prices are named in one sentence."""
    frame = pd.DataFrame({"amount": AMOUNT, "name": ["a", "b", "c"]})
    with pytest.raises(ValueError, match=words):
        costs.by_row(frame)


def test_columns_need_a_frame():
    """Names of columns mean nothing for an array, and the way out is named."""
    with pytest.raises(ValueError, match=r"frame with named columns, or .*`prices`"):
        Costs(fn="amount", fp=1).by_row(np.zeros((3, 2)))


@pytest.mark.parametrize("text", ["8..3", "3..3", "-1..2", "a..b", "3..", "nan..4"])
def test_ranges_turned_round_or_of_no_numbers_are_refused(text):
    """A range must go up from a price that is not negative to another number."""
    with pytest.raises(ValueError, match=r"range of costs"):
        Costs(fn=text, fp=1)


def test_a_range_decides_by_its_middle():
    """Costs are linear in prices: a range is decided by its middle, and is no price by row."""
    costs = Costs(fn="3..8", fp=1)
    assert costs.fn == CostRange(3, 8)
    assert costs.alpha == Costs(fn=5.5, fp=1).alpha == costs.middle.alpha
    assert not costs.is_by_row
    assert costs.ranges == {"fn": CostRange(3, 8)}


def test_metadata_of_every_form_is_read():
    """Arrays of two or four columns, frames, Costs and Prices say the same."""
    table = np.column_stack([AMOUNT, np.ones(3)])
    X = np.zeros((3, 1))
    forms = [
        table,
        np.column_stack([table, np.zeros((3, 2))]),
        pd.DataFrame(table, columns=["fn", "fp"]),
        Costs(fn=AMOUNT, fp=1),
        RowCosts(AMOUNT, np.ones(3)),
    ]
    for form in forms:
        np.testing.assert_allclose(prices_of(0.5, form, X).table()[:, :2], table)
    with pytest.raises(ValueError, match="of the rows that were fitted"):
        prices_to_decide(Costs(fn=AMOUNT, fp=1), None, X, by_row=True)
    for bad in (table[:2], table[:, :1], pd.DataFrame({"fn": AMOUNT})):
        with pytest.raises(ValueError, match="`prices` must have"):
            read_prices(bad, 3)


def test_units_are_the_users():
    """A number is a share; prices are money: by their sum, of means where they differ by row."""
    assert share_and_unit(0.2, None) == (0.2, 1.0)
    assert share_and_unit(Costs(fn=40, fp=10), None) == (0.2, 50.0)
    assert share_and_unit(0.5, RowCosts(np.array([30.0, 50.0]), np.full(2, 10.0))) == (0.2, 50.0)


def test_weights_decide_at_one_half_what_prices_decide_on_clean_labels():
    """Where weighted positives outweigh negatives, the clean probability exceeds the threshold."""
    rng = np.random.default_rng(2)
    prices = RowCosts(*rng.uniform(0.1, 10, (2, 500)))
    eta, rates = rng.random(500), (0.3, 0.1)
    noisy = rates[1] + (1 - sum(rates)) * eta
    for_positive, for_negative = (
        price_weights(np.full(500, side), prices, rates) for side in (True, False)
    )
    outweigh = noisy * for_positive > (1 - noisy) * for_negative
    np.testing.assert_array_equal(outweigh, eta > prices.threshold)
