"""The page of the command line, written from the commands themselves before each build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_HEAD = """# The command line

Every command and option, as `flipcost COMMAND --help` prints them. Exit code 0 is success, 2 a mistake
in what was asked (one line says which), 1 an internal error.
"""


def _default(option: Any) -> str:
    value = option.default
    if value in (None, False, (), []) or callable(value):
        return ""
    return f" Default: `{value}`."


def _command(name: str, command: Any) -> list[str]:
    lines = [f"\n## flipcost {name}\n", f"{(command.help or '').strip()}\n"]
    groups: dict[str, list[str]] = {}
    for option in command.params:
        group = getattr(option, "rich_help_panel", None) or "Options"
        if option.param_type_name == "argument":
            group, shown = "Arguments", f"`{option.name.upper()}`"
        else:
            shown = ", ".join(f"`{flag}`" for flag in option.opts)
        words = " ".join((getattr(option, "help", None) or "").split())
        groups.setdefault(group, []).append(f"| {shown} | {words}{_default(option)} |")
    for group, rows in groups.items():
        lines += [
            f"\n**{group}**\n",
            "| | |",
            "|---|---|",
            *(row.replace("\n", " ") for row in rows),
        ]
    return lines


def write(app: Sphinx, _config: object) -> None:
    """Write `reference/command_line.md`, when it changed."""
    from flipcost.cli import app as commands

    group = typer.main.get_command(commands)
    lines = [_HEAD]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        lines += _command(name, command)
    path, text = Path(app.srcdir, "reference", "command_line.md"), "\n".join(lines) + "\n"
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page when the builder is ready."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
