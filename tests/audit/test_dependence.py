"""Groups, time and copies in an audit, in memory and in passes, and on the command line."""

import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from flipcost import CostRange, Costs
from flipcost.audit import audit, audit_files
from flipcost.cli import main
from flipcost.exceptions import FlipCostError, TableError
from flipcost.noise import flip_labels

PRICES = Costs(fn=4, fp=1)


def grouped(n_groups, rows, seed=0):
    """Rows that lie close to their group's place, and have its class."""
    rng = np.random.default_rng(seed)
    place = rng.normal(size=(n_groups, 3))
    clean = np.repeat(rng.random(n_groups) < 1 / (1 + np.exp(-2 * place[:, 0])), rows)
    X = np.repeat(place, rows, axis=0) + 0.3 * rng.normal(size=(n_groups * rows, 3))
    groups = np.repeat(np.arange(n_groups), rows)
    order = rng.permutation(len(X))
    return pl.DataFrame(X[order], schema=["a", "b", "c"]).with_columns(
        ill=flip_labels(clean.astype(int), 0.1, random_state=seed)[order],
        who=pl.Series([f"p{k}" for k in groups[order]]),
    )


@pytest.fixture(scope="module")
def table():
    return grouped(200, 15)


@pytest.fixture(scope="module")
def by_group(table):
    return audit(table, "ill", PRICES, groups="who", model="linear")


def width(interval):
    return interval.high - interval.low


def test_groups_make_intervals_wider(table, by_group):
    """The groups' column is no feature, and rows of a group count for fewer."""
    plain = audit(table.drop("who"), "ill", PRICES, model="linear")
    assert by_group.n_effective < 0.3 * by_group.n_rows
    assert plain.n_effective == plain.n_rows
    assert [column["name"] for column in by_group.schema] == ["a", "b", "c"]
    for key in ("ignoring", "logistic", "all_positive"):
        ours, theirs = by_group.candidate(key), plain.candidate(key)
        assert width(ours.observed) > 1.5 * width(theirs.observed)
    assert by_group.summary()["data"]["rows_effective"] == by_group.n_effective


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_passes_count_as_many_rows(table, by_group, kind, tmp_path):
    """From a part of the rows, drawn, it is found what all of them count for."""
    path = tmp_path / f"a.{kind}"
    getattr(table, f"write_{kind}")(path)
    found = audit_files(path, "ill", PRICES, groups="who", max_rows=1500)
    assert found.n_evaluated < found.n_rows
    assert found.n_effective == pytest.approx(by_group.n_effective, rel=0.35)
    cost = found.candidate("all_positive").clean
    assert cost.low <= by_group.candidate("all_positive").clean.value <= cost.high


def test_copies_are_noticed_in_passes(table, tmp_path):
    """Rows that were drawn count for as many as are different."""
    path = tmp_path / "a.parquet"
    pl.concat([table.drop("who").head(1500)] * 4).write_parquet(path)
    found = audit_files(path, "ill", PRICES, max_rows=2000)
    assert any("repeat others" in text for text in found.warnings)
    assert found.n_effective < 0.9 * found.n_evaluated


