"""Encoders of tables that are not held: learned, applied in passes, sent and merged."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.preprocessing import StandardScaler

from flipcost import ClassMoments, UnevenMarginClassifier
from flipcost.exceptions import SourceError, TableError
from flipcost.tables.encoder import Encoder
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.scan import scan_batches


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 400
    age = rng.normal(40, 10, n)
    age[rng.random(n) < 0.1] = np.nan
    town = rng.choice(["Lyon", "Nice", "Paris"], n, p=[0.2, 0.3, 0.5]).astype(object)
    town[rng.random(n) < 0.05] = None
    return pd.DataFrame(
        {"age": age, "town": town, "code": rng.integers(7, 10, n), "y": rng.integers(0, 2, n)}
    )


def split(frame, sizes=(50, 0, 7, 200, 143)):
    ends = np.cumsum(sizes)
    return [frame.iloc[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def of(table):
    """Return the encoder of a table in memory."""
    return TableEncoder(Encoder.learn(table)).fit(table)


def test_the_encoder_of_a_table_is_that_of_memory(frame):
    """What is learned in a pass is what `fit` learns of the frame, standardized."""
    found = scan_batches(split(frame), "y").learn_encoder(categorical=["code"])
    X = frame.drop(columns="y")
    expected = Encoder.learn(X, categorical=["code"])
    assert found.encoder == expected
    numbers = expected.numbers(expected.cells(X))
    np.testing.assert_allclose(
        found.transform(frame), StandardScaler().fit_transform(numbers), atol=1e-12
    )
    assert found.feature_names == (
        *("age", "age is missing", "town is missing"),
        *("town = Paris", "town = Nice", "town = Lyon"),
        *(f"code = {level}" for level in expected.columns[2].levels),
    )


def test_encoded_moments_are_those_of_encoded_rows(frame):
    """Encoding in the pass equals encoding all rows first, and is the default."""
    table = scan_batches(split(frame), "y")
    encoder = table.learn_encoder()
    found = table.with_encoder(encoder).moments()
    expected = ClassMoments.from_rows(encoder.transform(frame), frame["y"].to_numpy() == 1)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-12 * len(frame))
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-13)
    assert table.with_encoder().moments().scatter.tobytes() == found.scatter.tobytes()


def test_encoders_travel_as_text(frame):
    """What one site writes another reads back equal, whatever its limits are."""
    encoder = of(frame.assign(far=np.where(frame.index == 3, 1e9, frame["age"])))
    again = TableEncoder.from_json(encoder.to_json())
    assert again.encoder == encoder.encoder
    assert again.mean_.tolist() == encoder.mean_.tolist()
    assert again.scale_.tolist() == encoder.scale_.tolist()
    with pytest.raises(ValueError, match="to_json"):
        TableEncoder.from_json("{}")


def test_encoders_of_parts_merge(frame):
    """Every level of any part has a column; a column empty in one part is known from the other."""
    west = frame.assign(town=np.where(frame["town"] == "Nice", "Lyon", frame["town"]), one=np.nan)
    east = frame.assign(town=np.where(frame["town"] == "Paris", "Nice", "Rome"))
    east["one"] = east["age"]
    merged = TableEncoder.merge_all([of(west), of(east)])
    assert set(merged.encoder.columns[1].levels) == {"Paris", "Lyon", "Nice", "Rome"}
    assert merged.encoder.columns[-1].kind == "number"
    both = pd.concat([west, east])
    numbers = merged.transform(both)
    assert np.isfinite(numbers).all()
    towns = [k for k, name in enumerate(merged.feature_names) if name.startswith("town =")]
    np.testing.assert_allclose(numbers[:, towns].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(numbers[:, towns].std(axis=0), 1, atol=1e-12)
    with pytest.raises(ValueError, match="same columns"):
        TableEncoder.merge_all([of(west), of(west[["age", "town"]])])
    with pytest.raises(ValueError, match="'age' must be of one kind"):
        TableEncoder.merge_all([of(west[["age"]]), of(pd.DataFrame({"age": ["old", "young"]}))])


def test_missing_values_and_new_levels_have_a_place(frame):
    """Without an encoder missing values are refused; with one rows of any kind are read."""
    table = scan_batches([frame[["age", "y"]]], "y")
    with pytest.raises(SourceError, match="column 'age' must not have missing values; got 27"):
        table.moments()
    encoder = of(frame[["age", "town"]])
    new = encoder.transform(pa.table({"age": [None, 40.0], "town": ["Rome", None]}))
    assert np.isfinite(new).all()
    flag = encoder.feature_names.index("age is missing")
    assert new[0, flag] > 0 > new[1, flag]


def test_columns_of_the_wrong_kind_are_named(frame):
    """Text among plain numbers, numbers that are none any more, columns that are gone."""
    with pytest.raises(SourceError, match=r"column 'town' must hold numbers.*`with_encoder`"):
        scan_batches([frame[["town", "y"]]], "y").moments()
    encoder = of(frame[["age"]])
    with pytest.raises(TableError, match="'age' held numbers when the model was made"):
        encoder.transform(pa.table({"age": ["old"]}))
    table = scan_batches([pa.table({"age": ["old", "young"], "y": [0, 1]})], "y", encoder=encoder)
    with pytest.raises(SourceError, match=r"batch 0: Column 'age' held numbers"):
        table.moments()
    with pytest.raises(ValueError, match="those of the encoder"):
        scan_batches([], "y", ["z"], encoder=encoder)
    arrays = [(np.zeros((2, 1)), np.array([0, 1]))]
    with pytest.raises(SourceError, match="named columns"):
        scan_batches(arrays, encoder=encoder).moments()
    with pytest.raises(SourceError, match="rows of arrays are numbers already"):
        scan_batches(arrays).learn_encoder()


def test_an_encoder_is_the_first_step_of_a_pipeline(frame):
    """It transforms frames for any classifier of scikit-learn."""
    from sklearn.pipeline import make_pipeline

    X, y = frame.drop(columns="y"), frame["y"]
    model = make_pipeline(TableEncoder(Encoder.learn(X)), UnevenMarginClassifier(cost=0.5))
    table = scan_batches(split(frame), "y").with_encoder()
    peer = UnevenMarginClassifier(cost=0.5).fit_table(table)
    rows = pd.DataFrame(table.encoder.transform(X), columns=table.encoder.feature_names)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), peer.predict(rows))


def test_a_sample_of_an_encoded_table_has_its_features(frame):
    """All of the rarer label up to half, weighted to represent the table."""
    table = scan_batches(split(frame), "y").with_encoder()
    found = table.sample(100)
    assert found.X.shape == (100, len(table.encoder.feature_names))
    assert np.bincount(found.y).tolist() == [50, 50]
    for label in (0, 1):
        stands_for = found.weight[found.y == label].sum()
        assert stands_for == pytest.approx((frame["y"] == label).sum())
