r"""Mixture weights of greatest likelihood, with a certificate.

Given non-negative component values :math:`\Psi \in \mathbb{R}^{n \times L}` and row weights
:math:`v_i` that sum to one, find the point of the simplex that maximises

.. math::

    J(q) = \sum_i v_i \log (\Psi q)_i, \qquad q \ge 0, \quad \mathbf{1}^\top q = 1.

The problem is concave. With the gradient
:math:`g_l = \sum_i v_i \Psi_{il} / (\Psi q)_i`, every feasible :math:`q` satisfies

.. math::

    \max J - J(q) \le \log \max_l g_l \le \max_l g_l - 1,

so that :math:`\max_l g_l - 1` (never negative) certifies how far from the optimum a point can be.

Method
------
A few multiplicative (EM) steps from the uniform weights, then Newton steps: each minimises the
second-order model of :math:`-J(q) + \mathbf{1}^\top q` over :math:`q \ge 0` by an active-set method
that starts from the present support. The simplex constraint needs no attention there because the
penalised problem has the same solution, and dividing a point by its sum never lowers
:math:`J(q) - \mathbf{1}^\top q`. Solutions are sparse, so the linear systems are small; three to
six steps are the rule where first-order methods need thousands. This is the idea of Wang (2007) and
of Kim et al. (2020) with a proximal term for components that are nearly linearly dependent.

References
----------
Wang, "On fast computation of the non-parametric maximum likelihood estimate of a mixing
distribution", JRSS B 69, 2007. Kim, Carbonetto, Stephens and Anitescu, "A fast algorithm for
maximum likelihood estimation of mixture proportions using sequential quadratic programming",
JCGS 29, 2020.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from flipcost.core.arrays import Array, Indices

# Warm-up steps: enough to empty components that will not count, too few to cost much (one costs two
# products with the matrix; a Newton step costs a Gram matrix).
_EM_STEPS = 5
# Weight of the proximal term relative to the curvature of each component: far above the rounding
# error of a Cholesky factor, far below anything that slows Newton's method down.
_DAMPING = 1e-10
_ARMIJO = 1e-4
# No row's likelihood may fall below this share of itself in one step, or a row given up for the
# sake of the others would swamp the next model.
_LARGEST_FALL = 1e-2
# What sums of logarithms near zero can be off by; gains below it cannot be told from losses.
_ROUNDING = 1e-15
_TINY = float(np.finfo(float).tiny)


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
        Non-negative component values with a positive entry in every row. Rows may be scaled at
        will: the solution does not change.
    sample_weight : ndarray of shape (n_rows,), optional
        Positive weights of the rows.
    start : ndarray of shape (n_components,), optional
        Weights to start from, such as the solution of a similar problem.
    tol : float, default=1e-6
        Stop when the certificate falls to this value.
    max_iter : int, default=100
        Stop after so many Newton steps, whatever the certificate.

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
    n_rows = len(psi)
    share = (
        np.full(n_rows, 1.0 / n_rows)
        if sample_weight is None
        else sample_weight / sample_weight.sum()
    )
    lies = psi.strides[0] == psi.itemsize  # one component a line of memory
    mass, support = _starting_point(psi, share, start)
    values, damping, n_iter = psi @ mass, _DAMPING, 0
    while True:
        gradient = (share / values) @ psi
        gap = max(float(gradient.max()) - 1.0, 0.0)
        if damping > 1.0 and gap > tol and start is not None:
            # A start that gave nothing to a component some rows live on can be a dead end.
            start = None
            mass, support = _starting_point(psi, share, start)
            values, damping = psi @ mass, _DAMPING
            continue
        if gap <= tol or n_iter >= max_iter or damping > 1.0:
            return MixtureFit(mass, gap, n_iter)
        n_iter += 1
        # Components that pull far less than the rest are not worth a column of the Gram matrix;
        # should they matter after all, the certificate brings them back.
        window = np.flatnonzero((mass > 0) | (gradient >= 1.0 - gap))
        scaled = psi.T[window].T if lies else psi[:, window]
        scaled *= (np.sqrt(share) / values)[:, None]
        goal = _newton_point(scaled, gradient, mass, window, support, damping)
        step = None if goal is None else _ascend(psi, share, mass, values, gradient, goal)
        if step is None:
            damping *= 100.0
            continue
        mass, values = step
        support = np.flatnonzero(mass)


def _newton_point(
    scaled: Array,
    gradient: Array,
    mass: Array,
    window: Indices,
    support: Indices,
    damping: float,
) -> Array | None:
    """Return the simplex point that Newton's model of the components in ``window`` points to."""
    curvature = scaled.T @ scaled
    ridge = damping * np.diagonal(curvature)
    curvature.flat[:: window.size + 1] += ridge
    # At q the curvature times q is the gradient; the ridge is centred at q, which keeps the
    # optimum a fixed point however large it is.
    linear = 2.0 * gradient[window] - 1.0 + ridge * mass[window]
    found = _nonnegative_quadratic(curvature, linear, np.searchsorted(window, support))
    if found is None:
        return None
    goal = np.zeros(len(mass))
    goal[window] = found / found.sum()
    return goal


