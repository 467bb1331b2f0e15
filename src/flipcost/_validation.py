"""Input checks; the one import point for scikit-learn's private helpers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context as fit_context
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.metrics._scorer import _Scorer as Scorer
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils._param_validation import HasMethods, Hidden, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.exceptions import FlipCostError, PositiveLabelWarning, positive_doubt

__all__ = [
    "HasMethods",
    "Hidden",
    "Interval",
    "LinearClassifierMixin",
    "Scorer",
    "StrOptions",
    "assert_all_finite",
    "check_is_fitted",
    "check_sizes",
    "check_total_weight",
    "check_weights",
    "encode_labels",
    "fit_context",
    "is_missing",
    "positive_index",
    "read_two_labels",
    "take_rows",
    "validate_data",
    "validate_rows",
    "value_codes",
    "vanishing_column",
]

# What weights may add up to: fewer rows than the one say nothing, more than the other no one has.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-3, 1e12
# The squares of smaller numbers lose digits, or vanish; and rows to look at for larger ones.
_SMALLEST, _LOOK_ROWS = 1e-140, 1_000


def validate_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check rows without reading them: shape, dtype and names; the moments show what is not finite.

    Reading all of X once more for that check would cost a third of a fit.
    """
    _refuse_empty(X)
    return validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
    )


def _refuse_empty(X: Any) -> None:
    """Say what to do about a table without rows or columns; scikit-learn counts them only."""
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) != 2 or 0 not in shape:
        return
    what, check = (
        ("feature", "which columns were selected")
        if shape[0]
        else ("row", "the file, or the filter that made the table")
    )
    # scikit-learn's checks look for these words.
    found = f"0 {'feature' if shape[0] else 'sample'}(s) (shape=({shape[0]}, {shape[1]}))"
    msg = (
        f"`X` must hold at least one {what}; got {found} while a minimum of 1 is required. "
        f"Check {check}."
    )
    raise ValueError(msg)


def check_weights(sample_weight: ArrayLike | None, X: Any) -> Any:
    """Return weights as a float array, or None when there are none."""
    if sample_weight is None:
        return None
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def check_total_weight(total: float, what: str) -> None:
    """Refuse weights that add up to a number of rows that no one has; a weight of 2 is two rows."""
    if not _LEAST_WEIGHT <= total <= _MOST_WEIGHT:
        msg = (
            f"{what} must add up to between {_LEAST_WEIGHT:g} and {_MOST_WEIGHT:g} rows, since a "
            f"weight of 2 counts as two rows; got {total:g}. Divide all by their mean."
        )
        raise FlipCostError(msg)


def vanishing_column(X: Array) -> tuple[int, float] | None:
    """Return the first column whose values are too small for their squares, and the largest of it.

    NaN is passed over.
    """
    # A look at some rows rules most columns out: the others are read whole.
    look = np.abs(X[:_LOOK_ROWS])
    with np.errstate(invalid="ignore"):
        small = ~(look >= _SMALLEST).any(axis=0)
    for column in np.flatnonzero(small):
        values = np.abs(X[:, column])
        largest = float(np.max(values, where=~np.isnan(values), initial=0.0))
        if 0 < largest < _SMALLEST:
            return int(column), largest
    return None


def check_sizes(X: Any, weight: Any, l2s: Any) -> None:
    """Refuse numbers that cannot be computed with, in one sentence."""
    penalties = np.asarray(l2s, dtype=float)
    if not penalties.size or not np.all((penalties >= 0) & np.isfinite(penalties)):
        msg = f"`l2s` must hold at least one penalty, none below 0; got {l2s!r}. Give one or more."
        raise FlipCostError(msg)
    if weight is not None:
        # Of the largest weight no sum overflows.
        largest = float(np.max(weight, initial=0.0))
        total = float(np.sum(weight / largest)) * largest if largest > 0 else 0.0
        check_total_weight(total, "`sample_weight`")
    small = vanishing_column(X) if isinstance(X, np.ndarray) and X.dtype.kind == "f" else None
    if small is not None:
        column, largest = small
        msg = (
            f"Column {column} of `X` must not vanish when squared; its values are at most "
            f"{largest:g}. Rescale it."
        )
        raise FlipCostError(msg)


