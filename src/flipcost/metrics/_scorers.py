"""Scorers for `GridSearchCV`, `cross_val_score` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from flipcost._validation import Scorer
from flipcost.core.clean_means import cost_sums, unbiased_mean
from flipcost.core.costs import CostLike, Costs, RowCosts, cost_share, prices_of, takes_prices
from flipcost.core.noise import NoiseRateLike, rate_pair
from flipcost.metrics._labels import confusion, read_called


def _mean_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    cost: CostLike | RowCosts,
    noise_rate: NoiseRateLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    prices: Any = None,
) -> float:
    if prices is not None:
        cost = prices
    if isinstance(cost, RowCosts):
        labels, calls, weight = read_called(y_true, y_pred, pos_label, sample_weight)
        return unbiased_mean(cost_sums(labels, calls, cost, weight), noise_rate)
    unit = cost.unit if isinstance(cost, Costs) else 1.0
    table = confusion(y_true, y_pred, pos_label, sample_weight)
    return unit * float(table.cost(cost, noise_rate=noise_rate))


class _CostScorer(Scorer):
    """A scorer that has rows decided on at their own prices, and counts them at these."""

    def _score(
        self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any
    ) -> float:
        paid = prices_of(self._kwargs["cost"], kwargs.pop("prices", None), X)
        if paid is None:
            return super()._score(method_caller, estimator, X, y_true, **kwargs)
        given = {"prices": paid.table()} if takes_prices(estimator) else {}
        called = estimator.predict(X, **given)
        return self._sign * self._score_func(
            y_true, called, **{**self._kwargs, **kwargs, "prices": paid}
        )


# Scores are averaged over folds and ranked by, so they are unbiased, not cut to what can be.
def _am(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    noise_rate: NoiseRateLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    return float(confusion(y_true, y_pred, pos_label, sample_weight).am(noise_rate))


def _f(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    noise_rate: NoiseRateLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    return float(confusion(y_true, y_pred, pos_label, sample_weight).f(noise_rate))


def cost_scorer(
    cost: CostLike, noise_rate: NoiseRateLike = None, *, pos_label: Any = None
) -> Callable[..., float]:
    """Return a scorer of the mean weighted cost of a row, its sign turned: larger is better.

    Without a noise rate the labels are taken as they are, and on noisy ones the choice leans
    towards calling all rows of the class whose misses are dear. With it, the counts of each fold
    are denoised first. At ``cost=0.5`` the scorer ranks as (denoised) accuracy does.

    Parameters
    ----------
    cost : float or Costs
        Share of the misclassification cost that a false positive bears, or the prices, in whose
        units the score then is. Prices may be columns of X, as in ``Costs(fn="amount", fp=5)``;
        prices by row can also be routed to the scorer as the metadata `prices`, by
        ``set_score_request(prices=True)``. They go on to an estimator whose `predict` takes them.
    noise_rate : float, pair of floats, or None, default=None
        Rate of the noise in the labels that are scored on.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from flipcost.metrics import cost_scorer
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> X = rng.normal(size=(400, 2)) + y[:, None]
    >>> scores = cross_val_score(LogisticRegression(), X, y, scoring=cost_scorer(0.2))
    >>> print(f"{-scores.mean():.3f}")
    0.116
    """
    if not (isinstance(cost, Costs) and cost.is_by_row):
        cost_share(cost)
    known = {"cost": cost, "noise_rate": _checked(noise_rate), "pos_label": pos_label}
    return _CostScorer(_mean_cost, -1, known)


def am_scorer(noise_rate: NoiseRateLike = None, *, pos_label: Any = None) -> Callable[..., float]:
    """Return a scorer of the mean of the two classes' recalls, denoised when a rate is given.

    Parameters
    ----------
    noise_rate : float, pair of floats, or None, default=None
        Rate of the noise in the labels that are scored on. AM ranks classifiers the same with and
        without it.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    callable

    Examples
    --------
    >>> from flipcost.metrics import am_scorer
    >>> callable(am_scorer())
    True
    """
    return make_scorer(_am, noise_rate=_checked(noise_rate), pos_label=pos_label)


def f_scorer(noise_rate: NoiseRateLike = None, *, pos_label: Any = None) -> Callable[..., float]:
    """Return a scorer of the F measure of the positive class, denoised when a rate is given.

    Parameters
    ----------
    noise_rate : float, pair of floats, or None, default=None
        Rate of the noise in the labels that are scored on.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    callable

    Examples
    --------
    >>> from flipcost.metrics import f_scorer
    >>> callable(f_scorer(noise_rate=0.2))
    True
    """
    return make_scorer(_f, noise_rate=_checked(noise_rate), pos_label=pos_label)


def _checked(noise_rate: NoiseRateLike) -> NoiseRateLike:
    """Return the rate, having raised at once on one that is impossible."""
    rate_pair(noise_rate)
    return noise_rate
