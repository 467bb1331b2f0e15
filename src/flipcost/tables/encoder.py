"""Columns of a table to numbers: the one encoder, made of data only.

Every route uses it: `fit` on a frame, an audit, a table in files or in an engine, `predict`, and
every export. It gives rows in two forms. *Cells* are what trees see: numbers with NaN where one is
missing, and codes of levels. *Numbers* are what linear and spline scores see: the same, clipped and
filled, with a column of zeros and ones for each level.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flipcost.core.arrays import Array, Indices, weighted_quantile
from flipcost.exceptions import CellError, TableError, shorten, unknown_column
from flipcost.tables.arrow import as_arrow, is_plain_number, is_text, take_column
from flipcost.tables.columns import LARGEST, describe_column, read_cells, refuse_infinite

# Levels of a category that get a code of their own, shared among all categories of a table: the
# moments of a linear score grow with the square of all columns. Others count as one level.
_MOST_LEVELS, _LEAST_LEVELS, _ALL_LEVELS = 100, 8, 400
# Rows that a level must have for that, in tables of more than a hundred.
_LEVEL_ROWS = 5
# Numbers further out than this many times the distance of these quantiles are codes or mistakes:
# a linear score would follow them. Give Me Some Credit, splines only: 0.845 of the constant's cost
# unclipped, 0.574 clipped.
_OUTER_QUANTILES, _REACH = (0.005, 0.995), 2.0
# Codes such as 999 that many rows hold: further from all other values than this many times the
# range of these, a tenth on either side left out.
_APART = 3.0
# Quantiles are taken from about this many rows.
_QUANTILE_ROWS = 20_000
_DAY = 86400.0
# Sines and cosines are rounded: two days of the week share a cosine, and a tree could tell them
# apart by rounding alone, differently on another machine.
_CYCLE_DIGITS = 12
DATE_PARTS = ("days", "year sine", "year cosine", "week sine", "week cosine")


@dataclass(frozen=True)
class Column:
    """What a model knows of one column.

    `kind` is "number", "boolean", "date" or "category"; "constant" and "empty" columns give no
    cells. `fill`, `low` and `high` have a value for each cell that is a number: what a missing one
    becomes, and where numbers are clipped. `n_levels` counts the rare levels too.
    """

    name: str
    kind: str
    format: str | None = None
    levels: tuple[str, ...] = ()
    fill: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    has_missing: bool = False
    has_other: bool = False
    n_levels: int = 0

    @property
    def cell_names(self) -> tuple[str, ...]:
        """Names of the cells: five for a date, none for a column that does not vary."""
        if self.kind == "date":
            return tuple(f"{self.name} {part}" for part in DATE_PARTS)
        return () if self.kind in ("constant", "empty") else (self.name,)

    def merge(self, other: Column) -> Column:
        """Return what is known of the column in two tables; fills are averaged."""
        for one, more in ((self, other), (other, self)):
            if one.kind in ("constant", "empty"):  # in one table; the other knows it better
                return replace(more, has_missing=more.has_missing or one.kind == "empty")
        if (self.kind, self.format) != (other.kind, other.format):
            msg = f"Column {self.name!r} must be of one kind; got {self.kind} and {other.kind}."
            raise ValueError(msg)
        levels = tuple(dict.fromkeys((*self.levels, *other.levels)))
        return replace(
            self,
            levels=levels,
            fill=tuple((a + b) / 2 for a, b in zip(self.fill, other.fill, strict=True)),
            low=tuple(map(min, self.low, other.low)),
            high=tuple(map(max, self.high, other.high)),
            has_missing=self.has_missing or other.has_missing,
            has_other=self.has_other or other.has_other,
            n_levels=max(self.n_levels, other.n_levels, len(levels)),
        )

    def read(self, column: Any) -> Array:
        """Return the cells of an Arrow array, shape (n, n_cells)."""
        try:
            return _READERS[self.kind](column, self)
        except TableError:
            raise
        except (ValueError, NotImplementedError) as error:  # pyarrow's errors are of these kinds
            place = self._first_unread(column)
            found = shorten([str(column[place].as_py())])
            msg = (
                f"Column {self.name!r} held {_WORDS[self.kind]} when the model was made and does "
                f"not now (found {found}); correct the column."
            )
            raise CellError(msg, place) from error

    def _first_unread(self, column: Any) -> int:
        """Return the place of the first value that cannot be read, found by halving."""
        first, last = 0, len(column)
        while last - first > 1:
            middle = (first + last) // 2
            try:
                _READERS[self.kind](column.slice(first, middle - first), self)
            except (ValueError, NotImplementedError):
                last = middle
            else:
                first = middle
        return first


@dataclass(frozen=True)
class Encoder:
    """Turn the columns of a table into numbers, the same on every route.

    Parameters
    ----------
    columns : tuple of Column
        What was learned of each column, in the order of the table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.encoder import Encoder
    >>> table = pa.table({"age": [50, None, 31], "town": ["Paris", "Lyon", "Paris"]})
    >>> encoder = Encoder.learn(table)
    >>> cells = encoder.cells(table)
    >>> cells
    array([[50.,  0.],
           [nan,  1.],
           [31.,  0.]])
    >>> encoder.number_names
    ('age', 'age is missing', 'town = Paris', 'town = Lyon')
    >>> encoder.numbers(cells)
    array([[50. ,  0. ,  1. ,  0. ],
           [40.5,  1. ,  0. ,  1. ],
           [31. ,  0. ,  1. ,  0. ]])
    """

    columns: tuple[Column, ...]

    @classmethod
    def learn(
        cls,
        X: Any,
        *,
        columns: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        sample_weight: Array | None = None,
    ) -> Encoder:
        """Look at training rows: a table, or an array of numbers.

        `columns` names those to read, all when None; `categorical` those that hold categories
        although they look like numbers. Medians and quantiles count rows by their weights.
        """
        if not hasattr(X, "columns"):
            names = [f"x{k}" for k in range(X.shape[1])] if columns is None else columns
            plain = [Column(name, "number") for name in names]
            return cls(_with_numbers(plain, X, sample_weight))
        table = as_arrow(X)
        names = table.column_names if columns is None else columns
        coded = {*categorical, *(name for name in names if _is_coded(table, name))}
        return cls.of_described(table, describe(table, names, coded), sample_weight)

    @classmethod
    def of_described(
        cls, table: Any, described: Sequence[dict[str, Any]], sample_weight: Array | None = None
    ) -> Encoder:
        """Learn the columns of an Arrow table, given what `describe` found in them."""
        found = [Column(one["name"], one["kind"], one.get("format")) for one in described]
        n_categories = sum(column.kind == "category" for column in found)
        most = int(np.clip(_ALL_LEVELS // max(n_categories, 1), _LEAST_LEVELS, _MOST_LEVELS))
        for k, column in enumerate(found):
            if column.kind == "category":
                values = take_column(table, column.name, "The table")
                found[k] = _with_levels(column, values.cast(pa.string()), most)
        cells = cls(tuple(found)).cells(table)
        return cls(_with_numbers(found, cells, sample_weight))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def cell_names(self) -> tuple[str, ...]:
        """Names of the cells."""
        return tuple(name for column in self.columns for name in column.cell_names)

    @cached_property
    def cell_columns(self) -> Indices:
        """Place of the column of each cell."""
        sizes = [len(column.cell_names) for column in self.columns]
        return np.repeat(np.arange(len(self.columns)), sizes)

    @cached_property
    def is_category(self) -> NDArray[np.bool_]:
        """Which cells are codes of levels."""
        kinds = [column.kind == "category" for column in self.columns]
        return np.array(kinds, dtype=bool)[self.cell_columns]

    @cached_property
    def _plain(self) -> Indices:
        """Cells that are numbers."""
        return np.flatnonzero(~self.is_category)

    @cached_property
    def _flagged(self) -> Indices:
        """First cells of the columns with a column of zeros and ones for what is missing."""
        first = np.flatnonzero(np.diff(self.cell_columns, prepend=-1))
        known = [self.columns[self.cell_columns[k]].has_missing for k in first]
        return np.asarray(first[np.array(known, dtype=bool)])

    @cached_property
    def number_names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        names = [self.cell_names[k] for k in self._plain]
        names += [f"{self.names[self.cell_columns[k]]} is missing" for k in self._flagged]
        for _, column in self._categories:
            names += [f"{column.name} = {level}" for level in column.levels]
            names += [f"{column.name} = other"] * column.has_other
        return tuple(names)

    @cached_property
    def _categories(self) -> list[tuple[int, Column]]:
        """Cells that are codes, with their columns."""
        codes = np.flatnonzero(self.is_category)
        return [(int(k), self.columns[self.cell_columns[k]]) for k in codes]

    @cached_property
    def _limits(self) -> tuple[Array, Array, Array]:
        """Fill, lowest and highest value of each cell that is a number."""
        own = [column for column in self.columns if column.kind != "category"]
        fill, low, high = (
            np.array([value for column in own for value in getattr(column, name)], dtype=float)
            for name in ("fill", "low", "high")
        )
        return fill, low, high

    def merge(self, other: Encoder) -> Encoder:
        """Return an encoder for the rows of two tables: the levels and the limits of both."""
        if self.names != other.names:
            msg = f"Encoders must be of the same columns; got {self.names} and {other.names}."
            raise ValueError(msg)
        pairs = zip(self.columns, other.columns, strict=True)
        return Encoder(tuple(a.merge(b) for a, b in pairs))

    def cells(self, X: Any) -> Array:
        """Return rows as numbers and codes, NaN where a value is missing, shape (n, n_cells).

        Unknown and rare levels share one code, one past the last level. An array is returned as it
        is.
        """
        if not hasattr(X, "columns"):
            return np.asarray(X)
        table = as_arrow(X)
        known = set(table.column_names)
        missing = [name for name in self.names if name not in known]
        if len(missing) == 1:
            raise unknown_column(missing[0], table.column_names, "The table")
        if missing:
            msg = f"The table lacks {len(missing)} columns of the model: {shorten(missing)}."
            raise TableError(msg)
        cells = np.empty((table.num_rows, len(self.cell_names)))
        start = 0
        for column in self.columns:
            size = len(column.cell_names)
            if size:
                values = take_column(table, column.name, "The table")
                cells[:, start : start + size] = column.read(values)
            start += size
        return cells

    def frame(self, X: Any) -> Any:
        """Return the columns as an Arrow table of plain types, whatever types X has them in.

        Numbers are numbers, truth values are words, and categories dictionaries, with all levels;
        dates stay text or time, which SQL must know.
        """
        table = as_arrow(X)
        made = []
        for column in self.columns:
            values = take_column(table, column.name, "The table")
            if column.kind == "category":
                values = values.cast(pa.string()).dictionary_encode()
            elif column.kind == "boolean":  # which a classifier does not take for a number
                truth = column.read(values)[:, 0]
                values = pa.array(np.where(truth == 1, "true", "false"), mask=np.isnan(truth))
            elif column.kind == "number" and not is_plain_number(values.type):
                values = pa.array(column.read(values)[:, 0], from_pandas=True)
            made.append(values)
        return pa.table(made, names=list(self.names))

    def numbers(self, cells: Array) -> Array:
        """Return what linear scores see of cells: clipped, filled, a column for each level."""
        fill, low, high = self._limits
        if not self._categories and not len(self._flagged):
            inside = cells >= low  # false where a value is missing
            inside &= cells <= high
            if inside.all():
                return cells
        plain = cells if not self._categories else cells[:, self._plain]
        parts = [np.where(np.isnan(plain), fill, np.clip(plain, low, high))]
        parts.append(np.isnan(cells[:, self._flagged]).astype(float))
        for k, column in self._categories:
            codes = np.arange(len(column.levels) + column.has_other)
            parts.append((cells[:, k, None] == codes).astype(float))
        return np.concatenate(parts, axis=1)


def describe(
    table: Any, names: Sequence[str], categorical: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return what columns of an Arrow table hold; see `describe_column`."""
    return [
        describe_column(
            name, take_column(table, name, "The table"), categorical=name in categorical
        )
        for name in names
    ]


