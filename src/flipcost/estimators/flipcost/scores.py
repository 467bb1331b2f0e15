"""Scores that are pooled by their evidence, out of fold and for new rows.

Linear scores are ridge regression on labels of -1 and 1 at several penalties, which symmetric label
noise only rescales; spline scores are the same on hinge features. Gradient boosting sees what
neither can, and averages of boosting with one of them follow the noise less than boosting alone.

New rows are scored by one product (`FastPredictor`): every score that counts is a sum of
piecewise-linear functions of the features, plus a share of boosting's score, so the coefficients of
all are gathered once, in units of the tables that the curves are read from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from flipcost._threads import moment_threads, thread_limits
from flipcost._validation import assert_all_finite, take_rows
from flipcost.core.additive import AdditiveScores, CurveTables, HingeBasis
from flipcost.core.arrays import Array, Flags
from flipcost.core.balanced_ridge import ridge_scores
from flipcost.core.dependence import training_rows
from flipcost.core.scoring import row_scores
from flipcost.estimators.flipcost.boosting import (
    allows_trees,
    boosting_scores,
)
from flipcost.exceptions import FlipCostError
from flipcost.tables.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.core.correction import Correction
    from flipcost.estimators.flipcost.result import ScoreCurves

# Expanded columns: above this the moments cost more than they give.
_MOST_COLUMNS = 100
# Knots of a feature; or, if more, as many as make up this many columns, up to the third number.
# Of a ring in two columns with 20 % of the labels flipped three knots left 0.080 of the regret of a
# constant, fifteen 0.049.
_KNOTS, _FEW_COLUMNS, _MOST_KNOTS = 3, 40, 15
# How boosting of others is asked for the sum of its trees, in place of a rounded probability.
_RAW: dict[str, tuple[str, dict[str, Any]]] = {
    "LGBMClassifier": ("predict_proba", {"raw_score": True}),
    "XGBClassifier": ("predict", {"output_margin": True}),
    "CatBoostClassifier": ("predict", {"prediction_type": "RawFormulaVal"}),
}
# Probabilities are cut here before they become log-odds, so that a sure answer is a finite score.
_SUREST = 1e-6


@dataclass(frozen=True, eq=False)
class RidgeScores:
    """Ridge regression at several penalties, on features and on hinge features.

    Coefficients, one score a row and the bias last, are those of all rows, in their units.
    """

    basis: HingeBasis
    coefficients: Array

    def score(self, X: Array, which: NDArray[np.intp]) -> Array:
        """Return the chosen scores of rows, shape (len(which), n)."""
        coefficients, d = self.coefficients[which], self.basis.n_features
        if coefficients[:, d:-1].any():
            return row_scores(X, coefficients, self.basis.expand)
        return row_scores(X, coefficients[:, [*range(d), -1]])

    def collapsed(self, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the coefficients of the chosen scores, and the share of boosting: none."""
        return self.coefficients[which], np.zeros(len(which))


def spline_basis(X: Array, weight: Array | None) -> HingeBasis:
    """Place as many knots on each feature as the number of columns allows."""
    return HingeBasis.from_rows(X, knot_count(X.shape[1]), weight)


