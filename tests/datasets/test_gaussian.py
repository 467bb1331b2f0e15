"""The exact probability of the positive one of two Gaussian classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit
from scipy.stats import multivariate_normal

from flipcost.datasets.gaussian import gaussian_eta, gaussian_log_odds


@pytest.fixture
def rng():
    return np.random.default_rng(20190101)


def spd(rng, d):
    """Return a well-conditioned covariance."""
    root = rng.standard_normal((d, d))
    return root @ root.T + np.eye(d)


@pytest.fixture(params=[1, 2, 5])
def law(request, rng):
    """Points, two means and two covariances in one, two and five dimensions."""
    d = request.param
    X = 2 * rng.standard_normal((40, d))
    return X, rng.standard_normal(d), rng.standard_normal(d), spd(rng, d), spd(rng, d)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("prior", [0.05, 0.5, 0.8])
def test_bayes_rule_on_densities(law, shared, prior):
    """Eta is prior times density over the mixture density."""
    X, mean_pos, mean_neg, cov_pos, cov_neg = law
    cov_neg = cov_pos if shared else cov_neg
    pos = prior * multivariate_normal(mean_pos, cov_pos).pdf(X)
    neg = (1 - prior) * multivariate_normal(mean_neg, cov_neg).pdf(X)
    eta = gaussian_eta(X, mean_pos, mean_neg, cov_pos, cov_neg, prior)
    assert_allclose(eta, pos / (pos + neg), rtol=1e-10)


def test_shared_covariance_branch_agrees_with_the_general_one(law):
    """The linear formula for one covariance is the limit of the quadratic one."""
    X, mean_pos, mean_neg, cov, _ = law
    linear = gaussian_log_odds(X, mean_pos, mean_neg, cov, cov, 0.3)
    nearly = gaussian_log_odds(X, mean_pos, mean_neg, cov, cov * (1 + 1e-12), 0.3)
    assert_allclose(linear, nearly, atol=1e-9)


def test_exchanging_classes_gives_the_complement(law):
    """Calling the other class positive turns eta into 1 - eta."""
    X, mean_pos, mean_neg, cov_pos, cov_neg = law
    eta = gaussian_eta(X, mean_pos, mean_neg, cov_pos, cov_neg, 0.2)
    other = gaussian_eta(X, mean_neg, mean_pos, cov_neg, cov_pos, 0.8)
    assert_allclose(eta + other, 1, rtol=1e-13)


def test_prior_shifts_log_odds(law):
    """The prior adds its own log-odds and nothing else."""
    X, *rest = law
    shift = gaussian_log_odds(X, *rest, 0.9) - gaussian_log_odds(X, *rest, 0.5)
    assert_allclose(shift, logit(0.9), rtol=1e-10)


def test_affine_invariance(law, rng):
    """Eta does not depend on the units and the origin of the features."""
    X, mean_pos, mean_neg, cov_pos, cov_neg = law
    d = X.shape[1]
    A, b = rng.standard_normal((d, d)) + 3 * np.eye(d), rng.standard_normal(d)
    eta = gaussian_eta(X, mean_pos, mean_neg, cov_pos, cov_neg, 0.4)
    moved = gaussian_eta(
        X @ A.T + b, A @ mean_pos + b, A @ mean_neg + b, A @ cov_pos @ A.T, A @ cov_neg @ A.T, 0.4
    )
    assert_allclose(moved, eta, rtol=1e-9)


def test_far_points_neither_underflow_nor_overflow():
    """Where both densities underflow, the log-odds are still exact."""
    X = np.array([[1e8], [-1e8]])
    assert_allclose(gaussian_log_odds(X, 1.0, -1.0, 1.0, 1.0), [2e8, -2e8], rtol=1e-15)
    # log-odds = -log 2 + x^2/2 (1 - 1/4) for variances 4 and 1 at mean 0.
    expected = 0.375 * 1e6 - np.log(2)
    assert_allclose(gaussian_log_odds([[1e3]], 0.0, 0.0, 4.0, 1.0), expected, rtol=1e-14)
    assert_allclose(gaussian_eta(X, 1.0, -1.0, 1.0, 1.0), [1.0, 0.0])


def test_common_offset_cancels():
    """With one covariance, an offset of 1e8 costs only the rounding of the inputs."""
    X = np.array([[0.25, -0.5], [1.0, 2.0]])
    plain = gaussian_log_odds(X, [1.0, 0.0], [-1.0, 0.0], np.eye(2), np.eye(2))
    moved = gaussian_log_odds(X + 1e8, [1e8 + 1.0, 1e8], [1e8 - 1.0, 1e8], np.eye(2), np.eye(2))
    # The spacing of doubles at 1e8 is 1.5e-8; the direction has length 2.
    assert_allclose(moved, plain, atol=2 * 2 * 1.5e-8)


def test_numbers_stand_for_constant_means_and_multiples_of_identity(rng):
    """Scalars broadcast to vectors and to spherical covariances."""
    X = rng.standard_normal((5, 3))
    short = gaussian_eta(X, 1.0, 0.0, 2.0, 3.0)
    long = gaussian_eta(X, np.ones(3), np.zeros(3), 2 * np.eye(3), 3 * np.eye(3))
    assert_allclose(short, long, rtol=1e-15)


@pytest.mark.parametrize("cov_neg", [1.0, 2.0])
def test_no_points_give_no_probabilities(cov_neg):
    """An empty matrix of points is legal."""
    assert gaussian_eta(np.empty((0, 2)), 1.0, 0.0, 1.0, cov_neg).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], 0, 1, 1, 1), "`X` must be a matrix"),
        (([[1.0, 2.0]], [0, 0, 0], 1, 1, 1), "shape"),
        (([[1.0, 2.0]], 0, 1, 1, 0.0), "not positive definite"),
        (([[1.0, 2.0]], 0, 1, 1, 1, 0.0), r"must lie in \(0, 1\)"),
        (([[1.0, 2.0]], 0, 1, 1, 1, np.nan), r"must lie in \(0, 1\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    """Each domain violation raises and says which argument is at fault."""
    with pytest.raises(ValueError, match=message):
        gaussian_eta(*arguments)
