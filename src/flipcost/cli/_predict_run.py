"""What `flipcost predict` does."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from flipcost.cli._capacity import GROUP, Limit, mark_within, read_limit, same_prices
from flipcost.cli._echo import echo
from flipcost.cli._output import check_file, staged_file
from flipcost.exceptions import CellError, FlipCostError, ModelFileError, TableError, UserError
from flipcost.model import Formula, load
from flipcost.tables.arrow import as_text, is_text, take_column
from flipcost.tables.paths import is_many, list_files
from flipcost.tables.reading import read_batches
from flipcost.tables.spreadsheet import guard_cell, guard_column

# Before the names of columns that are kept, so that they are not taken for predictions.
_KEPT = "kept "
_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".gz", ".bz2", ".zst", ".xz", ".zip")


def run_predict(
    *,
    model: Path,
    data: Path,
    out: Path,
    overwrite: bool,
    id_column: str | None,
    keep_columns: bool,
    delimiter: str | None,
    encoding: str | None,
    max_bytes: int | None,
    capacity: str | None,
    capacity_by: str | None,
    quiet: bool,
) -> None:
    """Score rows as the options say."""
    if out.suffix not in (".csv", ".parquet"):
        msg = f"--out must end in .csv or .parquet; got {out}."
        raise UserError(msg)
    files = files_of(data)
    check_file(out, overwrite=overwrite, inputs=[*files, model])
    formula = load(model)
    text: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "max_bytes": max_bytes}
    batches = chain.from_iterable(read_batches(path, **text) for path in files)
    limit = read_limit(capacity, capacity_by)
    with ExitStack() as stack:
        place = stack.enter_context(staged_file(out, overwrite=overwrite, inputs=[*files, model]))
        unseen: Counter[str] = Counter()
        known = (id_column, data, limit, unseen)
        scored = _scored(formula, batches, *known, keep_columns=keep_columns)
        if limit is not None:
            spill = place.with_name("scored")  # it goes with what is written aside
            scored = mark_within(scored, limit, spill, formula.labels)
        rows, called = _write(place, scored)
        if not rows:
            msg = f"{data} holds no rows; give at least one."
            raise TableError(msg)
    if not quiet:
        label = formula.pos_label
        which = "" if limit is None else ", those whose call saves most"
        echo(f"{rows:,} rows, {called:,} of them flagged {label!r}{which}, written to {out}")
        if unseen:
            counts = ", ".join(f"{name} ({n:,})" for name, n in unseen.most_common(5))
            echo(f"Rows with a level that the model has not seen, by column: {counts}")
    sys.stdout.flush()


def files_of(data: Path) -> list[Path]:
    """Return the files that a path represents: itself, or those of a folder or a pattern."""
    if not is_many(data):
        return [data]
    try:
        return [Path(path) for path in list_files(data, _SUFFIXES)[1]]
    except FileNotFoundError as error:
        msg = f"There is no file at {data}; check the folder or the pattern."
        raise TableError(msg) from error


@contextmanager
def _applying(data: Path) -> Iterator[None]:
    """Say of a model, not of ourselves, that it cannot be applied."""
    try:
        yield
    except FlipCostError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        msg = (
            f"The model cannot be applied to {data} ({type(error).__name__}: {error}); if its "
            "file was changed, or made by another version, make it again."
        )
        raise ModelFileError(msg) from error


def _scored(
    formula: Formula,
    batches: Iterable[pa.RecordBatch],
    id_column: str | None,
    data: Path,
    limit: Any,
    unseen: Counter[str],
    *,
    keep_columns: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the predictions of batches of rows, and count levels that were not seen before."""
    rows, schema = 0, None
    for batch in batches:
        with _applying(data):
            found = _score(formula, batch, rows, id_column, data, limit, unseen)
        rows += batch.num_rows
        if keep_columns:
            found = _with_columns(batch, found, schema)
            schema = found.schema
        yield found


def _with_columns(batch: pa.RecordBatch, found: pa.RecordBatch, schema: Any) -> pa.RecordBatch:
    """Return the rows as they were, and their predictions behind; all batches alike."""
    names = [*(f"{_KEPT}{name}" for name in batch.schema.names), *found.schema.names]
    columns = [*batch.columns, *found.columns]
    if schema is not None:
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
    return pa.RecordBatch.from_arrays(columns, names=names)


def _write(place: Path, scored: Iterator[pa.RecordBatch]) -> tuple[int, int]:
    """Write predictions as they come; return how many rows there are, and how many are called."""
    rows, called, writer = 0, 0, None
    try:
        for batch in scored:
            shown = batch.rename_columns(_shown_names(batch.schema.names))
            with _writing(place):
                shown = _guarded(shown) if place.suffix == ".csv" else shown
                shown.validate(full=True)
                writer = writer or _writer(place, shown.schema)
                writer.write_batch(shown)
            rows += batch.num_rows
            called += batch.column("called_positive").true_count
    finally:
        if writer is not None:
            writer.close()
    return rows, called


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


def _score(
    formula: Formula,
    batch: pa.RecordBatch,
    start: int,
    id_column: str | None,
    data: Path,
    limit: Limit | None,
    unseen: Counter[str],
) -> pa.RecordBatch:
    """Return the predictions of a batch of rows."""
    table = pa.Table.from_batches([batch])
    try:
        cells = formula.cells(table)
        prices = formula.prices(table)
    except TableError as error:
        said = error.at(start) if isinstance(error, CellError) else str(error)
        msg = f"{data}: {said}"
        raise TableError(msg) from error
    unseen.update(formula.unseen(cells))
    scored = formula.scored(cells)
    probability, called = scored[1], formula.decide(scored, prices)
    columns = {"row": pa.array(np.arange(start + 1, start + len(cells) + 1))}
    if id_column is not None:
        column = take_column(table, id_column, str(data))
        columns["id"] = as_text(column, id_column, "names of rows")
    columns["prediction"] = pa.array(formula.labels).take(pa.array(called.astype(int)))
    columns["called_positive"] = pa.array(called)
    columns["probability_positive"] = pa.array(probability)
    if prices is None and limit is not None:
        prices = same_prices(formula.decision.costs, len(cells))
    if prices is not None:
        columns["threshold"] = pa.array(prices.threshold)
        columns["expected_saving"] = pa.array(prices.gain(probability))
    if limit is not None and limit.by is not None:
        column = take_column(table, limit.by, str(data))
        columns[GROUP] = as_text(column, limit.by, "names of groups").fill_null("(missing)")
    return pa.RecordBatch.from_pydict(columns)


def _guarded(scored: pa.RecordBatch) -> pa.RecordBatch:
    """Return predictions with no cell of text that a spreadsheet would run."""
    columns = [_guarded_column(column) for column in scored.columns]
    return pa.RecordBatch.from_arrays(columns, names=[guard_cell(n) for n in scored.schema.names])


def _guarded_column(column: pa.Array) -> pa.Array:
    """Return a column of any type of text guarded, and any other as it is."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    if not (is_bytes or is_text(kind)):
        return column
    return guard_column(column.cast(kind).cast(pa.string()))


def _writer(path: Path, schema: pa.Schema) -> Any:
    if path.suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    return csv.CSVWriter(str(path), schema)
