"""The share of positives, known from elsewhere, tells what labels cannot."""

import numpy as np
import pytest

from flipcost import FlipCostClassifier
from flipcost.core.error_rates import clean_share
from flipcost.noise import NoiseRate

COST = 0.2


def missed_where_weak(n, seed):
    """Return rows, labels that miss the weaker positives, and the truth: nothing shows it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    clean = rng.random(n) < 1 / (1 + np.exp(1.0 - 1.5 * X[:, 0]))
    kept = rng.random(n) < 1 / (1 + np.exp(3.0 - 1.5 * X[:, 0]))
    return X, clean & kept, clean


def paid(model, X, clean):
    flagged = np.asarray(model.predict(X), dtype=bool)
    return np.where(clean, (1 - COST) * ~flagged, COST * flagged).mean()


def fitted(X, noisy, **options):
    return FlipCostClassifier(COST, features="splines", random_state=0, **options).fit(X, noisy)


@pytest.mark.slow
def test_labels_that_miss_weak_positives_are_seen_through():
    """At equal labels the share saves cost, and the rates that it leaves imply it."""
    saved = []
    for seed in range(5):
        X, noisy, clean = missed_where_weak(3_000, seed)
        fresh, _, right = missed_where_weak(20_000, 100 + seed)
        share = float(clean.mean())
        blind, told = fitted(X, noisy), fitted(X, noisy, prevalence=share)
        saved.append(1 - paid(told, fresh, right) / paid(blind, fresh, right))
        posterior = told.rate_posterior_
        implied = posterior.weight @ clean_share(posterior.rates, noisy.mean())
        assert share / 1.2 < implied < 1.2 * share
        (low, high), _ = told.noise_rate_interval_
        assert low < np.mean(~noisy[clean]) < high
    assert np.mean(saved) - 2 * np.std(saved) / np.sqrt(5) > 0


def test_a_share_narrows_what_symmetric_noise_leaves_open():
    """Where the model holds, the rates stay covered and the interval is no wider."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3_000, 3))
    clean = rng.random(3_000) < 1 / (1 + np.exp(2.0 - 2 * X[:, 0]))
    noisy = clean ^ (rng.random(3_000) < 0.2)
    blind, told = fitted(X, noisy), fitted(X, noisy, prevalence=(0.15, 0.3))
    for low, high in told.noise_rate_interval_:
        assert low < 0.2 < high
    widths = [m.wrong_share_.high - m.wrong_share_.low for m in (told, blind)]
    assert widths[0] <= widths[1]


def test_columns_that_say_nothing_give_the_constant_that_the_share_prefers():
    """Labels prefer the other one."""
    rng = np.random.default_rng(5)
    X, noisy = rng.normal(size=(2_000, 3)), rng.random(2_000) < 0.08
    blind, told = fitted(X, noisy), fitted(X, noisy, prevalence=0.4)
    assert blind.chosen_ == "all_negative"
    assert told.state_ == "no_signal"
    assert told.chosen_ == "all_positive"


def test_the_share_is_of_the_positive_class():
    """Swapping the classes, the share and the cost swaps the calls and nothing else."""
    X, noisy, clean = missed_where_weak(1_500, 1)
    share = float(clean.mean())
    one = fitted(X, noisy, prevalence=share)
    other = FlipCostClassifier(
        1 - COST, features="splines", prevalence=1 - share, pos_label=False, random_state=0
    ).fit(X, noisy)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=0.01)


def test_checked_rows_and_a_share_count_together():
    """Both enter; the summary says what was told."""
    X, noisy, clean = missed_where_weak(2_000, 2)
    trusted = np.full(2_000, np.nan)
    trusted[:60] = clean[:60]
    model = FlipCostClassifier(COST, prevalence=(0.25, 0.45), random_state=0)
    model.fit(X, noisy, trusted=trusted)
    assert "Of all rows 25 to 45% are positive, as you said" in " ".join(model.summary().split())
    (low, high), _ = model.noise_rate_interval_
    assert low < np.mean(~noisy[clean]) < high


@pytest.mark.parametrize("rate", [0.1, (0.3, 0.0)])
def test_a_share_beside_a_rate_is_refused(rate):
    """It would play no part."""
    X, noisy, _ = missed_where_weak(300, 0)
    with pytest.raises(ValueError, match="`prevalence` counts only where the error rate"):
        fitted(X, noisy, prevalence=0.3, noise_rate=rate)


@pytest.mark.parametrize("share", [0.0, 30, (0.3, 0.1), "half"])
def test_what_is_no_share_is_refused(share):
    X, noisy, _ = missed_where_weak(300, 0)
    with pytest.raises(ValueError, match="prevalence"):
        fitted(X, noisy, prevalence=share)


def test_the_summary_asks_for_the_share_until_it_is_told():
    """And not of a table someone checked rows of."""
    X, noisy, clean = missed_where_weak(1_000, 0)
    assert "`prevalence`" in fitted(X, noisy).summary()
    assert "as `prevalence`" not in fitted(X, noisy, prevalence=(0.2, 0.4)).summary()
    estimated = NoiseRate(0.2, 0.05, 0.35, "repeats")
    assert "`prevalence`" not in fitted(X, noisy, noise_rate=estimated).summary()
    trusted = np.where(np.arange(1_000) < 50, clean, np.nan)
    model = FlipCostClassifier(COST, features="splines", random_state=0)
    assert "`prevalence`" not in model.fit(X, noisy, trusted=trusted).summary()
