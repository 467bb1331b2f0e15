r"""Scheme 2 of the paper: re-sample the negatives by the cost, threshold at one half.

A classifier that thresholds probabilities at one half acts as one that thresholds at :math:`p`
when the negatives it learns from are multiplied by :math:`r = p/(1-p)` (Elkan 2001, Theorem 1).
The paper's Algorithm :math:`(\tilde\eta, \alpha)` uses this with
:math:`p = \alpha/(\gamma+(1-\gamma)\alpha)`, so :math:`r = \alpha/(\gamma(1-\alpha))`.
"""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from flipcost._validation import StrOptions, fit_context
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.confusion import MEASURES, ConfusionCounts, measure
from flipcost.core.costs import (
    CostLike,
    Costs,
    RowCosts,
    cost_share,
    margin_value,
    price_weights,
    prices_of,
    share_and_unit,
)
from flipcost.core.losses import weighted_zero_one
from flipcost.core.noise import NoiseRateLike, clean_eta, noisy_threshold, rate_pair
from flipcost.estimators.base import (
    COST_AND_RATE,
    PricedScoreMixin,
    WrappingClassifier,
    weight_params,
)
from flipcost.paper.kernels import settle
from flipcost.paper.logistic import LinkClassifier

_STEP = 0.05
_ABOVE = 0.001


def margin_grid(cost: CostLike, kind: str = "implied") -> Array:
    r"""Return the twelve margins that the algorithm tries, all with :math:`r < 1`.

    Parameters
    ----------
    cost : float or Costs
        The cost.
    kind : {"implied", "printed"}, default="implied"
        "printed": :math:`\alpha/(1-\alpha) + 0.05\,i` for i = 1 to 12, as the algorithm says.
        "implied": :math:`\alpha/(1-\alpha) + 0.001 + 0.05\,i` for i = 0 to 11, which uses the
        starting value that the algorithm defines and then forgets; the weighted costs printed for
        classifiers that call all rows positive fit this grid. Neither holds the margin 1, at which
        the threshold is the cost itself.

    Returns
    -------
    ndarray of shape (12,)

    Examples
    --------
    >>> margin_grid(0.2)[[0, 1, -1]]
    array([0.251, 0.301, 0.801])
    >>> margin_grid(0.2, "printed")[[0, 1, -1]]
    array([0.3 , 0.35, 0.85])
    """
    share = cost_share(cost)
    lowest = share / (1 - share)
    if kind == "printed":
        return np.asarray(lowest + _STEP * np.arange(1, 13))
    if kind == "implied":
        return np.asarray(lowest + _ABOVE + _STEP * np.arange(12))
    msg = f"A margin grid must be 'implied' or 'printed'; got {kind!r}."
    raise ValueError(msg)


def negative_ratio(cost: CostLike, margin: float = 1.0, noise_rate: NoiseRateLike = None) -> float:
    r"""Return what to multiply the negatives by, so that one half acts as the wanted threshold.

    Parameters
    ----------
    cost : float or Costs
        The cost.
    margin : float, default=1.0
        The margin; the wanted threshold on the clean probability is the cost when it is 1.
    noise_rate : float, pair of floats, or None, default=None
        With a rate, the threshold is carried over to the noisy probability first. Without it the
        scheme is the paper's, which symmetric noise does move: it keeps a probability on its side
        of one half, but not of another threshold.

    Returns
    -------
    float

    Examples
    --------
    >>> negative_ratio(0.2), round(negative_ratio(0.2, margin=0.5), 12)
    (0.25, 0.5)
    >>> round(negative_ratio(0.2, noise_rate=0.4), 4)
    0.7857
    """
    clean = weighted_zero_one(cost, margin).threshold
    threshold = float(noisy_threshold(clean, noise_rate))
    return threshold / (1 - threshold)


def rejection_keep(weight: ArrayLike, rank: ArrayLike, n_rows: ArrayLike) -> Flags:
    """Return which rows are kept if each is as likely to be as its weight is large.

    The row with the largest weight is kept for certain, any other with the ratio of its weight to
    that one (cost-proportionate rejection sampling). Rows of a class are ranked at random, and one
    is kept where its rank is within its share of them: rows of one weight are thinned as
    `kept_negatives` says, and a smaller sample is part of a larger one.
    """
    size = np.asarray(weight, dtype=float)
    share = size / max(float(size.max(initial=0.0)), 1e-300)
    place = np.asarray(rank, dtype=float) + 1
    return np.asarray(place <= share * np.asarray(n_rows) * (1 + 1e-12))


