"""Reading and writing class moments: a versioned ``npz`` archive with a checksum, no pickle."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "flipcost.ClassMoments"
VERSION = 1
# What numpy and zipfile raise on files that are cut, altered or something else altogether.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, AttributeError)
FIELDS = ("n_rows", "weight", "mean", "scatter")


def write(path: str | Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write the four arrays aside, then rename the file into place."""
    target = Path(path)
    handle, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(
                stream,
                format=np.array(FORMAT),
                version=np.array(VERSION),
                checksum=np.array(_checksum(arrays)),
                allow_pickle=False,
                **{name: arrays[name] for name in FIELDS},
            )
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def read(path: str | Path) -> dict[str, NDArray[Any]]:
    """Read the four arrays; refuse a file that is damaged, foreign or of a later version."""
    try:
        with np.load(Path(path), allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        ValueError,
        AttributeError,
    ) as error:
        raise ValueError(_refusal(path, "is damaged or not an npz archive")) from error
    if str(content.get("format")) != FORMAT:
        raise ValueError(_refusal(path, "does not hold class moments"))
    version = int(content["version"])
    if version > VERSION:
        reason = f"is of format version {version}; this flipcost reads up to {VERSION}: upgrade it"
        raise ValueError(_refusal(path, reason))
    arrays = {name: content[name] for name in FIELDS if name in content}
    if len(arrays) < len(FIELDS) or str(content.get("checksum")) != _checksum(arrays):
        raise ValueError(_refusal(path, "is damaged: its checksum does not match its content"))
    return arrays


def _refusal(path: str | Path, reason: str) -> str:
    return f"Class moments cannot be read: {os.fspath(path)!r} {reason}."


def _checksum(arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in FIELDS:
        values = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.data)
    return digest.hexdigest()
