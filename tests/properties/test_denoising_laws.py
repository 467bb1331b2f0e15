"""What denoising must satisfy at every rate, on expected moments and on sampled ones."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import eigvalsh

from flipcost.core.moments import ClassMoments
from flipcost.core.noise import rate_pair, transition_matrix
from flipcost.core.solve import denoised_systems, solve
from tests.properties.strategies import costs, margins, noise_rates, penalties, rate_pairs, seeds
from tests.reference.brute import mixed_moments, moments_of_seconds, two_classes


@given(seeds, noise_rates, costs, margins, penalties, st.booleans())
def test_expected_flips_are_undone(seed, noise_rate, cost, margin, l2, penalize_bias):
    """Expected flipped moments, denoised, give back the clean solution to 1e-10 at every rate."""
    moments = ClassMoments.from_rows(*two_classes(n=40, d=3, seed=seed))
    noisy = mixed_moments(moments, noise_rate)
    options = {"penalize_bias": penalize_bias}
    clean = solve(moments, cost, margin, l2, **options)
    denoised = solve(noisy, cost, margin, l2, noise_rate=noise_rate, **options)
    np.testing.assert_allclose(denoised, clean, rtol=0, atol=1e-10 * max(1, np.abs(clean).max()))
    # The long way round: moments first, then the solution.
    through = solve(noisy.denoise(noise_rate), cost, margin, l2, **options)
    np.testing.assert_allclose(through, clean, rtol=0, atol=1e-10 * max(1, np.abs(clean).max()))
    assert denoised_systems(noisy, [noise_rate])[0].n_clipped == 0


@given(seeds, noise_rates)
def test_denoising_keeps_what_noise_cannot_touch(seed, noise_rate):
    """The total weight, the common centre and the moments of all rows stay as they are."""
    moments = ClassMoments.from_rows(*two_classes(n=60, d=2, seed=seed))
    assume(moments.is_possible(noise_rate))
    denoised = moments.denoise(noise_rate)
    rho_pos, rho_neg = rate_pair(noise_rate)
    # Entries grow by 1/k, and their sum loses as many digits.
    atol = 1e-12 * np.abs(moments.raw()).max() / (1 - rho_pos - rho_neg) / denoised.weight.min()
    np.testing.assert_allclose(denoised.raw().sum(0), moments.raw().sum(0), rtol=0, atol=60 * atol)
    np.testing.assert_allclose(denoised.centre(), moments.centre(), rtol=0, atol=atol)


def sampled(seed, n=30, d=3):
    """Rows with coin-flip labels: denoising throws their moments far out of the possible."""
    rng = np.random.default_rng(seed)
    # Well conditioned, so that differences of rounding stay near rounding.
    X = rng.normal(size=(n, d)) @ (np.linalg.qr(rng.normal(size=(d, d)))[0] * [0.5, 1, 2])
    X += rng.normal(size=d)
    positive = rng.random(n) < 0.5
    return ClassMoments.from_rows(X, positive), X, positive


@given(seeds, st.one_of(st.sampled_from([0.1, 0.25, 0.4]), rate_pairs()))
def test_projected_moments_are_possible(seed, noise_rate):
    """Projected moments of both classes are positive semidefinite and add up to all rows'."""
    moments, _, _ = sampled(seed)
    assume(moments.is_possible(noise_rate))
    system = denoised_systems(moments, [noise_rate])[0]
    total = moments.about(system.centre).sum(0)
    np.testing.assert_allclose(
        system.second.sum(0), total, rtol=0, atol=1e-11 * np.abs(total).max()
    )
    for second in system.second:
        # Definite to rounding, which denoising multiplies by the largest share.
        worst = 1e-13 * max(1, np.abs(system.shares).max(initial=0)) * np.abs(total).max()
        assert np.linalg.eigvalsh(second).min() >= -worst


@given(seeds, st.sampled_from([0.1, 0.25, 0.4, (0.5, 0.2)]))
def test_clipped_directions_are_counted(seed, noise_rate):
    """As many directions are clipped as generalised eigenvalues lie outside [0, 1]."""
    moments, _, _ = sampled(seed)
    assume(moments.is_possible(noise_rate))
    system = denoised_systems(moments, [noise_rate])[0]
    noisy = moments.about(system.centre)
    clean = np.tensordot(np.linalg.inv(transition_matrix(noise_rate).T), noisy, axes=1)
    shares = eigvalsh(clean[1], noisy.sum(0))
    np.testing.assert_allclose(np.sort(system.shares), shares, rtol=0, atol=1e-10)
    assert system.n_clipped == np.sum((shares < -1e-9) | (shares > 1 + 1e-9))


