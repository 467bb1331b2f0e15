"""`fit_scores`: a model of one's own, and all that follows from its scores."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

import flipcost as fc


@pytest.fixture(scope="module")
def rows():
    data = fc.datasets.make_syn3d(800, random_state=0)
    return data.data, fc.noise.flip_labels(data.target, 0.2, random_state=0), data.target


@pytest.mark.parametrize("kind", ["score", "probability"])
@pytest.mark.parametrize("checked", [False, True])
def test_it_is_what_an_estimator_gives(rows, kind, checked):
    """With the same folds and labels, everything is the same as with `estimator=`."""
    X, noisy, clean = rows
    weight = np.linspace(0.5, 1.5, len(X))
    told = {"sample_weight": weight}
    if checked:
        told["trusted"] = np.where(np.arange(len(X)) < 60, clean, np.nan)
    own = LogisticRegression(C=0.1)
    # Folds are given: what is checked is learned from, and would change random ones.
    folds = np.arange(len(X)) % 5
    labels = noisy if not checked else np.where(np.arange(len(X)) < 60, clean, noisy)
    whole = fc.FlipCostClassifier(
        cost=0.3, estimator=own, cv=PredefinedSplit(folds), random_state=0
    ).fit(X, noisy, **told)
    method = "decision_function" if kind == "score" else "predict_proba"
    found = cross_val_predict(
        own, X, labels, cv=PredefinedSplit(folds), method=method, params={"sample_weight": weight}
    )
    scores = found if kind == "score" else found[:, 1]
    model = fc.FlipCostClassifier(cost=0.3, cv=PredefinedSplit(folds), random_state=0)
    model.fit_scores(scores, noisy, kind=kind, **told)
    own.fit(X, labels, sample_weight=weight)
    new = own.decision_function(X) if kind == "score" else own.predict_proba(X)[:, 1]
    # Probabilities lose a few of the last digits on their way to log-odds.
    close = np.array_equal if kind == "score" else np.allclose
    assert close(model.oof_probability_, whole.oof_probability_)
    assert close(model.predict_proba_scores(new), whole.predict_proba(X))
    assert close(model.wrong_share_.high, whole.wrong_share_.high)
    assert close(model.cost_interval_, whole.cost_interval_)
    assert np.array_equal(model.predict_scores(new), whole.predict(X))
    assert model.summary().split("\n")[1:] == whole.summary().split("\n")[1:]


def test_several_scores_are_pooled(rows):
    """Of two scores the one that tells more counts, whatever the scale of the other."""
    X, noisy, _ = rows
    good = cross_val_predict(LogisticRegression(), X, noisy, cv=5, method="decision_function")
    noise = np.random.default_rng(0).normal(size=len(X)) * 1e3
    model = fc.FlipCostClassifier(random_state=0).fit_scores(np.c_[noise, good], noisy)
    assert model.scorer_weights_.argmax() == 1
    assert model.predict_proba_scores(np.c_[noise, good]).shape == (len(X), 2)


def test_prices_and_groups_count(rows):
    """Prices by row decide, and rows of one group count for fewer."""
    X, noisy, _ = rows
    score = X[:, 0]
    prices = np.c_[np.linspace(1, 9, len(X)), np.ones(len(X))]
    model = fc.FlipCostClassifier(random_state=0).fit_scores(
        np.repeat(score[::2], 2), noisy, prices=prices, groups=np.repeat(np.arange(400), 2)
    )
    assert model.n_effective_ <= len(X)
    flagged = model.predict_scores(np.zeros(len(X)), prices)
    assert np.all(np.diff(flagged.astype(int)) >= 0)


@pytest.mark.parametrize(
    ("scores", "kind", "words"),
    [
        (np.full(800, 0.5), "score", "must differ between rows"),
        (np.r_[np.nan, np.arange(799.0)], "score", "a finite number for each row"),
        (np.arange(800.0), "probability", r"must lie in \[0, 1\]"),
        (np.c_[np.linspace(0, 1, 800), np.linspace(1, 0, 800)], "probability", "positive class"),
        (["high"] * 800, "score", "must hold numbers"),
        (np.arange(799.0), "score", "same number of rows"),
        (np.arange(800.0), "odds", "`kind` must be one of"),
    ],
)
def test_bad_scores_are_said_in_a_sentence(rows, scores, kind, words):
    with pytest.raises(ValueError, match=words):
        fc.FlipCostClassifier().fit_scores(scores, rows[1], kind=kind)


def test_columns_and_scores_are_not_mixed_up(rows, tmp_path):
    """A classifier of columns takes no scores; one of scores is a formula of these."""
    X, noisy, _ = rows
    model = fc.FlipCostClassifier(features="linear", random_state=0).fit(X, noisy)
    with pytest.raises(ValueError, match="fitted on columns"):
        model.predict_proba_scores(X[:, 0])
    given = fc.FlipCostClassifier(random_state=0).fit_scores(X[:, 0], noisy)
    fc.save(given, tmp_path / "model.json")
    loaded = fc.load(tmp_path / "model.json")
    expected = given.predict_proba_scores(X[:, 0])
    np.testing.assert_allclose(loaded.predict_proba(X[:, :1]), expected, rtol=0, atol=1e-9)
