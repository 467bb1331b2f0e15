"""From the numbers of a table to features of comparable scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

if TYPE_CHECKING:
    from flipcost.tables.reader import ColumnReader

# Levels beyond these, and those of fewer rows than that, share one column. Many columns of
# categories get fewer each: the moments of a linear score grow with the square of all features.
_MAX_LEVELS = 30
_LEAST_LEVELS = 4
_ALL_LEVELS = 400
_MIN_ROWS = 5


def make_features(reader: ColumnReader) -> ColumnTransformer:
    """Return the transformer from what a `ColumnReader` reads to features for a linear score.

    Numbers, yes and no among them, are imputed by their median, with a column that says where, and
    scaled; categories get a column for each of their frequent levels, one for the rest and one for
    missing values.

    Parameters
    ----------
    reader : ColumnReader
        Fitted.

    Returns
    -------
    ColumnTransformer

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.reader import ColumnReader
    >>> reader = ColumnReader()
    >>> table = pa.table({"age": ["50", None, "35"], "smokes": ["yes", "no", None]})
    >>> numbers = reader.fit_transform(table)
    >>> make_features(reader).fit_transform(numbers).shape
    (3, 4)
    """
    kinds = [reader.schema_[place]["kind"] for _, place in reader.sources()]
    numbers = [j for j, kind in enumerate(kinds) if kind in ("number", "date", "boolean")]
    levels = [j for j, kind in enumerate(kinds) if kind == "category"]
    imputed = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    encoded = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=int(np.clip(_ALL_LEVELS // max(len(levels), 1), _LEAST_LEVELS, _MAX_LEVELS)),
        min_frequency=_MIN_ROWS,
        sparse_output=False,
    )
    return ColumnTransformer(
        [("numbers", imputed, numbers), ("levels", encoded, levels)],
        verbose_feature_names_out=False,
    )
