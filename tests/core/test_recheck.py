"""Which rows to check next: worth, chances and the draw."""

import numpy as np
import pytest

from flipcost.core.checked_rows import CheckedRows
from flipcost.core.error_rates import RatePosterior
from flipcost.core.recheck import draw_rows, leading_directions, spread_order, value_checks

UNSURE = RatePosterior(np.array([[0.02, 0.02], [0.2, 0.1], [0.4, 0.05]]), np.full(3, 1 / 3))


def draw(n, seed):
    rng = np.random.default_rng(seed)
    eta = rng.beta(0.7, 1.5, n)
    clean = rng.random(n) < eta
    return np.where(clean, rng.random(n) > 0.3, rng.random(n) < 0.05), eta, clean


def test_chances_add_up_and_depend_on_label_and_score_alone():
    """Every unchecked row may be drawn, as often as others of its cell."""
    labels, eta, clean = draw(2000, 0)
    checked = CheckedRows(np.arange(50), clean[:50])
    choice = value_checks(labels, eta, UNSURE, 0.2, 60, checked=checked)
    assert choice.chance.sum() == pytest.approx(60)
    assert np.all(choice.chance[:50] == 0)
    assert np.all(choice.chance[50:] > 0)
    for cell in range(len(choice.cells.share)):
        own = choice.chance[50:][choice.cells.cell[50:] == cell]
        assert np.ptp(own) < 1e-12 if len(own) else True


def test_rows_are_drawn_as_often_as_their_chance_says():
    """Over 2,000 draws the share of each row is its chance, within four standard errors and more.

    One in 300 rows beyond four standard errors would be too many: none beyond five is asked.
    """
    rng = np.random.default_rng(0)
    chance = rng.random(300) ** 3
    chance *= 20 / chance.sum()
    assert chance.max() < 1
    order = rng.permutation(300)
    counts = np.zeros(300)
    for seed in range(2000):
        rows = draw_rows(chance, order, seed)
        assert len(np.unique(rows)) == len(rows) == 20
        counts[rows] += 1
    error = np.sqrt(chance * (1 - chance) / 2000)
    assert np.all(np.abs(counts / 2000 - chance) < 5 * error + 1e-12)


def test_every_beginning_of_a_draw_is_spread():
    """The first quarter of the rows meets each quarter of the order."""
    rows = draw_rows(np.full(640, 0.1), np.arange(640), 3)
    assert set(rows[:16] // 160) == {0, 1, 2, 3}


def test_nothing_in_doubt_is_worth_little():
    """Checks are worth more where decisions are open than where none turns."""
    labels, eta, _ = draw(2000, 0)
    open_ones = value_checks(labels, eta, UNSURE, 0.2, 50).saving
    known = RatePosterior(np.array([[0.0, 0.0]]), np.ones(1))
    sure = value_checks(eta > 0.5, np.where(eta > 0.5, 0.99, 0.01), known, 0.5, 50).saving
    assert 0 <= sure.value < open_ones.value / 3


def test_more_checks_are_wanted_where_decisions_turn():
    """Rows near the threshold are likelier drawn than rows of the same label far from it."""
    labels, eta, _ = draw(4000, 1)
    chance = value_checks(labels, eta, UNSURE, 0.3, 50).chance
    near, far = np.abs(eta - 0.3) < 0.15, eta < 0.02
    assert chance[near & ~labels].mean() > 2 * chance[far & ~labels].mean()


def test_weights_count_as_rows():
    """A row of weight 3 in a table is worth what three rows are."""
    labels, eta, _ = draw(300, 2)
    weight = np.random.default_rng(0).integers(1, 4, 300)
    once = value_checks(labels, eta, UNSURE, 0.2, 10, sample_weight=weight)
    again = value_checks(np.repeat(labels, weight), np.repeat(eta, weight), UNSURE, 0.2, 10)
    assert once.saving.value == pytest.approx(again.saving.value, rel=0.3)


def test_an_order_spreads_rows_over_cells_and_features():
    """Rows are ordered by cell first; constant columns give no direction."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(500, 4)), np.ones(500)])
    cell = rng.integers(0, 5, 500)
    order = spread_order(cell, leading_directions(X), 0)
    assert np.all(np.diff(cell[order]) >= 0)
    assert sorted(order) == list(range(500))
    assert leading_directions(np.ones((5, 2))).shape == (5, 0)


def test_directions_of_wide_rows_are_those_of_their_columns():
    """Products of rows give the same directions as products of columns, up to sign."""
    X = np.random.default_rng(0).normal(size=(12, 40)) * np.arange(1, 41)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = scaled @ np.linalg.eigh(scaled.T @ scaled)[1][:, ::-1][:, :3]
    np.testing.assert_allclose(np.abs(leading_directions(X)), np.abs(expected), atol=1e-9)
    assert leading_directions(X[:2]).shape == (2, 1)
