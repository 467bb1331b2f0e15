"""An audit says nothing that cannot be, and refuses labels that contradict each other."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from flipcost import Costs, FlipCostClassifier
from flipcost.audit import audit
from flipcost.core.checked_rows import CheckedRows, contradict
from flipcost.datasets import make_syn3d
from flipcost.estimators.flipcost import check_not_swapped
from flipcost.exceptions import DenoisingWarning, FlipCostError, TableError
from flipcost.metrics import am_score, denoised_confusion, denoised_cost, f_score
from flipcost.noise import flip_labels
from flipcost.plot import CostCurveDisplay

N_ROWS = 600


@pytest.fixture(scope="module")
def data():
    return make_syn3d(N_ROWS, random_state=0)


@pytest.fixture(scope="module")
def noisy(data):
    return flip_labels(data.target, 0.2, random_state=1)


def table(data, noisy, **more):
    frame = pl.DataFrame(data.data, schema=["a", "b", "c"]).with_columns(ill=noisy)
    return frame.with_columns(**{name: pl.Series(values) for name, values in more.items()})


def swapped(labels):
    return np.where(labels == labels.max(), labels.min(), labels.max())


def check_possible(result):
    """Every cost is from nothing to the dearest mistake and inside its interval; strict JSON."""
    summary = result.summary()
    most = max(result.prices.fn, result.prices.fp)
    for candidate in summary["candidates"]:
        for name in ("cost_observed", "cost_clean"):
            found = candidate[name]
            assert 0 <= found["low"] <= found["value"] <= found["high"] <= most * (1 + 1e-9)
    wrong = summary["wrong_share"]
    assert 0 <= wrong["low"] <= wrong["value"] <= wrong["high"] <= 1
    json.dumps(summary, allow_nan=False)


def test_a_random_second_label_tells_nothing(data, noisy):
    """Labels that agree by chance only give no rate: the audit says so and goes without."""
    again = np.random.default_rng(2).choice(np.unique(noisy), N_ROWS)
    given = {"cost": Costs(fn=4000, fp=1000), "model": "linear"}
    result = audit(table(data, noisy, again=again), "ill", second_label="again", **given)
    alone = audit(table(data, noisy), "ill", **given)
    assert any("not identified" in text for text in result.warnings)
    assert result.wrong_share == alone.wrong_share
    assert result.best.clean == alone.best.clean
    check_possible(result)


def test_second_labels_that_are_swapped_are_refused(data, noisy):
    """A second label that says the opposite is refused with the likely reason."""
    frame = table(data, noisy, again=swapped(flip_labels(data.target, 0.2, random_state=3)))
    with pytest.raises(TableError, match="swapped"):
        audit(frame, "ill", 0.2, second_label="again", model="linear")


@pytest.mark.parametrize("n_checked", [30, N_ROWS])
def test_trusted_labels_that_are_swapped_are_refused(data, noisy, n_checked):
    """Checked rows that contradict the labels are refused, by the estimator and by the audit."""
    trusted = swapped(data.target).astype(object)
    trusted[n_checked:] = None
    model = FlipCostClassifier(cost=0.2, features="linear", random_state=0)
    with pytest.raises(FlipCostError, match=r"`trusted`.*swapped"):
        model.fit(data.data, noisy, trusted=trusted)
    frame = table(data, noisy, checked=trusted.tolist())
    with pytest.raises(TableError, match=r"'checked'.*swapped"):
        audit(frame, "ill", 0.2, trusted="checked", model="linear")


def test_checks_of_suspicious_rows_are_taken(data, noisy):
    """Rows that were checked since they look wrong contradict their labels, rightly."""
    wrong = np.flatnonzero(noisy != data.target)[:25]
    trusted = np.full(N_ROWS, None, dtype=object)
    trusted[wrong] = data.target[wrong]
    model = FlipCostClassifier(cost=0.2, features="linear", random_state=0)
    assert model.fit(data.data, noisy, trusted=trusted).chosen_ == "rule"


@pytest.mark.parametrize("share", [0.5, 0.15])
def test_checks_of_top_suspects_are_taken(share):
    """Of those that rank lowest out of fold, most are contradicted; no one swapped anything."""
    contradicted = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, int(100 * share)])
        X = rng.normal(size=(400, 3))
        eta = 1 / (1 + np.exp(-(X[:, 0] + 0.5 * X[:, 1] + np.log(share / (1 - share)))))
        truth = rng.random(400) < eta
        y = truth ^ (rng.random(400) < 0.3)
        probability = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")[:, 1]
        rows = np.argsort(np.where(y, probability, 1 - probability))[:20]
        checked = CheckedRows(rows, truth[rows])
        contradicted += contradict(y[rows], truth[rows])
        check_not_swapped(X, y, checked, learn)
        # The same answers the other way round, of rows drawn at random, are still refused.
        rows = rng.choice(400, 100, replace=False)
        with pytest.raises(FlipCostError, match="swapped"):
            check_not_swapped(X, y, CheckedRows(rows, ~truth[rows]), learn)
    assert contradicted >= 6  # or nothing was tried


def learn(X, y):
    return LogisticRegression().fit(X, y).decision_function


def test_a_useless_rate_is_not_identified():
    """At rates that add up to almost one, intervals are all that can be, and a warning says so."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 2))
    y = rng.random(N_ROWS) < 0.395
    model = FlipCostClassifier(cost=0.2, noise_rate=(0.6, 0.39), features="linear", random_state=0)
    with pytest.warns(DenoisingWarning, match="nothing of the clean labels is identified"):
        model.fit(X, y)
    assert model.state_ == "undecided"
    for found in (model.rule_cost_, *model.constant_costs_.values()):
        assert 0 <= found.low <= found.value <= found.high <= 0.8
    assert (model.wrong_share_.low, model.wrong_share_.high) == (0.39, 0.6)
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(ill=y.astype(int))
    result = audit(frame, "ill", 0.2, noise_rate=(0.6, 0.39), model="linear")
    assert any("identified" in text for text in result.warnings)
    check_possible(result)


