"""Laws of prices by row, for every estimator with a cost: one price, units, mirrors, flips."""

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
    UnevenMarginClassifierCV,
    WeightedLogisticClassifier,
)
from flipcost.core.costs import RowCosts, takes_prices
from flipcost.exceptions import DenoisingWarning
from flipcost.metrics import cost_scorer
from flipcost.noise import flip_labels
from flipcost.tables.scan import scan_batches

RATES = (0.15, 0.1)
PRICED = {
    "unbiased": UnbiasedLogisticClassifier(noise_rate=RATES),
    "weighted": WeightedLogisticClassifier(noise_rate=RATES),
    "forward": ForwardLogisticClassifier(noise_rate=RATES),
    "threshold": NoiseAwareThresholdClassifier(noise_rate=RATES),
    "closed form": UnevenMarginClassifier(noise_rate=RATES, margin=1.5),
    "closed form, sum": UnevenMarginClassifier(noise_rate=RATES, l2_scale="sum"),
    "searched": UnevenMarginClassifierCV(
        noise_rates=[RATES], margins=[0.5, 1.0], scoring="cost", denoised=True, cv=3
    ),
    "weighing": CostResamplingClassifier(
        LogisticRegression(), margin=0.8, mode="weight", noise_rate=RATES
    ),
    "drawing": CostResamplingClassifier(noise_rate=RATES, cv=2, random_state=0),
    "flipcost": FlipCostClassifier(noise_rate=RATES, features="linear", random_state=0),
}
# Those that learn the same from a weight as from repetitions, fold by fold or not at all.
REPEATABLE = ("unbiased", "weighted", "forward", "threshold", "closed form", "closed form, sum")


