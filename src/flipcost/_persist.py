"""Saving and loading models without pickle.

A model file is a skops archive, a zip of JSON and arrays, with one entry more that says which
versions wrote it. Loading makes objects of flipcost's and scikit-learn's classes only; a file that
asks for anything else is refused before anything is made.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from flipcost._version import __version__
from flipcost.exceptions import ModelFileError

_ENTRY = "flipcost.json"
# To be raised when files of the new kind cannot be read by the code before.
_FORMAT = 1
_TRUSTED_PACKAGES = ("flipcost", "sklearn")
# Kinds of numbers, which scikit-learn's encoders hold; making one runs nothing.
_PLAIN = {"numpy.dtype"}


def save(model: Any, path: Any) -> None:
    """Save a model to a file that `load` reads, without pickle.

    Parameters
    ----------
    model : estimator
        A model of flipcost or scikit-learn, or a pipeline of these, fitted or not.
    path : path-like
        The file; by custom it ends in ``.skops``. It is written aside and renamed, so that no
        half of a file is left behind.

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
    from skops import io  # noqa: PLC0415 - needed by few

    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    aside = Path(name)
    try:
        io.dump(model, aside, compression=zipfile.ZIP_DEFLATED)
        strangers = _strangers(aside)
        if strangers:
            msg = (
                f"The model holds {strangers[0]}, which is of neither flipcost nor scikit-learn "
                "and would not be loaded again. Save it by other means."
            )
            raise ModelFileError(msg)
        with zipfile.ZipFile(aside, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_ENTRY, json.dumps(_about(model), indent=1))
        # mkstemp makes files for the owner alone; a saved model is as open as any new file.
        aside.chmod(0o666 & ~_umask())
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def load(path: Any) -> Any:
    """Load a model that `save` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        When the file is not such a file, was tampered with, asks for classes of other packages,
        or was written by a later version.

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
    from skops import io  # noqa: PLC0415 - needed by few

    source = Path(path)
    about = read_about(source)
    try:
        strangers = _strangers(source)
    except Exception as error:
        raise _damaged(source, about, error) from error
    if strangers:
        msg = (
            f"{source} asks for {strangers[0]}, which no model of flipcost holds; it was made or "
            "changed by someone else. Do not load it."
        )
        raise ModelFileError(msg)
    try:
        model = io.load(source, trusted=io.get_untrusted_types(file=source))
    except Exception as error:
        raise _damaged(source, about, error) from error
    if _minor(about["scikit-learn"]) != _minor(sklearn.__version__):
        warnings.warn(
            f"{source} was written with scikit-learn {about['scikit-learn']}; this is "
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
    if not source.exists():
        msg = f"{source} does not exist; check its name."
        raise ModelFileError(msg)
    try:
        with zipfile.ZipFile(source) as archive:
            about = json.loads(archive.read(_ENTRY))
            broken = archive.testzip()
    except (OSError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError) as error:
        msg = (
            f"{source} is not a model that flipcost saved, or it is damaged; "
            "give a file written by `flipcost audit` or `fc.save`."
        )
        raise ModelFileError(msg) from error
    keys = ("format", "flipcost", "scikit-learn")
    if broken or not isinstance(about, dict) or not all(key in about for key in keys):
        damaged = f"{source} is damaged or was changed; fetch or make it anew."
        raise ModelFileError(damaged)
    if not isinstance(about["format"], int) or about["format"] > _FORMAT:
        msg = (
            f"{source} was written by flipcost {about['flipcost']}, whose files this version, "
            f"{__version__}, does not know; upgrade flipcost."
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


def _strangers(path: Path) -> list[str]:
    """Return what a file asks for that is neither ours, nor scikit-learn's, nor plain data."""
    from skops import io  # noqa: PLC0415 - needed by few

    return [name for name in io.get_untrusted_types(file=path) if not _is_trusted(name)]


def _is_trusted(name: str) -> bool:
    """Whether a dotted name is a class that flipcost or scikit-learn itself defines.

    A name that merely begins like ours is not enough: modules hold the names of all they import.
    """
    if name in _PLAIN:
        return True
    if name.split(".", maxsplit=1)[0] not in _TRUSTED_PACKAGES:
        return False
    module, _, attribute = name.rpartition(".")
    try:
        thing = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        return False
    if not inspect.isclass(thing):
        return False
    return thing.__module__.split(".")[0] in _TRUSTED_PACKAGES


def _damaged(path: Path, about: dict[str, Any], error: Exception) -> ModelFileError:
    written = f"flipcost {about['flipcost']} and scikit-learn {about['scikit-learn']}"
    here = f"{__version__} and {sklearn.__version__}"
    if written != f"flipcost {__version__} and scikit-learn {sklearn.__version__}":
        msg = (
            f"{path} was written by {written} and cannot be loaded by {here} "
            f"({type(error).__name__}: {error}); install those versions, or make the model anew."
        )
        return ModelFileError(msg)
    return ModelFileError(f"{path} is damaged or was changed ({error}); fetch or make it anew.")


def _minor(version: str) -> list[str]:
    return str(version).split(".")[:2]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
