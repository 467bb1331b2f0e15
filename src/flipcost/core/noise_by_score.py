"""Noise rates in bands of the score, from checked rows.

Rates that are the same everywhere are a model; people and rules err where rows are hard to tell, or
where a rule does not look. Checked rows show it once there are enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.checked_rows import N_SCORE_BINS, CheckedRows, ScoreCells
from flipcost.core.confusion import Interval
from flipcost.core.possible import possible_limits

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


def rates_by_score_band(
    checked: CheckedRows,
    positive: ArrayLike,
    score: ArrayLike,
    expected: ArrayLike,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> tuple[RateBand, ...]:
    """Return both noise rates in bands of the score."""
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
