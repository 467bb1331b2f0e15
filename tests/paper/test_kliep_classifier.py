"""KLIEPClassifier: against the core, all combinations, certificates, and closeness to eta."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flipcost import KLIEPClassifier
from flipcost.datasets import make_syn2d, make_syn3d, make_syn10d
from flipcost.paper.kernels import gaussian_kernel, squared_distances
from flipcost.paper.kliep import (
    COMBINATIONS,
    combine_ratios,
    kliep_posterior_search,
    training_scales,
)


def two_classes(n_rows=200, seed=0):
    draw = make_syn2d(n_rows, pi=0.35, random_state=seed)
    return draw.data, np.where(draw.target > 0, "yes", "no")


@pytest.fixture(scope="module")
def fitted():
    X, y = two_classes()
    return X, y, KLIEPClassifier("pos", centers=40, random_state=0).fit(X, y)


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_probabilities_are_the_combination_of_the_ratios(combine):
    """Every combination is that of the core from the model's own ratios."""
    X, y = two_classes()
    model = KLIEPClassifier(combine, widths=[0.7, 1.5], centers=40, random_state=0)
    model.fit(X[:150], y[:150])
    inside, ratios = model.density_ratios(X[:150]), model.density_ratios(X[150:])
    prior = np.mean(y[:150] == "yes")
    scales = training_scales(inside[:, 1], inside[:, 0], prior)
    eta = combine_ratios(ratios[:, 1], ratios[:, 0], prior, combine, scales=scales)
    np.testing.assert_allclose(model.predict_proba(X[150:])[:, 1], eta, rtol=1e-12)
    np.testing.assert_allclose(model.scales_, scales, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X[150:]) == "yes", eta > 0.5)


def test_ratios_have_mean_one(fitted):
    """Over the training rows each ratio has mean one."""
    X, _, model = fitted
    np.testing.assert_allclose(model.density_ratios(X).mean(axis=0), 1, rtol=1e-9)


def test_gap_is_the_certificate_of_the_ratios_kept(fitted):
    """The gap is max_l g_l - 1 of the worse ratio, recomputed here, and at most tol."""
    X, y, model = fitted
    gaps = []
    for code, label in enumerate(["no", "yes"]):
        sq = squared_distances(X, model.centers_[code])
        phi = gaussian_kernel(sq, model.width_[code])
        own = phi[y == label]
        g = (own / (own @ model.weights_[code])[:, None]).mean(axis=0) / phi.mean(axis=0)
        gaps.append(g.max() - 1)
        objective = np.log(own @ model.weights_[code]).mean()
        np.testing.assert_allclose(model.objective_[code], objective, rtol=1e-9)
    # Rounding of sums of 200 terms of order one.
    np.testing.assert_allclose(model.gap_, max(gaps), atol=1e-12)
    assert model.gap_ <= 1e-6


def test_tolerance_is_kept():
    """A tighter tolerance is certified too, and the objective is no less."""
    X, y = two_classes()
    loose, tight = (
        KLIEPClassifier(widths=1.0, tol=tol, random_state=0).fit(X, y) for tol in (1e-2, 1e-10)
    )
    assert loose.gap_ <= 1e-2
    assert tight.gap_ <= 1e-10
    assert (tight.objective_ >= loose.objective_ - 1e-12).all()


def test_warning_when_rounding_forbids_the_tolerance():
    """A tolerance below rounding is reported, with the gap that was reached."""
    X, y = two_classes()
    models = [KLIEPClassifier(widths=w, tol=1e-30, random_state=0) for w in (0.3, 0.5, 3.0, 5.0)]
    # Whether a sum rounds to one exactly is for the machine to say; not at every width.
    with pytest.warns(ConvergenceWarning, match="above tol=1e-30") as caught:
        gaps = [model.fit(X, y).gap_ for model in models]
    assert max(gaps) < 1e-12
    assert caught[0].filename == __file__


def test_choice_of_widths():
    """Norm takes one width by the labels' likelihood, the others one per class by their own."""
    X, y = two_classes()
    settings = {"widths": [0.3, 0.6, 1.2, 2.4], "centers": 40, "random_state": 0}
    norm = KLIEPClassifier(**settings).fit(X, y)
    assert norm.width_.tolist() == [norm.widths_[norm.scores_.argmax()]] * 2
    apart = KLIEPClassifier("pos", **settings).fit(X, y)
    assert apart.width_.tolist() == apart.widths_[apart.class_scores_.argmax(axis=1)].tolist()
    np.testing.assert_array_equal(norm.scores_, apart.scores_)


def test_scores_are_those_of_the_core():
    """With given folds the scores are those of the core on the centres that are stored."""
    X, y = two_classes()
    fold = np.random.default_rng(0).integers(0, 4, len(y))
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)]
    model = KLIEPClassifier(widths=[0.5, 1.0], centers=30, cv=splits, random_state=0).fit(X, y)
    bases = [squared_distances(X, centers) for centers in model.centers_]
    search = kliep_posterior_search(bases, y == "yes", [0.5, 1.0], fold)
    np.testing.assert_allclose(model.scores_, search.scores, rtol=1e-12)
    np.testing.assert_allclose(model.class_scores_, search.class_scores, rtol=1e-12)


