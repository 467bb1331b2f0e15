"""Rows that someone checked: what they tell, and that they never do harm."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.kernel_approximation import Nystroem

from flipcost import FlipCostClassifier
from flipcost.exceptions import DependenceWarning

COST = 0.25
SEEDS = range(6)


def draw(n, seed):
    """Draw rows whose mistakes follow the features; also their probability of a positive."""
    rng = np.random.default_rng([5, seed])
    X = rng.normal(size=(n, 3))
    eta = expit(1.5 * X[:, 0] - X[:, 1] - 0.3)
    clean = rng.random(n) < eta
    wrong = np.where(clean, 0.9 * expit(2 * X[:, 2] - X[:, 0]), 0.15 * expit(X[:, 2]))
    return X, clean ^ (rng.random(n) < wrong), clean, eta


def flip_evenly(n, seed):
    """Draw rows whose mistakes do not follow the features: a fifth of all labels."""
    X, _, clean, eta = draw(n, seed)
    wrong = np.random.default_rng([6, seed]).random(n) < 0.2
    return X, clean ^ wrong, clean, eta


def trust(clean, rows):
    """Return the right labels of some rows, and nothing elsewhere."""
    values = np.full(len(clean), np.nan)
    values[rows] = clean[rows]
    return values


def fit(X, noisy, trusted=None, **options):
    options = {"features": "linear", "l2s": (0.3,), "random_state": 0} | options
    return FlipCostClassifier(COST, **options).fit(X, noisy, trusted=trusted)


def paid(model, seed):
    """Return the expected cost of a model's calls on fresh rows."""
    X, _, _, eta = draw(20_000, 1000 + seed)
    return np.where(model.predict(X), COST * (1 - eta), (1 - COST) * eta).mean()


def widths(model):
    return np.diff(model.noise_rate_interval_).ravel()


@pytest.fixture(scope="module", params=[draw, flip_evenly], ids=["features", "evenly"])
def with_and_without(request):
    """Fits to six tables of 1,500 rows, of which none or 100 were checked."""
    found = []
    for seed in SEEDS:
        X, noisy, clean, _ = request.param(1500, seed)
        some = trust(clean, np.arange(100))
        found.append((fit(X, noisy), fit(X, noisy, some), clean, noisy))
    return request.param, found


def test_checked_rows_narrow_the_intervals(with_and_without):
    """With 100 checked rows the intervals of both rates are narrower, on each table."""
    for plain, told, *_ in with_and_without[1]:
        assert (widths(told) < widths(plain)).all()
        assert told.wrong_share_.high - told.wrong_share_.low < (
            plain.wrong_share_.high - plain.wrong_share_.low
        )


def test_checked_rows_cover_the_rates(with_and_without):
    """At most one interval in a dozen misses the share that is wrong.

    With a coverage of .95 more than two of twelve miss in one run of fifty; the seeds are fixed.
    """
    missed = 0
    for _, told, clean, noisy in with_and_without[1]:
        truth = [np.mean(noisy[clean] == 0), np.mean(noisy[~clean] == 1)]
        for rate, (low, high) in zip(truth, told.noise_rate_interval_, strict=True):
            missed += not low <= rate <= high
    assert missed <= 2


def test_checked_rows_do_no_harm(with_and_without):
    """They lower the cost where mistakes follow the features, and never raise it.

    By the mean over tables, to within two standard errors of the differences.
    """
    law, found = with_and_without
    change = np.array(
        [
            paid(told, seed) - paid(plain, seed)
            for seed, (plain, told, *_) in zip(SEEDS, found, strict=True)
        ]
    )
    error = change.std(ddof=1) / np.sqrt(len(change))
    assert change.mean() <= 2 * error
    if law is draw:
        assert change.mean() < 0


@pytest.mark.slow
@pytest.mark.parametrize("chosen_by", ["label", "score", "doubt"])
def test_chosen_rows_tell_the_rates_that_random_ones_do(chosen_by):
    """Rows may be chosen by columns and label: what counts is the right label given both.

    Means over tables of the rates found, to within three standard errors of their difference.
    """
    differences = []
    for seed in range(8):
        rng = np.random.default_rng([7, seed])
        x = rng.normal(size=(2000, 1))
        clean = rng.random(2000) < expit(2 * x[:, 0])
        noisy = clean ^ (rng.random(2000) < np.where(clean, 0.3, 0.1))
        weight = {
            "label": np.where(noisy, 4.0, 1.0),
            "score": np.exp(3 * np.abs(x[:, 0])),
            "doubt": np.exp(-3 * np.abs(x[:, 0])),
        }[chosen_by]
        picked = rng.choice(2000, 150, replace=False, p=weight / weight.sum())
        rates = [
            fit(x, noisy, trust(clean, rows)).noise_rate_
            for rows in (picked, rng.permutation(2000)[:150])
        ]
        differences.append(np.subtract(*rates))
    differences = np.array(differences)
    error = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
    assert (np.abs(differences.mean(axis=0)) < 3 * error + 0.01).all()


