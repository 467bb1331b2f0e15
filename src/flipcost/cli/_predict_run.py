"""What `flipcost predict` does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from flipcost._persist import load
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
    quiet: bool,
) -> None:
    """Score rows as the options say."""
    if out.suffix not in (".csv", ".parquet"):
        msg = f"--out must end in .csv or .parquet; got {out}."
        raise UserError(msg)
    check_file(out, overwrite=overwrite, inputs=[data, model])
    pipeline = load_pipeline(model)
    batches = read_batches(data, delimiter=delimiter, encoding=encoding, max_bytes=max_bytes)
    rows = called = 0
    with staged_file(out, overwrite=overwrite, inputs=[data, model]) as place:
        writer = None
        try:
            for batch in batches:
                scored = _score(pipeline, batch, rows, id_column, data)
                if place.suffix == ".csv":
                    scored = _guarded(scored)
                writer = writer or _writer(place, scored.schema)
                writer.write_batch(scored)
                rows += batch.num_rows
                called += scored.column("called_positive").true_count
        finally:
            if writer is not None:
                writer.close()
        if not rows:
            msg = f"{data} holds no rows; give at least one."
            raise TableError(msg)
    if not quiet:
        label = pipeline[-1].pos_label
        echo(f"{rows:,} rows, {called:,} of them called {label!r}, written to {out}")
    sys.stdout.flush()


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
    pipeline: Any, batch: pa.RecordBatch, start: int, id_column: str | None, data: Path
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
    if prices is not None:
        columns["threshold"] = pa.array(prices.threshold)
        columns["expected_saving"] = pa.array(prices.gain(probability))
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
