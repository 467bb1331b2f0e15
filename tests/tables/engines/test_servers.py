"""What only servers have: rights, sessions that end, executors that die."""

import os
import signal
import subprocess
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost import ClassMoments, FlipCostClassifier
from flipcost.exceptions import SourceError, TableError
from flipcost.tables.scan import scan_lazy, scan_sql
from tests.tables.engines.servers import PASSWORD
from tests.tables.test_routes import assert_same

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_a_session_that_ends_is_lost(postgresql):
    """The server ends the session between two queries: one sentence, without the password."""
    postgresql.connection.execute(
        "CREATE TABLE lost AS SELECT i AS id, sin(i) AS x, i % 2 AS y FROM generate_series(1, 99) i"
    )
    table = scan_sql(postgresql.address, "lost", "y", ["x"], fold_by="id")
    table.fold_moments(2)
    postgresql.connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    with pytest.raises(SourceError, match="the connection was lost while table 'lost'") as found:
        table.fold_moments(2)
    assert PASSWORD not in str(found.value)
    assert found.value.__cause__ is None


def test_a_query_that_is_cut_off_is_lost(postgresql):
    """The session ends while a query runs."""
    table = scan_sql(
        postgresql.address,
        "SELECT i AS x, i % 2 AS y, pg_sleep(0.02)::text AS nap FROM generate_series(1, 2000) i",
        "y",
        ["x"],
    )
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%0.02%' "
        "AND pid <> pg_backend_pid()"
    )
    cut = threading.Timer(1.0, postgresql.connection.execute, [end])
    cut.start()
    with pytest.raises(SourceError, match="the connection was lost while the query was read"):
        scan_sql(
            table._engine._connection,
            "SELECT i AS x, i % 2 AS y FROM generate_series(1, 900) i WHERE pg_sleep(0.02) IS NOT "
            "NULL",
            "y",
        ).moments()
    cut.join()


def test_the_connection_that_is_opened_here_only_reads(postgresql):
    """Nothing can be written through it, and no right to read is a sentence."""
    postgresql.connection.execute("CREATE TABLE mine AS SELECT 1 AS x, 0 AS y")
    table = scan_sql(postgresql.address, "mine", "y")
    with pytest.raises(Exception, match="read-only transaction"):
        table._engine._connection.execute("DELETE FROM mine")
    table.close()
    postgresql.connection.execute("CREATE ROLE reader LOGIN PASSWORD 'x'")
    address = postgresql.address.replace(postgresql.address.split("@")[0], "postgresql://reader:x")
    with pytest.raises(SourceError, match="does not let this user read table 'mine'"):
        scan_sql(address, "mine", "y")
    with pytest.raises(TableError, match="refused the user or the password"):
        scan_sql(address.replace(":x@", ":secret@"), "mine", "y")


def test_a_refusal_does_not_spoil_the_transaction(postgresql):
    """A connection within a transaction is usable after a query of ours was refused."""
    import psycopg

    with psycopg.connect(postgresql.address) as connection:
        connection.execute("CREATE TABLE mine_too AS SELECT 1 AS x")
        with pytest.raises(SourceError, match="PostgreSQL has no table 'nowhere'"):
            scan_sql(connection, "nowhere", "y")
        assert connection.execute("SELECT x FROM mine_too").fetchall() == [(1,)]
        connection.rollback()


def test_enumerations_and_identifiers_are_text(postgresql):
    """Columns of types of their own are categories, and keys."""
    postgresql.connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    postgresql.connection.execute(
        "CREATE TABLE moods AS SELECT CASE i % 3 WHEN 0 THEN 'sad' ELSE 'ok' END::mood AS mood, "
        "md5(i::text)::uuid AS id, i % 2 AS y FROM generate_series(1, 90) i"
    )
    table = scan_sql(postgresql.connection, "moods", "y", ["mood"], fold_by="id")
    encoder = table.learn_encoder()
    assert encoder.feature_names == ("mood = ok", "mood = sad")
    parts = table.with_encoder(encoder).fold_moments(3).parts
    assert sum(part.n_rows.sum() for part in parts) == 90


