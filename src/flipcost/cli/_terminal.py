"""The one way to the terminal: whatever a file holds is shown as plain, short text."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flipcost.cli._command import in_options
from flipcost.exceptions import clean_text

if TYPE_CHECKING:
    from flipcost.audit import Findings

# Characters of a line, of a cell, and of an answer that are shown.
WIDTH, _CELL, _ANSWER = 100, 120, 6000


def echo(text: str = "", *, err: bool = False, strong: bool = False) -> None:
    r"""Print a line that may hold text from files.

    Control characters are replaced and characters that the terminal cannot show are written as
    codes; leading blanks, which align tables, stay.

    Examples
    --------
    >>> echo("labelled '\x1b[2J'")
    labelled '\ufffd[2J'
    """
    stream = sys.stderr if err else sys.stdout
    indent = text[: len(text) - len(text.lstrip(" "))]
    # Blanks within align a line with those above.
    plain = text.strip() if text.isprintable() and len(text) < 1000 else clean_text(text)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # What cannot be said, as on a full disk, must not hide how the command ended.
    with contextlib.suppress(OSError) if err else contextlib.nullcontext():
        shown = (indent + plain).encode(encoding, "backslashreplace").decode(encoding)
        typer.echo(typer.style(shown, bold=True) if strong else shown, err=err)


def readable_name(path: Path) -> str:
    """Return the name of a file as text that can be printed, whatever bytes it holds.

    Examples
    --------
    >>> readable_name(Path("sales/2024.csv"))
    '2024.csv'
    """
    return os.fsencode(path.name).decode("utf-8", "replace")


def say(text: str, *, strong: bool = False) -> None:
    """Print a paragraph, wrapped to a readable width."""
    from flipcost.words import on_screen, unbroken

    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    indent = text[: len(text) - len(text.lstrip(" "))]
    cleaned = unbroken(clean_text(on_screen(text), _ANSWER))
    for line in textwrap.wrap(cleaned, min(WIDTH, terminal) - len(indent), break_on_hyphens=False):
        echo(indent + line.replace("\u00a0", " "), strong=strong)


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()
) -> None:
    """Print rows under heads, aligned by blanks."""
    rows = [[clean_text(cell, _CELL) for cell in row] for row in rows]
    widths = [max(len(line[j]) for line in [heads, *rows]) for j in range(len(heads))]
    for line in [heads, *rows]:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        echo("  ".join(cells).rstrip(), strong=line is heads)


def print_json(found: Any) -> None:
    """Print plain data."""
    typer.echo(as_json(found, ensure_ascii=True))


def as_json(found: Any, *, ensure_ascii: bool = False) -> str:
    """Return plain data as text."""
    return json.dumps(_finite_only(found), indent=1, ensure_ascii=ensure_ascii, allow_nan=False)


def _finite_only(value: Any) -> Any:
    """Return plain data with None in place of numbers that are not finite, which JSON has not."""
    if isinstance(value, dict):
        return {key: _finite_only(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite_only(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_audit(result: Findings, folder: Path) -> None:
    """Print what an audit found."""
    from flipcost.report import sentences
    from flipcost.report.headline import headline

    say(sentences.title_sentence(result))
    say(in_options(sentences.price_sentence(result)))
    echo()
    said, batch = headline(result), result.batch_file
    say(said.estimate, strong=True)
    say(said.use)
    rerun = ""
    if batch is not None and batch in said.next:
        also = "also " if result.n_checked else ""
        rerun = f", then rerun {also}with --checked {folder / batch}"
        rerun += " in place of the rate" if said.kind == "given" else ""
    say(in_options(f"{said.next.removesuffix('.')}{rerun}."))
    echo()
    heads, rows = sentences.candidate_table(result)
    print_table(heads, rows, right={1, 2, 3})
    echo()
    for text in (
        sentences.annotators_sentence(result),
        sentences.suspects_sentence(result),
        sentences.break_even(result),
        sentences.history_sentence(result),
        sentences.truth_sentence(result),
    ):
        if text:
            say(text)
    recheck = result.recheck
    if recheck.cost_check is not None:
        say(sentences.next_sentence(recheck.batch, recheck.cost_check))
    for question, answer in sentences.decision_answers(result):
        say(f"{question} {answer}")
    labels = None if result.labels.pooled is None else "labels.csv"
    files = [name for name in (labels, "suspects.csv", batch, "model.json") if name]
    say(f"Report: {folder / 'report.html'} (also {', '.join(files)})")
