"""Linear models by Newton steps: links, MUB and S-W0-1."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from flipcost._validation import (
    Interval,
    StrOptions,
    check_is_fitted,
    check_weights,
    fit_context,
    validate_data,
)
from flipcost.core.arrays import Array
from flipcost.core.costs import (
    Costs,
    RowCosts,
    cost_share,
    log_odds,
    prices_of,
    prices_to_decide,
)
from flipcost.core.noise import clean_eta, noisy_threshold, rate_pair
from flipcost.estimators.base import COST_AND_RATE, LinearClassifier, PricedScoreMixin
from flipcost.exceptions import DenoisingWarning
from flipcost.paper.losses import (
    LINK_LOSSES,
    Design,
    above_rows,
    convex_costs,
    even_odd_rows,
    expected_even_coefficients,
    unbiased_coefficients,
    weighted_logistic_eta,
    weighted_logistic_rows,
)


class LinearScoreClassifier(LinearClassifier):
    """Base of classifiers whose coefficients come from Newton steps on the rows."""

    def _prepare(self, X, y, sample_weight):
        """Check the data; return rows, which are positive, and weights or None."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        positive = self._read_labels(y, X.shape[0])
        weight = check_weights(sample_weight, X)
        if weight is not None and not (weight[positive].any() and weight[~positive].any()):
            msg = (
                "Each class must have a row of positive weight to learn from; got one class only. "
                "Check the weights."
            )
            raise ValueError(msg)
        return X, positive, weight

    def _store(self, fit, shift=0.0):
        """Keep a fit, its score lowered by a shift, in scikit-learn's orientation."""
        if not fit.bounded:
            msg = (
                "The classes can be separated, so without a penalty the loss has no minimum: it "
                "falls as coefficients grow without end. They were stopped at a gradient of "
                f"{fit.gradient_norm:.1g}; their probabilities are all near 0 or 1. Give l2 > 0."
            )
            warnings.warn(msg, ConvergenceWarning, 4)
        elif not fit.converged:
            msg = (
                f"Newton steps ended at a gradient of {fit.gradient_norm:.1g}, above the tolerance "
                f"of 1e-8, after {fit.n_iter} steps. Scale the features, or raise l2."
            )
            warnings.warn(msg, ConvergenceWarning, 4)
        self._orient(np.append(fit.coefficients[:-1], fit.coefficients[-1] - shift))
        self.n_iter_ = fit.n_iter
        self.gradient_norm_ = fit.gradient_norm
        return self


