"""Effects of columns and evidence for rows, on a score that is known."""

import numpy as np
import pyarrow as pa
import pytest

from flipcost.audit._explain import (
    column_effects,
    columns_to_look_at,
    row_evidence,
    typical_cells,
)
from flipcost.tables.encoder import Encoder

TOWNS = {"Brest": -1.0, "Lyon": 0.5, "Nice": 2.0}
N = 1001


@pytest.fixture(scope="module")
def rows():
    """Return an encoder, the cells that it reads, and a score linear in two of three columns."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "age": rng.permutation(np.linspace(20.0, 70.0, N)),
            "noise": rng.normal(size=N),
            "town": rng.choice(list(TOWNS), N, p=[0.2, 0.5, 0.3]).tolist(),
        }
    )
    encoder = Encoder.learn(table)
    by_code = np.array([TOWNS[level] for level in encoder.columns[2].levels])

    def score(cells):
        return -0.1 * cells[:, 0] + by_code[cells[:, 2].astype(int)]

    return table, encoder, encoder.cells(table), score


def effects_of(encoder, cells, score, seed):
    """Return effects where calls cost nothing."""
    rng = np.random.default_rng(seed)
    return column_effects(encoder, cells, score, rng, lambda *_: np.zeros((1, 2, 2)), np.sum)


def test_effects_are_those_of_the_score(rows):
    """A number counts from its 10 % to its 90 % quantile, a category from least to largest."""
    _, encoder, cells, score = rows
    effects = effects_of(encoder, cells, score, 1)
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
    _, encoder, cells, score = rows
    town = effects_of(encoder, cells, score, 1)[1]
    assert [word for word, _ in town.shape] == ["Brest", "Lyon", "Nice"]
    assert np.all(np.diff([p for _, p in town.shape]) > 0)


def test_importance_is_what_calls_move_by_times_what_they_cost(rows):
    """Counts by label and call at each cost: rows stay, only columns that are used move calls."""
    _, encoder, cells, score = rows
    labels = np.arange(N) % 2 == 1
    edges = np.array([-5.0, -3.0])

    def count(odds, places):
        flagged = odds[:, None] > edges
        both = [flagged[labels[places] == label] for label in (False, True)]
        return np.stack([[(~c).sum(0), c.sum(0)] for c in both]).transpose(2, 0, 1) / len(places)

    found = column_effects(
        encoder, cells, score, np.random.default_rng(1), count, lambda moved: moved[0, 1, 0]
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
    _, encoder, cells, _ = rows
    typical = typical_cells(encoder, cells)
    assert typical[0] == pytest.approx(45.0)
    assert encoder.columns[2].levels[int(typical[2])] == "Lyon"


def test_evidence_names_what_speaks_for_the_other_label(rows):
    """Columns that move a row towards the other label come first; the others are not named."""
    table, encoder, cells, score = rows
    typical = typical_cells(encoder, cells)
    young = int(np.argmin(cells[:, 0]))
    towards = np.ones(1)
    (said,) = row_evidence(encoder, cells[[young]], typical, score, towards, range(3))
    assert said.split(", ")[0] == "age = 20"
    assert "noise" not in said
    assert ("town = Nice" in said) == (table["town"][young].as_py() == "Nice")
    (other,) = row_evidence(encoder, cells[[young]], typical, score, -towards, range(3))
    assert "age" not in other
    assert row_evidence(encoder, cells[:0], typical, score, towards[:0], range(3)) == []


def test_missing_values_and_constants_have_no_effect():
    """A column without two settings is left out; a missing value is called so in evidence."""
    table = pa.table({"x": [1.0, None, 3.0, 4.0] * 25, "same": ["a"] * 100, "none": [None] * 100})
    encoder = Encoder.learn(table)
    cells = encoder.cells(table)

    def score(cells):
        return np.where(np.isnan(cells[:, 0]), 5.0, cells[:, 0])

    effects = effects_of(encoder, cells, score, 0)
    assert [effect.column for effect in effects] == ["x"]
    typical = typical_cells(encoder, cells)
    assert row_evidence(encoder, cells[1:2], typical, score, np.ones(1), range(3)) == [
        "x = missing"
    ]


def test_of_very_many_columns_those_that_matter_are_looked_at():
    """A column that moves the model is found among many that do not, in its place."""
    rng = np.random.default_rng(5)
    table = pa.table({f"c{k}": rng.normal(size=80) for k in range(150)})
    encoder = Encoder.learn(table)
    cells = encoder.cells(table)
    cells[3, 7] = np.nan

    def score(rows):
        return 2 * rows[:, 140]

    looked = columns_to_look_at(encoder, cells, score)
    assert len(looked) == 30
    assert 140 in looked
    assert effects_of(encoder, cells, score, 5)[0].column == "c140"
    towards = np.sign(cells[:2, 140])
    typical = typical_cells(encoder, cells)
    said = row_evidence(encoder, cells[:2], typical, score, towards, looked)
    assert all(words.startswith("c140 = ") for words in said)
