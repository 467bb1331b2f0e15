"""Errors and warnings of flipcost's own, and the words that their messages share.

A message is one line: what must hold, what was found, what to do. Parameters are named in
backticks, as `drop` or ``drop=['note']``; the command line says the same in its options.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence

# The longest quotation in a message, and the longest message.
_QUOTED, _MESSAGE = 80, 1200


def clean_text(text: str, limit: int = _MESSAGE) -> str:
    r"""Return text of any origin as one line that a terminal may be shown.

    White space becomes single blanks; marks that hide or turn text go; other control characters,
    which could command the terminal, are replaced. Long quotations and long lines are cut.

    Parameters
    ----------
    text : str
        What is to be shown.
    limit : int, default=1200
        Characters that are shown at most.

    Returns
    -------
    str

    Examples
    --------
    >>> clean_text("Column 'first\nname' holds '\x1b[31mred\u202e'.")
    "Column 'first name' holds '\ufffd[31mred'."
    >>> len(clean_text("x" * 100_000))
    1200
    """
    # What will be cut is not looked at: a cell may be of megabytes.
    if len(text) > 100 * limit:
        text = f"{text[: 50 * limit]} {text[-50 * limit :]}"
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(map(_shown, line))
    # A quote after a letter ends a quotation; what follows it is our own words.
    line = re.sub(rf"(?<!\w)'[^']{{{_QUOTED},}}'", _cut_quotation, line)
    if len(line) > limit:
        line = f"{line[: limit - 203]}...{line[-200:]}"
    return line


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    kind = unicodedata.category(character)
    return {"Cf": "", "Zs": " "}.get(kind, "\N{REPLACEMENT CHARACTER}")


def _cut_quotation(found: re.Match[str]) -> str:
    return f"{found[0][: _QUOTED - 20]}...{found[0][-15:]}"


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
        # A name of a file or a column may hold a line break, or anything; the message must not.
        super().__init__(clean_text(message))


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


class CellError(TableError):
    """A cell of a table cannot be read; the message says which row, where that is known.

    Parameters
    ----------
    message : str
        What is wrong.
    row : int, default=0
        Place of the row among those that were read, the first being 0.

    Examples
    --------
    >>> error = CellError("Column 'age' held numbers and does not now; correct it.", 4)
    >>> print(error.at(100))
    Column 'age' held numbers and does not now; correct it. It is in row 105.
    """

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type[CellError], tuple[str, int]]:
        return CellError, (str(self), self.row)

    def at(self, start: int) -> str:
        """Return the message with the number of the row, this many rows having been read before."""
        return f"{self} It is in row {start + self.row + 1:,}."


class ModelFileError(FlipCostError):
    """A model file cannot be loaded; the message says why, and what to do."""


class ExportError(FlipCostError):
    """A model cannot be written in another form; the message says which part of it, and why."""


class ExperimentError(FlipCostError):
    """What was asked of the experiments cannot be run."""


class OutputError(FlipCostError):
    """A result cannot be written where it was asked for, or would replace what is there."""


class UserError(FlipCostError):
    """A mistake in an option of the command line."""


class PositiveLabelWarning(UserWarning):
    """The positive class was taken by its order, and its name says that it is the other one."""


# What people call the label that they are not looking for.
_QUIET = {
    "good", "ok", "okay", "fine", "well", "healthy", "normal", "negative", "benign", "no", "false",
    "legit", "legitimate", "genuine", "ham", "paid", "repaid", "pass", "passed", "retained",
    "stayed", "absent",
}  # fmt: skip


def positive_doubt(negative: object, positive: object) -> str | None:
    """Return what to say of a positive label that was taken by its order; None if it looks right.

    Examples
    --------
    >>> positive_doubt("bad", "good")
    "'good' is taken for the positive label, as the second in order; if 'bad' is the one to find, \
give `pos_label='bad'`."
    >>> positive_doubt("no", "yes")
    """
    quiet = [str(label).strip().lower() in _QUIET for label in (negative, positive)]
    if quiet != [False, True]:
        return None
    return (
        f"{str(positive)!r} is taken for the positive label, as the second in order; if "
        f"{str(negative)!r} is the one to find, give `pos_label={str(negative)!r}`."
    )


class DependenceWarning(UserWarning):
    """Rows depend on each other, and count for fewer rows than there are."""


class LargeQueryWarning(UserWarning):
    """A query that a model was written as is longer than some engines read."""


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
    shown = ", ".join(_quote(value) for value in found[:limit])
    return shown if len(found) <= limit else f"{shown} and {len(found) - limit} more"


def _quote(value: object) -> str:
    return repr(value[:_QUOTED] + "..." if isinstance(value, str) and value[_QUOTED:] else value)


def unknown_column(name: str, names: Sequence[str], where: str) -> TableError:
    """Return the error for a column that is not there, with the nearest name that is.

    Examples
    --------
    >>> print(unknown_column("labell", ["age", "label"], "a.csv"))
    a.csv has no column 'labell'; did you mean 'label'?
    """
    lower = {other.lower(): other for other in names}
    # Names that are not of about the same length are not near, and long ones take long to compare.
    near = [other for other in lower if abs(len(other) - len(name)) < 20 and len(other) < 200]
    close = difflib.get_close_matches(name.lower()[:200], near, n=1, cutoff=0.5)
    advice = (
        f"; did you mean {lower[close[0]]!r}?" if close else f". Its columns are {shorten(names)}."
    )
    return TableError(f"{where} has no column {name!r}{advice}")
