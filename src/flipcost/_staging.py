"""Write results aside, then rename them into place, so that none is ever half written.

Files wait in a temporary folder ``.flipcost-...`` on the same file system. Its writer holds a lock
there; the next writer removes folders whose writer is gone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from flipcost.exceptions import OutputError

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: leftovers are removed by age alone
    fcntl = None

_PREFIX, _LOCK = ".flipcost-", "lock"
_STAGE = re.compile(r"\.flipcost-\w{8}")
# Seconds after which a leftover without a lock is taken to have no writer.
_FORGOTTEN = 3600.0
_ADVICE = "give `overwrite=True` to replace it, or another `out`."


@contextlib.contextmanager
def staged_folder(
    folder: Path,
    names: Iterable[str] = (),
    *,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    manifest: str | None = None,
    is_kept: Callable[[Path], bool] | None = None,
    guard: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
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
    manifest : str, optional
        The file that is moved last.
    is_kept : callable, optional
        Tells whether a file that would be replaced stays, under another name.
    guard : callable, optional
        Makes a context in which the files are moved.

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
    with _stage(real if real.is_dir() else real.parent, folder) as new:
        yield new
        with guard():
            written = sorted(file.name for file in new.iterdir())
            check_folder(folder, written, overwrite=overwrite, inputs=inputs)
            _use_umask(new)
            if not real.exists():
                new.rename(real)
                return
            for name in written:
                if is_kept is not None and os.path.lexists(real / name) and is_kept(real / name):
                    (real / name).rename(_free_name(real / name, written))
            if manifest in written:
                (real / str(manifest)).unlink(missing_ok=True)
            for name in sorted(written, key=lambda name: name == manifest):
                (new / name).replace(real / name)


@contextlib.contextmanager
def staged_file(
    path: Path,
    *,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    guard: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
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
        with guard():
            check_file(path, overwrite=overwrite, inputs=inputs)
            _use_umask(new)
            (new / path.name).replace(path)


@contextlib.contextmanager
def _stage(parent: Path, asked: Path) -> Iterator[Path]:
    """Yield a temporary folder in another; whatever happens, neither it nor new parents stay."""
    made = _make(parent, asked)
    stage, lock = None, -1
    try:
        with _explained(asked):
            clear_leftovers(parent)
            stage = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            lock = os.open(stage / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            _lock(lock)
            (stage / "new").mkdir()
            yield stage / "new"
    except BaseException:
        _remove(stage, lock)
        for part in reversed(made):
            with contextlib.suppress(OSError):
                part.rmdir()
        raise
    _remove(stage, lock)


def _remove(stage: Path | None, lock: int) -> None:
    if stage is not None:
        shutil.rmtree(stage / "new", ignore_errors=True)  # the lock last
        shutil.rmtree(stage, ignore_errors=True)
    if lock >= 0:
        os.close(lock)


def _make(folder: Path, asked: Path) -> list[Path]:
    """Make a folder and its parents, and return those that were missing."""
    made: list[Path] = []
    try:
        for part in [*reversed(folder.parents), folder]:
            if not part.exists():
                part.mkdir()
                made.append(part)
        if not folder.is_dir() or (asked.exists() and not asked.is_dir()):
            msg = f"{asked} is a file; `out` must be a folder."
            raise OutputError(msg)
    except OSError as error:
        for part in reversed(made):
            part.rmdir()
        reason = (error.strerror or str(error)).lower()
        msg = f"{asked} cannot be made: {reason}. Choose another `out`."
        raise OutputError(msg) from error
    return made


def _lock(file: int) -> bool | None:
    """Lock an open file; return whether it was free, or None where locks do not work."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def clear_leftovers(folder: Path) -> None:
    """Remove temporary folders that killed writers left behind; those of living ones stay.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     clear_leftovers(Path(base))
    """
    with contextlib.suppress(OSError):
        for path in [p for p in folder.iterdir() if _STAGE.fullmatch(p.name)]:
            with contextlib.suppress(OSError):
                _clear(path)


def _clear(path: Path) -> None:
    about = path.lstat()
    own = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
    if not stat.S_ISDIR(about.st_mode) or not own:
        return
    is_old = time.time() - about.st_mtime > _FORGOTTEN
    try:
        file = os.open(path / _LOCK, os.O_RDWR)
    except OSError:
        if is_old:
            shutil.rmtree(path, ignore_errors=True)
        return
    try:
        free = _lock(file)
        if free or (free is None and is_old):
            shutil.rmtree(path / "new", ignore_errors=True)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(file)


def _free_name(path: Path, written: Iterable[str]) -> Path:
    """Return a name beside a file that neither another file nor a new one has."""
    taken = {*written, *(file.name for file in path.parent.iterdir())}
    number = 1
    while f"{path.stem}-{number}{path.suffix}" in taken:
        number += 1
    return path.with_name(f"{path.stem}-{number}{path.suffix}")


def _use_umask(new: Path) -> None:
    """Give new files the usual permissions: `mkdtemp` closed the folder to others."""
    mask = os.umask(0)
    os.umask(mask)
    new.chmod(0o777 & ~mask)
    for file in new.iterdir():
        file.chmod(0o666 & ~mask)


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
        path = folder / name
        if path.is_dir():
            msg = f"{path} is a folder, and a file of that name is to be written; move it."
            raise OutputError(msg)
        _refuse_input(path, inputs)
        if not overwrite and os.path.lexists(path):
            msg = f"{folder} holds {name} already; {_ADVICE}"
            raise OutputError(msg)
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
        msg = f"{path} is a folder; give the name of a file."
        raise OutputError(msg)
    _refuse_input(path, inputs)
    if not overwrite and os.path.lexists(path):
        msg = f"{path} exists already; {_ADVICE}"
        raise OutputError(msg)


def _refuse_input(path: Path, inputs: Iterable[Path]) -> None:
    for given in inputs:
        with contextlib.suppress(OSError):
            if given.samefile(path):
                same = "" if path == given else f" is {given}, which"
                msg = f"{path}{same} is read and cannot be written; choose another `out`."
                raise OutputError(msg)


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn a failure to write here into one sentence; failures to read other files pass."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None and _PREFIX not in os.fsdecode(error.filename):
            raise
        reason = (error.strerror or str(error)).lower()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = "Free some space, or choose" if full else "Choose"
        msg = f"{folder} cannot be written to: {reason}. {advice} another `out`."
        raise OutputError(msg) from error
