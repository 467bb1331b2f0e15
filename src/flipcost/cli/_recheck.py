"""`flipcost recheck`: its options. What they do is in `_recheck_run`, imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flipcost.cli._groups import grouped

ROWS = "Rows"
RESULTS = "Results"
_KNOWN, _PRICES = "What is known of the labels", "Prices"

Checked = Annotated[
    list[Path] | None,
    typer.Option(
        help="File of rows that somebody checked; may be repeated.", rich_help_panel=_KNOWN
    ),
]
CostCheck = Annotated[
    float | None,
    typer.Option(
        help="What checking one row costs, to be told when to stop.",
        show_default=False,
        rich_help_panel=_PRICES,
    ),
]

RecheckCommand = grouped(
    {
        ROWS: "flipcost recheck flipcost-audit --n 50",
        _KNOWN: "flipcost recheck flipcost-audit --checked checked.csv",
        _PRICES: "flipcost recheck flipcost-audit --cost-check 0.5",
        RESULTS: "flipcost recheck flipcost-audit --format label-studio",
    }
)


def recheck_command(
    folder: Annotated[
        Path, typer.Argument(help="Folder that `flipcost audit` wrote.", rich_help_panel=ROWS)
    ],
    *,
    n: Annotated[int, typer.Option("--n", help="How many rows.", min=1, rich_help_panel=ROWS)] = 50,
    random: Annotated[
        bool, typer.Option("--random", help="Draw a plain sample.", rich_help_panel=ROWS)
    ] = False,
    cost_check: CostCheck = None,
    to: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv, label-studio (JSON) or argilla (JSON lines).",
            rich_help_panel=RESULTS,
        ),
    ] = "csv",
    checked: Checked = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=RESULTS)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing.", rich_help_panel=RESULTS)
    ] = False,
) -> None:
    """Choose the rows to check next after an audit, without a new one.

    Answers in the folder's own files of rows, and in those given, count; rows that were handed out
    already are not chosen again.
    """
    options = dict(locals())
    from flipcost.cli._recheck_run import run_recheck

    run_recheck(**options)
