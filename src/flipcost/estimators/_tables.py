"""Fitting from tables that are read in passes: what the closed-form classifiers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from flipcost._validation import positive_index
from flipcost.tables.scan import scan_dask
from flipcost.tables.source import Table


def is_dask(rows: Any) -> bool:
    """Tell whether rows are a Dask collection, without importing Dask."""
    return type(rows).__module__.partition(".")[0] == "dask"


def dask_table(X: Any, y: Any, sample_weight: Any) -> Table:
    """Return a Dask collection with its labels as a table."""
    return scan_dask(X, y, sample_weight=sample_weight)


def check_table(table: Any) -> None:
    """Refuse what is not a table."""
    if not isinstance(table, Table):
        msg = (
            f"`table` must be made by one of flipcost.scale's scan functions; got "
            f"{type(table).__name__}. For rows in memory use `fit`."
        )
        raise TypeError(msg)


def oriented(table: Any, n_folds: Any, pos_label: Any) -> Any:
    """Return the sorted classes, and the labelled moments of each fold, positive label second."""
    return orient_found(table, table.fold_moments(n_folds), pos_label)


def orient_found(table: Any, found: Any, pos_label: Any) -> Any:
    """Do the same with the labelled moments at hand."""
    both = found.oriented()  # says so when there is one label only
    classes = np.array(sorted(both.labels))
    positive = both.labels[positive_index(classes, pos_label)]
    check_positive(table, positive, pos_label)
    return classes, both.oriented(positive)


def check_positive(table: Any, positive: Any, pos_label: Any) -> None:
    """Refuse another positive label than the one that the table has."""
    if table.positive is not None and table.positive != positive:
        msg = (
            f"`pos_label` must be the positive label of the table, {table.positive!r}; got "
            f"{pos_label!r}, which stands for {positive!r}. Set pos_label={table.positive!r}."
        )
        raise ValueError(msg)


def name_features(estimator: Any, names: Any) -> None:
    """Keep the names of the features as scikit-learn does."""
    vars(estimator).pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
