"""Groups, time and copies: folds and intervals that allow for them."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate

from flipcost import FlipCostClassifier, UnevenMarginClassifierCV
from flipcost.core.clean_means import unbiased_costs
from flipcost.core.costs import RowCosts
from flipcost.core.decision import clean_cost
from flipcost.core.dependence import mean_design
from flipcost.core.error_rates import RatePosterior
from flipcost.datasets import make_syn3d
from flipcost.exceptions import DependenceWarning, FlipCostError
from flipcost.metrics import cost_scorer
from flipcost.noise import flip_labels


def fit(X, y, **more):
    given = {"cost": 0.2, "features": "linear", "random_state": 0}
    given |= {name: more.pop(name) for name in ("noise_rate", "level", "cv") if name in more}
    return FlipCostClassifier(**given).fit(X, y, **more)


def draw_groups(n_groups, rows, rng):
    """Rows that lie close to their group's place, all of its class: nothing to learn."""
    X = np.repeat(rng.normal(size=(n_groups, 5)), rows, axis=0)
    X = X + 0.3 * rng.normal(size=X.shape)
    clean = np.repeat(rng.random(n_groups) < 0.5, rows)
    return X, clean, np.repeat(np.arange(n_groups), rows)


def test_copies_are_noticed_and_counted_once():
    """Each row ten times: a warning with their number, and intervals of the rows there are."""
    data = make_syn3d(200, random_state=0)
    noisy = flip_labels(data.target, 0.2, random_state=1)
    with pytest.warns(DependenceWarning, match=r"1,800 of 2,000 rows repeat others"):
        model = fit(np.repeat(data.data, 10, axis=0), np.repeat(noisy, 10))
    assert model.n_effective_ == pytest.approx(200, rel=0.05)
    assert len(model.warnings_) == 1
    alone = fit(data.data, noisy)
    assert alone.n_effective_ == 200
    widths = [m.wrong_share_.high - m.wrong_share_.low for m in (model, alone)]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)


def test_intervals_cover_where_each_row_is_there_ten_times():
    """Of 40 tables whose rows were copied, intervals of a known rate cover the cost as they say."""
    rng = np.random.default_rng(2)
    test = make_syn3d(20_000, random_state=99)
    covered = 0
    for seed in range(40):
        data = make_syn3d(150, random_state=rng.integers(1 << 31))
        noisy = flip_labels(data.target, 0.2, random_state=seed)
        with pytest.warns(DependenceWarning):
            model = fit(np.repeat(data.data, 10, 0), np.repeat(noisy, 10), noise_rate=0.2)
        flagged, true = model.predict(test.data) == 1, test.target == 1
        cost = np.mean(0.8 * (true & ~flagged) + 0.2 * (~true & flagged))
        covered += model.cost_interval_[0] <= cost <= model.cost_interval_[1]
    assert covered >= 0.9 * 40


def test_intervals_cover_with_groups():
    """Thirty groups of twenty rows: the cost is covered, and no rule is used that knows groups."""
    rng = np.random.default_rng(3)
    covered, chosen = 0, []
    X_test, true, _ = draw_groups(4000, 2, rng)
    for seed in range(40):
        X, clean, groups = draw_groups(30, 20, rng)
        noisy = flip_labels(clean.astype(int), 0.1, random_state=seed)
        model = fit(X, noisy, groups=groups, noise_rate=0.1)
        flagged = model.predict(X_test) == 1
        cost = np.mean(0.8 * (true & ~flagged) + 0.2 * (~true & flagged))
        covered += model.cost_interval_[0] <= cost <= model.cost_interval_[1]
        chosen.append(model.chosen_ == "rule")
    assert covered >= 0.9 * 40
    assert np.mean(chosen) < 0.3
    assert model.n_effective_ < 150


def test_labels_that_turn_with_time_are_said_to_drift():
    """Where what columns mean turns, forward folds show it, and no rate is said to be sure."""
    rng = np.random.default_rng(4)
    X, when = rng.normal(size=(2000, 3)), np.arange(2000)
    clean = (X[:, 0] > 0) ^ (when >= 1000)
    noisy = flip_labels(clean.astype(int), 0.1, random_state=0)
    order = rng.permutation(2000)  # rows need not be in the order of time
    with pytest.warns(DependenceWarning, match="drift with time"):
        model = fit(X[order], noisy[order], time=when[order])
    assert model.n_effective_ < 200
    assert model.wrong_share_.low < 0.1 < model.wrong_share_.high
    assert model.wrong_share_.high - model.wrong_share_.low > 0.2


