"""Reading the bundled files, with their integrity checked on every load."""

from __future__ import annotations

import csv
import hashlib
import json
from importlib.resources import files
from typing import Any


def read_index() -> dict[str, Any]:
    """Return the index of bundled files: ``tables`` by name, and ``paper_tables``."""
    content = (files("flipcost.datasets") / "data" / "index.json").read_bytes()
    index: dict[str, Any] = json.loads(content)
    return index


def read_table(entry: dict[str, Any]) -> list[dict[str, str]]:
    """Return the rows of a bundled CSV file after checking it against its index entry."""
    content = (files("flipcost.datasets") / "data" / entry["file"]).read_bytes()
    check_content(content, entry["file"], entry["sha256"])
    return list(csv.DictReader(content.decode("ascii").splitlines()))


def check_content(content: bytes, filename: str, expected: str) -> None:
    """Raise unless the bytes are those that were bundled."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        msg = (
            f"The bundled file {filename} must have SHA-256 {expected}; got {found}. "
            "The file was changed or is damaged: reinstall flipcost."
        )
        raise RuntimeError(msg)


def check_counts(name: str, found: dict[str, int], expected: dict[str, int]) -> None:
    """Raise unless a loaded set has the numbers of rows and classes of its index entry."""
    if found != expected:
        msg = (
            f"The data set {name} must have {expected}; got {found}. "
            "The file and the index do not belong together: reinstall flipcost."
        )
        raise RuntimeError(msg)
