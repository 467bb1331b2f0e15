"""PostgreSQL through psycopg, which comes with the connection unless that is opened here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from flipcost.core.system import require
from flipcost.exceptions import SourceError, TableError
from flipcost.tables.engine import ColumnKind, Engine

_KINDS = {
    "int2": "whole", "int4": "whole", "int8": "whole",
    "float4": "number", "float8": "number", "numeric": "number",
    "bool": "truth", "date": "date", "timestamp": "date", "timestamptz": "date",
    "text": "text", "varchar": "text", "bpchar": "text", "name": "text", "uuid": "text",
}  # fmt: skip
# Rows that come at a time, where all come.
_BATCH_ROWS = 50_000
_WAIT = 10  # seconds for a server to answer
# Characters of a statement from which on the server must not compile it: the products of 200
# columns of 20,000 rows are added up in 8 s, and were not after seven minutes of compiling.
_LONG = 100_000


# Where a row lies: a page, and a place on it, of which a page has far fewer than 65,536.
_PLACE = "CAST(CAST(ctid AS TEXT) AS POINT)"


class PostgreSQLEngine(Engine):
    """A table or a query of a PostgreSQL connection."""

    title = "PostgreSQL"
    double, text = "DOUBLE PRECISION", "TEXT"
    fence = " OFFSET 0"  # subqueries are dissolved otherwise
    row_number = f"(CAST(({_PLACE})[0] AS BIGINT) * 65536 + CAST(({_PLACE})[1] AS BIGINT))"
    packs = True  # a result has at most 1664 columns

    def __init__(self, connection: Any, source: str, *, owned: bool = False, secret: str = ""):
        super().__init__(source)
        self._connection, self._owned, self._secret = connection, owned, secret

    def is_nan(self, value: str) -> str:
        return f"({value} = 'NaN')"

    def text_key(self, name: str) -> str:
        value = f"CAST({self.name(name)} AS TEXT)"
        return f"CAST(CAST('x' || substr(md5({value}), 1, 8) AS bit(32)) AS BIGINT)"

    def run(self, statement: str) -> list[Any]:
        return self._described(statement)[1]

    def columns(self) -> dict[str, ColumnKind]:
        with self.guarded():
            described, _ = self._described(f"SELECT * FROM {self.source} AS source LIMIT 0")
            codes = ", ".join(str(int(column.type_code)) for column in described)
            types = {
                oid: (name, kind)
                for oid, name, kind in self.run(
                    "SELECT CAST(oid AS BIGINT), CAST(typname AS TEXT), CAST(typtype AS TEXT) "
                    f"FROM pg_catalog.pg_type WHERE oid IN ({codes})"
                )
            }
        found = {}
        for column in described:
            name, kind = types.get(int(column.type_code), ("unknown", "b"))
            is_text = kind == "e"  # an enumeration
            found[column.name] = ColumnKind("text" if is_text else _KINDS.get(name, "other"), name)
        return found

    def drawn_by_chance(self, size: int, n_rows: int, seed: int) -> str:
        with self.guarded():
            self.run(f"SELECT setseed({seed % 1_000_003 / 1_000_003:.9f})")
        share = 1.05 * size / n_rows + 20 / n_rows
        return f" WHERE random() < {share:.12f} ORDER BY random() LIMIT {size}"

    def arrow(self, statement: str) -> Any:
        return _table(*self._described(statement))

    def streamed(self, statement: str) -> Iterator[Any]:
        with (
            self._connection.transaction(),
            self._connection.cursor(name="flipcost_rows") as cursor,
        ):
            cursor.execute(statement)
            while found := cursor.fetchmany(_BATCH_ROWS):
                yield _table(cursor.description, found)

    def _described(self, statement: str) -> tuple[Any, list[Any]]:
        # A transaction of its own, or a step within the caller's, so that a refusal harms nothing.
        with self._connection.transaction(), self._connection.cursor() as cursor:
            before = None
            if len(statement) > _LONG:
                cursor.execute("SELECT current_setting('jit'), set_config('jit', 'off', true)")
                before = cursor.fetchone()[0]
            cursor.execute(statement)
            described, found = cursor.description, cursor.fetchall()
            if before is not None:
                cursor.execute(f"SET LOCAL jit = {before}")
            return described, found

    def fault(self, error: Exception) -> SourceError | None:
        if type(error).__module__.partition(".")[0] != "psycopg":
            return None
        if self._connection.closed:
            return self.lost()
        state = getattr(error, "sqlstate", None) or ""
        if state in ("42P01", "3F000"):
            return self.no_table()
        if state == "42501":
            return self.no_right()
        diagnosed = getattr(error, "diag", None)
        said = getattr(diagnosed, "message_primary", None) or str(error)
        return self.refused(said.replace(self._secret, "***") if self._secret else said)

    def close(self) -> None:
        if self._owned:
            self._connection.close()


def open_address(address: str) -> tuple[Any, str]:
    """Connect for reading; return the connection, and the password that is not to be shown."""
    psycopg = require("psycopg")
    try:
        parts = urlsplit(address)
        secret, host = unquote(parts.password or ""), parts.hostname or "localhost"
    except ValueError:
        raise _unreadable() from None
    try:
        connection = psycopg.connect(address, autocommit=True, connect_timeout=_WAIT)
    except psycopg.ProgrammingError:  # its message may quote a piece of the password
        raise _unreadable() from None
    except psycopg.Error as error:
        said = str(error).lower()
        if "password" in said or "authentication" in said or "role" in said:
            msg = f"PostgreSQL at {host!r} refused the user or the password; check both."
        elif "database" in said and "does not exist" in said:
            msg = f"PostgreSQL at {host!r} has no such database; check the end of the address."
        else:
            msg = (
                f"No PostgreSQL server answered at {_plain(host, secret)!r} within {_WAIT} s; "
                "check the host, the port, and that the server runs."
            )
        raise TableError(msg) from None
    connection.execute("SET default_transaction_read_only = on")
    # All queries see the table as it was at the first, whatever is written meanwhile.
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    return connection, secret


def _table(described: Any, found: Any) -> Any:
    names = [column.name for column in described]
    cells = list(zip(*found, strict=True)) or [()] * len(names)
    return pa.table([_cells(values) for values in cells], names=names)


def _plain(host: str, secret: str) -> str:
    """Return the host, unless a password with an unescaped @ ran into it."""
    return "that address" if "@" in host or (secret and secret in host) else host


def _unreadable() -> TableError:
    return TableError(
        "The address of the database cannot be read; it must be like "
        "postgresql://user:password@host:5432/name, with %40 for an @ in the password."
    )


def _cells(values: Any) -> Any:
    """Return a column; decimals as numbers, what Arrow does not know as text."""
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in values])
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column
