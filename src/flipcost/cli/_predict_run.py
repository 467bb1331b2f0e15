"""What `flipcost predict` does."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from flipcost._persist import load
from flipcost.cli._capacity import GROUP, Limit, mark_within, read_limit, same_prices
from flipcost.cli._echo import echo
from flipcost.cli._output import check_file, staged_file
from flipcost.core.row_prices import takes_prices
from flipcost.data import (
    ColumnReader,
    as_text,
    guard_column,
    read_batches,
    row_prices,
    take_column,
)
from flipcost.exceptions import ModelFileError, TableError, UserError


def run_predict(
    *,
    model: Path,
    data: Path,
    out: Path,
    overwrite: bool,
    id_column: str | None,
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
    check_file(out, overwrite=overwrite, inputs=[data, model])
    pipeline = load_pipeline(model)
    batches = read_batches(data, delimiter=delimiter, encoding=encoding, max_bytes=max_bytes)
    limit = read_limit(capacity, capacity_by)
    with ExitStack() as stack:
        place = stack.enter_context(staged_file(out, overwrite=overwrite, inputs=[data, model]))
        scored = _scored(pipeline, batches, id_column, data, limit)
        if limit is not None:
            aside = tempfile.TemporaryDirectory(prefix=".flipcost-", dir=out.absolute().parent)
            spill = Path(stack.enter_context(aside)) / "scored.parquet"
            scored = mark_within(scored, limit, spill, _labels(pipeline[-1]))
        rows, called = _write(place, scored)
        if not rows:
            msg = f"{data} holds no rows; give at least one."
            raise TableError(msg)
    if not quiet:
        label = pipeline[-1].pos_label
        which = "" if limit is None else ", those whose call saves most"
        echo(f"{rows:,} rows, {called:,} of them called {label!r}{which}, written to {out}")
    sys.stdout.flush()


def _scored(
    pipeline: Any, batches: Iterable[pa.RecordBatch], id_column: str | None, data: Path, limit: Any
) -> Iterator[pa.RecordBatch]:
    """Yield the predictions of batches of rows."""
    rows = 0
    for batch in batches:
        yield _score(pipeline, batch, rows, id_column, data, limit)
        rows += batch.num_rows


def _write(place: Path, scored: Iterator[pa.RecordBatch]) -> tuple[int, int]:
    """Write predictions as they come; return how many rows there are, and how many are called."""
    rows, called, writer = 0, 0, None
    try:
        for batch in scored:
            shown = _guarded(batch) if place.suffix == ".csv" else batch
            writer = writer or _writer(place, shown.schema)
            writer.write_batch(shown)
            rows += batch.num_rows
            called += batch.column("called_positive").true_count
    finally:
        if writer is not None:
            writer.close()
    return rows, called


def _labels(classifier: Any) -> tuple[str, str]:
    """Return the negative label and the positive one."""
    positive = classifier.pos_label
    negative = next(label for label in classifier.classes_ if label != positive)
    return str(negative), str(positive)


def load_pipeline(path: Path) -> Any:
    """Load a model that reads tables."""
    model = load(path)
    steps = getattr(model, "steps", None)
    if not steps or not isinstance(steps[0][1], ColumnReader):
        msg = (
            f"{path} holds a {type(model).__name__} that does not read tables; "
            "give a model written by `flipcost audit`."
        )
        raise ModelFileError(msg)
    return model


def _score(
    pipeline: Any,
    batch: pa.RecordBatch,
    start: int,
    id_column: str | None,
    data: Path,
    limit: Limit | None = None,
) -> pa.RecordBatch:
    """Return the predictions of a batch of rows."""
    table = pa.Table.from_batches([batch])
    try:
        numbers = pipeline[0].transform(table)
    except TableError as error:
        msg = f"{data}: {error}"
        raise TableError(msg) from error
    X = np.asarray(pipeline[1].transform(numbers), dtype=float)
    classifier = pipeline[-1]
    place = int(np.flatnonzero(classifier.classes_ == classifier.pos_label)[0])
    prices = None
    if takes_prices(classifier):
        prices = row_prices(getattr(classifier, "cost", None), table, str(data))
    predicted = classifier.predict(X) if prices is None else classifier.predict(X, prices=prices)
    columns = {"row": pa.array(np.arange(start + 1, start + len(X) + 1))}
    if id_column is not None:
        column = take_column(table, id_column, str(data))
        columns["id"] = as_text(column, id_column, "names of rows")
    labels = pa.array([str(label) for label in classifier.classes_])
    called = predicted == classifier.pos_label
    columns["prediction"] = labels.take(pa.array(np.where(called, place, 1 - place)))
    columns["called_positive"] = pa.array(called)
    probability = classifier.predict_proba(X)[:, place]
    columns["probability_positive"] = pa.array(probability)
    if prices is None and limit is not None:
        prices = same_prices(getattr(classifier, "cost", 0.5), len(X))
    if prices is not None:
        columns["threshold"] = pa.array(prices.threshold)
        columns["expected_saving"] = pa.array(prices.gain(probability))
    if limit is not None and limit.by is not None:
        column = take_column(table, limit.by, str(data))
        columns[GROUP] = as_text(column, limit.by, "names of groups").fill_null("(missing)")
    return pa.RecordBatch.from_pydict(columns)


def _guarded(scored: pa.RecordBatch) -> pa.RecordBatch:
    """Return predictions with no cell of text that a spreadsheet would run."""
    columns = [
        guard_column(column) if pa.types.is_string(column.type) else column
        for column in scored.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=scored.schema.names)


def _writer(path: Path, schema: pa.Schema) -> Any:
    if path.suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    return csv.CSVWriter(str(path), schema)
