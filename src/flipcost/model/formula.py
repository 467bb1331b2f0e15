"""A fitted model as data: the predictor from which all exports are written."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.arrays import Array
from flipcost.core.costs import RowCosts, check_known, prices_of
from flipcost.core.decision import Answer, bayes_calls
from flipcost.model.evaluate import Evaluation
from flipcost.model.schema import FormulaData
from flipcost.tables import encoder as tables
from flipcost.tables.roles import row_prices


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
    def labels(self) -> tuple[str, str]:
        """The negative label and the positive one, as text."""
        return str(self.classes[1 - self.positive]), str(self.pos_label)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns."""
        return np.array([column.name for column in self.columns], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def decides_by_costs(self) -> bool:
        """Whether decisions need the costs of each row."""
        return self.decision.is_by_row and self.decision.by == "probability"

    @property
    def cost_columns(self) -> tuple[str, ...]:
        """Columns that the costs of a row are computed from."""
        names = (name for found in self.decision.expressions for name in found.columns)
        return tuple(dict.fromkeys(names))

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
        return self._evaluation.scored(cells)

    def unseen(self, cells: Array) -> dict[str, int]:
        """Return, by category column, the number of rows whose level the model does not know."""
        found: dict[str, int] = {}
        place = 0
        for column in (self.columns[k] for k in self.used):
            if column.kind == "category":
                rows = int(np.count_nonzero(cells[:, place] == len(column.levels)))
                found |= {column.name: rows} if rows else {}
            place += 5 if column.kind == "date" else 1
        return found

    @cached_property
    def _evaluation(self) -> Evaluation:
        return Evaluation.of(self)

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
        found = prices_of(0.5, prices, X)
        check_known(found, by_row=self.decision.is_by_row)
        return found

    def decide(self, scored: tuple[Array, Array], prices: RowCosts | None) -> NDArray[np.bool_]:
        """Return which rows are flagged, from their first score and their probability."""
        score, probability = scored
        by, threshold = self.decision.by, self.decision.threshold
        if by == "score":
            return np.asarray(score > 0)
        answers: dict[str, Answer] = {"always": "all_positive", "never": "all_negative"}
        cost: Any = threshold if prices is None else prices
        return bayes_calls(probability, cost, answers.get(by, "rule"))