def _starting_point(psi: Array, share: Array, start: Array | None) -> tuple[Array, Indices]:
    """Return weights under which every row has a likelihood worth dividing by, and a support."""
    n_components = psi.shape[1]
    uniform = np.full(n_components, 1.0 / n_components)
    if start is not None and start.sum() > 0:
        mass = start / start.sum()
        values = psi @ mass
        if values.min() < 1e-8 * values.max():
            mass = 0.99 * mass + 0.01 * uniform
        return mass, np.flatnonzero(start)
    mass = uniform
    for _ in range(_EM_STEPS):
        mass = mass * ((share / (psi @ mass)) @ psi)
    mass /= mass.sum()
    return mass, np.flatnonzero(mass > 1e-3 / n_components)


def _ascend(
    psi: Array, share: Array, mass: Array, values: Array, gradient: Array, goal: Array
) -> tuple[Array, Array] | None:
    """Return a better point between ``mass`` and ``goal`` with its row values, or None."""
    slope = float(gradient @ goal) - 1.0
    if not slope > -_ROUNDING:
        return None
    goal_values = psi @ goal
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


def _nonnegative_quadratic(hessian: Array, linear: Array, support: Indices) -> Array | None:
    """Minimise ``x' hessian x / 2 - linear' x`` over ``x >= 0``; None if the matrix is singular.

    Lawson and Hanson's active-set method on the normal equations, from any starting support.
    """
    x = np.zeros(len(linear))
    free = support
    while free.size:
        trial = _solve_block(hessian, linear, free)
        if trial is None:
            return None
        if trial.min() > 0:
            x[free] = trial
            break
        free = free[trial > 0]
    tolerance = 1e-13 * float(np.abs(linear).max())
    for _ in range(3 * len(linear)):
        force = linear - hessian[:, free] @ x[free]
        force[free] = -np.inf
        entering = int(force.argmax())
        if force[entering] <= tolerance:
            break
        moved = _admit(hessian, linear, x, np.append(free, entering))
        if moved is None:
            return None
        if entering not in moved[1]:
            break  # rounding: its force was noise
        x, free = moved
    return x if free.size else None


def _admit(hessian: Array, linear: Array, x: Array, free: Indices) -> tuple[Array, Indices] | None:
    """Move to the minimizer on ``free``, dropping whatever hits zero on the way."""
    while True:
        trial = _solve_block(hessian, linear, free)
        if trial is None:
            return None
        here = x[free]
        blocked = trial <= 0
        x = np.zeros_like(x)
        if not blocked.any():
            x[free] = trial
            return x, free
        reach = np.full(free.size, np.inf)
        reach[blocked] = here[blocked] / np.maximum(here[blocked] - trial[blocked], _TINY)
        first = int(reach.argmin())
        here = here + reach[first] * (trial - here)
        here[first] = 0.0
        kept = here > 0
        free = free[kept]
        x[free] = here[kept]
        if not free.size:
            return x, free


def _solve_block(hessian: Array, linear: Array, free: Indices) -> Array | None:
    _, solution, info = dposv(hessian[np.ix_(free, free)], linear[free])
    return None if info else np.asarray(solution)
