r"""Class probabilities from density ratios of maximum likelihood (KLIEP), certified.

The ratio of a numerator density to a denominator density is modelled as
:math:`w(x) = \sum_l \alpha_l \varphi_l(x)` with kernels :math:`\varphi_l` on chosen centres:

.. math::

    \max_{\alpha \ge 0} \; \frac{1}{n} \sum_{j=1}^{n} \log w(x_j^{\mathrm{num}})
    \quad \text{subject to} \quad b^\top \alpha = 1, \qquad
    b_l = \frac{1}{m} \sum_{i=1}^{m} \varphi_l(x_i^{\mathrm{den}}).

With :math:`q_l = \alpha_l b_l` and :math:`\psi_l = \varphi_l / b_l` this is the likelihood of
mixture weights on the simplex, which is maximised with a certificate (`maximize_mixture`).

With the rows of one class above and all rows below, :math:`\pi w` estimates the probability of that
class; two classes' ratios are put together below.

Widths
------
Kernel widths are chosen by cross-validation, every fit certified, by one of two criteria from the
same fits (:func:`kliep_posterior_search`). KLIEP was published with the first: the mean logarithm
of one ratio on numerator rows left out. When two ratios are to give class probabilities, one width
for both is better scored by the log-likelihood of the labels left out. On the paper's three
Gaussian laws that takes a quarter to two fifths off the mean squared error of "norm"; the other
combinations use the ratios one by one and are better off with the first.

Two ratios, one probability
---------------------------
With :math:`\pi` the share of the positive class, :math:`w_+ = p(x \mid +1) / p(x)` and
:math:`w_- = p(x \mid -1) / p(x)`, two estimates of :math:`\eta = P(y = +1 \mid x)` are at hand,

.. math::

    \eta_{\mathrm{pos}} = \pi w_+, \qquad \eta_{\mathrm{neg}} = 1 - (1 - \pi) w_-,

which agree when the ratios are exact. Neither need lie in [0, 1] when they are estimated. Their
scaled forms divide by the greatest value on the training rows,
:math:`\eta_{\mathrm{pos},s} = \eta_{\mathrm{pos}} / \max \eta_{\mathrm{pos}}` and likewise for
:math:`\eta_{\mathrm{neg},s}`.

==========  =====================================================  ==============================
name        corrected                                              as printed, where it differs
==========  =====================================================  ==============================
pos         :math:`\pi w_+`
neg         :math:`1 - (1 - \pi) w_-`
norm        pos / (pos + 1 - neg)                                  pos / (pos + neg)
pos_s       pos / max pos
neg_s       neg / max neg
norm_s      pos_s / (pos_s + 1 - neg_s)                            pos_s / (pos_s + neg_s)
cnorm_s     neg_s / (neg_s + 1 - pos_s)                            neg_s / (neg_s + pos_s)
avg_s       (pos_s + neg_s) / 2
==========  =====================================================  ==============================

The printed normalised forms cannot be meant: with exact ratios pos and neg are both
:math:`\eta`, and pos / (pos + neg) is one half everywhere. Normalising pos by the probability of
the *other* class, 1 - neg, repairs it: then norm is
:math:`\pi w_+ / (\pi w_+ + (1 - \pi) w_-)`. Nor do the estimates "integrate to one"; what the
constraint of the ratio estimate gives is that pos has mean :math:`\pi` over the denominator rows.

Mixture weights
---------------
Given non-negative component values :math:`\Psi \in \mathbb{R}^{n \times L}` and row weights
:math:`v_i` that sum to one, find the point of the simplex that maximises

.. math::

    J(q) = \sum_i v_i \log (\Psi q)_i, \qquad q \ge 0, \quad \mathbf{1}^\top q = 1.

The problem is concave. With the gradient
:math:`g_l = \sum_i v_i \Psi_{il} / (\Psi q)_i`, every feasible :math:`q` satisfies

.. math::

    \max J - J(q) \le \log \max_l g_l \le \max_l g_l - 1,

so that :math:`\max_l g_l - 1` (never negative) certifies how far from the optimum a point can be.

A few multiplicative (EM) steps from the uniform weights pick the components worth looking at.
Newton steps on these columns alone solve the problem among them: each minimises the second-order
model of :math:`-J(q) + \mathbf{1}^\top q` over :math:`q \ge 0`, by non-negative least squares in
a Cholesky factor of its matrix. Then one product with the whole matrix gives the certificate, or
the components that pull most and join the others. Solutions are sparse, so that Newton steps are
small and the whole matrix is read two to four times; a Gram matrix of all its columns would take
as long as fifty readings. The simplex constraint needs no attention because the penalised problem
has the same solution, and dividing a point by its sum never lowers
:math:`J(q) - \mathbf{1}^\top q`. This is the idea of Wang (2007) and of Kim et al. (2020) with a
proximal term for components that are nearly linearly dependent.

References
----------
Sugiyama, Suzuki, Nakajima, Kashima, von Buenau and Kawanabe, "Direct importance estimation for
covariate shift adaptation", Annals of the Institute of Statistical Mathematics 60, 2008,
doi 10.1007/s10463-008-0197-x.

Tripathi and Hemachandra, "Cost Sensitive Learning in the Presence of Symmetric Label Noise", PAKDD
2019, section F.6 of the supplement.

Wang, "On fast computation of the non-parametric maximum likelihood estimate of a mixing
distribution", JRSS B 69, 2007. Kim, Carbonetto, Stephens and Anitescu, "A fast algorithm for
maximum likelihood estimation of mixture proportions using sequential quadratic programming",
JCGS 29, 2020.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from flipcost._validation import (
    Interval,
    StrOptions,
    check_is_fitted,
    check_weights,
    fit_context,
    validate_data,
)
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.estimators.base import BinaryClassifier, generator
from flipcost.paper.kernels import (
    KERNELS,
    NARROWER,
    KernelClassifier,
    Rows,
    gaussian_kernel,
    squared_distances,
)

# Warm-up steps: enough to tell components that will not count, too few to cost much (one costs two
# products with the matrix).
_EM_STEPS = 5
# Components looked at first, and how many at least may join them at a time.
_FIRST, _JOIN = 64, 16
# A row is starving where it has less than this share of its likelihood under equal weights.
_STARVING = 1e-8
# Weight of the proximal term relative to the curvature of each component: far above the rounding
# error of a Cholesky factor, far below anything that slows Newton's method down.
_DAMPING = 1e-10
_ARMIJO = 1e-4
# No row's likelihood may fall below this share of itself in one step, or a row given up for the
# sake of the others would swamp the next model.
_LARGEST_FALL = 1e-2
# What sums of logarithms near zero can be off by; gains below it may be losses.
_ROUNDING = 1e-15
# Among some components Newton's method goes no further than this, whatever is asked: below it steps
# are rounding, and there would be none left for components that join.
_NEAR_ENOUGH = 1e-13


@dataclass(frozen=True)
class MixtureFit:
    """Weights on the simplex and how good they provably are.

    Attributes
    ----------
    mass : ndarray of shape (n_components,)
        Non-negative weights with sum one.
    gap : float
        Upper bound on what the objective falls short of its maximum.
    n_iter : int
        Newton steps taken.
    """

    mass: Array
    gap: float
    n_iter: int


def maximize_mixture(
    psi: Array,
    *,
    sample_weight: Array | None = None,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> MixtureFit:
    """Return the mixture weights of greatest mean log-likelihood.

    Parameters
    ----------
    psi : ndarray of shape (n_rows, n_components)
        Non-negative component values with a positive entry in every row that has weight. Rows may
        be scaled at will: the solution does not change.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows, not negative.
    start : ndarray of shape (n_components,), optional
        Weights to start from, such as the solution of a similar problem.
    tol : float, default=1e-6
        Stop when the certificate falls to this value.
    max_iter : int, default=100
        Largest number of Newton steps, whatever the certificate.

    Returns
    -------
    MixtureFit
        ``mass``, ``gap`` and ``n_iter``. ``gap`` exceeds ``tol`` only when ``max_iter`` was reached
        or rounding forbade any further ascent.

    Examples
    --------
    Two components that do not overlap: each gets the share of the rows that it explains.

    >>> psi = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> fit = maximize_mixture(psi)
    >>> fit.mass.round(9), fit.gap <= 1e-6
    (array([0.75, 0.25]), True)
    """
    weight = np.ones(len(psi)) if sample_weight is None else sample_weight
    if not weight.all():
        psi, weight = psi[weight > 0], weight[weight > 0]
    share = weight / weight.sum()
    warm = start is not None and start.sum() > 0
    mass = _continued(psi, start) if start is not None and warm else _warmed_up(psi, share)
    window, n_iter, first = np.flatnonzero(mass), 0, True
    near = max(tol, _NEAR_ENOUGH)
    while True:
        # A component a line of memory, for products with few of them.
        columns = np.ascontiguousarray(psi.T[window])
        found, values, steps, stuck = _newton(columns, share, mass[window], near, max_iter - n_iter)
        mass[window] = found
        n_iter += steps
        gradient = (share / values) @ psi
        gap = max(float(gradient.max()) - 1.0, 0.0)
        if gap <= tol or n_iter >= max_iter:
            return MixtureFit(mass, gap, n_iter)
        joining = _joining(gradient, mass, window)
        # What joined and moved nothing pulls by rounding only.
        if joining.size and (steps or first):
            window, first = np.union1d(np.flatnonzero(mass), joining), False
        elif warm and stuck:
            # A start that gave nothing to a component some rows live on can be a dead end.
            warm, first, mass = False, True, _warmed_up(psi, share)
            window = np.flatnonzero(mass)
        else:
            return MixtureFit(mass, gap, n_iter)


def _warmed_up(psi: Array, share: Array) -> Array:
    """Return weights of few components under which no row is given up."""
    n_components = psi.shape[1]
    mass = np.full(n_components, 1.0 / n_components)
    for _ in range(_EM_STEPS):
        values = psi @ mass
        mass = mass * ((share / values) @ psi)
    if n_components > _FIRST:
        few = np.zeros(n_components)
        kept = np.argpartition(mass, -_FIRST)[-_FIRST:]
        few[kept] = mass[kept]
        starving = psi @ few < values / n_components
        kept = _keepers(psi[starving], mass)
        few[kept] = mass[kept]
        mass = few
    return np.asarray(mass / mass.sum())


def _continued(psi: Array, start: Array) -> Array:
    """Return the weights to start from, with some for rows that they would give up."""
    mass = np.asarray(start / start.sum())
    equal = np.full(len(mass), 1.0 / len(mass))
    starving = psi @ mass < _STARVING * (psi @ equal)
    if starving.any():
        kept = _keepers(psi[starving], equal)
        mass *= 0.99
        mass[kept] += 0.01 / kept.size
    return mass


def _keepers(psi: Array, mass: Array) -> Indices:
    """Return the components that do most for some rows."""
    return np.unique((psi * mass).argmax(axis=1))


def _joining(gradient: Array, mass: Array, window: Indices) -> Indices:
    """Return the components outside the window that pull most, if they pull enough to matter."""
    outside = gradient.copy()
    outside[window] = -np.inf
    pulling = np.flatnonzero(outside > 1.0)
    most = max(_JOIN, int(np.count_nonzero(mass)))
    if pulling.size > most:
        pulling = pulling[np.argpartition(outside[pulling], -most)[-most:]]
    return pulling


def _newton(
    columns: Array, share: Array, mass: Array, tol: float, max_iter: int
) -> tuple[Array, Array, int, bool]:
    """Solve the problem among some components, given as lines of ``columns``.

    Returned are their masses, the values of rows, the steps taken, and whether it got stuck.
    """
    values, damping, n_iter = mass @ columns, _DAMPING, 0
    while True:
        gradient = columns @ (share / values)
        gap = float(gradient.max()) - 1.0
        if gap <= tol or n_iter >= max_iter or damping > 1.0:
            return mass, values, n_iter, damping > 1.0
        n_iter += 1
        # Components that pull far less than the rest are not worth a line of the Gram matrix;
        # should they matter after all, the certificate brings them back.
        window = np.flatnonzero((mass > 0) | (gradient >= 1.0 - gap))
        scaled = columns[window] * (np.sqrt(share) / values)
        goal = _newton_point(scaled, gradient, mass, window, damping)
        step = None if goal is None else _ascend(columns, share, mass, values, gradient, goal)
        if step is None:
            damping *= 100.0
            continue
        mass, values = step


def _newton_point(
    scaled: Array, gradient: Array, mass: Array, window: Indices, damping: float
) -> Array | None:
    """Return the simplex point that Newton's model of the components in ``window`` points to."""
    curvature = scaled @ scaled.T
    ridge = damping * np.diagonal(curvature)
    curvature.flat[:: window.size + 1] += ridge
    # At q the curvature times q is the gradient; the ridge is centred at q, which keeps the
    # optimum a fixed point however large it is.
    linear = 2.0 * gradient[window] - 1.0 + ridge * mass[window]
    try:
        # The least of x' C x / 2 - l' x over x >= 0, as least squares in a factor of C.
        factor = np.linalg.cholesky(curvature)
        found, _ = nnls(factor.T, solve_triangular(factor, linear, lower=True))
    except (np.linalg.LinAlgError, RuntimeError):  # singular, or no end to its steps
        return None
    if not found.any():
        return None
    goal = np.zeros(len(mass))
    goal[window] = found / found.sum()
    return goal


