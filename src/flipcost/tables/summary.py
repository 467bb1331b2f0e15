"""What a first pass learns about the columns of a table; summaries merge as moments do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from flipcost.exceptions import SourceError
from flipcost.tables import arrow
from flipcost.tables.table_encoder import LevelColumn, NumberColumn, TableEncoder

# A column with more distinct values than this is an identifier, not a category: counting on would
# make memory grow with the rows.
MOST_LEVELS = 10_000


@dataclass(frozen=True)
class NumberSummary:
    """Count, missing values, mean, centred sum of squares and range of a column of numbers."""

    n_rows: int
    n_missing: int
    mean: float
    squares: float
    low: float
    high: float

    @classmethod
    def of(cls, values: NDArray[Any]) -> NumberSummary:
        """Summarise an array, NaN being what is missing.

        Examples
        --------
        >>> NumberSummary.of(np.array([1.0, 3.0, np.nan])).mean
        2.0
        """
        present = values.astype(float)
        present = present[~np.isnan(present)]
        if not len(present):
            return cls(0, len(values), 0.0, 0.0, np.inf, -np.inf)
        mean = float(present.mean())
        squares = float(((present - mean) ** 2).sum())
        n_missing = len(values) - len(present)
        return cls(
            len(present), n_missing, mean, squares, float(present.min()), float(present.max())
        )

    def merge(self, other: NumberSummary) -> NumberSummary:
        """Return the summary of both sets of values."""
        n = self.n_rows + other.n_rows
        share = other.n_rows / n if n else 0.0
        gap = other.mean - self.mean
        return NumberSummary(
            n,
            self.n_missing + other.n_missing,
            self.mean + share * gap if self.n_rows else other.mean,
            self.squares + other.squares + share * self.n_rows * gap**2,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    @property
    def deviation(self) -> float:
        """Standard deviation; 0 without rows."""
        return float(np.sqrt(self.squares / self.n_rows)) if self.n_rows else 0.0


@dataclass(frozen=True)
class LevelSummary:
    """Count of each level of a category, and of its missing values."""

    levels: dict[Any, int]
    n_missing: int

    def merge(self, other: LevelSummary) -> LevelSummary:
        """Return the counts of both sets of values."""
        counts = Counter(self.levels)
        counts.update(other.levels)
        return LevelSummary(dict(counts), self.n_missing + other.n_missing)


@dataclass(frozen=True)
class TableSummary:
    """Means, scales and levels of the columns of a table.

    Summaries of parts merge to that of the whole, so they can be learned from files, partitions or
    sites; `encoder` then freezes what the passes after it need.

    Parameters
    ----------
    columns : dict of str to NumberSummary or LevelSummary
        One for each column, in order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> a = TableSummary.of(pa.record_batch({"age": [20, 40], "town": ["Lyon", "Paris"]}))
    >>> b = TableSummary.of(pa.record_batch({"age": [60, None], "town": ["Paris", "Nice"]}))
    >>> encoder = a.merge(b).encoder(impute="mean", standardize=True)
    >>> encoder.feature_names
    ('age', 'town=Lyon', 'town=Nice', 'town=Paris')
    >>> encoder.columns[0].fill
    40.0
    """

    columns: dict[str, NumberSummary | LevelSummary]

    @classmethod
    def of(
        cls,
        batch: Any,
        columns: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        where: str = "batch",
    ) -> TableSummary:
        """Summarise a frame: Arrow, pandas or polars.

        Parameters
        ----------
        batch : frame
            Rows.
        columns : sequence of str, optional
            Columns to summarize; all when None.
        categorical : sequence of str
            Columns of numbers that are codes of a category. Columns of text always are categories.
        where : str
            Named in messages.
        """
        rows = arrow.as_arrow(batch, where)
        found: dict[str, NumberSummary | LevelSummary] = {}
        for name in rows.schema.names if columns is None else columns:
            column = arrow.take_column(rows, name, where)
            if name not in categorical and arrow.is_number(column.type):
                found[name] = NumberSummary.of(arrow.numbers(column, name, where))
            else:
                found[name] = _count_levels(column, name, where)
        return cls(found)

    def merge(self, other: TableSummary) -> TableSummary:
        """Return the summary of both sets of rows."""
        if list(self.columns) != list(other.columns):
            msg = (
                "Summaries must be of the same columns to be merged; got "
                f"{list(self.columns)} and {list(other.columns)}."
            )
            raise ValueError(msg)
        return TableSummary(
            {name: _merge_columns(name, a, other.columns[name]) for name, a in self.columns.items()}
        )

    def encoder(
        self,
        *,
        impute: str | Mapping[str, Any] | None = None,
        standardize: bool = False,
        max_levels: int = 100,
        unknown: str = "error",
    ) -> TableEncoder:
        """Freeze what later passes need.

        Parameters
        ----------
        impute : {None, "mean"} or mapping of column to value, default=None
            None refuses missing values. "mean" puts the mean in place of a missing number, and the
            most frequent level (the first of these in order) in place of a missing level. A
            mapping gives the value for the columns that it names, the others refuse.
        standardize : bool, default=False
            Whether numbers are centred at their mean and divided by their standard deviation.
        max_levels : int, default=100
            Largest number of levels of a category; each becomes a feature.
        unknown : {"error", "ignore"}, default="error"
            What to do with a level that was not seen: refuse, or set all features of the category
            to 0.

        Returns
        -------
        TableEncoder
        """
        if not (impute in (None, "mean") or hasattr(impute, "get")):
            msg = (
                f"`impute` must be None, 'mean' or a mapping of columns to values; got {impute!r}."
            )
            raise ValueError(msg)
        columns: list[NumberColumn | LevelColumn] = []
        for name, summary in self.columns.items():
            fill = _fill(name, summary, impute)
            if isinstance(summary, NumberSummary):
                centre, scale = 0.0, 1.0
                if standardize:
                    centre, scale = summary.mean, summary.deviation or 1.0
                columns.append(NumberColumn(name, fill, centre, scale))
            else:
                levels = _check_levels(name, summary, max_levels)
                columns.append(LevelColumn(name, levels, fill, unknown))
        return TableEncoder(tuple(columns))

    def to_json(self) -> str:
        """Return the summary as text, to be merged elsewhere; no rows are in it."""
        content: list[dict[str, Any]] = []
        for name, summary in self.columns.items():
            if isinstance(summary, NumberSummary):
                content.append({"name": name, "number": asdict(summary)})
            else:
                counts = list(summary.levels.items())
                content.append({"name": name, "levels": counts, "n_missing": summary.n_missing})
        return json.dumps({"format": "flipcost.TableSummary", "version": 1, "columns": content})

    @classmethod
    def from_json(cls, text: str) -> TableSummary:
        """Read what `to_json` wrote.

        Examples
        --------
        >>> summary = TableSummary({"age": NumberSummary.of(np.array([1.0, 2.0]))})
        >>> TableSummary.from_json(summary.to_json()) == summary
        True
        """
        content = json.loads(text)
        if content.get("format") != "flipcost.TableSummary" or content.get("version") != 1:
            msg = "The text must be a summary of version 1 written by `TableSummary.to_json`."
            raise ValueError(msg)
        found: dict[str, NumberSummary | LevelSummary] = {}
        for column in content["columns"]:
            if "number" in column:
                found[column["name"]] = NumberSummary(**column["number"])
            else:
                counts = dict(column["levels"])
                found[column["name"]] = LevelSummary(counts, column["n_missing"])
        return cls(found)


def _count_levels(column: Any, name: str, where: str) -> LevelSummary:
    if not arrow.is_level(column.type):
        msg = (
            f"{where}: column {name!r} must hold numbers, text, integers or booleans; got "
            f"{column.type}. Leave it out of `columns`, or turn it into one of these first."
        )
        raise SourceError(msg)
    counts = pc.value_counts(column)
    pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    levels = {level: n for level, n in pairs if level is not None}
    if len(levels) > MOST_LEVELS:
        msg = f"{where}: {too_many(name, len(levels), MOST_LEVELS)}"
        raise SourceError(msg)
    return LevelSummary(levels, column.null_count)


def _merge_columns(
    name: str, a: NumberSummary | LevelSummary, b: NumberSummary | LevelSummary
) -> NumberSummary | LevelSummary:
    if isinstance(a, NumberSummary) and isinstance(b, NumberSummary):
        return a.merge(b)
    if isinstance(a, LevelSummary) and isinstance(b, LevelSummary):
        merged = a.merge(b)
        if len(merged.levels) > MOST_LEVELS:
            raise ValueError(too_many(name, len(merged.levels), MOST_LEVELS))
        return merged
    msg = f"Column {name!r} must be of one kind; got numbers in one part and levels in another."
    raise ValueError(msg)


def too_many(name: str, n: int, most: int) -> str:
    """Say that a category has too many levels."""
    return (
        f"column {name!r} must have at most {most} levels; got {n} or more. Leave it out of "
        "`columns`, or merge its levels first."
    )


def _check_levels(name: str, summary: LevelSummary, max_levels: int) -> tuple[Any, ...]:
    if len(summary.levels) > max_levels:
        raise ValueError(too_many(name, len(summary.levels), max_levels))
    return tuple(sorted(summary.levels))


def _fill(
    name: str, summary: NumberSummary | LevelSummary, impute: str | Mapping[str, Any] | None
) -> Any:
    if impute is None:
        return None
    if not isinstance(impute, str):
        return impute.get(name)
    if isinstance(summary, NumberSummary):
        return summary.mean
    if not summary.levels:
        return None
    return min(summary.levels, key=lambda level: (-summary.levels[level], level))
