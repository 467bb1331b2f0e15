"""Measures by hand, against scikit-learn, and against what noise does in expectation."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from flipcost import Costs, WeightedLogisticClassifier
from flipcost.datasets import make_syn3d
from flipcost.metrics import (
    am_score,
    am_scorer,
    cost_scorer,
    denoised_confusion,
    denoised_cost,
    eta_scores,
    f_score,
    f_scorer,
    weighted_cost,
)
from flipcost.noise import flip_labels


@pytest.fixture(scope="module")
def flags():
    """Labels, predictions and weights."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    return y, np.where(rng.random(200) < 0.3, 1 - y, y), rng.uniform(0, 2, 200)


def exact_noise(y, yhat, rho_pos, rho_neg, times=10):
    """Repeat rows, flipping exactly the expected number of the labels of each cell."""
    y, yhat = np.repeat(y, times), np.repeat(yhat, times)
    noisy = y.copy()
    for label, rate in ((1, rho_pos), (0, rho_neg)):
        for call in (0, 1):
            cell = np.flatnonzero((y == label) & (yhat == call))
            chosen = cell[: round(rate * len(cell))]
            noisy[chosen] = 1 - label
    return noisy, y, yhat


def test_scores_agree_with_scikit_learn(flags):
    """AM is balanced accuracy and F is F1, weights and positive class included."""
    y, yhat, weight = flags
    for w in (None, weight):
        assert am_score(y, yhat, sample_weight=w) == pytest.approx(
            balanced_accuracy_score(y, yhat, sample_weight=w)
        )
        for label in (0, 1):
            assert f_score(y, yhat, sample_weight=w, pos_label=label) == pytest.approx(
                f1_score(y, yhat, sample_weight=w, pos_label=label)
            )


def test_weighted_cost_is_the_papers_sum(flags):
    """It is (1 - cost) FN + (cost / margin) FP, of rows or of weights, or their mean."""
    y, yhat, weight = flags
    fn, fp = (y == 1) & (yhat == 0), (y == 0) & (yhat == 1)
    assert weighted_cost(y, yhat, 0.2, 0.5) == pytest.approx(0.8 * fn.sum() + 0.4 * fp.sum())
    by_weight = 0.8 * weight[fn].sum() + 0.2 * weight[fp].sum()
    assert weighted_cost(y, yhat, 0.2, sample_weight=weight) == pytest.approx(by_weight)
    assert weighted_cost(y, yhat, Costs(fn=4, fp=1), sample_weight=weight) == pytest.approx(
        5 * by_weight
    )
    mean = weighted_cost(y, yhat, 0.2, normalize=True, sample_weight=weight)
    assert mean == pytest.approx(by_weight / weight.sum())
    swapped = weighted_cost(y, yhat, 0.8, pos_label=0)
    assert swapped == pytest.approx(weighted_cost(y, yhat, 0.2))


@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.1)])
def test_denoising_undoes_the_expected_noise(flags, rates):
    """When exactly the expected labels are flipped, the clean figures come back."""
    noisy, y, yhat = exact_noise(*flags[:2], *rates)
    counts = denoised_confusion(noisy, yhat, rates)
    clean = denoised_confusion(y, yhat, None)
    assert np.allclose(counts, clean, atol=0.5 / (1 - sum(rates)))  # each cell rounds by half a row
    assert denoised_cost(noisy, yhat, 0.2, rates).value == pytest.approx(
        weighted_cost(y, yhat, 0.2), abs=2
    )
    assert f_score(noisy, yhat, noise_rate=rates) == pytest.approx(f_score(y, yhat), abs=0.002)
    assert am_score(noisy, yhat, noise_rate=rates) == pytest.approx(am_score(y, yhat), abs=0.002)


def test_denoised_cost_is_weighted_cost_without_noise(flags):
    """At rate None the value is the cost itself, within its interval, in the same units."""
    y, yhat, weight = flags
    for normalize in (False, True):
        found = denoised_cost(y, yhat, 0.2, None, normalize=normalize, sample_weight=weight)
        cost = weighted_cost(y, yhat, 0.2, normalize=normalize, sample_weight=weight)
        assert found.value == pytest.approx(cost)
        assert found.low < cost < found.high


