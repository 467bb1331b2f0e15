"""How the noise rates change along the score, from rows that somebody checked.

Rates that are the same everywhere are a model; mistakes of people and rules are not: they lie
where rows are hard to tell, or where a rule does not look. Checked rows show it once there are
enough of them. Rows are put in bands of the score, and what is known of their cells
(`flipcost.core.cells`) gives both rates in each band, with intervals: of the positives there, those
that are labelled negative, and of the negatives those that are labelled positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.cells import N_SCORE_BINS, ScoreCells
from flipcost.core.confusion import Interval
from flipcost.core.possible import possible_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from flipcost.core.arrays import Array
    from flipcost.core.checked import CheckedRows

N_BANDS = 4


@dataclass(frozen=True)
class RateBand:
    """Rows within limits of the score, and how many of their labels are wrong.

    Attributes
    ----------
    low, high : float
        Least and largest of their scores, as probabilities of being positive.
    share : float
        Share of all rows, by weight, that they make.
    n_checked : int
        How many of them were checked.
    positives, negatives : Interval
        Shares of the truly positive and the truly negative ones that are labelled wrong.
    """

    low: float
    high: float
    share: float
    n_checked: int
    positives: Interval
    negatives: Interval


def rates_along(
    checked: CheckedRows,
    positive: ArrayLike,
    score: ArrayLike,
    expected: ArrayLike,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> tuple[RateBand, ...]:
    """Return both noise rates in bands of the score.

    Parameters
    ----------
    checked : CheckedRows
        Rows whose right label is known.
    positive : array-like of bool, shape (n,)
        Labels of all rows.
    score : array-like of shape (n,)
        Probability that each row is truly positive, before its label was seen.
    expected : array-like of shape (n,)
        The same given its label, by the model.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    level : float, default=0.95
        Level of the intervals.

    Returns
    -------
    tuple of RateBand
        In the order of the score; bands without rows are left out.

    Examples
    --------
    >>> from flipcost.core.checked import CheckedRows
    >>> score = (np.arange(800) + 0.5) / 800
    >>> right = np.arange(800) * 7919 % 800 / 800 < score
    >>> labels = right & (score > 0.5)  # positives below the middle are missed
    >>> rows = np.arange(0, 800, 4)
    >>> bands = rates_along(CheckedRows(rows, right[rows]), labels, score, 0.1 + 0.8 * labels)
    >>> [bool(band.positives.value > 0.5) for band in bands]
    [True, True, False, False]
    """
    labels, place = np.asarray(positive, dtype=bool), np.asarray(score, dtype=float)
    cells = ScoreCells.from_rows(labels, place, expected, sample_weight)
    # Where rates change along the score, the model of constant ones is off: with its usual doubt
    # the band of the lowest scores was covered in 29 of 40 draws.
    true = checked.drawn_shares(cells, sample_weight, in_doubt=True) * cells.share
    false = cells.share - true
    band = cells.bin * N_BANDS // N_SCORE_BINS
    looked = np.bincount(cells.cell[checked.rows], minlength=len(cells.share))
    found = []
    for k in range(N_BANDS):
        inside = band == k
        own = place[inside[cells.cell]]
        share = float(cells.share[inside].sum())
        if share > 0:
            rates = (
                _wrong_share(part[:, inside & (cells.label == wrong)], part[:, inside], level)
                for part, wrong in ((true, False), (false, True))
            )
            looked_at = int(looked[inside].sum())
            found.append(RateBand(float(own.min()), float(own.max()), share, looked_at, *rates))
    return tuple(found)


def _wrong_share(wrong: Array, total: Array, level: float) -> Interval:
    drawn = wrong.sum(axis=1) / np.maximum(total.sum(axis=1), 1e-300)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(*possible_limits(float(drawn.mean()), float(low), float(high), 0.0, 1.0))


def furthest_apart(bands: Sequence[RateBand]) -> tuple[str, RateBand, RateBand] | None:
    """Return the class and the two bands whose rates differ most beyond doubt, the worse first.

    None where the intervals of all bands overlap: then the same rates everywhere will do.

    Examples
    --------
    >>> none = Interval(0.02, 0.0, 0.04)
    >>> few, many = (RateBand(0.0, 0.5, 0.5, 50, Interval(v, v - 0.05, v + 0.05), none)
    ...              for v in (0.06, 0.3))
    >>> side, worse, better = furthest_apart([few, many])
    >>> side, worse is many, furthest_apart([few, few]) is None
    ('positives', True, True)
    """
    pairs = [
        (getattr(worse, side).low - getattr(better, side).high, side, worse, better)
        for side in ("positives", "negatives")
        for worse, better in permutations(bands, 2)
    ]
    if not pairs:
        return None
    apart, side, worse, better = max(pairs, key=lambda pair: pair[0])
    return (side, worse, better) if apart > 0 else None
