"""What a fit learns from: rows with their out-of-fold scores, in memory or standing for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.calibration import ScoreBins

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.core.checked_rows import CheckedRows
    from flipcost.core.costs import RowCosts
    from flipcost.core.noise_posterior import RatePosterior

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with their out-of-fold scores, or what stands for the rows.

    Attributes
    ----------
    bins : tuple of ScoreBins
        Labels of all rows in bins of each score.
    scores : tuple of ndarray of shape (n,)
        Scores in the units of the bins.
    positive : ndarray of bool, shape (n,)
        The noisy labels.
    weight : ndarray of shape (n,) or None
        Weights.
    n_rows : int
        How many rows there are, or these stand for.
    positive_share : float
        Share of positive labels in all rows.
    call_squares : callable or None
        As in `flipcost.core.decision.count_calls`, where these stand for more rows.
    checked : CheckedRows or None
        Those among them whose right label is known.
    prices : RowCosts or None
        What their mistakes cost, where that differs by row.
    features : ndarray of shape (n, d) or None
        Their features as numbers, where checked rows may correct the scores by these.
    folds : ndarray of int, shape (n,), or None
        The folds that scores are held out by.
    design : float, default=1.0
        Design effect (`flipcost.core.dependence`): rows count for so many times fewer.
    call_design : callable or None
        As in `flipcost.core.decision.decide`, where rows depend on each other and have prices.
    """

    bins: tuple[ScoreBins, ...]
    scores: tuple[Array, ...]
    positive: Flags
    weight: Array | None
    n_rows: int
    positive_share: float
    call_squares: Callable[[Flags], Array] | None = None
    checked: CheckedRows | None = None
    prices: RowCosts | None = None
    features: Array | None = None
    folds: NDArray[np.intp] | None = None
    design: float = 1.0
    call_design: Callable[[Flags, RatePosterior], float] | None = None

    @property
    def n_effective(self) -> float:
        """Rows that these count for."""
        return self.n_rows / self.design

    @classmethod
    def from_scores(
        cls,
        scores: Array,
        positive: Flags,
        weight: Array | None,
        checked: CheckedRows | None = None,
        prices: RowCosts | None = None,
        *,
        overwrite_scores: bool = False,
    ) -> ScoredRows:
        """Bin scores of shape (n_scores, n); they may be overwritten, for fewer copies of them."""
        at_checked = None if checked is None else scores[:, checked.rows]
        found = [
            ScoreBins.standardizing(s, positive, weight, s if overwrite_scores else None)
            for s in scores
        ]
        bins = tuple(b for b, _ in found)
        if checked is not None and at_checked is not None:
            rows = checked.rows
            w = checked.weight
            if w is None and weight is not None:
                w = weight[rows]
            bins = tuple(
                b.with_checked(s, checked.right, positive[rows], w)
                for b, s in zip(bins, at_checked, strict=True)
            )
        standard = tuple(z for _, z in found)
        share = float(np.average(positive, weights=weight))
        n_rows = len(positive)
        return cls(bins, standard, positive, weight, n_rows, share, checked=checked, prices=prices)
