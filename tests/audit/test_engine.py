"""Audits of tables that stay in their engine: all rows are judged, few leave it."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost import ClassMoments, Costs
from flipcost.audit import AuditOptions, _engine, audit_files, audit_sql
from flipcost.audit._columns import learn_columns
from flipcost.audit._database import _in_engine
from flipcost.audit._engine import TableInEngine
from flipcost.audit._run import walk
from flipcost.exceptions import NeedsRowsError, SourceError, TableError
from flipcost.recheck import CheckedRow
from flipcost.tables.plain import plain_features, read_columns
from flipcost.tables.scan import sql_engine
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
STRANGE = (
    "SELECT * REPLACE (CASE name WHEN 'call 3' THEN 'never' ELSE smokes END AS smokes) FROM calls"
)


@pytest.fixture(autouse=True)
def few_rows_looked_at(monkeypatch):
    """Have a small table stand for a large one."""
    monkeypatch.setattr(_engine, "_LOOK_ROWS", 400)


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


def test_moments_by_query_are_those_of_the_rows(database):
    """Features of every kind, missing and new levels included, are the reader's own, to 1e-9."""
    drop = tuple(name for name in EXTRA if name != "weight")
    asked = AuditOptions(
        target="fraud", id="name", sample_weight="weight", drop=drop, categorical=("visits",)
    )
    engine = sql_engine(database, "calls")
    source = TableInEngine(engine, CALLS.num_rows, "calls", asked, print)
    maker = learn_columns(source, asked, [])
    columns = {column.name: column for column in read_columns(maker.reader)}
    assert {column.kind for column in columns.values()} == {"number", "boolean", "category", "date"}
    counts = {str(n) for n in CALLS["visits"].to_pylist() if n is not None}
    assert counts - set(columns["visits"].levels)  # rows with a new level count as any other
    labels = {"bad": "bad", "good": "good"}
    kinds, features = read_columns(maker.reader), plain_features(maker.reader, maker.features)
    table = source._source.table(kinds, features, labels, "weight", ["fraud"], maker)
    kept = CALLS.filter(CALLS["fraud"].is_valid())
    X = maker.features.transform(maker.reader.transform(kept))
    weight, y = kept["weight"].to_numpy(), np.array(kept["fraud"].to_pylist())
    found, expected = table.moments(), ClassMoments.from_rows(X, y == "good", weight)
    assert table.feature_names == tuple(f"x{j}" for j in range(X.shape[1]))
    np.testing.assert_array_equal(found.n_rows, expected.n_rows)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-9)
    scale = np.abs(expected.scatter).max()
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-9, atol=1e-9 * scale)
    engine.close()


def test_all_rows_are_judged_as_those_of_a_file_are(database, of_files):
    """Rate, state, choice and suspects agree with two passes over a file of the same rows."""
    here, there = audited(database), of_files()
    assert (
        here.reading
        == f"counted by queries in {'DuckDB' if here.reading.endswith('DuckDB') else 'PostgreSQL'}"
    )
    assert (here.state, here.chosen, here.n_rows) == (there.state, there.chosen, there.n_rows)
    assert here.n_rows == CALLS.num_rows - CALLS["fraud"].null_count
    assert here.n_judged == there.n_judged == MOST
    # Folds differ, and with them what is learned from the same moments of all rows.
    assert abs(here.wrong_share.value - there.wrong_share.value) < 0.02
    first, other = ({s.id for s in found.suspects[:50]} for found in (here, there))
    assert len(first & other) >= 40
    assert not [warning for warning in here.warnings if "sample" in warning]


