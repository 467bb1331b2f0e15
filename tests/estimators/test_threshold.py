"""Any classifier, thresholded where the noisy probability says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from flipcost import NoiseAwareThresholdClassifier
from flipcost.core.noise import clean_eta
from flipcost.datasets import make_syn3d
from flipcost.metrics import cost_scorer, weighted_cost
from flipcost.noise import flip_labels


@pytest.fixture(scope="module")
def noisy():
    """Rows with a fifth of the labels flipped."""
    data = make_syn3d(600, random_state=0)
    return data.data, flip_labels(data.target, 0.2, random_state=1)


@pytest.mark.parametrize("rate", [None, 0.2, (0.3, 0.1)])
def test_threshold_is_on_the_noisy_probability(noisy, rate):
    """Calls, scores and clean probabilities are those of the inner classifier, moved."""
    X, y = noisy
    model = NoiseAwareThresholdClassifier(LogisticRegression(), 0.2, rate).fit(X, y)
    inner = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    assert np.allclose(model.decision_function(X), inner - model.threshold_)
    assert np.array_equal(model.predict(X) == y.max(), inner > model.threshold_)
    assert np.allclose(model.predict_proba(X)[:, 1], clean_eta(inner, rate))
    assert clean_eta(model.threshold_, rate) == pytest.approx(0.2)


def test_it_lowers_the_clean_cost_of_boosting():
    """Given the rate, gradient boosting on noisy labels costs less on clean ones."""
    train, test = make_syn3d(2000, random_state=1), make_syn3d(4000, random_state=2)
    y = flip_labels(train.target, 0.3, random_state=3)
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    costs = {}
    for rate in (None, 0.3):
        model = NoiseAwareThresholdClassifier(trees, 0.2, rate).fit(train.data, y)
        costs[rate] = weighted_cost(test.target, model.predict(test.data), 0.2, normalize=True)
    assert costs[0.3] < costs[None]


def test_calibration_mends_probabilities_that_are_too_sure(noisy):
    """A grown-out tree says 0 or 1; calibrated on rows it has not seen, it does not."""
    X, y = noisy
    tree = DecisionTreeClassifier(random_state=0)
    raw = NoiseAwareThresholdClassifier(tree, 0.2, 0.2).fit(X, y)
    assert np.isin(raw.predict_proba(X), (0, 1)).all()
    for method in ("isotonic", "sigmoid"):
        mended = NoiseAwareThresholdClassifier(tree, 0.2, 0.2, calibrate=method).fit(X, y)
        assert not np.isin(mended.predict_proba(X), (0, 1)).all()


def test_calibration_gives_probabilities_to_those_without(noisy):
    """A support vector machine has none: refused as it is, taken when calibrated."""
    X, y = noisy
    with pytest.raises(TypeError, match="must have `predict_proba`; got SVC"):
        NoiseAwareThresholdClassifier(SVC()).fit(X, y)
    NoiseAwareThresholdClassifier(SVC(), calibrate="sigmoid", cv=2).fit(X, y).predict_proba(X)


def test_naming_the_other_class_mirrors_the_cost(noisy):
    """Cost and rates swapped with the positive class give the same calls."""
    X, y = noisy
    labels = np.where(y == y.max(), "b", "a")
    one = NoiseAwareThresholdClassifier(cost=0.3, noise_rate=(0.2, 0.1)).fit(X, labels)
    other = NoiseAwareThresholdClassifier(cost=0.7, noise_rate=(0.1, 0.2), pos_label="a")
    other.fit(X, labels)
    assert np.array_equal(one.predict(X), other.predict(X))
    assert np.allclose(one.predict_proba(X), other.predict_proba(X))
    assert np.allclose(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_pipeline_finds_its_columns(noisy, frame):
    """Frames reach the inner pipeline as they are, text columns and all."""
    X, y = noisy
    table = frame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "up", "down")})
    inner = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"])),
        LogisticRegression(),
    )
    model = NoiseAwareThresholdClassifier(inner, 0.3, 0.2).fit(table, y)
    assert model.predict(table).shape == y.shape
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_weights_reach_the_last_step_of_a_pipeline(noisy):
    """Weighing rows equals repeating them, through a pipeline."""
    X, y = noisy
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    inner = make_pipeline(StandardScaler(with_mean=False, with_std=False), LogisticRegression())
    weighed = NoiseAwareThresholdClassifier(inner).fit(X, y, weight)
    repeated = NoiseAwareThresholdClassifier(inner)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-3)
    assert not np.allclose(
        weighed.predict_proba(X),
        NoiseAwareThresholdClassifier(inner).fit(X, y).predict_proba(X),
        atol=1e-3,
    )
    with pytest.raises(TypeError, match="takes no sample weights"):
        NoiseAwareThresholdClassifier(KNeighborsClassifier()).fit(X, y, weight)


def test_metadata_is_routed_when_routing_is_on(noisy):
    """A request of the inner step is served; without one the weights are refused."""
    X, y = noisy
    weight = np.random.default_rng(0).uniform(0, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        asks = make_pipeline(LogisticRegression().set_fit_request(sample_weight=True))
        routed = NoiseAwareThresholdClassifier(asks).fit(X, y, sample_weight=weight)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            NoiseAwareThresholdClassifier(make_pipeline(LogisticRegression())).fit(
                X, y, sample_weight=weight
            )
    direct = NoiseAwareThresholdClassifier(LogisticRegression()).fit(X, y, weight)
    assert np.allclose(routed.predict_proba(X), direct.predict_proba(X))


def test_it_is_searched_like_any_estimator(noisy):
    """Nested parameters and the denoised cost work in a grid search."""
    X, y = noisy
    search = GridSearchCV(
        NoiseAwareThresholdClassifier(LogisticRegression(), 0.2, 0.2),
        {"estimator__C": [0.01, 1.0], "noise_rate": [None, 0.2]},
        scoring=cost_scorer(0.2, noise_rate=0.2),
        cv=3,
    ).fit(X, y)
    assert search.best_params_["noise_rate"] == 0.2
