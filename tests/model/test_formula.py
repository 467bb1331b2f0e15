"""Which models have a formula, and what is said of those that have none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import flipcost
from flipcost import (
    FlipCostClassifier,
    KLIEPClassifier,
    NoiseAwareThresholdClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
)
from flipcost.exceptions import ExportError
from flipcost.export import to_json, to_onnx, to_sql
from flipcost.model.convert import formula_of
from flipcost.tables.scan import scan_batches

duckdb = pytest.importorskip("duckdb")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + 0.3 * rng.normal(size=400) > 0


def by_sql(model, X):
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(key=np.arange(len(X)))
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        found = connection.sql(to_sql(model, keep=["key"])).df().sort_values("key")
    return found["probability_positive"].to_numpy(dtype=float)


def by_onnx(model, X):
    session = onnxruntime.InferenceSession(
        to_onnx(model, decision=False).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    columns = {f"x{k}": X[:, k : k + 1] for k in range(3)}
    formula = formula_of(model)
    names = [formula.columns[k].name for k in formula.used]
    return session.run(None, {name: columns[name] for name in names})[0]


@pytest.mark.parametrize("engine", [by_sql, by_onnx])
@pytest.mark.parametrize("features", ["linear", "auto"])
def test_a_classifier_of_arrays_has_columns_by_number(data, engine, features):
    """Gaps that it learned from, and trees that send missing values their own way."""
    X, y = data[0].copy(), data[1]
    X[::6, 1] = np.nan
    model = FlipCostClassifier(0.4, features=features, random_state=0).fit(X, y)
    assert bool(formula_of(model).forests) == (features == "auto")
    new = np.random.default_rng(1).normal(size=(200, 3))
    new[::5, 1] = np.nan
    np.testing.assert_allclose(engine(model, new), model.predict_proba(new)[:, 1], atol=1e-9)


@pytest.mark.parametrize("engine", [by_sql, by_onnx])
def test_trees_may_ask_whether_a_value_is_known(engine):
    """A split of known values from missing ones has a threshold without end."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 3))
    positive = np.where(rng.random(1000) < 0.3, X[:, 0] > 0, X[:, 1] > 0)
    X[positive & (rng.random(1000) < 0.4), 2] = np.nan
    model = FlipCostClassifier(0.4, random_state=0).fit(X, positive)
    assert any(np.isinf(tree.threshold).any() for tree in model.scorer_.boosting.trees)
    assert "Infinity" not in to_json(model)
    np.testing.assert_allclose(engine(model, X), model.predict_proba(X)[:, 1], atol=1e-9)


@pytest.mark.parametrize("engine", [by_sql, by_onnx])
def test_what_a_model_refuses_has_no_probability(data, engine):
    """Rows with a missing value, for a model that has no place for it, get NULL or NaN."""
    X, y = data
    model = UnevenMarginClassifier(0.4).fit_table(scan_batches([(X, y)]))
    new = X[:50].copy()
    expected = model.predict_proba(new)[:, 1]
    new[7, 1] = np.nan
    found = engine(model, new)
    assert np.flatnonzero(np.isnan(found)).tolist() == [7]
    np.testing.assert_allclose(np.delete(found, 7), np.delete(expected, 7), atol=1e-9)


@pytest.mark.parametrize("chosen", ["all_negative", "all_positive"])
def test_a_constant_is_given_always(data, chosen):
    """Where a constant costs less, it is what every engine answers."""
    X, y = data
    model = FlipCostClassifier(0.4, features="linear", random_state=0).fit(X, y)
    model.chosen_ = chosen
    frame = pd.DataFrame(X[:9], columns=["x0", "x1", "x2"])
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        found = connection.sql(to_sql(model)).df()
    assert found["flagged"].tolist() == model.predict(X[:9]).tolist()
    session = onnxruntime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    flagged = session.run(["flagged"], {f"x{k}": X[:9, k : k + 1] for k in range(3)})[0]
    assert flagged.tolist() == model.predict(X[:9]).tolist()


@pytest.mark.parametrize("write", [to_sql, to_onnx, to_json])
def test_prices_by_row_leave_the_probability_alone(data, write):
    """What is decided by the prices of a row is not decided without them, and that is said."""
    X, y = data
    prices = np.column_stack([np.arange(1.0, 401.0), np.ones(400)])
    model = FlipCostClassifier(features="linear", random_state=0).fit(X, y, prices=prices)
    model.chosen_ = "rule"
    with pytest.raises(ExportError, match="costs of this model differ by row"):
        write(model)
    assert write(model, decision=False)


def test_columns_that_say_nothing_are_not_asked_for(data):
    """A column without a coefficient is no column of the query."""
    X, y = data
    model = UnevenMarginClassifier().fit(X, y)
    model.coef_[0, 1] = 0.0
    assert formula_of(model).used == (0, 2)


