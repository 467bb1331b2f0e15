"""Put the fragments of ``changes/`` into ``CHANGELOG.md``.

Each change that a user can see comes with a file ``changes/<id>.<type>.md``: a sentence or two.
Separate files never conflict when branches meet. See ``changes/README.md``.

Usage::

    python tools/changelog.py --check               # are all fragments well named and not empty?
    python tools/changelog.py                       # move them under the first version
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPES = {
    "api": "Changed names and meanings",
    "enh": "New",
    "fix": "Mended",
    "perf": "Faster",
    "doc": "Documentation",
}
_NAME = re.compile(rf"[a-z0-9_-]+\.({'|'.join(TYPES)})\.md")
_VERSION = re.compile(r"^## .*\n", re.MULTILINE)
_WIDTH = 100


def read_fragments(folder: Path) -> dict[str, list[str]]:
    """Return the sentences of each type, in the order of the files' names."""
    found: dict[str, list[str]] = {kind: [] for kind in TYPES}
    for path in fragment_files(folder):
        name = _NAME.fullmatch(path.name)
        text = " ".join(path.read_text(encoding="utf-8").split())
        if name is None or not text:
            msg = f"{path.name} must be named <id>.<type>.md, with {', '.join(TYPES)}, and say it."
            raise ValueError(msg)
        found[name[1]].append(text)
    return found


def fragment_files(folder: Path) -> list[Path]:
    """Return the fragments of a folder."""
    return sorted(path for path in folder.glob("*.md") if path.name != "README.md")


def assemble(changelog: str, fragments: dict[str, list[str]]) -> str:
    """Return the text of the changelog with fragments added to the end of its first version."""
    blocks = []
    for kind, title in TYPES.items():
        lines = [
            textwrap.fill(text, _WIDTH, initial_indent="- ", subsequent_indent="  ")
            for text in fragments[kind]
        ]
        if lines:
            blocks.append("\n".join([f"### {title}\n", *lines]))
    heads = list(_VERSION.finditer(changelog))
    if not heads:
        msg = "The changelog must have a line `## version` to put changes under."
        raise ValueError(msg)
    end = heads[1].start() if len(heads) > 1 else len(changelog)
    parts = [changelog[:end].rstrip(), *blocks, changelog[end:].strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def main(args: list[str] | None = None, root: Path = ROOT) -> int:
    """Check the fragments, or move them to the changelog."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="read only")
    options = parser.parse_args(args)
    fragments = read_fragments(root / "changes")
    number = sum(map(len, fragments.values()))
    if not options.check and number:
        path = root / "CHANGELOG.md"
        path.write_text(assemble(path.read_text(encoding="utf-8"), fragments), encoding="utf-8")
        for file in fragment_files(root / "changes"):
            file.unlink()
    print(f"{number} fragments {'are in order' if options.check else 'moved to CHANGELOG.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
