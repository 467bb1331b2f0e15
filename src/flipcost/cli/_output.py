"""Where results go: `flipcost._staging`, with an interrupt before or after, but not between."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flipcost import _staging
from flipcost._staging import check_file, check_folder
from flipcost.cli._interrupts import note_written, uninterrupted
from flipcost.cli._kept import is_filled_in

__all__ = ["Overwrite", "check_file", "check_folder", "staged_file", "staged_folder"]

# One rule for all commands.
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace results that are there already.", rich_help_panel="Results"
    ),
]


@contextlib.contextmanager
def staged_folder(
    folder: Path,
    names: Iterable[str] = (),
    *,
    overwrite: bool = False,
    inputs: Iterable[Path] = (),
    clear: Callable[[], object] | None = None,
) -> Iterator[Path]:
    """Yield a place to write files that appear in the folder together if all goes well.

    Parameters
    ----------
    folder, names, overwrite, inputs
        As in `flipcost._staging.staged_folder`.
    clear : callable, optional
        Called when the files are in their place, to remove what they make out of date.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with staged_folder(Path(base) / "out") as place:
    ...         _ = (place / "a.txt").write_text("done")
    ...     print((Path(base) / "out" / "a.txt").read_text())
    done
    """
    with _staging.staged_folder(
        folder,
        names,
        overwrite=overwrite,
        inputs=inputs,
        manifest="summary.json",
        is_kept=is_filled_in,
        guard=partial(_whole, folder, clear),
    ) as place:
        yield place


@contextlib.contextmanager
def staged_file(
    path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """Yield a file to write that is renamed to the path if all goes well.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as base:
    ...     with staged_file(Path(base) / "a.txt") as place:
    ...         _ = place.write_text("done")
    ...     print((Path(base) / "a.txt").read_text())
    done
    """
    with _staging.staged_file(
        path, overwrite=overwrite, inputs=inputs, guard=partial(_whole, path)
    ) as place:
        yield place


@contextlib.contextmanager
def _whole(place: Path, clear: Callable[[], object] | None = None) -> Iterator[None]:
    with uninterrupted():
        yield
        if clear is not None:
            clear()
        note_written(place)
