"""Prices of rows as estimators and scorers are given them: as `cost`, or with the rows."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from flipcost.core.arrays import Array
from flipcost.core.costs import Costs, cost_share
from flipcost.core.noise import NoiseRateLike, noisy_threshold
from flipcost.core.prices import Prices, read_prices

# Thresholds are cut here before they become log-odds, so that none is infinite.
_SUREST = 1e-12


def prices_of(cost: Any, prices: Any, X: Any, *, fitted: bool = False) -> Prices | None:
    """Return the prices of rows, or None where they are the same for all.

    Parameters
    ----------
    cost : float or Costs
        The parameter of the estimator.
    prices : Costs, Prices, array-like of shape (n, 2) or (n, 4), frame or None
        What came as metadata, which counts if there is any.
    X : array-like or frame
        The rows, as they were given.
    fitted : bool, default=False
        Whether these may be other rows than those that the estimator was fitted on.

    Examples
    --------
    >>> prices_of(0.2, [[4, 1], [8, 1]], [[0.0], [1.0]]).threshold.round(3)
    array([0.2  , 0.111])
    >>> prices_of(Costs(fn=4, fp=1), None, [[0.0]]) is None
    True
    """
    if prices is None and not (isinstance(cost, Costs) and cost.is_by_row):
        return None
    n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
    if isinstance(prices, Prices):
        if len(prices) != n_rows:
            msg = f"`prices` must be of the same {n_rows} rows as `X`; got {len(prices)}."
            raise ValueError(msg)
        return prices
    if isinstance(prices, Costs):
        return prices.by_row(X, n_rows)
    if prices is not None:
        return read_prices(prices, n_rows)
    costs: Costs = cost
    if fitted and costs.needs_arrays:
        msg = (
            "`cost` has arrays, which are prices of the rows that were fitted: give those of these "
            "rows as `prices`, or name columns in place of arrays."
        )
        raise ValueError(msg)
    return costs.by_row(X, n_rows)


def share_and_unit(
    cost: Any, prices: Prices | None, sample_weight: Any = None
) -> tuple[float, float]:
    """Return the cost as a share, and what a cost of 1 in shares is in the user's money.

    Where prices differ by row, those of the mean prices.

    Examples
    --------
    >>> share_and_unit(0.2, None), share_and_unit(Costs(fn=40, fp=10), None)
    ((0.2, 1.0), (0.2, 50.0))
    """
    if prices is not None:
        miss, alarm = prices.mean(sample_weight)
        both = max(miss, 0.0) + max(alarm, 0.0)
        share = max(alarm, 0.0) / both if both > 0 else 0.5
        return float(np.clip(share, 1e-6, 1 - 1e-6)), both
    return cost_share(cost), cost.unit if isinstance(cost, Costs) else 1.0


def log_odds_of(prices: Prices) -> Array:
    """Return the log-odds of each row's own threshold.

    Examples
    --------
    >>> log_odds_of(Prices(np.array([4.0]), np.array([1.0]))).round(3)
    array([-1.386])
    """
    return log_odds(prices.threshold)


def log_odds(threshold: ArrayLike) -> Array:
    """Return the log-odds of thresholds, none of them infinite.

    Examples
    --------
    >>> log_odds([0.2, 1.0]).round(2)
    array([-1.39, 28.32])
    """
    cut = np.asarray(threshold, dtype=float)
    return np.asarray(logit(np.clip(cut, _SUREST / 2, 1 - _SUREST / 2)))


def check_known(prices: Prices | None, *, by_row: bool) -> None:
    """Refuse to decide without prices where there were some for each row fitted.

    Examples
    --------
    >>> check_known(None, by_row=False)
    """
    if by_row and prices is None:
        msg = (
            "Prices differ by row here, and decisions need those of these rows: give `prices`, or "
            "`cost` as Costs of columns that the rows have."
        )
        raise ValueError(msg)


def mean_paid(positive: Any, called: Any, prices: Prices, sample_weight: Any = None) -> float:
    """Return what a row costs on average, by labels as they are.

    Examples
    --------
    >>> mean_paid([True, False], [False, True], Prices(np.array([9.0, 8.0]), np.array([1.0, 2.0])))
    5.5
    """
    return float(np.average(prices.paid(positive, called), weights=sample_weight))


def price_weights(positive: Any, prices: Prices, noise_rate: NoiseRateLike = None) -> Array:
    r"""Return weights that make a classifier cut at one half decide by each row's own prices.

    Calling row :math:`i` pays where its clean probability exceeds :math:`t_i = b_i / (a_i + b_i)`,
    which is where the noisy one exceeds :math:`\tau_i = \rho_- + (1 - \rho_+ - \rho_-)\,t_i`. With
    weights :math:`(a_i + b_i)(1 - \tau_i)` for positive labels and :math:`(a_i + b_i)\,\tau_i` for
    negative ones, that is where positive labels outweigh negative ones.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive.
    prices : Prices
        Of the rows.
    noise_rate : float, pair of floats or None, default=None
        Rate of the noise in the labels.

    Examples
    --------
    >>> price_weights([True, False], Prices(np.array([8.0, 8.0]), np.array([2.0, 2.0])))
    array([8., 2.])
    """
    cut = np.asarray(noisy_threshold(prices.threshold, noise_rate))
    size = np.abs(prices.miss) + np.abs(prices.alarm)
    return np.asarray(size * np.where(np.asarray(positive, dtype=bool), 1 - cut, cut))


def takes_prices(estimator: Any) -> bool:
    """Tell whether an estimator, or the last step of a pipeline, takes prices to predict.

    Examples
    --------
    >>> from flipcost import FlipCostClassifier, LinkClassifier
    >>> takes_prices(FlipCostClassifier()), takes_prices(LinkClassifier())
    (True, False)
    """
    steps = getattr(estimator, "steps", None)
    predict = getattr(steps[-1][1] if steps else estimator, "predict", None)
    return predict is not None and "prices" in signature(predict).parameters
