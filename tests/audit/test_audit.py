"""The audit: what it reports follows from the labels, the calls and the posterior of the rate."""

import numpy as np
import pytest

from flipcost.audit import (
    audit,
    cost_grid,
    labels_needed,
    paired_saving,
    probability_wrong,
    value_of_knowing_rate,
)
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.noise import clean_eta, noisy_eta
from flipcost.core.rate_posterior import RatePosterior
from flipcost.core.rates import rate_of_disagreement
from flipcost.exceptions import TableError
from tests.audit.helpers import PRICES, noisy_table

KNOWN = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
UNSURE = RatePosterior(
    np.array([[0.05, 0.05], [0.2, 0.2], [0.35, 0.35]]), np.array([0.2, 0.5, 0.3])
)


@pytest.fixture(scope="module")
def result():
    return audit(noisy_table(), "ill", PRICES, truth="truth")


def test_the_rate_is_covered(result):
    """The interval of the rate holds the rate at which labels were flipped."""
    low, high = result.noise_interval
    assert low < 0.25 < high


def test_the_chosen_model_is_the_classifier_itself(result):
    """Cost, interval and calls of the first candidate are those that the classifier reports."""
    model = result.model[-1]
    assert result.best.key == "flipcost"
    assert result.best.clean.value == pytest.approx(model.cost_estimate_, rel=1e-12)
    assert (result.best.clean.low, result.best.clean.high) == pytest.approx(model.cost_interval_)
    np.testing.assert_array_equal(result.best.called, model.oof_probability_ > result.cost)


def test_the_tables_hold_the_calls_at_the_users_cost(result):
    """At the user's cost the table of the grid is that of the calls, for every candidate."""
    positive = np.array(noisy_table()["ill"].to_pylist()) == "yes"
    for candidate in result.candidates:
        expected = ConfusionCounts.from_labels(positive, candidate.called)
        found = candidate.table(result.cost_index)
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_array_equal(found.squares, expected.squares)


def test_denoised_costs_agree_with_the_truth(result):
    """Clean costs that were estimated from noisy labels cover those of the true labels."""
    truth = np.array(noisy_table()["truth"].to_pylist()) == "yes"
    for candidate in result.candidates:
        table = ConfusionCounts.from_labels(truth, candidate.called)
        # The truth has an error of its own: 1,500 rows are a sample too. Four of these suffice.
        slack = 4 * (candidate.test.high - candidate.test.low) / 3.92
        true = float(table.cost(result.cost))
        assert candidate.test.value == pytest.approx(true)
        assert candidate.clean.low - slack <= true <= candidate.clean.high + slack


def test_the_saving_is_the_difference_of_the_costs(result):
    """Paired savings equal differences of clean costs, with a narrower interval."""
    for candidate in result.candidates[1:]:
        difference = candidate.clean.value - result.best.clean.value
        assert candidate.saving.value == pytest.approx(difference, abs=1e-12)


def test_the_sum_of_suspicion_is_the_rate(result):
    """Over all rows the probabilities of being wrong average to the noise rate."""
    # They are computed at fitted probabilities: agreement is up to their calibration.
    share = result.information.wrong_labels / result.n_rows
    assert share == pytest.approx(result.noise_rate, abs=0.03)


def test_suspects_are_wrong_as_often_as_said(result):
    """Of the hundred most suspicious labels about as many are wrong as expected."""
    said = result.information.wrong_in_first_100
    found = result.known_flips["wrong_in_first_100"]
    assert abs(found - said) < 4 * np.sqrt(max(said * (1 - said / 100), 1)) + 3


def test_suspects_name_rows_of_the_table(result):
    """A suspect's row, label and probability are those of the table."""
    labels = noisy_table()["ill"].to_pylist()
    for suspect in result.suspects[:20]:
        assert labels[suspect.row - 1] == suspect.label
        assert suspect.suggested != suspect.label
        assert "x0 = " in suspect.evidence  # the one feature that matters


def test_the_strongest_column_comes_first(result):
    """The first feature of this law carries the classes; the effects say so."""
    assert result.effects[0].column == "x0"


def test_the_pipeline_predicts_from_tables(result):
    """The saved steps, applied to the table, give the classifier's predictions."""
    table = noisy_table()
    assert set(result.model.predict(table)) <= {"yes", "no"}
    assert result.model.predict_proba(table.to_pandas()).shape == (1500, 2)


def test_weights_count_as_repetitions():
    """Rows that weigh two and rows that come twice give the same observed tables."""
    table = noisy_table(400)
    weights = np.where(np.arange(400) % 2, 2.0, 1.0)
    weighted = audit(
        table.append_column("w", [weights]), "ill", PRICES, sample_weight="w", drop=["truth"]
    )
    total = weighted.best.tables.counts.sum(axis=(1, 2))
    np.testing.assert_allclose(total, weights.sum())
    np.testing.assert_allclose(weighted.best.tables.squares.sum(axis=(1, 2)), (weights**2).sum())


def test_swapping_the_classes_mirrors_the_audit():
    """Naming the other label positive, with prices swapped, gives the same costs."""
    from flipcost.core.costs import Costs

    table = noisy_table(600)
    one = audit(table, "ill", Costs(fn=4, fp=1), drop=["truth"], positive="yes")
    two = audit(table, "ill", Costs(fn=1, fp=4), drop=["truth"], positive="no")
    assert one.noise_rate == pytest.approx(two.noise_rate, rel=0.05)
    assert two.candidate("all_negative").clean.value == pytest.approx(
        one.candidate("all_positive").clean.value, rel=0.05
    )


