"""LSPClassifier: against the core, against ridge regression, and what it says of data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flipcost import LSPClassifier
from flipcost.datasets import make_syn2d, make_syn3d, make_syn10d
from flipcost.noise import flip_labels
from flipcost.paper.kernels import gaussian_kernel, squared_distances
from flipcost.paper.lspc import lspc_fit, lspc_outputs, lspc_probabilities, lspc_search


def three_classes(seed=0, n_rows=120):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[codes]
    return X, np.array(["low", "mid", "top"])[codes], codes


def test_fit_and_choice_are_those_of_the_core():
    """Grid, scores, choice and probabilities come from the core on the centres that are stored."""
    X, y, codes = three_classes()
    model = LSPClassifier(widths=[2.0, 0.5, 1.0], l2s=[0.1, 1e-3], centers=20, random_state=0)
    model.fit(X, y)
    bases = [squared_distances(X, centers) for centers in model.centers_]
    widths, l2s = [0.5, 1.0, 2.0], [1e-3, 0.1]
    scores = lspc_search(bases, codes, widths, l2s)
    np.testing.assert_allclose(model.scores_, scores, rtol=1e-12)
    assert model.best_score_ == model.scores_.max()
    assert model.best_score_ == model.scores_[widths.index(model.width_), l2s.index(model.l2_)]
    phis = [gaussian_kernel(base, model.width_) for base in bases]
    outputs = lspc_outputs(phis, lspc_fit(phis, codes, model.l2_))
    expected = lspc_probabilities(outputs, np.bincount(codes) / len(codes))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])
    np.testing.assert_array_equal(model.classes_, ["low", "mid", "top"])


def test_centres_belong_to_their_class():
    """Each class has its own rows as centres, no more than asked for and none twice."""
    X, y, codes = three_classes()
    model = LSPClassifier(centers=25, random_state=0).fit(X, y)
    for code, centers in enumerate(model.centers_):
        assert len(centers) == len(np.unique(centers, axis=0)) == 25
        assert (squared_distances(centers, X[codes == code]).min(axis=1) == 0).all()
    every = LSPClassifier(centers=None).fit(X, y)
    assert [len(c) for c in every.centers_] == np.bincount(codes).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_minimum_squared_deviation_estimator(n_classes):
    """With common kernels on all rows the outputs are a ridge regression of the indicators."""
    X, _, codes = three_classes(1)
    codes = codes % n_classes
    model = LSPClassifier(widths=1.0, l2s=0.03, centers=None, basis="full").fit(X, codes)
    Phi = rbf_kernel(X, model.centers_[0], gamma=0.5)
    ridge = Ridge(alpha=0.03 * len(X), fit_intercept=False).fit(Phi, np.eye(n_classes)[codes])
    # Ridge solves in the dual or the primal, at condition numbers of about 1e4 here.
    np.testing.assert_allclose(np.column_stack(model.weights_), ridge.coef_.T, atol=1e-9)
    kept = np.maximum(ridge.predict(Phi), 0)
    np.testing.assert_allclose(model.predict_proba(X), kept / kept.sum(1, keepdims=True), atol=1e-9)


def test_folds_equal_leaving_one_out_when_each_row_is_a_fold():
    """As many folds as rows give the scores of the closed form, up to the scale of the penalty."""
    X, y, _ = three_classes(3, n_rows=40)
    closed = LSPClassifier([0.5, 2.0], [1e-2, 1.0], random_state=0).fit(X, y)
    # Leaving a row out keeps the total penalty; folds keep the mean penalty.
    l2s = np.array([1e-2, 1.0]) * 40 / 39
    folds = LSPClassifier([0.5, 2.0], l2s, cv=40, random_state=0).fit(X, y)
    np.testing.assert_allclose(folds.scores_, closed.scores_, rtol=1e-9)


def test_splitters_and_their_splits_are_the_same():
    """A splitter and the list of its splits give one score; test sets must partition the rows."""
    X, y, _ = three_classes(4)
    splitter = StratifiedKFold(4, shuffle=True, random_state=0)
    one = LSPClassifier(cv=splitter, random_state=0).fit(X, y)
    two = LSPClassifier(cv=list(splitter.split(X, y)), random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.scores_, two.scores_)
    for cv in (ShuffleSplit(3, random_state=0), [(np.arange(60), np.arange(60, 120))]):
        with pytest.raises(ValueError, match="must partition the rows"):
            LSPClassifier(cv=cv).fit(X, y)
    with pytest.raises(ValueError, match="`cv` must be at least 2"):
        LSPClassifier(cv=1).fit(X, y)


def test_int_folds_are_stratified():
    """Folds made from a number hold each class's rows in equal number, up to one."""
    from flipcost.paper.kernels import fold_numbers

    codes = np.random.default_rng(0).integers(0, 3, 101)
    folds = fold_numbers(4, codes, np.random.default_rng(1))
    table = np.zeros((3, 4), int)
    np.add.at(table, (codes, folds), 1)
    assert (np.ptp(table, axis=1) <= 1).all()
    assert np.ptp(table.sum(axis=0)) <= 1


