"""What is said of the labels: estimate and range if random, bound, break-even, and the state."""

import numpy as np
import pytest

from flipcost import FlipCostClassifier
from flipcost.core.label_errors import probability_wrong


def draw(n, rates, seed, offset=-1.0, slope=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    clean = rng.random(n) < 1 / (1 + np.exp(-(slope * X[:, 0] + offset)))
    return X, clean ^ (rng.random(n) < np.where(clean, *rates)), clean


def fit(X, labels, **options):
    return FlipCostClassifier(0.25, features="linear", random_state=0).fit(X, labels, **options)


def test_the_range_shrinks_with_rows_and_lies_in_the_wide_one():
    """With sixteen times the rows the interval if errors are random is at most 0.6 as wide."""
    widths = []
    for n in (1_500, 24_000):
        X, labels, clean = draw(n, (0.2, 0.2), 3)
        model = fit(X, labels)
        share, wide = model.wrong_share_if_random_, model.wrong_share_
        assert wide.low <= share.low <= share.value <= share.high <= wide.high
        assert (
            share.low <= np.mean(labels != clean) <= share.high <= model.wrong_share_bound_ + 0.02
        )
        widths.append(share.high - share.low)
    assert widths[1] < 0.6 * widths[0]


def test_a_rare_class_mostly_missed_is_not_clean():
    """Of 1 % positives three in four are missed: few of all labels, most of the class."""
    X, labels, clean = draw(30_000, (0.74, 0.0), 5, offset=-6.0)
    assert np.mean(labels != clean) < 0.03
    assert fit(X, labels).state_ != "clean"


@pytest.mark.parametrize("seed", range(3))
def test_right_answers_leave_clean_labels_clean(seed):
    """Labels that look clean still do once 30, 100 or 300 rows were checked and found right."""
    X, labels, _ = draw(4_000, (0.0, 0.0), seed, slope=8.0)
    assert fit(X, labels).state_ == "clean"
    for n in (30, 100, 300):
        trusted = np.full(len(labels), np.nan)
        trusted[:n] = labels[:n]
        assert fit(X, labels, trusted=trusted).state_ == "clean"


def test_the_break_even_falls_where_the_decision_is_close():
    """Errors that were found already leave less room; a table has both sides or says None."""
    X, labels, _ = draw(4_000, (0.0, 0.0), 1)
    found = fit(X, labels).break_even_
    assert 0 < found.missed_positives < 1
    assert 0 < found.wrong_positives <= 1
    assert found.n_checks < 1_000


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_labels_are_trusted_where_allowing_for_errors_saves_too_little(seed):
    """Clean labels are decided as with `noise_rate=0`; flips, a model or a prevalence say more."""
    X, labels, _ = draw(1_500, (0.0, 0.0), seed)
    trusting = fit(X, labels)
    zero = FlipCostClassifier(0.25, features="linear", noise_rate=0, random_state=0).fit(X, labels)
    np.testing.assert_allclose(trusting.predict_proba(X), zero.predict_proba(X), atol=1e-12)
    assert trusting.wrong_share_if_random_.high > 0
    told = FlipCostClassifier(0.25, features="linear", prevalence=0.5, random_state=0)
    assert np.abs(told.fit(X, labels).predict_proba(X) - zero.predict_proba(X)).max() > 0.01
    X, labels, _ = draw(1_500, (0.25, 0.25), seed)
    zero.fit(X, labels)
    assert np.mean(fit(X, labels).predict(X) != zero.predict(X)) > 0.1


def test_a_narrow_range_that_decides_alike_is_not_undecided():
    """Beyond the range's width, undecided is where knowing the rate would save a little or more."""
    for seed in range(4):
        for rates in ((0.0, 0.0), (0.2, 0.2)):
            X, labels, _ = draw(5_000, rates, seed)
            model = fit(X, labels)
            share = model.wrong_share_if_random_
            is_open = model.value_of_information_ >= 0.02 * model.cost_estimate_
            wide = share.high - share.low > 0.2
            assert (model.state_ == "undecided") == (wide or is_open) or model.state_ == "clean"


@pytest.mark.parametrize(("rates", "seed"), [((0.4, 0.0), 1), ((0.2, 0.05), 1), ((0.1, 0.1), 1)])
def test_likely_errors_add_up_to_the_estimate_where_labels_are_trusted(rates, seed):
    """Decisions go by recorded labels; the probabilities of errors still mean what is said of all.

    Curves and rates are averaged one after the other: 6 % of the estimate are allowed.
    """
    X, labels, _ = draw(500 if rates[0] < 0.3 else 2_000, rates, seed)
    model = fit(X, labels)
    assert model.labels_trusted_
    clean = model.clean_probability(model.oof_probability_)
    wrong = probability_wrong(labels, clean, model.rate_posterior_)
    share = model.wrong_share_if_random_.value
    assert wrong.mean() == pytest.approx(share, rel=0.06)
