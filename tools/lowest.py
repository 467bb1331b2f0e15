"""Print the lowest versions that ``pyproject.toml`` allows, as constraints for pip.

Usage::

    python tools/lowest.py > constraints.txt        # of what flipcost and its tests need
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9.]+)$")


def lowest(project: dict[str, list[str] | dict[str, list[str]]], extras: list[str]) -> list[str]:
    """Return one line for each requirement of the project and of its extras.

    Requirements have a lower bound each; those of other extras of the project are followed.
    """
    groups = project["optional-dependencies"]
    lines: list[str] = []
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += groups[extra]  # type: ignore[call-overload]
    for requirement in wanted:
        own = re.fullmatch(rf"{project['name']}\[(.*)\]", requirement)
        if own:
            lines += lowest(project | {"dependencies": []}, own[1].split(","))
            continue
        found = _REQUIREMENT.fullmatch(requirement)
        if found is None:
            msg = f"{requirement!r} must have the form name>=version, with or without extras."
            raise ValueError(msg)
        lines.append(f"{found[1]}=={found[2]}")
    return sorted(set(lines))


def main() -> int:
    """Print the constraints."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print("\n".join(lowest(project, ["test"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
