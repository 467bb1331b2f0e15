"""FlipCostClassifier: what it promises, on laws where the truth is known."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flipcost import Costs, FlipCostClassifier
from flipcost.core.calibration import calibrate
from flipcost.datasets import load_pima, make_syn3d, make_syn3d_imbalanced
from flipcost.estimators.flipcost import scores
from flipcost.metrics import weighted_cost
from flipcost.noise import NoiseRate, flip_labels, rate_from_repeats
from flipcost.tables.scan import scan_batches


def noisy_syn3d(n=3000, rate=0.25, seed=0):
    data = make_syn3d(n, random_state=seed)
    return data.data, flip_labels(data.target, rate, random_state=seed), data


@pytest.fixture(scope="module")
def fitted():
    X, noisy, data = noisy_syn3d()
    return FlipCostClassifier(cost=0.2, random_state=0).fit(X, noisy), X, noisy, data


def test_attributes(fitted):
    """Everything that it says it found is there and consistent."""
    model, X, *_ = fitted
    for rate, (low, high) in zip(model.noise_rate_, model.noise_rate_interval_, strict=True):
        assert 0 <= low < rate < high < 1
    assert model.wrong_share_.low < model.wrong_share_.value < model.wrong_share_.high
    assert sum(model.noise_models_.values()) == pytest.approx(1.0)
    assert model.state_ in ("noisy", "undecided")
    assert np.shape(model.noise_bounds_.high) == (2,)
    assert model.rate_posterior_.weight.sum() == pytest.approx(1.0)
    assert model.cost_interval_[0] < model.cost_estimate_ < model.cost_interval_[1]
    assert set(model.constant_costs_) == {"all_negative", "all_positive"}
    assert model.oof_probability_.shape == (len(X),)
    assert model.scorer_weights_.sum() == pytest.approx(1.0)
    assert model.value_of_information_ >= 0


@pytest.mark.parametrize("cost", [0.15, 0.5, 0.8])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.35])
def test_close_to_the_bayes_cost(cost, rate):
    """From 4,000 noisy rows the clean cost exceeds the Bayes cost by little, untold the rate.

    The allowance is a tenth of what lies between the Bayes rule and the better constant, and four
    standard errors of the difference on the test rows.
    """
    X, noisy, _ = noisy_syn3d(4000, rate, seed=3)
    test = make_syn3d(20_000, random_state=77)
    flagged = FlipCostClassifier(cost=cost, random_state=0).fit(X, noisy).predict(test.data)
    positive, eta = test.target > 0, test.eta
    price = np.where(positive, 1 - cost, cost)

    def costs(flags):
        return price * (flags != positive)

    bayes, ours = costs(eta > cost), costs(flagged > 0)
    trivial = min(costs(np.ones(20_000, bool)).mean(), costs(np.zeros(20_000, bool)).mean())
    error = (ours - bayes).std() / np.sqrt(20_000)
    assert ours.mean() - bayes.mean() < 0.1 * (trivial - bayes.mean()) + 4 * error


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_probabilities_are_those_of_clean_labels(rate):
    """Within bins of the probability, the true clean probability averages the same."""
    X, noisy, _ = noisy_syn3d(8000, rate, seed=4)
    test = make_syn3d(20_000, random_state=5)
    model = FlipCostClassifier(cost=0.3, random_state=0).fit(X, noisy)
    estimate = model.predict_proba(test.data)[:, 1]
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = (estimate >= low) & (estimate < high)
        assert estimate[inside].mean() == pytest.approx(test.eta[inside].mean(), abs=0.06)


@pytest.mark.slow
def test_cost_estimate_covers_the_clean_cost():
    """The 90 % interval of the clean cost covers it in at least 17 of 24 draws (P < 0.01 else)."""
    test = make_syn3d_imbalanced(20_000, random_state=99)
    covered = 0
    for seed in range(24):
        data = make_syn3d_imbalanced(1500, random_state=seed)
        noisy = flip_labels(data.target, 0.2, random_state=seed)
        model = FlipCostClassifier(cost=0.3, level=0.9, features="splines", random_state=0)
        model.fit(data.data, noisy)
        truth = weighted_cost(test.target, model.predict(test.data), 0.3) / len(test.target)
        covered += model.cost_interval_[0] <= truth <= model.cost_interval_[1]
    assert covered >= 17


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_score_is_not_lost_between_grid_points(seed, monkeypatch):
    """With many rows, peaks are narrower than a coarse grid: weights are a dense one's."""
    monkeypatch.setattr(scores, "knot_count", lambda _: 3)
    X, noisy, _ = noisy_syn3d(60_000, 0.3, seed)
    model = FlipCostClassifier(
        cost=0.2, noise_model="symmetric", features="splines", random_state=0
    ).fit(X, noisy)
    rates = np.linspace(0.27, 0.33, 61)
    dense = calibrate(model._result.bins, np.column_stack([rates, rates])).weight.sum(axis=1)
    np.testing.assert_allclose(model.scorer_weights_, dense, atol=0.02)
    assert abs(model.noise_rate_[0] - 0.3) < 0.01
    assert model.noise_rate_[0] == model.noise_rate_[1]
    low, high = model.noise_rate_interval_[0]
    assert low < 0.3 < high


