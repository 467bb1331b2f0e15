"""The classifiers among pandas, polars and scikit-learn's own tools."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flipcost import ClassMoments, Costs, UnevenMarginClassifier, UnevenMarginClassifierCV
from tests.reference.brute import two_classes

NAMES = ["age", "dose", "weight"]
MAKERS = [
    lambda **options: UnevenMarginClassifier(cost=0.3, **options),
    lambda **options: UnevenMarginClassifierCV(costs=0.3, margins=[0.5, 1.0], cv=3, **options),
]


@pytest.fixture(params=MAKERS, ids=["alone", "cross-validated"])
def make(request):
    return request.param


@pytest.fixture(scope="module")
def rows():
    X, positive = two_classes(n=150, d=3)
    return X, positive.astype(int)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_named_columns(make, rows, frame):
    """Frames give the solution of their values, keep the names, and are held to them."""
    X, y = rows
    plain = make().fit(X, y)
    data = frame(dict(zip(NAMES, X.T, strict=True)))
    model = make().fit(data, pd.Series(y) if frame is pd.DataFrame else pl.Series(y))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(data), plain.predict(X))
    other = frame(dict(zip(["age", "dose", "height"], X.T, strict=True)))
    with pytest.raises(ValueError, match=r"feature names should match(.|\n)*height(.|\n)*weight"):
        model.predict(other)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_mixed_columns(make, rows):
    """Columns of integers, booleans and single precision are learned from together."""
    X, y = rows
    frame = pd.DataFrame(
        {"whole": np.arange(150), "flag": X[:, 0] > 0, "single": X[:, 1].astype(np.float32)}
    )
    model = make().fit(frame, y)
    plain = make().fit(frame.to_numpy(dtype=float), y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6)


def test_lists(make, rows):
    """Lists of lists, and of labels, are learned from."""
    X, y = rows
    model = make().fit(X.tolist(), y.tolist(), sample_weight=[1] * len(y))
    np.testing.assert_allclose(model.coef_, make().fit(X, y).coef_, rtol=1e-10)
    assert len(model.predict(X.tolist())) == len(y)


LABELS = {
    "strings": np.array(["no", "yes"]),
    "booleans": np.array([False, True]),
    "signs": np.array([-1, 1]),
    "floats": np.array([1.0, 2.0]),
    "objects": np.array(["no", "yes"], dtype=object),
    "bytes": np.array([b"no", b"yes"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_any_two_labels(make, rows, kind):
    """Labels of any kind come back from `predict`, sorted in `classes_`."""
    X, y = rows
    model = make().fit(X, LABELS[kind][y])
    np.testing.assert_array_equal(model.classes_, LABELS[kind])
    assert model.classes_.dtype == LABELS[kind].dtype
    expected = make().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), LABELS[kind][expected.predict(X)])
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("dtype", ["category", "string", "boolean", "Int64"])
def test_labels_in_pandas_own_types(make, rows, dtype):
    """Labels in pandas' own types are distinguished."""
    X, y = rows
    values = pd.Series(y) if dtype in ("boolean", "Int64") else pd.Series(np.array(["a", "b"])[y])
    model = make().fit(X, values.astype(dtype))
    assert model.score(X, values.astype(dtype)) > 0.6
    assert len(model.classes_) == 2


def test_clones_have_the_same_parameters(make, rows):
    """Clones have equal parameters and nothing learned; fitting changes no parameter."""
    model = make(pos_label=1, l2_scale="sum", penalize_bias=False)
    before = model.get_params()
    model.fit(*rows)
    assert model.get_params() == before
    copy = clone(model)
    assert copy.get_params() == before
    assert not hasattr(copy, "coef_")
    prices = clone(UnevenMarginClassifier(cost=Costs(fn=4, fp=1), noise_rate=(0.1, 0.2)))
    assert prices.cost == Costs(fn=4, fp=1)


def test_pipeline(make, rows):
    """In a pipeline the classifier learns from what comes before it."""
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), make()).fit(X + 100, y)
    scaled = StandardScaler().fit_transform(X + 100)
    np.testing.assert_allclose(pipeline[-1].coef_, make().fit(scaled, y).coef_, rtol=1e-8)
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6


def test_grid_search_over_a_pipeline(rows):
    """Costs, margins and rates can be searched through a pipeline."""
    X, y = rows
    search = GridSearchCV(
        make_pipeline(StandardScaler(), UnevenMarginClassifier()),
        {
            "unevenmarginclassifier__margin": [0.5, 1.0],
            "unevenmarginclassifier__cost": [Costs(fn=2, fp=1), 0.5],
            "unevenmarginclassifier__noise_rate": [None, (0.05, 0.02)],
        },
        cv=3,
    ).fit(X, y)
    results = search.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        options = {name.rpartition("__")[2]: value for name, value in params.items()}
        alone = make_pipeline(StandardScaler(), UnevenMarginClassifier(**options))
        assert score == pytest.approx(cross_val_score(alone, X, y, cv=3).mean(), abs=1e-12)
    assert len(set(results["mean_test_score"])) > 1


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(make, rows, method):
    """Calibration wraps the classifier; labels of any kind come through."""
    X, y = rows
    labels = np.array(["no", "yes"])[y]
    model = CalibratedClassifierCV(make(), method=method, cv=3).fit(X, labels)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert set(model.predict(X)) <= {"no", "yes"}


def test_metadata_routing_of_weights(make, rows):
    """Weights are routed through a grid search and a pipeline to the fit that asked for them."""
    X, y = rows
    weight = np.where(y == 1, 5.0, 0.5)
    with config_context(enable_metadata_routing=True):
        asked = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked).fit(
            X, y, sample_weight=weight
        )
        name = "l2" if isinstance(asked, UnevenMarginClassifier) else "l2s"
        search = GridSearchCV(asked, {name: [0.1]}, cv=3).fit(X, y, sample_weight=weight)
        refused = make().set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        plain = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), refused)
        plain.fit(X, y, sample_weight=np.ones(len(y)))
        with pytest.raises(ValueError, match="sample_weight"):
            make_pipeline(StandardScaler(), make()).fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    expected = make().fit(scaled, y, sample_weight=weight)
    np.testing.assert_allclose(pipeline[-1].coef_, expected.coef_, rtol=1e-8)
    best = search.best_estimator_
    np.testing.assert_allclose(
        best.coef_, make(**{name: 0.1}).fit(X, y, sample_weight=weight).coef_, rtol=1e-10
    )
    np.testing.assert_allclose(plain[-1].coef_, make().fit(scaled, y).coef_, rtol=1e-8)


def test_metadata_routing_of_groups(rows):
    """Groups reach the cross-validated classifier inside a pipeline when it asks for them."""
    from sklearn.model_selection import GroupKFold

    X, y = rows
    groups = np.arange(len(y)) % 5
    with config_context(enable_metadata_routing=True):
        search = UnevenMarginClassifierCV(cv=GroupKFold(3)).set_fit_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), search).fit(X, y, groups=groups)
    scaled = StandardScaler().fit_transform(X)
    expected = UnevenMarginClassifierCV(cv=GroupKFold(3)).fit(scaled, y, groups=groups)
    np.testing.assert_allclose(pipeline[-1].best_score_, expected.best_score_)


def test_moments_have_no_names(rows):
    """Learning from moments forgets the names of an earlier fit."""
    X, y = rows
    model = UnevenMarginClassifier().fit(pd.DataFrame(X, columns=NAMES), y)
    model.fit_moments(ClassMoments.from_rows(X[:, :2], y == 1))
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X[:, :2]).shape == (150,)
