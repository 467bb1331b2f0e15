"""Rows to learn from, before they have scores and with them; checked rows among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost._validation import is_missing, take_rows
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.calibration import ScoreBins
from flipcost.core.checked_rows import CheckedRows, contradict, look_wrong
from flipcost.exceptions import FlipCostError
from flipcost.tables.sample import fit_weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.core.costs import RowCosts
    from flipcost.core.error_rates import RatePosterior


def read_trusted(
    trusted: Any, classes: NDArray[Any], n_rows: int, *, second_is_positive: bool
) -> CheckedRows | None:
    """Return the rows that were checked, or None when there are none."""
    if trusted is None:
        return None
    values = np.asarray(trusted, dtype=object).reshape(-1)
    if len(values) != n_rows:
        msg = (
            f"`trusted` must have a value for each of the {n_rows} rows, missing where no one "
            f"checked; got {len(values)}."
        )
        raise ValueError(msg)
    rows = np.flatnonzero(~is_missing(values))
    if not len(rows):
        return None
    given = values[rows]
    second = np.array([bool(value == classes[1]) for value in given])
    first = np.array([bool(value == classes[0]) for value in given])
    strange = np.flatnonzero(~(first | second))
    if len(strange):
        msg = (
            f"`trusted` must hold the labels {classes.tolist()}, or nothing; got "
            f"{given[strange[0]]!r} in row {int(rows[strange[0]])}."
        )
        raise ValueError(msg)
    return CheckedRows(rows, second if second_is_positive else first)


def mended(positive: Flags, checked: CheckedRows) -> Flags:
    """Return the labels with those that were checked as they are right.

    If that leaves one class only, which the labels do not, they are returned as they were.
    """
    labels = positive.copy()
    labels[checked.rows] = checked.right
    return positive if labels.all() or not labels.any() else labels


def check_not_swapped(
    X: Any,
    positive: Flags,
    checked: CheckedRows,
    learn: Callable[[Any, Flags], Callable[[Any], Array]],
) -> None:
    """Refuse checked rows that contradict most labels, unless these labels look wrong.

    Rows that were checked because they look wrong mostly are; then what the other rows' labels
    teach speaks against the labels that the checks contradict. Where it does not, and rows are
    contradicted that look like any of their label, one of the two columns is coded the other way.
    """
    given = positive[checked.rows]
    if not contradict(given, checked.right):
        return
    others = np.ones(len(positive), dtype=bool)
    others[checked.rows] = False
    rest = np.flatnonzero(others)
    if len(np.unique(positive[rest])) == 2:
        others_X, wrong_rows = take_rows(X, rest), checked.rows[given != checked.right]
        score = learn(others_X, positive[rest])
        scores = score(take_rows(X, wrong_rows))
        if look_wrong(scores, positive[wrong_rows], score(others_X), positive[rest]):
            return
    wrong, rows = int(np.sum(given != checked.right)), len(given)
    msg = (
        f"{wrong:,} of the {rows:,} checked rows have another label in `trusted` than in `y`, and "
        "these rows look no different from others of their label: are its two labels swapped, or "
        "do they belong to other rows?"
    )
    raise FlipCostError(msg)


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Rows in memory, checked.

    Attributes
    ----------
    X : array, sparse matrix or frame of n rows
        Their features.
    positive : ndarray of bool, shape (n,)
        The noisy labels.
    weight : ndarray of shape (n,) or None
        Weights.
    checked : CheckedRows or None
        Those whose right label is known.
    prices : RowCosts or None
        What their mistakes cost, where that differs by row.
    stands_for : pair of floats
        What a negative and a positive label weigh, where rows were drawn from a table.
    """

    X: Any
    positive: Flags
    weight: Array | None = None
    checked: CheckedRows | None = None
    prices: RowCosts | None = None
    stands_for: tuple[float, float] = (1.0, 1.0)

    def take(self, places: Indices) -> LabeledRows:
        """Return the rows at some places, all that were checked among them."""
        checked = self.checked
        if checked is not None:
            number = np.full(len(self.positive), -1)
            number[places] = np.arange(len(places))
            checked = checked.take(number[checked.rows] >= 0)
            checked = replace(checked, rows=number[checked.rows])
        return LabeledRows(
            self.X.take(places) if hasattr(self.X, "column_names") else take_rows(self.X, places),
            self.positive[places],
            None if self.weight is None else self.weight[places],
            checked,
            None if self.prices is None else self.prices.take(places),
        )

    def standing_for(self, stands_for: Array) -> LabeledRows:
        """Return the same with weights that make them stand for a table."""
        weight = fit_weight(stands_for, self.positive, self.weight)
        if weight is self.weight:
            return self
        drawn: Any = fit_weight(stands_for, self.positive, None)
        # Checked rows may stand for themselves alone; most rows are not.
        of_negative, of_positive = (np.median(drawn[self.positive == k]) for k in (False, True))
        found = replace(self, weight=weight, stands_for=(float(of_negative), float(of_positive)))
        if self.checked is None:
            return found
        rows = self.checked.rows
        own = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        return replace(found, checked=replace(self.checked, weight=own))


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with their out-of-fold scores, or what represents the rows.

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
    flag_squares : callable or None
        As in `flipcost.core.decision.count_flags`, where these represent more rows.
    checked : CheckedRows or None
        Those among them whose right label is known.
    prices : RowCosts or None
        What their mistakes cost, where that differs by row.
    features : ndarray of shape (n, d) or None
        Their features as numbers, where checked rows may correct the scores by these.
    folds : ndarray of int, shape (n,), or None
        The folds that scores are held out by.
    design : float, default=1.0
        Design effect (`flipcost.core.dependence`): rows count for this many times fewer.
    flag_design : callable or None
        As in `flipcost.core.decision.decide`, where rows depend on each other and have prices.
    """

    bins: tuple[ScoreBins, ...]
    scores: tuple[Array, ...]
    positive: Flags
    weight: Array | None
    flag_squares: Callable[[Flags], Array] | None = None
    checked: CheckedRows | None = None
    prices: RowCosts | None = None
    features: Array | None = None
    folds: Indices | None = None
    design: float = 1.0
    flag_design: Callable[[Flags, RatePosterior], float] | None = None

    @property
    def n_effective(self) -> float:
        """Rows that these count for."""
        return len(self.positive) / self.design

    @property
    def n_clean(self) -> int:
        """Rows beside these whose right label is known."""
        clean = self.bins[0].clean
        return 0 if clean is None else round(float(clean.sum()))

    @property
    def label_share(self) -> float:
        """Share of positive labels."""
        return float(np.average(self.positive, weights=self.weight))

    @classmethod
    def from_scores(
        cls,
        scores: Array,
        rows: LabeledRows,
        clean: tuple[Array, Flags] | None = None,
        *,
        overwrite_scores: bool = False,
    ) -> ScoredRows:
        """Bin scores of shape (n_scores, n); they may be overwritten, for fewer copies of them.

        `clean` are scores of other rows, and which of these are truly positive.
        """
        positive, weight, checked = rows.positive, rows.weight, rows.checked
        at_checked = None if checked is None else scores[:, checked.rows]
        found = [
            ScoreBins.standardizing(s, positive, weight, s if overwrite_scores else None)
            for s in scores
        ]
        bins = tuple(b.of_drawn(rows.stands_for) for b, _ in found)
        if checked is not None and at_checked is not None:
            w = checked.weights_among(weight)
            bins = tuple(
                b.with_checked(s, checked.right, positive[checked.rows], w)
                for b, s in zip(bins, at_checked, strict=True)
            )
        if clean is not None:
            bins = tuple(b.with_clean(s, clean[1]) for b, s in zip(bins, clean[0], strict=True))
        standard = tuple(z for _, z in found)
        return cls(bins, standard, positive, weight, checked=checked, prices=rows.prices)
