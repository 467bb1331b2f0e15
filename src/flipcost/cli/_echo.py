"""The one way to the terminal: whatever a file holds is shown as plain, short text."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import typer

from flipcost.exceptions import clean_text


def echo(text: str = "", *, err: bool = False) -> None:
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
    shown = indent + _aligned(text)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # What cannot be said, as on a full disk, must not hide how the command ended.
    with contextlib.suppress(OSError) if err else contextlib.nullcontext():
        typer.echo(shown.encode(encoding, "backslashreplace").decode(encoding), err=err)


def _aligned(text: str) -> str:
    """Clean text whose blanks align it with the lines above."""
    return text.strip() if text.isprintable() and len(text) < 1000 else clean_text(text)


def readable_name(path: Path) -> str:
    """Return the name of a file as text that can be written, whatever bytes it is of.

    Examples
    --------
    >>> readable_name(Path("sales/2024.csv"))
    '2024.csv'
    """
    return os.fsencode(path.name).decode("utf-8", "replace")
