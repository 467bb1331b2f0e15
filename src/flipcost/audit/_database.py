"""Audits of tables in databases: rows are drawn there, and audited here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flipcost.audit._run import audit
from flipcost.exceptions import SourceError
from flipcost.scale import draw_rows

if TYPE_CHECKING:
    from flipcost.audit._result import AuditResult
    from flipcost.core.costs import CostLike


def audit_sql(
    connection: Any,
    query_or_table: str,
    target: str,
    cost: CostLike | None = None,
    *,
    max_rows: int = 200_000,
    seed: int = 0,
    **options: Any,
) -> AuditResult:
    """Audit a table of a database, or what a query gives.

    An audit shows rows and compares models on rows, so that rows leave the database here: all of
    them up to `max_rows`, and beyond that so many, drawn at random there, which the result says. To
    fit on all rows without moving one, see `flipcost.scale.scan_sql`.

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
        Rows to take at most.
    seed : int, default=0
        Of the draw, and of the audit.
    **options
        Whatever else `audit` takes.

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
    table, n_rows = draw_rows(connection, query_or_table, max_rows, seed)
    if not n_rows:
        msg = f"{query_or_table.strip()!r} must hold rows to audit; got none."
        raise SourceError(msg)
    options.setdefault("name", query_or_table)
    return audit(table, target, cost, n_rows=n_rows, max_rows=max_rows, seed=seed, **options)
