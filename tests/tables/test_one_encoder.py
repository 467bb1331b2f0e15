"""One encoder: a column means the same numbers however it arrives."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from flipcost import FlipCostClassifier
from flipcost.exceptions import CellError, TableError
from flipcost.tables.encoder import Encoder


def people(n=300, seed=0):
    """Return a frame with numbers, categories, dates, yes or no, and missing values."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Paris", "Lyon", "Nice"], n, p=[0.6, 0.3, 0.1]).astype(object)
    town[rng.random(n) < 0.1] = None
    age = rng.normal(40, 10, n)
    age[rng.random(n) < 0.1] = np.nan
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    member = rng.choice(["yes", "no"], n)
    return pd.DataFrame({"age": age, "town": town, "day": day, "member": member, "one": 1})


def as_text(frame):
    """Return a frame as a CSV file would give it: all text, nothing where a value is missing."""
    columns = {}
    for name, values in frame.items():
        written = values.dt.strftime("%Y-%m-%d") if name == "day" else values
        columns[name] = [None if pd.isna(v) else str(v) for v in written]
    return pa.table(columns)


def test_pandas_polars_arrow_and_text_give_the_same_cells():
    """The same table gives the same columns and the same cells in every form."""
    frame = people()
    encoder = Encoder.learn(frame)
    cells = encoder.cells(frame)
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame), as_text(frame)):
        learned = Encoder.learn(other)
        assert [column.kind for column in learned.columns] == [
            "number", "category", "date", "boolean", "constant",
        ]  # fmt: skip
        np.testing.assert_allclose(learned.cells(other), cells)
        assert learned.number_names == encoder.number_names


def test_numbers_are_filled_flagged_and_one_column_a_level():
    """A missing number is the median with a flag; a missing level is a flag alone."""
    frame = people()
    encoder = Encoder.learn(frame)
    numbers = pd.DataFrame(encoder.numbers(encoder.cells(frame)), columns=encoder.number_names)
    gone = frame["age"].isna().to_numpy()
    assert np.allclose(numbers["age"][gone], frame["age"].median())
    assert np.array_equal(numbers["age is missing"].to_numpy(), gone.astype(float))
    for town in ("Paris", "Lyon", "Nice"):
        assert np.array_equal(numbers[f"town = {town}"] == 1, frame["town"] == town)
    assert np.array_equal(numbers["town is missing"] == 1, frame["town"].isna())


def test_rare_and_new_levels_count_as_one_other_level():
    """Levels of few rows share a column; a new level falls there too."""
    towns = ["Paris"] * 200 + ["Lyon"] * 100 + ["Brest", "Caen", "Dole"]
    table = pa.table({"town": towns, "x": list(range(303))})
    encoder = Encoder.learn(table)
    (town, _) = encoder.columns
    assert town.levels == ("Paris", "Lyon")
    assert town.has_other
    new = encoder.cells(pa.table({"town": ["Metz", "Lyon", None], "x": [1, 2, 3]}))
    assert new[0, 0] == 2
    assert new[1, 0] == 1
    assert np.isnan(new[2, 0])
    assert encoder.numbers(new)[:, 1:].tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]


def test_outlier_codes_are_clipped_for_linear_scores_only():
    """A code far beyond the quantiles stays in the cells, and is cut in the numbers."""
    values = np.concatenate([np.arange(1000.0) % 10, [98.0, 96.0]])
    encoder = Encoder.learn(values[:, None])
    assert encoder.cells(values[:, None]).max() == 98
    assert encoder.numbers(values[:, None]).max() == pytest.approx(9 + 2 * 9)


def test_rare_values_of_a_column_that_hardly_varies_are_kept():
    """Where nearly all rows are alike, what differs is not cut."""
    values = np.zeros(1000)
    values[:2] = 7.0
    encoder = Encoder.learn(values[:, None])
    assert encoder.numbers(values[:, None]).max() == 7


def test_weights_count_like_repeated_rows():
    """A row of weight two and a row that stands twice give about the same median."""
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(501, 2)), rng.integers(1, 4, 501).astype(float)
    X[::7, 0] = np.nan
    weighted = Encoder.learn(X, sample_weight=weight)
    repeated = Encoder.learn(np.repeat(X, weight.astype(int), axis=0))
    for one, other in zip(weighted.columns, repeated.columns, strict=True):
        # Neighbouring values of 1,000 lie this close to each other at the median.
        assert one.fill[0] == pytest.approx(other.fill[0], abs=0.02)


def test_what_cannot_be_read_is_said_with_its_place():
    """A value that is no number is named, and a column that is gone."""
    encoder = Encoder.learn(people())
    wrong = as_text(people()).to_pandas()
    wrong.loc[17, "age"] = "old"
    with pytest.raises(CellError, match="'age' held numbers"):
        encoder.cells(wrong)
    with pytest.raises(TableError, match="town"):
        encoder.cells(people().drop(columns="town"))


def test_a_frame_and_its_text_are_decided_alike():
    """A classifier gives a frame and the same rows as text the same probabilities."""
    frame = people(600).drop(columns="one")
    rng = np.random.default_rng(1)
    y = (frame["age"].fillna(40) + 20 * (frame["town"] == "Paris") + rng.normal(0, 9, 600)) > 52
    model = FlipCostClassifier(cost=0.3, random_state=0).fit(frame, y)
    text = as_text(frame).to_pandas()
    again = FlipCostClassifier(cost=0.3, random_state=0).fit(text, y)
    np.testing.assert_allclose(again.predict_proba(frame), model.predict_proba(text), atol=1e-12)


@pytest.mark.parametrize(("code", "share"), [(999.0, 0.05), (-9999.0, 0.02), (1e6, 0.08)])
def test_codes_that_many_rows_hold_are_clipped(code, share):
    """They lie apart from all other values; a long tail without a gap is left as it is."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(18, 90, 2_000), rng.lognormal(3, 1, 2_000)])
    plain = Encoder.learn(X).numbers(X)
    coded = X.copy()
    hit = rng.random(2_000) < share
    coded[hit, 0] = code
    found = Encoder.learn(coded).numbers(coded)
    assert np.abs(found[hit, 0]).max() < 400
    np.testing.assert_array_equal(found[~hit, 0], X[~hit, 0])
    np.testing.assert_array_equal(found[:, 1], plain[:, 1])
