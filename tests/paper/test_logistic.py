"""MUB, S-W0-1 and the forward likelihood: exact on populations, mirrored by labels."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from flipcost import (
    Costs,
    ForwardLogisticClassifier,
    LinkClassifier,
    UnbiasedLogisticClassifier,
    WeightedLogisticClassifier,
)
from flipcost.core.noise import noisy_eta
from flipcost.datasets import make_syn3d
from flipcost.exceptions import DenoisingWarning
from flipcost.metrics import weighted_cost
from flipcost.noise import flip_labels

RATES = [0.1, 0.25, (0.3, 0.1)]


def population(rate, n=60, seed=0):
    """Points with a linear log-odds, each with either label, weighed by its noisy probability."""
    rng = np.random.default_rng(seed)
    X = 1.5 * rng.normal(size=(n, 2))
    eta = expit(X @ [1.2, -0.8] + 0.3)
    noisy = noisy_eta(eta, rate)
    y = np.repeat([1, 0], n)
    return np.vstack([X, X]), y, np.concatenate([noisy, 1 - noisy]), eta


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("cost", [0.3, 0.5])
def test_unbiased_loss_recovers_the_clean_solution(rate, cost):
    """On a population the unbiased objective *is* the clean one, penalty and all."""
    X, y, noisy, _ = population(rate)
    clean_weight = population(None)[2]
    told = UnbiasedLogisticClassifier(cost, rate, l2=0.05).fit(X, y, noisy)
    clean = UnbiasedLogisticClassifier(cost, None, l2=0.05).fit(X, y, clean_weight)
    assert told.convex_
    assert np.allclose(told.coef_, clean.coef_, atol=1e-7)
    assert np.allclose(told.intercept_, clean.intercept_, atol=1e-7)


@pytest.mark.parametrize(("cost", "rate"), [(0.1, 0.2), (0.9, 0.2), (0.2, (0.05, 0.4))])
def test_remedy_is_exact_where_its_noisy_probabilities_are(cost, rate):
    """Outside the convex costs, saturated features make the remedy's objective the clean one."""
    _, y, noisy, _ = population(rate, n=8)
    clean_weight = population(None, n=8)[2]
    X = np.vstack([np.eye(8)] * 2)
    with pytest.warns(DenoisingWarning, match="convex for costs in"):
        told = UnbiasedLogisticClassifier(cost, rate, l2=1e-7).fit(X, y, noisy)
    clean = UnbiasedLogisticClassifier(cost, None, l2=1e-7).fit(X, y, clean_weight)
    assert not told.convex_
    # The plain fit is penalised by 1e-7 too, which bends probabilities by that order.
    assert np.allclose(told.predict_proba(X), clean.predict_proba(X), atol=1e-4)


def test_remedy_beats_taking_labels_as_they_are():
    """At a cost below the rate, the remedy's clean cost is near that of clean labels."""
    train, test = make_syn3d(4000, random_state=1), make_syn3d(4000, random_state=2)
    noisy = flip_labels(train.target, 0.4, random_state=3)
    with pytest.warns(DenoisingWarning):
        told = UnbiasedLogisticClassifier(0.2, 0.4).fit(train.data, noisy)
    untold = UnbiasedLogisticClassifier(0.2).fit(train.data, noisy)
    clean = UnbiasedLogisticClassifier(0.2).fit(train.data, train.target)
    costs = [
        weighted_cost(test.target, m.predict(test.data), 0.2, normalize=True)
        for m in (clean, told, untold)
    ]
    assert costs[0] < costs[1] < costs[0] + (costs[2] - costs[0]) / 3


