"""What estimators share that take prices by row: a score in money, and thresholds of rows."""

from __future__ import annotations

from typing import Any, NoReturn

from sklearn.utils import column_or_1d

from flipcost._validation import check_is_fitted, positive_index
from flipcost.core.costs import RowCosts, mean_paid, prices_of, takes_prices


class PricedScoreMixin:
    """Score in money where prices differ by row.

    Subclasses have the parameter `cost`, or say in `_own_prices` what stands for it.
    """

    def _own_prices(self) -> Any:
        return self.cost  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> float:
        """Return the accuracy; with prices by row, what a row costs on average, its sign turned.

        Labels are taken as they are. `flipcost.metrics.cost_scorer` denoises.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each of these rows cost: ``fn, fp`` or ``fn, fp, tp, tn``; as in `cost`
            where that is made of columns of X.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        paid = prices_of(self._own_prices(), prices, X, fitted=True)
        if paid is None:
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        given = {"prices": paid} if takes_prices(self) else {}
        wanted = self.classes_[self._positive_class()]  # type: ignore[attr-defined]
        called = self.predict(X, **given)  # type: ignore[attr-defined]
        return paid_score(wanted, y, called, paid, sample_weight)

    def _positive_class(self) -> int:
        """Return which class prices speak of; re-sampling may give the other its role."""
        return positive_index(self.classes_, self.pos_label)  # type: ignore[attr-defined]


def refuse_prices(rows: str) -> NoReturn:
    """Refuse prices by row of rows that are not held."""
    msg = (
        f"Prices that differ by row need rows in memory, not {rows}: moments by class do not tell "
        "what their rows cost. Give one price, or learn from a sample of the rows."
    )
    raise ValueError(msg)


def paid_score(
    wanted: Any, y: Any, called: Any, paid: RowCosts, sample_weight: Any = None
) -> float:
    """Return what a row costs on average by calls, its sign turned, given the positive label."""
    labels, calls = (column_or_1d(part) == wanted for part in (y, called))
    return -mean_paid(labels, calls, paid, sample_weight)
