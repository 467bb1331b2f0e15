"""Finished units on disk: one line each, appended and flushed, so that a kill loses none.

The first line says what the run is. A line that a kill cut short is ignored, and dropped when the
run goes on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from flipcost._version import __version__
from flipcost.exceptions import ExperimentError

if TYPE_CHECKING:
    from flipcost.experiments.tables._results import Row


FILE = "units.jsonl"
# Raised whenever the same seed would give other values.
_FORMAT = 1


class UnitStore:
    """The finished units of a run in a folder.

    Parameters
    ----------
    folder : Path
        Where the file of units is or will be.
    seed : int
        The run's seed.
    resume : bool
        Whether to go on with the units that are there. Without it they are thrown away.
    """

    def __init__(self, folder: Path, seed: int, *, resume: bool = False) -> None:
        self._path = Path(folder) / FILE
        self._head = {"format": _FORMAT, "seed": int(seed), "version": __version__}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.records = self._read() if resume and self._path.exists() else {}
        self._rewrite()
        self._file = self._path.open("a", encoding="utf-8")

    def _read(self) -> dict[str, list[Row]]:
        lines = self._path.read_text(encoding="utf-8", errors="replace").split("\n")
        whole = [line for line in map(_parse, lines) if line is not None]
        if not whole or "format" not in whole[0]:
            return {}
        if whole[0] != self._head:
            theirs = {key: whole[0].get(key) for key in self._head}
            msg = (
                f"{self._path} must come from the same seed and version to be resumed; it has "
                f"{theirs}, this run {self._head}. Choose another folder, or leave `resume` out."
            )
            raise ExperimentError(msg)
        return {line["unit"]: line["records"] for line in whole[1:]}

    def _rewrite(self) -> None:
        """Write what is known aside and rename it, so that no half line stays in the middle."""
        aside = self._path.with_suffix(".part")
        with aside.open("w", encoding="utf-8") as file:
            file.write(json.dumps(self._head) + "\n")
            for key, records in self.records.items():
                file.write(_line(key, records))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._path)

    def add(self, key: str, records: list[Row]) -> None:
        """Keep the records of a finished unit, for good."""
        self.records[key] = records
        self._file.write(_line(key, records))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _line(key: str, records: list[Row]) -> str:
    return json.dumps({"unit": key, "records": records}, separators=(",", ":")) + "\n"


def _parse(line: str) -> Row | None:
    """Return a line's content, or None for one that was cut short."""
    try:
        content = json.loads(line)
    except json.JSONDecodeError:
        return None
    known = isinstance(content, dict) and ("format" in content or "records" in content)
    return content if known else None
