"""Confusion counts and the measures made of them, observed and denoised, with intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from flipcost.core.clean_means import LabelSums, denoised_mean
from flipcost.core.confusion import MEASURES, ConfusionCounts, measure
from flipcost.core.costs import RowCosts
from flipcost.core.noise import flip, transition_matrix
from tests.properties.strategies import noise_rates

TABLE = np.array([[50.0, 10.0], [5.0, 35.0]])


def test_measures_by_hand():
    """Measures of one table are those computed by hand."""
    assert measure(TABLE, "accuracy") == 0.85
    assert measure(TABLE, "am") == pytest.approx((35 / 40 + 50 / 60) / 2)
    assert measure(TABLE, "f") == pytest.approx(70 / 85)
    assert measure(TABLE, "cost", 0.2) == pytest.approx((0.8 * 5 + 0.2 * 10) / 100)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_measures_are_scikit_learns(seed, weighted):
    """Accuracy, AM and F are accuracy_score, balanced_accuracy_score and f1_score."""
    rng = np.random.default_rng(seed)
    labels, flags = rng.random(60) < 0.4, rng.random(60) < 0.5
    weight = rng.random(60) if weighted else None
    table = ConfusionCounts.from_labels(labels, flags, weight)
    np.testing.assert_allclose(
        table.counts, metrics.confusion_matrix(labels, flags, sample_weight=weight)
    )
    for name, score in (
        ("accuracy", metrics.accuracy_score),
        ("am", metrics.balanced_accuracy_score),
        ("f", metrics.f1_score),
    ):
        assert measure(table.counts, name) == pytest.approx(
            score(labels, flags, sample_weight=weight), rel=1e-13
        )
    price = np.where(labels & ~flags, 0.7, 0) + np.where(~labels & flags, 0.3, 0)
    assert measure(table.counts, "cost", 0.3) == pytest.approx(
        np.average(price, weights=weight), rel=1e-13
    )


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


def test_denoised_counts_are_unbiased():
    """Denoised counts, averaged over all flips of six labels by their probability, are clean."""
    labels = np.array([0, 0, 1, 1, 1, 0], bool)
    flags = np.array([0, 1, 1, 0, 1, 0], bool)
    rate = (0.3, 0.2)
    transition = transition_matrix(rate)
    total = np.zeros((2, 2))
    for code in range(2**6):
        noisy = (code >> np.arange(6)) & 1 == 1
        probability = np.prod(transition[labels.astype(int), noisy.astype(int)])
        total += probability * ConfusionCounts.from_labels(noisy, flags).denoised(rate)
    np.testing.assert_allclose(total, ConfusionCounts.from_labels(labels, flags).counts)


def cost_interval(table, noise_rate=None, level=0.95):
    """Return the cost at 0.3 with its interval."""
    return denoised_mean(LabelSums.of_table(table, RowCosts.of(0.3)), noise_rate, level)


def test_intervals_hold_the_value_and_widen_with_the_level():
    """Limits lie in the range of the cost, around the value, the wider the surer."""
    table = ConfusionCounts(TABLE, TABLE)
    narrow, wide = (cost_interval(table, level=level) for level in (0.5, 0.99))
    assert narrow.value == wide.value == pytest.approx(float(measure(TABLE, "cost", 0.3)))
    assert 0 <= wide.low < narrow.low < narrow.value < narrow.high < wide.high <= 0.7


def test_intervals_widen_by_the_square_root_and_by_noise():
    """A hundredth of the rows make an interval ten times as wide; noise divides by 1 - 2 rho."""
    table = np.array([[40.0, 10.0], [10.0, 40.0]])
    many, few = (ConfusionCounts(n * table, n * table) for n in (1e4, 1e2))
    sums = [LabelSums.of_table(counts, RowCosts.of(0.5)) for counts in (many, few)]
    width = [mean.high - mean.low for mean in (denoised_mean(one, None) for one in sums)]
    assert width[1] / width[0] == pytest.approx(10, rel=1e-3)
    noisy = denoised_mean(sums[0], 0.1)
    assert (noisy.high - noisy.low) / width[0] == pytest.approx(1.25, rel=1e-3)


def test_whole_weights_of_independent_rows_widen_the_interval():
    """Weights of w on a w-th of the rows count as fewer rows, not as more."""
    plain = cost_interval(ConfusionCounts(TABLE * 40, TABLE * 40))
    heavy = cost_interval(ConfusionCounts(TABLE * 40, TABLE * 160))
    ratio = (heavy.high - heavy.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(2, rel=0.01)


def test_an_empty_cell_does_not_pass_for_certainty():
    """Thirty correct calls of thirty do not make an interval of no width."""
    interval = cost_interval(ConfusionCounts.from_labels([0, 1] * 15, [0, 1] * 15))
    assert interval.value == pytest.approx(0, abs=1e-15)
    assert interval.high > 0.015


CLEAN = np.array([[0.45, 0.15], [0.1, 0.3]])  # probability of label and call


def drawn_counts(noise_rate, weighted):
    """Return the counts of 1,500 samples of 600 rows."""
    rng, n = np.random.default_rng(0), 600
    drawn = []
    for _ in range(1500):
        cell = rng.choice(4, size=n, p=CLEAN.ravel())
        labels, flags = cell >= 2, cell % 2 == 1
        weight = rng.gamma(2.0, size=n) if weighted else None
        noisy = flip(labels, noise_rate, rng)
        drawn.append(ConfusionCounts.from_labels(noisy, flags, weight))
    return drawn


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise_rate", [None, 0.2, (0.3, 0.1)])
def test_intervals_cover(noise_rate, weighted):
    """Nominal 90 % intervals hold the clean cost in 88 to 92 % of samples of 600 rows.

    Four binomial standard errors of the simulated share are allowed beyond the two points, which
    are what the normal approximation is good for at this size.
    """
    level, drawn = 0.9, drawn_counts(noise_rate, weighted)
    truth = float(measure(CLEAN, "cost", 0.3))
    covered = 0
    for counts in drawn:
        interval = cost_interval(counts, noise_rate, level)
        covered += interval.low <= truth <= interval.high
    error = np.sqrt(level * (1 - level) / len(drawn))
    assert abs(covered / len(drawn) - level) <= 0.02 + 4 * error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measure(TABLE, "recall"), r"one of accuracy, am, f, cost; got 'recall'"),
        (lambda: measure(TABLE, "cost", 1.5), r"`cost` must lie in \(0, 1\); got 1\.5"),
        (
            lambda: ConfusionCounts(TABLE, TABLE).denoised(0.5),
            r"`noise_rate` must lie in \[0, 0\.5\); got 0\.5",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    """Measures and rates that make no sense are refused and say what was got."""
    with pytest.raises(ValueError, match=message):
        call()
