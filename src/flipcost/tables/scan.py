"""The ways to open a table: files, batches, Dask, databases and lazy frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from weakref import finalize

from flipcost.core.system import require
from flipcost.exceptions import TableError
from flipcost.tables.engine import read_source
from flipcost.tables.engine_table import EngineTable
from flipcost.tables.files import CsvFiles, FileTable, ParquetFiles, Reading, open_files
from flipcost.tables.passes import cluster_module
from flipcost.tables.rows import Layout
from flipcost.tables.source import BatchTable

if TYPE_CHECKING:
    from flipcost.tables.engine import Engine
    from flipcost.tables.passes import Progress
    from flipcost.tables.paths import Paths
    from flipcost.tables.pipelines import TableEncoder
    from flipcost.tables.source import Table

    ProgressLike = Callable[[Progress], None] | str | None


def scan_parquet(
    source: Paths,
    target: str,
    columns: Sequence[str] | None = None,
    positive: Any = None,
    *,
    sample_weight: str | None = None,
    fold_by: str | None = None,
    fold_seed: int = 0,
    encoder: TableEncoder | None = None,
    progress: ProgressLike = None,
    n_threads: int | None = None,
    batch_rows: int | None = None,
    filesystem: Any = None,
) -> FileTable:
    """Open Parquet files as a table, reading their footers only.

    Memory does not grow with the files: each thread reads, decodes and sums up batches of a row
    group of its own, so that one reads while another computes. Only the columns that are needed
    are read at all.

    Parameters
    ----------
    source : path, or sequence of paths
        A file, a folder (searched through, ``key=value`` folders giving columns), a pattern such
        as ``"sales/2024-*.parquet"``, or an address that pyarrow knows.
    target : str
        Column of labels: any two values.
    columns : sequence of str, optional
        Columns of features. All columns of the files but those with another role when None; keys
        of folders must be named.
    positive : label, optional
        The positive label; the larger of the two when None.
    sample_weight : str, optional
        Column of non-negative weights.
    fold_by : str, optional
        Column of identifiers (integers, text, dates) whose hash gives the fold of a row, so that
        rows of one person, say, stay together. The row's position in the table when None.
    fold_seed : int, default=0
        Another seed gives other folds.
    encoder : TableEncoder, optional
        How columns become features; without it they must be numbers without missing values.
    progress : {None, "bar"} or function of a Progress, default=None
        Called after each batch; "bar" draws a bar by rich.
    n_threads : int, optional
        Threads that read and sum up row groups; as many as there are cores when None. Linear
        algebra runs on one thread each.
    batch_rows : int, optional
        Rows of a batch; chosen by the number of columns when None.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the files are, when `source` does not say.

    Returns
    -------
    FileTable

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    SourceError
        When a file cannot be read, or its columns differ from those of the others; it is named.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.parquet")
    ...     pq.write_table(pa.table({"x": [1.0, 3.0, 5.0], "sick": ["no", "yes", "yes"]}), path)
    ...     table = scan_parquet(path, "sick")
    ...     print(table.feature_names, table.n_rows, table.moments().mean.ravel())
    ('x',) 3 [1. 4.]
    """
    files = ParquetFiles(source, filesystem)
    layout = _layout(target, columns, sample_weight, fold_by, encoder, fold_seed)
    return FileTable(files, Reading(layout, n_threads, batch_rows), positive, progress)


def scan_csv(
    source: Paths,
    target: str,
    columns: Sequence[str] | None = None,
    positive: Any = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    null_values: Sequence[str] | None = None,
    sample_weight: str | None = None,
    fold_by: str | None = None,
    fold_seed: int = 0,
    encoder: TableEncoder | None = None,
    progress: ProgressLike = None,
    n_threads: int | None = None,
    filesystem: Any = None,
) -> FileTable:
    r"""Open CSV files as a table, plain or compressed, with a header line each.

    Cells mean what they mean to `flipcost audit` and `flipcost predict`: ``?``, ``NA`` and the
    like are missing, and a column is one of numbers, of yes and no (1 and 0), of dates or of
    categories. That is learned from rows of several places of the files; a cell further on that
    does not fit is refused by name. Labels are numbers or text. Rows are numbered through, and
    ranges of bytes are read by threads.

    Parameters
    ----------
    source, target, columns, positive
        As in `scan_parquet`. ``.gz``, ``.bz2`` and ``.zst`` files are read as they are.
    delimiter, encoding : str, optional
        One character between fields, and the encoding of text (UTF-8 when None); the delimiter is
        found out from the first lines when None.
    null_values : sequence of str, optional
        Spellings of what is missing; "", "?", "NA", "null", "nan" and the like when None.
    sample_weight, fold_by, fold_seed, encoder, progress, n_threads, filesystem
        As in `scan_parquet`.

    Returns
    -------
    FileTable

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("x;late\n1;0\n3;1\n5;1\n")
    ...     print(scan_csv(path, "late", delimiter=";").moments().mean.ravel())
    [1. 4.]
    """
    files = CsvFiles(
        source,
        delimiter=delimiter,
        encoding=encoding,
        missing=null_values,
        filesystem=filesystem,
    )
    layout = _layout(target, columns, sample_weight, fold_by, encoder, fold_seed)
    return FileTable(files, Reading(layout, n_threads), positive, progress)


def scan_batches(
    source: Iterable[Any] | Callable[[], Iterable[Any]],
    target: str | None = None,
    columns: Sequence[str] | None = None,
    positive: Any = None,
    *,
    sample_weight: str | None = None,
    fold_by: str | None = None,
    fold_seed: int = 0,
    encoder: TableEncoder | None = None,
    progress: ProgressLike = None,
) -> BatchTable:
    """Take batches of rows from anywhere as a table.

    Parameters
    ----------
    source : iterable, or function that returns one
        Batches: pairs ``(X, y)`` or triples ``(X, y, weight)`` of arrays (X may be sparse), Arrow
        record batches or tables, pandas or polars DataFrames. An iterator allows one pass; a list
        or a function allows more.
    target : str, optional
        Column of labels in frames; not used with arrays.
    columns, positive, sample_weight, fold_by, fold_seed, encoder, progress
        As in `scan_parquet`. Without `columns`, the first frame says which there are.

    Returns
    -------
    BatchTable

    Examples
    --------
    >>> import pandas as pd
    >>> frames = [pd.DataFrame({"x": [1.0, 3.0], "y": [0, 1]}), pd.DataFrame({"x": [5], "y": [1]})]
    >>> scan_batches(frames, "y").moments().mean.ravel()
    array([1., 4.])
    """
    layout = _layout(target, columns, sample_weight, fold_by, encoder, fold_seed)
    return BatchTable(source, layout, positive, progress)


def scan_dask(
    source: Any,
    target: Any,
    columns: Sequence[str] | None = None,
    positive: Any = None,
    *,
    sample_weight: Any = None,
    fold_by: str | None = None,
    fold_seed: int = 0,
    encoder: TableEncoder | None = None,
) -> Table:
    """Take a Dask collection as a table: its partitions are summed up where they are.

    Work runs on the active ``distributed`` client, or on Dask's own scheduler without one. Each
    partition becomes its moments on the worker that holds it; moments are merged in a tree; rows
    do not travel. A lost worker's partitions are read again elsewhere.

    Parameters
    ----------
    source : dask Array of shape (n, d), dask DataFrame, path, or list of paths
        Rows. All workers, and this process, must see files under the same path. Workers read the
        row groups of Parquet files as `scan_parquet` does, and ranges of CSV files as `scan_csv`
        does, in constant memory; the rows are numbered through.
    target : str, or dask Array or Series
        Column of labels in a DataFrame, or the labels themselves, partitioned as the rows are.
    columns, positive, fold_by, fold_seed, encoder
        As in `scan_parquet`. Folds by position need to know how long partitions are: rows of an
        Array with known chunks are numbered through, others by partition and place in it, so that
        repartitioning a DataFrame moves rows to other folds unless there is `fold_by`.
    sample_weight : str, or dask Array or Series, optional
        Weights, given as `target` is.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np, dask, dask.array as da
    >>> X = da.from_array(np.array([[1.0], [3.0], [5.0]]), chunks=(2, 1))
    >>> y = da.from_array(np.array([0, 1, 1]), chunks=2)
    >>> with dask.config.set(scheduler="synchronous"):
    ...     scan_dask(X, y).moments().mean.ravel()
    array([1., 4.])
    """
    module = cluster_module()
    is_column = isinstance(target, str)
    layout = _layout(
        target if is_column else None,
        columns,
        sample_weight if isinstance(sample_weight, str) else None,
        fold_by,
        encoder,
        fold_seed,
    )
    if isinstance(source, (str, os.PathLike, list, tuple)):
        files = open_files(source, on_cluster=True)
        return FileTable(files, Reading(layout, on_cluster=True), positive)
    labels = None if is_column else target
    weight = None if isinstance(sample_weight, str) else sample_weight
    table: Table = module.DaskTable(source, labels, weight, layout, positive)
    return table


def dask_client(address: str, timeout: float = 10.0) -> AbstractContextManager[Any]:
    """Connect to a Dask scheduler, on which `scan_dask` then works, for as long as a block lasts.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``"tcp://host:8786"``.
    timeout : float, default=10
        Seconds to wait for it.

    Returns
    -------
    context manager
        Gives the ``distributed.Client``.

    Raises
    ------
    ConnectionError
        When there is no scheduler at the address.

    Examples
    --------
    >>> with dask_client("tcp://127.0.0.1:1", timeout=0.1):
    ...     pass
    Traceback (most recent call last):
        ...
    ConnectionError: A Dask scheduler must answer at 'tcp://127.0.0.1:1'; none did within 0.1 s. ...
    """
    require("distributed")
    client: AbstractContextManager[Any] = cluster_module().connect(address, timeout)
    return client


_ADDRESSES = ("postgresql://", "postgres://")


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
    products by label and fold. No row leaves it but those that `FlipCostClassifier` learns from.

    Parameters
    ----------
    connection : DuckDB connection, psycopg connection, SparkSession, or str
        What is asked. Text is the path of a DuckDB file, or an address such as
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
    layout = _layout(target, columns, sample_weight, fold_by, encoder, fold_seed)
    return _engine_table(sql_engine(connection, query_or_table), layout, positive, fold_rule)


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
    asked by the SQL of `scan_sql`; LazyFrames of Polars by theirs.

    Parameters
    ----------
    frame : polars.LazyFrame, DuckDB relation, Spark DataFrame or Ibis table
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
    layout = _layout(target, columns, sample_weight, fold_by, encoder, fold_seed)
    return _engine_table(_lazy_engine(frame), layout, positive, fold_rule)


def _layout(
    target: str | None,
    columns: Sequence[str] | None,
    weight: str | None,
    fold_by: str | None,
    encoder: TableEncoder | None,
    fold_seed: int,
) -> Layout:
    if isinstance(columns, str):
        msg = f"`columns` must be a sequence of names; got the single text {columns!r}."
        raise TypeError(msg)
    named = None if columns is None else tuple(columns)
    return Layout(target, named, weight, fold_by, encoder, fold_seed)


def _engine_table(engine: Engine, layout: Layout, positive: Any, rule: str) -> EngineTable:
    try:
        return EngineTable(engine, layout, positive, rule)
    except Exception:
        engine.close()
        raise


def _root(value: Any) -> str:
    """Return the package that the class of an object comes from."""
    return type(value).__module__.partition(".")[0].lstrip("_")


# Engines by the package of a connection, and of a lazy frame: our module and its class.
_CONNECTIONS = {
    "duckdb": ("duckdb", "DuckDBEngine"),
    "psycopg": ("postgresql", "PostgreSQLEngine"),
    "pyspark": ("spark", "SparkEngine"),
}
_FRAMES = {"duckdb": ("duckdb", "DuckDBRelation"), "pyspark": ("spark", "SparkFrame")}


def _engine(place: tuple[str, str], *given: Any, **options: Any) -> Engine:
    module, name = place
    engine: Engine = getattr(require(f"flipcost.tables.{module}"), name)(*given, **options)
    return engine


def sql_engine(connection: Any, source: str) -> Engine:
    """Return the engine for a table or a query, given a connection or where to open one.

    Examples
    --------
    >>> import duckdb
    >>> sql_engine(duckdb.connect(), "SELECT 1 AS x").count()
    1
    """
    if isinstance(connection, str):
        return open_engine(connection, source)
    place = _CONNECTIONS.get(_root(connection))
    if place is None:
        msg = (
            "`connection` must be of DuckDB, of psycopg (PostgreSQL), a SparkSession, the path of "
            f"a DuckDB file or a postgresql:// address; got {type(connection).__name__}."
        )
        raise TypeError(msg)
    return _engine(place, connection, source)


def open_engine(address: str, source: str) -> Engine:
    """Open a DuckDB file or a PostgreSQL address for reading.

    Examples
    --------
    >>> open_engine("nowhere.duckdb", "calls")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: There is no DuckDB file at 'nowhere.duckdb'; check the path.
    """
    if address.startswith(_ADDRESSES):
        module = require("flipcost.tables.postgresql")
        read_source(source, module.PostgreSQLEngine.name)  # before anything is opened
        connection, secret = module.open_address(address)
        engine = _engine(_CONNECTIONS["psycopg"], connection, source, owned=True, secret=secret)
        finalize(engine, connection.close)  # for tables that are never closed
        return engine
    if "://" in address:
        msg = (
            f"Databases are read from postgresql:// addresses and DuckDB files; got one of "
            f"{address.partition('://')[0]!r}. Open it yourself, or export it to Parquet."
        )
        raise TableError(msg)
    require("duckdb")
    connection = require("flipcost.tables.duckdb").open_file(address)
    return _engine(_CONNECTIONS["duckdb"], connection, source, owned=True)


def _lazy_engine(frame: Any) -> Engine:
    root = _root(frame)
    if root == "ibis":
        return _ibis_engine(frame)
    if root not in _FRAMES:
        require("polars")
    return _engine(_FRAMES.get(root, ("polars", "PolarsEngine")), frame)


def _ibis_engine(frame: Any) -> Engine:
    """Return the engine of an Ibis table, whose backend must be one of ours."""
    backend = frame.get_backend()
    found = {"duckdb": "con", "postgres": "con", "pyspark": "_session"}.get(backend.name)
    connection = None if found is None else getattr(backend, found)
    if _root(connection) not in _CONNECTIONS:
        msg = (
            "Ibis tables are read in DuckDB, PostgreSQL (by psycopg) and Spark; got one of "
            f"{backend.name!r}. Give `scan_batches` its `to_pyarrow_batches`."
        )
        raise TypeError(msg)
    return sql_engine(connection, str(require("ibis").to_sql(frame)))
