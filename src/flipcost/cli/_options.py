"""Options of commands, made from the dataclasses that hold them, and named in messages."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from flipcost._options import flag_of, option, options_of
from flipcost.audit import AuditOptions

# One rule for all commands that read tables.
MAX_BYTES = (
    "Refuse a file that unpacks to more bytes; if not given, to over 100 times its size and over "
    "256 MB."
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is printed."""

    as_json: bool = option(
        False,  # noqa: FBT003 - a default
        "Print JSON instead of text.",
        "Results",
        flag="--json",
        kind=bool,
    )
    quiet: bool = option(
        False,  # noqa: FBT003 - a default
        "Print nothing but warnings.",
        "Results",
        kind=bool,
    )


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
    >>> grouped({"Costs": "flipcost audit a.csv --target y --cost-fn 4 --cost-fp 1"}).__name__
    'GroupedCommand'
    """
    return type("GroupedCommand", (_GroupedCommand,), {"examples": dict(examples)})


def command(
    name: str, summary: str, run: str, tables: Sequence[type], examples: Mapping[str, str]
) -> tuple[Callable[..., None], type[TyperCommand]]:
    """Return a command whose options are the fields of dataclasses, and its class.

    `run` is the module and function that it calls, imported then, with a value for each option.
    Options without a group are for Python only; `examples` has the groups in their order.
    """

    def callback(**given: Any) -> None:
        module, function = run.split(":")
        getattr(import_module(module), function)(**given)

    parameters, hints = [], {}
    for one, said in options_of(*tables):
        if not said.group:
            continue
        many = said.kind is list or getattr(said.kind, "__origin__", None) is list
        kind = list[str] if said.kind is list else said.kind
        required = one.default is MISSING and said.flag == ""
        default = None if many or one.default is MISSING else one.default
        told = {"help": said.help, "rich_help_panel": said.group, **said.more}
        if many:
            told["metavar"] = "<path>" if said.kind == list[Path] else "<str>"
        if said.flag == "":
            info = typer.Argument(**told)
        else:
            info = typer.Option(flag_of(one, said), **told)
        hints[one.name] = Annotated[kind if default is not None or required else kind | None, info]
        parameters.append(
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if required else default,
                annotation=hints[one.name],
            )
        )
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    callback.__annotations__ = hints
    callback.__name__, callback.__doc__ = f"{name}_command", summary
    return callback, grouped(examples)


def _flags() -> dict[str, str]:
    """Return the options that parameters are typed as."""
    found = {one.name: flag_of(one, said) for one, said in options_of(AuditOptions) if said.group}
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
