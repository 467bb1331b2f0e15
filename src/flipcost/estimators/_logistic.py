"""Logistic classifiers for a known noise rate: the unbiased loss and the weighted one."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np

from flipcost._validation import Interval, StrOptions, fit_context
from flipcost.core.arrays import Array
from flipcost.core.costs import Costs, cost_share
from flipcost.core.newton import Design
from flipcost.core.noise import clean_eta, clean_marginal, noisy_threshold, rate_pair
from flipcost.core.prices import Prices
from flipcost.core.row_losses import (
    above_rows,
    convex_costs,
    even_odd_rows,
    expected_even_coefficients,
    link_rows,
    unbiased_coefficients,
    weighted_logistic_eta,
    weighted_logistic_rows,
)
from flipcost.core.row_prices import log_odds, log_odds_of, prices_of
from flipcost.estimators._binary import COST_AND_RATE
from flipcost.estimators._priced import PricedLinearClassifier
from flipcost.exceptions import DenoisingWarning

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
    (`flipcost.core.row_losses.unbiased_coefficients`). It is convex if and only if

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
            plain = design.minimize(link_rows("logistic", positive), self.l2)
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

    def _cut(self, paid: Prices) -> Array:
        return log_odds_of(paid)


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
                "prices by row out, or give target='cost'."
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

    def _cut(self, paid: Prices) -> Array:
        # Where a call always pays, or never, no noisy probability matters.
        sure = (paid.threshold <= 0) | (paid.threshold >= 1)
        noisy = log_odds(noisy_threshold(paid.threshold, self._rates))
        return np.where(sure, log_odds_of(paid), noisy)

    def _positive_eta(self, scores: Array) -> Array:
        return clean_eta(super()._positive_eta(scores), self._rates)


def _check_possible(noisy_share, noise_rate):
    """Raise when the rate leaves no clean row of a class."""
    share = float(clean_marginal(noisy_share, noise_rate, clip=False))
    if not 0 < share < 1:
        msg = (
            f"`noise_rate` must be possible for the labels; got {noise_rate}, under which "
            f"{noisy_share:.3g} of noisy positives would come from {share:.3g} of clean ones. "
            "Give a smaller rate."
        )
        raise ValueError(msg)


def _remedy_message(cost, noise_rate, n_rows):
    low, high = convex_costs(noise_rate)
    got = f"those of {n_rows} rows are beyond" if isinstance(cost, Prices) else f"got {cost:.3g}"
    return (
        f"At noise_rate={noise_rate} the unbiased loss is convex for costs in "
        f"[{low:.3g}, {high:.3g}] only; {got}. Its curvatures were replaced by "
        "their expectation given the features (see the Notes of UnbiasedLogisticClassifier). "
        "WeightedLogisticClassifier needs no such remedy."
    )