def test_weights_are_repetitions():
    """Weights and copies give one model, zero weights and missing rows too, in any row order."""
    X, y, _ = three_classes(5)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, len(y))
    order = rng.permutation(len(y))
    cv = KFold(3)
    settings = {"l2s": [0.01, 0.1], "centers": 20, "random_state": 0}
    fold = np.empty(len(y), int)
    for number, (_, test) in enumerate(cv.split(X)):
        fold[test] = number

    def splits(numbers):
        return [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in range(3)]

    weighted = LSPClassifier(cv=splits(fold[order]), **settings)
    weighted.fit(X[order], y[order], sample_weight=counts[order])
    repeated = LSPClassifier(cv=splits(np.repeat(fold, counts)), **settings)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-10)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_)


def test_scale_of_weights_does_not_matter():
    """Weights ten times as large change nothing, leaving one out included."""
    X, y, _ = three_classes(6)
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    one, ten = (LSPClassifier(random_state=0).fit(X, y, k * weight) for k in (1, 10))
    np.testing.assert_allclose(one.scores_, ten.scores_, rtol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), ten.predict_proba(X), atol=1e-9)


def test_random_state():
    """The same seed gives the same model; a generator of seeds gives another draw each time."""
    X, y, _ = three_classes()
    one, two = (LSPClassifier(centers=10, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    state = np.random.RandomState(0)
    first, second = (LSPClassifier(centers=10, random_state=state).fit(X, y) for _ in range(2))
    assert not np.array_equal(first.centers_[0], second.centers_[0])


def test_prior_far_from_all_rows():
    """Where every kernel vanishes the answer is the class shares."""
    X, y, codes = three_classes()
    model = LSPClassifier(random_state=0).fit(X, y)
    far = model.predict_proba([[1e4, 1e4]])[0]
    np.testing.assert_allclose(far, np.bincount(codes) / len(codes))


def test_units_of_the_features_matter_unless_standardised():
    """Rescaling all features alike changes nothing; rescaling one needs a scaler before."""
    X, y, _ = three_classes()
    model = LSPClassifier(random_state=0)
    plain = model.fit(X, y).predict_proba(X)
    # A power of two, so that rounding is the same too.
    np.testing.assert_allclose(model.fit(64 * X, y).predict_proba(64 * X), plain, rtol=1e-9)
    stretched = X * [1, 1024]
    assert np.abs(model.fit(stretched, y).predict_proba(stretched) - plain).max() > 0.1
    pipeline = make_pipeline(StandardScaler(), model)
    scaled = [pipeline.fit(Z, y).predict_proba(Z) for Z in (X, stretched)]
    np.testing.assert_allclose(scaled[0], scaled[1], atol=1e-8)


def test_frames_and_names():
    """A pandas frame with a categorical target gives what arrays give, and keeps its names."""
    X, y, _ = three_classes()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = LSPClassifier(random_state=0).fit(frame, pd.Series(y, dtype="category"))
    plain = LSPClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_wrong_input_is_named():
    """One class, weightless classes, equal rows and grids out of range are refused by name."""
    X, y, _ = three_classes()
    with pytest.raises(ValueError, match="got one class only: 'low'"):
        LSPClassifier().fit(X[y == "low"], y[y == "low"])
    with pytest.raises(ValueError, match="got a class without"):
        LSPClassifier().fit(X, y, sample_weight=y != "low")
    with pytest.raises(ValueError, match="two distinct rows"):
        LSPClassifier().fit(np.ones_like(X), y)
    for widths in ([0.0, 1.0], [], [np.nan]):
        with pytest.raises(ValueError, match="`widths` must hold finite numbers above 0"):
            LSPClassifier(widths=widths).fit(X, y)
    with pytest.raises(ValueError, match="`l2s` must hold"):
        LSPClassifier(l2s=[-1.0]).fit(X, y)


def mean_squared_error(make, model, n_draws=8, noise=0.0):
    errors = []
    for seed in range(n_draws):
        draw = make(1000, random_state=seed)
        X, y, eta = draw.data, draw.target, noise + (1 - 2 * noise) * draw.eta
        if noise:
            # Another seed: the draw used this one's numbers to choose the labels.
            y = flip_labels(y, noise, random_state=1000 + seed)
        model.set_params(random_state=seed).fit(X[:800], y[:800])
        errors.append(np.mean((model.predict_proba(X[800:])[:, 1] - eta[800:]) ** 2))
    return np.mean(errors)


# The paper's figures for LSPC are .003, .003 and .011, truncated.
@pytest.mark.parametrize(
    ("make", "below"), [(make_syn2d, 0.004), (make_syn3d, 0.004), (make_syn10d, 0.012)]
)
def test_eta_is_as_close_to_the_truth_as_printed(make, below):
    """With every default the mean squared error is the printed one or less."""
    assert mean_squared_error(make, LSPClassifier()) < below


def test_noisy_labels_give_the_noisy_probability():
    """From labels flipped at 0.2 it estimates 0.2 + 0.6 eta, not eta."""
    to_noisy = mean_squared_error(make_syn2d, LSPClassifier(), noise=0.2)
    # The mean of (0.2 (1 - 2 eta))^2, how far apart the two are, is 0.029 on this law.
    assert to_noisy < 0.029 / 4


def test_few_rows_leave_nothing_to_chance():
    """Up to 63 rows every seed gives one model."""
    X, y, _ = three_classes(n_rows=63)
    one, two = (LSPClassifier(random_state=seed).fit(X, y) for seed in (0, 1))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-8)
