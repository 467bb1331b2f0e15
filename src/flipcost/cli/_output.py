"""Files written aside and renamed, so that nothing half-written is left behind."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flipcost.cli._interrupts import stop_if_interrupted
from flipcost.exceptions import UserError


@contextlib.contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """Yield a place to write files that are moved to the folder if all goes well.

    Whatever goes wrong, the folder is as it was before.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with staged_folder(Path(base) / "out") as place:
    ...         _ = (place / "a.txt").write_text("done")
    ...     print((Path(base) / "out" / "a.txt").read_text())
    done
    """
    made = _make(folder)
    try:
        with _explained(folder):
            place = Path(tempfile.mkdtemp(prefix=".flipcost-", dir=folder))
    except BaseException:
        _unmake(made)
        raise
    try:
        with _explained(folder):
            yield place
            stop_if_interrupted()
            for file in sorted(place.iterdir()):
                # mkdtemp keeps others out; what is moved out of it is as open as any new file.
                file.chmod(0o666 & ~_umask())
                file.replace(folder / file.name)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        _unmake(made)
        raise
    shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield a file to write that is renamed to the path if all goes well.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with staged_file(Path(base) / "a.txt") as place:
    ...         _ = place.write_text("done")
    ...     print((Path(base) / "a.txt").read_text())
    done
    """
    if path.is_dir():
        msg = f"{path} is a folder; give the name of a file."
        raise UserError(msg)
    with staged_folder(path.parent) as place:
        yield place / path.name


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = (error.strerror or str(error)).lower()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = "Free some space, or choose" if full else "Choose"
        msg = f"{folder} cannot be written to: {reason}. {advice} another --out."
        raise UserError(msg) from error


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it, and return which were made."""
    made: list[Path] = []
    try:
        for part in [*reversed(folder.absolute().parents), folder.absolute()]:
            if not part.exists():
                part.mkdir()
                made.append(part)
        if not folder.is_dir():
            msg = f"{folder} is a file; --out must be a folder."
            raise UserError(msg)
    except OSError as error:
        _unmake(made)
        reason = (error.strerror or str(error)).lower()
        msg = f"{folder} cannot be made: {reason}. Choose another --out."
        raise UserError(msg) from error
    return made


def _unmake(made: list[Path]) -> None:
    for part in reversed(made):
        with contextlib.suppress(OSError):
            part.rmdir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
