r"""The closed form: Proposition 1 of the paper as the minimizer of its stated objective.

With :math:`z = (x, 1)`, class weights :math:`W_\pm` and :math:`m = W_+ + W_-`, minimise over
:math:`w = (\beta, b)`

.. math::

    \frac1m \Bigl[\sum_{+} (1-\alpha)(1 - w^\top z)^2
    + \sum_{-} \frac{\alpha}{\gamma} (1 + \gamma w^\top z)^2\Bigr] + \lambda |w|^2 .

The solution is :math:`(A + m\lambda I)^{-1} c` with
:math:`A = (1-\alpha) M_+ + \gamma\alpha M_-` and :math:`c = (1-\alpha) s_+ - \alpha s_-`, where
:math:`M_\pm` are the raw second moments of :math:`z` in each class and :math:`s_\pm` their last
columns. (The paper prints :math:`\lambda I` in the solution, which belongs to the summed loss.)

Solving around an offset
------------------------
Write the score as :math:`f = \beta^\top (x - \mu) + t` around the centre :math:`\mu` of :math:`A`.
With :math:`a` the total weight in :math:`A`, :math:`S` its scatter about :math:`\mu`, :math:`c_0`
the sum of the targets, :math:`r` their cross moment about :math:`\mu`, and penalties :math:`L` on
:math:`\beta` and :math:`L_0` on :math:`b` (equal, or :math:`L_0 = 0`), eliminating :math:`t` gives

.. math::

    (S + L I + \kappa\mu\mu^\top)\,\beta = r + \sigma\mu, \qquad
    \kappa = \frac{L_0 a}{a + L_0}, \quad \sigma = \frac{L_0 c_0}{a + L_0},

and with :math:`u = (S + LI)^{-1} r`, :math:`v = (S + LI)^{-1}\mu`

.. math::

    \beta = u + v\,\frac{\sigma - \kappa\mu^\top u}{1 + \kappa\mu^\top v}, \qquad
    t = \frac{c_0 + L_0\mu^\top\beta}{a + L_0}, \qquad b = t - \mu^\top\beta .

No difference of large numbers is left in it: features may sit at any offset.

Label noise
-----------
Noise mixes :math:`M_+` and :math:`M_-`, and leaves their sum alone. Along the generalised
eigenvectors of :math:`\tilde M_+` against that sum, :math:`\tilde M_+` has eigenvalues
:math:`\tilde\theta \in [0, 1]`, and denoising maps each of them as it maps a probability:
:math:`\theta = (\tilde\theta - \rho_-)/(1 - \rho_+ - \rho_-)`. Whatever the clean labels are,
:math:`\theta \in [0, 1]`; sampling can throw the estimate out of that range, and the system with it
out of definiteness. We clip :math:`\theta` to [0, 1]. That projects the denoised moments onto the
matrices between zero and the total, a convex set that holds the moments of every labelling of these
very rows, the clean one too, so it never leads away from it (in the norm of the total moments). It
has no tuning constant, does not depend on the units of the features, changes continuously with the
rate, and does nothing where the denoised moments are possible as they are; where it acts, it trades
unbiasedness for variance. The objective is then bounded below and convex at every cost and margin.
How many directions were clipped is reported.

Costs by row
------------
With :math:`a_i` what a miss on row i costs and :math:`b_i` what a false alarm does, in units of
the mean of :math:`a_i + b_i`, the closed form minimises

.. math::

    \frac1m\Bigl[\sum_{y_i = +1} a_i (1 - w^\top z_i)^2 + \sum_{y_i = -1}
    \frac{b_i}{\gamma}(1 + \gamma w^\top z_i)^2\Bigr] + \lambda|w|^2,

which at one price is the objective of `flipcost.core.solve`. It needs the moments of positive rows
weighed by :math:`a_i` and of negative ones weighed by :math:`b_i`. A noisy label does not say which
of the two weights is meant, so both sets of moments are gathered of rows of *either* label: noise
mixes the classes within each set, and within each set it is undone,

.. math::

    M^a_+ = \frac{(1-\rho_-)\tilde M^a_+ - \rho_-\tilde M^a_-}{1-\rho_+-\rho_-}, \qquad
    M^b_- = \frac{(1-\rho_+)\tilde M^b_- - \rho_+\tilde M^b_+}{1-\rho_+-\rho_-},

without bias whatever prices depend on, if labels were flipped independently of them given the
class. Weights are kept at twice these, and systems are solved at a cost of one half. What denoising
throws out of the possible is clipped as in `flipcost.core.solve`, each set against its own total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from flipcost.core.arrays import Array, rounding_spread, unit_weights
from flipcost.core.costs import CostLike, RowCosts, cost_share, margin_value
from flipcost.core.moments import ClassMoments, Matrix, fold_moments
from flipcost.core.noise import NoiseRateLike, clean_eta, rate_pair, unmixing_matrix

# Grids are solved in stacks of systems of about this many bytes.
_STACK_BYTES = 64_000_000
# How far outside [0, 1] a share must fall to count as clipped, not as rounded.
_SHARE_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class DenoisedSystem:
    """Second moments of both classes about the common centre, denoised and made possible.

    Attributes
    ----------
    centre : ndarray of shape (d,)
        Weighted mean of all rows.
    second : ndarray of shape (2, d + 1, d + 1)
        Second moments of ``(x - centre, 1)`` per class, each positive semidefinite.
    total_weight : float
        Weight of all rows.
    shares : ndarray
        Denoised shares of the positive class along each direction, before they were clipped; empty
        without noise.
    unclipped : ndarray of shape (2, d + 1, d + 1), or None
        The second moments before clipping; None where nothing was clipped.
    """

    centre: Array
    second: Array
    total_weight: float
    shares: Array
    unclipped: Array | None = None

    @property
    def n_clipped(self) -> int:
        """Directions in which the denoised moments were impossible and were corrected."""
        outside = np.maximum(-self.shares, self.shares - 1) > _SHARE_TOLERANCE
        return int(np.count_nonzero(outside))

    def is_indefinite(self, cost: CostLike, margin: float) -> bool:
        """Tell whether the system of a cost and margin would not be definite, had we not clipped.

        Examples
        --------
        >>> from flipcost.core.moments import ClassMoments
        >>> X = np.array([[0.0], [1.0], [2.0], [9.0]])
        >>> moments = ClassMoments.from_rows(X, [False, False, True, True])
        >>> system = denoised_systems(moments, [0.3])[0]
        >>> system.is_indefinite(0.1, 1.0), system.is_indefinite(0.5, 1.0)
        (True, False)
        """
        if self.unclipped is None:
            return False
        alpha, gamma = cost_share(cost), margin_value(margin)
        quadratic = gamma * alpha * self.unclipped[0] + (1 - alpha) * self.unclipped[1]
        scale = np.sqrt(np.abs(quadratic.diagonal()))
        scale = np.where(scale > 0, scale, 1.0)
        values = np.linalg.eigvalsh(quadratic / np.outer(scale, scale))
        return bool(values[0] < -_SHARE_TOLERANCE)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    r"""The system of one cost and margin around its own centre; the symbols are the module's.

    Attributes
    ----------
    weight, target : float
        Total weight :math:`a` of the quadratic part; sum :math:`c_0` of the targets.
    centre, cross : ndarray of shape (d,)
        Centre :math:`\mu`; cross moment :math:`r` of rows and targets about it.
    scatter : ndarray of shape (d, d)
        Scatter :math:`S` about the centre.
    total_weight : float
        Weight :math:`m` of all rows, which turns a penalty on the mean into one on the sum.
    """

    weight: float
    target: float
    centre: Array
    cross: Array
    scatter: Array
    total_weight: float


def denoised_systems(
    moments: ClassMoments | PricedMoments, noise_rates: Sequence[NoiseRateLike]
) -> list[DenoisedSystem]:
    """Denoise moments at several rates; one eigendecomposition serves them all.

    Moments of rows with costs of their own are solved at a cost of one half: their weights hold the
    costs already.

    Raises
    ------
    ValueError
        When a rate is impossible for the labels; see `ClassMoments.denoise`.

    Examples
    --------
    >>> from flipcost.core.moments import ClassMoments
    >>> X, labels = np.array([[0.0], [1.0], [3.0], [4.0]]), [False, True, False, True]
    >>> moments = ClassMoments.from_rows(X, labels)
    >>> denoised_systems(moments, [None, 0.2])[1].second[:, -1, -1]
    array([2., 2.])

    The same costs on all rows are one cost:

    >>> costs = RowCosts(np.full(4, 80.0), np.full(4, 20.0))
    >>> systems = denoised_systems(row_moments(X, labels, costs.relative())[0], [0.1])
    >>> path_of_systems(systems, [0.5], [1.0], [0.1]).ravel().round(6)
    array([0.18217 , 0.139455])
    >>> solve(moments, cost=0.2, noise_rate=0.1).round(6)
    array([0.18217 , 0.139455])
    """
    # The moments that each class is denoised from, the negative one's first: often the same.
    if isinstance(moments, PricedMoments):
        parts, centre = [moments.alarm, moments.miss], (moments.miss + moments.alarm).centre()
    else:
        parts, centre = [moments], moments.centre()
    noisy, total = [part.about(centre) for part in parts], float(np.sum(moments.weight))
    for part in noisy:
        drop_constants(part, centre)
    if not total > 0:
        msg = "`moments` must be of rows that have weight; these are of none. Gather rows first."
        raise ValueError(msg)
    spectra: list[tuple[Array, Array]] = []
    systems = []
    for rate in noise_rates:
        if rate_pair(rate) == (0.0, 0.0):
            second = noisy[0] if len(noisy) == 1 else np.stack([noisy[0][0], noisy[1][1]])
            systems.append(DenoisedSystem(centre, second, total, np.empty(0)))
            continue
        moments.check_possible(rate)
        spectra = spectra or [positive_shares(part) for part in noisy]
        unmix = unmixing_matrix(rate)
        clean = np.stack([np.tensordot(unmix[c], noisy[-c], axes=1) for c in (0, 1)])
        shares = [clean_eta(share, rate, clip=False) for share, _ in spectra]
        system = DenoisedSystem(centre, clean, total, np.concatenate(shares))
        if system.n_clipped:
            excess = [
                (directions * (share - np.clip(share, 0.0, 1.0))) @ directions.T
                for share, (_, directions) in zip(shares, spectra, strict=True)
            ]
            mended = np.stack([clean[0] + excess[0], clean[1] - excess[-1]])
            system = replace(system, second=mended, unclipped=clean)
        systems.append(system)
    return systems


def drop_constants(second: Array, centre: Array) -> None:
    """Zero, in place, what rounding leaves of features that do not vary.

    A division by it would give them coefficients of any size.

    Examples
    --------
    >>> second = np.array([[[1e-30, 0.0], [0.0, 2.0]]] * 2)
    >>> drop_constants(second, np.array([1e6]))
    >>> second[0, 0, 0]
    np.float64(0.0)
    """
    spread = second[0].diagonal()[:-1] + second[1].diagonal()[:-1]
    total = second[0, -1, -1] + second[1, -1, -1]
    constant = np.flatnonzero(spread <= total * rounding_spread(centre) ** 2)
    if len(constant):
        second[:, constant, :] = 0.0
        second[:, :, constant] = 0.0


def positive_shares(noisy: Array) -> tuple[Array, Array]:
    """Diagonalise the positive class' moments against those of all rows.

    Returns shares in [0, 1] and directions B (as columns): the positive class has the moments
    ``B diag(shares) B.T`` and all rows have ``B B.T``.

    Examples
    --------
    >>> positive_shares(np.array([[[3.0]], [[1.0]]]))[0]
    array([0.25])
    """
    total = noisy[0] + noisy[1]
    scale = np.sqrt(np.maximum(total.diagonal(), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = eigh(total / np.outer(scale, scale))
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    root = np.sqrt(values[kept])
    whiten = vectors[:, kept] / scale[:, None] / root
    shares, rotation = eigh(whiten.T @ noisy[1] @ whiten)
    directions = (vectors[:, kept] * scale[:, None] * root) @ rotation
    directions[total.diagonal() <= 0] = 0.0  # exactly: eigenvectors are so to rounding only
    return shares, directions


def normal_equations(system: DenoisedSystem, cost: CostLike, margin: float) -> NormalEquations:
    """Weigh the class moments by a cost and a margin, and centre the result.

    Examples
    --------
    >>> from flipcost.core.moments import ClassMoments
    >>> moments = ClassMoments.from_rows(np.array([[0.0], [4.0]]), [False, True])
    >>> equations = normal_equations(denoised_systems(moments, [None])[0], 0.25, 1.0)
    >>> equations.centre
    array([3.])
    """
    alpha, gamma = cost_share(cost), margin_value(margin)
    negative, positive = system.second
    quadratic = gamma * alpha * negative
    part = (1 - alpha) * positive
    quadratic += part
    linear = (1 - alpha) * positive[-1] - alpha * negative[-1]
    weight = float(quadratic[-1, -1])
    offset = quadratic[:-1, -1] / weight
    target = float(linear[-1])
    # In memory that is there: of thousands of features, asking for more takes longer than sums do.
    shift = np.outer(offset, offset, out=part[:-1, :-1])
    shift *= weight
    quadratic[:-1, :-1] -= shift
    return NormalEquations(
        weight=weight,
        target=target,
        centre=system.centre + offset,
        cross=linear[:-1] - target * offset,
        scatter=quadratic[:-1, :-1],
        total_weight=system.total_weight,
    )


def solve(
    moments: ClassMoments,
    cost: CostLike = 0.5,
    margin: float = 1.0,
    l2: float = 0.1,
    *,
    noise_rate: NoiseRateLike = None,
    l2_scale: Literal["mean", "sum"] = "mean",
    penalize_bias: bool = True,
) -> Array:
    """Return the coefficients of the uneven-margin squared-loss classifier.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the rows with their labels as observed.
    cost : float or Costs, default=0.5
        Share of the cost that a false positive bears.
    margin : float, default=1.0
        Uneven margin of the negative class.
    l2 : float, default=0.1
        Ridge penalty. At zero, and wherever features are collinear to rounding, the solution of
        least norm in standardised features is taken.
    noise_rate : float, pair of floats, or None
        None takes the labels as they are: the paper's estimator, which label noise *does* move
        unless the cost is 1/2 and the margin 1. A rate denoises the moments first.
    l2_scale : {"mean", "sum"}, default="mean"
        Whether the penalty goes with the mean loss, as in the paper's objective, or with the sum,
        as in its printed solution.
    penalize_bias : bool, default=True
        Whether the penalty includes the bias, as in the paper.

    Returns
    -------
    ndarray of shape (d + 1,)
        Coefficients, the bias last.

    Examples
    --------
    >>> from flipcost.core.moments import ClassMoments
    >>> X = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> moments = ClassMoments.from_rows(X, [False, False, True, True])
    >>> solve(moments, cost=0.5, l2=0.0).round(6)
    array([ 0.6, -1.2])
    """
    path = solve_path(
        moments,
        [cost],
        [margin],
        [l2],
        [noise_rate],
        l2_scale=l2_scale,
        penalize_bias=penalize_bias,
    )
    return np.asarray(path[0, 0, 0, 0])


def solve_path(
    moments: ClassMoments,
    costs: Sequence[CostLike],
    margins: Sequence[float],
    l2s: Sequence[float],
    noise_rates: Sequence[NoiseRateLike] = (None,),
    *,
    l2_scale: Literal["mean", "sum"] = "mean",
    penalize_bias: bool = True,
) -> Array:
    """Solve a whole grid from one set of moments, without reading a row again.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the rows with their labels as observed.
    costs, margins, l2s, noise_rates : sequence
        Values as in `solve`.
    l2_scale, penalize_bias
        As in `solve`.

    Returns
    -------
    ndarray of shape (n_costs, n_margins, n_l2s, n_noise_rates, d + 1)
        Coefficients, the bias last.

    Examples
    --------
    >>> from flipcost.core.moments import ClassMoments
    >>> moments = ClassMoments.from_rows(np.array([[0.0], [1.0], [3.0], [4.0]]), [0, 0, 1, 1])
    >>> solve_path(moments, [0.2, 0.5], [1.0], [0.01, 0.1, 1.0], [None, 0.1]).shape
    (2, 1, 3, 2, 2)
    """
    systems = denoised_systems(moments, noise_rates)
    return path_of_systems(
        systems, costs, margins, l2s, l2_scale=l2_scale, penalize_bias=penalize_bias
    )


def path_of_systems(
    systems: Sequence[DenoisedSystem],
    costs: Sequence[CostLike],
    margins: Sequence[float],
    l2s: Sequence[float],
    *,
    l2_scale: Literal["mean", "sum"] = "mean",
    penalize_bias: bool = True,
) -> Array:
    """Solve the grid of `solve_path` from systems that are denoised already.

    Examples
    --------
    >>> from flipcost.core.moments import ClassMoments
    >>> moments = ClassMoments.from_rows(np.array([[0.0], [1.0], [3.0], [4.0]]), [0, 0, 1, 1])
    >>> path_of_systems(denoised_systems(moments, [None]), [0.5], [1.0], [0.1]).shape
    (1, 1, 1, 1, 2)
    """
    penalties = np.array([penalty_value(l2) for l2 in l2s])
    if l2_scale not in ("mean", "sum"):
        msg = f"`l2_scale` must be 'mean' or 'sum'; got {l2_scale!r}."
        raise ValueError(msg)
    d = len(systems[0].centre)
    path = np.empty((len(costs), len(margins), len(penalties), len(systems), d + 1))
    cells = [
        (i, j, k)
        for k in range(len(systems))
        for i in range(len(costs))
        for j in range(len(margins))
    ]
    step = max(1, _STACK_BYTES // (8 * max(d, 1) ** 2 * max(len(penalties), 1)))
    for start in range(0, len(cells), step):
        inside = cells[start : start + step]
        equations = [normal_equations(systems[k], costs[i], margins[j]) for i, j, k in inside]
        solutions = _solve_stack(
            equations, penalties, mean=l2_scale == "mean", penalize_bias=penalize_bias
        )
        for (i, j, k), solution in zip(inside, solutions, strict=True):
            path[i, j, :, k] = solution
    return path


def penalty_value(l2: float) -> float:
    """Return a penalty as a number; refuse what is none.

    Examples
    --------
    >>> penalty_value(1)
    1.0
    """
    value = float(l2)
    if not (value >= 0 and np.isfinite(value)):
        msg = (
            f"`l2` must be zero or a positive number; got {value:g}. "
            "Use 0 for no penalty, and a larger number for a stronger one."
        )
        raise ValueError(msg)
    return value


def _solve_stack(
    equations: Sequence[NormalEquations], penalties: Array, *, mean: bool, penalize_bias: bool
) -> Array:
    """Solve each system at each penalty; shape (systems, penalties, d + 1)."""
    weight = np.array([e.weight for e in equations])[:, None]
    target = np.array([e.target for e in equations])[:, None]
    centre = np.stack([e.centre for e in equations])[:, None, :]
    cross = np.stack([e.cross for e in equations])[:, None, :]
    per_row = np.array([e.total_weight if mean else 1.0 for e in equations])[:, None]
    ridge = per_row * penalties
    bias_ridge = ridge if penalize_bias else np.zeros_like(ridge)

    d = centre.shape[-1]
    matrix = np.empty((*ridge.shape, d, d))
    for k, e in enumerate(equations):
        matrix[k] = e.scatter
    np.einsum("...ii->...i", matrix)[...] += ridge[..., None]
    right = np.broadcast_to(np.stack([cross, centre], axis=-1), (*ridge.shape, d, 2))
    u, v = np.moveaxis(solve_definite(matrix, right), -1, 0)

    kappa = bias_ridge * weight / (weight + bias_ridge)
    sigma = bias_ridge * target / (weight + bias_ridge)
    along_u, along_v = (centre * u).sum(-1), (centre * v).sum(-1)
    beta = u + v * ((sigma - kappa * along_u) / (1 + kappa * along_v))[..., None]
    along_beta = (centre * beta).sum(-1)
    t = (target + bias_ridge * along_beta) / (weight + bias_ridge)
    solution = np.concatenate([beta, (t - along_beta)[..., None]], axis=-1)
    _check_finite(solution)
    return solution


def _check_finite(*numbers: Array) -> None:
    """Refuse equations whose numbers are too large to be computed with, or their solutions."""
    if not all(np.isfinite(found).all() for found in numbers):
        msg = (
            "The equations hold numbers beyond what can be computed with: features, weights, "
            "`margin` and `l2` must be of ordinary size. Standardize the features, and divide "
            "weights by their mean."
        )
        raise ValueError(msg)


def solve_definite(matrix: Array, right: Array) -> Array:
    """Solve stacks of positive semidefinite systems, by pseudo-inverse where they are singular.

    Whether a system counts as singular is judged at unit diagonal, so that it does not depend on
    the units of the features; so is which of its solutions is the smallest.

    Examples
    --------
    >>> solve_definite(np.diag([2.0, 0.0]), np.array([[4.0], [0.0]]))
    array([[2.],
           [0.]])
    """
    d = matrix.shape[-1]
    if d == 0:
        return right
    diagonal = np.maximum(np.diagonal(matrix, axis1=-2, axis2=-1), 0.0)
    # Rounding in the moments leaves about this much in a direction without variance.
    tolerance = 16 * d * np.finfo(float).eps
    solution = _solve_by_cholesky(matrix, right, tolerance * diagonal)
    if solution is not None:
        return solution
    _check_finite(matrix, right)
    scale = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    values, vectors = np.linalg.eigh(matrix / (scale[..., :, None] * scale[..., None, :]))
    kept = values > tolerance * values[..., -1:]
    inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
    rotated = np.swapaxes(vectors, -1, -2) @ (right / scale[..., None])
    solution = vectors @ (inverse[..., None] * rotated) / scale[..., None]
    # A feature without variance has no weight at all, not one of rounding times its offset.
    return np.where(diagonal[..., None] > 0, solution, 0.0)


def _solve_by_cholesky(matrix: Array, right: Array, least: Array) -> Array | None:
    """Solve stacks of definite systems; None where one has a pivot that is not above its least.

    One factorization serves to judge and to solve; stacked, numpy would need two.
    """
    d, n = right.shape[-2:]
    solution = np.empty((right.size // (d * n), n, d))
    systems = zip(
        matrix.reshape(-1, d, d), right.reshape(-1, d, n), least.reshape(-1, d), strict=True
    )
    for k, (a, b, low) in enumerate(systems):
        # Of a symmetric matrix the transpose is the same, in the layout that LAPACK reads.
        factor, found, info = dposv(a.T, b, lower=1)
        if info != 0 or not (factor.diagonal() ** 2 > low).all():
            return None
        solution[k] = found.T
    return np.swapaxes(solution, -1, -2).reshape(right.shape)


@dataclass(frozen=True, eq=False)
class PricedMoments:
    """Moments of rows of either label, weighed by what a miss costs, and by what an alarm does.

    Attributes
    ----------
    miss, alarm : ClassMoments
        Of all rows by their noisy labels, weighed by twice either price.
    weight : float
        Weight of the rows, prices aside.

    Examples
    --------
    >>> X, labels = np.array([[0.0], [1.0], [3.0], [4.0]]), [False, False, True, True]
    >>> prices = RowCosts(np.array([8.0, 8.0, 8.0, 24.0]), np.full(4, 2.0))
    >>> moments = row_moments(X, labels, prices.relative())[0]
    >>> moments.observed().weight.round(4), moments.weight
    (array([0.5714, 4.5714]), 4.0)
    """

    miss: ClassMoments
    alarm: ClassMoments
    weight: float

    @classmethod
    def zeros(cls, n_features: int) -> PricedMoments:
        """Return the moments of no rows."""
        return cls(ClassMoments.zeros(n_features), ClassMoments.zeros(n_features), 0.0)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.miss.n_features

    def merge(self, other: PricedMoments) -> PricedMoments:
        """Return the moments of both sets of rows, whose prices are in the same units."""
        return PricedMoments(
            self.miss + other.miss, self.alarm + other.alarm, self.weight + other.weight
        )

    def observed(self) -> ClassMoments:
        """Return moments by labels as they are: of positive ones by misses, of others by alarms."""
        weight, mean, scatter = (
            np.stack([getattr(self.alarm, name)[0], getattr(self.miss, name)[1]])
            for name in ("weight", "mean", "scatter")
        )
        return ClassMoments(self.miss.n_rows, weight, mean, scatter)

    def is_possible(self, noise_rate: NoiseRateLike) -> bool:
        """Tell whether a noise rate leaves positive rows that cost, and negative ones."""
        unmix = unmixing_matrix(noise_rate)
        return bool(unmix[1] @ self.miss.weight > 0 and unmix[0] @ self.alarm.weight > 0)

    def check_possible(self, noise_rate: NoiseRateLike) -> None:
        """Raise a `ValueError` that says why, when a noise rate is impossible for the labels."""
        if self.is_possible(noise_rate):
            return
        rho_pos, rho_neg = rate_pair(noise_rate)
        msg = (
            f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) is impossible for these labels and costs: "
            "with so many flips, what rows of a class cost would come out below nothing. Give a "
            "smaller rate, or one for each class as (rho_pos, rho_neg)."
        )
        raise ValueError(msg)


def row_moments(
    X: Matrix,
    positive: ArrayLike,
    prices: RowCosts | None = None,
    folds: ArrayLike | None = None,
    n_folds: int = 1,
    sample_weight: ArrayLike | None = None,
) -> list[ClassMoments] | list[PricedMoments]:
    """Gather the moments of every fold; where costs differ by row, in two passes over the rows.

    Arguments are as in `flipcost.core.moments.fold_moments`; costs are `RowCosts.relative`.

    Examples
    --------
    >>> X, costs = np.arange(4.0)[:, None], RowCosts(np.full(4, 3.0), np.ones(4))
    >>> parts = row_moments(X, [0, 1, 0, 1], costs.relative(), [0, 0, 1, 1], n_folds=2)
    >>> [part.weight for part in parts]
    [2.0, 2.0]
    """
    if prices is None:
        return fold_moments(X, positive, folds, n_folds, sample_weight)
    n = len(np.asarray(positive))
    weight = unit_weights(sample_weight, n)
    by_miss, by_alarm = (
        fold_moments(X, positive, folds, n_folds, 2 * weight * part)
        for part in (prices.miss, prices.alarm)
    )
    place = np.zeros(n, np.intp) if folds is None else np.asarray(folds)
    totals = [float(weight[place == k].sum()) for k in range(n_folds)]
    return [PricedMoments(*parts) for parts in zip(by_miss, by_alarm, totals, strict=True)]
