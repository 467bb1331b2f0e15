"""Flipping labels on purpose."""

import numpy as np
import pandas as pd
import pytest

from flipcost.datasets import make_syn3d
from flipcost.noise import flip_labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([-1, 1], dtype=np.int8),
        np.array(["no", "yes"], dtype=object),
        np.array([0.5, 1.5]),
    ],
)
def test_labels_stay_of_their_kind(labels):
    """Flipped labels are of the same two values and the same dtype."""
    y = labels[np.arange(1000) % 2]
    noisy = flip_labels(y, 0.3, random_state=0)
    assert noisy.dtype == y.dtype
    assert set(noisy.tolist()) == set(labels.tolist())
    assert 0 < np.sum(noisy != y) < 1000


@pytest.mark.parametrize("pos_label", [None, "b", "a"])
def test_rates_belong_to_their_class(pos_label):
    """Each class is flipped at its own rate, within 4 standard errors."""
    y = np.array(["a", "b"])[np.arange(40_000) % 2]
    flipped = flip_labels(y, (0.3, 0.05), random_state=1, pos_label=pos_label) != y
    positive = y == (pos_label or "b")
    for inside, rho in ((positive, 0.3), (~positive, 0.05)):
        assert abs(flipped[inside].mean() - rho) <= 4 * np.sqrt(rho * (1 - rho) / inside.sum())


def test_seeds():
    """An int gives the same flips each time, whatever its type; a generator moves on."""
    y = np.arange(200) % 2
    expected = flip_labels(y, 0.4, 3)
    np.testing.assert_array_equal(flip_labels(y, 0.4, 3), expected)
    np.testing.assert_array_equal(flip_labels(y, 0.4, np.int64(3)), expected)
    assert np.any(flip_labels(y, 0.4, 4) != expected)
    rng = np.random.default_rng(3)
    first, second = flip_labels(y, 0.4, rng), flip_labels(y, 0.4, rng)
    np.testing.assert_array_equal(first, flip_labels(y, 0.4, np.random.default_rng(3)))
    assert np.any(first != second)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_seed_of_the_data_flips_both_classes_alike(seed):
    """Labels drawn from a seed and flipped by it lose equal shares, within 4 standard errors."""
    y = make_syn3d(20_000, random_state=seed).target
    flipped = flip_labels(y, 0.2, seed) != y
    positive = y == y.max()
    n_pos, n_neg = positive.sum(), (~positive).sum()
    difference = flipped[positive].mean() - flipped[~positive].mean()
    assert abs(difference) <= 4 * np.sqrt(0.2 * 0.8 * (1 / n_pos + 1 / n_neg))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_flips_do_not_follow_the_uniforms_of_their_seed(seed):
    """Flips are as frequent in each tenth of `default_rng(seed).random`: 4 standard errors."""
    n, rho = 20_000, 0.2
    y = np.arange(n) % 2
    flipped = flip_labels(y, rho, seed) != y
    tenth = (10 * np.random.default_rng(seed).random(n)).astype(int)
    rows = np.bincount(tenth, minlength=10)
    shares = np.bincount(tenth, weights=flipped, minlength=10) / rows
    assert np.all(np.abs(shares - rho) <= 4 * np.sqrt(rho * (1 - rho) / rows))


def test_labels_are_left_as_they_were():
    """The labels given are not changed; series and lists work too."""
    y = np.arange(50) % 2
    before = y.copy()
    expected = flip_labels(y, 0.3, 0)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(flip_labels(pd.Series(y), 0.3, 0), expected)
    np.testing.assert_array_equal(flip_labels(y.tolist(), 0.3, 0), expected)
    np.testing.assert_array_equal(flip_labels(y, None), y)


def test_bad_input_is_refused():
    """Other than two labels, an unknown one, and a rate of one half are refused."""
    with pytest.raises(ValueError, match=r"two classes; got 3: 0, 1, 2\. Merge them"):
        flip_labels([0, 1, 2], 0.1)
    with pytest.raises(ValueError, match=r"two classes to learn from; got one class only: 0"):
        flip_labels([0, 0], 0.1)
    with pytest.raises(ValueError, match=r"one of the classes \[0, 1\]; got 7\. Give"):
        flip_labels([0, 1], 0.1, pos_label=7)
    with pytest.raises(ValueError, match=r"\[0, 0\.5\); got 0\.5"):
        flip_labels([0, 1], 0.5)
