"""Rates along the score: coverage where mistakes follow it, and no alarm where they do not."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from flipcost.core.checked_rows import CheckedRows, furthest_apart, given_label, rates_by_score_band

DRAWS = 40


def draw(seed, *, follows, n=1_500, n_checked=200):
    rng = np.random.default_rng([12, seed])
    line = 1.5 * rng.normal(size=n) - 0.5
    right = rng.random(n) < expit(line)
    missed = expit(-0.5 - line) if follows else np.full(n, 0.3)
    labels = right ^ (rng.random(n) < np.where(right, missed, 0.05))
    rows = rng.permutation(n)[:n_checked]
    bands = rates_by_score_band(
        CheckedRows(rows, right[rows]),
        labels,
        expit(line),
        given_label(expit(line), labels, (0.3, 0.05)),
    )
    return bands, expit(line), labels, right


@pytest.mark.parametrize("follows", [False, True])
def test_intervals_cover_in_every_band(follows):
    """Of 40 draws intervals hold in 32 at least, in each band: at 0.95 fewer have 0.0002."""
    held = np.zeros((4, 2))
    for seed in range(DRAWS):
        bands, score, labels, right = draw(seed, follows=follows)
        for k, band in enumerate(bands):
            inside = (score >= band.low) & (score <= band.high)
            for side, (rate, of) in enumerate(((band.positives, right), (band.negatives, ~right))):
                truth = (labels != right)[inside & of].mean()
                held[k, side] += rate.low <= truth <= rate.high
                assert rate.low <= rate.value <= rate.high
    assert held.min() >= 32


def test_bands_are_told_apart_only_where_they_differ():
    """Rates that are equal are distinguished in at most 4 of 40 draws, those that follow in 36."""
    apart = {
        follows: sum(
            furthest_apart(draw(seed, follows=follows)[0]) is not None for seed in range(DRAWS)
        )
        for follows in (False, True)
    }
    assert apart[False] <= 4
    assert apart[True] >= 36


def test_bands_partition_rows_and_checks():
    """The bands hold all rows and all checked rows once, in the order of the score."""
    bands, *_ = draw(0, follows=True)
    assert sum(band.share for band in bands) == pytest.approx(1.0)
    assert sum(band.n_checked for band in bands) == 200
    assert all(a.high < b.low for a, b in pairwise(bands))


def test_weights_count_as_rows():
    """A row of weight two is two rows, whether it was checked or not."""
    _, score, labels, right = draw(3, follows=True, n=300, n_checked=60)
    rows = np.arange(60)
    expected = given_label(score, labels, (0.3, 0.05))
    weighted = rates_by_score_band(
        CheckedRows(rows, right[:60]), labels, score, expected, np.full(300, 2.0)
    )
    twice = np.concatenate([np.arange(300), np.arange(300)])
    doubled = rates_by_score_band(
        CheckedRows(np.concatenate([rows, rows + 300]), np.tile(right[:60], 2)),
        labels[twice],
        score[twice],
        expected[twice],
    )
    for one, other in zip(weighted, doubled, strict=True):
        assert one.positives.value == pytest.approx(other.positives.value, abs=1e-9)
