"""Class moments: gathered, merged, denoised, saved."""

import pickle
import stat
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse

from benchmarks.timing import peak_extra_bytes
from flipcost.core import moments as module
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.noise import transition_matrix
from flipcost.tables.arrow import stack_columns
from tests.reference.brute import (
    assert_same_moments,
    exact_scatter,
    mixed_moments,
    plain_moments,
    two_classes,
)


def test_small_table_by_hand():
    """Counts, weights, means and scatters of five rows are those computed by hand."""
    X = [[0.0, 1.0], [2.0, 3.0], [1.0, 0.0], [3.0, 4.0], [5.0, 2.0]]
    moments = ClassMoments.from_rows(np.array(X), [0, 0, 1, 1, 1], [1, 3, 1, 1, 2])
    np.testing.assert_array_equal(moments.n_rows, [2, 3])
    np.testing.assert_array_equal(moments.weight, [4, 4])
    np.testing.assert_allclose(moments.mean, [[1.5, 2.5], [3.5, 2.0]])
    np.testing.assert_allclose(moments.scatter[0], [[3, 3], [3, 3]])
    np.testing.assert_allclose(moments.scatter[1], [[11, 4], [4, 8]])


@pytest.mark.parametrize("rows_in_block", [64, 100, 65_536])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_do_not_show(monkeypatch, rows_in_block, weighted):
    """Any size of block gives the moments of the definition, up to rounding."""
    monkeypatch.setattr(module, "block_size", lambda d: rows_in_block)
    X, positive = two_classes(n=1000, d=4, seed=1)
    weight = np.random.default_rng(2).gamma(1.0, size=1000) if weighted else None
    moments = ClassMoments.from_rows(X, positive, weight)
    expected = plain_moments(X, positive, weight)
    assert_same_moments(moments, expected, scale=np.abs(X).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.uint16, bool])
def test_dtypes_are_accumulated_in_double(dtype):
    """Rows of any real dtype give the moments of the same numbers in double precision."""
    rng = np.random.default_rng(3)
    X = (rng.integers(0, 2 if dtype is bool else 100, (500, 3))).astype(dtype)
    if dtype is np.float32:
        X += np.float32(0.1)
    positive = rng.random(500) < 0.3
    moments = ClassMoments.from_rows(X, positive)
    assert moments.scatter.dtype == moments.mean.dtype == moments.weight.dtype == np.float64
    expected = plain_moments(X.astype(float), positive)
    assert_same_moments(moments, expected, scale=100.0)


def test_memory_layout_does_not_show():
    """Column-major, strided, reversed and read-only rows give the same moments to the last bit."""
    X, positive = two_classes(n=700, d=3)
    expected = ClassMoments.from_rows(X, positive)
    wide = np.zeros((1400, 6))
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    for rows in (np.asfortranarray(X), wide[::2, ::2], X[::-1].copy()[::-1], frozen, X.tolist()):
        moments = ClassMoments.from_rows(rows, positive)
        np.testing.assert_array_equal(moments.scatter, expected.scatter)
        np.testing.assert_array_equal(moments.mean, expected.mean)