def _ascend(
    columns: Array, share: Array, mass: Array, values: Array, gradient: Array, goal: Array
) -> tuple[Array, Array] | None:
    """Return a better point between ``mass`` and ``goal`` with its row values, or None."""
    slope = float(gradient @ goal) - 1.0
    if not slope > -_ROUNDING:
        return None
    goal_values = goal @ columns
    length = 1.0
    while length > 1e-9:
        trial = goal_values if length == 1.0 else values + length * (goal_values - values)
        # The difference of logarithms, not of their sums: near the optimum the gain is far below
        # the rounding error of the objective itself.
        ratio = trial / values
        if ratio.min() > _LARGEST_FALL:
            gain = float(share @ np.log(ratio))
            if gain >= _ARMIJO * length * slope - _ROUNDING:
                return (goal if length == 1.0 else mass + length * (goal - mass)), trial
        length *= 0.5
    return None


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


def components(phi: Array, mean: Array) -> tuple[Array, Array, Flags, Flags]:
    """Return kernel values over denominator means, without rows and centres out of reach.

    Rows are divided by their largest value. The logarithms of what they were divided by come next,
    then which centres a denominator row comes near, and which rows such a centre comes near.
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
    return psi, np.log(peak), usable, reached


def kliep(
    phi_num: ArrayLike,
    phi_den_mean: ArrayLike,
    tol: float = 1e-6,
    *,
    sample_weight: ArrayLike | None = None,
    start: ArrayLike | None = None,
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
    >>> from flipcost.paper.kernels import gaussian_kernel, squared_distances
    >>> rng = np.random.default_rng(0)
    >>> num, den = rng.normal(0.5, 1, (300, 2)), rng.normal(0, 1, (300, 2))
    >>> phi_num = gaussian_kernel(squared_distances(num, num[:50]), 1.0)
    >>> phi_den = gaussian_kernel(squared_distances(den, num[:50]), 1.0)
    >>> fit = kliep(phi_num, phi_den.mean(axis=0))
    >>> print(f"{(phi_den @ fit.weights).mean():.6f}, {fit.gap <= 1e-6}")
    1.000000, True
    """
    phi, mean = np.asarray(phi_num, dtype=float), np.asarray(phi_den_mean, dtype=float)
    if phi.ndim != 2 or mean.shape != phi.shape[1:] or not phi.size:
        msg = (
            "`phi_num` must have shape (n_rows, n_centers) and `phi_den_mean` (n_centers,), "
            f"neither empty; got {phi.shape} and {mean.shape}."
        )
        raise ValueError(msg)
    if not (np.all(phi >= 0) and np.all(mean >= 0)):
        msg = "`phi_num` and `phi_den_mean` must hold numbers from 0 up; got others (or NaN)."
        raise ValueError(msg)
    weight = np.ones(len(phi)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    psi, log_scale, usable, reached = components(phi, mean)
    own = weight[reached]
    if not own.any():
        msg = (
            "At least one numerator row must lie within reach of a centre, but every kernel value "
            "is zero. Widen the kernel."
        )
        raise ValueError(msg)
    fit = maximize_mixture(
        psi,
        sample_weight=own,
        start=None if start is None else np.asarray(start, dtype=float)[usable],
        tol=tol,
    )
    mass = np.zeros(len(mean))
    mass[usable] = fit.mass
    logs = np.full(len(phi), np.log(RATIO_FLOOR))
    # A row of weight zero need not be within reach of the centres that are left.
    logs[reached] = np.log(np.maximum(psi @ fit.mass, RATIO_FLOOR)) + log_scale
    objective = float(weight @ logs / weight.sum())
    return KLIEPResult(kernel_weights(mass, mean), objective, fit.gap, fit.n_iter, mass)


def kernel_weights(mass: Array, mean: Array) -> Array:
    """Return the kernel weights that give each centre its share of the denominator mean."""
    return np.asarray(np.divide(mass, mean, out=np.zeros_like(mass), where=mass > 0))


def kliep_reference(phi_num: ArrayLike, phi_den_mean: ArrayLike) -> KLIEPResult:
    """Estimate a density ratio by the gradient ascent first published, for comparison only.

    Projected gradient steps of lengths 1000, 100, ..., 0.001, each length used until the objective
    stops increasing, and at most 100 times. It often stops well short of the optimum, as ``gap``
    shows.

    Examples
    --------
    >>> from flipcost.paper.kernels import gaussian_kernel, squared_distances
    >>> rng = np.random.default_rng(0)
    >>> num, den = rng.normal(0.5, 1, (300, 2)), rng.normal(0, 1, (300, 2))
    >>> phi_num = gaussian_kernel(squared_distances(num, num[:50]), 1.0)
    >>> b = gaussian_kernel(squared_distances(den, num[:50]), 1.0).mean(axis=0)
    >>> published, exact = kliep_reference(phi_num, b), kliep(phi_num, b)
    >>> print(f"{published.objective:.3f} with gap {published.gap:.1e}; {exact.objective:.3f}")
    0.238 with gap 3.7e-01; 0.305
    """
    phi, mean = np.asarray(phi_num, dtype=float), np.asarray(phi_den_mean, dtype=float)

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


@dataclass(frozen=True)
class PosteriorSearch:
    """Cross-validation of one kernel width for the ratios of both classes.

    Attributes
    ----------
    widths : ndarray of shape (n_widths,)
        Widths tried.
    scores : ndarray of shape (n_widths,)
        Mean log-likelihood of the labels left out.
    class_scores : ndarray of shape (2, n_widths)
        Mean logarithm of each class's ratio (floored at 1e-300) on its own rows left out, negative
        class first.
    gaps : ndarray of shape (2, n_widths, n_folds)
        Certificate of every fit.
    best : int
        Index of the width with the greatest score.
    class_best : tuple of int
        Index of the width with the greatest score of each class, negative class first.
    starts : tuple of two ndarray of shape (n_widths, n_centers)
        Where the final fits of the two classes may start, for every width.
    """

    widths: Array
    scores: Array
    class_scores: Array
    gaps: Array
    best: int
    class_best: tuple[int, int]
    starts: tuple[Array, Array] = field(repr=False)

    @property
    def width(self) -> float:
        """The width with the greatest score."""
        return float(self.widths[self.best])


def kliep_posterior_search(
    sq_bases: Sequence[ArrayLike],
    positive: ArrayLike,
    widths: ArrayLike,
    folds: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-6,
) -> PosteriorSearch:
    """Choose one kernel width for the ratios of both classes by the likelihood of left-out labels.

    For each width and fold the ratio of each class to all rows is fitted without the fold, and the
    rows of the fold are given the probability that the two ratios make ("norm" of
    :func:`~flipcost.paper.kliep.combine_ratios`).

    Parameters
    ----------
    sq_bases : pair of array-like of shape (n_rows, n_centers)
        Squared distances of all rows to the centres of each class, negative class first.
    positive : array-like of bool of shape (n_rows,)
        Which rows are of the positive class.
    widths : array-like of shape (n_widths,)
        Widths to try, in any order.
    folds : array-like of shape (n_rows,)
        Fold of every row; best spread evenly over both classes.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.
    tol : float, default=1e-6
        Certificate asked of every fit.

    Returns
    -------
    PosteriorSearch
        Scores, certificates and the choice.

    Examples
    --------
    >>> from flipcost.core.folds import random_folds
    >>> from flipcost.paper.kernels import squared_distances
    >>> rng = np.random.default_rng(0)
    >>> positive = np.arange(300) < 150
    >>> X = rng.normal(size=(300, 2)) + 2 * positive[:, None]
    >>> search = kliep_posterior_search(
    ...     [squared_distances(X, X[positive == sign][:50]) for sign in (False, True)],
    ...     positive,
    ...     widths=[0.1, 1.0, 10.0],
    ...     folds=random_folds(np.zeros(300), 5, rng),
    ... )
    >>> search.width, bool(search.gaps.max() <= 1e-6)
    (1.0, True)
    """
    above = np.asarray(positive, dtype=bool)
    grid = np.atleast_1d(np.asarray(widths, dtype=float))
    fold_of = np.unique(folds, return_inverse=True)[1]
    distances = [np.asarray(base, dtype=float) for base in sq_bases]
    share = np.ones(len(above)) if sample_weight is None else np.asarray(sample_weight, float)
    share = share / share.sum()
    ratios = np.empty((2, grid.size, len(above)))
    gaps = np.empty((2, grid.size, fold_of.max() + 1))
    means = tuple(np.empty((grid.size, base.shape[1])) for base in distances)
    for code, base in enumerate(distances):
        members = share * (above == code)
        starts: list[Array] | None = None
        for row in np.argsort(grid, kind="stable"):
            phi = gaussian_kernel(base, float(grid[row]))
            held = _held_out(phi, share @ phi, members, fold_of, starts, tol)
            ratios[code, row], gaps[code, row], starts = held
            means[code][row] = np.mean(starts, axis=0)
    scores, class_scores = _posterior_scores(ratios, above, share)
    best, (lower, upper) = int(scores.argmax()), class_scores.argmax(axis=1)
    return PosteriorSearch(
        grid, scores, class_scores, gaps, best, (int(lower), int(upper)), (means[0], means[1])
    )


def _posterior_scores(ratios: Array, above: Flags, share: Array) -> tuple[Array, Array]:
    """Return label log-likelihoods (n_widths,) and log-ratios per class (2, n_widths)."""
    prior = float(share @ above)
    eta = combine_ratios(ratios[1], ratios[0], prior)
    scores = np.log(np.maximum(np.where(above, eta, 1 - eta), RATIO_FLOOR)) @ share
    logs = np.log(np.maximum(ratios, RATIO_FLOOR))
    own = np.stack([share * ~above / (1 - prior), share * above / prior])
    return np.asarray(scores), np.einsum("cwi,ci->cw", logs, own)


def _held_out(
    phi: Array,
    mean: Array,
    weight: Array,
    fold_of: Indices,
    starts: list[Array] | None,
    tol: float,
) -> tuple[Array, Array, list[Array]]:
    """Fit without each fold in turn; return ratios on the folds, certificates and masses.

    Rows of weight zero are no part of the numerator, but get a ratio too.
    """
    numerator = np.flatnonzero(weight)
    psi, _, usable, reached = components(phi[numerator], mean)
    rows = numerator[reached]
    member, row_weight = fold_of[rows], weight[rows]
    n_folds = int(fold_of.max()) + 1
    ratio, gaps = np.empty(len(phi)), np.zeros(n_folds)
    masses: list[Array] = []
    for index in range(n_folds):
        train = np.where(member == index, 0.0, row_weight)
        mass = np.where(usable, 1.0 / usable.sum(), 0.0)
        if train.any():  # else nothing is within reach, and all weights are as good
            # Nearer than the same fold at another width is the fold before at this one.
            near = masses[-1] if masses else None if starts is None else starts[index]
            start = None if near is None else near[usable]
            fit = maximize_mixture(psi, sample_weight=train, start=start, tol=tol)
            mass[usable], gaps[index] = fit.mass, fit.gap
        # Solutions are sparse: few centres have a say.
        fold, support = np.flatnonzero(fold_of == index), np.flatnonzero(mass)
        ratio[fold] = phi[np.ix_(fold, support)] @ kernel_weights(mass, mean)[support]
        masses.append(mass)
    return ratio, gaps, masses


COMBINATIONS = ("norm", "pos", "neg", "pos_s", "neg_s", "norm_s", "cnorm_s", "avg_s")


def training_scales(w_pos: Array, w_neg: Array, prior: float) -> tuple[float, float]:
    """Return the greatest "pos" and "neg" estimates on the training rows."""
    return float((prior * w_pos).max()), float(1 - ((1 - prior) * w_neg).min())


def combine_ratios(
    w_pos: ArrayLike,
    w_neg: ArrayLike,
    prior: float,
    combine: str = "norm",
    *,
    scales: tuple[float, float] = (1.0, 1.0),
    printed: bool = False,
) -> Array:
    """Return the probability of the positive class from the two classes' density ratios.

    Parameters
    ----------
    w_pos, w_neg : array-like of shape (n_rows,)
        Estimated ratios, class density over density of all rows.
    prior : float
        Share of the positive class; also the answer where a normalised form is 0 / 0.
    combine : {"norm", "pos", "neg", "pos_s", "neg_s", "norm_s", "cnorm_s", "avg_s"}, \
default="norm"
        Combination, see the table of the module. Every estimate is clipped to [0, 1], and so are
        the parts of a normalised one before they are combined; then norm_s, cnorm_s and avg_s say
        the same about which class is likelier.
    scales : tuple of float, default=(1.0, 1.0)
        ``training_scales(...)`` of the training rows; combinations ending in ``_s`` divide by them.
    printed : bool, default=False
        Whether to take the normalised forms as printed, for the record, parts not clipped.

    Returns
    -------
    ndarray of shape (n_rows,)
        Probabilities.

    Examples
    --------
    Exact ratios give back the probability; the printed form does not:

    >>> eta, prior = np.array([0.1, 0.5, 0.9]), 0.4
    >>> w_pos, w_neg = eta / prior, (1 - eta) / (1 - prior)
    >>> combine_ratios(w_pos, w_neg, prior)
    array([0.1, 0.5, 0.9])
    >>> combine_ratios(w_pos, w_neg, prior, printed=True)
    array([0.5, 0.5, 0.5])
    """
    pos, other = prior * np.asarray(w_pos, dtype=float), (1 - prior) * np.asarray(w_neg, float)
    if combine == "norm" and not printed:
        # From the ratios themselves: 1 - neg would cancel where the negative class is rare.
        return _normalised(pos, other, prior)
    neg = 1 - other
    if combine.endswith("_s"):
        pos, neg = pos / scales[0], neg / scales[1]
    if not printed:
        pos, neg = np.clip(pos, 0.0, 1.0), np.clip(neg, 0.0, 1.0)
    rule = combine.removesuffix("_s")
    if rule == "norm":
        eta = _normalised(pos, neg if printed else 1 - neg, prior)
    elif rule == "cnorm":
        eta = _normalised(neg, pos if printed else 1 - pos, prior)
    else:
        eta = {"pos": pos, "neg": neg, "avg": (pos + neg) / 2}[rule]
    return np.clip(eta, 0.0, 1.0)


def _normalised(part: Array, rest: Array, prior: float) -> Array:
    whole = part + rest
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, prior), where=whole != 0))


