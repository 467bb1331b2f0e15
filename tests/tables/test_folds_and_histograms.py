import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from flipcost.core.folds import hash_folds
from flipcost.core.moments import ClassMoments, fold_moments
from flipcost.exceptions import SourceError
from flipcost.tables.histogram import ScoreHistogram, score_limits, score_spread
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


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    positive = rng.random(5000) < 0.4
    weight = rng.random(5000)
    folds = rng.integers(0, 3, 5000)
    path = rng.normal(size=(3, 2, 4))
    return X, positive, weight, folds, path


def test_histograms_are_numpys(problem):
    """Counts of each fold, classifier and label are those of numpy.histogram."""
    X, positive, weight, folds, path = problem
    found = ScoreHistogram.from_rows(X, positive, path, -9, 9, 36, folds, weight)
    for k in range(3):
        for c in range(2):
            for label in (0, 1):
                rows = (folds == k) & (positive == label)
                scores = X[rows] @ path[k, c, :3] + path[k, c, 3]
                assert np.abs(scores).max() < 9.5
                expected = np.histogram(np.clip(scores, -9, 9), 36, (-9, 9), weights=weight[rows])
                np.testing.assert_allclose(found.weight[k, c, :, label], expected[0], atol=1e-12)
                total = (weight[rows] * scores).sum()
                assert found.scores[k, c, :, label].sum() == pytest.approx(total, abs=1e-9)


def test_histograms_merge_and_pool(problem):
    """Histograms of parts add up to that of the whole; pooling sums the folds."""
    X, positive, weight, folds, path = problem
    whole = ScoreHistogram.from_rows(X, positive, path, -9, 9, 36, folds, weight)
    cut = slice(0, 1234), slice(1234, None)
    a, b = (
        ScoreHistogram.from_rows(
            sparse.csr_array(X[c]), positive[c], path, -9, 9, 36, folds[c], weight[c]
        )
        for c in cut
    )
    for name in ("weight", "squares", "scores"):
        np.testing.assert_allclose(getattr(a.merge(b), name), getattr(whole, name), atol=1e-9)
        pooled = getattr(whole.pooled(), name)
        np.testing.assert_allclose(pooled[0], getattr(whole, name).sum(0), atol=1e-9)
    with pytest.raises(ValueError, match="same folds"):
        a.merge(ScoreHistogram.from_rows(X, positive, path, -9, 8, 36, folds))
    with pytest.raises(ValueError, match="below"):
        ScoreHistogram.from_rows(X, positive, path, 1, 1)


def test_means_of_bins_are_within_them(problem):
    """The mean score of every bin lies between its edges, but for the two outer ones."""
    X, positive, weight, folds, path = problem
    histogram = ScoreHistogram.from_rows(X, positive, path, -3, 3, 12, folds, weight)
    edges, means = histogram.edges(), histogram.means()
    inner = means[:, :, 1:-1]
    assert (inner >= edges[None, :, 1:-2, None] - 1e-12).all()
    assert (inner <= edges[None, :, 2:-1, None] + 1e-12).all()


def test_limits_follow_from_moments(problem):
    """Mean and deviation of out-of-fold scores, and limits, follow from moments without a pass."""
    X, positive, weight, folds, path = problem
    parts = fold_moments(X, positive, folds, 3, weight)
    scores = np.einsum("ij,icj->ic", X, path[folds][:, :, :3]) + path[folds][:, :, 3]
    mean, deviation = score_spread(parts, path)
    np.testing.assert_allclose(mean, np.average(scores, axis=0, weights=weight), rtol=1e-9)
    squares = np.average((scores - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(deviation, np.sqrt(squares), rtol=1e-9)
    low, high = score_limits(parts, path, 4.0)
    np.testing.assert_allclose(low, mean - 4 * deviation, rtol=1e-12)
    np.testing.assert_allclose(high, mean + 4 * deviation, rtol=1e-12)


def test_the_bins_are_those_of_the_calibration(problem):
    """Four deviations and 64 bins give the bins that the noise-aware calibration takes."""
    from flipcost.core.calibration import ScoreBins

    X, positive, weight, folds, path = problem
    parts = fold_moments(X, positive, folds, 3, weight)
    location, scale = score_spread(parts, path)
    low, high = score_limits(parts, path, 4.0)
    found = ScoreHistogram.from_rows(X, positive, path, low, high, 64, folds, weight).pooled()
    scores = np.einsum("ij,icj->ic", X, path[folds][:, :, :3]) + path[folds][:, :, 3]
    for c in range(2):
        bins = ScoreBins.from_scores(scores[:, c], positive, weight)
        np.testing.assert_allclose(found.weight[0, c, :, 1], bins.positive, atol=1e-9)
        np.testing.assert_allclose(found.weight[0, c, :, 0], bins.negative, atol=1e-9)
        total = found.weight[0, c].sum(-1)
        centre = found.scores[0, c].sum(-1)[total > 0] / total[total > 0]
        np.testing.assert_allclose(
            (centre - location[c]) / scale[c], bins.centre[total > 0], atol=1e-9
        )


def test_candidates_without_a_solution_have_no_scores(problem):
    """NaN coefficients leave their histogram empty and do not disturb the others."""
    X, positive, _, folds, path = problem
    broken = path.copy()
    broken[:, 1] = np.nan
    parts = [ClassMoments.from_rows(X[folds == k], positive[folds == k]) for k in range(3)]
    low, high = score_limits(parts, broken)
    found = ScoreHistogram.from_rows(X, positive, broken, low, high, 8, folds)
    assert found.weight[:, 1].sum() == 0
    assert found.weight[:, 0].sum() == 5000


def test_rows_of_weight_one_are_counted_as_weighted_ones_are():
    """Counting is a shorter way to the same bytes, labels and bins in their places."""
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=(500, 3)), rng.random(500) < 0.3
    scores[:, 1] = np.nan
    limits = {"low": -2.0, "high": 2.0, "n_bins": 16}
    plain = ScoreHistogram.from_scores(scores, positive, **limits)
    ones = ScoreHistogram.from_scores(scores, positive, sample_weight=np.ones(500), **limits)
    for name in ("weight", "squares", "scores"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(ones, name))
    assert plain.weight.sum(axis=(0, 2, 3)).tolist() == [500, 0, 500]
    assert plain.weight[0, 0, :, 1].sum() == positive.sum()
    assert plain.weight[0, 0, 0].sum() == (scores[:, 0] < -1.75).sum()
