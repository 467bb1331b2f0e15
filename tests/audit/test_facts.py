"""What is said of the columns: kinds, missing values, values, and change along the table."""

import numpy as np
import pyarrow as pa
import pytest

from flipcost.audit._explain import column_facts
from flipcost.tables.encoder import Encoder


def facts_of(columns, positive):
    table = pa.table(columns)
    encoder = Encoder.learn(table)
    return column_facts(encoder, table, encoder.cells(table), positive, "ill")


def test_columns_are_described():
    """Shares that are missing, numbers of values, and the values that a reader wants to see."""
    n = 1000
    age = np.arange(n, dtype=float)
    age[::10] = np.nan
    town = np.where(np.arange(n) % 4 == 0, "Nice", "Lyon")
    found = facts_of({"age": age, "town": town}, np.arange(n) % 5 == 0)
    label, number, category = found
    assert (label.name, label.kind, label.values) == ("ill", "label", "20.0% positive")
    assert number.missing == pytest.approx(0.1)
    assert (number.distinct, number.values) == (900, "1 … 501 … 999")
    assert (category.distinct, category.values) == (2, "Lyon 75%, Nice 25%")


def test_text_that_was_read_as_numbers_is_shown():
    """Whoever reads the audit sees that a percentage was one, and how it was written."""
    rate = [None, *["12,5 %", "8,0 %", "20,0 %"] * 40]
    found = facts_of({"rate": rate}, np.arange(121) % 5 == 0)[1]
    assert found.values == "8 … 12.5 … 20, read from text such as 12,5 %"


def test_rare_levels_are_counted():
    """Levels of few rows share a cell, but each is a value of its own."""
    town = ["Lyon"] * 900 + [f"village {k}" for k in range(100)]
    found = facts_of({"town": town}, np.arange(1000) % 5 == 0)[1]
    assert (found.distinct, found.values) == (101, "Lyon 90%, another level 10%")


def test_change_along_the_table_is_noticed():
    """A number that rises, a level that dies out and labels that become rare are named."""
    n, rng = 2000, np.random.default_rng(0)
    place = np.arange(n) / n
    columns = {
        "rising": rng.normal(size=n) + 2 * place,
        "dying": np.where(rng.random(n) < 0.4 * (1 - place), "old", "new"),
        "steady": rng.normal(size=n),
    }
    found = {c.name: c for c in facts_of(columns, rng.random(n) < 0.4 - 0.3 * place)}
    assert [found[name].drifts for name in ("ill", "rising", "dying", "steady")] == [1, 1, 1, 0]
    assert min(found["rising"].drift, found["dying"].drift) > 2 * found["steady"].drift


def test_chance_is_rarely_taken_for_change():
    """Of 200 tables without change, 1 in 1,000 is expected to name a column: here 2 at most."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        columns = {"a": rng.normal(size=300), "b": rng.choice(list("xyz"), 300)}
        wrong += any(c.drifts for c in facts_of(columns, rng.random(300) < 0.3))
    assert wrong <= 2
