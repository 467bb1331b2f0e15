"""Checked rows: cells, costs and savings from them."""

import numpy as np
import pytest
from scipy.special import expit

from flipcost.core.checked_rows import CheckedRows, ScoreCells, given_label, score_places
from flipcost.core.costs import RowCosts

COSTS = RowCosts.of(0.3)


def test_cells_share_out_all_rows():
    """Shares add up to one, and cells do not mix labels or calls."""
    rng = np.random.default_rng(0)
    labels, score = rng.random(1000) < 0.3, rng.random(1000)
    cells = ScoreCells.from_rows(labels, score, score, flagged=score > 0.5)
    assert cells.share.sum() == pytest.approx(1)
    np.testing.assert_array_equal(cells.label[cells.cell], labels)
    np.testing.assert_array_equal(cells.flagged[cells.cell], score > 0.5)


def test_many_checked_rows_say_it_all():
    """With every row checked, the share of each large cell is what was found in it."""
    rng = np.random.default_rng(0)
    labels, score = rng.random(20_000) < 0.4, rng.random(20_000)
    right = rng.random(20_000) < 0.2 + 0.5 * score
    cells = ScoreCells.from_rows(labels, score, np.where(labels, 0.9, 0.1))
    found = cells.given_checked(np.arange(20_000), right)
    count = np.bincount(cells.cell)
    share = np.bincount(cells.cell, right) / count
    large = count > 300
    assert np.all(np.abs(found.draws(500).mean(axis=0) - share)[large] < 0.06)


def test_neighbors_learn_more_than_others():
    """Checks of one cell move its neighbor of the same label most, and shrink its doubt."""
    rng = np.random.default_rng(0)
    labels, score = rng.random(4000) < 0.5, rng.random(4000)
    cells = ScoreCells.from_rows(labels, score, np.full(4000, 0.5))
    own = int(np.flatnonzero((cells.bin == 8) & cells.label)[0])
    rows = np.flatnonzero(cells.cell == own)[:50]
    after = cells.given_checked(rows, np.ones(len(rows), bool)).draws(2000)
    before = cells.given_checked(rows[:0], np.ones(0, bool)).draws(2000)
    move, spread = after.mean(axis=0) - 0.5, after.std(axis=0)
    beside, far, other = (
        int(np.flatnonzero((cells.bin == b) & (cells.label == label))[0])
        for b, label in ((9, True), (15, True), (8, False))
    )
    assert move[own] > move[beside] > move[far] > move[other]
    assert spread[own] < spread[far] < before.std(axis=0)[far]


def test_places_run_from_0_to_1_in_order():
    """Places keep the order and ties of the scores."""
    score = np.array([0.2, 0.9, 0.2, 0.5])
    place = score_places(score)
    assert place[0] == place[2]
    assert np.all(np.diff(place[[0, 3, 1]]) > 0)
    assert place.min() >= 0
    assert place.max() <= 1
    assert np.all(np.isfinite(score_places(np.zeros(5))))


def draw(n, seed):
    """Return labels whose mistakes follow the score, calls, and what is right."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    clean = rng.random(n) < expit(2 * score - 1)
    # Positives are missed where they are least expected, and nowhere else.
    missed = clean & (rng.random(n) < expit(-2 * score))
    return clean & ~missed, score > 0.3, clean, expit(2 * score - 1), rng


def true_cost(clean, flagged, cost):
    return np.mean(np.where(clean, (1 - cost) * ~flagged, cost * flagged))


def test_all_rows_checked_gives_the_cost_itself():
    """With every row checked the model, which counts for a few rows a cell, hardly moves it."""
    labels, flagged, clean, eta, _ = draw(5000, 0)
    expected = given_label(eta, labels, (0.2, 0.0))
    found = CheckedRows(np.arange(5000), clean).cost(
        positive=labels, flagged=flagged, expected=expected, score=eta, costs=COSTS
    )
    assert found.value == pytest.approx(true_cost(clean, flagged, 0.3), abs=64 * 2 / 5000)
    assert found.low < found.value < found.high


@pytest.mark.slow
@pytest.mark.parametrize("by_label", [False, True])
def test_the_interval_covers_however_mistakes_lie(by_label):
    """At 95 %, of 200 draws at least 180 cover; fewer has probability below 0.002.

    Rows may be chosen by label, ten times as often among positive labels.
    """
    covered = 0
    for seed in range(200):
        labels, flagged, clean, eta, rng = draw(4000, seed)
        odds = np.where(labels, 10.0, 1.0) if by_label else np.ones(4000)
        rows = rng.choice(4000, 120, replace=False, p=odds / odds.sum())
        # A model that is wrong: it thinks that labels are right.
        believed = labels.astype(float)
        found = CheckedRows(rows, clean[rows]).cost(
            positive=labels, flagged=flagged, expected=believed, score=eta, costs=COSTS
        )
        covered += found.low <= true_cost(clean, flagged, 0.3) <= found.high
    assert covered >= 180


def test_rows_that_look_wrong_do_not_bias_the_cost():
    """Rows checked because they look most wrong leave the mean of the estimates in its place.

    Of 40 draws the mean lies within four standard errors, or a tenth, of what is paid. Counted by
    label and call alone it would be off by a third.
    """
    off = []
    for seed in range(40):
        labels, flagged, clean, eta, _ = draw(4000, seed)
        expected = given_label(eta, labels, (0.3, 0.02))
        wrong = np.where(labels, 1 - expected, expected)
        rows = np.argsort(-wrong)[:200]
        found = CheckedRows(rows, clean[rows]).cost(
            positive=labels, flagged=flagged, expected=expected, score=eta, costs=COSTS
        )
        off.append(found.value / true_cost(clean, flagged, 0.3) - 1)
    assert abs(np.mean(off)) < 0.1 + 4 * np.std(off) / np.sqrt(40)


def test_a_saving_is_the_difference_of_two_costs():
    """Limits of a saving hold the true one; without a differing call they are zero."""
    covered = 0
    for seed in range(60):
        labels, flagged, clean, eta, rng = draw(3000, seed)
        rival = eta > 0.2
        rows = rng.choice(3000, 150, replace=False)
        checked = CheckedRows(rows, clean[rows])
        expected = given_label(eta, labels, (0.3, 0.02))
        rows_of = {"positive": labels, "flagged": flagged, "expected": expected, "score": eta}
        low, high = checked.saving_interval(**rows_of, rival_flagged=rival, costs=COSTS)
        covered += low <= true_cost(clean, rival, 0.3) - true_cost(clean, flagged, 0.3) <= high
        assert checked.saving_interval(**rows_of, rival_flagged=flagged, costs=COSTS) == (0.0, 0.0)
    assert covered >= 51  # fewer of 60 at 95 % has probability below 0.002


def test_labels_change_what_is_expected():
    """Bayes' rule by hand, and certainty where a label cannot be wrong."""
    found = given_label([0.4, 0.4], [True, False], (0.25, 0.1))
    by_hand = [0.4 * 0.75 / (0.4 * 0.75 + 0.6 * 0.1), 0.4 * 0.25 / (0.4 * 0.25 + 0.6 * 0.9)]
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)
    np.testing.assert_allclose(given_label([0.4, 0.4], [True, False], (0.0, 0.0)), [1.0, 0.0])
