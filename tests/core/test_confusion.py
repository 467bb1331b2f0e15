"""Confusion counts and the measures made of them, observed and denoised, with intervals."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from flipcost.core.confusion import MEASURES, ConfusionCounts, Interval, measure, measure_gradient
from flipcost.core.noise import flip, transition_matrix
from tests.properties.strategies import noise_rates

TABLE = np.array([[50.0, 10.0], [5.0, 35.0]])


def test_measures_by_hand():
    """Measures of one table are those computed by hand."""
    assert measure(TABLE, "accuracy") == 0.85
    assert measure(TABLE, "am") == pytest.approx((35 / 40 + 50 / 60) / 2)
    assert measure(TABLE, "f") == pytest.approx(70 / 85)
    assert measure(TABLE, "cost", 0.2) == pytest.approx((0.8 * 5 + 0.2 * 10) / 100)
    assert measure(TABLE, "cost", 0.2, 0.5) == pytest.approx((0.8 * 5 + 0.4 * 10) / 100)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_measures_are_scikit_learns(seed, weighted):
    """Accuracy, AM and F are accuracy_score, balanced_accuracy_score and f1_score."""
    rng = np.random.default_rng(seed)
    labels, calls = rng.random(60) < 0.4, rng.random(60) < 0.5
    weight = rng.random(60) if weighted else None
    table = ConfusionCounts.from_labels(labels, calls, weight)
    np.testing.assert_allclose(
        table.counts, metrics.confusion_matrix(labels, calls, sample_weight=weight)
    )
    for value, score in (
        (table.accuracy(), metrics.accuracy_score),
        (table.am(), metrics.balanced_accuracy_score),
        (table.f(), metrics.f1_score),
    ):
        assert value == pytest.approx(score(labels, calls, sample_weight=weight), rel=1e-13)
    price = np.where(labels & ~calls, 0.7, 0) + np.where(~labels & calls, 0.3, 0)
    assert table.cost(0.3) == pytest.approx(np.average(price, weights=weight), rel=1e-13)


def test_grids_of_tables():
    """Measures run over leading axes."""
    tables = np.stack([TABLE, TABLE.T, 2 * TABLE])
    for name in MEASURES:
        expected = [float(measure(table, name, 0.3)) for table in tables]
        np.testing.assert_allclose(measure(tables, name, 0.3), expected)


def test_where_measures_are_not_defined():
    """AM without a class, and any measure without rows, is NaN; F of nothing positive is zero."""
    one_class = np.array([[3.0, 2.0], [0.0, 0.0]])
    assert np.isnan(measure(one_class, "am"))
    assert measure(one_class, "f") == 0
    assert measure([[5.0, 0.0], [0.0, 0.0]], "f") == 0
    assert np.isnan(measure([[5.0, -2.0], [-2.0, 1.0]], "f"))  # denoised: calls below nothing
    assert np.isnan(measure(np.zeros((2, 2)), "accuracy"))
    assert np.isnan(measure(np.zeros((2, 2)), "cost", 0.3))


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("seed", range(4))
def test_gradients_by_differences(name, seed):
    """Derivatives in the counts are central differences, and add up to zero along the counts."""
    table = np.random.default_rng(seed).uniform(5, 50, (2, 2))
    gradient = measure_gradient(table, name, 0.3, 1.7)
    step = 1e-4
    for i in (0, 1):
        for j in (0, 1):
            change = np.zeros((2, 2))
            change[i, j] = step
            difference = (
                measure(table + change, name, 0.3, 1.7) - measure(table - change, name, 0.3, 1.7)
            ) / (2 * step)
            assert gradient[i, j] == pytest.approx(float(difference), abs=1e-9)
    assert abs((gradient * table).sum()) < 1e-13


@given(noise_rates, st.integers(0, 2**16))
def test_expected_counts_are_undone(noise_rate, seed):
    """Expected noisy counts, denoised, are the clean counts; so are all measures of them."""
    clean = np.random.default_rng(seed).uniform(1, 100, (2, 2))
    noisy = transition_matrix(noise_rate).T @ clean
    table = ConfusionCounts(noisy, noisy)
    kept = np.linalg.det(transition_matrix(noise_rate))
    np.testing.assert_allclose(table.denoised(noise_rate), clean, atol=1e-12 / kept)
    for name in MEASURES:
        value = measure(table.denoised(noise_rate), name, 0.3)
        assert value == pytest.approx(float(measure(clean, name, 0.3)), abs=1e-12 / kept)
    assert table.cost(0.3, noise_rate=noise_rate) == value


def test_denoised_counts_are_unbiased():
    """Denoised counts, averaged over all flips of six labels by their probability, are clean."""
    labels = np.array([0, 0, 1, 1, 1, 0], bool)
    calls = np.array([0, 1, 1, 0, 1, 0], bool)
    rate = (0.3, 0.2)
    transition = transition_matrix(rate)
    total = np.zeros((2, 2))
    for code in range(2**6):
        noisy = (code >> np.arange(6)) & 1 == 1
        probability = np.prod(transition[labels.astype(int), noisy.astype(int)])
        total += probability * ConfusionCounts.from_labels(noisy, calls).denoised(rate)
    np.testing.assert_allclose(total, ConfusionCounts.from_labels(labels, calls).counts)


def test_intervals_hold_the_value_and_widen_with_the_level():
    """Limits lie in the range of the measure, around the value, the wider the surer."""
    table = ConfusionCounts(TABLE, TABLE)
    for name in MEASURES:
        narrow, wide = (table.interval(name, cost=0.3, level=level) for level in (0.5, 0.99))
        assert isinstance(narrow, Interval)
        assert narrow.value == wide.value == float(measure(TABLE, name, 0.3))
        assert 0 <= wide.low < narrow.low < narrow.value < narrow.high < wide.high <= 1


def test_intervals_widen_by_the_square_root_and_by_noise():
    """A hundredth of the rows make an interval ten times as wide; noise divides by 1 - 2 rho."""
    many = ConfusionCounts(1e4 * TABLE, 1e4 * TABLE).interval("accuracy")
    few = ConfusionCounts(1e2 * TABLE, 1e2 * TABLE).interval("accuracy")
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(10, rel=1e-3)
    noisy = ConfusionCounts(1e4 * TABLE, 1e4 * TABLE).interval("accuracy", noise_rate=0.1)
    assert (noisy.high - noisy.low) / (many.high - many.low) == pytest.approx(1.25, rel=1e-3)


def test_whole_weights_of_independent_rows_widen_the_interval():
    """Weights of w on a w-th of the rows count as fewer rows, not as more."""
    plain = ConfusionCounts(TABLE * 40, TABLE * 40).interval("cost", cost=0.3)
    heavy = ConfusionCounts(TABLE * 40, TABLE * 160).interval("cost", cost=0.3)
    ratio = (heavy.high - heavy.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(2, rel=0.01)


def test_an_empty_cell_does_not_pass_for_certainty():
    """Thirty correct calls of thirty do not make an interval of no width."""
    interval = ConfusionCounts.from_labels([0, 1] * 15, [0, 1] * 15).interval("accuracy")
    assert interval.value == 1
    assert interval.low < 0.97


COVERAGE = [
    (name, rate, weighted)
    for name in MEASURES
    for rate in (None, 0.2, (0.3, 0.1))
    for weighted in (False, True)
]


CLEAN = np.array([[0.45, 0.15], [0.1, 0.3]])  # probability of label and call


@cache
def drawn_counts(noise_rate, weighted):
    """Return the counts of 1,500 samples of 600 rows, the same for all measures."""
    rng, n = np.random.default_rng(0), 600
    drawn = []
    for _ in range(1500):
        cell = rng.choice(4, size=n, p=CLEAN.ravel())
        labels, calls = cell >= 2, cell % 2 == 1
        weight = rng.gamma(2.0, size=n) if weighted else None
        noisy = flip(labels, noise_rate, rng)
        drawn.append(ConfusionCounts.from_labels(noisy, calls, weight))
    return drawn


@pytest.mark.parametrize(("name", "noise_rate", "weighted"), COVERAGE)
def test_intervals_cover(name, noise_rate, weighted):
    """Nominal 90 % intervals hold the clean measure in 88 to 92 % of samples of 600 rows.

    Four binomial standard errors of the simulated share are allowed beyond the two points, which
    are what the normal approximation is good for at this size.
    """
    level, drawn = 0.9, drawn_counts(noise_rate, weighted)
    truth = float(measure(CLEAN, name, 0.3))
    covered = 0
    for counts in drawn:
        interval = counts.interval(name, cost=0.3, noise_rate=noise_rate, level=level)
        covered += interval.low <= truth <= interval.high
    error = np.sqrt(level * (1 - level) / len(drawn))
    assert abs(covered / len(drawn) - level) <= 0.02 + 4 * error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ConfusionCounts(np.ones((2, 3)), np.ones((2, 3))), r"shape \(\.\.\., 2, 2\); got"),
        (lambda: ConfusionCounts.from_labels([1, 0], [1]), r"same length; got shapes.*same rows"),
        (lambda: ConfusionCounts.from_labels([1, -1], [1, 0]), r"booleans.*got.*-1.*y =="),
        (lambda: measure(TABLE, "recall"), r"one of accuracy, am, f, cost; got 'recall'"),
        (lambda: measure(TABLE, "cost", 1.5), r"`cost` must lie in \(0, 1\); got 1\.5"),
        (
            lambda: ConfusionCounts(TABLE, TABLE).interval("f", level=95),
            r"`level` must lie in \(0, 1\); got 95",
        ),
        (
            lambda: ConfusionCounts(np.stack([TABLE] * 2), np.stack([TABLE] * 2)).interval("f"),
            r"one table of shape \(2, 2\); got \(2, 2, 2\)",
        ),
        (
            lambda: ConfusionCounts(0 * TABLE, 0 * TABLE).interval("f"),
            "at least one row with a positive weight; got none",
        ),
        (
            lambda: ConfusionCounts(TABLE, TABLE).denoised(0.5),
            r"`noise_rate` must lie in \[0, 0\.5\); got 0\.5",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    """Tables, measures and levels that make no sense are refused and say what was got."""
    with pytest.raises(ValueError, match=message):
        call()
