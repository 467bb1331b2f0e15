"""Splits, flips, choices and the readings of the two schemes."""

import numpy as np
import pytest

from flipcost.paper.experiments.methods import (
    LinkEstimate,
    combinations,
    run_constants,
    run_natarajan,
    run_scheme1,
    run_scheme2,
)
from flipcost.paper.experiments.problems import (
    PROBLEMS,
    UCI,
    choose,
    clean_scores,
    draw_trial,
    generator,
    possible_rate,
    scores_of,
)
from flipcost.paper.experiments.run import Unit, all_units, run_unit
from flipcost.paper.resampling import margin_grid


@pytest.mark.parametrize(
    ("name", "negatives", "positives"),
    [("thyroid", 30, 13), ("pima", 100, 54), ("german", 140, 60)],
)
def test_splits_are_stratified_80_to_20(name, negatives, positives):
    """The test part has the counts that the printed constant costs imply."""
    trial = draw_trial(3, name, 0)
    assert (~trial.positive).sum() == negatives
    assert trial.positive.sum() == positives


@pytest.mark.parametrize("name", UCI)
def test_only_training_labels_are_flipped(name):
    """Rows and test labels do not depend on the noise rate; training labels do, at that rate."""
    clean, noisy = draw_trial(0, name, 1, 0.0), draw_trial(0, name, 1, 0.4)
    np.testing.assert_array_equal(clean.X, noisy.X)
    np.testing.assert_array_equal(clean.positive, noisy.positive)
    np.testing.assert_array_equal(clean.noisy, clean.clean)
    n = len(noisy.noisy)
    # Five standard deviations of a binomial share.
    flipped = (noisy.noisy != noisy.clean).mean()
    assert abs(flipped - 0.4) < 5 * np.sqrt(0.24 / n)


def test_trials_and_rates_have_flips_of_their_own():
    """Another trial has another split, and another rate other flips."""
    first, second = draw_trial(0, "pima", 0, 0.2), draw_trial(0, "pima", 1, 0.2)
    assert not np.array_equal(first.X, second.X)
    third = draw_trial(0, "pima", 0, 0.4)
    assert not np.array_equal(first.noisy, third.noisy)


def test_synthetic_trials_know_eta():
    """The labels of drawn rows follow the given probabilities."""
    trial = draw_trial(0, "syn3d_imb", 0)
    assert trial.eta.shape == trial.noisy.shape
    spread = np.sqrt((trial.eta * (1 - trial.eta)).sum())
    assert abs(trial.clean.sum() - trial.eta.sum()) < 5 * spread


@pytest.mark.parametrize(
    ("name", "printed"), [("thyroid", 9.188), ("german", 30.21), ("pima", 28.27)]
)
def test_constant_cost_is_the_printed_one(name, printed):
    """Calling every row positive at the largest margin costs what the paper prints for it."""
    trial = draw_trial(0, name, 0)
    found = {
        (method, measure): v for method, measure, v in run_constants(trial, PROBLEMS[name].cost)
    }
    assert found["all_positive", "WC"] == pytest.approx(printed, abs=0.006)
    assert found["all_negative", "AM"] == 0.5


def test_weighted_cost_is_a_sum_over_rows():
    """A miss costs one less the cost, a false alarm the cost over the margin."""
    counts = np.array([[50, 4], [3, 20]])
    assert scores_of(counts, "WC", 0.2, 0.5) == pytest.approx(0.8 * 3 + 0.4 * 4)


def test_the_printed_cost_prefers_large_margins_for_equal_calls():
    """With the same calls at every margin, the printed measure takes the largest margin."""
    counts = np.broadcast_to(np.array([[50, 4], [3, 20]]), (3, 1, 2, 2))
    assert choose(counts, "WC", 0.2, [0.3, 0.5, 0.8])[0] == 2
    assert choose(counts, "Acc", 0.2, [0.3, 0.5, 0.8])[0] == 0


def test_undefined_candidates_are_not_chosen():
    """A candidate whose measure has no value loses to any that has one."""
    counts = np.array([[[[5.0, 0.0], [0.0, 0.0]]], [[[1.0, 4.0], [1.0, 1.0]]]])
    assert choose(counts, "AM", 0.5, [1.0, 2.0])[0] == 1


def test_possible_rate_keeps_both_classes():
    """The lowered rate leaves two hundredths of the rarer class, and no rate is raised."""
    noisy = np.arange(1000) < 410
    rate = possible_rate(0.45, noisy)
    assert (0.41 - rate) / (1 - 2 * rate) == pytest.approx(0.02)
    assert possible_rate(0.1, noisy) == 0.1


def test_scheme_1_at_the_lowest_margin_as_a_weight_is_cost_one_half():
    """With margins as weights and only the lowest one, the calls are those of cost 1/2."""
    trial = draw_trial(0, "pima", 0, 0.2)
    low = margin_grid(0.25)[:1]
    found = {
        (reading, measure): value
        for reading, measure, value in run_scheme1(trial, 0.25, low, 0.2, generator(0, "x"))
    }
    # The threshold at that margin is 1/2 less half of the 0.001 that the grid adds.
    for measure in ("Acc", "AM", "F"):
        assert found["weight", measure] == pytest.approx(found["half", measure], abs=0.01)


