"""UnevenMarginClassifier: one training path, weights, labels, probabilities, noise."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from benchmarks.timing import peak_extra_bytes
from flipcost import ClassMoments, Costs, UnevenMarginClassifier
from flipcost.core.solve import solve
from flipcost.exceptions import DenoisingWarning
from tests.properties.strategies import cuts, seeds
from tests.reference.brute import mixed_moments, two_classes

CONFIGURATIONS = {
    "plain": {},
    "uneven": {"cost": 0.3, "margin": 2.0, "l2": 0.01, "l2_scale": "sum"},
    "prices": {"cost": Costs(fn=4, fp=1), "penalize_bias": False},
    "noise": {"cost": 0.3, "noise_rate": 0.05},
    "pair": {"cost": 0.6, "noise_rate": (0.1, 0.02), "margin": 0.5},
}


@pytest.fixture(params=CONFIGURATIONS)
def classifier(request):
    return UnevenMarginClassifier(**CONFIGURATIONS[request.param])


def coefficients(model):
    return np.append(model.coef_.ravel(), model.intercept_)


def test_the_solution_is_the_cores(classifier):
    """The classifier holds the moments of the rows and the core's solution of them."""
    X, positive = two_classes(n=200, d=3)
    model = classifier.fit(X, positive.astype(int))
    moments = ClassMoments.from_rows(X, positive)
    np.testing.assert_array_equal(model.moments_.scatter, moments.scatter)
    expected = solve(
        moments,
        classifier.cost,
        classifier.margin,
        classifier.l2,
        noise_rate=classifier.noise_rate,
        l2_scale=classifier.l2_scale,
        penalize_bias=classifier.penalize_bias,
    )
    np.testing.assert_array_equal(coefficients(model), expected)
    assert model.coef_.shape == (1, 3)
    assert model.intercept_.shape == (1,)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ expected[:-1] + expected[-1], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), (scores > 0).astype(int))


