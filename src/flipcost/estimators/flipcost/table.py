r"""`FlipCostClassifier` from tables that are read in two passes.

Linear scores are solved from the moments of all rows. What moments do not tell is learned from what
stands for the rows (`sample`): rows that the first pass draws, the same number of each label so
that a rare class is not left with a handful; or, where rows must stay where they are, the groups of
rows with nearly the same score that the second pass forms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.calibration import N_BINS, ScoreBins
from flipcost.core.checked_rows import CheckedRows
from flipcost.core.costs import share_and_unit
from flipcost.estimators._tables import orient_found
from flipcost.estimators.flipcost.dependence import SampleTies
from flipcost.estimators.flipcost.drawing import Drawing
from flipcost.estimators.flipcost.fit import fit_scores
from flipcost.estimators.flipcost.moment_scores import (
    REACH,
    bent_moments,
    learn_scores,
    likeliest_score,
)
from flipcost.estimators.flipcost.sample import DrawnRows, GroupedRows, TableSample
from flipcost.estimators.flipcost.scored import ScoredRows
from flipcost.estimators.flipcost.second_pass import SecondPass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.core.costs import RowCosts
    from flipcost.core.moments import ClassMoments
    from flipcost.estimators.flipcost.first_pass import Gathered
    from flipcost.estimators.flipcost.options import FitOptions
    from flipcost.estimators.flipcost.result import FitResult
    from flipcost.estimators.flipcost.scores import RidgeScores
    from flipcost.tables.histogram import ScoreHistogram
    from flipcost.tables.sample import RowSample
    from flipcost.tables.source import Table

    Array = NDArray[np.float64]

# Groups of rows for each label, where none are drawn: as fine as the histograms of `scale`.
_CELLS = 512


@dataclass(frozen=True, eq=False)
class CheckedSample:
    """Rows of a table that somebody checked.

    Attributes
    ----------
    rows : DrawnRows
        The rows, with their labels and weights.
    right : ndarray of bool, shape (n,)
        Whether they are truly positive.
    """

    rows: DrawnRows
    right: NDArray[np.bool_]

    @classmethod
    def of(
        cls, sample: RowSample, positive: NDArray[np.bool_], right: NDArray[np.bool_]
    ) -> CheckedSample:
        """Take the rows that the first pass kept, given what their labels and right ones are."""
        folds, position = sample.y.T
        weight = np.ones(len(right)) if sample.weight is None else sample.weight
        about = TableSample(position, positive, weight)
        return cls(DrawnRows(sample.X, folds, about, sample.frame), right)


@dataclass(frozen=True, eq=False)
class TableFit:
    """What a fit from a table found.

    Attributes
    ----------
    result : FitResult
        What was found in the scores.
    scorer : RidgeScores
        What scores new rows.
    classes : ndarray of shape (2,)
        The labels, sorted.
    labels : tuple
        The negative label and the positive one.
    names : tuple of str or None
        Of the features.
    parts : tuple of ClassMoments
        Moments of each fold.
    held_out : ndarray of shape (n_folds, n_scores, n_columns + 1)
        Coefficients of each fold, for its own rows.
    rows : DrawnRows or GroupedRows
        What stood for the rows.
    watched : DrawnRows or None
        Rows whose score speaks most against their label.
    checked : CheckedRows or None
        Which of `rows` somebody checked.
    scored : ScoredRows or None
        `rows` with their scores, as the result was found from.
    groups : ndarray of int or None
        Which of `rows` depend on each other.
    note : str or None
        What to say of that.
    """

    result: FitResult
    scorer: RidgeScores
    classes: NDArray[Any]
    labels: tuple[Any, ...]
    names: tuple[str, ...] | None
    parts: tuple[ClassMoments, ...]
    held_out: Array
    rows: Any
    watched: Any
    checked: CheckedRows | None = None
    scored: ScoredRows | None = None
    groups: NDArray[np.intp] | None = None
    note: str | None = None

    def probability(self, rows: DrawnRows) -> Array:
        """Return the out-of-fold probability that drawn rows are positive, clean."""
        curves = self.result.curves
        scores = rows.scored(self.scorer.basis, self.held_out[:, curves.which]).scores
        return curves.probability(scores)


def fit_gathered(
    table: Table,
    first: Gathered,
    options: FitOptions,
    pos_label: Any,
    l2s: Sequence[float],
    n_watched: int = 0,
    checked: CheckedSample | None = None,
    *,
    bend: bool,
    price_rows: Callable[[Any], RowCosts] | None = None,
    groups_of: Callable[[Any], NDArray[np.intp]] | None = None,
) -> TableFit:
    """Make the second pass, and fit.

    Parameters
    ----------
    table : Table
        The rows of the first pass.
    first : Gathered
        What that found.
    options : FitOptions
        Cost, noise and level.
    pos_label : label or None
        The positive class.
    l2s : sequence of floats
        Penalties.
    n_watched : int, default=0
        Rows of each label to keep whose score speaks most against it.
    checked : CheckedSample, optional
        Rows that somebody checked, where rows were drawn.
    bend : bool
        Whether to add scores that bend, where rows were drawn.
    price_rows : callable, optional
        From the frame of drawn rows to their prices, where these differ by row.

    Returns
    -------
    TableFit

    Examples
    --------
    >>> from flipcost import FlipCostClassifier
    >>> from flipcost.estimators.flipcost.first_pass import gather
    >>> from flipcost.estimators.flipcost.options import FitOptions
    >>> from flipcost.scale import scan_batches
    >>> table = scan_batches([(np.arange(90.0)[:, None], np.arange(90) % 7 > 3)])
    >>> options = FitOptions(0.3, 0.1, "symmetric", 0.95)
    >>> first = gather(FlipCostClassifier(), table)
    >>> fit_gathered(table, first, options, None, [1.0], bend=False).labels
    (False, True)
    """
    classes, labelled = orient_found(table, first.found.moments, pos_label)
    total = reduce(lambda a, b: a.merge(b), labelled.parts)
    drawn = None
    if first.drawing is not None:
        drawn = DrawnRows.of(first.found.samples, labelled.labels, total.weight)
    bent = first.found.bent
    if bent is not None:
        bent = bent[0], bent[1].oriented(labelled.labels[1])
    elif drawn is not None and bend:
        bent = bent_moments(drawn, len(labelled.parts))
    learned = learn_scores(labelled.parts, l2s, bent)
    lead, watching = learned.lead, None
    if drawn is not None:
        drawn = drawn.scored(learned.scorer.basis, learned.held_out)
    if n_watched:
        lead = lead if drawn is None else likeliest_score(drawn)
        watching = Drawing(n_watched, frames=first.drawing is not None and first.drawing.frames)
    task = SecondPass(
        table.layout,
        learned.scorer.basis,
        learned.held_out,
        labelled.labels,
        learned.limits[0],
        learned.limits[1],
        lead,
        _CELLS if drawn is None else 0,
        watching,
    )
    second = table.required(table.reduce(task))
    rows = drawn if drawn is not None else GroupedRows.of(second.cells)
    if checked is not None:
        scored = checked.rows.scored(learned.scorer.basis, learned.held_out)
        checked = replace(checked, rows=scored)
    ties = SampleTies(groups_of, options.level)
    result, rows, found = _fit_second(
        rows, second.histogram, total, options, checked, price_rows, ties
    )
    return TableFit(
        result=result,
        scorer=learned.scorer,
        classes=classes,
        labels=labelled.labels,
        names=labelled.names,
        parts=labelled.parts,
        held_out=learned.held_out,
        rows=rows,
        watched=DrawnRows.of(second.watched, labelled.labels) if n_watched else None,
        checked=found.checked,
        scored=found,
        groups=ties.groups,
        note=ties.note(result.n_effective or result.n_rows),
    )


def _fit_second(
    rows: DrawnRows | GroupedRows,
    histogram: ScoreHistogram,
    total: ClassMoments,
    options: FitOptions,
    known: CheckedSample | None = None,
    price_rows: Callable[[Any], RowCosts] | None = None,
    ties: SampleTies | None = None,
) -> tuple[FitResult, DrawnRows | GroupedRows, ScoredRows]:
    """Calibrate on the histogram of all rows, choose by what stands for them."""
    bins = tuple(bins_of(histogram))
    checked, joined = None, rows
    if known is not None and isinstance(rows, DrawnRows):
        about = known.rows.sample
        bins = tuple(
            b.with_checked(s, known.right, about.positive, about.weight)
            for b, s in zip(bins, known.rows.scores, strict=True)
        )
        joined, places = rows.joined(known.rows)
        checked = CheckedRows(places, known.right, about.weight)
    standard = tuple(b.standardize(s) for b, s in zip(bins, joined.scores, strict=True))
    scored = ScoredRows(
        bins,
        standard,
        joined.sample.positive,
        joined.sample.weight,
        int(total.n_rows.sum()),
        float(total.weight[1] / total.weight.sum()),
        checked=checked,
        prices=None if price_rows is None else price_rows(joined.frame),  # type: ignore[union-attr]
    )

    ties = ties or SampleTies()
    scored = ties.thin(scored, joined)

    def reweigh(lead: int) -> ScoredRows:
        nonlocal rows, scored
        rows = rows.weighted(histogram, lead)
        if known is not None and isinstance(rows, DrawnRows):
            rows = rows.joined(known.rows)[0]
        scored = replace(scored, weight=rows.sample.weight, call_squares=ties.squares(rows))
        return scored

    if scored.prices is not None:
        share, unit = share_and_unit(None, scored.prices, scored.weight)
        options = replace(options, cost=share, unit=unit)
    result = fit_scores(scored, options, reweigh)
    return result, rows, scored


def bins_of(histogram: ScoreHistogram) -> list[ScoreBins]:
    """Return the bins of each score from a histogram over all folds.

    Examples
    --------
    >>> from flipcost.tables.histogram import ScoreHistogram
    >>> scores, positive = np.array([[-1.0], [2.0]]), np.array([False, True])
    >>> histogram = ScoreHistogram.from_scores(scores, positive, -4.0, 4.0, N_BINS)
    >>> (bins,) = bins_of(histogram)
    >>> print(bins.positive.sum(), bins.scale)
    1.0 1.0
    """
    found = []
    middle = (np.arange(N_BINS) + 0.5) * (2 * REACH / N_BINS) - REACH
    for m, (low, high) in enumerate(zip(histogram.low, histogram.high, strict=True)):
        location, scale = (low + high) / 2, (high - low) / (2 * REACH)
        weight, sums = histogram.weight[0, m], histogram.scores[0, m].sum(axis=1)
        total = weight.sum(axis=1)
        mean = sums / np.where(total > 0, total, 1.0)
        centre = np.where(total > 0, (mean - location) / scale, middle)
        found.append(ScoreBins(float(location), float(scale), centre, weight[:, 1], weight[:, 0]))
    return found
