"""What estimators share that take prices by row: a score in money, and thresholds of rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import column_or_1d

from flipcost._validation import check_is_fitted, positive_index
from flipcost.core.arrays import Array
from flipcost.core.prices import Prices
from flipcost.core.row_prices import check_known, mean_paid, prices_of, takes_prices
from flipcost.estimators._linear_score import LinearScoreClassifier


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


def paid_score(wanted: Any, y: Any, called: Any, paid: Prices, sample_weight: Any = None) -> float:
    """Return what a row costs on average by calls, its sign turned, given the positive label."""
    labels, calls = (column_or_1d(part) == wanted for part in (y, called))
    return -mean_paid(labels, calls, paid, sample_weight)


class PricedLinearClassifier(PricedScoreMixin, LinearScoreClassifier):
    """Base of linear models of log-odds, which are compared with those of each row's threshold.

    Subclasses set `_shift`, the log-odds of the threshold that is part of the intercept, and
    `_by_row`, whether there was none since prices differ, and say in `_cut` what the threshold of
    prices is on the probability that they model.
    """

    _shift = 0.0
    _by_row = False

    @abstractmethod
    def _cut(self, paid: Prices) -> Array:
        """Return the log-odds of each row's threshold on the modelled probability."""

    def _above(self, X: Any, prices: Any) -> Array:
        """Return log-odds of the positive class above those of the threshold."""
        check_is_fitted(self)
        paid = prices_of(self._own_prices(), prices, X, fitted=True)
        check_known(paid, by_row=self._by_row)
        scores = self._sign * super().decision_function(X)
        return scores if paid is None else scores + self._shift - self._cut(paid)

    def decision_function(self, X: Any, prices: Any = None) -> Array:
        """Return the score of each row; above zero it is called ``classes_[1]``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            As in `predict`.

        Returns
        -------
        ndarray of shape (n,)
        """
        above = self._above(X, prices)
        return self._sign * above

    def predict(self, X: Any, prices: Any = None) -> NDArray[Any]:
        """Return the class of each row; one that is at its threshold is called negative.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each of these rows cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count
            in place of `cost`, and are needed if `fit` was given some, unless `cost` says how to
            make them of the columns of X.

        Returns
        -------
        ndarray of shape (n,)
        """
        positive = self._above(X, prices) > 0
        return self.classes_[np.where(positive, self._index, 1 - self._index)]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class; the class docstring says of which labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        scores = super().decision_function(X)
        return self._columns(self._positive_eta(self._sign * scores))

    def _positive_eta(self, scores: Array) -> Array:
        return np.asarray(expit(scores + self._shift))
