"""Noise-rate estimators: exact values, invariances, missing labels, errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit

from flipcost.core.noise import clopper_pearson
from flipcost.noise import (
    NoiseRate,
    flip_labels,
    rate_bounds,
    rate_by_likelihood,
    rate_by_range,
    rate_from_repeats,
    rate_from_trusted,
)


def logistic_labels(n, seed, *, slope=4.0, noise_rate=0.2):
    """Return scores and noisy labels whose clean log-odds are linear in the score."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    clean = rng.random(n) < expit(slope * scores)
    return scores, flip_labels(clean, noise_rate, seed)


def test_trusted_counts_by_hand():
    """Two of six checked labels are wrong: one of two positives, one of four negatives."""
    noisy = [1, 0, 0, 0, 0, 1, 1, 1]
    trusted = [1, 1, 0, 0, 0, 0, np.nan, np.nan]
    found = rate_from_trusted(noisy, trusted)
    low, high = clopper_pearson(2, 6)
    assert found == NoiseRate(2 / 6, low, high, "disagreement with 6 trusted labels")
    pair = rate_from_trusted(noisy, trusted, class_conditional=True)
    assert pair.value == (1 / 2, 1 / 4)
    np.testing.assert_array_equal([pair.low, pair.high], clopper_pearson([1, 1], [2, 4]))


@pytest.mark.parametrize(
    "trusted",
    [
        ["yes", None, "no", "yes"],
        np.array(["yes", np.nan, "no", "yes"], dtype=object),
        pd.Series(["yes", None, "no", "yes"]),
        pd.Series(["yes", pd.NA, "no", "yes"], dtype="string"),
        pd.Series(["yes", None, "no", "yes"], dtype="category"),
        pl.Series(["yes", None, "no", "yes"]),
    ],
)
def test_missing_labels_come_in_many_forms(trusted):
    """None, NaN and NA are skipped, in lists and in columns of pandas and polars."""
    assert rate_from_trusted(["yes", "no", "yes", "yes"], trusted).value == 1 / 3


@pytest.mark.parametrize("kind", ["Int64", "boolean", "Float64"])
def test_nullable_numbers_are_read(kind):
    """Nullable pandas columns compare with plain numbers."""
    trusted = pd.Series([1, None, 0, 1], dtype=kind)
    assert rate_from_trusted([1, 0, 1, 1], trusted).value == 1 / 3


def test_pos_label_exchanges_the_pair():
    """Naming the other class positive exchanges the two rates, in every estimator."""
    scores, y = logistic_labels(600, 0, noise_rate=(0.3, 0.1))
    third = flip_labels(y, 0.1, 2)
    trusted = flip_labels(y, 0.2, 3)
    probability = expit(scores)
    for estimate, mirror in [
        (lambda **k: rate_from_trusted(y, trusted, **k), None),
        (lambda **k: rate_from_repeats(y, trusted, third, **k), None),
        (
            lambda **k: rate_by_range(probability, y, **k),
            lambda **k: rate_by_range(1 - probability, y, **k),
        ),
        (lambda **k: rate_bounds(y, scores, **k), lambda **k: rate_bounds(y, -scores, **k)),
        (
            lambda **k: rate_by_likelihood(y, scores, **k),
            lambda **k: rate_by_likelihood(y, -scores, **k),
        ),
    ]:
        pair = estimate(class_conditional=True)
        swapped = (mirror or estimate)(class_conditional=True, pos_label=False)
        # Three labels are drawn from, the likelihood is searched to 1e-3; the others are exact.
        np.testing.assert_allclose(swapped.value, pair.value[::-1], atol=1e-2)
        np.testing.assert_allclose(swapped.low, pair.low[::-1], atol=1.5e-2)
        np.testing.assert_allclose(swapped.high, pair.high[::-1], atol=1.5e-2)


