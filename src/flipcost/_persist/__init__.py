"""Saving and loading models without pickle.

A model file is a skops archive, a zip of JSON and arrays, with one entry more that says which
versions wrote it. `load` reads the bytes of a file once, unpacks no more than a model of its size
can hold, makes objects of the types of an explicit list only, none of which does anything when
made, and checks what they hold before it hands the model out.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from flipcost._persist._archive import open_archive, read_bytes
from flipcost._persist._build import Builder
from flipcost._persist._checks import check_made, try_out
from flipcost._persist._order import packed
from flipcost._persist._types import trusted_names
from flipcost._persist._write import archived
from flipcost._version import __version__
from flipcost.exceptions import ModelFileError, StrangerError, UnreadableError

_ENTRY = "flipcost.json"
# To be raised when files of the new kind cannot be read by the code before.
_FORMAT = 1
_LONGEST = 60
# What the readers of archives, of JSON and of arrays raise on other bytes.
_NO_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save(model: Any, path: Any, *, trusted: Iterable[str | type] = ()) -> None:
    """Save a model to a file that `load` reads, without pickle.

    Parameters
    ----------
    model : estimator
        A model of flipcost, or a pipeline of these and the usual steps of scikit-learn, fitted or
        not.
    path : path-like
        The file; by custom it ends in ``.skops``. It is written aside and renamed, so that no
        half of a file is left behind.
    trusted : iterable of types or of their dotted names, default=()
        Types in the model besides those that `load` knows; `load` must be given the same.

    Raises
    ------
    ModelFileError
        When the model holds a type that `load` would refuse.

    Returns
    -------
    None

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from flipcost import UnevenMarginClassifier
    >>> from flipcost._persist import load, save
    >>> model = UnevenMarginClassifier(cost=0.2).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.skops")
    ...     again = load(Path(folder) / "model.skops")
    >>> bool(again.coef_ == model.coef_)
    True
    """
    target = Path(path)
    about = json.dumps(_about(model), indent=1).encode()
    data = packed({**archived(model), _ENTRY: about})
    _check_saved(data, trusted_names(trusted))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    aside = Path(name)
    try:
        aside.write_bytes(data)
        # mkstemp makes files for the owner alone; a saved model is as open as any new file.
        aside.chmod(0o666 & ~_umask())
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def load(path: Any, *, trusted: Iterable[str | type] = ()) -> Any:
    """Load a model that `save` wrote.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of types or of their dotted names, default=()
        Types that may be made besides those that models of flipcost consist of, for a model with an
        estimator of another kind. What they hold is not checked: name them for files of people that
        you trust.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        When the file is not such a file, was tampered with, asks for types that no model consists
        of, unpacks to more than a model can be, or was written by a later version.

    Warns
    -----
    UserWarning
        When the file was written with another minor version of scikit-learn.

    Examples
    --------
    >>> load("no-such-model.skops")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.ModelFileError: no-such-model.skops does not exist; check its name.
    """
    source = Path(path)
    data = read_bytes(source)
    about = _read_about(data, source)
    try:
        model = _unpacked(data, trusted_names(trusted))
    except StrangerError as stranger:
        msg = (
            f"{source} asks for {_clean(str(stranger))}, which no model of flipcost consists of. "
            "Do not load it, unless you trust who made it and name that type in `trusted`."
        )
        raise ModelFileError(msg) from stranger
    # Whatever a description can do to those who follow it, it is the file that is at fault.
    except Exception as error:
        raise _damaged(source, about, error) from error
    if _minor(about["scikit-learn"]) != _minor(sklearn.__version__):
        warnings.warn(
            f"{source} was written with scikit-learn {_clean(about['scikit-learn'])}; this is "
            f"{sklearn.__version__}. Check some predictions, or make the model anew.",
            UserWarning,
            stacklevel=2,
        )
    return model


def read_about(path: Any) -> dict[str, Any]:
    """Return which versions wrote a model file, without loading the model.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    dict
        ``format``, ``flipcost``, ``scikit-learn``, ``numpy``, ``scipy`` and ``model``.
    """
    source = Path(path)
    return _read_about(read_bytes(source), source)


def _read_about(data: bytes, source: Path) -> dict[str, Any]:
    try:
        parts = open_archive(data)
        about = parts.json(_ENTRY)
        for name in parts.names:  # so that a changed byte anywhere is noticed
            parts.read(name)
    except UnreadableError as error:
        msg = f"{source} is damaged or was changed: {error}; fetch or make it anew."
        raise ModelFileError(msg) from error
    except _NO_ARCHIVE as error:
        msg = (
            f"{source} is not a model that flipcost saved, or it is damaged; "
            "give a file written by `flipcost audit` or `fc.save`."
        )
        raise ModelFileError(msg) from error
    keys = ("format", "flipcost", "scikit-learn")
    if not isinstance(about, dict) or not all(key in about for key in keys):
        damaged = f"{source} is damaged or was changed; fetch or make it anew."
        raise ModelFileError(damaged)
    if not isinstance(about["format"], int) or about["format"] > _FORMAT:
        msg = (
            f"{source} was written by flipcost {_clean(about['flipcost'])}, whose files this "
            f"version, {__version__}, does not know; upgrade flipcost."
        )
        raise ModelFileError(msg)
    return about


def _about(model: Any) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "flipcost": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "model": type(model).__name__,
    }


def _unpacked(data: bytes, trusted: frozenset[str]) -> Any:
    """Make the model that bytes describe, and check it; nothing is read but these bytes."""
    builder = Builder(open_archive(data), trusted)
    with warnings.catch_warnings():
        # Said below, once and in our words.
        warnings.simplefilter("ignore")
        model = builder.build()
        check_made(builder.made)
        try_out(model)
    return model


def _check_saved(data: bytes, trusted: frozenset[str]) -> None:
    """Refuse to write what would not be loaded again."""
    try:
        _unpacked(data, trusted)
    except StrangerError as stranger:
        msg = (
            f"The model holds {stranger}, which is not among the types that `fc.load` makes. Name "
            "it in `trusted`, here and when loading, or save the model by other means."
        )
        raise ModelFileError(msg) from stranger
    except UnreadableError as error:
        msg = f"The model would not be loaded again: {error}. Save it by other means."
        raise ModelFileError(msg) from error


def _damaged(path: Path, about: dict[str, Any], error: Exception) -> ModelFileError:
    reason = (
        str(error) if isinstance(error, UnreadableError) else f"{type(error).__name__}: {error}"
    )
    reason = _clean(reason, 200)
    versions = (about["flipcost"], about["scikit-learn"])
    if versions != (__version__, sklearn.__version__):
        written = f"flipcost {_clean(versions[0])} and scikit-learn {_clean(versions[1])}"
        msg = (
            f"{path} was written by {written} and cannot be loaded by {__version__} and "
            f"{sklearn.__version__} ({reason}); install those versions, or make the model anew."
        )
        return ModelFileError(msg)
    return ModelFileError(f"{path} is damaged or was changed ({reason}); fetch or make it anew.")


def _clean(text: Any, longest: int = _LONGEST) -> str:
    """Return text of a file as a screen can bear it: short, and of letters and signs only."""
    plain = "".join(sign if sign.isprintable() else "?" for sign in str(text))
    return plain if len(plain) <= longest else f"{plain[: longest - 3]}..."


def _minor(version: str) -> list[str]:
    return str(version).split(".")[:2]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
