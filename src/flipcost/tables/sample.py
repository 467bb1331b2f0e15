"""A uniform sample of rows that merges, and does not depend on how the rows arrive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.arrays import Array, Keys
from flipcost.tables import arrow

_LARGEST_KEY = 2**64 - 1


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows drawn without replacement: those whose positions have the smallest hashes.

    Samples of parts merge to the sample of the whole, because the smallest of all are among the
    smallest of each part. A part may keep fewer rows than it was asked for, if it remembers the
    largest hash that it kept: below the smallest of these bounds no row of any part is missing, so
    that what merging leaves is a uniform sample still, if a smaller one.

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
    frame : Arrow table, optional
        The rows as they were in the source.
    bound : int
        Every row of the source whose hash is at most this is in the sample.

    Examples
    --------
    >>> X, y = np.arange(6.0).reshape(6, 1), np.array([0, 1, 0, 1, 0, 1])
    >>> keys = np.array([5, 3, 4, 0, 2, 1], dtype=np.uint64)
    >>> a, b = (RowSample.of(2, keys[s], X[s], y[s]) for s in (slice(0, 3), slice(3, 6)))
    >>> a.merge(b).X.ravel()
    array([3., 5.])
    """

    size: int
    keys: Keys
    X: Array
    y: NDArray[Any]
    weight: Array | None = None
    names: tuple[str, ...] | None = None
    frame: Any = None
    bound: int = _LARGEST_KEY

    @classmethod
    def of(
        cls,
        size: int,
        keys: Keys,
        X: Any,
        y: NDArray[Any],
        weight: Array | None = None,
        names: tuple[str, ...] | None = None,
        *,
        frame: Any = None,
    ) -> RowSample:
        """Keep the rows with the smallest keys."""
        chosen = np.arange(len(keys))
        bound = _LARGEST_KEY
        if len(keys) > size:
            chosen = np.argpartition(keys, size - 1)[:size]
            bound = int(keys[chosen].max())
        chosen = chosen[np.argsort(keys[chosen], kind="stable")]
        rows = X[chosen]
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        return cls(
            size,
            keys[chosen],
            np.asarray(dense, dtype=float, order="C"),
            y[chosen],
            None if weight is None else weight[chosen],
            names,
            None if frame is None else frame.take(chosen),
            bound,
        )

    def trimmed(self, most: int) -> RowSample:
        """Return the rows with the smallest keys, at most so many: what a part sends elsewhere."""
        if len(self.keys) <= most:
            return self
        return replace(
            self,
            keys=self.keys[:most],
            X=self.X[:most],
            y=self.y[:most],
            weight=None if self.weight is None else self.weight[:most],
            frame=None if self.frame is None else self.frame.take(np.arange(most)),
            bound=int(self.keys[most - 1]),
        )

    def merge(self, other: RowSample) -> RowSample:
        """Return the sample of both sets of rows."""
        if (self.size, self.names) != (other.size, other.names):
            msg = "Samples must be of the same size and features to be merged."
            raise ValueError(msg)
        for full, more in ((self, other), (other, self)):
            if not len(more.keys) or int(more.keys[0]) > full.bound:
                return replace(full, bound=min(full.bound, more.bound))
        bound = min(self.bound, other.bound)
        keys = np.concatenate([self.keys, other.keys])
        chosen = np.flatnonzero(keys <= np.uint64(bound))
        if len(chosen) > self.size:
            chosen = chosen[np.argpartition(keys[chosen], self.size - 1)[: self.size]]
            bound = int(keys[chosen].max())
        chosen = chosen[np.argsort(keys[chosen], kind="stable")]
        weight = frame = None
        if self.weight is not None and other.weight is not None:
            weight = np.concatenate([self.weight, other.weight])[chosen]
        if self.frame is not None and other.frame is not None:
            frame = arrow.concatenate([self.frame, other.frame]).take(chosen)
        return RowSample(
            self.size,
            keys[chosen],
            np.concatenate([self.X, other.X])[chosen],
            np.concatenate([self.y, other.y])[chosen],
            weight,
            self.names,
            frame,
            bound,
        )