def test_what_cannot_be_exported_says_so(data):
    """One sentence that names the part, and what to do."""
    X, y = data
    cut = NoiseAwareThresholdClassifier(GaussianNB()).fit(X, y)
    for model, word in (
        (FlipCostClassifier(estimator=GaussianNB(), cv=2, random_state=0).fit(X, y), "GaussianNB"),
        (
            FlipCostClassifier(features=Nystroem(n_components=5), random_state=0).fit(X, y),
            "Nystroem",
        ),
        (cut, "GaussianNB"),
        (KLIEPClassifier(widths=[1.0]).fit(X[:60], y[:60]), "KLIEPClassifier"),
        (make_pipeline(GaussianNB()).fit(X, y), "GaussianNB"),
        (make_pipeline(Nystroem(), GaussianNB(), GaussianNB()), "Nystroem"),
    ):
        with pytest.raises((ExportError, ValueError), match=word):
            formula_of(model)


def test_a_loaded_formula_is_the_model(model, fresh, expected_of, tmp_path):
    """Probabilities to 1e-12 and the same decisions, whatever the kind; nothing to fit."""
    flipcost.save(model, tmp_path / "model.json")
    again = flipcost.load(tmp_path / "model.json")
    probability, labels = expected_of(model, fresh)
    for rows in (fresh, fresh.to_pandas()):
        np.testing.assert_allclose(again.probability(rows), probability, rtol=0, atol=1e-12)
        assert again.predict(rows).tolist() == labels.tolist()
    assert again.predict_proba(fresh)[:, again.positive].tolist() == (
        again.probability(fresh).tolist()
    )
    assert again.classes_.tolist() == sorted(again.classes)
    assert not hasattr(again, "fit")


BARE = {
    "pooled": FlipCostClassifier(0.4, random_state=0),
    "linear estimator": FlipCostClassifier(estimator=RidgeClassifier(), random_state=0),
    "boosting estimator": FlipCostClassifier(
        estimator=HistGradientBoostingClassifier(max_iter=9), cv=3, random_state=0
    ),
    "cut, noise known": NoiseAwareThresholdClassifier(
        LogisticRegression(), 0.3, noise_rate=(0.2, 0.1), pos_label=0
    ),
    "cut, scaled": NoiseAwareThresholdClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), 0.3
    ),
    "closed form": UnevenMarginClassifier(0.3, pos_label=0),
    "tuned": UnevenMarginClassifierCV(cv=3),
}


@pytest.mark.parametrize("name", BARE)
def test_models_of_arrays_come_back(data, name, tmp_path):
    """Numbers, frames of numbers and sparse rows; labels keep their kind."""
    X, y = data
    model = clone(BARE[name]).fit(X, y.astype(int))
    flipcost.save(model, tmp_path / "m.json")
    again = flipcost.load(tmp_path / "m.json")
    new = np.random.default_rng(1).normal(size=(200, 3))
    for rows in (new, sparse.csr_array(new), pd.DataFrame(new, columns=["x0", "x1", "x2"])):
        np.testing.assert_allclose(
            again.predict_proba(rows), model.predict_proba(new), rtol=0, atol=1e-12
        )
        np.testing.assert_array_equal(again.predict(rows), model.predict(new))
    assert again.predict(new).dtype.kind == "i"
    assert again.n_features_in_ == 3
    found = by_sql(model, new)
    np.testing.assert_allclose(found, again.probability(new), atol=1e-9)


@pytest.mark.parametrize("kind", ["pooled", "closed form", "cut"])
def test_costs_that_come_with_the_rows(data, kind):
    """A model that was given costs as an array needs them again, and decides the same."""
    X, y = data
    prices = np.column_stack([1 + np.arange(400.0), np.full(400, 50.0)])
    model = {
        "pooled": FlipCostClassifier(features="linear", random_state=0),
        "closed form": UnevenMarginClassifier(),
        "cut": NoiseAwareThresholdClassifier(),
    }[kind].fit(X, y, prices=prices)
    formula = formula_of(model)
    if kind == "closed form":  # costs are in its score
        np.testing.assert_array_equal(formula.predict(X), model.predict(X))
        return
    expected = model.predict(X, prices=prices)
    np.testing.assert_array_equal(formula.predict(X, prices=prices), expected)
    with pytest.raises(ValueError, match="differ by row"):
        formula.predict(X)


def test_outliers_are_clipped_not_computed_with(data):
    """A number far outside of what was learned from gives what the model gives, to the digit."""
    X, y = data
    model = FlipCostClassifier(0.4, features="splines", random_state=0).fit(X, y)
    new = np.array([[1e200, -1e200, 0.0], [1e9, 0.0, 1e15]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = formula_of(model).probability(new)
    np.testing.assert_allclose(found, model.predict_proba(new)[:, 1], rtol=0, atol=1e-12)
