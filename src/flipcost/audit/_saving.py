"""How much less one classifier costs than another, on the same rows."""

from __future__ import annotations

import numpy as np

from flipcost.core.confusion import Interval
from flipcost.core.rate_posterior import mixture_interval
from flipcost.plot._curves import per_row_cost


def paired_saving(positive, called, rival_called, cost, posterior, sample_weight=None, level=0.95):
    """Estimate what a row costs less on clean labels under one classifier than under another.

    Both are judged on the same rows, so that what is common to them cancels: far sharper than the
    two costs on their own.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    called, rival_called : array-like of bool, shape (n,)
        Rows that each classifier calls positive, out of fold.
    cost : float or Costs
        Share of the cost that a false positive bears.
    posterior : RatePosterior
        Over the noise rates.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    level : float, default=0.95
        Level of the interval, for sampling and for not knowing the rate.

    Returns
    -------
    Interval
        Positive when the first classifier costs less.

    Examples
    --------
    >>> from flipcost.core.rate_posterior import RatePosterior
    >>> known = RatePosterior(np.array([[0.0, 0.0]]), np.ones(1))
    >>> labels = np.tile([True, False], 50)
    >>> saving = paired_saving(labels, labels, np.ones(100, bool), 0.2, known)
    >>> print(f"{saving.value:.2f} in [{saving.low:.2f}, {saving.high:.2f}]")
    0.10 in [0.08, 0.12]
    """
    labels, ours, theirs = (
        np.asarray(a, bool).astype(np.intp) for a in (positive, called, rival_called)
    )
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
    # Only the label and the two calls matter: eight cells in place of all rows.
    cell = 4 * labels + 2 * ours + theirs
    total = np.bincount(cell, weight, minlength=8).reshape(2, 2, 2)
    squares = np.bincount(cell, weight**2, minlength=8).reshape(2, 2, 2)
    values, errors = [], []
    for rate in posterior.rates:
        paid = per_row_cost(cost, tuple(rate))
        gain = paid[:, None, :] - paid[:, :, None]
        mean = (gain * total).sum() / total.sum()
        values.append(mean)
        errors.append(np.sqrt(((gain - mean) ** 2 * squares).sum()) / total.sum())
    low, high = mixture_interval(np.array(values), np.array(errors), posterior.weight, level)
    return Interval(float(posterior.weight @ values), low, high)
