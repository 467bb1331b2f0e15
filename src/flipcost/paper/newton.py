r"""Damped Newton steps for linear models with a smooth loss and a ridge penalty.

With :math:`z = (x, 1)` and row weights that add up to one, minimise

.. math::

    F(w) = \sum_i \omega_i\,\phi_i(w^\top z_i) + \lambda |w|^2 ,

the bias free of the penalty unless asked otherwise. A step solves
:math:`(Z^\top D Z + 2\lambda I)\,p = -\nabla F`, where :math:`D` holds the curvatures of the rows,
and is halved until :math:`F` falls enough (Armijo). A quadratic loss is solved by the first step.

Conventions
-----------
Coefficients have shape ``(d + 1,)``, the bias last. A *row loss* maps scores ``(n,)`` to
`RowTerms`: what each row adds, and its first two derivatives in the score. Inside, features are
centred (dense ones) and scaled, which changes nothing but the rounding: the norm of the gradient
is that of the scaled problem, so that its tolerance does not depend on units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse

from flipcost.core.arrays import Array

# A Hessian of this many features takes 800 MB, and its factorisation minutes.
MAX_FEATURES = 10_000
# Rows are weighed in blocks of about this many bytes, to stay in the cache and off the heap.
_BLOCK_BYTES = 2_000_000
# Below this ratio of squared pivots the Hessian has lost a direction to rounding.
_LOST = 1e-13
# A gradient within tolerance while a step still moves some score by this much is a flat slope
# towards infinity, not a minimum.
_FLAT = 0.1


@dataclass(frozen=True)
class RowTerms:
    """What rows add to the objective, and the derivatives of that in their scores.

    Parameters
    ----------
    value, slope, curvature : ndarray of shape (n,)
        The loss of each row with its first and second derivative.
    safe : ndarray of shape (n,), optional
        Non-negative curvatures to step with where the true ones leave no minimum.
    """

    value: Array
    slope: Array
    curvature: Array
    safe: Array | None = None


RowLoss: TypeAlias = Callable[["Array"], RowTerms]


@dataclass(frozen=True)
class LinearFit:
    """Coefficients and how far the steps got.

    Attributes
    ----------
    coefficients : ndarray of shape (d + 1,)
        The bias is last.
    objective : float
        Mean loss and penalty.
    gradient_norm : float
        Euclidean norm of the gradient of the scaled problem.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the gradient is within the tolerance.
    bounded : bool
        False when scores run off to infinity: there is no minimum, as with logistic loss without a
        penalty on classes that a hyperplane separates.
    """

    coefficients: Array
    objective: float
    gradient_norm: float
    n_iter: int
    converged: bool
    bounded: bool


@dataclass(frozen=True)
class _Point:
    """Scaled coefficients, their scores, and what the rows and the objective are there."""

    v: Array
    f: Array
    terms: RowTerms
    objective: float


class Design:
    """Rows made ready for many fits: checked, centred, scaled, weights normalised.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows. A scaled copy is kept; sparse rows stay sparse, and are scaled but not centred.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. The loss is averaged with them.

    Examples
    --------
    >>> from flipcost.paper.losses import link_rows
    >>> X = np.array([[-1.0], [0.0], [0.5], [2.0]])
    >>> fit = Design(X).minimize(link_rows("logistic", [False, True, False, True]), l2=0.1)
    >>> fit.coefficients.round(4), fit.converged
    (array([ 0.6636, -0.2393]), True)
    """

    def __init__(self, X: Any, sample_weight: ArrayLike | None = None) -> None:
        n, d = X.shape
        if d > MAX_FEATURES:
            msg = (
                f"Newton steps take at most {MAX_FEATURES} features; got {d}. Choose or project "
                "features first, or use an estimator made for wide data."
            )
            raise ValueError(msg)
        self.omega = _normalised(sample_weight, n)
        self.n_features = d
        if sparse.issparse(X):
            rows = sparse.csr_array(X, dtype=float)
            self._mean = np.zeros(d)
            self._scale = _spread(np.sqrt(self.omega @ rows.multiply(rows)), self._mean)
            scaled = rows @ sparse.diags_array(1 / self._scale)
            self._rows: Any = sparse.hstack([scaled, np.ones((n, 1))], format="csr")
        else:
            dense = np.asarray(X, dtype=float)
            self._mean = self.omega @ dense
            self._rows = np.empty((n, d + 1))
            np.subtract(dense, self._mean, out=self._rows[:, :d])
            variance = np.einsum("i,ij,ij->j", self.omega, self._rows[:, :d], self._rows[:, :d])
            self._scale = _spread(np.sqrt(variance), self._mean)
            self._rows[:, :d] /= self._scale
            self._rows[:, d] = 1.0

    def scores(self, coefficients: Array) -> Array:
        """Return the scores of the rows."""
        return np.asarray(self._rows @ self._to_scaled(coefficients))

    def minimize(
        self,
        rows: RowLoss,
        l2: float,
        *,
        penalize_bias: bool = False,
        start: Array | None = None,
        tol: float = 1e-8,
        max_iter: int = 200,
    ) -> LinearFit:
        """Minimise the weighted mean of a row loss plus ``l2`` times the squared coefficients.

        Parameters
        ----------
        rows : callable
            The row loss.
        l2 : float
            Penalty, at least 0.
        penalize_bias : bool, default=False
            Whether the bias is penalised too.
        start : ndarray of shape (d + 1,), optional
            Coefficients to start from; zeros when not given.
        tol : float, default=1e-8
            Largest norm of the gradient.
        max_iter : int, default=200
            Largest number of steps.

        Returns
        -------
        LinearFit
        """
        if not (l2 >= 0 and np.isfinite(l2)):
            msg = f"`l2` must be a number of at least 0; got {l2:g}."
            raise ValueError(msg)
        penalty = 2 * l2 * self._penalty(penalize_bias=penalize_bias)
        v = np.zeros(self.n_features + 1) if start is None else self._to_scaled(start)
        here = self._point(rows, penalty, v, np.asarray(self._rows @ v))
        flat, n_iter, bounded = 0, 0, True
        while True:
            slope = self.omega * here.terms.slope
            gradient = np.asarray(self._rows.T @ slope) + penalty @ here.v
            norm = float(np.linalg.norm(gradient))
            if n_iter == max_iter:
                break
            step = -self._newton(here.terms, penalty, gradient)
            df = np.asarray(self._rows @ step)
            if norm <= tol:
                if not np.max(np.abs(df[self.omega > 0]), initial=0.0) > _FLAT:
                    break
                flat += 1
                if flat == 3 and not l2 > 0:
                    bounded = False
                    break
            there = self._line_search(rows, penalty, here, (step, df), float(gradient @ step))
            if there is None:  # rounding is all that is left to gain
                break
            here = there
            n_iter += 1
        found = self._from_scaled(here.v)
        return LinearFit(found, here.objective, norm, n_iter, norm <= tol, bounded)

    def _point(self, rows: RowLoss, penalty: Array, v: Array, f: Array) -> _Point:
        terms = rows(f)
        return _Point(v, f, terms, float(self.omega @ terms.value + 0.5 * v @ penalty @ v))

    def _line_search(
        self,
        rows: RowLoss,
        penalty: Array,
        here: _Point,
        direction: tuple[Array, Array],
        descent: float,
    ) -> _Point | None:
        """Halve the step until the objective falls enough; None when it never does."""
        step, df = direction
        slack = 8 * np.finfo(float).eps * abs(here.objective)
        length = 1.0
        for _ in range(60):
            there = self._point(rows, penalty, here.v + length * step, here.f + length * df)
            if there.objective <= here.objective + 1e-4 * length * descent + slack:
                return there
            length /= 2
        return None

    def _newton(self, terms: RowTerms, penalty: Array, gradient: Array) -> Array:
        """Return the Newton direction, or the nearest thing that leads downhill."""
        hessian = self._gram(terms.curvature) + penalty
        solved = _solve_positive(hessian, gradient)
        if solved is None and terms.safe is not None:
            hessian = self._gram(terms.safe) + penalty
            solved = _solve_positive(hessian, gradient)
        return _solve_semidefinite(hessian, gradient) if solved is None else solved

    def _gram(self, curvature: Array) -> Array:
        weight = self.omega * curvature
        if sparse.issparse(self._rows):
            return np.asarray((self._rows.T @ self._rows.multiply(weight[:, None])).toarray())
        width = self.n_features + 1
        block = max(1, _BLOCK_BYTES // (8 * width))
        total = np.zeros((width, width))
        # A product of an array with its own transpose takes half the work.
        convex = bool(weight.min() >= 0)
        factor = np.sqrt(weight) if convex else weight
        for first in range(0, len(weight), block):
            part = self._rows[first : first + block]
            scaled = part * factor[first : first + block, None]
            total += scaled.T @ (scaled if convex else part)
        return total

    def _penalty(self, *, penalize_bias: bool) -> Array:
        """Return the squared norm of the coefficients as a quadratic form in the scaled ones."""
        form = np.diag(np.append(self._scale**-2.0, 0.0))
        if penalize_bias:
            bias = np.append(-self._mean / self._scale, 1.0)
            form += np.outer(bias, bias)
        return form

    def _to_scaled(self, coefficients: Array) -> Array:
        w, b = coefficients[:-1], coefficients[-1]
        return np.append(w * self._scale, b + w @ self._mean)

    def _from_scaled(self, v: Array) -> Array:
        w = v[:-1] / self._scale
        return np.append(w, v[-1] - w @ self._mean)


def _normalised(sample_weight: ArrayLike | None, n: int) -> Array:
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weight = np.asarray(sample_weight, dtype=float)
    total = weight.sum()
    if not (total > 0 and np.isfinite(total) and weight.min() >= 0):
        msg = "Weights must be finite, none negative, and one positive at least."
        raise ValueError(msg)
    return np.asarray(weight / total)


def _spread(scale: Array, mean: Array) -> Array:
    """Return scales with 1 for columns that are constant but for rounding."""
    constant = scale <= 10 * np.finfo(float).eps * np.abs(mean)
    return np.where(constant, 1.0, scale)


def _solve_positive(hessian: Array, gradient: Array) -> Array | None:
    """Solve by Cholesky; None when the matrix is not safely positive definite."""
    factor, info = linalg.lapack.dpotrf(hessian, lower=1)
    if info != 0:
        return None
    pivots = np.diagonal(factor) ** 2
    if not pivots.min() > _LOST * pivots.max():
        return None
    return np.asarray(linalg.cho_solve((factor, True), gradient))


def _solve_semidefinite(hessian: Array, gradient: Array) -> Array:
    """Return the shortest solution, leaving out directions that have no curvature."""
    values, vectors = linalg.eigh(hessian)
    kept = values > max(_LOST * values[-1], np.finfo(float).tiny)
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ gradient) / values[kept]))