def test_denoised_interval_covers_the_clean_cost():
    """Over 400 noisings the interval holds the clean cost as often as it says."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        y = rng.integers(0, 2, 400)
        yhat = np.where(rng.random(400) < 0.2, 1 - y, y)
        noisy = flip_labels(y, 0.2, random_state=rng)
        found = denoised_cost(noisy, yhat, 0.3, 0.2, normalize=True)
        covered += found.low <= 0.2 * 0.5 <= found.high  # mean cost 0.2 (0.7 + 0.3) / 2
    assert covered / 400 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


@pytest.mark.parametrize("rate", [None, 0.2, (0.3, 0.1)])
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("copies", [2, 7])
def test_copies_in_groups_count_once(rate, by_row, weighted, copies):
    """Copies of rows, told as groups, leave the interval but for the t-interval of few groups."""
    rng = np.random.default_rng(copies)
    n = 300
    y = rng.integers(0, 2, n)
    yhat = np.where(rng.random(n) < 0.3, 1 - y, y)
    noisy = flip_labels(y, 0 if rate is None else rate, random_state=rng)
    amounts, weight = rng.uniform(3, 5, n), rng.uniform(0.5, 2, n) if weighted else None
    often = rng.permutation(np.repeat(np.arange(n), copies))

    def found(rows, **more):
        cost = Costs(fn=amounts[rows], fp=2) if by_row else 0.3
        more["sample_weight"] = None if weight is None else weight[rows]
        return denoised_cost(noisy[rows], yhat[rows], cost, rate, normalize=True, **more)

    once = found(np.arange(n))
    grouped, plain = found(often, groups=[f"row {k}" for k in often]), found(often)
    wider = stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975) * np.sqrt(n / (n - 1))
    assert grouped.value == pytest.approx(once.value)
    assert 0 < once.low < grouped.high  # not clipped to the feasible range
    width = once.high - once.low
    # The half row that is added to each cell grows as the variance: by 0.6 %, among 300 rows.
    assert grouped.high - grouped.low == pytest.approx(wider * width, rel=1e-4)
    assert plain.high - plain.low < 1.05 * width / np.sqrt(copies)
    alone = found(np.arange(n), groups=np.arange(n))
    assert (alone.low, alone.high) == (once.low, once.high)


def test_copies_count_once_where_nothing_varies():
    """Copies of rows of one label and one call tell no more than the rows do."""
    ones, groups = np.ones(60), np.repeat(np.arange(30), 2)
    # Thirty groups are as few in a t-interval; the half row that is added grows as the variance.
    wider = 30 / 29 * (stats.t.ppf(0.975, 29) / stats.norm.ppf(0.975)) ** 2
    for cost in (0.3, Costs(fn=np.full(60, 4.0), fp=2)):
        few = 0.3 if cost == 0.3 else Costs(fn=np.full(30, 4.0), fp=2)
        once = denoised_cost(ones[:30], ones[:30], few, None, normalize=True)
        grouped = denoised_cost(ones, ones, cost, None, normalize=True, groups=groups)
        assert once.high <= grouped.high <= wider * once.high
        assert denoised_cost(ones, ones, cost, None, normalize=True).high < 0.8 * once.high


def test_groups_must_be_known():
    """A group is needed for each row, and two of them at least."""
    y = [1, 0, 1]
    with pytest.raises(ValueError, match="`groups` must have a value for each of the 3 rows"):
        denoised_cost(y, y, 0.2, 0.1, groups=[1, 2])
    with pytest.raises(ValueError, match="`groups` must be known of every row; got 1 without"):
        denoised_cost(y, y, 0.2, 0.1, groups=["a", None, "b"])


def test_labels_of_any_kind_and_one_kind_only():
    """Strings, booleans and signs work; a lone value is decided by convention or by `pos_label`."""
    assert f_score(["b", "a", "b"], ["b", "b", "b"]) == pytest.approx(0.8)
    assert f_score([True, False], [True, True]) == pytest.approx(2 / 3)
    assert weighted_cost([-1, 1, 1], [1, 1, -1], 0.2) == pytest.approx(1.0)
    assert f_score([1, 1], [1, 1]) == 1.0
    assert f_score([0, 0], [0, 0]) == 0.0
    assert weighted_cost(["no", "no"], ["no", "no"], 0.2, pos_label="yes") == 0.0
    with pytest.raises(ValueError, match="give `pos_label`"):
        f_score(["no", "no"], ["no", "no"])
    with pytest.raises(ValueError, match="must hold two values; got 3"):
        f_score([0, 1, 2], [0, 1, 1])
    with pytest.raises(ValueError, match="`pos_label` must be one of"):
        f_score([0, 1], [0, 1], pos_label=2)
    with pytest.raises(ValueError, match="same number of rows; got 2 and 3"):
        f_score([0, 1], [0, 1, 1])


def test_scorers_are_the_measures_with_larger_better(flags):
    """Inside cross-validation they give the mean cost, AM and F of each fold."""
    data = make_syn3d(300, random_state=0)
    X, y = data.data, data.target
    model = LogisticRegression().fit(X, y)
    yhat = model.predict(X)
    assert cost_scorer(0.2)(model, X, y) == pytest.approx(
        -weighted_cost(y, yhat, 0.2, normalize=True)
    )
    assert am_scorer()(model, X, y) == pytest.approx(am_score(y, yhat))
    assert f_scorer(pos_label=y.min())(model, X, y) == pytest.approx(
        f_score(y, yhat, pos_label=y.min())
    )
    assert cost_scorer(0.5)(model, X, y) == pytest.approx((accuracy_score(y, yhat) - 1) / 2)
    assert cross_val_score(LogisticRegression(), X, y, scoring=am_scorer(0.1)).shape == (5,)
    with pytest.raises(ValueError, match="must lie in"):
        cost_scorer(1.5)
    with pytest.raises(ValueError, match="must lie in"):
        f_scorer(0.6)


def test_only_the_denoised_cost_finds_the_rate():
    """A search over assumed rates is led to the true one by the denoised cost, not by the noisy."""
    data = make_syn3d(4000, random_state=0)
    noisy = flip_labels(data.target, 0.3, random_state=1)
    grid = {"noise_rate": [0.0, 0.15, 0.3]}
    chosen = {}
    for rate in (None, 0.3):
        search = GridSearchCV(WeightedLogisticClassifier(0.2), grid, scoring=cost_scorer(0.2, rate))
        chosen[rate] = search.fit(data.data, noisy).best_params_["noise_rate"]
    assert chosen[0.3] == 0.3
    assert chosen[None] < 0.3


def test_eta_scores_by_hand():
    """Each of the nine measures on three rows."""
    eta, hat, y = [0.2, 0.5, 0.9], [0.4, 0.4, 1.0], ["a", "b", "b"]
    scores = eta_scores(eta, hat, y)
    error = np.array([0.2, -0.1, 0.1])
    assert scores["MSE"] == pytest.approx((error**2).mean())
    assert scores["RMSE"] == pytest.approx(np.sqrt((error**2).mean()))
    assert scores["MAD"] == pytest.approx(np.abs(error).mean())
    assert scores["MD"] == pytest.approx(error.mean())
    assert scores["Acc"] == pytest.approx(2 / 3)  # right counts, not wrong
    assert scores["BS"] == pytest.approx((0.16 + 0.36 + 0.0) / 3)  # y is 0 or 1
    assert scores["DiffMax"] == pytest.approx(0.1)
    assert scores["DiffMin"] == pytest.approx(0.2)
    assert np.isnan(scores["KL"])  # the last estimate rules out a label of probability 0.1
    finite = eta_scores(eta[:2], hat[:2])
    by_hand = 0.2 * np.log(0.5) + 0.8 * np.log(8 / 6), 0.5 * np.log(5 / 4) + 0.5 * np.log(5 / 6)
    assert finite["KL"] == pytest.approx(np.mean(by_hand))
    assert np.isnan(finite["Acc"])


def test_eta_scores_at_the_edges():
    """Perfect estimates score zero; those outside [0, 1] have no KL; 0 log 0 is 0."""
    eta = [0.0, 0.3, 1.0]
    perfect = eta_scores(eta, eta, [0, 1, 1], pos_label=1)
    for name in ("MSE", "RMSE", "MAD", "MD", "KL", "DiffMax", "DiffMin"):
        assert perfect[name] == 0.0
    outside = eta_scores(eta, [0.0, 0.3, 1.2])
    assert np.isnan(outside["KL"])
    assert outside["DiffMax"] == pytest.approx(0.2)
    train = eta_scores(eta, eta, eta_true_train=[0.1, 0.9], eta_hat_train=[0.0, 0.95])
    assert (train["DiffMax"], train["DiffMin"]) == pytest.approx((0.05, -0.1))
    with pytest.raises(ValueError, match="given together"):
        eta_scores(eta, eta, eta_true_train=eta)
    with pytest.raises(ValueError, match="same rows"):
        eta_scores(eta, eta[:2])
    with pytest.raises(ValueError, match="label for each of 3 rows"):
        eta_scores(eta, eta, [0, 1])
    with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
        eta_scores([1.1], [0.5])
