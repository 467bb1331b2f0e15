r"""The kernel width of density ratios, by cross-validation with every fit certified.

Two criteria. Likelihood cross-validation (:func:`kliep_search`) scores one ratio by the mean
logarithm of the ratio on numerator rows left out; it is what KLIEP was published with. When two
ratios are to give class probabilities, :func:`kliep_posterior_search` scores one width for both by
the log-likelihood of the labels left out, which is what the probabilities are for. On the paper's
three Gaussian laws it takes a quarter to two fifths off the mean squared error of "norm" that two
widths chosen separately leave. The other combinations use the ratios one by one and are better off
with the separate choice, which the same fits give (``class_best``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.kernels import gaussian_kernel
from flipcost.core.kliep import RATIO_FLOOR, components, kernel_weights, row_weights
from flipcost.core.ratios import combine_ratios
from flipcost.core.simplex import maximize_mixture

# Where all means and all rows' sums of kernel values are above this, no reciprocal that the fits
# take of them leaves the range of numbers.
_NEAR = 1e-50


@dataclass(frozen=True)
class KLIEPSearch:
    """Likelihood cross-validation of kernel widths.

    Attributes
    ----------
    widths : ndarray of shape (n_widths,)
        Widths tried.
    scores : ndarray of shape (n_widths,)
        Mean logarithm of the held-out ratio over all numerator rows.
    gaps : ndarray of shape (n_widths, n_folds)
        Certificate of every fit.
    best : int
        Index of the width with the greatest score.
    start : ndarray of shape (n_centers,)
        Mean over folds of ``mass`` at the best width: where the final fit may start.
    """

    widths: Array
    scores: Array
    gaps: Array
    best: int
    start: Array = field(repr=False)

    @property
    def width(self) -> float:
        """The width with the greatest score."""
        return float(self.widths[self.best])


def kliep_search(
    sq_num: ArrayLike,
    sq_den: ArrayLike,
    widths: ArrayLike,
    folds: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    den_weight: ArrayLike | None = None,
    halved: bool = True,
    tol: float = 1e-6,
) -> KLIEPSearch:
    """Choose the kernel width by likelihood cross-validation, every fit certified.

    For each width and fold the ratio is fitted to the numerator rows outside the fold, with the
    denominator mean over all denominator rows, and scored by the mean logarithm of the ratio
    (floored at 1e-300) on the numerator rows inside it.

    Parameters
    ----------
    sq_num : array-like of shape (n_rows, n_centers)
        Squared distances of the numerator rows to the centres.
    sq_den : array-like of shape (n_den_rows, n_centers)
        Squared distances of the denominator rows to the centres.
    widths : array-like of shape (n_widths,)
        Widths to try, in any order. Each fit starts from that of the fold before, the first from
        that of the next smaller width.
    folds : array-like of shape (n_rows,)
        Fold number of every numerator row, from 0 up.
    sample_weight, den_weight : array-like, optional
        Weights of the numerator and of the denominator rows.
    halved : bool, default=True
        Kernel with the 2 in the denominator of the exponent.
    tol : float, default=1e-6
        Certificate asked of every fit.

    Returns
    -------
    KLIEPSearch
        Scores, certificates and the choice.

    Examples
    --------
    >>> from flipcost.core.folds import random_folds
    >>> from flipcost.core.kernels import squared_distances
    >>> rng = np.random.default_rng(0)
    >>> num, den = rng.normal(0.5, 1, (300, 2)), rng.normal(0, 1, (300, 2))
    >>> search = kliep_search(
    ...     squared_distances(num, num[:50]),
    ...     squared_distances(den, num[:50]),
    ...     widths=[0.1, 1.0, 10.0],
    ...     folds=random_folds(np.zeros(300), 5, rng),
    ... )
    >>> search.width, bool(search.gaps.max() <= 1e-6)
    (1.0, True)
    """
    below = np.asarray(sq_den, dtype=float)
    grid = np.atleast_1d(np.asarray(widths, dtype=float))
    distances = np.asarray(sq_num, dtype=float)
    fold_of = _fold_numbers(folds, len(distances))
    share = row_weights(sample_weight, len(distances), "sample_weight")
    share = share / share.sum()
    den_share = row_weights(den_weight, len(below), "den_weight")
    den_share = den_share / den_share.sum()
    logs, gaps = np.empty((grid.size, len(share))), np.empty((grid.size, fold_of.max() + 1))
    masses: list[list[Array]] = [[]] * grid.size
    starts: list[Array] | None = None
    # From narrow to wide: supports shrink on the way, and dropping is cheaper than admitting.
    for row in np.argsort(grid, kind="stable"):
        phi = gaussian_kernel(distances, float(grid[row]), halved=halved)
        mean = den_share @ gaussian_kernel(below, float(grid[row]), halved=halved)
        ratio, gaps[row], starts = _held_out(phi, mean, share, fold_of, starts, tol)
        logs[row], masses[row] = np.log(np.maximum(ratio, RATIO_FLOOR)), starts
    scores = logs @ share
    best = int(scores.argmax())
    return KLIEPSearch(grid, scores, gaps, best, np.mean(masses[best], axis=0))


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
        Mean logarithm of each class's ratio on its own rows left out, negative class first: the
        criterion of :func:`kliep_search`, from the same fits.
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
    halved: bool = True,
    tol: float = 1e-6,
) -> PosteriorSearch:
    """Choose one kernel width for the ratios of both classes by the likelihood of left-out labels.

    For each width and fold the ratio of each class to all rows is fitted without the fold, and the
    rows of the fold are given the probability that the two ratios make ("norm" of
    :func:`~flipcost.core.ratios.combine_ratios`).

    Parameters
    ----------
    sq_bases : pair of array-like of shape (n_rows, n_centers)
        Squared distances of all rows to the centres of each class, negative class first.
    positive : array-like of bool of shape (n_rows,)
        Which rows are of the positive class.
    widths : array-like of shape (n_widths,)
        Widths to try, in any order.
    folds : array-like of shape (n_rows,)
        Fold number of every row, from 0 up; best spread evenly over both classes.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.
    halved : bool, default=True
        Kernel with the 2 in the denominator of the exponent.
    tol : float, default=1e-6
        Certificate asked of every fit.

    Returns
    -------
    PosteriorSearch
        Scores, certificates and the choice.

    Examples
    --------
    >>> from flipcost.core.folds import random_folds
    >>> from flipcost.core.kernels import squared_distances
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
    if len(sq_bases) != 2 or any(len(np.asarray(base)) != len(above) for base in sq_bases):
        msg = "`sq_bases` must hold two arrays, one per class, with a row for each of `positive`."
        raise ValueError(msg)
    if above.all() or not above.any():
        msg = "`positive` must mark rows of both classes; got one class only."
        raise ValueError(msg)
    grid = np.atleast_1d(np.asarray(widths, dtype=float))
    fold_of = _fold_numbers(folds, len(above))
    distances = [np.asarray(base, dtype=float) for base in sq_bases]
    share = row_weights(sample_weight, len(above), "sample_weight")
    share = share / share.sum()
    ratios = np.empty((2, grid.size, len(above)))
    gaps = np.empty((2, grid.size, fold_of.max() + 1))
    means = tuple(np.empty((grid.size, base.shape[1])) for base in distances)
    for code, base in enumerate(distances):
        members = share * (above == code)
        starts: list[Array] | None = None
        for row in np.argsort(grid, kind="stable"):
            phi = gaussian_kernel(base, float(grid[row]), halved=halved)
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
    psi, scale, rows, usable = _mixture(phi, mean, numerator)
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
            fit = maximize_mixture(psi, sample_weight=train, scale=scale, start=start, tol=tol)
            mass[usable], gaps[index] = fit.mass, fit.gap
        # Solutions are sparse: few centres have a say.
        fold, support = np.flatnonzero(fold_of == index), np.flatnonzero(mass)
        ratio[fold] = phi[np.ix_(fold, support)] @ kernel_weights(mass, mean)[support]
        masses.append(mass)
    return ratio, gaps, masses


def _mixture(
    phi: Array, mean: Array, numerator: Indices
) -> tuple[Array, Array | None, Indices, Flags]:
    """Return component values, their scale, the rows they are of, and which centres they are of.

    Kernel values as they are, unless some are so small that reciprocals might overflow.
    """
    values = phi if len(numerator) == len(phi) else phi[numerator]
    if mean.min() > _NEAR and (values @ np.ones(len(mean))).min() > _NEAR:
        return values, 1.0 / mean, numerator, np.ones(len(mean), dtype=bool)
    parts = components(values, mean)
    return parts.psi, None, numerator[parts.reached], parts.usable


def _fold_numbers(folds: ArrayLike, n_rows: int) -> Indices:
    """Return the fold of each row, numbered from 0 without gaps."""
    fold_of = np.asarray(folds)
    names, numbers = np.unique(fold_of, return_inverse=True)
    if fold_of.shape != (n_rows,) or names.size < 2:
        msg = (
            f"`folds` must give a fold number to each of {n_rows} rows, at least two in all; "
            f"got shape {fold_of.shape} with {names.size} distinct numbers."
        )
        raise ValueError(msg)
    return numbers
