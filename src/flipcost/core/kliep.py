r"""Density ratios by maximum likelihood (KLIEP), to a certified optimum.

The ratio of a numerator density to a denominator density is modelled as
:math:`w(x) = \sum_l \alpha_l \varphi_l(x)` with kernels :math:`\varphi_l` on chosen centres:

.. math::

    \max_{\alpha \ge 0} \; \frac{1}{n} \sum_{j=1}^{n} \log w(x_j^{\mathrm{num}})
    \quad \text{subject to} \quad b^\top \alpha = 1, \qquad
    b_l = \frac{1}{m} \sum_{i=1}^{m} \varphi_l(x_i^{\mathrm{den}}).

With :math:`q_l = \alpha_l b_l` and :math:`\psi_l = \varphi_l / b_l` this is the likelihood of
mixture weights on the simplex, which :mod:`flipcost.core.simplex` maximises with a certificate.

With the rows of one class above and all rows below, :math:`\pi w` estimates the probability of that
class; :mod:`flipcost.core.ratios` puts the two classes' ratios together.

References
----------
Sugiyama, Suzuki, Nakajima, Kashima, von Buenau and Kawanabe, "Direct importance estimation for
covariate shift adaptation", Annals of the Institute of Statistical Mathematics 60, 2008,
doi 10.1007/s10463-008-0197-x.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags
from flipcost.core.simplex import maximize_mixture

# Logarithms of ratios are floored here, so that one far point costs much but not everything.
RATIO_FLOOR = 1e-300
# A centre that no denominator row comes near has no say: its kernel would need an infinite weight.
# The square of the reciprocal must still be a number.
_SMALLEST_MEAN = 1e-150


@dataclass(frozen=True)
class KLIEPResult:
    """A fitted density ratio and its certificate.

    Attributes
    ----------
    weights : ndarray of shape (n_centers,)
        Kernel weights: the ratio at rows with kernel values ``phi`` is ``phi @ weights``.
    objective : float
        Mean logarithm of the ratio over the numerator rows.
    gap : float
        How much greater the objective could be at most: ``max_l g_l - 1``.
    n_iter : int
        Steps of the solver.
    mass : ndarray of shape (n_centers,)
        The weights as shares, ``weights * phi_den_mean``; they add up to one, carry over to
        neighbouring widths, and can be given as ``start``.
    """

    weights: Array
    objective: float
    gap: float
    n_iter: int
    mass: Array = field(repr=False)


@dataclass(frozen=True)
class Components:
    """Kernel values as mixture components, rows scaled to a largest value of one.

    Attributes
    ----------
    psi : ndarray of shape (n_reached_rows, n_usable_centers)
        Scaled component values.
    log_scale : ndarray of shape (n_reached_rows,)
        Logarithm of what each row was divided by.
    usable : ndarray of shape (n_centers,)
        Centres that a denominator row comes near.
    reached : ndarray of shape (n_rows,)
        Numerator rows that a usable centre comes near.
    """

    psi: Array
    log_scale: Array
    usable: Flags
    reached: Flags


def components(phi: Array, mean: Array) -> Components:
    """Return kernel values over denominator means, without rows and centres out of reach.

    Examples
    --------
    >>> components(np.array([[0.5, 0.2], [0.0, 0.0]]), np.array([0.5, 0.1])).psi
    array([[0.5, 1. ]])
    """
    usable = mean > _SMALLEST_MEAN
    if not usable.any():
        msg = (
            "At least one centre must have a denominator row within reach, but every entry of "
            f"`phi_den_mean` is at most {_SMALLEST_MEAN:g}. Widen the kernel."
        )
        raise ValueError(msg)
    psi = phi / mean if usable.all() else phi[:, usable] / mean[usable]
    peak = psi.max(axis=1)
    reached = peak > 0
    if not reached.all():
        psi, peak = psi[reached], peak[reached]
    psi /= peak[:, None]
    return Components(psi, np.log(peak), usable, reached)


def _checked(
    phi_num: ArrayLike, phi_den_mean: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    phi, mean = np.asarray(phi_num, dtype=float), np.asarray(phi_den_mean, dtype=float)
    if phi.ndim != 2 or mean.shape != phi.shape[1:] or not phi.size:
        msg = (
            "`phi_num` must have shape (n_rows, n_centers) and `phi_den_mean` (n_centers,), "
            f"neither empty; got {phi.shape} and {mean.shape}."
        )
        raise ValueError(msg)
    for name, values in (("phi_num", phi), ("phi_den_mean", mean)):
        if not (values.min() >= 0 and values.max() < np.inf):
            msg = f"`{name}` must hold finite numbers from 0 up; got others (or NaN)."
            raise ValueError(msg)
    return phi, mean, row_weights(sample_weight, len(phi), "sample_weight")


def row_weights(weight: ArrayLike | None, n_rows: int, name: str) -> Array:
    """Return checked row weights, ones by default.

    Examples
    --------
    >>> row_weights(None, 3, "sample_weight")
    array([1., 1., 1.])
    """
    if weight is None:
        return np.ones(n_rows)
    given = np.asarray(weight, dtype=float)
    if given.shape != (n_rows,) or not (np.all(given >= 0) and 0 < given.sum() < np.inf):
        msg = (
            f"`{name}` must hold one finite number from 0 up per row, not all zero; "
            f"got shape {given.shape} for {n_rows} rows, sum {given.sum():g}."
        )
        raise ValueError(msg)
    return given


def kliep(
    phi_num: ArrayLike,
    phi_den_mean: ArrayLike,
    tol: float = 1e-6,
    *,
    sample_weight: ArrayLike | None = None,
    start: ArrayLike | None = None,
    max_iter: int = 100,
) -> KLIEPResult:
    """Estimate a density ratio, to a certified optimum of the KLIEP objective.

    Parameters
    ----------
    phi_num : array-like of shape (n_rows, n_centers)
        Kernel values of the numerator rows.
    phi_den_mean : array-like of shape (n_centers,)
        Mean kernel values of the denominator rows.
    tol : float, default=1e-6
        Stop when the objective is certainly within ``tol`` of its maximum.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the numerator rows.
    start : array-like of shape (n_centers,), optional
        ``mass`` of a similar problem (another fold, a neighbouring width) to start from.
    max_iter : int, default=100
        Largest number of Newton steps; three to six are the rule.

    Returns
    -------
    KLIEPResult
        ``weights``, ``objective``, ``gap``, ``n_iter`` and ``mass``.

    Notes
    -----
    Centres that no denominator row comes near get no weight. Numerator rows whose kernel values all
    underflow to zero cannot be helped by any weights: they count in the objective with the
    logarithm of 1e-300 and not in the search.

    Examples
    --------
    >>> from flipcost.core.kernels import gaussian_kernel, squared_distances
    >>> rng = np.random.default_rng(0)
    >>> num, den = rng.normal(0.5, 1, (300, 2)), rng.normal(0, 1, (300, 2))
    >>> phi_num = gaussian_kernel(squared_distances(num, num[:50]), 1.0)
    >>> phi_den = gaussian_kernel(squared_distances(den, num[:50]), 1.0)
    >>> fit = kliep(phi_num, phi_den.mean(axis=0))
    >>> print(f"{(phi_den @ fit.weights).mean():.6f}, {fit.gap <= 1e-6}")
    1.000000, True
    """
    phi, mean, weight = _checked(phi_num, phi_den_mean, sample_weight)
    parts = components(phi, mean)
    rows = np.flatnonzero(weight[parts.reached] > 0)
    if not rows.size:
        msg = (
            "At least one numerator row must lie within reach of a centre, but every kernel value "
            "is zero. Widen the kernel."
        )
        raise ValueError(msg)
    everything = rows.size == len(parts.psi)
    fit = maximize_mixture(
        parts.psi if everything else parts.psi[rows],
        sample_weight=None if sample_weight is None else weight[parts.reached][rows],
        start=None if start is None else np.asarray(start, dtype=float)[parts.usable],
        tol=tol,
        max_iter=max_iter,
    )
    mass = np.zeros(len(mean))
    mass[parts.usable] = fit.mass
    logs = np.full(len(phi), np.log(RATIO_FLOOR))
    reached = np.flatnonzero(parts.reached)[rows]
    logs[reached] = np.log(parts.psi[rows] @ fit.mass) + parts.log_scale[rows]
    objective = float(weight @ logs / weight.sum())
    return KLIEPResult(kernel_weights(mass, mean), objective, fit.gap, fit.n_iter, mass)


def kernel_weights(mass: Array, mean: Array) -> Array:
    """Return the kernel weights that give each centre its share of the denominator mean.

    Examples
    --------
    >>> kernel_weights(np.array([0.2, 0.8, 0.0]), np.array([0.1, 0.4, 0.0]))
    array([2., 2., 0.])
    """
    return np.asarray(np.divide(mass, mean, out=np.zeros_like(mass), where=mass > 0))


def kliep_reference(phi_num: ArrayLike, phi_den_mean: ArrayLike) -> KLIEPResult:
    """Estimate a density ratio by the gradient ascent first published, for comparison only.

    Projected gradient steps of lengths 1000, 100, ..., 0.001, each length used until the objective
    stops increasing, and at most 100 times. It often stops well short of the optimum, as ``gap``
    shows.

    Parameters
    ----------
    phi_num : array-like of shape (n_rows, n_centers)
        Kernel values of the numerator rows.
    phi_den_mean : array-like of shape (n_centers,)
        Mean kernel values of the denominator rows.

    Returns
    -------
    KLIEPResult
        As :func:`kliep` returns; ``n_iter`` counts the steps that were kept.

    Examples
    --------
    >>> from flipcost.core.kernels import gaussian_kernel, squared_distances
    >>> rng = np.random.default_rng(0)
    >>> num, den = rng.normal(0.5, 1, (300, 2)), rng.normal(0, 1, (300, 2))
    >>> phi_num = gaussian_kernel(squared_distances(num, num[:50]), 1.0)
    >>> b = gaussian_kernel(squared_distances(den, num[:50]), 1.0).mean(axis=0)
    >>> published, exact = kliep_reference(phi_num, b), kliep(phi_num, b)
    >>> print(f"{published.objective:.3f} with gap {published.gap:.1e}; {exact.objective:.3f}")
    0.238 with gap 3.7e-01; 0.305
    """
    phi, mean, _ = _checked(phi_num, phi_den_mean, None)

    def project(alpha: Array) -> Array:
        alpha = np.maximum(alpha + mean * (1 - mean @ alpha) / (mean @ mean), 0.0)
        return np.asarray(alpha / (mean @ alpha))

    def score(alpha: Array) -> float:
        return float(np.log(np.maximum(phi @ alpha, RATIO_FLOOR)).mean())

    weights = project(np.ones(len(mean)))
    objective, n_iter = score(weights), 0
    for length in 10.0 ** np.arange(3, -4, -1):
        for _ in range(100):
            pull = 1 / np.maximum(phi @ weights, RATIO_FLOOR)
            trial = project(weights + length * (pull @ phi))
            trial_objective = score(trial)
            if not trial_objective > objective:
                break
            weights, objective, n_iter = trial, trial_objective, n_iter + 1
    pull = 1 / np.maximum(phi @ weights, RATIO_FLOOR)
    gradient = np.divide(pull @ phi, mean, out=np.zeros_like(mean), where=mean > _SMALLEST_MEAN)
    gap = float(gradient.max()) / len(phi) - 1
    return KLIEPResult(weights, objective, gap, n_iter, weights * mean)