@given(st.data(), seeds)
@settings(max_examples=30)
def test_partial_fit_is_fit_for_any_split(data, seed):
    """Rows learned in parts, in any order, give what all of them give at once."""
    X, positive = two_classes(n=40, d=2, seed=seed)
    y = np.where(positive, "yes", "no")
    weight = np.random.default_rng(seed).random(40)
    order = data.draw(st.permutations(range(40)))
    X, y, weight = X[order], y[order], weight[order]
    places = sorted(set(data.draw(cuts(40))))  # scikit-learn refuses tables without rows
    model = UnevenMarginClassifier(cost=0.3, margin=2.0)
    whole = clone(model).fit(X, y, weight)
    for i, j in pairwise(places):
        model.partial_fit(X[i:j], y[i:j], classes=["no", "yes"], sample_weight=weight[i:j])
    np.testing.assert_allclose(coefficients(model), coefficients(whole), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(model.moments_.n_rows, whole.moments_.n_rows)


def test_classes_are_needed_only_while_one_is_missing():
    """The first part may hold both labels, or name them; later parts may hold either."""
    X, positive = two_classes(n=30, d=2)
    model = UnevenMarginClassifier().partial_fit(X[:10], positive[:10])
    model.partial_fit(X[10:][positive[10:]], positive[10:][positive[10:]])
    with pytest.raises(ValueError, match=r"two classes to learn from; got one class only.*Check"):
        UnevenMarginClassifier().partial_fit(X[:1], positive[:1])
    with pytest.raises(ValueError, match=r"same in every call; got \[1, 2\].*`fit`"):
        model.partial_fit(X, positive, classes=[1, 2])
    with pytest.raises(ValueError, match=r"hold the classes \[False, True\] only; got also.*fit"):
        model.partial_fit(X[:2], [0, 3])


def test_fit_forgets():
    """Fitting again gives what a fresh classifier gives, after partial fits too."""
    X, positive = two_classes(n=60, d=2)
    model = UnevenMarginClassifier().partial_fit(X + 5, ~positive).fit(X[:, :1], positive)
    fresh = UnevenMarginClassifier().fit(X[:, :1], positive)
    np.testing.assert_array_equal(coefficients(model), coefficients(fresh))


def test_a_weight_is_a_repetition(classifier):
    """Whole weights give the solution of rows repeated that often; zero leaves a row out."""
    X, positive = two_classes(n=80, d=3)
    weight = np.random.default_rng(0).integers(0, 4, 80)
    weighted = clone(classifier).fit(X, positive, weight)
    repeated = clone(classifier).fit(np.repeat(X, weight, axis=0), np.repeat(positive, weight))
    np.testing.assert_allclose(
        coefficients(weighted), coefficients(repeated), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("margin", [1.0, 3.0])
@pytest.mark.parametrize("noise_rate", [None, (0.1, 0.02)])
def test_swapping_the_classes_mirrors_the_cost(margin, noise_rate):
    """With the other label as the positive one, cost 1-a and margin 1/g, predictions stay.

    The penalty becomes l/g, and scores are multiplied by the margin.
    """
    X, positive = two_classes(n=120, d=3)
    y = np.where(positive, "sick", "healthy")
    swapped_rate = noise_rate[::-1] if noise_rate else None
    here = UnevenMarginClassifier(0.3, margin, 0.2, noise_rate, pos_label="sick").fit(X, y)
    there = UnevenMarginClassifier(
        0.7, 1 / margin, 0.2 / margin, swapped_rate, pos_label="healthy"
    ).fit(X, y)
    np.testing.assert_allclose(
        there.decision_function(X), margin * here.decision_function(X), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-10)


def test_the_positive_label_is_the_second_unless_named():
    """`pos_label` says which label `cost` speaks of; a cheap false alarm calls it more often."""
    X, positive = two_classes(n=300, d=2)
    y = np.where(positive, "a", "b")
    default = UnevenMarginClassifier(cost=0.1).fit(X, y)
    second = UnevenMarginClassifier(cost=0.1, pos_label="b").fit(X, y)
    first = UnevenMarginClassifier(cost=0.1, pos_label="a").fit(X, y)
    np.testing.assert_array_equal(default.predict(X), second.predict(X))
    assert np.mean(second.predict(X) == "b") > np.mean(first.predict(X) == "b") + 0.2
    np.testing.assert_array_equal(first.moments_.n_rows, [np.sum(y == "b"), np.sum(y == "a")])
    # A positive score always means the second class, as in scikit-learn.
    np.testing.assert_array_equal(first.decision_function(X) > 0, first.predict(X) == "b")


def test_a_score_of_zero_is_called_negative():
    """A tie goes to the negative class, whichever label that is."""
    X, y = np.array([[-1.0], [1.0]]), ["a", "b"]
    for pos_label, negative in (("b", "a"), ("a", "b")):
        model = UnevenMarginClassifier(pos_label=pos_label).fit(X, y)
        assert model.decision_function([[0.0]]) == 0
        assert model.predict([[0.0]]) == negative


@pytest.mark.parametrize("pos_label", [0, 1])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_probability_crosses_the_cost_where_the_prediction_changes(name, pos_label):
    """Rows are called positive exactly where the positive class' probability exceeds the cost."""
    X, positive = two_classes(n=400, d=3, shift=2.0)
    model = UnevenMarginClassifier(**CONFIGURATIONS[name], pos_label=pos_label)
    model.fit(X, positive.astype(int))
    cost = model.cost.alpha if isinstance(model.cost, Costs) else model.cost
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-15)
    assert probability.min() >= 0
    flagged = model.predict(X) == pos_label
    assert 0 < flagged.sum() < 400
    np.testing.assert_array_equal(probability[:, pos_label] > cost, flagged)
    # Rows on either side of the hyperplane, as near as the arithmetic can distinguish them.
    w = model.coef_[0]
    foot = -model.intercept_[0] * w / (w @ w)
    for step in (1e-9, -1e-9):
        row = (foot + step * w)[None]
        above = model.predict_proba(row)[0, pos_label] > cost
        assert above == (model.predict(row)[0] == pos_label)


def test_probabilities_order_rows_as_scores_do():
    """A higher score never means a lower probability of the second class."""
    X, positive = two_classes(n=300, d=2)
    model = UnevenMarginClassifier(cost=0.2, margin=3.0).fit(X, positive)
    order = np.argsort(model.decision_function(X))
    assert np.all(np.diff(model.predict_proba(X)[order, 1]) >= 0)


def test_fit_moments_is_fit(classifier):
    """Moments gathered elsewhere, saved and loaded give the classifier that their rows give."""
    X, positive = two_classes(n=150, d=2)
    y = np.where(positive, "yes", "no")
    rows = clone(classifier).fit(X, y)
    moments = ClassMoments.from_rows(X[:50], positive[:50]) + ClassMoments.from_rows(
        X[50:], positive[50:]
    )
    model = clone(classifier).fit_moments(moments, classes=["no", "yes"])
    np.testing.assert_allclose(coefficients(model), coefficients(rows), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), rows.predict(X))
    assert model.n_features_in_ == 2
    numbered = clone(classifier).fit_moments(moments)
    np.testing.assert_array_equal(numbered.classes_, [0, 1])
    more = numbered.partial_fit(X, positive.astype(int))
    assert more.moments_.n_rows.sum() == 300


