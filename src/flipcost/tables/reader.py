"""The first step of a saved model: columns of a table to a matrix of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from flipcost.core.arrays import Array
from flipcost.exceptions import CellError, TableError, shorten, unknown_column
from flipcost.tables.arrow import as_arrow, is_text, take_column
from flipcost.tables.columns import describe_column, read_cells, refuse_infinite

_DAY = 86400.0
_CYCLE_DIGITS = 12
_DATE_PARTS = ("days", "year sine", "year cosine", "week sine", "week cosine")


class ColumnReader(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Read the columns of a table as numbers: categories as codes, dates as days and cycles.

    The first step of the models that `flipcost audit` saves. It learns what each column holds, and
    later reads the same columns in the same way or says what differs.

    Parameters
    ----------
    columns : list of str or None, default=None
        The columns to read; all of them when None.
    categorical : list of str, default=()
        Columns that hold categories although they look like numbers.

    Attributes
    ----------
    schema_ : list of dict
        What each column holds, as found by `fit`: ``name``, ``kind`` and ``levels`` or ``format``.
    feature_names_in_ : ndarray of str
        Names of the columns that are read.
    n_features_in_ : int
        How many they are.

    Notes
    -----
    A missing value is NaN. A level that was not there at `fit` has the code -1. A date gives its
    days since 1970 and its place in the year and in the week, as sine and cosine.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.reader import ColumnReader
    >>> table = pa.table({"age": ["50", None, "31"], "town": ["Paris", "Lyon", "Paris"]})
    >>> ColumnReader().fit_transform(table)
    array([[50.,  1.],
           [nan,  0.],
           [31.,  1.]])
    """

    def __init__(
        self, columns: Sequence[str] | None = None, categorical: Sequence[str] = ()
    ) -> None:
        self.columns = columns
        self.categorical = categorical

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's convention
        """Find out what each column holds.

        Parameters
        ----------
        X : pyarrow, pandas or polars table
            Rows.
        y : None
            Not used.

        Returns
        -------
        self
        """
        table = as_arrow(X)
        names = list(table.column_names if self.columns is None else self.columns)
        self.schema_ = [
            describe_column(
                name,
                take_column(table, name, "The table"),
                categorical=name in self.categorical,
            )
            for name in names
        ]
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def transform(self, X: Any) -> Array:
        """Return the columns as numbers.

        Parameters
        ----------
        X : pyarrow, pandas or polars table
            Rows, with the columns that were there at `fit` in any order.

        Returns
        -------
        ndarray of shape (n, n_numbers)
        """
        check_is_fitted(self)
        table = as_arrow(X)
        names = set(table.column_names)
        missing = [c["name"] for c in self.schema_ if c["name"] not in names]
        if len(missing) == 1:
            raise unknown_column(missing[0], table.column_names, "The table")
        if missing:
            msg = f"The table lacks {len(missing)} columns of the model: {shorten(missing)}."
            raise TableError(msg)
        parts = [_numbers(take_column(table, c["name"], "The table"), c) for c in self.schema_]
        return np.column_stack(parts) if parts else np.empty((table.num_rows, 0))

    def frame(self, X: Any) -> Any:
        """Return the columns as an Arrow table of plain types, whatever types X has them in.

        Numbers are numbers, truth values are words, and categories dictionaries; this is what the
        encoder of a classifier learns from and reads.
        """
        check_is_fitted(self)
        table = as_arrow(X)
        made = []
        for column in self.schema_:
            values, kind = take_column(table, column["name"], "The table"), column["kind"]
            if kind == "category":
                made.append(values.cast(pa.string()).dictionary_encode())
            elif kind == "date":  # as text or time, which SQL must know
                made.append(values)
            elif kind == "boolean":  # in words, which a classifier does not take for a number
                truth = _numbers(values, column)
                made.append(pa.array(np.where(truth == 1, "true", "false"), mask=np.isnan(truth)))
            else:
                made.append(pa.array(_numbers(values, column), from_pandas=True))
        return pa.table(made, names=[column["name"] for column in self.schema_])

    def get_feature_names_out(self, input_features: None = None) -> NDArray[Any]:  # noqa: ARG002 - likewise
        """Return the names of the numbers.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array([name for name, _ in self.sources()], dtype=object)

    def sources(self) -> list[tuple[str, int]]:
        """Return, for each number, its name and the place of its column in `schema_`.

        Returns
        -------
        list of tuple
        """
        found = []
        for place, column in enumerate(self.schema_):
            if column["kind"] == "date":
                found += [(f"{column['name']} {part}", place) for part in _DATE_PARTS]
            else:
                found.append((column["name"], place))
        return found


def _numbers(column: Any, described: dict[str, Any]) -> Array:
    kind = described["kind"]
    try:
        return _READ[kind](column, described)
    except TableError:
        raise
    except (ValueError, NotImplementedError) as error:  # pyarrow's errors are of these kinds
        place = _first_unread(column, described)
        # What stands there, not what the parser says of it.
        found = shorten([str(column[place].as_py())])
        msg = (
            f"Column {described['name']!r} held {_WORDS[kind]} when the model was made and does "
            f"not now (found {found}); correct the column."
        )
        raise CellError(msg, place) from error


def _first_unread(column: Any, described: dict[str, Any]) -> int:
    """Return the place of the first cell that cannot be read, found by halving."""
    first, last = 0, len(column)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            _READ[described["kind"]](column.slice(first, middle - first), described)
        except (ValueError, NotImplementedError):
            last = middle
        else:
            first = middle
    return first


def _float(column: Any) -> Array:
    values: Array = column.to_numpy(zero_copy_only=False).astype(float)
    return values


def _read_number(column: Any, described: dict[str, Any]) -> Array:
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    if described.get("format") and is_text(column.type):
        column = read_cells(column.cast(pa.string()), described.get("format"))
    column = column.cast(pa.float64(), safe=False)
    refuse_infinite(column, described["name"])
    return _float(column)


def _read_boolean(column: Any, _: dict[str, Any]) -> Array:
    if pa.types.is_boolean(column.type):
        return _float(column.cast(pa.float64()))
    truth = read_cells(column.cast(pa.string()), pa.bool_())
    return _float(truth.cast(pa.float64()))


def _read_category(column: Any, described: dict[str, Any]) -> Array:
    text = column.cast(pa.string())
    codes = pc.index_in(text, value_set=pa.array(described["levels"], pa.string()))
    codes = pc.if_else(pc.is_valid(text), pc.fill_null(codes, -1), None)
    return _float(codes.cast(pa.float64()))


def _read_date(column: Any, described: dict[str, Any]) -> Array:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = read_cells(column, described["format"] or "%Y-%m-%d")
    seconds = _float(column.cast(pa.timestamp("s"), safe=False).cast(pa.int64()))
    days = seconds / _DAY
    year, week = 2 * np.pi * days / 365.2425, 2 * np.pi * (days % 7) / 7
    cycles = np.stack([np.sin(year), np.cos(year), np.sin(week), np.cos(week)])
    # Wednesday and Friday have one cosine: a tree could tell them apart by how it is rounded, and
    # would do so in another way on another machine.
    return np.column_stack([days, *cycles.round(_CYCLE_DIGITS)])


def _read_nothing(column: Any, _: dict[str, Any]) -> Array:
    return np.full(len(column), np.nan)


_READ = {
    "number": _read_number,
    "boolean": _read_boolean,
    "category": _read_category,
    "date": _read_date,
    "empty": _read_nothing,
    "constant": _read_nothing,
}
_WORDS = {
    "number": "numbers",
    "boolean": "yes or no",
    "category": "categories",
    "date": "dates",
    "empty": "nothing",
    "constant": "one value",
}


class FrameReader(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The first step of a model that reads columns itself: those of a reader, in plain types.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["50", None, "31"], "town": ["Paris", "Lyon", "Paris"]})
    >>> FrameReader(ColumnReader().fit(table)).transform(table)["age"].to_pylist()
    [50.0, None, 31.0]
    """

    def __init__(self, reader: ColumnReader) -> None:
        self.reader = reader

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's convention
        """Return itself: the reader is fitted."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns as an Arrow table."""
        return self.reader.frame(X)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns that are read."""
        return np.asarray(self.reader.feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return True
