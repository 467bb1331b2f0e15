"""Scores that somebody else made, out of fold, in place of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from flipcost.exceptions import FlipCostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KINDS = ("score", "probability")
# As of the probabilities of an estimator: a sure answer is a finite score.
_SUREST = 1e-6


@dataclass(frozen=True)
class GivenScores:
    """What learns nothing, and scores rows by what they are: both learner and scorer of a fit.

    Attributes
    ----------
    kind : {"score", "probability"}
        What is given; probabilities become log-odds.
    """

    kind: str

    def read(self, scores: Any) -> Array:
        """Return scores as an array of shape (n, m), log-odds where they are probabilities."""
        try:
            found = np.array(scores, dtype=float)
        except (TypeError, ValueError) as error:
            msg = "`scores` must hold numbers; got something else."
            raise FlipCostError(msg) from error
        found = found[:, None] if found.ndim == 1 else found
        if found.ndim != 2 or not found.size or not np.isfinite(found).all():
            msg = (
                "`scores` must hold a finite number for each row, or several, as an array of shape "
                "(n,) or (n, m). Drop the rows without a score."
            )
            raise FlipCostError(msg)
        if self.kind == "score":
            return found
        if found.min() < 0 or found.max() > 1:
            msg = (
                f"`scores` must lie in [0, 1] as probabilities; got {found.min():g} to "
                f"{found.max():g}. Give kind='score' for others."
            )
            raise FlipCostError(msg)
        if found.shape[1] == 2 and np.allclose(found.sum(axis=1), 1):
            msg = "Of `predict_proba` give the column of the positive class only."
            raise FlipCostError(msg)
        odds: Array = logit(np.clip(found, _SUREST, 1 - _SUREST))
        return odds

    def check_varied(self, scores: Array) -> None:
        """Refuse scores that are the same for all rows."""
        constant = np.flatnonzero(np.ptp(scores, axis=0) == 0)
        if len(constant):
            msg = f"`scores` must differ between rows; column {constant[0]} is the same in all."
            raise FlipCostError(msg)

    def simple(self, X: Array, positive: Any) -> Callable[[Any], Array]:  # noqa: ARG002 - as given
        """Return what scores rows by the mean of their scores."""
        return lambda rows: np.asarray(rows.mean(axis=1))

    def learn(self, X: Array, *_: Any) -> tuple[Any, Any, Array]:
        """Return what transforms rows, nothing; what scores them; and their scores."""
        return None, self, np.ascontiguousarray(X.T)

    def score(self, X: Array, which: Any) -> Array:
        """Return the chosen scores of rows, shape (len(which), n)."""
        return np.ascontiguousarray(X.T[which])
