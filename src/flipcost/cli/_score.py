"""Rows of files scored by a saved model, a batch at a time, and written with their flags.

With a capacity, scored rows are written aside as they come. Then their savings alone are read, and
as many of the best are kept as can be flagged, with a hash of the row's number for ties; and last
the scored rows are read again and marked. Memory holds the best rows only, never the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from flipcost.core.costs import Costs, RowCosts
from flipcost.core.gains import Capacity, TopRows, group_sizes
from flipcost.exceptions import CellError, FlipCostError, ModelFileError, TableError
from flipcost.tables.arrow import as_text, is_text, take_column
from flipcost.tables.spreadsheet import guard_cell, guard_column

if TYPE_CHECKING:
    from flipcost.model import Formula

# Before the names of columns that are kept, so that they are not taken for predictions.
_KEPT, _GROUP = "kept ", "group"


@dataclass
class RowScorer:
    """Score batches of rows, and count levels that the model has not seen.

    Attributes
    ----------
    formula : Formula
        The model.
    data : Path
        Where rows come from, for messages.
    id_column : str or None
        Column of names of rows.
    keep_columns : bool
        Whether the columns of the rows come before the predictions.
    capacity : Capacity, dict of them, or None
        How many rows can be flagged, of all or by group.
    capacity_by : str or None
        Column of the groups.
    unseen : Counter
        Rows with a level that was not seen, by column.
    """

    formula: Formula
    data: Path
    id_column: str | None = None
    keep_columns: bool = False
    capacity: Capacity | dict[str, Capacity] | None = None
    capacity_by: str | None = None
    unseen: Counter[str] = field(default_factory=Counter)

    def write(self, batches: Iterable[pa.RecordBatch], place: Path) -> tuple[int, int]:
        """Write the predictions of all rows; return how many there are, and how many flagged."""
        scored = self._scored(batches)
        if self.capacity is not None:  # what is aside goes with the folder of the file
            scored = self._marked(scored, place.with_name("scored"))
        rows, flagged, writer = 0, 0, None
        try:
            for batch in scored:
                shown = batch.rename_columns(_shown_names(batch.schema.names))
                with _writing(place):
                    shown = _guarded(shown) if place.suffix == ".csv" else shown
                    shown.validate(full=True)
                    writer = writer or _writer(place, shown.schema)
                    writer.write_batch(shown)
                rows += batch.num_rows
                flagged += batch.column("flagged").true_count
        finally:
            if writer is not None:
                writer.close()
        return rows, flagged

    def _scored(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the predictions of batches of rows."""
        rows, schema = 0, None
        for batch in batches:
            try:
                found = self._predictions(batch, rows)
            except FlipCostError:
                raise
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                msg = (
                    f"The model cannot be applied to {self.data} ({type(error).__name__}: {error});"
                    " if its file was changed, or made by another version, make it again."
                )
                raise ModelFileError(msg) from error
            rows += batch.num_rows
            if self.keep_columns:
                found = _with_columns(batch, found, schema)
                schema = found.schema
            yield found

    def _predictions(self, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        formula, table = self.formula, pa.Table.from_batches([batch])
        try:
            cells = formula.cells(table)
            costs = formula.prices(table)
        except TableError as error:
            said = error.at(start) if isinstance(error, CellError) else str(error)
            msg = f"{self.data}: {said}"
            raise TableError(msg) from error
        self.unseen.update(formula.unseen(cells))
        scored = formula.scored(cells)
        probability, flagged = scored[1], formula.decide(scored, costs)
        columns = {"row": pa.array(np.arange(start + 1, start + len(cells) + 1))}
        if self.id_column is not None:
            column = take_column(table, self.id_column, str(self.data))
            columns["id"] = as_text(column, self.id_column, "names of rows")
        columns["prediction"] = pa.array(formula.labels).take(pa.array(flagged.astype(int)))
        columns["flagged"] = pa.array(flagged)
        columns["probability_positive"] = pa.array(probability)
        if costs is None and self.capacity is not None:
            own: Any = formula.decision.costs
            each = own.extra if isinstance(own, Costs) else (1 - own, own)
            costs = RowCosts(*(np.full(len(cells), one) for one in each))
        if costs is not None:
            columns["threshold"] = pa.array(costs.threshold)
            columns["expected_saving"] = pa.array(costs.gain(probability))
        if self.capacity_by is not None:
            column = take_column(table, self.capacity_by, str(self.data))
            named = as_text(column, self.capacity_by, "names of groups")
            columns[_GROUP] = named.fill_null("(missing)")
        return pa.RecordBatch.from_pydict(columns)

    def _marked(self, scored: Iterator[pa.RecordBatch], spill: Path) -> Iterator[pa.RecordBatch]:
        """Yield scored rows again, marked by whether they are flagged within the capacity."""
        groups = self._spilled(scored, spill)
        if not groups:
            return
        assert self.capacity is not None  # noqa: S101 - asked by `write`
        sizes = group_sizes(self.capacity, dict(groups))
        best = {name: TopRows.none(size) for name, size in sizes.items()}
        names = ["row", "expected_saving", *([_GROUP] if self.capacity_by else [])]
        for batch in pq.ParquetFile(spill).iter_batches(columns=names):
            for name, places, row, gain in _parts(batch):
                best[name] = best[name].seen(gain[places], row[places])
        labels = pa.array(self.formula.labels)
        for batch in pq.ParquetFile(spill).iter_batches():
            flagged = np.zeros(batch.num_rows, dtype=bool)
            for name, places, row, gain in _parts(batch):
                flagged[places] = best[name].are_flagged(gain[places], row[places])
            columns = {name: batch.column(name) for name in batch.schema.names}
            columns["flagged"] = pa.array(flagged)
            columns["prediction"] = labels.take(pa.array(flagged.astype(int)))
            yield pa.RecordBatch.from_pydict(columns)

    def _spilled(self, scored: Iterator[pa.RecordBatch], spill: Path) -> Counter[str]:
        """Write scored rows to a temporary file; return how many there are of each group."""
        groups, writer = Counter[str](), None
        try:
            for batch in scored:
                writer = writer or pq.ParquetWriter(spill, batch.schema)
                writer.write_batch(batch)
                if self.capacity_by is None:
                    groups[""] += batch.num_rows
                else:
                    groups.update(batch.column(_GROUP).to_pylist())
        finally:
            if writer is not None:
                writer.close()
        return +groups


def _parts(batch: pa.RecordBatch) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the groups of a batch: name, places, row numbers and savings."""
    row = batch.column("row").to_numpy()
    gain = batch.column("expected_saving").to_numpy()
    if _GROUP not in batch.schema.names:
        yield "", slice(None), row, gain
        return
    group = np.asarray(batch.column(_GROUP).to_pylist(), dtype=object)
    for name in dict.fromkeys(group.tolist()):
        yield name, np.flatnonzero(group == name), row, gain


def _with_columns(batch: pa.RecordBatch, found: pa.RecordBatch, schema: Any) -> pa.RecordBatch:
    """Return the rows as they were, and their predictions behind; all batches alike."""
    names = [*(f"{_KEPT}{name}" for name in batch.schema.names), *found.schema.names]
    columns = [*batch.columns, *found.columns]
    if schema is None:
        return pa.RecordBatch.from_arrays(columns, names=names)
    try:
        by_name = dict(zip(names, columns, strict=True))
        columns = [by_name[field.name].cast(field.type) for field in schema]
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what = str(error).replace(_KEPT, "")
        msg = (
            "--keep-columns needs columns that are the same in all files and all rows; "
            f"{what} is not. Leave it out, and join the results by row."
        )
        raise TableError(msg) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _shown_names(names: list[str]) -> list[str]:
    """Return the names of columns as they are written: predictions yield to what is kept.

    Examples
    --------
    >>> _shown_names(["kept row", "kept age", "row", "prediction"])
    ['row', 'age', 'row_', 'prediction']
    """
    kept = [name.removeprefix(_KEPT) for name in names if name.startswith(_KEPT)]
    own = []
    for name in names[len(kept) :]:
        while name in kept:
            name += "_"  # noqa: PLW2901 - until it is free
        own.append(name)
    return [*kept, *own]


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Say of a column that is kept that it cannot be written: nested, or text that is none."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        msg = (
            f"The columns of the rows cannot be written to {place.name} ({error}); leave "
            "--keep-columns out, and join the results by row."
        )
        raise TableError(msg) from error


def _guarded(scored: pa.RecordBatch) -> pa.RecordBatch:
    """Return predictions with no cell of text that a spreadsheet would run."""
    columns = []
    for column in scored.columns:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        of_bytes = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
        if is_text(kind) or any(is_kind(kind) for is_kind in of_bytes):
            column = column.cast(kind).cast(pa.binary()).cast(pa.string())  # noqa: PLW2901
            column = guard_column(column)  # noqa: PLW2901
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=[guard_cell(n) for n in scored.schema.names])


def _writer(path: Path, schema: pa.Schema) -> Any:
    if path.suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    return csv.CSVWriter(str(path), schema)
