"""The five public tables of the paper's experiments, bundled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.arrays import Array, Flags
from flipcost.datasets._bunch import make_bunch
from flipcost.datasets._codings import (
    BREAST_CATEGORIES,
    BREAST_ORDERED,
    GERMAN_CODES,
    breast_number,
    german_number,
)
from flipcost.datasets._files import read_index, read_table

_CODINGS = ("number", "raw")


def _load(name: str) -> tuple[dict[str, Any], list[dict[str, str]], list[str]]:
    """Return the index entry, the rows and the feature names of a bundled table."""
    entry = read_index()["tables"][name] | {"name": name}
    return entry, read_table(entry), entry["columns"][: entry["features"]]


def _floats(rows: Sequence[dict[str, str]], features: Sequence[str]) -> Array:
    """Return numeric columns as a matrix."""
    return np.array([[float(row[feature]) for feature in features] for row in rows])


def _class_is(rows: Sequence[dict[str, str]], *values: str) -> Flags:
    """Return which rows have one of some classes."""
    return np.array([row["class"] in values for row in rows])


def _check_coding(coding: str) -> None:
    """Raise on an unknown coding."""
    if coding not in _CODINGS:
        msg = f"`coding` must be one of {_CODINGS}; got {coding!r}."
        raise ValueError(msg)


def load_breast_cancer_ljubljana(
    *,
    duplicates: bool = False,
    coding: str = "number",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load Breast Cancer (Ljubljana): whether the cancer comes back after treatment.

    The positive class is the recurrence. 263 distinct rows, 77 of them positive, 9 attributes.
    This is not the Wisconsin set of the same name that scikit-learn ships.

    Parameters
    ----------
    duplicates : bool, default=False
        Whether to keep the 14 rows that repeat another one in every attribute and in the class,
        for 277 rows with 81 positive.
    coding : {"number", "raw"}, default="number"
        ``"number"`` codes each of the 9 attributes by one number: bins by their lower end, yes/no
        and left/right by 1/0, the quadrant by its number in the documentation. ``"raw"`` gives
        the categories as strings.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    as_frame : bool, default=False
        Whether to return pandas objects; categorical columns for the raw coding.

    Returns
    -------
    Bunch or tuple
        With ``data``, ``target`` (+1 and -1), ``frame``, ``feature_names``, ``target_names`` (the
        negative one first), ``DESCR``, ``filename`` and ``cost``, the paper's cost for this set.

    References
    ----------
    Zwitter, M. and Soklic, M. (1988). Breast Cancer. UCI Machine Learning Repository.
    doi:10.24432/C51P4M.

    Examples
    --------
    >>> from flipcost.datasets import load_breast_cancer_ljubljana
    >>> bunch = load_breast_cancer_ljubljana()
    >>> bunch.data.shape, int((bunch.target == 1).sum()), bunch.cost
    ((263, 9), 77, 0.2)
    >>> load_breast_cancer_ljubljana(coding="raw").data[0, :3]
    array(['40-49', 'premeno', '20-24'], dtype=object)
    """
    _check_coding(coding)
    entry, rows, features = _load("breast_cancer_ljubljana")
    if not duplicates:
        rows = [dict(items) for items in dict.fromkeys(tuple(row.items()) for row in rows)]
    if coding == "raw":
        data: NDArray[Any] = np.array([[row[f] for f in features] for row in rows], dtype=object)
    else:
        data = np.array([[breast_number(f, row[f]) for f in features] for row in rows])
    levels = {f: (values, f in BREAST_ORDERED) for f, values in BREAST_CATEGORIES.items()}
    return make_bunch(
        entry,
        data,
        _class_is(rows, "recurrence-events"),
        variant="with_duplicates" if duplicates else "distinct",
        return_X_y=return_X_y,
        as_frame=as_frame,
        categories=levels if coding == "raw" else None,
    )