def test_suspects_are_found_among_all_rows(database):
    """Rows whose score speaks most against their label: those that sorting all rows would give."""
    asked = AuditOptions(target="fraud", id="name", drop=EXTRA, max_rows=MOST)
    engine = sql_engine(database, "calls")
    source = TableInEngine(engine, CALLS.num_rows, "calls", asked, print)
    maker = learn_columns(source, asked, [])
    source._maker = maker
    kinds, features = read_columns(maker.reader), plain_features(maker.reader, maker.features)
    labels = {"bad": "bad", "good": "good"}
    table = source._source.table(
        kinds, features, labels, None, ["name", "fraud", *(c.name for c in kinds)], maker
    )
    from flipcost.core.hinges import HingeBasis

    rng = np.random.default_rng(1)
    basis = HingeBasis(len(features), np.array([1]), np.array([0.3]))
    weights = rng.normal(size=basis.n_columns + 1)
    path = np.broadcast_to(weights, (5, 1, len(weights)))
    kept = CALLS.filter(CALLS["fraud"].is_valid())
    X = maker.features.transform(maker.reader.transform(kept))
    score = basis.expand(X) @ weights[:-1] + weights[-1]
    names, y = np.array(kept["name"].to_pylist()), np.array(kept["fraud"].to_pylist())
    for out, label, sign in zip(
        table.watch(path, ("bad", "good"), basis, 0, 30), ("bad", "good"), (-1, 1), strict=True
    ):
        own = np.flatnonzero(y == label)
        worst = own[np.argsort(sign * score[own])[:30]]
        assert out.piece.frame["name"].to_pylist() == names[worst].tolist()
        np.testing.assert_allclose(out.piece.arrays[0], X[worst], atol=1e-9)
    engine.close()


@pytest.mark.parametrize(
    "options",
    [
        {"second_label": "again"},
        {"sample_weight": "weight"},
        {"groups": "who"},
        {"cost": Costs(fn="price", fp=2), "drop": [n for n in EXTRA if n != "price"]},
        {"id": None, "drop": (*EXTRA, "name")},
        {"capacity": "100", "by": "town"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_roles_play_their_part(database, options):
    """Second labels, weights, groups, prices by row, no name of rows: all by queries."""
    result = audited(database, **options)
    assert result.reading.startswith("counted by queries")
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


def test_checked_rows_come_back_by_name(database):
    """What a first audit hands out is taken back; rows that cannot be found are named."""
    first = audited(database)
    truth = dict(zip(CALLS["name"].to_pylist(), CALLS["trusted"].to_pylist(), strict=True))
    handed = [
        CheckedRow(s.row, s.id, s.label, truth[s.id] or s.suggested, None, f"a, line {k}")
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
        ({"drop": [n for n in EXTRA if n != "digits"]}, r"column 'digits' .* is read as a number"),
        ({"source": "SELECT * FROM calls", "id": None}, "a query gives has no numbers of rows"),
    ],
    ids=["text", "query"],
)
def test_what_queries_cannot_do_is_done_with_drawn_rows(duck, options, said):
    """And the result says so, and why."""
    import re

    result = audited(duck, **options)
    assert not result.reading
    assert f"A random sample of {MOST} of {CALLS.num_rows:,} rows was audited." in result.warnings
    assert any(re.search(said, warning) for warning in result.warnings)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"time": "seen"}, "by `time`"), ({"model": "boosting"}, "learns from rows")],
    ids=["time", "boosting"],
)
def test_what_learns_from_rows_gets_drawn_ones(duck, options, said):
    """Boosting, and order in time."""
    with pytest.raises(NeedsRowsError, match=said):
        _in_engine(sql_engine(duck, "calls"), 10, AuditOptions(target="fraud", **options), print)


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("SELECT * REPLACE (town AS fraud) FROM calls", {}, "must hold two classes; it holds 4"),
        (INFINITE, {}, r"infinite values or numbers beyond 1e100 \(in 1 rows\)"),
        (STRANGE, {}, "'smokes' holds yes or no in the rows looked at, and neither in 1 others"),
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
@pytest.mark.parametrize("step", ["looking", "counting", "gathering", "second pass"])
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


def test_a_table_that_changes_is_noticed(duck):
    """Rows that come while it is audited are noticed by counts."""
    duck.execute("CREATE OR REPLACE TABLE moving AS SELECT * FROM calls")

    def write(step):
        if step.startswith("gathering"):
            duck.execute("INSERT INTO moving SELECT * FROM calls LIMIT 5")

    with pytest.raises(SourceError, match="changed between the queries"):
        audited(duck, "moving", progress=write)


def test_few_rows_leave(duck):
    """What leaves does not grow with the table, beyond what is drawn."""
    duck.execute(
        "CREATE OR REPLACE TABLE many AS SELECT calls.* REPLACE (name || ' ' || i AS name) "
        "FROM calls, range(8) t(i)"
    )
    sizes = []
    for table in ("calls", "many"):
        engine = sql_engine(duck, table)
        asked = AuditOptions(target="fraud", id="name", drop=EXTRA, max_rows=MOST)
        source = TableInEngine(engine, engine.count(), "calls", asked, print)
        walk(source, asked, print)
        sizes.append(source._table.n_bytes)
    assert sizes[1] < 1.3 * sizes[0]
