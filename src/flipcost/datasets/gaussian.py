r"""Two Gaussian classes: the exact probability of the positive one.

With class means :math:`\mu_\pm`, covariances :math:`\Sigma_\pm` and prior :math:`\pi = P(y = +1)`,
Bayes' rule gives the log-odds

.. math::

    \log\frac{\eta(x)}{1 - \eta(x)} = \log\frac{\pi}{1 - \pi}
    + \tfrac12 \log\frac{|\Sigma_-|}{|\Sigma_+|}
    + \tfrac12 \|L_-^{-1}(x - \mu_-)\|^2 - \tfrac12 \|L_+^{-1}(x - \mu_+)\|^2,
    \qquad \Sigma_\pm = L_\pm L_\pm^\top .

Densities are never formed, so nothing underflows far from both means; with one covariance for both
classes the squares are cancelled on paper, and the log-odds are linear in x to machine precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import expit

from flipcost.core.arrays import Array


def gaussian_eta(
    X: ArrayLike,
    mean_pos: ArrayLike,
    mean_neg: ArrayLike,
    cov_pos: ArrayLike,
    cov_neg: ArrayLike,
    prior: float = 0.5,
) -> Array:
    """Return P(y = positive given x) for two Gaussian classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points at which to evaluate.
    mean_pos, mean_neg : array-like of shape (n_features,)
        Class means; one number stands for a constant vector.
    cov_pos, cov_neg : array-like of shape (n_features, n_features)
        Class covariances, symmetric and positive definite; one number stands for that multiple
        of the identity.
    prior : float, default=0.5
        Probability of the positive class, in (0, 1).

    Returns
    -------
    ndarray of shape (n_samples,)
        Probabilities in [0, 1].

    Examples
    --------
    Equal spread: the probability is one half midway between the means, and a logistic curve.

    >>> gaussian_eta([[-1.0], [0.0], [1.0]], 1.0, -1.0, 1.0, 1.0).round(4)
    array([0.1192, 0.5   , 0.8808])

    A tighter positive class is certain to be absent far away, on both sides:

    >>> gaussian_eta([[-4.0], [0.0], [4.0]], 0.0, 0.0, 1.0, 4.0).round(4)
    array([0.0049, 0.6667, 0.0049])
    """
    log_odds = gaussian_log_odds(X, mean_pos, mean_neg, cov_pos, cov_neg, prior)
    return np.asarray(expit(log_odds))


def gaussian_log_odds(
    X: ArrayLike,
    mean_pos: ArrayLike,
    mean_neg: ArrayLike,
    cov_pos: ArrayLike,
    cov_neg: ArrayLike,
    prior: float = 0.5,
) -> Array:
    """Return the log-odds of the positive class for two Gaussian classes.

    The arguments are those of :func:`gaussian_eta`. Unlike the probability, the log-odds do not
    saturate: they rank points however far these lie from both means.

    Examples
    --------
    >>> gaussian_log_odds([[0.0], [500.0]], 1.0, -1.0, 1.0, 1.0)
    array([   0., 1000.])
    """
    points = _points(X)
    d = points.shape[1]
    log_prior_odds = _log_prior_odds(prior)
    mu_pos, mu_neg = _mean(mean_pos, d, "mean_pos"), _mean(mean_neg, d, "mean_neg")
    sigma_pos, sigma_neg = _covariance(cov_pos, d, "cov_pos"), _covariance(cov_neg, d, "cov_neg")
    chol_pos = _cholesky(sigma_pos, "cov_pos")
    if np.array_equal(sigma_pos, sigma_neg):
        direction = cho_solve((chol_pos, True), mu_pos - mu_neg)
        midpoint = mu_neg + (mu_pos - mu_neg) / 2
        return np.asarray(log_prior_odds + (points - midpoint) @ direction)
    chol_neg = _cholesky(sigma_neg, "cov_neg")
    half_log_det = np.log(np.diag(chol_neg)).sum() - np.log(np.diag(chol_pos)).sum()
    gain = _square_distance(points, mu_neg, chol_neg) - _square_distance(points, mu_pos, chol_pos)
    return np.asarray(log_prior_odds + half_log_det + gain / 2)


def _square_distance(points: Array, mean: Array, chol: Array) -> Array:
    """Return the squared Mahalanobis distance of each row from a mean."""
    whitened = solve_triangular(chol, (points - mean).T, lower=True)
    return np.asarray(np.einsum("ij,ij->j", whitened, whitened))


def _points(X: ArrayLike) -> Array:
    """Return the points as a checked matrix."""
    points = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] == 0:
        msg = (
            "`X` must be a matrix with one row per point and at least one column; got an array of "
            f"shape {points.shape}. Reshape points on a line with X.reshape(-1, 1)."
        )
        raise ValueError(msg)
    return points


def _log_prior_odds(prior: float) -> float:
    """Return the log-odds of a checked prior."""
    if not 0 < prior < 1:
        msg = f"`prior` must lie in (0, 1); got {prior:g}. It is the share of the positive class."
        raise ValueError(msg)
    return float(np.log(prior) - np.log1p(-prior))


def _mean(mean: ArrayLike, d: int, name: str) -> Array:
    """Return a class mean as a checked vector of length d."""
    vector = np.asarray(mean, dtype=float)
    if vector.shape not in ((), (d,)) or not np.isfinite(vector).all():
        msg = (
            f"`{name}` must be one finite number or {d} of them, one per column of `X`; "
            f"got an array of shape {vector.shape}."
        )
        raise ValueError(msg)
    return np.broadcast_to(vector, (d,))


def _covariance(cov: ArrayLike, d: int, name: str) -> Array:
    """Return a class covariance as a checked symmetric matrix."""
    matrix = np.asarray(cov, dtype=float)
    if matrix.ndim == 0:
        matrix = matrix * np.eye(d)
    if matrix.shape != (d, d) or not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0):
        msg = (
            f"`{name}` must be one number or a symmetric matrix of shape ({d}, {d}); "
            f"got an array of shape {matrix.shape}."
        )
        raise ValueError(msg)
    return matrix


def _cholesky(matrix: Array, name: str) -> Array:
    """Return the lower Cholesky factor, or say why there is none."""
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        msg = (
            f"`{name}` must be positive definite; got a matrix whose smallest eigenvalue is "
            f"{smallest:g}. No Gaussian has that covariance."
        )
        raise ValueError(msg) from None
