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
from flipcost.core.row_losses import (
    convex_costs,
    even_odd_rows,
    expected_even_coefficients,
    link_rows,
    unbiased_coefficients,
    weighted_logistic_eta,
    weighted_logistic_rows,
)
from flipcost.estimators._binary import COST_AND_RATE
from flipcost.estimators._linear_score import LinearScoreClassifier
from flipcost.exceptions import DenoisingWarning

# An even coefficient this far below zero is rounding at the edge of the convex region.
_ROUNDING = 1e-12


class UnbiasedLogisticClassifier(LinearScoreClassifier):
    r"""Weighted logistic loss of the clean labels, estimated without bias from noisy ones (MUB).

    Needs the noise rate. The estimate is unbiased whatever the features, but its variance grows
    like :math:`1/(1-\rho_+-\rho_-)^2`, and the loss of a row has no lower bound: tune `l2`.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1), or the prices.
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the unbiased loss.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.

        Returns
        -------
        self
        """
        cost = cost_share(self.cost)
        limits = convex_costs(self.noise_rate)
        X, positive, weight = self._prepare(X, y, sample_weight)
        design = Design(X, weight)
        _check_possible(design.omega @ positive, self.noise_rate)

        even, odd = unbiased_coefficients(positive, cost, self.noise_rate)
        self.convex_ = bool(even.min() >= -_ROUNDING)
        if self.convex_:
            even = np.maximum(even, 0.0)
        else:
            warnings.warn(_remedy_message(cost, self.noise_rate, limits), DenoisingWarning, 3)
            plain = design.minimize(link_rows("logistic", positive), self.l2)
            noisy = weighted_logistic_eta(design.scores(plain.coefficients), 0.5)
            mean = expected_even_coefficients(noisy, cost, self.noise_rate)
            even = mean * ((design.omega @ even) / (design.omega @ mean))
        self._cost = cost
        return self._store(design.minimize(even_odd_rows(even, odd), self.l2))

    def _positive_eta(self, scores: Array) -> Array:
        return weighted_logistic_eta(scores, self._cost)


class WeightedLogisticClassifier(LinearScoreClassifier):
    r"""Logistic loss on noisy labels, weighed so that its threshold is the clean one's (S-W0-1).

    Always convex, and with a small variance; it relies on the logistic model where the unbiased
    loss does not. The threshold on the noisy probability that answers to :math:`\delta` on the
    clean one is :math:`a = \rho_- + (1-\rho_+-\rho_-)\,\delta`; positive rows are weighed by
    :math:`1-a` and negative ones by :math:`a`.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears; used by
        ``target="cost"``.
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
    threshold_ : float
        The threshold :math:`a` on the noisy probability.
    classes_, coef_, intercept_, n_iter_, gradient_norm_, n_features_in_, feature_names_in_
        As in `LinkClassifier`.

    Notes
    -----
    For the 0-1 loss, the weighted noisy risk is the clean one times :math:`1-\rho_+-\rho_-` plus a
    constant. Logistic loss inherits that where the model fits. `predict_proba` inverts the link
    and the noise: it is of the clean label when a rate is given, of the noisy one otherwise.

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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the weighted loss.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.

        Returns
        -------
        self
        """
        cost, rates = cost_share(self.cost), rate_pair(self.noise_rate)
        X, positive, weight = self._prepare(X, y, sample_weight)
        design = Design(X, weight)
        if self.target == "am":
            self.threshold_ = float(design.omega @ positive)
        else:
            clean = cost if self.target == "cost" else 0.5
            self.threshold_ = float(noisy_threshold(clean, rates))
        self._rates = rates
        rows = weighted_logistic_rows(positive, self.threshold_)
        return self._store(design.minimize(rows, self.l2))

    def _positive_eta(self, scores: Array) -> Array:
        return clean_eta(weighted_logistic_eta(scores, self.threshold_), self._rates)


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


def _remedy_message(cost, noise_rate, limits):
    return (
        f"At noise_rate={noise_rate} the unbiased loss is convex for costs in "
        f"[{limits[0]:.3g}, {limits[1]:.3g}] only; got {cost:.3g}. Its curvatures were replaced by "
        "their expectation given the features (see the Notes of UnbiasedLogisticClassifier). "
        "WeightedLogisticClassifier needs no such remedy."
    )
