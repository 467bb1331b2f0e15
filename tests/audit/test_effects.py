"""Effects of columns and evidence for rows, on a score that is known."""

import numpy as np
import pyarrow as pa
import pytest

from flipcost.audit._effects import (
    RowScore,
    column_effects,
    column_places,
    columns_to_look_at,
    row_evidence,
    typical_numbers,
)
from flipcost.tables.features import make_features
from flipcost.tables.plain import plain_features
from flipcost.tables.reader import ColumnReader

TOWNS = {"Brest": -1.0, "Lyon": 0.5, "Nice": 2.0}
N = 1001


def of_numbers(reader, odds):
    """Return a score of the numbers that a reader reads."""
    columns = np.array([place for _, place in reader.sources()])
    return RowScore(odds, lambda numbers: numbers, columns)


@pytest.fixture(scope="module")
def rows():
    """Return a reader, the numbers that it reads, and a score linear in two of three columns."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "age": rng.permutation(np.linspace(20.0, 70.0, N)),
            "noise": rng.normal(size=N),
            "town": rng.choice(list(TOWNS), N, p=[0.2, 0.5, 0.3]).tolist(),
        }
    )
    reader = ColumnReader().fit(table)
    by_code = np.array([TOWNS[level] for level in reader.schema_[2]["levels"]])

    def score(numbers):
        return -0.1 * numbers[:, 0] + by_code[numbers[:, 2].astype(int)]

    return table, reader, reader.transform(table), of_numbers(reader, score)


def test_effects_are_those_of_the_score(rows):
    """A number counts from its 10 % to its 90 % quantile, a category from least to largest."""
    _, reader, numbers, score = rows
    effects = column_effects(reader, numbers, score, np.random.default_rng(1))
    assert [effect.column for effect in effects] == ["age", "town", "noise"]
    age, town, noise = effects
    # Even steps of 0.05 from 20 to 70: the quantiles are 25 and 65.
    assert (age.start, age.end) == ("25", "65")
    assert age.change == pytest.approx(-4.0)
    assert (town.start, town.end) == ("Brest", "Nice")
    assert town.change == pytest.approx(3.0)
    assert noise.change == pytest.approx(0.0, abs=1e-12)


def test_shapes_of_categories_rise_from_start_to_end(rows):
    """Levels stand in the order of their probability, so that the ends are those that are named."""
    _, reader, numbers, score = rows
    town = column_effects(reader, numbers, score, np.random.default_rng(1))[1]
    assert [word for word, _ in town.shape] == ["Brest", "Lyon", "Nice"]
    assert np.all(np.diff([p for _, p in town.shape]) > 0)


def test_importance_is_what_calls_move_by_times_what_they_cost(rows):
    """Counts by label and call at each cost: rows stay, only columns that are used move calls."""
    _, reader, numbers, score = rows
    labels = np.arange(N) % 2 == 1
    edges = np.array([-5.0, -3.0])

    def count(odds, places):
        called = odds[:, None] > edges
        both = [called[labels[places] == label] for label in (False, True)]
        return np.stack([[(~c).sum(0), c.sum(0)] for c in both]).transpose(2, 0, 1) / len(places)

    found = column_effects(
        reader, numbers, score, np.random.default_rng(1), count, lambda moved: moved[0, 1, 0]
    )
    by_name = {effect.column: effect for effect in found}
    assert not np.any(by_name["noise"].moved)
    for effect in found:
        assert effect.moved.shape == (2, 2, 2)
        np.testing.assert_allclose(effect.moved.sum(axis=2), 0.0, atol=1e-12)
        assert effect.importance == effect.moved[0, 1, 0]
    assert np.any(by_name["age"].moved)


def test_the_typical_row_has_medians_and_frequent_levels(rows):
    """The middle of each number, and the level of most rows."""
    _, reader, numbers, _ = rows
    typical = typical_numbers(reader, numbers)
    assert typical[0] == pytest.approx(45.0)
    assert reader.schema_[2]["levels"][int(typical[2])] == "Lyon"


def test_evidence_names_what_speaks_for_the_other_label(rows):
    """Columns that move a row towards the other label come first; the others are not named."""
    table, reader, numbers, score = rows
    typical = typical_numbers(reader, numbers)
    young = int(np.argmin(numbers[:, 0]))
    towards = np.ones(1)
    (said,) = row_evidence(reader, numbers[[young]], typical, score, towards)
    assert said.split(", ")[0] == "age = 20"
    assert "noise" not in said
    assert ("town = Nice" in said) == (table["town"][young].as_py() == "Nice")
    (other,) = row_evidence(reader, numbers[[young]], typical, score, -towards)
    assert "age" not in other
    assert row_evidence(reader, numbers[:0], typical, score, towards[:0]) == []


def test_missing_values_and_constants_have_no_effect():
    """A column without two settings is left out; a missing value is called so in evidence."""
    table = pa.table({"x": [1.0, None, 3.0, 4.0] * 25, "same": ["a"] * 100, "none": [None] * 100})
    reader = ColumnReader().fit(table)
    numbers = reader.transform(table)

    def score(numbers):
        return np.where(np.isnan(numbers[:, 0]), 5.0, numbers[:, 0])

    score = of_numbers(reader, score)
    effects = column_effects(reader, numbers, score, np.random.default_rng(0))
    assert [effect.column for effect in effects] == ["x"]
    typical = typical_numbers(reader, numbers)
    assert row_evidence(reader, numbers[1:2], typical, score, np.ones(1)) == ["x = missing"]


def test_features_are_moved_as_if_they_were_made_anew():
    """Setting the features of a column equals setting its cells and making all features again."""
    rng = np.random.default_rng(2)
    n = 60
    table = pa.table(
        {
            "gap": [None if k % 5 == 0 else float(k % 11) for k in range(n)],
            "town": rng.choice([*TOWNS, None], n).tolist(),
            "on": pa.array(np.datetime64("2024-01-01") + rng.integers(0, 400, n)),
            "x": rng.normal(size=n),
        }
    )
    reader = ColumnReader()
    numbers = reader.fit_transform(table)
    made = make_features(reader).fit(numbers)
    columns = np.array([feature.column for feature in plain_features(reader, made)])
    slopes = rng.normal(size=len(columns))
    score = RowScore(lambda X: np.sin(X @ slopes), made.transform, columns)
    assert sorted(set(columns)) == [0, 1, 2, 3]
    features, first = made.transform(numbers), made.transform(numbers[:1])[0]
    changes = [(score.own(j), first[score.own(j)]) for j in range(4)]
    for where, odds in zip(column_places(reader), score.moved(features, changes), strict=True):
        moved = numbers.copy()
        moved[:, where] = numbers[0, where]
        np.testing.assert_allclose(odds, score(moved), rtol=0, atol=1e-12)


def test_of_very_many_columns_those_that_matter_are_looked_at():
    """A column that moves the model is found among many that do not, in its place."""
    rng = np.random.default_rng(5)
    table = pa.table({f"c{k}": rng.normal(size=80) for k in range(150)})
    reader = ColumnReader()
    numbers = reader.fit_transform(table)
    numbers[3, 7] = np.nan

    def score(rows):
        return 2 * rows[:, 140]

    score = of_numbers(reader, score)
    looked = columns_to_look_at(reader, numbers, score)
    assert len(looked) == 30
    assert 140 in looked
    assert column_effects(reader, numbers, score, rng)[0].column == "c140"
    towards = np.sign(numbers[:2, 140])
    typical = typical_numbers(reader, numbers)
    said = row_evidence(reader, numbers[:2], typical, score, towards, looked)
    assert all(words.startswith("c140 = ") for words in said)
