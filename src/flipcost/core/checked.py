r"""What mistakes cost, from rows that somebody checked.

A label and a call put each row in one of four cells. How many rows each cell holds is known; how
many of them are truly positive is known on the checked ones only. With :math:`W_{lc}` the share of
a cell and :math:`p_{lc}` its share of true positives, the clean cost of a row is

.. math::

    \sum_l \left[ (1 - a)\, W_{l0}\, p_{l0} + a\, W_{l1}\, (1 - p_{l1}) \right],

whatever the mistakes in the labels depend on. Checked rows may have been chosen by label, call or
cell; within a cell they must stand for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.confusion import Interval
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.possible import agreement, possible_limits
from flipcost.core.prices import Prices

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# The calibrated model counts for so many checked rows in each cell, and intervals count half a row
# of each class more (Jeffreys): with the model alone, cells of few positives were too sure.
_MODEL_ROWS, _UNSEEN = 2.0, 0.5
_DRAWS = 4_000
# Fewer checked rows than this may all be wrong by chance, and so many standard errors are chance.
_FEW_CHECKED, _BEYOND_CHANCE = 10, 3.0


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows whose right label is known, among all rows.

    Attributes
    ----------
    rows : ndarray of int, shape (n_checked,)
        Which rows they are.
    right : ndarray of bool, shape (n_checked,)
        Whether they are truly positive.
    weight : ndarray of shape (n_checked,) or None
        Their weights, where those of the rows count others too; theirs among all rows when None.
    design : float, default=1.0
        Design effect of the rows (`flipcost.core.dependence`): they count for so many times fewer.

    Examples
    --------
    >>> checked = CheckedRows(np.array([0, 2]), np.array([True, False]))
    >>> labels, calls = np.array([True, True, False, False]), np.array([True, True, False, False])
    >>> cost = checked.cost(labels, calls, np.array([0.9, 0.9, 0.1, 0.1]), 0.5)
    >>> bool(cost.low <= cost.value <= cost.high)
    True
    """

    rows: NDArray[np.intp]
    right: Flags
    weight: Array | None = None
    design: float = 1.0

    def cost(
        self,
        positive: ArrayLike,
        called: ArrayLike,
        expected: ArrayLike,
        cost: CostLike,
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
    ) -> Interval:
        """Return the clean cost of a row under calls.

        Parameters
        ----------
        positive, called : array-like of bool, shape (n,)
            Labels and calls of all rows.
        expected : array-like of shape (n,)
            Probability that each row is truly positive, given its label, by the model.
        cost : float or Costs
            Share of the cost that a false positive bears.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        level : float, default=0.95
            Level of the interval.
        """
        labels, calls = np.asarray(positive, bool), np.asarray(called, bool)
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
        cell = 2 * labels.astype(np.intp) + calls
        total = np.bincount(cell, weight, 4)
        model = np.bincount(cell, weight * np.asarray(expected, float), 4) / np.maximum(
            total, 1e-300
        )
        w = (weight[self.rows] if self.weight is None else self.weight) / self.design
        own = cell[self.rows]
        ones, zeros = (np.bincount(own, w * side, 4) for side in (self.right, ~self.right))
        a = np.clip(_MODEL_ROWS * model, 1e-3, None) + ones
        b = np.clip(_MODEL_ROWS * (1 - model), 1e-3, None) + zeros
        share, paid = total / total.sum(), cost_share(cost)
        price = np.where([0, 1, 0, 1], -paid, 1 - paid)  # of a true positive, by cell
        base = np.where([0, 1, 0, 1], paid, 0.0)
        value = float(share @ (base + price * a / (a + b)))
        # A fixed seed: the same rows give the same interval.
        rng = np.random.default_rng(0)
        drawn = rng.beta(a + _UNSEEN, b + _UNSEEN, size=(_DRAWS, 4))
        effective = weight.sum() ** 2 / (weight**2).sum() / self.design
        shares = rng.dirichlet(share * effective + 1e-9, size=_DRAWS)
        costs = (shares * (base + price * drawn)).sum(axis=1)
        low, high = np.quantile(costs, [(1 - level) / 2, (1 + level) / 2])
        most = float(share @ np.where([0, 1, 0, 1], paid, 1 - paid))
        return Interval(*possible_limits(value, low, high, 0.0, most))

    def priced_cost(
        self,
        positive: ArrayLike,
        called: ArrayLike,
        expected: ArrayLike,
        prices: Prices,
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
    ) -> Interval:
        """Return the clean cost of a row under calls, in the units of prices by row.

        Rows weigh what they cost if the call is wrong, and a checked row counts for less than one
        where a few of them weigh most.

        Parameters
        ----------
        positive, called, expected, sample_weight, level
            As in `cost`.
        prices : Prices
            Of the rows.
        """
        paid, told = self._by_price(np.asarray(called, bool), prices, sample_weight)
        weight = np.ones(len(paid)) if sample_weight is None else np.asarray(sample_weight, float)
        found = told.cost(positive, called, expected, 0.5, paid, level)
        scale = 2 * float(paid.sum() / weight.sum())
        return Interval(scale * found.value, scale * found.low, scale * found.high)

    def _by_price(
        self, called: Flags, prices: Prices, sample_weight: ArrayLike | None
    ) -> tuple[Array, CheckedRows]:
        """Return rows weighed by what a wrong call costs, and these rows by how much they tell."""
        weight = 1.0 if sample_weight is None else np.asarray(sample_weight, float)
        paid = weight * np.maximum(np.where(called, prices.alarm, prices.miss), 0.0)
        own, side = paid[self.rows], called[self.rows]
        told = np.zeros(len(own))
        for call in (False, True):
            mine = own * (side == call)
            squares = float((mine**2).sum())
            told += mine * (mine.sum() / squares if squares > 0 else 0.0)
        return np.asarray(paid), replace(self, weight=told)

    def saving_interval(
        self,
        positive: ArrayLike,
        called: ArrayLike,
        rival_called: ArrayLike,
        expected: ArrayLike,
        cost: CostLike | Prices,
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
    ) -> tuple[float, float]:
        """Return the limits of what a row costs less under calls than under those of a rival.

        Only rows that the two call differently matter, and the checked ones among them.

        Parameters
        ----------
        positive, called, rival_called : array-like of bool, shape (n,)
            Labels, and calls of both.
        expected, cost, sample_weight, level
            As in `cost`.
        """
        labels, ours, theirs = (np.asarray(a, bool) for a in (positive, called, rival_called))
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
        # Cells of (label, our call) where the calls differ; all others are the last one.
        cell = np.where(ours == theirs, 4, 2 * labels.astype(np.intp) + ours)
        w, scale = weight[self.rows] if self.weight is None else self.weight, 1.0
        if isinstance(cost, Prices):
            # A row weighs what both mistakes on it cost, and is compared with its own threshold.
            both, alarms = weight * (cost.miss + cost.alarm), weight * cost.alarm
            scale, weight = float(both.sum() / weight.sum()), both
            cut = np.bincount(cell, alarms, 5)[:4] / np.maximum(
                np.bincount(cell, both, 5)[:4], 1e-300
            )
            own = np.maximum(both[self.rows], 0.0)
            w = own * (own.sum() / max(float((own**2).sum()), 1e-300))
        else:
            cut = np.full(4, cost_share(cost))
        total = np.bincount(cell, weight, 5)
        model = np.bincount(cell, weight * np.asarray(expected, float), 5) / np.maximum(
            total, 1e-300
        )
        w = w / self.design
        own = cell[self.rows]
        ones, zeros = (np.bincount(own, w * side, 5)[:4] for side in (self.right, ~self.right))
        a = np.clip(_MODEL_ROWS * model[:4], 1e-3, None) + ones
        b = np.clip(_MODEL_ROWS * (1 - model[:4]), 1e-3, None) + zeros
        rng = np.random.default_rng(0)
        gain = rng.beta(a + _UNSEEN, b + _UNSEEN, size=(_DRAWS, 4)) - cut
        effective = weight.sum() ** 2 / (weight**2).sum() / self.design
        shares = rng.dirichlet(total / total.sum() * effective + 1e-9, size=_DRAWS)[:, :4]
        saved = (shares * gain * np.where([0, 1, 0, 1], 1.0, -1.0)).sum(axis=1)
        low, high = np.quantile(saved, [(1 - level) / 2, (1 + level) / 2])
        return scale * float(low), scale * float(high)