def load_pima(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Pima: diabetes from eight measurements.

    The positive class is diabetes. 768 rows, 268 of them positive, 8 numeric attributes. Missing
    measurements are written as zeros, as in every published comparison.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    as_frame : bool, default=False
        Whether to return pandas objects.

    Returns
    -------
    Bunch or tuple
        As :func:`load_breast_cancer_ljubljana` returns.

    References
    ----------
    Smith, J. W. et al. (1988). Using the ADAP learning algorithm to forecast the onset of diabetes
    mellitus. Symposium on Computer Applications and Medical Care, 261-265.

    Examples
    --------
    >>> from flipcost.datasets import load_pima
    >>> bunch = load_pima()
    >>> bunch.data.shape, int((bunch.target == 1).sum()), bunch.cost
    ((768, 8), 268, 0.25)
    """
    entry, rows, features = _load("pima")
    data, positive = _floats(rows, features), _class_is(rows, "positive")
    return make_bunch(entry, data, positive, return_X_y=return_X_y, as_frame=as_frame)


def load_german_credit(
    *,
    coding: str = "number",
    standardize: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load German Credit: whether an applicant is a bad risk.

    The positive class is the bad credit. 1000 rows, 300 of them positive, 20 attributes.

    Parameters
    ----------
    coding : {"number", "raw"}, default="number"
        ``"number"`` codes each of the 20 attributes by one number; a category such as ``A34``
        becomes the integer after the letter. ``"raw"`` gives numeric attributes as numbers and
        the others as the original codes; ``codes`` in the result says what these mean.
    standardize : bool, default=True
        Whether to bring the columns of the 20-number coding to mean 0 and standard deviation 1
        over all rows, as is usual for it. Has no effect on the raw coding.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    as_frame : bool, default=False
        Whether to return pandas objects; categorical columns for the raw coding.

    Returns
    -------
    Bunch or tuple
        As :func:`load_breast_cancer_ljubljana` returns, with ``codes`` besides.

    References
    ----------
    Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository.
    doi:10.24432/C5NC77.

    Examples
    --------
    >>> from flipcost.datasets import load_german_credit
    >>> bunch = load_german_credit()
    >>> bunch.data.shape, int((bunch.target == 1).sum()), bunch.cost
    ((1000, 20), 300, 0.16)
    >>> raw = load_german_credit(coding="raw")
    >>> raw.data[0, :3]
    array(['A11', 6.0, 'A34'], dtype=object)
    >>> raw.codes["checking_status"]["A11"]
    'below 0 DM'
    """
    _check_coding(coding)
    entry, rows, features = _load("german_credit")
    data: NDArray[Any]
    if coding == "raw":
        cells = [[row[f] if f in GERMAN_CODES else float(row[f]) for f in features] for row in rows]
        data = np.array(cells, dtype=object)
    else:
        data = np.array([[german_number(row[f]) for f in features] for row in rows])
        if standardize:
            data = (data - data.mean(axis=0)) / data.std(axis=0)
    return make_bunch(
        entry,
        data,
        _class_is(rows, "2"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        categories={f: (tuple(codes), False) for f, codes in GERMAN_CODES.items()}
        if coding == "raw"
        else None,
        codes={f: dict(codes) for f, codes in GERMAN_CODES.items()},
    )


def load_thyroid(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Thyroid (new-thyroid): whether the gland works abnormally.

    The positive class is the abnormal gland, overactive (35 rows) or underactive (30 rows). 215
    rows, 65 of them positive, 5 laboratory tests.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    as_frame : bool, default=False
        Whether to return pandas objects.

    Returns
    -------
    Bunch or tuple
        As :func:`load_breast_cancer_ljubljana` returns.

    References
    ----------
    Coomans, D. et al. (1983). Comparison of multivariate discrimination techniques for clinical
    data. Methods of Information in Medicine 22, 93-101. Data: doi:10.24432/C5D010.

    Examples
    --------
    >>> from flipcost.datasets import load_thyroid
    >>> bunch = load_thyroid()
    >>> bunch.data.shape, int((bunch.target == 1).sum()), bunch.cost
    ((215, 5), 65, 0.3)
    """
    entry, rows, features = _load("thyroid")
    data, positive = _floats(rows, features), _class_is(rows, "2", "3")
    return make_bunch(entry, data, positive, return_X_y=return_X_y, as_frame=as_frame)


def load_bupa(*, keep_drinks: bool = True, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Bupa: whether a man drinks three half-pints a day or more.

    The positive class is drinks >= 3, which gives the 176 positive and 169 negative rows of the
    paper; its text says more than 3, which would give 155 and 190.

    Parameters
    ----------
    keep_drinks : bool, default=True
        Whether ``drinks``, the number that defines the label, is among the features. True is the
        paper's task, on which a perfect rule exists. False is the honest task: the five blood
        tests alone.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    as_frame : bool, default=False
        Whether to return pandas objects.

    Returns
    -------
    Bunch or tuple
        As :func:`load_breast_cancer_ljubljana` returns.

    References
    ----------
    BUPA Medical Research Ltd and Forsyth, R. S. (1990). Liver Disorders. UCI Machine Learning
    Repository. doi:10.24432/C54G67.

    McDermott, J. and Forsyth, R. S. (2016). Diagnosing a disorder in a classification benchmark.
    Pattern Recognition Letters 73, 41-43.

    Examples
    --------
    >>> from flipcost.datasets import load_bupa
    >>> bunch = load_bupa()
    >>> bunch.data.shape, int((bunch.target == 1).sum()), bunch.cost
    ((345, 6), 176, 0.25)
    >>> load_bupa(keep_drinks=False).feature_names
    ['mcv', 'alkphos', 'sgpt', 'sgot', 'gammagt']
    """
    entry, rows, features = _load("bupa")
    kept = [f for f in features if keep_drinks or f != "drinks"]
    data, positive = _floats(rows, kept), _floats(rows, ["drinks"])[:, 0] >= 3
    return make_bunch(
        entry, data, positive, return_X_y=return_X_y, as_frame=as_frame, feature_names=kept
    )
