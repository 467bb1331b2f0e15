"""Running units in one process or several, with the same values either way."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from flipcost.experiments.run._units import Unit, run_unit

if TYPE_CHECKING:
    from flipcost.experiments.tables._results import Row


def run_units(
    units: list[Unit],
    seed: int,
    *,
    jobs: int = 1,
    done: Callable[[Unit, list[Row]], None],
) -> None:
    """Run units, and give each to ``done(unit, records)`` as it is finished.

    The linear algebra keeps to one thread: several would add in another order, and the units of
    this size gain nothing from them.

    Parameters
    ----------
    units : sequence of Unit
        What to run.
    seed : int
        The run's seed.
    jobs : int
        Number of processes.
    done : callable
        Called in this process, in any order of units.
    """
    if jobs == 1 or len(units) < 2:
        for unit in units:
            done(unit, _guarded(unit, seed))
        return
    # Not forked: a fork copies locks that other threads may hold.
    context = get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (os.getpid(), stop))
    try:
        waiting = {pool.submit(_guarded, unit, seed): unit for unit in units}
        for future in as_completed(waiting):
            done(waiting.pop(future), future.result())
    finally:
        # A second interrupt must not break off the clean-up of the first.
        with _deaf():
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _deaf() -> Any:
    """Ignore interrupts for a while, where that is ours to decide."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _guarded(unit: Unit, seed: int) -> Any:
    with threadpool_limits(1), warnings.catch_warnings():
        # Fits at the edge of the paper's grids warn; what matters is in the values.
        warnings.simplefilter("ignore")
        return run_unit(unit, seed)


def _start_worker(parent: int, stop: Any) -> None:
    """Leave interrupts to the parent, and end with it: one that is killed cannot tell us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent and not stop.wait(0.5):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
