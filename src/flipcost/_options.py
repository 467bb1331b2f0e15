"""Options said once: a dataclass whose fields know their flag, help and group.

The command line and the documentation are made from these fields. Nothing here is imported that
takes long: help is printed from it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

# The headings that options stand under.
TABLE, COSTS, KNOWN, MODEL, LARGE = (
    "Table and labels",
    "Costs and decisions",
    "What is known of the labels",
    "Model",
    "Large files",
)


@dataclass(frozen=True)
class Option:
    """What is said of one option.

    Attributes
    ----------
    help : str
        One sentence, for the command line.
    group : str
        The heading that it stands under; "" for what only Python can give.
    flag : str or None
        As it is typed; None for an argument without one.
    kind : type
        What the command line takes: str, int, float, bool or Path; or a list, that may be repeated.
    read : callable or None
        From the text that was typed to the value.
    doc : str
        What the documentation of Python says; `help` when empty.
    takes : str
        What Python takes, as the documentation says it.
    more : dict
        Whatever else the parser is told.
    """

    help: str
    group: str
    flag: str | None
    kind: Any
    read: Callable[[str], Any] | None
    doc: str
    takes: str
    more: Mapping[str, Any]


def option(
    default: Any,
    help: str,  # noqa: A002 - the word that parsers use
    group: str = "",
    *,
    flag: str | None = None,
    kind: Any = str,
    read: Callable[[str], Any] | None = None,
    doc: str = "",
    takes: str = "str",
    **more: Any,
) -> Any:
    """Return the field of an option, one that must be given if its default is `...`.

    Its flag is its name with dashes when none is given.
    """
    known = {"option": Option(help, group, flag, kind, read, doc, takes, more)}
    return field(metadata=known) if default is ... else field(default=default, metadata=known)


def same_as(table: type, name: str) -> Any:
    """Return the field of an option that another dataclass has too."""
    one = next(one for one in fields(table) if one.name == name)
    return field(default=one.default, metadata=one.metadata)


def options_of(*tables: type) -> Iterator[tuple[Field[Any], Option]]:
    """Yield the options of dataclasses, each with its field."""
    for table in tables:
        for one in fields(table):
            if "option" in one.metadata:
                yield one, one.metadata["option"]


def flag_of(one: Field[Any], said: Option) -> str:
    """Return an option as it is typed."""
    return said.flag or "--" + one.name.replace("_", "-")


def documented(table: type) -> str:
    """Return the parameters of a dataclass as its documentation lists them."""
    lines = []
    for one, said in options_of(table):
        default = "" if one.default is MISSING else f", default={one.default!r}"
        lines.append(f"{one.name} : {said.takes}{default}")
        lines.append(textwrap.indent(textwrap.fill(said.doc or said.help, 92), "    "))
    return "\n".join(lines)


def read_given(table: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a dataclass among what was typed, as values; others are left out."""
    found = {}
    for one, said in options_of(table):
        value = given.get(one.name)
        if value is None or not said.group:
            continue
        found[one.name] = value if said.read is None else said.read(value)
    return found
