"""`FlipCostClassifier`: what it can be asked, the ways to fit it, and what it answers."""

from __future__ import annotations

import warnings
from dataclasses import replace
from html import escape
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from flipcost._shadow import in_shadow
from flipcost._threads import thread_limits
from flipcost._validation import (
    HasMethods,
    StrOptions,
    check_is_fitted,
    check_sizes,
    check_weights,
    fit_context,
    validate_data,
)
from flipcost.core.arrays import Array, Flags
from flipcost.core.costs import Costs, log_odds, prices_of, prices_to_decide, share_and_unit
from flipcost.core.decision import CONSTANTS, bayes_flags
from flipcost.core.noise import NoiseRate, check_level
from flipcost.core.noise_posterior import NoiseModel, PrevalencePrior
from flipcost.estimators.base import (
    COST_AND_RATE,
    BinaryClassifier,
    PricedScoreMixin,
    check_table,
    dask_table,
    generator,
    name_features,
)
from flipcost.estimators.flipcost.dependence import read_dependence
from flipcost.estimators.flipcost.fit import fit_scores
from flipcost.estimators.flipcost.result import SOURCES, FitOptions
from flipcost.estimators.flipcost.rows import (
    LabeledRows,
    ScoredRows,
    check_not_swapped,
    mended,
    read_trusted,
)
from flipcost.estimators.flipcost.scores import (
    KINDS,
    EstimatorScores,
    GivenScores,
    PooledLearner,
    PooledRule,
    PooledScores,
    clean_probability,
)
from flipcost.estimators.flipcost.summary import summarize
from flipcost.exceptions import DenoisingWarning, DependenceWarning, FlipCostError
from flipcost.tables.encoder import is_mixed
from flipcost.tables.rows import check_two_labels
from flipcost.tables.sample import choose_rows, sample_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.core.costs import RowCosts
    from flipcost.estimators.flipcost.dependence import Dependence
    from flipcost.estimators.flipcost.result import FitResult
    from flipcost.estimators.flipcost.scores import ScoreParts
    from flipcost.tables.sample import TableSample
    from flipcost.tables.source import Table

_EARLY = (
    "All checked rows are earlier than the first rows that models are evaluated on: they are "
    "learned from, but tell nothing of the later labels. Check some later rows too."
)
# What a fit found, kept as attributes of the same names.
_FOUND = (
    "break_even",
    "chosen",
    "labels_trusted",
    "noise_by_score",
    "scorer_weights",
    "state",
    "value_of_information",
    "wrong_share",
    "wrong_share_bound",
    "wrong_share_if_random",
)


