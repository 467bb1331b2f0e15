"""Model files: JSON that is decoded into a formula, or refused."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import msgspec

from flipcost._version import __version__
from flipcost.core.system import read_regular, write_aside
from flipcost.exceptions import ExportError, ModelFileError, clean_text
from flipcost.model.formula import Formula
from flipcost.model.schema import FORMAT, VERSION

# Models of 100,000 columns take 10 MB. Numbers that take two bytes in a file take 32 in memory.
_MOST_BYTES = 32 << 20


class _Head(msgspec.Struct):
    """The fields that identify a model file and its version."""

    format: str
    version: int
    flipcost: str = ""


def save(model: Any, path: Any) -> None:
    """Save a fitted model as data: readable JSON, which `load` reads back.

    Parameters
    ----------
    model : estimator or Findings
        `FlipCostClassifier`, `UnevenMarginClassifier` (or its CV) or
        `NoiseAwareThresholdClassifier`, fitted; or the findings of an audit, whose best model is
        saved. An `estimator` inside must be linear, or boosting whose trees can be read:
        scikit-learn's histogram boosting, LightGBM, XGBoost, CatBoost.
    path : path-like
        The file, such as ``model.json``. It is written under another name and renamed, so that
        no partial file is left behind.

    Raises
    ------
    ExportError
        When the model is of another kind. `pickle` saves any estimator, if you trust the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import flipcost as fc
    >>> model = fc.UnevenMarginClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fc.save(model, Path(folder) / "model.json")
    ...     again = fc.load(Path(folder) / "model.json")
    >>> again.predict([[0.0], [2.0]])
    array([0, 1])
    """
    # Imports scikit-learn, which loading and predicting do not need.
    from flipcost.model.convert import formula_of  # noqa: PLC0415

    data = to_bytes(formula_of(model))
    with write_aside(path) as stream:
        stream.write(data)


def to_bytes(formula: Formula) -> bytes:
    """Return a formula as JSON, having checked that it can be read again."""
    data = msgspec.json.encode(formula)
    try:
        msgspec.json.decode(data, type=Formula)
        if len(data) > _MOST_BYTES:
            msg = f"it takes {len(data) >> 20:,} MB"
            raise ValueError(msg)
    except ValueError as error:
        msg = f"The model cannot be saved: {error}; fit it again with fewer or smaller columns."
        raise ExportError(msg) from error
    return data + b"\n"


def load(path: Any) -> Formula:
    """Load a model written by `save` or `flipcost audit`.

    Parameters
    ----------
    path : path-like
        The file. Nothing in it is executed: it may come from an untrusted source.

    Returns
    -------
    Formula
        A predictor: ``predict``, ``predict_proba``, ``classes_``, ``feature_names_in_``. It is not
        an estimator and cannot be fitted.

    Raises
    ------
    ModelFileError
        When the file is not a model file, was altered, or was written by a later version.

    Examples
    --------
    >>> load("no-such-model.json")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.ModelFileError: no-such-model.json does not exist; check its name.
    """
    name = clean_text(os.fspath(path))
    try:
        data = read_regular(path, _MOST_BYTES)
    except FileNotFoundError as error:
        msg = f"{name} does not exist; check its name."
        raise ModelFileError(msg) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        msg = f"{name} cannot be read as a model: it {reason}."
        if isinstance(error, OSError):
            msg = f"{name} cannot be read ({reason})."
        raise ModelFileError(msg) from error
    return from_bytes(data, name)


def from_bytes(data: bytes, name: str) -> Formula:
    """Return the formula in the bytes of a file of this name, or refuse them."""
    _check_head(data, name)
    try:
        return msgspec.json.decode(data, type=Formula)
    except (ValueError, RecursionError, OverflowError) as error:
        msg = f"{name} is damaged or was changed ({clean_text(str(error), 300)}); make it anew."
        raise ModelFileError(msg) from error


def _check_head(data: bytes, name: str) -> None:
    """Refuse a file of another kind, or of a later version."""
    if data[:2] == b"PK":
        msg = (
            f"{name} was saved by flipcost 0.1, whose files this version does not read; make the "
            "model anew, by `flipcost audit` or `fc.save`."
        )
        raise ModelFileError(msg)
    head = None
    with contextlib.suppress(ValueError, RecursionError):
        head = msgspec.json.decode(data, type=_Head)
    if head is None or head.format != FORMAT:
        msg = (
            f"{name} is not a model that flipcost saved, or it is damaged; give a file written by "
            "`flipcost audit` or `fc.save`."
        )
        raise ModelFileError(msg)
    if head.version > VERSION:
        msg = (
            f"{name} was written by flipcost {clean_text(head.flipcost[:40])}, whose files this "
            f"version, {__version__}, does not know; upgrade flipcost."
        )
        raise ModelFileError(msg)