def undo_resampling(eta: ArrayLike, ratio: float) -> Array:
    """Return probabilities in the original class balance, given those after re-sampling.

    Parameters
    ----------
    eta : array-like
        Probabilities of the positive class, learnt with the negatives multiplied by `ratio`.
    ratio : float
        What the negatives were multiplied by.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> undo_resampling([0.0, 0.5, 1.0], negative_ratio(0.2))
    array([0. , 0.2, 1. ])
    """
    p = np.asarray(eta, dtype=float)
    return np.asarray(ratio * p / (ratio * p + 1 - p))


def kept_negatives(n_negative: int, ratio: float) -> int:
    """Return the floor of ``ratio * n_negative``, forgiving the rounding of the ratio."""
    return int(np.floor(ratio * n_negative * (1 + 1e-12)))


# Candidates whose scores differ by rounding only are tied.
_TIE = 1e-12


class CostResamplingClassifier(PricedScoreMixin, WrappingClassifier):
    r"""Cost-sensitive calls by re-sampling the negatives: the paper's Algorithm (eta~, alpha).

    The negatives are thinned out, or weighed, so that the threshold one half on the re-sampled
    probability acts as the wanted threshold on the original one. Works around any classifier
    with probabilities. With a noise rate the threshold is carried over to the noisy probability
    first; without one the scheme is the paper's, which label noise **does** mislead at costs other
    than one half. `NoiseAwareThresholdClassifier` reaches the same calls without throwing rows
    away, and is the better choice where the estimator's probabilities are good.

    Parameters
    ----------
    estimator : classifier with `predict_proba`, default=None
        What to estimate probabilities with; `LinkClassifier` when None.
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1), or the prices;
        these may differ by row, as in ``Costs(fn="amount", fp=5)``, and come as `prices` too (see
        Notes).
    margin : "tune" or float, default="tune"
        Margin of the negative class. The threshold on the clean probability is
        :math:`\alpha/(\gamma+(1-\gamma)\alpha)`: the cost itself at margin 1, and more the
        smaller the margin.
    mode : {"undersample", "weight"}, default="undersample"
        Whether negatives are drawn without replacement, the floor of :math:`r m_-` of them, or
        all weighed by :math:`r`. Weights do the same in expectation, with less variance, also for
        :math:`r > 1`; the estimator must take them.
    scoring : {"cost", "accuracy", "am", "f"}, default="cost"
        What the margin is tuned by, on cross-validated calls of untouched rows: the weighted cost
        (at margin 1, the user's own), accuracy, the mean of the two classes' recalls, or F. When
        a noise rate is given, the counts are denoised first. When none is, and labels are noisy,
        accuracy and AM are sound to tune by; cost and F are not. (The paper's own cost divides the
        price of a false positive by the margin that is tried: it prefers large margins whatever
        the calls.)
    noise_rate : float, pair of floats, or None, default=None
        Rate in [0, 0.5), or ``(rho_pos, rho_neg)``; None takes the labels as they are.
    margins : sequence of floats or None, default=None
        Candidates of ``margin="tune"``. None: the paper's twelve
        (`flipcost.paper.resampling.margin_grid`) and 1, which its grids lack, as far as negatives
        can be drawn at them (:math:`r \le 1`).
    cv : int, splitter or iterable, default=5
        Folds.
    n_jobs : int or None, default=None
        How many fits of the cross-validation to run at once.
    random_state : int, RandomState or None, default=None
        Seed of the draws.
    pos_label : label, default=None
        The positive class, which `cost`, `margin` and `noise_rate` speak of; ``classes_[1]`` when
        None.

    Attributes
    ----------
    estimator_ : classifier
        The estimator fitted to the re-sampled rows.
    margin_ : float
        The margin that was used.
    ratio_ : float or None
        What the negatives were multiplied by: the drawn share, or the weight; None where prices
        make it differ by row.
    relabeled_ : bool
        Whether the negatives were treated as the positive class, so that the positives were
        re-sampled: where that makes margin 1 reachable by drawing, which is where a miss costs less
        than a false alarm. When the classes change roles, so do the costs; labels, and all that is
        reported, stay the user's. (The paper relabels the rarer class and leaves the cost alone.)
    cv_results_ : dict of ndarray
        For each candidate its ``margin``, ``ratio``, cross-validated ``counts`` (label, flag;
        negative class first), ``score`` (larger is better) and ``rank``; with ``margin="tune"``
        only. Ties go to the margin nearest to 1. With prices by row, ratios are those at mean
        prices, and ``scoring="cost"`` is in money.
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    n_features_in_, feature_names_in_
        Those of the estimator, if it has them.

    Notes
    -----
    Every candidate is scored on the whole, untouched validation folds; the counts of all folds are
    added up before they are measured. Scoring re-sampled folds would change the class mix with
    the margin. The draws are nested: a smaller sample is part of a larger one. While margins are
    compared, the widths of `KLIEPClassifier`, and of `LSPClassifier` with its penalty, are those
    chosen once on all rows; the final fit chooses its own.

    `predict` thresholds the re-sampled probability at one half. `predict_proba` undoes the
    re-sampling, and the noise if a rate is given: it speaks of the original class balance.

    With prices by row, :math:`a_i` for a miss and :math:`b_i` for a false alarm, row i is best
    called where its noisy probability exceeds :math:`\tau_i = \rho_- + (1-\rho_+-\rho_-)\,b_i /
    (\gamma a_i + b_i)`. It weighs :math:`(\gamma a_i + b_i)(1-\tau_i)` if its label is positive and
    :math:`(\gamma a_i + b_i)\,\tau_i` if not (`flipcost.core.costs.price_weights`), in units
    that make one price on all rows what it is above. ``mode="weight"`` gives these weights to the
    estimator; ``mode="undersample"`` keeps the row that weighs most and others in proportion
    (rejection sampling, Zadrozny et al. 2003), which keeps little if a few rows are expensive:
    prefer weights where the estimator takes them. The re-sampled probability then exceeds one half
    where similar rows cost less if flagged, at the costs of these rows. So `predict` takes no
    prices, and `predict_proba` is that of the weighted rows: the weights cannot be undone, since
    they are not known of a new row. `NoiseAwareThresholdClassifier` compares each row with its own
    costs.

    References
    ----------
    Tripathi and Hemachandra (2019), Cost sensitive learning in the presence of symmetric label
    noise, PAKDD, section 4. doi:10.1007/978-3-030-16148-4_2

    Elkan (2001), The foundations of cost-sensitive learning, IJCAI, Theorem 1.

    Zadrozny, Langford and Abe (2003), Cost-sensitive learning by cost-proportionate example
    weighting, ICDM, section 3.

    Examples
    --------
    >>> from flipcost import CostResamplingClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.metrics import weighted_cost
    >>> from flipcost.noise import flip_labels
    >>> train, test = (make_syn3d(2000, random_state=seed) for seed in (0, 1))
    >>> noisy = flip_labels(train.target, 0.3, random_state=2)
    >>> for rate in (None, 0.3):
    ...     model = CostResamplingClassifier(cost=0.2, noise_rate=rate, random_state=0)
    ...     calls = model.fit(train.data, noisy).predict(test.data)
    ...     print(f"margin {model.margin_:.2f}, cost {weighted_cost(test.target, calls, 0.2):.0f}")
    margin 1.00, cost 196
    margin 0.55, cost 81
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "estimator": "no_validation",
        **COST_AND_RATE,
        "margin": [StrOptions({"tune"}), Real],
        "mode": [StrOptions({"undersample", "weight"})],
        "scoring": [StrOptions(set(MEASURES))],
        "margins": ["array-like", None],
        "cv": [Integral, "cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _by_row = False

    def __init__(
        self,
        estimator: Any = None,
        cost: float | Costs = 0.5,
        margin: Any = "tune",
        mode: str = "undersample",
        scoring: Any = "cost",
        noise_rate: Any = None,
        *,
        margins: Any = None,
        cv: Any = 5,
        n_jobs: Any = None,
        random_state: Any = None,
        pos_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cost = cost
        self.margin = margin
        self.mode = mode
        self.scoring = scoring
        self.noise_rate = noise_rate
        self.margins = margins
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> Self:
        """Choose the margin, re-sample, and fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.
        y : array-like of shape (n,)
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, for an estimator that takes them. Rows of weight 0 are not drawn.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count in place of
            `cost`; `predict` takes none.

        Returns
        -------
        self
        """
        paid, rates = prices_of(self.cost, prices, X), rate_pair(self.noise_rate)
        cost = cost_share(self.cost) if paid is None else 0.5
        labels, positive, weight = self._prepare(X, y, sample_weight)
        if paid is not None:
            paid = paid.relative(weight)
            cost = share_and_unit(self.cost, paid, weight)[0]
        self.relabeled_ = negative_ratio(cost, 1.0, rates) > 1
        if self.relabeled_:
            cost, rates, positive = 1 - cost, rates[::-1], ~positive
            self._index = 1 - self._index
            paid = None if paid is None else RowCosts(paid.alarm, paid.miss)
        self._rates, self._by_row = rates, paid is not None

        if paid is None:  # one price for all rows
            paid = RowCosts(np.full(len(positive), 1 - cost), np.full(len(positive), cost))
        random = check_random_state(self.random_state)
        rows = _Rows(self._inner(), X, labels, positive, weight, self.mode, paid, rates)
        if self.margin == "tune":
            self._tune(rows, cost, random)
        else:
            self.margin_ = margin_value(self.margin)
        ratio = self._ratio(cost, self.margin_)
        everything = np.arange(len(positive))
        order = rows.order(everything, random)
        self.estimator_ = rows.fit(everything, order, self.margin_)
        if self.mode == "undersample":
            n_drawn = len(rows.negatives(everything))
            ratio = kept_negatives(n_drawn, ratio) / n_drawn
        self.ratio_ = None if self._by_row else ratio
        return self

    def _ratio(self, cost, margin):
        """Return what multiplies the negatives at a margin, or refuse what cannot be drawn."""
        ratio = negative_ratio(cost, margin, self._rates)
        if self.mode == "undersample" and ratio > 1 and not self._by_row:
            msg = (
                f"A margin of {margin:.4g} needs {ratio:.3g} times the negatives there are, and "
                "drawing can only lessen them. Use mode='weight', or a larger margin."
            )
            raise ValueError(msg)
        return ratio

    def _inner(self):
        return LinkClassifier() if self.estimator is None else clone(self.estimator)

    def _tune(self, rows, cost, random):
        """Cross-validate every margin and keep the best: steps 1 to 8 of the algorithm."""
        margins = self._candidates(cost)
        ratios = np.array([self._ratio(cost, margin) for margin in margins])
        n = len(rows.positive)
        splits = check_cv(self.cv, rows.positive.astype(np.int8), classifier=True).split(
            np.empty((n, 0)), rows.positive.astype(np.int8)
        )
        # Draws are made here, in order, so that n_jobs does not change them.
        folds = [(train, test, rows.order(train, random)) for train, test in splits]
        settled = rows.settled()
        tables = Parallel(n_jobs=self.n_jobs)(
            delayed(_count)(settled, fold, margin, self.classes_[self._index])
            for margin in margins
            for fold in folds
        )
        # Rows; then what wrong calls would cost.
        both = np.array(tables).reshape(len(ratios), len(folds), -1, 2, 2).sum(axis=1)
        rates = self._rates
        if self.relabeled_:  # F, and what is reported, are of the user's positive class
            both, rates = both[..., ::-1, ::-1], rates[::-1]
        counts = both[:, 0]
        if self.scoring == "cost":
            paid = ConfusionCounts(both[:, 1], both[:, 1]).denoised(rates)
            scores = -(paid[..., 1, 0] + paid[..., 0, 1]) / counts.sum(axis=(1, 2))
        else:
            scores = measure(ConfusionCounts(counts, counts).denoised(rates), self.scoring)
        if np.isnan(scores).all():
            msg = (
                f"The measure {self.scoring!r} is not defined for any margin: the denoised counts "
                "are impossible. Give a smaller noise rate, or score by accuracy."
            )
            raise ValueError(msg)
        worst = np.where(np.isnan(scores), -np.inf, scores)
        tied = np.flatnonzero(worst >= worst.max() - _TIE * max(1.0, abs(worst.max())))
        self.margin_ = float(margins[min(tied, key=lambda i: abs(np.log(margins[i])))])
        self.cv_results_ = {
            "margin": margins,
            "ratio": ratios,
            "counts": counts,
            "score": scores,
            "rank": rankdata(-worst, method="min").astype(np.int32),
        }

    def _candidates(self, cost):
        """Return the margins given, or the paper's and 1 as far as negatives can be drawn."""
        if self.margins is not None:
            margins = [margin_value(margin) for margin in np.ravel(self.margins)]
        else:
            drawn = self.mode == "undersample"
            margins = [
                margin
                for margin in (*margin_grid(cost), 1.0)
                if not drawn or negative_ratio(cost, margin, self._rates) <= 1
            ]
        if not margins:
            msg = "`margins` must hold at least one candidate; got none."
            raise ValueError(msg)
        return np.array(margins)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class in the original balance; clean, given a rate.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        eta = self._inner_eta(X)
        if self.ratio_ is None:
            return self._columns(eta)
        observed = undo_resampling(eta, self.ratio_)
        return self._columns(clean_eta(observed, self._rates))


