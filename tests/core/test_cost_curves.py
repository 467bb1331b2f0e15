"""Tables over costs and cells with intervals."""

import numpy as np
import pytest

from flipcost.core.clean_means import LabelSums, denoised_mean
from flipcost.core.confusion import ConfusionCounts, feasible_counts, measure
from flipcost.core.costs import RowCosts
from flipcost.core.curves import (
    confusion_cells,
    confusions_at_costs,
    per_row_cost,
)


@pytest.mark.parametrize("weighted", [False, True])
def test_tables_over_costs_are_those_of_each_cut(weighted):
    """Counting all cuts in one sort gives what counting each gives, ties included."""
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    probability = rng.integers(0, 21, 300) / 20
    weight = rng.random(300) if weighted else None
    costs = [0.05, 0.3, 0.5, 0.77]
    found = confusions_at_costs(positive, probability, costs, weight)
    for k, cost in enumerate(costs):
        expected = ConfusionCounts.from_labels(positive, probability > cost, weight)
        np.testing.assert_allclose(found.counts[k], expected.counts, atol=1e-12)
        np.testing.assert_allclose(found.squares[k], expected.squares, atol=1e-12)


def test_cells_add_up_to_the_cost():
    """The denoised cells, priced, are the denoised cost."""
    counts = np.array([[60.0, 20.0], [10.0, 30.0]])
    table = ConfusionCounts(counts, counts)
    cells = confusion_cells(table, (0.2, 0.1))[..., 0]
    assert cells.sum() == pytest.approx(1)
    cost = 0.7 * cells[1, 0] + 0.3 * cells[0, 1]
    assert cost == pytest.approx(float(measure(table.denoised((0.2, 0.1)), "cost", 0.3)))


def test_intervals_of_cells_are_those_of_the_measures():
    """A cell's interval is that of the cost when only that cell is paid for."""
    counts = np.array([[60.0, 20.0], [20.0, 30.0]])
    table = ConfusionCounts(counts, counts)
    cells = confusion_cells(table, 0.15)
    assert cells[0, 0, 0] + cells[1, 1, 0] == pytest.approx(
        float(measure(feasible_counts(table, 0.15), "accuracy"))
    )
    # With costs of nearly one for a miss, the cost is the share of misses.
    miss = denoised_mean(LabelSums.of_table(table, RowCosts.of(1e-9)), 0.15)
    np.testing.assert_allclose(cells[1, 0], [miss.value, miss.low, miss.high], atol=1e-8)


@pytest.mark.parametrize("rate", [0.15, 0.4, (0.0, 0.5)])
def test_cells_and_costs_are_possible_at_any_rate(rate):
    """No cell holds less than nothing or more than all, and no estimate leaves its interval."""
    counts = np.array([[60.0, 20.0], [10.0, 30.0]])
    table = ConfusionCounts(counts, counts)
    cells = confusion_cells(table, rate)
    np.testing.assert_allclose(cells[..., 0].sum(axis=0), counts.sum(axis=0) / counts.sum())
    for value, low, high in cells.reshape(4, 3):
        assert 0 <= low <= value <= high <= 1
    cost = denoised_mean(LabelSums.of_table(table, RowCosts.of(0.3)), rate)
    assert 0 <= cost.low <= cost.value <= cost.high <= 0.7
    assert cost.value == pytest.approx(0.7 * cells[1, 0, 0] + 0.3 * cells[0, 1, 0])


def test_per_row_costs_are_unbiased():
    """Averaged over flips of the label, the noisy cost of a row is the clean one."""
    paid = per_row_cost(0.3, (0.25, 0.1))
    for call in (0, 1):
        clean_negative = 0.9 * paid[0, call] + 0.1 * paid[1, call]
        clean_positive = 0.25 * paid[0, call] + 0.75 * paid[1, call]
        assert clean_negative == pytest.approx(0.3 * call)
        assert clean_positive == pytest.approx(0.7 * (1 - call))
