"""What features consist of, as plain numbers: what models are written from for other programs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from flipcost.core.arrays import Array

if TYPE_CHECKING:
    from flipcost.tables.reader import ColumnReader


@dataclass(frozen=True)
class Column:
    """A column that is read.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "boolean", "category", "date"}
        What it holds.
    levels : tuple of str
        Levels of a category.
    format : str or None
        How dates are written, where they are text.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    format: str | None = None


@dataclass(frozen=True)
class NumberFeature:
    """A number of a column, ``(value - centre) / scale``, with ``fill`` for what is missing.

    Attributes
    ----------
    column : int
        Which column.
    part : int
        Which number of a date; 0 of others.
    fill : float or None
        In place of a missing value; None leaves it missing.
    centre, scale : float
        What standardizes it.
    """

    column: int
    part: int = 0
    fill: float | None = None
    centre: float = 0.0
    scale: float = 1.0

    @property
    def filled(self) -> float:
        """What a missing value becomes, standardized."""
        return np.nan if self.fill is None else (self.fill - self.centre) / self.scale


@dataclass(frozen=True)
class TableFeature:
    """A feature with few values: one for each level of a column, for others and for missing ones.

    That a value is missing at all is such a feature too: of a column of numbers, without levels.

    Attributes
    ----------
    column : int
        Which column.
    values : tuple of float
        By level; then for any other value, and for a missing one.
    """

    column: int
    values: tuple[float, ...]


Feature: TypeAlias = NumberFeature | TableFeature


def read_columns(reader: ColumnReader) -> tuple[Column, ...]:
    """Return the columns that a fitted reader reads.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.reader import ColumnReader
    >>> read_columns(ColumnReader().fit(pa.table({"age": [50, 31]})))
    (Column(name='age', kind='number', levels=(), format=None),)
    """
    return tuple(
        Column(found["name"], found["kind"], tuple(found.get("levels", ())), found.get("format"))
        for found in reader.schema_
    )


def plain_features(reader: ColumnReader, transformer: Any) -> tuple[Feature, ...]:
    """Return the features that `make_features` has learned to make of what a reader reads.

    Parameters
    ----------
    reader : ColumnReader
        Fitted.
    transformer : ColumnTransformer
        Fitted, as made by `make_features`.

    Returns
    -------
    tuple of NumberFeature and TableFeature
        In the order of the columns of what it makes.

    Raises
    ------
    TypeError
        If it is another transformer.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.reader import ColumnReader
    >>> from flipcost.tables.features import make_features
    >>> reader = ColumnReader()
    >>> numbers = reader.fit_transform(pa.table({"age": [50.0, 30.0]}))
    >>> plain_features(reader, make_features(reader).fit(numbers))
    (NumberFeature(column=0, part=0, fill=40.0, centre=40.0, scale=10.0),)
    """
    if not isinstance(transformer, ColumnTransformer):
        msg = f"Features of a {type(transformer).__name__} cannot be written as formulas."
        raise TypeError(msg)
    columns = read_columns(reader)
    inputs = [
        (place, part)
        for place, column in enumerate(columns)
        for part in range(5 if column.kind == "date" else 1)
    ]
    found: list[Feature] = []
    for name, step, chosen in transformer.transformers_:
        own = [inputs[int(k)] for k in chosen] if name != "remainder" else []
        if own and name == "numbers":
            found += _number_features(step, own)
        elif own:
            found += _level_features(step, own, columns)
    return tuple(found)


def _number_features(step: Any, inputs: list[tuple[int, int]]) -> list[Feature]:
    imputer, scaler = (part for _, part in step.steps)
    if not isinstance(imputer, SimpleImputer) or not isinstance(scaler, StandardScaler):
        msg = "Numbers that are not imputed and scaled cannot be written as formulas."
        raise TypeError(msg)
    centre, scale = scaler.mean_.tolist(), scaler.scale_.tolist()
    found: list[Feature] = []
    for (column, part), fill in zip(inputs, imputer.statistics_.tolist(), strict=True):
        if fill == fill:  # a column without any number is left out
            k = len(found)
            found.append(NumberFeature(column, part, fill, centre[k], scale[k]))
    flags = imputer.indicator_.features_ if imputer.indicator_ is not None else ()
    for flag in flags:
        k = len(found)
        values = tuple((missing - centre[k]) / scale[k] for missing in (0.0, 1.0))
        found.append(TableFeature(inputs[int(flag)][0], values))
    return found


def _level_features(
    encoder: Any, inputs: list[tuple[int, int]], columns: tuple[Column, ...]
) -> list[Feature]:
    if not isinstance(encoder, OneHotEncoder):
        msg = f"Categories of a {type(encoder).__name__} cannot be written as formulas."
        raise TypeError(msg)
    found: list[Feature] = []
    rare = encoder.infrequent_categories_
    start = 0
    for k, (column, _) in enumerate(inputs):
        few = rare[k] if rare is not None else None
        width = len(encoder.categories_[k]) - (0 if few is None else len(few) - 1)
        coded = _encoded(encoder, k, len(inputs), len(columns[column].levels))
        chosen = coded[:, start : start + width]
        found += [TableFeature(column, tuple(values)) for values in chosen.T.tolist()]
        start += width
    return found


def _encoded(encoder: Any, k: int, n_columns: int, n_levels: int) -> Array:
    """Ask the encoder itself what it makes of each level, of another one and of none."""
    codes = np.zeros((n_levels + 2, n_columns))
    codes[:, k] = [*range(n_levels), -1, np.nan]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a level is new is what is asked
        return np.asarray(encoder.transform(codes), dtype=float)
