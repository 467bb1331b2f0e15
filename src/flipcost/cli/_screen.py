"""One screen of answers: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from flipcost.cli._echo import echo
from flipcost.cli._options import in_options
from flipcost.cli._table import print_table
from flipcost.exceptions import clean_text
from flipcost.report import (
    answers,
    candidate_table,
    columns_words,
    found_words,
    headline,
    reading_words,
    segment_table,
    way_table,
    worth_of_checks,
)

if TYPE_CHECKING:
    from flipcost.audit import AuditResult


_WIDTH = 100
# Characters of an answer that are shown.
_ANSWER = 6000


def print_audit(result: AuditResult, folder: Path | None, batch: str | None = None) -> None:
    """Print what an audit found; `batch` is the file of rows to check next."""
    share = result.n_positive / result.n_rows
    _say(
        f"{result.name}: {result.n_rows:,} rows, {columns_words(result)}, "
        f"{100 * share:.1f} % labelled {result.positive!r}{reading_words(result)}"
    )
    echo()
    _say(headline(result))
    for number, (question, answer) in enumerate(answers(result)):
        _ask(question)
        # Of the suspects' answer a part is the user's own text.
        _say(answer if number == 2 else in_options(answer))
        if number == 1:
            print_table(*candidate_table(result), right={1, 2, 3, 4}, highlight=0)
    heads, parts = segment_table(result)
    if parts:
        print_table(heads, parts, right={1, 2, 3, 4, 5})
    _print_recheck(result)
    _ask("How was this found?")
    _say(dict(found_words(result))["Noise models"])
    echo()
    if folder is not None:
        more = f", {batch}" if batch else ""
        _say(f"Written: {folder}/report.html, summary.json, model.json, suspects.csv{more}")


def _print_recheck(result: AuditResult) -> None:
    """Print the way so far, and what checking more rows is worth."""
    if result.recheck is None or result.recheck.batch is None:
        return
    _ask("Which rows should be checked next?")
    heads, rows = way_table(result)
    if rows:
        print_table(heads, rows, right={0, 2})
    _say(worth_of_checks(result))


def _ask(question: str) -> None:
    echo()
    if sys.stdout.isatty():
        Console().print(Text(question, style="bold cyan"))
    else:
        echo(question)


def _say(text: str) -> None:
    width = min(_WIDTH, Console().width) if sys.stdout.isatty() else _WIDTH
    for line in textwrap.wrap(clean_text(text, _ANSWER), width):
        echo(line)
