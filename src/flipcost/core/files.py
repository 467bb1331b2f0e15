"""Reading whole files of strangers: regular files only, opened once, of a bounded size."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_regular(path: str | Path, most: int) -> bytes:
    """Return the bytes of a file of at most so many bytes.

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
    with os.fdopen(handle, "rb") as stream:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            msg = "is no regular file"
            raise ValueError(msg)
        if about.st_size > most:
            msg = f"is larger than such files are ({most >> 20:,} MB)"
            raise ValueError(msg)
        data = stream.read(about.st_size + 1)
    if len(data) != about.st_size:
        msg = "changes while it is read"
        raise ValueError(msg)
    return data
