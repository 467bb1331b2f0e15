"""`flipcost recheck`: its options. What they do is in `_recheck_run`, imported when it is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flipcost._options import COSTS, KNOWN, option, same_as
from flipcost.audit import AuditOptions
from flipcost.cli._options import Shown, command

ROWS, RESULTS = "Rows", "Results"


@dataclass(frozen=True, kw_only=True)
class RecheckOptions:
    """Which rows to choose, and how to write them."""

    folder: Path = option(
        ..., "Folder that `flipcost audit` wrote.", ROWS, flag="", kind=Path, show_default=False
    )
    n: int = option(50, "How many rows.", ROWS, kind=int, min=1)
    random: bool = option(False, "Draw a plain sample.", ROWS, kind=bool)  # noqa: FBT003
    cost_check: float | None = same_as(AuditOptions, "cost_check")
    checked: Any = same_as(AuditOptions, "checked")
    to: str = option("csv", "csv or label-studio (JSON).", RESULTS, flag="--format")


recheck_command, RecheckCommand = command(
    "recheck",
    "Choose the rows to check next after an audit, without a new one.\n\n"
    "Answers in the folder's own files of rows, and in those given, count; rows that were handed "
    "out already are not chosen again.",
    "flipcost.cli._recheck_run:run_recheck",
    [RecheckOptions, Shown],
    {
        ROWS: "flipcost recheck flipcost-audit --n 50",
        KNOWN: "flipcost recheck flipcost-audit --checked checked.csv",
        COSTS: "flipcost recheck flipcost-audit --cost-check 0.5",
        RESULTS: "flipcost recheck flipcost-audit --format label-studio",
    },
)
