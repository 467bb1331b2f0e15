"""Files that people fill in, which no later run may replace."""

from __future__ import annotations

import csv
from fnmatch import fnmatch
from pathlib import Path

_FILES, _COLUMN = "recheck*.csv", "checked"


def is_filled_in(path: Path) -> bool:
    r"""Tell whether a file holds answers that someone wrote into it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "recheck.csv")
    ...     _ = path.write_text("row,checked\n7,\n8,yes\n")
    ...     is_filled_in(path)
    True
    """
    if not fnmatch(path.name, _FILES):
        return False
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if _COLUMN not in (rows.fieldnames or ()):
                return True
            return any((row[_COLUMN] or "").strip() for row in rows)
    except (OSError, UnicodeDecodeError, csv.Error):  # not as it was written
        return True
