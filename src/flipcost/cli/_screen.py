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
    break_even,
    candidate_table,
    decision_answers,
    headline,
    next_sentence,
    price_sentence,
    suspects_sentence,
    title_sentence,
    truth_sentence,
    way_sentence,
)
from flipcost.words import on_screen

if TYPE_CHECKING:
    from flipcost.audit import Findings


_WIDTH = 100
# Characters of an answer that are shown.
_ANSWER = 6000


def print_audit(result: Findings, folder: Path) -> None:
    """Print what an audit found."""
    say(title_sentence(result))
    say(in_options(price_sentence(result)))
    echo()
    said, batch = headline(result), result.batch_file
    say(said.estimate, strong=True)
    say(said.use)
    again = batch is not None and batch in said.next
    rerun = f", then rerun with --checked {folder / str(batch)}." if again else "."
    say(in_options(said.next.removesuffix(".") + rerun))
    echo()
    heads, rows = candidate_table(result)
    print_table(heads, rows, right={1, 2, 3}, highlight=0)
    echo()
    for text in (
        suspects_sentence(result),
        break_even(result),
        way_sentence(result),
        truth_sentence(result),
    ):
        if text:
            say(text)
    recheck = result.recheck
    if recheck is not None and recheck.cost_check is not None:
        say(next_sentence(recheck.batch, recheck.cost_check))
    for question, answer in decision_answers(result):
        say(f"{question} {answer}")
    files = [name for name in ("suspects.csv", batch, "model.json") if name]
    say(f"Report: {folder / 'report.html'} (also {', '.join(files)})")


def say(text: str, *, strong: bool = False) -> None:
    """Print a paragraph, as wide as is read well."""
    terminal = sys.stdout.isatty()
    width = min(_WIDTH, Console().width) if terminal else _WIDTH
    indent = text[: len(text) - len(text.lstrip(" "))]
    cleaned = clean_text(on_screen(text), _ANSWER)
    for line in textwrap.wrap(cleaned, width - len(indent), break_on_hyphens=False):
        if strong and terminal:
            Console().print(Text(indent + line, style="bold"))
        else:
            echo(indent + line)