def is_mixed(X: Any) -> bool:
    """Tell whether X is a frame with columns that numpy does not take for numbers."""
    if not hasattr(X, "columns"):
        return False
    if isinstance(X, pa.Table):
        columns = iter(X.columns)
    else:
        columns = (X.iloc[:, k] if hasattr(X, "iloc") else X[:, k] for k in range(X.shape[1]))
    return any(np.asarray(column).dtype.kind not in "fiub" for column in columns)


def _is_coded(table: Any, name: str) -> bool:
    """Tell whether a column arrives as a category."""
    kind = table.schema.field(name).type
    return bool(pa.types.is_dictionary(kind))


def _with_levels(column: Column, text: Any, most: int) -> Column:
    """Return a category with the levels frequent enough to keep, the most frequent first."""
    counts = pc.value_counts(text.drop_null()).to_pylist()
    order = sorted(counts, key=lambda found: (-found["counts"], found["values"]))
    least = _LEVEL_ROWS if len(text) > 20 * _LEVEL_ROWS else 1
    kept = tuple(found["values"] for found in order[:most] if found["counts"] >= least)
    return Column(
        column.name,
        "category",
        levels=kept,
        has_missing=text.null_count > 0,
        has_other=len(kept) < len(order),
        n_levels=len(order),
    )


