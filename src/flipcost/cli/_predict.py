"""What is done with a saved model: `flipcost predict` and `flipcost export`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from flipcost._options import RESULTS, option, same_as
from flipcost._staging import check_file, staged_file
from flipcost.cli._command import MAX_BYTES, Results, command
from flipcost.cli._terminal import echo
from flipcost.exceptions import TableError, UserError, shorten

ROWS, MODEL = "Rows", "Model"
_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".gz", ".bz2", ".zst", ".xz", ".zip")
# What exports are called beside the model, which is one of JSON itself.
_ENDINGS = {"sql": ".sql", "onnx": ".onnx", "json": "-scorer.json"}


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Which rows to score, and how to write them."""

    model: Path = option(..., "Model written by `flipcost audit`.", ROWS, flag="")
    data: Path = option(
        ..., "CSV or Parquet file of new rows; or a folder or a pattern.", ROWS, flag=""
    )
    id_column: str | None = option(None, "Row identifier column.", ROWS, flag="--id")
    delimiter: str | None = option(None, "Field delimiter; detected by default.", ROWS)
    encoding: str | None = option(None, "Of text, if not UTF-8.", ROWS)
    max_bytes: int | None = option(None, MAX_BYTES, ROWS, min=0)
    capacity: str | None = option(
        None,
        "Most rows to flag, those that save most first: 500, 5%, or by group north=200,south=5%.",
        ROWS,
    )
    capacity_by: str | None = option(None, "Column of the groups of --capacity.", ROWS)
    out: Path = option(Path("predictions.csv"), "File to write: .csv or .parquet.", RESULTS)
    overwrite: bool = same_as(Results, "overwrite")
    keep_columns: bool = option(
        False, "Write the columns of the rows too, before the predictions.", RESULTS
    )
    quiet: bool = same_as(Results, "quiet")


@command(
    "predict",
    Predict,
    examples={
        ROWS: "flipcost predict flipcost-audit/model.json new.csv --id claim",
        RESULTS: "flipcost predict flipcost-audit/model.json new.csv --out calls.parquet",
    },
)
def predict_command(asked: Predict) -> None:
    """Apply a saved model to new rows, a batch at a time."""
    from flipcost.cli._score import RowScorer
    from flipcost.core.gains import read_capacity
    from flipcost.model import load
    from flipcost.tables.reading import read_batches

    out, data, model = asked.out, asked.data, asked.model
    if out.suffix not in (".csv", ".parquet"):
        msg = f"--out must end in .csv or .parquet; got {out}."
        raise UserError(msg)
    capacity = read_capacity(asked.capacity, asked.capacity_by)
    files = _files_of(data)
    inputs = [*files, model]
    check_file(out, overwrite=asked.overwrite, inputs=inputs)
    scorer = RowScorer(
        load(model), data, asked.id_column, asked.keep_columns, capacity, asked.capacity_by
    )
    text: dict[str, Any] = {
        "delimiter": asked.delimiter,
        "encoding": asked.encoding,
        "max_bytes": asked.max_bytes,
    }
    batches = chain.from_iterable(read_batches(path, **text) for path in files)
    with staged_file(out, overwrite=asked.overwrite, inputs=inputs) as place:
        rows, flagged = scorer.write(batches, place)
        if not rows:
            msg = f"{data} holds no rows; give at least one."
            raise TableError(msg)
    if not asked.quiet:
        which = "" if capacity is None else ", those that save most"
        label = scorer.formula.pos_label
        echo(f"{rows:,} rows, {flagged:,} of them flagged {label!r}{which}, written to {out}")
        if scorer.unseen:
            counts = ", ".join(f"{name} ({n:,})" for name, n in scorer.unseen.most_common(5))
            echo(f"Rows with a level that the model has not seen, by column: {counts}")
    leaks = [scorer.formula.columns[place].name for place in scorer.formula.leaks]
    if leaks:
        said = (
            "flipcost: warning: the audit found this model too good to be true: it learned from "
            f"{shorten(leaks)}, known only afterwards perhaps; if so, audit again without (--drop)."
        )
        echo(said, err=True)
    sys.stdout.flush()


def _files_of(data: Path) -> list[Path]:
    """Return the files of a path: itself, or those of a folder or a pattern."""
    from flipcost.tables.paths import is_many, list_files

    if not is_many(data):
        return [data]
    try:
        return [Path(path) for path in list_files(data, _SUFFIXES)[1]]
    except FileNotFoundError as error:
        msg = f"There is no file at {data}; check the folder or the pattern."
        raise TableError(msg) from error


@dataclass(frozen=True, kw_only=True)
class Export:
    """What to write a model as."""

    model: Path = option(..., "Model written by `flipcost audit`.", MODEL, flag="")
    to: str = option(..., "Form to write: sql, onnx or json.", MODEL, required=True)
    dialect: str = option(
        "duckdb", "Of SQL: duckdb, postgres, spark, bigquery or snowflake.", MODEL
    )
    table: str = option("rows", "Table with the rows, in SQL.", MODEL)
    keep: Sequence[str] = option((), "Column to give beside the results, in SQL; repeat.", MODEL)
    decision: bool = option(
        True, "Give decisions, or probability only.", MODEL, flag="--decision/--no-decision"
    )
    out: Path | None = option(None, "File to write; beside the model if not given.", RESULTS)
    overwrite: bool = same_as(Results, "overwrite")
    quiet: bool = same_as(Results, "quiet")


@command(
    "export",
    Export,
    examples={
        MODEL: "flipcost export flipcost-audit/model.json --to sql --dialect postgres",
        RESULTS: "flipcost export flipcost-audit/model.json --to onnx --out scorer.onnx",
    },
)
def export_command(asked: Export) -> None:
    """Write a saved model as SQL, ONNX or JSON."""
    from flipcost import export
    from flipcost.model import load
    from flipcost.model.sql import size_doubt

    model, to = asked.model, asked.to
    if to not in _ENDINGS:
        msg = f"--to must be sql, onnx or json; got {to!r}."
        raise UserError(msg)
    out = asked.out or model.with_name(model.stem + _ENDINGS[to])
    check_file(out, overwrite=asked.overwrite, inputs=[model])
    formula, doubt = load(model), None
    if to == "sql":
        options: Any = {"table": asked.table, "keep": asked.keep, "decision": asked.decision}
        query = export.to_sql(formula, asked.dialect, **options)  # type: ignore[arg-type]
        content, doubt = query.encode(), size_doubt(query)
    elif to == "json":
        content = export.to_json(formula, decision=asked.decision).encode()
    else:
        content = export.to_onnx(formula, decision=asked.decision).SerializeToString()
    with staged_file(out, overwrite=asked.overwrite, inputs=[model]) as staged:
        staged.write_bytes(content)
    if not asked.quiet:
        if doubt is not None:
            echo(f"Warning: {doubt}")
        echo(f"{len(content):,} bytes of {to} written to {out}")
