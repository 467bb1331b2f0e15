"""Candidates where each row has prices of its own: what they call, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from flipcost.audit._candidates import Candidate, is_fitted, others_of
from flipcost.audit._plain import PlainModel, plain_models, rival_folds
from flipcost.audit._saved import saved_calls
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.costs import price_weights
from flipcost.core.decision import bayes_calls, decide
from flipcost.core.moments import ClassMoments, fold_moments
from flipcost.core.scoring import fold_scores
from flipcost.core.solve import solve_path
from flipcost.estimators import NoiseAwareThresholdClassifier
from flipcost.exceptions import TableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._rows import Audited, JudgedRows
    from flipcost.core.costs import RowCosts
    from flipcost.estimators import FlipCostClassifier

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_L2S = (0.001, 0.01, 0.1, 1.0, 10.0)
# A price that orders the labels better than this is known from them.
_TELLS = 0.99


def check_prices(prices: RowCosts | None, positive: Flags, target: str) -> None:
    """Refuse a price that tells the label: it is not known where the label is not.

    Examples
    --------
    >>> from flipcost.core.costs import RowCosts
    >>> check_prices(RowCosts(np.array([0.0, 9.0]), np.ones(2)), np.array([False, True]), "fraud")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: The price `fn` tells 'fraud' almost without a mistake, so that \
