"""The displays draw what the library computes."""

import matplotlib as mpl
import numpy as np
import pytest

from flipcost.core.costs import Costs
from flipcost.datasets import make_syn2d, make_syn3d
from flipcost.estimators import UnevenMarginClassifier
from flipcost.estimators.flipcost import FlipCostClassifier
from flipcost.metrics import denoised_cost, weighted_cost
from flipcost.noise import flip_labels
from flipcost.plot import (
    CostCurveDisplay,
    DecisionBoundaryDisplay,
)


@pytest.fixture(autouse=True)
def close_figures():
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    train, test = (make_syn3d(600, random_state=seed) for seed in (0, 1))
    noisy = flip_labels(train.target, 0.2, random_state=2)
    model = FlipCostClassifier(cost=Costs(fn=4, fp=1), random_state=0).fit(train.data, noisy)
    return model, test.data, flip_labels(test.target, 0.2, random_state=3)


def test_the_cost_curve_is_the_cost_at_each_threshold(fitted):
    """Each point is the mean weighted cost of calls at that cost; constants are below 1."""
    model, X, y = fitted
    display = CostCurveDisplay.from_estimator(model, X, y)
    eta = model.predict_proba(X)[:, 1]
    for k in (9, 49, 80):
        cost = display.costs[k]
        flags = np.where(eta > cost, 1, -1)
        assert display.values[k] == pytest.approx(weighted_cost(y, flags, cost) / len(y))
    share = np.mean(y == 1)
    np.testing.assert_allclose(
        display.constants, np.minimum((1 - display.costs) * share, display.costs * (1 - share))
    )
    np.testing.assert_array_equal(display.line_.get_ydata(), display.values)


def test_the_cost_curve_is_denoised(fitted):
    """With a noise rate the curve is that of denoised tables."""
    model, X, y = fitted
    eta = model.predict_proba(X)[:, 1]
    display = CostCurveDisplay.from_predictions(y, eta, noise_rate=0.2)
    for cost, value in zip(display.costs, display.values, strict=True):
        expected = denoised_cost(y, np.where(eta > cost, 1, -1), cost, 0.2, normalize=True).value
        assert value == pytest.approx(expected, abs=1e-12)


def test_the_boundary_is_where_the_probability_is_the_cost():
    """Points on the line have the probability of the cost."""
    data = make_syn2d(400, random_state=0)
    model = UnevenMarginClassifier(cost=0.3).fit(data.data, data.target)
    display = DecisionBoundaryDisplay.from_estimator(model, data.data, data.target)
    points = np.concatenate(display.boundary_.get_paths()[0].to_polygons(closed_only=False))
    # The line runs between points of a grid of 150; the score is linear, its probability nearly so.
    scores = model.decision_function(points)
    spread = np.ptp(model.decision_function(data.data))
    assert np.abs(scores).max() < 0.01 * spread


def test_displays_draw_on_given_axes(fitted):
    """Axes that are given are used, and options reach matplotlib."""
    from matplotlib import pyplot as plt

    model, X, y = fitted
    ax = plt.subplots()[1]
    display = CostCurveDisplay.from_estimator(model, X, y, ax=ax, color="red")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.line_.get_color() == "red"


def test_bad_input_is_refused(fitted):
    """Scores that are no probabilities, one class, and other numbers of features are refused."""
    model, X, y = fitted
    with pytest.raises(ValueError, match="probability"):
        CostCurveDisplay.from_predictions(y, np.full(len(y), 2.0))
    with pytest.raises(ValueError, match="two classes"):
        CostCurveDisplay.from_predictions(np.ones(5), np.full(5, 0.5))
    with pytest.raises(ValueError, match="equal to 2"):
        DecisionBoundaryDisplay.from_estimator(model, X, y)
