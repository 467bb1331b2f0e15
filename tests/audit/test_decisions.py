"""Audits of decisions: capacity, parts of a table, prices in a range."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost import CostRange, Costs
from flipcost.audit import audit, audit_files
from flipcost.core.decision import decide
from flipcost.exceptions import FlipCostError, TableError
from flipcost.noise import flip_labels
from flipcost.report.render import render_report
from flipcost.report.sentences import decision_answers, segment_table

PRICES = Costs(fn=20, fp=5)


def make_table(n=1500, seed=0, more=0.3):
    """Make rows of four regions, one of which has labels that are clearly worse."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    region = rng.choice(["north", "south", "east", "<b>west"], n, p=[0.4, 0.35, 0.2, 0.05])
    y = rng.random(n) < 1 / (1 + np.exp(2 - 3 * x - 2 * z))
    noisy = flip_labels(y, 0.05, random_state=seed)
    noisy = noisy ^ ((region == "south") & (rng.random(n) < more))
    names = np.array(["no", "yes"])
    return pa.table(
        {"x": x, "z": z, "region": region, "ill": names[noisy * 1], "truth": names[y * 1]}
    )


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def result(table):
    options = {"capacity": "10%", "by": "region", "truth": "truth", "model": "linear"}
    return audit(table, "ill", Costs(fn="10..30", fp=5), **options)


def test_the_calls_within_a_capacity_cover_the_truth():
    """Where errors are random, what is said of the calls that save most holds what is true."""
    table = make_table(more=0.0)
    options = {"capacity": "10%", "truth": "truth", "model": "linear"}
    result = audit(table, "ill", PRICES, **options)
    (flagged,) = result.decisions.flagged
    assert flagged.n_flagged == 150
    truth = np.array(table["truth"].to_pylist()) == "yes"
    eta = result.model[-1].oof_probability_
    best = np.argsort(-eta, kind="stable")[:150]
    precision = truth[best].mean()
    for found, true in (
        (flagged.precision, precision),
        (flagged.recall, truth[best].sum() / truth.sum()),
        (flagged.lift, precision / truth.mean()),
        (flagged.profit, 20 * truth[best].sum() - 5 * (~truth[best]).sum()),
    ):
        assert found.low <= true <= found.high
        assert found.low < found.value < found.high or found.value == found.high


def test_the_worst_part_comes_first(result):
    """The part with more wrong labels leads the table, which the report shows escaped."""
    segments = result.decisions.segments
    assert segments[0].name == "south"
    assert segments[0].chance_worst > 0.8
    assert sum(s.n_rows for s in segments) == 1500
    heads, rows = segment_table(result)
    assert heads[0] == "region"
    assert len(rows) == 4
    html = render_report(result).replace("\u00a0", " ")
    assert "&lt;b&gt;west" in html
    assert "<b>west" not in html


def test_a_range_is_decided_for_its_middle(result):
    """Costs rise with the price, the middle is what the model decides by, ends cost regret."""
    (found,) = result.decisions.ranges
    assert (found.low, found.middle, found.high) == (10, 20, 30)
    low, middle, high = (cost.value for cost in found.cost)
    assert low < middle < high
    assert middle == pytest.approx(result.best.cost_if_random.value, rel=1e-6)
    assert result.cost == pytest.approx(0.2)
    assert 0 < found.changes[0] < 0.5
    # Calls are those of the middle at every price, and what they cost is linear in the price.
    assert middle == pytest.approx((low + high) / 2, rel=1e-9)
    assert found.turns == ()
    assert found.switch is None


@pytest.mark.parametrize("ends", [(0.2, 300.0), (4.0, 6.0), (100.0, 300.0)])
def test_the_range_says_where_the_answer_changes(ends):
    """Prices are named where the answer turns, and only these: deciding at each price says so."""
    table, prices = make_table(600), Costs(fn=CostRange(*ends), fp=5)
    drop = ["truth", "x", "region"]
    result = audit(table, "ill", prices, drop=drop, noise_rate=0.1, model="linear")
    found, model = result.decisions.ranges[0], result.model[-1]
    labels = np.array(table["ill"].to_pylist()) == "yes"

    def answer(price):
        cost = Costs(fn=price, fp=5)
        return decide(labels, model.oof_probability_, cost, model.rate_posterior_).chosen

    # The range is looked at in forty steps.
    step = (ends[1] - ends[0]) / 40
    grid = np.linspace(*ends, 41)
    seen = [answer(price) for price in grid]
    turned = [k for k in range(1, 41) if seen[k] != seen[k - 1]]
    assert bool(found.turns) == bool(turned)
    assert sum(1 for _ in found.turns) <= len(turned)
    if turned:
        ends_at = [grid[k] - step / 2 for k in turned]
        assert found.switch == found.turns[0][0] == pytest.approx(ends_at[0])
        assert found.turns[-1][1] == pytest.approx(ends_at[-1])
        assert found.turns[-1][2] == seen[-1]
    # Between two turns nothing turns: turns back and forth are one, with both its ends.
    for price in ends_at if turned else []:
        assert any(low - 1e-9 <= price <= high + 1e-9 for low, high, _ in found.turns)
    said = dict(decision_answers(result))[f"What if a miss costs {ends[0]:g} to {ends[1]:g}?"]
    assert said.count("Above about") == len(found.turns)


