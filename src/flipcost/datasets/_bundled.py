r"""The bundled data: five public tables and the paper's printed figures; and a list of all data.

Categories as numbers. Breast Cancer: binned attributes become the lower end of their bin (years,
millimetres, nodes), an affine function of the rank as the bins have equal width; yes/no and
left/right become 1/0 and 0/1; ``menopause`` is ordered by how early it set in. ``breast_quad`` has
no order: it gets the number of the quadrant in the order of the original documentation, which keeps
the nine features of the published comparisons but means little to a linear model. Use the raw
categories with a one-hot encoder where that matters. German Credit: a code is the letter A, the
number of the attribute and the number of the category (``A34``: attribute 3, category 4), of which
the integer after the letter is taken.
"""

from __future__ import annotations

import csv
import inspect
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from flipcost.core.arrays import Array, Flags
from flipcost.datasets import gaussian


def _read(name: str) -> bytes:
    """Return the content of a file of this package."""
    return (files("flipcost.datasets") / name).read_bytes()


def read_table(entry: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the rows of a bundled CSV file."""
    return list(csv.DictReader(_read(f"data/{entry['file']}").decode("ascii").splitlines()))


def describe(entry: Mapping[str, Any]) -> str:
    """Return the text of ``DESCR``, put together from the index entry."""
    source = entry["source"]
    counts = "; ".join(
        f"{c['rows']} rows, {c['positives']} positive, {c['negatives']} negative"
        for c in entry["counts"].values()
    )
    sections = [
        entry["title"],
        f"Counts: {counts}.",
        f"Positive (+1) when: {entry['positive_rule']}.",
        f"Cost in the published comparison: {entry['cost']}.",
        *entry["notes"],
        f"Source: {source['path']} in the wheel of {source['package']} {source['version']}.",
        f"Licence: {entry['licence']}.",
        "Please cite: " + " ".join(entry["citation"]),
    ]
    return "\n\n".join(sections)


def make_bunch(
    entry: Mapping[str, Any],
    data: NDArray[Any],
    positive: Flags,
    *,
    return_X_y: bool,
    as_frame: bool,
    feature_names: Sequence[str] = (),
    categories: Mapping[str, tuple[Sequence[str], bool]] | None = None,
    **extra: object,
) -> Any:
    """Return a set in scikit-learn's form.

    ``categories`` maps a categorical column to its categories and whether they are ordered, for
    the frame of a raw coding. The features are those of the index unless others are named.
    """
    names = list(feature_names or entry["columns"][: entry["features"]])
    X: Any = data
    y: Any = np.where(positive, 1, -1)
    frame = None
    if as_frame:
        import pandas as pd  # noqa: PLC0415 - not needed otherwise

        kinds = {name: pd.CategoricalDtype(*of) for name, of in (categories or {}).items()}
        X = pd.DataFrame(data, columns=names).astype(
            {name: kinds.get(name, float) for name in names}
        )
        y = pd.Series(y, name="target")
        frame = X.assign(target=y)
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=names,
        target_names=list(entry["target_names"]),
        DESCR=describe(entry),
        cost=float(entry["cost"]),
        filename=entry["file"],
        **extra,
    )


def _load(
    name: str, codes: str = "", coding: str = "number"
) -> tuple[dict[str, Any], list[dict[str, str]], list[str], dict[str, dict[str, Any]]]:
    """Return the index entry, the rows, the feature names and the codes of a bundled table."""
    if coding not in ("number", "raw"):
        msg = f"`coding` must be one of ('number', 'raw'); got {coding!r}."
        raise ValueError(msg)
    entry = json.loads(_read("data/index.json"))["tables"][name]
    known = json.loads(_read(codes)) if codes else {}
    return entry, read_table(entry), entry["columns"][: entry["features"]], known


def _floats(rows: Sequence[dict[str, str]], features: Sequence[str]) -> Array:
    """Return numeric columns as a matrix."""
    return np.array([[float(row[feature]) for feature in features] for row in rows])


def _class_is(rows: Sequence[dict[str, str]], *values: str) -> Flags:
    """Return which rows have one of some classes."""
    return np.array([row["class"] in values for row in rows])


# Attributes of Breast Cancer whose categories have an order.
_ORDERED = frozenset({"age", "menopause", "tumor_size", "inv_nodes", "deg_malig"})


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
    entry, rows, features, codes = _load("breast_cancer_ljubljana", "breast_codes.json", coding)
    if not duplicates:
        rows = [dict(items) for items in dict.fromkeys(tuple(row.items()) for row in rows)]
    raw = coding == "raw"
    data: NDArray[Any] = np.array(
        [[row[f] if raw else codes[f][row[f]] for f in features] for row in rows],
        dtype=object if raw else float,
    )
    return make_bunch(
        entry,
        data,
        _class_is(rows, "recurrence-events"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        categories={f: (list(own), f in _ORDERED) for f, own in codes.items()} if raw else None,
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
    entry, rows, features, _ = _load("pima")
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
    entry, rows, features, codes = _load("german_credit", "german_codes.json", coding)
    raw = coding == "raw"
    if raw:
        cells = [[row[f] if f in codes else float(row[f]) for f in features] for row in rows]
        data: NDArray[Any] = np.array(cells, dtype=object)
    else:
        data = np.array([[float(row[f].removeprefix("A")) for f in features] for row in rows])
        if standardize:
            data = (data - data.mean(axis=0)) / data.std(axis=0)
    return make_bunch(
        entry,
        data,
        _class_is(rows, "2"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        categories={f: (list(own), False) for f, own in codes.items()} if raw else None,
        codes=codes,
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
    entry, rows, features, _ = _load("thyroid")
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
    entry, rows, features, _ = _load("bupa")
    kept = [f for f in features if keep_drinks or f != "drinks"]
    data, positive = _floats(rows, kept), _floats(rows, ["drinks"])[:, 0] >= 3
    return make_bunch(
        entry, data, positive, return_X_y=return_X_y, as_frame=as_frame, feature_names=kept
    )


_NUMBERS = ("rho", "pi", "mean", "std")
_NUMBER_OR_TUNED = ("cost", "gamma")


def load_paper_tables(*, as_frame: bool = False) -> Any:
    """Load the 931 cells printed in the tables of the paper.

    The cells are as printed, errors included.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether to return a pandas DataFrame in place of a list of dictionaries.

    Returns
    -------
    list of dict, or DataFrame
        One row per cell, in the order of the paper, with the keys

        - ``table``, ``dataset``, ``method``, ``measure``: strings;
        - ``cost``, ``gamma``: a number, ``"tuned"``, or None where it does not apply;
        - ``rho``, ``pi``: the noise rate and the share of the positive class, NaN where it does
          not apply;
        - ``mean``, ``std``: the printed figures, NaN where the paper prints NA or nothing.

    References
    ----------
    Tripathi, S. and Hemachandra, N. (2019). Cost sensitive learning in the presence of symmetric
    label noise. PAKDD 2019, 15-28. doi:10.1007/978-3-030-16148-4_2.

    Examples
    --------
    >>> from flipcost.datasets import load_paper_tables
    >>> cells = load_paper_tables()
    >>> len(cells), len({cell["table"] for cell in cells})
    (931, 23)
    >>> cells[0]["dataset"], cells[0]["method"], cells[0]["measure"], cells[0]["mean"]
    ('breast_cancer', 'lkfun_sq', 'Acc', 0.7)
    """
    rows = [_parse(row) for row in read_table({"file": "paper_tables.csv"})]
    if not as_frame:
        return rows
    import pandas as pd  # noqa: PLC0415 - not needed otherwise

    return pd.DataFrame(rows)


def _parse(row: dict[str, str]) -> dict[str, Any]:
    """Return a row with numbers in place of their text."""
    parsed: dict[str, Any] = dict(row)
    for key in _NUMBERS:
        parsed[key] = float("nan") if row[key] in ("", "NA") else float(row[key])
    for key in _NUMBER_OR_TUNED:
        if row[key] != "tuned":
            parsed[key] = float(row[key]) if row[key] else None
    return parsed


_LAWS = (
    gaussian.make_syn1,
    gaussian.make_syn2,
    gaussian.make_syn2d,
    gaussian.make_syn3d,
    gaussian.make_syn10d,
    gaussian.make_syn3d_imbalanced,
)


def list_datasets() -> list[dict[str, Any]]:
    """List the bundled tables and the synthetic laws.

    Returns
    -------
    list of dict
        One per data set, with ``name``, ``kind`` (``"bundled"`` or ``"synthetic"``), ``loader``
        (the name of the function that returns it), ``rows``, ``features``, ``positives``,
        ``negatives``, ``cost``, ``source`` and ``licence``. The figures are those of the loader's
        defaults. The class counts of a synthetic law are random and hence None; so is the cost
        where the paper sets none.

    Examples
    --------
    >>> from flipcost.datasets import list_datasets
    >>> for row in list_datasets()[:5]:
    ...     print(row["name"], row["rows"], row["features"], row["positives"], row["cost"])
    breast_cancer_ljubljana 263 9 77 0.2
    pima 768 8 268 0.25
    german_credit 1000 20 300 0.16
    thyroid 215 5 65 0.3
    bupa 345 6 176 0.25
    """
    bundled = [
        {
            "name": name,
            "kind": "bundled",
            "loader": entry["loader"],
            "features": entry["features"],
            **next(iter(entry["counts"].values())),
            "cost": entry["cost"],
            "source": f"{entry['source']['package']} {entry['source']['version']}",
            "licence": entry["licence"],
        }
        for name, entry in json.loads(_read("data/index.json"))["tables"].items()
    ]
    synthetic = []
    for make in _LAWS:
        bunch = make(1, random_state=0)
        row = {
            "name": make.__name__.removeprefix("make_"),
            "kind": "synthetic",
            "loader": make.__name__,
            "features": bunch.data.shape[1],
            "rows": inspect.signature(make).parameters["n_samples"].default,
            "positives": None,
            "negatives": None,
            "cost": bunch.get("cost"),
            "source": "drawn on demand",
            "licence": "BSD-3-Clause",
        }
        synthetic.append(row)
    return bundled + synthetic
