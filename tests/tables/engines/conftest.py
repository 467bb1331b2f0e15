"""Real engines: DuckDB, Polars and Ibis in this process, PostgreSQL and Spark beside it."""

import itertools

import pytest

from flipcost.tables.scan import scan_lazy, scan_sql
from tests.tables.engines.servers import running_postgresql, running_spark

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

_NUMBERS = itertools.count()
BESIDE = ("ibis", "postgresql", "spark")
ENGINES = ("duckdb", "duckdb_relation", "polars", *BESIDE)
# Ibis and Spark call what newer packages call old; that is not ours to fix.
_MARKS = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="session")
def duck():
    with pytest.importorskip("duckdb").connect() as connection:
        yield connection


@pytest.fixture(scope="session")
def postgresql():
    with running_postgresql() as server:
        yield server


@pytest.fixture(scope="session")
def spark():
    with running_spark() as session:
        yield session


@pytest.fixture(
    params=[pytest.param(name, marks=_MARKS if name in BESIDE else []) for name in ENGINES]
)
def engine(request, tmp_path):
    """Return a function that puts an Arrow table into an engine and scans it there."""
    name = request.param
    opened = OPENED[name](request, tmp_path)

    def scan(table, target, **options):
        return opened(table, f"t{next(_NUMBERS)}")(target, **options)

    scan.name = name
    return scan


def _duckdb(request, folder):
    connection = request.getfixturevalue("duck")

    def opened(table, name):
        fill_duckdb(connection, table, name)
        return lambda *args, **options: scan_sql(connection, name, *args, **options)

    return opened


def fill_duckdb(connection, table, name):
    """Make a DuckDB table of an Arrow table."""
    connection.register("given", table)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    connection.unregister("given")


def _duckdb_relation(request, folder):
    connection = request.getfixturevalue("duck")

    def opened(table, name):
        fill_duckdb(connection, table, name)
        return lambda *args, **options: scan_lazy(connection.table(name), *args, **options)

    return opened


def _polars(request, folder):
    polars = pytest.importorskip("polars")

    def opened(table, name):
        frame = polars.from_arrow(table).lazy()
        return lambda *args, **options: scan_lazy(frame, *args, **options)

    return opened


def _ibis(request, folder):
    ibis = pytest.importorskip("ibis")
    backend = ibis.duckdb.connect()

    def opened(table, name):
        fill_duckdb(backend.con, table, name)
        return lambda *args, **options: scan_lazy(backend.table(name), *args, **options)

    return opened


def _postgresql(request, folder):
    server = request.getfixturevalue("postgresql")

    def opened(table, name):
        server.fill(table, name)
        return lambda *args, **options: scan_sql(server.connection, name, *args, **options)

    return opened


def _spark(request, folder):
    session = request.getfixturevalue("spark")

    def opened(table, name):
        path = folder / f"{name}.parquet"
        pq.write_table(table, path, row_group_size=max(len(table) // 4, 1))
        session.read.parquet(str(path)).createOrReplaceTempView(name)
        return lambda *args, **options: scan_sql(session, name, *args, **options)

    return opened


OPENED = {
    "duckdb": _duckdb,
    "duckdb_relation": _duckdb_relation,
    "polars": _polars,
    "ibis": _ibis,
    "postgresql": _postgresql,
    "spark": _spark,
}