def test_told_the_rate():
    """A number or a pair is taken as it is: the posterior has one point."""
    X, noisy, _ = noisy_syn3d(1000)
    model = FlipCostClassifier(cost=0.2, noise_rate=0.25, random_state=0).fit(X, noisy)
    assert model.noise_rate_ == pytest.approx((0.25, 0.25))
    assert model.noise_rate_source_ == "given"
    model = FlipCostClassifier(cost=0.2, noise_rate=(0.3, 0.2), random_state=0).fit(X, noisy)
    assert model.noise_rate_ == pytest.approx((0.3, 0.2))


def test_three_annotators_tell_both_rates():
    """Two more labels of the same rows give each class its rate, which enters as a prior."""
    X, noisy, data = noisy_syn3d(3000, (0.35, 0.05))
    more = [flip_labels(data.target, rate, random_state=k) for k, rate in enumerate((0.1, 0.25), 5)]
    rate = rate_from_repeats(noisy, *more, class_conditional=True)
    told = FlipCostClassifier(noise_rate=rate, features="linear", random_state=0).fit(X, noisy)
    untold = FlipCostClassifier(features="linear", random_state=0).fit(X, noisy)
    for true, ours, theirs in zip(
        (0.35, 0.05), told.noise_rate_interval_, untold.noise_rate_interval_, strict=True
    ):
        assert ours[0] < true < ours[1]
        assert ours[1] - ours[0] < (theirs[1] - theirs[0]) / 2


def test_a_rate_with_an_interval_is_a_prior():
    """A NoiseRate narrows the posterior, and its source is named."""
    X, noisy, _ = noisy_syn3d(500)
    free = FlipCostClassifier(random_state=0).fit(X, noisy)
    known = NoiseRate(0.25, 0.24, 0.26, "two annotators")
    model = FlipCostClassifier(noise_rate=known, random_state=0).fit(X, noisy)
    assert model.noise_rate_ == pytest.approx((0.25, 0.25), abs=0.01)
    assert "two annotators" in model.noise_rate_source_
    width = [np.diff(m.noise_rate_interval_)[0] for m in (model, free)]
    assert width[0] < width[1]


def test_minimax_is_not_far(fitted):
    """Minimax regret gives a rule that costs no more than twice what integrating does, here."""
    reference, X, noisy, data = fitted
    model = FlipCostClassifier(cost=0.2, noise_rate="minimax", random_state=0).fit(X, noisy)
    ours = weighted_cost(data.target, model.predict(X), 0.2)
    assert ours < 2 * weighted_cost(data.target, reference.predict(X), 0.2)
    assert model.noise_rate_source_ != reference.noise_rate_source_


def test_minimax_shows_its_table(fitted):
    """Regrets are over rates by candidates, both constants last, and the choice has the least."""
    _, X, noisy, _ = fitted
    model = FlipCostClassifier(cost=0.2, noise_rate="minimax", random_state=0).fit(X, noisy)
    states, candidates = model.regret_.regret.shape
    assert candidates == states + 2
    assert model.regret_.worst[model.regret_.chosen] == model.regret_.worst.min()


def test_nothing_of_a_former_fit_survives():
    """A refit with another method, or from rows after a table, leaves what a first fit leaves."""
    X, noisy, _ = noisy_syn3d(300)
    model = FlipCostClassifier(cost=0.2, noise_rate="minimax", random_state=0).fit(X, noisy)
    assert hasattr(model, "regret_")
    model.set_params(noise_rate="integrate").fit(X, noisy)
    assert set(vars(model)) == set(vars(clone(model).fit(X, noisy)))
    model.fit_table(scan_batches([(X, noisy)])).fit(X, noisy)
    assert set(vars(model)) == set(vars(clone(model).fit(X, noisy)))