def _with_numbers(
    columns: Sequence[Column], cells: Array, weight: Array | None
) -> tuple[Column, ...]:
    """Return the columns with what fills and clips their numbers."""
    found, start = [], 0
    least = cells.min(axis=0, initial=np.inf)  # NaN where a value is missing
    step = max(1, len(cells) // _QUANTILE_ROWS)
    some = None if weight is None else np.asarray(weight)[::step]
    for column in columns:
        size = len(column.cell_names)
        own = cells[:, start : start + size]
        start += size
        if column.kind == "category" or not size:
            found.append(column)
            continue
        limits = [_limits_of(own[:, k], own[::step, k], some) for k in range(size)]
        fill, low, high = (tuple(part) for part in zip(*limits, strict=True))
        missing = bool(np.isnan(least[start - size]))
        found.append(
            Column(
                column.name,
                column.kind,
                column.format,
                fill=fill,
                low=low,
                high=high,
                has_missing=missing,
            )
        )
    return tuple(found)


def _limits_of(values: Array, some: Array, weight: Array | None) -> tuple[float, float, float]:
    """Return the median of a column, and the limits that its numbers are clipped at."""
    known = ~np.isnan(some)
    if weight is not None:
        known &= weight > 0
    some = some[known]
    if not len(some):
        return 0.0, -np.inf, np.inf
    probabilities = (_OUTER_QUANTILES[0], 0.5, _OUTER_QUANTILES[1])
    if weight is None:
        low, middle, high = (float(value) for value in np.quantile(some, probabilities))
    else:
        found = weighted_quantile(some, probabilities, weight[known])
        low, middle, high = (float(value) for value in found)
    reach = _REACH * (high - low)
    if reach <= 0:  # nearly all rows are alike: what differs may be all that the column tells
        return middle, float(np.nanmin(values)), float(np.nanmax(values))
    least, most = _bulk(np.sort(some))
    return middle, max(low - reach, least), min(high + reach, most)


def _bulk(ordered: Array) -> tuple[float, float]:
    """Return limits that keep out the codes of up to a tenth of the rows on either side.

    Codes lie apart: beyond the values that most rows have, nothing comes for as far as these reach.
    """
    n = len(ordered)
    low, high = ordered[n // 10], ordered[n - 1 - n // 10]
    reach = _APART * (high - low)
    least, most = -np.inf, np.inf
    if reach > 0:
        gaps = np.diff(ordered)
        far = np.flatnonzero(gaps > reach)
        above, below = far[far >= n - 1 - n // 10], far[far < n // 10]
        if len(above):
            most = float(ordered[above[0]] + reach)
        if len(below):
            least = float(ordered[below[-1] + 1] - reach)
    return least, most


def _float(column: Any) -> Array:
    values: Array = column.to_numpy(zero_copy_only=False).astype(float)
    return values[:, None]


def _read_number(column: Any, about: Column) -> Array:
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    if about.format and is_text(column.type):
        column = read_cells(column.cast(pa.string()), about.format)
    values = _float(column.cast(pa.float64(), safe=False))
    if np.fmax.reduce(np.abs(values), axis=None, initial=0.0) > LARGEST:
        refuse_infinite(column.cast(pa.float64(), safe=False), about.name)
    return values


def _read_boolean(column: Any, _: Column) -> Array:
    if not pa.types.is_boolean(column.type):
        column = read_cells(column.cast(pa.string()), pa.bool_())
    return _float(column.cast(pa.float64()))


def _read_category(column: Any, about: Column) -> Array:
    text = column.cast(pa.string())
    codes = pc.index_in(text, value_set=pa.array(about.levels, pa.string()))
    codes = pc.if_else(pc.is_valid(text), pc.fill_null(codes, len(about.levels)), None)
    return _float(codes.cast(pa.float64()))


def _read_date(column: Any, about: Column) -> Array:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = read_cells(column, about.format or "%Y-%m-%d")
    seconds = _float(column.cast(pa.timestamp("s"), safe=False).cast(pa.int64()))
    days = seconds / _DAY
    year, week = 2 * np.pi * days / 365.2425, 2 * np.pi * (days % 7) / 7
    cycles = np.hstack([np.sin(year), np.cos(year), np.sin(week), np.cos(week)])
    return np.hstack([days, cycles.round(_CYCLE_DIGITS)])


_READERS = {
    "number": _read_number,
    "boolean": _read_boolean,
    "category": _read_category,
    "date": _read_date,
}
_WORDS = {"number": "numbers", "boolean": "yes or no", "category": "categories", "date": "dates"}
