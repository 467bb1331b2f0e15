"""`flipcost predict`: its options. What they do is in `_predict_run`, imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flipcost.cli._options import MAX_BYTES, grouped
from flipcost.cli._output import Overwrite  # noqa: TC001 - read when the options are made

ROWS = "Rows"
RESULTS = "Results"

PredictCommand = grouped(
    {
        ROWS: "flipcost predict flipcost-audit/model.json new.csv --id claim",
        RESULTS: "flipcost predict flipcost-audit/model.json new.csv --out calls.parquet",
    }
)


def predict_command(
    model: Annotated[
        Path, typer.Argument(help="Model written by `flipcost audit`.", rich_help_panel=ROWS)
    ],
    data: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet file of new rows; or a folder or a pattern.", rich_help_panel=ROWS
        ),
    ],
    *,
    out: Annotated[
        Path, typer.Option(help="File to write: .csv or .parquet.", rich_help_panel=RESULTS)
    ] = Path("predictions.csv"),
    overwrite: Overwrite = False,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Row identifier column.", rich_help_panel=ROWS)
    ] = None,
    keep_columns: Annotated[
        bool,
        typer.Option(
            "--keep-columns",
            help="Write the columns of the rows too, before the predictions.",
            rich_help_panel=RESULTS,
        ),
    ] = False,
    delimiter: Annotated[
        str | None, typer.Option(help="Field delimiter; detected by default.", rich_help_panel=ROWS)
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of text, if not UTF-8.", rich_help_panel=ROWS)
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(help=MAX_BYTES, min=0, rich_help_panel=ROWS)
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            help="Most rows to flag, those that save most first: 500, 5%, or by group "
            "north=200,south=5%.",
            rich_help_panel=ROWS,
        ),
    ] = None,
    capacity_by: Annotated[
        str | None,
        typer.Option(help="Column of the groups of --capacity.", rich_help_panel=ROWS),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing.", rich_help_panel=RESULTS)
    ] = False,
) -> None:
    """Apply a saved model to new rows, a batch at a time."""
    options = dict(locals())
    from flipcost.cli._predict_run import run_predict

    run_predict(**options)
