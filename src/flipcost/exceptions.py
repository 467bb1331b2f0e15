"""Errors and warnings of flipcost's own, and the words that their messages share.

A message is one line: what must hold, what was found, what to do. Parameters are named in
backticks, as `drop` or ``drop=['note']``; the command line says the same in its options.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class FlipCostError(ValueError):
    r"""What every error of flipcost's own is; the message is one line.

    A `ValueError`, so that callers who treat bad input as such need not know this class.

    Examples
    --------
    >>> raise FlipCostError("Column 'first\nname' is empty.")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.FlipCostError: Column 'first name' is empty.
    """

    def __init__(self, message: str) -> None:
        # A name of a file or a column may hold a line break; the message must not.
        super().__init__(" ".join(message.split()))


class TableError(FlipCostError):
    """A file or a column cannot be used.

    Examples
    --------
    >>> raise TableError("a.csv is empty; give a file with a header line and rows.")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: a.csv is empty; give a file with a header line and rows.
    """


class SourceError(TableError):
    """Rows could not be read or used; the message names the file, batch or partition.

    Examples
    --------
    >>> raise SourceError("file 'a.parquet': column 'age' holds 3 missing values.")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.SourceError: file 'a.parquet': column 'age' holds 3 missing values.
    """


class ModelFileError(FlipCostError):
    """A model file cannot be loaded; the message says why, and what to do."""


class ExperimentError(FlipCostError):
    """What was asked of the experiments cannot be run."""


class OutputError(FlipCostError):
    """A result cannot be written where it was asked for, or would replace what is there."""


class UserError(FlipCostError):
    """A mistake in an option of the command line."""


class DenoisingWarning(UserWarning):
    """Denoising went wrong in part, and something was done about it that the message names."""


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
