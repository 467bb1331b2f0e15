"""Packages that only some routes need."""

from __future__ import annotations

import importlib
from typing import Any


def require(name: str) -> Any:
    """Import a module of an optional package, or say how to install it.

    Examples
    --------
    >>> require("pyarrow").__name__
    'pyarrow'
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        msg = f"This needs the package {package}, which is not installed. Install {package}."
        raise ImportError(msg) from error


def cluster_module() -> Any:
    """Return the module that knows Dask, which is an extra."""
    require("dask")
    return require("flipcost.tables.dask")
