"""The posterior over noise rates: models, prevalence, search, intervals."""

import numpy as np
import pytest
from scipy.special import expit, logit

from flipcost.core import priors
from flipcost.core.calibration import ScoreBins, log_sum
from flipcost.core.checked_rows import CheckedRows, given_label
from flipcost.core.clean_means import LabelSums
from flipcost.core.confusion import ConfusionCounts, measure
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior, mixture_intervals, weighted_interval
from flipcost.core.noise_posterior import (
    PrevalencePrior,
    RateGrid,
    free_rates,
    integrate_rates,
    model_prior,
    rate_posterior,
)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("model", list(priors.NOISE_MODELS))
def test_grids_hold_what_is_possible_and_all_of_the_prior(model, share):
    """Rates leave a clean share in [0, 1]; masses add up to one."""
    grid = RateGrid.whole(model, share)
    rho_pos, rho_neg = grid.rates.T
    clean = (share - rho_neg) / (1 - rho_pos - rho_neg)
    assert np.all((clean >= 0) & (clean <= 1))
    assert np.exp(grid.log_mass).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("model", ["symmetric", "class_conditional"])
def test_a_finer_grid_has_the_prior_of_its_part(model):
    """The cells of a zoomed grid hold the prior mass of the region that they cover."""
    grid = RateGrid.whole(model, 0.3)
    rng = np.random.default_rng(0)
    weight = np.zeros(len(grid.rates))
    weight[rng.integers(len(weight))] = 1.0
    finer = grid.zoom(weight)
    bounds, power = {"symmetric": ([0.3], 1), "class_conditional": ([0.7, 0.3], 5)}[model]
    by_hand = np.prod(
        [
            ((1 - a * most) ** power - (1 - b * most) ** power) / (1 - (1 - 0.98 * most) ** power)
            for a, b, most in zip(finer.low, finer.high, bounds, strict=True)
        ]
    )
    assert np.exp(finer.log_mass).sum() == pytest.approx(by_hand, rel=1e-3)


def test_rare_positives_leave_room_for_wrong_negatives():
    """Rates are shares of their own bounds: at 2 % positive labels one in 50 negatives at most."""
    assert RateGrid.whole("wrong_negatives", 0.02).rates[:, 1].max() < 0.02
    assert RateGrid.whole("missed_positives", 0.02).rates[:, 0].max() > 0.9
    for fine in (False, True):
        rates, log_mass = free_rates(0.02, fine=fine)
        assert 0.9 < rates[:, 0].max() < 0.98
        assert rates[:, 1].max() < 0.02
        assert np.exp(log_mass).sum() == pytest.approx(1.0)


def test_an_unknown_model_is_named():
    """A misspelled model is refused with the names that there are."""
    with pytest.raises(ValueError, match="missed_positives"):
        model_prior("missed")


@pytest.mark.parametrize("noise_model", ["auto", "symmetric", "missed_positives"])
def test_few_rows_of_a_label_are_taken_as_they_are(noise_model):
    """The fewer rows of the rarer label, the more weighs that none is wrong; shares add up."""
    few, some, many = (model_prior(noise_model, n) for n in (5, 50, 1e9))
    assert few["none"] > 0.9 > some["none"] > many["none"] == pytest.approx(0.1)
    for prior in (few, some, many):
        assert sum(prior.values()) == pytest.approx(1)
    if noise_model == "auto":
        ratio = {name: few[name] / many[name] for name in few if name != "none"}
        assert np.ptp(list(ratio.values())) == pytest.approx(0)


@pytest.mark.parametrize("said", [0.02, 0.5, (0.1, 0.3), [0.9, 0.99]])
def test_the_range_holds_all_but_a_twentieth(said):
    """The density integrates to one over log-odds, and to 0.95 between the ends."""
    prevalence = PrevalencePrior.of(said)
    steps = np.linspace(-13, 13, 26_001)
    mass = np.exp(prevalence.log_density(expit(steps))) * (steps[1] - steps[0])
    inside = (steps >= logit(prevalence.low)) & (steps <= logit(prevalence.high))
    assert mass.sum() == pytest.approx(1.0, abs=1e-3)
    assert mass[inside].sum() == pytest.approx(0.95, abs=2e-3)


