"""A fitted model as data: the predictor from which all exports are written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost._threads import thread_limits
from flipcost.core.arrays import Array, Indices
from flipcost.core.costs import RowCosts, prices_to_decide
from flipcost.core.decision import Answer, bayes_flags
from flipcost.core.scoring import CurveTables
from flipcost.model.schema import FormulaData, Number
from flipcost.model.steps import Steps
from flipcost.tables import encoder as tables
from flipcost.tables.roles import row_prices

# Rows that are scored at a time, and the largest number of their entries.
_PART_ROWS, _PART_NUMBERS = 1 << 15, 1 << 22


class Formula(FormulaData, frozen=True, dict=True, eq=False):
    """A fitted model: a predictor that is data.

    `flipcost.load` returns one, and `flipcost.save` writes one. It reads frames (pandas, polars,
    pyarrow) by column name, or arrays with all columns in order.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    pos_label : label
        The positive label.
    feature_names_in_ : ndarray of str
        The columns.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import flipcost as fc
    >>> from flipcost.model.convert import formula_of
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> formula = formula_of(fc.UnevenMarginClassifier(cost=0.25).fit(X, y))
    >>> formula, formula.predict([[1.0], [7.0]])
    (<Formula: 'True' or 'False' of 1 columns>, array([False,  True]))
    """

    def __repr__(self) -> str:
        no, yes = self.labels
        return f"<Formula: {yes!r} or {no!r} of {len(self.used)} columns>"

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.array(self.classes)

    @property
    def pos_label(self) -> Any:
        """The positive label."""
        return self.classes[self.positive]

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns."""
        return np.array([column.name for column in self.columns], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def cells(self, X: Any) -> Array:
        """Return the cells of the columns that are used: numbers and codes, NaN where missing."""
        if hasattr(X, "columns"):
            read = [self.columns[k] for k in self.used]
            known = tuple(tables.Column(c.name, c.kind, c.format, c.levels) for c in read)
            return tables.Encoder(known).cells(X)
        if any(column.kind in ("date", "category") for column in self.columns):
            names = ", ".join(repr(column.name) for column in self.columns[:3])
            msg = f"The rows must be a frame with the columns of the model ({names}, ...)."
            raise TypeError(msg)
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            msg = f"The rows must have {len(self.columns)} columns; got shape {rows.shape}."
            raise ValueError(msg)
        if np.isinf(rows).any():
            msg = "The rows must hold finite numbers, or NaN where one is missing."
            raise ValueError(msg)
        return rows if len(self.used) == len(self.columns) else rows[:, self.used]

    def probability(self, X: Any) -> Array:
        """Return the probability that each row is truly positive."""
        return self.scored(self.cells(X))[1]

    def scored(self, cells: Array) -> tuple[Array, Array]:
        """Return the first score and the probability of each row, from its cells."""
        score, probability = np.empty(len(cells)), np.empty(len(cells))
        step = min(_PART_ROWS, max(1, _PART_NUMBERS // max(len(self.numbers), 1)))
        # One thread: two took a third more processor time, and hardly less by the clock.
        with thread_limits(1, "blas"), np.errstate(all="ignore"):
            for start in range(0, len(cells), step):
                part = slice(start, start + step)
                score[part], probability[part] = self._arrays.scored(cells[part])
        if not np.isfinite(probability).all():
            row = int(np.flatnonzero(~np.isfinite(probability))[0])
            msg = f"The numbers of row {row} (from 0) are beyond what the model can compute with."
            raise ValueError(msg)
        return score, np.clip(probability, 0.0, 1.0, out=probability)

    def unseen(self, cells: Array) -> dict[str, int]:
        """Return, by category column, the number of rows whose level the model does not know."""
        found = {}
        for k in self.used:
            column = self.columns[k]
            if column.kind == "category":
                found[column.name] = np.count_nonzero(cells[:, self.place[k]] == len(column.levels))
        return {name: int(rows) for name, rows in found.items() if rows}

    @cached_property
    def _arrays(self) -> _Arrays:
        return _Arrays(self)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label, in the order of `classes_`, shape (n, 2)."""
        positive = self.probability(X)
        both = (1 - positive, positive) if self.positive else (positive, 1 - positive)
        return np.column_stack(both)

    def predict(self, X: Any, prices: Any = None) -> NDArray[Any]:
        """Return the label that costs least for each row.

        Parameters
        ----------
        X : frame or array-like of shape (n, d)
            Rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, default=None
            Costs of errors on each row; needed where costs differ by row and are not computed
            from columns of the rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        flagged = self.decide(self.scored(self.cells(X)), self.prices(X, prices))
        return self.classes_[np.where(flagged, self.positive, 1 - self.positive)]

    def prices(self, X: Any, prices: Any = None) -> RowCosts | None:
        """Return the costs of rows, or None where they are the same for all."""
        costs = self.decision.costs
        if prices is None and costs is not None and costs.is_by_row:
            if not hasattr(X, "columns"):
                msg = (
                    "Costs are computed from columns: give the rows as a frame, or their `prices`."
                )
                raise ValueError(msg)
            return row_prices(costs, X, "The table")
        return prices_to_decide(0.5, prices, X, by_row=self.decision.is_by_row)

    def decide(self, scored: tuple[Array, Array], prices: RowCosts | None) -> NDArray[np.bool_]:
        """Return which rows are flagged, from their first score and their probability."""
        score, probability = scored
        by, threshold = self.decision.by, self.decision.threshold
        if by == "score":
            return np.asarray(score > 0)
        answers: dict[str, Answer] = {"always": "all_positive", "never": "all_negative"}
        cost: Any = threshold if prices is None else prices
        return bayes_flags(probability, cost, answers.get(by, "rule"))


_STEPS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "negate": np.negative,
    "exp": np.exp,
}


def _together(numbers: Sequence[Number]) -> Any:
    """Return numbers as one with arrays as fields, None where none of them has a value."""
    missing = {"fill": np.nan, "low": -np.inf, "high": np.inf, "centre": 0.0, "scale": 1.0}
    found: dict[str, Any] = {"part": 0}  # the encoder has turned dates
    for name, none in missing.items():
        values = [getattr(number, name) for number in numbers]
        known = [none if value is None else value for value in values]
        found[name] = np.array(known) if any(value is not None for value in values) else None
    return SimpleNamespace(**found)


def _take(rows: Array, columns: Indices) -> Array:
    """Return some columns of rows, the rows themselves if these are all of them in order."""
    is_all = np.array_equal(columns, np.arange(rows.shape[1]))
    return rows if is_all else rows[:, columns]


class _Arrays(Steps[Any]):
    """The steps on arrays: many rows at once."""

    def __init__(self, formula: FormulaData) -> None:
        super().__init__(formula)
        numbers = formula.numbers
        self.cells = np.array([formula.place.get(n.column, -n.part) + n.part for n in numbers], int)
        self.together = _together(numbers)
        self.terms = np.array([term.number for term in formula.number_terms], int)
        self.levels = [np.array(term.values, dtype=float) for term in formula.level_terms]
        self.curves = None if formula.curves is None else CurveTables(np.array(formula.curves))

    def constant(self, value: float) -> float:
        return value

    def apply(self, step: str, *values: Any) -> Any:
        return _STEPS[step](*values)

    def filled(self, value: Any, fill: Any) -> Any:
        return np.where(np.isnan(value), fill, value)

    def between(self, value: Any, low: Any, high: Any) -> Any:
        return value if low is None and high is None else np.clip(value, low, high)

    def scored(self, cells: Array) -> tuple[Array, Array]:
        """Return the first score of each row, and its probability."""
        formula = self.formula
        read = cells if formula.used else np.zeros((len(cells), 1))
        numbers = self.number(self.together, _take(read, self.cells))
        terms = _take(numbers, self.terms)
        if np.isnan(terms).any():
            msg = "Input X contains NaN, and the model has no place for missing values there."
            raise ValueError(msg)
        scores = np.repeat(np.array(formula.bias)[:, None], len(cells), axis=1)
        if len(self.terms):
            scores = formula.additive.score(terms)
        for term, values in zip(formula.level_terms, self.levels, strict=True):
            cell, column = cells[:, formula.place[term.column]], formula.columns[term.column]
            known = cell if column.kind == "category" else 0
            scores += values[np.where(np.isnan(cell), len(values) - 1, known).astype(np.intp)].T
        for forest, trees in zip(formula.forests, formula.trees, strict=True):
            scores += np.array(forest.share)[:, None] * trees.score(numbers)
        found = self.link(scores[0]) if self.curves is None else self.curves.sum_at(scores)
        return scores[0], found
