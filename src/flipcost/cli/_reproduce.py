"""`flipcost reproduce`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flipcost.cli._echo import echo
from flipcost.cli._output import Overwrite  # noqa: TC001 - read when the options are made


def reproduce_command(
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE", help="Tables; all if none.")
    ] = None,
    *,
    trials: Annotated[int, typer.Option(min=1, help="Splits of each problem.")] = 10,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; results do not depend on it.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results and pages.")] = Path("reproduction"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with that folder.")] = False,
    overwrite: Overwrite = False,
    list_tables: Annotated[bool, typer.Option("--list", help="List the tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Regenerate the paper's tables beside the printed ones."""
    from flipcost.paper.experiments import TABLES, reproduce

    if list_tables:
        for table in TABLES.values():
            echo(f"{table.name:28}{table.title}")
        return
    try:
        found = reproduce(
            tables,
            trials=trials,
            jobs=jobs,
            seed=seed,
            out=out,
            resume=resume,
            overwrite=overwrite,
            progress=not (quiet or as_json),
        )
    except KeyboardInterrupt:
        echo(
            f"\nflipcost: interrupted; finished units are kept in {out}, and --resume goes "
            "on with them.",
            err=True,
        )
        raise typer.Exit(2) from None
    agree, cells = found.agreement
    if as_json:
        typer.echo(
            json.dumps({"agree": agree, "cells": cells, "summary": found.summary}, allow_nan=False)
        )
        return
    share = f" ({agree / cells:.0%})" if cells else ""
    echo(
        f"{agree} of {cells} printed cells that no erratum touches{share} lie within one standard "
        f"deviation of ours. Written in {found.seconds:.0f} s: {found.folder}/report.html, "
        "results.csv, summary.csv, tables.md, tables.tex"
    )
