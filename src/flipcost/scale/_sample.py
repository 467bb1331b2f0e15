"""A uniform sample of rows that merges, and does not depend on how the rows arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows drawn without replacement: those whose positions have the smallest hashes.

    Samples of parts merge to the sample of the whole, because the smallest of all are among the
    smallest of each part.

    Parameters
    ----------
    size : int
        Largest number of rows.
    keys : ndarray of uint64, shape (n,)
        Hashes of the positions, sorted.
    X : ndarray of shape (n, d)
        Features.
    y : ndarray of shape (n,)
        Labels.
    weight : ndarray of shape (n,), optional
        Weights, when the source has them; each row was drawn with the same probability.
    names : tuple of str, optional
        Names of the features.

    Examples
    --------
    >>> X, y = np.arange(6.0).reshape(6, 1), np.array([0, 1, 0, 1, 0, 1])
    >>> keys = np.array([5, 3, 4, 0, 2, 1], dtype=np.uint64)
    >>> a, b = (RowSample.of(2, keys[s], X[s], y[s]) for s in (slice(0, 3), slice(3, 6)))
    >>> a.merge(b).X.ravel()
    array([3., 5.])
    """

    size: int
    keys: NDArray[np.uint64]
    X: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        size: int,
        keys: NDArray[np.uint64],
        X: Any,
        y: NDArray[Any],
        weight: NDArray[np.float64] | None = None,
        names: tuple[str, ...] | None = None,
    ) -> RowSample:
        """Keep the rows with the smallest keys."""
        chosen = np.arange(len(keys))
        if len(keys) > size:
            chosen = np.argpartition(keys, size - 1)[:size]
        chosen = chosen[np.argsort(keys[chosen], kind="stable")]
        rows = X[chosen]
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        kept = None if weight is None else weight[chosen]
        return cls(
            size, keys[chosen], np.asarray(dense, dtype=float, order="C"), y[chosen], kept, names
        )

    def merge(self, other: RowSample) -> RowSample:
        """Return the sample of both sets of rows."""
        if (self.size, self.names) != (other.size, other.names):
            msg = "Samples must be of the same size and features to be merged."
            raise ValueError(msg)
        weight = None
        if self.weight is not None and other.weight is not None:
            weight = np.concatenate([self.weight, other.weight])
        return RowSample.of(
            self.size,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            weight,
            self.names,
        )