class PricedLinearClassifier(PricedScoreMixin, LinearScoreClassifier):
    """Base of linear models of log-odds, which are compared with those of each row's threshold.

    Subclasses set `_shift`, the log-odds of the threshold that is part of the intercept, and
    `_by_row`, whether there was none since prices differ, and say in `_cut` what the threshold of
    prices is on the probability that they model.
    """

    _shift = 0.0
    _by_row = False

    @abstractmethod
    def _cut(self, paid: RowCosts) -> Array:
        """Return the log-odds of each row's threshold on the modelled probability."""

    def _above(self, X: Any, prices: Any) -> Array:
        """Return log-odds of the positive class above those of the threshold."""
        check_is_fitted(self)
        paid = prices_to_decide(self.cost, prices, X, by_row=self._by_row)
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
        """Return the class of each row; one that is at its threshold is not flagged.

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
        return self._classes_of(self._above(X, prices) > 0)

    def _positive_eta(self, scores: Array) -> Array:
        return np.asarray(expit(scores + self._shift))


class LinkClassifier(LinearScoreClassifier):
    r"""Linear classifier with a proper composite loss; probabilities by the inverse link.

    The plainest estimator of probabilities, and the default inside the schemes that need one.
    It takes labels as they are: the probabilities are those of the label as observed.

    Parameters
    ----------
    loss : {"logistic", "squared", "modified_squared", "exponential"}, default="logistic"
        The loss. The log-odds of Gaussian classes with one covariance are linear, so logistic
        loss is exactly right there, exponential loss too; the squared ones are approximations.
    l2 : float, default=1e-4
        Ridge penalty on the mean loss; the bias is free of it. With 0, classes that a hyperplane
        separates leave logistic and exponential loss without a minimum, which a warning then says.
    pos_label : label, default=None
        The positive class, which `eta_raw` speaks of; ``classes_[1]`` when None.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d)
        Weights of the features; a positive score means ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        The bias.
    n_iter_ : int
        Newton steps taken.
    gradient_norm_ : float
        Norm of the gradient at the end, features scaled; at most 1e-8 unless a warning said so.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    See Also
    --------
    flipcost.core.losses : The losses and their links.

    Notes
    -----
    ==================== ======================== =====================================
    loss                 value                    probability of the positive class
    ==================== ======================== =====================================
    logistic             :math:`\log(1+e^{-yf})`  :math:`1/(1+e^{-f})`
    exponential          :math:`e^{-yf}`          :math:`1/(1+e^{-2f})`
    squared              :math:`(1-yf)^2`         :math:`(1+f)/2`, clipped
    modified squared     :math:`\max(0,1-yf)^2`   :math:`(1+f)/2`, clipped
    ==================== ======================== =====================================

    The paper prints the modified squared loss without its square, which is the hinge loss and has
    no link. The bias is free of the penalty, as in scikit-learn and unlike the closed form of
    `UnevenMarginClassifier`: penalised, it would pull probabilities towards one half.

    References
    ----------
    Agarwal (2014), Surrogate regret bounds for bipartite ranking via strongly proper losses,
    JMLR 15, table 1.

    Examples
    --------
    >>> from flipcost import LinkClassifier
    >>> from flipcost.datasets import make_syn2d
    >>> from flipcost.metrics import eta_scores
    >>> data = make_syn2d(1000, random_state=0)
    >>> for loss in ("logistic", "squared"):
    ...     model = LinkClassifier(loss).fit(data.data, data.target)
    ...     eta = model.predict_proba(data.data)[:, 1]
    ...     print(loss, f"{eta_scores(data.eta, eta)['MSE']:.4f}")
    logistic 0.0001
    squared 0.0150
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "loss": [StrOptions(set(LINK_LOSSES))],
        "l2": [Interval(Real, 0, None, closed="left")],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        loss: Any = "logistic",
        l2: float = 1e-4,
        *,
        pos_label: Any = None,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the loss.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.

        Returns
        -------
        self
        """
        X, positive, weight = self._prepare(X, y, sample_weight)
        rows = LINK_LOSSES[self.loss].rows(positive)
        return self._store(Design(X, weight).minimize(rows, self.l2))

    def eta_raw(self, X: Any) -> Array:
        """Return the probability of the positive class before it is clipped to [0, 1].

        The squared losses can leave that range, and the paper's columns for squared loss measure
        it unclipped. With the other losses it is the column of `predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self.decision_function(X) * self._sign
        if self.loss in ("squared", "modified_squared"):
            return (1 + scores) / 2
        return self._positive_eta(scores)

    def _positive_eta(self, scores: Array) -> Array:
        return LINK_LOSSES[self.loss].inverse_link(scores)


# An even coefficient this far below zero is rounding at the edge of the convex region.
_ROUNDING = 1e-12


class UnbiasedLogisticClassifier(PricedLinearClassifier):
    r"""Weighted logistic loss of the clean labels, estimated without bias from noisy ones (MUB).

    Needs the noise rate. The estimate is unbiased whatever the features, but its variance grows
    like :math:`1/(1-\rho_+-\rho_-)^2`, and the loss of a row has no lower bound: tune `l2`.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1), or the prices;
        these may differ by row, as in ``Costs(fn="amount", fp=5)``, and come as `prices` too.
    noise_rate : float, pair of floats, or None, default=None
        Rate in [0, 0.5), or ``(rho_pos, rho_neg)``; None takes the labels as they are.
    l2 : float, default=1e-3
        Ridge penalty on the mean loss, above 0; the bias is free of it.
    pos_label : label, default=None
        The positive class, which `cost` and `noise_rate` speak of; ``classes_[1]`` when None.

    Attributes
    ----------
    convex_ : bool
        Whether the unbiased loss is convex in every row. Where it is not, the remedy of the Notes
        was used, and a warning said so.
    classes_, coef_, intercept_, n_iter_, gradient_norm_, n_features_in_, feature_names_in_
        As in `LinkClassifier`; a positive score means that ``classes_[1]`` costs less.

    Notes
    -----
    Let :math:`\ell_\alpha` weigh logistic loss by :math:`1-\alpha` on positive and :math:`\alpha`
    on negative rows, and :math:`E(t) = \log(2\cosh(t/2))`. The unbiased estimate has the form
    :math:`k_i E(t) + c_i t` with coefficients that depend on the noisy label
    (`flipcost.paper.losses.unbiased_coefficients`). It is convex if and only if

    .. math::

        \frac{\rho_-}{1-\rho_++\rho_-} \le \alpha \le \frac{1-\rho_-}{1-\rho_-+\rho_+},

    for symmetric noise :math:`\rho \le \alpha \le 1-\rho`; the result in the literature that
    unbiased logistic loss is convex is for even costs. Outside, one label has :math:`k_i < 0`, and
    steps would not end in a minimum. There each :math:`k_i` is replaced by its conditional mean
    :math:`(1-\alpha)\hat\eta(x_i) + \alpha(1-\hat\eta(x_i)) > 0`, with :math:`\hat\eta` from a
    logistic fit to the noisy labels, clipped, and scaled so that the mean over rows is kept. The
    linear part, which carries the labels, stays exact. The loss is then convex, and unbiased as
    far as that fit is. If the rate leaves no positive or no negative row (denoised), there is no
    minimum and an error says so.

    With prices by row, what a miss on row i costs, :math:`a_i`, takes the place of
    :math:`1-\alpha`, and what a false alarm costs, :math:`b_i`, that of :math:`\alpha`, in units of
    the mean of :math:`a_i + b_i`. Their unbiased estimates have the same form. Scores are taken
    above the log-odds of each row's own threshold, :math:`t_i = w^\top z_i - \log(b_i / a_i)`, so
    that :math:`w^\top z` is the log-odds of the clean label whatever the prices, and `predict`
    compares it with the threshold of the row. The same price on all rows is one price. The loss is
    convex in a row if its own :math:`b_i / (a_i + b_i)` is within the limits above; if any row is
    beyond, the remedy is used for all.

    `predict_proba` is of the clean label, by the inverse link of the weighted loss.

    References
    ----------
    Natarajan, Dhillon, Ravikumar and Tewari (2018), Cost-sensitive learning with noisy labels,
    JMLR 18(155), Lemma 7 and equation 3.

    Examples
    --------
    >>> from flipcost import UnbiasedLogisticClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.metrics import weighted_cost
    >>> from flipcost.noise import flip_labels
    >>> train, test = (make_syn3d(4000, random_state=seed) for seed in (0, 1))
    >>> noisy = flip_labels(train.target, 0.2, random_state=2)
    >>> for rate in (None, 0.2):
    ...     model = UnbiasedLogisticClassifier(cost=0.3, noise_rate=rate).fit(train.data, noisy)
    ...     print(round(weighted_cost(test.target, model.predict(test.data), 0.3)))
    293
    173
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        **COST_AND_RATE,
        "l2": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        cost: float | Costs = 0.5,
        noise_rate: Any = None,
        l2: float = 1e-3,
        *,
        pos_label: Any = None,
    ) -> None:
        self.cost = cost
        self.noise_rate = noise_rate
        self.l2 = l2
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> Self:
        """Minimise the unbiased loss.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count in place of
            `cost`.

        Returns
        -------
        self
        """
        paid = prices_of(self.cost, prices, X)
        one_cost = cost_share(self.cost) if paid is None else None
        rate_pair(self.noise_rate)
        X, positive, weight = self._prepare(X, y, sample_weight)
        design = Design(X, weight)
        _check_possible(design.omega @ positive, self.noise_rate)
        cost: Any = one_cost if paid is None else paid.relative(weight)

        even, odd = unbiased_coefficients(positive, cost, self.noise_rate)
        self.convex_ = bool(even.min() >= -_ROUNDING)
        if self.convex_:
            even = np.maximum(even, 0.0)
        else:
            message = _remedy_message(cost, self.noise_rate, int((even < -_ROUNDING).sum()))
            warnings.warn(message, DenoisingWarning, 3)
            plain = design.minimize(LINK_LOSSES["logistic"].rows(positive), self.l2)
            noisy = weighted_logistic_eta(design.scores(plain.coefficients), 0.5)
            mean = expected_even_coefficients(noisy, cost, self.noise_rate)
            even = mean * ((design.omega @ even) / (design.omega @ mean))
        rows = even_odd_rows(even, odd)
        self._by_row, self._shift = paid is not None, 0.0
        if one_cost is not None:
            self._shift = float(log_odds(one_cost))
        elif paid is not None:
            rows = above_rows(rows, self._cut(paid))
        return self._store(design.minimize(rows, self.l2))

    def _cut(self, paid: RowCosts) -> Array:
        return log_odds(paid.threshold)


class WeightedLogisticClassifier(PricedLinearClassifier):
    r"""Logistic loss on noisy labels, weighed so that its threshold is the clean one's (S-W0-1).

    Always convex, and with a small variance; it relies on the logistic model where the unbiased
    loss does not. The threshold on the noisy probability that answers to :math:`\delta` on the
    clean one is :math:`a = \rho_- + (1-\rho_+-\rho_-)\,\delta`; positive rows are weighed by
    :math:`1-a` and negative ones by :math:`a`.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, or the prices; used by
        ``target="cost"``. Prices may differ by row, as in ``Costs(fn="amount", fp=5)``, and come as
        `prices` too.
    noise_rate : float, pair of floats, or None, default=None
        Rate in [0, 0.5), or ``(rho_pos, rho_neg)``; None takes the labels as they are.
    target : {"cost", "accuracy", "am"}, default="cost"
        What to be good at: the cost (:math:`\delta` is the cost), accuracy (one half), or the mean
        of the two classes' recalls (the share of the positive class: then :math:`a` is the share
        of positive *noisy* labels, and no rate is needed).
    l2 : float, default=1e-4
        Ridge penalty on the mean loss; the bias is free of it.
    pos_label : label, default=None
        The positive class, which `cost` and `noise_rate` speak of; ``classes_[1]`` when None.

    Attributes
    ----------
    threshold_ : float or None
        The threshold :math:`a` on the noisy probability; None where prices make it differ by row.
    classes_, coef_, intercept_, n_iter_, gradient_norm_, n_features_in_, feature_names_in_
        As in `LinkClassifier`.

    Notes
    -----
    For the 0-1 loss, the weighted noisy risk is the clean one times :math:`1-\rho_+-\rho_-` plus a
    constant. Logistic loss inherits that where the model fits. `predict_proba` inverts the link
    and the noise: it is of the clean label when a rate is given, of the noisy one otherwise.

    With prices by row, :math:`a_i` for a miss and :math:`b_i` for a false alarm, row i has a
    threshold of its own, :math:`\tau_i = \rho_- + (1-\rho_+-\rho_-)\,b_i/(a_i+b_i)`. It weighs
    :math:`(a_i+b_i)(1-\tau_i)` if its label is positive and :math:`(a_i+b_i)\,\tau_i` if not, in
    units of the mean of :math:`a_i+b_i`, and its score is taken above the log-odds of
    :math:`\tau_i`: :math:`w^\top z` is the log-odds of the noisy label whatever the prices, fitted
    best where much is at stake, and `predict` compares it with the threshold of the row. The same
    price on all rows is one price.

    References
    ----------
    Natarajan, Dhillon, Ravikumar and Tewari (2018), Cost-sensitive learning with noisy labels,
    JMLR 18(155), Theorem 16, Corollary 17 and equation 8.

    Examples
    --------
    >>> from flipcost import WeightedLogisticClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.metrics import weighted_cost
    >>> from flipcost.noise import flip_labels
    >>> train, test = (make_syn3d(4000, random_state=seed) for seed in (0, 1))
    >>> noisy = flip_labels(train.target, 0.3, random_state=2)
    >>> for rate in (None, 0.3):
    ...     model = WeightedLogisticClassifier(cost=0.2, noise_rate=rate).fit(train.data, noisy)
    ...     print(round(weighted_cost(test.target, model.predict(test.data), 0.2)))
    389
    185
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        **COST_AND_RATE,
        "target": [StrOptions({"cost", "accuracy", "am"})],
        "l2": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        cost: float | Costs = 0.5,
        noise_rate: Any = None,
        target: str = "cost",
        l2: float = 1e-4,
        *,
        pos_label: Any = None,
    ) -> None:
        self.cost = cost
        self.noise_rate = noise_rate
        self.target = target
        self.l2 = l2
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> Self:
        """Minimise the weighted loss.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count in place of
            `cost`.

        Returns
        -------
        self
        """
        paid = prices_of(self.cost, prices, X)
        if paid is not None and self.target != "cost":
            msg = (
                f"`target={self.target!r}` decides at one threshold, whatever mistakes cost: leave "
                "costs by row out, or give target='cost'."
            )
            raise ValueError(msg)
        clean = cost_share(self.cost) if paid is None and self.target == "cost" else 0.5
        self._rates = rate_pair(self.noise_rate)
        X, positive, weight = self._prepare(X, y, sample_weight)
        design = Design(X, weight)
        self._by_row, self._shift, self.threshold_ = paid is not None, 0.0, None
        if paid is not None:
            cut = noisy_threshold(paid.threshold, self._rates)
            own = paid.relative(weight)
            rows = weighted_logistic_rows(positive, cut, own.miss + own.alarm)
            return self._store(design.minimize(above_rows(rows, log_odds(cut)), self.l2))
        if self.target == "am":
            self.threshold_ = float(design.omega @ positive)
        else:
            self.threshold_ = float(noisy_threshold(clean, self._rates))
        self._shift = float(log_odds(self.threshold_))
        rows = weighted_logistic_rows(positive, self.threshold_)
        return self._store(design.minimize(rows, self.l2))

    def _cut(self, paid: RowCosts) -> Array:
        # Where a call always pays, or never, no noisy probability matters.
        sure = (paid.threshold <= 0) | (paid.threshold >= 1)
        noisy = log_odds(noisy_threshold(paid.threshold, self._rates))
        return np.where(sure, log_odds(paid.threshold), noisy)

    def _positive_eta(self, scores: Array) -> Array:
        return clean_eta(super()._positive_eta(scores), self._rates)


def _check_possible(noisy_share, noise_rate):
    """Raise when the rate leaves no clean row of a class."""
    share = float(clean_eta(noisy_share, noise_rate, clip=False))
    if not 0 < share < 1:
        msg = (
            f"`noise_rate` must be possible for the labels; got {noise_rate}, under which "
            f"{noisy_share:.3g} of noisy positives would come from {share:.3g} of clean ones. "
            "Give a smaller rate."
        )
        raise ValueError(msg)


def _remedy_message(cost, noise_rate, n_rows):
    low, high = convex_costs(noise_rate)
    got = f"those of {n_rows} rows are beyond" if isinstance(cost, RowCosts) else f"got {cost:.3g}"
    return (
        f"At noise_rate={noise_rate} the unbiased loss is convex for costs in "
        f"[{low:.3g}, {high:.3g}] only; {got}. Its curvatures were replaced by "
        "their expectation given the features (see the Notes of UnbiasedLogisticClassifier). "
        "WeightedLogisticClassifier needs no such remedy."
    )
