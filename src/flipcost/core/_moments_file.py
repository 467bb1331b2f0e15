"""Reading and writing class moments: a versioned ``npz`` archive with a checksum, no pickle."""

from __future__ import annotations

import hashlib
import os
import secrets
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.archive import Archive
from flipcost.exceptions import UnreadableError

FORMAT = "flipcost.ClassMoments"
VERSION = 1
# What numpy and zipfile raise on files that are cut, altered or something else altogether; every
# single flipped bit and every cut of a small file were tried.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
)
# Arrays are not compressed, so that a file unpacks to about its own size.
_MOST_TIMES = 2
FIELDS = ("n_rows", "weight", "mean", "scatter")


def write(path: str | Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write the four arrays aside, then rename the file into place."""
    target = Path(path)
    # Not a file of `tempfile`, which only its owner may read.
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with aside.open("xb") as stream:
            np.savez(
                stream,
                format=np.array(FORMAT),
                version=np.array(VERSION),
                checksum=np.array(_checksum(arrays)),
                allow_pickle=False,
                **{name: arrays[name] for name in FIELDS},
            )
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read(path: str | Path) -> dict[str, NDArray[Any]]:
    """Read the four arrays; refuse a file that is damaged, foreign or of a later version."""
    data = Path(path).read_bytes()  # a file that is missing or locked is not a damaged one
    try:
        archive = Archive(data, _MOST_TIMES)
        content = {name.removesuffix(".npy"): archive.array(name) for name in archive.names}
    except UnreadableError as error:
        raise ValueError(refusal(path, f"is damaged or was changed: {error}")) from error
    except _UNREADABLE as error:
        raise ValueError(refusal(path, "is damaged or not an npz archive")) from error
    if str(content.get("format")) != FORMAT:
        raise ValueError(refusal(path, "does not hold class moments"))
    version = str(content.get("version"))
    if version != str(VERSION):
        reason = f"is of format version {version}; this flipcost reads version {VERSION}"
        raise ValueError(refusal(path, reason))
    arrays = {name: content[name] for name in FIELDS if name in content}
    if len(arrays) < len(FIELDS) or str(content.get("checksum")) != _checksum(arrays):
        raise ValueError(refusal(path, "is damaged: its checksum does not match its content"))
    return arrays


def refusal(path: str | Path, reason: str) -> str:
    """Return the words for a file that is not taken."""
    return (
        f"Class moments must be read from a file that `save` wrote: {os.fspath(path)!r} {reason}. "
        "Gather the moments again, or read the file with the flipcost that wrote it."
    )


def _checksum(arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in FIELDS:
        values = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.data)
    return digest.hexdigest()