@given(seeds, seeds)
def test_the_projection_is_the_nearest(seed, other):
    """No possible moments are nearer, in the norm of the total moments, than the projected ones.

    The projection P of M onto a convex set is the one point of it with <M - P, Z - P> <= 0 for
    every Z of the set; here Z runs over moments of random fractional labellings.
    """
    noise_rate = 0.35
    moments, X, _ = sampled(seed)
    assume(moments.is_possible(noise_rate))
    system = denoised_systems(moments, [noise_rate])[0]
    assume(system.n_clipped)
    noisy = moments.about(system.centre)
    clean = np.tensordot(np.linalg.inv(transition_matrix(noise_rate).T), noisy, axes=1)[1]
    Z = np.column_stack([X - system.centre, np.ones(len(X))])
    inverse = np.linalg.inv(noisy.sum(0))
    rng = np.random.default_rng(other)
    for _ in range(5):
        labelling = rng.random(len(X)) ** rng.choice([0.1, 1, 10])
        possible = (labelling[:, None] * Z).T @ Z
        inner = np.trace(
            inverse @ (clean - system.second[1]) @ inverse @ (possible - system.second[1])
        )
        assert inner <= 1e-10


@given(seeds, st.sampled_from([0.2, 0.4, (0.4, 0.3)]))
def test_the_projection_is_idempotent(seed, noise_rate):
    """Projected moments, flipped in expectation and denoised again, need no projection."""
    moments, _, _ = sampled(seed)
    assume(moments.is_possible(noise_rate))
    system = denoised_systems(moments, [noise_rate])[0]
    mixed = np.tensordot(transition_matrix(noise_rate).T, system.second, axes=1)
    assume(np.all(mixed[:, -1, -1] > 1e-6))
    again = moments_of_seconds(mixed, system.centre, moments.n_rows)
    assume(again.is_possible(noise_rate))
    second = denoised_systems(again, [noise_rate])[0]
    assert second.n_clipped == 0
    np.testing.assert_allclose(
        second.second, system.second, rtol=0, atol=1e-9 * np.abs(system.second).max()
    )


@given(seeds)
def test_the_projection_does_not_depend_on_units(seed):
    """An affine map of the features maps the projected moments, and leaves the shares alone."""
    noise_rate = 0.35
    moments, X, positive = sampled(seed)
    assume(moments.is_possible(noise_rate))
    rng = np.random.default_rng(seed)
    matrix = np.linalg.qr(rng.normal(size=(3, 3)))[0] * [1e-3, 1.0, 1e3]
    shift = rng.normal(size=3)
    mapped = ClassMoments.from_rows(X @ matrix + shift, positive)
    here, there = (denoised_systems(m, [noise_rate])[0] for m in (moments, mapped))
    # Rows are gathered about zero up to a squared mean of 1e5 variances, which the first feature
    # comes near: its moments keep 1e5 roundings of their size. A matrix of four such columns is
    # off by four times that; whitening divides it by the least eigenvalue of the scaled moments,
    # and denoising by 1 - 2 rho. Over 18,000 seeds shares differ by 6e-10 at most, and by an
    # eighth of the bound.
    total = mapped.about(there.centre).sum(0)
    size = np.sqrt(total.diagonal())
    least = eigvalsh(total / np.outer(size, size))[0]
    atol = 4 * 1e5 * np.finfo(float).eps / least / (1 - 2 * noise_rate)
    np.testing.assert_allclose(there.shares, here.shares, rtol=0, atol=atol)
    assert there.n_clipped == here.n_clipped
    full = np.block([[matrix, np.zeros((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])
    expected = full.T @ here.second @ full
    scale = np.sqrt(expected.sum(0).diagonal())
    difference = (there.second - expected) / np.outer(scale, scale)
    assert np.abs(difference).max() < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_continuous_in_the_rate(seed):
    """Small steps of the rate move projected moments by little, also where clipping sets in."""
    moments, _, _ = sampled(seed)
    rates = np.arange(0.05, 0.35, 0.0005)
    systems = denoised_systems(moments, [rate for rate in rates if moments.is_possible(rate)])
    seconds = np.array([system.second for system in systems])
    assert len({system.n_clipped for system in systems}) > 1
    steps = np.abs(np.diff(seconds, axis=0)).max(axis=(1, 2, 3))
    # The derivative in the rate is bounded by the total moments over (1 - 2 rho)^2.
    assert steps.max() < 4 * 0.0005 * np.abs(seconds[0]).max() / (1 - 2 * 0.35) ** 2
