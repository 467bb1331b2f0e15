"""Break-even: how many systematic errors change a decision."""

import numpy as np
import pytest

from flipcost.core.costs import RowCosts
from flipcost.core.label_errors import break_even_errors


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    eta = rng.beta(0.5, 1.5, n)
    return eta, rng.random(n) < eta, rng


def answers(eta, positive, costs):
    flagged = {
        "rule": costs.flags(eta),
        "all_negative": np.zeros(len(eta), bool),
        "all_positive": np.ones(len(eta), bool),
    }
    paid = {name: costs.paid(positive, flags).mean() for name, flags in flagged.items()}
    return flagged, paid, min(paid, key=paid.get)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_decision_changes_where_it_is_said(by_row, share):
    """With a little fewer such errors the chosen answer stays the cheapest, with more it does not.

    Labels are made wrong for real: some of those of a kind, drawn at random.
    """
    eta, positive, rng = rows()
    costs = RowCosts.of(share)
    if by_row:
        costs = RowCosts(rng.uniform(1, 6, len(eta)), rng.uniform(0.5, 1.5, len(eta)))
    flagged, paid, chosen = answers(eta, positive, costs)
    found = break_even_errors(positive, flagged, paid, chosen, costs, (0.0, 0.0))
    for kind, limit in ((False, found.missed_positives), (True, found.wrong_positives)):
        assert limit is not None
        for factor, stands in ((0.8, True), (1.2, False)):
            stayed = []
            for _ in range(5):
                wrong = (positive == kind) & (rng.random(len(eta)) < factor * limit)
                stayed.append(answers(eta, positive ^ wrong, costs)[1])
            mean = {name: np.mean([one[name] for one in stayed]) for name in paid}
            assert (min(mean, key=mean.get) == chosen) == stands
    assert found.n_checks > 10


def test_so_many_checks_tell():
    """Of 200 draws, as many checked rows as are asked for tell the break-even from none wrong."""
    eta, positive, rng = rows()
    costs = RowCosts.of(0.2)
    flagged, paid, chosen = answers(eta, positive, costs)
    found = break_even_errors(positive, flagged, paid, chosen, costs, (0.02, 0.0))
    limit = 0.02 + found.missed_positives
    told = 0
    for _ in range(200):
        labelled = rng.random(found.n_checks) < np.mean(~positive)
        wrong = np.sum(rng.random(labelled.sum()) < limit)
        n = labelled.sum()
        told += wrong > n * 0.02 + 1.645 * np.sqrt(n * 0.02 * 0.98)
    assert told >= 180


def test_what_cannot_change_the_decision_is_none():
    """Where flagging all is chosen, more positives never speak against it."""
    positive = np.arange(100) % 2 == 0
    costs = RowCosts.of(0.1)
    flagged = {"all_negative": np.zeros(100, bool), "all_positive": np.ones(100, bool)}
    paid = {"all_negative": 0.45, "all_positive": 0.05}
    found = break_even_errors(positive, flagged, paid, "all_positive", costs, (0.0, 0.0))
    assert found.missed_positives is None
    assert found.wrong_positives == pytest.approx(0.8)
