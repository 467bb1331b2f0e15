"""Estimates after each round of checked rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flipcost.estimators.flipcost.fit import fit_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.confusion import Interval
    from flipcost.estimators.flipcost.result import FitResult
    from flipcost.estimators.flipcost.rows import ScoredRows

# More rounds than these are not all gone through again.
_MOST_ROUNDS = 12


@dataclass(frozen=True)
class CheckRound:
    """What was known once some rows were checked.

    Attributes
    ----------
    n_checked : int
        How many were.
    wrong_share : Interval
        Share of all labels that are wrong.
    rates : pair of pairs of floats
        Limits of the rates of positives and of negatives.
    cost : Interval
        Clean cost of a row under what was chosen then, in the user's units.
    """

    n_checked: int
    wrong_share: Interval
    rates: tuple[tuple[float, float], tuple[float, float]]
    cost: Interval


def check_history(
    rows: ScoredRows, result: FitResult, rounds: NDArray[np.intp]
) -> list[CheckRound]:
    """Return what was known with no checked row, and after each round of them.

    Scores are those of all rounds; what they mean is found again with the rows of the first
    rounds alone.
    """
    if rows.checked is None:
        return [_round_of(result)]
    last = np.unique(rounds)[:-1]
    if len(last) > _MOST_ROUNDS:
        last = last[np.linspace(0, len(last) - 1, _MOST_ROUNDS).round().astype(int)]
    kept = [np.zeros(len(rounds), dtype=bool), *(rounds <= number for number in last)]
    before = [_round_of(fit_scores(only_checked(rows, some), result.options)) for some in kept]
    return [*before, _round_of(result)]


def only_checked(rows: ScoredRows, kept: NDArray[np.bool_]) -> ScoredRows:
    """Return the same rows with only some of the checked ones."""
    checked = rows.checked
    if checked is None or not kept.any():
        return replace(rows, checked=None, bins=tuple(replace(b, checked=None) for b in rows.bins))
    some = checked.take(kept)
    counted = some.weights_among(rows.weight) / some.design
    bins = tuple(
        b.with_checked(
            b.location + b.scale * s[some.rows], some.right, rows.positive[some.rows], counted
        )
        for b, s in zip(rows.bins, rows.scores, strict=True)
    )
    return replace(rows, bins=bins, checked=some)


def _round_of(result: FitResult) -> CheckRound:
    rates = result.posterior.interval(result.options.level)
    of_positives, of_negatives = np.broadcast_to(rates, (2, 2)).tolist()
    return CheckRound(
        result.n_checked,
        result.wrong_share,
        (tuple(of_positives), tuple(of_negatives)),
        result.costs[result.chosen],
    )
