"""Moments of rows with prices of their own: brute force, merges, flips undone exactly."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from flipcost.core.costs import RowCosts
from flipcost.core.moments import merge_others
from flipcost.core.solve import (
    denoised_systems,
    path_of_systems,
    row_moments,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2)) + 5.0
LABELS = RNG.random(60) < 1 / (1 + np.exp(5 - X[:, 0]))
PRICES = RowCosts(RNG.lognormal(2, 1, 60), RNG.lognormal(1, 0.5, 60))


def solution(moments, rate=None, margin=1.0, l2=0.1):
    return path_of_systems(denoised_systems(moments, [rate]), [0.5], [margin], [l2]).ravel()


@pytest.mark.parametrize("margin", [0.5, 1.0, 2.0])
def test_the_closed_form_minimises_its_objective(margin):
    """A general minimiser of squared loss weighed by each row's prices finds the same."""
    unit = (PRICES.miss + PRICES.alarm).mean()

    def objective(w):
        f = X @ w[:2] + w[2]
        loss = np.where(
            LABELS, PRICES.miss * (1 - f) ** 2, PRICES.alarm / margin * (1 + margin * f) ** 2
        )
        return loss.mean() / unit + 0.1 * w @ w

    found = solution(row_moments(X, LABELS, PRICES.relative())[0], margin=margin)
    brute = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found, brute.x, atol=1e-6)


@pytest.mark.parametrize("rates", [(0.3, 0.3), (0.4, 0.1)])
def test_the_mean_over_all_flips_is_the_clean_system(rates):
    """Of six rows all 64 flips, each with its probability, give the clean moments back exactly."""
    rows, labels, prices = X[:6], LABELS[:6], PRICES.take(slice(0, 6))
    clean = denoised_systems(row_moments(rows, labels, prices.relative())[0], [None])[0]
    mean = np.zeros_like(clean.second)
    for flips in itertools.product([False, True], repeat=6):
        flipped = np.array(flips)
        chance = np.where(flipped, np.where(labels, *rates), 1 - np.where(labels, *rates)).prod()
        moments = row_moments(rows, labels ^ flipped, prices.relative())[0]
        try:
            system = denoised_systems(moments, [rates])[0]
        except ValueError:  # what denoising leaves of these few rows is no system, but has a mean
            system = _plain(moments, rates)
        mean += chance * (system.second if system.unclipped is None else system.unclipped)
    np.testing.assert_allclose(mean, clean.second, atol=1e-9 * np.abs(clean.second).max())


def _plain(moments, rates):
    """Denoise by hand what is refused."""
    from flipcost.core.noise import unmixing_matrix
    from flipcost.core.solve import DenoisedSystem

    centre = (moments.miss + moments.alarm).centre()
    unmix = unmixing_matrix(rates)
    second = np.stack(
        [
            np.tensordot(unmix[c], part.about(centre), axes=1)
            for c, part in enumerate((moments.alarm, moments.miss))
        ]
    )
    return DenoisedSystem(centre, second, moments.weight, np.empty(0), unclipped=second)


def test_folds_merge_to_all_rows():
    """Folds gathered apart are all rows together, and the others of each are its training rows."""
    folds = np.arange(60) % 3
    parts = row_moments(X, LABELS, PRICES.relative(), folds, 3)
    whole = row_moments(X, LABELS, PRICES.relative())[0]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    np.testing.assert_allclose(solution(merged, 0.05), solution(whole, 0.05), rtol=1e-9)
    others = merge_others(parts)
    np.testing.assert_allclose(
        solution(others[1].merge(parts[1]), 0.05), solution(whole, 0.05), rtol=1e-9
    )
    assert [part.weight for part in others] == [40.0, 40.0, 40.0]


def test_what_cannot_be_is_clipped():
    """Denoised moments at too large a rate are corrected: definite, and said to have been."""
    moments = row_moments(X[:12], LABELS[:12], PRICES.take(slice(0, 12)).relative())[0]
    rate = next(r for r in np.arange(0.45, 0.0, -0.01) if moments.is_possible(float(r)))
    system = denoised_systems(moments, [float(rate)])[0]
    assert system.n_clipped > 0
    for second in system.second:
        assert np.linalg.eigvalsh(second)[0] > -1e-9 * np.abs(second).max()
    assert isinstance(system.is_indefinite(0.5, 1.0), bool)
