"""How many threads the libraries may use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def thread_limits(limits: int | Mapping[str, int | None], user_api: str | None = None) -> Any:
    """Return what holds libraries to so many threads, to be used with ``with``.

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
