"""Prices and the one number that they come to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flipcost.core.costs import Costs, cost_share, margin_value

prices = st.floats(0, 1e6, allow_subnormal=False)
gains = st.floats(1e-3, 1e6)


@given(prices, prices, gains, gains, st.floats(0, 1))
def test_the_share_is_where_calling_positive_starts_to_pay(tp, tn, extra_fn, extra_fp, eta):
    """Calling a row positive is the cheaper decision exactly where eta exceeds the share."""
    costs = Costs(fn=tp + extra_fn, fp=tn + extra_fp, tp=tp, tn=tn)
    positive = eta * costs.tp + (1 - eta) * costs.fp
    negative = eta * costs.fn + (1 - eta) * costs.tn
    if abs(positive - negative) > 1e-9 * max(positive, negative):
        assert (positive < negative) == (eta > costs.alpha)


def test_shares_by_hand():
    """A miss at four times the price of an alarm makes the share 1/5; right calls may cost too."""
    assert Costs(fn=4, fp=1).alpha == 0.2
    assert Costs(fn=5, fp=3, tp=1, tn=1).alpha == pytest.approx(1 / 3)
    assert Costs(fn=-1, fp=2, tp=-4).alpha == pytest.approx(0.4)  # a gain is a negative price
    assert cost_share(Costs(fn=1, fp=1)) == cost_share(0.5) == 0.5
    assert cost_share(np.float32(0.25)) == 0.25


@pytest.mark.parametrize("bad", [0, 1, 2, -0.1, float("nan"), float("inf")])
def test_bad_costs_are_refused(bad):
    """A cost outside (0, 1) is refused, and the way to give prices is named."""
    with pytest.raises(
        ValueError, match=r"must lie in \(0, 1\); got .*Costs\(fn=\.\.\., fp=\.\.\.\)"
    ):
        cost_share(bad)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
def test_bad_margins_are_refused(bad):
    """A margin that is not positive and finite is refused, and the even one is named."""
    with pytest.raises(ValueError, match=r"positive number; got .*Use 1 for an even margin"):
        margin_value(bad)


def test_bad_prices_are_refused():
    """Mistakes must cost more than correct decisions, and prices be finite."""
    for given_prices in ({"fn": 1, "fp": 1, "tp": 1}, {"fn": 1, "fp": 0}, {"fn": 0, "fp": 0}):
        with pytest.raises(ValueError, match=r"must cost more.*got Costs\(.*best for every row"):
            Costs(**given_prices)
    with pytest.raises(ValueError, match=r"finite numbers; got Costs\("):
        Costs(fn=float("inf"), fp=1)


def test_prices_are_compared_and_hashed_by_value():
    """Equal prices are equal, so that `clone` and grids can compare them."""
    assert Costs(fn=4, fp=1) == Costs(fn=4, fp=1)
    assert len({Costs(fn=4, fp=1), Costs(fn=4, fp=1), Costs(fn=4, fp=2)}) == 2
