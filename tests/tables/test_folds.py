import numpy as np
import pyarrow as pa
import pytest

from flipcost.core.folds import hash_folds
from flipcost.exceptions import SourceError
from flipcost.tables.rows import id_keys


def test_the_hash_is_splitmix64():
    """The mixing gives the published first outputs of SplitMix64 started at 1234567."""
    from flipcost.core import folds

    start = 1234567
    keys = np.array([(start + k * int(folds._GAMMA)) % 2**64 for k in range(3)], np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert folds.hash_keys(keys).tolist() == expected


@pytest.mark.parametrize("n_folds", [2, 5, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_folds_are_even(n_folds, seed):
    """Consecutive positions fall evenly into folds: chi-square within its 1e-4 upper limit."""
    from scipy.stats import chi2

    n = 100_000
    folds = hash_folds(np.arange(n, dtype=np.uint64), n_folds, seed)
    counts = np.bincount(folds, minlength=n_folds)
    statistic = ((counts - n / n_folds) ** 2).sum() / (n / n_folds)
    assert statistic < chi2(n_folds - 1).isf(1e-4)


def test_seeds_give_independent_folds():
    """Two seeds agree on a fifth of the rows at five folds, within five standard errors."""
    n = 100_000
    keys = np.arange(n, dtype=np.uint64)
    agree = (hash_folds(keys, 5, 0) == hash_folds(keys, 5, 1)).mean()
    assert abs(agree - 0.2) < 5 * np.sqrt(0.2 * 0.8 / n)


def test_identifiers_of_text_do_not_depend_on_slices_or_types():
    """A text has the same key in any slice, as string, large string or dictionary's value."""
    texts = ["", "a", "b", "ab", "ba", "à la carte", "a" * 1000, "x"]
    keys = id_keys(pa.array(texts), "id", "here")
    assert len(set(keys.tolist())) == len(texts)
    for k in range(len(texts)):
        assert id_keys(pa.array(texts)[k:], "id", "here").tolist() == keys[k:].tolist()
        assert id_keys(pa.array(texts[k:], pa.large_string()), "id", "here")[0] == keys[k]


def test_identifiers_of_other_types():
    """Integers of any width agree, dates are taken, floats and missing ones are refused."""
    for type_ in (pa.int8(), pa.uint16(), pa.int64(), pa.uint64()):
        assert id_keys(pa.array([1, 2], type_), "id", "here").tolist() == [1, 2]
    assert id_keys(pa.array([-1], pa.int8()), "id", "here").tolist() == [2**64 - 1]
    assert id_keys(pa.array([5], pa.date32()), "id", "here").tolist() == [5]
    assert id_keys(pa.array([5], pa.timestamp("us")), "id", "here").tolist() == [5]
    with pytest.raises(SourceError, match="here: column 'id' must hold integers"):
        id_keys(pa.array([1.5]), "id", "here")
    with pytest.raises(SourceError, match="must not have missing"):
        id_keys(pa.array([1, None]), "id", "here")
    with pytest.raises(ValueError, match="n_folds"):
        hash_folds(np.arange(3, dtype=np.uint64), 0)
