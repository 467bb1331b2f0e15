"""The error for files and columns that cannot be used."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class TableError(ValueError):
    """A file or a column cannot be used; one line says what is wrong, where, and what to do.

    Examples
    --------
    >>> raise TableError("a.csv is empty; give a file with a header line and rows.")
    Traceback (most recent call last):
        ...
    flipcost.tables._errors.TableError: a.csv is empty; give a file with a header line and rows.
    """

    def __init__(self, message: str) -> None:
        # A name of a file or a column may hold a line break; the message must not.
        super().__init__(" ".join(message.split()))


def shorten(values: Iterable[object], limit: int = 5) -> str:
    """Return a few values as text, and how many more there are.

    Examples
    --------
    >>> shorten(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    found = list(values)
    shown = ", ".join(repr(value) for value in found[:limit])
    return shown if len(found) <= limit else f"{shown} and {len(found) - limit} more"


def unknown_column(name: str, names: Sequence[str], where: str) -> TableError:
    """Return the error for a column that is not there, with the nearest name that is.

    Examples
    --------
    >>> print(unknown_column("labell", ["age", "label"], "a.csv"))
    a.csv has no column 'labell'; did you mean 'label'?
    """
    lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    advice = (
        f"; did you mean {lower[close[0]]!r}?" if close else f". Its columns are {shorten(names)}."
    )
    return TableError(f"{where} has no column {name!r}{advice}")
