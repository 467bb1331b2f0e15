"""Minimax regret by hand."""

import numpy as np
import pytest

from flipcost.core.regret import minimax_regret


def test_by_hand():
    """The candidate that is never best can have the least worst regret."""
    regret = minimax_regret([[1.0, 4.0, 2.0], [5.0, 1.0, 2.5]])
    np.testing.assert_allclose(regret.regret, [[0, 3, 1], [4, 0, 1.5]])
    np.testing.assert_allclose(regret.worst, [4, 3, 1.5])
    assert regret.chosen == 2


def test_a_dominated_candidate_is_never_chosen():
    """Adding a constant to one candidate's costs cannot make it chosen over itself."""
    cost = np.random.default_rng(0).random((5, 3))
    worse = np.column_stack([cost, cost[:, 0] + 0.1])
    assert minimax_regret(worse).chosen != 3


@pytest.mark.parametrize("bad", [[], [[np.nan, 1.0]], [1.0, 2.0]])
def test_bad_tables_are_refused(bad):
    """A table that is empty, not finite or flat is refused with its shape."""
    with pytest.raises(ValueError, match="finite table"):
        minimax_regret(bad)
