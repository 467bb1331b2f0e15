"""The synthetic laws: moments, calibration of the exact eta, and the Bayes accuracies."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit
from scipy.stats import norm

from flipcost import datasets
from flipcost.datasets import GaussianLaw

# Bayes accuracy at the default prior, by the closed form for two Gaussians with one covariance.
BAYES_ACCURACY = {
    "make_syn1": 0.84915,
    "make_syn2": 0.83257,
    "make_syn2d": 0.90478,
    "make_syn3d": 0.90524,
    "make_syn10d": 0.91012,
    "make_syn3d_imbalanced": 0.89825,
}
N = 50_000
# Each comparison is a mean of N independent terms. At five standard errors a sound
# implementation fails one comparison in two million, over all seeds.
SIGMAS = 5


@pytest.fixture(params=BAYES_ACCURACY)
def make(request):
    """Each generator."""
    return getattr(datasets, request.param)


@pytest.fixture
def drawn(make):
    """Return a large draw of each law."""
    return make(N, random_state=1)


def within_standard_error(terms, expected=0.0):
    """Assert that a sample mean is where its own standard error says."""
    error = SIGMAS * terms.std() / np.sqrt(len(terms))
    assert abs(terms.mean() - expected) <= error


def bayes_accuracy(law):
    """Return the accuracy of thresholding eta at one half."""
    gap = np.subtract(law.mean_pos, law.mean_neg)
    distance = np.sqrt(gap @ np.linalg.solve(law.cov, gap))
    shift = logit(law.prior) / distance
    hits = law.prior * norm.cdf(distance / 2 + shift)
    return hits + (1 - law.prior) * norm.cdf(distance / 2 - shift)


def test_shapes_and_labels(make):
    """Defaults give rows, labels +1 and -1, and probabilities in [0, 1] at every row."""
    bunch = make(random_state=0)
    n = inspect.signature(make).parameters["n_samples"].default
    assert bunch.data.shape == (n, len(bunch.feature_names))
    assert set(bunch.target.tolist()) == {-1, 1}
    assert bunch.eta.shape == (n,)
    assert ((bunch.eta >= 0) & (bunch.eta <= 1)).all()


def test_same_seed_same_draw(make):
    """An integer seed fixes the draw; another seed gives another one."""
    first, again, other = (make(50, random_state=seed) for seed in (3, 3, 4))
    assert_array_equal(first.data, again.data)
    assert_array_equal(first.target, again.target)
    assert_array_equal(first.eta, again.eta)
    assert not np.array_equal(first.data, other.data)


def test_eta_is_calibrated(drawn):
    """Labels less eta have mean zero: overall, in ten bins of eta, and against each feature."""
    residual = (drawn.target == 1) - drawn.eta
    within_standard_error(residual)
    for part in np.array_split(np.argsort(drawn.eta), 10):
        within_standard_error(residual[part])
    for column in drawn.data.T:
        within_standard_error(residual * column)


def test_labels_are_independent_given_eta(drawn):
    """Squared residuals average eta (1 - eta), the variance of a Bernoulli label."""
    residual = (drawn.target == 1) - drawn.eta
    within_standard_error(residual**2 - drawn.eta * (1 - drawn.eta))


def test_class_means_and_covariances(drawn):
    """Each class has the mean and covariance of the law."""
    law = drawn.law
    for label, mean in ((1, law.mean_pos), (-1, law.mean_neg)):
        centred = drawn.data[drawn.target == label] - mean
        for i, column in enumerate(centred.T):
            within_standard_error(column)
            for j, other in enumerate(centred.T):
                within_standard_error(column * other, law.cov[i][j])


def test_share_of_positives(make):
    """The share of positive labels is pi, whatever pi."""
    for pi in (0.2, 0.8):
        within_standard_error(1.0 * (make(N, pi=pi, random_state=2).target == 1), pi)


def test_bayes_accuracy(make, drawn):
    """Thresholding eta at one half is as accurate as the closed form says."""
    expected = BAYES_ACCURACY[make.__name__]
    assert_allclose(bayes_accuracy(drawn.law), expected, atol=5e-6)
    within_standard_error(1.0 * ((drawn.eta > 0.5) == (drawn.target == 1)), expected)


def test_prior_shifts_the_log_odds(make):
    """Another pi moves the log-odds of eta by the difference of the log-odds of pi."""
    low, high = make(5, pi=0.3, random_state=0).law, make(5, pi=0.6, random_state=0).law
    X = np.random.default_rng(0).standard_normal((20, len(low.mean_pos)))
    shift = logit(high.eta(X)) - logit(low.eta(X))
    assert_allclose(shift, logit(0.6) - logit(0.3), rtol=1e-8)


def test_syn10d_as_printed_is_no_gaussian():
    """Variance 1 with covariance 10 has an eigenvalue -9; eta refuses it."""
    law = datasets.make_syn10d(1, random_state=0).law
    printed = 10 - 9 * np.eye(10)
    assert_allclose(np.linalg.eigvalsh(printed)[0], -9)
    wrong = GaussianLaw(law.mean_pos, law.mean_neg, tuple(map(tuple, printed)))
    with pytest.raises(ValueError, match="not positive definite"):
        wrong.eta(np.zeros((1, 10)))


def test_cost_of_the_imbalanced_law():
    """Syn3D-imbalanced carries the paper's cost, 4000 rows and a prior of 0.35."""
    bunch = datasets.make_syn3d_imbalanced(random_state=0)
    assert (bunch.cost, len(bunch.target), bunch.law.prior) == (0.3, 4000, 0.35)


def test_kinds_of_random_state():
    """Generators continue; equal RandomStates give equal draws; None is allowed."""
    rng = np.random.default_rng(0)
    first, second = (datasets.make_syn1(10, random_state=rng) for _ in range(2))
    assert_array_equal(first.data, datasets.make_syn1(10, random_state=0).data)
    assert not np.array_equal(first.data, second.data)
    old = [datasets.make_syn1(10, random_state=np.random.RandomState(0)) for _ in range(2)]
    assert_array_equal(old[0].data, old[1].data)
    assert datasets.make_syn1(10).data.shape == (10, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pi": 0.0}, r"`pi` must lie in \(0, 1\); got 0"),
        ({"pi": 1.2}, r"`pi` must lie in \(0, 1\); got 1.2"),
        ({"pi": float("nan")}, r"`pi` must lie in \(0, 1\); got nan"),
    ],
)
def test_bad_arguments(make, arguments, message):
    """Bad arguments are refused by name."""
    with pytest.raises(ValueError, match=message):
        make(**arguments)
