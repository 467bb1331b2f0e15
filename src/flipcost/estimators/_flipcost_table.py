r"""`FlipCostClassifier` from tables that are read in two passes.

Linear scores are solved from the moments of all rows. What moments do not tell is learned from what
stands for the rows (`_stand_ins`): rows that the first pass draws, the same number of each label so
that a rare class is not left with a handful; or, where rows must stay where they are, the groups of
rows with nearly the same score that the second pass forms.
"""

# ruff: noqa: SLF001 - this is a part of the classifier, in a room of its own

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np

from flipcost._validation import positive_index
from flipcost.core.calibration import N_BINS, TABLE, ScoreBins
from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import fold_moments, merge_others
from flipcost.core.rate_posterior import integrate_rates
from flipcost.estimators._flipcost_passes import Drawing, FirstFound, FirstPass, SecondPass
from flipcost.estimators._scorers import _MOST_COLUMNS, _MOST_KNOTS, MomentScores
from flipcost.estimators._stand_ins import DrawnRows, GroupedRows
from flipcost.estimators._tables import check_table, name_features, orient_found
from flipcost.scale import score_limits
from flipcost.scale._tasks import Together

_FOLDS = 5
_REACH = 4.0  # of the bins, in standard deviations; that of `ScoreBins`
# Rows to draw of each label.
_SAMPLE_ROWS, _FEWEST_ROWS = 10_000, 50
# What a part on another machine may send: so many times its share of the rows that are wanted, so
# that parts may differ in what they hold, but never less than so many.
_PART_SHARE, _PART_ROWS = 4, 500
# Groups of rows for each label, where none are drawn.
_CELLS = 512


def fit_from_table(model, table, cost, sample_rows=None):
    """Fit a `FlipCostClassifier` in two passes."""
    fit_gathered(model, table, gather(model, table, sample_rows), cost)
    return model


@dataclass(frozen=True, eq=False)
class Gathered:
    """What the first pass found, and how rows were drawn in it."""

    found: FirstFound
    drawing: Drawing | None
    beside: tuple[Any, ...]


