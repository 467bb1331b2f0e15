"""The paper's algorithm around probability estimators."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from flipcost import (
    CostResamplingClassifier,
    KLIEPClassifier,
    LinkClassifier,
    WeightedLogisticClassifier,
)
from flipcost.core.noise import noisy_eta, noisy_threshold
from flipcost.datasets import make_syn3d
from flipcost.metrics import weighted_cost
from flipcost.noise import flip_labels
from flipcost.paper import kliep
from flipcost.paper.resampling import margin_grid, negative_ratio


@pytest.fixture(scope="module")
def noisy():
    """Rows of which three in ten are positive, with a fifth of the labels flipped."""
    data = make_syn3d(500, pi=0.3, random_state=0)
    return data.data, flip_labels(np.where(data.target > 0, 1, 0), 0.2, random_state=1)


def table(rate=None):
    """Eight points with their own indicator features, each label weighed by its probability."""
    eta = np.array([0.02, 0.1, 0.18, 0.22, 0.4, 0.6, 0.8, 0.97])
    share = noisy_eta(eta, rate)
    return np.vstack([np.eye(8)] * 2), np.repeat([1, 0], 8), np.append(share, 1 - share), eta


@pytest.mark.parametrize("rate", [None, 0.2, (0.3, 0.1)])
@pytest.mark.parametrize("margin", [0.4, 1.0, 2.0])
def test_weighing_is_exact_with_saturated_features(rate, margin):
    """Rows are called where eta exceeds the margin's threshold; probabilities are clean."""
    X, y, weight, eta = table(rate)
    model = CostResamplingClassifier(
        LinkClassifier(l2=1e-10), 0.2, margin, "weight", noise_rate=rate
    ).fit(X, y, weight)
    threshold = 0.2 / (margin + (1 - margin) * 0.2)
    assert np.array_equal(model.predict(np.eye(8)) == 1, eta > threshold)
    assert np.allclose(model.predict_proba(np.eye(8))[:, 1], eta, atol=1e-5)


def test_weighing_is_what_the_weighted_loss_does(noisy):
    """Around logistic loss, weighing at margin 1 is weighted logistic loss."""
    X, y = noisy
    scheme = CostResamplingClassifier(LinkClassifier(l2=0), 0.3, 1.0, "weight", noise_rate=0.2).fit(
        X, y
    )
    direct = WeightedLogisticClassifier(0.3, 0.2, l2=0).fit(X, y)
    assert np.allclose(scheme.estimator_.coef_, direct.coef_, atol=1e-6)
    assert np.array_equal(scheme.predict(X), direct.predict(X))
    assert np.allclose(scheme.predict_proba(X), direct.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("margin", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("rate", [None, 0.2])
def test_the_floor_of_the_share_is_drawn(noisy, margin, rate):
    """The estimator sees all positives and floor(r m_-) negatives; the ratio is the true one."""
    X, y = noisy
    model = CostResamplingClassifier(
        KNeighborsClassifier(20), 0.25, margin, noise_rate=rate, random_state=0
    ).fit(X, y)
    negatives = int((y == 0).sum())
    kept = int(negative_ratio(0.25, margin, rate) * negatives)
    assert model.estimator_.n_samples_fit_ == (y == 1).sum() + kept
    assert model.ratio_ == kept / negatives


def test_drawing_agrees_with_weighing_on_many_rows():
    """With 20000 rows the two modes call all but a few rows alike."""
    data = make_syn3d(20_000, random_state=0)
    drawn, weighed = (
        CostResamplingClassifier(cost=0.2, margin=1.0, mode=mode, random_state=0)
        .fit(data.data, data.target)
        .predict(data.data)
        for mode in ("undersample", "weight")
    )
    # Coefficients have a relative error of about 1 / sqrt(n); so has the boundary's place.
    assert np.mean(drawn != weighed) < 3 / np.sqrt(20_000)


def test_the_seed_decides_the_draws(noisy):
    """Equal seeds give equal models, whatever n_jobs; other seeds give others."""
    X, y = noisy

    def fit(seed, n_jobs=None):
        return CostResamplingClassifier(
            cost=0.25, margins=(0.5, 1.0), random_state=seed, n_jobs=n_jobs
        ).fit(X, y)

    first, again, other = fit(0), fit(0), fit(1)
    with parallel_config(backend="threading"):
        parallel = fit(0, 2)
    for same in (again, parallel):
        assert np.array_equal(first.cv_results_["counts"], same.cv_results_["counts"])
        assert np.array_equal(first.predict_proba(X), same.predict_proba(X))
    assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))


