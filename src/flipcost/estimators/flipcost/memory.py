"""`FlipCostClassifier` from rows in memory: learn scores out of fold, and fit what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from flipcost._threads import thread_limits
from flipcost._validation import take_rows
from flipcost.estimators.flipcost.dependence import read_dependence
from flipcost.estimators.flipcost.fit import fit_scores
from flipcost.estimators.flipcost.scored import ScoredRows
from flipcost.estimators.flipcost.scores import PooledScores, estimator_scores, pooled_scores
from flipcost.estimators.flipcost.trusted import check_not_swapped, mended
from flipcost.tables.sample import fit_weight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.core.checked_rows import CheckedRows
    from flipcost.core.costs import RowCosts
    from flipcost.estimators.flipcost.dependence import Dependence
    from flipcost.estimators.flipcost.given import GivenScores
    from flipcost.estimators.flipcost.options import FitOptions
    from flipcost.estimators.flipcost.result import FitResult

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_EARLY = (
    "All checked rows are earlier than the first rows that models are evaluated on: they are "
    "learned from, but tell nothing of the later labels. Check some later rows too."
)


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Rows in memory, checked.

    Attributes
    ----------
    X : array, sparse matrix or frame of n rows
        Their features.
    positive : ndarray of bool, shape (n,)
        The noisy labels.
    weight : ndarray of shape (n,) or None
        Weights.
    checked : CheckedRows or None
        Those whose right label is known.
    prices : RowCosts or None
        What their mistakes cost, where that differs by row.
    """

    X: Any
    positive: Flags
    weight: Array | None = None
    checked: CheckedRows | None = None
    prices: RowCosts | None = None

    def take(self, places: NDArray[np.intp]) -> MemoryRows:
        """Return the rows at some places, all that were checked among them."""
        checked = self.checked
        if checked is not None:
            number = np.full(len(self.positive), -1)
            number[places] = np.arange(len(places))
            found = number[checked.rows] >= 0
            given = None if checked.weight is None else checked.weight[found]
            checked = replace(
                checked,
                rows=number[checked.rows[found]],
                right=checked.right[found],
                weight=given,
            )
        return MemoryRows(
            self.X.take(places) if hasattr(self.X, "column_names") else take_rows(self.X, places),
            self.positive[places],
            None if self.weight is None else self.weight[places],
            checked,
            None if self.prices is None else self.prices.take(places),
        )

    def standing_for(self, stands_for: Array) -> MemoryRows:
        """Return the same with weights that make them stand for a table."""
        weight = fit_weight(stands_for, self.positive, self.weight)
        if weight is self.weight or self.checked is None:
            return replace(self, weight=weight)
        rows = self.checked.rows
        own = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        return replace(self, weight=weight, checked=replace(self.checked, weight=own))


@dataclass(frozen=True, eq=False)
class TableSample:
    """Rows that a fit learned from in place of all.

    Attributes
    ----------
    position : ndarray of int
        Where the rows are in the table.
    positive : ndarray of bool
        Their noisy label.
    weight : ndarray
        Of how many rows of the table each is one.
    n_rows : int
        How many rows the table has.
    """

    position: NDArray[np.int64]
    positive: Flags
    weight: Array
    n_rows: int


