"""The classifier that needs no noise rate."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.special import logit, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from flipcost._validation import (
    HasMethods,
    StrOptions,
    check_is_fitted,
    check_weights,
    encode_labels,
    fit_context,
    positive_index,
    validate_data,
)
from flipcost.core.calibration import TABLE, ScoreBins, calibrate, log_sum
from flipcost.core.costs import Costs, cost_share
from flipcost.core.decision import CONSTANTS, bayes_calls, count_calls, decide, decide_minimax
from flipcost.core.folds import usual_folds
from flipcost.core.information import value_of_knowing_rate
from flipcost.core.noise import rate_pair
from flipcost.core.quantiles import weighted_quantile
from flipcost.core.rate_posterior import RatePosterior, integrate_rates
from flipcost.core.rates import NoiseRate
from flipcost.estimators._flipcost_summary import summarise
from flipcost.estimators._flipcost_table import fit_from_table
from flipcost.estimators._folds import fold_numbers, generator
from flipcost.estimators._scorers import (
    EstimatorScores,
    MomentScores,
)
from flipcost.estimators._tables import dask_table, is_dask

_METHODS = {"integrate", "minimax", "likelihood", "range"}
# Rows that the value of knowing the rate is averaged over.
_VALUE_ROWS = 1_000


class FlipCostClassifier(ClassifierMixin, BaseEstimator):
    r"""Cost-sensitive classifier from noisy labels whose noise rate nobody knows.

    The one to reach for. It learns scores whose ordering label noise does not disturb, calibrates
    them to the probability of the *clean* label with the unknown noise rate integrated out, and
    calls a row positive where that probability exceeds the cost. It says how noisy the labels
    seem, what its mistakes will cost on clean labels, and when no rule beats a constant answer.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1); or the prices,
        as ``Costs(fn=4, fp=1)``.
    noise_rate : {"integrate", "minimax", "likelihood", "range"}, float, pair or NoiseRate, \
            default="integrate"
        What is known about the noise. "integrate" knows nothing and averages over all rates by
        their posterior. "minimax" takes the rule, or constant, whose denoised cost is never far
        from the best over the rates that are plausible. "likelihood" and "range" plug in one
        estimated rate. A number in [0, 0.5) or a pair ``(rho_pos, rho_neg)`` is taken as true; a
        symmetric `NoiseRate` with an interval, as a prior.
    noise_model : {"symmetric", "class_conditional", "auto"}, default="symmetric"
        One rate for both classes, one for each, or both models weighted by how well they explain
        the labels. Two rates are harder to tell from the classes themselves: prefer "symmetric"
        unless you know better or `summary` says that the data speak against it.
    estimator : classifier, default=None
        Any classifier with `decision_function` or `predict_proba` to score rows, fitted on noisy
        labels, in place of the closed form. Its scores are calibrated out of fold.
    features : {"auto", "linear"} or transformer, default="auto"
        "auto" pools linear scores with scores that bend at quantiles of each feature, weighted by
        their evidence, while that keeps within 100 columns; "linear" leaves the bends out. A
        transformer (Nystroem, splines) is fitted on all rows and feeds linear scores.
    l2s : sequence of floats, default=(0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
        Penalties of the pooled closed-form scores, on standardised features.
    cv : int, splitter or iterable, default=None
        Folds for the out-of-fold scores, whose test sets must partition the rows; 10 random
        stratified folds below 5,000 rows and 5 above when None.
    level : float, default=0.95
        Level of all intervals.
    pos_label : label, default=None
        The positive class, which `cost` and the rates speak of; ``classes_[1]`` when None.
    random_state : int, RandomState or None, default=None
        Seed of the assignment of rows to folds.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    noise_rate_ : float or pair of floats
        Posterior mean of the rate, or of ``(rho_pos, rho_neg)``.
    noise_rate_interval_ : pair of floats, or pair of such pairs
        Its interval at `level`.
    noise_rate_source_ : str
        Where the rate came from.
    rate_posterior_ : RatePosterior
        Grid of rates and their posterior weights.
    regret_ : Regret
        Costs and regrets over rates, for ``noise_rate="minimax"`` only.
    cost_estimate_ : float
        Clean cost of a row under the chosen rule: out of fold, denoised, the rate integrated out.
    cost_interval_ : pair of floats
        Its interval at `level`, for sampling and for not knowing the rate.
    constant_costs_ : dict
        The same for the two constants, "all_negative" and "all_positive", as `Interval`.
    chosen_ : {"rule", "all_negative", "all_positive"}
        A constant when the rule is not estimated to beat the better one.
    rule_cost_ : Interval
        The same for the rule, whether it was chosen or not.
    value_of_rate_ : float
        What knowing the rate would save a row, on average over its posterior.
    oof_probability_ : ndarray of shape (n,)
        Out-of-fold probability that each training row is positive, clean; after `fit_table`, each
        row of a sample, or each group of rows.
    sample_ : TableSample
        Which these are, after `fit_table` only.
    scorer_weights_ : ndarray
        Posterior weight of each pooled score.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A fixed cost cannot be honoured without knowing something about the noise, and noisy labels
    alone identify the rate only in part: large where classes overlap cannot be told from large
    noise. What identifies it here is the shape of the calibration curve, which is assumed logistic
    in the score with weak priors (see `flipcost.core.calibration`). On data of a few hundred rows
    with a weak signal the posterior stays wide, the interval says so, and a constant is often as
    good as any rule.

    References
    ----------
    Menon, van Rooyen, Ong and Williamson (2015), Learning from corrupted binary labels via
    class-probability estimation, ICML, Proposition 25, on why the rate is needed.

    Examples
    --------
    >>> from flipcost import FlipCostClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.noise import flip_labels
    >>> data = make_syn3d(4000, random_state=0)
    >>> noisy = flip_labels(data.target, 0.25, random_state=0)
    >>> model = FlipCostClassifier(cost=0.2, random_state=0).fit(data.data, noisy)
    >>> low, high = model.noise_rate_interval_
    >>> bool(low < 0.25 < high), model.chosen_
    (True, 'rule')
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "cost": [Real, Costs],
        "noise_rate": [StrOptions(_METHODS), Real, "array-like", NoiseRate],
        "noise_model": [StrOptions({"symmetric", "class_conditional", "auto"})],
        "estimator": [HasMethods(["fit"]), None],
        "features": [StrOptions({"auto", "linear"}), HasMethods(["fit", "transform"])],
        "l2s": ["array-like"],
        "cv": [Integral, "cv_object", None],
        "level": [Real],
        "pos_label": "no_validation",
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        cost=0.5,
        noise_rate="integrate",
        noise_model="symmetric",
        estimator=None,
        *,
        features="auto",
        l2s=(0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0),
        cv=None,
        level=0.95,
        pos_label=None,
        random_state=None,
    ):
        self.cost = cost
        self.noise_rate = noise_rate
        self.noise_model = noise_model
        self.estimator = estimator
        self.features = features
        self.l2s = l2s
        self.cv = cv
        self.level = level
        self.pos_label = pos_label
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Score, calibrate, integrate the rate out, and choose.

        Parameters
        ----------
        X : array-like of shape (n, d), or Dask collection
            Rows. Those of a Dask collection go to `fit_table`, and stay where they are.
        y : array-like of shape (n,), or Dask collection
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), or Dask collection, optional
            Non-negative weights. A row of weight 2 counts as two rows: larger weights make
            intervals narrower.

        Returns
        -------
        self
        """
        if is_dask(X):
            return self.fit_table(dask_table(X, y, sample_weight))
        cost = self._checked_cost()
        self.__dict__.pop("sample_", None)
        X = validate_data(self, X, dtype=np.float64)
        self.classes_, second = encode_labels(self, y, X.shape[0])
        self._flip = positive_index(self.classes_, self.pos_label) == 0
        positive = ~second if self._flip else second
        weight = check_weights(sample_weight, X)

        scores = self._score_out_of_fold(X, positive, weight)
        bins = [ScoreBins.from_scores(s, positive, weight) for s in scores]
        standard = [b.standardise(s) for b, s in zip(bins, scores, strict=True)]
        self._n_rows, self._positive_share = len(positive), np.average(positive, weights=weight)
        fit = self._calibrate(bins, standard, weight)
        self._choose(fit, standard, positive, weight, cost)
        self._keep(fit, bins, cost)
        self._value_rate(fit, standard, cost, weight)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_table(self, table, sample_rows=None):
        """Do the same in two passes over a table that is never held: files, batches, a cluster.

        Parameters
        ----------
        table : flipcost.scale.Table
            Made by `scan_parquet`, `scan_csv`, `scan_batches` or `scan_dask`. Its rows are put into
            folds by a hash of their position, or of the column ``fold_by`` of the table; `cv` must
            be the number of folds, or None for 5.
        sample_rows : int, default=None
            Rows to draw of each label. 10,000 when None; none where rows lie on a cluster, so
            that nothing but moments, counts and histograms travels.

        Returns
        -------
        self

        Notes
        -----
        Linear scores are learned from all rows, and all scores are calibrated on all rows. What
        needs rows at hand is learned from `sample_rows` rows of each label, drawn uniformly and
        weighted to stand for all: the scores that bend, the cost of the rule, whether it beats a
        constant, and the value of knowing the rate. `rule_cost_` is as uncertain as that sample
        makes it, and its interval says so; the costs of the constants come from all rows.
        `oof_probability_` is of the sample, which `sample_` describes by ``position`` in the table,
        ``positive`` (the noisy label) and ``weight``. A table with fewer rows than that gives what
        `fit` gives on the same folds. `random_state` plays no part.

        Without drawn rows there are no scores that bend, whatever `features` says: the probability
        is that of ``features="linear"``. The rest comes from all rows, in 512 groups of each label
        by the leading score; `sample_` then describes the groups, with ``position`` None.

        Examples
        --------
        >>> from flipcost import FlipCostClassifier
        >>> from flipcost.datasets import make_syn3d
        >>> from flipcost.noise import flip_labels
        >>> from flipcost.scale import scan_batches
        >>> data = make_syn3d(4000, random_state=0)
        >>> noisy = flip_labels(data.target, 0.25, random_state=0)
        >>> X = data.data
        >>> table = scan_batches([(X[:3000], noisy[:3000]), (X[3000:], noisy[3000:])])
        >>> model = FlipCostClassifier(cost=0.2).fit_table(table)
        >>> low, high = model.noise_rate_interval_
        >>> bool(low < 0.25 < high), model.chosen_
        (True, 'rule')
        """
        return fit_from_table(self, table, self._checked_cost(), sample_rows)

    def _checked_cost(self):
        if not 0 < self.level < 1:
            msg = f"`level` must lie in (0, 1); got {self.level:g}."
            raise ValueError(msg)
        return cost_share(self.cost)

    def _score_out_of_fold(self, X, positive, weight):
        wanted = usual_folds(len(positive)) if self.cv is None else self.cv
        folds = fold_numbers(wanted, positive.astype(np.int8), generator(self.random_state))
        n_folds = int(folds.max()) + 1
        self.transformer_ = None
        if not isinstance(self.features, str):
            self.transformer_ = clone(self.features)
            X = np.asarray(self.transformer_.fit_transform(X), dtype=float)
        if self.estimator is not None:
            self.scorer_ = EstimatorScores(self.estimator)
            return self.scorer_.fit(X, positive.astype(int), weight, folds, n_folds)
        self.scorer_ = MomentScores(self.l2s, bend=self.features == "auto")  # type: ignore[assignment]
        return self.scorer_.fit(X, positive, weight, folds, n_folds)

    def _calibrate(self, bins, standard, weight):
        """Return the calibration over the rates that the user leaves open."""
        rate = self.noise_rate
        if isinstance(rate, str):
            fit = integrate_rates(bins, self.noise_model)
            self.noise_rate_source_ = {
                "integrate": "integrated out: posterior from the calibration of out-of-fold scores",
                "minimax": "minimax regret over the rates that the posterior leaves plausible",
                "likelihood": "most likely rate, plugged in",
                "range": "range of the noisy probabilities, plugged in",
            }[rate]
            if rate == "likelihood":
                best = fit.rates[int(np.argmax(log_sum(fit.log_evidence, axis=0)))]
                return calibrate(bins, [best])
            if rate == "range":
                return calibrate(bins, [self._range(bins, standard, weight)])
            return fit
        known = _prior_of(rate)
        if known is not None:
            self.noise_rate_source_ = f"given with its interval: {rate.source}"
            return integrate_rates(bins, "symmetric", known)
        pair = rate_pair(rate)
        _check_possible(pair, self._positive_share, self._n_rows)
        self.noise_rate_source_ = "given"
        return calibrate(bins, [pair])

    def _range(self, bins, standard, weight):
        """Estimate rates from the extremes of the noisy probability, as Menon et al. do."""
        noisy = calibrate(bins, [(0.0, 0.0)]).probability(standard)
        low, high = weighted_quantile(noisy, [0.01, 0.99], weight)
        if self.noise_model == "symmetric":
            return (min(0.48, (low + 1 - high) / 2),) * 2
        return 1 - high, low

    def _choose(self, fit, standard, positive, weight, cost, call_squares=None):
        """Estimate the clean cost of the rule and of both constants, and pick."""
        posterior = RatePosterior(fit.rates, fit.weight.sum(axis=0))
        self.rate_posterior_ = posterior
        self._rate_index, answer = None, None
        self.__dict__.pop("regret_", None)
        if self.noise_rate == "minimax":
            answer, self._rate_index = self._minimax(fit, standard, positive, weight, cost)
        probability = fit.probability(standard, self._rate_index)
        decision = decide(
            positive,
            probability,
            cost,
            posterior,
            weight,
            call_squares=call_squares,
            level=self.level,
        )
        self.chosen_ = decision.chosen if answer is None else answer
        chosen = decision.costs[self.chosen_]
        self.rule_cost_ = decision.costs["rule"]
        self.constant_costs_ = {name: decision.costs[name] for name in CONSTANTS}
        self.cost_estimate_ = chosen.value
        self.cost_interval_ = (chosen.low, chosen.high)
        self.oof_probability_ = probability
        self._set_rate(posterior)

    def _set_rate(self, posterior):
        rho_pos, rho_neg = (float(v) for v in posterior.mean)
        first, second = posterior.interval(self.level)
        if posterior.is_symmetric:
            self.noise_rate_ = rho_pos
            self.noise_rate_interval_ = first
        else:
            self.noise_rate_ = (rho_pos, rho_neg)  # type: ignore[assignment]
            self.noise_rate_interval_ = (first, second)

    def _minimax(self, fit, standard, positive, weight, cost):
        """Return the answer whose worst regret is least, and the rate whose rule that is."""
        share = fit.weight.sum(axis=0)
        likely = np.flatnonzero(share > 0.01 * share.max())
        states = RatePosterior(fit.rates[likely], share[likely] / share[likely].sum())

        def count(probability, answer="rule"):
            return count_calls(positive, bayes_calls(probability, cost, answer), weight)

        rules = [count(fit.probability(standard, int(r))) for r in likely]
        constants = {name: count(standard[0], name) for name in CONSTANTS}
        answer, rate, self.regret_ = decide_minimax(rules, constants, cost, states)
        return answer, int(likely[rate])

    def _keep(self, fit, bins, cost):
        """Keep what scores new rows: the scorers that count, and their curves."""
        weight = fit.weight
        if self._rate_index is not None:
            only = np.zeros(weight.shape[1])
            only[self._rate_index] = 1.0
            weight = weight * only / (weight * only).sum()
        self.scorer_weights_ = weight.sum(axis=1)
        self._which = np.flatnonzero(self.scorer_weights_ > 1e-3 * self.scorer_weights_.max())
        share = weight[self._which] / weight[self._which].sum()
        self._curves = np.einsum("mr,mrt->mt", share, fit.curves[self._which])
        self._location = np.array([bins[m].location for m in self._which])
        self._scale = np.array([bins[m].scale for m in self._which])
        self._cost = cost
        self._bins = bins

    def _value_rate(self, fit, standard, cost, weight=None):
        """Find what not knowing the rate costs a row, on average over its posterior."""
        step = max(1, len(standard[0]) // _VALUE_ROWS)
        sample = [s[::step] for s in standard]
        share = self.rate_posterior_.weight
        likely = np.flatnonzero(share > 1e-3 * share.max())
        self.value_of_rate_ = value_of_knowing_rate(
            [fit.probability(sample, int(r)) for r in likely],
            share[likely],
            cost,
            None if weight is None else weight[::step],
        )

    def _positive_probability(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.transformer_ is not None:
            X = np.asarray(self.transformer_.transform(X), dtype=float)
        scores = self.scorer_.score(X, self._which)
        standard = (scores - self._location[:, None]) / self._scale[:, None]
        return sum(np.interp(s, TABLE, c) for s, c in zip(standard, self._curves, strict=True))

    def predict_proba(self, X):
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
        eta = self._positive_probability(X)
        return np.column_stack([eta, 1 - eta] if self._flip else [1 - eta, eta])

    def decision_function(self, X):
        """Return log-odds of the positive class above those of the cost; ``classes_[1]`` above 0.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        eta = self._positive_probability(X)
        scores = logit(np.clip(eta, 1e-12, 1 - 1e-12)) - logit(self._cost)
        return -scores if self._flip else scores

    def predict(self, X):
        """Return the class of each row that costs least, or the constant that was chosen.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        called = bayes_calls(self._positive_probability(X), self._cost, self.chosen_)
        return self.classes_[(~called if self._flip else called).astype(np.intp)]

    def summary(self):
        """Return one screen of text: what was assumed, found, chosen, and what would help most.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        return summarise(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _prior_of(rate):
    """Return value and standard error of a symmetric rate with an interval, else None."""
    if not isinstance(rate, NoiseRate) or not rate.symmetric:
        return None
    width = float(np.subtract(rate.high, rate.low))
    if width <= 0:
        return None
    return float(np.asarray(rate.value)), width / (2 * ndtri((1 + rate.level) / 2))


def _check_possible(pair, share, n_rows):
    """Refuse a rate that the share of positive labels contradicts beyond chance."""
    slack = 4 * np.sqrt(0.25 / n_rows)
    rho_pos, rho_neg = pair
    if not rho_neg - slack <= share <= 1 - rho_pos + slack:
        msg = (
            f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) is impossible for these labels: it implies "
            f"a share of positive labels between {rho_neg:g} and {1 - rho_pos:g}, but the share is "
            f"{share:.4g}. Give a smaller rate, or one for each class as (rho_pos, rho_neg)."
        )
        raise ValueError(msg)