def test_two_repeats_by_hand():
    """32 disagreements in 100 rows are a rate of 0.2, and the limits are solved likewise."""
    y1 = np.repeat([0, 1], 50)
    y2 = y1.copy()
    y2[:32] = 1
    found = rate_from_repeats(y1, y2)
    np.testing.assert_allclose(found.value, 0.2, rtol=1e-12)
    low, high = clopper_pearson(32, 100)
    np.testing.assert_allclose(2 * found.low * (1 - found.low), low, rtol=1e-12)
    np.testing.assert_allclose(2 * found.high * (1 - found.high), high, rtol=1e-12)


def test_more_disagreement_than_chance_is_half():
    """Disagreement above one half is possible by chance and gives one half, a limit too."""
    found = rate_from_repeats([0, 0, 1, 1, 1], [1, 1, 0, 1, 1])
    assert (found.value, found.high) == (0.5, 0.5)
    assert found.low < 0.5


def test_opposite_columns_are_warned_of():
    """Columns that nearly always disagree code the classes in opposite ways."""
    y = np.arange(100) % 2
    with pytest.warns(UserWarning, match="disagree in 100 of 100 rows"):
        found = rate_from_repeats(y, 1 - y)
    assert found.low == found.value == found.high == 0.5


def test_repeats_skip_missing_labels():
    """With two columns, rows without both labels do not count."""
    full = rate_from_repeats([0, 1, 1, 0], [0, 1, 0, 0])
    assert rate_from_repeats([0, 1, 1, 0, None, 1], [0, 1, 0, 0, 1, None]) == full


def test_three_repeats_find_the_rate_of_the_first():
    """With three columns of unlike rates the first one's is found, within its interval."""
    clean = np.random.default_rng(0).random(4000) < 0.4
    columns = [flip_labels(clean, rate, seed) for seed, rate in enumerate([(0.3, 0.1), 0.2, 0.1])]
    found = rate_from_repeats(*columns, class_conditional=True)
    truth = np.array([0.3, 0.1])
    assert np.all((found.low <= truth) & (truth <= found.high))
    assert np.all(np.subtract(found.high, found.low) < 0.1)


def test_range_of_exact_probabilities():
    """Pure regions larger than the tails give the rates exactly, from the quantiles alone."""
    eta = np.repeat([0.0, 0.3, 0.7, 1.0], 50)
    found = rate_by_range(0.1 + 0.6 * eta, class_conditional=True, tail=0.05)
    np.testing.assert_allclose(found.value, (0.3, 0.1), atol=1e-12)
    pooled = rate_by_range(0.1 + 0.6 * eta, tail=0.05)
    np.testing.assert_allclose(pooled.value, 0.2, atol=1e-12)


def test_range_with_labels_counts_odd_ones():
    """With labels, the rate is the share of odd labels in the tails."""
    probability = np.linspace(0, 1, 100)
    y = probability > 0.5
    y[[0, 1, 99]] ^= True
    pair = rate_by_range(probability, y, tail=0.1, class_conditional=True)
    assert pair.value == (0.1, 0.2)
    pooled = rate_by_range(probability, y, tail=0.1)
    assert pooled.value == 0.15
    assert (pooled.low, pooled.high) == tuple(map(float, clopper_pearson(3, 20)))


def test_range_without_pure_rows_is_too_high():
    """Where classes overlap everywhere the range estimate is too high, as its notes say."""
    eta = np.linspace(0.2, 0.8, 1000)
    assert rate_by_range(0.1 + 0.8 * eta).low > 0.1


def test_likelihood_does_not_depend_on_the_scale_of_the_score():
    """Shifting and stretching scores changes the rate by rounding only."""
    scores, y = logistic_labels(500, 1)
    found, moved = rate_by_likelihood(y, scores), rate_by_likelihood(y, 50 * scores - 1000)
    for part in ("value", "low", "high"):
        # Limits are searched to 1e-4.
        np.testing.assert_allclose(getattr(found, part), getattr(moved, part), atol=2e-4)


