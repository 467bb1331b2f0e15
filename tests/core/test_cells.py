"""Cells of label and score, and what checked rows say of them."""

import numpy as np
import pytest
from scipy.special import expit, logit

from flipcost.core.cells import ScoreCells, score_places


def test_cells_share_out_all_rows():
    """Shares add up to one, and cells do not mix labels or calls."""
    rng = np.random.default_rng(0)
    labels, score = rng.random(1000) < 0.3, rng.random(1000)
    cells = ScoreCells.from_rows(labels, score, score, called=score > 0.5)
    assert cells.share.sum() == pytest.approx(1)
    np.testing.assert_array_equal(cells.label[cells.cell], labels)
    np.testing.assert_array_equal(cells.called[cells.cell], score > 0.5)


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
    assert np.all(np.abs(expit(found.mean) - share)[large] < 0.06)


def test_neighbors_learn_more_than_others():
    """Checks of one cell move its neighbor of the same label most, and shrink its doubt."""
    rng = np.random.default_rng(0)
    labels, score = rng.random(4000) < 0.5, rng.random(4000)
    cells = ScoreCells.from_rows(labels, score, np.full(4000, 0.5))
    own = int(np.flatnonzero((cells.bin == 8) & cells.label)[0])
    rows = np.flatnonzero(cells.cell == own)[:50]
    after = cells.given_checked(rows, np.ones(len(rows), bool))
    move = after.mean - logit(0.5)
    beside, far, other = (
        int(np.flatnonzero((cells.bin == b) & (cells.label == label))[0])
        for b, label in ((9, True), (15, True), (8, False))
    )
    assert move[own] > move[beside] > move[far] > move[other] - 1e-9
    assert after.covariance[own, own] < after.covariance[far, far] < cells.doubt[far, far]


def test_places_run_from_0_to_1_in_order():
    """Places keep the order and ties of the scores."""
    score = np.array([0.2, 0.9, 0.2, 0.5])
    place = score_places(score)
    assert place[0] == place[2]
    assert np.all(np.diff(place[[0, 3, 1]]) > 0)
    assert place.min() >= 0
    assert place.max() <= 1
    assert np.all(np.isfinite(score_places(np.zeros(5))))
