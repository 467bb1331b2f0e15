"""Scores that are pooled by their evidence, out of fold and for new rows.

Linear scores are ridge regression on labels of -1 and 1 at several penalties, which symmetric label
noise only rescales; spline scores are the same on hinge features. Gradient boosting sees what
neither can, and averages of boosting with one of them follow the noise less than boosting alone.

New rows are scored by one product (`PooledRule`): every score that counts is a sum of
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

from flipcost._threads import moment_threads, thread_limits
from flipcost._validation import assert_all_finite, take_rows
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.balanced_ridge import ridge_scores
from flipcost.core.dependence import training_rows
from flipcost.core.scoring import AdditiveScores, CurveTables, HingeBasis
from flipcost.estimators.base import weight_params
from flipcost.estimators.flipcost.boosting import (
    FEWEST_FOR_TREES,
    allows_trees,
    boosting_scores,
)
from flipcost.exceptions import FlipCostError
from flipcost.tables.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.core.correction import Correction
    from flipcost.core.trees import TreeSum
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


def knot_count(n_features: int) -> int:
    """Return how many knots each feature may have: 7 of 5 features, 3 of 20, none of 60."""
    d = max(n_features, 1)
    usual = min(_KNOTS, _MOST_COLUMNS // d - 1)
    return max(usual, min(_MOST_KNOTS, _FEW_COLUMNS // d - 1), 0)


@dataclass(frozen=True, eq=False)
class EstimatorScores:
    """The score of any classifier, which is learned from others or fitted already.

    Probabilities are turned to log-odds.
    """

    estimator: Any
    has_features = False

    def learn(
        self,
        X: Any,
        positive: Flags,
        weight: Array | None,
        folds: Indices,
        *,
        forward: bool = False,
        seed: int = 0,  # noqa: ARG002 - it has its own
    ) -> tuple[EstimatorScores, Array]:
        """Fit it on each training part and on all rows; return it, and out-of-fold scores."""
        labels, scores = positive.astype(int), np.empty(len(positive))
        for k in range(int(folds.max()) + 1):
            train, test = training_rows(folds, k, forward=forward), np.flatnonzero(folds == k)
            fitted = _fitted(self.estimator, X, labels, weight, train)
            scores[test] = _real_scores(fitted, take_rows(X, test))
        everywhere = _fitted(self.estimator, X, labels, weight, np.arange(len(positive)))
        return EstimatorScores(everywhere), scores[None, :]

    def score(self, X: Any, which: Indices) -> Array:  # noqa: ARG002 - there is one
        """Return the score of rows, shape (1, n)."""
        return _real_scores(self.estimator, X)[None, :]


def _fitted(
    estimator: Any,
    X: Any,
    labels: NDArray[np.int_],
    weight: Array | None,
    rows: Indices,
) -> Any:
    options = weight_params(estimator, None if weight is None else weight[rows])
    return clone(estimator).fit(take_rows(X, rows), labels[rows], **options)


def _real_scores(model: Any, X: Any) -> Array:
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


@dataclass(frozen=True)
class ScoreParts:
    """What the scores of a fit are made of, and what was asked for and left out, with reasons."""

    knots: int
    trees: int
    corrected: bool
    left_out: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PooledScores:
    """Linear and spline scores, boosting, and averages of these.

    Attributes
    ----------
    basis : HingeBasis
        Linear-spline basis: feature and knot of each hinge.
    coefficients : ndarray of shape (m, n_columns + 1)
        Coefficients of each score, the bias last: linear and spline scores first, then boosting,
        of which all are 0, then averages of these, which are linear in them.
    share : ndarray of shape (m,)
        What the score of boosting is multiplied by in each.
    boosting : TreeSum or None
        Its trees, if rows allow it.
    encoder : Encoder or None
        What columns are to either; None for sparse rows, which are numbers as they are.
    transformer : transformer or None
        What rows go through first.
    corrected : bool
        Whether the last score is one that checked rows corrected.
    """

    basis: HingeBasis
    coefficients: Array
    share: Array
    boosting: TreeSum | None
    encoder: Encoder | None
    transformer: Any = None
    corrected: bool = False

    def corrected_by(self, curves: ScoreCurves, correction: Correction) -> PooledScores:
        """Return the same with a score of the scores that count and of features."""
        part = correction.of_scores / curves.scale
        row, share = part @ self.coefficients[curves.which], part @ self.share[curves.which]
        row[: len(correction.of_features)] += correction.of_features
        row[-1] += correction.bias - part @ curves.location
        return replace(
            self,
            coefficients=np.vstack([self.coefficients, row]),
            share=np.append(self.share, share),
            corrected=True,
        )

    def score(self, X: Any, which: Indices) -> Array:
        """Return the chosen scores of rows, shape (len(which), n)."""
        coefficients, share, cells = self.coefficients[which], self.share[which], self.cells(X)
        smooth = AdditiveScores.used(self.basis, coefficients[:, :-1], coefficients[:, -1])
        scores = smooth.score(self.numbers(cells))
        if self.boosting is not None and share.any():
            scores = scores + share[:, None] * self.boosting.score(cells)
        return scores

    def parts(self, features: Any) -> ScoreParts:
        """Return what there is, and what is missing of the features that were asked for."""
        trees = 0 if self.boosting is None else len(self.boosting.trees)
        is_sparse, left_out = self.encoder is None, []
        if features in ("splines", "auto") and (is_sparse or not knot_count(self.basis.n_features)):
            reason = "rows are sparse" if is_sparse else f"more than {_MOST_COLUMNS // 2} numbers"
            left_out.append(f"splines ({reason})")
        if features == "auto" and not trees:
            few = f"under {FEWEST_FOR_TREES} rows of a label, or fewer rows than columns"
            left_out.append(f"boosting ({'rows are sparse' if is_sparse else few})")
        return ScoreParts(len(self.basis.knot), trees, self.corrected, tuple(left_out))

    @property
    def has_features(self) -> bool:
        """Whether checked rows may correct scores by features, which are dense then."""
        return self.encoder is not None

    def cells(self, X: Any) -> Any:
        """Return what boosting sees of rows."""
        if self.transformer is not None:
            X = np.asarray(self.transformer.transform(X), dtype=float)
        return X if self.encoder is None else self.encoder.cells(X)

    def numbers(self, cells: Any) -> Any:
        """Return what linear and spline scores see of them."""
        return cells if self.encoder is None else self.encoder.numbers(cells)


@dataclass(frozen=True)
class PooledLearner:
    """What learns linear scores, splines and boosting; parameters as in `FlipCostClassifier`."""

    features: Any
    l2s: Sequence[float]

    def learn(
        self,
        X: Any,
        positive: Flags,
        weight: Array | None,
        folds: Indices,
        *,
        forward: bool = False,
        seed: int = 0,
    ) -> tuple[PooledScores, Array]:
        """Return what scores new rows, and out-of-fold scores of shape (m, n).

        Rows may have gaps and categories; sparse ones have linear scores only. With `forward` a
        fold is scored by earlier ones only.
        """
        features, transformer = self.features, None
        if not isinstance(features, str):
            transformer, features = clone(features), "linear"
            X = np.asarray(transformer.fit_transform(X), dtype=float)
        encoder = None if sparse.issparse(X) else Encoder.learn(X, sample_weight=weight)
        cells = X if encoder is None else encoder.cells(X)
        numbers = X if encoder is None else encoder.numbers(cells)
        basis = HingeBasis.linear(numbers.shape[1])
        if features != "linear" and encoder is not None:
            basis = HingeBasis.from_rows(numbers, knot_count(numbers.shape[1]), weight)
        with moment_threads(basis.n_columns):
            coefficients, scores = ridge_scores(
                numbers, basis, positive, weight, folds, self.l2s, forward=forward
            )
        made = None
        if features == "auto" and encoder is not None and allows_trees(positive, cells.shape[1]):
            is_code = encoder.is_category
            made = boosting_scores(
                cells, is_code, positive, weight, folds, forward=forward, seed=seed
            )
        boosting, share = None, np.zeros(len(coefficients))
        if made is not None:
            boosting, scores = made[0], np.concatenate([scores, made[1][None]])
            mixes, added = _mixes(scores, len(self.l2s), weight)
            mixed = mixes[:, :-1] @ coefficients
            mixed[:, -1] += added
            coefficients = np.vstack([coefficients, np.zeros((1, basis.n_columns + 1)), mixed])
            share = np.concatenate([share, [1.0], mixes[:, -1]])
            scores = np.concatenate([scores, mixes @ scores + added[:, None]])
        return PooledScores(basis, coefficients, share, boosting, encoder, transformer), scores


def _mixes(scores: Array, n_l2s: int, weight: Array | None) -> tuple[Array, Array]:
    """Average boosting, the last score, with others, each standardised: factors, what is added.

    With a light and a heavy penalty, and with both or a spline score.
    """
    last = len(scores) - 1
    light, heavy = n_l2s // 2, max(n_l2s - 2, 0)
    third = n_l2s + light if last > n_l2s else heavy
    found, added = np.zeros((3, len(scores))), np.zeros(3)
    for row, parts in enumerate(({light, last}, {heavy, last}, {light, third, last})):
        for m in parts:
            location = np.average(scores[m], weights=weight)
            variance = np.average((scores[m] - location) ** 2, weights=weight)
            found[row, m] = 1 / (len(parts) * (np.sqrt(variance) or 1.0))
            added[row] -= found[row, m] * location
    return found, added


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
    has_features = False

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

    def learn(self, X: Array, *_: Any, **__: Any) -> tuple[GivenScores, Array]:
        """Return what scores rows, this, and their scores."""
        return self, np.ascontiguousarray(X.T)

    def score(self, X: Array, which: Indices) -> Array:
        """Return the chosen scores of rows, shape (len(which), n)."""
        return np.ascontiguousarray(X.T[which])


# Rows that are scored at a time: what is found of them stays in a cache.
_PART_ROWS = 1 << 15


def clean_probability(scorer: Any, curves: ScoreCurves, X: Any) -> Array:
    """Return the clean probability of the rows of an array, a sparse matrix or a frame.

    What is not finite in an array is found here.
    """
    if isinstance(scorer, PooledScores) and not sparse.issparse(X):
        return PooledRule.of(scorer, curves).probability(scorer.cells(X))
    if sparse.issparse(X):
        assert_all_finite(X.data, input_name="X")
    return curves.probability(scorer.score(X, curves.which))


@dataclass(frozen=True, eq=False)
class PooledRule:
    """Pooled scores and their curves, collapsed to what gives the clean probability of a row.

    Attributes
    ----------
    scorer : PooledScores
        Where it comes from.
    places : AdditiveScores
        Places in the tables, m of them, but for boosting.
    boosting_share : ndarray of shape (m,)
        What boosting's score is multiplied by, and then added to these.
    tables : CurveTables
        What each place contributes to the probability.
    """

    scorer: PooledScores
    places: AdditiveScores
    boosting_share: Array
    tables: CurveTables

    @classmethod
    def of(cls, scorer: PooledScores, curves: ScoreCurves) -> PooledRule:
        """Collapse scores and curves."""
        coefficients, share = scorer.coefficients[curves.which], scorer.share[curves.which]
        slope, offset = curves.places()
        slopes, bias = slope[:, None] * coefficients[:, :-1], slope * coefficients[:, -1] + offset
        places = AdditiveScores.used(scorer.basis, slopes, bias)
        return cls(scorer, places, slope * share, curves.tables())

    def probability(self, cells: Array) -> Array:
        """Return the clean probability of rows of which the encoder has made cells."""

        def numbers(block: Array) -> Array:
            assert_all_finite(block, allow_nan=has_encoder, input_name="X")
            return np.asarray(self.scorer.numbers(block))

        has_encoder = self.scorer.encoder is not None
        boosting = self.scorer.boosting if self.boosting_share.any() else None
        found = np.empty(len(cells))
        # One thread: two took a third more processor time, and hardly less by the clock.
        with thread_limits(1, "blas"):
            for start in range(0, len(cells), _PART_ROWS):
                part = cells[start : start + _PART_ROWS]
                places = self.places.score(part, numbers)
                if boosting is not None:
                    own = boosting.score(part)
                    for line, share in zip(places, self.boosting_share, strict=True):
                        np.add(line, share * own, out=line)
                found[start : start + _PART_ROWS] = self.tables.sum_at(places)
        return found
