"""The search for rates: checked rows, tempered labels, and columns that say nothing."""

import numpy as np
import pytest
from scipy.special import expit

from flipcost.core.calibration import ScoreBins
from flipcost.core.rate_posterior import rate_posterior
from flipcost.core.rate_search import integrate_rates


def draw(n, rate, seed, slope=2.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    clean = rng.random(n) < expit(slope * scores - 0.7)
    noisy = clean ^ (rng.random(n) < np.where(clean, *rate))
    return scores, noisy, clean, rng


def posterior(scores, noisy, clean=None, rows=None):
    bins = ScoreBins.from_scores(scores, noisy)
    if rows is not None:
        bins = bins.with_checked(scores[rows], clean[rows], noisy[rows])
    return rate_posterior([bins], integrate_rates([bins]))


def test_checked_rows_narrow_the_intervals_and_they_still_cover():
    """With 150 of 3,000 rows checked intervals are less than half as wide, and hold the rates."""
    covered = 0
    for seed in range(12):
        scores, noisy, clean, rng = draw(3000, (0.3, 0.1), seed)
        rows = rng.choice(3000, 150, replace=False)
        before = posterior(scores, noisy).interval()
        after = posterior(scores, noisy, clean, rows).interval()
        assert np.diff(after[0])[0] < np.diff(before[0])[0] / 2
        covered += sum(low <= r <= high for r, (low, high) in zip((0.3, 0.1), after, strict=True))
    # 24 intervals at 95 %: fewer than 20 has probability below 0.01.
    assert covered >= 20


def test_rows_chosen_by_score_and_label_mislead_no_more_than_random_ones():
    """The mean of the rates is the same either way, to four standard errors of the difference."""
    chosen, random = [], []
    for seed in range(12):
        scores, noisy, clean, rng = draw(3000, (0.3, 0.1), seed)
        odds = np.where(noisy, 1.0, 6.0) * np.exp(scores)
        rows = rng.choice(3000, 150, replace=False, p=odds / odds.sum())
        chosen.append(posterior(scores, noisy, clean, rows).mean)
        random.append(posterior(scores, noisy, clean, rng.choice(3000, 150, replace=False)).mean)
    gap = np.array(chosen) - np.array(random)
    error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
    assert np.all(np.abs(gap.mean(axis=0)) < 4 * error)


def test_a_score_that_says_nothing_leaves_the_rate_unknown():
    """The flat curve has most of the weight, and the interval is nearly all that is possible."""
    rng = np.random.default_rng(0)
    found = posterior(rng.normal(size=20_000), rng.random(20_000) < 0.3)
    assert max(found.models, key=found.models.get) == "no_signal"
    (_, high_pos), (_, high_neg) = found.interval()
    assert high_pos > 0.55
    assert high_neg > 0.2


def test_the_posterior_of_clean_labels_is_not_cut():
    """Five thousand clean rows leave an interval from nothing up, never of zero width."""
    scores, noisy, _, _ = draw(5000, (0.0, 0.0), 3)
    for low, high in posterior(scores, noisy).interval():
        assert low == pytest.approx(0.0, abs=1e-6)
        assert high > 0.01
