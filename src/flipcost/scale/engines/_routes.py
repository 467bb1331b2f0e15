"""The routes to tables that stay in their engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import finalize

from flipcost.exceptions import TableError
from flipcost.scale._optional import require
from flipcost.scale._rows import Layout
from flipcost.scale.engines._engine import read_source
from flipcost.scale.engines._table import EngineTable

if TYPE_CHECKING:
    from flipcost.data import TableEncoder
    from flipcost.scale.engines._engine import Engine, SqlEngine

_HERE = "flipcost.scale.engines"
_ADDRESSES = ("postgresql://", "postgres://")
_RULES = ("hash", "modulus")


def scan_sql(
    connection: Any,
    query_or_table: str,
    target: str,
    columns: Sequence[str] | None = None,
    positive: Any = None,
    *,
    sample_weight: str | None = None,
    fold_by: str | None = None,
    fold_rule: str = "hash",
    fold_seed: int = 0,
    encoder: TableEncoder | None = None,
) -> EngineTable:
    """Take a table of a database, or what a query gives, as a table that stays where it is.

    The engine is asked for aggregates, by SQL that is written for it: counts, sums and sums of
    products by label and fold, then histograms of scores. No row leaves it.

    Parameters
    ----------
    connection : DuckDB connection, psycopg connection, SparkSession, or str
        Who is asked. Text is the path of a DuckDB file, or an address such as
        ``"postgresql://user:password@host:5432/name"``; the connection is then opened for reading
        only, and the address is kept nowhere.
    query_or_table : str
        The name of a table, as it would be written in SQL, or one SELECT without a semicolon.
    target : str
        Column of labels: any two values.
    columns : sequence of str, optional
        Columns of features; all but those with another role when None.
    positive : label, optional
        The positive label; the larger of the two when None.
    sample_weight : str, optional
        Column of non-negative weights.
    fold_by : str, optional
        Column of integers or text that puts rows into folds; rows with the same value stay
        together. Needed for folds, since rows of a database have no order.
    fold_rule : {"hash", "modulus"}, default="hash"
        How it does: by a hash that is the same in every engine (see
        `flipcost.core.folds.engine_folds`), or by the remainder of an integer.
    fold_seed : int, default=0
        Another seed gives other folds by the hash.
    encoder : TableEncoder, optional
        How columns become features; without it they must be numbers without missing values.

    Returns
    -------
    EngineTable

    Raises
    ------
    SourceError
        When there is no such table or column, when it may not be read, when a column cannot be
        used, when the connection is lost, or when the table changes between two queries.

    Examples
    --------
    >>> import duckdb
    >>> from flipcost import FlipCostClassifier
    >>> connection = duckdb.connect()
    >>> _ = connection.execute(
    ...     "CREATE TABLE calls AS SELECT i AS id, sin(i) AS x, cos(7 * i) AS z, "
    ...     "sin(i) + cos(3 * i) > 0.5 AS fraud FROM range(4000) t(i)"
    ... )
    >>> table = scan_sql(connection, "calls", "fraud", ["x", "z"], fold_by="id")
    >>> model = FlipCostClassifier(cost=0.2).fit_table(table)
    >>> model.chosen_, table.feature_names
    ('rule', ('x', 'z'))
    """
    engine = sql_engine(connection, query_or_table)
    return _table(
        engine, target, columns, positive, sample_weight, fold_by, fold_rule, fold_seed, encoder
    )


def scan_lazy(
    frame: Any,
    target: str,
    columns: Sequence[str] | None = None,
    positive: Any = None,
    *,
    sample_weight: str | None = None,
    fold_by: str | None = None,
    fold_rule: str = "hash",
    fold_seed: int = 0,
    encoder: TableEncoder | None = None,
) -> EngineTable:
    """Take a lazy frame as a table that stays in its engine.

    Relations of DuckDB, DataFrames of Spark, and tables of Ibis on DuckDB, PostgreSQL or Spark are
    asked by the SQL of `scan_sql`; LazyFrames of Polars, and whatever else narwhals knows as a lazy
    frame, by expressions of narwhals.

    Parameters
    ----------
    frame : polars.LazyFrame, DuckDB relation, Spark DataFrame, Ibis table, or narwhals.LazyFrame
        The rows.
    target, columns, positive, sample_weight, fold_by, fold_rule, fold_seed, encoder
        As in `scan_sql`.

    Returns
    -------
    EngineTable

    Examples
    --------
    >>> import polars
    >>> frame = polars.LazyFrame({"x": [1.0, 3.0, 5.0], "y": ["no", "yes", "yes"]})
    >>> scan_lazy(frame, "y").moments().mean.ravel()
    array([1., 4.])
    """
    engine = _lazy_engine(frame)
    return _table(
        engine, target, columns, positive, sample_weight, fold_by, fold_rule, fold_seed, encoder
    )


def _table(
    engine: Engine,
    target: str,
    columns: Sequence[str] | None,
    positive: Any,
    weight: str | None,
    fold_by: str | None,
    rule: str,
    fold_seed: int,
    encoder: TableEncoder | None,
) -> EngineTable:
    try:
        if rule not in _RULES:
            msg = f"`fold_rule` must be 'hash' or 'modulus'; got {rule!r}."
            raise ValueError(msg)
        if isinstance(columns, str):
            msg = f"`columns` must be a sequence of names; got the single text {columns!r}."
            raise TypeError(msg)
        named = None if columns is None else tuple(columns)
        layout = Layout(target, named, weight, fold_by, encoder, fold_seed)
        return EngineTable(engine, layout, positive, rule)
    except Exception:
        engine.close()
        raise


def _root(value: Any) -> str:
    """Return the package that the class of an object comes from."""
    return type(value).__module__.partition(".")[0].lstrip("_")


def sql_engine(connection: Any, source: str) -> SqlEngine:
    """Return who answers for a table or a query, given a connection or where to open one.

    Examples
    --------
    >>> import duckdb
    >>> sql_engine(duckdb.connect(), "SELECT 1 AS x").count()
    1
    """
    engine: SqlEngine
    root = _root(connection)
    if isinstance(connection, str):
        return open_engine(connection, source)
    if root == "duckdb":
        engine = require(f"{_HERE}._duckdb").DuckDBEngine(connection, source)
    elif root == "psycopg":
        engine = require(f"{_HERE}._postgresql").PostgreSQLEngine(connection, source)
    elif root == "pyspark":
        engine = require(f"{_HERE}._spark").SparkEngine(connection, source)
    else:
        msg = (
            "`connection` must be of DuckDB, of psycopg (PostgreSQL), a SparkSession, the path of "
            f"a DuckDB file or a postgresql:// address; got {type(connection).__name__}."
        )
        raise TypeError(msg)
    return engine


def open_engine(address: str, source: str) -> SqlEngine:
    """Open a DuckDB file or a PostgreSQL address for reading.

    Examples
    --------
    >>> open_engine("nowhere.duckdb", "calls")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: There is no DuckDB file at 'nowhere.duckdb'; check the path.
    """
    engine: SqlEngine
    if address.startswith(_ADDRESSES):
        module = require(f"{_HERE}._postgresql")
        read_source(source, module.PostgreSQLEngine.dialect)  # before anything is opened
        connection, secret = module.open_address(address)
        engine = module.PostgreSQLEngine(connection, source, owned=True, secret=secret)
        finalize(engine, connection.close)  # for tables that nobody closes
        return engine
    if "://" in address:
        msg = (
            f"Databases are read from postgresql:// addresses and DuckDB files; got one of "
            f"{address.partition('://')[0]!r}. Open it yourself, or export it to Parquet."
        )
        raise TableError(msg)
    require("duckdb")
    module = require(f"{_HERE}._duckdb")
    engine = module.DuckDBEngine(module.open_file(address), source, owned=True)
    return engine


def draw_rows(
    connection: Any, query_or_table: str, max_rows: int, seed: int = 0
) -> tuple[Any, int]:
    """Take rows out of a database: all of them, or so many drawn at random there.

    Parameters
    ----------
    connection, query_or_table
        As in `scan_sql`; what was opened here is closed again.
    max_rows : int
        Rows to take at most.
    seed : int, default=0
        Of the draw.

    Returns
    -------
    table : pyarrow.Table
        The rows.
    n_rows : int
        How many there are in the database.

    Examples
    --------
    >>> import duckdb
    >>> table, n_rows = draw_rows(duckdb.connect(), "SELECT i FROM range(500) t(i)", 100)
    >>> table.num_rows, n_rows
    (100, 500)
    """
    engine = sql_engine(connection, query_or_table)
    try:
        n_rows = engine.count()
        return engine.rows(max_rows if n_rows > max_rows else None, n_rows, seed), n_rows
    finally:
        engine.close()


def _lazy_engine(frame: Any) -> Engine:
    root = _root(frame)
    if root == "narwhals" and hasattr(frame, "to_native"):
        frame, root = frame.to_native(), _root(frame.to_native())
    engine: Engine | None = None
    if root == "duckdb":
        engine = require(f"{_HERE}._duckdb").DuckDBRelation(frame)
    elif root == "pyspark":
        engine = require(f"{_HERE}._spark").SparkFrame(frame)
    elif root == "ibis":
        engine = _ibis_engine(frame)
    if engine is None:
        require("narwhals")
        engine = require(f"{_HERE}._narwhals").NarwhalsEngine(frame)
    return engine


def _ibis_engine(frame: Any) -> Engine | None:
    """Return who answers for an Ibis table in SQL, if it is one of ours."""
    backend = frame.get_backend()
    if backend.name not in ("duckdb", "postgres", "pyspark"):
        return None
    connection = backend.con if backend.name != "pyspark" else backend._session  # noqa: SLF001
    if _root(connection) not in ("duckdb", "psycopg", "pyspark"):
        return None
    return sql_engine(connection, str(require("ibis").to_sql(frame)))
