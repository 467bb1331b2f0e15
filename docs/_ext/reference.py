"""The pages of the reference, written from what each package offers: none can be forgotten."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# The order of the pages, which is the order in which people need them.
PACKAGES = {
    "estimators": "Estimators",
    "metrics": "Metrics",
    "noise": "Noise rates",
    "plot": "Pictures",
    "audit": "Audits",
    "recheck": "Rows to check next",
    "export": "Models elsewhere",
    "scale": "More rows than memory",
    "datasets": "Data",
    "theory": "Theory",
    "exceptions": "Errors and warnings",
}
_FIRST = "FlipCostClassifier"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _first_lines(module: object) -> str:
    """Return what a module says of itself, up to its first heading."""
    words = inspect.getdoc(module) or ""
    return re.split(r"\n\n[^\n]+\n[-=]{3,}\n", words)[0]


def _table(names: list[str]) -> str:
    listed = "\n".join(f"   {name}" for name in names)
    return f"```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n\n{listed}\n```\n"


def _package(name: str, title: str) -> str:
    module = importlib.import_module(f"flipcost.{name}")
    found = getattr(module, "__all__", None) or [
        key
        for key, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    shown = sorted((key for key in found if not key.isupper()), key=lambda key: key != _FIRST)
    names = [f"flipcost.{name}.{key}" for key in shown]
    return f"# {title}\n\n```{{eval-rst}}\n{_first_lines(module)}\n```\n\n{_table(names)}"


def _core(folder: Path) -> None:
    """Write a page for each module of the core, and their index by the groups of its docstring."""
    core = importlib.import_module("flipcost.core")
    public = {m.name for m in pkgutil.iter_modules(core.__path__) if not m.name.startswith("_")}
    index = ["# Core", "", "The mathematics: pure functions of arrays; numpy and scipy only.", ""]
    groups = re.findall(
        r"^(\w[^\n]*)\n-{3,}\n((?:- `[^\n]*\n?)+)", inspect.getdoc(core) or "", re.MULTILINE
    )
    listed = set()
    for title, lines in groups:
        index += [f"## {title}", "", "```{toctree}", ":maxdepth: 1", ""]
        for name, words in re.findall(r"- `(\w+)`: ([^\n]*)", lines):
            listed.add(name)
            index.append(f"`{name}`: {words} <core/{name}>".replace("`", ""))
        index += ["```", ""]
    missing = public - listed
    if missing:
        msg = f"flipcost.core's docstring does not list {', '.join(sorted(missing))}"
        raise RuntimeError(msg)
    for name in public:
        title = f"core.{name}"
        rule = "=" * len(title)
        text = f"{title}\n{rule}\n\n.. automodule:: flipcost.core.{name}\n   :members:\n"
        _write(folder / "core" / f"{name}.rst", text)
    _write(folder / "core.md", "\n".join(index))


def write(app: Sphinx, _config: object) -> None:
    """Write all pages that changed."""
    folder = Path(app.srcdir, "reference")
    for name, title in PACKAGES.items():
        _write(folder / f"{name}.md", _package(name, title))
    _core(folder)
    pages = "\n".join(["command_line", *PACKAGES, "core"])
    head = "# Reference\n\nEvery public name, from the docstrings. Begin with\n"
    head += "[FlipCostClassifier](api/flipcost.estimators.FlipCostClassifier.rst) or the\n"
    head += "[command line](command_line.md).\n\n"
    _write(folder / "index.md", f"{head}```{{toctree}}\n:maxdepth: 1\n\n{pages}\n```\n")


def _join_lines(*found: Any) -> None:
    """Join lines that end in a backslash, which raw docstrings keep."""
    lines: list[str] = found[-1]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    lines[:] = joined.split("\n")


def _skip(_app: Sphinx, _what: str, name: str, *others: Any) -> bool | None:
    """Leave out what scikit-learn makes for its own use."""
    return (
        True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else others[1] or None
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before autosummary reads them."""
    app.connect("autodoc-process-docstring", _join_lines, priority=100)
    app.connect("autodoc-skip-member", _skip)
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
