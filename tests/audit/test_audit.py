"""The audit: what it reports follows from the labels, the calls and the posterior of the rate."""

import numpy as np
import pytest
from sklearn.base import clone

from flipcost.audit import audit, cost_grid
from flipcost.core.clean_means import LabelSums
from flipcost.core.confusion import ConfusionCounts, measure
from flipcost.core.costs import RowCosts
from flipcost.core.decision import bayes_flags
from flipcost.exceptions import TableError
from tests.audit.helpers import PRICES, noisy_table


@pytest.fixture(scope="module")
def result():
    return audit(noisy_table(), "ill", PRICES, truth="truth")


def test_the_rate_is_covered(result):
    """The interval of the rate holds the rate at which labels were flipped."""
    for low, high in result.noise_interval:
        assert low < 0.25 < high
    assert result.wrong_share.low < 0.25 < result.wrong_share.high


def test_the_chosen_model_is_the_classifier_itself(result):
    """Cost, interval and calls of the first candidate are those that the classifier reports."""
    model = result.model[-1]
    assert result.best.key == "flipcost"
    clean, unit = result.best.clean, result.unit
    assert unit * clean.value == pytest.approx(model.cost_estimate_, rel=1e-12)
    assert (unit * clean.low, unit * clean.high) == pytest.approx(model.cost_interval_)
    np.testing.assert_array_equal(result.best.flagged, model.oof_probability_ > result.cost)


def test_the_tables_hold_the_calls_at_the_users_cost(result):
    """At the user's cost the table of the grid is that of the calls, for every candidate."""
    positive = np.array(noisy_table()["ill"].to_pylist()) == "yes"
    for candidate in result.candidates:
        expected = ConfusionCounts.from_labels(positive, candidate.flagged)
        found = candidate.table(result.cost_index)
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_array_equal(found.squares, expected.squares)


def test_denoised_costs_agree_with_the_truth(result):
    """Clean costs that were estimated from noisy labels cover those of the true labels."""
    truth = np.array(noisy_table()["truth"].to_pylist()) == "yes"
    for candidate in result.candidates:
        table = ConfusionCounts.from_labels(truth, candidate.flagged)
        # The truth has an error of its own: 1,500 rows are a sample too. Four of these suffice.
        slack = 4 * (candidate.test.high - candidate.test.low) / 3.92
        true = float(measure(table.counts, "cost", result.cost))
        assert candidate.test.value == pytest.approx(true)
        assert candidate.clean.low - slack <= true <= candidate.clean.high + slack


def test_the_saving_is_the_difference_of_the_costs(result):
    """Paired savings equal differences of clean costs, with an interval narrower than theirs."""
    best = result.best.clean
    for candidate in result.candidates[1:]:
        clean, saving = candidate.clean, candidate.saving
        assert saving.value == pytest.approx(clean.value - best.value, abs=1e-12)
        # Of two estimates that share nothing, the difference is at most this uncertain.
        apart = (clean.high - clean.low) + (best.high - best.low)
        assert 0 < saving.high - saving.low < apart


def test_the_sum_of_suspicion_is_the_rate(result):
    """Over all rows the probabilities of being wrong average to the noise rate."""
    # They are computed at fitted probabilities: agreement is up to their calibration.
    share = result.information.wrong_labels / result.n_rows
    assert share == pytest.approx(result.wrong_share.value, abs=0.03)


def test_suspects_are_wrong_as_often_as_said(result):
    """Of the hundred most suspicious labels about as many are wrong as expected."""
    said = result.information.wrong_in_first_100
    found = result.known_flips["wrong_in_first_100"]
    assert abs(found - said) < 4 * np.sqrt(max(said * (1 - said / 100), 1)) + 3