def test_rows_are_left_as_they_were():
    """Gathering changes neither the rows nor the labels nor the weights."""
    X, positive = two_classes(n=300, d=3)
    X += 1e6  # makes the blocks shift
    weight = np.linspace(0, 1, 300)
    copies = X.copy(), positive.copy(), weight.copy()
    ClassMoments.from_rows(X, positive, weight)
    ClassMoments.from_rows(sparse.csr_array(X), positive, weight)
    for array, copy in zip((X, positive, weight), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("rows_in_block", [64, 65_536])
@pytest.mark.parametrize("offset", [0, 1e4, 1e8, -1e8])
@pytest.mark.parametrize("kind", ["dense", "float weights", "csr"])
def test_offsets_keep_the_scatter(monkeypatch, rows_in_block, offset, kind):
    """Scatters under offsets of 1e8 agree with exact arithmetic to 1e-6, as do single entries."""
    monkeypatch.setattr(module, "block_size", lambda d: rows_in_block)
    rng = np.random.default_rng(4)
    numerators = rng.normal(scale=1024, size=(3000, 3)).round().astype(np.int64)
    X = offset * np.array([1.0, 0.5, 1.0]) + numerators / 1024  # all of it exact
    positive = rng.random(3000) < 0.3
    rows = sparse.csr_array(X) if kind == "csr" else X
    moments = ClassMoments.from_rows(rows, positive, np.ones(3000) if "weights" in kind else None)
    for c in (0, 1):
        expected = exact_scatter(numerators[positive == bool(c)], 1024)
        scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
        assert np.abs((moments.scatter[c] - expected) / scale).max() < 1e-6
        shift = offset * np.array([1.0, 0.5, 1.0])
        mean = shift + numerators[positive == bool(c)].mean(axis=0) / 1024
        np.testing.assert_allclose(moments.mean[c], mean, rtol=1e-14, atol=1e-12)


@pytest.mark.parametrize("sorted_by", ["drift", "class", "jump"])
def test_drifting_offsets_keep_the_scatter(monkeypatch, sorted_by):
    """Rows that are sorted, so that every block has another offset, cost no digits either."""
    monkeypatch.setattr(module, "block_size", lambda d: 64)
    rng = np.random.default_rng(5)
    n = 2000
    drift = {
        "drift": np.arange(n) * 50_000,
        "class": np.where(np.arange(n) < n // 2, 0, 10**8),
        "jump": np.where(np.arange(n) % 128 < 64, 10**8, -(10**8)),
    }[sorted_by]
    numerators = rng.normal(scale=64, size=(n, 2)).round().astype(np.int64)
    numerators += 64 * drift[:, None]
    X = numerators / 64
    positive = np.arange(n) >= n // 2 if sorted_by == "class" else rng.random(n) < 0.5
    moments = ClassMoments.from_rows(X, positive)
    for c in (0, 1):
        expected = exact_scatter(numerators[positive == bool(c)].tolist(), 64)
        scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
        assert np.abs((moments.scatter[c] - expected) / scale).max() < 1e-6


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -1e8 / 3])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_constant_columns_have_no_scatter(value, make):
    """A constant column has its own value as mean, and a scatter of rounding squared at most."""
    X, positive = two_classes(n=1000, d=2)
    X[:, 1] = value
    moments = ClassMoments.from_rows(make(X), positive)
    np.testing.assert_allclose(moments.mean[:, 1], value, rtol=1e-15)
    spread = np.sqrt(np.abs(moments.scatter[:, 1, 1]) / moments.weight)
    assert np.all(spread <= 1e-15 * abs(value))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_equals_dense(monkeypatch, make, weighted):
    """Sparse rows give the moments of the same rows made dense, in any number of blocks."""
    monkeypatch.setattr(module, "_SPARSE_BLOCK_ROWS", 50)
    rng = np.random.default_rng(6)
    X = np.where(rng.random((400, 6)) < 0.2, rng.normal(size=(400, 6)), 0.0)
    X[:, 2] = 5 + rng.normal(size=400)  # no gaps: shifted
    positive = rng.random(400) < 0.4
    weight = rng.integers(0, 3, 400) if weighted else None
    moments = ClassMoments.from_rows(make(X), positive, weight)
    assert_same_moments(moments, plain_moments(X, positive, weight), scale=np.abs(X).max())


def test_sparse_entries_given_twice_add_up():
    """Entries stored twice count as their sum, and explicit zeros as zeros."""
    data, indices, indptr = [1.0, 2.0, 0.0, 4.0, 5.0], [0, 0, 1, 0, 1], [0, 2, 3, 5]
    X = sparse.csr_array((data, indices, indptr), shape=(3, 2))
    positive = np.array([True, False, True])
    moments = ClassMoments.from_rows(X, positive)
    assert_same_moments(moments, plain_moments(X.toarray(), positive), scale=5.0)
    assert X.nnz == 5


