"""KLIEP: certified optimum, the published ascent, width searches, and how well eta is estimated."""

from __future__ import annotations

import numpy as np
import pytest

from flipcost.core.folds import random_folds
from flipcost.datasets import make_syn2d
from flipcost.paper.kernels import (
    centile_widths,
    choose_centers,
    gaussian_kernel,
    squared_distances,
)
from flipcost.paper.kliep import (
    COMBINATIONS,
    combine_ratios,
    kliep,
    kliep_posterior_search,
    kliep_reference,
    training_scales,
)


def shifted_pair(seed=0, n_rows=300, n_features=3, shift=1.0):
    rng = np.random.default_rng(seed)
    num = rng.normal(size=(n_rows, n_features))
    num[:, 0] += shift
    return num, rng.normal(size=(n_rows, n_features)), rng


def kernels(num, den, width, n_centers=60):
    centers = num[:n_centers]
    return (
        gaussian_kernel(squared_distances(num, centers), width),
        gaussian_kernel(squared_distances(den, centers), width),
    )


@pytest.mark.parametrize("width", [0.3, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_certified_optimum_and_constraint(width, shift):
    """The gap is at most the tolerance, the ratio has mean one, and the objective is as stated."""
    num, den, _ = shifted_pair(shift=shift, n_rows=1000, n_features=10)
    phi_num, phi_den = kernels(num, den, width, n_centers=100)
    fit = kliep(phi_num, phi_den.mean(axis=0))
    assert 0 <= fit.gap <= 1e-6
    assert np.all(fit.weights >= 0)
    np.testing.assert_allclose((phi_den @ fit.weights).mean(), 1, rtol=1e-12)
    reached = phi_num @ fit.weights > 0
    logs = np.full(len(num), np.log(1e-300))
    logs[reached] = np.log((phi_num @ fit.weights)[reached])
    np.testing.assert_allclose(fit.objective, logs.mean(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fit.mass.sum(), 1, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_published_ascent_lies_below_within_its_gap(seed):
    """The optimum is no lower than the ascent's objective and no higher than that plus its gap."""
    num, den, _ = shifted_pair(seed)
    phi_num, phi_den = kernels(num, den, 1.0)
    exact = kliep(phi_num, phi_den.mean(axis=0), tol=1e-10)
    published = kliep_reference(phi_num, phi_den.mean(axis=0))
    np.testing.assert_allclose((phi_den @ published.weights).mean(), 1, rtol=1e-12)
    assert published.objective <= exact.objective + 1e-9
    assert exact.objective <= published.objective + published.gap + 1e-9


def test_same_rows_above_and_below_leave_nothing_to_gain():
    """With equal samples the mean log ratio is at most zero: Jensen's inequality."""
    num, _, _ = shifted_pair(4)
    phi, _ = kernels(num, num, 0.7)
    assert kliep(phi, phi.mean(axis=0)).objective <= 1e-12


def test_ratio_estimates_the_true_ratio():
    """Objective on fresh rows nears the Kullback-Leibler divergence of unit shift, 1/2."""
    rng = np.random.default_rng(5)
    num, den, fresh = (
        rng.normal(1, 1, (4000, 1)),
        rng.normal(0, 1, (4000, 1)),
        rng.normal(1, 1, 4000),
    )
    centers = choose_centers(num, 100, rng)
    fit = kliep(
        gaussian_kernel(squared_distances(num, centers), 1.0),
        gaussian_kernel(squared_distances(den, centers), 1.0).mean(axis=0),
    )
    held = gaussian_kernel(squared_distances(fresh[:, None], centers), 1.0) @ fit.weights
    # The log of the true ratio is x - 1/2, of mean 1/2 and variance one; the estimate can only
    # fall short of it in expectation, by the divergence from the truth, here allowed 0.02.
    standard_error = 1 / np.sqrt(4000)
    assert 0.5 - 0.02 - 4 * standard_error < np.log(held).mean() < 0.5 + 4 * standard_error


def test_centres_and_rows_out_of_reach_are_set_aside():
    """A centre without denominator rows gets no weight; a row out of reach counts at the floor."""
    phi = np.array([[1.0, 0.2, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with_far = kliep(phi, np.array([0.3, 0.4, 0.0]))
    without = kliep(phi[:2, :2], np.array([0.3, 0.4]))
    np.testing.assert_array_equal(with_far.weights[:2], without.weights)
    assert with_far.weights[2] == 0
    np.testing.assert_allclose(with_far.objective, (2 * without.objective + np.log(1e-300)) / 3)


def test_weights_are_repetitions_and_zero_is_absence():
    """Integer weights equal repeated rows, zero included."""
    num, den, rng = shifted_pair(6, n_rows=120)
    phi_num, phi_den = kernels(num, den, 1.0)
    counts = rng.integers(0, 4, size=120)
    weighted = kliep(phi_num, phi_den.mean(axis=0), 1e-12, sample_weight=counts)
    repeated = kliep(np.repeat(phi_num, counts, axis=0), phi_den.mean(axis=0), 1e-12)
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=1e-9)
    np.testing.assert_allclose(phi_num @ weighted.weights, phi_num @ repeated.weights, rtol=1e-5)


def test_warm_start_saves_steps_and_changes_nothing():
    """From the solution of a neighbouring width fewer steps lead to the same objective."""
    num, den, _ = shifted_pair(7)
    near = kernels(num, den, 1.05)
    start = kliep(near[0], near[1].mean(axis=0)).mass
    phi_num, phi_den = kernels(num, den, 1.0)
    cold = kliep(phi_num, phi_den.mean(axis=0))
    warm = kliep(phi_num, phi_den.mean(axis=0), start=start)
    assert warm.gap <= 1e-6
    assert warm.n_iter <= cold.n_iter
    assert abs(warm.objective - cold.objective) <= 1e-6


def test_wrong_input_is_named():
    """Shapes, signs, NaN and kernels too narrow for anything are refused by name."""
    phi = np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match="`phi_den_mean` \\(n_centers,\\)"):
        kliep(phi, [0.5])
    for bad in ((-phi, [0.5, 0.5]), (phi, [0.5, np.nan])):
        with pytest.raises(ValueError, match="must hold numbers from 0 up"):
            kliep(*bad)
    with pytest.raises(ValueError, match="Widen the kernel"):
        kliep(phi, [0.0, 0.0])
    with pytest.raises(ValueError, match="Widen the kernel"):
        kliep(0 * phi, [0.5, 0.5])


def search_of(num, den, centers, widths, n_folds, rng, tol=1e-6):
    """Search with the same centres for the ratios of both samples to all rows."""
    X, upper = np.vstack([num, den]), np.arange(len(num) + len(den)) < len(num)
    sq, folds = squared_distances(X, centers), random_folds(upper, n_folds, rng)
    search = kliep_posterior_search([sq, sq], upper, widths, folds, tol=tol)
    return search, sq, upper, folds


def test_every_fit_of_the_search_is_certified():
    """All 90 fits on a centile grid reach the tolerance, and so does the warm final fit."""
    num, den, rng = shifted_pair(9, n_rows=500, n_features=10)
    centers = choose_centers(num, 100, rng)
    widths = centile_widths(np.vstack([num, den]), rng)
    search, sq, upper, _ = search_of(num, den, centers, widths, 5, rng)
    assert search.gaps.shape == (2, 9, 5)
    assert search.gaps.max() <= 1e-6
    phi = gaussian_kernel(sq, search.width)
    final = kliep(phi[upper], phi.mean(axis=0), start=search.starts[1][search.best])
    assert final.gap <= 1e-6


def test_search_survives_widths_that_reach_nothing():
    """A width at which left-out rows, or all rows, are out of reach scores badly, without fuss."""
    num, den, rng = shifted_pair(10, n_rows=60)
    search, *_ = search_of(num, den, num[:10], [1e-6, 1.0], 3, rng)
    assert search.class_best[1] == 1
    assert search.class_scores[1, 0] <= np.log(1e-300) * 50 / 60
    assert search.gaps.max() <= 1e-6


@pytest.mark.parametrize("offset", [0.0, 11.0, 14.0, 16.0, 40.0])
def test_search_takes_rows_at_any_distance(offset):
    """A row whose kernel values are 1e-27, 1e-43, 1e-56 or nothing moves no score by a jump."""
    num, den, rng = shifted_pair(13, n_rows=120, n_features=1)
    centers, num[0] = num[1:30], num[1:30].max() + offset
    search, sq, upper, folds = search_of(num, den, centers, [1.0], 3, rng, tol=1e-10)
    assert search.gaps.max() <= 1e-10
    phi = gaussian_kernel(sq, 1.0)
    mean, own, inside = phi.mean(axis=0), phi[upper], folds[upper]
    logs = np.empty(120)
    for fold in range(3):
        weights = kliep(own[inside != fold], mean, tol=1e-10).weights
        logs[inside == fold] = np.log(np.maximum(own[inside == fold] @ weights, 1e-300))
    np.testing.assert_allclose(search.class_scores[1, 0], logs.mean(), rtol=1e-4)


def test_posterior_search_equals_a_plain_loop():
    """The score of a width is the held-out log-likelihood of labels under separate cold fits."""
    data = make_syn2d(200, random_state=11)
    X, y = data.data, data.target > 0
    bases = [squared_distances(X, X[y == sign][:30]) for sign in (False, True)]
    folds, weight = np.arange(200) % 4, np.random.default_rng(12).integers(0, 3, 200)
    search = kliep_posterior_search(bases, y, [1.5, 0.7], folds, sample_weight=weight, tol=1e-12)
    ratios = np.empty((2, 200))
    for width, score in zip(search.widths, search.scores, strict=True):
        for code, base in enumerate(bases):
            phi = gaussian_kernel(base, width)
            mean = np.average(phi, axis=0, weights=weight)
            for fold in range(4):
                rows = (y == code) & (folds != fold)
                fit = kliep(phi[rows], mean, 1e-12, sample_weight=weight[rows])
                ratios[code, folds == fold] = phi[folds == fold] @ fit.weights
        eta = combine_ratios(ratios[1], ratios[0], np.average(y, weights=weight))
        logs = np.log(np.where(y, eta, 1 - eta))
        np.testing.assert_allclose(score, np.average(logs, weights=weight), atol=1e-5)
        own = [np.average(np.log(r[y == c]), weights=weight[y == c]) for c, r in enumerate(ratios)]
        place = list(search.widths).index(width)
        np.testing.assert_allclose(search.class_scores[:, place], own, atol=1e-4)
    assert search.gaps.max() <= 1e-6


def exact_ratios():
    eta = np.linspace(0.02, 0.98, 25)
    return eta, eta / 0.3, (1 - eta) / 0.7


@pytest.mark.parametrize("combine", ["norm", "pos", "neg"])
def test_exact_ratios_give_the_exact_probability(combine):
    """Each unscaled combination is eta when both ratios are exact."""
    eta, w_pos, w_neg = exact_ratios()
    np.testing.assert_allclose(combine_ratios(w_pos, w_neg, 0.3, combine), eta, rtol=1e-12)


def test_scaled_combinations_are_as_defined():
    """Scaled forms divide by the training maxima and normalise by the complement."""
    _, w_pos, w_neg = exact_ratios()
    pos, neg = 0.3 * w_pos, 1 - 0.7 * w_neg
    scales = training_scales(w_pos, w_neg, 0.3)
    np.testing.assert_allclose(scales, [pos.max(), neg.max()])
    pos_s, neg_s = pos / scales[0], neg / scales[1]
    expected = {
        "pos_s": pos_s,
        "neg_s": neg_s,
        "norm_s": pos_s / (pos_s + 1 - neg_s),
        "cnorm_s": neg_s / (neg_s + 1 - pos_s),
        "avg_s": (pos_s + neg_s) / 2,
    }
    for combine, eta in expected.items():
        result = combine_ratios(w_pos, w_neg, 0.3, combine, scales=scales)
        np.testing.assert_allclose(result, np.clip(eta, 0, 1), rtol=1e-12)


def test_three_scaled_combinations_give_the_same_labels():
    """norm_s, cnorm_s and avg_s agree on the likelier class, and every form stays in [0, 1]."""
    rng = np.random.default_rng(13)
    w_pos, w_neg = rng.exponential(size=(2, 2000))
    scales = training_scales(w_pos[:1000], w_neg[:1000], 0.4)
    eta = {c: combine_ratios(w_pos, w_neg, 0.4, c, scales=scales) for c in COMBINATIONS}
    for values in eta.values():
        assert np.all((values >= 0) & (values <= 1))
    # Where both parts are clipped to contradicting certainties there is no verdict to agree on.
    sure = np.abs(eta["avg_s"] - 0.5) > 1e-9
    for combine in ("norm_s", "cnorm_s"):
        np.testing.assert_array_equal(eta[combine][sure] > 0.5, eta["avg_s"][sure] > 0.5)


def test_printed_forms_are_kept_for_the_record():
    """Printed norm is 1/2 for exact ratios, and printed cnorm_s is one minus printed norm_s."""
    eta, w_pos, w_neg = exact_ratios()
    np.testing.assert_allclose(combine_ratios(w_pos, w_neg, 0.3, printed=True), 0.5)
    scales = training_scales(w_pos, w_neg, 0.3)
    norm_s, cnorm_s = (
        combine_ratios(w_pos, w_neg, 0.3, c, scales=scales, printed=True)
        for c in ("norm_s", "cnorm_s")
    )
    np.testing.assert_allclose(norm_s + cnorm_s, 1)
    same = combine_ratios(w_pos, w_neg, 0.3, "pos", printed=True)
    np.testing.assert_allclose(same, eta)


def test_prior_where_both_ratios_vanish():
    """Far from all centres the normalised form is 0 / 0, and the answer is the prior."""
    np.testing.assert_array_equal(combine_ratios([0.0, 1.0], [0.0, 0.0], 0.3), [0.3, 1.0])
