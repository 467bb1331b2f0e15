"""What the system gives a process: memory, packages, and whole files that may come from anyone."""

from __future__ import annotations

import importlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

# Where a container's limit is found, in the second version of control groups and in the first.
_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def usable_memory() -> float:
    """Return the bytes of memory that this process may use, as far as the system says.

    That is the memory of the machine, or the limit of the process's control group (a container has
    one) if that is smaller; infinity on systems that do not say.

    Returns
    -------
    float

    Examples
    --------
    >>> usable_memory() > 0
    True
    """
    if not hasattr(os, "sysconf"):  # not a POSIX system: let the caller find out
        return float("inf")
    found = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    for limit in _GROUP_LIMITS:
        try:
            found = min(found, float(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such limit, or "max"
            continue
    return found


def read_regular(path: str | Path, most: int) -> bytes:
    """Return the bytes of a file of at most this many bytes.

    What it is, and how large, is asked of the open file: it cannot be exchanged after that, and a
    pipe or a device is not read, nor waited for.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is no regular file, or larger.
    """
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):  # what the system has of them
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags)
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)  # which `fdopen` would leave open of a folder
        msg = "is no regular file"
        raise ValueError(msg)
    with os.fdopen(handle, "rb") as stream:
        if about.st_size > most:
            msg = f"is larger than such files are ({most >> 20:,} MB)"
            raise ValueError(msg)
        data = stream.read(about.st_size + 1)
    if len(data) != about.st_size:
        msg = "changes while it is read"
        raise ValueError(msg)
    return data


@contextmanager
def write_aside(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a file to write that then takes the path's name: a crash leaves the old one or none."""
    target = Path(path)
    # Not a file of `tempfile`, which only its owner may read.
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with aside.open("xb") as stream:
            yield stream
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def require(name: str) -> Any:
    """Import a module of an optional package, or say how to install it.

    Examples
    --------
    >>> require("numpy").__name__
    'numpy'
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        msg = f"This needs the package {package}, which is not installed. Install {package}."
        raise ImportError(msg) from error
