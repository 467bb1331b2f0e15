"""How much memory this process may use: the one limit that everything is held against."""

from __future__ import annotations

import os
from pathlib import Path

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
