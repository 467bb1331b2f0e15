"""Audits of tables in databases: judged there by queries, or from rows that are drawn there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flipcost.audit._options import AuditOptions
from flipcost.audit._run import say_nothing, walk
from flipcost.audit._sources import TableInEngine, TableInMemory
from flipcost.exceptions import NeedsRowsError, SourceError, TableError
from flipcost.tables.scan import sql_engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit._findings import Findings
    from flipcost.core.costs import CostLike


def audit_sql(
    connection: Any,
    query_or_table: str,
    target: str,
    cost: CostLike | None = None,
    *,
    max_rows: int = 200_000,
    random_state: int = 0,
    progress: Callable[[str], object] | None = None,
    **options: Any,
) -> Findings:
    """Audit a table of a database, or what a query gives.

    A table of at most `max_rows` rows is taken as it is. Of a larger one labels are counted by
    queries, and so many rows are drawn, all that were checked among them, which are weighted to
    stand for all. Then all rows come by once, to find the most suspicious labels. Of a query
    without `id` only the drawn rows are audited, and the result says so.

    Parameters
    ----------
    connection : DuckDB connection, psycopg connection, SparkSession, or str
        As in `flipcost.scale.scan_sql`.
    query_or_table : str
        The name of a table, or one SELECT without a semicolon.
    target : str
        The column of labels.
    cost : Costs or float, default=None
        Prices of the mistakes, or the share that a false positive bears, as in `audit`.
    max_rows : int, default=200_000
        Of more rows than these not all leave the database.
    random_state : int, default=0
        Of the draw, and of the audit.
    progress : callable, default=None
        Called with a word on each step.
    **options
        Whatever else `audit` takes; files of `checked` rows need `id`, because rows of a database
        have no numbers that stay.

    Returns
    -------
    Findings

    Examples
    --------
    >>> import duckdb
    >>> from flipcost import Costs
    >>> from flipcost.audit import audit_sql
    >>> connection = duckdb.connect()
    >>> _ = connection.execute(
    ...     "CREATE TABLE calls AS SELECT i AS id, sin(i) AS x, cos(i * 3.3) AS z, "
    ...     "(sin(i) > 0) <> (i * 7919 % 100 < 15) AS fraud FROM range(1000) t(i)"
    ... )
    >>> result = audit_sql(connection, "calls", "fraud", Costs(fn=4, fp=1), id="id", model="linear")
    >>> result.chosen, result.n_rows
    ('rule', 1000)
    """
    options.setdefault("name", query_or_table)
    asked = AuditOptions(
        target=target, cost=cost, max_rows=max_rows, random_state=random_state, **options
    )
    if asked.rounds and asked.id is None:
        msg = (
            "Rows of a database have no numbers that stay, so that checked ones are found by their "
            "names only; give `id`."
        )
        raise TableError(msg)
    say = progress or say_nothing
    engine = sql_engine(connection, query_or_table)
    try:
        say("counting the rows")
        n_rows = engine.count()
        if not n_rows:
            msg = f"{query_or_table.strip()!r} must hold rows to audit; got none."
            raise SourceError(msg)
        if n_rows > max_rows:
            try:
                return walk(TableInEngine(engine, n_rows, str(asked.name), asked, say), asked, say)
            except NeedsRowsError as error:
                why: str | None = str(error)
        else:
            why = None
        say("taking rows")
        rows = engine.rows(None if why is None else max_rows, n_rows, random_state)
    finally:
        engine.close()
    source = TableInMemory(rows, asked, n_rows=n_rows)
    if why is not None:
        source.notes.append(f"Not all rows could be judged where they are: {why}.")
    return walk(source, asked, say)