def test_candidates_are_scored_on_all_untouched_rows(noisy):
    """The counts of each candidate add up to the labels as observed, however many were drawn."""
    X, y = noisy
    results = CostResamplingClassifier(cost=0.25, random_state=0).fit(X, y).cv_results_
    expected = np.broadcast_to(np.bincount(y), (13, 2))
    assert np.array_equal(results["counts"].sum(axis=2), expected)


def test_candidates_are_the_papers_margins_and_one(noisy):
    """The candidates are the twelve margins and 1, or those given."""
    X, y = noisy
    model = CostResamplingClassifier(cost=0.25, random_state=0).fit(X, y)
    assert np.array_equal(model.cv_results_["margin"], [*margin_grid(0.25), 1.0])
    printed = CostResamplingClassifier(cost=0.25, margins=margin_grid(0.25, "printed"), cv=2)
    assert len(printed.fit(X, y).cv_results_["margin"]) == 12


def test_roles_change_where_a_miss_is_the_cheaper_error():
    """Asking at a high cost equals asking for the other class at one less, rates exchanged."""
    data = make_syn3d(600, pi=0.75, random_state=0)
    labels = np.where(data.target > 0, "yes", "no")
    noisy = flip_labels(labels, (0.1, 0.2), random_state=1)
    options = {"margin": 5.0, "random_state": 0}
    swapped = CostResamplingClassifier(cost=0.7, noise_rate=(0.1, 0.2), pos_label="yes", **options)
    asked = CostResamplingClassifier(cost=0.3, noise_rate=(0.2, 0.1), pos_label="no", **options)
    swapped, asked = swapped.fit(data.data, noisy), asked.fit(data.data, noisy)
    assert swapped.relabeled_
    assert not asked.relabeled_
    assert set(swapped.predict(data.data)) == {"no", "yes"}
    for method in ("predict", "predict_proba", "decision_function"):
        found = [getattr(model, method)(data.data) for model in (swapped, asked)]
        assert np.array_equal(*found)


@pytest.mark.parametrize("cost", [0.4, 0.6])
def test_f_is_of_the_users_positive_class(noisy, cost):
    """Changing roles inside does not change which class F speaks of."""
    X, y = noisy
    model = CostResamplingClassifier(cost=cost, scoring="f", mode="weight", margins=[1.0], cv=2)
    model.fit(X, y)
    counts = model.cv_results_["counts"][0]
    expected = 2 * counts[1, 1] / (2 * counts[1, 1] + counts[0, 1] + counts[1, 0])
    assert model.cv_results_["score"][0] == pytest.approx(expected)
    assert np.array_equal(counts.sum(axis=1), np.bincount(y))


@pytest.mark.parametrize("scoring", ["accuracy", "am", "f", "cost"])
def test_the_best_candidate_by_the_measure_is_chosen(noisy, scoring):
    """The chosen margin has rank 1, under every measure."""
    X, y = noisy
    model = CostResamplingClassifier(
        cost=0.25, scoring=scoring, margins=(0.4, 0.7, 1.0), cv=3, random_state=0
    ).fit(X, y)
    results = model.cv_results_
    chosen = list(results["margin"]).index(model.margin_)
    assert results["rank"][chosen] == 1
    assert results["score"][chosen] == results["score"].max()


def test_tuning_needs_the_rate_for_costs():
    """Given the rate, threshold and choice of margin lead to a lower clean cost."""
    train, test = make_syn3d(2000, random_state=1), make_syn3d(4000, random_state=2)
    y = flip_labels(train.target, 0.3, random_state=3)
    told, untold = (
        CostResamplingClassifier(cost=0.2, noise_rate=rate, random_state=0).fit(train.data, y)
        for rate in (0.3, None)
    )
    costs = [weighted_cost(test.target, m.predict(test.data), 0.2) for m in (told, untold)]
    assert costs[0] < costs[1] / 2