def encode_labels(
    estimator: Any, y: ArrayLike | None, n_rows: int, classes: ArrayLike | None = None
) -> tuple[NDArray[Any], Flags]:
    """Return the two classes, sorted, and whether each label is the second.

    Two comparisons take the place of sorting the labels, which at a million rows takes longer than
    the fit.

    Parameters
    ----------
    estimator : estimator
        Named in messages.
    y : array-like of shape (n_rows,)
        Labels: any two values.
    n_rows : int
        Number of rows of X.
    classes : ndarray of shape (2,), optional
        The classes, when these are known; one of them, or both, may then be missing from y.

    Returns
    -------
    classes : ndarray of shape (2,)
    second : ndarray of bool, shape (n_rows,)
    """
    if y is None:
        msg = (
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            "Give the labels."
        )
        raise ValueError(msg)
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        msg = (
            f"`X` and `y` must have the same number of rows; got {n_rows} and {len(labels)}. "
            "Give the labels of the same rows."
        )
        raise ValueError(msg)
    try:
        found = _encode(labels, classes)
        if classes is None and getattr(estimator, "pos_label", 0) is None:
            doubt = positive_doubt(*found[0].tolist())
            if doubt is not None:
                warnings.warn(doubt, PositiveLabelWarning, stacklevel=4)
        return found
    except TypeError as error:  # None, NA, or labels of kinds that have no order
        msg = (
            "`y` must hold two labels of one kind, none missing; got labels that cannot be "
            f"compared ({error}). Drop the rows without a label, or give the labels as strings."
        )
        raise ValueError(msg) from error


def _encode(labels: Any, classes: Any) -> Any:
    if labels.dtype.kind in "fcO":
        assert_all_finite(labels, input_name="y")
    if classes is None:
        classes = _two_classes(labels)
    second = labels == classes[1]
    if not np.all(second | (labels == classes[0])):
        strangers = np.unique(labels[~second & (labels != classes[0])])[:3].tolist()
        msg = (
            f"`y` must hold the classes {classes.tolist()} only; got also {strangers}. "
            "Drop those rows, or fit anew."
        )
        raise ValueError(msg)
    return classes, second


def _two_classes(labels: Any) -> Any:
    first = labels == labels[0]
    others = labels[~first]
    if not len(others):
        msg = (
            "`y` must hold two classes to learn from; got one class only: "
            f"{labels[:1].tolist()[0]!r}. Check the column or the filter that made the labels."
        )
        raise ValueError(msg)
    if not np.all(others == others[0]):
        with warnings.catch_warnings():  # the error below says it all
            warnings.simplefilter("ignore")
            check_classification_targets(labels)
        found = np.unique(labels)
        shown = ", ".join(repr(v) for v in found[:5].tolist()) + (", ..." if len(found) > 5 else "")
        msg = (
            "Only binary classification is supported. The type of the target is multiclass: `y` "
            f"must hold two classes; got {len(found)}: {shown}. Merge them into two, or keep two."
        )
        raise ValueError(msg)
    return np.unique(np.array([labels[0], others[0]], dtype=labels.dtype))


def read_two_labels(y: Any, pos_label: Any) -> tuple[NDArray[Any], int, Flags]:
    """Return the two labels of a column, which of them is positive, and where that is.

    Examples
    --------
    >>> read_two_labels(["no", "yes", "no"], None)[2]
    array([False,  True, False])
    """
    classes, second = _encode(column_or_1d(y), None)
    index = positive_index(classes, pos_label)
    return classes, index, second if index == 1 else ~second


def positive_index(classes: Any, pos_label: Any) -> int:
    """Return which of the two classes is the positive one."""
    if pos_label is None:
        return 1
    found = np.flatnonzero(classes == pos_label)
    if len(found) != 1:
        msg = (
            f"`pos_label` must be one of the classes {classes.tolist()}; got {pos_label!r}. "
            "Give one of them, or None for the second."
        )
        raise ValueError(msg)
    return int(found[0])


def is_missing(values: NDArray[Any]) -> Flags:
    """Return which values are missing: None, NaN, NaT or NA.

    Examples
    --------
    >>> is_missing(np.array(["a", None, np.nan], dtype=object))
    array([False,  True,  True])
    """
    if values.dtype.kind != "O":  # NaN and NaT are unlike themselves
        return np.asarray(values != values)
    return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA will not say, and refuses to be a boolean
        return True


def value_codes(values: Any, n_rows: int, name: str) -> Indices:
    """Return numbers of values in their order, or say why they cannot be had.

    Examples
    --------
    >>> value_codes(["b", "a", "b"], 3, "groups")
    array([1, 0, 1])
    """
    column: NDArray[Any] = np.asarray(values).reshape(-1)
    if len(column) != n_rows:
        msg = f"`{name}` must have a value for each of the {n_rows:,} rows; got {len(column):,}."
        raise FlipCostError(msg)
    missing = is_missing(column)
    if missing.any():
        msg = f"`{name}` must be known of every row; got {int(missing.sum()):,} without."
        raise FlipCostError(msg)
    try:
        found, codes = np.unique(column, return_inverse=True)
    except TypeError as error:
        msg = f"`{name}` must hold values of one kind; got kinds that cannot be compared ({error})."
        raise FlipCostError(msg) from error
    if len(found) < 2:
        msg = f"`{name}` must have at least two values; got one in all rows."
        raise FlipCostError(msg)
    return np.asarray(codes, dtype=np.intp)
