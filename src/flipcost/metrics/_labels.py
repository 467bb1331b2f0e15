"""Telling positives from negatives in labels and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from flipcost.core.arrays import Flags
from flipcost.core.confusion import ConfusionCounts


def are_positive(labels: Sequence[ArrayLike], pos_label: Any = None) -> list[Flags]:
    """Return for each array of labels which are positive.

    Parameters
    ----------
    labels : list of array-like of shape (n,)
        Labels of the same rows: two values in all, or one.
    pos_label : label, default=None
        The positive class; the larger of the two when None. When all labels are the same and
        `pos_label` is None, a 1 (or True) is positive, and a 0, -1 (or False) negative.

    Returns
    -------
    list of ndarray of bool
    """
    columns = [column_or_1d(column) for column in labels]
    if len({len(column) for column in columns}) != 1:
        lengths = " and ".join(str(len(column)) for column in columns)
        msg = f"Labels and predictions must be of the same number of rows; got {lengths}."
        raise ValueError(msg)
    values = np.unique(np.concatenate(columns))
    if len(values) > 2:
        msg = (
            f"Labels and predictions must hold two values; got {len(values)}: "
            f"{values[:5].tolist()}."
        )
        raise ValueError(msg)
    positive = _positive_label(values, pos_label)
    return [column == positive for column in columns]


def _positive_label(values: NDArray[Any], pos_label: Any) -> Any:
    if pos_label is not None:
        if len(values) == 2 and pos_label not in values.tolist():
            msg = f"`pos_label` must be one of the labels {values.tolist()}; got {pos_label!r}."
            raise ValueError(msg)
        return pos_label
    if len(values) == 2:
        return values[1]
    if len(values) == 1 and values[0] in (-1, 0, 1):
        return 1
    msg = (
        f"All labels and predictions are the same ({values.tolist()}), so the positive class "
        "cannot be told from them; give `pos_label`."
    )
    raise ValueError(msg)


def read_called(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any, sample_weight: ArrayLike | None
) -> tuple[Flags, Flags, Any]:
    """Return which labels and which predictions are positive, and the weights."""
    positive, called = are_positive([y_true, y_pred], pos_label)
    weight = None if sample_weight is None else column_or_1d(sample_weight)
    return positive, called, weight


def confusion(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any, sample_weight: ArrayLike | None
) -> ConfusionCounts:
    """Count labels against predictions."""
    return ConfusionCounts.from_labels(*read_called(y_true, y_pred, pos_label, sample_weight))