def test_steady_labels_do_not_drift():
    """Where nothing changes, time costs the first rows and little else."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 3))
    noisy = flip_labels((X[:, 0] > 0).astype(int), 0.1, random_state=0)
    days = np.datetime64("2024-01-01") + np.arange(1500) // 5
    model = fit(X, noisy, time=days)
    assert model.warnings_ == []
    assert model.n_effective_ > 300
    assert model.chosen_ == "rule"
    assert model.wrong_share_.low < 0.1 < model.wrong_share_.high


def test_groups_of_one_row_are_no_groups():
    """A group for each row says that rows are independent: the same fit, copies or not."""
    data = make_syn3d(300, random_state=0)
    plain, said = fit(data.data, data.target), fit(data.data, data.target, groups=np.arange(300))
    np.testing.assert_array_equal(plain.oof_probability_, said.oof_probability_)
    assert said.n_effective_ == 300


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"groups": np.arange(99) // 9}, "100 rows; got 99"),
        ({"groups": np.zeros(100)}, "two values"),
        ({"groups": np.where(np.arange(100) < 5, np.nan, 1.0)}, "known of every row; got 5"),
        ({"groups": [None] * 3 + ["a"] * 97}, "known of every row; got 3"),
        ({"groups": [1, "a"] * 50, "time": None}, "two groups|one kind"),
        ({"groups": np.arange(100), "time": np.arange(100)}, "not both"),
        ({"time": np.arange(100), "cv": GroupKFold(3)}, "number of folds"),
    ],
)
def test_groups_and_times_that_cannot_be_used_are_refused(more, words):
    """One sentence says what is wrong."""
    data = make_syn3d(100, random_state=0)
    if words.startswith("two groups"):
        more["groups"] = np.array([1, "a"] * 50, dtype=object)
    with pytest.raises(FlipCostError, match=words):
        fit(data.data, data.target, **more)


def test_groups_and_time_travel_by_metadata_routing():
    """`cross_validate` hands groups to splitter and fit, each row to its own."""
    rng = np.random.default_rng(6)
    X, clean, groups = draw_groups(40, 6, rng)
    noisy = flip_labels(clean.astype(int), 0.1, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = FlipCostClassifier(cost=0.2, features="linear", random_state=0)
        model.set_fit_request(groups=True, time=False)
        found = cross_validate(
            model,
            X,
            noisy,
            cv=GroupKFold(3),
            scoring=cost_scorer(0.2),
            params={"groups": groups},
            return_estimator=True,
        )
    assert all(m.n_effective_ < 160 for m in found["estimator"])


def test_the_search_keeps_groups_in_one_fold():
    """A number of folds with groups gives folds of groups, which cannot be known by heart."""
    rng = np.random.default_rng(7)
    X, clean, groups = draw_groups(30, 20, rng)
    order = rng.permutation(600)
    X, clean, groups = X[order], clean[order], groups[order]
    far = np.eye(30)[groups]  # which group it is: tells the label of rows of the same group
    search = UnevenMarginClassifierCV(l2s=[0.01])
    apart = search.fit(np.column_stack([X, far]), clean, groups=groups).best_score_
    mixed = search.fit(np.column_stack([X, far]), clean).best_score_
    assert apart < 0.75 < mixed


def draw_priced(n_groups, rows, rng):
    """Draw groups of rows that share a place, their class, and what a miss costs."""
    place = rng.normal(size=n_groups)
    clean = np.repeat(rng.random(n_groups), rows) < 1 / (1 + np.exp(-2 * np.repeat(place, rows)))
    X = np.repeat(place, rows)[:, None] + 0.3 * rng.normal(size=(n_groups * rows, 2))
    fn = 20 * np.repeat(np.exp(0.7 * rng.normal(size=n_groups)), rows)
    return X, clean, np.repeat(np.arange(n_groups), rows), np.column_stack([fn, 0 * fn + 10])


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.3, 0.1)])
def test_costs_of_calls_at_prices_by_row_cover_with_groups(rates):
    """Of 250 intervals of the cost of fixed calls .95 hold it, counted by groups, others far fewer.

    Within three standard errors: groups of ten, sixty of them.
    """
    rng = np.random.default_rng(0)
    known = RatePosterior(np.array([rates]), np.ones(1))
    X, clean, _, given = draw_priced(200_000, 1, rng)
    truth = RowCosts(*given.T).paid(clean, X[:, 0] > -0.3).mean()
    held = np.zeros(2)
    for _ in range(250):
        X, clean, groups, given = draw_priced(60, 10, rng)
        noisy, prices = clean ^ (rng.random(600) < np.where(clean, *rates)), RowCosts(*given.T)

        def by_group(flagged, posterior, noisy=noisy, prices=prices, groups=groups):
            values = unbiased_costs(noisy, flagged, prices, tuple(posterior.mean))
            return mean_design(values, groups)

        for k, design in enumerate((by_group, None)):
            found = clean_cost(noisy, X[:, 0] > -0.3, prices, known, flag_design=design)
            held[k] += found.low <= truth <= found.high
    assert abs(held[0] / 250 - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 250)
    assert held[1] / 250 < 0.8


def test_costs_of_models_at_prices_by_row_cover_with_groups():
    """Nine in ten intervals of a fitted rule's cost hold it if given the groups, else far fewer.

    Not .95: calls are cut by a curve that was learned on the rows they are counted on. Over 150
    draws .92 held it, and .91 where rows are independent.
    """
    rng = np.random.default_rng(0)
    new, true, _, prices = draw_priced(20_000, 1, rng)
    own, held, runs = RowCosts(*prices.T), np.zeros(2), 40
    for seed in range(runs):
        X, clean, groups, given = draw_priced(60, 10, rng)
        noisy = flip_labels(clean.astype(int), 0.1, random_state=seed)
        for k, by in enumerate((groups, np.arange(len(X)))):
            model = fit(X, noisy, groups=by, noise_rate=0.1, prices=given)
            cost = own.paid(true, model.predict(new, prices=own) == 1).mean()
            held[k] += model.cost_interval_[0] <= cost <= model.cost_interval_[1]
    assert held[0] / runs >= 0.9 - 2 * np.sqrt(0.9 * 0.1 / runs)
    assert held[1] / runs < held[0] / runs - 0.1
