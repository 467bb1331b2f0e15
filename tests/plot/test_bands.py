"""Displays of decisions: denoised with a band, beside recorded labels and the constants."""

import matplotlib as mpl
import matplotlib.figure
import numpy as np
import pytest

from flipcost import Costs, FlipCostClassifier
from flipcost.core.costs import RowCosts
from flipcost.core.curves import net_benefit_curve, price_curve
from flipcost.core.error_rates import RatePosterior
from flipcost.plot import DecisionCurveDisplay, LiftDisplay, PriceCurveDisplay, ProfitDisplay

mpl.use("Agg")
ALL = (DecisionCurveDisplay, PriceCurveDisplay, LiftDisplay, ProfitDisplay)


def draw(seed):
    """Draw rows, their right labels and labels of which a fifth are wrong."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1500, 2))
    y = rng.random(1500) < 1 / (1 + np.exp(1 - 2 * x[:, 0]))
    return x, y, y ^ (rng.random(1500) < 0.2)


@pytest.fixture(scope="module")
def rows():
    return draw(0)


@pytest.fixture(autouse=True)
def close():
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("display", ALL)
def test_bands_hold_the_clean_curve(display):
    """Over draws, bands at .95 hold the curve of clean labels, less three standard errors.

    Points along one curve go together, so that a draw counts as one trial.
    """
    draws, costs, held, nearer = 20, Costs(fn=20, fp=5), [], []
    for seed in range(draws):
        x, y, noisy = draw(seed)
        eta = 1 / (1 + np.exp(1 - 2 * x[:, 0]))
        axes = mpl.figure.Figure().subplots(2)
        shown = display.from_predictions(noisy, eta, cost=costs, noise_rate=0.2, ax=axes[0])
        clean = display.from_predictions(y, eta, cost=costs, ax=axes[1]).clean[:, 0]
        held.append(np.mean((shown.clean[:, 1] <= clean) & (clean <= shown.clean[:, 2])))
        off = [np.abs(curve - clean).mean() for curve in (shown.observed, shown.clean[:, 0])]
        nearer.append(off[1] < off[0])
        assert np.all(shown.clean[:, 1] <= shown.clean[:, 0] + 1e-12)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / draws)
    assert np.mean(nearer) > 0.5
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert "by recorded labels" in labels
    assert len(labels) >= 3


def test_estimators_bring_their_prices_and_rates(rows):
    """From a fitted classifier the prices by row and the posterior are its own."""
    x, _, noisy = rows
    prices = np.column_stack([20 * np.exp(x[:, 1]), np.full(len(x), 5.0)])
    model = FlipCostClassifier(features="linear", random_state=0)
    model.fit(x[:800], noisy[:800], prices=prices[:800])
    for display in ALL:
        shown = display.from_estimator(model, x[800:], noisy[800:], prices=prices[800:])
        assert np.isfinite(shown.clean).all()
        assert shown.line_.get_label() == "FlipCostClassifier"


def test_curves_by_hand():
    """Net benefit and cost of a perfect probability are those of counting."""
    y = np.array([True, False, False, True])
    clean = RatePosterior(np.zeros((1, 2)), np.ones(1))
    curve = net_benefit_curve(y, [0.9, 0.6, 0.1, 0.2], clean, [0.5, 0.05])
    np.testing.assert_allclose(curve.clean[:, 0], [0.25 - 0.25, 0.5 - 0.5 * 0.05 / 0.95])
    np.testing.assert_allclose(curve.all_negative, 0.0)
    prices = RowCosts(np.full(4, 3.0), np.full(4, 1.0))
    paid = price_curve(y, [0.9, 0.6, 0.1, 0.2], prices, clean, [1.0])
    np.testing.assert_allclose(paid.clean[0, 0], (1 + 3) / 4)
    np.testing.assert_allclose([paid.all_positive[0], paid.all_negative[0]], [0.5, 1.5])