def test_bounds_and_a_given_rate_that_contradict_each_other_leave_it_undecided(data):
    """Separable labels of which a tenth is said to be wrong are not called clean."""
    y = data.data[:, 0] > 0
    model = FlipCostClassifier(cost=0.2, noise_rate=0.1, features="linear", random_state=0)
    model.fit(data.data, y)
    assert model.cost_estimate_ >= 0
    assert model.state_ == "undecided"


def test_measures_of_too_large_a_rate_stay_possible():
    """Cost, counts, recall and F of denoised labels are clipped to the feasible range."""
    y, flagged = np.repeat([0, 1], 30), np.repeat([0, 1], 30)
    cost = denoised_cost(y, flagged, 0.2, 0.3, normalize=True)
    assert (cost.value, cost.low) == (0.0, 0.0)
    counts = denoised_confusion(y, flagged, 0.3)
    np.testing.assert_array_equal(counts, [[30, 0], [0, 30]])
    assert denoised_confusion(y, flagged, 0.3, unbiased=True).min() < 0
    assert am_score(y, flagged, noise_rate=0.3) == 1.0
    assert f_score(y, flagged, noise_rate=0.3) == 1.0
    with pytest.warns(DenoisingWarning, match="identified"):
        found = denoised_cost(y, flagged, 0.2, (0.6, 0.35), normalize=True)
    assert 0 <= found.low <= found.value <= found.high <= 0.8


def test_cost_curves_show_no_cost_that_cannot_be():
    """A display of denoised costs never falls below nothing."""
    y, eta = np.repeat([0, 1], 30), np.repeat([0.01, 0.99], 30)
    shown = CostCurveDisplay.from_predictions(y, eta, noise_rate=0.3)
    assert np.min(shown.values) >= 0
