r"""Measures made of confusion counts, as observed and denoised, and scorers made of them.

The arithmetic is in `flipcost.core.confusion`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer
from sklearn.utils import column_or_1d

from flipcost._validation import Scorer, positive_index, value_codes
from flipcost.core.arrays import Array, Flags, Indices, unit_weights
from flipcost.core.clean_means import cost_sums, denoised_mean, unbiased_costs, unbiased_mean
from flipcost.core.confusion import ConfusionCounts, Interval, Measure, feasible_counts, measure
from flipcost.core.costs import (
    AnyCosts,
    CostLike,
    Costs,
    RowCosts,
    cost_share,
    margin_value,
    prices_of,
    takes_prices,
)
from flipcost.core.dependence import cell_design, design_effect, mean_design
from flipcost.core.noise import NoiseRateLike, check_level, not_identified, rate_pair
from flipcost.exceptions import DenoisingWarning


def are_positive(labels: Sequence[ArrayLike], pos_label: Any = None) -> list[Flags]:
    """Return for each array of labels of the same rows which are positive.

    Of two values the larger is, unless `pos_label` says otherwise; where all are the same, 1 and
    True are positive, and 0, -1 and False are not.
    """
    columns = [column_or_1d(column) for column in labels]
    if len({len(column) for column in columns}) != 1:
        lengths = " and ".join(str(len(column)) for column in columns)
        msg = f"Labels and predictions must be of the same number of rows; got {lengths}."
        raise ValueError(msg)
    values = np.unique(np.concatenate(columns))
    if len(values) > 2:
        msg = (
            f"Labels and predictions must hold two values; got {len(values)}: "
            f"{values[:5].tolist()}."
        )
        raise ValueError(msg)
    if len(values) == 2:
        positive = values[positive_index(values, pos_label)]
    elif pos_label is not None or (len(values) == 1 and values[0] in (-1, 0, 1)):
        positive = 1 if pos_label is None else pos_label
    else:
        msg = (
            f"All labels and predictions are the same ({values.tolist()}), so the positive class "
            "cannot be told from them; give `pos_label`."
        )
        raise ValueError(msg)
    return [column == positive for column in columns]


def read_flagged(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any, sample_weight: ArrayLike | None
) -> tuple[Flags, Flags, Any]:
    """Return which labels and which predictions are positive, and the weights."""
    positive, flagged = are_positive([y_true, y_pred], pos_label)
    weight = None if sample_weight is None else column_or_1d(sample_weight)
    return positive, flagged, weight


def confusion(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any, sample_weight: ArrayLike | None
) -> ConfusionCounts:
    """Count labels against predictions."""
    return ConfusionCounts.from_labels(*read_flagged(y_true, y_pred, pos_label, sample_weight))


def am_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    noise_rate: NoiseRateLike = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Arithmetic mean of the true positive and true negative rates.

    Symmetric noise in `y_true` changes it, but not which of two classifiers has the larger one.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels and predictions.
    noise_rate : float, pair of floats, or None, default=None
        Rate of the noise in `y_true`; the counts are denoised with it first.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        NaN when a class has no rows.

    Examples
    --------
    >>> from flipcost.metrics import am_score
    >>> am_score([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1])
    0.625
    """
    table = confusion(y_true, y_pred, pos_label, sample_weight)
    return float(measure(feasible_counts(table, noise_rate), "am"))


def f_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    noise_rate: NoiseRateLike = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """F measure of the positive class, ``2 TP / (2 TP + FP + FN)``.

    Computed from noisy labels it does not rank classifiers as clean labels would: it leads towards
    calling everything positive. Give the noise rate to denoise the counts first.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels and predictions.
    noise_rate : float, pair of floats, or None, default=None
        Rate of the noise in `y_true`.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        0 without a positive label and a positive prediction, as in scikit-learn.

    Examples
    --------
    >>> from flipcost.metrics import f_score
    >>> f_score([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1])
    0.75
    """
    table = confusion(y_true, y_pred, pos_label, sample_weight)
    return float(measure(feasible_counts(table, noise_rate), "f"))


