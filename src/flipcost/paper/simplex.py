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
A few multiplicative (EM) steps from the uniform weights pick the components worth looking at.
Newton steps on these columns alone solve the problem among them: each minimises the second-order
model of :math:`-J(q) + \mathbf{1}^\top q` over :math:`q \ge 0` by an active-set method that starts
from the present support. Then one product with the whole matrix gives the certificate, or the
components that pull most and join the others. Solutions are sparse, so that Newton steps are small
and the whole matrix is read two to four times; a Gram matrix of all its columns would take as long
as fifty readings. The simplex constraint needs no attention because the penalised problem has the
same solution, and dividing a point by its sum never lowers :math:`J(q) - \mathbf{1}^\top q`. This
is the idea of Wang (2007) and of Kim et al. (2020) with a proximal term for components that are
nearly linearly dependent.

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

from flipcost.core.arrays import Array, Flags, Indices

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
# What sums of logarithms near zero can be off by; gains below it cannot be told from losses.
_ROUNDING = 1e-15
# Among some components Newton's method goes no further than this, whatever is asked: below it steps
# are rounding, and there would be none left for components that join.
_NEAR_ENOUGH = 1e-13
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
    scale: Array | None = None,
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
    scale : ndarray of shape (n_components,), optional
        What the values of each component are to be multiplied by, to spare a copy of them.
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
    rows = _Rows.of(psi, scale, sample_weight)
    warm = start is not None and start.sum() > 0
    mass = _continued(rows, start) if start is not None and warm else _warmed_up(rows)
    window, n_iter, first = np.flatnonzero(mass), 0, True
    near = max(tol, _NEAR_ENOUGH)
    while True:
        found = _newton(rows.columns(window), rows.share, mass[window], near, max_iter - n_iter)
        mass[window] = found.mass
        n_iter += found.n_iter
        gradient = rows.gradient(found.values)
        gap = max(float(gradient.max()) - 1.0, 0.0)
        if gap <= tol or n_iter >= max_iter:
            return MixtureFit(mass, gap, n_iter)
        joining = _joining(gradient, mass, window)
        # What joined and moved nothing pulls by rounding only.
        if joining.size and (found.n_iter or first):
            window, first = np.union1d(np.flatnonzero(mass), joining), False
        elif warm and found.stuck:
            # A start that gave nothing to a component some rows live on can be a dead end.
            warm, first, mass = False, True, _warmed_up(rows)
            window = np.flatnonzero(mass)
        else:
            return MixtureFit(mass, gap, n_iter)


@dataclass(frozen=True)
class _Rows:
    """The rows that have weight, their shares of it, and products with the whole matrix."""

    psi: Array
    scale: Array | None
    share: Array
    live: Indices | None

    @classmethod
    def of(cls, psi: Array, scale: Array | None, weight: Array | None) -> _Rows:
        if weight is None:
            return cls(psi, scale, np.full(len(psi), 1.0 / len(psi)), None)
        live = np.flatnonzero(weight)
        share = weight / weight.sum()
        if live.size == len(psi):
            return cls(psi, scale, share, None)
        return cls(psi, scale, share[live], live)

    def columns(self, window: Indices) -> Array:
        """Return the values of some components, a line of memory each."""
        found = np.ascontiguousarray(self.psi.T[window])
        if self.live is not None:
            found = np.take(found, self.live, axis=1)
        if self.scale is not None:
            found *= self.scale[window][:, None]
        return found

    def values(self, mass: Array) -> Array:
        """Return the likelihood of every row under weights of all components."""
        found = self.psi @ (mass if self.scale is None else mass * self.scale)
        return np.asarray(found if self.live is None else found[self.live])

    def gradient(self, values: Array) -> Array:
        """Return the pull of every component, given the likelihood of the rows."""
        pull = self.share / values
        if self.live is not None:
            whole = np.zeros(len(self.psi))
            whole[self.live] = pull
            pull = whole
        found = pull @ self.psi
        return np.asarray(found if self.scale is None else found * self.scale)

    def keepers(self, mass: Array, starving: Flags) -> Indices:
        """Return the components that do most for the rows that are starving."""
        rows = np.flatnonzero(starving) if self.live is None else self.live[starving]
        by = mass if self.scale is None else mass * self.scale
        return np.unique((self.psi[rows] * by).argmax(axis=1))


def _warmed_up(rows: _Rows) -> Array:
    """Return weights of few components under which no row is given up."""
    n_components = rows.psi.shape[1]
    mass = np.full(n_components, 1.0 / n_components)
    for _ in range(_EM_STEPS):
        values = rows.values(mass)
        mass = mass * rows.gradient(values)
    if n_components > _FIRST:
        few = np.zeros(n_components)
        kept = np.argpartition(mass, -_FIRST)[-_FIRST:]
        few[kept] = mass[kept]
        starving = rows.values(few) < values / n_components
        if starving.any():
            kept = rows.keepers(mass, starving)
            few[kept] = mass[kept]
        mass = few
    return np.asarray(mass / mass.sum())


def _continued(rows: _Rows, start: Array) -> Array:
    """Return the weights to start from, with some for rows that they would give up."""
    mass = np.asarray(start / start.sum())
    values = rows.values(mass)
    if values.min() < _STARVING * values.max():
        equal = np.full(len(mass), 1.0 / len(mass))
        starving = values < _STARVING * rows.values(equal)
        if starving.any():
            kept = rows.keepers(equal, starving)
            mass *= 0.99
            mass[kept] += 0.01 / kept.size
    return mass


def _joining(gradient: Array, mass: Array, window: Indices) -> Indices:
    """Return the components outside the window that pull most, if they pull enough to matter."""
    outside = gradient.copy()
    outside[window] = -np.inf
    pulling = np.flatnonzero(outside > 1.0)
    most = max(_JOIN, int(np.count_nonzero(mass)))
    if pulling.size > most:
        pulling = pulling[np.argpartition(outside[pulling], -most)[-most:]]
    return pulling


@dataclass(frozen=True)
class _Found:
    """Where Newton's method ended among some components."""

    mass: Array
    values: Array
    n_iter: int
    stuck: bool


def _newton(columns: Array, share: Array, mass: Array, tol: float, max_iter: int) -> _Found:
    """Solve the problem among some components, given as lines of ``columns``."""
    values, damping, n_iter = mass @ columns, _DAMPING, 0
    root = np.sqrt(share)
    while True:
        gradient = columns @ (share / values)
        gap = float(gradient.max()) - 1.0
        if gap <= tol or n_iter >= max_iter or damping > 1.0:
            return _Found(mass, values, n_iter, damping > 1.0)
        n_iter += 1
        # Components that pull far less than the rest are not worth a line of the Gram matrix;
        # should they matter after all, the certificate brings them back.
        window = np.flatnonzero((mass > 0) | (gradient >= 1.0 - gap))
        scaled = columns[window] * (root / values)
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
    found = _nonnegative_quadratic(curvature, linear, np.flatnonzero(mass[window]))
    if found is None:
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
