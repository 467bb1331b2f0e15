"""How rows are drawn in a pass: how many of each label, and which."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.tables.sample import RowSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.tables.rows import Piece

    Keys = NDArray[np.uint64]

# Rows to draw of each label when nobody says, and the fewest that can be asked for: scores that
# bend at three quantiles of a feature have a dozen rows between two bends then.
SAMPLE_ROWS, FEWEST_SAMPLE_ROWS = 10_000, 50
# What a part on another machine may send: so many times its share of the rows that are wanted, so
# that parts may differ in what they hold, but never less than so many.
_PART_SHARE, _PART_ROWS = 4, 500
# Rows to draw of each label are fewer where they are wide: 2,000,000 values are 16 MB; but never
# fewer than so many.
_WIDE_ROWS, _VALUES = 1_000, 2_000_000


@dataclass(frozen=True)
class Drawing:
    """How rows are drawn.

    Attributes
    ----------
    size : int
        Rows of each label, or fewer where rows are wide.
    most : int or None
        What one part may send, when parts lie on other machines.
    frames : bool
        Whether to keep the rows as they were in the source too.
    """

    size: int
    most: int | None = None
    frames: bool = False

    def rows_of(self, n_features: int) -> int:
        """Return how many rows of each label to keep, given how wide these are."""
        return min(self.size, max(_WIDE_ROWS, _VALUES // n_features))

    def sample(
        self,
        size: int,
        keys: Keys,
        rows: Any,
        marks: NDArray[np.int64],
        chosen: NDArray[np.intp],
    ) -> RowSample:
        """Keep the chosen rows of a piece with the smallest keys."""
        frame = rows.piece.frame.take(chosen) if self.frames else None
        weight = None if rows.weight is None else rows.weight[chosen]
        return RowSample.of(
            size,
            keys[chosen],
            rows.X[chosen],
            marks[chosen],
            weight,
            rows.names,
            frame=frame,
        )


def plan_drawing(table: Any, sample_rows: Any, *, frames: bool) -> Drawing | None:
    """Say how many rows of each label to draw, or None for none.

    Examples
    --------
    >>> from flipcost.scale import scan_batches
    >>> plan_drawing(scan_batches([]), 500, frames=False)
    Drawing(size=500, most=None, frames=False)
    """
    if sample_rows is None:
        sample_rows = SAMPLE_ROWS if table.n_parts is None else 0
    is_number = isinstance(sample_rows, Integral) and not isinstance(sample_rows, bool)
    if not is_number or not (sample_rows == 0 or sample_rows >= FEWEST_SAMPLE_ROWS):
        msg = (
            f"`sample_rows` must be 0 or a whole number of at least {FEWEST_SAMPLE_ROWS}; got "
            f"{sample_rows!r}."
        )
        raise ValueError(msg)
    if not sample_rows:
        return None
    most = None
    if table.n_parts is not None:
        most = max(_PART_ROWS, -(-_PART_SHARE * int(sample_rows) // table.n_parts))
    return Drawing(int(sample_rows), most, frames)


def merge_samples(a: dict[Any, RowSample], b: dict[Any, RowSample]) -> dict[Any, RowSample]:
    """Return the rows of each label that are kept of two sets of rows.

    Examples
    --------
    >>> one, two = (RowSample.of(1, np.array([key]), np.eye(1), np.eye(1)) for key in (7, 5))
    >>> merge_samples({"no": one}, {"no": two, "yes": one})["no"].keys
    array([5])
    """
    merged = dict(a)
    for label, more in b.items():
        merged[label] = merged[label].merge(more) if label in merged else more
    return merged


def place_marks(folds: NDArray[np.int16] | None, piece: Piece) -> NDArray[np.int64]:
    """Return fold and position of each row, of shape (n, 2).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> piece = SimpleNamespace(n_rows=2, positions=np.array([8, 9], np.uint64))
    >>> place_marks(np.array([1, 0], np.int16), piece).tolist()
    [[1, 8], [0, 9]]
    """
    folds = np.zeros(piece.n_rows, np.int16) if folds is None else folds
    return np.column_stack([folds, piece.positions.astype(np.int64)])


def smallest_keys(keys: Keys, inside: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Return those rows, of some, with the smallest keys; in no order.

    Examples
    --------
    >>> smallest_keys(np.array([5, 1, 9, 3], np.uint64), np.array([0, 2, 3]), 1)
    array([3])
    """
    if len(inside) <= size:
        return inside
    return inside[np.argpartition(keys[inside], size - 1)[:size]]
