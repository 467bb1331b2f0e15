r"""`FlipCostClassifier` from tables that are read in two passes.

Linear scores are solved from the moments of all rows. What moments do not tell is learned from what
stands for the rows (`sample`): rows that the first pass draws, the same number of each label so
that a rare class is not left with a handful; or, where rows must stay where they are, the groups of
rows with nearly the same score that the second pass forms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.calibration import N_BINS, ScoreBins
from flipcost.core.checked import CheckedRows
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.rate_search import integrate_rates
from flipcost.core.row_prices import share_and_unit
from flipcost.estimators._tables import check_table, orient_found
from flipcost.estimators.flipcost.dependence import SampleTies
from flipcost.estimators.flipcost.fit import fit_scores
from flipcost.estimators.flipcost.passes import Drawing, FirstFound, FirstPass, SecondPass
from flipcost.estimators.flipcost.sample import DrawnRows, GroupedRows, TableSample
from flipcost.estimators.flipcost.scored import ScoredRows
from flipcost.estimators.flipcost.scores import (
    MomentScores,
    bent_basis,
    knot_count,
    plain_basis,
    solve_scores,
)
from flipcost.scale import (
    EngineTable,
    LabeledMoments,
    ScoreHistogram,
    Table,
    Together,
    score_limits,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.core.hinges import HingeBasis
    from flipcost.core.prices import Prices
    from flipcost.estimators.flipcost.classifier import FlipCostClassifier
    from flipcost.estimators.flipcost.options import FitOptions
    from flipcost.estimators.flipcost.result import FitResult
    from flipcost.scale import RowSample

    Array = NDArray[np.float64]

_FOLDS = 5
_REACH = 4.0  # of the bins, in standard deviations; that of `ScoreBins`
# Rows to draw of each label when nobody says, and the fewest that can be asked for: scores that
# bend at three quantiles of a feature have a dozen rows between two bends then.
SAMPLE_ROWS, FEWEST_SAMPLE_ROWS = 10_000, 50
# What a part on another machine may send: so many times its share of the rows that are wanted, so
# that parts may differ in what they hold, but never less than so many.
_PART_SHARE, _PART_ROWS = 4, 500
# Groups of rows for each label, where none are drawn: as fine as the histograms of `scale`.
_CELLS = 512


@dataclass(frozen=True, eq=False)
class Gathered:
    """What the first pass found, and how rows were drawn in it."""

    found: FirstFound
    drawing: Drawing | None
    beside: tuple[Any, ...]


def gather(
    model: FlipCostClassifier,
    table: Table,
    sample_rows: int | None = None,
    *,
    frames: bool = False,
    beside: tuple[Any, ...] = (),
    was_checked: Callable[[Any], NDArray[np.bool_]] | None = None,
) -> Gathered:
    """Make the first pass.

    Parameters
    ----------
    model : FlipCostClassifier
        What will be fitted; its parameters are checked.
    table : Table
        The rows.
    sample_rows : int or None
        Rows to draw of each label. 10,000 when None, or 0 where rows would have to travel.
    frames : bool, default=False
        Whether to keep drawn rows as they were in the source too.
    beside : tuple of tasks
        What else to run on each piece; their results are kept.
    was_checked : callable, optional
        From a piece to the rows of it that somebody checked, which are kept where rows are drawn.

    Returns
    -------
    Gathered

    Examples
    --------
    >>> from flipcost import FlipCostClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.scale import scan_batches
    >>> data, model = make_syn3d(400, random_state=0), FlipCostClassifier(cost=0.2)
    >>> table = scan_batches([(data.data, data.target)])
    >>> first = gather(model, table)
    >>> sorted(len(sample.keys) for sample in first.found.samples.values())
    [183, 217]
    >>> model.fit_gathered(table, first).result.n_rows
    400
    """
    check_table(table)
    n_folds = _fold_count(model)
    drawing = plan_drawing(table, sample_rows, frames=frames)
    n_knots = 0
    if isinstance(table, EngineTable) and drawing is None and model.features != "linear":
        n_knots = knot_count(len(table.feature_names))
    task = Together((FirstPass(table.layout, n_folds, drawing, was_checked, n_knots), *beside))
    found, *others = table.required(table.reduce(task)).parts
    return Gathered(found, drawing, tuple(others))


def plan_drawing(table: Any, sample_rows: Any, *, frames: bool) -> Drawing | None:
    """Say how many rows of each label to draw, or None for none.

    Examples
    --------
    >>> from flipcost.scale import scan_batches
    >>> plan_drawing(scan_batches([]), 500, frames=False)
    Drawing(size=500, most=None, frames=False)
    """
    if sample_rows is None:
        sample_rows = SAMPLE_ROWS if table.n_parts is None else 0
    is_number = isinstance(sample_rows, Integral) and not isinstance(sample_rows, bool)
    if not is_number or not (sample_rows == 0 or sample_rows >= FEWEST_SAMPLE_ROWS):
        msg = (
            f"`sample_rows` must be 0 or a whole number of at least {FEWEST_SAMPLE_ROWS}; got "
            f"{sample_rows!r}."
        )
        raise ValueError(msg)
    if not sample_rows:
        return None
    most = None
    if table.n_parts is not None:
        most = max(_PART_ROWS, -(-_PART_SHARE * int(sample_rows) // table.n_parts))
    return Drawing(int(sample_rows), most, frames)


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
    scorer : MomentScores
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
    scorer: MomentScores
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
    price_rows: Callable[[Any], Prices] | None = None,
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
        bent = _bent(drawn, len(labelled.parts))
    learned = _learn(labelled.parts, l2s, bent)
    lead, watching = learned.lead, None
    if drawn is not None:
        drawn = drawn.scored(learned.scorer.basis, learned.held_out)
    if n_watched:
        lead = lead if drawn is None else _likeliest(drawn)
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
    price_rows: Callable[[Any], Prices] | None = None,
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


def _fold_count(model: FlipCostClassifier) -> int:
    """Return the number of folds; refuse what cannot be done in passes."""
    if model.estimator is not None or not isinstance(model.features, str):
        msg = (
            "A table is read in two passes, in which only closed-form scores are learned: leave "
            "`estimator` out, and `features` at 'auto' or 'linear'. Encode columns by the table's "
            "`encoder`, or `fit` on rows that `table.sample` draws."
        )
        raise ValueError(msg)
    if model.cv is None:
        return _FOLDS
    if not isinstance(model.cv, Integral) or model.cv < 2:
        msg = (
            "`cv` must be the number of folds, at least 2, when a table is read in passes: its "
            f"rows are put into folds by a hash; got {model.cv!r}. Give `fold_by` to the table to "
            "keep rows of one group together."
        )
        raise ValueError(msg)
    return int(model.cv)


@dataclass(frozen=True, eq=False)
class _Learned:
    """Scores of all rows and of each fold, the limits of their bins, and which leads."""

    scorer: MomentScores
    held_out: Array
    limits: Array
    lead: int


def _bent(drawn: DrawnRows, n_folds: int) -> tuple[HingeBasis, LabeledMoments]:
    """Return hinges for drawn rows, and the moments of their features with these."""
    sample = drawn.sample
    basis = bent_basis(drawn.X, sample.weight)
    parts = fold_moments(
        basis.expand(drawn.X), sample.positive, drawn.folds, n_folds, sample.weight
    )
    return basis, LabeledMoments((False, True), tuple(parts))


def _learn(
    parts: Sequence[ClassMoments],
    l2s: Sequence[float],
    bent: tuple[HingeBasis, LabeledMoments] | None,
) -> _Learned:
    """Solve for the scores of each fold and of all rows.

    Linear scores come from the moments of all rows, those that bend from some rows, if there are
    any. The score that tells the labels apart best leads.
    """
    d = parts[0].n_features
    basis = plain_basis(d)
    held_out, everywhere, limits, merit = _solve(parts, l2s)
    if bent is not None:
        wanted, some_rows = bent[0], bent[1].parts
        some = min(train.weight.min() for train in merge_others(some_rows)) > 0
        if wanted.n_columns > d and some:
            basis, wide = wanted, _solve(some_rows, l2s)
            held_out = np.concatenate([_widen(held_out, basis), wide[0]], axis=1)
            everywhere = np.concatenate([_widen(everywhere, basis), wide[1]])
            limits = np.concatenate([limits, wide[2]], axis=1)
            merit = np.concatenate([merit, wide[3]])
    return _Learned(MomentScores(basis, everywhere), held_out, limits, int(np.nanargmax(merit)))


def _solve(
    parts: Sequence[ClassMoments], l2s: Sequence[float]
) -> tuple[Array, Array, Array, Array]:
    """Return coefficients by fold, those of all rows, limits of the scores, and their merit."""
    columns = [np.arange(parts[0].n_features)]
    others = merge_others(parts)
    held_out = np.stack([solve_scores(train, columns, l2s) for train in others])
    everywhere = solve_scores(parts[0].merge(others[0]), columns, l2s)
    limits = np.stack(score_limits(parts, held_out, _REACH))
    return held_out, everywhere, limits, _merit(parts, held_out)


def _merit(parts: Sequence[ClassMoments], held_out: Array) -> Array:
    """Return how far apart the mean out-of-fold scores of the two labels lie, in deviations."""
    weight = np.stack([part.weight for part in parts])
    mean = np.stack(
        [p.mean @ path[:, :-1].T + path[:, -1] for p, path in zip(parts, held_out, strict=True)]
    )
    gap = np.diff((weight[:, :, None] * mean).sum(axis=0) / weight.sum(axis=0)[:, None], axis=0)[0]
    low, high = score_limits(parts, held_out, 1.0)
    return np.asarray(2 * gap / (high - low))


def _likeliest(rows: DrawnRows) -> int:
    """Return the score that explains the labels of drawn rows best, noise integrated out."""
    sample = rows.sample
    bins = [ScoreBins.from_scores(s, sample.positive, sample.weight) for s in rows.scores]
    return int(integrate_rates(bins).weight.sum(axis=1).argmax())


def _widen(coefficients: Array, basis: HingeBasis) -> Array:
    """Give the hinges no weight."""
    d = basis.n_features
    wide = np.zeros((*coefficients.shape[:-1], basis.n_columns + 1))
    wide[..., :d], wide[..., -1] = coefficients[..., :d], coefficients[..., -1]
    return wide


def bins_of(histogram: ScoreHistogram) -> list[ScoreBins]:
    """Return the bins of each score from a histogram over all folds.

    Examples
    --------
    >>> scores, positive = np.array([[-1.0], [2.0]]), np.array([False, True])
    >>> histogram = ScoreHistogram.from_scores(scores, positive, -4.0, 4.0, N_BINS)
    >>> (bins,) = bins_of(histogram)
    >>> print(bins.positive.sum(), bins.scale)
    1.0 1.0
    """
    found = []
    middle = (np.arange(N_BINS) + 0.5) * (2 * _REACH / N_BINS) - _REACH
    for m, (low, high) in enumerate(zip(histogram.low, histogram.high, strict=True)):
        location, scale = (low + high) / 2, (high - low) / (2 * _REACH)
        weight, sums = histogram.weight[0, m], histogram.scores[0, m].sum(axis=1)
        total = weight.sum(axis=1)
        mean = sums / np.where(total > 0, total, 1.0)
        centre = np.where(total > 0, (mean - location) / scale, middle)
        found.append(ScoreBins(float(location), float(scale), centre, weight[:, 1], weight[:, 0]))
    return found
