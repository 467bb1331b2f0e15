"""Timing and memory for benchmarks: best of several, everything in one process."""

from __future__ import annotations

import gc
import tracemalloc
from time import perf_counter, process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def best_of(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest of several times in seconds, after one warm-up."""
    call()
    times = []
    for _ in range(repeats):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    return min(times)


def best_of_each(
    flags: dict[str, Callable[[], object]],
    repeats: int = 5,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, float]:
    """Time several calls in turns, so that a busy spell of the machine hits all of them."""
    for call in flags.values():
        call()
    best = dict.fromkeys(flags, float("inf"))
    for _ in range(repeats):
        for name, call in flags.items():
            started = clock()
            call()
            best[name] = min(best[name], clock() - started)
    return best


def wall_and_busy(
    flags: dict[str, Callable[[], object]], repeats: int = 5
) -> dict[str, tuple[float, float]]:
    """Return the shortest wall and processor times of several calls, made in turns.

    Processor time tells what was done even where other programs want the same cores.
    """
    best = dict.fromkeys(flags, (float("inf"), float("inf")))
    for turn in range(repeats + 1):
        for name, call in flags.items():
            wall, busy = perf_counter(), process_time()
            call()
            took = perf_counter() - wall, process_time() - busy
            if turn or not repeats:  # the first one warms up
                best[name] = (min(best[name][0], took[0]), min(best[name][1], took[1]))
    return best


def peak_extra_bytes(call: Callable[[], object]) -> int:
    """Return how far a call's allocations rise above what was there before it."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


def verdict(value: float, goal: float, *, at_most: bool) -> str:
    """Say whether a figure reaches its goal."""
    reached = value <= goal if at_most else value >= goal
    return f"{'reached' if reached else 'MISSED'} (goal: {'<=' if at_most else '>='} {goal:g})"
