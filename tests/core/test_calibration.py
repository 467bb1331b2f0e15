"""Noise-aware calibration: against brute-force integration, and its laws."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import norm

from flipcost.core import priors
from flipcost.core.calibration import (
    TABLE,
    BinStack,
    Calibration,
    ScoreBins,
    calibrate,
    find_modes,
    flip_log_likelihood,
)
from flipcost.core.noise_posterior import integrate_rates, rate_posterior


def draw(n, slope, offset, rate, seed):
    """Return scores and noisy labels of the model itself."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    clean = rng.random(n) < expit(slope * scores + offset)
    rho_pos, rho_neg = rate
    return scores, clean ^ (rng.random(n) < np.where(clean, rho_pos, rho_neg)), clean


def bent(bins, shape, points):
    """Return what the curve is logistic in, written again from the documentation."""
    total = bins.positive + bins.negative
    inside = total > 0
    rank = (np.cumsum(total) - total / 2) / total.sum()
    z = np.interp(points, bins.centre[inside], norm.ppf(rank[inside]))
    own = norm.ppf(rank[inside])
    x, h = (v - shape * np.log(np.cosh(v)) for v in (z, own))
    mean = np.average(h, weights=total[inside])
    return (x - mean) / np.sqrt(np.average((h - mean) ** 2, weights=total[inside]))


def log_joint(bins, x, rate, log_slope, offset):
    """Log likelihood and prior, written again from the documentation."""
    rho_pos, rho_neg = rate
    eta = expit(np.exp(log_slope)[:, None] * x + offset[:, None])
    noisy = np.clip(rho_neg + (1 - rho_pos - rho_neg) * eta, 1e-12, 1 - 1e-12)
    likelihood = np.log(noisy) @ bins.positive + np.log1p(-noisy) @ bins.negative
    slope = np.exp(log_slope)
    half_cauchy = np.log(2 / (np.pi * (1 + slope**2)))
    share = expit(offset)
    # Uniform on the share, times the derivative of the share.
    return likelihood + half_cauchy + log_slope + np.log(share * (1 - share))


def log_checked(bins, x, rate, log_slope, offset):
    """Log probability of right labels given labels and scores, written again from Bayes' rule."""
    rho_pos, rho_neg = rate
    eta = expit(np.exp(log_slope)[:, None] * x + offset[:, None])
    total = 0.0
    for right, label in np.ndindex(2, 2):
        flip = rho_pos if right else rho_neg
        of_label = flip if right != label else 1 - flip
        joint = np.maximum(of_label * (eta if right else 1 - eta), 1e-300)
        noisy = rho_neg + (1 - rho_pos - rho_neg) * eta
        total = total + np.log(joint / (noisy if label else 1 - noisy)) @ bins.checked[right, label]
    return total


