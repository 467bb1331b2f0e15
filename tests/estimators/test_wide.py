"""Tables with many columns: dense, and sparse ones of which no scatter is made."""

import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from flipcost import FlipCostClassifier, _threads
from flipcost.core.trees import read_trees
from flipcost.estimators.flipcost import boosting


def texts(n, d, seed):
    """Return counts of words, few of which are frequent, and noisy labels that they tell."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, d + 1)
    words = rng.choice(d, size=(n, 30), p=frequency / frequency.sum())
    X = sparse.csr_matrix((np.ones(n * 30), words.ravel(), np.arange(0, 30 * n + 1, 30)), (n, d))
    X.sum_duplicates()
    line = X @ rng.normal(size=d)
    clean = line > np.median(line)
    return X, clean, clean ^ (rng.random(n) < 0.15)


def test_texts_are_learned_without_a_scatter():
    """Five thousand columns of words order rows of another draw, in memory of the rows' size."""
    X, clean, noisy = texts(4000, 5000, 1)
    model = FlipCostClassifier(0.3, random_state=0).fit(X[:3000], noisy[:3000])
    peer = LogisticRegression(C=0.1).fit(X[:3000], noisy[:3000])
    ours, theirs = (
        roc_auc_score(clean[3000:], m.predict_proba(X[3000:])[:, 1]) for m in (model, peer)
    )
    assert ours > theirs - 0.03
    assert len(model.scorer_.coefficients[0]) == 5001


def test_wide_dense_rows_are_the_same_in_either_layout():
    """Rows that come column by column, as from a frame, give what rows in order give."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 120))
    noisy = X[:, 0] + rng.normal(size=400) > 0
    fits = [
        FlipCostClassifier(0.3, features="linear", random_state=0).fit(rows, noisy)
        for rows in (X, np.asfortranarray(X))
    ]
    np.testing.assert_allclose(*(fit.oof_probability_ for fit in fits), atol=1e-9)


@pytest.mark.parametrize(("load", "threads"), [(0.0, 4), (4.4, 4), (6.0, 2), (40.0, 1)])
def test_boosting_keeps_to_cores_that_are_free(monkeypatch, load, threads):
    """Each program that waits for a core takes a thread away, down to one."""
    monkeypatch.setattr(_threads, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert _threads.free_cores() == threads


def test_threads_do_not_change_what_boosting_learns(monkeypatch):
    """Many rows, of which fits run beside each other, give the same numbers."""
    monkeypatch.setattr(boosting, "MANY_ROWS", 500)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    positive, folds = X[:, 0] * X[:, 1] > 0, np.arange(600) % 5
    found, plain, trees = [], [], boosting.boosting_classifier(np.zeros(3, bool), 0)
    for threads in (1, 3):
        monkeypatch.setattr(boosting, "free_cores", lambda: threads)  # noqa: B023 - used at once
        found.append(boosting.boosting_scores(X, np.zeros(3, bool), positive, None, folds))
        plain.append(boosting.plain_scores(trees, X, positive, None, folds))
    assert np.array_equal(found[0][1], found[1][1])
    assert np.array_equal(*(made.score(X) for made, _ in found))
    assert np.array_equal(*plain)
    for k in (0, 1):  # the halves are of whole folds; bins are those of all rows
        train = folds % 2 != k
        alone = read_trees(clone(trees).fit(X[train], positive[train])).score(X[~train])
        assert np.corrcoef(alone, plain[0][~train])[0, 1] > 0.97
