"""The bundled tables: counts, hashes, codings, forms and damage."""

import csv
import hashlib
import json
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from flipcost import datasets

DATA = files("flipcost.datasets") / "data"

# Rows, features, positives, negatives and cost as the paper's tables give them.
PUBLISHED = {
    "load_breast_cancer_ljubljana": (263, 9, 77, 186, 0.2),
    "load_pima": (768, 8, 268, 500, 0.25),
    "load_german_credit": (1000, 20, 300, 700, 0.16),
    "load_thyroid": (215, 5, 65, 150, 0.3),
    "load_bupa": (345, 6, 176, 169, 0.25),
}


@pytest.fixture(params=PUBLISHED)
def loader(request):
    """Each loader of a bundled table."""
    return getattr(datasets, request.param)


def bundled_rows(name):
    """Return a bundled file as dictionaries, without the library's reader."""
    return list(csv.DictReader((DATA / name).read_text(encoding="ascii").splitlines()))


def test_published_counts(loader):
    """Rows, features, classes and cost are those of the paper."""
    bunch = loader()
    n, d, positives, negatives, cost = PUBLISHED[loader.__name__]
    assert bunch.data.shape == (n, d)
    assert Counter(bunch.target.tolist()) == {1: positives, -1: negatives}
    assert bunch.cost == cost
    assert len(bunch.feature_names) == d
    assert len(bunch.target_names) == 2


def test_numeric_and_finite(loader):
    """The default coding of every set is a matrix of finite floats without constant columns."""
    data = loader().data
    assert data.dtype == np.float64
    assert np.isfinite(data).all()
    assert (data.std(axis=0) > 0).all()


def test_loading_twice_gives_equal_and_separate_arrays(loader):
    """Loads are deterministic, and changing one result does not change the next."""
    first, second = loader(), loader()
    assert_array_equal(first.data, second.data)
    first.data[:] = 0
    assert_array_equal(loader().data, second.data)


def test_return_x_y(loader):
    """The short form holds the same arrays."""
    X, y = loader(return_X_y=True)
    bunch = loader()
    assert_array_equal(X, bunch.data)
    assert_array_equal(y, bunch.target)


def test_as_frame(loader):
    """The frame holds the same numbers under the names of the features."""
    pd = pytest.importorskip("pandas")
    plain, framed = loader(), loader(as_frame=True)
    assert list(framed.data.columns) == plain.feature_names
    assert_array_equal(framed.data.to_numpy(), plain.data)
    assert isinstance(framed.target, pd.Series)
    assert_array_equal(framed.target, plain.target)
    assert list(framed.frame.columns) == [*plain.feature_names, "target"]
    assert plain.frame is None


def test_description_names_source_licence_and_citation(loader):
    """DESCR carries what a user must state."""
    text = loader().DESCR
    for part in ("Source:", "Licence:", "Please cite:", "Positive (+1) when:"):
        assert part in text


def test_breast_cancer_variants():
    """With duplicates there are 277 rows, 81/196; they hold the 263 distinct ones in order."""
    every = datasets.load_breast_cancer_ljubljana(duplicates=True, coding="raw")
    distinct = datasets.load_breast_cancer_ljubljana(coding="raw")
    assert Counter(every.target.tolist()) == {1: 81, -1: 196}
    seen = dict.fromkeys(zip(map(tuple, every.data), every.target, strict=True))
    assert list(seen) == list(zip(map(tuple, distinct.data), distinct.target, strict=True))


def test_breast_cancer_coding_is_one_to_one_and_ordered():
    """Numbers and categories correspond one to one, and bins keep their order."""
    number = datasets.load_breast_cancer_ljubljana()
    raw = datasets.load_breast_cancer_ljubljana(coding="raw")
    for j, feature in enumerate(raw.feature_names):
        pairs = set(zip(raw.data[:, j], number.data[:, j], strict=True))
        assert len(pairs) == len(set(raw.data[:, j])) == len(set(number.data[:, j])), feature
    j = number.feature_names.index("tumor_size")
    low = [int(bin_.split("-")[0]) for bin_ in raw.data[:, j]]
    assert_array_equal(number.data[:, j], low)


def test_breast_cancer_raw_frame_is_categorical():
    """Raw bins come as ordered categories, quadrants as unordered ones, and none is missing."""
    pytest.importorskip("pandas")
    X = datasets.load_breast_cancer_ljubljana(coding="raw", as_frame=True).data
    assert X["age"].cat.ordered
    assert not X["breast_quad"].cat.ordered
    assert not X.isna().to_numpy().any()