def make_rows(n=400, seed=0):
    """Draw rows with noisy labels, and prices that depend on the features and on chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(0.5 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)
    fn = np.exp(0.5 * X[:, 0] + 0.4 * rng.normal(size=n)) * 30
    return X, y, flip_labels(y, RATES, random_state=seed), np.column_stack([fn, np.full(n, 20.0)])


X, CLEAN, NOISY, BY_ROW = make_rows()


def fitted(model, *args, cost=None, **more):
    """Fit a copy, at a cost of its own or not, and say nothing of losses that are not convex."""
    model = clone(model)
    if cost is not None:
        model.set_params(**{"costs" if hasattr(model, "costs") else "cost": cost})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DenoisingWarning)
        return model.fit(*args, **more)


def calls_of(model, rows, prices):
    """Return calls at prices, which some take and some have learned already."""
    return model.predict(rows, **({"prices": prices} if takes_prices(model) else {}))


@pytest.mark.parametrize("name", PRICED)
@pytest.mark.parametrize("pair", [(80.0, 20.0), (2.0, 6.0)])
def test_the_same_price_on_all_rows_is_one_price(name, pair):
    """Fits and calls at equal prices are those of that price, in any units, to rounding."""
    one = fitted(PRICED[name], X, NOISY, cost=Costs(*pair))
    same = np.tile(pair, (len(X), 1))
    many = fitted(PRICED[name], X, NOISY, prices=same)
    np.testing.assert_array_equal(calls_of(many, X, same), one.predict(X))
    np.testing.assert_array_equal(calls_of(many, X, same), calls_of(many, X, 1000 * same))
    if hasattr(one, "coef_"):
        np.testing.assert_allclose(many.coef_, one.coef_, rtol=1e-6, atol=1e-9)
    if takes_prices(many):
        # The score is of the row and its price, so that it is the same however that is told.
        np.testing.assert_allclose(
            many.decision_function(X, prices=same), one.decision_function(X), atol=1e-6
        )
        np.testing.assert_allclose(many.predict_proba(X), one.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("name", PRICED)
def test_the_currency_does_not_matter(name):
    """Prices times a thousand leave fits and calls as they are."""
    euros, cents = (fitted(PRICED[name], X, NOISY, prices=k * BY_ROW) for k in (1.0, 1000.0))
    np.testing.assert_array_equal(calls_of(euros, X, BY_ROW), calls_of(cents, X, 1000 * BY_ROW))
    assert set(calls_of(euros, X, BY_ROW)) == {0, 1}


@pytest.mark.parametrize("name", PRICED)
def test_swapped_labels_mirror_prices(name):
    """With the other class positive, prices and rates swapped, rows are called the same."""
    model = PRICED[name]
    if name == "drawing":
        model = clone(model).set_params(margin=1.0)  # the grid of margins is not symmetric
    if "margin" in model.get_params() and model.margin != 1.0:
        model = clone(model).set_params(margin=1.0)
    rates = {"noise_rates": [RATES[::-1]]} if name == "searched" else {"noise_rate": RATES[::-1]}
    grid = {"margins": 1.0} if name == "searched" else {}
    one = fitted(clone(model).set_params(**grid), X, NOISY, prices=BY_ROW)
    other = clone(model).set_params(pos_label=0, **rates, **grid)
    other = fitted(other, X, NOISY, prices=BY_ROW[:, ::-1])
    np.testing.assert_array_equal(calls_of(one, X, BY_ROW), calls_of(other, X, BY_ROW[:, ::-1]))


@pytest.mark.parametrize("name", REPEATABLE)
def test_weights_are_repetitions_that_cost_the_same(name):
    """A row of weight three is three rows with its prices."""
    times = np.random.default_rng(1).integers(0, 4, len(X))
    weighed = fitted(PRICED[name], X, NOISY, sample_weight=times, prices=BY_ROW)
    rows = np.repeat(np.arange(len(X)), times)
    repeated = fitted(PRICED[name], X[rows], NOISY[rows], prices=BY_ROW[rows])
    inner = [getattr(m, "estimator_", m) for m in (weighed, repeated)]
    np.testing.assert_allclose(inner[0].coef_, inner[1].coef_, rtol=1e-5, atol=1e-7)


def expected_flips(y, rates):
    """Return labels and weights of rows that represent all flips of each: first kept, then not."""
    flipped = np.where(y == 1, *rates)
    return np.append(y, 1 - y), np.append(1 - flipped, flipped)


@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.1)])
def test_expected_flips_are_undone_exactly(rates):
    """Over all flips, denoised closed form and unbiased loss are those of clean labels.

    No sampling: each row stands there twice, with either label, weighed by its probability.
    """
    prices = BY_ROW.copy()
    # Thresholds between the limits where the unbiased loss is convex, so that nothing is corrected.
    prices[:, 0] = np.clip(prices[:, 0], 20 * 0.45, 20 * 2.0)
    labels, weight = expected_flips(CLEAN, rates)
    twice = np.vstack([X, X]), labels
    closed = UnevenMarginClassifier(margin=1.3, l2=0.05)
    for model in (closed, UnbiasedLogisticClassifier()):
        clean = clone(model).fit(X, CLEAN, prices=prices)
        told = clone(model).set_params(noise_rate=rates)
        told.fit(*twice, sample_weight=weight, prices=np.vstack([prices, prices]))
        np.testing.assert_allclose(told.coef_, clean.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(told.intercept_, clean.intercept_, rtol=1e-6, atol=1e-8)
        naive = clone(model).fit(*twice, sample_weight=weight, prices=np.vstack([prices, prices]))
        assert np.abs(naive.coef_ - clean.coef_).max() > 0.01


def test_the_search_scores_in_denoised_money():
    """Over all flips, scores of a search at prices by row are those of clean labels."""
    labels, weight = expected_flips(CLEAN, RATES)
    n = len(X)
    parts = np.arange(n) % 3
    splits = [(np.flatnonzero(parts != k), np.flatnonzero(parts == k)) for k in range(3)]
    doubled = [tuple(np.append(part, part + n) for part in split) for split in splits]
    search = UnevenMarginClassifierCV(l2s=[0.01, 0.1, 1.0], margins=[0.5, 1.0], scoring="cost")
    clean = clone(search).set_params(cv=splits).fit(X, CLEAN, prices=BY_ROW)
    told = clone(search).set_params(cv=doubled, noise_rates=[RATES], denoised=True)
    told.fit(np.vstack([X, X]), labels, sample_weight=weight, prices=np.vstack([BY_ROW, BY_ROW]))
    for k in range(3):
        name = f"split{k}_test_score"
        np.testing.assert_allclose(told.cv_results_[name], clean.cv_results_[name], rtol=1e-8)
    # And what the score is: the mean cost of the held-out rows at their own prices.
    trained, tested = splits[0]
    prices = RowCosts(*BY_ROW.T)
    alone = UnevenMarginClassifier(margin=1.0, l2=0.1).fit(X[trained], CLEAN[trained],
                                                           prices=prices.take(trained))  # fmt: skip
    params = [p["l2"] == 0.1 and p["margin"] == 1.0 for p in clean.cv_results_["params"]]
    score = clean.cv_results_["split0_test_score"][params.index(True)]
    paid = prices.take(tested).paid(CLEAN[tested] == 1, alone.predict(X[tested]) == 1)
    assert score == pytest.approx(-paid.mean())


@pytest.mark.parametrize("name", PRICED)
def test_prices_arrive_by_every_way(name):
    """Arrays, columns, callables and metadata give the same fit, calls and score."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(amount=BY_ROW[:, 0])
    plain = fitted(PRICED[name], frame, NOISY, prices=BY_ROW)
    wanted = calls_of(plain, frame, BY_ROW)
    score = plain.score(frame, NOISY, prices=BY_ROW)
    assert score == np.mean(wanted == NOISY)
    for fn in ("amount", lambda rows: rows["amount"]):
        model = fitted(PRICED[name], frame, NOISY, cost=Costs(fn=fn, fp=20))
        np.testing.assert_array_equal(model.predict(frame), wanted)
        assert model.score(frame, NOISY) == pytest.approx(score)
    model = fitted(PRICED[name], frame, NOISY, cost=Costs(fn=BY_ROW[:, 0], fp=20))
    np.testing.assert_array_equal(calls_of(model, frame, BY_ROW), wanted)
    if takes_prices(model):
        with pytest.raises(ValueError, match="of the rows that were fitted"):
            model.predict(frame)
        with pytest.raises(ValueError, match=r"'amount'.*not there|frame with named columns"):
            fitted(PRICED[name], frame, NOISY, cost=Costs(fn="amount", fp=20)).predict(X)


