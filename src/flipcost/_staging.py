"""Results written aside and put in their place together: all of them, or none.

What is written waits in a folder of its own, ``.flipcost-...``, beside the place that it is for.
Its writer holds a lock there for as long as it lives; what a killed one leaves behind has no
holder, and the next writer clears it away.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any

from flipcost.exceptions import OutputError

fcntl: Any
try:
    import fcntl
except ImportError:  # not on this system: leftovers go by their age alone
    fcntl = None

_PREFIX = ".flipcost-"
_STAGE = re.compile(r"\.flipcost-\w{8}")
# What a stage holds: the lock of its writer, the names that are being put in place, new files, and
# those that they replace.
_LOCK, _PLAN, _NEW, _OLD = "lock", "plan.json", "new", "old"
# A leftover that shows no sign of its writer is cleared away when it is so many seconds old.
_FORGOTTEN = 3600.0
# In a folder of more files than these, results are moved one by one.
_MOST_LINKS = 1000
_ADVICE = "give `overwrite=True` to replace it, or another `out`."


@contextlib.contextmanager
def staged_folder(
    folder: Path,
    names: Iterable[str] = (),
    *,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    is_kept: Callable[[Path], bool] | None = None,
    guard: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
) -> Iterator[Path]:
    """Yield a place to write files that appear in the folder together if all goes well.

    Whatever goes wrong, the folder is as it was before. Files in it that are not written anew stay.

    Parameters
    ----------
    folder : Path
        Where the files are to be; made, with those above it, if it is not there.
    names : iterable of str
        The files that will be written, as far as is known, so that those that are there already are
        refused before the work rather than after.
    overwrite : bool, default=False
        Whether files of the same names may be replaced.
    inputs : iterable of Path
        Files and folders that are read, and never replaced.
    is_kept : callable, optional
        Tells of a file that would be replaced whether it is to stay, under another name.
    guard : callable, optional
        Makes a context in which the files are put in their place.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with staged_folder(Path(base) / "out") as place:
    ...         _ = (place / "a.txt").write_text("done")
    ...     print((Path(base) / "out" / "a.txt").read_text())
    done
    """
    asked, inputs = folder, list(inputs)
    folder = Path(os.path.abspath(folder.resolve() if folder.is_symlink() else folder))  # noqa: PTH100 - keeps links above
    check_folder(asked, names, overwrite=overwrite, inputs=inputs)
    made = _make(folder.parent, asked)
    try:
        with _explained(asked):
            stage = _Stage.beside(folder)
    except BaseException:
        _unmake(made)
        raise
    try:
        with _explained(asked):
            yield stage.new
            written = [file.name for file in stage.new.iterdir()]
            with guard():
                check_folder(asked, written, overwrite=overwrite, inputs=inputs)
                _open_to_all(stage.new)
                stage.put_in(folder, is_kept)
    except BaseException:
        stage.remove()
        _unmake(made)
        raise
    stage.remove()


@contextlib.contextmanager
def staged_file(
    path: Path,
    *,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    guard: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
) -> Iterator[Path]:
    """Yield a file to write that is renamed to the path if all goes well.

    Parameters
    ----------
    path : Path
        Where the file is to be.
    overwrite, inputs, guard
        As in `staged_folder`.

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
    made = _make(path.absolute().parent, path.parent)
    try:
        with _explained(path.parent):
            stage = _Stage.within(path.absolute().parent)
    except BaseException:
        _unmake(made)
        raise
    try:
        with _explained(path.parent):
            yield stage.new / path.name
            with guard():
                check_file(path, overwrite=overwrite, inputs=inputs)
                _open_to_all(stage.new)
                (stage.new / path.name).replace(path)
    except BaseException:
        stage.remove()
        _unmake(made)
        raise
    stage.remove()


