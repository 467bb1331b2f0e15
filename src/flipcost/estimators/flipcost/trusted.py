"""Labels that somebody checked: what they say, and whether they can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.checked import CheckedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]


def read_trusted(
    trusted: Any, classes: NDArray[Any], n_rows: int, *, second_is_positive: bool
) -> CheckedRows | None:
    """Return the rows that were checked, or None when there are none.

    Parameters
    ----------
    trusted : array-like of shape (n,) or None
        The right label where a row was checked, and missing elsewhere.
    classes : ndarray of shape (2,)
        The two labels.
    n_rows : int
        Number of rows.
    second_is_positive : bool
        Whether the second label is the positive one.

    Examples
    --------
    >>> found = read_trusted(["b", None, "a"], np.array(["a", "b"]), 3, second_is_positive=True)
    >>> found.rows.tolist(), found.right.tolist()
    ([0, 2], [True, False])
    """
    if trusted is None:
        return None
    values = np.asarray(trusted, dtype=object).reshape(-1)
    if len(values) != n_rows:
        msg = (
            f"`trusted` must have a value for each of the {n_rows} rows, missing where nobody "
            f"checked; got {len(values)}."
        )
        raise ValueError(msg)
    rows = np.array([k for k, value in enumerate(values) if not _is_missing(value)], dtype=np.intp)
    if not len(rows):
        return None
    given = values[rows]
    second = np.array([bool(value == classes[1]) for value in given])
    first = np.array([bool(value == classes[0]) for value in given])
    strange = np.flatnonzero(~(first | second))
    if len(strange):
        msg = (
            f"`trusted` must hold the labels {classes.tolist()}, or nothing; got "
            f"{given[strange[0]]!r} in row {int(rows[strange[0]])}."
        )
        raise ValueError(msg)
    return CheckedRows(rows, second if second_is_positive else first)


def mended(positive: Flags, checked: CheckedRows) -> Flags:
    """Return the labels with those that were checked as they are right.

    If that leaves one class only, which the labels do not, they are returned as they were.

    Examples
    --------
    >>> mended(np.array([True, False, True]), CheckedRows(np.array([1]), np.array([True])))
    array([ True, False,  True])
    >>> mended(np.array([True, False, False]), CheckedRows(np.array([1]), np.array([True])))
    array([ True,  True, False])
    """
    labels = positive.copy()
    labels[checked.rows] = checked.right
    return positive if labels.all() or not labels.any() else labels


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
