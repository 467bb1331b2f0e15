r"""`FlipCostClassifier` from tables that are read in two passes.

The first pass gathers the moments of every fold and draws a sample; the second counts labels in
bins of every score, out of fold. The sample is drawn by label, the same number of rows from each,
so that a rare class is not left with a handful. Once the second pass has counted all rows, those of
the sample are weighted to the totals of their label and of their range of the leading score in the
whole table (post-stratification). Label totals, on which noise acts, then have no error from
sampling, and whether a row is called has little.
"""

# ruff: noqa: SLF001 - this is a part of the classifier, in a room of its own

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from flipcost._validation import positive_index
from flipcost.core.calibration import N_BINS, ScoreBins
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.hinges import HingeBasis
from flipcost.core.moments import fold_moments, merge_others
from flipcost.estimators._scorers import _MOST_COLUMNS, _MOST_KNOTS, MomentScores
from flipcost.estimators._tables import check_table, name_features, orient_found
from flipcost.scale import LabelledMoments, RowSample, ScoreHistogram, score_limits
from flipcost.scale._folds import hash_keys, position_keys

_FOLDS = 5
_REACH = 4.0  # of the bins, in standard deviations; that of `ScoreBins`
# Rows to draw of each label, fewer where they are wide: 2,000,000 values are 16 MB.
_MOST_ROWS, _FEWEST_ROWS, _VALUES = 10_000, 1_000, 2_000_000
# Folds and sample must not be made by the same hash: the smallest values are all of fold 0.
_OTHER_SEED = 1_000_003
# Sampled rows that a range of scores must hold to be one of its own.
_STRATUM_ROWS = 20
_TINY = np.finfo(float).tiny
# Rows are expanded in chunks, so that no expanded copy of a piece is made.
_CHUNK_ROWS = 8_192


@dataclass(frozen=True, eq=False)
class TableSample:
    """Rows of a table that stand for all: where they are, their noisy label and their weight."""

    position: np.ndarray
    positive: np.ndarray
    weight: np.ndarray


def fit_from_table(model, table, cost):
    """Fit a `FlipCostClassifier` in two passes."""
    check_table(table)
    n_folds = _fold_count(model)
    layout = table._layout
    first = table._required(table.reduce(FirstPass(layout, n_folds)))
    model.classes_, labelled = orient_found(table, first.moments, model.pos_label)
    model._flip = positive_index(model.classes_, model.pos_label) == 0
    model.n_features_in_ = labelled.parts[0].n_features
    name_features(model, labelled.names)

    total = reduce(lambda a, b: a.merge(b), labelled.parts)
    rows, folds, sample = _join(first.samples, labelled.labels, total.weight)
    model.scorer_ = MomentScores(model.l2s, bend=model.features == "auto")
    model.transformer_ = None
    held_out, limits = _learn(model.scorer_, labelled.parts, rows, folds, sample)
    task = SecondPass(layout, model.scorer_.basis_, held_out, labelled.labels, *limits)
    histogram = table._required(table.reduce(task)).pooled()

    bins = bins_of(histogram)
    scores = _score(model.scorer_.basis_.expand(rows), held_out, folds)
    standard = [b.standardise(s) for b, s in zip(bins, scores, strict=True)]
    even = [s[_evenly(sample)] for s in standard]
    fit = model._calibrate(bins, even, sample.positive, sample.weight)
    lead = int(fit.weight.sum(axis=1).argmax())
    strata, sample = _stratify(histogram, lead, scores, sample)
    model._choose(fit, standard, sample.positive, sample.weight, cost)
    _settle_costs(model, strata, sample, cost)
    model._keep(fit, bins, cost)
    model._value_rate(fit, standard, cost, sample.weight)
    model.sample_ = sample
    model._n_rows = int(total.n_rows.sum())
    model._positive_share = float(total.weight[1] / total.weight.sum())
    return model


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


@dataclass(frozen=True, eq=False)
class MomentsAndSample:
    """What the first pass gathers: moments by fold, and sampled rows by label.

    The labels of a `RowSample` are taken for fold and position here.
    """

    moments: LabelledMoments
    samples: dict[Any, RowSample]

    def merge(self, other):
        """Return what both sets of rows give."""
        samples = dict(self.samples)
        for label, more in other.samples.items():
            samples[label] = samples[label].merge(more) if label in samples else more
        return MomentsAndSample(self.moments.merge(other.moments), samples)


