"""A frozen preprocessing step: columns of a table to features."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flipcost.core.arrays import Array
from flipcost.exceptions import SourceError
from flipcost.tables import arrow

if TYPE_CHECKING:
    Column = NDArray[Any]


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: ``(value - centre) / scale``, with ``fill`` for what is missing.

    Parameters
    ----------
    name : str
        The column.
    fill : float, optional
        Put in place of a missing value, before centring; None refuses missing values.
    centre, scale : float
        Given, or learned in a first pass; 0 and 1 leave the numbers alone.

    Examples
    --------
    >>> NumberColumn("age", fill=40.0, centre=40.0, scale=10.0).feature_names
    ('age',)
    """

    name: str
    fill: float | None = None
    centre: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            msg = f"`scale` of column {self.name!r} must be positive and finite; got {self.scale}."
            raise ValueError(msg)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The column's own name."""
        return (self.name,)

    def encode(self, column: Any, where: str) -> list[Column]:
        """Return the feature of an Arrow column."""
        values = arrow.numbers(column, self.name, where)
        if self.fill is None:
            if column.null_count:  # NaN of the file's own is found by the sums, for free
                arrow.refuse_missing(values, column.null_count, self.name, where)
        elif values.dtype.kind == "f":
            values = np.where(np.isnan(values), self.fill, values)
        if self.centre == 0 and self.scale == 1:
            return [values]
        return [(values - self.centre) / self.scale]


@dataclass(frozen=True)
class LevelColumn:
    """A category: one feature for each level, 1 where the row has it.

    Parameters
    ----------
    name : str
        The column.
    levels : tuple
        Levels, each of which becomes a feature.
    fill : level, optional
        The level of a missing value; None refuses missing values.
    unknown : {"error", "ignore"}, default="error"
        Whether a level that is not in the list is refused, or gives 0 in every feature.

    Examples
    --------
    >>> LevelColumn("town", ("Lyon", "Paris")).feature_names
    ('town=Lyon', 'town=Paris')
    """

    name: str
    levels: tuple[Any, ...]
    fill: Any = None
    unknown: str = "error"

    def __post_init__(self) -> None:
        if self.unknown not in ("error", "ignore"):
            msg = f"`unknown` must be 'error' or 'ignore'; got {self.unknown!r}."
            raise ValueError(msg)
        if self.fill is not None and self.fill not in self.levels:
            msg = f"`fill` of column {self.name!r} must be one of its levels; got {self.fill!r}."
            raise ValueError(msg)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The column's name with each level."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def encode(self, column: Any, where: str) -> list[Column]:
        """Return the features of an Arrow column."""
        if column.null_count:
            if self.fill is None:
                arrow.refuse_missing(np.zeros(0), column.null_count, self.name, where)
            column = pc.fill_null(column, self.fill)
        try:
            levels = pa.array(list(self.levels)).cast(column.type)
        except pa.ArrowException as error:
            msg = (
                f"{where}: column {self.name!r} must hold levels such as {list(self.levels[:3])}; "
                f"got {column.type}."
            )
            raise SourceError(msg) from error
        codes = pc.index_in(column, value_set=levels)
        if codes.null_count and self.unknown == "error":
            strange = pc.unique(column.filter(pc.is_null(codes))).to_pylist()[:3]
            msg = (
                f"{where}: column {self.name!r} holds levels that the encoder does not know: "
                f"{strange}. Learn the encoder from all rows, or with unknown='ignore'."
            )
            raise SourceError(msg)
        place = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)
        return [place == k for k in range(len(self.levels))]


@dataclass(frozen=True)
class TableEncoder:
    """Turn columns of a table into features: the same on every machine and in every pass.

    Made by `Table.summary` or `TableSummary.encoder` in a first pass, or given by hand.

    Parameters
    ----------
    columns : tuple of NumberColumn or LevelColumn
        The columns that are read; others are not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> encoder = TableEncoder(
    ...     (NumberColumn("age", fill=40.0), LevelColumn("town", ("Lyon", "Paris")))
    ... )
    >>> encoder.transform(pa.record_batch({"age": [20, None], "town": ["Paris", "Lyon"]}))
    array([[20.,  0.,  1.],
           [40.,  1.,  0.]])
    """

    columns: tuple[NumberColumn | LevelColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(column.name for column in self.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that come out."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def encode(self, batch: Any, where: str) -> list[Column]:
        """Return the features of an Arrow record batch, one array each."""
        found: list[Column] = []
        for column in self.columns:
            found += column.encode(arrow.take_column(batch, column.name, where), where)
        return found

    def transform(self, frame: Any) -> Array:
        """Return the features of a frame (Arrow, pandas or polars), for instance to score it."""
        batch = arrow.as_arrow(frame)
        return np.asarray(
            stack_columns(self.encode(batch, "frame"), batch.num_rows), dtype=float, order="C"
        )

    def to_json(self) -> str:
        """Return the encoder as text, to be kept beside the moments."""
        content = [asdict(column) for column in self.columns]
        return json.dumps({"format": "flipcost.TableEncoder", "version": 1, "columns": content})

    @classmethod
    def from_json(cls, text: str) -> TableEncoder:
        """Read what `to_json` wrote.

        Examples
        --------
        >>> encoder = TableEncoder((NumberColumn("age"), LevelColumn("town", ("Lyon", "Paris"))))
        >>> TableEncoder.from_json(encoder.to_json()) == encoder
        True
        """
        content = json.loads(text)
        if content.get("format") != "flipcost.TableEncoder" or content.get("version") != 1:
            msg = "The text must be an encoder of version 1 written by `TableEncoder.to_json`."
            raise ValueError(msg)
        return cls(tuple(_column(fields) for fields in content["columns"]))


def _column(fields: dict[str, Any]) -> NumberColumn | LevelColumn:
    if "levels" in fields:
        return LevelColumn(**{**fields, "levels": tuple(fields["levels"])})
    return NumberColumn(**fields)


# Columns that lie a multiple of 4096 bytes apart share the same lines of the cache; reading across
# them, as the moments do, is then three times slower. The gap keeps them apart.
_GAP = 80


def stack_columns(columns: list[Column], n_rows: int) -> Column:
    """Lay columns side by side, each contiguous: an array of shape (n, d) in Fortran order.

    float32 when that holds every value exactly, which halves the memory that is moved.

    Examples
    --------
    >>> stack_columns([np.ones(2, np.float32), np.array([True, False])], 2).dtype
    dtype('float32')
    """
    exact = np.result_type(np.float16, *(column.dtype for column in columns))
    dtype = np.float32 if exact in (np.float16, np.float32) else np.float64
    block = np.empty((len(columns), -(-n_rows // 1024) * 1024 + _GAP), dtype)[:, :n_rows]
    for place, column in enumerate(columns):
        block[place] = column
    return block.T
