"""New rows: collapsed scores give what the pooled scores and their curves do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from flipcost import FlipCostClassifier
from flipcost.core.calibration import TABLE
from flipcost.datasets import make_syn3d
from flipcost.estimators.flipcost import scores as module
from flipcost.noise import flip_labels


def _plainly(model, X):
    """Return the probability by its definition: one score, one interpolation at a time."""
    curves = model._result.curves
    scores = model.scorer_.score(X, curves.which)
    standard = (scores - curves.location[:, None]) / curves.scale[:, None]
    parts = [np.interp(s, TABLE, c) for s, c in zip(standard, curves.curves, strict=True)]
    return np.sum(parts, axis=0)


@pytest.fixture(scope="module")
def data():
    found = make_syn3d(1500, random_state=0)
    return found.data, flip_labels(found.target, 0.3, random_state=0)


@pytest.fixture(scope="module", params=["linear", "splines", "auto"])
def model(request, data):
    X, y = data
    return FlipCostClassifier(cost=0.2, features=request.param, random_state=0).fit(X, y)


def test_probabilities_are_those_of_the_pooled_scores(model, data):
    """Collapsing changes nothing beyond 1e-7, of which curves in single precision make the most."""
    found = model.predict_proba(data[0])[:, 1]
    np.testing.assert_allclose(found, _plainly(model, data[0]), rtol=0, atol=1e-7)


def test_every_score_collapses(model, data):
    """Closed-form scores, boosting and averages, whether they count or not."""
    X, _ = data
    which = np.arange(len(model.scorer_weights_))
    coefficients, share = model.scorer_.coefficients[which], model.scorer_.share[which]
    rows = model.scorer_.basis.expand(X)
    found = coefficients[:, :-1] @ rows.T + coefficients[:, -1:]
    if share.any():
        found += share[:, None] * model.scorer_.boosting.score(model.scorer_.cells(X))
    np.testing.assert_allclose(found, model.scorer_.score(X, which), rtol=1e-9, atol=1e-9)


def test_a_row_gets_the_same_bytes_alone(model, data):
    """A row alone, and among others."""
    X, _ = data
    together = model.predict_proba(X)
    for part in (slice(0, 1), slice(700, 701), slice(3, 900)):
        np.testing.assert_array_equal(model.predict_proba(X[part]), together[part])


def test_parts_change_nothing(model, data, monkeypatch):
    """However many rows are scored at a time, bytes are the same, and what is infinite is found."""
    X = np.tile(data[0], (3, 1))
    expected = model.predict_proba(X)
    monkeypatch.setattr(module, "_PART_ROWS", 1000)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    X[-1, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict_proba(X)


def test_missing_values_and_categories_collapse_too(data):
    """Gaps, gaps that training rows did not have, and levels, in a frame."""
    X, y = data
    frame = pd.DataFrame(X.copy(), columns=list("abc"))
    frame.loc[::7, "a"] = np.nan
    frame["town"] = np.where(X[:, 2] > 0, "Lyon", "Paris")
    model = FlipCostClassifier(cost=0.3, features="splines", random_state=0).fit(frame, y)
    new = frame.iloc[:400].copy()
    new.loc[::5, "b"] = np.nan
    new.loc[3, "town"] = "Oslo"
    found = model.predict_proba(new)[:, 1]
    np.testing.assert_allclose(found, _plainly(model, new), rtol=0, atol=1e-7)


def test_what_is_infinite_is_refused(model, data):
    """Rows are read once, and an infinite number in them is still found."""
    X = data[0].copy()
    X[1200, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict_proba(X)


def test_sparse_rows_are_scored_as_before(data):
    """Rows of a sparse matrix get what dense ones do."""
    X, y = data
    model = FlipCostClassifier(features="linear", random_state=0).fit(sparse.csr_array(X), y)
    dense = FlipCostClassifier(features="linear", random_state=0).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-9
    )
    bad = sparse.csr_array(X)
    bad.data[5] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict_proba(bad)
