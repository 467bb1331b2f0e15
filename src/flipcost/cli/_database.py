"""Databases on the command line: where a table is, and a connection that no one shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flipcost.exceptions import UserError

_ADDRESSES = ("postgresql://", "postgres://")
_FILES = (".duckdb", ".ddb")


@dataclass(frozen=True)
class Database:
    """A table and where it is; the address may hold a password, and is not shown.

    Examples
    --------
    >>> Database("postgresql://me:secret@host/db", "calls")
    Database(table='calls')
    """

    address: str = field(repr=False)
    table: str

    @property
    def files(self) -> list[Path]:
        """The file of the database, if it is one."""
        return [] if "://" in self.address else [Path(self.address)]


def find_database(data: str | None, table: str | None, connection: str | None) -> Database | None:
    """Return the database that is meant, or None for files.

    Parameters
    ----------
    data : str or None
        What is to be audited: an address, ``file.duckdb::table``, a DuckDB file, or another file.
    table : str or None
        The table, or a query.
    connection : str or None
        An address, when `data` is none.

    Examples
    --------
    >>> find_database("calls.duckdb::calls", None, None)
    Database(table='calls')
    >>> find_database("calls.csv", None, None)
    """
    if data is None:
        if table is None:
            return None
        if connection is None:
            msg = "Give --connection, or set FLIPCOST_CONNECTION: --table says only which table."
            raise UserError(msg)
        return find_database(connection, table, None)
    is_address = data.startswith(_ADDRESSES)
    path, mark, named = data.rpartition("::")
    if mark and not is_address and not Path(data).exists():
        if table is not None:
            msg = f"Name the table once: {named!r} after ::, or --table {table}."
            raise UserError(msg)
        data, table = path, named
    if "://" not in data and not (mark and path == data) and not data.lower().endswith(_FILES):
        if table is not None:
            msg = "--table goes with a database: an address, or a DuckDB file."
            raise UserError(msg)
        return None
    if not table:
        shown = "the address" if "://" in data else data
        msg = f"Give --table, the table or the SELECT of {shown} to audit."
        raise UserError(msg)
    return Database(data, table)