def test_even_cost_inside_the_convex_region_is_silent_at_its_edge():
    """A cost of exactly the rate is convex, rounding or not."""
    X, y, noisy, _ = population(0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert UnbiasedLogisticClassifier(0.3, 0.3).fit(X, y, noisy).convex_


def test_impossible_rate_is_refused():
    """A rate above the share of a class leaves no clean row of it, and no minimum."""
    X, y, _, _ = population(None)
    with pytest.raises(ValueError, match="Give a smaller rate"):
        UnbiasedLogisticClassifier(0.5, 0.3).fit(X, y, np.where(y == 1, 0.1, 0.9))
    with pytest.raises(ValueError, match="'l2' parameter"):
        UnbiasedLogisticClassifier(l2=0).fit(X, y)


@pytest.mark.parametrize(
    ("target", "rate", "expected"),
    [
        ("cost", 0.4, 0.44),
        ("cost", (0.3, 0.1), 0.1 + 0.6 * 0.2),
        ("accuracy", 0.4, 0.5),
        ("accuracy", (0.3, 0.1), (1 - 0.3 + 0.1) / 2),
        ("am", None, 0.25),
        ("am", (0.3, 0.1), 0.25),
    ],
)
def test_weights_put_the_threshold_where_the_theory_says(target, rate, expected):
    """The threshold on the noisy probability, for each target; AM takes the share of labels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 0, 0, 1], 10)
    model = WeightedLogisticClassifier(0.2, rate, target).fit(X, y)
    assert model.threshold_ == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("rate", [None, *RATES])
def test_weighted_calls_are_exact_with_saturated_features(rate):
    """With a feature for each point, rows are called where the clean eta exceeds the cost."""
    _, y, noisy, eta = population(rate, n=8)
    X = np.vstack([np.eye(8)] * 2)
    model = WeightedLogisticClassifier(0.35, rate, l2=1e-9).fit(X, y, noisy)
    assert np.array_equal(model.predict(np.eye(8)) == 1, eta > 0.35)
    assert np.allclose(model.predict_proba(np.eye(8))[:, 1], eta, atol=1e-4)


@pytest.mark.parametrize("rate", [None, 0.2, (0.3, 0.1)])
def test_forward_model_recovers_the_clean_one(rate):
    """Given the rate, coefficients and clean probabilities of a logistic population come back."""
    X, y, noisy, eta = population(rate)
    model = ForwardLogisticClassifier(0.2, rate, l2=0).fit(X, y, noisy)
    assert np.allclose(model.coef_, [[1.2, -0.8]], atol=1e-6)
    assert np.allclose(model.predict_proba(X[:60])[:, 1], eta, atol=1e-7)
    assert np.array_equal(model.predict(X[:60]) == 1, eta > 0.2)
    assert model.noise_rate_interval_ is None


def test_forward_model_estimates_the_rate():
    """Not given, the rate is found, with an interval around it."""
    X, y, noisy, _ = population(0.2, n=400)
    model = ForwardLogisticClassifier(0.2, l2=0).fit(X, y, noisy)
    low, high = model.noise_rate_interval_
    assert model.noise_rate_ == pytest.approx(0.2, abs=1e-5)
    assert low < 0.2 < high
    both = ForwardLogisticClassifier(0.2, noise_model="class_conditional", l2=0).fit(X, y, noisy)
    assert both.noise_rate_ == pytest.approx((0.2, 0.2), abs=1e-3)
    assert all(low < 0.2 < high for low, high in both.noise_rate_interval_)


def test_forward_model_without_noise_is_logistic_regression():
    """At rate None it is the logistic link classifier, its score lowered by the log-odds."""
    data = make_syn3d(300, random_state=0)
    forward = ForwardLogisticClassifier(0.2, None, l2=0.01).fit(data.data, data.target)
    plain = LinkClassifier(l2=0.01).fit(data.data, data.target)
    assert np.allclose(forward.predict_proba(data.data), plain.predict_proba(data.data), atol=1e-7)
    eta = plain.predict_proba(data.data)[:, 1]
    assert np.array_equal(forward.predict(data.data) == data.target.max(), eta > 0.2)


@pytest.mark.parametrize(
    "make",
    [
        UnbiasedLogisticClassifier,
        WeightedLogisticClassifier,
        ForwardLogisticClassifier,
    ],
)
def test_swapping_the_classes_mirrors_the_costs(make):
    """Naming the other class positive, with cost and rates swapped, changes nothing."""
    data = make_syn3d(500, random_state=0)
    labels = np.where(data.target == data.target.max(), "b", "a")
    noisy = flip_labels(labels, (0.2, 0.1), random_state=1)
    one = make(cost=0.3, noise_rate=(0.2, 0.1)).fit(data.data, noisy)
    other = make(cost=0.7, noise_rate=(0.1, 0.2), pos_label="a").fit(data.data, noisy)
    assert np.allclose(one.coef_, other.coef_, atol=1e-6)
    assert np.allclose(one.predict_proba(data.data), other.predict_proba(data.data), atol=1e-6)
    assert np.array_equal(one.predict(data.data), other.predict(data.data))


@pytest.mark.parametrize(
    "model",
    [
        UnbiasedLogisticClassifier(Costs(fn=7, fp=3)),
        WeightedLogisticClassifier(Costs(fn=7, fp=3)),
        ForwardLogisticClassifier(Costs(fn=7, fp=3), noise_rate=None),
    ],
)
def test_calls_are_where_the_probability_exceeds_the_cost(model):
    """Scores, probabilities and calls agree on the threshold, given as prices."""
    data = make_syn3d(300, random_state=0)
    model.fit(data.data, data.target)
    eta = model.predict_proba(data.data)[:, 1]
    assert np.array_equal(model.predict(data.data) == data.target.max(), eta > 0.3)
    assert np.array_equal(model.decision_function(data.data) > 0, eta > 0.3)
