"""How many threads the libraries may use."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

# Threads bring little to products of narrower blocks, and wait for each other: beside busy
# neighbours 300,000 x 20 took 3.2 s of two processors with two threads, 0.2 s with one.
_COLUMNS_FOR_THREADS = 500


def free_cores() -> int:
    """Return how many threads can run at once: cores that this process may use, less busy ones.

    Examples
    --------
    >>> free_cores() >= 1
    True
    """
    cores = int(cpu_count())
    try:
        waiting = os.getloadavg()[0] - cores
    except (AttributeError, OSError):  # not every system tells
        return cores
    return min(max(cores - round(max(waiting, 0.0)), 1), cores)


def moment_threads(n_columns: int) -> Any:
    """Return what holds linear algebra to the threads that moments of this many columns can use.

    Examples
    --------
    >>> with moment_threads(20):
    ...     pass
    """
    return thread_limits(1 if n_columns <= _COLUMNS_FOR_THREADS else free_cores(), "blas")


def thread_limits(limits: int | Mapping[str, int | None], user_api: str | None = None) -> Any:
    """Return what holds libraries to a number of threads, to be used with ``with``.

    As `threadpoolctl.threadpool_limits`, which looks for the libraries each time: that takes 3 ms,
    a tenth of a small fit. Here they are looked for when something was imported since.

    Parameters
    ----------
    limits : int or mapping
        Threads, or threads by kind of library, None for as many as there are.
    user_api : {"blas", "openmp"}, default=None
        The kind of library; all of them when None.

    Examples
    --------
    >>> with thread_limits(1, "blas"):
    ...     pass
    """
    return _controller(len(sys.modules)).limit(limits=limits, user_api=user_api)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:  # noqa: ARG001 - what it is kept for
    return ThreadpoolController()