def test_stated_cost_calls_all_positive_at_large_noise():
    """At 40 % of noise scheme 1 with the stated cost calls (nearly) every row positive (E1)."""
    records = [
        record
        for trial in range(3)
        for record in run_unit(Unit("noisy", "german", 0.4, None, "usq_regerm", trial), 0)
    ]
    stated = np.mean(
        [r["value"] for r in records if (r["reading"], r["measure"]) == ("stated", "Acc")]
    )
    half = np.mean([r["value"] for r in records if (r["reading"], r["measure"]) == ("half", "Acc")])
    assert stated < 0.35  # 0.30 are positive
    assert half > 0.55


def test_both_readings_of_scheme_2_agree_without_undersampling():
    """When every negative is kept, under-sampled folds are untouched ones."""
    trial = draw_trial(0, "thyroid", 0, 0.2)
    # At this margin the ratio is just one.
    margin = 0.3 / 0.7 * (1 + 1e-13)
    found = run_scheme2(trial, LinkEstimate(trial, "squared"), 0.3, [margin], generator(0, "y"))
    values = {(reading, measure): value for reading, _, measure, value in found}
    for measure in ("Acc", "AM", "F", "WC"):
        assert values["resampled", measure] == values["untouched", measure]


def test_fixed_margins_are_reported_beside_the_tuned_one():
    """Bupa has its margin tuned and fixed at 1, in every measure."""
    records = run_unit(Unit("noisy", "bupa", 0.0, None, "lkfun_sq", 0), 0)
    margins = {(r["gamma"], r["measure"]) for r in records if r["reading"] == "untouched"}
    assert {(g, m) for g in ("tuned", 1.0) for m in ("Acc", "AM", "F", "WC")} <= margins


def test_baselines_know_the_rate():
    """MUB and S-W0-1 distinguish the classes under noise, also where the rate is impossible."""
    trial = draw_trial(0, "thyroid", 2, 0.4)
    found = dict(run_natarajan(trial, "mub_log", 0.4, generator(0, "z")))
    assert set(found) == {"Acc", "AM"}
    assert all(0 <= value <= 1 for value in found.values())


def test_exact_ratios_give_back_the_probability():
    """The normalised estimates of exact class probabilities are the probability itself."""
    eta = np.linspace(0.0, 1.0, 11)
    found = combinations(eta, 1 - eta, 11, 0.5)
    for name in ("pos", "neg", "norm", "pos_s", "neg_s", "norm_s", "avg_s"):
        np.testing.assert_allclose(found[name], eta, atol=1e-15)


def test_scaled_estimates_say_the_same_about_the_label():
    """norm_s, cnorm_s and avg_s lie on the same side of one half, as the printed accuracies do."""
    rng = np.random.default_rng(0)
    pos, other = rng.gamma(1.0, 0.5, 500), rng.gamma(1.0, 0.5, 500)
    found = combinations(pos, other, 400, 0.5)
    flags = [found[name] > 0.5 for name in ("norm_s", "cnorm_s", "avg_s")]
    np.testing.assert_array_equal(flags[0], flags[1])
    np.testing.assert_array_equal(flags[0], flags[2])


@pytest.mark.parametrize(
    "column", ["lkfun_log", "lspc", "kliep", "mub_log", "sw01_log", "flipcost"]
)
def test_methods_tell_the_classes_apart_under_noise(column):
    """With a fifth of the labels flipped, every method has an AM well above that of a constant."""
    records = run_unit(Unit("noisy", "thyroid", 0.2, None, column, 0), 0)
    assert {record["measure"] for record in records} >= {"Acc", "AM"}
    for record in records:
        if record["measure"] == "AM":
            assert 0.6 < record["value"] <= 1, record


@pytest.mark.parametrize("column", ["link", "lspc", "knn", "kliep"])
def test_estimates_of_eta_are_closer_than_a_constant(column):
    """Every estimate comes with nine measures; its mean squared error is below that of one half."""
    records = run_unit(Unit("eta", "syn2d", 0.0, None, column, 0), 0)
    eta = draw_trial(0, "syn2d", 0).eta_test
    assert len({record["measure"] for record in records}) == 9
    for record in records:
        if record["measure"] == "MSE":
            assert record["value"] < np.mean((eta - 0.5) ** 2), record


def test_units_are_their_own_seed():
    """A unit gives the same records alone, twice, and after others."""
    unit = Unit("noisy", "thyroid", 0.2, None, "lspc", 0)
    first = run_unit(unit, 5)
    run_unit(Unit("noisy", "thyroid", 0.2, None, "lkfun_sq", 0), 5)
    assert run_unit(unit, 5) == first
    assert run_unit(unit, 6) != first


def test_units_of_more_trials_begin_with_those_of_fewer():
    """A run can be extended: trial by trial, no unit twice."""
    units = all_units(3)
    assert units[: len(all_units(2))] == all_units(2)
    assert len({unit.key for unit in units}) == len(units)


def test_user_cost_does_not_depend_on_the_margin():
    """WC1 is the cost at margin 1, whatever margin WC is counted with."""
    trial = draw_trial(0, "thyroid", 0)
    flags = np.ones(43, dtype=bool)
    at, other = clean_scores(trial, flags, 0.3, 0.5), clean_scores(trial, flags, 0.3, 1.0)
    assert at["WC1"] == other["WC1"] == other["WC"] == pytest.approx(9.0)
    assert at["WC"] == pytest.approx(18.0)
