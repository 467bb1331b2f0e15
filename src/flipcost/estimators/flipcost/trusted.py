"""Labels that somebody checked: what they say, and whether they can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost._validation import take_rows
from flipcost.core.checked_rows import CheckedRows, contradict, look_wrong
from flipcost.exceptions import FlipCostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

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


def check_not_swapped(
    X: Any,
    positive: Flags,
    checked: CheckedRows,
    learn: Callable[[Any, Flags], Callable[[Any], Array]],
) -> None:
    """Refuse checked rows that contradict most labels, unless these labels look wrong.

    Rows that were checked because they look wrong mostly are; then what the other rows' labels
    teach speaks against the labels that the checks contradict. Where it does not, and rows are
    contradicted that look like any of their label, one of the two columns is coded the other way.

    Parameters
    ----------
    X : array, sparse matrix or frame of n rows
        All rows.
    positive : ndarray of bool, shape (n,)
        Their labels.
    checked : CheckedRows
        Those whose right label is known.
    learn : callable
        From rows and labels to what scores rows; called in the rare case only.

    Examples
    --------
    >>> labels = np.arange(12) % 2 == 1
    >>> checked = CheckedRows(np.arange(12), ~labels)
    >>> check_not_swapped(np.ones((12, 1)), labels, checked, lambda X, y: X.sum)
    Traceback (most recent call last):
        ...
    flipcost.exceptions.FlipCostError: 12 of the 12 checked rows have another label in `trusted` \
than in `y`, and these rows look no different from others of their label: are its two labels \
swapped, or do they belong to other rows?
    """
    given = positive[checked.rows]
    if not contradict(given, checked.right):
        return
    others = np.ones(len(positive), dtype=bool)
    others[checked.rows] = False
    rest = np.flatnonzero(others)
    if len(np.unique(positive[rest])) == 2:
        others_X, wrong_rows = take_rows(X, rest), checked.rows[given != checked.right]
        score = learn(others_X, positive[rest])
        scores = score(take_rows(X, wrong_rows))
        if look_wrong(scores, positive[wrong_rows], score(others_X), positive[rest]):
            return
    wrong, rows = int(np.sum(given != checked.right)), len(given)
    msg = (
        f"{wrong:,} of the {rows:,} checked rows have another label in `trusted` than in `y`, and "
        "these rows look no different from others of their label: are its two labels swapped, or "
        "do they belong to other rows?"
    )
    raise FlipCostError(msg)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