def test_two_rates():
    """Class-conditional noise is found, with an interval for each rate that covers it."""
    X, noisy, _ = noisy_syn3d(8000, (0.35, 0.05), seed=1)
    model = FlipCostClassifier(cost=0.3, noise_model="class_conditional", random_state=0)
    model.fit(X, noisy)
    for truth, (low, high) in zip((0.35, 0.05), model.noise_rate_interval_, strict=True):
        assert low - 0.01 <= truth <= high + 0.01
    auto = FlipCostClassifier(cost=0.3, noise_model="auto", random_state=0).fit(X, noisy)
    assert auto.noise_rate_[0] > auto.noise_rate_[1] + 0.15


def test_summary_names_the_models_that_the_data_speak_for():
    """With enough rows the model that made the labels comes first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 1))
    clean = rng.random(8000) < expit(3 * X[:, 0])
    for rate, words in (((0.4, 0.0), "only positives mislabelled"), (0.2, "one rate for both")):
        noisy = flip_labels(clean, rate, random_state=2)
        model = FlipCostClassifier(features="linear", random_state=0).fit(X, noisy)
        assert f"Error models, by posterior weight: {words}" in " ".join(model.summary().split())


def test_summary_fits_a_screen(fitted):
    """The summary has at most 24 lines of at most 88 characters."""
    lines = fitted[0].summary().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 88


@pytest.mark.slow
def test_no_signal_gives_the_better_constant():
    """Where features say nothing, nearly every row gets the cheaper answer, and we say so."""
    chosen, share = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 5)), rng.random(300) < 0.4
        model = FlipCostClassifier(cost=0.2, random_state=0).fit(X, y)
        share.append(model.predict(rng.normal(size=(500, 5))).mean())
        chosen.append(model.chosen_)
        assert ("Flag every row" in model.summary()) == (model.chosen_ == "all_positive")
    assert np.mean(share) > 0.8
    assert "all_positive" in chosen
    assert "all_negative" not in chosen


def test_swapping_the_positive_class_mirrors_the_cost():
    """Calling the other class positive at cost 1 - cost gives the same labels."""
    X, noisy, _ = noisy_syn3d(1200)
    one = FlipCostClassifier(cost=0.2, random_state=0).fit(X, noisy)
    other = FlipCostClassifier(cost=0.8, pos_label=-1, random_state=0).fit(X, noisy)
    agree = one.predict(X) == other.predict(X)
    # Folds are dealt by class, so that scores differ a little.
    assert agree.mean() > 0.98
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=0.05)


def test_deterministic(fitted):
    """The same seed gives the same probabilities to the last digit."""
    model, X, noisy, _ = fitted
    again = clone(model).fit(X, noisy)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_units_of_features_do_not_matter():
    """Features in other units and at other offsets give the same probabilities."""
    X, noisy, _ = noisy_syn3d(800)
    one = FlipCostClassifier(random_state=0).fit(X, noisy)
    scaled = X * [1e-3, 1.0, 1e5] + [0.0, 1e6, 1e7]
    other = FlipCostClassifier(random_state=0).fit(scaled, noisy)
    np.testing.assert_allclose(other.predict_proba(scaled), one.predict_proba(X), atol=1e-6)


def test_bends_pay_where_the_law_bends():
    """On labels that depend on |x|, the pooled bent scores win; linear ones see nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    clean = np.abs(X[:, 0]) > 1
    noisy = flip_labels(clean, 0.2, random_state=0)
    bent = FlipCostClassifier(random_state=0).fit(X, noisy)
    linear = FlipCostClassifier(random_state=0, features="linear").fit(X, noisy)
    assert (bent.predict(X) == clean).mean() > 0.85
    assert (linear.predict(X) == clean).mean() < 0.75


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RandomForestClassifier(30, min_samples_leaf=20, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
)
def test_any_estimator(estimator):
    """Any classifier's scores are calibrated to clean probabilities."""
    X, noisy, data = noisy_syn3d(2000, 0.2, seed=6)
    model = FlipCostClassifier(cost=0.3, estimator=estimator, random_state=0).fit(X, noisy)
    assert np.mean((model.predict_proba(X)[:, 1] - data.eta) ** 2) < 0.02
    assert model.wrong_share_.low < 0.2 < model.wrong_share_.high