def test_words_and_summary_say_it(result):
    """The screen has a question for each thing asked; the summary is plain data."""
    assert [question for question, _ in decision_answers(result)] == [
        "What if you can flag only 10% of rows?",
        "What if a miss costs 10 to 30?",
        "Which “region” has the most label errors?",
    ]
    summary = json.loads(json.dumps(result.summary()))["decisions"]
    assert len(summary["segments"]) == 4
    assert len(summary["curve"]["depth"]) == len(summary["curve"]["profit"])
    assert summary["ranges"][0]["cost_middle"]["value"] == pytest.approx(
        result.unit * result.best.cost_if_random.value, rel=1e-6
    )


def test_capacity_by_group_and_in_passes(table, tmp_path):
    """Each group has its own calls, also where the table is read in passes."""
    options = {"capacity": "north=20,south=10%", "capacity_by": "region", "by": "region"}
    memory = audit(table, "ill", PRICES, drop=["truth"], model="linear", **options)
    groups = {one.group: one for one in memory.decisions.flagged}
    assert set(groups) == {"north", "south"}
    assert groups["north"].n_flagged == 20
    pq.write_table(table.drop_columns("truth"), tmp_path / "a.parquet")
    passes = audit_files(tmp_path / "a.parquet", "ill", PRICES, drop=["region"], **options)
    assert {one.group: one.n_flagged for one in passes.decisions.flagged} == {
        "north": 20,
        "south": groups["south"].n_flagged,
    }
    assert len(passes.decisions.segments) == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"capacity": "5000"}, "`capacity` is 5,000, but there are only 1,500 rows"),
        ({"capacity": "many"}, "`capacity` must be a number of rows"),
        ({"capacity": "110%"}, "`capacity` must be a number of rows"),
        ({"capacity": "north=3"}, "name their column as `capacity_by`"),
        ({"capacity": "1000", "capacity_by": "region"}, "but there are only"),
        ({"capacity": "up=3", "capacity_by": "region"}, "a group 'up' that has no rows"),
        ({"capacity_by": "region"}, "no `capacity` of theirs"),
        ({"by": "regionn"}, "did you mean 'region'"),
        ({"capacity": "5", "capacity_by": "regionn"}, "did you mean 'region'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, words, table):
    """A capacity above the rows and unknown groups are refused in one sentence."""
    with pytest.raises(FlipCostError, match=words):
        audit(table, "ill", PRICES, drop=["truth"], model="linear", **options)


def test_parts_need_two_values(table):
    """A column with one value has no parts."""
    one = table.append_column("same", pa.array(["a"] * len(table)))
    with pytest.raises(TableError, match="one value throughout"):
        audit(one, "ill", PRICES, drop=["truth", "same"], model="linear", by="same")


def test_parts_say_nothing_of_labels_that_no_column_speaks_of():
    """Where the columns say nothing, no part has a share of wrong labels, and checks no saving."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "x": rng.normal(size=1500),
            "part": rng.choice(["a", "b"], 1500),
            "ill": np.where(rng.random(1500) < 0.3, "yes", "no"),
        }
    )
    result = audit(table, "ill", Costs(fn=4, fp=1), by="part")
    assert result.state == "no_signal"
    heads, rows = segment_table(result)
    assert "error rate" not in heads
    assert {len(row) for row in rows} == {len(heads)}
    said = dict(decision_answers(result))["Which “part” has the most label errors?"]
    assert said.startswith("Cannot be estimated")


def test_segments_of_a_number_are_ranges_of_it():
    """Many different numbers are cut into ranges of as many rows; few stay as they are."""
    rng = np.random.default_rng(0)
    table = make_table(600).append_column("age", pa.array(rng.integers(18, 90, 600)))
    table = table.append_column("level", pa.array(rng.integers(1, 4, 600)))
    found = {by: audit(table, "ill", Costs(fn=4, fp=1), drop=["truth"], model="linear", by=by)
             for by in ("age", "level")}  # fmt: skip
    ages = [part.name for part in found["age"].decisions.segments]
    assert len(ages) == 5
    assert all(" to " in name for name in ages)
    assert {part.name for part in found["level"].decisions.segments} == {"1", "2", "3"}
    assert {part.n_rows for part in found["age"].decisions.segments} <= set(range(90, 150))
