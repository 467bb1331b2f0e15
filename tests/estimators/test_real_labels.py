"""Labels and columns as they come: no signal, no cut posterior, gaps, categories, sparse rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from flipcost import FlipCostClassifier


def logistic(n, seed, slope=2.0, d=3, offset=0.0):
    rng = np.random.default_rng([8, seed])
    X = rng.normal(size=(n, d))
    return X, rng.random(n) < expit(slope * X[:, 0] + offset), rng


@pytest.mark.parametrize("cost", [0.2, 0.45])
@pytest.mark.parametrize("features", ["linear", "auto"])
def test_no_signal_gives_the_constant_that_the_labels_prefer(cost, features):
    """Of 3,000 labels that the columns say nothing about, 30 % are positive."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(3000, 4)), rng.random(3000) < 0.3
    model = FlipCostClassifier(cost, features=features, random_state=0).fit(X, y)
    assert model.state_ == "no_signal"
    assert (model.predict(X) == (cost < 0.3)).all()
    assert "do not predict" in model.summary()
    (low, high), _ = model.noise_rate_interval_
    assert high - low > 0.2


def test_exclusive_or_is_seen():
    """A signal that no linear score sees is not taken for noise."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 2))
    clean = X[:, 0] * X[:, 1] > 0
    noisy = clean ^ (rng.random(2000) < 0.2)
    model = FlipCostClassifier(0.3, random_state=0).fit(X, noisy)
    fresh = rng.normal(size=(5000, 2))
    wrong = model.predict(fresh) != (fresh[:, 0] * fresh[:, 1] > 0)
    assert wrong.mean() < 0.1
    assert model.wrong_share_.low < 0.2 < model.wrong_share_.high


def test_the_posterior_is_not_cut():
    """Clean labels of 5,000 rows: few mistakes, but not none, are possible; none is among them."""
    X, y, _ = logistic(5000, 1, slope=3.0)
    model = FlipCostClassifier(0.3, features="linear", random_state=0).fit(X, y)
    for low, high in model.noise_rate_interval_:
        assert low < 1e-3
        assert high > 1e-3
    assert model.wrong_share_.low < 1e-3 < model.wrong_share_.high
    assert "up to" in model.summary() or "under 0.5%" in model.summary()


def test_missed_positives_are_found():
    """Three positives in ten are missed: both intervals hold the truth, and no score is blamed."""
    X, clean, rng = logistic(6000, 2, offset=-1.0)
    noisy = clean & (rng.random(6000) > 0.3)
    model = FlipCostClassifier(0.25, features="linear", random_state=0).fit(X, noisy)
    (low, high), (least, _) = model.noise_rate_interval_
    assert low < 0.3 < high
    assert least < 1e-3


def test_missing_values_are_learned_from():
    """A gap may say more than the value: gaps of one class only are seen."""
    X, y, rng = logistic(1500, 3, slope=0.0)
    X[y & (rng.random(1500) < 0.7), 1] = np.nan
    model = FlipCostClassifier(0.3, features="splines", random_state=0).fit(X, y)
    gone = np.isnan(X[:, 1])
    assert model.predict_proba(X)[gone, 1].min() > model.predict_proba(X)[~gone, 1].max()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("features", ["linear", "auto"])
def test_categories_are_learned_from(frame, features):
    """Columns of words are taken as they are, new words at prediction too."""
    rng = np.random.default_rng(6)
    city = rng.choice(["Rome", "Oslo", "Bern"], 900)
    y = rng.random(900) < np.where(city == "Rome", 0.85, 0.15)
    X = frame({"age": rng.normal(size=900), "city": city})
    model = FlipCostClassifier(0.5, features=features, random_state=0).fit(X, y)
    flagged = model.predict(frame({"age": [0.0, 0.0, 0.0], "city": ["Rome", "Oslo", "Paris"]}))
    assert flagged[:2].tolist() == [True, False]


class Untouched(ClassifierMixin, BaseEstimator):
    """Wants words, in a frame, as they were given."""

    def fit(self, X, y):
        """Check X, and learn from it."""
        assert isinstance(X, pd.DataFrame)
        assert X["city"].dtype == object or isinstance(X["city"].dtype, pd.StringDtype)
        self.classes_ = np.unique(y)
        self.inner_ = LogisticRegression().fit(self._numbers(X), y)
        return self

    def decision_function(self, X):
        """Score rows."""
        return self.inner_.decision_function(self._numbers(X))

    def _numbers(self, X):
        return np.column_stack([X["age"].fillna(0.0), X["city"] == "Rome"])


def test_an_estimator_gets_rows_untouched():
    """Gaps and words reach the classifier that was given, in a frame with its names."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"age": rng.normal(size=600), "city": rng.choice(["Rome", "Oslo"], 600)})
    frame.loc[:20, "age"] = np.nan
    y = rng.random(600) < np.where(frame["city"] == "Rome", 0.9, 0.1)
    model = FlipCostClassifier(0.5, estimator=Untouched(), random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame), frame["city"] == "Rome")


@given(
    n=st.integers(4, 60),
    share=st.floats(0.05, 0.95),
    slope=st.floats(0.0, 5.0),
    cost=st.floats(0.01, 0.99),
    checked=st.integers(0, 20),
    seed=st.integers(0, 1000),
)
@settings(max_examples=12)
def test_estimates_lie_in_their_intervals(n, share, slope, cost, checked, seed):
    """Whatever the table: costs can be paid, and every interval contains its estimate."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    clean = slope * X[:, 0] + rng.logistic(size=n) > np.log((1 - share) / share)
    noisy = clean ^ (rng.random(n) < 0.2)
    noisy[:2] = False, True
    trusted = np.full(n, np.nan)
    trusted[: min(checked, n)] = clean[: min(checked, n)]
    model = FlipCostClassifier(cost, features="linear", l2s=(0.3,), cv=2)
    model.fit(X, noisy, trusted=trusted)
    for interval in (model.rule_cost_, *model.constant_costs_.values(), model.wrong_share_):
        assert 0 <= interval.low <= interval.value <= interval.high
    assert model.wrong_share_.high <= 1
    assert model.rule_cost_.high <= max(cost, 1 - cost) + 1e-9
    assert model.constant_costs_["all_positive"].high <= cost + 1e-9
    assert model.constant_costs_["all_negative"].high <= 1 - cost + 1e-9
    assert 0 <= model.cost_interval_[0] <= model.cost_estimate_ <= model.cost_interval_[1]
    for rate, (low, high) in zip(model.noise_rate_, model.noise_rate_interval_, strict=True):
        assert 0 <= low <= rate <= high <= 1
    assert isinstance(model.summary(), str)


def test_sparse_rows_give_what_dense_ones_give():
    """Linear scores of sparse rows are those of the same rows held whole."""
    X, y, rng = logistic(800, 7)
    X[np.abs(X) < 0.5] = 0.0
    noisy = y ^ (rng.random(800) < 0.1)
    dense = FlipCostClassifier(0.3, features="linear", random_state=0).fit(X, noisy)
    thin = FlipCostClassifier(0.3, random_state=0).fit(sparse.csr_matrix(X), noisy)
    np.testing.assert_allclose(
        thin.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X), atol=1e-6
    )
