"""`flipcost bench`."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from flipcost.cli._echo import echo
from flipcost.exceptions import UserError

_EXTRA = "bench"
_NO_SOURCE = (
    "The benchmarks come with the source of flipcost, not with the installed package; "
    "run this, or `make bench`, in a checkout."
)


def bench_command(
    *,
    only: Annotated[
        list[str] | None, typer.Option(help="Benchmark to run; may be repeated.")
    ] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the benchmarks.")] = False,
) -> None:
    """Run the benchmarks, beside the peers that are installed."""
    names = _benchmarks()
    if list_names:
        for name in names:
            echo(name)
        return
    unknown = sorted(set(only or ()) - set(names))
    if unknown:
        msg = f"There is no benchmark {unknown[0]!r}; there are {', '.join(names)}."
        raise UserError(msg)
    missing = missing_peers()
    if missing:
        echo(
            f"flipcost: not installed, and left out: {', '.join(missing)}; "
            f'install with pip install "flipcost[{_EXTRA}]"',
            err=True,
        )
    for name in only or names:
        try:
            importlib.import_module(f"benchmarks.{name}").main()
        except ModuleNotFoundError as error:
            echo(f'flipcost: {name} needs {error.name}; pip install "flipcost[{_EXTRA}]"', err=True)


def missing_peers() -> list[str]:
    """Return the packages to compare with that are not installed."""
    from importlib import metadata

    missing = []
    for line in metadata.requires("flipcost") or ():
        found = re.match(r"([\w.-]+)", line)
        if found is None or f"extra == '{_EXTRA}'" not in line.replace('"', "'"):
            continue
        try:
            metadata.version(found[1])
        except metadata.PackageNotFoundError:
            missing.append(found[1])
    return missing


def _benchmarks() -> tuple[str, ...]:
    """Return the names of the benchmarks, which come with the source and not with the package.

    They are those beside the source that is running; those of the current folder are somebody's.
    """
    checkout = Path(__file__).resolve().parents[3]
    if not (checkout / "src" / "flipcost" / "cli").is_dir():
        raise UserError(_NO_SOURCE)
    sys.path.insert(0, str(checkout))
    try:
        found = importlib.import_module("benchmarks.__main__")
    except ImportError as error:
        raise UserError(_NO_SOURCE) from error
    if not Path(str(found.__file__)).resolve().is_relative_to(checkout):
        raise UserError(_NO_SOURCE)
    return tuple(found.NAMES)