@pytest.mark.slow
def test_rows_of_one_label_leave_the_other_rate_open():
    """Where only rows labelled positive are checked, nothing is known of missed positives."""
    for seed in range(4):
        rng = np.random.default_rng([7, seed])
        x = rng.normal(size=(2000, 1))
        clean = rng.random(2000) < expit(2 * x[:, 0])
        noisy = clean ^ (rng.random(2000) < np.where(clean, 0.3, 0.1))
        model = fit(x, noisy, trust(clean, np.flatnonzero(noisy)[:150]))
        low, high = model.noise_rate_interval_[0]
        assert low <= 0.3 <= high
        assert high - low > 0.3  # 150 random rows leave some 0.2


def test_all_rows_checked_is_ordinary_learning():
    """The rates are then those that are seen, and calls those of a fit to the right labels."""
    X, noisy, clean, _ = draw(3000, 1)
    told = fit(X, noisy, clean)
    ordinary = fit(X, clean, noise_rate=0.0)
    seen = [np.mean(~noisy[clean]), np.mean(noisy[~clean])]
    for rate, truth, (low, high) in zip(
        told.noise_rate_, seen, told.noise_rate_interval_, strict=True
    ):
        assert rate == pytest.approx(truth, abs=0.03)
        assert low <= truth <= high
    assert np.mean(told.predict(X) == ordinary.predict(X)) > 0.97


def test_nothing_checked_is_as_without():
    """A column that is empty changes nothing."""
    X, noisy, _, _ = draw(500, 2)
    plain, told = fit(X, noisy), fit(X, noisy, np.full(500, np.nan))
    np.testing.assert_array_equal(plain.oof_probability_, told.oof_probability_)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("n_checked", [1, 40])
def test_checked_rows_of_one_class_only(right, n_checked):
    """They tell what they can: the rate of the other class stays wide, nothing breaks."""
    X, noisy, clean, _ = draw(800, 3)
    told = fit(X, noisy, trust(clean, np.flatnonzero(clean == right)[:n_checked]))
    assert np.isfinite(told.predict_proba(X)).all()
    assert told.cost_interval_[0] <= told.cost_estimate_ <= told.cost_interval_[1]
    assert "checked" in told.summary()


def test_contradicting_duplicates():
    """The same row may be right one way and the other: that is overlap, and no mistake."""
    X, noisy, *_ = draw(600, 4)
    X = np.concatenate([X, X])
    trusted = np.full(1200, np.nan)
    trusted[:100], trusted[600:700] = 0.0, 1.0
    with pytest.warns(DependenceWarning, match="600 of 1,200 rows repeat others"):
        told = fit(X, np.concatenate([noisy, noisy]), trusted)
    assert np.isfinite(told.predict_proba(X)).all()


@pytest.mark.parametrize(
    "column",
    [
        lambda values: pd.Series(values, dtype="boolean"),
        lambda values: pd.Series(values, dtype=object),
        lambda values: pl.Series(values, dtype=pl.Boolean),
        list,
    ],
    ids=["pandas", "objects", "polars", "list"],
)
def test_columns_of_any_kind(column):
    """Missing is missing in every kind of column, and the same rows say the same."""
    X, noisy, clean, _ = draw(400, 5)
    values = [bool(c) if k < 50 else None for k, c in enumerate(clean)]
    told, peer = fit(X, noisy, column(values)), fit(X, noisy, trust(clean, np.arange(50)))
    np.testing.assert_array_equal(told.oof_probability_, peer.oof_probability_)


def test_labels_that_are_words():
    """The right labels are the same words as the labels."""
    X, noisy, clean, _ = draw(400, 5)
    words = np.array(["no", "yes"])
    trusted = np.where(np.arange(400) < 50, words[clean.astype(int)].astype(object), None)
    told = fit(X, words[noisy.astype(int)], trusted, pos_label="yes")
    peer = fit(X, noisy, trust(clean, np.arange(50)))
    np.testing.assert_array_equal(told.oof_probability_, peer.oof_probability_)


@pytest.mark.parametrize(
    ("trusted", "words"),
    [
        (np.r_[2.0, np.full(299, np.nan)], "must hold the labels"),
        (np.array(["yes", *[None] * 299], dtype=object), "'yes' in row 0"),
        (np.full(299, np.nan), "each of the 300 rows"),
    ],
)
def test_bad_columns_are_refused(trusted, words):
    """A third value, or another length, is refused with a sentence that says where."""
    X, noisy, _, _ = draw(300, 6)
    with pytest.raises(ValueError, match=words):
        fit(X, noisy.astype(int), trusted)


def test_checked_rows_correct_scores_of_transformed_features():
    """What is corrected by features sees them transformed, in the fit and of new rows."""
    X, noisy, clean, _ = flip_evenly(1500, 0)
    model = FlipCostClassifier(COST, features=Nystroem(n_components=20, random_state=0))
    model.fit(X, noisy, trusted=trust(clean, np.arange(300)))
    assert model.wrong_share_.low < 0.2 < model.wrong_share_.high
    assert model.predict_proba(X).shape == (1500, 2)
