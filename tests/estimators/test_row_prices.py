"""Prices by row in estimators and scorers: by columns, by metadata, in the user's units."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import flipcost as fc
from flipcost import (
    CostResamplingClassifier,
    Costs,
    FlipCostClassifier,
    ForwardLogisticClassifier,
    NoiseAwareThresholdClassifier,
    UnbiasedLogisticClassifier,
    UnevenMarginClassifier,
    WeightedLogisticClassifier,
)
from flipcost.exceptions import DenoisingWarning
from flipcost.metrics import cost_scorer, denoised_cost, weighted_cost
from flipcost.noise import flip_labels


def make_rows(n=1500, rate=0.2, seed=0):
    """Draw rows whose amounts depend on the features, their clean labels and noisy ones."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    amount = np.exp(0.5 * x + 0.7 * rng.normal(size=n)) * 30
    y = (rng.random(n) < 1 / (1 + np.exp(1.5 - 1.5 * x - z))).astype(int)
    frame = pd.DataFrame({"x": x, "z": z, "amount": amount})
    return frame, y, flip_labels(y, rate, random_state=seed + 1)


FRAME, CLEAN, NOISY = make_rows()
COSTS = Costs(fn="0.9*amount + 2", fp=10)


@pytest.fixture(scope="module")
def model():
    """Fit a classifier with prices made of columns."""
    return FlipCostClassifier(COSTS, features="linear", random_state=0).fit(FRAME, NOISY)


def test_each_row_is_compared_with_its_own_threshold(model):
    """Calls are made where the clean probability exceeds the row's threshold, from any route."""
    prices = COSTS.by_row(FRAME)
    eta = model.predict_proba(FRAME)[:, 1]
    assert model.chosen_ == "rule"
    flagged = model.predict(FRAME) == 1
    np.testing.assert_array_equal(flagged, eta > prices.threshold)
    np.testing.assert_array_equal(flagged, model.decision_function(FRAME) > 0)
    for form in (prices, prices.table(), COSTS):
        np.testing.assert_array_equal(model.predict(FRAME, prices=form) == 1, flagged)
    routed = clone(model).set_params(cost=0.5).fit(FRAME, NOISY, prices=prices.table())
    np.testing.assert_array_equal(routed.predict(FRAME, prices=prices.table()) == 1, flagged)
    assert routed.cost_estimate_ == model.cost_estimate_
    # Cheap rows need more certainty than expensive ones.
    swapped = model.predict(FRAME, prices=Costs(fn=1e9, fp=1))
    assert (swapped == 1).all()


def test_costs_are_money_and_cover_what_calls_cost_on_clean_labels(model):
    """The estimated cost is in the units of the prices and its interval holds the clean cost."""
    prices = COSTS.by_row(FRAME)
    flagged = model.oof_probability_ > prices.threshold
    truth = prices.paid(CLEAN == 1, flagged).mean()
    low, high = model.cost_interval_
    assert low <= truth <= high
    assert low < model.cost_estimate_ < high
    nobody = prices.paid(CLEAN == 1, np.zeros(len(CLEAN), bool)).mean()
    assert model.constant_costs_["all_negative"].low <= nobody
    assert nobody <= model.constant_costs_["all_negative"].high
    assert model.score(FRAME, CLEAN) == np.mean(model.predict(FRAME) == CLEAN)
    assert "in your units" in model.summary()


def test_scalar_prices_are_money_and_a_number_is_a_share():
    """Costs in prices are those in shares times what both mistakes cost together."""
    share = FlipCostClassifier(0.2, features="linear", random_state=0).fit(FRAME, NOISY)
    money = clone(share).set_params(cost=Costs(fn=40, fp=10)).fit(FRAME, NOISY)
    assert money.cost_estimate_ == pytest.approx(50 * share.cost_estimate_)
    assert money.cost_interval_ == pytest.approx([50 * x for x in share.cost_interval_])
    assert money.value_of_information_ == pytest.approx(50 * share.value_of_information_)
    assert money.rule_cost_.high == pytest.approx(50 * share.rule_cost_.high)
    np.testing.assert_array_equal(money.predict(FRAME), share.predict(FRAME))
    regret = [clone(m).set_params(noise_rate="minimax").fit(FRAME, NOISY).regret_.worst
              for m in (money, share)]  # fmt: skip
    np.testing.assert_allclose(regret[0], 50 * regret[1])


