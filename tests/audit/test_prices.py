"""Audits at prices that differ by row: candidates, costs in money, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost import Costs
from flipcost.audit import audit, audit_files
from flipcost.exceptions import TableError
from flipcost.noise import flip_labels
from flipcost.report.render import render_report

PRICES = Costs(fn="0.9*amount + 2", fp=10)


def make_table(n=1200, seed=0):
    """Make rows whose amounts depend on what tells the label."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    amount = np.exp(0.5 * x + 0.7 * rng.normal(size=n)) * 30
    y = rng.random(n) < 1 / (1 + np.exp(1.5 - 1.5 * x - z))
    noisy = flip_labels(y, 0.2, random_state=seed)
    names = np.array(["no", "yes"])
    return pa.table(
        {"x": x, "z": z, "amount": amount, "fraud": names[noisy * 1], "truth": names[y * 1]}
    )


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def result(table):
    return audit(table, "fraud", PRICES, truth="truth", model="linear")


def test_costs_are_the_classifiers_and_money(result, table):
    """The first candidate's cost is the classifier's, in money, and close to the truth."""
    model = result.model[-1]
    assert result.unit == 1.0
    assert result.best.key == "flipcost"
    assert result.best.clean.value == pytest.approx(model.cost_estimate_)
    amounts = table["amount"].to_numpy()
    truth = np.array(table["truth"].to_pylist()) == "yes"
    flagged = result.best.flagged
    paid = np.where(flagged & ~truth, 10.0, np.where(~flagged & truth, 0.9 * amounts + 2, 0.0))
    assert result.best.test.value == pytest.approx(paid.mean())
    assert result.best.clean.low <= paid.mean() <= result.best.clean.high
    assert result.mean_prices == pytest.approx((0.9 * amounts.mean() + 2, 10.0))


def test_every_candidate_is_decided_at_the_rows_prices(result, table):
    """Calls follow thresholds by row, also those of rivals; constants call all or none."""
    threshold = 10 / (12 + 0.9 * table["amount"].to_numpy())
    eta = result.model[-1].oof_probability_
    np.testing.assert_array_equal(result.best.flagged, eta > threshold)
    flags = {c.key: c.flagged for c in result.candidates}
    assert flags["all_positive"].all()
    assert not flags["all_negative"].any()
    # Among called rows amounts are larger than among others that are as likely.
    for key in ("logistic", "ignoring"):
        amounts = table["amount"].to_numpy()
        assert amounts[flags[key]].mean() > amounts[~flags[key]].mean()


def test_sliders_start_at_the_users_prices(result):
    """At the user's prices the weighed tables give the observed money of every candidate."""
    index, means = result.cost_index, result.mean_prices
    for candidate in result.candidates:
        paid, n = candidate.paid.counts[index], candidate.tables.counts[index].sum()
        money = (means[0] * paid[1, 0] + means[1] * paid[0, 1]) / n
        assert money == pytest.approx(candidate.observed.value)
    flagged = [c.table(k).counts[:, 1].sum() for c in result.candidates[:1] for k in (0, -1)]
    assert flagged[0] > flagged[1]  # expensive misses on the left, expensive alarms on the right


def test_words_and_report_say_how_rows_are_priced(result):
    """The report names the arithmetic, and that rows are decided by it."""
    html = render_report(result).replace("\u00a0", " ")
    assert "0.9*amount + 2" in html
    summary = result.summary()
    assert summary["costs"]["false_negative"] == "0.9*amount + 2"
    assert summary["costs"]["by_row"] is True


