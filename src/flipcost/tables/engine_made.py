"""Features of an audit as expressions: what its reader and its features make of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flipcost.tables.columns import FALSE_WORDS, TRUE_WORDS
from flipcost.tables.plain import Column, Feature, NumberFeature, TableFeature
from flipcost.tables.sql import MISSING, Expression, case, column, literal, number

if TYPE_CHECKING:
    from flipcost.tables.engine_moments import Reading

_YEAR_DAYS, _WEEK_DAYS = 365.2425, 7.0
# Numbers beyond cannot be squared and summed; `flipcost.data` refuses them.
_LARGEST = 1e100
# What the engine must hold for a column to be read there as the reader reads it here.
_READ = {
    "number": ("number", "whole"),
    "boolean": ("truth", "text"),
    "category": ("text", "whole", "truth"),
    "date": ("date",),
}


def unread_column(reading: Reading, columns: Sequence[Column]) -> str | None:
    """Say of the first column that queries cannot read as the reader does why that is so."""
    for one in columns:
        kind = reading.kind(one.name)
        if kind.kind not in _READ.get(one.kind, ()):
            return f"column {one.name!r} ({kind.said}) is read as a {one.kind}"
    return None


def base_columns(reading: Reading, columns: Sequence[Column]) -> list[Expression]:
    """Return columns as numbers, texts, or days since 1970; what is missing is NULL."""
    return [_base(reading, one) for one in columns]


def _base(reading: Reading, one: Column) -> Expression:
    kind = reading.kind(one.name).kind
    if one.kind == "number":
        return reading.number_or_missing(one.name)
    if one.kind == "date":
        return column(one.name).days()
    text = column(one.name).as_text()
    if kind == "text":
        text = case([(text.equals(literal("")), MISSING)], text)
    if one.kind == "category":
        return text
    if kind == "truth":
        return reading.plain_number(one.name)
    return text.lower()


def strange_values(columns: Sequence[Column], bases: Sequence[Expression]) -> dict[int, Expression]:
    """Return what is 1 where a column of an earlier layer is not what the reader has learned of.

    A level that is new, a word that is neither yes nor no, a number that cannot be squared.
    """
    found = {}
    for j, (one, base) in enumerate(zip(columns, bases, strict=True)):
        value = column(f"b{j}")
        if one.kind == "number":
            beyond = value.above(number(_LARGEST)).either(number(-_LARGEST).above(value))
            found[j] = case([(beyond, literal(1))])
        elif one.kind == "category" or base.op == "lower":
            words = one.levels if one.kind == "category" else (*TRUE_WORDS, *FALSE_WORDS)
            branches = [(value.is_missing(), MISSING), (value.among(words), MISSING)]
            found[j] = case(branches, literal(1))
    return found


def feature_columns(
    columns: Sequence[Column], features: Sequence[Feature], bases: Sequence[Expression]
) -> list[Expression]:
    """Return the features, given columns of an earlier layer that hold what `bases` are."""
    found = []
    for feature in features:
        one, place = columns[feature.column], column(f"b{feature.column}")
        if isinstance(feature, NumberFeature):
            is_text = bases[feature.column].op == "lower"
            found.append(_number(feature, _truth(place) if is_text else place))
        else:
            found.append(_table(feature, one, place))
    return found


def _truth(word: Expression) -> Expression:
    return case([(word.among(TRUE_WORDS), number(1.0)), (word.among(FALSE_WORDS), number(0.0))])


def _number(feature: NumberFeature, value: Expression) -> Expression:
    if feature.part:
        period = number(_YEAR_DAYS if feature.part <= 2 else _WEEK_DAYS)
        if feature.part > 2:
            value = value - period * (value / period).floor().as_double()
        angle = number(2 * np.pi) * value / period
        value = angle.sine() if feature.part % 2 else angle.cosine()
    if feature.fill is not None:
        value = case([(value.is_missing(), number(feature.fill))], value)
    if feature.centre:
        value = value - number(feature.centre)
    return value if feature.scale == 1 else value / number(feature.scale)


def _table(feature: TableFeature, one: Column, place: Expression) -> Expression:
    *values, other, missing = feature.values
    levels: dict[float, list[str]] = {}
    for level, value in zip(one.levels, values, strict=False):
        levels.setdefault(value, []).append(level)
    usual = Counter([*values, other]).most_common(1)[0][0]
    branches = [(place.is_missing(), number(missing))]
    branches += [
        (place.among(known), number(value)) for value, known in levels.items() if value != usual
    ]
    if other != usual:
        branches.append((place.among(levels[usual]), number(usual)))
    return case(branches, number(other))
