"""Options in groups, each with an example, in the help of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from typer.core import TyperCommand


class _GroupedCommand(TyperCommand):
    """A command whose help lists options under the group that they name."""

    examples: ClassVar[Mapping[str, str]] = {}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in self.examples}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                title = getattr(param, "rich_help_panel", None) or "Help"
                groups.setdefault(title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
                if title in self.examples:
                    formatter.write(f"\n  Example: {self.examples[title]}\n")


def grouped(examples: Mapping[str, str]) -> type[TyperCommand]:
    """Return the class of a command with these groups, in this order, and an example of each.

    Examples
    --------
    >>> grouped({"Prices": "flipcost audit a.csv --target y --cost-fn 4 --cost-fp 1"}).__name__
    'GroupedCommand'
    """
    return type("GroupedCommand", (_GroupedCommand,), {"examples": dict(examples)})
