"""What estimators share that take costs by row."""

from __future__ import annotations

from typing import Any, NoReturn

from sklearn.metrics import accuracy_score

from flipcost._validation import check_is_fitted
from flipcost.core.costs import takes_prices


class PricedScoreMixin:
    """Predict at the costs of the rows, where these differ, when scored."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> float:
        """Return the accuracy, labels taken as they are.

        Money has its scorer, `flipcost.metrics.cost_scorer`, which corrects for label errors too.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each of these rows cost, as in `predict` where it takes them: decisions
            depend on it, their score does not.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        given = {"prices": prices} if prices is not None and takes_prices(self) else {}
        called = self.predict(X, **given)  # type: ignore[attr-defined]
        return float(accuracy_score(y, called, sample_weight=sample_weight))


def refuse_prices(rows: str) -> NoReturn:
    """Refuse prices by row of rows that are not held."""
    msg = (
        f"Prices that differ by row need rows in memory, not {rows}: moments by class do not tell "
        "what their rows cost. Give one price, or learn from a sample of the rows."
    )
    raise ValueError(msg)
