"""Names of the kinds of arrays that signatures speak of, and booleans checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Places in another array, and numbers of folds.
Indices = NDArray[np.intp]
# Hashes, and what they are made of.
Keys = NDArray[np.uint64]


def as_flags(values: ArrayLike, name: str) -> Flags:
    """Return booleans, or zeros and ones, as booleans; refuse labels that would all count as true.

    Examples
    --------
    >>> as_flags([0, 1, 1], "positive")
    array([False,  True,  True])
    """
    flags = np.asarray(values)
    if flags.dtype != bool and not np.all((flags == 0) | (flags == 1)):
        msg = (
            f"`{name}` must hold booleans, true for the positive class; got other values, such as "
            f"{flags[(flags != 0) & (flags != 1)].tolist()[0]!r}. Compare the labels first: "
            "y == positive_label."
        )
        raise ValueError(msg)
    return flags.astype(bool)
