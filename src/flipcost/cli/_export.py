"""`flipcost export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flipcost.cli._echo import echo
from flipcost.cli._output import Overwrite, check_file, staged_file
from flipcost.exceptions import UserError

# What files are called beside the model, which is one of JSON itself.
_ENDINGS = {"sql": ".sql", "onnx": ".onnx", "json": "-scorer.json"}


def export_command(
    model: Annotated[Path, typer.Argument(help="Model written by `flipcost audit`.")],
    *,
    to: Annotated[str, typer.Option(help="Form to write: sql, onnx or json.")],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; beside the model if not given."),
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="Of SQL: duckdb, postgres, spark, bigquery or snowflake.")
    ] = "duckdb",
    table: Annotated[str, typer.Option(help="Table with the rows, in SQL.")] = "rows",
    keep: Annotated[
        list[str] | None, typer.Option(help="Column to give beside the results, in SQL; repeat.")
    ] = None,
    decision: Annotated[
        bool, typer.Option("--decision/--no-decision", help="Give decisions, or probability only.")
    ] = True,
    overwrite: Overwrite = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.")] = False,
) -> None:
    """Write a saved model as SQL, ONNX or JSON, to score rows where they are."""
    from flipcost import export
    from flipcost.model import load
    from flipcost.model.sql import size_doubt

    if to not in _ENDINGS:
        msg = f"--to must be sql, onnx or json; got {to!r}."
        raise UserError(msg)
    place = out or model.with_name(model.stem + _ENDINGS[to])
    check_file(place, overwrite=overwrite, inputs=[model])
    formula, doubt = load(model), None
    if to == "sql":
        options = {"table": table, "keep": keep or (), "decision": decision}
        query = export.to_sql(formula, dialect, **options)  # type: ignore[arg-type]
        content, doubt = query.encode(), size_doubt(query)
    elif to == "json":
        content = export.to_json(formula, decision=decision).encode()
    else:
        content = export.to_onnx(formula, decision=decision).SerializeToString()
    with staged_file(place, overwrite=overwrite, inputs=[model]) as staged:
        staged.write_bytes(content)
    if not quiet:
        if doubt is not None:
            echo(f"Warning: {doubt}")
        echo(f"{len(content):,} bytes of {to} written to {place}")