def test_shares_of_the_other_class_are_mirrored():
    """What is said of one class is said of the other."""
    one, other = PrevalencePrior.of((0.1, 0.3)), PrevalencePrior.of((0.7, 0.9))
    shares = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(one.log_density(shares), other.log_density(1 - shares), rtol=1e-9)
    assert PrevalencePrior.of(0.2).low == pytest.approx(1 - PrevalencePrior.of(0.8).high)


@pytest.mark.parametrize("said", [0.0, 1.0, 12.0, -0.1, np.nan, (0.2, 0.2), (0.1, 0.2, 0.3), ()])
def test_what_is_no_share_is_refused(said):
    """In a sentence that says what is."""
    with pytest.raises(ValueError, match="must be a share of rows above 0 and below 1"):
        PrevalencePrior.of(said)


def draw(n, rate, seed, slope=2.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    clean = rng.random(n) < expit(slope * scores - 0.7)
    noisy = clean ^ (rng.random(n) < np.where(clean, *rate))
    return scores, noisy, clean, rng


def posterior(scores, noisy, clean=None, rows=None):
    bins = ScoreBins.standardizing(scores, noisy)[0]
    if rows is not None:
        bins = bins.with_checked(scores[rows], clean[rows], noisy[rows])
    return rate_posterior([bins], integrate_rates([bins]))


def measured(scores, noisy, clean, rows):
    """Return the posterior with the rates that checked rows leave, as a classifier has it."""
    bins, z = ScoreBins.standardizing(scores, noisy)
    bins = bins.with_checked(scores[rows], clean[rows], noisy[rows])
    fit = integrate_rates([bins])
    eta, found = fit.probability([z]), rate_posterior([bins], fit)
    expected = given_label(eta, noisy, found.mean)
    checked = CheckedRows(rows, clean[rows])
    return found.measured(checked.rates(positive=noisy, expected=expected, score=eta))


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


@pytest.mark.slow
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


def noisy_bins(n, rate, seed, slope=2.0, offset=-0.7):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    clean = rng.random(n) < expit(slope * scores + offset)
    rho_pos, rho_neg = rate
    noisy = clean ^ (rng.random(n) < np.where(clean, rho_pos, rho_neg))
    return ScoreBins.standardizing(scores, noisy)[0]


def posterior_of(fit):
    return RatePosterior(fit.rates, fit.weight.sum(axis=0))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.25, 0.4])
def test_interval_covers_the_rate(rate):
    """Of 40 draws, the 95 % interval covers in at least 34: fewer has probability below 0.002."""
    covered = 0
    for seed in range(40):
        fit = integrate_rates([noisy_bins(1500, (rate, rate), seed)])
        low, high = posterior_of(fit).interval(0.95)[0]
        covered += low <= rate <= high
    assert covered >= 34


def test_pair_interval_covers_both_rates():
    """Of 30 draws, both 90 % intervals of a pair cover in at least 20."""
    covered = np.zeros(2)
    for seed in range(30):
        fit = integrate_rates([noisy_bins(3000, (0.3, 0.1), seed)], "class_conditional")
        first, second = posterior_of(fit).interval(0.9)
        covered += [first[0] <= 0.3 <= first[1], second[0] <= 0.1 <= second[1]]
    assert covered.min() >= 20