def contradict(labels: ArrayLike, right: ArrayLike) -> bool:
    """Tell whether checked rows contradict their labels: as a rule, these say the opposite.

    That is when most labels are wrong, or when a positive label makes the positive class less
    likely, beyond chance. Rows that were checked because they look wrong do so too: whoever asks
    should see what the other rows teach before these are refused.

    Parameters
    ----------
    labels, right : array-like of bool, shape (n,)
        Labels of checked rows, and what they truly are.

    Examples
    --------
    >>> labels = np.tile([True, False], 10)
    >>> contradict(labels, ~labels), contradict(labels, labels), contradict(labels[:4], ~labels[:4])
    (True, False, False)
    """
    given, true = np.asarray(labels, bool), np.asarray(right, bool)
    # Rows of one class may all be hard ones, as where most positives are missed.
    if len(given) < _FEW_CHECKED or len(np.unique(true)) < 2:
        return False
    if 2 * np.count_nonzero(given != true) > len(given):
        return True
    cells = np.bincount(2 * given.astype(np.intp) + true, minlength=4)
    return agreement(cells.reshape(2, 2)) < -_BEYOND_CHANCE


def given_label(probability: ArrayLike, positive: ArrayLike, rates: ArrayLike) -> Array:
    """Return the probability that rows are truly positive, given their labels too.

    Parameters
    ----------
    probability : array-like of shape (n,)
        Probability that the clean label is positive, before the label was seen.
    positive : array-like of bool, shape (n,)
        The labels.
    rates : pair of floats
        ``(rho_pos, rho_neg)``.

    Examples
    --------
    >>> given_label([0.5, 0.5], [True, False], (0.2, 0.1)).round(3)
    array([0.889, 0.182])
    """
    eta = np.asarray(probability, dtype=float)
    labels = np.asarray(positive, dtype=bool)
    rho_pos, rho_neg = np.asarray(rates, dtype=float)
    if_positive = np.where(labels, 1 - rho_pos, rho_pos) * eta
    if_negative = np.where(labels, rho_neg, 1 - rho_neg) * (1 - eta)
    total = if_positive + if_negative
    return np.asarray(np.divide(if_positive, total, out=labels.astype(float), where=total > 0))
