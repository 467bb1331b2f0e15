"""`flipcost judge`: its options. What they do is in `_judge_run`, imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flipcost.cli._options import grouped
from flipcost.cli._output import Overwrite  # noqa: TC001 - read when the options are made

_LABELS, _CHOICE, _COMPARE, _RESULTS = "Labels", "How rows were chosen", "Comparison", "Results"

JudgeCommand = grouped(
    {
        _LABELS: "flipcost judge answers.csv --judge model --human me",
        _CHOICE: "flipcost judge answers.csv --judge model --human me --confidence p",
        _COMPARE: "flipcost judge ab.csv --judge ja --human ha --compare jb --human2 hb",
        _RESULTS: "flipcost judge answers.csv --judge model --human me --out judged",
    }
)


def judge_command(
    data: Annotated[
        Path,
        typer.Argument(
            help="Table (CSV, Parquet), or JSON results of Label Studio or promptfoo.",
            rich_help_panel=_LABELS,
        ),
    ],
    *,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Column of the judge's labels; in JSON results 'judge'.",
            show_default=False,
            rich_help_panel=_LABELS,
        ),
    ] = None,
    human: Annotated[
        str | None,
        typer.Option(
            help="Column of human labels, empty elsewhere; in JSON results 'human'.",
            show_default=False,
            rich_help_panel=_LABELS,
        ),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The positive label.", rich_help_panel=_LABELS)
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(help="Column of the judge's confidence.", rich_help_panel=_CHOICE),
    ] = None,
    inclusion: Annotated[
        str | None,
        typer.Option(
            help="Column of the probability with which a row was chosen for a person.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            help="Column of the judge's labels of a second system.", rich_help_panel=_COMPARE
        ),
    ] = None,
    human2: Annotated[
        str | None,
        typer.Option(
            "--human2", help="Column of human labels of that system.", rich_help_panel=_COMPARE
        ),
    ] = None,
    checked: Annotated[
        list[Path] | None,
        typer.Option(
            help="File of rows that a person labelled since; may be repeated.",
            rich_help_panel=_LABELS,
        ),
    ] = None,
    n: Annotated[
        int,
        typer.Option("--n", help="Rows to label next.", min=0, rich_help_panel=_RESULTS),
    ] = 50,
    delimiter: Annotated[
        str | None,
        typer.Option(help="Field delimiter; detected by default.", rich_help_panel=_LABELS),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="Encoding of text; UTF-8 by default.", rich_help_panel=_LABELS),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.", rich_help_panel=_RESULTS)] = Path(
        "flipcost-judge"
    ),
    overwrite: Overwrite = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=_RESULTS)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing.", rich_help_panel=_RESULTS)
    ] = False,
) -> None:
    """Estimate the truth about rows that a judge labelled, from human labels of some of them.

    The judge may be a language model or a rule; no other columns are needed.
    """
    options = dict(locals())
    from flipcost.cli._judge_run import run_judge

    run_judge(**options)