@pytest.mark.parametrize("name", PRICED)
def test_prices_are_routed(name):
    """Through pipelines, folds and scorers each row keeps its own prices."""
    with sklearn.config_context(enable_metadata_routing=True):
        last = clone(PRICED[name]).set_fit_request(prices=True).set_score_request(prices=True)
        if takes_prices(last):
            last.set_predict_request(prices=True)
        scorer = cost_scorer(0.5, noise_rate=RATES).set_score_request(prices=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DenoisingWarning)
            pipeline = make_pipeline(StandardScaler(), last)
            pipeline.fit(X, NOISY, prices=BY_ROW)
            found = cross_validate(
                pipeline, X, NOISY, scoring=scorer, cv=2, params={"prices": BY_ROW}
            )
        by_own = pipeline.score(X, NOISY, prices=BY_ROW)
        flagged = calls_of(pipeline, X, BY_ROW)
    prices = RowCosts(*BY_ROW.T)
    nobody = prices.paid(CLEAN == 1, np.zeros(len(X), bool)).mean()
    assert -found["test_score"].mean() < nobody
    assert by_own == np.mean(flagged == NOISY)


@pytest.mark.parametrize("name", ["unbiased", "weighted", "forward"])
def test_logistic_models_compare_each_row_with_its_own_threshold(name):
    """A row is called where its clean probability exceeds the row's threshold, new ones too."""
    model = fitted(PRICED[name], X, NOISY, prices=BY_ROW)
    rows, _, _, prices = make_rows(seed=5)
    eta = model.predict_proba(rows)[:, 1]
    cut = RowCosts(*prices.T).threshold
    clear = (eta > 0) & (eta < 1)
    assert clear.mean() > 0.5
    np.testing.assert_array_equal((model.predict(rows, prices=prices) == 1)[clear],
                                  (eta > cut)[clear])  # fmt: skip
    with pytest.raises(ValueError, match="give `prices`"):
        model.predict(rows)
    # A model fitted at one price decides at others, too.
    one = fitted(PRICED[name], X, NOISY, cost=0.3)
    eta = one.predict_proba(rows)[:, 1]
    clear = (eta > 0) & (eta < 1)
    np.testing.assert_array_equal((one.predict(rows, prices=prices) == 1)[clear],
                                  (eta > cut)[clear])  # fmt: skip


