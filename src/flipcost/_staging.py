"""Write results aside, then rename them into place, so that none is ever half written.

An interrupt comes before results move or after, but not between.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flipcost.exceptions import OutputError

# A temporary folder is named after the machine and the process that writes to it.
_PREFIX = ".flipcost-"
_STAGE = re.compile(rf"{re.escape(_PREFIX + platform.node())}-(\d+)-\w{{8}}")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

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
    manifest: str = "summary.json",
) -> Iterator[Path]:
    """Yield a place to write files that move to the folder if all goes well.

    Other files in the folder stay. A new folder appears at once. In an existing one the old
    manifest goes first and the new one comes last: where there is a manifest, all files are of its
    run.

    Parameters
    ----------
    folder : Path
        Where the files go; made, with its parents, if missing.
    names : iterable of str
        Files that will be written, as far as known: existing ones are refused before the work.
    overwrite : bool, default=False
        Whether files of the same names may be replaced.
    inputs : iterable of Path
        Files and folders that are read, and never replaced.
    manifest : str, default="summary.json"
        The file that is moved last.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with staged_folder(Path(base) / "out") as place:
    ...         _ = (place / "a.txt").write_text("done")
    ...     print((Path(base) / "out" / "a.txt").read_text())
    done
    """
    inputs = list(inputs)
    check_folder(folder, names, overwrite=overwrite, inputs=inputs)
    real = folder.resolve()
    with _stage(real, folder) as new:
        yield new
        written = sorted(file.name for file in new.iterdir())
        check_folder(folder, written, overwrite=overwrite, inputs=inputs)
        with _moved_whole(folder):
            if not real.exists():
                real.parent.mkdir(parents=True, exist_ok=True)
                new.rename(real)
                return
            if manifest in written:
                (real / manifest).unlink(missing_ok=True)
            for name in sorted(written, key=lambda name: name == manifest):
                (new / name).replace(real / name)


@contextlib.contextmanager
def staged_file(
    path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """Yield a file to write that is renamed to the path if all goes well.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with staged_file(Path(base) / "a.txt") as place:
    ...         _ = place.write_text("done")
    ...     print((Path(base) / "a.txt").read_text())
    done
    """
    inputs = list(inputs)
    check_file(path, overwrite=overwrite, inputs=inputs)
    with _stage(path.absolute().parent, path.parent) as new:
        yield new / path.name
        check_file(path, overwrite=overwrite, inputs=inputs)
        with _moved_whole(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            (new / path.name).replace(path)


@contextlib.contextmanager
def _stage(folder: Path, asked: Path) -> Iterator[Path]:
    """Yield a temporary folder in a folder, or in the nearest one above that exists."""
    base = next(place for place in (folder, *folder.parents) if place.exists())
    if not base.is_dir() or (asked.exists() and not asked.is_dir()):
        msg = f"{asked} cannot be made: {base} is a file. Choose another `out`."
        raise OutputError(msg)
    prefix = f"{_PREFIX}{platform.node()}-{os.getpid()}-"
    try:
        with contextlib.suppress(OSError):
            clear_leftovers(base)
        with tempfile.TemporaryDirectory(
            prefix=prefix, dir=base, ignore_cleanup_errors=True
        ) as stage:
            new = Path(stage, "new")  # with the usual permissions, which its parent does not have
            new.mkdir()
            yield new
    except BrokenPipeError:
        raise
    except OSError as error:  # failures to read other files pass
        if error.filename is not None and _PREFIX not in os.fsdecode(error.filename):
            raise
        reason = (error.strerror or str(error)).lower()
        advice = "Free some space, or choose" if error.errno in _FULL else "Choose"
        msg = f"{asked} cannot be written to: {reason}. {advice} another `out`."
        raise OutputError(msg) from error


@contextlib.contextmanager
def _moved_whole(place: Path) -> Iterator[None]:
    """Raise an interrupt that came before; one that comes while files move is raised afterwards."""
    _deferred.set()
    try:
        stop_if_interrupted()
        yield
        _written.append(place)
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


def clear_leftovers(folder: Path) -> None:
    """Remove temporary folders of processes of this machine that were killed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     clear_leftovers(Path(base))
    """
    if os.name == "nt":  # where a process cannot be asked whether it is alive
        return
    for path in folder.iterdir():
        found = _STAGE.fullmatch(path.name)
        if found is None:
            continue
        try:
            os.kill(int(found[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(path, ignore_errors=True)
        except (OSError, OverflowError):  # of another user
            continue


def check_folder(
    folder: Path, names: Iterable[str], *, overwrite: bool = False, inputs: Iterable[Path] = ()
) -> None:
    """Refuse to write files where they would replace others, or what is read.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     check_folder(Path(base), ["report.html"])
    """
    inputs = list(inputs)
    for name in sorted(names):
        check_file(folder / name, overwrite=overwrite, inputs=inputs)
    real = folder.resolve()
    for given in inputs:
        if given.is_dir() and given.resolve() in (real, *real.parents):
            msg = f"{folder} lies in {given}, which is read; choose another `out`."
            raise OutputError(msg)


def check_file(path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write a file that exists, or that is read.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     check_file(Path(base) / "a.csv")
    """
    if path.is_dir():
        msg = f"{path} is a folder, and a file of that name is to be written; choose another `out`."
        raise OutputError(msg)
    for given in inputs:
        with contextlib.suppress(OSError):
            if given.samefile(path):
                same = "" if path == given else f" is {given}, which"
                msg = f"{path}{same} is read and cannot be written; choose another `out`."
                raise OutputError(msg)
    if not overwrite and os.path.lexists(path):
        msg = f"{path} exists already; give `overwrite=True` to replace it, or another `out`."
        raise OutputError(msg)
