"""Fit from rows in memory: read checked rows, learn scores out of fold, and fit what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from flipcost._threads import thread_limits
from flipcost._validation import take_rows
from flipcost.core.arrays import Array, Flags
from flipcost.core.checked_rows import CheckedRows, contradict, look_wrong
from flipcost.core.noise_posterior import PrevalencePrior
from flipcost.estimators.flipcost.dependence import read_dependence
from flipcost.estimators.flipcost.fit import ScoredRows, fit_scores
from flipcost.estimators.flipcost.scores import PooledScores, estimator_scores, pooled_scores
from flipcost.exceptions import FlipCostError
from flipcost.tables.sample import fit_weight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.core.costs import RowCosts
    from flipcost.estimators.flipcost.dependence import Dependence
    from flipcost.estimators.flipcost.result import FitOptions, FitResult
    from flipcost.estimators.flipcost.scores import GivenScores


def read_trusted(
    trusted: Any, classes: NDArray[Any], n_rows: int, *, second_is_positive: bool
) -> CheckedRows | None:
    """Return the rows that were checked, or None when there are none.

    Parameters
    ----------
    trusted : array-like of shape (n,) or None
        The right label where a row was checked, and missing elsewhere.
    classes : ndarray of shape (2,)
        The two labels.
    n_rows : int
        Number of rows.
    second_is_positive : bool
        Whether the second label is the positive one.

    Examples
    --------
    >>> found = read_trusted(["b", None, "a"], np.array(["a", "b"]), 3, second_is_positive=True)
    >>> found.rows.tolist(), found.right.tolist()
    ([0, 2], [True, False])
    """
    if trusted is None:
        return None
    values = np.asarray(trusted, dtype=object).reshape(-1)
    if len(values) != n_rows:
        msg = (
            f"`trusted` must have a value for each of the {n_rows} rows, missing where nobody "
            f"checked; got {len(values)}."
        )
        raise ValueError(msg)
    rows = np.array([k for k, value in enumerate(values) if not _is_missing(value)], dtype=np.intp)
    if not len(rows):
        return None
    given = values[rows]
    second = np.array([bool(value == classes[1]) for value in given])
    first = np.array([bool(value == classes[0]) for value in given])
    strange = np.flatnonzero(~(first | second))
    if len(strange):
        msg = (
            f"`trusted` must hold the labels {classes.tolist()}, or nothing; got "
            f"{given[strange[0]]!r} in row {int(rows[strange[0]])}."
        )
        raise ValueError(msg)
    return CheckedRows(rows, second if second_is_positive else first)


def mended(positive: Flags, checked: CheckedRows) -> Flags:
    """Return the labels with those that were checked as they are right.

    If that leaves one class only, which the labels do not, they are returned as they were.

    Examples
    --------
    >>> mended(np.array([True, False, True]), CheckedRows(np.array([1]), np.array([True])))
    array([ True, False,  True])
    >>> mended(np.array([True, False, False]), CheckedRows(np.array([1]), np.array([True])))
    array([ True,  True, False])
    """
    labels = positive.copy()
    labels[checked.rows] = checked.right
    return positive if labels.all() or not labels.any() else labels


def check_not_swapped(
    X: Any,
    positive: Flags,
    checked: CheckedRows,
    learn: Callable[[Any, Flags], Callable[[Any], Array]],
) -> None:
    """Refuse checked rows that contradict most labels, unless these labels look wrong.

    Rows that were checked because they look wrong mostly are; then what the other rows' labels
    teach speaks against the labels that the checks contradict. Where it does not, and rows are
    contradicted that look like any of their label, one of the two columns is coded the other way.

    Parameters
    ----------
    X : array, sparse matrix or frame of n rows
        All rows.
    positive : ndarray of bool, shape (n,)
        Their labels.
    checked : CheckedRows
        Those whose right label is known.
    learn : callable
        From rows and labels to what scores rows; called in the rare case only.

    Examples
    --------
    >>> labels = np.arange(12) % 2 == 1
    >>> checked = CheckedRows(np.arange(12), ~labels)
    >>> check_not_swapped(np.ones((12, 1)), labels, checked, lambda X, y: X.sum)
    Traceback (most recent call last):
        ...
    flipcost.exceptions.FlipCostError: 12 of the 12 checked rows have another label in `trusted` \
than in `y`, and these rows look no different from others of their label: are its two labels \
swapped, or do they belong to other rows?
    """
    given = positive[checked.rows]
    if not contradict(given, checked.right):
        return
    others = np.ones(len(positive), dtype=bool)
    others[checked.rows] = False
    rest = np.flatnonzero(others)
    if len(np.unique(positive[rest])) == 2:
        others_X, wrong_rows = take_rows(X, rest), checked.rows[given != checked.right]
        score = learn(others_X, positive[rest])
        scores = score(take_rows(X, wrong_rows))
        if look_wrong(scores, positive[wrong_rows], score(others_X), positive[rest]):
            return
    wrong, rows = int(np.sum(given != checked.right)), len(given)
    msg = (
        f"{wrong:,} of the {rows:,} checked rows have another label in `trusted` than in `y`, and "
        "these rows look no different from others of their label: are its two labels swapped, or "
        "do they belong to other rows?"
    )
    raise FlipCostError(msg)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


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
    stands_for : pair of floats
        What a negative and a positive label weigh, where rows were drawn from a table.
    """

    X: Any
    positive: Flags
    weight: Array | None = None
    checked: CheckedRows | None = None
    prices: RowCosts | None = None
    stands_for: tuple[float, float] = (1.0, 1.0)

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
        if weight is self.weight:
            return self
        drawn: Any = fit_weight(stands_for, self.positive, None)
        # Checked rows may stand for themselves alone; most rows are not.
        of_negative, of_positive = (np.median(drawn[self.positive == k]) for k in (False, True))
        found = replace(self, weight=weight, stands_for=(float(of_negative), float(of_positive)))
        if self.checked is None:
            return found
        rows = self.checked.rows
        own = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        return replace(found, checked=replace(self.checked, weight=own))


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
    clean: tuple[Any, Flags] | None = None,
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
    clean : tuple of rows and ndarray of bool, optional
        Other rows, and which of them are truly positive.

    Returns
    -------
    MemoryFit

    Examples
    --------
    >>> from flipcost.estimators.flipcost.result import FitOptions
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
    if clean is not None:
        new = clean[0]
        if transformer is not None:
            new = np.asarray(transformer.transform(new), dtype=float)
        clean = scorer.score(new, np.arange(len(scores))), clean[1]
    # Curves and cells are small: more threads only wait for each other, long on a busy machine.
    with thread_limits(1, "blas"):
        judged = ties.judged_weight(rows.weight, positive)
        early = checked is not None and judged is not None and not judged[checked.rows].any()
        if early:  # they were learned from; errors are counted on rows that were scored by others
            checked = None
        scored = ScoredRows.from_scores(
            scores,
            positive,
            judged,
            checked,
            rows.prices,
            rows.stands_for,
            clean=clean,
            overwrite_scores=True,
        )
        if checked is not None:
            share = PrevalencePrior.given(options.prevalence, scored.bins[0])
            scored = replace(scored, checked=replace(checked, prevalence=share))
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