def test_sparse_rows_are_not_made_dense():
    """Gathering from CSR takes a small part of the memory that dense rows would take."""
    rng = np.random.default_rng(7)
    n, d, per_row = 60_000, 200, 3
    X = sparse.csr_array(
        (
            rng.normal(size=n * per_row),
            rng.integers(0, d, n * per_row),
            np.arange(0, n * per_row + 1, per_row),
        ),
        shape=(n, d),
    )
    X.sum_duplicates()
    positive = rng.random(n) < 0.5
    assert peak_extra_bytes(lambda: ClassMoments.from_rows(X, positive)) < 0.15 * 8 * n * d


@pytest.mark.parametrize("layout", ["C", "F", "float32", "weights", "offset"])
def test_no_copy_of_the_rows(layout):
    """Gathering takes less than a quarter of the memory of the rows."""
    X = np.random.default_rng(8).normal(size=(60_000, 30))
    if layout == "offset":
        X += 1e8
    if layout == "F":
        X = np.asfortranarray(X)
    if layout == "float32":
        X = np.tile(X.astype(np.float32), (2, 1))
    positive = np.arange(len(X)) % 3 == 0
    weight = np.linspace(0, 1, len(X)) if layout == "weights" else None
    assert peak_extra_bytes(lambda: ClassMoments.from_rows(X, positive, weight)) < 0.25 * X.nbytes


def test_no_rows():
    """No rows have zero moments, dense and sparse."""
    for rows in (np.empty((0, 3)), sparse.csr_array((0, 3))):
        moments = ClassMoments.from_rows(rows, np.empty(0, bool))
        assert_same_moments(moments, ClassMoments.zeros(3), scale=1.0)


def test_one_class_and_zero_weights():
    """A class without rows, or without weight, has zero moments and counts its rows."""
    X, positive = two_classes(n=50, d=2)
    moments = ClassMoments.from_rows(X, np.ones(50, bool))
    np.testing.assert_array_equal(moments.n_rows, [0, 50])
    for part in (moments.weight[0], moments.mean[0], moments.scatter[0]):
        assert not np.any(part)
    moments = ClassMoments.from_rows(X, positive, np.where(positive, 0.0, 2.0))
    assert moments.n_rows[1] == positive.sum()
    for part in (moments.weight[1], moments.mean[1], moments.scatter[1]):
        assert not np.any(part)


def test_folds_are_gathered_in_one_pass():
    """Moments of folds are those of their rows; rows of fold -1 are left out."""
    X, positive = two_classes(n=300, d=3)
    folds = np.random.default_rng(9).integers(-1, 4, 300)
    weight = np.random.default_rng(10).random(300)
    for rows in (X, sparse.csr_array(X)):
        for k, moments in enumerate(fold_moments(rows, positive, folds, 4, weight)):
            inside = folds == k
            expected = plain_moments(X[inside], positive[inside], weight[inside])
            assert_same_moments(moments, expected, scale=np.abs(X).max())


def test_many_folds():
    """More folds than a byte can number are distinguished."""
    X, positive = two_classes(n=400, d=1)
    parts = fold_moments(X, positive, np.arange(400) % 200, 200)
    assert all(moments.n_rows.sum() == 2 for moments in parts)
    last = fold_moments(X, positive, np.arange(400) % 63, 63)[62]
    assert last.n_rows.sum() == 6


def test_training_moments_are_merges_of_the_others():
    """The others of each part add up with it to all rows."""
    X, positive = two_classes(n=100, d=2)
    parts = fold_moments(X, positive, np.arange(100) % 5, 5)
    for k, others in enumerate(merge_others(parts)):
        outside = np.arange(100) % 5 != k
        expected = plain_moments(X[outside], positive[outside])
        assert_same_moments(others, expected, scale=np.abs(X).max())


@pytest.mark.parametrize("seed", range(3))
def test_raw_moments_by_brute_force(seed):
    """Raw moments are the sums of the outer products of (x, 1), class by class."""
    X, positive = two_classes(n=60, d=3, seed=seed)
    weight = np.random.default_rng(seed).random(60)
    raw = ClassMoments.from_rows(X, positive, weight).raw()
    Z = np.column_stack([X, np.ones(60)])
    for c in (0, 1):
        inside = positive == bool(c)
        expected = sum(w * np.outer(z, z) for w, z in zip(weight[inside], Z[inside], strict=True))
        np.testing.assert_allclose(raw[c], expected, rtol=1e-12, atol=1e-12)