def test_minimax_takes_prices_by_row():
    """Minimax regret decides at prices by row, and its regrets are money."""
    model = FlipCostClassifier(COSTS, "minimax", features="linear", random_state=0)
    model.fit(FRAME, NOISY)
    assert model.regret_.cost.max() > 1
    assert set(model.predict(FRAME)) <= {0, 1}


def test_prices_that_are_missing_are_asked_for(model):
    """Without prices of new rows there is no decision, and one sentence says what to give."""
    with pytest.raises(ValueError, match=r"'amount'.* not there|frame with named columns"):
        model.predict(FRAME[["x", "z"]])
    routed = FlipCostClassifier(features="linear", random_state=0)
    prices = COSTS.by_row(FRAME).table()
    routed.fit(FRAME, NOISY, prices=prices)
    with pytest.raises(ValueError, match="give `prices`"):
        routed.predict(FRAME)
    arrays = FlipCostClassifier(Costs(fn=prices[:, 0], fp=10), features="linear", random_state=0)
    with pytest.raises(ValueError, match="of the rows that were fitted"):
        arrays.fit(FRAME, NOISY).predict(FRAME)
    assert arrays.predict(FRAME, prices=prices).shape == (len(FRAME),)


def test_prices_are_routed_through_cross_validation_and_pipelines():
    """Metadata routing brings each fold its own prices: in fit, predict, and scores."""
    prices = COSTS.by_row(FRAME).table()
    with sklearn.config_context(enable_metadata_routing=True):
        last = FlipCostClassifier(features="linear", random_state=0)
        last.set_fit_request(prices=True).set_predict_request(prices=True)
        last.set_score_request(prices=True)
        pipeline = make_pipeline(StandardScaler(), last)
        scorer = cost_scorer(0.5, noise_rate=0.2).set_score_request(prices=True)
        found = cross_validate(
            pipeline, FRAME, NOISY, scoring=scorer, cv=3, params={"prices": prices}
        )
        pipeline.fit(FRAME, NOISY, prices=prices)
        flagged = pipeline.predict(FRAME, prices=prices)
        score = pipeline.score(FRAME, NOISY, prices=prices)
    truth = COSTS.by_row(FRAME).paid(CLEAN == 1, flagged == 1).mean()
    assert -found["test_score"].mean() == pytest.approx(truth, rel=0.4)
    assert score == np.mean(flagged == NOISY)


def test_scorers_read_prices_from_columns(model):
    """A scorer with prices of columns counts each row at its own, denoised, as the metric does."""
    scorer = cost_scorer(COSTS, noise_rate=0.2)
    prices = COSTS.by_row(FRAME)
    expected = denoised_cost(NOISY, model.predict(FRAME), prices, 0.2, normalize=True).value
    assert -scorer(model, FRAME, NOISY) == pytest.approx(expected)
    plain = LogisticRegression().fit(FRAME, NOISY)
    assert -scorer(plain, FRAME, NOISY) == pytest.approx(
        denoised_cost(NOISY, plain.predict(FRAME), prices, 0.2, normalize=True).value
    )


def test_metrics_count_money():
    """Prices given to a metric, scalar or by row, are what it counts in."""
    y, flagged = np.array([1, 1, 0, 0]), np.array([0, 1, 1, 0])
    assert weighted_cost(y, flagged, Costs(fn=4, fp=1)) == pytest.approx(5)
    assert weighted_cost(y, flagged, 0.2) == pytest.approx(1)
    by_row = Costs(fn=[7, 9, 1, 1], fp=[1, 1, 3, 1])
    assert weighted_cost(y, flagged, by_row) == 10
    assert weighted_cost(y, flagged, by_row, normalize=True, sample_weight=[1, 1, 0, 0]) == 3.5
    with pytest.raises(ValueError, match="which no `margin` divides"):
        weighted_cost(y, flagged, by_row, 2.0)


