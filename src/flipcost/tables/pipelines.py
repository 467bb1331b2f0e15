"""Columns as numbers, or in plain types, as the first steps of scikit-learn pipelines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from flipcost.core.arrays import Array
from flipcost.tables.encoder import Column, Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PlainColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns of an encoder in plain types, for a classifier that reads columns itself.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["50", None, "31"], "town": ["Paris", "Lyon", "Paris"]})
    >>> PlainColumns(Encoder.learn(table)).transform(table)["age"].to_pylist()
    [50.0, None, 31.0]
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's convention
        """Return itself: the encoder has learned what there is to learn."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns as an Arrow table."""
        return self.encoder.frame(X)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns that are read."""
        return np.array(self.encoder.names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class TableEncoder(PlainColumns):
    """Columns of a table as numbers of mean 0 and deviation 1, the same in every pass and process.

    Learned by `Table.learn_encoder`. Missing numbers become the median, with a column of zeros and
    ones beside it; each frequent level of a category has such a column; numbers far out are
    clipped. It serves as the first step of a scikit-learn pipeline too.

    Parameters
    ----------
    encoder : Encoder
        What was learned of the columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.scale import scan_batches
    >>> rows = {"age": [50, None, 31], "town": ["Paris", "Lyon", "Paris"], "ill": [0, 1, 1]}
    >>> encoder = scan_batches([pa.table(rows)], "ill").learn_encoder()
    >>> encoder.feature_names
    ('age', 'age is missing', 'town = Paris', 'town = Lyon')
    >>> encoder.transform(pa.table(rows)).round(2)
    array([[ 1.22, -0.71,  0.71, -0.71],
           [ 0.  ,  1.41, -1.41,  1.41],
           [-1.22, -0.71,  0.71, -0.71]])
    """

    def fit(
        self,
        X: Any,
        y: None = None,  # noqa: ARG002 - scikit-learn's convention
        sample_weight: Array | None = None,
    ) -> Self:
        """Learn means and deviations of the numbers."""
        return self.fit_cells(self.encoder.cells(X), sample_weight)

    def fit_cells(self, cells: Array, sample_weight: Array | None = None) -> Self:
        """Learn them of rows whose cells the encoder read."""
        numbers = self.encoder.numbers(cells)
        if sample_weight is None:
            self.mean_, spread = numbers.mean(axis=0), numbers.std(axis=0)
        else:
            self.mean_ = np.average(numbers, axis=0, weights=sample_weight)
            squares = np.average((numbers - self.mean_) ** 2, axis=0, weights=sample_weight)
            spread = np.sqrt(squares)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, X: Any) -> Array:
        """Return the numbers of a table: pyarrow, pandas or polars."""
        check_is_fitted(self)
        return self.of_cells(self.encoder.cells(X))

    def of_cells(self, cells: Array) -> Array:
        """Return the numbers of rows whose cells the encoder read."""
        return np.asarray((self.encoder.numbers(cells) - self.mean_) / self.scale_)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return self.encoder.names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        return self.encoder.number_names

    @classmethod
    def merge_all(cls, encoders: Iterable[TableEncoder]) -> TableEncoder:
        """Return one encoder for the tables of all: every level, means of means and fills.

        Examples
        --------
        >>> import pyarrow as pa
        >>> tables = (pa.table({"town": towns}) for towns in (["Lyon", "Nice"], ["Nice", "Paris"]))
        >>> parts = (TableEncoder(Encoder.learn(table)).fit(table) for table in tables)
        >>> TableEncoder.merge_all(parts).feature_names
        ('town = Lyon', 'town = Nice', 'town = Paris')
        """
        parts = list(encoders)
        merged = parts[0].encoder
        for part in parts[1:]:
            merged = merged.merge(part.encoder)
        found, names = cls(merged), merged.number_names
        means = [dict(zip(p.feature_names, p.mean_, strict=True)) for p in parts]
        scales = [dict(zip(p.feature_names, p.scale_, strict=True)) for p in parts]
        # A level that a table does not have is 0 throughout there.
        mean = np.array([[own.get(name, 0.0) for name in names] for own in means])
        scale = np.array([[own.get(name, 0.0) for name in names] for own in scales])
        spread = np.sqrt((scale**2).mean(axis=0) + mean.var(axis=0))
        found.mean_, found.scale_ = mean.mean(axis=0), np.where(spread > 0, spread, 1.0)
        return found

    def to_json(self) -> str:
        """Return the encoder as text, to be kept beside moments or sent to other sites."""
        content = {
            "format": "flipcost.TableEncoder",
            "version": 2,
            "columns": [asdict(column) for column in self.encoder.columns],
            "mean": self.mean_.tolist(),
            "scale": self.scale_.tolist(),
        }
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str) -> TableEncoder:
        """Read what `to_json` wrote.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [50, None, 31]})
        >>> encoder = TableEncoder(Encoder.learn(table)).fit(table)
        >>> TableEncoder.from_json(encoder.to_json()).feature_names
        ('age', 'age is missing')
        """
        content = json.loads(text)
        if content.get("format") != "flipcost.TableEncoder" or content.get("version") != 2:
            msg = "The text must be an encoder of version 2 written by `TableEncoder.to_json`."
            raise ValueError(msg)
        columns: Iterable[dict[str, Any]] = (
            {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            for fields in content["columns"]
        )
        found = cls(Encoder(tuple(Column(**fields) for fields in columns)))
        found.mean_, found.scale_ = np.array(content["mean"]), np.array(content["scale"])
        if not len(found.mean_) == len(found.scale_) == len(found.feature_names):
            msg = "The encoder must have a mean and a scale for each of its features."
            raise ValueError(msg)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mean_")
