"""Ctrl-C and termination: both clean up, and neither is lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_stopped = threading.Event()
_deferred = threading.Event()
_written: list[Path] = []


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Have a termination clean up as ctrl-C does, and keep a record that either came.

    Compiled code can turn the interrupt into an error of its own: what was raised after a signal
    counts as the interrupt, whatever its name. It can also lose it altogether, for instance within
    a callback from C; see `stop_if_interrupted`.
    """
    _written.clear()
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return

    def stop(*_: Any) -> None:
        _stopped.set()
        if not _deferred.is_set():
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


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Raise an interrupt before or after what is done here, but not within it.

    Examples
    --------
    >>> with uninterrupted():
    ...     pass
    """
    _deferred.set()
    try:
        stop_if_interrupted()
        yield
    finally:
        _deferred.clear()
    stop_if_interrupted()


def stop_if_interrupted() -> None:
    """Raise an interrupt that came earlier and was lost: between steps, and before files move.

    Examples
    --------
    >>> stop_if_interrupted()
    """
    if _stopped.is_set():
        raise KeyboardInterrupt


def note_written(place: Path) -> None:
    """Note that results are in their place, whatever comes after."""
    _written.append(place)


def interrupted_words() -> str:
    """Return what is said after an interrupt: whether anything was written.

    Examples
    --------
    >>> with signals_as_interrupts():
    ...     print(interrupted_words())
    interrupted; nothing was written.
    """
    if not _written:
        return "interrupted; nothing was written."
    return f"interrupted when {_written[-1]} had been written."
