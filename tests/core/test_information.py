"""Suspicion, labels needed, the value of the rate and paired savings, by hand and by chance."""

import numpy as np
import pytest

from flipcost.core.clean_means import paired_saving
from flipcost.core.confusion import ConfusionCounts, measure
from flipcost.core.costs import RowCosts
from flipcost.core.decision import value_of_knowing_rate
from flipcost.core.error_rates import RatePosterior
from flipcost.core.label_errors import probability_wrong
from flipcost.core.noise import clean_eta, labels_needed, noisy_eta, rate_of_disagreement

KNOWN = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
UNSURE = RatePosterior(
    np.array([[0.05, 0.05], [0.2, 0.2], [0.35, 0.35]]), np.array([0.2, 0.5, 0.3])
)


def test_suspicion_is_bayes_rule():
    """At a known rate the probability of a wrong label is that of Bayes' rule."""
    eta = np.array([0.1, 0.5, 0.9])
    found = probability_wrong([True, True, True], eta, KNOWN)
    np.testing.assert_allclose(found, 0.2 * (1 - eta) / (0.2 * (1 - eta) + 0.8 * eta))
    found = probability_wrong([False, False, False], eta, KNOWN)
    np.testing.assert_allclose(found, 0.2 * eta / (0.2 * eta + 0.8 * (1 - eta)))


def test_the_value_of_knowing_the_rate_by_enumeration():
    """The value of information is the loss of the best ignorant call over the informed ones."""
    eta, cost = np.linspace(0, 1, 31), 0.3
    observed = noisy_eta(eta, tuple(UNSURE.mean))
    lost = 0.0
    for x in observed:
        clean = [float(clean_eta(x, tuple(rate))) for rate in UNSURE.rates]
        flags = [[(1 - cost) * p, cost * (1 - p)] for p in clean]
        ignorant = min(
            sum(w * c[k] for w, c in zip(UNSURE.weight, flags, strict=True)) for k in (0, 1)
        )
        lost += ignorant - sum(w * min(c) for w, c in zip(UNSURE.weight, flags, strict=True))
    given = [clean_eta(observed, tuple(rate)) for rate in UNSURE.rates]
    found = value_of_knowing_rate(given, UNSURE.weight, cost)
    assert found == pytest.approx(lost / len(eta), rel=1e-12)
    assert value_of_knowing_rate([eta], [1.0], cost) == 0


@pytest.mark.parametrize("trusted", [False, True])
def test_the_labels_needed_give_the_precision(trusted):
    """As many labels as advised estimate the rate with the promised standard error."""
    rate, precision = 0.15, 0.02
    n = labels_needed(rate, precision, trusted=trusted)
    rng = np.random.default_rng(0)
    share = rate if trusted else 2 * rate * (1 - rate)
    found = rng.binomial(n, share, 20_000) / n
    estimates = found if trusted else rate_of_disagreement(found)
    # The spread of 20,000 draws is known to within 0.5 %; curvature adds a little more.
    assert np.std(estimates) == pytest.approx(precision / 1.959964, rel=0.02)


def test_the_paired_saving_by_hand():
    """At a known rate the saving is the mean difference of unbiased per-row costs."""
    labels = np.tile([True, True, False, False, True, False], 10)
    ours = labels ^ (np.arange(60) % 3 == 0)
    theirs = labels ^ (np.arange(60) % 2 == 0)
    found = paired_saving(labels, ours, theirs, RowCosts.of(0.3), KNOWN)
    tables = (
        ConfusionCounts.from_labels(labels, flagged).denoised(0.2) for flagged in (ours, theirs)
    )
    cost, rival = (float(measure(table, "cost", 0.3)) for table in tables)
    assert found.value == pytest.approx(rival - cost, rel=1e-12)
    assert found.low < found.value < found.high


def test_the_interval_of_the_saving_covers():
    """Over repeated flips the interval holds the true saving about as often as it says."""
    rng = np.random.default_rng(1)
    n, trials, inside = 600, 300, 0
    clean = rng.random(n) < 0.5
    ours = clean ^ (rng.random(n) < 0.2)
    theirs = clean ^ (rng.random(n) < 0.3)
    tables = (ConfusionCounts.from_labels(clean, flagged).counts for flagged in (ours, theirs))
    cost, rival = (float(measure(table, "cost", 0.3)) for table in tables)
    true = rival - cost
    for _ in range(trials):
        noisy = clean ^ (rng.random(n) < 0.2)
        found = paired_saving(noisy, ours, theirs, RowCosts.of(0.3), KNOWN)
        inside += found.low <= true <= found.high
    # Rows are fixed here, so the interval, which also counts their sampling, is wide: at least
    # 95 % less three standard errors of the share.
    assert inside / trials > 0.95 - 3 * np.sqrt(0.95 * 0.05 / trials)
