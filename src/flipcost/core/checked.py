r"""What mistakes cost, from rows that somebody checked.

A label, a call and a range of the score put each row in a cell (`flipcost.core.cells`). How many
rows each cell holds is known; how many of them are truly positive is known on the checked ones
only. With :math:`W_c` the share of a cell and :math:`p_c` its share of true positives, the clean
cost of a row is

.. math::

    \sum_{c\ \text{called negative}} (1 - a)\, W_c\, p_c
    + \sum_{c\ \text{called positive}} a\, W_c\, (1 - p_c),

whatever the mistakes in the labels depend on. Checked rows may have been chosen by label, call and
score, as those of `flipcost.core.recheck` are, or those that look wrong; within a cell they must
stand for the others. Cells of label and call alone would not do: of rows called positive those
that look wrong most are mostly positive, and the others of that cell are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.cells import ScoreCells
from flipcost.core.confusion import Interval
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.possible import agreement, possible_limits
from flipcost.core.prices import Prices

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_DRAWS = 2_000
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
        score: ArrayLike | None = None,
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
        score : array-like of shape (n,), optional
            What rows were chosen by besides their labels: the probability of being positive;
            `expected` when not given.
        """
        paid = cost_share(cost)
        cells = ScoreCells.from_rows(
            positive, expected if score is None else score, expected, sample_weight, called
        )
        # What is paid in a cell whose rows are truly positive, and if none is.
        slope = np.where(cells.called, -paid, 1 - paid)
        base = np.where(cells.called, paid, 0.0)
        drawn = base + slope * self.drawn_shares(cells, sample_weight)
        value = float((drawn @ cells.share).mean())
        low, high = self._limits(drawn, cells, sample_weight, level)
        most = float(cells.share @ np.where(cells.called, paid, 1 - paid))
        return Interval(*possible_limits(value, low, high, 0.0, most))

    def mistakes(
        self,
        positive: ArrayLike,
        called: ArrayLike,
        expected: ArrayLike,
        sample_weight: ArrayLike | None = None,
        score: ArrayLike | None = None,
    ) -> tuple[float, float]:
        """Return the shares of rows that calls miss, and that they call for nothing.

        At any cost share, the first times one less it and the second times it are what `cost` puts
        in the middle of its interval: many costs of the same calls need these once.

        Parameters
        ----------
        positive, called, expected, sample_weight, score
            As in `cost`.

        Examples
        --------
        >>> checked = CheckedRows(np.array([0, 2]), np.array([True, False]))
        >>> labels, eta = np.array([True, True, False, False]), np.array([0.9, 0.9, 0.1, 0.1])
        >>> misses, alarms = checked.mistakes(labels, labels, eta)
        >>> found = checked.cost(labels, labels, eta, 0.2)
        >>> bool(np.isclose(found.value, 0.8 * misses + 0.2 * alarms))
        True
        """
        cells = ScoreCells.from_rows(
            positive, expected if score is None else score, expected, sample_weight, called
        )
        share = self.drawn_shares(cells, sample_weight).mean(axis=0)
        misses = cells.share @ np.where(cells.called, 0.0, share)
        alarms = cells.share @ np.where(cells.called, 1 - share, 0.0)
        return float(misses), float(alarms)

    def priced_cost(
        self,
        positive: ArrayLike,
        called: ArrayLike,
        expected: ArrayLike,
        prices: Prices,
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
        score: ArrayLike | None = None,
    ) -> Interval:
        """Return the clean cost of a row under calls, in the units of prices by row.

        Rows weigh what they cost if the call is wrong, and a checked row counts for less than one
        where a few of them weigh most.

        Parameters
        ----------
        positive, called, expected, sample_weight, level, score
            As in `cost`.
        prices : Prices
            Of the rows.
        """
        paid, told = self._by_price(np.asarray(called, bool), prices, sample_weight)
        weight = np.ones(len(paid)) if sample_weight is None else np.asarray(sample_weight, float)
        found = told.cost(positive, called, expected, 0.5, paid, level, score)
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
        score: ArrayLike | None = None,
    ) -> tuple[float, float]:
        """Return the limits of what a row costs less under calls than under those of a rival.

        Only rows that the two call differently matter, and the checked ones among them most.

        Parameters
        ----------
        positive, called, rival_called : array-like of bool, shape (n,)
            Labels, and calls of both.
        expected, cost, sample_weight, level, score
            As in `cost`.
        """
        ours, theirs = (np.asarray(calls, bool) for calls in (called, rival_called))
        rows = _weights(sample_weight, len(ours))
        told, weight = self, rows
        if isinstance(cost, Prices):
            # A row weighs what both mistakes on it cost, and is compared with its own threshold.
            weight, alarms = rows * (cost.miss + cost.alarm), rows * cost.alarm
            own = np.maximum(weight[self.rows], 0.0)
            told = replace(self, weight=own * (own.sum() / max(float((own**2).sum()), 1e-300)))
        else:
            alarms = rows * cost_share(cost)
        cells = ScoreCells.from_rows(
            positive, expected if score is None else score, expected, weight, ours != theirs
        )
        # Rows that ours alone calls positive gain where they are, those of the rival where not.
        side = ours.astype(float) - theirs
        turned, paid = (
            np.bincount(cells.cell, side * part, len(cells.share)) / weight.sum()
            for part in (weight, alarms)
        )
        turned, paid = (
            np.divide(part, cells.share, out=np.zeros_like(part), where=cells.share > 0)
            for part in (turned, paid)
        )
        saved = turned * told.drawn_shares(cells, weight) - paid
        low, high = told._limits(saved, cells, weight, level)  # noqa: SLF001 - of this class
        scale = float(weight.sum() / rows.sum())
        return scale * low, scale * high

    def drawn_shares(
        self, cells: ScoreCells, sample_weight: ArrayLike | None, *, in_doubt: bool = False
    ) -> Array:
        """Draw shares of true positives in cells given these rows, shape (draws, cells).

        Parameters
        ----------
        cells : ScoreCells
            Of all rows.
        sample_weight : array-like of shape (n,), optional
            Weights of all rows.
        in_doubt : bool, default=False
            Whether the model is taken to be off by more, rather than with a small probability.
        """
        weight = self.weight
        if weight is None:
            weight = _weights(sample_weight, len(cells.cell))[self.rows]
        # A fixed seed: the same rows give the same interval.
        found = cells.given_checked(self.rows, self.right, weight / self.design)
        return (replace(found, wide_weight=1.0) if in_doubt else found).draws(_DRAWS)

    def _limits(
        self, drawn: Array, cells: ScoreCells, sample_weight: ArrayLike | None, level: float
    ) -> tuple[float, float]:
        """Return limits of a sum over cells whose shares are those of a sample, too."""
        weight = _weights(sample_weight, len(cells.cell))
        effective = weight.sum() ** 2 / (weight**2).sum() / self.design
        rng = np.random.default_rng(0)
        shares = rng.dirichlet(cells.share * effective + 1e-9, size=len(drawn))
        low, high = np.quantile((shares * drawn).sum(axis=1), [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def _weights(sample_weight: ArrayLike | None, n: int) -> Array:
    return np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)


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


def look_wrong(
    scores: ArrayLike, labels: ArrayLike, others: ArrayLike, others_labels: ArrayLike
) -> bool:
    r"""Tell whether rows look wrongly labelled, by scores learned from the labels of other rows.

    The share of other rows of the same label that look less suspicious is one half on average for
    rows that are like them, the area :math:`A` under the ROC curve for rows that truly are of the
    other class, and more if these were chosen for their suspicion. The limit lies halfway between
    the first two, and a standard error above one half at least, :math:`1 / \sqrt{12 m}` of
    :math:`m` rows. It depends neither on the share of positives nor on who was chosen.

    Parameters
    ----------
    scores : array-like of shape (m,)
        Of the rows, higher for positives.
    labels : array-like of bool, shape (m,)
        Their labels.
    others, others_labels : array-like of shape (n,)
        Scores and labels of other rows, of both classes.

    Examples
    --------
    >>> others, labels = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [False, False, False, True, True, True]
    >>> look_wrong([1.5, 2.5, 5.5], [True, True, False], others, labels)
    True
    >>> look_wrong([4.5, 5.5, 1.5], [True, True, False], others, labels)
    False
    """
    found, given = np.asarray(scores, float), np.asarray(labels, bool)
    around, classes = np.asarray(others, float), np.asarray(others_labels, bool)
    if not len(found):
        return False
    negative, positive = np.sort(around[~classes]), np.sort(around[classes])
    area = _share_below(positive, negative).mean()
    above = _share_below(found, negative)  # of a negative label: what is high looks wrong
    suspicion = np.where(given, 1 - _share_below(found, positive), above).mean()
    return bool(suspicion > 0.5 + max((area - 0.5) / 2, 1 / np.sqrt(12 * len(found))))


def _share_below(values: Array, among: Array) -> Array:
    """Return the share of sorted numbers that lie below each value, ties by half."""
    below = np.searchsorted(among, values, "left") + np.searchsorted(among, values, "right")
    share: Array = below / (2 * len(among))
    return share


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
