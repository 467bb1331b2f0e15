"""PostgreSQL through psycopg, which comes with the connection unless that is opened here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import csv

from flipcost.core.system import require
from flipcost.exceptions import TableError
from flipcost.tables.engine import Engine
from flipcost.tables.sniff import check_names

_TEXT = ("text", "varchar", "bpchar", "name", "uuid")
# Arrow's types of all that does not come as text.
_ARROW = {
    **dict.fromkeys(("int2", "int4", "int8"), pa.int64()),
    **dict.fromkeys(("float4", "float8", "numeric"), pa.float64()),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_BLOCK_BYTES = 1 << 22  # of rows that come at a time
_WAIT = 10  # seconds for a server to answer
# Characters of a statement from which on the server must not compile it: the products of 200
# columns of 20,000 rows are added up in 8 s, and were not after seven minutes of compiling.
_LONG = 100_000


class PostgreSQLEngine(Engine):
    """A table or a query of a PostgreSQL connection."""

    title = "PostgreSQL"
    double, text = "DOUBLE PRECISION", "TEXT"
    fence = " OFFSET 0"  # subqueries are dissolved otherwise
    # Where a row lies: four bytes of a page, and two of a place on it.
    row_number = "CAST(CAST('x' || encode(tidsend(ctid), 'hex') AS bit(48)) AS BIGINT)"
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

    def schema(self) -> Any:
        with self.guarded():
            found = self._types(f"SELECT * FROM {self.source} AS source")
        known = _ARROW | dict.fromkeys(_TEXT, pa.string())
        return pa.schema(  # an enumeration is text
            (name, pa.string() if kind == "e" else known.get(said, pa.binary()))
            for name, (said, kind) in found.items()
        )

    def drawn_by_chance(self, size: int, n_rows: int, seed: int) -> str:
        with self.guarded():
            self.run(f"SELECT setseed({seed % 1_000_003 / 1_000_003:.9f})")
        share = 1.05 * size / n_rows + 20 / n_rows
        return f" WHERE random() < {share:.12f} ORDER BY random() LIMIT {size}"

    def arrow(self, statement: str) -> Any:
        return pa.concat_tables(self.streamed(statement))

    def streamed(self, statement: str) -> Iterator[Any]:
        # As text, which the server writes and Arrow reads several times faster than objects come.
        columns = self._types(statement)
        types = {name: _ARROW.get(said, pa.string()) for name, (said, _) in columns.items()}
        yield pa.table({name: pa.array([], type_) for name, type_ in types.items()})
        options = (
            csv.ReadOptions(column_names=list(types), block_size=_BLOCK_BYTES),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute("SET LOCAL DateStyle = 'ISO'")
            command = f"COPY ({statement}) TO STDOUT (FORMAT csv, ENCODING 'UTF8')"
            with cursor.copy(command) as copied:
                source = _Copied(copied)
                if not source.is_empty:
                    for batch in csv.open_csv(pa.PythonFile(source, mode="r"), *options):
                        yield pa.Table.from_batches([batch])

    def _types(self, statement: str) -> dict[str, tuple[str, str]]:
        """Return the type of each column of a statement, and the kind of this type."""
        described, _ = self._described(f"SELECT * FROM ({statement}) AS rows LIMIT 0")
        check_names([column.name for column in described], self.where)
        codes = ", ".join(str(int(column.type_code)) for column in described)
        types = {
            oid: (name, kind)
            for oid, name, kind in self.run(
                "SELECT CAST(oid AS BIGINT), CAST(typname AS TEXT), CAST(typtype AS TEXT) "
                f"FROM pg_catalog.pg_type WHERE oid IN ({codes})"
            )
        }
        return {c.name: types.get(int(c.type_code), ("unknown", "b")) for c in described}

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

    def fault(self, error: Exception) -> str | None:
        if isinstance(error, pa.ArrowInvalid):  # as dates beyond all others
            return str(error)
        if type(error).__module__.partition(".")[0] != "psycopg":
            return None
        if self._connection.closed:
            return "lost"
        state = getattr(error, "sqlstate", None) or ""
        if state in ("42P01", "3F000"):
            return "no table"
        if state == "42501":
            return "no right"
        diagnosed = getattr(error, "diag", None)
        said = getattr(diagnosed, "message_primary", None) or str(error)
        return said.replace(self._secret, "***") if self._secret else said

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


def _plain(host: str, secret: str) -> str:
    """Return the host, unless a password with an unescaped @ ran into it."""
    return "that address" if "@" in host or (secret and secret in host) else host


def _unreadable() -> TableError:
    return TableError(
        "The address of the database cannot be read; it must be like "
        "postgresql://user:password@host:5432/name, with %40 for an @ in the password."
    )


class _Copied:
    """What a server copies out, as a file."""

    closed = False

    def __init__(self, copied: Any):
        self._copied, self._held = copied, bytearray(copied.read())

    @property
    def is_empty(self) -> bool:
        """Whether nothing came."""
        return not self._held

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes."""
        while (size < 0 or len(self._held) < size) and (row := self._copied.read()):
            self._held += row
        wanted = len(self._held) if size < 0 else size
        found, self._held = bytes(self._held[:wanted]), self._held[wanted:]
        return found

    def close(self) -> None:
        """Do nothing: the copy ends where it began."""
