r"""Moving a threshold to one half by re-sampling, and back.

A classifier that thresholds probabilities at one half acts as one that thresholds at :math:`p`
when the negatives it learns from are multiplied by :math:`r = p/(1-p)` (Elkan 2001, Theorem 1).
The paper's Algorithm :math:`(\tilde\eta, \alpha)` uses this with
:math:`p = \alpha/(\gamma+(1-\gamma)\alpha)`, so :math:`r = \alpha/(\gamma(1-\alpha))`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.losses import weighted_zero_one
from flipcost.core.noise import NoiseRateLike, noisy_threshold

_STEP = 0.05
_ABOVE = 0.001


def margin_grid(cost: CostLike, kind: str = "implied") -> Array:
    r"""Return the twelve margins that the algorithm tries, all with :math:`r < 1`.

    Parameters
    ----------
    cost : float or Costs
        The cost.
    kind : {"implied", "printed"}, default="implied"
        "printed": :math:`\alpha/(1-\alpha) + 0.05\,i` for i = 1 to 12, as the algorithm says.
        "implied": :math:`\alpha/(1-\alpha) + 0.001 + 0.05\,i` for i = 0 to 11, which uses the
        starting value that the algorithm defines and then forgets; the weighted costs printed for
        classifiers that call all rows positive fit this grid. Neither holds the margin 1, at which
        the threshold is the cost itself.

    Returns
    -------
    ndarray of shape (12,)

    Examples
    --------
    >>> margin_grid(0.2)[[0, 1, -1]]
    array([0.251, 0.301, 0.801])
    >>> margin_grid(0.2, "printed")[[0, 1, -1]]
    array([0.3 , 0.35, 0.85])
    """
    share = cost_share(cost)
    lowest = share / (1 - share)
    if kind == "printed":
        return np.asarray(lowest + _STEP * np.arange(1, 13))
    if kind == "implied":
        return np.asarray(lowest + _ABOVE + _STEP * np.arange(12))
    msg = f"A margin grid must be 'implied' or 'printed'; got {kind!r}."
    raise ValueError(msg)


def negative_ratio(cost: CostLike, margin: float = 1.0, noise_rate: NoiseRateLike = None) -> float:
    r"""Return what to multiply the negatives by, so that one half acts as the wanted threshold.

    Parameters
    ----------
    cost : float or Costs
        The cost.
    margin : float, default=1.0
        The margin; the wanted threshold on the clean probability is the cost when it is 1.
    noise_rate : float, pair of floats, or None, default=None
        With a rate, the threshold is carried over to the noisy probability first. Without it the
        scheme is the paper's, which symmetric noise does move: it keeps a probability on its side
        of one half, but not of another threshold.

    Returns
    -------
    float

    Examples
    --------
    >>> negative_ratio(0.2), round(negative_ratio(0.2, margin=0.5), 12)
    (0.25, 0.5)
    >>> round(negative_ratio(0.2, noise_rate=0.4), 4)
    0.7857
    """
    clean = weighted_zero_one(cost, margin).threshold
    threshold = float(noisy_threshold(clean, noise_rate))
    return threshold / (1 - threshold)


def rejection_keep(weight: ArrayLike, rank: ArrayLike, n_rows: ArrayLike) -> Flags:
    """Return which rows are kept if each is as likely to be as its weight is large.

    The row with the largest weight is kept for certain, any other with the ratio of its weight to
    that one (cost-proportionate rejection sampling). Rows of a class are ranked at random, and one
    is kept where its rank is within its share of them: rows of one weight are thinned as
    `kept_negatives` says, and a smaller sample is part of a larger one.

    Parameters
    ----------
    weight : array-like of shape (n,)
        Weights of the rows.
    rank : array-like of int, shape (n,)
        Place of each row in a random order of its class, from 0.
    n_rows : array-like of int, shape (n,)
        Number of rows of that class.

    Examples
    --------
    >>> rejection_keep([4.0, 1.0, 1.0, 2.0], [3, 0, 1, 2], [4, 4, 4, 4])
    array([ True,  True, False, False])
    """
    size = np.asarray(weight, dtype=float)
    share = size / max(float(size.max(initial=0.0)), 1e-300)
    place = np.asarray(rank, dtype=float) + 1
    return np.asarray(place <= share * np.asarray(n_rows) * (1 + 1e-12))


def undo_resampling(eta: ArrayLike, ratio: float) -> Array:
    """Return probabilities in the original class balance, given those after re-sampling.

    Parameters
    ----------
    eta : array-like
        Probabilities of the positive class, learnt with the negatives multiplied by `ratio`.
    ratio : float
        What the negatives were multiplied by.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> undo_resampling([0.0, 0.5, 1.0], negative_ratio(0.2))
    array([0. , 0.2, 1. ])
    """
    p = np.asarray(eta, dtype=float)
    return np.asarray(ratio * p / (ratio * p + 1 - p))


def kept_negatives(n_negative: int, ratio: float) -> int:
    """Return the floor of ``ratio * n_negative``, forgiving the rounding of the ratio.

    Examples
    --------
    >>> kept_negatives(30, 0.1 * 3), kept_negatives(10, 0.29)
    (9, 2)
    """
    return int(np.floor(ratio * n_negative * (1 + 1e-12)))