def weighted_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    cost: AnyCosts,
    margin: float = 1.0,
    *,
    normalize: bool = False,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Weighted cost of wrong decisions, ``(1 - cost) FN + (cost / margin) FP``.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels and predictions.
    cost : float, Costs or RowCosts
        Share of the misclassification cost that a false positive bears; or costs, also by row as
        in ``Costs(fn=amounts, fp=5)``: the figure is then in their units.
    margin : float, default=1.0
        Divides the price of a false positive, as in the paper. Figures at different margins are
        **not comparable**; at 1 they are the user's own cost.
    normalize : bool, default=False
        Whether to divide by the (weighted) number of rows.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float

    Examples
    --------
    Two misses and a false alarm, at four to one:

    >>> from flipcost.metrics import weighted_cost
    >>> round(weighted_cost([1, 1, 1, 0, 0], [0, 0, 1, 0, 1], cost=0.2), 12)
    1.8
    """
    labels, flags, weight = read_flagged(y_true, y_pred, pos_label, sample_weight)
    paid = _row_costs(cost, len(labels), margin).paid(labels, flags)
    w = unit_weights(weight, len(paid))
    return float(paid @ w / w.sum() if normalize else paid @ w)


def denoised_confusion(
    y_noisy: ArrayLike,
    y_pred: ArrayLike,
    noise_rate: NoiseRateLike,
    *,
    unbiased: bool = False,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """Estimate the confusion counts that clean labels would have given.

    The estimate is unbiased when labels were flipped independently of the predictions given the
    clean class, so not on rows that the classifier was trained on. Sampling can then make a cell
    negative, which no count can be; so the counts of each prediction are clipped to valid counts,
    unless the unbiased ones are asked for.

    Parameters
    ----------
    y_noisy, y_pred : array-like of shape (n,)
        Noisy labels and predictions.
    noise_rate : float, pair of floats, or None
        Rate of the noise, taken as known.
    unbiased : bool, default=False
        Whether to keep invalid counts as they are, to average over many tables.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (2, 2)
        Label, then prediction, the negative class first.

    Examples
    --------
    >>> from flipcost.metrics import denoised_confusion
    >>> denoised_confusion([1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1], noise_rate=0.25)
    array([[2.5, 0.5],
           [0.5, 2.5]])
    """
    table = confusion(y_noisy, y_pred, pos_label, sample_weight)
    return table.denoised(noise_rate) if unbiased else feasible_counts(table, noise_rate)


def denoised_cost(
    y_noisy: ArrayLike,
    y_pred: ArrayLike,
    cost: AnyCosts,
    noise_rate: NoiseRateLike,
    *,
    margin: float = 1.0,
    normalize: bool = False,
    level: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Interval:
    """Estimate the weighted cost that clean labels would have shown, with an interval.

    Parameters
    ----------
    y_noisy, y_pred : array-like of shape (n,)
        Noisy labels and predictions; of rows that the classifier was not trained on.
    cost : float, Costs or RowCosts
        Share of the misclassification cost that a false positive bears; or costs, also by row as
        in ``Costs(fn=amounts, fp=5)``: the figure is then in their units.
    noise_rate : float, pair of floats, or None
        Rate of the noise, taken as known.
    margin : float, default=1.0
        As in `weighted_cost`.
    normalize : bool, default=False
        Whether to divide by the (weighted) number of rows.
    level : float, default=0.95
        Confidence level of the interval.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    groups : array-like of shape (n,), optional
        Which rows depend on each other: the patient, customer or document that a row is of. The
        interval counts groups rather than rows; the value is the same.

    Returns
    -------
    Interval
        ``value``, from no cost to that of nothing but the more expensive error, and the limits
        ``low`` and ``high``, which contain it.

    Warns
    -----
    DenoisingWarning
        When the rate leaves so little of the labels that nothing is identified; the interval is
        then the whole feasible range.

    Examples
    --------
    A perfect classifier looks bad on noisy labels, and good again when they are denoised:

    >>> import numpy as np
    >>> from flipcost import Costs
    >>> from flipcost.metrics import denoised_cost, weighted_cost
    >>> from flipcost.noise import flip_labels
    >>> y = np.repeat([0, 1], 2000)
    >>> noisy = flip_labels(y, 0.2, random_state=0)
    >>> print(round(weighted_cost(noisy, y, cost=0.2, normalize=True), 3))
    0.102
    >>> found = denoised_cost(noisy, y, cost=0.2, noise_rate=0.2, normalize=True)
    >>> print(f"{found.value:.3f} in [{found.low:.3f}, {found.high:.3f}]")
    0.003 in [0.000, 0.016]

    Prices of each row count as they are, and the figure is money:

    >>> amounts = np.random.default_rng(0).lognormal(4, 1, 4000)
    >>> found = denoised_cost(noisy, y, Costs(fn=amounts, fp=5), 0.2, normalize=True)
    >>> print(found.low == 0.0, bool(found.high < amounts.mean() / 10))
    True True

    Each row five times over tells as much as once:

    >>> often = np.repeat(np.arange(4000), 5)
    >>> found = denoised_cost(noisy[often], y[often], 0.2, 0.2, normalize=True, groups=often)
    >>> print(f"{found.value:.3f} in [{found.low:.3f}, {found.high:.3f}]")
    0.003 in [0.000, 0.016]
    """
    labels, flags, weight = read_flagged(y_noisy, y_pred, pos_label, sample_weight)
    prices = _row_costs(cost, len(labels), margin)
    sums = cost_sums(labels, flags, prices, weight)
    if groups is not None:
        costs = unbiased_costs(labels, flags, prices, noise_rate)
        codes = value_codes(groups, len(labels), "groups")
        cells = 2 * labels.astype(np.intp) + flags
        sums = sums.thinned(_design(cells, costs, codes, weight, level))
    doubt = not_identified(noise_rate, sums.n_effective)
    if doubt is not None:
        warnings.warn(doubt, DenoisingWarning, stacklevel=2)
    mean = denoised_mean(sums, noise_rate, check_level(level))
    return mean if normalize else mean.times(sums.weight)


def _design(
    cells: Indices, costs: Array, groups: Indices, weight: ArrayLike | None, level: float
) -> float:
    """Return the design effect, from cells of the table and estimated costs of rows."""
    if np.ptp(cells) == 0:  # nothing varies: take the rows of a group as identical
        design = design_effect(unit_weights(weight, len(cells)), groups, level)
    else:
        design = cell_design(cells, groups, weight, level)
    return max(design, mean_design(costs, groups, weight, level))


def _row_costs(cost: AnyCosts, n_rows: int, margin: float = 1.0) -> RowCosts:
    """Return costs in the units in which they were given."""
    found = RowCosts.in_units(cost, n_rows)
    if margin == 1:
        return found
    if not found.is_constant:
        msg = f"Costs by row are money, which no `margin` divides: give 1, not {margin:g}."
        raise ValueError(msg)
    return RowCosts(found.miss, found.alarm / margin_value(margin))


def _mean_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    cost: AnyCosts,
    noise_rate: NoiseRateLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    prices: Any = None,
) -> float:
    labels, flags, weight = read_flagged(y_true, y_pred, pos_label, sample_weight)
    paid = _row_costs(cost if prices is None else prices, len(labels))
    return unbiased_mean(cost_sums(labels, flags, paid, weight), noise_rate)


class _CostScorer(Scorer):
    """A scorer that has rows decided on at their own costs, and counts them at these."""

    def _score(
        self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any
    ) -> float:
        paid = prices_of(self._kwargs["cost"], kwargs.pop("prices", None), X)
        if paid is None:
            return super()._score(method_caller, estimator, X, y_true, **kwargs)
        given = {"prices": paid.table()} if takes_prices(estimator) else {}
        flagged = estimator.predict(X, **given)
        return self._sign * self._score_func(
            y_true, flagged, **{**self._kwargs, **kwargs, "prices": paid}
        )


def _measured(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    name: Measure,
    noise_rate: NoiseRateLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    # Scores are averaged over folds and ranked, so they are unbiased and not clipped.
    table = confusion(y_true, y_pred, pos_label, sample_weight).denoised(noise_rate)
    return float(measure(table, name))


def cost_scorer(
    cost: CostLike, noise_rate: NoiseRateLike = None, *, pos_label: Any = None
) -> Callable[..., float]:
    """Return a scorer of the mean weighted cost of a row, its sign turned: larger is better.

    Without a noise rate the labels are taken as they are, and on noisy ones the choice leans
    towards the class whose errors are expensive. With it, the counts of each fold are denoised
    first. At ``cost=0.5`` the scorer ranks as (denoised) accuracy does.

    Parameters
    ----------
    cost : float or Costs
        Share of the misclassification cost that a false positive bears, or both costs, in whose
        units the score then is. Prices may be columns of X, as in ``Costs(fn="amount", fp=5)``;
        costs by row can also be routed to the scorer as the metadata `prices`, by
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
    rate_pair(noise_rate)
    known = {"cost": cost, "noise_rate": noise_rate, "pos_label": pos_label}
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
    rate_pair(noise_rate)  # an impossible one is refused at once
    return make_scorer(_measured, name="am", noise_rate=noise_rate, pos_label=pos_label)


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
    rate_pair(noise_rate)
    return make_scorer(_measured, name="f", noise_rate=noise_rate, pos_label=pos_label)
