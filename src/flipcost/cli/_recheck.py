"""`flipcost recheck`: the rows to check next after an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flipcost._options import COSTS, KNOWN, RESULTS, option, same_as
from flipcost._staging import staged_file
from flipcost.audit import AuditOptions
from flipcost.cli._command import Results, command
from flipcost.cli._terminal import echo, print_json
from flipcost.exceptions import UserError

ROWS = "Rows"


@dataclass(frozen=True, kw_only=True)
class Recheck:
    """Which rows to choose, and how to write them."""

    folder: Path = option(..., "Folder that `flipcost audit` wrote.", ROWS, flag="")
    n: int = option(50, "How many rows.", ROWS, min=1)
    random: bool = option(False, "Draw a plain sample.", ROWS)
    cost_check: float | None = same_as(AuditOptions, "cost_check")
    checked: Sequence[Path] = same_as(AuditOptions, "checked")
    to: str = option("csv", "csv or label-studio (JSON).", RESULTS, flag="--format")
    as_json: bool = same_as(Results, "as_json")
    quiet: bool = same_as(Results, "quiet")


@command(
    "recheck",
    Recheck,
    examples={
        ROWS: "flipcost recheck flipcost-audit --n 50",
        KNOWN: "flipcost recheck flipcost-audit --checked checked.csv",
        COSTS: "flipcost recheck flipcost-audit --cost-check 0.5",
        RESULTS: "flipcost recheck flipcost-audit --format label-studio",
    },
)
def recheck_command(asked: Recheck) -> None:
    """Choose the rows to check next after an audit.

    No new audit is needed. Answers in the folder's own files of rows, and in those given, count;
    rows that were handed out already are not chosen again.
    """
    from flipcost.recheck import (
        FORMATS,
        CheckPool,
        batch_files,
        label_studio_config,
        next_name,
        read_checked,
        rows_as_text,
    )
    from flipcost.report.sentences import next_sentence

    folder, cost = asked.folder, asked.cost_check
    if asked.to not in FORMATS:
        msg = f"--format must be one of {', '.join(FORMATS)}; got {asked.to!r}."
        raise UserError(msg)
    if cost is not None and not 0 < cost < float("inf"):
        msg = f"--cost-check must be a number above 0; got {cost:g}."
        raise UserError(msg)
    pool = CheckPool.read(folder)
    own = batch_files(folder)
    known = {path.resolve() for path in own}
    files = [*own, *(path for path in asked.checked if path.resolve() not in known)]
    rounds = [read_checked(path, unanswered=True) for path in files]
    batch = pool.choose(
        asked.n,
        answers=rounds,
        handed_out=[row for rows in rounds for row in rows],
        random=asked.random,
    )
    path = next_name(folder, FORMATS[asked.to])
    with staged_file(path) as place:
        text = rows_as_text(batch.rows, batch.columns, to=asked.to)
        place.write_text(text, encoding="utf-8", newline="")
    if asked.as_json:
        found = {
            "file": str(path),
            "rows": [row.row for row in batch.rows],
            "checked_rows": batch.n_checked,
            "expected_saving": vars(batch.saving),
        }
        print_json(found)
    elif not asked.quiet:
        echo(next_sentence(batch, cost))
        if asked.to == "label-studio":
            echo("Labeling interface for Label Studio:")
            for line in label_studio_config(pool.facts.labels).splitlines():
                echo(line)
        echo(f"Written: {path}")