it is known only once the label is; give a price that is known before.
    """
    if prices is None or positive.all() or not positive.any():
        return
    try:
        prices.relative()
    except ValueError as error:  # one kind of mistake is free on all rows
        raise TableError(str(error)) from error
    for name in ("fn", "fp"):
        ranks = rankdata(getattr(prices, name))
        n = int(positive.sum())
        area = (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n))
        if max(area, 1 - area) > _TELLS:
            msg = (
                f"The price `{name}` tells {target!r} almost without a mistake, so that it is "
                "known only once the label is; give a price that is known before."
            )
            raise TableError(msg)


def compare_by_price(
    rows: Audited, classifier: FlipCostClassifier, costs: Array, index: int
) -> list[Candidate]:
    """Return the classifier and its rivals where prices differ by row.

    Parameters
    ----------
    rows : Audited
        What was read and asked.
    classifier : FlipCostClassifier
        Fitted.
    costs : ndarray
        The grid of costs, as shares of mean prices: at each, the prices of misses are multiplied by
        one factor.
    index : int
        Where the user's prices are among them.
    """
    judged, prices = rows.judged, rows.judged.prices
    assert prices is not None  # noqa: S101 - asked by the caller
    ratios = (1 - costs) / costs
    scaled = [prices.scaled(float(f)) for f in ratios / ratios[index]]
    folds = rival_folds(judged, rows.options.seed)
    made = _Maker(judged, prices, scaled, index, rows.options.level)
    found = [_flipcost(made, classifier), _ignoring(made, folds)]
    models = plain_models(judged, rows.options.seed)
    found += [_plain(made, folds, rows, plain) for plain in models]
    for key, label in (("all_positive", rows.labels[1]), ("all_negative", rows.labels[0])):
        everything = np.full(len(judged.positive), key == "all_positive")
        found.append(made.candidate(key, f"always {label!r}", _always(everything)))
    if is_fitted(rows.options.model):
        predict = saved_calls(rows, rows.options.model)
        called = predict(judged.frame)
        found.append(made.candidate("saved", "saved model", _always(called), predict=predict))
    return found


class _Maker:
    """Make candidates of calls at each of the scaled prices."""

    def __init__(
        self, judged: JudgedRows, prices: RowCosts, scaled: list[RowCosts], index: int, level: float
    ) -> None:
        self.judged, self.prices, self.scaled, self.index = judged, prices, scaled, index
        self.level = level
        miss, alarm = prices.mean(judged.weight)
        self.means = (max(miss, 1e-300), max(alarm, 1e-300))

    def candidate(
        self, key: str, label: str, calls: Callable[[int], Flags], **more: Any
    ) -> Candidate:
        called = [calls(k) for k in range(len(self.scaled))]
        tables = [self.judged.table(c) for c in called]
        paid = [self._paid(c) for c in called]
        predict = more.pop("predict", None) or _constantly(key)
        return Candidate(
            key,
            label,
            called[self.index],
            _stacked(tables),
            predict,
            paid=_stacked(paid),
            **more,
        )

    def _paid(self, called: Flags) -> ConfusionCounts:
        """Return labels against calls, rows weighed by what a wrong call would cost.

        In units of the mean price, so that times that price it is money.
        """
        miss, alarm = self.prices.miss / self.means[0], self.prices.alarm / self.means[1]
        weight = np.maximum(np.where(called, alarm, miss), 0.0)
        if self.judged.weight is not None:
            weight = weight * self.judged.weight
        table = ConfusionCounts.from_labels(self.judged.positive, called, weight)
        if self.judged.ties is None:
            return table
        cells = 2 * self.judged.positive.astype(np.intp) + called
        design = self.judged.ties.design(cells, weight, self.level)
        return ConfusionCounts(table.counts, design * table.squares)


def _always(called: Flags) -> Callable[[int], Flags]:
    return lambda _: called


def _stacked(tables: list[ConfusionCounts]) -> ConfusionCounts:
    return ConfusionCounts(
        np.stack([t.counts for t in tables]), np.stack([t.squares for t in tables])
    )


def _constantly(key: str) -> Callable[..., Flags]:
    return lambda X, _=None: np.full(len(X), key == "all_positive")


def _flipcost(made: _Maker, model: FlipCostClassifier) -> Candidate:
    """Return the chosen model: its rule, or the constant that beats it, at each price."""
    judged, probability = made.judged, model.oof_probability_

    def calls(k: int) -> Flags:
        decision = decide(
            judged.positive,
            probability,
            made.scaled[k],
            model.rate_posterior_,
            judged.weight,
            checked=judged.checked,
        )
        return bayes_calls(probability, made.scaled[k], decision.chosen)

    def predict(X: Any, prices: RowCosts | None = None) -> Flags:
        return np.asarray(model.predict(X, prices=prices) == model.pos_label)

    return made.candidate("flipcost", "flipcost", calls, predict=predict)


def _ignoring(made: _Maker, folds: NDArray[Any]) -> Candidate:
    """Return the closed form on rows weighed by their prices, labels taken as they are."""
    judged = made.judged
    weight = price_weights(judged.positive, made.prices)
    if judged.learned_by is not None:
        weight = weight * judged.learned_by
    X, positive = judged.X, judged.positive
    ratio = [float(s.miss.sum() / max(made.prices.miss.sum(), 1e-300)) for s in made.scaled]
    costs = [1 / (1 + r) for r in ratio]
    parts = fold_moments(X, positive, folds, int(folds.max()) + 1, weight)
    path = np.stack(
        [solve_path(m, costs, [1.0], _L2S)[:, 0, :, 0] for m in others_of(judged, parts)]
    )

    def calls(k: int) -> Flags:
        by_penalty = fold_scores(X, path[:, k], folds) > 0
        paid = [
            np.average(made.scaled[k].paid(positive, c), weights=judged.weight) for c in by_penalty
        ]
        best[k] = int(np.argmin(paid))
        return np.asarray(by_penalty[best[k]])

    best: dict[int, int] = {}

    def predict(X: Any, _: RowCosts | None = None) -> Flags:
        moments = ClassMoments.merge_all(parts)
        solved = solve_path(moments, [0.5], [1.0], [_L2S[best[made.index]]])[0, 0, 0, 0]
        return np.asarray(X @ solved[:-1] + solved[-1] > 0)

    return made.candidate("ignoring", "ignoring the noise", calls, predict=predict)


def _plain(made: _Maker, folds: NDArray[Any], rows: Audited, plain: PlainModel) -> Candidate:
    """Return a plain classifier, its probabilities cut at each row's own threshold."""
    probability, whole = plain.out_of_fold(made.judged, folds), plain.whole(made.judged)

    def predict(X: Any, prices: RowCosts) -> Flags:
        return bayes_calls(whole(X), prices)

    return made.candidate(
        plain.key,
        plain.label,
        lambda k: bayes_calls(probability, made.scaled[k]),
        predict=predict,
        estimator=NoiseAwareThresholdClassifier(clone(plain.model), cost=rows.options.prices),
    )
