"""Tables on a Dask cluster; the only file that imports Dask.

Each partition is turned into moments, counts or histograms by a blockwise function, which Dask
fuses with the tasks that make the partition, so that rows stay on the worker that made them unless
other tasks need them too. Results are merged eight at a time in a tree: neither a worker nor the
client has to hold more than nine of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pyarrow as pa
from dask.delayed import delayed

from flipcost.core.system import require
from flipcost.exceptions import SourceError
from flipcost.tables import arrow
from flipcost.tables.passes import Reporter, Task, Unit, merge_at, packed, reduce_units, run
from flipcost.tables.rows import Layout, Piece
from flipcost.tables.source import Table

if TYPE_CHECKING:
    from flipcost.tables.rows import LabeledMoments
    from flipcost.tables.sample import Drawn

# Wider trees are shallower but hold more results at once; 10,000 partitions take 5 levels of 8.
FAN_IN = 8
# Rows of partitions of unknown length are numbered as if each had this many.
_PLACES = 1 << 40
# Columns that labels and weights of their own become in a frame.
_LABELS, _WEIGHT = "flipcost labels", "flipcost weight"


class DaskTable(Table):
    """A table whose partitions lie on a cluster."""

    def __init__(self, source: Any, labels: Any, weight: Any, layout: Layout, positive: Any = None):
        self._source, self._labels, self._weight = source, labels, weight
        self._is_frame = hasattr(source, "npartitions") and hasattr(source, "columns")
        self._frame_starts: list[int] | None = None
        super().__init__(layout, positive)
        self._check()

    def _lay_out(self, layout: Layout) -> None:
        if self._is_frame:  # labels and weights from elsewhere become columns
            layout = replace(
                layout,
                columns=layout.resolved(list(map(str, self._source.columns))).columns,
                target=layout.target if self._labels is None else _LABELS,
                weight=layout.weight if self._weight is None else _WEIGHT,
            )
        self._layout = layout

    @property
    def n_parts(self) -> int:
        """Number of partitions."""
        return int(self._source.npartitions if self._is_frame else self._source.numblocks[0])

    def draw(self, size: int | None = None) -> Drawn:
        self._number()
        return super().draw(size)

    def fold_moments(self, n_folds: int) -> LabeledMoments:
        if n_folds > 1 and self._layout.fold_by is None:
            self._number()
        return super().fold_moments(n_folds)

    def _number(self) -> None:
        """Count the rows of partitions, so that rows are drawn and put into folds as elsewhere."""
        if self._is_frame and self._frame_starts is None:
            one = self._source[self._stored()[:1]]
            counts = one.map_partitions(len, meta=(None, "int64")).to_delayed()
            lengths = _guarded(list(counts), lambda: delayed(list)(counts).compute())
            self._frame_starts = [0, *np.cumsum(lengths[:-1]).astype(int).tolist()]

    def reduce(self, task: Task) -> Any:
        parts = self._frame_parts(task) if self._is_frame else self._array_parts(task)
        return _guarded(parts, lambda: _result(_tree(parts).compute()))

    def _check(self) -> None:
        if not self._is_frame and not hasattr(self._source, "chunks"):
            msg = f"`source` must be a Dask Array or DataFrame; got {type(self._source).__name__}."
            raise TypeError(msg)
        if self._is_frame:
            names = list(map(str, self._source.columns))
            lost = [name for name in self._stored() if name not in names]
            if lost:
                msg = f"The DataFrame has no columns {lost}; its columns are {names}."
                raise SourceError(msg)
        elif self._labels is None:
            msg = "A Dask Array has no named columns: `target` must be a Dask Array of labels."
            raise TypeError(msg)
        for column in (self._labels, self._weight):
            if column is not None and not hasattr(column, "to_delayed"):
                msg = f"Labels and weights must be Dask collections; got {type(column).__name__}."
                raise TypeError(msg)

    def _stored(self) -> list[str]:
        return [name for name in self._layout.wanted if name not in (_LABELS, _WEIGHT)]

    def _frame_parts(self, task: Task) -> list[Any]:
        """Return one delayed result for each partition of a DataFrame."""
        source = self._source[self._stored()]
        beside = []
        for column in (self._labels, self._weight):
            if column is not None and hasattr(column, "to_dask_dataframe"):
                column = column.to_dask_dataframe()  # noqa: PLW2901
            if column is not None:
                _check_partitions(source.npartitions, column.npartitions)
            beside.append(column)
        results = source.map_partitions(
            _run_frame,
            *beside,
            task=task,
            n_parts=source.npartitions,
            starts=self._frame_starts,
            meta=(None, object),
            align_dataframes=False,
            enforce_metadata=False,
        )
        return list(results.to_delayed())

    def _array_parts(self, task: Task) -> list[Any]:
        """Return one delayed result for each block of rows of an Array."""
        source = self._source
        if source.ndim != 2:
            msg = f"The Dask Array must have two dimensions; got {source.ndim}."
            raise SourceError(msg)
        if source.numblocks[1] > 1:  # a row must lie in one block
            source = source.rechunk({1: -1})
        n_parts = source.numblocks[0]
        beside: list[Any] = []
        for column in (self._labels, self._weight):
            beside += [None, None] if column is None else [self._like_rows(column), "i"]
        results = da.blockwise(  # type: ignore[no-untyped-call]
            _run_block,
            "ij",
            source,
            "ij",
            da.arange(n_parts, chunks=1),
            "i",
            *beside,
            task=task,
            starts=self._starts(),
            dtype=object,
            meta=np.empty((0, 0), object),
            align_arrays=False,
        )
        return list(results.to_delayed().ravel())

    def _like_rows(self, column: Any) -> Any:
        """Return labels or weights in the blocks of the rows."""
        if hasattr(column, "to_dask_array"):
            column = column.to_dask_array()
        lengths, others = self._source.chunks[0], column.chunks[0]
        if np.isnan(np.array((*lengths, *others), dtype=float)).any():
            _check_partitions(len(lengths), len(others))  # the rest is seen when they are there
            return column
        if sum(lengths) != sum(others):
            msg = f"Rows and labels must be as many; got {sum(lengths)} and {sum(others)}."
            raise SourceError(msg)
        return column.rechunk((lengths,))

    def _starts(self) -> list[int]:
        lengths = np.array(self._source.chunks[0], dtype=float)
        if np.isnan(lengths).any():
            return [_PLACES * k for k in range(len(lengths))]
        return [0, *np.cumsum(lengths[:-1]).astype(int).tolist()]


def reduce_remotely(units: list[Unit], task: Task) -> Any:
    """Have workers read units and sum them up; merge what they find in a tree."""
    run = delayed(_run_unit, pure=False)
    carried = delayed(task, traverse=False)
    parts = [run(carried, unit) for unit in units]
    return _guarded(parts, _tree(parts).compute) if parts else None


def map_remotely(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """Have workers apply a function to each item."""
    run = delayed(function, pure=False)
    return list(delayed(list)([run(item) for item in items]).compute())


def _run_unit(task: Task, unit: Unit) -> Any:
    """Read and sum up, on a worker."""
    return packed(task, reduce_units([unit], task, Reporter(None, None)))


@contextmanager
def connect(address: str, timeout: float = 10.0) -> Iterator[Any]:
    """Connect to a scheduler for as long as the block lasts."""
    distributed = require("distributed")
    try:
        client = distributed.Client(address, timeout=timeout)
    except (OSError, TimeoutError, ValueError) as error:
        msg = (
            f"A Dask scheduler must answer at {address!r}; none did within {timeout:g} s. Start "
            "one with `dask scheduler`, or check the address (tcp://host:8786)."
        )
        raise ConnectionError(msg) from error
    with client:
        yield client


def _check_partitions(n: int, others: int) -> None:
    if n != others:
        msg = (
            f"Labels and weights must be partitioned as the rows are; got {others} partitions for "
            f"{n}. Rechunk one of them."
        )
        raise SourceError(msg)


def _run_frame(
    frame: Any,
    labels: Any,
    weight: Any,
    *,
    task: Task,
    n_parts: int,
    starts: list[int] | None = None,
    partition_info: dict[str, Any] | None = None,
) -> Any:
    """Run a task on a partition of a DataFrame, on its worker."""
    number = 0 if partition_info is None else int(partition_info["number"])
    where = f"partition {number} of {n_parts}"
    _check_lengths(where, frame, labels, weight)
    if len(frame) == 0:
        return None
    table = arrow.as_arrow(frame, where)
    for name, values in ((_LABELS, labels), (_WEIGHT, weight)):
        if values is not None:
            table = table.append_column(name, pa.array(np.asarray(values), from_pandas=True))
    start = _PLACES * number if starts is None else starts[number]
    return _run(task, Piece(where, start, table))


def _run_block(
    block: Any, number: Any, labels: Any, weight: Any, *, task: Task, starts: list[int]
) -> Any:
    """Run a task on a block of an Array, on its worker; the result in an array of one object."""
    k = int(np.ravel(number)[0])
    where = f"partition {k} of {len(starts)}"
    labels, weight = _first(labels), _first(weight)
    block = np.asarray(_first(block))
    _check_lengths(where, block, labels, weight)
    result = np.empty((1, 1), dtype=object)
    if len(block):
        result[0, 0] = _run(
            task, Piece(where, starts[k], arrays=(block, np.asarray(labels), weight))
        )
    return result


def _first(values: Any) -> Any:
    """Take a block out of the list in which a contracted axis arrives."""
    return values[0] if isinstance(values, list) else values


def _check_lengths(where: str, rows: Any, labels: Any, weight: Any) -> None:
    for name, values in (("labels", labels), ("weights", weight)):
        if values is not None and len(values) != len(rows):
            msg = f"{where}: rows and {name} must be as many; got {len(rows)} and {len(values)}."
            raise SourceError(msg)


def _run(task: Task, piece: Piece) -> Any:
    try:
        return packed(task, run(task, piece))
    except SourceError:
        raise
    except Exception as error:
        msg = f"{piece.where}: {type(error).__name__}: {error}"
        raise SourceError(msg) from error


def _tree(parts: list[Any]) -> Any:
    """Merge results in order, eight at a time, until one is left."""
    merge = delayed(_merge, pure=True)
    while len(parts) > 1:
        parts = [merge(parts[k : k + FAN_IN]) for k in range(0, len(parts), FAN_IN)]
    return parts[0]


def _merge(results: list[Any]) -> Any:
    total: Any = None
    for result in map(_result, results):
        if result is not None:
            total = result if total is None else merge_at(total, result, "A partition")
    return total


def _result(value: Any) -> Any:
    return value[0, 0] if isinstance(value, np.ndarray) else value


def _guarded(parts: list[Any], compute: Callable[[], Any]) -> Any:
    """Compute, naming the partition that fails."""
    try:
        return compute()
    except SourceError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] == "distributed":
            raise  # the cluster's own troubles; its message names the partition by its key
        raise _blame(parts, error) from error


def _blame(parts: list[Any], error: Exception) -> SourceError:
    """Find the partition that could not be computed, from the task that failed."""
    for k, part in enumerate(parts):
        try:
            part.compute()
        except SourceError as own:
            return own
        except Exception as own:  # noqa: BLE001 - whatever the maker of the partition raised
            return SourceError(
                f"partition {k} of {len(parts)} could not be made: {type(own).__name__}: {own}"
            )
    return SourceError(f"A partition could not be made: {type(error).__name__}: {error}")