@pytest.mark.slow
def test_checked_rows_cover_rates_of_mistakes_that_follow_the_score():
    """Where constant rates are wrong, 30 checked rows give intervals that hold in 33 of 40 draws.

    At 0.95, fewer have a probability below 0.001.
    """
    covered = np.zeros(2)
    for seed in range(40):
        rng = np.random.default_rng([30, seed])
        scores = rng.normal(size=1_500)
        clean = rng.random(1_500) < expit(1.5 * scores - 1)
        noisy = clean ^ (rng.random(1_500) < expit(np.where(clean, -1.0 - scores, scores - 3.0)))
        rows = rng.permutation(1_500)[:30]
        limits = np.array(measured(scores, noisy, clean, rows).interval())
        truth = np.array([(noisy != clean)[clean].mean(), (noisy != clean)[~clean].mean()])
        covered += (limits[:, 0] <= truth) & (truth <= limits[:, 1])
    assert covered.min() >= 33


def test_grid_refines_with_the_rows():
    """With many rows the grid zooms in: no point holds a third, and the interval is narrow."""
    fit = integrate_rates([noisy_bins(400_000, (0.2, 0.2), seed=1)])
    weight = fit.weight.sum(axis=0)
    assert weight.max() < 0.36
    low, high = posterior_of(fit).interval(0.95)[0]
    assert high - low < 0.02
    assert low < 0.2 < high


