"""What `flipcost recheck` does, and what `flipcost audit` writes for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flipcost.cli._echo import echo
from flipcost.exceptions import UserError
from flipcost.recheck import (
    FORMATS,
    POOL_FILE,
    CheckPool,
    batch_files,
    label_studio_config,
    next_name,
    read_checked,
    rows_as_text,
    write_new,
)
from flipcost.report import next_sentence

if TYPE_CHECKING:
    from collections.abc import Collection

    from flipcost.audit import Findings


def run_recheck(
    *,
    folder: Path,
    n: int,
    random: bool,
    cost_check: float | None,
    to: str,
    checked: list[Path] | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Choose rows as the options say, write them, and print what they are worth."""
    if to not in FORMATS:
        msg = f"--format must be one of {', '.join(FORMATS)}; got {to!r}."
        raise UserError(msg)
    if cost_check is not None and not 0 < cost_check < float("inf"):
        msg = f"--cost-check must be a price above 0; got {cost_check:g}."
        raise UserError(msg)
    pool = CheckPool.read(folder)
    own = batch_files(folder)
    known = {path.resolve() for path in own}
    files = [*own, *(path for path in checked or () if path.resolve() not in known)]
    rounds = [read_checked(path, unanswered=True) for path in files]
    batch = pool.choose(
        n,
        answers=[[row for row in rows if row.checked] for rows in rounds],
        handed_out=[row for rows in rounds for row in rows],
        random=random,
    )
    path = next_name(folder, FORMATS[to])
    _write(path, rows_as_text(batch.rows, batch.columns, to=to))
    if as_json:
        found = {
            "file": str(path),
            "rows": [row.row for row in batch.rows],
            "checked_rows": batch.n_checked,
            "expected_saving": vars(batch.saving),
        }
        typer.echo(json.dumps(found, indent=1, allow_nan=False))
    elif not quiet:
        echo(next_sentence(batch, cost_check))
        if to == "label-studio":
            echo("Labeling interface for Label Studio:")
            for line in label_studio_config(pool.facts.labels).splitlines():
                echo(line)
        echo(f"Written: {path}")


def write_batch(
    result: Findings, place: Path, folder: Path, without: Collection[Path] = ()
) -> str | None:
    """Write the rows to check next, and what further ones are chosen from; return the name.

    Parameters
    ----------
    result : Findings
        What the audit found.
    place : Path
        Where files wait.
    folder : Path
        Where they will be: a batch that is there is not replaced, the next one has another number.
    without : collection of Path
        Batches there that may be replaced.
    """
    recheck = result.recheck
    if recheck is None or recheck.pool is None or recheck.batch is None:
        return None
    recheck.pool.write(place / POOL_FILE)
    name = next_name(folder, without=without).name
    text = rows_as_text(recheck.batch.rows, recheck.batch.columns)
    (place / name).write_text(text, encoding="utf-8", newline="")
    return name


def _write(path: Path, text: str) -> None:
    try:
        write_new(path, text)
    except FileExistsError as error:
        msg = f"{path} was just created by another process; run this again."
        raise UserError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be written: {(error.strerror or str(error)).lower()}."
        raise UserError(msg) from error
