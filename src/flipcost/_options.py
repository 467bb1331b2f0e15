"""Options said once: a dataclass whose fields know their flag, help and group.

The command line and the documentation are made from these fields. Nothing here is imported that
takes long: help is printed from it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

# The headings of options.
TABLE, COSTS, KNOWN, MODEL, LARGE, RESULTS = (
    "Table and labels",
    "Costs and decisions",
    "What is known of the labels",
    "Model",
    "Large files",
    "Results",
)
_KINDS: Mapping[str, Any] = {"int": int, "float": float, "bool": bool, "Path": Path}


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes
    ----------
    default : object
        `...` if it must be given.
    help : str
        What it is, for the command line and for the documentation.
    group : str
        Its heading; "" for what only Python can give.
    flag : str
        As it is typed; "" for an argument without one.
    kind : type
        What the command line takes.
    read : callable or None
        From the text that was typed to the value.
    takes : str
        What the documentation of Python says it takes.
    more : dict
        Whatever else the parser needs.
    name, many : str, bool
        Its name in Python, and whether it may be repeated.
    """

    default: Any
    help: str
    group: str
    flag: str | None
    kind: Any
    read: Callable[[Any], Any] | None
    takes: str
    more: Mapping[str, Any]
    name: str = ""
    many: bool = False


def option(
    default: Any,
    help: str,  # noqa: A002 - the word that parsers use
    group: str = "",
    *,
    flag: str | None = None,
    kind: Any = None,
    read: Callable[[Any], Any] | None = None,
    takes: str = "",
    **more: Any,
) -> Any:
    """Return the field of an option, one that must be given if its default is `...`.

    If not given, its flag is its name with dashes, and `kind` and `takes` follow its annotation.
    """
    known = {"option": Option(default, help, group, flag, kind, read, takes, more)}
    return field(metadata=known) if default is ... else field(default=default, metadata=known)


def same_as(table: type, name: str) -> Any:
    """Return the field of an option that another dataclass has too."""
    one = next(one for one in fields(table) if one.name == name)
    return field(default=one.default, metadata=one.metadata)


def options_of(*tables: type) -> Iterator[Option]:
    """Yield the options of dataclasses."""
    for table in tables:
        for one in fields(table):
            if "option" in one.metadata:
                yield _completed(one.metadata["option"], one)


def _completed(known: Option, one: Field[Any]) -> Option:
    """Return an option with what its field says of it."""
    takes = str(one.type).removesuffix(" | None")
    first, many = takes.split(" | ")[0], takes.startswith("Sequence[")
    kind = _KINDS.get(first.removeprefix("Sequence[").rstrip("]"), str)
    for code, words in ((" | ", " or "), ("tuple[float, float]", "pair of floats")):
        takes = takes.replace(code, words)
    return replace(
        known,
        name=one.name,
        flag="--" + one.name.replace("_", "-") if known.flag is None else known.flag,
        kind=known.kind or (str if known.read else kind),
        many=many,
        takes=known.takes or takes.replace("Sequence[", "sequence of ").replace("]", ""),
    )


def documented(table: type) -> str:
    """Return the parameters of a dataclass as its documentation lists them."""
    lines = []
    for one in options_of(table):
        default = "" if one.default is ... else f", default={one.default!r}"
        lines.append(f"{one.name} : {one.takes}{default}")
        lines.append(textwrap.indent(textwrap.fill(one.help, 92), "    "))
    return "\n".join(lines)


def read_given(table: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a dataclass among what was typed, as values; others are left out."""
    found = {}
    for one in options_of(table):
        value = given.get(one.name)
        if value is not None and one.group:
            found[one.name] = value if one.read is None else one.read(value)
    return found
