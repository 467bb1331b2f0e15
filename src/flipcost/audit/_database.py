"""Audits of tables in databases: judged there by queries, or from rows that are drawn there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flipcost.audit._candidates import is_fitted
from flipcost.audit._engine import TableInEngine
from flipcost.audit._memory import TableInMemory
from flipcost.audit._options import AuditOptions
from flipcost.audit._run import say_nothing, walk
from flipcost.exceptions import NeedsRowsError, SourceError, TableError
from flipcost.tables.scan import sql_engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit._result import AuditResult
    from flipcost.core.costs import CostLike
    from flipcost.tables.engine import SqlEngine


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
) -> AuditResult:
    """Audit a table of a database, or what a query gives.

    A table of more than `max_rows` rows is judged where it is. All its rows are counted by queries:
    labels, moments of the features by label and fold, histograms of scores. What leaves the
    database is these, 20,000 rows to learn from what columns hold, 20,000 rows of each label to
    compare candidates on, those that were checked, and the 1,000 rows of each label whose score
    speaks most against it.

    A smaller table is taken as it is; and so are `max_rows` rows of a larger one, drawn at random
    there, where queries cannot do: for boosting, estimators of your own and `time`; for text that
    holds numbers or dates; and for a query without `id`. The result says so, and why.

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
    AuditResult

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
                return walk(_in_engine(engine, n_rows, asked, say), asked, say)
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


def _in_engine(
    engine: SqlEngine, n_rows: int, asked: AuditOptions, say: Callable[[str], object]
) -> TableInEngine:
    """Return the table as one that stays where it is, or say why it cannot."""
    if asked.time is not None:
        msg = "by `time`, rows are learned from in their order"
        raise NeedsRowsError(msg)
    if not (is_fitted(asked.model) or asked.model in ("auto", "linear")):
        msg = "a model other than 'linear' learns from rows"
        raise NeedsRowsError(msg)
    return TableInEngine(engine, n_rows, str(asked.name), asked, say)
