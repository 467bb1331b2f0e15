"""Assembling what the loaders return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from flipcost.core.arrays import Flags
from flipcost.datasets._files import check_counts


def import_pandas() -> Any:
    """Return pandas, or say what to do without it."""
    try:
        import pandas as pd  # noqa: PLC0415 (optional dependency)
    except ImportError:
        msg = (
            "`as_frame=True` needs pandas, which is not installed. "
            "Install pandas, or use as_frame=False for numpy arrays."
        )
        raise ImportError(msg) from None
    return pd


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
    variant: str = "all",
    feature_names: Sequence[str] = (),
    categories: Mapping[str, tuple[Sequence[str], bool]] | None = None,
    **extra: object,
) -> Any:
    """Check the counts of a loaded set and return it in scikit-learn's form.

    ``categories`` maps a categorical column to its categories and whether they are ordered, for
    the frame of a raw coding. The features are those of the index unless others are named.
    """
    feature_names = feature_names or entry["columns"][: entry["features"]]
    n_rows, n_positive = len(positive), int(positive.sum())
    found = {"rows": n_rows, "positives": n_positive, "negatives": n_rows - n_positive}
    check_counts(entry["name"], found, entry["counts"][variant])
    X: Any = data
    y: Any = np.where(positive, 1, -1)
    frame = None
    if as_frame:
        X, y, frame = _as_frame(data, y, feature_names, categories or {})
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=list(feature_names),
        target_names=list(entry["target_names"]),
        DESCR=describe(entry),
        cost=float(entry["cost"]),
        filename=entry["file"],
        **extra,
    )


def _as_frame(
    data: NDArray[Any],
    target: NDArray[np.int_],
    feature_names: Sequence[str],
    categories: Mapping[str, tuple[Sequence[str], bool]],
) -> tuple[Any, Any, Any]:
    """Return features, target and both together as pandas objects."""
    pd = import_pandas()
    columns = {}
    for j, feature in enumerate(feature_names):
        if feature in categories:
            values, ordered = categories[feature]
            columns[feature] = pd.Categorical(data[:, j], categories=list(values), ordered=ordered)
        else:
            columns[feature] = data[:, j].astype(float)
    X = pd.DataFrame(columns)
    y = pd.Series(target, name="target")
    return X, y, X.assign(target=y)
