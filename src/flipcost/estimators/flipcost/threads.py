"""How many threads linear algebra may use while a fit is made."""

from __future__ import annotations

from typing import Any

from flipcost._threads import thread_limits


def linear_algebra_threads(n_threads: int = 1) -> Any:
    """Return what holds linear algebra to so many threads, to be used with ``with``.

    Examples
    --------
    >>> with linear_algebra_threads(1):
    ...     pass
    """
    return thread_limits(n_threads, "blas")