class _Stage:
    """A folder of its own where results wait, held by its writer."""

    def __init__(self, parent: Path) -> None:
        clear_leftovers(parent)
        self.path, self._lock = _locked_folder(parent)
        self.new = self.path / _NEW
        try:
            self.new.mkdir()
        except BaseException:
            self.remove()
            raise

    @classmethod
    def beside(cls, folder: Path) -> _Stage:
        """Return a stage from which a folder can be swapped whole, if possible; else within it."""
        if folder.is_dir():
            clear_leftovers(folder)
            if not _can_be_swapped(folder):
                return cls(folder)
        try:
            return cls(folder.parent)
        except OSError:
            if not folder.is_dir():
                raise
            return cls(folder)

    @classmethod
    def within(cls, folder: Path) -> _Stage:
        """Return a stage in a folder."""
        return cls(folder)

    def put_in(self, folder: Path, is_kept: Callable[[Path], bool] | None) -> None:
        """Put the new files in their folder, together."""
        if not os.path.lexists(folder):
            self.new.rename(folder)
            return
        kept = _free_names(self.new, folder, is_kept)
        if self.path.parent != folder and self._swap(folder, kept):
            return
        self._move_each(folder, kept)

    def _swap(self, folder: Path, kept: dict[str, str]) -> bool:
        """Exchange the folder for the new one, with links to what stays; tell whether it went."""
        linked: list[Path] = []
        names = {file.name for file in self.new.iterdir()}
        try:
            for file in folder.iterdir():
                name = kept.get(file.name, file.name)
                if name not in names:
                    os.link(file, self.new / name, follow_symlinks=False)
                    linked.append(self.new / name)
            self.new.chmod(stat.S_IMODE(folder.stat().st_mode))
            _exchange(self.new, folder)
        except OSError:
            for link in linked:
                link.unlink()
            return False
        self._bring_late_files(folder, names, kept)
        return True

    def _bring_late_files(self, folder: Path, names: set[str], kept: dict[str, str]) -> None:
        """Move what somebody saved in the old folder while it was being exchanged."""
        for file in self.new.iterdir():
            name = kept.get(file.name, file.name)
            here = folder / name
            if name not in names and not (here.exists() and here.samefile(file)):
                file.replace(here)

    def _move_each(self, folder: Path, kept: dict[str, str]) -> None:
        """Move files one by one; what is half done is undone, by the next writer if need be."""
        new = sorted(file.name for file in self.new.iterdir())
        (self.path / _OLD).mkdir()
        place = "." if self.path.parent == folder else folder.name
        (self.path / _PLAN).write_text(json.dumps([place, new]))
        for name, other in kept.items():
            shutil.copy2(folder / name, folder / other, follow_symlinks=False)
        try:
            for name in new:
                if os.path.lexists(folder / name):
                    (folder / name).rename(self.path / _OLD / name)
            for name in new:
                (self.new / name).rename(folder / name)
        except BaseException:
            _undo(self.path)
            raise

    def remove(self) -> None:
        """Leave nothing behind."""
        _remove(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def clear_leftovers(folder: Path) -> None:
    """Remove what killed writers left in a folder, and undo what they had half done.

    Stages whose writers are alive stay, as does whatever else has such a name.

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
        with contextlib.suppress(OSError):
            path.rmdir()  # nothing in it
        if is_old:
            _remove(path)
        return
    try:
        is_free = _lock(file)
        if is_free or (is_free is None and is_old):
            _undo(path)
            _remove(path)
    finally:
        os.close(file)


def _remove(stage: Path) -> None:
    """Remove a stage, its lock last: what is left of it if that is cut short has no holder."""
    (stage / _PLAN).unlink(missing_ok=True)
    for name in (_NEW, _OLD):
        shutil.rmtree(stage / name, ignore_errors=True)
    shutil.rmtree(stage, ignore_errors=True)


def _locked_folder(parent: Path) -> tuple[Path, int]:
    """Make a folder and a lock in it; -1 for the lock where there are none."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        try:
            file = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # a neighbour took the empty folder for a leftover
            continue
        except BaseException:
            path.rmdir()
            raise
        if _lock(file):
            return path, file
        os.close(file)
        return path, -1


def _lock(file: int) -> bool | None:
    """Take a lock on an open file; tell whether it was free, or None if there are no locks here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _undo(stage: Path) -> None:
    """Put files back that were being replaced one by one, unless all were."""
    try:
        place, names = json.loads((stage / _PLAN).read_text())
    except (OSError, ValueError):
        return
    plain = [name for name in [place, *names] if name == "." or Path(name).name == name]
    left = {name for name in names if os.path.lexists(stage / _NEW / name)}
    if not left or len(plain) != 1 + len(names):
        return
    # All old files had left before the first new one came, so that this can be begun again.
    folder = stage.parent / place
    for name in names:
        if name not in left and os.path.lexists(folder / name):
            (folder / name).rename(stage / _NEW / name)
    for name in names:
        if os.path.lexists(stage / _OLD / name):
            (stage / _OLD / name).rename(folder / name)


def _can_be_swapped(folder: Path) -> bool:
    """Tell whether another folder may take the place of this one without anybody noticing."""
    if not sys.platform.startswith("linux") or os.path.ismount(folder):
        return False
    about = folder.stat()
    if not os.access(folder, os.W_OK):
        return False
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_ISGID | stat.S_ISVTX):
        return False
    if about.st_dev != folder.parent.stat().st_dev or _has_attributes(folder):
        return False
    try:
        here = Path.cwd()
    except OSError:
        return False
    real = folder.resolve()
    if real == here or real in here.parents:
        return False
    with os.scandir(folder) as entries:
        inside = list(islice(entries, _MOST_LINKS + 1))
    return len(inside) <= _MOST_LINKS and not any(e.is_dir(follow_symlinks=False) for e in inside)


def _has_attributes(folder: Path) -> bool:
    try:
        return bool(os.listxattr(folder))
    except OSError:
        return False


def _exchange(one: Path, other: Path) -> None:
    """Exchange two folders in one step, or raise OSError."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(one), here, os.fsencode(other), exchange) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _free_names(new: Path, folder: Path, is_kept: Callable[[Path], bool] | None) -> dict[str, str]:
    """Return the names under which files stay that would be replaced but are to be kept."""
    taken = {file.name for file in [*new.iterdir(), *folder.iterdir()]}
    found: dict[str, str] = {}
    for file in sorted(new.iterdir()):
        there = folder / file.name
        if is_kept is None or not os.path.lexists(there) or not is_kept(there):
            continue
        free = (f"{file.stem}-{number}{file.suffix}" for number in range(1, len(taken) + 2))
        found[file.name] = next(name for name in free if name not in taken)
        taken.add(found[file.name])
    return found


def check_folder(
    folder: Path, names: Iterable[str], *, overwrite: bool = False, inputs: Iterable[Path] = ()
) -> None:
    """Refuse to write files where they would replace others, or what is read.

    Parameters
    ----------
    folder : Path
        Where the files are to be.
    names, overwrite, inputs
        As in `staged_folder`.

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
    """Refuse to write a file that is there already, or that is read.

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
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError) or not _is_ours(error):
            raise
        reason = (error.strerror or str(error)).lower()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = "Free some space, or choose" if full else "Choose"
        msg = f"{folder} cannot be written to: {reason}. {advice} another `out`."
        raise OutputError(msg) from error


def _is_ours(error: OSError) -> bool:
    """Tell whether it was writing here that failed, and not the reading of some other file."""
    return error.filename is None or _PREFIX in os.fsdecode(error.filename)


def _make(folder: Path, asked: Path) -> list[Path]:
    """Make a folder and those above it, and return which were made."""
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
        _unmake(made)
        reason = (error.strerror or str(error)).lower()
        msg = f"{asked} cannot be made: {reason}. Choose another `out`."
        raise OutputError(msg) from error
    return made


def _unmake(made: list[Path]) -> None:
    for part in reversed(made):
        with contextlib.suppress(OSError):
            part.rmdir()


def _open_to_all(new: Path) -> None:
    """Make files as open as any new one is: the folder where they waited was closed to others."""
    mask = os.umask(0)
    os.umask(mask)
    new.chmod(0o777 & ~mask)
    for file in new.iterdir():
        file.chmod(0o666 & ~mask)
