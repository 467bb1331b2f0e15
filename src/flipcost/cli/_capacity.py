"""`flipcost predict --capacity`: the rows whose call saves most, of files larger than memory.

Scored rows are written aside as they come. Then their savings alone are read, and as many of the
best are kept as can be called, with a hash of the row's number for ties; and last the scored rows
are read again and marked. Memory holds the best rows only, never the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flipcost.core.costs import Costs, RowCosts
from flipcost.core.gains import Capacity, TopRows, group_sizes, read_capacities
from flipcost.exceptions import UserError

GROUP = "group"


@dataclass(frozen=True)
class Limit:
    """How many rows can be called, and the column of their groups."""

    capacity: Capacity | dict[str, Capacity]
    by: str | None


def read_limit(capacity: str | None, by: str | None) -> Limit | None:
    """Return the limit that options give, or None.

    Examples
    --------
    >>> read_limit("5%", None).capacity.share
    0.05
    """
    if capacity is None:
        if by is not None:
            msg = "--capacity-by names groups, but no --capacity of theirs is given; give both."
            raise UserError(msg)
        return None
    try:
        found = read_capacities(capacity)
    except ValueError as error:
        raise UserError(str(error)) from error
    if isinstance(found, dict) and by is None:
        msg = "--capacity by group needs the groups: name their column by --capacity-by."
        raise UserError(msg)
    return Limit(found, by)


def same_prices(cost: Any, n_rows: int) -> RowCosts:
    """Return prices of rows that are the same for all, from what a model was given.

    Examples
    --------
    >>> same_prices(Costs(fn=4, fp=1), 2).miss, same_prices(0.2, 1).miss
    (array([4., 4.]), array([0.8]))
    """
    miss, alarm = cost.extra if isinstance(cost, Costs) else (1 - float(cost), float(cost))
    return RowCosts(np.full(n_rows, miss), np.full(n_rows, alarm))


def mark_within(
    scored: Iterator[pa.RecordBatch], limit: Limit, spill: Path, labels: tuple[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yield scored rows again, marked by whether they are called within the limit.

    Parameters
    ----------
    scored : iterator of RecordBatch
        With ``row``, ``expected_saving`` and, by group, ``group``.
    limit : Limit
        How many can be called.
    spill : Path
        Where scored rows are kept meanwhile.
    labels : pair of str
        The negative label and the positive one.
    """
    n_rows, groups = _write(scored, spill, by_group=limit.by is not None)
    if not n_rows:
        return
    try:
        if limit.by is None:
            assert isinstance(limit.capacity, Capacity)  # noqa: S101 - checked by read_limit
            sizes = {"": limit.capacity.of(n_rows)}
        else:
            sizes = group_sizes(limit.capacity, dict(groups))
    except ValueError as error:
        raise UserError(str(error)) from error
    best = {name: TopRows.none(size) for name, size in sizes.items()}
    names = ["row", "expected_saving", *([GROUP] if limit.by is not None else [])]
    for batch in pq.ParquetFile(spill).iter_batches(columns=names):
        for name, places, row, gain in _parts(batch):
            best[name] = best[name].seen(gain[places], row[places])
    text = pa.array(labels)
    for batch in pq.ParquetFile(spill).iter_batches():
        called = np.zeros(batch.num_rows, dtype=bool)
        for name, places, row, gain in _parts(batch):
            called[places] = best[name].are_flagged(gain[places], row[places])
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns["called_positive"] = pa.array(called)
        columns["prediction"] = text.take(pa.array(called.astype(int)))
        yield pa.RecordBatch.from_pydict(columns)


def _write(
    scored: Iterator[pa.RecordBatch], spill: Path, *, by_group: bool
) -> tuple[int, Counter[str]]:
    """Write scored rows aside; return how many there are, in all and of each group."""
    n_rows, groups, writer = 0, Counter[str](), None
    try:
        for batch in scored:
            writer = writer or pq.ParquetWriter(spill, batch.schema)
            writer.write_batch(batch)
            n_rows += batch.num_rows
            if by_group:
                groups.update(batch.column(GROUP).to_pylist())
    finally:
        if writer is not None:
            writer.close()
    return n_rows, groups


def _parts(batch: pa.RecordBatch) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the groups of a batch: name, places, row numbers and savings."""
    row = batch.column("row").to_numpy()
    gain = batch.column("expected_saving").to_numpy()
    if GROUP not in batch.schema.names:
        yield "", slice(None), row, gain
        return
    group = np.asarray(batch.column(GROUP).to_pylist(), dtype=object)
    for name in dict.fromkeys(group.tolist()):
        yield name, np.flatnonzero(group == name), row, gain
