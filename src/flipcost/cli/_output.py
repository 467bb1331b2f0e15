"""Where results go, with an interrupt before or after, but not between."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from flipcost import _staging
from flipcost._staging import check_file, check_folder

__all__ = [
    "check_file",
    "check_folder",
    "interrupted_words",
    "print_json",
    "signals_as_interrupts",
    "staged_file",
    "staged_folder",
    "stop_if_interrupted",
    "write_json",
]

_stopped = threading.Event()
_deferred = threading.Event()
_written: list[Path] = []


@contextlib.contextmanager
def staged_folder(
    folder: Path,
    names: Iterable[str] = (),
    *,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
) -> Iterator[Path]:
    """Yield a place to write files that appear in the folder together if all goes well.

    As in `flipcost._staging.staged_folder`; ``summary.json`` comes last.
    """
    staged = _staging.staged_folder(
        folder, names, overwrite=overwrite, inputs=inputs, manifest="summary.json"
    )
    with _moved_whole(folder), staged as place:
        yield place
        _defer_interrupts()


@contextlib.contextmanager
def staged_file(
    path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """Yield a file to write that is renamed to the path if all goes well."""
    staged = _staging.staged_file(path, overwrite=overwrite, inputs=inputs)
    with _moved_whole(path), staged as place:
        yield place
        _defer_interrupts()


@contextlib.contextmanager
def _moved_whole(place: Path) -> Iterator[None]:
    try:
        yield
        _written.append(place)
    finally:
        _deferred.clear()
    stop_if_interrupted()


def _defer_interrupts() -> None:
    """Raise an interrupt that came; one that comes while files move is raised afterwards."""
    _deferred.set()
    stop_if_interrupted()


def stop_if_interrupted() -> None:
    """Raise an interrupt that came earlier and was lost: between steps, and before files move.

    Examples
    --------
    >>> stop_if_interrupted()
    """
    if _stopped.is_set():
        raise KeyboardInterrupt


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


def print_json(found: Any) -> None:
    """Print plain data."""
    typer.echo(json.dumps(_finite(found), indent=1, allow_nan=False))


def write_json(path: Path, found: Any) -> None:
    """Write plain data."""
    text = json.dumps(_finite(found), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _finite(found: Any) -> Any:
    from flipcost.core.feasible import finite_only

    return finite_only(found)