@pytest.mark.parametrize("cost", [0.2, 0.8])
def test_even_margin_can_be_drawn_by_default(cost):
    """Whichever class is expensive, margin 1 is reached, and honours the cost."""
    data = make_syn3d(4000, random_state=0)
    drawn = CostResamplingClassifier(cost=cost, margin=1.0, random_state=0)
    flags = drawn.fit(data.data, data.target).predict(data.data) == data.target.max()
    best = data.eta > cost
    assert drawn.relabeled_ == (cost > 0.5)
    # Half the rows of a class are thrown away at most; the boundary is off by 1 / sqrt(n).
    assert np.mean(flags != best) < 3 / np.sqrt(2000)


def test_what_cannot_be_drawn_is_refused(noisy):
    """A ratio above 1, an empty draw and an estimator without weights are named."""
    X, y = noisy
    with pytest.raises(ValueError, match="Use mode='weight', or a larger margin"):
        CostResamplingClassifier(cost=0.25, margin=0.1).fit(X, y)
    with pytest.raises(ValueError, match="Use mode='weight', or a larger margin"):
        CostResamplingClassifier(cost=0.25, margins=[0.1, 1.0]).fit(X, y)
    with pytest.raises(ValueError, match="leaves none of one class"):
        CostResamplingClassifier(cost=0.001, margin=5.0).fit(X, y)
    with pytest.raises(ValueError, match="at least one candidate"):
        CostResamplingClassifier(margins=[]).fit(X, y)
    with pytest.raises(TypeError, match="takes no sample weights"):
        CostResamplingClassifier(KNeighborsClassifier(), mode="weight", margin=1.0).fit(X, y)


def test_neighbours_with_their_number_cross_validated(noisy):
    """A searched k-NN works inside, on data frames too."""
    X, y = noisy
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [5, 25]}, cv=3)
    model = CostResamplingClassifier(search, 0.25, margins=(0.6, 1.0), cv=2, random_state=0)
    model.fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert model.estimator_.best_params_["n_neighbors"] == 25
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_other_splitters_and_sparse_rows(noisy):
    """Any splitter will do, and CSR rows go through."""
    X, y = noisy
    codes = OneHotEncoder().fit_transform(np.round(X))
    model = CostResamplingClassifier(
        LogisticRegression(), 0.25, cv=ShuffleSplit(3, random_state=0), random_state=0
    ).fit(codes, y)
    assert model.cv_results_["counts"].sum(axis=(1, 2)) == pytest.approx(150)
    assert model.predict(codes).shape == y.shape


def test_threshold_stays_at_one_half_of_the_resampled_probability(noisy):
    """`predict` follows the algorithm: the re-sampled probability against one half."""
    X, y = noisy
    model = CostResamplingClassifier(cost=0.25, margin=0.7, noise_rate=0.2, random_state=0)
    model.fit(X, y)
    resampled = model.estimator_.predict_proba(X)[:, 1]
    assert np.array_equal(model.predict(X) == 1, resampled > 0.5)
    p = 0.25 / (0.7 + 0.3 * 0.25)
    nominal = noisy_threshold(p, 0.2)
    # The floor moves the threshold by less than one row's share.
    drawn = model.ratio_ / (1 + model.ratio_)
    assert drawn <= nominal < drawn + 1 / (y == 0).sum()


@pytest.mark.parametrize("scaled", [False, True])
def test_kernel_widths_are_searched_for_twice_not_once_a_fold(noisy, scaled, monkeypatch):
    """Once on all rows before margins are compared, once on the rows of the final fit."""
    searched, search = [], kliep.kliep_posterior_search

    def counted(*args, **kwargs):
        searched.append(len(args[1]))
        return search(*args, **kwargs)

    monkeypatch.setattr(kliep, "kliep_posterior_search", counted)
    X, y = noisy
    estimator = KLIEPClassifier(centers=20, random_state=0)
    if scaled:
        estimator = make_pipeline(StandardScaler(), estimator)
    model = CostResamplingClassifier(estimator, 0.2, random_state=0).fit(X, y)
    assert searched == [len(X), sum(y) + round(model.ratio_ * sum(y == 0))]
    last = model.estimator[-1] if scaled else model.estimator
    assert last.widths == "centiles"
