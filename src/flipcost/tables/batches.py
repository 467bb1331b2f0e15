"""Tables of batches that the caller makes: arrays, frames, record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from flipcost.exceptions import SourceError
from flipcost.tables import arrow
from flipcost.tables.passes import Progress, Reporter, reduce_pieces
from flipcost.tables.rows import Layout, Piece
from flipcost.tables.source import Table

if TYPE_CHECKING:
    from flipcost.tables.passes import Task


class BatchTable(Table):
    """A table whose rows come from an iterable of batches, one at a time.

    Batches are never held: an iterable that fills the same buffer again for each is welcome.
    """

    def __init__(
        self,
        batches: Iterable[Any] | Callable[[], Iterable[Any]],
        layout: Layout,
        positive: Any = None,
        progress: Callable[[Progress], None] | str | None = None,
    ):
        super().__init__(layout, positive)
        self._batches = batches
        self._progress = progress
        self._spent = False

    def reduce(self, task: Task) -> Any:
        return reduce_pieces(self._pieces(), task, Reporter(self._progress, None))

    def _with_layout(self, layout: Layout) -> BatchTable:
        return BatchTable(self._batches, layout, self._positive, self._progress)

    def _pieces(self) -> Iterator[Piece]:
        start = 0
        columns: list[str] | None = None
        for number, batch in enumerate(self._iterate()):
            where = f"batch {number}"
            if isinstance(batch, (tuple, list)):
                piece = Piece(where, start, arrays=_triple(batch, where))
            else:
                frame = _frame(batch, where)
                columns = columns or list(frame.schema.names)
                piece = Piece(where, start, _in_order(frame, columns, self._layout, where))
            yield piece
            start += piece.n_rows

    def _iterate(self) -> Iterable[Any]:
        if callable(self._batches):
            return self._batches()
        if iter(self._batches) is self._batches:
            if self._spent:
                msg = (
                    "An iterator can be read once only, and this takes another pass. Give a list, "
                    "or a function that returns the batches anew."
                )
                raise ValueError(msg)
            self._spent = True
        return self._batches


def _frame(batch: Any, where: str) -> Any:
    try:
        return arrow.as_arrow(batch, where)
    except TypeError as error:
        msg = (
            f"{where}: a batch must be a pair (X, y), a triple (X, y, weight), an Arrow record "
            f"batch or table, or a pandas or polars DataFrame; got {type(batch).__name__}."
        )
        raise SourceError(msg) from error


def _triple(batch: Any, where: str) -> tuple[Any, Any, Any]:
    if len(batch) not in (2, 3):
        msg = (
            f"{where}: a batch of arrays must be (X, y) or (X, y, weight); got {len(batch)} parts."
        )
        raise SourceError(msg)
    X, y, *weight = batch
    rows = X if sparse.issparse(X) else np.asarray(X)
    return rows, np.asarray(y), weight[0] if weight else None


def _in_order(frame: Any, columns: list[str], layout: Layout, where: str) -> Any:
    """Put the columns in the order of the first batch, of which none may be missing."""
    if layout.columns is not None or frame.schema.names == columns:
        return frame
    if set(frame.schema.names) != set(columns):
        odd = sorted(set(frame.schema.names) ^ set(columns))
        msg = (
            f"{where}: columns must be those of the first batch; {odd} are in one of them only. "
            "Name the features in `columns`."
        )
        raise SourceError(msg)
    return frame.select(columns)
