"""Thresholds moved by re-sampling, and back."""

import numpy as np
import pytest

from flipcost.core.noise import noisy_threshold
from flipcost.paper.resampling import kept_negatives, margin_grid, negative_ratio, undo_resampling

COSTS = [0.1, 0.2, 0.5, 0.7]


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("margin", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("rate", [None, 0.3, (0.3, 0.1)])
def test_one_half_stands_for_the_wanted_threshold(cost, margin, rate):
    """Undoing the re-sampling of one half gives the noisy counterpart of the clean threshold."""
    clean = cost / (margin + (1 - margin) * cost)
    back = undo_resampling(0.5, negative_ratio(cost, margin, rate))
    assert back == pytest.approx(noisy_threshold(clean, rate), abs=1e-14)


@pytest.mark.parametrize("cost", COSTS)
def test_ratio_is_the_papers(cost):
    """Without noise it is alpha / (gamma (1 - alpha))."""
    for margin in (0.3, 1.0, 2.0):
        expected = cost / (margin * (1 - cost))
        assert negative_ratio(cost, margin) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", ["implied", "printed"])
def test_grids_thin_the_negatives_and_lack_an_even_margin(cost, kind):
    """Twelve margins in steps of 0.05, each with a ratio below 1; none is 1."""
    grid = margin_grid(cost, kind)
    assert len(grid) == 12
    assert np.allclose(np.diff(grid), 0.05)
    assert all(negative_ratio(cost, margin) < 1 for margin in grid)
    assert 1.0 not in grid


@pytest.mark.parametrize(("cost", "negatives", "printed"), [(0.3, 30, 9.18), (0.2, 40, 9.98)])
def test_implied_grid_explains_the_printed_costs(cost, negatives, printed):
    """All-positive calls at its largest margin cost what the paper prints with deviation 0."""
    # Thyroid (LSPC) and breast cancer (logistic) at rate 0.4; printed figures are truncated.
    for kind, agrees in (("implied", True), ("printed", False)):
        total = cost / margin_grid(cost, kind)[-1] * negatives
        assert (np.floor(100 * total) / 100 == printed) == agrees


def test_unknown_grid_is_refused():
    """The two grids have names, and no others do."""
    with pytest.raises(ValueError, match="'implied' or 'printed'"):
        margin_grid(0.2, "other")


@pytest.mark.parametrize("n", [1, 7, 30, 1000])
def test_all_are_kept_at_ratio_one_and_the_floor_below(n):
    """The floor is that of exact arithmetic, though ratios are rounded."""
    assert kept_negatives(n, 1.0) == n
    for part in range(1, 10):
        assert kept_negatives(10 * n, part / 10) == part * n
    assert kept_negatives(n, 0.999) == n - 1  # for up to a thousand
