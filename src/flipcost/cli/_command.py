"""Commands, made from the dataclasses that hold their options; and options named in messages."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from flipcost._options import RESULTS, Option, option, options_of
from flipcost.audit import AuditOptions

# One rule for all commands that read tables.
MAX_BYTES = (
    "Refuse a file that unpacks to more bytes; if not given, to over 100 times its size and over "
    "256 MB."
)


@dataclass(frozen=True, kw_only=True)
class Results:
    """Options that commands have in common, of what they write and print."""

    overwrite: bool = option(False, "Replace results that are there already.", RESULTS)
    as_json: bool = option(False, "Print JSON instead of text.", RESULTS, flag="--json")
    quiet: bool = option(False, "Print nothing but warnings.", RESULTS)


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
                if self.examples.get(title):
                    formatter.write(f"\n  Example: {self.examples[title]}\n")


@dataclass(frozen=True)
class Command:
    """What `typer.Typer.command` takes."""

    name: str
    callback: Callable[..., None]
    cls: type[TyperCommand]


def command(
    name: str, table: type, *more: type, examples: Mapping[str, str]
) -> Callable[[Callable[..., None]], Command]:
    """Return what makes a command of the function that runs it.

    Its options are the fields of dataclasses; it is called with the first of these, and by name
    with the options of the others. `examples` has the groups of options in their order.
    """

    def declare(run: Callable[..., None]) -> Command:
        declared = [one for one in options_of(table, *more) if one.group]

        def callback(**given: Any) -> None:
            given |= {one.name: given[one.name] or () for one in declared if one.many}
            own = {one.name: given.pop(one.name) for one in options_of(table)}
            run(table(**own), **given)

        parameters = [_parameter(one) for one in declared]
        callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        callback.__annotations__ = {one.name: one.annotation for one in parameters}
        callback.__doc__ = run.__doc__
        grouped = type("GroupedCommand", (_GroupedCommand,), {"examples": dict(examples)})
        return Command(name, callback, grouped)

    return declare


def _parameter(one: Option) -> inspect.Parameter:
    """Return an option as the parameter that typer reads."""
    known = {"help": one.help, "rich_help_panel": one.group, **one.more}
    kind: Any = one.kind
    if one.many:
        known = {"metavar": f"<{one.kind.__name__.lower()}>", **known}
        kind = list[kind]
    is_argument, default = one.flag == "", None if one.many else one.default
    if default is ...:
        # A missing option is said by the command, together with what may be given instead.
        default = inspect.Parameter.empty if is_argument or known.pop("required", False) else None
    info = typer.Argument(**known) if is_argument else typer.Option(one.flag, **known)
    kind = kind | None if default is None else kind
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


def _flags() -> dict[str, str]:
    """Return the options that parameters are typed as."""
    found = {one.name: str(one.flag) for one in options_of(AuditOptions) if one.group}
    same = ("delimiter", "dialect", "encoding", "jobs", "max_bytes", "out", "overwrite", "resume")
    found |= {name: "--" + name.replace("_", "-") for name in (*same, "trials")}
    found |= {"fn": "--cost-fn", "fp": "--cost-fp"}
    return found | {"positive": "--positive", "group": "--group", "seed": "--seed"}


OPTIONS = _flags()


def in_options(message: str) -> str:
    """Return a message of the library with options in place of the parameters it names.

    Examples
    --------
    >>> in_options("`pos_label` must be one of 'no', 'yes'.")
    "--positive must be one of 'no', 'yes'."
    >>> in_options("Columns 'a', 'b' are empty; `drop=['a', 'b']`, or `drop_unusable=True`.")
    "Columns 'a', 'b' are empty; --drop a --drop b, or --drop-unusable."
    """
    return re.sub(r"`(\w+)(?:=([^`]+))?`", _option, message)


def _option(found: re.Match[str]) -> str:
    name, written = found.groups()
    if name not in OPTIONS:
        return found[0]
    try:
        value = True if written is None else ast.literal_eval(written)
    except (SyntaxError, ValueError):  # a backtick within a name
        return found[0]
    if value is True:
        return OPTIONS[name]
    values = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{OPTIONS[name]} {shlex.quote(str(one))}" for one in values)