def gather(model, table, sample_rows=None, *, frames=False, beside=()):
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

    Returns
    -------
    Gathered
    """
    check_table(table)
    n_folds = _fold_count(model)
    drawing = _drawing(table, sample_rows, frames=frames)
    task = Together((FirstPass(table.layout, n_folds, drawing), *beside))
    found, *others = table.required(table.reduce(task)).parts
    return Gathered(found, drawing, tuple(others))


def _drawing(table, sample_rows, *, frames):
    if sample_rows is None:
        sample_rows = _SAMPLE_ROWS if table.n_parts is None else 0
    is_number = isinstance(sample_rows, Integral) and not isinstance(sample_rows, bool)
    if not is_number or not (sample_rows == 0 or sample_rows >= _FEWEST_ROWS):
        msg = (
            f"`sample_rows` must be 0 or a whole number of at least {_FEWEST_ROWS}; got "
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
class TableFit:
    """What a fit from a table leaves besides the classifier itself.

    Attributes
    ----------
    model : FlipCostClassifier
        Fitted.
    labels : tuple
        The negative label and the positive one.
    parts : tuple of ClassMoments
        Moments of each fold.
    held_out : ndarray of shape (n_folds, n_scores, n_columns + 1)
        Coefficients of each fold, for its own rows.
    stand_ins : DrawnRows or GroupedRows
        What stood for the rows.
    watched : DrawnRows or None
        Rows whose score speaks most against their label.
    """

    model: Any
    labels: tuple[Any, ...]
    parts: tuple[Any, ...]
    held_out: np.ndarray
    stand_ins: Any
    watched: DrawnRows | None

    def probability(self, rows):
        """Return the out-of-fold probability that drawn rows are positive, clean."""
        model = self.model
        scores = rows.scored(model.scorer_.basis_, self.held_out[:, model._which]).scores
        standard = (scores - model._location[:, None]) / model._scale[:, None]
        return sum(np.interp(s, TABLE, c) for s, c in zip(standard, model._curves, strict=True))


def fit_gathered(model, table, first, cost, n_watched=0):
    """Make the second pass, and fit.

    Parameters
    ----------
    model : FlipCostClassifier
        To be fitted.
    table : Table
        The rows of the first pass.
    first : Gathered
        What that found.
    cost : float
        Share of the cost that a false positive bears.
    n_watched : int, default=0
        Rows of each label to keep whose score speaks most against it.

    Returns
    -------
    TableFit
    """
    model.classes_, labelled = orient_found(table, first.found.moments, model.pos_label)
    model._flip = positive_index(model.classes_, model.pos_label) == 0
    model.n_features_in_ = labelled.parts[0].n_features
    name_features(model, labelled.names)

    total = reduce(lambda a, b: a.merge(b), labelled.parts)
    drawn = None
    if first.drawing is not None:
        drawn = DrawnRows.of(first.found.samples, labelled.labels, total.weight)
    model.scorer_ = MomentScores(model.l2s, bend=drawn is not None and model.features == "auto")
    model.transformer_ = None
    held_out, limits, lead = _learn(model.scorer_, labelled.parts, drawn)
    watching = None
    if n_watched:
        lead = lead if drawn is None else _likeliest(drawn.scored(model.scorer_.basis_, held_out))
        watching = Drawing(n_watched, frames=first.drawing is not None and first.drawing.frames)
    task = SecondPass(
        table.layout,
        model.scorer_.basis_,
        held_out,
        labelled.labels,
        limits[0],
        limits[1],
        lead,
        _CELLS if drawn is None else 0,
        watching,
    )
    second = table.required(table.reduce(task))

    bins = bins_of(second.histogram)
    rows: Any
    if drawn is None:
        rows = GroupedRows.of(second.cells)
    else:
        rows = drawn.scored(model.scorer_.basis_, held_out)
    standard = [b.standardise(s) for b, s in zip(bins, rows.scores, strict=True)]
    model._n_rows = int(total.n_rows.sum())
    model._positive_share = float(total.weight[1] / total.weight.sum())
    fit = model._calibrate(bins, standard, rows.sample.weight)
    rows = rows.weighted(second.histogram, int(fit.weight.sum(axis=1).argmax()))
    sample = rows.sample
    model._choose(fit, standard, sample.positive, sample.weight, cost, rows.squares)
    model._keep(fit, bins, cost)
    model._value_rate(fit, standard, cost, sample.weight)
    model.sample_ = sample
    watched = DrawnRows.of(second.watched, labelled.labels) if n_watched else None
    return TableFit(model, labelled.labels, labelled.parts, held_out, rows, watched)


def _fold_count(model):
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


def _learn(scorer, parts, drawn):
    """Solve for the scores of each fold and of all rows.

    Linear scores come from the moments of all rows, those that bend from the drawn ones.

    Returns
    -------
    held_out : ndarray of shape (n_folds, n_scores, n_columns + 1)
    limits : ndarray of shape (2, n_scores)
        Of the bins.
    lead : int
        The score that tells the labels apart best.
    """
    d, n_folds = parts[0].n_features, len(parts)
    held_out, everywhere, limits, merit = _solve(scorer, parts)
    basis = HingeBasis(d, np.empty(0, np.intp), np.empty(0))
    if scorer.bend:
        sample = drawn.sample
        knots = min(_MOST_KNOTS, _MOST_COLUMNS // d - 1)
        wanted = HingeBasis.from_rows(drawn.X, max(knots, 0), sample.weight)
        bent = fold_moments(
            wanted.expand(drawn.X), sample.positive, drawn.folds, n_folds, sample.weight
        )
        some = min(train.weight.min() for train in merge_others(bent)) > 0
        if wanted.n_columns > d and some:
            basis = wanted
            wide = _solve(scorer, bent)
            held_out = np.concatenate([_widen(held_out, basis), wide[0]], axis=1)
            everywhere = np.concatenate([_widen(everywhere, basis), wide[1]])
            limits = np.concatenate([limits, wide[2]], axis=1)
            merit = np.concatenate([merit, wide[3]])
    scorer.basis_, scorer.coefficients_ = basis, everywhere
    return held_out, limits, int(np.nanargmax(merit))


def _solve(scorer, parts):
    """Return coefficients by fold, those of all rows, limits of the scores, and their merit."""
    columns = [np.arange(parts[0].n_features)]
    others = merge_others(parts)
    held_out = np.stack([scorer._solve(train, columns) for train in others])
    everywhere = scorer._solve(parts[0].merge(others[0]), columns)
    limits = np.stack(score_limits(parts, held_out, _REACH))
    return held_out, everywhere, limits, _merit(parts, held_out)


def _merit(parts, held_out):
    """Return how far apart the mean out-of-fold scores of the two labels lie, in deviations."""
    weight = np.stack([part.weight for part in parts])
    mean = np.stack(
        [p.mean @ path[:, :-1].T + path[:, -1] for p, path in zip(parts, held_out, strict=True)]
    )
    gap = np.diff((weight[:, :, None] * mean).sum(axis=0) / weight.sum(axis=0)[:, None], axis=0)[0]
    low, high = score_limits(parts, held_out, 1.0)
    return 2 * gap / (high - low)


def _likeliest(rows):
    """Return the score that explains the labels of drawn rows best, noise integrated out."""
    sample = rows.sample
    bins = [ScoreBins.from_scores(s, sample.positive, sample.weight) for s in rows.scores]
    return int(integrate_rates(bins).weight.sum(axis=1).argmax())


def _widen(coefficients, basis):
    """Give the hinges no weight."""
    d = basis.n_features
    wide = np.zeros((*coefficients.shape[:-1], basis.n_columns + 1))
    wide[..., :d], wide[..., -1] = coefficients[..., :d], coefficients[..., -1]
    return wide


def bins_of(histogram):
    """Return the bins of each score from a histogram over all folds."""
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