class KLIEPClassifier(BinaryClassifier, KernelClassifier):
    r"""Class probabilities from the density ratio of each class to all rows, by KLIEP.

    A generative counterpart of `LSPClassifier` for two classes: the density of each class over
    that of all rows is a sum of Gaussian kernels with weights of greatest likelihood, and the two
    ratios are put together into a probability. Labels are taken as they are: the probability is
    that of the label as observed.

    Features are not scaled here: one width serves all of them, and widths and centres stay in the
    units of the data. Standardise first, as in
    ``make_pipeline(StandardScaler(), KLIEPClassifier())``, unless they are alike.

    Parameters
    ----------
    combine : {"norm", "pos", "neg", "pos_s", "neg_s", "norm_s", "cnorm_s", "avg_s"}, \
default="norm"
        How the two ratios make a probability; see Notes. "norm" has much the smallest error; the
        others are there because the paper compares them.
    widths : "centiles", float or array-like, default="centiles"
        Kernel widths to try: the centiles 10, 20, ..., 90 of the distance between two distinct
        rows, with .35, .5 and .7 of the smallest, or the widths given. "norm" takes one width for
        both classes, by the log-likelihood of the labels left out, which lowers its mean squared
        error by a quarter to two fifths on the paper's three laws. Others take each class's own, by
        the mean log-ratio on its rows left out, as KLIEP was published.
    centers : int or None, default=100
        Number of kernel centres drawn from each class; None takes every distinct row.
    cv : int, splitter or iterable, default=5
        Folds to choose the width by. An int makes random stratified ones; a splitter's test sets
        must partition the rows.
    tol : float, default=1e-6
        Stop when the mean log-ratio is certainly within `tol` of its maximum.
    pos_label : label, default=None
        The positive class, which `combine` speaks of; ``classes_[1]`` when None.
    random_state : int, RandomState or None, default=None
        Seed of centres, widths and folds.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    prior_ : float
        Share of the positive class: the answer where both ratios are zero, as happens far from
        all centres.
    gap_ : float
        The larger certificate of the two ratios: how much greater a mean log-ratio could be at
        most. At most `tol`, unless a warning said so.
    width_ : ndarray of shape (2,)
        Width of each class's kernels, negative class first, as everywhere below.
    widths_ : ndarray of shape (n_widths,)
        Widths tried, ascending.
    scores_ : ndarray of shape (n_widths,)
        Mean log-likelihood of the labels left out; NaN when there is one width and nothing to
        choose.
    class_scores_ : ndarray of shape (2, n_widths)
        Mean log-ratio of each class on its rows left out; likewise.
    centers_ : list of two ndarray of shape (n_centers, d)
        Kernel centres.
    weights_ : list of two ndarray of shape (n_centers,)
        Kernel weights: the ratio at a row is their product with its kernel values.
    objective_ : ndarray of shape (2,)
        Mean log-ratio of each class on its own rows.
    scales_ : tuple of float
        Greatest "pos" and "neg" on the training rows, by which the scaled combinations divide.
    n_iter_ : int
        Steps of the solver, the larger number of the two ratios.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    See Also
    --------
    LSPClassifier : The same kernels by least squares; two or more classes.
    flipcost.paper.kliep : The mathematics of a ratio, and of combinations as printed.

    Notes
    -----
    With :math:`\pi` the share of the positive class and :math:`w_\pm` the estimated ratios,

    =========  =========================================================
    combine    probability of the positive class
    =========  =========================================================
    pos        :math:`\pi w_+`
    neg        :math:`1 - (1 - \pi) w_-`
    norm       pos / (pos + 1 - neg), the ratio of :math:`\pi w_+` to
               :math:`\pi w_+ + (1 - \pi) w_-`
    pos_s      pos divided by its maximum on the training rows
    neg_s      neg divided by its maximum on the training rows
    norm_s     pos_s / (pos_s + 1 - neg_s)
    cnorm_s    neg_s / (neg_s + 1 - pos_s)
    avg_s      (pos_s + neg_s) / 2
    =========  =========================================================

    clipped to [0, 1]. The paper prints pos / (pos + neg) for norm, which is one half everywhere
    for exact ratios, and likewise for the scaled ones.

    Each ratio maximises the mean logarithm of itself over the rows of its class, with mean one over
    all rows: the likelihood of mixture weights on a simplex, a concave problem whose dual gap is
    the certificate.

    `combine` acts when probabilities are asked for: all combinations but "norm" can be had from one
    fit by `set_params`.

    References
    ----------
    Sugiyama, Suzuki, Nakajima, Kashima, von Buenau and Kawanabe (2008), Direct importance
    estimation for covariate shift adaptation, Annals of the Institute of Statistical Mathematics
    60, 699-746, doi:10.1007/s10463-008-0197-x.

    Tripathi and Hemachandra (2019), Cost sensitive learning in the presence of symmetric label
    noise, PAKDD, section F.6 of the supplement.

    Examples
    --------
    >>> from flipcost import KLIEPClassifier
    >>> from flipcost.datasets import make_syn2d
    >>> train, test = make_syn2d(800, random_state=0), make_syn2d(200, random_state=1)
    >>> model = KLIEPClassifier(random_state=0).fit(train.data, train.target)
    >>> eta = model.predict_proba(test.data)[:, 1]
    >>> print(f"{((eta - test.eta) ** 2).mean():.4f}, certified: {model.gap_ <= 1e-6}")
    0.0017, certified: True
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "combine": [StrOptions(set(COMBINATIONS))],
        **KERNELS,
        "cv": [Integral, "cv_object"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        combine: str = "norm",
        widths: str = "centiles",
        centers: int = 100,
        *,
        cv: int = 5,
        tol: float = 1e-6,
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.combine = combine
        self.widths = widths
        self.centers = centers
        self.cv = cv
        self.tol = tol
        self.pos_label = pos_label
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the widths on held-out rows, and fit the two ratios to all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=np.float64)
        positive = self._read_labels(y, X.shape[0])
        weight = check_weights(sample_weight, X)
        rng = generator(self.random_state)
        rows = Rows(X, positive, weight)

        self.widths_ = rows.widths(self.widths, rng, NARROWER)
        self.centers_ = [rows.centers(rows.codes == code, self.centers, rng) for code in (0, 1)]
        bases = [squared_distances(rows.X, centers) for centers in self.centers_]
        choice, starts = self._choose(bases, rows, positive, rng)
        self.width_ = self.widths_[list(choice)]

        share = np.ones(len(rows.X)) if rows.weight is None else rows.weight
        share = share / share.sum()
        fits, ratios = [], []
        for code, start in enumerate(starts):
            phi, own = gaussian_kernel(bases[code], self.width_[code]), rows.codes == code
            mean = share @ phi
            fit = kliep(phi[own], mean, self.tol, sample_weight=share[own], start=start)
            fits.append(fit)
            ratios.append(phi @ fit.weights)
        self.prior_ = float(share @ rows.codes)
        self.scales_ = training_scales(ratios[1], ratios[0], self.prior_)
        self.weights_ = [fit.weights for fit in fits]
        self.objective_ = np.array([fit.objective for fit in fits])
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.gap_ = max(fit.gap for fit in fits)
        if self.gap_ > self.tol:
            msg = (
                f"A ratio ended with a gap of {self.gap_:.1g}, above tol={self.tol:g}: rounding or "
                "the limit of 100 steps stopped it. Widen the kernels, or raise `tol`."
            )
            warnings.warn(msg, ConvergenceWarning, 3)
        return self

    def _choose(self, bases, rows, positive, rng):
        """Return the place of each class's width in the grid, and where its fit may start."""
        if len(self.widths_) == 1:
            self.scores_, self.class_scores_ = np.full(1, np.nan), np.full((2, 1), np.nan)
            return (0, 0), (None, None)
        search = kliep_posterior_search(
            bases,
            rows.codes,
            self.widths_,
            rows.folds(self.cv, positive.astype(np.intp), rng),
            sample_weight=rows.weight,
            tol=self.tol,
        )
        self.scores_, self.class_scores_ = search.scores, search.class_scores
        choice = (search.best, search.best) if self.combine == "norm" else search.class_best
        return choice, [search.starts[code][place] for code, place in enumerate(choice)]

    def _chosen(self):
        widths = np.unique(self.width_)
        return {"widths": float(widths[0]) if len(widths) == 1 else widths}

    def density_ratios(self, X: Any) -> Array:
        """Return the density of each class over the density of all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Negative class first. Both columns have mean one over the training rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.column_stack(
            [
                gaussian_kernel(squared_distances(X, centers), width) @ weights
                for centers, width, weights in zip(
                    self.centers_, self.width_, self.weights_, strict=True
                )
            ]
        )

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        below, above = self.density_ratios(X).T
        eta = combine_ratios(above, below, self.prior_, self.combine, scales=self.scales_)
        return self._columns(eta)
