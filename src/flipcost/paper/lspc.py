r"""Class probabilities by least squares (LSPC), every penalty and every left-out row at once.

The probability of class :math:`y` is modelled as :math:`q_y(x) = \theta_y^\top \varphi_y(x)` with
kernels :math:`\varphi_y` on centres from that class (or on centres common to all). Minimising the
squared distance to the true probability, :math:`\tfrac12 \sum_y E[(q_y - p(y \mid x))^2]`, with a
ridge penalty splits into one linear system per class,

.. math::

    \theta_y = (H_y + \lambda I)^{-1} h_y, \qquad
    H_y = \frac1m \sum_{i=1}^m \varphi_y(x_i) \varphi_y(x_i)^\top, \qquad
    h_y = \frac1m \sum_{i : y_i = y} \varphi_y(x_i),

where :math:`H_y` runs over **all** rows. Printed with :math:`\varphi(x_i, y_i)` in place of
:math:`\varphi(x_i, y)` it would run over the rows of class :math:`y` alone, and :math:`q_y` would
no longer estimate the probability. Outputs are rounded up to zero and normalised.

The same system is the ridge regression of the indicator of class :math:`y` on
:math:`\varphi_y(x)`: the "minimum squared deviation" estimator of the paper's section F.5 is LSPC.

One eigendecomposition of :math:`H_y` serves every penalty, and rows are left out in closed form:
with :math:`t_i` the indicator and :math:`s_i` the leverage of row :math:`i`,
:math:`q_y^{(-i)}(x_i) = t_i - (t_i - q_y(x_i)) / (1 - s_i)`, exact for fixed centres and a
fixed total penalty :math:`m \lambda`.

Conventions
-----------
``bases`` holds one array of kernel values (or squared distances) per class, each with a row per
data row, in the order of the class codes 0, 1, ...; or a single array when all classes share their
centres. ``l2`` is :math:`\lambda` above, on the scale of a mean over rows. Code that adds its
penalty to the sum over rows instead has :math:`m \lambda`.

References
----------
Sugiyama, "Superfast-trainable multi-class probabilistic classifier by least-squares posterior
fitting", IEICE Transactions E93-D, 2010. Yamada, Sugiyama, Wichern and Simm, "Improving the
accuracy of least-squares probabilistic classifiers", IEICE Transactions E94-D, 2011 (rounding of
outputs instead of coefficients). Tripathi and Hemachandra, "Cost Sensitive Learning in the Presence
of Symmetric Label Noise", PAKDD 2019, sections F.4 and F.5 of the supplement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from flipcost._validation import (
    Interval,
    StrOptions,
    check_is_fitted,
    check_weights,
    fit_context,
    validate_data,
)
from flipcost.core.arrays import Array
from flipcost.estimators.base import generator
from flipcost.paper.kernels import (
    KERNELS,
    KernelClassifier,
    Rows,
    ascending,
    encode_classes,
    gaussian_kernel,
    squared_distances,
)

# Rows that are rotated at a time: what comes of them stays in the cache.
_BLOCK_ROWS = 1_024


@dataclass(frozen=True)
class RidgeSpectrum:
    """Ridge regression on one set of columns, diagonalised: all penalties are cheap from here.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_columns,)
        Eigenvalues of the weighted Gram matrix, not negative.
    eigenvectors : ndarray of shape (n_columns, n_columns)
        Its eigenvectors.
    columns : ndarray of shape (n_rows, n_columns)
        The columns.
    weight : ndarray of shape (n_rows,)
        Row weights.

    Examples
    --------
    >>> spectrum = RidgeSpectrum.from_columns(np.array([[1.0], [2.0]]))
    >>> spectrum.coefficients(np.array([[1.0], [3.0]]), np.array([0.5, 1.0])).ravel()
    array([1.16666667, 1.        ])
    """

    eigenvalues: Array
    eigenvectors: Array
    columns: Array
    weight: Array

    @classmethod
    def from_columns(cls, columns: Array, weight: Array | None = None) -> RidgeSpectrum:
        """Diagonalise the Gram matrix of ``columns``."""
        weights = np.ones(len(columns)) if weight is None else weight
        scaled = columns * np.sqrt(weights)[:, None]
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        return cls(np.maximum(values, 0.0), vectors, columns, weights)

    def _shrinkage(self, l2s: Array) -> Array:
        return np.asarray(1.0 / (self.eigenvalues[:, None] + self.weight.sum() * l2s))

    def _coordinates(self, targets: Array, l2s: Array) -> Array:
        """Return solutions in the eigenbasis, shape (n_columns, n_targets, n_l2s)."""
        sums = self.eigenvectors.T @ (self.columns.T @ (targets * self.weight[:, None]))
        return np.asarray(sums[:, :, None] * self._shrinkage(l2s)[:, None, :])

    def coefficients(self, targets: Array, l2s: Array) -> Array:
        """Return coefficients, shape (n_columns, n_targets, n_l2s)."""
        coordinates = self._coordinates(targets, l2s)
        return np.asarray(np.tensordot(self.eigenvectors, coordinates, axes=1))

    def left_out(self, targets: Array, l2s: Array) -> Array:
        """Return what each row's prediction is without it, shape (n_rows, n_targets, n_l2s)."""
        coordinates, shrinkage = self._coordinates(targets, l2s), self._shrinkage(l2s)
        found = np.empty((*targets.shape, len(l2s)))
        for start in range(0, len(found), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            rotated = self.columns[part] @ self.eigenvectors
            fitted = np.tensordot(rotated, coordinates, axes=1)
            rotated *= rotated
            leverage = rotated @ shrinkage
            leverage *= self.weight[part, None]
            members = targets[part, :, None]
            found[part] = members - (members - fitted) / (1.0 - leverage)[:, None, :]
        return found


def lspc_fit(
    bases: Sequence[Array], codes: ArrayLike, l2: float, *, sample_weight: Array | None = None
) -> list[Array]:
    """Return the coefficients of every class at one penalty.

    Examples
    --------
    >>> phi = np.array([[1.0, 0.5], [0.5, 1.0], [0.5, 1.0]])
    >>> [theta.round(3) for theta in lspc_fit([phi], [0, 1, 1], l2=1e-9)]
    [array([ 1.333, -0.667]), array([-0.667,  1.333])]
    """
    coefficients: list[Array] = []
    for phi, members in _with_targets(bases, _indicators(codes)):
        spectrum = RidgeSpectrum.from_columns(phi, sample_weight)
        coefficients.extend(spectrum.coefficients(members, np.array([l2]))[:, :, 0].T)
    return coefficients


def lspc_outputs(bases: Sequence[Array], coefficients: Sequence[Array]) -> Array:
    """Return the raw outputs ``q_y(x)``, one column per class."""
    shared = len(bases) == 1
    return np.column_stack(
        [bases[0 if shared else code] @ theta for code, theta in enumerate(coefficients)]
    )


def lspc_probabilities(outputs: ArrayLike, prior: ArrayLike) -> Array:
    """Turn raw outputs into probabilities: round up to zero, normalise, fall back to the prior.

    Parameters
    ----------
    outputs : array-like of shape (n_rows, n_classes, ...)
        Raw outputs; further axes are carried along.
    prior : array-like of shape (n_classes,)
        Class shares: the answer where no output is above zero, as happens far from all centres.

    Returns
    -------
    ndarray
        Probabilities that add up to one over the second axis.

    Examples
    --------
    >>> lspc_probabilities([[0.6, 0.2], [-0.1, 0.7], [-0.1, 0.0]], prior=[0.4, 0.6])
    array([[0.75, 0.25],
           [0.  , 1.  ],
           [0.4 , 0.6 ]])
    """
    kept = np.maximum(np.asarray(outputs, dtype=float), 0.0)
    # By the largest output first: adding up subnormal outputs would lose their proportions.
    peak = kept.max(axis=1, keepdims=True)
    shares = np.asarray(prior, dtype=float).reshape(1, -1, *(1,) * (kept.ndim - 2))
    kept = np.divide(kept, peak, out=np.broadcast_to(shares, kept.shape).copy(), where=peak > 0)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def lspc_search(
    sq_bases: Sequence[Array],
    codes: ArrayLike,
    widths: ArrayLike,
    l2s: ArrayLike,
    *,
    folds: ArrayLike | None = None,
    sample_weight: Array | None = None,
) -> Array:
    r"""Score kernel widths and penalties on rows held out, one or a fold at a time.

    The score is :math:`-\tfrac12 \sum_y (p_y - 1\{y_i = y\})^2` of the probabilities, averaged over
    rows. It can be trusted on noisy labels, being best at the (noisy) probability.

    Parameters
    ----------
    sq_bases : sequence of arrays of shape (n_rows, n_centers)
        Squared distances to the centres of each class, or one array for all.
    codes : array-like of shape (n_rows,)
        Class numbers 0, 1, ...
    widths, l2s : array-like
        The grid.
    folds : array-like of shape (n_rows,), optional
        Fold number of every row. By default each row is left out on its own, in closed form.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    ndarray of shape (n_widths, n_l2s)
        Scores, greater is better.

    Examples
    --------
    >>> from flipcost.paper.kernels import squared_distances
    >>> rng = np.random.default_rng(0)
    >>> codes = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + codes[:, None]
    >>> bases = [squared_distances(X, X[codes == code][:30]) for code in (0, 1)]
    >>> lspc_search(bases, codes, widths=[0.1, 1.0, 3.0], l2s=[1e-4, 1e-2, 1.0]).shape
    (3, 3)
    """
    targets, penalties = _indicators(codes), np.asarray(l2s, dtype=float)
    share = np.ones(len(targets)) if sample_weight is None else sample_weight
    share = share / share.sum()
    scores = []
    for width in np.asarray(widths, dtype=float):
        phis = [gaussian_kernel(array, float(width)) for array in sq_bases]
        held = _held_out(phis, targets, sample_weight, penalties, folds)
        error = lspc_probabilities(held, share @ targets) - targets[:, :, None]
        error *= error
        scores.append(-0.5 * np.tensordot(share, error, axes=1).sum(axis=0))
    return np.array(scores)


def _held_out(
    phis: list[Array],
    targets: Array,
    weight: Array | None,
    l2s: Array,
    folds: ArrayLike | None,
) -> Array:
    """Return raw outputs at rows not used for them, shape (n_rows, n_classes, n_l2s)."""
    pairs = _with_targets(phis, targets)
    if folds is None:
        return np.concatenate(
            [RidgeSpectrum.from_columns(phi, weight).left_out(t, l2s) for phi, t in pairs], axis=1
        )
    outputs = np.empty((*targets.shape, l2s.size))
    for fold in np.unique(folds):
        at, rest = np.asarray(folds) == fold, np.asarray(folds) != fold
        rest_weight = None if weight is None else weight[rest]
        column = 0
        for phi, t in pairs:
            theta = RidgeSpectrum.from_columns(phi[rest], rest_weight).coefficients(t[rest], l2s)
            outputs[at, column : column + t.shape[1]] = np.tensordot(phi[at], theta, axes=1)
            column += t.shape[1]
    return outputs


def _indicators(codes: ArrayLike) -> Array:
    """Return a column for each class that says which rows are of it."""
    numbers = np.asarray(codes)
    return np.eye(int(numbers.max()) + 1)[numbers]


def _with_targets(bases: Sequence[Array], targets: Array) -> list[tuple[Array, Array]]:
    """Pair each base with the indicator columns that it predicts."""
    if len(bases) == 1:
        return [(bases[0], targets)]
    return [(base, targets[:, [code]]) for code, base in enumerate(bases)]


# Half decades. Without noise the best penalties are small; flipped labels ask for large ones.
_L2S = tuple(10.0 ** (k / 2) for k in range(-12, 3))


class LSPClassifier(KernelClassifier):
    r"""Least-squares probabilistic classifier: smooth class probabilities by ridge regression.

    Probabilities of two or more classes as sums of Gaussian kernels, fitted in closed form, with
    the kernel width and the penalty chosen by leaving out each row exactly. To be taken where
    probabilities are not linear in the features and rows number from a hundred to some ten
    thousand. Labels are taken as they are: the probabilities are those of the label as observed.

    Features are not scaled here: one width serves all of them, and widths and centres stay in the
    units of the data. Standardise first, as in
    ``make_pipeline(StandardScaler(), LSPClassifier())``, unless they are alike.

    Parameters
    ----------
    widths : "centiles", float or array-like, default="centiles"
        Kernel widths to try: the centiles 10, 20, ..., 90 of the distance between two distinct
        rows, or the widths given.
    l2s : None, float or array-like, default=None
        Ridge penalties to try, on the mean over rows; half decades from 1e-6 to 10 when None.
    centers : int or None, default=100
        Number of kernel centres drawn for each class (for all together with ``basis="full"``);
        None takes every distinct row.
    cv : int, splitter, iterable or None, default=None
        How rows are held out to choose by. None leaves out each row, with all its weight, in
        closed form. An int makes that many random stratified folds; a splitter's test sets must
        partition the rows.
    basis : {"class", "full"}, default="class"
        Whether each class has kernels on its own rows, or all share kernels on rows of any class.
    random_state : int, RandomState or None, default=None
        Seed of centres, widths and folds. Nothing is random when there are at most 63 distinct
        rows, no class has more of them than `centers`, and `cv` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Their shares: the answer where no output is above zero, as happens far from all centres.
    width_, l2_ : float
        The choice.
    widths_ : ndarray of shape (n_widths,)
        Widths tried, ascending.
    l2s_ : ndarray of shape (n_l2s,)
        Penalties tried, ascending.
    scores_ : ndarray of shape (n_widths, n_l2s)
        Squared errors of the probabilities of rows held out, halved and with a minus sign; NaN
        where there is one candidate and nothing to choose.
    best_score_ : float
        The greatest of them.
    centers_ : list of ndarray of shape (n_centers, d)
        Kernel centres of each class, or one array for all.
    weights_ : list of ndarray of shape (n_centers,)
        Kernel weights of each class.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    See Also
    --------
    KLIEPClassifier : Probabilities from the density ratio of each class to all rows.
    flipcost.paper.lspc : The mathematics.

    Notes
    -----
    The output of class :math:`y` is :math:`q_y(x) = \theta_y^\top \varphi_y(x)` with

    .. math::

        \theta_y = (H_y + \lambda I)^{-1} h_y, \qquad
        H_y = \frac1m \sum_{i=1}^m \varphi_y(x_i) \varphi_y(x_i)^\top, \qquad
        h_y = \frac1m \sum_{i : y_i = y} \varphi_y(x_i).

    :math:`H_y` runs over all rows; as printed in the paper it would run over those of the class
    alone, which estimates something else. Outputs below zero are raised to it, and the rest are
    normalised. The "minimum squared deviation" estimator of the paper's section F.5 has the same
    solution: with ``basis="full"`` and ``centers=None`` it is this class.

    Kernels are computed in memory, ``n_rows * centers`` numbers for each class; a fit costs one
    eigendecomposition per class and width, whatever the number of penalties.

    References
    ----------
    Sugiyama (2010), Superfast-trainable multi-class probabilistic classifier by least-squares
    posterior fitting, IEICE Transactions E93-D, 2690-2701.

    Yamada, Sugiyama, Wichern and Simm (2011), Improving the accuracy of least-squares probabilistic
    classifiers, IEICE Transactions E94-D, 1337-1340.

    Tripathi and Hemachandra (2019), Cost sensitive learning in the presence of symmetric label
    noise, PAKDD, sections F.4 and F.5 of the supplement.

    Examples
    --------
    >>> from flipcost import LSPClassifier
    >>> from flipcost.datasets import make_syn2d
    >>> train, test = make_syn2d(800, random_state=0), make_syn2d(200, random_state=1)
    >>> model = LSPClassifier(random_state=0).fit(train.data, train.target)
    >>> eta = model.predict_proba(test.data)[:, 1]
    >>> print(f"{((eta - test.eta) ** 2).mean():.4f}")
    0.0023
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        **KERNELS,
        "l2s": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
        "cv": [Integral, "cv_object"],
        "basis": [StrOptions({"class", "full"})],
    }

    def __init__(
        self,
        widths: str = "centiles",
        l2s: Any = None,
        centers: int = 100,
        *,
        cv: Any = None,
        basis: str = "class",
        random_state: Any = None,
    ) -> None:
        self.widths = widths
        self.l2s = l2s
        self.centers = centers
        self.cv = cv
        self.basis = basis
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the width and the penalty on held-out rows, and fit all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: any two or more values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions, save that leaving out
            a row leaves out all its weight.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y)
        weight = check_weights(sample_weight, X)
        rng = generator(self.random_state)
        rows = Rows(X, codes, weight)

        self.widths_ = rows.widths(self.widths, rng)
        self.l2s_ = ascending(_L2S if self.l2s is None else self.l2s, "l2s")
        members = [np.ones(len(rows.codes), bool)]
        if self.basis == "class":
            members = [rows.codes == code for code in range(len(self.classes_))]
        self.centers_ = [rows.centers(of_class, self.centers, rng) for of_class in members]
        bases = [squared_distances(rows.X, centers) for centers in self.centers_]
        self.scores_ = np.full((1, 1), np.nan)
        if len(self.widths_) * len(self.l2s_) > 1:
            folds = None if self.cv is None else rows.folds(self.cv, codes, rng)
            self.scores_ = lspc_search(
                bases, rows.codes, self.widths_, self.l2s_, folds=folds, sample_weight=rows.weight
            )
        width, l2 = np.unravel_index(self.scores_.argmax(), self.scores_.shape)
        self.best_score_ = float(self.scores_[width, l2])
        self.width_, self.l2_ = float(self.widths_[width]), float(self.l2s_[l2])
        phis = [gaussian_kernel(base, self.width_) for base in bases]
        self.weights_ = lspc_fit(phis, rows.codes, self.l2_, sample_weight=rows.weight)
        shares = np.bincount(rows.codes, rows.weight)
        self.class_prior_ = shares / shares.sum()
        return self

    def _chosen(self):
        return {"widths": self.width_, "l2s": self.l2_}

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        phis = [gaussian_kernel(squared_distances(X, c), self.width_) for c in self.centers_]
        return lspc_probabilities(lspc_outputs(phis, self.weights_), self.class_prior_)