def test_german_number_coding():
    """Each cell is the integer after the letter A, or the number itself."""
    number = datasets.load_german_credit(standardize=False).data
    rows = bundled_rows("german_credit.csv")
    expected = [[int(cell.lstrip("A")) for cell in list(row.values())[:20]] for row in rows]
    assert_array_equal(number, expected)


def test_german_is_standardised_by_default():
    """Columns have mean 0 and standard deviation 1, to rounding, and keep their correlations."""
    data = datasets.load_german_credit().data
    assert_allclose(data.mean(axis=0), 0, atol=1e-12)
    assert_allclose(data.std(axis=0), 1, rtol=1e-12)
    plain = datasets.load_german_credit(standardize=False).data
    assert_allclose(np.corrcoef(data.T), np.corrcoef(plain.T), atol=1e-12)


def test_german_raw_codes_are_documented():
    """Every raw code has a meaning, and thirteen attributes are categorical."""
    bunch = datasets.load_german_credit(coding="raw")
    categorical = [
        j for j, feature in enumerate(bunch.feature_names) if isinstance(bunch.data[0, j], str)
    ]
    assert len(categorical) == 13
    for j in categorical:
        assert set(bunch.data[:, j]) <= set(bunch.codes[bunch.feature_names[j]])


def test_german_raw_frame_has_numbers_and_categories():
    """Seven columns are floats and thirteen are categories, none missing."""
    pytest.importorskip("pandas")
    X = datasets.load_german_credit(coding="raw", as_frame=True).data
    kinds = Counter(str(kind) for kind in X.dtypes)
    assert kinds == {"float64": 7, "category": 13}
    assert not X.isna().to_numpy().any()


def test_thyroid_joins_both_disorders():
    """Positive is class 2 or 3 of the source, 35 and 30 rows."""
    classes = np.array([row["class"] for row in bundled_rows("thyroid.csv")])
    assert Counter(classes.tolist()) == {"1": 150, "2": 35, "3": 30}
    assert_array_equal(datasets.load_thyroid().target == 1, classes != "1")


def test_bupa_label_is_three_drinks_or_more():
    """The label is drinks >= 3; the paper's wording, > 3, would give 155 positive rows."""
    bunch = datasets.load_bupa()
    drinks = bunch.data[:, bunch.feature_names.index("drinks")]
    assert_array_equal(bunch.target == 1, drinks >= 3)
    assert (drinks > 3).sum() == 155


def test_bupa_without_drinks():
    """The honest task has the same rows and labels and lacks the column that defines them."""
    leaky, honest = datasets.load_bupa(), datasets.load_bupa(keep_drinks=False)
    assert honest.feature_names == leaky.feature_names[:5]
    assert_array_equal(honest.data, leaky.data[:, :5])
    assert_array_equal(honest.target, leaky.target)


def test_pima_zeros_stand_for_missing_values():
    """The documented numbers of impossible zeros are those in the data."""
    bunch = datasets.load_pima()
    zeros = dict(zip(bunch.feature_names, (bunch.data == 0).sum(axis=0).tolist(), strict=True))
    expected = {
        "glucose": 5,
        "blood_pressure": 35,
        "skin_thickness": 227,
        "insulin": 374,
        "bmi": 11,
    }
    assert expected.items() <= zeros.items()


@pytest.mark.parametrize("name", ["load_breast_cancer_ljubljana", "load_german_credit"])
def test_unknown_coding(name):
    """An unknown coding is refused with the known ones listed."""
    with pytest.raises(
        ValueError, match=r"`coding` must be one of .*'number', 'raw'.*got 'onehot'"
    ):
        getattr(datasets, name)(coding="onehot")


def test_hashes_of_all_files():
    """Every file has the hash of the index, and no file is missing from it."""
    index = json.loads((DATA / "index.json").read_bytes())
    entries = [*index["tables"].values(), index["paper_tables"]]
    for entry in entries:
        found = hashlib.sha256((DATA / entry["file"]).read_bytes()).hexdigest()
        assert found == entry["sha256"], entry["file"]
    names = {path.name for path in DATA.iterdir() if not path.name.startswith(".")}
    assert names == {entry["file"] for entry in entries} | {"index.json"}
