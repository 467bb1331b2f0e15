"""Scores that checked rows correct where wrong labels follow the columns."""

import numpy as np
import pytest
from scipy.special import expit, logit

from flipcost import FlipCostClassifier, load, save
from flipcost.core.correction import learn_correction


def law(n, seed, *, follow):
    """Draw rows; positives are missed where the third column is above zero, or anywhere."""
    rng = np.random.default_rng([27, seed])
    X = rng.normal(size=(n, 4))
    eta = expit(1.5 * X[:, 0] - X[:, 1])
    clean = rng.random(n) < eta
    rate = 0.8 * (X[:, 2] > 0) if follow else 0.4
    return X, clean, clean & (rng.random(n) >= rate), eta


def learned(X, clean, noisy, rows, *, probability=None):
    """Learn what is to be corrected from checked rows, given a score of the labels."""
    line = 1.5 * X[:, 0] - X[:, 1] - 1.6 * (X[:, 2] > 0) - 0.5
    probability = expit(line) if probability is None else probability
    folds = np.arange(len(rows)) % 5
    return learn_correction(probability, line[None], X, noisy, rows, clean[rows], folds)


def test_columns_that_wrong_labels_follow_are_found():
    """The corrected score no longer follows the column that says where positives are missed."""
    X, clean, noisy, eta = law(4_000, 0, follow=True)
    rows = np.random.default_rng(1).permutation(4_000)[:400]
    found = learned(X, clean, noisy, rows)
    line = 1.5 * X[:, 0] - X[:, 1] - 1.6 * (X[:, 2] > 0) - 0.5
    odds = logit(eta)
    assert found.of_features[2] > 0.15
    mended, before = (np.corrcoef(s, odds)[0, 1] for s in (found.score(line[None], X), line))
    assert mended > before + 0.01


def test_nothing_is_corrected_without_need():
    """Where the probability is right already, hardly ever."""
    made = []
    for seed in range(20):
        X, clean, noisy, eta = law(2_000, seed, follow=False)
        rows = np.random.default_rng(seed).permutation(2_000)[:200]
        folds = np.arange(200) % 5
        line = logit(eta)[None]
        made.append(learn_correction(eta, line, X, noisy, rows, clean[rows], folds) is not None)
    assert np.mean(made) <= 0.1


def test_rows_that_were_checked_for_looking_wrong_teach_nothing_alone():
    """Of rows that contradict their score all labels are wrong: most cells are not seen."""
    X, clean, noisy, _ = law(4_000, 3, follow=True)
    suspects = np.flatnonzero(~noisy & (X[:, 0] - X[:, 1] > 1))[:300]
    assert learned(X, clean, noisy, suspects) is None


@pytest.mark.parametrize("features", ["auto", "linear"])
def test_a_corrected_fit_decides_better(features, tmp_path):
    """New rows get what the corrected score says, saved too; checked rows what it said held out."""
    X, clean, noisy, _ = law(3_000, 4, follow=True)
    fresh, _, _, eta = law(8_000, 5, follow=True)
    trusted = np.full(3_000, np.nan)
    rows = np.random.default_rng(6).permutation(3_000)[:400]
    trusted[rows] = clean[rows]
    model = FlipCostClassifier(0.3, features=features, random_state=0)
    model.fit(X, noisy, trusted=trusted)
    assert np.abs(model.predict_proba(fresh)[:, 1] - eta).mean() < 0.08
    # Not what it learned by heart.
    others = np.setdiff1d(np.arange(3_000), rows)
    np.testing.assert_allclose(
        model.predict_proba(X[others])[:, 1], model.oof_probability_[others], atol=0.15
    )
    assert np.all((model.oof_probability_ >= 0) & (model.oof_probability_ <= 1))
    save(model, tmp_path / "model.json")
    saved = load(tmp_path / "model.json").predict_proba(fresh)
    np.testing.assert_allclose(saved, model.predict_proba(fresh), atol=1e-12)
