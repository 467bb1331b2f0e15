"""Write results aside, then rename them into place, so that none is ever half written."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from flipcost.exceptions import OutputError

# A temporary folder is named after the machine and the process that writes to it.
_PREFIX = ".flipcost-"
_STAGE = re.compile(rf"{re.escape(_PREFIX + platform.node())}-(\d+)-\w{{8}}")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def staged_folder(
    folder: Path,
    names: Iterable[str] = (),
    *,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    manifest: str | None = None,
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
        if not real.exists():
            real.parent.mkdir(parents=True, exist_ok=True)
            new.rename(real)
            return
        if manifest in written:
            (real / str(manifest)).unlink(missing_ok=True)
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