@dataclass(frozen=True, eq=False)
class ScoreLearner:
    """How scores are learned from rows in memory.

    Attributes
    ----------
    estimator, features, l2s
        As in `FlipCostClassifier`.
    """

    estimator: Any = None
    features: Any = "auto"
    l2s: Sequence[float] = (1.0,)

    def simple(self, X: Any, positive: Flags) -> Callable[[Any], Array]:
        """Learn a simple score from rows and labels; return what scores others."""
        halves = np.arange(len(positive)) % 2
        if self.estimator is not None:
            scorer: Any = estimator_scores(self.estimator, X, positive, None, halves)[0]
        else:
            options: Any = {"l2s": [0.1], "splines": False, "boost": False}
            scorer = pooled_scores(X, positive, None, halves, **options)[0]
        return lambda rows: scorer.score(rows, np.zeros(1, np.intp))[0]

    def learn(
        self,
        X: Any,
        labels: Flags,
        weight: Array | None,
        ties: Dependence,
        rng: np.random.Generator,
    ) -> tuple[Any, Any, Array]:
        """Return what transforms rows, if anything, what scores them, and out-of-fold scores."""
        transformer = None
        if not isinstance(self.features, str):
            transformer = clone(self.features)
            X = np.asarray(transformer.fit_transform(X), dtype=float)
        if self.estimator is not None:
            scorer: Any
            scorer, scores = estimator_scores(
                self.estimator, X, labels, weight, ties.folds, forward=ties.forward
            )
            return transformer, scorer, scores
        scorer, scores = pooled_scores(
            X,
            labels,
            weight,
            ties.folds,
            self.l2s,
            splines=isinstance(self.features, str) and self.features != "linear",
            boost=isinstance(self.features, str) and self.features == "auto",
            forward=ties.forward,
            seed=int(rng.integers(1 << 31)),
        )
        return transformer, scorer, scores


@dataclass(frozen=True, eq=False)
class MemoryFit:
    """What a fit on rows in memory found.

    Attributes
    ----------
    result : FitResult
        What was found in the scores.
    transformer, scorer
        What transforms new rows, or None, and what scores them.
    rows : ScoredRows
        The rows with their out-of-fold scores.
    ties : Dependence
        Which rows depend on each other, and their folds.
    note : str or None
        What to say of that.
    """

    result: FitResult
    transformer: Any
    scorer: Any
    rows: ScoredRows
    ties: Dependence
    note: str | None


def fit_memory(
    rows: MemoryRows,
    options: FitOptions,
    learner: ScoreLearner | GivenScores,
    rng: np.random.Generator,
    cv: Any = None,
    groups: Any = None,
    time: Any = None,
) -> MemoryFit:
    """Learn scores, calibrate them, and choose.

    Parameters
    ----------
    rows : MemoryRows
        What to learn from.
    options : FitOptions
        Cost, noise and level.
    learner : ScoreLearner or GivenScores
        How scores are learned.
    rng : numpy.random.Generator
        Where chance comes from.
    cv, groups, time
        As in `FlipCostClassifier` and its `fit`.

    Returns
    -------
    MemoryFit

    Examples
    --------
    >>> from flipcost.estimators.flipcost.options import FitOptions
    >>> rng = np.random.default_rng(0)
    >>> rows = MemoryRows(np.arange(90.0)[:, None], np.arange(90) % 7 > 3)
    >>> options, learner = FitOptions(0.3, 0.1, "symmetric", 0.95), ScoreLearner(features="linear")
    >>> fit_memory(rows, options, learner, rng).result.n_rows
    90
    """
    X, positive, checked = rows.X, rows.positive, rows.checked
    learned = positive
    if checked is not None:
        check_not_swapped(X, positive, checked, learner.simple)
        # What was checked is learned from as it is right; all labels are calibrated as they were.
        learned = mended(positive, checked)
    ties = read_dependence(X, learned, groups, time, cv, rng)
    transformer, scorer, scores = learner.learn(X, learned, rows.weight, ties, rng)
    # Curves and cells are small: more threads only wait for each other, long on a busy machine.
    with thread_limits(1, "blas"):
        judged = ties.judged_weight(rows.weight, positive)
        early = checked is not None and judged is not None and not judged[checked.rows].any()
        if early:  # they were learned from; errors are counted on rows that were scored by others
            checked = None
        scored = ScoredRows.from_scores(
            scores, positive, judged, checked, rows.prices, overwrite_scores=True
        )
        if checked is not None and isinstance(scorer, PooledScores) and not sparse.issparse(X):
            scored = replace(scored, features=scorer.numbers(X), folds=ties.folds)
        scored = ties.thin(scored, options.level)
        result = fit_scores(scored, options)
        if result.correction is not None:
            scorer = scorer.corrected_by(*result.correction)
    note = ties.note(float(result.n_effective or result.n_rows), result.probability, positive)
    if early:
        note = " ".join(filter(None, (_EARLY, note)))
    return MemoryFit(result, transformer, scorer, scored, ties, note)
