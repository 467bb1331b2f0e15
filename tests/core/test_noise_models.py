"""Models of the noise: what rates they allow, and how the prior is spread over them."""

import numpy as np
import pytest

from flipcost.core.noise_models import MODEL_NAMES, RateGrid, free_rates, model_prior


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("model", MODEL_NAMES)
def test_grids_hold_what_is_possible_and_all_of_the_prior(model, share):
    """Rates leave a clean share in [0, 1]; masses add up to one, as the midpoint rule has it."""
    grid = RateGrid.whole(model, share)
    rho_pos, rho_neg = grid.rates.T
    clean = (share - rho_neg) / (1 - rho_pos - rho_neg)
    assert np.all((clean >= 0) & (clean <= 1))
    assert np.exp(grid.log_mass).sum() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("model", ["symmetric", "class_conditional"])
def test_a_finer_grid_has_the_prior_of_its_part(model):
    """The cells of a zoomed grid hold the prior mass of the region that they cover."""
    grid = RateGrid.whole(model, 0.3)
    rng = np.random.default_rng(0)
    weight = np.zeros(len(grid.rates))
    weight[rng.integers(len(weight))] = 1.0
    finer = grid.zoom(weight)
    fall, reach = 0.7, 0.98
    by_hand = np.prod(
        [
            (np.exp(-fall * a) - np.exp(-fall * b)) / (1 - np.exp(-fall * reach))
            for a, b in zip(finer.low, finer.high, strict=True)
        ]
    )
    assert np.exp(finer.log_mass).sum() == pytest.approx(by_hand, rel=1e-3)


def test_rare_positives_leave_room_for_wrong_negatives():
    """Rates are shares of their own bounds: at 2 % positive labels one in 50 negatives at most."""
    assert RateGrid.whole("wrong_negatives", 0.02).rates[:, 1].max() < 0.02
    assert RateGrid.whole("missed_positives", 0.02).rates[:, 0].max() > 0.9
    assert free_rates(0.02).max(axis=0).tolist() == pytest.approx([0.98 * 0.931, 0.02 * 0.91875])


def test_an_unknown_model_is_named():
    """A misspelled model is refused with the names that there are."""
    with pytest.raises(ValueError, match="missed_positives"):
        model_prior("missed")


@pytest.mark.parametrize("noise_model", ["auto", "symmetric", "missed_positives"])
def test_few_rows_of_a_label_are_taken_as_they_are(noise_model):
    """The fewer rows of the rarer label, the more weighs that none is wrong; shares add up."""
    few, some, many = (model_prior(noise_model, n) for n in (5, 50, 1e9))
    assert few["none"] > 0.9 > some["none"] > many["none"] == pytest.approx(0.1)
    for prior in (few, some, many):
        assert sum(prior.values()) == pytest.approx(1)
    if noise_model == "auto":
        ratio = {name: few[name] / many[name] for name in few if name != "none"}
        assert np.ptp(list(ratio.values())) == pytest.approx(0)
