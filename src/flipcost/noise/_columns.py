"""Read columns of labels of any two values, some of them missing, and of scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost._validation import is_missing, positive_index
from flipcost.core.arrays import Array, Flags
from flipcost.core.noise import NoiseRate


def read_columns(
    columns: Mapping[str, ArrayLike], pos_label: Any, *, optional: Collection[str] = ()
) -> tuple[Array, list[Any]]:
    """Return columns of labels by their names as 1 (positive), 0 and NaN (missing), and the labels.

    The negative label comes first; there is none where all labels are positive. Only the
    `optional` columns may have missing labels (None, NaN, NA).
    """
    labels = {name: _column(values, name) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in labels.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{n} in `{name}`" for name, n in lengths.items())
        msg = f"All columns must have the same number of rows; got {shown}. Align them by row."
        raise ValueError(msg)
    absent = {name: is_missing(values) for name, values in labels.items()}
    for name, mask in absent.items():
        if name not in optional and mask.any():
            msg = (
                f"`{name}` must have a label in every row; got {int(mask.sum())} without one, "
                f"the first in row {int(np.argmax(mask))}. Drop these rows."
            )
            raise ValueError(msg)
    known = _two_labels([v[~absent[name]] for name, v in labels.items()], pos_label)
    table = np.full((len(next(iter(labels.values()))), len(labels)), np.nan)
    for j, (name, values) in enumerate(labels.items()):
        seen = ~absent[name]
        table[seen, j] = np.asarray(values[seen] == known[-1], dtype=float)
    return table, known


def read_labels(y_noisy: ArrayLike, pos_label: Any) -> Flags:
    """Return which labels of one column are positive; both classes must be there."""
    positive = read_columns({"y_noisy": y_noisy}, pos_label)[0][:, 0] == 1
    if not 0 < np.count_nonzero(positive) < len(positive):
        msg = "`y_noisy` must hold two labels; got one only. Check the column or the filter."
        raise ValueError(msg)
    return positive


def read_scores(scores: ArrayLike, n_rows: int, name: str = "scores") -> Array:
    """Return scores as a checked float array."""
    values = np.asarray(scores, dtype=float)
    if values.shape != (n_rows,):
        msg = (
            f"`{name}` must hold one number for each of the {n_rows} labels; got shape "
            f"{values.shape}. Of predict_proba, give the column of the positive class."
        )
        raise ValueError(msg)
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        msg = (
            f"`{name}` must be finite; got {values[bad]} in row {bad}. Give out-of-fold scores for "
            "all rows, or drop the rows without."
        )
        raise ValueError(msg)
    return values


def read_probabilities(noisy_probability: ArrayLike, n_rows: int | None = None) -> Array:
    """Return probabilities as a checked float array."""
    n_rows = len(np.asarray(noisy_probability)) if n_rows is None else n_rows
    values = read_scores(noisy_probability, n_rows, "noisy_probability")
    if not np.all((values >= 0) & (values <= 1)):
        msg = (
            "`noisy_probability` must lie in [0, 1]; got values from "
            f"{values.min():g} to {values.max():g}. Scores of another kind can be given to "
            "rate_by_likelihood or rate_bounds."
        )
        raise ValueError(msg)
    return values


def noise_rate(value: Any, low: Any, high: Any, source: str, level: float) -> NoiseRate:
    """Return a rate from arrays with one number each, or one for each class."""
    if len(value) == 1:
        value, low, high = value[0], low[0], high[0]
    return NoiseRate(value, low, high, source, level)


def _column(values: ArrayLike, name: str) -> NDArray[Any]:
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1 or not len(column):
        msg = (
            f"`{name}` must be a column with one label a row, and hold a row at least; "
            f"got shape {column.shape}."
        )
        raise ValueError(msg)
    return column


def _two_labels(columns: Sequence[NDArray[Any]], pos_label: Any) -> list[Any]:
    # Sets of Python values, not one joined array: numpy would make 1 and "1" the same.
    try:
        found = sorted(set().union(*(np.unique(column).tolist() for column in columns)))
    except TypeError as error:
        msg = (
            "Labels must be of one kind in all columns; got kinds that cannot be compared "
            f"({error}). Give all of them as strings, or all as numbers."
        )
        raise ValueError(msg) from error
    if not 1 <= len(found) <= 2:
        msg = (
            f"Labels must have two values in all columns together; got {len(found)}: {found[:5]}. "
            "Keep or merge rows until two are left."
        )
        raise ValueError(msg)
    if len(found) == 1:
        return [found[0] if pos_label is None else pos_label]
    return found if positive_index(np.array(found, dtype=object), pos_label) else found[::-1]
