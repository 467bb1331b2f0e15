"""What a fit of `FlipCostClassifier` keeps, and what it answers from that."""

from __future__ import annotations

import warnings
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin

from flipcost._shadow import in_shadow
from flipcost._validation import check_is_fitted, positive_index, validate_data
from flipcost.core.costs import check_known, log_odds_of, prices_of
from flipcost.core.decision import CONSTANTS, bayes_calls
from flipcost.estimators.flipcost.given import GivenScores
from flipcost.estimators.flipcost.predictor import PooledRule, clean_probability
from flipcost.estimators.flipcost.summary import summarize
from flipcost.estimators.priced import PricedScoreMixin
from flipcost.exceptions import DenoisingWarning, FlipCostError
from flipcost.tables.encoder import is_mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.costs import RowCosts
    from flipcost.estimators.flipcost.result import FitResult

    Array = NDArray[np.float64]

# Probabilities are cut here before they become log-odds, so that none is infinite.
_SUREST = 1e-12


class FittedFlipCost(PricedScoreMixin, ClassifierMixin, BaseEstimator):
    """Base of `FlipCostClassifier`: the fitted attributes, and probabilities, classes and words.

    Subclasses have the parameters `cost`, `estimator`, `features` and `pos_label`, and give what a
    fit found to `_store`; their docstring names the attributes.

    Examples
    --------
    >>> from flipcost import FlipCostClassifier
    >>> issubclass(FlipCostClassifier, FittedFlipCost)
    True
    """

    cost: Any
    estimator: Any
    features: Any
    pos_label: Any

    def _store(
        self, result: FitResult, classes: NDArray[Any], scorer: Any, transformer: Any
    ) -> None:
        """Keep what a fit found, and nothing of a former one."""
        # The attributes that not every fit gives.
        for name in ("regret_", "sample_", "groups_", "folds_"):
            self.__dict__.pop(name, None)
        self.warnings_ = [] if result.doubt is None else [result.doubt]
        for text in self.warnings_:
            warnings.warn(text, DenoisingWarning, stacklevel=4)
        self._result = result
        self.classes_ = classes
        self.scorer_, self.transformer_ = scorer, transformer
        self.scorer_weights_ = result.scorer_weights
        self.rate_posterior_ = result.posterior
        self.noise_rate_source_ = result.source
        rho_pos, rho_neg = result.posterior.mean
        self.noise_rate_ = float(rho_pos), float(rho_neg)
        self.noise_models_ = dict(result.posterior.models or {})
        self.noise_bounds_ = result.bounds
        self.wrong_share_ = result.wrong_share
        self.wrong_share_if_random_ = result.wrong_share_if_random
        self.wrong_share_bound_ = result.wrong_share_bound
        self.break_even_ = result.break_even
        self.noise_by_score_ = result.noise_by_score
        self.state_ = result.state
        self.n_effective_ = float(result.n_effective or result.n_rows)
        self.noise_rate_interval_ = result.posterior.interval(result.options.level)
        if result.regret is not None:
            self.regret_ = result.regret
        self.chosen_ = result.chosen
        self.rule_cost_ = result.costs["rule"]
        self.constant_costs_ = {name: result.costs[name] for name in CONSTANTS}
        chosen = result.costs[result.chosen]
        self.cost_estimate_ = chosen.value
        self.cost_interval_ = (chosen.low, chosen.high)
        self.oof_probability_ = result.probability
        self.value_of_rate_ = result.value_of_rate
        self.cost_share_, self.cost_unit_ = result.options.cost, result.options.unit

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Check X as far as what scores it does not."""
        if self.estimator is not None or (isinstance(self.features, str) and is_mixed(X)):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        plain = not isinstance(self.features, str)
        return validate_data(
            self,
            X,
            dtype=np.float64,
            accept_sparse=False if plain else "csr",
            # Rows that are scored are read once; what is not finite is found then.
            ensure_all_finite=True if plain else "allow-nan" if reset else False,
            reset=reset,
        )

    def _prices(self, X: Any, prices: Any) -> RowCosts | None:
        """Return the prices of new rows, or None where they are the same for all."""
        check_is_fitted(self)
        found = prices_of(self.cost, prices, X, fitted=True)
        check_known(found, by_row=self._result.options.by_row)
        return found

    def _positive_index(self) -> int:
        return positive_index(self.classes_, self.pos_label)

    def _positive_probability(self, X: Any) -> Array:
        check_is_fitted(self)
        if isinstance(self.scorer_, GivenScores):
            X = self.scorer_.read(X)
        X = self._validated(X, reset=False)
        if self.transformer_ is not None:
            X = np.asarray(self.transformer_.transform(X), dtype=float)
        return clean_probability(self.scorer_, self._result.curves, X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each *clean* label.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        return self._of_both(self._positive_probability(X))

    def probability_of_cells(self, cells: Array) -> Array:
        """Return the same of rows that the encoder of the scores has made cells of."""
        return self._of_both(clean_probability(self.scorer_, self._result.curves, cells))

    def _of_both(self, eta: Array) -> Array:
        both = np.empty((len(eta), 2))
        both[:, self._positive_index()] = eta
        np.subtract(1.0, eta, out=both[:, 1 - self._positive_index()])
        return both

    def predict_proba_scores(self, scores: Any) -> Array:
        """Return the probability of each *clean* label, after `fit_scores`.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, m)
            Scores of new rows, as in `fit_scores`.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        return self.predict_proba(self._given(scores))

    def predict_scores(self, scores: Any, prices: Any = None) -> NDArray[Any]:
        """Return the class of each row that costs least, after `fit_scores`.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, m)
            Scores of new rows, as in `fit_scores`.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            As in `predict`.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.predict(self._given(scores), prices)

    def _given(self, scores: Any) -> Any:
        check_is_fitted(self)
        if isinstance(self.scorer_, GivenScores):
            return scores
        msg = "This classifier was fitted on columns; give those to `predict` or `predict_proba`."
        raise FlipCostError(msg)

    def decision_function(self, X: Any, prices: Any = None) -> Array:
        """Return log-odds of the positive class above those of the cost; ``classes_[1]`` above 0.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            As in `predict`.

        Returns
        -------
        ndarray of shape (n,)
        """
        paid = self._prices(X, prices)
        eta = self._positive_probability(X)
        cut = logit(self._result.options.cost) if paid is None else log_odds_of(paid)
        scores = logit(np.clip(eta, _SUREST, 1 - _SUREST)) - cut
        return np.asarray(scores if self._positive_index() == 1 else -scores)

    def predict(self, X: Any, prices: Any = None) -> NDArray[Any]:
        """Return the class of each row that costs least, or the constant that was chosen.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each of these rows cost, as in `fit`; needed if `fit` was given some,
            unless `cost` says how to make them of the columns of X. Each row's probability is
            compared with a threshold of its own.

        Returns
        -------
        ndarray of shape (n,)
        """
        paid = self._prices(X, prices)
        probability = self._positive_probability(X)
        cost = self._result.options.cost if paid is None else paid
        called = bayes_calls(probability, cost, self.chosen_)
        return self.classes_[np.where(called, self._positive_index(), 1 - self._positive_index())]

    def pooled_rule(self) -> PooledRule:
        """Return what gives the probability of a row, collapsed: few numbers that can be exported.

        Returns
        -------
        PooledRule
            Piecewise-linear scores, boosting's share in them, and a table for each.
        """
        check_is_fitted(self)
        if isinstance(self.scorer_, GivenScores):
            msg = "A classifier of given scores has no columns to write; save your own model."
            raise TypeError(msg)
        if self.estimator is not None:
            msg = (
                f"The scores of `estimator={type(self.estimator).__name__}` cannot be collapsed; "
                "leave `estimator` out for pooled scores."
            )
            raise TypeError(msg)
        options = self._result.options
        rule = PooledRule.of(self.scorer_, self._result.curves)
        return replace(rule, threshold=None if options.by_row else options.cost)

    def summary(self) -> str:
        """Return one screen of text: what was assumed, found, chosen, and what would help most.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        positive = self.classes_.tolist()[self._positive_index()]
        sample = getattr(self, "sample_", None)
        n_rows = None if sample is None else sample.n_rows
        return summarize(self._result, self.n_features_in_, positive, n_rows)

    def _repr_html_inner(self) -> str:
        """Return the summary, isolated from the notebook, above scikit-learn's diagram."""
        diagram = super()._repr_html_inner()
        if not hasattr(self, "_result"):
            return diagram
        summary = self.summary()
        return in_shadow(f"<pre>{escape(summary)}</pre>", summary) + diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] = self._repr_html_inner()
        return shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        own = self.estimator is None and isinstance(self.features, str)
        tags.input_tags.allow_nan = tags.input_tags.sparse = own
        return tags
