"""Running a task over the pieces of a source, and merging its results in order."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from flipcost._threads import thread_limits
from flipcost.core.moments import fold_moments
from flipcost.core.system import require
from flipcost.exceptions import SourceError, TableError
from flipcost.tables.rows import LabeledMoments
from flipcost.tables.sample import LabelSample, Rows, draw_keys

if TYPE_CHECKING:
    from flipcost.tables.rows import Layout, Piece


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


Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Unit:
    """Pieces that one thread reads and sums up: row groups of a file, or a range of it."""

    where: str
    read: Callable[[], Iterator[Piece]]


def reduce_pieces(
    pieces: Iterable[Piece], task: Task, reporter: Reporter, n_threads: int = 1
) -> Any:
    """Return the merge, in order, of what a task gives for each piece; None without rows.

    Pieces are read here and summed up by threads.
    """
    units = (Unit(piece.where, partial(iter, (piece,))) for piece in pieces)
    return reduce_units(units, task, reporter, n_threads)


def reduce_units(units: Iterable[Unit], task: Task, reporter: Reporter, n_threads: int = 1) -> Any:
    """Return the merge, in order, of what a task gives for each piece of each unit.

    Units are read and summed up by threads, each by one.
    """
    total: Any = None
    with reporter, closing(_ordered(units, partial(_run_unit, task), n_threads)) as results:
        for unit, (result, n_rows) in results:
            if result is not None:
                total = result if total is None else merge_at(total, result, unit.where)
            reporter.add(n_rows, unit.where)
    return total


def _run_unit(task: Task, unit: Unit) -> tuple[Any, int]:
    total: Any = None
    n_rows = 0
    for piece in unit.read():
        if piece.n_rows:
            result = run(task, piece)
            total = result if total is None else merge_at(total, result, piece.where)
            n_rows += piece.n_rows
    return total, n_rows


def threaded(function: Callable[[Item], Any], items: Iterable[Item], n_threads: int) -> list[Any]:
    """Return what a function gives for each item, in order, by threads."""
    return [result for _, result in _ordered(items, function, n_threads)]


def merge_at(total: Any, result: Any, where: str) -> Any:
    """Merge, naming the piece when it does not fit those before it."""
    try:
        return total.merge(result)
    except ValueError as error:
        msg = f"{where} does not fit the rows before it: {error}"
        raise SourceError(msg) from error


def thread_count(n_threads: int | None) -> int:
    """Return the number of threads: as many as this process may use when None."""
    if n_threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if n_threads < 1:
        msg = f"`n_threads` must be at least 1, or None for all cores; got {n_threads}."
        raise ValueError(msg)
    return n_threads


def _ordered(
    items: Iterable[Item], function: Callable[[Item], Any], n_threads: int
) -> Generator[tuple[Item, Any], None, None]:
    """Yield items with their results, in order; never more items at hand than threads and one.

    Linear algebra runs on one thread while several are at work: one level of parallelism.
    """
    if n_threads == 1:
        for item in items:
            yield item, function(item)
        return
    waiting: deque[tuple[Item, Future[Any]]] = deque()
    with (
        thread_limits(1, "blas"),
        ThreadPoolExecutor(n_threads, thread_name_prefix="flipcost") as pool,
    ):
        try:
            for item in items:
                waiting.append((item, pool.submit(function, item)))
                if len(waiting) > n_threads:
                    done, future = waiting.popleft()
                    yield done, future.result()
            while waiting:
                done, future = waiting.popleft()
                yield done, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


Task: TypeAlias = "Callable[[Piece], Any]"


def run(task: Task, piece: Piece) -> Any:
    """Run a task on a piece, which is named in the error if its columns cannot be used."""
    try:
        return task(piece)
    except TableError as error:
        said = str(error)
        raise SourceError(said if piece.where in said else f"{piece.where}: {said}") from error


def packed(task: Task, result: Any) -> Any:
    """Return what of the result of a whole part is sent to another machine.

    All of it, unless the task has a method ``packed`` that says otherwise.
    """
    pack = getattr(task, "packed", None)
    return result if pack is None or result is None else pack(result)


@dataclass(frozen=True)
class MomentsTask:
    """Gather the moments of every fold."""

    layout: Layout
    n_folds: int = 1

    def __call__(self, piece: Piece) -> LabeledMoments:
        rows = self.layout.rows(piece)
        labels, second = rows.labels()
        try:
            parts = fold_moments(
                rows.X, second, rows.folds(self.n_folds), self.n_folds, rows.weight
            )
        except ValueError as error:
            raise rows.fault(error) from error
        return LabeledMoments(labels, tuple(parts), rows.names)


@dataclass(frozen=True)
class DrawTask:
    """Draw rows of each label, with their columns as they are."""

    layout: Layout
    size: int
    n_parts: int = 1
    by_key: bool = False

    def __call__(self, piece: Piece) -> LabelSample:
        """Draw rows of one piece, by their positions or by their keys."""
        found = self.layout.rows(piece, as_numbers=False)
        labels, second = found.labels()
        values = np.array(labels)
        y = values[second.astype(np.intp)] if len(values) > 1 else np.repeat(values, piece.n_rows)
        beside: dict[str, Any] = {}
        if found.weight is not None:
            beside["weight"] = found.weight
        if found.keys is not None:
            beside["group"] = found.keys
        named = found.keys if self.by_key and found.keys is not None else piece.positions
        keys = draw_keys(named, self.layout.fold_seed)
        rows = Rows(found.X, piece.positions.astype(np.int64), keys, beside)
        return LabelSample.of(rows, y, self.size)

    def packed(self, sample: LabelSample) -> LabelSample:
        """Return what a part on another machine sends."""
        return sample.packed(self.n_parts)


def cluster_module() -> Any:
    """Return the module for Dask, an optional package."""
    require("dask")
    return require("flipcost.tables.dask")