def test_values_come_as_they_are(postgresql):
    """Rows come as text: what is missing, empty, quoted, infinite or no number stays so."""
    text = ["", None, 'a\\\n"b", c', "NA"]
    number = [float("nan"), float("inf"), None, 0.1]
    connection = postgresql.connection
    connection.execute(
        "CREATE TABLE odd (i int, x float8, t text, b boolean, n numeric, d date, z timestamptz)"
    )
    for i, (x, t) in enumerate(zip(number, text, strict=True)):
        connection.execute(
            "INSERT INTO odd VALUES (%s, %s, %s, %s, 1.5, '2024-02-29', '2024-02-29 12:00+02')",
            (i, x, t, i > 1),
        )
    engine = scan_sql(connection, "odd", "b")._engine
    found = engine.arrow("SELECT * FROM odd ORDER BY i")
    assert found["t"].to_pylist() == text
    np.testing.assert_array_equal(found["x"].to_numpy()[[0, 1, 3]], [np.nan, np.inf, 0.1])
    assert found["x"].null_count == 1
    assert found["b"].to_pylist() == [False, False, True, True]
    assert found["n"].to_pylist() == [1.5] * 4
    assert found["d"].cast(pa.string()).to_pylist() == ["2024-02-29"] * 4
    assert found["z"].cast(pa.string()).to_pylist()[0].startswith("2024-02-29 10:00:00")
    assert engine.arrow("SELECT * FROM odd WHERE false").schema == found.schema
    with pytest.raises(TableError, match="more than one column named 't'"):
        scan_sql(connection, "SELECT t, b, t FROM odd", "b")
    connection.execute("UPDATE odd SET d = 'infinity'")
    with pytest.raises(SourceError, match="table 'odd': PostgreSQL could not answer"):
        engine.fetch("*", "odd")


@pytest.mark.parametrize("name", ["postgresql", "duckdb"])
def test_two_hundred_columns_are_one_statement(name, request):
    """All products of 200 columns are asked for at once; those of 210 in two statements."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 210)), np.arange(60) % 2
    data = pa.table({**{f"c{j}": X[:, j] for j in range(210)}, "y": y})
    if name == "postgresql":
        server = request.getfixturevalue("postgresql")
        server.fill(data, "wide")
        connection = server.connection
    else:
        connection = request.getfixturevalue("duck")
        connection.register("wide", data)
    for d, n_questions in ((200, 3), (210, 4)):
        table = scan_sql(connection, "wide", "y", [f"c{j}" for j in range(d)])
        assert_same(table.moments(), ClassMoments.from_rows(X[:, :d], y), 1e-9)
        assert table.n_queries == n_questions


def test_a_killed_executor_changes_nothing(spark, tmp_path):
    """One of two workers dies while the moments are gathered; they are the same, and the fit is."""
    rng = np.random.default_rng(1)
    n = 40_000
    X, y = rng.normal(size=(n, 3)), rng.random(n) < 0.4
    X[:, 0] += y
    data = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "id": np.arange(n)})
    path = tmp_path / "rows.parquet"
    pq.write_table(data, path, row_group_size=n // 8)
    frame = spark.read.parquet(str(path)).repartition(8)
    table = scan_lazy(frame, "y", ["a", "b", "c"], fold_by="id")
    before = _executors(2)
    assert len(before) == 2
    killer = threading.Timer(0.3, os.kill, [before[0], signal.SIGKILL])
    killer.start()
    found = table.moments()
    killer.join()
    assert_same(found, ClassMoments.from_rows(X, y), 1e-9)
    assert before[0] not in _executors()
    assert_same(table.moments(), ClassMoments.from_rows(X, y), 1e-9)
    model = FlipCostClassifier(cost=0.3, features="linear").fit_table(table)
    assert model.n_features_in_ == 3


def _executors(wanted=0, patience=120):
    """Return the processes of Spark's executors that this one started, once there are this many."""
    until = time.monotonic() + patience
    while True:
        time.sleep(0.2)
        found = _running("CoarseGrainedExecutorBackend")
        if len(found) >= wanted or time.monotonic() > until:
            return found


def _running(program):
    """Return descendants of this process that run a program."""
    lines = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,stat,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [line.split(None, 3) for line in lines[1:]]
    ours, grown = {os.getpid()}, True
    while grown:
        more = {int(pid) for pid, parent, *_ in rows if int(parent) in ours} - ours
        grown, ours = bool(more), ours | more
    return [
        int(pid)
        for pid, _, state, args in rows
        if int(pid) in ours and program in args and "Z" not in state
    ]
