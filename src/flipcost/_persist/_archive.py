"""The bytes of a model file, and what they may unpack to."""

from __future__ import annotations

import stat
from pathlib import Path

from flipcost.core.archive import Archive
from flipcost.exceptions import ModelFileError

# Models unpack to some 2 to 15 times their size (forests and boosting were measured); small
# ones may hold a few large arrays of equal numbers.
_MOST_TIMES, _ALWAYS = 25, 16 * 2**20
_MOST_BYTES = 8 * 2**30


def open_archive(data: bytes) -> Archive:
    """Return the parts of a model file."""
    return Archive(data, _MOST_TIMES, _ALWAYS)


def read_bytes(path: Path) -> bytes:
    """Read a file once; all checks and all loading are of these bytes."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no ordinary file"
            msg = f"{path} is {kind}; give a model file."
            raise ModelFileError(msg)
        if found.st_size > _MOST_BYTES:
            msg = f"{path} has {found.st_size:,} bytes, more than any model; give a model file."
            raise ModelFileError(msg)
        return path.read_bytes()
    except FileNotFoundError as error:
        msg = f"{path} does not exist; check its name."
        raise ModelFileError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}); check its name and who may read it."
        raise ModelFileError(msg) from error
