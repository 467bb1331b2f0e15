"""Tables of counts over costs, and clean costs over assumed rates: what curves are drawn from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from flipcost.core.arrays import Array
from flipcost.core.confusion import (
    ConfusionCounts,
    half_a_row_more,
    possible_counts,
)
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.noise import NoiseRateLike, rate_pair, unmixing_matrix
from flipcost.core.possible import not_identified


def confusions_at_costs(
    positive: ArrayLike,
    probability: ArrayLike,
    costs: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> ConfusionCounts:
    """Count labels against calls when a probability is cut at each of several costs.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    probability : array-like of shape (n,)
        Of the positive class; a row is called positive where it exceeds the cost.
    costs : sequence of float
        Shares of the cost that a false positive bears.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ConfusionCounts
        Of shape (len(costs), 2, 2).

    Examples
    --------
    >>> confusions_at_costs([0, 1, 1], [0.1, 0.4, 0.9], [0.2, 0.5]).counts[:, 1]
    array([[0., 2.],
           [1., 1.]])
    """
    labels = np.asarray(positive, dtype=bool)
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
    thresholds = np.asarray(costs, dtype=float)
    ascending = np.argsort(thresholds, kind="stable")
    # A row is called positive at the costs below its probability: at the first so many.
    below = np.searchsorted(thresholds[ascending], np.asarray(probability, dtype=float))
    n = len(thresholds) + 1
    tables = []
    for power in (weight, weight**2):
        by_class = np.bincount(below + n * labels, power, 2 * n).reshape(2, n)
        negative = np.empty((2, n - 1))
        negative[:, ascending] = np.cumsum(by_class, axis=1)[:, :-1]
        tables.append(np.stack([negative, by_class.sum(axis=1)[:, None] - negative], axis=-1))
    return ConfusionCounts(*(np.moveaxis(table, 0, 1) for table in tables))


def confusion_cells(
    table: ConfusionCounts, noise_rate: NoiseRateLike, level: float = 0.95
) -> Array:
    """Return the shares of rows in the four cells as clean labels would have it, with intervals.

    Parameters
    ----------
    table : ConfusionCounts of shape (2, 2)
        Noisy labels against calls.
    noise_rate : float, pair of floats, or None
        The rate to denoise with, taken as known.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    ndarray of shape (2, 2, 3)
        Value, low and high of each share: label, then call, negative first.

    Notes
    -----
    By the delta method, as in `flipcost.core.confusion`: a share of the rows is the cost of a row
    when one cell is paid for and no other.

    Examples
    --------
    >>> counts = np.array([[60.0, 20.0], [10.0, 30.0]])
    >>> confusion_cells(ConfusionCounts(counts, counts), None)[1, 1].round(3)
    array([0.25 , 0.173, 0.327])
    """
    unmix = unmixing_matrix(noise_rate)
    smooth, squares = half_a_row_more(table)
    value = possible_counts(table, noise_rate) / table.counts.sum()
    centre = unmix @ smooth / smooth.sum()
    # Slope of the share of (clean label, call) in the observed counts of (label, call).
    slope = np.einsum("ij,kl->ikjl", unmix, np.eye(2)) - centre[..., None, None]
    error = np.sqrt((slope**2 * squares).sum(axis=(-2, -1))) / smooth.sum()
    reach = ndtri((1 + level) / 2) * error
    low, high = np.clip([centre - reach, centre + reach], 0.0, 1.0)
    if not_identified(noise_rate, table.n_effective) is not None:
        low, high = np.zeros((2, 2)), np.ones((2, 2))
    return np.stack([value, np.minimum(low, value), np.maximum(high, value)], axis=-1)


def per_row_cost(cost: CostLike, noise_rate: NoiseRateLike) -> Array:
    """Return what a row with a noisy label and a call costs on clean labels, without bias.

    Examples
    --------
    >>> per_row_cost(0.2, 0.25).round(4)
    array([[-0.4,  0.3],
           [ 1.2, -0.1]])
    """
    share = cost_share(cost)
    clean = np.array([[0.0, share], [1 - share, 0.0]])
    return np.asarray(unmixing_matrix(rate_pair(noise_rate)).T @ clean)