def test_one_width_needs_no_search():
    """A single width is taken as it is: no folds, no scores."""
    X, y = two_classes()
    model = KLIEPClassifier(widths=0.8, cv=1000, random_state=0).fit(X, y)
    assert model.width_.tolist() == [0.8, 0.8]
    assert np.isnan(model.scores_).all()
    assert np.isnan(model.class_scores_).all()


def test_narrower_widths_are_tried_by_default():
    """The grid holds nine centiles and three fractions of the smallest."""
    X, y = two_classes()
    grid = KLIEPClassifier(random_state=0).fit(X, y).widths_
    assert len(grid) == 12
    np.testing.assert_allclose(grid[:3], grid[3] * np.array([0.35, 0.5, 0.7]))


def test_positive_class():
    """Naming the other class positive exchanges pos and neg: they are complements."""
    X, y = two_classes()
    settings = {"centers": None, "widths": [0.6, 1.2], "random_state": 0}
    pos = KLIEPClassifier("pos", pos_label="no", **settings).fit(X, y)
    neg = KLIEPClassifier("neg", **settings).fit(X, y)
    assert pos.prior_ == pytest.approx(np.mean(y == "no"))
    # Solutions within 1e-6 of the optimum; weights of nearly dependent kernels move more than that.
    np.testing.assert_allclose(pos.predict_proba(X), neg.predict_proba(X), atol=1e-2)
    norm = KLIEPClassifier(pos_label="no", **settings).fit(X, y)
    same = KLIEPClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(norm.predict_proba(X), same.predict_proba(X), atol=1e-2)
    with pytest.raises(ValueError, match="`pos_label` must be one of"):
        KLIEPClassifier(pos_label="maybe").fit(X, y)


def test_weights_are_repetitions():
    """Weights and copies give one model, zero weights and missing rows too, in any row order."""
    X, y = two_classes()
    rng = np.random.default_rng(0)
    counts, order, fold = rng.integers(0, 4, 200), rng.permutation(200), rng.integers(0, 3, 200)

    def splits(numbers):
        return [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in range(3)]

    model = KLIEPClassifier(widths=[0.5, 1.0, 2.0], centers=30, tol=1e-10, random_state=0)
    weighted = clone(model).set_params(cv=splits(fold[order]))
    weighted.fit(X[order], y[order], counts[order])
    repeated = clone(model).set_params(cv=splits(np.repeat(fold, counts)))
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.width_.tolist() == repeated.width_.tolist()
    # Objectives within 1e-10 of one optimum, so ratios within its root of each other.
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, atol=1e-4)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)
    assert weighted.prior_ == pytest.approx(repeated.prior_)


def test_random_state():
    """The same seed gives the same model."""
    X, y = two_classes()
    one, two = (KLIEPClassifier(centers=20, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_prior_far_from_all_rows(fitted):
    """Where both ratios vanish norm is the prior, and pos is zero."""
    X, y, model = fitted
    far = [[1e4, 1e4]]
    assert model.predict_proba(far)[0, 1] == 0
    norm = KLIEPClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(norm.predict_proba(far)[0, 1], np.mean(y == "yes"))


def test_pipeline_and_frames():
    """A frame in a pipeline with a scaler gives what arrays give, whatever the units."""
    X, y = two_classes()
    frame = pd.DataFrame(X * [1, 1024], columns=["a", "b"])
    pipeline = make_pipeline(StandardScaler(), KLIEPClassifier(centers=None, random_state=0))
    one = pipeline.fit(frame, pd.Series(y)).predict_proba(frame)
    two = pipeline.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=1e-2)


def test_wrong_input_is_named():
    """Three classes, weightless classes and grids out of range are refused by name."""
    X, y = two_classes()
    with pytest.raises(ValueError, match="Only binary classification"):
        KLIEPClassifier().fit(X, np.arange(200) % 3)
    with pytest.raises(ValueError, match="got a class without"):
        KLIEPClassifier().fit(X, y, sample_weight=y == "no")
    with pytest.raises(ValueError, match="`widths` must hold finite numbers above 0"):
        KLIEPClassifier(widths=[0.0, 1.0]).fit(X, y)


# What the paper prints, truncated, for norm, pos and neg; misprints aside.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "below"),
    [
        (make_syn2d, {"norm": 0.002, "pos": 0.013, "neg": 0.015}),
        (make_syn3d, {"norm": 0.003, "pos": 0.023, "neg": 0.026}),
        (make_syn10d, {"norm": 0.036, "pos": 0.061, "neg": 0.063}),
    ],
)
def test_eta_is_as_close_to_the_truth_as_printed(make, below):
    """With every default the mean squared error is the printed one or less, all certified."""
    errors = {combine: [] for combine in below}
    for seed in range(6):
        draw = make(1000, random_state=seed)
        X, eta = draw.data[800:], draw.eta[800:]
        norm, apart = (
            KLIEPClassifier(c, random_state=seed).fit(draw.data[:800], draw.target[:800])
            for c in ("norm", "pos")
        )
        assert max(norm.gap_, apart.gap_) <= 1e-6
        for combine, model in {"norm": norm, "pos": apart, "neg": apart}.items():
            estimate = model.set_params(combine=combine).predict_proba(X)[:, 1]
            errors[combine].append(np.mean((estimate - eta) ** 2))
    for combine, printed in below.items():
        assert np.mean(errors[combine]) < printed, combine
