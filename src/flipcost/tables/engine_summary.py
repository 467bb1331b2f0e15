"""Means, scales, levels, medians and knots by queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flipcost.exceptions import SourceError
from flipcost.tables.sql import ROWS, Aggregate, Question, column, number, sum_of
from flipcost.tables.summary import MOST_LEVELS, LevelSummary, NumberSummary, TableSummary, too_many

if TYPE_CHECKING:
    from flipcost.tables.engine_moments import Reading

# Columns of numbers that one statement asks about.
_COLUMNS = 200


def summarize(reading: Reading, categorical: Sequence[str]) -> TableSummary:
    """Learn means, scales and levels: two queries for all numbers, one for each category."""
    names = list(reading.layout.columns or ())
    numbers = [
        name
        for name in names
        if name not in categorical and reading.kind(name).kind in ("number", "whole", "truth")
    ]
    found: dict[str, NumberSummary | LevelSummary] = {}
    for start in range(0, len(numbers), _COLUMNS):
        found |= _numbers(reading, numbers[start : start + _COLUMNS])
    for name in names:
        if name not in found:
            found[name] = _levels(reading, name)
    return TableSummary({name: found[name] for name in names})


def _numbers(reading: Reading, names: list[str]) -> dict[str, NumberSummary]:
    layer = {f"x{j}": reading.number_or_missing(name) for j, name in enumerate(names)}
    kinds = ("count", "sum", "min", "max")
    answers = [Aggregate(kind, column(x)) for x in layer for kind in kinds]
    (answer,) = reading.engine.ask(Question((layer,), (ROWS, *answers)))
    n, *values = answer.values
    counts, sums, lows, highs = (values[k::4] for k in range(4))
    means = [float(s) / int(c) if c else 0.0 for s, c in zip(sums, counts, strict=True)]
    shifted = {x: column(x) - number(m) for x, m in zip(layer, means, strict=True)}
    squares = [sum_of(column(x) * column(x)) for x in layer]
    firsts = [sum_of(column(x)) for x in layer]
    (again,) = reading.engine.ask(Question((layer, shifted), (*squares, *firsts)))
    found = {}
    for j, name in enumerate(names):
        count = int(counts[j])
        if not count:
            found[name] = NumberSummary(0, int(n), 0.0, 0.0, np.inf, -np.inf)
            continue
        # What the first mean was off by is in the second.
        off = float(again.values[len(names) + j]) / count
        spread = max(float(again.values[j]) - count * off**2, 0.0)
        found[name] = NumberSummary(
            count, int(n) - count, means[j] + off, spread, float(lows[j]), float(highs[j])
        )
    return found


def _levels(reading: Reading, name: str) -> LevelSummary:
    layer = {"level": reading.plain_level(name)}
    question = Question((layer,), (ROWS,), (("level",),), most_groups=MOST_LEVELS + 2)
    counts = {answer.keys[0]: int(answer.values[0]) for answer in reading.engine.ask(question)}
    n_missing = counts.pop(None, 0)
    if len(counts) > MOST_LEVELS:
        msg = f"{reading.engine.where}: {too_many(name, len(counts), MOST_LEVELS)}"
        raise SourceError(msg)
    return LevelSummary(counts, n_missing)


def find_medians(reading: Reading, columns: Sequence[str] | None) -> dict[str, float]:
    """Return the medians of columns of numbers, missing values left out."""
    if columns is None:
        wanted = ("number", "whole", "truth")
        names = [n for n in reading.layout.columns or () if reading.kind(n).kind in wanted]
    else:
        names = list(columns)
    if not names:
        return {}
    layer = {f"x{j}": reading.number_or_missing(name) for j, name in enumerate(names)}
    answers = tuple(Aggregate("median", column(x)) for x in layer)
    (answer,) = reading.engine.ask(Question((layer,), answers))
    return {n: float(v) for n, v in zip(names, answer.values, strict=True) if v is not None}