def test_any_classifier_is_cut_at_each_rows_threshold():
    """The wrapper cuts the noisy probability where the clean one crosses the row's threshold."""
    rate = (0.25, 0.1)
    frame, y, _ = make_rows(seed=3)
    noisy = flip_labels(y, rate, random_state=4)
    model = NoiseAwareThresholdClassifier(LogisticRegression(), COSTS, rate).fit(frame, noisy)
    assert model.threshold_ is None
    prices = COSTS.by_row(frame)
    eta = model.predict_proba(frame)[:, 1]
    inner = model.estimator_.predict_proba(frame)[:, 1]
    clear = (inner > rate[1]) & (inner < 1 - rate[0])
    flagged = model.predict(frame) == 1
    np.testing.assert_array_equal(flagged[clear], (eta > prices.threshold)[clear])
    np.testing.assert_array_equal(flagged, model.decision_function(frame) > 0)
    naive = NoiseAwareThresholdClassifier(LogisticRegression(), COSTS).fit(frame, noisy)
    paid = [prices.paid(y == 1, m.predict(frame) == 1).mean() for m in (model, naive)]
    assert paid[0] < paid[1]


def test_models_with_prices_of_columns_are_saved(model, tmp_path):
    """A saved model keeps its prices and decides the same."""
    fc.save(model, tmp_path / "model.json")
    again = fc.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))


def test_checked_rows_and_prices_go_together():
    """With checked rows the cost at prices by row comes from these, and holds the truth."""
    trusted = np.full(len(CLEAN), np.nan)
    trusted[:200] = CLEAN[:200]
    model = FlipCostClassifier(COSTS, features="linear", random_state=0)
    model.fit(FRAME, NOISY, trusted=trusted)
    prices = COSTS.by_row(FRAME)
    flagged = model.oof_probability_ > prices.threshold
    low, high = model.cost_interval_
    assert low <= prices.paid(CLEAN == 1, flagged).mean() <= high


@pytest.mark.parametrize("rates", [None, 0.2, (0.3, 0.1)])
def test_learning_from_prices_by_row_pays(rates):
    """Whatever the noise, models told each row's price cost less than those told the mean price.

    Counted on new rows by their known probabilities, so that labels add no chance.
    """
    train, y, _ = make_rows(4000, seed=7)
    noisy = flip_labels(y, rates or 0.0, random_state=8)
    new = make_rows(20_000, seed=9)[0]
    train, new = (rows.assign(log_amount=np.log(rows["amount"])) for rows in (train, new))
    prices = COSTS.by_row(new)
    eta = 1 / (1 + np.exp(1.5 - 1.5 * new["x"] - new["z"])).to_numpy()
    mean = Costs(fn=float(COSTS.by_row(train).fn.mean()), fp=10)
    for make in (
        UnevenMarginClassifier(noise_rate=rates, l2=0.01),
        WeightedLogisticClassifier(noise_rate=rates),
        UnbiasedLogisticClassifier(noise_rate=rates),
        ForwardLogisticClassifier(noise_rate=rates),
        CostResamplingClassifier(noise_rate=rates, mode="weight", margin=1.0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DenoisingWarning)
            flagged = [
                clone(make).set_params(cost=cost).fit(train, noisy).predict(new) == 1
                for cost in (COSTS, mean)
            ]
        own, one = (
            np.where(flags, prices.alarm * (1 - eta), prices.miss * eta) for flags in flagged
        )
        saved = one - own
        assert saved.mean() > 3 * saved.std() / np.sqrt(len(saved)), type(make).__name__