def test_centre_is_the_mean_of_all_rows():
    """The centre is the weighted mean of all rows; that of no rows is zero."""
    X, positive = two_classes(n=60, d=3)
    weight = np.random.default_rng(0).random(60)
    moments = ClassMoments.from_rows(X, positive, weight)
    np.testing.assert_allclose(moments.centre(), np.average(X, axis=0, weights=weight))
    np.testing.assert_array_equal(ClassMoments.zeros(2).centre(), [0, 0])


def test_rescaled_and_chosen_features():
    """Moments of rescaled, or of some, features are those of the rows so changed."""
    X, positive = two_classes(n=60, d=3)
    moments = ClassMoments.from_rows(X, positive)
    centre, scale = np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.1, 1.0])
    changed = (X - centre) / scale
    expected = plain_moments(changed, positive)
    assert_same_moments(moments.rescale(centre, scale), expected, scale=np.abs(changed).max())
    chosen = plain_moments(X[:, [2, 0]], positive)
    assert_same_moments(moments.take([2, 0]), chosen, scale=np.abs(X).max())


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e8 / 3])
def test_spread(value):
    """It is the standard deviation over all rows, and infinite where a feature is constant."""
    for n in (7, 50, 1000):
        X, positive = two_classes(n=n, d=2)
        X[:, 1] = value
        spread = ClassMoments.from_rows(X + np.array([1e3, 0.0]), positive).spread()
        np.testing.assert_allclose(spread, [X[:, 0].std(), np.inf], rtol=1e-9)
    np.testing.assert_array_equal(ClassMoments.zeros(2).spread(), [np.inf, np.inf])


