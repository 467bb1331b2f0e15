"""The error that every route raises when rows cannot be read."""

from __future__ import annotations


class SourceError(ValueError):
    """Rows could not be read or used; the message names the file, batch or partition.

    A `ValueError`, so that callers who treat bad input as such need not know this class.

    Examples
    --------
    >>> raise SourceError("file 'a.parquet': column 'age' holds 3 missing values.")
    Traceback (most recent call last):
        ...
    flipcost.scale.SourceError: file 'a.parquet': column 'age' holds 3 missing values.
    """

    __module__ = "flipcost.scale"  # where users find it
