"""Boosting by LightGBM, XGBoost and CatBoost: scored, saved and written as SQL by its trees."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import flipcost as fc
from flipcost.exceptions import ExportError
from flipcost.export import to_sql
from flipcost.model.boosters import trees_of

# By library: a small model, and how far its own sums of single precision may be off.
MODELS = {
    "lightgbm": ("LGBMClassifier", {"n_estimators": 20, "verbose": -1}, 1e-12),
    "xgboost": ("XGBClassifier", {"n_estimators": 20, "max_depth": 4}, 1e-6),
    "catboost": (
        "CatBoostClassifier",
        {"iterations": 20, "verbose": 0, "allow_writing_files": False},
        1e-12,
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore")  # theirs


@pytest.fixture(params=MODELS)
def boosting(request):
    name, options, tolerance = MODELS[request.param]
    return getattr(pytest.importorskip(request.param), name)(**options), tolerance


def make_rows(n, seed):
    """Rows on a grid, so that many lie on thresholds, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    y = X[:, 0] * X[:, 1] + rng.normal(size=n) > 0
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("kind", ["pooled", "cut"])
def test_trees_of_others_are_saved_and_written(boosting, kind, tmp_path):
    """Missing values and values at thresholds go where the library sends them."""
    model, tolerance = boosting
    X, y = make_rows(600, 0)
    new = make_rows(2000, 1)[0]
    if kind == "pooled":
        fitted = fc.FlipCostClassifier(estimator=model, cv=3, random_state=0).fit(X, y)
    else:
        fitted = fc.NoiseAwareThresholdClassifier(clone(model), 0.3).fit(X, y)
    fc.save(fitted, tmp_path / "m.json")
    again = fc.load(tmp_path / "m.json")
    expected = fitted.predict_proba(new)
    np.testing.assert_allclose(again.predict_proba(new), expected, rtol=0, atol=tolerance)
    assert np.mean(again.predict(new) != fitted.predict(new)) <= tolerance
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame(new, columns=["x0", "x1", "x2"]).assign(key=np.arange(len(new)))
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        found = connection.sql(to_sql(again, keep=["key"])).df().sort_values("key")
    np.testing.assert_allclose(found["probability_positive"], again.probability(new), atol=1e-9)


def test_categories_are_refused_in_one_sentence():
    """A model whose trees ask for more than numbers has no formula."""
    lightgbm = pytest.importorskip("lightgbm")
    X = np.random.default_rng(0).integers(0, 9, size=(400, 1)).astype(float)
    model = lightgbm.LGBMClassifier(
        n_estimators=3, verbose=-1, categorical_feature=[0], min_data_per_group=5
    )
    fitted = fc.NoiseAwareThresholdClassifier(model).fit(X, np.isin(X[:, 0], [1, 4, 6]))
    assert "==" in json.dumps(fitted.estimator_.booster_.dump_model())
    assert trees_of(fitted.estimator_) is None
    with pytest.raises(ExportError, match=r"LGBMClassifier.* has no formula"):
        to_sql(fitted)
