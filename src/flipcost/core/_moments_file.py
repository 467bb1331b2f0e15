"""Reading and writing class moments: a line that says what they are, and their numbers.

The line names the format, its version, the number of features and a checksum; counts, weights,
means and scatters follow as they are in memory, eight bytes each, the lowest first.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.files import read_regular

FORMAT, VERSION = "flipcost.ClassMoments", 2
# Moments of 10,000 features take 1.6 GB.
MOST_FEATURES = 10_000
_LINE = re.compile(rb"flipcost\.ClassMoments (\d{1,9}) (\d{1,9}) ([0-9a-f]{64})\n")
_LONGEST_LINE = 128


def _shapes(d: int) -> dict[str, tuple[int, ...]]:
    return {"n_rows": (2,), "weight": (2,), "mean": (2, d), "scatter": (2, d, d)}


def _dtype(name: str) -> str:
    return "<i8" if name == "n_rows" else "<f8"


def write(path: str | Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write the four arrays aside, then rename the file into place."""
    d = arrays["mean"].shape[1]
    if d > MOST_FEATURES:
        msg = f"Moments of at most {MOST_FEATURES:,} features can be saved; got {d:,}."
        raise ValueError(msg)
    parts = [np.ascontiguousarray(arrays[name], dtype=_dtype(name)) for name in _shapes(d)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.data)
    target = Path(path)
    # Not a file of `tempfile`, which only its owner may read.
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with aside.open("xb") as stream:
            stream.write(f"{FORMAT} {VERSION} {d} {digest.hexdigest()}\n".encode())
            for part in parts:
                stream.write(part.data)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read(path: str | Path) -> dict[str, NDArray[Any]]:
    """Read the four arrays; refuse a file that is damaged, foreign or of a later version."""
    try:
        data = read_regular(path, _size(MOST_FEATURES) + _LONGEST_LINE)
    except ValueError as error:
        raise ValueError(refusal(path, str(error))) from error
    line = _LINE.match(data[:_LONGEST_LINE])
    if line is None:
        old = data[:2] == b"PK"  # an archive, as version 0.1 wrote
        reason = "was written by flipcost 0.1" if old else "does not hold class moments"
        raise ValueError(refusal(path, reason))
    version, d, checksum = int(line[1]), int(line[2]), line[3].decode()
    if version != VERSION:
        reason = f"is of format version {version}; this flipcost reads version {VERSION}"
        raise ValueError(refusal(path, reason))
    content = memoryview(data)[line.end() :]
    if len(content) != _size(d) or hashlib.sha256(content).hexdigest() != checksum:
        raise ValueError(refusal(path, "is damaged: its checksum does not match its content"))
    found, start = {}, 0
    for name, shape in _shapes(d).items():
        size = 8 * int(np.prod(shape))
        values = np.frombuffer(content[start : start + size], _dtype(name)).reshape(shape)
        found[name] = values.astype(values.dtype.newbyteorder("="))
        start += size
    return found


def _size(d: int) -> int:
    return 8 * sum(int(np.prod(shape)) for shape in _shapes(d).values())


def refusal(path: str | Path, reason: str) -> str:
    """Return the words for a file that is not taken."""
    return (
        f"Class moments must be read from a file that `save` wrote: {os.fspath(path)!r} {reason}. "
        "Gather the moments again, or read the file with the flipcost that wrote it."
    )