def test_likelihood_does_not_depend_on_the_order_of_rows():
    """Rows sorted by label give the same rate, also when many scores are tied."""
    scores, y = logistic_labels(2000, 2)
    scores = np.round(scores, 2)
    order = np.argsort(y)
    found, again = rate_by_likelihood(y, scores), rate_by_likelihood(y[order], scores[order])
    assert found.source == again.source
    for part in ("value", "low", "high"):
        np.testing.assert_allclose(getattr(found, part), getattr(again, part), atol=1e-6)


def test_likelihood_of_a_useless_score_says_so():
    """A score without information leaves rates open up to near the share of the rarer label."""
    rng = np.random.default_rng(3)
    y = rng.random(2000) < 0.3
    found = rate_by_likelihood(y, rng.normal(size=2000))
    assert found.low == 0.0
    assert found.high > 0.25


def test_bounds_hold_0_and_are_tight_where_rows_are_pure():
    """With pure tails the bound is the rate and little more than sampling error."""
    scores, y = logistic_labels(20_000, 4, slope=100.0)
    found = rate_bounds(y, scores)
    assert found.low == 0.0
    assert 0.2 < found.high < 0.23
    assert found.value < found.high


def test_bounds_of_a_useless_score_are_the_rarer_label():
    """Without information the bound is near the share of the rarer label."""
    rng = np.random.default_rng(5)
    y = rng.random(4000) < 0.3
    # Three standard errors of the share, and the same again for the limit over some twenty tails.
    se = np.sqrt(0.3 * 0.7 / 4000)
    assert abs(rate_bounds(y, rng.normal(size=4000)).high - 0.3) < 6 * se


def test_one_rate_is_bounded_by_one_half():
    """However few the rows, one rate for both classes does not exceed one half."""
    assert rate_bounds([0, 1, 0], [0.1, 0.2, 0.3], smallest=1).high == 0.5


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: rate_from_trusted([0, 1], [None, None]), "label in at least one row; got none"),
        (lambda: rate_from_trusted([0, 1], [0, 1, 1]), "same number of rows; got 2 in `y_noisy`"),
        (lambda: rate_from_trusted([0, None], [0, 1]), "`y_noisy` must have a label in every row"),
        (lambda: rate_from_trusted([0, 1], ["0", "1"]), "cannot be compared"),
        (lambda: rate_from_trusted([0, 1, 2], [0, 1, 1]), "two values in all columns together"),
        (
            lambda: rate_from_trusted([0, 1], [0, 0], class_conditional=True),
            "got 0 positive and 2 negative",
        ),
        (lambda: rate_from_trusted([0, 1], [0, 1], pos_label=7), "`pos_label` must be one of"),
        (lambda: rate_from_trusted([], []), "hold a row at least"),
        (lambda: rate_from_trusted([0, 1], [0, 1], level=95), "`level` must lie in"),
        (lambda: rate_from_repeats([0, 1], [0, 1], class_conditional=True), "three columns"),
        (lambda: rate_from_repeats([0, None], [None, 1]), "rows with at least two labels"),
        (
            lambda: rate_from_repeats([0, 1, 0], [0, 1, 1], [None, None, None]),
            "got none in 'y3'",
        ),
        (lambda: rate_by_range([0.1, 1.2]), r"must lie in \[0, 1\]; got values from 0.1 to 1.2"),
        (lambda: rate_by_range([0.1, 0.2], tail=0.5), r"`tail` must lie in \(0, 0.5\)"),
        (lambda: rate_by_range([[0.1, 0.9]] * 2, [0, 1]), "the column of the positive class"),
        (lambda: rate_by_likelihood([0, 1], [0.1, np.nan]), "must be finite; got nan in row 1"),
        (lambda: rate_by_likelihood([0, 1], [0.1, 0.1]), "must differ between rows"),
        (lambda: rate_by_likelihood([1, 1], [0.1, 0.2]), "must hold two labels; got one only"),
        (lambda: rate_bounds([0, 1], [0.1, 0.2], smallest=3), "`smallest` must lie between"),
    ],
)
def test_mistakes_are_named(call, match):
    """Errors say what must hold and what was got."""
    with pytest.raises(ValueError, match=match):
        call()
