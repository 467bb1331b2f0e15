"""What the columns of X are to each kind of score: numbers for the closed form, all for trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Levels of a category that are kept, the most frequent ones: more columns than that cost more than
# rare levels give, and scikit-learn's boosting takes at most 255.
_MOST_LEVELS = 100


def is_mixed(X: Any) -> bool:
    """Tell whether X is a frame with columns that are no numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> is_mixed(pd.DataFrame({"a": [1.0], "b": ["x"]})), is_mixed([[1.0]])
    (True, False)
    """
    return hasattr(X, "columns") and any(_is_category(_column(X, k)) for k in range(X.shape[1]))


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """What was learned of the columns: levels of categories, and what fills gaps in numbers.

    Attributes
    ----------
    levels : dict of {int: tuple}
        Levels of each column of categories, the most frequent first.
    fill : ndarray of shape (d,)
        Medians of the others.
    gaps : ndarray of int
        Which of these had missing values, and get a column that says so.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20.0, None, 40.0], "city": ["Rome", "Rome", "Oslo"]})
    >>> columns = FeatureColumns.learn(frame)
    >>> columns.numbers(frame)
    array([[20.,  0.,  1.,  0.],
           [30.,  1.,  1.,  0.],
           [40.,  0.,  0.,  1.]])
    >>> columns.cells(frame)
    array([[20.,  0.],
           [nan,  0.],
           [40.,  1.]])
    """

    levels: Mapping[int, tuple[Any, ...]]
    fill: Array
    gaps: NDArray[np.intp]

    @classmethod
    def learn(cls, X: Any) -> FeatureColumns:
        """Look at the training rows: a frame, or an array of numbers."""
        if sparse.issparse(X):
            return cls({}, np.zeros(X.shape[1]), np.empty(0, np.intp))
        levels = {}
        if is_mixed(X):
            found = ((k, _column(X, k)) for k in range(X.shape[1]))
            levels = {k: _levels(values) for k, values in found if _is_category(values)}
        cells = cls(levels, np.zeros(X.shape[1]), np.empty(0, np.intp)).cells(X)
        if not levels and not _has_gaps(cells):
            return cls({}, np.zeros(X.shape[1]), np.empty(0, np.intp))
        missing = np.isnan(cells)
        others = [k for k in range(X.shape[1]) if k not in levels]
        gaps = np.array([k for k in others if missing[:, k].any()], dtype=np.intp)
        fill = np.zeros(X.shape[1])
        for k in gaps:
            known = cells[~missing[:, k], k]
            fill[k] = np.median(known) if len(known) else 0.0
        return cls(levels, fill, gaps)

    @property
    def is_category(self) -> NDArray[np.bool_]:
        """Which columns hold categories."""
        return np.isin(np.arange(len(self.fill)), list(self.levels))

    def cells(self, X: Any) -> Any:
        """Return rows as they are: numbers, codes of levels, and NaN where there is nothing."""
        if sparse.issparse(X) or not hasattr(X, "columns"):
            return X
        table = np.empty(X.shape)
        for k in range(X.shape[1]):
            values = _column(X, k)
            table[:, k] = _codes(values, self.levels[k]) if k in self.levels else values
        return table

    def numbers(self, X: Any) -> Any:
        """Return rows for a linear score: gaps filled, levels as columns of zeros and ones."""
        cells = self.cells(X)
        if sparse.issparse(cells):
            return cells
        if not self.levels and not len(self.gaps) and not _has_gaps(cells):
            return cells
        missing = np.isnan(cells)
        plain = [k for k in range(len(self.fill)) if k not in self.levels]
        parts = [np.where(missing[:, plain], self.fill[plain], cells[:, plain])]
        parts.append(missing[:, self.gaps].astype(float))
        for k, levels in self.levels.items():
            parts.append((cells[:, k, None] == np.arange(len(levels))).astype(float))
        return np.concatenate(parts, axis=1)


def _has_gaps(cells: NDArray[Any]) -> bool:
    """Tell whether anything is missing, without a table of flags: NaN is what a minimum keeps."""
    return bool(cells.size and np.isnan(cells.min()))


def _column(X: Any, k: int) -> NDArray[Any]:
    column = X.iloc[:, k] if hasattr(X, "iloc") else X[:, k]
    return np.asarray(column)


def _is_category(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "O":
        try:
            np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            return True
        return False
    return values.dtype.kind not in "fiub"


def _levels(values: NDArray[Any]) -> tuple[Any, ...]:
    found: dict[Any, int] = {}
    for value in values.tolist():
        if value is not None and value == value:
            found[value] = found.get(value, 0) + 1
    return tuple(sorted(found, key=lambda level: (-found[level], str(level)))[:_MOST_LEVELS])


def _codes(values: NDArray[Any], levels: tuple[Any, ...]) -> Array:
    place = {level: float(code) for code, level in enumerate(levels)}
    return np.array([place.get(value, np.nan) for value in values.tolist()])