def test_suspects_name_rows_of_the_table(result):
    """A suspect's row, label and probability are those of the table."""
    labels = noisy_table()["ill"].to_pylist()
    for suspect in result.suspects[:20]:
        assert labels[suspect.row] == suspect.label
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
    """Rows that weigh two and rows that come twice give the same counts and the same costs.

    Folds differ, so this is exact for the constants; the chosen model's cost lies in the interval
    of the other audit.
    """
    table = noisy_table(400).drop_columns("truth")
    weights = np.where(np.arange(400) % 2, 2, 1)
    options = {"noise_rate": 0.25, "model": "linear"}
    weighted = audit(
        table.append_column("w", [weights]), "ill", PRICES, sample_weight="w", **options
    )
    repeated = audit(table.take(np.repeat(np.arange(400), weights)), "ill", PRICES, **options)
    for key in ("all_positive", "all_negative"):
        ours, theirs = (found.candidate(key) for found in (weighted, repeated))
        np.testing.assert_array_equal(ours.tables.counts, theirs.tables.counts)
        assert ours.observed.value == pytest.approx(theirs.observed.value, rel=1e-12)
        assert ours.clean.value == pytest.approx(theirs.clean.value, rel=1e-12)
    np.testing.assert_allclose(weighted.best.tables.counts.sum(axis=(1, 2)), weights.sum())
    np.testing.assert_allclose(weighted.best.tables.squares.sum(axis=(1, 2)), (weights**2).sum())
    ours, theirs = weighted.best.clean, repeated.best.clean
    assert ours.low <= theirs.value <= ours.high
    assert theirs.low <= ours.value <= theirs.high


@pytest.mark.slow
def test_swapping_the_classes_mirrors_the_audit():
    """Naming the other label positive, with prices swapped, gives the same costs."""
    from flipcost.core.costs import Costs

    table = noisy_table(600)
    one = audit(table, "ill", Costs(fn=4, fp=1), drop=["truth"], pos_label="yes")
    two = audit(table, "ill", Costs(fn=1, fp=4), drop=["truth"], pos_label="no")
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


@pytest.mark.slow
def test_the_sliders_choose_as_the_classifier_does():
    """At every cost of the grid the table is that of the classifier fitted at that cost.

    Whether labels are trusted is decided at the cost of the audit, and the sliders keep to it.
    """
    table = noisy_table(300)
    result = audit(table, "ill", 0.2, drop=["truth"], model="linear")
    candidate = result.candidate("flipcost")
    X, y = result.model[:-1].transform(table), [str(v) for v in table["ill"].to_pylist()]
    seen = set()
    for k in range(0, len(result.costs), 2):
        model = clone(result.model[-1]).set_params(cost=float(result.costs[k])).fit(X, y)
        if model.labels_trusted_ != result.model[-1].labels_trusted_:
            continue
        seen.add(model.chosen_)
        flagged = bayes_flags(model.oof_probability_, model.cost, model.chosen_)
        expected = ConfusionCounts.from_labels(np.array(y) == model.pos_label, flagged)
        np.testing.assert_array_equal(candidate.tables.counts[k], expected.counts)
        own = LabelSums.of_table(candidate.table(k), RowCosts.of(model.cost)).mean(
            model.rate_posterior_
        )
        assert own.value == pytest.approx(model.cost_estimate_, abs=1e-12)
    assert "rule" in seen
    assert len(seen) > 1


@pytest.mark.parametrize("rate", [None, 0.2])
def test_the_summary_and_the_report_say_the_same(rate):
    """What knowing the rate is worth is the classifier's figure, in money."""
    result = audit(noisy_table(800), "ill", PRICES, drop=["truth"], noise_rate=rate)
    model, found = result.model[-1], result.information
    worth = result.unit * found.value_of_rate
    assert worth == pytest.approx(model.value_of_information_)
    assert (found.value_of_rate == 0) == (rate is not None)


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


def test_the_package_is_a_call():
    """`fc.audit(...)` is the audit, and the package keeps its names."""
    import flipcost as fc

    found = fc.audit(noisy_table(200), "ill", PRICES, drop=["truth"], model="linear")
    assert found.n_rows == 200
    assert fc.audit.audit is audit