def brute(bins, rate):
    """Integrate slope and offset on a dense grid, and shapes of the curve."""
    u, b = np.meshgrid(np.linspace(-9, 6, 200), np.linspace(-12, 12, 200), indexing="ij")
    evidences, curves = [], []
    for shape in priors.CURVE_SHAPES:
        x = bent(bins, shape, bins.centre)
        joint = log_joint(bins, x, rate, u.ravel(), b.ravel())
        if bins.checked is not None:
            joint += log_checked(bins, x, rate, u.ravel(), b.ravel())
        evidences.append(logsumexp(joint) + np.log(15 / 199 * 24 / 199))
        weight = np.exp(joint - logsumexp(joint))
        kept = weight > 1e-9
        slope, offset = np.exp(u.ravel()[kept]), b.ravel()[kept]
        table = bent(bins, shape, TABLE)
        curves.append(weight[kept] @ expit(slope[:, None] * table + offset[:, None]))
    evidence = logsumexp(evidences) - np.log(len(evidences))
    return evidence, np.exp(evidences - logsumexp(evidences)) @ np.array(curves)


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("slope", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("rate", [(0.0, 0.0), (0.3, 0.3), (0.1, 0.4)])
def test_integrals_match_brute_force(n, slope, rate):
    """Evidence is within a tenth of a nat and probabilities within 0.03 of a dense grid's."""
    scores, noisy, _ = draw(n, slope, -1.0, rate, seed=n)
    bins = ScoreBins.standardizing(scores, noisy)[0]
    fit = calibrate([bins], [rate])
    evidence, curve = brute(bins, rate)
    assert fit.log_evidence[0, 0] == pytest.approx(evidence, abs=0.1)
    inside = (bins.centre.min() < TABLE) & (np.abs(TABLE) < 2)
    np.testing.assert_allclose(fit.curves[0, 0, inside], curve[inside], atol=0.03)


@pytest.mark.parametrize("power", [1.0, 0.1])
def test_checked_rows_match_brute_force(power):
    """Right labels count given their labels, at full weight however the labels are tempered."""
    scores, noisy, clean = draw(400, 1.5, -0.5, (0.3, 0.1), seed=11)
    rows = np.arange(60)
    bins = ScoreBins.standardizing(scores, noisy)[0].tempered(power)
    bins = bins.with_checked(scores[rows], clean[rows], noisy[rows])
    rate = (0.25, 0.12)
    own = float(flip_log_likelihood(bins.flips, np.array([rate]))[0])
    fit = calibrate([bins], [rate], [own])
    evidence, curve = brute(bins, rate)
    assert fit.log_evidence[0, 0] == pytest.approx(evidence, abs=0.1)
    inside = (bins.centre.min() < TABLE) & (np.abs(TABLE) < 2)
    np.testing.assert_allclose(fit.curves[0, 0, inside], curve[inside], atol=0.03)


def test_modes_are_stationary():
    """A mode has a higher density than its neighbours in every direction."""
    scores, noisy, _ = draw(500, 1.5, -1.0, (0.2, 0.2), seed=3)
    bins = ScoreBins.standardizing(scores, noisy)[0]
    modes = find_modes(BinStack.from_bins([bins]), [(0.2, 0.2), (0.05, 0.3)])
    steps = np.array([(0, 0), (0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1)])
    for (k, shape), (r, rate) in product(enumerate(priors.CURVE_SHAPES), enumerate(modes.rates)):
        (u, b), x = modes.theta[k, r], bent(bins, shape, bins.centre)
        values = log_joint(bins, x, tuple(rate), u + steps[:, 0], b + steps[:, 1])
        assert values[0] > values[1:].max() - 1e-2


@pytest.mark.parametrize("scale", ["probability", "ranks", "log-odds"])
def test_rare_weak_outcomes_are_not_taken_for_missed_positives(scale):
    """A score that follows the probability bends its log-odds; few positives are then believed."""
    rng = np.random.default_rng(4)
    line = rng.normal(size=12_000) - 3.2
    eta = expit(line)
    score = {"probability": eta, "ranks": np.argsort(np.argsort(line)), "log-odds": line}[scale]
    bins = ScoreBins.standardizing(score.astype(float), rng.random(len(eta)) < eta)[0]
    fit = integrate_rates([bins])
    assert (fit.weight.sum(axis=0) @ fit.rates)[0] < 0.45
    found = fit.probability([bins.standardize(score)])
    assert np.mean(found) < 1.6 * eta.mean()


def test_bins_hold_all_rows():
    """Counts of the bins add up to the labels, weights included."""
    scores, noisy, _ = draw(1000, 1.0, 0.0, (0.1, 0.1), seed=0)
    weight = np.random.default_rng(1).random(1000)
    bins = ScoreBins.standardizing(scores, noisy, weight)[0]
    assert bins.positive.sum() == pytest.approx(weight[noisy].sum())
    assert bins.negative.sum() == pytest.approx(weight[~noisy].sum())


def test_units_of_the_score_do_not_matter():
    """A score in other units has the same evidence and the same curve."""
    scores, noisy, _ = draw(400, 1.0, -0.5, (0.2, 0.2), seed=5)
    one = calibrate([ScoreBins.standardizing(scores, noisy)[0]], [(0.2, 0.2)])
    other = calibrate([ScoreBins.standardizing(1e6 * scores + 1e8, noisy)[0]], [(0.2, 0.2)])
    np.testing.assert_allclose(other.log_evidence, one.log_evidence, atol=1e-2)
    np.testing.assert_allclose(other.curves, one.curves, atol=1e-3)


def test_curves_rise_within_bounds():
    """Probabilities rise with the score and stay within (0, 1)."""
    scores, noisy, _ = draw(200, 0.5, -1.0, (0.3, 0.3), seed=6)
    fit = calibrate([ScoreBins.standardizing(scores, noisy)[0]], [(0.0, 0.0), (0.4, 0.4)])
    assert np.all(np.diff(fit.curves, axis=-1) > 0)
    assert fit.curves.min() > 0
    assert fit.curves.max() < 1


def test_clean_probabilities_are_calibrated():
    """Where clean probabilities average p, a share p of clean labels is positive (4 errors)."""
    scores, noisy, clean = draw(60_000, 2.0, -1.0, (0.25, 0.25), seed=7)
    bins = ScoreBins.standardizing(scores, noisy)[0]
    fit = calibrate([bins], [(0.25, 0.25)])
    eta = fit.probability([bins.standardize(scores)])
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.0)):
        inside = (eta >= low) & (eta < high)
        error = np.sqrt(eta[inside].mean() * (1 - eta[inside].mean()) / inside.sum())
        # The fit itself has an error: the noise leaves a quarter of the information.
        assert abs(clean[inside].mean() - eta[inside].mean()) < 4 * error + 0.01