@pytest.mark.parametrize("noise_rate", [0.2, 0.45, (0.3, 0.1), (0.0, 0.4)])
def test_denoising_is_unbiased(noise_rate):
    """Denoised moments, averaged over all labellings by their probability, are the clean ones."""
    X, positive = two_classes(n=6, d=2, seed=3)
    clean = ClassMoments.from_rows(X, positive).raw()
    transition = transition_matrix(noise_rate)
    total = np.zeros_like(clean)
    for code in range(2**6):
        noisy = (code >> np.arange(6)) & 1 == 1
        probability = np.prod(transition[positive.astype(int), noisy.astype(int)])
        # Linear in the raw moments; `denoise` itself refuses labellings of one class only.
        raw = ClassMoments.from_rows(X, noisy).raw()
        total += probability * np.tensordot(np.linalg.inv(transition.T), raw, axes=1)
        moments = ClassMoments.from_rows(X, noisy)
        if moments.is_possible(noise_rate):
            denoised = moments.denoise(noise_rate).raw()
            expected = np.tensordot(np.linalg.inv(transition.T), raw, axes=1)
            np.testing.assert_allclose(denoised, expected, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(total, clean, rtol=1e-11, atol=1e-11)


def test_denoising_without_noise_changes_nothing():
    """A rate of None or zero gives the same moments."""
    X, positive = two_classes()
    moments = ClassMoments.from_rows(X, positive)
    for rate in (None, 0.0, (0.0, 0.0)):
        assert_same_moments(moments.denoise(rate), moments, scale=np.abs(X).max())


def test_denoising_under_an_offset():
    """Expected noisy moments under an offset of 1e8 give back clean scatters to 1e-6."""
    X, positive = two_classes(n=500, d=3)
    scatter = plain_moments(X, positive).scatter
    moments = ClassMoments.from_rows(X + 1e8, positive)
    denoised = mixed_moments(moments, 0.3).denoise(0.3)
    np.testing.assert_allclose(denoised.scatter, scatter, rtol=0, atol=1e-6 * np.abs(scatter).max())


@pytest.mark.parametrize(
    ("share", "noise_rate"), [(0.2, 0.3), (0.2, 0.2), (0.8, 0.25), (0.3, (0.1, 0.4))]
)
def test_impossible_rates_are_refused(share, noise_rate):
    """A rate that leaves a class no weight is refused with the share that it would need."""
    moments = ClassMoments.from_rows(np.ones((10, 1)), np.arange(10) < 10 * share)
    assert not moments.is_possible(noise_rate)
    with pytest.raises(ValueError, match=r"impossible.*share of positive labels.*smaller rate"):
        moments.denoise(noise_rate)


def test_moments_are_frozen():
    """Neither the fields nor the arrays of moments can be assigned to; the caller's arrays can."""
    mean = np.zeros((2, 1))
    moments = ClassMoments(np.zeros(2), np.zeros(2), mean, np.zeros((2, 1, 1)))
    with pytest.raises(AttributeError):
        moments.mean = mean
    with pytest.raises(ValueError, match=r"read-only"):
        moments.mean[0] = 1
    mean[0] = 1


def test_adding_something_else():
    """Only moments can be added to moments."""
    with pytest.raises(TypeError):
        ClassMoments.zeros(1) + 1


BAD_INPUT = {
    "nan": (
        lambda X, p: (np.where(np.eye(6, 2) > 0, np.nan, X), p),
        "finite.*NaN.*row 0, column 0.*mpute",
    ),
    "infinity": (
        lambda X, p: (np.where(np.eye(6, 2) > 0, np.inf, X), p),
        "finite.*infinity.*row 0",
    ),
    "sparse nan": (
        lambda X, p: (sparse.csr_array(np.where(np.eye(6, 2) > 0, np.nan, X)), p),
        "finite.*NaN.*row 0, column 0",
    ),
    "overflow": (lambda X, p: (X * 1e300, p), "overflow.*too large.*Rescale"),
    "one dimension": (lambda X, p: (X[:, 0], p), "two dimensions.*got 1.*reshape"),
    "lengths": (lambda X, p: (X, p[:3]), r"shape \(6,\).*got \(3,\).*same rows"),
    "signs as labels": (lambda X, p: (X, np.where(p, 1, -1)), "booleans.*got.*-1.*y == positive"),
    "weights short": (lambda X, p: (X, p, np.ones(2)), r"shape \(6,\).*got \(2,\).*same rows"),
    "weights negative": (lambda X, p: (X, p, -np.ones(6)), "non-negative.*drop or fix"),
    "weights nan": (lambda X, p: (X, p, np.full(6, np.nan)), "finite.*drop or fix"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_rows_are_refused(name):
    """Rows that cannot be gathered are refused with what must hold, what was got, what to do."""
    change, message = BAD_INPUT[name]
    X = np.arange(12.0).reshape(6, 2) + 1
    with pytest.raises(ValueError, match=message):
        ClassMoments.from_rows(*change(X, np.arange(6) % 2 == 0))


def test_too_many_features_are_refused_before_allocation():
    """More features than fit in memory are refused at once, with how many would fit."""
    message = r"need about .* GB.*this process may use.*fewer features \(here at most \d+\)"
    X = sparse.csr_array((3, 2_000_000))
    for call in (
        lambda: ClassMoments.from_rows(X, [True, False, True]),
        lambda: ClassMoments.zeros(2_000_000),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_bad_folds_are_refused():
    """Folds out of range, or not one for each row, are refused."""
    X, positive = two_classes(n=10, d=1)
    for folds in (np.full(10, 2), np.full(10, -2), np.zeros(9, int)):
        with pytest.raises(ValueError, match=r"a fold from 0 to 1.*got shape.*from zero"):
            fold_moments(X, positive, folds, 2)


def test_bad_shapes_and_merges_are_refused():
    """Arrays that do not fit together, other features, and no parts at all are refused."""
    with pytest.raises(ValueError, match=r"must have shapes.*got"):
        ClassMoments(np.zeros(2), np.zeros(2), np.zeros((2, 2)), np.zeros((2, 1, 1)))
    with pytest.raises(ValueError, match=r"same features.*got 1 and 2.*same columns"):
        ClassMoments.zeros(1).merge(ClassMoments.zeros(2))
    with pytest.raises(ValueError, match=r"at least one part.*got none.*zeros"):
        ClassMoments.merge_all([])


# ---------------------------------------------------------------------------------- files


@pytest.fixture
def saved(tmp_path):
    X, positive = two_classes(n=30, d=2)
    moments = ClassMoments.from_rows(X, positive)
    path = tmp_path / "moments.npz"
    moments.save(path)
    return moments, path


def test_saved_moments_come_back_to_the_bit(saved):
    """What is loaded is what was saved, and only it is in the folder, whatever the file's name."""
    moments, path = saved
    moments.save(str(path.with_name("without extension")))
    assert sorted(p.name for p in path.parent.iterdir()) == ["moments.npz", "without extension"]
    for file in path.parent.iterdir():
        loaded = ClassMoments.load(file)
        for name in ("n_rows", "weight", "mean", "scatter"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(moments, name))
            assert getattr(loaded, name).dtype == getattr(moments, name).dtype


def test_saved_files_have_ordinary_permissions(saved):
    """The file can be read by whom the user's mask allows, not by its owner alone."""
    _, path = saved
    other = path.with_name("ordinary")
    other.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_every_cut_is_refused(saved):
    """A file cut anywhere is refused."""
    _, path = saved
    whole = path.read_bytes()
    for length in range(0, len(whole), 23):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"that `save` wrote.*[Gg]ather"):
            ClassMoments.load(path)


def test_every_flipped_bit_is_refused_or_harmless(saved):
    """A file with any bit flipped is refused, or loads what was saved (names, dates, padding)."""
    moments, path = saved
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 3):
        altered = bytearray(whole)
        altered[place] ^= 1 << (place % 8)
        path.write_bytes(altered)
        try:
            loaded = ClassMoments.load(path)
        except ValueError:
            refused += 1
        else:
            for name in ("n_rows", "weight", "mean", "scatter"):
                np.testing.assert_array_equal(getattr(loaded, name), getattr(moments, name))
    assert refused > len(whole) / 6


def test_foreign_and_later_files_are_refused(saved):
    """Files of something else, of version 0.1 or of a later version are refused and say so."""
    _, path = saved
    good = path.read_bytes()
    line, rest = good.split(b"\n", 1)
    name, version, d, checksum = line.split()
    larger = int(d) + 1
    for content, words in (
        (b"%s %s %d %s\n" % (name, version, larger, checksum) + rest, "checksum does not match"),
        (b"%s %s 9999 %s\n" % (name, version, checksum) + rest, "checksum does not match"),
        (b"%s 3 %s %s\n" % (name, d, checksum) + rest, r"version 3; this flipcost reads"),
        (good[:-8] + b"\0" * 8, "checksum does not match"),
        (good + b"\0" * 8, "checksum does not match"),
        (b"PK\3\4" + good, r"written by flipcost 0\.1"),
        (b"count,weight\n1,2\n", "does not hold class moments"),
        (pickle.dumps({"n_rows": [1, 2]}), "does not hold class moments"),
        (b"", "does not hold class moments"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            ClassMoments.load(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        ClassMoments.load(path)


def test_a_crash_while_saving_leaves_the_old_file(saved, monkeypatch):
    """When writing fails half-way, the old file stays whole and nothing else is left behind."""
    moments, path = saved
    before = path.read_bytes()

    def fail(*_):
        msg = "disk full"
        raise OSError(msg)

    monkeypatch.setattr(type(path), "replace", fail)
    with pytest.raises(OSError, match=r"disk full"):
        moments.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def forged(path, **arrays):
    """Write a file as `save` would, with a checksum that fits, of what `save` would refuse."""
    whole = ClassMoments.from_rows(np.arange(12.0).reshape(6, 2) ** 2, np.arange(6) % 2 > 0)
    fields = {name: getattr(whole, name) for name in ("n_rows", "weight", "mean", "scatter")}
    forged = object.__new__(ClassMoments)
    for name, values in {**fields, **arrays}.items():
        object.__setattr__(forged, name, values)
    with patch.object(ClassMoments, "check"):
        forged.save(path)
    return path


@pytest.mark.parametrize(
    "arrays",
    [
        {"n_rows": np.array([-3, 3])},
        {"n_rows": np.array([0, 3])},
        {"n_rows": np.array([2**63 - 1, 3])},
        {"weight": np.array([-3.0, 3.0])},
        {"weight": np.array([np.nan, 3.0])},
        {"mean": np.full((2, 2), np.inf)},
        {"scatter": -np.ones((2, 2, 2))},
        {"scatter": np.array([[[1.0, 2.0], [2.0, 1.0]]] * 2)},
        {"scatter": np.array([[[1.0, 0.5], [-0.5, 1.0]]] * 2)},
        {"scatter": np.array([[[0.0, 1.0], [1.0, 1.0]]] * 2)},
        {"scatter": np.full((2, 2, 2), np.nan)},
    ],
    ids=lambda arrays: next(iter(arrays)),
)
def test_forged_moments_are_refused(tmp_path, arrays):
    """Moments that no rows can have are not loaded, although their checksum fits."""
    with pytest.raises(ValueError, match=r"does not hold moments of rows"):
        ClassMoments.load(forged(tmp_path / "m.npz", **arrays))


def test_impossible_counts_are_refused_wherever_they_come_from():
    """Counts and weights below zero, or weights that overflowed, make no moments."""
    for n_rows, weight in (([-1, 1], [1, 1]), ([1, 1], [-1, 1]), ([1, 1], [np.inf, 1])):
        with pytest.raises(ValueError, match="finite and not below zero"):
            ClassMoments(n_rows, weight, np.zeros((2, 1)), np.zeros((2, 1, 1)))


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e120])
def test_moments_of_rows_are_never_refused(tmp_path, offset, scale):
    """Rounding, few rows, constant and copied columns are no reason to refuse."""
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 40):
        X = (rng.normal(size=(n, 3)) + offset) * scale
        X = np.column_stack([X, X[:, 0], X[:, 0] * 3, np.full(n, 0.1 * scale)])
        ClassMoments.from_rows(X, np.arange(n) % 3 == 0).save(tmp_path / "m.npz")
        ClassMoments.load(tmp_path / "m.npz")


def test_denoised_moments_are_not_saved_when_they_would_not_be_loaded(tmp_path):
    """What was gathered is what is kept; the message says so before a file is written."""
    X = np.array([[0.0], [9.0], [4.0], [5.0]])
    moments = ClassMoments.from_rows(X, [False, False, True, True]).denoise(0.45)
    with pytest.raises(ValueError, match="No rows can have these moments"):
        moments.save(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_columns_give_what_rows_give(weighted, n_folds):
    """Columns of any dtype, laid side by side, have the moments of the rows that they make up."""
    rng = np.random.default_rng(5)
    columns = [rng.normal(size=900) + 1e6, rng.integers(0, 9, 900), rng.random(900) < 0.2]
    columns.append(rng.normal(size=900).astype(np.float32))
    positive, folds = rng.random(900) < 0.3, rng.integers(0, n_folds, 900)
    weight = rng.random(900) if weighted else None
    for chosen in (columns, columns[1:]):  # float64, and float32 that holds all exactly
        expected = fold_moments(
            np.column_stack(chosen).astype(float), positive, folds, n_folds, weight
        )
        found = fold_moments(stack_columns(chosen, 900), positive, folds, n_folds, weight)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.mean, b.mean, rtol=1e-13)
            np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-9, atol=1e-9)


def test_columns_that_are_not_finite_are_named():
    """The sentence is that of rows."""
    columns = [np.zeros(4), np.array([0.0, 1.0, np.nan, 2.0])]
    with pytest.raises(ValueError, match="NaN, first in row 2, column 1"):
        fold_moments(stack_columns(columns, 4), [0, 1, 0, 1])