def test_features_step_and_pipeline():
    """A transformer as `features` and a pipeline in front both work."""
    X, noisy, _ = noisy_syn3d(800, 0.1)
    step = Nystroem(n_components=40, random_state=0)
    inside = FlipCostClassifier(features=step, random_state=0).fit(X, noisy)
    outside = make_pipeline(clone(step), FlipCostClassifier(features="linear", random_state=0)).fit(
        X, noisy
    )
    np.testing.assert_allclose(inside.predict_proba(X), outside.predict_proba(X), atol=1e-8)


def test_weights_reach_the_last_step_of_a_pipeline():
    """A pipeline takes weights as its last step does, and what takes none is refused."""
    X, noisy, _ = noisy_syn3d(400)
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    steps = make_pipeline(StandardScaler(), LogisticRegression())
    model = FlipCostClassifier(estimator=steps, random_state=0).fit(X, noisy, sample_weight=weight)
    alone = LogisticRegression().fit(StandardScaler().fit_transform(X), noisy == 1, weight)
    np.testing.assert_allclose(model.scorer_.estimator[-1].coef_, alone.coef_, rtol=1e-4)
    with pytest.raises(TypeError, match="takes no sample weights"):
        FlipCostClassifier(estimator=KNeighborsClassifier()).fit(X, noisy, sample_weight=weight)


def test_prices_and_labels_of_any_kind():
    """Prices as Costs and string labels work together."""
    data = load_pima()
    y = np.where(data.target > 0, "ill", "well")
    noisy = flip_labels(y, 0.1, random_state=0, pos_label="ill")
    model = FlipCostClassifier(Costs(fn=3, fp=1), pos_label="ill", random_state=0)
    model.fit(data.data, noisy)
    assert set(model.predict(data.data)) <= {"ill", "well"}
    assert "“ill”" in model.summary()


@pytest.mark.parametrize("method", ["integrate", "minimax", 0.25])
def test_weights_count_as_repetitions(method):
    """A row of weight k gives what k copies that are cases of their own give in the same fold."""
    X, noisy, _ = noisy_syn3d(300)
    rng = np.random.default_rng(0)
    times, folds = rng.integers(0, 4, 300), rng.integers(0, 4, 300)

    def fitted(rows, weight=None):
        inside = [np.flatnonzero(folds[rows] == k) for k in range(4)]
        everything = np.arange(len(rows))
        cv = [(np.setdiff1d(everything, test), test) for test in inside]
        model = FlipCostClassifier(cost=0.3, noise_rate=method, features="linear", cv=cv)
        return model.fit(X[rows], noisy[rows], weight, groups=everything)

    weighed = fitted(np.arange(300), times.astype(float))
    repeated = fitted(np.repeat(np.arange(300), times))
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert weighed.chosen_ == repeated.chosen_
    for name in ("noise_rate_", "noise_rate_interval_", "cost_estimate_"):
        np.testing.assert_allclose(getattr(weighed, name), getattr(repeated, name), atol=1e-9)


def test_more_weight_narrows_the_posterior_as_more_rows_do():
    """Four times the weight halves the spread of the posterior of a rate, to within a fifth."""
    X, noisy, _ = noisy_syn3d(2000)
    spread = []
    for weight in (1.0, 4.0):
        model = FlipCostClassifier(noise_model="symmetric", features="linear", random_state=0)
        posterior = model.fit(X, noisy, np.full(2000, weight)).rate_posterior_
        rates = posterior.rates[:, 0] - posterior.mean[0]
        spread.append(np.sqrt(posterior.weight @ rates**2))
    assert spread[1] == pytest.approx(spread[0] / 2, rel=0.2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cost": 1.2}, "must lie in"),
        ({"noise_rate": 0.5}, "must lie in"),
        ({"noise_rate": (0.7, 0.4)}, "sum below 1"),
        ({"level": 1.0}, "`level`"),
        ({"noise_rate": "guess"}, "noise_rate"),
        ({"noise_model": "odd"}, "noise_model"),
    ],
)
def test_bad_parameters(options, words):
    """A parameter out of its domain is refused in a sentence."""
    X, noisy, _ = noisy_syn3d(100)
    with pytest.raises(ValueError, match=words):
        FlipCostClassifier(**options).fit(X, noisy)


def test_an_impossible_rate_is_refused():
    """A rate above the share of the rare class, beyond chance, is refused with both figures."""
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = np.arange(2000) < 100
    with pytest.raises(ValueError, match=r"impossible.*0\.05"):
        FlipCostClassifier(noise_rate=0.3).fit(X, y)
