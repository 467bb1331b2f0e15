"""Columns that tell the label, nearly tell it, or number the rows in its order."""

import numpy as np
import pyarrow as pa

from flipcost.tables.columns import find_leaks
from flipcost.tables.reader import ColumnReader


def leaks(positive, **columns):
    table = pa.table(columns)
    reader = ColumnReader().fit(table)
    return find_leaks(reader, reader.transform(table), positive)


def test_columns_that_nearly_tell_the_label():
    """A number or a level that is wrong on one row in a hundred is named; a good feature is not."""
    rng = np.random.default_rng(0)
    labels = rng.random(1000) < 0.2
    wrong = rng.random(1000) < 0.01
    found = leaks(
        labels,
        score=np.where(labels ^ wrong, 2.0, 0.0) + rng.random(1000),
        code=np.where(labels ^ wrong, "A", rng.choice(["B", "C"], 1000)),
        good=labels + rng.normal(size=1000),
        rare=np.where(rng.random(1000) < 0.02, "x", "y"),
    )
    assert found == {"code": "nearly", "score": "nearly"}


def test_a_level_that_is_rare_is_not_a_leak():
    """Saying "no" always is right on most rows of a rare label, and tells nothing."""
    labels = np.arange(1000) < 10
    assert leaks(labels, code=np.tile(["A", "B"], 500)) == {}


def test_numbers_of_rows_that_tell_the_label():
    """Rows that were numbered in the order of the label leak it; numbers at random do not."""
    rng = np.random.default_rng(1)
    labels = rng.random(1000) < np.linspace(0.1, 0.7, 1000)
    sparse = np.cumsum(rng.integers(1, 50, 1000))
    found = leaks(
        labels,
        case=sparse,
        shuffled=rng.permutation(1000),
        income=(1e5 * rng.random(1000) * (1 + labels)).round(),
    )
    assert found == {"case": "id"}