@dataclass(frozen=True)
class FirstPass:
    """Gather the moments of every fold, and draw rows of each label."""

    layout: Any
    n_folds: int

    def __call__(self, piece):
        rows = self.layout.rows(piece)
        labels, second = rows.labels()
        folds = rows.folds(self.n_folds)
        try:
            parts = fold_moments(rows.X, second, folds, self.n_folds, rows.weight)
        except ValueError as error:
            raise rows.fault(error) from error
        places = position_keys(piece.start, piece.n_rows)
        keys = hash_keys(places, self.layout.fold_seed + _OTHER_SEED)
        marks = np.column_stack([folds, places.astype(np.int64)])
        d = rows.X.shape[1]
        size = min(_MOST_ROWS, max(_FEWEST_ROWS, _VALUES // d))
        samples = {}
        for code, label in enumerate(labels):
            chosen = _smallest(keys, np.flatnonzero(second == bool(code)), size)
            weight = None if rows.weight is None else rows.weight[chosen]
            samples[label] = RowSample.of(
                size, keys[chosen], rows.X[chosen], marks[chosen], weight, rows.names
            )
        return MomentsAndSample(LabelledMoments(labels, tuple(parts), rows.names), samples)


def _smallest(keys, inside, size):
    if len(inside) <= size:
        return inside
    return inside[np.argpartition(keys[inside], size - 1)[:size]]


def _join(samples, labels, totals):
    """Return rows, folds and what stands for them, both labels together in the table's order."""
    parts = [samples[label] for label in labels]
    positive = np.repeat([False, True], [len(part.keys) for part in parts])
    weight = np.concatenate([_weight(p, t) for p, t in zip(parts, totals, strict=True)])
    folds, position = np.concatenate([part.y for part in parts]).T
    order = np.argsort(position, kind="stable")
    rows = np.concatenate([part.X for part in parts])[order]
    return rows, folds[order], TableSample(position[order], positive[order], weight[order])


def _weight(part, total):
    """Return weights of sampled rows that add up to the total of their label."""
    weight = np.ones(len(part.keys)) if part.weight is None else part.weight
    drawn = weight.sum()
    return weight * (total / drawn) if drawn > 0 else weight


def _evenly(sample):
    """Return rows of the sample in the proportions of the table, for what knows no weights."""
    share = sample.weight / sample.weight.max()
    even = np.random.default_rng(0).random(len(share)) < share
    return even if even.any() else np.ones(len(share), bool)


def _learn(scorer, parts, rows, folds, sample):
    """Solve for the scores of each fold and of all rows; return the former, and their limits.

    Coefficients have shape (n_folds, n_scores, n_columns + 1): linear scores from the moments of
    all rows, those that bend from the sample.
    """
    d, n_folds = rows.shape[1], len(parts)
    knots = min(_MOST_KNOTS, _MOST_COLUMNS // d - 1) if scorer.bend else 0
    basis = HingeBasis.from_rows(rows, max(knots, 0), sample.weight)
    held_out, everywhere, limits = _solve(scorer, parts)
    if basis.n_columns > d:
        bent = fold_moments(basis.expand(rows), sample.positive, folds, n_folds, sample.weight)
        if min(train.weight.min() for train in merge_others(bent)) > 0:
            wide = _solve(scorer, bent)
            held_out = np.concatenate([_widen(held_out, basis), wide[0]], axis=1)
            everywhere = np.concatenate([_widen(everywhere, basis), wide[1]])
            limits = np.concatenate([limits, wide[2]], axis=1)
        else:
            basis = HingeBasis.from_rows(rows, 0)
    scorer.basis_, scorer.coefficients_ = basis, everywhere
    return held_out, limits


def _solve(scorer, parts):
    """Return coefficients by fold, those of all rows, and the limits of the scores."""
    columns = [np.arange(parts[0].n_features)]
    others = merge_others(parts)
    held_out = np.stack([scorer._solve(train, columns) for train in others])
    everywhere = scorer._solve(parts[0].merge(others[0]), columns)
    return held_out, everywhere, np.stack(score_limits(parts, held_out, _REACH))


def _widen(coefficients, basis):
    """Give the hinges no weight."""
    d = basis.n_features
    wide = np.zeros((*coefficients.shape[:-1], basis.n_columns + 1))
    wide[..., :d], wide[..., -1] = coefficients[..., :d], coefficients[..., -1]
    return wide


@dataclass(frozen=True, eq=False)
class SecondPass:
    """Count labels in bins of the scores that each row's own fold gives."""

    layout: Any
    basis: HingeBasis
    coefficients: np.ndarray
    labels: tuple[Any, ...]
    low: np.ndarray
    high: np.ndarray

    def __call__(self, piece):
        rows = self.layout.rows(piece)
        positive, folds = rows.positive(self.labels), rows.folds(len(self.coefficients))
        bends = self.basis.n_columns > self.basis.n_features
        buffer = np.empty((min(_CHUNK_ROWS, piece.n_rows), self.basis.n_columns)) if bends else None
        total: Any = None
        for start in range(0, piece.n_rows, _CHUNK_ROWS):
            chunk = slice(start, start + _CHUNK_ROWS)
            X = rows.X[chunk]
            if bends:
                X = self.basis.expand(X.toarray() if sparse.issparse(X) else X, buffer)
            if not np.isfinite(X.sum(dtype=float)):
                raise rows.fault(ValueError("X must be finite."))
            counted = ScoreHistogram.from_rows(
                X,
                positive[chunk],
                self.coefficients,
                self.low,
                self.high,
                N_BINS,
                folds[chunk],
                None if rows.weight is None else rows.weight[chunk],
            )
            total = counted if total is None else total.merge(counted)
        return total


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


def _score(expanded, held_out, folds):
    """Return out-of-fold scores of shape (n_scores, n)."""
    scores = np.empty((held_out.shape[1], len(expanded)))
    for k, path in enumerate(held_out):
        inside = np.flatnonzero(folds == k)
        scores[:, inside] = path[:, :-1] @ expanded[inside].T + path[:, -1:]
    return scores


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows of one label in ranges of one score: how many there are, and which were drawn.

    A call depends on the row mostly through the score that leads the pool, so that ranges of it
    leave little to chance: only where the rule's threshold falls do rows of a range differ.

    Attributes
    ----------
    weight, squares : ndarray of shape (G,)
        Total weight, and total squared weight, of each range in the table.
    place : ndarray of shape (n,)
        Range of each sampled row.
    drawn : ndarray of shape (n,)
        Its weight, adding up to ``weight`` in each range.
    """

    weight: np.ndarray
    squares: np.ndarray
    place: np.ndarray
    drawn: np.ndarray

    @classmethod
    def of(cls, bins, weight, full, full_squares):
        """Join bins of the score until each range holds enough of the sampled rows."""
        counts = np.bincount(bins, minlength=len(full))
        before = np.cumsum(counts) - counts
        # Empty bins at the end belong to the last one that is not.
        before = np.minimum(before, before[np.flatnonzero(counts)[-1]])
        _, group = np.unique(before // _STRATUM_ROWS, return_inverse=True)
        size = int(group.max()) + 1
        total, squares = (np.bincount(group, v, size) for v in (full, full_squares))
        place = group[bins]
        found = np.bincount(place, weight, size)
        drawn = weight * (total / np.where(found > 0, found, 1.0))[place]
        reached = drawn.sum()  # less than all where no row with a weight was drawn
        drawn *= total.sum() / reached if reached > 0 else 1.0
        return cls(total, squares, place, drawn)

    def call_squares(self, called):
        """Return squared weights for the cells "not called" and "called" of a confusion table.

        They are those of all rows, and twice the variance that comes from sampling them: what one
        cell gains the other loses, and ``(a - b) ** 2 <= 2 (a ** 2 + b ** 2)``. There is none
        where all rows were drawn.
        """
        size = len(self.weight)
        mass = np.bincount(self.place, self.drawn, size)
        squares = np.maximum(np.bincount(self.place, self.drawn**2, size), _TINY)
        rows = mass**2 / squares
        all_rows = self.weight**2 / np.maximum(self.squares, _TINY)
        share = np.bincount(self.place, self.drawn * called, size) / np.maximum(mass, _TINY)
        # Half a row on either side, so that rows that agree do not pass for certainty.
        smooth = (rows * share + 0.5) / (rows + 1)
        spread = self.weight**2 * smooth * (1 - smooth) / np.maximum(rows, 1.0)
        spread *= np.clip(1 - rows / np.maximum(all_rows, _TINY), 0.0, 1.0)
        share = np.bincount(self.place, self.drawn**2 * called, size) / squares
        return np.stack([self.squares @ (1 - share), self.squares @ share]) + 2 * spread.sum()


def _stratify(histogram, lead, scores, sample):
    """Return the strata of each label by the leading score, and the sample weighted by them."""
    low, high = histogram.low[lead], histogram.high[lead]
    bins = np.clip((scores[lead] - low) * (N_BINS / (high - low)), 0, N_BINS - 1).astype(np.intp)
    strata, weight = [], np.empty(len(bins))
    for label in (0, 1):
        inside = sample.positive == bool(label)
        strata.append(
            Strata.of(
                bins[inside],
                sample.weight[inside],
                histogram.weight[0, lead, :, label],
                histogram.squares[0, lead, :, label],
            )
        )
        weight[inside] = strata[-1].drawn
    return strata, replace(sample, weight=weight)


def _settle_costs(model, strata, sample, cost):
    """Give the costs the intervals that all rows earn; the values stay."""
    calls = {
        "rule": model.oof_probability_ > cost,
        "all_negative": np.zeros(len(sample.positive), bool),
        "all_positive": np.ones(len(sample.positive), bool),
    }
    settled = {}
    for name, called in calls.items():
        counts = ConfusionCounts.from_labels(sample.positive, called, sample.weight).counts
        if name == "rule":
            squares = np.stack(
                [
                    part.call_squares(called[sample.positive == bool(label)])
                    for label, part in enumerate(strata)
                ]
            )
        else:
            totals = np.array([part.squares.sum() for part in strata])
            squares = np.outer(totals, np.arange(2) == (name == "all_positive"))
        table = ConfusionCounts(counts, squares)
        settled[name] = model.rate_posterior_.cost(table, cost, model.level)[0]
    chosen = settled[model.chosen_]
    model.cost_estimate_ = chosen.value
    model.cost_interval_ = (chosen.low, chosen.high)
    model.rule_cost_ = settled.pop("rule")
    model.constant_costs_ = settled
