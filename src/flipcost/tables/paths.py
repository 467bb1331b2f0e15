"""Finding the files of a table."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

from pyarrow import fs

# Endings of files that are not there yet, or not any more.
_UNFINISHED = (
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".crdownload",
    ".download",
    ".swp",
    ".bak",
    "~",
)
Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


def list_files(
    source: Paths, suffixes: tuple[str, ...] = (), filesystem: Any = None
) -> tuple[Any, list[str]]:
    r"""Return the file system and the files, those of a folder in order of their names.

    Parameters
    ----------
    source : path, or sequence of paths
        A file, a folder, a pattern, an address that pyarrow knows, or several of these.
    suffixes : tuple of str
        Endings of the files to take from a folder; all are taken when none has one. Files and
        folders whose names begin with a dot or an underscore are passed over, as is the custom for
        the marks that writers leave, as are files that are being written (``.tmp``, ``.part``) or
        were replaced (``.bak``). Each file counts once, whatever links lead to it.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the files are, when `source` does not say.

    Returns
    -------
    filesystem : pyarrow.fs.FileSystem
    paths : list of str

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("age,ill\n50,yes\n")
    ...     filesystem, paths = list_files(folder, (".csv",))
    >>> [Path(path).name for path in paths]
    ['a.csv']
    """
    if isinstance(source, (str, os.PathLike)):
        return _list_one(os.fspath(source), suffixes, filesystem)
    every: list[str] = []
    for item in source:
        filesystem, paths = list_files(item, suffixes, filesystem)
        every += paths
    return filesystem, _some(list(dict.fromkeys(every)), "the list")


def _list_one(path: str, suffixes: tuple[str, ...], filesystem: Any) -> tuple[Any, list[str]]:
    if filesystem is None:
        if "://" in path:
            filesystem, path = fs.FileSystem.from_uri(path)
        else:
            filesystem = fs.LocalFileSystem()
    local = filesystem.type_name == "local"
    if local and glob.has_magic(path) and not Path(path).exists():
        found = glob.glob(path, recursive=True)  # noqa: PTH207 - a pattern may be absolute
        files = [p for p in found if Path(p).is_file() and not _is_unfinished(p)]
        return filesystem, _some(_once(sorted(files)), path)
    info = filesystem.get_file_info(path)
    if info.type == fs.FileType.File:
        return filesystem, [path]
    if info.type != fs.FileType.Directory:
        msg = f"`source` must be a file, a folder or a pattern of these; there is no {path!r}."
        raise FileNotFoundError(msg)
    inside = _inside(path) if local else _inside_elsewhere(path, filesystem)
    fitting = [p for p in inside if p.lower().endswith(suffixes)]
    return filesystem, _some(fitting or inside, path)


def _inside(path: str) -> list[str]:
    """Return the files of a folder and of those in it, each once, whatever links there are."""
    found: list[str] = []
    seen: set[str] = set()
    waiting = [path.rstrip("/") or "/"]
    while waiting:
        folder = waiting.pop()
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        with os.scandir(folder) as entries:
            for entry in entries:
                if _is_hidden(entry.name) or _is_unfinished(entry.name):
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                elif entry.is_file():
                    found.append(entry.path)
    return _once(sorted(found))


def _once(paths: list[str]) -> list[str]:
    """Return each file once, whatever links name it."""
    chosen: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real not in chosen or os.path.abspath(path) == real:  # noqa: PTH100 - links must stay
            chosen[real] = path
    return sorted(chosen.values())


def _inside_elsewhere(path: str, filesystem: Any) -> list[str]:
    root = path.rstrip("/") + "/"
    return sorted(
        entry.path
        for entry in filesystem.get_file_info(fs.FileSelector(path, recursive=True))
        if entry.type == fs.FileType.File
        and not _is_hidden(entry.path.removeprefix(root))
        and not _is_unfinished(entry.path)
    )


def is_many(path: Any) -> bool:
    """Tell whether a path names several files: a folder, or a pattern.

    Examples
    --------
    >>> is_many("sales/*.parquet"), is_many("sales.csv")
    (True, False)
    """
    text = os.fspath(path)
    return Path(text).is_dir() or (glob.has_magic(text) and not Path(text).exists())


def folder_keys(paths: list[str]) -> dict[str, dict[str, Any]]:
    """Return the columns that ``key=value`` folders give: by key, the value of each file.

    Values are whole numbers when all are, else text.

    Examples
    --------
    >>> folder_keys(["sales/year=2023/a.parquet", "sales/year=2024/a.parquet"])["year"]
    {'sales/year=2023/a.parquet': 2023, 'sales/year=2024/a.parquet': 2024}
    """
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        for folder in path.split("/")[:-1]:
            name, is_key, value = folder.partition("=")
            if is_key:
                found.setdefault(name, {})[path] = unquote(value)
    keys = {name: values for name, values in found.items() if len(values) == len(paths)}
    for values in keys.values():
        if all(value.lstrip("-").isdigit() for value in values.values()):
            values.update({path: int(value) for path, value in values.items()})
    return keys


def _some(paths: list[str], source: str) -> list[str]:
    if not paths:
        msg = f"`source` must name at least one file; there is none at {source!r}."
        raise FileNotFoundError(msg)
    return paths


def _is_unfinished(path: str) -> bool:
    """Tell whether a file is being written, or was kept when it was replaced."""
    return path.lower().endswith(_UNFINISHED)


def _is_hidden(relative: str) -> bool:
    return any(part.startswith((".", "_")) for part in relative.split("/"))
