"""First steps of the models of an audit: from a table to what a classifier reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from flipcost.core.arrays import Array

if TYPE_CHECKING:
    from flipcost.tables.encoder import Encoder


class PlainColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns of an encoder in plain types, for a classifier that reads columns itself.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.encoder import Encoder
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


class StandardNumbers(PlainColumns):
    """The numbers of an encoder, of mean 0 and deviation 1, for any other classifier.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.encoder import Encoder
    >>> table = pa.table({"age": [50, None, 31], "town": ["Paris", "Lyon", "Paris"]})
    >>> StandardNumbers(Encoder.learn(table)).fit_transform(table).round(2)
    array([[ 1.22, -0.71,  0.71, -0.71],
           [ 0.  ,  1.41, -1.41,  1.41],
           [-1.22, -0.71,  0.71, -0.71]])
    """

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's convention
        """Learn means and deviations of the numbers."""
        return self.fit_cells(self.encoder.cells(X))

    def fit_cells(self, cells: Array) -> Self:
        """Learn them of rows whose cells the encoder read."""
        numbers = self.encoder.numbers(cells)
        self.mean_ = numbers.mean(axis=0)
        spread = numbers.std(axis=0)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, X: Any) -> Array:
        """Return the numbers of a table."""
        check_is_fitted(self)
        return self.of_cells(self.encoder.cells(X))

    def of_cells(self, cells: Array) -> Array:
        """Return the numbers of rows whose cells the encoder read."""
        return np.asarray((self.encoder.numbers(cells) - self.mean_) / self.scale_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mean_")
