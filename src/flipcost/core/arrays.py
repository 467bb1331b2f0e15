"""Names of the kinds of arrays that signatures speak of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Places in another array, and numbers of folds.
Indices = NDArray[np.intp]
# Hashes, and what they are made of.
Keys = NDArray[np.uint64]
