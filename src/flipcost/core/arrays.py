"""Names of the kinds of arrays that signatures speak of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Places in another array, and numbers of folds.
Indices = NDArray[np.intp]
# Hashes, and what they are made of.
Keys = NDArray[np.uint64]


class ColumnBlock:
    """Rows as a list of columns, which are read block by block and never laid side by side whole.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        Columns of numbers, of any real dtype each.

    Examples
    --------
    >>> ColumnBlock([np.arange(3), np.ones(3)]).shape
    (3, 2)
    """

    ndim = 2

    def __init__(self, columns: Sequence[NDArray[Any]]):
        self.columns = columns
        self.shape = (len(columns[0]) if columns else 0, len(columns))

    def stacked(self) -> Array:
        """Return the rows as an array."""
        return np.column_stack(self.columns).astype(float)