def test_pooling_is_a_weighted_mean():
    """The pooled probability is the mean of the curves by posterior weight."""
    scores, noisy, _ = draw(300, 1.0, 0.0, (0.1, 0.1), seed=8)
    bins = [
        ScoreBins.standardizing(scores, noisy)[0],
        ScoreBins.standardizing(np.sin(scores), noisy)[0],
    ]
    fit = calibrate(bins, [(0.1, 0.1), (0.2, 0.2)])
    standard = [bins[0].standardize(scores), bins[1].standardize(np.sin(scores))]
    by_hand = sum(
        fit.weight[m, r] * np.interp(standard[m], TABLE, fit.curves[m, r])
        for m in (0, 1)
        for r in (0, 1)
    )
    np.testing.assert_allclose(fit.probability(standard), by_hand, atol=1e-12)
    assert isinstance(fit, Calibration)
    assert fit.weight.sum() == pytest.approx(1.0)


def _drawn(n, sample, seed):
    """Return bins of scores of `sample` rows of n, half of them positive where 4 % are."""
    rng = np.random.default_rng([71, seed])
    scores = rng.normal(size=n)
    noisy = (rng.random(n) < expit(2 * scores - 5)) & (rng.random(n) >= 0.3)
    places = [rng.permutation(np.flatnonzero(noisy == k))[: sample // 2] for k in (False, True)]
    each = tuple(float((noisy == k).sum() / len(places[k])) for k in (False, True))
    rows = np.concatenate(places)
    weight = np.where(noisy[rows], each[1], each[0])
    plain = ScoreBins.standardizing(scores[rows], noisy[rows], weight)[0]
    return plain.of_drawn(each), ScoreBins.standardizing(scores, noisy)[0]


def test_drawn_labels_count_as_rows_and_stand_for_the_table():
    """Half of the sample is positive, but the share is the table's, and so is the curve."""
    sample, table = _drawn(40_000, 1_600, 0)
    assert sample.positive.sum() == pytest.approx(sample.negative.sum(), rel=1e-9)
    assert sample.label_share == pytest.approx(table.label_share, rel=1e-9)
    rates = [(0.3, 0.0)]
    ours, whole = (calibrate([b], rates).curves[0, 0] for b in (sample, table))
    inside = np.abs(TABLE) < 2
    assert np.abs(ours - whole)[inside].max() < 0.1  # 800 rows of each label


@pytest.mark.parametrize("checked", [False, True])
def test_the_likelihood_of_drawn_labels_by_differences(checked):
    """Gradients are those of the log density, which is that of labels given that rows are drawn."""
    bins, _ = _drawn(20_000, 1_000, 1)
    if checked:
        rng = np.random.default_rng(2)
        bins = bins.with_checked(rng.normal(size=40), np.arange(40) < 5, np.arange(40) % 3 == 0)
    fits = BinStack.from_bins([bins]).at(np.array([(0.2, 0.01)]))
    theta, step = np.tile([0.3, -3.0], (len(priors.CURVE_SHAPES), 1)), 1e-5
    value, gradient, _ = fits.terms(theta)
    joint = fits.log_joint(theta[:, None])[:, 0]
    np.testing.assert_allclose(value, joint, rtol=1e-9)
    for k in (0, 1):
        moved = np.eye(2)[k] * step
        ends = [fits.log_joint((theta + sign * moved)[:, None])[:, 0] for sign in (1, -1)]
        np.testing.assert_allclose(gradient[:, k], (ends[0] - ends[1]) / (2 * step), rtol=1e-4)
    if checked:
        return
    stack = BinStack.from_bins([bins])
    noisy = 0.01 + 0.79 * expit(np.exp(0.3) * stack.x - 3.0)
    given = 1 / (1 + stack.odds * (1 - noisy) / noisy)
    by_hand = (stack.ones * np.log(given) + stack.zeros * np.log1p(-given)).sum(axis=1)
    by_hand -= stack.zeros.sum(axis=1) * np.log(stack.odds)
    np.testing.assert_allclose(np.diff(value), np.diff(by_hand), rtol=1e-6)


def test_intervals_from_drawn_rows_cover():
    """Of 40 draws 33 at least are covered: at 0.95, fewer have a probability below 0.001.

    With weights that count as rows 23 were.
    """
    covered = 0
    for seed in range(40):
        bins, _ = _drawn(40_000, 1_600, seed)
        found = rate_posterior([bins], integrate_rates([bins], "missed_positives"), None)
        low, high = found.interval(0.95)[0]
        covered += low <= 0.3 <= high
    assert covered >= 33
