"""Ctrl-C and termination: both clean up, and neither is lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_stopped = threading.Event()


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Have a termination clean up as ctrl-C does, and keep a record that either came.

    Compiled code can turn the interrupt into an error of its own: what was raised after a signal
    counts as the interrupt, whatever its name. It can also lose it altogether, for instance within
    a callback from C; see `stop_if_interrupted`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return

    def stop(*_: Any) -> None:
        _stopped.set()
        raise KeyboardInterrupt

    _stopped.clear()
    before = {kind: signal.signal(kind, stop) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except Exception as error:
        if _stopped.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        _stopped.clear()
        for kind, handler in before.items():
            signal.signal(kind, handler)


def stop_if_interrupted() -> None:
    """Raise an interrupt that came earlier and was lost: between steps, and before files move.

    Examples
    --------
    >>> stop_if_interrupted()
    """
    if _stopped.is_set():
        raise KeyboardInterrupt
