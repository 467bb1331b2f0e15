"""UnevenMarginClassifierCV: the grid from fold moments against the grid by hand."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    ParameterGrid,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from benchmarks.closed_form import WeightedRidge
from benchmarks.timing import peak_extra_bytes
from flipcost import Costs, UnevenMarginClassifier, UnevenMarginClassifierCV
from flipcost.core.confusion import MEASURES, ConfusionCounts, measure
from flipcost.core.noise import flip
from flipcost.exceptions import DenoisingWarning
from tests.reference.brute import two_classes

GRID = {"margins": [0.5, 1.0, 2.0], "l2s": [0.001, 0.1, 3.0]}


@pytest.fixture(scope="module")
def rows():
    X, positive = two_classes(n=240, d=3, seed=2, shift=0.5)
    return X, positive.astype(int)


def split_scores(search):
    n_splits = sum(
        key.endswith("_test_score") and key.startswith("split") for key in search.cv_results_
    )
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(n_splits)])


def scores_by_hand(search, X, y, splits, weight=None, noise_rate=None):
    """Fit and score every candidate on every split, one after the other."""
    cost = search.scoring_cost
    scores = []
    for train, test in splits:
        scores.append([])
        for candidate in ParameterGrid(
            {
                "cost": np.atleast_1d(search.costs).tolist(),
                "margin": np.atleast_1d(search.margins).tolist(),
                "l2": np.atleast_1d(search.l2s).tolist(),
                "noise_rate": search.noise_rates
                if isinstance(search.noise_rates, list)
                else [search.noise_rates],
            }
        ):
            model = UnevenMarginClassifier(**candidate)
            model.fit(X[train], y[train], None if weight is None else weight[train])
            table = ConfusionCounts.from_labels(
                y[test] == 1, model.predict(X[test]) == 1, None if weight is None else weight[test]
            )
            share = candidate["cost"] if cost is None else cost
            value = float(measure(table.denoised(noise_rate), search.scoring, share))
            scores[-1].append(-value if search.scoring == "cost" else value)
    return np.array(scores)


def test_scores_are_those_of_a_grid_search_with_weighted_ridge(rows):
    """Folds' scores equal GridSearchCV's over the same candidates by scikit-learn's ridge."""
    X, y = rows
    search = UnevenMarginClassifierCV(costs=0.3, **GRID).fit(X, y)
    peer = GridSearchCV(
        WeightedRidge(cost=0.3), {"margin": GRID["margins"], "l2": GRID["l2s"]}, cv=5
    ).fit(X, y)
    assert [p["margin"] for p in search.cv_results_["params"]] == [
        p["margin"] for p in peer.cv_results_["params"]
    ]
    for key in (*(f"split{k}_test_score" for k in range(5)), "mean_test_score", "std_test_score"):
        np.testing.assert_allclose(search.cv_results_[key], peer.cv_results_[key], atol=1e-10)


@pytest.mark.parametrize("scoring", MEASURES)
@pytest.mark.parametrize("denoised", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_measures_by_hand(rows, scoring, denoised, weighted):
    """Each measure, observed and denoised, with and without weights, is that of brute force."""
    X, y = rows
    weight = np.random.default_rng(0).gamma(2.0, size=len(y)) if weighted else None
    search = UnevenMarginClassifierCV(
        costs=[0.3, 0.5],
        **GRID,
        noise_rates=[None, 0.05],
        scoring=scoring,
        denoised=denoised,
        scoring_cost=0.3 if scoring == "cost" else None,
        scoring_noise_rate=0.05 if denoised else None,
        cv=4,
    ).fit(X, y, sample_weight=weight)
    splits = StratifiedKFold(4).split(X, y)
    expected = scores_by_hand(search, X, y, splits, weight, 0.05 if denoised else None)
    np.testing.assert_allclose(split_scores(search), expected, rtol=0, atol=1e-10)


def test_measures_are_scikit_learns(rows):
    """Accuracy, AM and F are the scores that GridSearchCV gives with scikit-learn's own."""
    X, y = rows
    for scoring, name in (("accuracy", "accuracy"), ("am", "balanced_accuracy"), ("f", "f1")):
        search = UnevenMarginClassifierCV(**GRID, scoring=scoring, cv=3).fit(X, y)
        peer = GridSearchCV(
            UnevenMarginClassifier(),
            {"margin": GRID["margins"], "l2": GRID["l2s"]},
            scoring=name,
            cv=3,
        ).fit(X, y)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-10
        )