def test_time_judges_by_later_rows(table):
    """Rows are judged by what was learned from earlier ones, and drift is said."""
    rng = np.random.default_rng(1)
    X, day = rng.normal(size=(1200, 2)), np.arange(1200)
    clean = (X[:, 0] > 0) ^ (day > 700)
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(
        ill=flip_labels(clean.astype(int), 0.1, random_state=0),
        day=pl.Series([str(np.datetime64("2023-01-01") + int(k) // 4) for k in day]),
    )
    found = audit(
        frame.sample(fraction=1, shuffle=True, seed=0), "ill", PRICES, time="day", model="linear"
    )
    assert any("drift" in text for text in found.warnings)
    assert [column["name"] for column in found.schema] == ["a", "b"]
    assert found.wrong_share.low < 0.1 < found.wrong_share.high
    assert width(found.wrong_share) > 0.2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": "who", "time": "a"}, "not both"),
        ({"time": "who"}, "numbers or dates"),
        ({"groups": "whom"}, "did you mean 'who'"),
    ],
)
def test_columns_that_cannot_be_used_are_refused(table, options, words):
    """One sentence says what is wrong."""
    with pytest.raises(FlipCostError, match=words):
        audit(table, "ill", PRICES, model="linear", **options)


def test_gaps_in_groups_are_refused(table):
    """A row without a group may belong to any."""
    gaps = table.with_columns(who=pl.when(pl.col("a") > 1).then(None).otherwise(pl.col("who")))
    with pytest.raises(TableError, match="which group"):
        audit(gaps, "ill", PRICES, groups="who", model="linear")


def test_the_command_takes_groups_and_time(table, tmp_path, capsys):
    """`--group` and `--time` do the same, and the screen says what rows count for."""
    table.with_columns(day=pl.int_range(pl.len())).write_csv(tmp_path / "a.csv")
    args = ["audit", str(tmp_path / "a.csv"), "--target", "ill", "--model", "linear"]
    args += ["--cost-fn", "4", "--cost-fp", "1", "--out", str(tmp_path / "out")]
    assert main([*args, "--group", "who", "--drop", "day"]) == 0
    assert "effective sample size" in " ".join(capsys.readouterr().out.split())
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["data"]["rows_effective"] < 1000
    assert main([*args, "--time", "day", "--drop", "who", "--overwrite"]) == 0
    assert main([*args, "--time", "day", "--group", "who", "--overwrite"]) == 2
    assert "--group or --time" in capsys.readouterr().err


def test_every_figure_in_money_counts_groups_once():
    """Rows that are there five times, told so, have the intervals of rows that are there once."""
    rng = np.random.default_rng(4)
    n = 600
    x, z = rng.normal(size=(2, n))
    clean = rng.random(n) < 1 / (1 + np.exp(1 - 2 * x - z))
    once = pl.DataFrame({"x": x, "z": z, "amount": 20 * np.exp(0.5 * rng.normal(size=n))})
    once = once.with_columns(
        ill=flip_labels(clean.astype(int), 0.1, random_state=0),
        truth=clean.astype(int),
        part=pl.Series(rng.choice(["a", "b"], n)),
        who=np.arange(n),
    )
    found = [
        audit(
            table,
            "ill",
            Costs(fn="amount", fp=CostRange(3, 7)),
            groups="who",
            by="part",
            capacity="10%",
            truth="truth",
            drop=["amount", "part"],
            model="linear",
            noise_rate=0.1,
        )
        for table in (once, pl.concat([once] * 5))
    ]
    assert found[1].n_effective == pytest.approx(n, rel=0.1)

    def widths(result):
        more, given = result.decisions, {}
        for one in result.candidates:
            given |= {f"{one.key} {w}": getattr(one, w) for w in ("observed", "clean", "test")}
            if one.key != result.best.key:
                given[f"saving over {one.key}"] = one.saving
        given |= {f"range {k}": i for k, i in enumerate(more.ranges[0].cost)}
        flagged = more.flagged[0]
        given |= {name: getattr(flagged, name) for name in ("precision", "recall", "lift")}
        given |= {f"part {s.name}": s.cost for s in more.segments}
        bands = {f"curve at {k}": more.price.clean[k] for k in (10, 30)}
        return {k: width(i) for k, i in given.items()} | {k: b[2] - b[1] for k, b in bands.items()}

    plain, copied = (widths(result) for result in found)
    # Counted as independent, copies would have 1 / sqrt(5) = .45 of these widths.
    for name, wide in plain.items():
        if wide > 1e-9:
            assert 0.75 < copied[name] / wide < 1.35, name


def test_checked_rows_before_all_that_is_evaluated_are_learned_from_only():
    """Rows checked in the first span of time say nothing of later labels, and that is said."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 900))
    clean = rng.random(900) < 1 / (1 + np.exp(-2 * x))
    names = np.array(["no", "yes"])
    right = [names[int(y)] if k < 40 else None for k, y in enumerate(clean)]
    noisy = names[(clean ^ (rng.random(900) < 0.2)) * 1]
    table = pa.table({"x": x, "z": z, "day": range(900), "ill": noisy, "right": right})
    found = audit(table, "ill", PRICES, time="day", trusted="right", model="linear")
    assert found.n_checked == 0
    assert any("Check some later rows" in text for text in found.warnings)
