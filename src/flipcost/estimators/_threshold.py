"""Any probabilistic classifier, thresholded where the noisy probability says."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from flipcost._validation import StrOptions, check_is_fitted, fit_context
from flipcost.core.arrays import Array
from flipcost.core.costs import Costs, cost_share, prices_of, prices_to_decide
from flipcost.core.noise import clean_eta, noisy_threshold, rate_pair
from flipcost.estimators.base import (
    COST_AND_RATE,
    PricedScoreMixin,
    WrappingClassifier,
    weight_params,
)


class NoiseAwareThresholdClassifier(PricedScoreMixin, WrappingClassifier):
    r"""Make any probabilistic classifier fitted to noisy labels honour a cost on clean ones.

    A classifier fitted to noisy labels estimates the noisy probability
    :math:`\tilde\eta = \rho_- + (1-\rho_+-\rho_-)\,\eta`. A row is best flagged where the
    clean :math:`\eta` exceeds the cost :math:`\alpha`, which is where :math:`\tilde\eta` exceeds
    :math:`\rho_- + (1-\rho_+-\rho_-)\,\alpha`. At a cost of 0.2 and a rate of 0.4 that is 0.44,
    far from 0.2.

    Parameters
    ----------
    estimator : classifier with `predict_proba`, default=None
        What to fit to the noisy labels: a pipeline, gradient boosting, anything that estimates
        probabilities well; scikit-learn's `LogisticRegression` when None.
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1), or the prices;
        these may differ by row, as in ``Costs(fn="amount", fp=5)``, and come as `prices` too.
    noise_rate : float, pair of floats, or None, default=None
        Rate in [0, 0.5), or ``(rho_pos, rho_neg)``; None takes the labels as they are.
    calibrate : {"isotonic", "sigmoid"} or None, default=None
        Whether to calibrate the noisy probabilities on rows that the estimator has not seen
        (`CalibratedClassifierCV`). Worth its price when the estimator's probabilities are too
        sure, as those of boosted or grown-out trees on noisy labels are: the decision hangs on the
        probability near the threshold, and nothing else.
    cv : int, splitter or iterable, default=5
        Folds of the calibration.
    pos_label : label, default=None
        The positive class, which `cost` and `noise_rate` speak of; ``classes_[1]`` when None.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator, or the calibrated one.
    threshold_ : float or None
        Threshold on the noisy probability of the positive class; None where `cost` makes it differ
        by row.
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    n_features_in_, feature_names_in_
        Those of the estimator, if it has them.

    Notes
    -----
    `predict_proba` is of the clean label: the noise is inverted, and what noisy estimates fall
    outside ``[rho_neg, 1 - rho_pos]`` is clipped. `decision_function` is the noisy probability
    less the threshold. Weights reach the estimator, or the last step of a pipeline; with
    scikit-learn's metadata routing enabled, whatever the estimator requests is routed to it.

    References
    ----------
    Menon, van Rooyen, Ong and Williamson (2015), Learning from corrupted binary labels via
    class-probability estimation, ICML, Proposition 1 and section 5.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from flipcost import NoiseAwareThresholdClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.metrics import weighted_cost
    >>> from flipcost.noise import flip_labels
    >>> train, test = (make_syn3d(2000, random_state=seed) for seed in (0, 1))
    >>> noisy = flip_labels(train.target, 0.3, random_state=2)
    >>> trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    >>> for rate in (None, 0.3):
    ...     model = NoiseAwareThresholdClassifier(trees, cost=0.2, noise_rate=rate)
    ...     calls = model.fit(train.data, noisy).predict(test.data)
    ...     print(f"{weighted_cost(test.target, calls, 0.2):.0f}")
    199
    115
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "estimator": "no_validation",
        **COST_AND_RATE,
        "calibrate": [StrOptions({"isotonic", "sigmoid"}), None],
        "cv": [Integral, "cv_object"],
    }
    # Weights are the estimator's to ask for; prices are ours.
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any = None,
        cost: float | Costs = 0.5,
        noise_rate: Any = None,
        *,
        calibrate: Any = None,
        cv: int = 5,
        pos_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cost = cost
        self.noise_rate = noise_rate
        self.calibrate = calibrate
        self.cv = cv
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None, **params: Any
    ) -> Self:
        """Fit the estimator to the noisy labels.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.
        y : array-like of shape (n,)
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, for an estimator that takes them.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost, in place of `cost`. They do not change the fit, but
            decisions then need the prices of the rows that are decided on.
        **params : dict
            Passed on to the fit of the estimator.

        Returns
        -------
        self
        """
        self._rates, self.threshold_ = rate_pair(self.noise_rate), None
        if prices_of(self.cost, prices, X) is None:
            self.threshold_ = float(noisy_threshold(cost_share(self.cost), self._rates))
        labels, _, weight = self._prepare(X, y, sample_weight)

        inner = self._inner()
        if get_config()["enable_metadata_routing"]:
            if weight is not None:
                params["sample_weight"] = weight
            params = process_routing(self, "fit", **params).estimator.fit
        else:
            params.update(weight_params(inner, weight))
        self.estimator_ = inner.fit(X, labels, **params)
        return self

    def _inner(self):
        inner = self.estimator
        # Newton steps reach the minimum whatever the units of the features are.
        inner = LogisticRegression(solver="newton-cholesky") if inner is None else clone(inner)
        if self.calibrate is None:
            return inner
        return CalibratedClassifierCV(inner, method=self.calibrate, cv=self.cv)

    def _cuts(self, X: Any, prices: Any) -> Any:
        """Return the threshold on the noisy probability, or that of each row."""
        check_is_fitted(self)
        paid = prices_to_decide(self.cost, prices, X, by_row=self.threshold_ is None)
        if paid is None:
            return self.threshold_
        never = np.where(paid.threshold < 1, 0.0, np.inf)  # no probability is enough
        return noisy_threshold(paid.threshold, self._rates) + never

    def decision_function(self, X: Any, prices: Any = None) -> Array:
        """Return the noisy probability less its threshold, positive for ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            As in `predict`.

        Returns
        -------
        ndarray of shape (n,)
        """
        cuts = self._cuts(X, prices)
        return self._sign * (self._inner_eta(X) - cuts)

    def predict(self, X: Any, prices: Any = None) -> NDArray[Any]:
        """Return the class of each row; one that is at the threshold is labelled negative.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each of these rows cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count
            in place of `cost`.

        Returns
        -------
        ndarray of shape (n,)
        """
        cuts = self._cuts(X, prices)
        return self._classes_of(self._inner_eta(X) > cuts)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each clean label.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, in any form that the estimator takes.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        return self._columns(clean_eta(self._inner_eta(X), self._rates))

    def get_metadata_routing(self) -> Any:
        """Return what of the metadata goes to the estimator.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._inner(), method_mapping=mapping)
