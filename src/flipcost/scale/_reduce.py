"""Running a task over pieces within one process, and merging what it returns in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from flipcost._threads import thread_limits
from flipcost.exceptions import SourceError
from flipcost.scale._tasks import Task
from flipcost.scale._tasks import run as run_task

if TYPE_CHECKING:
    from flipcost.scale._progress import Reporter
    from flipcost.scale._rows import Piece

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
            result = run_task(task, piece)
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
    """Return the number of threads: as many as this process may use, unless told."""
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