def bootstrap_splits(n):
    """Training sets drawn with replacement, which overlap with what is tested on."""
    rng = np.random.default_rng(3)
    return [(rng.integers(0, n, n), np.arange(k, n, 3)) for k in range(3)]


SPLITTERS = {
    "stratified, shuffled": StratifiedKFold(4, shuffle=True, random_state=0),
    "in order": KFold(3),
    "shuffled": ShuffleSplit(4, test_size=0.3, random_state=0),
    "part of the rows": ShuffleSplit(3, test_size=0.2, train_size=0.3, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    "time series": TimeSeriesSplit(3),
    "iterable": [(np.arange(0, 160), np.arange(160, 240)), (np.arange(80, 240), np.arange(0, 80))],
    "masks": [(np.arange(240) < 160, np.arange(240) >= 160)],
    "training rows tested": [(np.arange(240), np.arange(240))],
    "bootstrap": bootstrap_splits(240),
}


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_splitter(rows, name, weighted):
    """Splits that are no partition, overlap or repeat rows are scored as by brute force."""
    X, y = rows
    cv = SPLITTERS[name]
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    search = UnevenMarginClassifierCV(costs=0.3, **GRID, scoring="am", cv=cv).fit(X, y, weight)
    splits = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    expected = scores_by_hand(search, X, y, splits, weight)
    np.testing.assert_allclose(split_scores(search), expected, rtol=0, atol=1e-10)
    refitted = UnevenMarginClassifier(**search.best_params_).fit(X, y, weight)
    np.testing.assert_allclose(search.coef_, refitted.coef_, rtol=1e-9, atol=1e-12)


def test_groups(rows):
    """Groups go to a splitter that takes them."""
    X, y = rows
    groups = np.arange(len(y)) % 7
    search = UnevenMarginClassifierCV(**GRID, cv=GroupKFold(3)).fit(X, y, groups=groups)
    expected = scores_by_hand(search, X, y, GroupKFold(3).split(X, y, groups))
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-10)
    with pytest.raises(ValueError, match="groups"):
        UnevenMarginClassifierCV(cv=GroupKFold(3)).fit(X, y)


def test_as_many_folds_as_rows(rows):
    """Leaving out one row at a time is scored as by brute force."""
    X, y = rows[0][:40], rows[1][:40]
    search = UnevenMarginClassifierCV(l2s=[0.1, 1.0], cv=LeaveOneOut()).fit(X, y)
    expected = scores_by_hand(search, X, y, LeaveOneOut().split(X))
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-10)


def test_a_seeded_splitter_is_drawn_from_once(rows):
    """A splitter with a random state of its own gives the splits that it gives anybody."""
    X, y = rows
    make = lambda: ShuffleSplit(3, random_state=np.random.RandomState(5))  # noqa: E731
    search = UnevenMarginClassifierCV(**GRID, cv=make()).fit(X, y)
    expected = scores_by_hand(search, X, y, make().split(X))
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-10)


def test_the_choice_is_refitted_to_all_rows(rows):
    """The chosen candidate has the best mean score, and is fitted to all rows."""
    X, y = rows
    search = UnevenMarginClassifierCV(costs=[0.3, 0.6], **GRID, scoring="f").fit(X, y)
    means = search.cv_results_["mean_test_score"]
    assert means[search.best_index_] == pytest.approx(means.max(), abs=1e-12)
    assert search.best_score_ == means[search.best_index_]
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    alone = UnevenMarginClassifier(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.coef_, alone.coef_, rtol=1e-10)
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_allclose(
            getattr(search, method)(X), getattr(search.best_estimator_, method)(X)
        )