def knot_count(n_features: int) -> int:
    """Return how many knots each feature may have: 7 of 5 features, 3 of 20, none of 60."""
    d = max(n_features, 1)
    usual = min(_KNOTS, _MOST_COLUMNS // d - 1)
    return max(usual, min(_MOST_KNOTS, _FEW_COLUMNS // d - 1), 0)


@dataclass(frozen=True, eq=False)
class EstimatorScores:
    """The score of any classifier; probabilities are turned to log-odds."""

    estimator: Any

    def score(self, X: Array, which: NDArray[np.intp]) -> Array:  # noqa: ARG002 - there is one
        """Return the score of rows, shape (1, n)."""
        return _real_scores(self.estimator, X)[None, :]


def estimator_scores(
    estimator: Any,
    X: Array,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    *,
    forward: bool = False,
) -> tuple[EstimatorScores, Array]:
    """Fit a classifier on each training part and on all rows; return it, and out-of-fold scores."""
    labels, scores = positive.astype(int), np.empty(len(positive))
    for k in range(int(folds.max()) + 1):
        train, test = training_rows(folds, k, forward=forward), np.flatnonzero(folds == k)
        fitted = _fitted(estimator, X, labels, weight, train)
        scores[test] = _real_scores(fitted, take_rows(X, test))
    everywhere = _fitted(estimator, X, labels, weight, np.arange(len(positive)))
    return EstimatorScores(everywhere), scores[None, :]


def _fitted(
    estimator: Any,
    X: Array,
    labels: NDArray[np.int_],
    weight: Array | None,
    rows: NDArray[np.intp],
) -> Any:
    options = {}
    if weight is not None:
        if not has_fit_parameter(estimator, "sample_weight"):
            msg = (
                f"{type(estimator).__name__} must take `sample_weight` in `fit` when "
                "weights are given; leave them out, or choose another estimator."
            )
            raise ValueError(msg)
        options["sample_weight"] = weight[rows]
    return clone(estimator).fit(take_rows(X, rows), labels[rows], **options)


def _real_scores(model: Any, X: Array) -> Array:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    ask, raw = _RAW.get(type(model).__name__, ("", {}))
    if ask:
        return np.asarray(getattr(model, ask)(X, **raw), dtype=float)
    if not hasattr(model, "predict_proba"):
        msg = (
            f"`estimator` must have `decision_function` or `predict_proba`; "
            f"{type(model).__name__} has neither."
        )
        raise TypeError(msg)
    return np.asarray(logit(np.clip(model.predict_proba(X)[:, 1], _SUREST, 1 - _SUREST)))


@dataclass(frozen=True, eq=False)
class PooledScores:
    """Ridge scores, boosting, and averages of the two.

    Attributes
    ----------
    smooth : RidgeScores
        The linear and spline scores, the first ones.
    boosting : TreeSum or None
        The next one, if rows allow it.
    averages : tuple of tuples of int
        Which scores make up each of the last ones.
    location, scale : ndarray
        What standardises the scores that are averaged.
    encoder : Encoder or None
        What columns are to either; None for sparse rows, which are numbers as they are.
    corrected : tuple of ndarray and float, or None
        Coefficients and share of boosting of the score that checked rows corrected, the last one.
    """

    smooth: RidgeScores
    boosting: Any
    averages: tuple[tuple[int, ...], ...]
    location: Array
    scale: Array
    encoder: Encoder | None
    corrected: tuple[Array, float] | None = None

    def corrected_by(self, curves: ScoreCurves, correction: Correction) -> PooledScores:
        """Return the same with a score of the scores that count and of features."""
        coefficients, share = self.collapsed(curves.which)
        coefficients[:, -1] -= curves.location
        part = correction.of_scores / curves.scale
        row = part @ coefficients
        row[: len(correction.of_features)] += correction.of_features
        row[-1] += correction.bias
        return replace(self, corrected=(row, float(part @ share)))

    def score(self, X: Any, which: NDArray[np.intp]) -> Array:
        """Return the chosen scores of rows, shape (len(which), n)."""
        coefficients, share = self.collapsed(which)
        scores = RidgeScores(self.smooth.basis, coefficients).score(
            self.numbers(X), np.arange(len(which))
        )
        return scores + share[:, None] * self.boosting_score(X) if share.any() else scores

    def collapsed(self, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return coefficients of the chosen scores, and what boosting's score is multiplied by.

        Averages of standardised scores are linear in these, so one row of coefficients does.
        """
        n_smooth = len(self.smooth.coefficients)
        n_single = n_smooth + (self.boosting is not None)
        coefficients = np.zeros((len(which), self.smooth.coefficients.shape[1]))
        share = np.zeros(len(which))
        for row, m in enumerate(which.tolist()):
            if self.corrected is not None and m == n_single + len(self.averages):
                coefficients[row], share[row] = self.corrected
                continue
            single = m < n_single
            parts = (m,) if single else self.averages[m - n_single]
            for part in parts:
                factor = 1.0 if single else 1 / (len(parts) * self.scale[part])
                coefficients[row, -1] -= 0.0 if single else factor * self.location[part]
                if part < n_smooth:
                    coefficients[row] += factor * self.smooth.coefficients[part]
                else:
                    share[row] += factor
        return coefficients, share

    def boosting_score(self, X: Any) -> Array:
        """Return the score that boosting gives rows, shape (n,)."""
        cells = X if self.encoder is None else self.encoder.cells(X)
        return np.asarray(self.boosting.score(cells))

    def numbers(self, X: Any) -> Any:
        """Return what linear and spline scores see of rows."""
        return X if self.encoder is None else self.encoder.numbers(self.encoder.cells(X))


def pooled_scores(
    X: Any,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    l2s: Sequence[float],
    *,
    splines: bool,
    boost: bool,
    forward: bool = False,
    seed: int = 0,
) -> tuple[PooledScores, Array]:
    """Learn all scores; return what scores new rows, and out-of-fold scores of shape (m, n).

    Rows may have gaps and categories; sparse ones have linear scores only. `splines` and `boost`
    say whether there are scores of hinge features, and boosting where rows allow it. With
    `forward` a fold is scored by earlier ones only.
    """
    encoder = None if sparse.issparse(X) else Encoder.learn(X, sample_weight=weight)
    cells = X if encoder is None else encoder.cells(X)
    numbers = X if encoder is None else encoder.numbers(cells)
    basis = HingeBasis.linear(numbers.shape[1])
    if splines and encoder is not None:
        basis = spline_basis(numbers, weight)
    with moment_threads(basis.n_columns):
        coefficients, scores = ridge_scores(
            numbers, basis, positive, weight, folds, l2s, forward=forward
        )
    boosting = None
    if boost and encoder is not None and allows_trees(positive, cells.shape[1]):
        made = boosting_scores(
            cells,
            encoder.is_category,
            positive,
            weight,
            folds,
            forward=forward,
            seed=seed,
        )
        if made is not None:
            boosting, scores = made[0], np.concatenate([scores, made[1][None]])
    location, scale = _location_and_scale(scores, weight)
    averages = _averages(len(coefficients), len(l2s)) if boosting is not None else ()
    scorer = PooledScores(
        RidgeScores(basis, coefficients), boosting, averages, location, scale, encoder
    )
    mixed = [
        np.mean([(scores[m] - location[m]) / scale[m] for m in parts], axis=0) for parts in averages
    ]
    return scorer, np.concatenate([scores, mixed]) if mixed else scores


def _location_and_scale(scores: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each score, 1 where it is constant."""
    location, scale = np.empty(len(scores)), np.ones(len(scores))
    for m, score in enumerate(scores):  # one by one: no copy of all of them is made
        location[m] = np.average(score, weights=weight)
        scale[m] = np.sqrt(np.average((score - location[m]) ** 2, weights=weight)) or 1.0
    return location, scale


def _averages(n_smooth: int, n_l2s: int) -> tuple[tuple[int, ...], ...]:
    """Average boosting with a light and a heavy penalty, and with both or a spline score."""
    light, heavy = n_l2s // 2, max(n_l2s - 2, 0)
    third = n_l2s + light if n_smooth > n_l2s else heavy
    chosen = ({light, n_smooth}, {heavy, n_smooth}, {light, third, n_smooth})
    return tuple(tuple(sorted(parts)) for parts in chosen)


KINDS = ("score", "probability")


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
