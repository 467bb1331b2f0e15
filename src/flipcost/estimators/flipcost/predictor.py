"""Clean probabilities of new rows from what was pooled: one product for all scores.

Every score that counts is a sum of piecewise-linear functions of the features, plus a share of
boosting's score: averages of scores are so too, and to standardize them changes numbers only. So
their coefficients are gathered once, in units of the tables that the curves are read from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from flipcost._threads import thread_limits
from flipcost._validation import assert_all_finite
from flipcost.core.additive import AdditiveScores, CurveTables
from flipcost.estimators.flipcost.scores import PooledScores, RidgeScores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.estimators.flipcost.result import ScoreCurves
    from flipcost.tables.encoder import Encoder

    Array = NDArray[np.float64]

# Rows that are scored at a time: what is found of them stays in a cache.
_PART_ROWS = 1 << 15


def clean_probability(scorer: Any, curves: ScoreCurves, X: Any) -> Array:
    """Return the probability that rows are positive, clean.

    Parameters
    ----------
    scorer : PooledScores, RidgeScores or EstimatorScores
        What scores rows.
    curves : ScoreCurves
        The scores that count, and their curves.
    X : array, sparse matrix or frame of n rows
        Rows. What is not finite in an array is found here.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from flipcost.core.calibration import TABLE
    >>> from flipcost.core.additive import HingeBasis
    >>> from flipcost.estimators.flipcost.result import ScoreCurves
    >>> basis = HingeBasis(1, np.empty(0, np.intp), np.empty(0))
    >>> line = RidgeScores(basis, np.array([[2.0, 0.0]]))
    >>> one = np.ones(1)
    >>> curves = ScoreCurves(np.array([0]), 0 * one, one, 1 / (1 + np.exp(-TABLE[None])))
    >>> clean_probability(line, curves, np.array([[-1.0], [0.0]])).round(3)
    array([0.119, 0.5  ])
    """
    if isinstance(scorer, PooledScores | RidgeScores) and not sparse.issparse(X):
        return PooledRule.of(scorer, curves).probability(X)
    if sparse.issparse(X):
        assert_all_finite(X.data, input_name="X")
    return curves.probability(scorer.score(X, curves.which))


@dataclass(frozen=True, eq=False)
class PooledRule:
    """What gives the clean probability of a row, collapsed.

    Attributes
    ----------
    scorer : PooledScores or RidgeScores
        Where it comes from.
    places : AdditiveScores
        Places in the tables, m of them, but for boosting.
    boosting_share : ndarray of shape (m,)
        What boosting's score is multiplied by, and then added to these.
    tables : CurveTables
        What each place contributes to the probability.
    threshold : float or None
        Above this probability a row is called positive; None where prices differ by row.

    Examples
    --------
    >>> from flipcost import FlipCostClassifier
    >>> X, y = np.arange(90.0)[:, None], np.arange(90) % 7 > 3
    >>> model = FlipCostClassifier(features="linear", random_state=0).fit(X, y)
    >>> rule = model.pooled_rule()
    >>> np.array_equal(rule.probability(X), model.predict_proba(X)[:, 1])
    True
    """

    scorer: PooledScores | RidgeScores
    places: AdditiveScores
    boosting_share: Array
    tables: CurveTables
    threshold: float | None = None

    @classmethod
    def of(cls, scorer: PooledScores | RidgeScores, curves: ScoreCurves) -> PooledRule:
        """Collapse scores and curves."""
        coefficients, share = scorer.collapsed(curves.which)
        slope, offset = curves.places()
        basis = (scorer.smooth if isinstance(scorer, PooledScores) else scorer).basis
        places = AdditiveScores.used(
            basis, slope[:, None] * coefficients[:, :-1], slope * coefficients[:, -1] + offset
        )
        return cls(scorer, places, slope * share, curves.tables())

    def probability(self, X: Any) -> Array:
        """Return the clean probability of the rows of an array or a frame."""
        mend: Callable[[Array], Array] = _refused
        always, boosting, rows = False, None, X
        encoder = getattr(self.scorer, "encoder", None)
        if encoder is not None:
            rows, mend, always = encoder.cells(X), _numbers(encoder), True
        if self.boosting_share.any() and isinstance(self.scorer, PooledScores):
            boosting = self.scorer.boosting_score
        found = np.empty(len(rows))
        # One thread: two took a third more processor time, and hardly less by the clock.
        with thread_limits(1, "blas"):
            for start in range(0, len(rows), _PART_ROWS):
                part = slice(start, start + _PART_ROWS)
                places = self.places.score(rows[part], mend, always=always)
                if boosting is not None:
                    own = boosting(rows[part])
                    for line, share in zip(places, self.boosting_share, strict=True):
                        np.add(line, share * own, out=line)
                found[part] = self.tables.sum_at(places)
        return found


def _refused(block: Array) -> Array:
    assert_all_finite(block, input_name="X")
    return block  # finite after all: only the sum of its numbers was not


def _numbers(encoder: Encoder) -> Callable[[Array], Array]:
    def numbers(block: Array) -> Array:
        assert_all_finite(block, allow_nan=True, input_name="X")
        return encoder.numbers(block)

    return numbers
