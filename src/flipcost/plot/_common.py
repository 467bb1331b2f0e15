"""What all displays need: axes to draw on, labels and probabilities read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from flipcost._validation import positive_index
from flipcost.core.arrays import Array, Flags


def take_axes(ax: Any) -> Any:
    """Return the axes to draw on, new ones when there are none."""
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - needed only to draw
    except ImportError:
        msg = "Drawing needs matplotlib, which is not installed. Install matplotlib."
        raise ImportError(msg) from None
    return plt.subplots()[1] if ax is None else ax


def read_positive(y: ArrayLike, pos_label: Any) -> Flags:
    """Return which labels are positive; the positive one is the second in order when not given."""
    labels = column_or_1d(y)
    classes = np.unique(labels)
    if len(classes) != 2:
        msg = f"`y` must hold two labels; got {len(classes)}. Give the labels of both classes."
        raise ValueError(msg)
    return labels == classes[positive_index(classes, pos_label)]


def read_probability(probability: ArrayLike, n_rows: int, name: str = "y_prob") -> Array:
    """Return probabilities of the positive class as a checked array."""
    values = np.asarray(probability, dtype=float)
    if values.shape != (n_rows,) or not np.all((values >= 0) & (values <= 1)):
        msg = (
            f"`{name}` must hold a probability of the positive class for each of the {n_rows} "
            f"rows; got shape {values.shape}. Give one column of predict_proba."
        )
        raise ValueError(msg)
    return values


def positive_probability(estimator: Any, X: Any, pos_label: Any) -> Array:
    """Return the estimator's probability of the positive class."""
    if not hasattr(estimator, "predict_proba"):
        msg = f"`estimator` must have `predict_proba`; {type(estimator).__name__} has not."
        raise TypeError(msg)
    index = positive_index(estimator.classes_, pos_label_of(estimator, pos_label))
    return estimator.predict_proba(X)[:, index]


def pos_label_of(estimator: Any, pos_label: Any) -> Any:
    """Return the positive label: the one given, or else the estimator's own."""
    return getattr(estimator, "pos_label", None) if pos_label is None else pos_label


def rates_up_to(most: float) -> Array:
    """Return the assumed rates that are drawn."""
    return np.linspace(0.0, most, 91)
