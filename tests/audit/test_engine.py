"""Audits of tables that stay in their engine: all rows are judged, few leave it."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost import Costs
from flipcost.audit import _sources, audit_files, audit_sql
from flipcost.exceptions import SourceError, TableError
from flipcost.recheck import CheckedRow
from tests.tables.engines.servers import PASSWORD, running_postgresql

duckdb = pytest.importorskip("duckdb")

PRICES = Costs(fn=1, fp=2)
MOST = 700
EXTRA = ("trusted", "again", "weight", "who", "price", "digits")


def make_calls(n=1500):
    """Columns of every kind, with gaps, empty texts and rare levels."""
    rng = np.random.default_rng(0)
    fraud = rng.random(n) < 0.4
    label = np.where(np.where(rng.random(n) < 0.1, ~fraud, fraud), "bad", "good")
    days = rng.integers(0, 900, n)

    def gaps(values, share=0.1):
        gone = rng.random(n) < share
        return [None if g else v for v, g in zip(np.asarray(values).tolist(), gone, strict=True)]

    town = rng.choice(["Lyon", "Nice", "O'Brien", "", "Oslo"], n, p=[0.4, 0.3, 0.2, 0.095, 0.005])
    seen = [dt.date(2022, 1, 1) + dt.timedelta(days=int(d)) for d in days]
    names = rng.permutation(n)
    columns = {
        "name": [f"call {k}" for k in names],
        "amount": pa.array(gaps(1e3 + 30 * (rng.normal(size=n) + 2 * fraud))),
        "minutes": rng.gamma(2.0, size=n),
        "visits": pa.array(gaps(rng.poisson(2 + fraud)), pa.int64()),
        "town": gaps(town),
        "smokes": gaps(np.where(rng.random(n) < 0.3 + 0.2 * fraud, "yes", "No")),
        "vip": gaps(rng.random(n) < 0.2),
        "seen": pa.array(seen, pa.date32()),
        "fraud": gaps(label, 0.02),
        "trusted": gaps(np.where(fraud, "bad", "good"), 0.9),
        "again": gaps(np.where(np.where(rng.random(n) < 0.1, ~fraud, fraud), "bad", "good"), 0.3),
        "weight": rng.integers(1, 4, n).astype(float),
        "who": rng.integers(0, 200, n),
        "price": 1 + rng.gamma(2.0, size=n),
        "digits": [f"{x:.3f}" for x in rng.normal(size=n)],
    }
    return pa.table(columns)


CALLS = make_calls()
# What a look at few rows, always the same ones, does not meet.
INFINITE = (
    "SELECT * REPLACE (CASE name WHEN 'call 3' THEN 'inf'::DOUBLE ELSE minutes END AS minutes) "
    "FROM calls"
)
LEAST = "'weight' must hold numbers of at least 0, none missing"


@pytest.fixture(autouse=True)
def few_rows_looked_at(monkeypatch):
    """Have a small table stand for a large one."""
    monkeypatch.setattr(_sources, "_LOOK_ROWS", 400)


@pytest.fixture(scope="module")
def duck():
    with duckdb.connect() as connection:
        connection.register("given", CALLS)
        connection.execute("CREATE TABLE calls AS SELECT * FROM given")
        yield connection


@pytest.fixture(scope="module")
def server():
    with running_postgresql() as found:
        found.fill(CALLS, "calls")
        yield found


@pytest.fixture(
    params=["duckdb", pytest.param("postgresql", marks=[pytest.mark.engines, pytest.mark.slow])]
)
def database(request):
    """Return a connection to DuckDB, or the address of a PostgreSQL server."""
    if request.param == "duckdb":
        return request.getfixturevalue("duck")
    return request.getfixturevalue("server").address


def audited(database, source="calls", **options):
    used = {value for value in options.values() if isinstance(value, str)} | {options.get("cost")}
    options.setdefault("drop", [name for name in EXTRA if name not in used])
    options = {"id": "name", "max_rows": MOST, "cost": PRICES} | options
    return audit_sql(database, source, "fraud", **options)


@pytest.fixture(scope="module")
def of_files(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "calls.parquet"
    pq.write_table(CALLS, path)

    def run(**options):
        options = {"id": "name", "max_rows": MOST, "drop": EXTRA} | options
        return audit_files(path, "fraud", PRICES, **options)

    return run


def test_a_database_gives_what_a_file_gives(database, of_files):
    """The same rows are drawn by their numbers, and suspects are sought among all."""
    here, there = audited(database), of_files()
    assert here.reading.startswith("drawn and scored by queries in ")
    assert (here.chosen, here.n_rows) == (there.chosen, there.n_rows)
    assert here.n_rows == CALLS.num_rows - CALLS["fraud"].null_count
    assert here.n_evaluated == there.n_evaluated == MOST
    first, other = ({s.id for s in found.suspects[:50]} for found in (here, there))
    if here.reading.endswith("DuckDB"):  # rows of PostgreSQL have other numbers: others are drawn
        assert here.state == there.state
        assert here.wrong_share.value == pytest.approx(there.wrong_share.value)
        assert first == other
    assert abs(here.wrong_share.value - there.wrong_share.value) < 0.1
    assert len(first & other) >= 30


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"second_label": "again"},
        {"sample_weight": "weight"},
        {"groups": "who"},
        {"cost": Costs(fn="price", fp=2), "drop": [n for n in EXTRA if n != "price"]},
        {"id": None, "drop": (*EXTRA, "name")},
        {"capacity": "100", "by": "town"},
        {"time": "seen"},
        {"model": "boosting"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_roles_play_their_part(database, options):
    """Second labels, weights, groups, prices by row, no name of rows: all by queries."""
    result = audited(database, **options)
    assert result.reading.startswith("drawn and scored by queries")
    assert result.chosen == "rule"
    assert result.n_rows == CALLS.num_rows - CALLS["fraud"].null_count


def test_trusted_rows_are_learned_from(database):
    """Right labels of some rows are fetched, counted and measured by."""
    result = audited(database, trusted="trusted")
    labelled = zip(CALLS["fraud"].to_pylist(), CALLS["trusted"].to_pylist(), strict=True)
    pairs = [(a, b) for a, b in labelled if a is not None and b is not None]
    assert result.n_checked == len(pairs)
    wrong = np.mean([a != b for a, b in pairs])
    assert abs(result.wrong_share.value - wrong) < 4 * np.sqrt(wrong * (1 - wrong) / len(pairs))


@pytest.mark.slow
def test_checked_rows_come_back_by_name(database):
    """What a first audit hands out is taken back; rows that cannot be found are named."""
    first = audited(database)
    truth = dict(zip(CALLS["name"].to_pylist(), CALLS["trusted"].to_pylist(), strict=True))
    handed = [
        CheckedRow(s.row + 1, s.id, s.label, truth[s.id] or s.suggested, None, f"a, line {k}")
        for k, s in enumerate(first.suspects[:30])
    ]
    handed += [
        CheckedRow(r.row, r.id, r.label, r.label, r.probability, f"b, line {k}")
        for k, r in enumerate(first.recheck.batch.rows)
        if r.id not in {row.id for row in handed}
    ]
    second = audited(database, checked=[handed])
    assert second.n_checked == len(handed)
    assert not {s.id for s in second.suspects} & {row.id for row in handed}
    for row, said in (
        (replace(handed[0], id="nobody"), "the table has no row called 'nobody'"),
        (replace(handed[0], label=handed[0].checked), "the table has changed"),
        (replace(handed[0], id=None), "by their names only; give `id`"),
    ):
        with pytest.raises(TableError, match=said):
            audited(database, checked=[[row]])
    with pytest.raises(TableError, match="have no numbers that stay"):
        audited(database, checked=[handed], id=None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source": "SELECT * FROM calls", "id": None}, "a query gives has no numbers of rows"),
    ],
    ids=["query"],
)
def test_what_queries_cannot_do_is_done_with_drawn_rows(duck, options, said):
    """And the result says so, and why."""
    import re

    result = audited(duck, **options)
    assert not result.reading
    assert f"A random sample of {MOST} of {CALLS.num_rows:,} rows was audited." in result.warnings
    assert any(re.search(said, warning) for warning in result.warnings)


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("SELECT * REPLACE (town AS fraud) FROM calls", {}, "must hold two classes; it holds 4"),
        (INFINITE, {}, "infinite"),
        (
            "SELECT * REPLACE (nullif(who, 3) AS who) FROM calls",
            {"groups": "who"},
            "every row which",
        ),
        ("calls", {"sample_weight": "town"}, "'town' must hold numbers to serve as weights"),
        ("SELECT * REPLACE (weight - 2 AS weight) FROM calls", {"sample_weight": "weight"}, LEAST),
        (
            "SELECT * REPLACE (nullif(weight, 2) AS weight) FROM calls",
            {"sample_weight": "weight"},
            LEAST,
        ),
        ("SELECT * REPLACE (name AS fraud), name AS id FROM calls", {"id": "id"}, "1,000 or more"),
        ("calls", {"id": "nothing"}, "has no column 'nothing'"),
        ("calls", {"groups": "nothing"}, "has no column 'nothing'"),
        ("SELECT *, 'one' AS same FROM calls", {"id": "same"}, "too many rows share a name"),
    ],
    ids=lambda value: value[-30:] if isinstance(value, str) else "",
)
def test_bad_tables_are_refused(duck, source, options, said):
    """One sentence for what a look did not show, and counts do."""
    with pytest.raises(TableError, match=said):
        audited(duck, source, **options)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.parametrize("step", ["looking", "counting", "drawing", "scoring"])
def test_a_session_that_ends_is_said_so(server, step):
    """Whichever step it ends at: one sentence, without the password."""

    def end(said):
        if said.startswith(step):
            server.connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid() AND backend_type = 'client backend'"
            )

    with pytest.raises(SourceError, match="the connection was lost while table 'calls'") as found:
        audited(server.address, progress=end)
    assert PASSWORD not in str(found.value)


@pytest.mark.engines
@pytest.mark.slow
def test_who_writes_meanwhile_disturbs_nothing(server):
    """All queries see the table as it was at the first."""
    server.connection.execute("CREATE TABLE moving AS SELECT * FROM calls")

    def write(said):
        if said != "counting the rows":  # the first
            server.connection.execute("INSERT INTO moving SELECT * FROM calls")

    result = audited(server.address, "moving", progress=write)
    assert result.n_rows == CALLS.num_rows - CALLS["fraud"].null_count


@pytest.mark.parametrize("name", ["name", "number"])
def test_rows_with_names_are_drawn_alike(duck, tmp_path, name):
    """From a file and from an engine the same rows are drawn: all that is found is the same."""
    number = pa.array(7 * np.random.default_rng(1).permutation(CALLS.num_rows))
    table = CALLS.select(["name", "amount", "minutes", "fraud"]).append_column("number", number)
    pq.write_table(table, tmp_path / "calls.parquet", row_group_size=400)
    query = f"SELECT * FROM '{tmp_path / 'calls.parquet'}'"
    duck.execute(f"CREATE OR REPLACE TABLE named AS {query}")
    options = {
        "id": name,
        "drop": tuple({"name", "number"} - {name}),
        "max_rows": MOST,
        "model": "linear",
    }
    file = audit_files(tmp_path / "calls.parquet", "fraud", PRICES, **options)
    there = audit_sql(duck, "named", "fraud", PRICES, **options)
    assert there.table.reading != file.table.reading
    assert there.noise_rate == pytest.approx(file.noise_rate)
    assert [s.id for s in there.suspects] == [s.id for s in file.suspects]
    assert there.models.n_flagged == file.models.n_flagged


def test_names_of_many_rows_do_not_draw_them_together(duck, tmp_path):
    """Where names do not tell rows apart, rows are drawn by their places."""
    pq.write_table(CALLS, tmp_path / "calls.parquet", row_group_size=400)
    drop = tuple(set(EXTRA) - {"who"} | {"name"})
    options = {"id": "who", "drop": drop, "max_rows": MOST, "model": "linear"}
    found = audit_files(tmp_path / "calls.parquet", "fraud", PRICES, **options)
    assert found.n_evaluated == MOST
    assert audit_sql(duck, "calls", "fraud", PRICES, **options).n_evaluated == MOST