def test_a_tiny_rate_is_resolved():
    """One per cent of noise on rare positives is told from none and from two."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200_000)
    clean = rng.random(200_000) < expit(4 * scores - 8)
    noisy = clean ^ (rng.random(200_000) < 0.01)
    low, high = posterior_of(
        integrate_rates([ScoreBins.standardizing(scores, noisy)[0]], "symmetric")
    ).interval()[0]
    assert 0.007 < low < 0.01 < high < 0.013


def test_no_shape_is_dropped_where_both_classes_have_their_own_rate(monkeypatch):
    """With many rows a shape must be judged at its own two rates, not on lines of one.

    Labels are as often positive as the law says, so the straight shape explains them best.
    """
    z = np.linspace(-4, 4, 64) + 1 / 16
    rows = 50_000 * np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    share = 0.1 + 0.6 * expit(3.6 * z - 0.8)
    bins = [ScoreBins(0.0, 1.0, z, rows * share, rows * (1 - share))]
    every = integrate_rates(bins)
    assert every.weight.sum(axis=0) @ every.rates == pytest.approx([0.3, 0.1], abs=0.01)
    monkeypatch.setattr(priors, "CURVE_SHAPES", (0.0,))
    straight = integrate_rates(bins)
    assert log_sum(every.log_evidence) > log_sum(straight.log_evidence) - np.log(5) - 0.1


@pytest.mark.parametrize(("rate", "favoured"), [((0.2, 0.2), True), ((0.4, 0.05), False)])
def test_auto_finds_the_noise_model(rate, favoured):
    """With many rows the posterior weight goes to the noise model that made the labels."""
    fit = integrate_rates([noisy_bins(60_000, rate, seed=2)], "auto")
    weight = fit.weight.sum(axis=0)
    symmetric = weight[: np.count_nonzero(fit.rates[:, 0] == fit.rates[:, 1])]
    share = weight[fit.rates[:, 0] == fit.rates[:, 1]].sum()
    assert len(symmetric)
    assert (share > 0.7) == favoured


def test_known_rate_is_a_prior():
    """A rate known from elsewhere pulls a vague posterior to itself."""
    bins = noisy_bins(150, (0.1, 0.1), seed=3, slope=0.5)
    free = posterior_of(integrate_rates([bins])).mean[0]
    known = posterior_of(integrate_rates([bins], rate_prior=(0.1, 0.01))).mean[0]
    assert abs(known - 0.1) < 0.01 < abs(free - 0.1)


def test_cost_of_a_table_with_the_rate_known():
    """With one rate the cost is the denoised one of the table."""
    counts = np.array([[60.0, 20.0], [10.0, 30.0]])
    table = ConfusionCounts(counts, counts)
    posterior = RatePosterior(np.array([[0.1, 0.1]]), np.array([1.0]))
    sums = LabelSums.of_table(table, RowCosts.of(0.2))
    interval, by_rate = sums.mean(posterior), sums.by_rate(posterior)
    assert interval.value == pytest.approx(float(measure(table.denoised(0.1), "cost", 0.2)))
    assert by_rate.shape == (1,)
    # By the delta method, at counts with half a row more in each cell.
    smooth = counts + 0.5
    clean = np.array([[0.9, -0.1], [-0.1, 0.9]]) / 0.8
    centre = float(measure(clean @ smooth, "cost", 0.2))
    slope = (clean.T @ np.array([[0.0, 0.2], [0.8, 0.0]]) - centre) / smooth.sum()
    error = np.sqrt((slope**2 * smooth).sum())
    expected = centre + 1.959964 * error * np.array([-1, 1])
    np.testing.assert_allclose([interval.low, interval.high], expected, atol=1e-6)


def test_not_knowing_the_rate_widens_the_interval():
    """A spread of rates gives a wider interval than its mean alone."""
    counts = np.array([[600.0, 200.0], [100.0, 300.0]])
    table = ConfusionCounts(counts, counts)
    sums = LabelSums.of_table(table, RowCosts.of(0.2))
    sure = sums.mean(RatePosterior(np.array([[0.1, 0.1]]), np.array([1.0])))
    rates = np.array([[0.02, 0.02], [0.18, 0.18]])
    unsure = sums.mean(RatePosterior(rates, np.array([0.5, 0.5])))
    assert unsure.high - unsure.low > 1.5 * (sure.high - sure.low)


def test_intervals_of_samples_and_mixtures():
    """Quantiles of a uniform sample and of two far normals are where they must be."""
    low, high = weighted_interval(np.linspace(0, 1, 1001), np.ones(1001), 0.9)
    assert (low, high) == pytest.approx((0.05, 0.95), abs=1e-3)
    values = np.array([[-10.0, 10.0]])
    (low,), (high,) = mixture_intervals(values, np.ones((1, 2)), np.ones(2), 0.9)
    assert (low, high) == pytest.approx((-11.2816, 11.2816), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("noise_model", ["auto", "symmetric"])
def test_intervals_take_models_of_noise_as_more_alike(noise_model):
    """If errors are random, intervals leave more to rates by class; a model that is told, none."""
    z = np.linspace(-4, 4, 64)
    rows = 5_000 * np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    share = 0.1 + 0.6 * expit(1.3 * z - 0.8)
    bins = [ScoreBins(0.0, 1.0, z, rows * share, rows * (1 - share))]
    posterior = rate_posterior(bins, integrate_rates(bins, noise_model), noise_model)
    plain = RatePosterior(posterior.rates, posterior.weight).wrong_share(bins[0].label_share)
    found = posterior.if_random.wrong_share(bins[0].label_share)
    assert found.value == pytest.approx(plain.value)
    wider = (found.high - found.low) / (plain.high - plain.low)
    assert wider > 1.02 if noise_model == "auto" else wider == pytest.approx(1)


def test_checks_chosen_by_label_are_no_evidence_of_rates():
    """Half of the checks from each label, and many: the intervals hold the rates all the same.

    Errors follow the score, so that no rates by class are right. Of 20 draws both intervals
    hold in 16 at least; at 0.95 fewer have a probability below 0.001.
    """
    covered = np.zeros(2)
    for seed in range(20):
        rng = np.random.default_rng([810, seed])
        scores = rng.normal(size=8_000)
        clean = rng.random(8_000) < expit(1.5 * scores - 3)
        noisy = clean ^ (rng.random(8_000) < expit(np.where(clean, -1.0 - scores, scores - 5.0)))
        rows = np.concatenate([rng.permutation(np.flatnonzero(noisy == k))[:200] for k in (0, 1)])
        limits = np.array(measured(scores, noisy, clean, rows).interval())
        truth = np.array([(noisy != clean)[clean].mean(), (noisy != clean)[~clean].mean()])
        covered += (limits[:, 0] <= truth) & (truth <= limits[:, 1])
    assert covered.min() >= 16
