"""`flipcost datasets`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flipcost.cli._table import print_table


def datasets_command(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the bundled data with counts, source and licence."""
    from flipcost.datasets import list_datasets

    found = list_datasets()
    if as_json:
        typer.echo(json.dumps(found, indent=1, allow_nan=False))
        return
    heads = ["name", "rows", "features", "positive", "cost", "source", "licence"]
    keys = ["name", "rows", "features", "positives", "cost", "source", "licence"]
    rows = [["" if row[key] is None else str(row[key]) for key in keys] for row in found]
    print_table(heads, rows, right={1, 2, 3, 4})