def test_passes_give_what_memory_gives(table, tmp_path):
    """A file read in passes, all of whose rows are drawn, is decided at the same prices."""
    pq.write_table(table.drop_columns("truth"), tmp_path / "a.parquet", row_group_size=300)
    drop = ["truth"]
    memory = audit(table, "fraud", PRICES, drop=drop, model="linear")
    passes = audit_files(tmp_path / "a.parquet", "fraud", PRICES)
    assert passes.mean_prices == pytest.approx(memory.mean_prices)
    assert passes.best.clean.value == pytest.approx(memory.best.clean.value, rel=0.25)
    assert passes.best.clean.value == pytest.approx(passes.model[-1].cost_estimate_)


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", "passes"])
def test_prices_are_learned_from_only_where_that_is_asked(route, table, tmp_path):
    """A column that prices are made of is no feature, unless it is asked for and not dropped."""
    pq.write_table(table, tmp_path / "a.parquet")

    def features(cost, **options):
        options = {"drop": ["truth"], "model": "linear"} | options
        if route == "memory":
            found = audit(table, "fraud", cost, **options)
        else:
            found = audit_files(tmp_path / "a.parquet", "fraud", cost, **options)
        assert found.prices.is_by_row
        return [column["name"] for column in found.schema]

    assert features(PRICES) == ["x", "z"]
    assert features(PRICES, drop=["amount", "truth"]) == ["x", "z"]
    assert features(PRICES, learn_prices=True) == ["x", "z", "amount"]
    assert features(PRICES, learn_prices=True, drop=["amount", "truth"]) == ["x", "z"]


def test_prices_alone_are_nothing_to_learn_from(table):
    """Where prices are all that is left, the message says how to learn from them."""
    with pytest.raises(TableError, match=r"no columns left .* give `learn_prices=True`"):
        audit(table.select(["amount", "fraud"]), "fraud", PRICES)


def test_a_price_may_be_a_weight_too(table):
    """One column may say both what a row's mistakes cost and how much the row counts."""
    found = audit(
        table.drop_columns("truth"), "fraud", PRICES, sample_weight="amount", model="linear"
    )
    assert [column["name"] for column in found.schema] == ["x", "z"]


def test_test_rows_are_priced_by_their_own_columns(table):
    """Costs on a test table come from its own prices."""
    test = make_table(500, seed=5)
    test = test.drop_columns("fraud").rename_columns({"truth": "fraud"})
    found = audit(table, "fraud", PRICES, drop=["truth"], model="linear", test=test)
    for candidate in found.candidates:
        assert candidate.test is not None
    amounts = test["amount"].to_numpy()
    truth = np.array(test["fraud"].to_pylist()) == "yes"
    assert found.candidate("all_negative").test.value == pytest.approx(
        np.where(truth, 0.9 * amounts + 2, 0).mean()
    )


def test_a_price_that_tells_the_label_is_refused(table):
    """A price that is known only once the label is cannot decide anything."""
    noisy = np.array(table["fraud"].to_pylist()) == "yes"
    leaking = table.append_column("loss", pa.array(np.where(noisy, table["amount"], 0.0)))
    with pytest.raises(TableError, match=r"`fn` predicts 'fraud' almost without an error"):
        audit(leaking, "fraud", Costs(fn="loss", fp=10), drop=["loss", "truth"])


def test_a_rival_that_wins_is_fitted_at_the_rows_costs():
    """Boosting wins where no sum of columns tells; it is saved, and decides new rows by costs."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 1500))
    amount = np.exp(rng.normal(size=1500)) * 30
    fraud = np.where((x * z > 0) ^ (rng.random(1500) < 0.02), "yes", "no")
    table = pa.table({"x": x, "z": z, "amount": amount, "fraud": fraud})
    prices = Costs(fn="amount", fp=40)
    result = audit(table, "fraud", prices, model="linear", noise_rate=0.02)
    assert result.best.key == "boosting"
    costs = prices.by_row(table)
    flagged = result.model.predict(table, prices=costs) == "yes"
    eta = result.model.predict_proba(table)[:, list(result.model.classes_).index("yes")]
    np.testing.assert_array_equal(flagged, eta > costs.threshold)


@pytest.mark.parametrize("seed", range(3))
def test_columns_without_signal_leave_rows_decided_by_what_they_cost(seed):
    """Nothing but its costs tells a row apart: these decide, cheaper than either constant."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, 1500)), rng.random(1500) < 0.3
    amount = rng.choice([1.0, 60.0], 1500)
    table = pa.table({**dict(zip("abc", x, strict=True)), "amount": amount, "bad": y.astype(int)})
    table = table.append_column("truth", table["bad"])
    result = audit(table, "bad", Costs(fn="amount", fp=5), truth="truth", model="linear")
    constants = [result.candidate(key).test.value for key in ("all_positive", "all_negative")]
    assert result.best.test.value < 0.8 * min(constants)