def test_one_sided_rows_have_one_answer():
    """Rows on which a mistake of one kind pays, or costs nothing, are decided without a look."""
    prices = np.column_stack([BY_ROW, np.zeros((len(X), 2))])
    prices[:50, 2] = prices[:50, 0] + 1  # calling a positive costs more than missing it
    prices[50:100, 1] = 0.0  # false alarms are free
    for name in ("unbiased", "weighted", "forward"):
        flagged = fitted(PRICED[name], X, NOISY, prices=prices).predict(X, prices=prices)
        assert not flagged[:50].any()
        assert flagged[50:100].all()


def test_all_that_have_prices_are_saved(tmp_path):
    """The product's models with prices of columns come back as data and decide the same."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(amount=BY_ROW[:, 0])
    for name in ("closed form", "searched"):
        model = fitted(PRICED[name], frame, NOISY, cost=Costs(fn="amount", fp=20))
        fc.save(model, tmp_path / "model.json")
        again = fc.load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_drawing_keeps_rows_in_proportion_to_what_they_cost():
    """The most expensive row is drawn for certain, others with the ratio of their weights."""
    kept = np.zeros(len(X))
    for seed in range(200):
        model = CostResamplingClassifier(_Remember(), 0.5, 1.0, random_state=seed)
        model.fit(np.column_stack([X, np.arange(len(X))]), NOISY, prices=BY_ROW)
        kept[model.estimator_.seen_] += 1
    weight = np.where(NOISY == 1, BY_ROW[:, 0], BY_ROW[:, 1])
    share = weight / weight.max()
    assert kept[np.argmax(weight)] == 200
    # Ranks make draws of a row's class stratified, so binomial errors are an upper limit.
    np.testing.assert_allclose(kept / 200, share, atol=5 * np.sqrt(0.25 / 200))


class _Remember(LogisticRegression):
    """Remember which rows were fitted, by their last column."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = X[:, -1].astype(int)
        return super().fit(X[:, :-1], y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X[:, :-1])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (WeightedLogisticClassifier(target="am"), "decides at one threshold"),
        (UnevenMarginClassifierCV(costs=[0.2, 0.5]), "not a list of candidates"),
    ],
)
def test_what_makes_no_sense_by_row_is_refused(model, words):
    """What speaks of one threshold, or of several prices, says so."""
    with pytest.raises(ValueError, match=words):
        model.fit(X, NOISY, prices=BY_ROW)


def test_moments_alone_do_not_know_prices():
    """Tables in passes, and rows after rows that were weighed, are refused in one sentence."""
    table = scan_batches([(X, NOISY)])
    costs = Costs(fn="amount", fp=5)
    for model in (UnevenMarginClassifier(costs), UnevenMarginClassifierCV(costs)):
        with pytest.raises(ValueError, match="need rows in memory"):
            model.fit_table(table)
    model = UnevenMarginClassifier().fit(X, NOISY, prices=BY_ROW)
    with pytest.raises(ValueError, match="cannot go on from rows that were weighed"):
        model.partial_fit(X, NOISY)
    with pytest.raises(ValueError, match="one of the two is free on all"):
        UnevenMarginClassifier().fit(X, NOISY, prices=BY_ROW * [1, 0])
    with pytest.raises(ValueError, match="impossible for these labels and costs"):
        UnevenMarginClassifier(noise_rate=(0.1, 0.85)).fit(X, NOISY, prices=BY_ROW)
    dear = np.where(np.arange(len(X))[:, None] == np.flatnonzero(NOISY)[0], [1e9, 1.0], 1.0)
    with pytest.raises(ValueError, match=r"Use mode='weight'"):
        CostResamplingClassifier(margin=1.0, random_state=0).fit(X, NOISY, prices=dear)