def test_ties_go_to_the_larger_penalty():
    """Of candidates with the same score, the largest penalty is chosen, then the first."""
    X = np.repeat([[-1.0], [1.0]], 20, axis=0)
    y = np.repeat([0, 1], 20)  # every candidate is right everywhere
    search = UnevenMarginClassifierCV(margins=[2.0, 1.0], l2s=[0.1, 1.0, 0.01]).fit(X, y)
    assert np.all(search.cv_results_["mean_test_score"] == 1)
    assert search.best_params_ == {"cost": 0.5, "margin": 2.0, "l2": 1.0, "noise_rate": None}
    assert np.all(search.cv_results_["rank_test_score"] == 1)


def test_results_have_the_shape_of_a_grid_searchs(rows):
    """`cv_results_` has the keys, shapes and order of GridSearchCV's, and ranks as it does."""
    X, y = rows
    search = UnevenMarginClassifierCV(**GRID).fit(X, y)
    peer = GridSearchCV(
        UnevenMarginClassifier(),
        {"cost": [0.5], "margin": GRID["margins"], "l2": GRID["l2s"], "noise_rate": [None]},
        cv=5,
    ).fit(X, y)
    assert set(search.cv_results_) == set(peer.cv_results_)
    assert search.cv_results_["params"] == peer.cv_results_["params"]
    for key, values in peer.cv_results_.items():
        assert len(search.cv_results_[key]) == len(values)
        if key.startswith("param_"):
            assert isinstance(search.cv_results_[key], np.ma.MaskedArray)
            assert search.cv_results_[key].tolist() == values.tolist()
        if key == "rank_test_score":
            np.testing.assert_array_equal(search.cv_results_[key], values)
            assert search.cv_results_[key].dtype == values.dtype
        elif "time" in key:
            assert np.all(search.cv_results_[key] >= 0)


def test_single_values_and_prices(rows):
    """Single candidates need no list, and prices stand for a cost."""
    X, y = rows
    search = UnevenMarginClassifierCV(
        costs=Costs(fn=4, fp=1), margins=1, l2s=0.1, noise_rates=0.05, scoring="cost", denoised=True
    ).fit(X, y)
    assert search.best_params_ == {"cost": 0.2, "l2": 0.1, "margin": 1, "noise_rate": 0.05}
    pair = UnevenMarginClassifierCV(noise_rates=[(0.1, 0.02)], l2s=[0.1]).fit(X, y)
    assert pair.best_params_["noise_rate"] == (0.1, 0.02)


def test_impossible_rates_are_scored_nan_and_reported(rows):
    """Rates that the labels of a fold rule out are not chosen from, and a warning says so."""
    X, y = rows
    search = UnevenMarginClassifierCV(noise_rates=[0.49, 0.05], l2s=[0.1, 1.0])
    with pytest.warns(DenoisingWarning, match=r"2 of 4 candidates.*NaN.*impossible.*drop those"):
        search.fit(X, y)
    lost = [p["noise_rate"] == 0.49 for p in search.cv_results_["params"]]
    np.testing.assert_array_equal(np.isnan(search.cv_results_["mean_test_score"]), lost)
    assert search.best_params_["noise_rate"] == 0.05
    assert search.cv_results_["rank_test_score"][lost].tolist() == [3, 3]


def test_when_nothing_can_be_scored(rows):
    """When no candidate has a score, an error says what to fix."""
    X, y = rows
    message = r"At least one candidate.*none has.*noise rates \[0\.49\].*smaller.*fewer folds"
    with pytest.raises(ValueError, match=message):
        UnevenMarginClassifierCV(noise_rates=0.49).fit(X, y)
    few = np.zeros(len(y), int)
    few[:3] = 1
    with pytest.raises(ValueError, match=r"'am' is not defined.*fewer folds"):
        UnevenMarginClassifierCV(scoring="am").fit(X, few)