class FlipCostClassifier(PricedScoreMixin, BinaryClassifier):
    r"""Cost-sensitive classifier from noisy labels whose noise rate no one knows.

    The one to reach for. It learns scores whose ordering label noise does not disturb, calibrates
    them to the probability of the *clean* label with the unknown noise rate integrated out, and
    flags a row where that probability exceeds the cost. It says how noisy the labels
    seem, what its mistakes will cost on clean labels, and when no rule beats a constant answer.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1); or the prices,
        as ``Costs(fn=4, fp=1)``. Prices may differ by row, as in ``Costs(fn="amount", fp=5)`` where
        X is a frame with a column of amounts; or come with the rows, as `prices`.
    noise_rate : {"integrate", "minimax"}, float, pair or NoiseRate, default="integrate"
        What is known about the noise. "integrate" knows nothing and averages over all rates by
        their posterior. "minimax" takes the rule, or constant, whose denoised cost is never far
        from the best over the rates that are plausible. A number in [0, 0.5) or a pair
        ``(rho_pos, rho_neg)`` is taken as true; a `NoiseRate` with an interval, of one rate or of
        two, as a prior: so what several annotators tell (`flipcost.noise.rate_from_repeats`) is
        weighed with what the labels do.
    noise_model : {"auto", "symmetric", "missed_positives", "wrong_negatives", \
            "class_conditional"}, default="auto"
        How labels may have gone wrong: one rate for both classes, only positives or only negatives
        labelled wrong, a rate for each class; "auto" weighs all of these, and none at all, by how
        well they explain the labels.
    estimator : classifier, default=None
        Any classifier with `decision_function` or `predict_proba` to score rows, fitted on noisy
        labels, in place of the pooled scores. It gets X untouched; its scores are calibrated out
        of fold.
    features : {"auto", "splines", "linear"} or transformer, default="auto"
        Which scores are pooled, weighted by their evidence. "linear": ridge regression on labels of
        -1 and 1, at each penalty. "splines": also linear splines with knots at quantiles of each
        feature, while that keeps within 100 columns. "auto": also gradient boosting, and its
        averages with these, where there are at least 30 rows of the rarer label and more rows than
        columns; held-out labels choose how many trees. A transformer (Nystroem, splines) is fitted
        on all rows and feeds linear scores.
    l2s : sequence of floats, default=(0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
        Penalties of ridge regression, on standardised features.
    cv : int, splitter or iterable, default=None
        Folds for the out-of-fold scores, whose test sets must partition the rows; 10 random
        stratified folds below 5,000 rows and 5 above when None.
    level : float, default=0.95
        Level of all intervals.
    prevalence : float or pair of floats, default=None
        What is known, from elsewhere than the labels, of the share of rows that are truly positive:
        about this many, or a range ``(low, high)`` that holds it with probability 0.95. Labels that
        miss most positives cannot say so themselves; with this they need not.
    pos_label : label, default=None
        The positive class, which `cost` and the rates speak of; ``classes_[1]`` when None.
    random_state : int, RandomState or None, default=None
        Seed of the assignment of rows to folds.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    noise_rate_ : pair of floats
        Posterior mean of ``(rho_pos, rho_neg)``: the error rates of true positives and of true
        negatives.
    noise_rate_interval_ : pair of pairs of floats
        Their intervals at `level`. Without checked rows these also count that the error model may
        be wrong, and are wide.
    noise_bounds_ : NoiseRate
        What is identified whatever the curve: at most this many of the positives' labels are wrong,
        and of the negatives'. It supposes that mistakes do not follow the features.
    noise_models_ : dict
        Posterior weight of each noise model; "no_signal" where columns do not predict the label.
    wrong_share_if_random_ : Interval
        Share of all labels that are wrong: the best estimate, with the interval that holds if
        errors are random, so that every true positive is equally likely to be mislabelled, and
        every true negative. It shrinks with rows.
    wrong_share_bound_ : float
        The most that can be wrong if errors are random, whatever the shape of the curve.
    break_even_ : BreakEven
        What only checked rows can tell: the decision stands unless more than a share
        `missed_positives` of the rows labelled negative are positive, or `wrong_positives` of
        those labelled positive are negative, beyond random errors; None for a side that cannot
        change it. `n_checks` random rows settle it.
    wrong_share_ : Interval
        The same estimate, with an interval that also counts that errors may be systematic: it stays
        wide until rows are checked.
    noise_by_score_ : tuple of RateBand
        With checked rows: both noise rates, with intervals, in bands of the probability. Each has
        `low` and `high`, `share` and `n_checked`, and `positives` and `negatives`: how many of
        these are labelled wrong there. Empty without checked rows.
    n_effective_ : float
        Rows that intervals count for: fewer than there are where these depend on each other.
    groups_, folds_ : ndarray of int, shape (n,)
        Which rows depend on each other, None if none do, and their folds; after `fit` only.
    state_ : {"clean", "noisy", "undecided", "no_signal", "small"}
        What is known about the labels.
    noise_rate_source_ : str
        Where the rate came from.
    rate_posterior_ : RatePosterior
        Grid of rates and their posterior weights.
    regret_ : Regret
        Costs and regrets over rates, for ``noise_rate="minimax"`` only.
    cost_estimate_ : float
        Clean cost of a row under the chosen rule: out of fold, denoised, the rate integrated out.
        In the units of the prices when these were given, as `Costs` or as `prices`: what mistakes
        cost above the right decisions. A share when `cost` is a number: a false positive costs
        ``cost`` and a false negative ``1 - cost``. So are the other costs below.
    cost_interval_ : pair of floats
        Its interval at `level`, for sampling and for not knowing the rate.
    constant_costs_ : dict
        The same for the two constants, "all_negative" and "all_positive", as `Interval`.
    chosen_ : {"rule", "all_negative", "all_positive"}
        A constant when the rule is not estimated to beat the better one.
    labels_trusted_ : bool
        Whether decisions take the labels as they are, since with nothing known beside them allowing
        for errors is not expected to save more than its standard error. Probabilities are then
        those of the recorded label.
    rule_cost_ : Interval
        The same for the rule, whether it was chosen or not.
    value_of_information_ : float
        What knowing the rate would save a row, on average over its posterior.
    cost_share_ : float
        Share of the cost that a false positive bears; by mean prices, where they differ by row.
    cost_unit_ : float
        What a cost of 1 in shares is in the units of the costs above.
    oof_probability_ : ndarray of shape (n,)
        Out-of-fold probability that each training row is positive, as `predict_proba` gives it;
        after `fit_table`, of each row of a sample.
    sample_ : TableSample
        Which these are, after `fit_table` only.
    scorer_weights_ : ndarray
        Posterior weight of each pooled score.
    warnings_ : list of str
        What to look at, in sentences; `fit` warned of each.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A fixed cost cannot be honoured without knowing something about the noise, and noisy labels
    alone identify the rate only in part: classes that overlap much look like classes with much
    noise. What identifies it here is the shape of the calibration curve, which is assumed logistic
    in the score with weak priors (see `flipcost.core.calibration`). Labels that are wrong in ways
    that follow the features bend that curve, and nothing in the table shows it: of ten tables with
    real noise, two whose labels missed four positives in five were decided worse than by a constant
    at one of two costs. With a hundred rows that someone checked (`trusted`) none was, nor where
    the share of positives was known (`prevalence`).

    References
    ----------
    Menon, van Rooyen, Ong and Williamson (2015), Learning from corrupted binary labels via
    class-probability estimation, ICML, Proposition 25, on why the rate is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost import FlipCostClassifier
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.noise import flip_labels
    >>> data = make_syn3d(4000, random_state=0)
    >>> noisy = flip_labels(data.target, 0.25, random_state=0)
    >>> model = FlipCostClassifier(cost=0.2, random_state=0).fit(data.data, noisy)
    >>> wrong = model.wrong_share_
    >>> bool(wrong.low < 0.25 < wrong.high), model.chosen_
    (True, 'rule')

    The right labels of a hundred rows tell more than all others:

    >>> trusted = np.full(4000, np.nan)
    >>> trusted[:100] = data.target[:100]
    >>> told = FlipCostClassifier(cost=0.2, random_state=0).fit(data.data, noisy, trusted=trusted)
    >>> bool(told.wrong_share_.high - told.wrong_share_.low < wrong.high - wrong.low)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "cost": COST_AND_RATE["cost"],
        "noise_rate": [StrOptions(set(SOURCES)), Real, "array-like", NoiseRate],
        "noise_model": [StrOptions(set(get_args(NoiseModel)))],
        "estimator": [HasMethods(["fit"]), None],
        "features": [StrOptions({"auto", "splines", "linear"}), HasMethods(["fit", "transform"])],
        "l2s": ["array-like"],
        "cv": [Integral, "cv_object", None],
        "level": [Real],
        "prevalence": [Real, "array-like", None],
        "pos_label": "no_validation",
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        cost: float | Costs = 0.5,
        noise_rate: str | float | tuple[float, float] | NoiseRate = "integrate",
        noise_model: str = "auto",
        estimator: Any = None,
        *,
        features: Any = "auto",
        l2s: Sequence[float] = (0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0),
        cv: Any = None,
        level: float = 0.95,
        prevalence: float | tuple[float, float] | None = None,
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.cost = cost
        self.noise_rate = noise_rate
        self.noise_model = noise_model
        self.estimator = estimator
        self.features = features
        self.l2s = l2s
        self.cv = cv
        self.level = level
        self.prevalence = prevalence
        self.pos_label = pos_label
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        trusted: Any = None,
        prices: Any = None,
        groups: Any = None,
        time: Any = None,
    ) -> FlipCostClassifier:
        """Score, calibrate, integrate the rate out, and choose.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or Dask collection
            Rows. Missing values and columns of categories are taken as they are; sparse rows get
            linear scores only. Those of a Dask collection go to `fit_table`, and stay where they
            are.
        y : array-like of shape (n,), or Dask collection
            Noisy labels: any two values.
        sample_weight : array-like of shape (n,), or Dask collection, optional
            Non-negative weights. A row of weight 2 counts as two rows: larger weights make
            intervals narrower.
        trusted : array-like of shape (n,), optional
            The right label where someone checked the row, and missing (None, NaN, NA) elsewhere.
            Rows may have been chosen by looking at them and their labels, if not at what is right;
            costs suppose that they represent the rows of the same label and a similar score.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost: ``fn, fp`` or ``fn, fp, tp, tn``, columns of these names
            in a frame, or `Costs`. Counts in place of `cost`; give those of new rows to `predict`.
        groups : array-like of shape (n,), optional
            Which rows depend on each other: the patient, customer or document that a row is of.
            Rows of one group share a fold, and intervals count groups rather than rows. When
            neither this nor `time` is given, rows that repeat others are taken for groups, and
            `fit` warns of them; a different group for each row says that they are independent.
        time : array-like of shape (n,), optional
            When each row is from: numbers, dates, or anything that sorts. Rows are then scored by
            what was learned from earlier ones only, the first sixth of the rows is not judged by,
            and `fit` warns where labels drift.

        Returns
        -------
        self

        Warns
        -----
        DenoisingWarning
            When the rate that is given leaves so little of the labels that nothing is identified.
        DependenceWarning
            When rows repeat others, or labels drift with time.
        """
        beside = {"trusted": trusted, "prices": prices, "groups": groups, "time": time}
        table = dask_table(X, y, sample_weight, **beside)
        if table is not None:
            return self.fit_table(table)
        self._fit(X, y, sample_weight, trusted, prices, groups, time)
        return self

    def fit_scores(
        self,
        scores: Any,
        y: Any,
        *,
        kind: str = "score",
        sample_weight: Any = None,
        trusted: Any = None,
        prices: Any = None,
        groups: Any = None,
    ) -> FlipCostClassifier:
        """Do what `fit` does after scores are learned, with scores of a model of your own.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, m)
            Out-of-fold scores, larger where a row is likelier positive: what a model says of rows
            that it was not fitted on, as `cross_val_predict` gives them. Scores of rows that it was
            fitted on look better than they are, and so would all that is said here. Nothing warns
            of them here; `flipcost.audit` with `score` does, of a table with other columns. Several
            scores are pooled by their evidence.
        y : array-like of shape (n,)
            Noisy labels: any two values.
        kind : {"score", "probability"}, default="score"
            Probabilities of the positive class are turned to log-odds first.
        sample_weight, trusted, prices, groups
            As in `fit`. Rows with the same scores are not taken for copies.

        Returns
        -------
        self
            Fitted; what `predict`, `predict_proba` and `decision_function` call X are then scores
            of new rows, by the model fitted on all rows.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from sklearn.model_selection import cross_val_predict
        >>> from flipcost import FlipCostClassifier
        >>> from flipcost.datasets import make_syn3d
        >>> from flipcost.noise import flip_labels
        >>> data = make_syn3d(2000, random_state=0)
        >>> noisy = flip_labels(data.target, 0.2, random_state=0)
        >>> own = RandomForestClassifier(min_samples_leaf=20, random_state=0)
        >>> p = cross_val_predict(own, data.data, noisy, cv=5, method="predict_proba")[:, 1]
        >>> model = FlipCostClassifier(cost=0.2, random_state=0)
        >>> wrong = model.fit_scores(p, noisy, kind="probability").wrong_share_
        >>> bool(wrong.low < 0.2 < wrong.high)
        True
        """
        if kind not in KINDS:
            msg = f"`kind` must be one of {', '.join(KINDS)}; got {kind!r}."
            raise FlipCostError(msg)
        given = GivenScores(kind)
        rows = given.read(scores)
        given.check_varied(rows)
        apart = np.arange(len(rows)) if groups is None and len(rows) > 1 else groups
        self._fit(rows, y, sample_weight, trusted, prices, apart, given=given)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        trusted: Any = None,
        prices: Any = None,
        groups: Any = None,
        time: Any = None,
        drawn: TableSample | None = None,
        given: GivenScores | None = None,
        clean: tuple[Any, Flags] | None = None,
    ) -> tuple[ScoredRows, FitResult]:
        """Fit on rows in memory: all of them, those drawn of a table, or some that are drawn."""
        paid = prices_of(self.cost, prices, X)
        X = self._validated(X, reset=True)
        positive, second = self._read_labels(y, X.shape[0]), self._index == 1
        checked = read_trusted(trusted, self.classes_, X.shape[0], second_is_positive=second)
        weight = check_weights(sample_weight, X)
        check_sizes(X, weight, self.l2s)
        rows = LabeledRows(X, positive, weight, checked, paid)
        rng = generator(self.random_state)
        if drawn is None and len(positive) > sample_size(X.shape[1]):
            rows, drawn, groups, time = self._drawn(rows, groups, time)
        if drawn is not None:
            rows = rows.standing_for(drawn.weight)
        options = self._options(rows.prices, rows.weight)
        rows, dependence, scorer, scores, notes = self._learn(rows, rng, groups, time, given)
        scores_of_clean = None
        if clean is not None:
            X_clean = self._validated(clean[0], reset=False)
            scores_of_clean = scorer.score(X_clean, np.arange(len(scores))), clean[1]
        # Curves and cells are small: more threads only wait for each other, long on a busy machine.
        with thread_limits(1, "blas"):
            scored = ScoredRows.from_scores(scores, rows, scores_of_clean, overwrite_scores=True)
            if scored.checked is not None:
                share = PrevalencePrior.updated_by_clean_rows(options.prevalence, scored.bins[0])
                scored = replace(scored, checked=replace(scored.checked, prevalence=share))
            if scored.checked is not None and scorer.has_features:
                features = scorer.numbers(scorer.cells(rows.X))
                scored = replace(scored, features=features, folds=dependence.folds)
            scored = dependence.thin(scored, self.level)
            result = fit_scores(scored, options)
            if result.correction is not None:
                scorer = scorer.corrected_by(*result.correction)
        self._store(result, scorer)
        self.groups_, self.folds_ = dependence.groups, dependence.folds
        if drawn is not None:
            self.sample_ = drawn
        notes.append(dependence.note(result.n_effective, result.probability, rows.positive))
        if any(notes):
            note = " ".join(filter(None, notes))
            self.warnings_.append(note)
            warnings.warn(note, DependenceWarning, stacklevel=4)
        return scored, result

    def _learn(
        self,
        rows: LabeledRows,
        rng: np.random.Generator,
        groups: Any,
        time: Any,
        given: GivenScores | None,
    ) -> tuple[LabeledRows, Dependence, Any, Array, list[str | None]]:
        """Return rows to evaluate on, their folds, the scorer, their scores and warnings."""
        X, positive, checked, learned = rows.X, rows.positive, rows.checked, rows.positive
        learner, simple = self._learners(given)
        if checked is not None:
            check_not_swapped(X, positive, checked, simple)
            # What was checked is learned from as it is right; labels are calibrated as they were.
            learned = mended(positive, checked)
        dependence = read_dependence(X, learned, groups, time, self.cv, rng)
        scorer, scores = learner.learn(
            X,
            learned,
            rows.weight,
            dependence.folds,
            forward=dependence.forward,
            seed=int(rng.integers(1 << 31)),
        )
        evaluated, notes = dependence.evaluation_weight(rows.weight, positive), list[str | None]()
        if checked is not None and evaluated is not None and not evaluated[checked.rows].any():
            # They were learned from; errors are counted on rows that were scored by others.
            checked, notes = None, [_EARLY]
        return replace(rows, weight=evaluated, checked=checked), dependence, scorer, scores, notes

    def _learners(self, given: GivenScores | None) -> tuple[Any, Callable[..., Any]]:
        """Return what learns scores, and what learns a simple one: from labels to what scores."""
        learner: Any = PooledLearner(self.features, self.l2s)
        quick: Any = PooledLearner("linear", (0.1,))
        if given is not None or self.estimator is not None:
            learner = quick = given or EstimatorScores(self.estimator)

        def simple(X: Any, positive: Any) -> Callable[[Any], Array]:
            scorer, scores = quick.learn(X, positive, None, np.arange(len(positive)) % 2)
            return lambda rows: scorer.score(rows, np.arange(len(scores))).mean(axis=0)

        return learner, simple

    def _drawn(
        self, rows: LabeledRows, groups: Any, time: Any
    ) -> tuple[LabeledRows, TableSample | None, Any, Any]:
        """Draw rows of more than a fit learns from."""
        if self.cv is not None and not isinstance(self.cv, Integral):
            return rows, None, groups, time  # its test sets are of all rows
        always = None if rows.checked is None else rows.checked.rows
        size = sample_size(rows.X.shape[1])
        sample = choose_rows(rows.positive, size, 0, always)
        groups, time = (
            None if values is None else np.asarray(values)[sample.position]
            for values in (groups, time)
        )
        return rows.take(sample.position), sample, groups, time

    @fit_context(prefer_skip_nested_validation=False)
    def fit_table(self, table: Table, sample_rows: int | None = None) -> FlipCostClassifier:
        """Do the same from a table that is never held: files, batches, a cluster, a database.

        Parameters
        ----------
        table : flipcost.scale.Table
            Made by `scan_parquet`, `scan_csv`, `scan_batches`, `scan_dask`, `scan_sql` or
            `scan_lazy`. Rows that share a value of its column ``fold_by`` are a group.
        sample_rows : int, default=None
            Rows to learn from; 200,000 when None, or fewer where rows are wide.

        Returns
        -------
        self

        Notes
        -----
        A table with fewer rows than `sample_rows` gives what `fit` gives. Of a larger one rows are
        drawn by a hash, all of the rarer label up to half of them, and weighted to represent all.
        `oof_probability_` is of these rows, which `sample_` describes by ``position`` in the table,
        ``positive`` (the noisy label) and ``weight``. Rows in memory are drawn alike.

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
        >>> model = FlipCostClassifier(cost=0.2, random_state=0).fit_table(table)
        >>> bool(model.wrong_share_.low < 0.25 < model.wrong_share_.high), model.chosen_
        (True, 'rule')
        """
        self._options()
        check_table(table)
        found = table.draw(sample_rows)
        check_two_labels(found.labels)
        positive = self._table_labels(table, found.labels)
        rows, labels = found.rows, np.array(found.labels)[found.codes]
        own = self.estimator is None and isinstance(self.features, str)
        X = rows.frame
        if hasattr(X, "to_pandas") and not own:
            X = X.to_pandas()
        self._fit(
            X,
            labels,
            rows.beside.get("weight"),
            groups=rows.beside.get("group"),
            drawn=found.sample(labels == positive),
        )
        encoder = table.encoder
        if encoder is not None:
            name_features(self, encoder.feature_names)
        return self

    def _options(self, prices: RowCosts | None = None, sample_weight: Any = None) -> FitOptions:
        level, by_row = check_level(self.level), prices is not None
        share, unit = share_and_unit(self.cost, prices, sample_weight)
        prevalence = None if self.prevalence is None else PrevalencePrior.of(self.prevalence)
        return FitOptions(share, self.noise_rate, self.noise_model, level, unit, by_row, prevalence)

    def _store(self, result: FitResult, scorer: Any) -> None:
        """Keep what a fit found, and nothing of an earlier one."""
        # The attributes that not every fit gives.
        for name in ("regret_", "sample_", "groups_", "folds_"):
            self.__dict__.pop(name, None)
        self.warnings_ = [warning] if (warning := result.why_uninformative) else []
        for text in self.warnings_:
            warnings.warn(text, DenoisingWarning, stacklevel=4)
        self._result, self.scorer_ = result, scorer
        for name in _FOUND:
            setattr(self, f"{name}_", getattr(result, name))
        posterior, options = result.posterior, result.options
        self.rate_posterior_, self.noise_bounds_ = posterior, result.bounds
        rho_pos, rho_neg = posterior.estimate
        self.noise_rate_ = float(rho_pos), float(rho_neg)
        self.noise_rate_interval_ = posterior.interval(options.level)
        self.noise_rate_source_ = result.source
        self.noise_models_ = dict(posterior.models or {})
        self.n_effective_ = result.n_effective
        if result.regret is not None:
            self.regret_ = result.regret
        self.rule_cost_ = result.costs["rule"]
        self.constant_costs_ = {name: result.costs[name] for name in CONSTANTS}
        chosen = result.costs[result.chosen]
        self.cost_estimate_, self.cost_interval_ = chosen.value, (chosen.low, chosen.high)
        self.oof_probability_ = result.probability
        self.cost_share_, self.cost_unit_ = options.cost, options.unit

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Check X, but for what the scorer checks itself."""
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
        return prices_to_decide(self.cost, prices, X, by_row=self._result.options.by_row)

    def _positive_probability(self, X: Any) -> Array:
        check_is_fitted(self)
        if isinstance(self.scorer_, GivenScores):
            X = self.scorer_.read(X)
        X = self._validated(X, reset=False)
        return clean_probability(self.scorer_, self._result.curves, X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each *clean* label; of each recorded one if `labels_trusted_`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        return self._columns(self._positive_probability(X))

    def clean_probability(self, probability: Array) -> Array:
        """Return the probability of the clean label, of what `predict_proba` gives."""
        return self.rate_posterior_.clean(probability) if self.labels_trusted_ else probability

    def probability_of_cells(self, cells: Array) -> Array:
        """Return the same of rows that the encoder of the scores has made cells of."""
        rule = PooledRule.of(self.scorer_, self._result.curves)
        return self._columns(rule.probability(cells))

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
        cut = self._result.options.cost if paid is None else paid.threshold
        scores = log_odds(self._positive_probability(X)) - log_odds(cut)
        return self._sign * scores

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
        cost = self._result.options.cost if paid is None else paid
        return self._classes_of(bayes_flags(self._positive_probability(X), cost, self.chosen_))

    def summary(self) -> str:
        """Return one screen of text: what was assumed, found, chosen, and what would help most.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        positive = self.classes_.tolist()[self._index]
        sample = getattr(self, "sample_", None)
        n_rows = None if sample is None else sample.n_rows
        known = self._result, self.n_features_in_, positive
        return summarize(*known, n_rows, self._score_parts())

    def _score_parts(self) -> ScoreParts | None:
        """Return what the scores are made of; None where they were given, or are an estimator's."""
        return self.scorer_.parts(self.features) if isinstance(self.scorer_, PooledScores) else None

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
        own = self.estimator is None and isinstance(self.features, str)
        tags.input_tags.allow_nan = tags.input_tags.sparse = own
        return tags


def fit_drawn(
    model: FlipCostClassifier, X: Any, y: Any, sample: TableSample | None, **given: Any
) -> tuple[ScoredRows, FitResult]:
    """Fit to rows that may represent more; return what a fit leaves besides the classifier."""
    return model._fit(X, y, drawn=sample, **given)  # noqa: SLF001 - one of us
