"""The way in: commands, and what becomes of errors."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import typer

from flipcost._staging import interrupted_words, signals_as_interrupts
from flipcost._version import __version__
from flipcost.cli._audit import audit_command
from flipcost.cli._command import in_options
from flipcost.cli._demo import datasets_command, demo_command, reproduce_command
from flipcost.cli._judge import judge_command
from flipcost.cli._predict import export_command, predict_command
from flipcost.cli._recheck import recheck_command
from flipcost.cli._terminal import echo
from flipcost.exceptions import FlipCostError, clean_text

# Typer carries click inside in some versions and beside it in others; both have this ancestry.
_ClickError = typer.BadParameter.__mro__[2]

# What typer makes of ctrl-C when it is asked to raise nothing.
_INTERRUPTED = 130

app = typer.Typer(
    name="flipcost",
    help="Cost-sensitive classification from labels that are partly wrong.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(*, value: bool) -> None:
    if value:
        echo(f"flipcost {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: bool = typer.Option(
        False,
        "--version",
        callback=lambda value: _show_version(value=value),
        is_eager=True,
        help="Print the version.",
    ),
) -> None:
    """Cost-sensitive classification from labels that are partly wrong."""


for _one in (
    audit_command,
    demo_command,
    predict_command,
    recheck_command,
    judge_command,
    export_command,
    datasets_command,
    reproduce_command,
):
    app.command(_one.name, cls=_one.cls)(_one.callback)


def main(args: list[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    Parameters
    ----------
    args : list of str, default=None
        What follows the name of the program; taken from the process when None.

    Returns
    -------
    int
        0 for success, 2 for an error of the user's, 1 for one of ours.

    Examples
    --------
    >>> main(["--version"])
    flipcost ...
    0
    """
    if args is None:
        args = sys.argv[1:]
    _open_closed_streams()
    try:
        with signals_as_interrupts(), warnings.catch_warnings():
            # What users must know is said in sentences of our own.
            warnings.simplefilter("ignore")
            code = _command()(args=args or ["--help"], prog_name="flipcost", standalone_mode=False)
            sys.stdout.flush()  # while it can still be said that no one takes it
    except FlipCostError as error:
        return _complain(in_options(str(error)))
    except (KeyboardInterrupt, typer.Abort):
        return _complain(interrupted_words())
    except BrokenPipeError:  # the reader of our output has left: `| head`
        _drop_output()
        return 0
    except OSError as error:  # the disk is full, a name too long, a folder forbidden
        _drop_output()
        return _complain(_of_the_system(error))
    except UnicodeEncodeError:
        return _complain("a file has a name that is not UTF-8; rename it.")
    except MemoryError:
        return _complain("the table does not fit in memory; give fewer rows or columns.")
    except Exception as error:  # noqa: BLE001 - nothing may reach the user as a traceback
        if isinstance(error, _ClickError):
            return _complain(_usage(error))
        return _confess(error)
    if code == _INTERRUPTED:
        return _complain(interrupted_words())
    return code if isinstance(code, int) else 0


@cache
def _command() -> Any:
    """Return the commands with their options, which take 10 ms to make."""
    return typer.main.get_command(app)


def _open_closed_streams() -> None:
    """Have output that was closed (`>&-`) go nowhere; a file of ours would else be taken for it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - stays


def _drop_output() -> None:
    """Send what is left of standard output nowhere: no one takes it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _of_the_system(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    where = "" if error.filename is None else f" ({os.fsdecode(error.filename)!r})"
    return f"the system refused: {reason}{where}; nothing was left half written."


def _usage(error: Exception) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "flipcost"
    return f"{message.rstrip('.')}; see `{command} --help`."


def _complain(message: str) -> int:
    echo(f"flipcost: {clean_text(message)}", err=True)
    return 2


def _confess(error: Exception) -> int:
    if os.environ.get("FLIPCOST_DEBUG"):
        traceback.print_exception(error)
    text = clean_text(f"{type(error).__name__}: {error}", 500)
    echo(
        f"flipcost: internal error ({text}); please report it, with what FLIPCOST_DEBUG=1 prints.",
        err=True,
    )
    return 1
