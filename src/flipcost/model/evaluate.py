"""Evaluate a formula for many rows: matrix products, lookup tables and bit-sliced trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from flipcost._threads import thread_limits
from flipcost.core.arrays import Array, Indices
from flipcost.core.losses import uneven_squared
from flipcost.core.scoring import AdditiveScores, CurveTables, HingeBasis

if TYPE_CHECKING:
    from flipcost.model.schema import FormulaData, Number

# Rows that are scored at a time, and the largest number of their entries.
_PART_ROWS, _PART_NUMBERS = 1 << 15, 1 << 22


@dataclass(frozen=True, eq=False)
class Numbers:
    """How the numbers of rows are computed: from which cells, filled, clipped and scaled."""

    place: Indices
    fill: Array
    low: Array
    high: Array
    centre: Array
    scale: Array

    @classmethod
    def of(cls, numbers: list[Number], places: list[int]) -> Numbers:
        """Collect numbers and the positions of their cells."""
        limits = [
            [default if value is None else value for value, default in zip(own, none, strict=True)]
            for own in ((n.fill, n.low, n.high) for n in numbers)
            for none in [(np.nan, -np.inf, np.inf)]
        ]
        fill, low, high = np.array(limits, dtype=float).reshape(-1, 3).T
        standard = np.array([(n.centre, n.scale) for n in numbers], dtype=float).reshape(-1, 2)
        return cls(np.array(places, np.intp), fill, low, high, *standard.T)

    def read(self, cells: Array) -> Array:
        """Return the numbers of rows; a missing one without a fill value stays missing."""
        if not cells.shape[1]:
            return np.zeros((len(cells), len(self.place)))
        found = cells
        if not np.array_equal(self.place, np.arange(cells.shape[1])):
            found = cells[:, self.place]
        if not np.isnan(self.fill).all():
            found = np.where(np.isnan(found), self.fill, found)
        if np.isfinite(self.low).any() or np.isfinite(self.high).any():
            found = np.clip(found, self.low, self.high)
        if self.centre.any() or (self.scale != 1).any():
            found = (found - self.centre) / self.scale
        return found


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A formula prepared for many rows."""

    formula: FormulaData
    terms: Numbers
    additive: AdditiveScores
    levels: tuple[tuple[int, int, Array], ...]
    split: Numbers
    curves: CurveTables | None

    @classmethod
    def of(cls, formula: FormulaData) -> Evaluation:
        """Prepare a formula."""
        first, start = {}, 0
        for k in formula.used:
            first[k] = start
            start += 5 if formula.columns[k].kind == "date" else 1

        def numbers(which: list[int]) -> Numbers:
            own = [formula.numbers[k] for k in which]
            return Numbers.of(own, [first.get(n.column, -n.part) + n.part for n in own])

        terms, m = formula.number_terms, len(formula.bias)
        # Ordered by rank within each number, as `HingeBasis` keeps quantiles.
        knots = [
            (rank, j, knot, bend)
            for j, term in enumerate(terms)
            for rank, (knot, bend) in enumerate(zip(term.knots, term.bends, strict=True))
        ]
        knots.sort(key=lambda found: found[:2])
        basis = HingeBasis(
            len(terms),
            np.array([j for _, j, _, _ in knots], np.intp),
            np.array([knot for _, _, knot, _ in knots]),
        )
        slopes = [*(term.slopes for term in terms), *(bend for *_, bend in knots)]
        columns = np.array(slopes, dtype=float).reshape(-1, m).T
        additive = AdditiveScores(basis, np.ascontiguousarray(columns), np.array(formula.bias))
        levels = []
        for table in formula.level_terms:
            known = len(formula.columns[table.column].levels)
            is_category = formula.columns[table.column].kind == "category"
            values = np.array(table.values, dtype=float)
            levels.append((first[table.column], known if is_category else -1, values))
        return cls(
            formula,
            numbers([term.number for term in terms]),
            additive,
            tuple(levels),
            numbers(list(range(len(formula.numbers)))),
            None if formula.curves is None else CurveTables(np.array(formula.curves)),
        )

    def scored(self, cells: Array) -> tuple[Array, Array]:
        """Return the first score of each row, and its probability."""
        unknown = cells[:, self.terms.place[np.isnan(self.terms.fill)]]
        if np.isnan(unknown).any():
            msg = "Input X contains NaN, and the model has no place for missing values there."
            raise ValueError(msg)
        score, probability = np.empty(len(cells)), np.empty(len(cells))
        step = min(_PART_ROWS, max(1, _PART_NUMBERS // max(len(self.split.place), 1)))
        # One thread: two took a third more processor time, and hardly less by the clock.
        with thread_limits(1, "blas"), np.errstate(all="ignore"):
            for start in range(0, len(cells), step):
                part = slice(start, start + step)
                scores = self._scores(cells[part])
                score[part], probability[part] = scores[0], self._probability(scores)
        if not np.isfinite(probability).all():
            row = int(np.flatnonzero(~np.isfinite(probability))[0])
            msg = f"The numbers of row {row} (from 0) are beyond what the model can compute with."
            raise ValueError(msg)
        return score, np.clip(probability, 0.0, 1.0, out=probability)

    def _scores(self, cells: Array) -> Array:
        if len(self.terms.place):
            scores = self.additive.score(cells, self.terms.read)
        else:
            scores = np.repeat(self.additive.bias[:, None], len(cells), axis=1)
        for place, n_levels, values in self.levels:
            missing = np.isnan(cells[:, place])
            rows = missing.astype(np.intp)
            if n_levels >= 0:
                rows = np.where(missing, n_levels + 1, cells[:, place]).astype(np.intp)
            scores += values[rows].T
        if self.formula.forests:
            numbers = self.split.read(cells)
            for forest, trees in zip(self.formula.forests, self.formula.trees, strict=True):
                own = trees.score(numbers)
                for line, share in zip(scores, forest.share, strict=True):
                    if share:
                        line += share * own  # noqa: PLW2901 - a row of the scores, in place
        return scores

    def _probability(self, scores: Array) -> Array:
        link = self.formula.link
        if link is None:
            assert self.curves is not None  # noqa: S101 - one of the two is there
            return self.curves.sum_at(scores)
        if link.kind == "logistic":
            found = expit(scores[0])
        else:
            found = uneven_squared(link.cost, link.margin).inverse_link(scores[0])
        if (link.low, link.high) != (0, 1):
            found = np.clip((found - link.low) / (link.high - link.low), 0.0, 1.0)
        return np.asarray(found)
