"""Columns that say nothing of the rows: text and counters are left out, names are noticed."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from flipcost.audit import audit
from flipcost.core.costs import cost_share
from flipcost.core.noise import rate_pair
from flipcost.estimators import FlipCostClassifier, UnevenMarginClassifier
from flipcost.exceptions import PositiveLabelWarning
from tests.audit.helpers import noisy_table


def audited(**columns):
    table = noisy_table(400).drop_columns("truth")
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return audit(table, "ill", 0.3, model="linear")


def test_text_is_left_out_with_a_warning():
    """A column of text does not stop the run."""
    result = audited(note=[f"called at {k} o'clock" for k in range(400)])
    assert "note" not in [c["name"] for c in result.schema]
    assert any("'note' has too many categories" in w and "left out" in w for w in result.warnings)


def test_counters_with_gaps_are_left_out():
    """Numbers that rise by little from row to row name the rows."""
    rng = np.random.default_rng(0)
    result = audited(claim=(1_000_000 + np.cumsum(rng.integers(1, 5, 400))).tolist())
    assert "claim" not in [c["name"] for c in result.schema]
    assert any("only number the rows" in w and "claim" in w for w in result.warnings)


def test_names_of_rows_are_noticed():
    """Numbers in any order that differ on every row and are called like names are pointed out."""
    numbers = np.random.default_rng(1).permutation(10_000)[:400]
    result = audited(customer_id=numbers.tolist(), income=(3 * numbers).tolist())
    noted = [w for w in result.warnings if "looks like a name of rows" in w]
    assert len(noted) == 1
    assert "`id='customer_id'` or `drop=['customer_id']`" in noted[0]


@pytest.mark.parametrize(("given", "meant"), [(20, "0.2"), (30.0, "0.3"), ((30, 10), "(0.3, 0.1)")])
def test_percentages_get_a_hint(given, meant):
    """Rates are shares: who gives per cent is told what was meant."""
    with pytest.raises(ValueError, match="Rates are shares") as caught:
        rate_pair(given)
    assert f"did you mean {meant}?" in str(caught.value)


@pytest.mark.parametrize("estimator", [FlipCostClassifier, UnevenMarginClassifier])
def test_prices_in_a_dict_get_a_hint(estimator):
    """Who gives a dict is told of `Costs`, unless that would be refused too."""
    with pytest.raises(ValueError, match=r"Costs\(fn=\.\.\., fp=\.\.\.\); got") as caught:
        cost_share({"miss": 4})
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(ValueError, match="'cost' parameter") as caught:
        estimator(cost="4:1").fit([[0.0], [1.0]], [0, 1])
    assert "dict" not in str(caught.value)
    prices = {"fn": 4, "fp": 1}
    with pytest.raises(ValueError, match=r"Did you mean Costs\(fn=4, fp=1\)\?"):
        cost_share(prices)
    with pytest.raises(ValueError, match=r"Did you mean Costs\(fn=4, fp=1\)\?"):
        estimator(cost=prices).fit(np.arange(40.0)[:, None], np.arange(40) % 3 > 0)


@pytest.mark.parametrize("cost", [(3, 1), [1, 2], "x", object])
def test_other_costs_are_refused_in_one_sentence(cost):
    with pytest.raises(ValueError, match=r"must be a number in \(0, 1\).*got"):
        cost_share(cost)


def test_a_positive_label_by_its_order_is_doubted_when_its_name_is():
    """'good' after 'bad' is warned of, in fits and audits, unless the positive label is given."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, "good", "bad")
    for estimator in (FlipCostClassifier(random_state=0), UnevenMarginClassifier()):
        with pytest.warns(PositiveLabelWarning, match="give `pos_label='bad'`"):
            estimator.fit(X, y)
        clone(estimator).set_params(pos_label="bad").fit(X, y)  # warnings are errors here
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "risk": y})
    assert any("pos_label='bad'" in text for text in audit(table, "risk").warnings)
    assert not any("pos_label" in t for t in audit(table, "risk", pos_label="good").warnings)


def test_frames_count_rows_from_0_and_call_columns_as_files_do():
    """The first suspect's row is where its label is in the table."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    y = np.where((x > 0) ^ (rng.random(400) < 0.1), "yes", "no")
    table = pa.table({"x": x, "z": rng.normal(size=400), "ill": y})
    frame = audit(table, "ill").suspects_frame("pyarrow")
    assert {"row", "probability_wrong", "probability_positive"} <= set(frame.column_names)
    first = frame["row"][0].as_py()
    assert (x[first] > 0) != (y[first] == "yes")
    assert frame["label"][0].as_py() == y[first]