def test_fit_moments_with_the_first_label_as_positive():
    """Moments have the positive class at 1, whatever label that is."""
    X, positive = two_classes(n=100, d=2)
    y = np.where(positive, "ill", "well")
    rows = UnevenMarginClassifier(cost=0.2, pos_label="ill").fit(X, y)
    model = UnevenMarginClassifier(cost=0.2, pos_label="ill")
    model.fit_moments(ClassMoments.from_rows(X, positive), classes=["well", "ill"])
    np.testing.assert_array_equal(coefficients(model), coefficients(rows))
    np.testing.assert_array_equal(model.predict(X), rows.predict(X))


def test_fit_moments_refuses_what_are_no_moments():
    """Anything but moments, moments of nothing, and labels that are not two are refused."""
    with pytest.raises(TypeError, match=r"must be ClassMoments; got ndarray\. Gather"):
        UnevenMarginClassifier().fit_moments(np.ones(3))
    with pytest.raises(ValueError, match=r"positive weight to learn from; got none\. Check"):
        UnevenMarginClassifier().fit_moments(ClassMoments.zeros(2))
    X, positive = two_classes(n=20, d=1)
    with pytest.raises(ValueError, match=r"two labels; got \['a'\]\. Give both"):
        UnevenMarginClassifier().fit_moments(ClassMoments.from_rows(X, positive), classes=["a"])


@pytest.mark.parametrize("noise_rate", [0.3, (0.4, 0.15)])
def test_expected_noise_is_undone(noise_rate):
    """Expected flipped moments with their rate give the clean classifier, without a warning."""
    moments = ClassMoments.from_rows(*two_classes(n=300, d=3))
    clean = UnevenMarginClassifier(cost=0.3).fit_moments(moments)
    noisy = mixed_moments(moments, noise_rate)
    told = UnevenMarginClassifier(cost=0.3, noise_rate=noise_rate).fit_moments(noisy)
    np.testing.assert_allclose(coefficients(told), coefficients(clean), atol=1e-10)
    assert told.n_clipped_ == clean.n_clipped_ == 0


def test_an_indefinite_system_is_reported():
    """When denoising leaves no minimum, a warning says so, what was done and what to do."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)), np.arange(20) % 2
    model = UnevenMarginClassifier(cost=0.1, noise_rate=0.4)
    with pytest.warns(DenoisingWarning, match=r"left no minimum.*projected.*gather rows"):
        model.fit(X, y)
    assert 0 < model.n_clipped_ <= 5
    assert np.isfinite(coefficients(model)).all()


def test_sparse_rows():
    """CSR rows are learned from and scored as their dense form is."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 5)) < 0.3, rng.normal(size=(200, 5)), 0)
    y = (X.sum(axis=1) > 0.1).astype(int)
    dense = UnevenMarginClassifier(cost=0.3).fit(X, y)
    for rows in (sparse.csr_array(X), sparse.csc_matrix(X), sparse.coo_array(X)):
        model = UnevenMarginClassifier(cost=0.3).fit(rows, y)
        np.testing.assert_allclose(coefficients(model), coefficients(dense), rtol=1e-10)
        np.testing.assert_allclose(model.predict_proba(rows), dense.predict_proba(X), rtol=1e-9)


def test_fitting_takes_little_memory():
    """Fitting takes less than a quarter of the memory of the rows."""
    X = np.random.default_rng(0).normal(size=(100_000, 30))
    y = (X[:, 0] > 0).astype(np.int64)
    assert peak_extra_bytes(lambda: UnevenMarginClassifier().fit(X, y)) < 0.25 * X.nbytes


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12])
def test_scores_do_not_depend_on_the_rows_beside(offset):
    """One row alone, rows in either layout and all of them get the same bytes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 20)) + offset
    model = UnevenMarginClassifier(0.3).fit(X, X[:, 0] > offset)
    scores = model.decision_function(X)
    for k in (1, 7, 65, 513):
        for rows in (X[:k], np.asfortranarray(X[:k])):
            assert np.array_equal(model.decision_function(rows), scores[:k])
