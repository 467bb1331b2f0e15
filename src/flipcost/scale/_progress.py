"""Telling how far a pass has come."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from flipcost.scale._optional import require


@dataclass(frozen=True)
class Progress:
    """How far a pass has come; what a progress function is called with.

    Parameters
    ----------
    rows : int
        Rows done.
    total : int, optional
        Rows of the source, when it knows.
    seconds : float
        Time since the pass began.
    where : str
        The file, batch or partition done last.

    Examples
    --------
    >>> Progress(500, 1000, 2.0, "file 'a.parquet'").share
    0.5
    """

    rows: int
    total: int | None
    seconds: float
    where: str

    @property
    def share(self) -> float | None:
        """Share of the rows done; None when the total is not known."""
        return None if not self.total else self.rows / self.total


class Reporter:
    """Call a progress function after each piece, or draw a bar; do nothing when there is none."""

    def __init__(self, progress: Callable[[Progress], None] | str | None, total: int | None):
        if isinstance(progress, str) and progress != "bar":
            msg = f"`progress` must be None, 'bar' or a function of one argument; got {progress!r}."
            raise ValueError(msg)
        self._total = total
        self._rows = 0
        self._started = perf_counter()
        self._bar = _Bar(total) if progress == "bar" else None
        self._call = self._bar if isinstance(progress, str) else progress

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def add(self, rows: int, where: str) -> None:
        """Report more rows."""
        self._rows += rows
        if self._call is not None:
            seconds = perf_counter() - self._started
            self._call(Progress(self._rows, self._total, seconds, where))


class _Bar:
    """A bar on a terminal, by rich."""

    def __init__(self, total: int | None):
        progress = require("rich.progress")
        console = require("rich.console").Console(file=sys.stderr)
        self._bar: Any = progress.Progress(
            progress.TextColumn("reading rows"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("rows", total=total)

    def __call__(self, progress: Progress) -> None:
        self._bar.update(self._task, completed=progress.rows)

    def close(self) -> None:
        self._bar.stop()
