import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from flipcost import ClassMoments
from flipcost.exceptions import SourceError
from flipcost.tables.scan import scan_batches
from flipcost.tables.summary import TableSummary
from flipcost.tables.table_encoder import LevelColumn, NumberColumn, TableEncoder


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


def test_the_encoder_is_scikit_learns(frame):
    """Imputing, scaling and one-hot coding from merged summaries are those of scikit-learn."""
    table = scan_batches(split(frame), "y")
    encoder = table.summary(categorical=["code"]).encoder(impute="mean", standardize=True)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    # scikit-learn scales by the deviation after imputing; ours is that of the values present.
    missing = frame["town"][frame["town"].isna()].iloc[0]  # None before pandas 3, NaN since
    levels = make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values=missing),
        OneHotEncoder(sparse_output=False),
    )
    codes = OneHotEncoder(sparse_output=False)
    peer = make_column_transformer((levels, ["town"]), (codes, ["code"]))
    ours = encoder.transform(frame)
    np.testing.assert_array_equal(ours[:, 1:], peer.fit_transform(frame))
    scaled = numbers.fit_transform(frame[["age"]]).ravel()
    np.testing.assert_allclose(
        ours[:, 0], scaled * numbers[-1].scale_ / np.nanstd(frame["age"]), atol=1e-12
    )
    assert encoder.feature_names == (
        *("age", "town=Lyon", "town=Nice", "town=Paris"),
        *("code=7", "code=8", "code=9"),
    )


def test_encoded_moments_are_those_of_encoded_rows(frame):
    """Encoding in the pass equals encoding all rows first."""
    table = scan_batches(split(frame), "y")
    encoder = table.summary().encoder(impute="mean", standardize=True)
    found = table.with_encoder(encoder).moments()
    expected = ClassMoments.from_rows(encoder.transform(frame), frame["y"].to_numpy() == 1)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-12 * len(frame))
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-13)


def test_summaries_merge_in_any_way(frame):
    """A summary does not depend on the split of the rows, to rounding."""
    whole = TableSummary.of(frame)
    parts = [TableSummary.of(part) for part in split(frame) if len(part)]
    for order in (parts, parts[::-1]):
        total = order[0]
        for part in order[1:]:
            total = total.merge(part)
        assert total.columns["town"] == whole.columns["town"]
        for field in ("n_rows", "n_missing", "mean", "squares", "low", "high"):
            found, expected = (getattr(s.columns["age"], field) for s in (total, whole))
            assert found == pytest.approx(expected, rel=1e-13)


def test_columns_without_values_merge():
    """A part in which a column is all missing adds its missing values and nothing else."""
    empty = TableSummary.of(pa.table({"x": pa.array([None, None], pa.float64())}))
    full = TableSummary.of(pa.table({"x": [1.0, 3.0]}))
    for merged in (empty.merge(full), full.merge(empty)):
        column = merged.columns["x"]
        assert (column.mean, column.n_missing, column.n_rows, column.low) == (2.0, 2, 2, 1.0)


def test_summaries_and_encoders_travel_as_text(frame):
    """What one site writes another reads back equal."""
    summary = TableSummary.of(frame, categorical=["code"])
    assert TableSummary.from_json(summary.to_json()) == summary
    encoder = summary.encoder(impute="mean", standardize=True, unknown="ignore")
    assert TableEncoder.from_json(encoder.to_json()) == encoder
    with pytest.raises(ValueError, match="to_json"):
        TableEncoder.from_json(summary.to_json())
    with pytest.raises(ValueError, match="to_json"):
        TableSummary.from_json("{}")


def test_missing_values_are_refused_unless_imputed(frame):
    """Without a rule missing numbers and levels are refused; with one they are filled."""
    summary = TableSummary.of(frame)
    with pytest.raises(SourceError, match="column 'age' must not have missing values"):
        summary.encoder().transform(frame)
    with pytest.raises(SourceError, match="column 'town' must not have missing values"):
        summary.encoder(impute={"age": 0.0}).transform(frame)
    filled = summary.encoder(impute={"age": -1.0, "town": "Nice"}).transform(frame)
    np.testing.assert_array_equal(filled[:, 0] == -1, frame["age"].isna())
    np.testing.assert_array_equal(filled[:, 2] == 1, frame["town"].fillna("Nice") == "Nice")
    with pytest.raises(ValueError, match="impute"):
        summary.encoder(impute="median")


def test_unknown_levels_are_refused_or_ignored():
    """A level that was not learned is named, or gives zeros when told to."""
    table = pa.table({"town": ["Rome", "Nice"]})
    column = LevelColumn("town", ("Lyon", "Nice"))
    with pytest.raises(SourceError, match=r"does not know: \['Rome'\]"):
        TableEncoder((column,)).transform(table)
    ignoring = TableEncoder((LevelColumn("town", ("Lyon", "Nice"), unknown="ignore"),))
    assert ignoring.transform(table).tolist() == [[0, 0], [0, 1]]


def test_columns_of_the_wrong_kind_are_named(frame):
    """Text where numbers were learned, levels in numbers, and dates are refused by name."""
    with pytest.raises(SourceError, match="column 'town' must hold numbers"):
        TableEncoder((NumberColumn("town"),)).transform(frame)
    with pytest.raises(SourceError, match="column 'age' must hold levels"):
        TableEncoder((LevelColumn("age", ("a",), fill="a"),)).transform(frame.dropna())
    with pytest.raises(SourceError, match=r"column 'day'.*date32"):
        TableSummary.of(pa.table({"day": pa.array([1, 2], pa.date32())}))


def test_identifiers_are_not_categories():
    """A column with more levels than allowed is named."""
    table = pa.table({"id": [str(k) for k in range(200)]})
    with pytest.raises(ValueError, match="column 'id' must have at most 100 levels; got 200"):
        TableSummary.of(table).encoder()
    assert len(TableSummary.of(table).encoder(max_levels=200).feature_names) == 200
    many = pa.table({"id": [str(k) for k in range(10_001)]})
    with pytest.raises(SourceError, match="column 'id' must have at most 10000 levels"):
        TableSummary.of(many)


def test_wrong_columns_are_refused():
    """Impossible scales, fills and rules are refused when the encoder is made."""
    with pytest.raises(ValueError, match="scale"):
        NumberColumn("x", scale=0.0)
    with pytest.raises(ValueError, match="fill"):
        LevelColumn("x", ("a",), fill="b")
    with pytest.raises(ValueError, match="unknown"):
        LevelColumn("x", ("a",), unknown="drop")
    encoder = TableEncoder((NumberColumn("x"),))
    with pytest.raises(ValueError, match="those of the encoder"):
        scan_batches([], "y", ["z"], encoder=encoder)
    with pytest.raises(SourceError, match="named columns"):
        scan_batches([(np.zeros((2, 1)), np.array([0, 1]))], encoder=encoder).moments()


def test_a_constant_column_is_not_divided_by_zero():
    """A column without spread is centred and left at its scale."""
    encoder = TableSummary.of(pa.table({"x": [3.0, 3.0]})).encoder(standardize=True)
    assert encoder.transform(pa.table({"x": [3.0, 4.0]})).tolist() == [[0.0], [1.0]]
