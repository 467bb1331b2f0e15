"""What several annotators say: rates and shares are covered, and the pool is worth its while."""

import numpy as np
import pytest

from flipcost.core.annotators import calibrate, fit_crowd

DRAWS = 24


def least_covered(n):
    """Return what is three standard errors below 95% in n draws."""
    return 0.95 - 3 * np.sqrt(0.95 * 0.05 / n)


def draw(rng, n, share, rates, *, hard=0.0):
    """Draw labels of every item by every annotator, by their rates (miss, false alarm).

    A part of the items is hard: all annotators guess alike there.
    """
    miss, alarm = np.array(rates).T
    true = rng.random(n) < share
    label = rng.random((n, len(rates))) < np.where(true[:, None], 1 - miss, alarm)
    together = rng.random(n) < hard
    label[together] = rng.random((together.sum(), 1)) < 0.5
    return true, label


def fit(label, **options):
    """Fit with one item for each pattern of labels."""
    kinds, kind, counts = np.unique(label, axis=0, return_inverse=True, return_counts=True)
    item, worker = np.nonzero(np.ones(kinds.shape))
    found = fit_crowd(
        item, worker, kinds.ravel(), len(kinds), counts=counts.astype(float), **options
    )
    return found, found.probability[kind.reshape(-1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "share", "rates"),
    [
        (300, 0.4, [(0.1, 0.05), (0.2, 0.1), (0.3, 0.2)]),
        (800, 0.15, [(0.3, 0.1)] * 4),
        (400, 0.4, [(0.05, 0.05), (0.2, 0.2), (0.3, 0.3)]),
    ],
)
def test_rates_and_the_share_are_covered(n, share, rates):
    """With three annotators and more, where these err on their own, much alike or not.

    Rates of an annotator who is much better are covered where all are not taken to be alike.
    """
    rng, inside, of_best, of_share = np.random.default_rng(4), 0.0, 0.0, 0.0
    for _ in range(DRAWS):
        label = draw(rng, n, share, rates)[1]
        found, apart = fit(label)[0], fit(label, pooled=False)[0]
        pairs = zip(apart.rates, rates, strict=True)
        hits = [x.low <= t <= x.high for two, true in pairs for x, t in zip(two, true, strict=True)]
        inside += np.mean(hits) / DRAWS
        of_best += np.mean(hits[:2]) / DRAWS
        of_share += (found.share.low <= share <= found.share.high) / DRAWS
    assert inside >= least_covered(DRAWS * len(hits))
    assert of_best >= least_covered(DRAWS * 2)
    assert of_share >= least_covered(DRAWS)


@pytest.mark.slow
def test_annotators_who_guess_alike_make_intervals_too_short():
    """The model is wrong where the same items are hard for all: that is its assumption.

    The share stays covered, and a few known truths show that probabilities are too sure.
    """
    rng, of_share, factors = np.random.default_rng(5), 0.0, []
    rates = [(0.2, 0.1)] * 5
    for _ in range(DRAWS):
        true, label = draw(rng, 400, 0.5, rates, hard=0.2)
        found, chance = fit(label)
        of_share += (found.share.low <= 0.5 <= found.share.high) / DRAWS
        known = np.where(np.arange(400) < 60, true, np.nan)
        factors.append(calibrate(chance, known))
    assert of_share >= least_covered(DRAWS)
    assert np.mean(factors) < 0.7


def test_the_truth_of_some_items_pins_rates():
    """Known truths are learned from: intervals shrink, and cover what the annotators do."""
    rng = np.random.default_rng(6)
    true, label = draw(rng, 500, 0.3, [(0.3, 0.1), (0.4, 0.2), (0.2, 0.3)])
    item, worker = np.nonzero(np.ones(label.shape))
    wide = fit_crowd(item, worker, label.ravel(), 500)
    slim = fit_crowd(item, worker, label.ravel(), 500, truth=true.astype(float))
    for before, after, own in zip(wide.rates, slim.rates, label.T, strict=True):
        assert after[0].high - after[0].low < before[0].high - before[0].low
        assert after[0].value == pytest.approx(np.mean(~own[true]), abs=0.02)


def test_three_alike_are_no_worse_than_their_majority():
    """Where nothing tells annotators apart, the pool decides as the majority does."""
    rng = np.random.default_rng(7)
    pool, votes = [], []
    for _ in range(6):
        true, label = draw(rng, 600, 0.4, [(0.2, 0.2)] * 3)
        pool.append(np.mean((fit(label)[1] > 0.5) == true))
        votes.append(np.mean((label.sum(axis=1) > 1) == true))
    assert np.mean(pool) >= np.mean(votes) - 0.003


def test_turning_labels_round_turns_everything_round():
    """Misses become false alarms, and the share its complement, up to chance."""
    rng = np.random.default_rng(8)
    label = draw(rng, 2000, 0.3, [(0.3, 0.05), (0.2, 0.1), (0.1, 0.1)])[1]
    there, back = fit(label)[0], fit(~label)[0]
    assert there.share.value == pytest.approx(1 - back.share.value, abs=0.02)
    for one, other in zip(there.rates, back.rates, strict=True):
        assert one[0].value == pytest.approx(other[1].value, abs=0.03)


def test_a_prior_of_items_counts():
    """An item that is known to be rare needs more labels to be called positive."""
    label = np.tile([[True, True, False]], (50, 1))
    more = draw(np.random.default_rng(9), 500, 0.5, [(0.2, 0.2)] * 3)[1]
    every = np.concatenate([label, more])
    item, worker = np.nonzero(np.ones(every.shape))
    prior = np.r_[np.full(25, 0.1), np.full(25, 0.9), np.full(500, 0.5)]
    found = fit_crowd(item, worker, every.ravel(), 550, prior=prior)
    assert found.probability[:25].max() < 0.5 < found.probability[25:50].min()