def test_denoised_cost_finds_the_clean_choice():
    """On flipped labels, denoised scores agree with scores of the clean labels; noisy ones do not.

    Out-of-fold counts of 20,000 rows have standard errors below 0.004 after denoising by 1 - 2 rho
    = 0.5; four of them are allowed.
    """
    X, positive = two_classes(n=20_000, d=3, seed=1)
    noisy = flip(positive, 0.25, np.random.default_rng(0))
    options = {"costs": 0.2, "margins": [0.3, 1.0, 4.0], "noise_rates": 0.25, "scoring": "cost"}
    denoised = UnevenMarginClassifierCV(**options, denoised=True).fit(X, noisy)
    observed = UnevenMarginClassifierCV(**options).fit(X, noisy)
    clean = []
    for candidate in denoised.cv_results_["params"]:
        folds = StratifiedKFold(5).split(X, noisy)
        flagged = np.empty(len(X), bool)
        for train, test in folds:
            flagged[test] = (
                UnevenMarginClassifier(**candidate).fit(X[train], noisy[train]).predict(X[test])
            )
        clean.append(
            -float(measure(ConfusionCounts.from_labels(positive, flagged).counts, "cost", 0.2))
        )
    np.testing.assert_allclose(denoised.cv_results_["mean_test_score"], clean, atol=0.016)
    assert np.abs(observed.cv_results_["mean_test_score"] - clean).max() > 0.05


def test_the_positive_label(rows):
    """`pos_label` turns costs, F and rates to that label, in scoring as in fitting."""
    X, y = rows
    names = np.where(y == 1, "a", "b")
    named = UnevenMarginClassifierCV(costs=0.3, **GRID, scoring="f", pos_label="a").fit(X, names)
    plain = UnevenMarginClassifierCV(costs=0.3, **GRID, scoring="f").fit(X, y)
    np.testing.assert_allclose(split_scores(named), split_scores(plain), atol=1e-12)
    np.testing.assert_array_equal(named.predict(X) == "a", plain.predict(X) == 1)
    best = metrics.f1_score(names, named.predict(X), pos_label="a")
    assert best == pytest.approx(metrics.f1_score(y, plain.predict(X)))


def test_sparse_rows(rows):
    """CSR rows are cross-validated as their dense form is."""
    X, y = rows
    dense = UnevenMarginClassifierCV(**GRID).fit(X, y)
    for cv in (5, ShuffleSplit(2, random_state=0)):
        dense = UnevenMarginClassifierCV(**GRID, cv=cv).fit(X, y)
        search = UnevenMarginClassifierCV(**GRID, cv=cv).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(split_scores(search), split_scores(dense), atol=1e-12)


def test_cross_validation_takes_little_memory():
    """The whole grid takes less than a quarter of the memory of the rows."""
    X = np.random.default_rng(0).normal(size=(100_000, 30))
    y = (X[:, 0] > 0).astype(np.int64)
    search = UnevenMarginClassifierCV(margins=[0.5, 1.0, 2.0])
    assert peak_extra_bytes(lambda: search.fit(X, y)) < 0.25 * X.nbytes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"costs": []}, r"`costs` must hold at least one candidate; got none\. Give"),
        ({"noise_rates": []}, r"`noise_rates` must hold at least one candidate; got none\. Give"),
        ({"costs": [0.2, 0.3], "scoring": "cost"}, r"`scoring_cost` must be given.*got None.*give"),
        ({"denoised": True}, r"`scoring_noise_rate` must be given.*got None.*give it"),
        ({"scoring": "recall"}, r"'scoring' parameter .* must be a str among .*Got 'recall'"),
        ({"cv": 1}, r"number of folds must be at least 2.*got 1\. Choose"),
        ({"cv": 1000}, r"at most the rows of the larger class.*got 1000\. Choose"),
        (
            {"cv": [(np.arange(0), np.arange(240))]},
            r"Every split of `cv` must leave rows.*got one that leaves none\. Check",
        ),
    ],
)
def test_bad_parameters_are_refused(rows, arguments, message):
    """Grids and folds that make no sense are refused, with what to do."""
    with pytest.raises(ValueError, match=message):
        UnevenMarginClassifierCV(**arguments).fit(*rows)