@pytest.mark.parametrize("cost", [0.2, 0.5, 0.16, 1 / 101, 0.999])
def test_the_grid_of_costs_holds_the_users(cost):
    """The user's cost is on the grid exactly, which is sorted and reaches beyond it."""
    costs, index = cost_grid(cost)
    assert costs[index] == cost
    assert np.all(np.diff(costs) > 0)
    assert costs[0] < cost < costs[-1]


def test_suspicion_is_bayes_rule():
    """At a known rate the probability of a wrong label is that of Bayes' rule."""
    eta = np.array([0.1, 0.5, 0.9])
    found = probability_wrong([True, True, True], eta, KNOWN)
    np.testing.assert_allclose(found, 0.2 * (1 - eta) / (0.2 * (1 - eta) + 0.8 * eta))
    found = probability_wrong([False, False, False], eta, KNOWN)
    np.testing.assert_allclose(found, 0.2 * eta / (0.2 * eta + 0.8 * (1 - eta)))


def test_the_value_of_knowing_the_rate_by_enumeration():
    """The value of information is the loss of the best ignorant call over the informed ones."""
    eta, cost = np.linspace(0, 1, 31), 0.3
    observed = noisy_eta(eta, tuple(UNSURE.mean))
    lost = 0.0
    for x in observed:
        clean = [float(clean_eta(x, tuple(rate))) for rate in UNSURE.rates]
        calls = [[(1 - cost) * p, cost * (1 - p)] for p in clean]
        ignorant = min(
            sum(w * c[k] for w, c in zip(UNSURE.weight, calls, strict=True)) for k in (0, 1)
        )
        lost += ignorant - sum(w * min(c) for w, c in zip(UNSURE.weight, calls, strict=True))
    assert value_of_knowing_rate(eta, cost, UNSURE) == pytest.approx(lost / len(eta), rel=1e-12)
    assert value_of_knowing_rate(eta, cost, KNOWN) == 0


@pytest.mark.parametrize("trusted", [False, True])
def test_the_labels_needed_give_the_precision(trusted):
    """As many labels as advised estimate the rate with the promised standard error."""
    rate, precision = 0.15, 0.02
    n = labels_needed(rate, precision, trusted=trusted)
    rng = np.random.default_rng(0)
    share = rate if trusted else 2 * rate * (1 - rate)
    found = rng.binomial(n, share, 20_000) / n
    estimates = found if trusted else rate_of_disagreement(found)
    # The spread of 20,000 draws is known to within 0.5 %; curvature adds a little more.
    assert np.std(estimates) == pytest.approx(precision / 1.959964, rel=0.02)


def test_the_paired_saving_by_hand():
    """At a known rate the saving is the mean difference of unbiased per-row costs."""
    labels = np.array([True, True, False, False, True])
    ours = np.array([True, False, False, True, True])
    theirs = np.array([True, True, True, True, False])
    found = paired_saving(labels, ours, theirs, 0.3, KNOWN)
    cost = lambda called: ConfusionCounts.from_labels(labels, called).cost(0.3, noise_rate=0.2)  # noqa: E731
    assert found.value == pytest.approx(float(cost(theirs) - cost(ours)), rel=1e-12)
    assert found.low < found.value < found.high


def test_the_interval_of_the_saving_covers():
    """Over repeated flips the interval holds the true saving about as often as it says."""
    rng = np.random.default_rng(1)
    n, trials, inside = 600, 300, 0
    clean = rng.random(n) < 0.5
    ours = clean ^ (rng.random(n) < 0.2)
    theirs = clean ^ (rng.random(n) < 0.3)
    cost = lambda called: ConfusionCounts.from_labels(clean, called).cost(0.3)  # noqa: E731
    true = float(cost(theirs) - cost(ours))
    for _ in range(trials):
        noisy = clean ^ (rng.random(n) < 0.2)
        found = paired_saving(noisy, ours, theirs, 0.3, KNOWN)
        inside += found.low <= true <= found.high
    # Rows are fixed here, so the interval, which also counts their sampling, is wide: at least
    # 95 % less three standard errors of the share.
    assert inside / trials > 0.95 - 3 * np.sqrt(0.95 * 0.05 / trials)


def test_an_unknown_model_is_refused():
    """Only linear, boosting and estimators are models."""
    with pytest.raises(ValueError, match="linear, boosting"):
        audit(noisy_table(100), "ill", PRICES, model="forest", drop=["truth"])


def test_a_saved_model_must_know_the_labels(result):
    """A model of other labels cannot be compared."""
    import pyarrow as pa

    table = noisy_table(200)
    other = table.set_column(table.column_names.index("ill"), "ill", pa.array(["a", "b"] * 100))
    with pytest.raises(TableError, match="tells"):
        audit(other, "ill", PRICES, model=result.model, drop=["truth"])


def test_columns_that_number_the_rows_are_left_out():
    """A column that counts rows, as exports have, is no feature; that is said."""
    import pyarrow as pa

    table = noisy_table(300).append_column("index", pa.array(range(300)))
    found = audit(table, "ill", PRICES, drop=["truth"])
    assert [column["name"] for column in found.schema] == ["x0", "x1", "x2"]
    assert any("'index'" in warning for warning in found.warnings)