class _Rows:
    """The training rows, and how to fit to some of them, re-sampled by what they cost."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        labels: Any,
        positive: Flags,
        weight: Any,
        mode: str,
        prices: RowCosts,
        rates: tuple[float, float],
    ) -> None:
        self.estimator, self.X, self.labels = estimator, X, labels
        self.positive, self.weight, self.mode = positive, weight, mode
        self.prices, self.rates = prices, rates

    def negatives(self, index: Indices) -> Indices:
        """Return those of the rows that are negative and have a weight."""
        return self._weighty(index[~self.positive[index]])

    def _weighty(self, index: Indices) -> Indices:
        return index if self.weight is None else index[self.weight[index] > 0]

    def order(self, index: Indices, random: Any) -> Indices:
        """Return the place of each row in a random order of its class, and that class' size."""
        place = np.full((2, len(self.positive)), -1)
        negatives = random.permutation(self.negatives(index))
        # Drawn apart, so that negatives are the same whether positives are thinned or not.
        positives = self._weighty(index[self.positive[index]])
        positives = np.random.default_rng(negatives).permutation(positives)
        for own in (negatives, positives):
            place[:, own] = np.arange(len(own)), np.full(len(own), len(own))
        return place

    def counts(self, index: Indices, flagged: Flags) -> Array:
        """Count labels against flags, and the same by what a wrong call would cost."""
        weight = np.ones(len(index)) if self.weight is None else self.weight[index]
        price = np.where(flagged, self.prices.alarm[index], self.prices.miss[index])
        labels = self.positive[index]
        tables = [ConfusionCounts.from_labels(labels, flagged, w) for w in (weight, weight * price)]
        return np.stack([table.counts for table in tables])

    def sizes(self, margin: float) -> Array:
        """Return what rows weigh, a positive one at mean prices about 1."""
        scaled = self.prices.scaled(margin)
        size = price_weights(self.positive, scaled, self.rates)
        typical = price_weights(np.ones(len(size), bool), scaled, self.rates)
        return np.asarray(size / np.average(typical, weights=self.weight))

    def fit(self, index: Indices, order: Indices, margin: float) -> Any:
        """Fit to rows that are weighed, or kept, by what they cost at a margin."""
        size = self.sizes(margin)
        if self.mode == "weight":
            return self._fitted(index, size if self.weight is None else size * self.weight)
        rank, n_rows = order[:, index]
        kept = index[(rank >= 0) & rejection_keep(size[index], rank, n_rows)]
        if len(np.unique(self.positive[kept])) < 2:
            msg = (
                f"Keeping {len(kept)} of {len(index)} rows in proportion to what they cost leaves "
                "none of one class. Use mode='weight', fewer folds, or another margin."
            )
            raise ValueError(msg)
        return self._fitted(kept, self.weight)

    def settled(self) -> Self:
        """Return the same rows with the estimator's kernel widths chosen on all of them."""
        same = copy(self)
        params = weight_params(self.estimator, self.weight)
        same.estimator = settle(self.estimator, self.X, self.labels, **params)
        return same

    def _fitted(self, index: Indices, weight: Any) -> Any:
        """Fit to some rows, by the weights of all."""
        model = clone(self.estimator)
        params = weight_params(model, None if weight is None else weight[index])
        return model.fit(take_rows(self.X, index), self.labels[index], **params)


def _count(rows, fold, margin, label):
    """Fit to the training part of a fold and count labels against flags on the other."""
    train, test, order = fold
    model = rows.fit(train, order, margin)
    column = int(np.flatnonzero(model.classes_ == label)[0])
    flagged = model.predict_proba(take_rows(rows.X, test))[:, column] > 0.5
    return rows.counts(test, flagged)


def take_rows(X: Any, index: Any) -> Any:
    """Return some rows of an array, sparse matrix, data frame or list."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "tocsr"):
        return X.tocsr()[index]
    return X[index] if hasattr(X, "shape") else np.asarray(X)[index]
