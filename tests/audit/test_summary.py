"""The figures of summary.json are those of the result and of the classifier's own summary."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from flipcost.audit import audit, audit_files
from flipcost.core.confusion import Interval
from flipcost.core.costs import Costs
from flipcost.core.noise import PRECISION, labels_needed
from flipcost.words import share_span, span
from tests.audit.helpers import noisy_table

PRICES = Costs(fn=30, fp=10)
TRUTH = np.array(noisy_table(1500)["truth"].to_pylist()) == "yes"


@pytest.fixture(scope="module", params=["memory", "passes", "weak", "given"])
def result(request, tmp_path_factory):
    """Return an audit in memory, in passes, of a weak signal, and at a given rate."""
    if request.param == "given":
        return audit(noisy_table(800), "ill", PRICES, drop=["truth"], noise_rate=(0.3, 0.2))
    if request.param == "weak":
        shuffled = np.random.default_rng(0).permutation(noisy_table(300)["ill"].to_numpy())
        table = noisy_table(300).set_column(4, "ill", [shuffled.tolist()])
        return audit(table, "ill", PRICES, drop=["truth"])
    table = noisy_table(1500).drop_columns("truth")
    if request.param == "memory":
        return audit(table, "ill", PRICES)
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    pq.write_table(table, path, row_group_size=400)
    return audit_files(path, "ill", PRICES)


def interval(found):
    return [found["value"], found["low"], found["high"]]


def test_costs_are_the_classifiers_in_prices(result):
    """Clean costs are those of the classifier, which are in the units of the prices."""
    summary, classifier = result.summary(), result.model[-1]
    costs = {c["key"]: interval(c["cost_clean"]) for c in summary["candidates"]}
    expected = [classifier.cost_estimate_, *classifier.cost_interval_]
    np.testing.assert_allclose(costs["flipcost"], expected, rtol=1e-9)
    for key, found in classifier.constant_costs_.items():
        expected = [found.value, found.low, found.high]
        np.testing.assert_allclose(costs[key], expected, rtol=1e-9)
    assert summary["chosen"] == classifier.chosen_


def test_information_is_the_classifiers(result):
    """The value of the rate is the classifier's; labels needed follow from its rate."""
    found, classifier = result.summary()["information"], result.model[-1]
    assert found["value_of_knowing_rate"] == pytest.approx(classifier.value_of_information_)
    rate = classifier.noise_rate_
    assert found["second_labels_needed"] == min(labels_needed(rate), result.n_rows)
    assert found["trusted_labels_needed"] == min(labels_needed(rate, trusted=True), result.n_rows)
    assert found["precision"] == PRECISION


def test_the_classifier_says_the_same_in_words(result):
    """What `summary` of the classifier prints are the figures of summary.json."""
    summary, text = result.summary(), result.model[-1].summary()
    costs = {c["key"]: c["cost_clean"] for c in summary["candidates"]}
    names = {"flag none": "all_negative", "flag all": "all_positive"}
    if summary["chosen"] == "rule":
        names["this model"] = "flipcost"
    for name, key in names.items():
        assert f"  {name:<12} {span(Interval(*interval(costs[key])))}" in text
    if result.errors.is_given:
        assert "You set the error rates (30% of" in text
    elif summary["state"] != "no_signal":
        said = " ".join(text.split())
        assert f"Of the positives {share_span(result.errors.rates[0])} are mislabelled" in said


def test_prevalence_follows_from_the_rates(result):
    """At given rates the share of true positives is the unmixed one; else it holds the truth."""
    found, data = result.summary()["prevalence"], result.summary()["data"]
    share = data["positive_labels"] / data["rows"]
    if result.errors.is_given:
        assert found["value"] == pytest.approx((share - 0.2) / 0.5)
        half = 1.96 * np.sqrt(share * (1 - share) / data["rows"]) / 0.5
        np.testing.assert_allclose(
            [found["low"], found["high"]], found["value"] + half * np.array([-1, 1]), atol=1e-4
        )
    elif result.state == "no_signal":
        assert found is None
    else:
        assert found["low"] < np.mean(TRUTH) < found["high"]


def test_counts_are_those_of_the_table(result):
    """Rows, positive labels and the four observed shares are counted, not estimated."""
    summary = result.summary()
    observed = {k: v["value"] for k, v in summary["confusion"]["observed"].items()}
    assert sum(observed.values()) == pytest.approx(1.0)
    share = observed["true_positive"] + observed["false_negative"]
    assert share == pytest.approx(summary["data"]["positive_labels"] / summary["data"]["rows"])
    flagged = observed["true_positive"] + observed["false_positive"]
    assert flagged == pytest.approx(summary["candidates"][0]["share_flagged"])
    cost = 30 * observed["false_negative"] + 10 * observed["false_positive"]
    assert summary["candidates"][0]["cost_observed"]["value"] == pytest.approx(cost)


def test_savings_are_differences_of_costs(result):
    """What the chosen model saves over another is what that one costs more."""
    first, *others = result.summary()["candidates"]
    for other in others:
        more = other["cost_clean"]["value"] - first["cost_clean"]["value"]
        assert other["saving_of_chosen"]["value"] == pytest.approx(more, abs=1e-9)
