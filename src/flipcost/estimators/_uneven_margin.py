"""Scheme 1 of the paper: the uneven-margin squared loss in closed form, and its grid search."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import ParameterGrid

from flipcost._threads import moment_threads
from flipcost._validation import (
    StrOptions,
    check_weights,
    fit_context,
    validate_rows,
)
from flipcost.core.arrays import unit_weights
from flipcost.core.confusion import MEASURES, Measure, measure
from flipcost.core.costs import Costs, cost_share, margin_value, prices_of
from flipcost.core.losses import uneven_squared
from flipcost.core.moments import ClassMoments, merge_others
from flipcost.core.noise import NoiseRate, rate_pair, unmixing_matrix
from flipcost.core.scoring import fold_confusions
from flipcost.core.solve import PricedMoments, denoised_systems, path_of_systems, row_moments
from flipcost.estimators.base import (
    COST_AND_RATE,
    LinearClassifier,
    PricedScoreMixin,
    check_table,
    dask_table,
    folds_or_splits,
    name_features,
)
from flipcost.estimators.flipcost.rows import LabeledRows
from flipcost.exceptions import DenoisingWarning

# Candidates whose mean scores differ by rounding only are tied.
_TIE = 1e-12


class _ClosedForm(PricedScoreMixin, LinearClassifier):
    """What a closed form gives: a linear score, and probability by the inverse link of its loss."""

    def _positive_eta(self, scores):
        return uneven_squared(self._cost, self._margin).inverse_link(scores)

    def _fold_moments(self, table, n_folds):
        """Keep the labels of a table and names of its features; return moments and both labels."""
        found = table.fold_moments(n_folds)
        both = found.oriented()  # says so when there is one label only
        positive = self._table_labels(table, both.labels)
        self.n_features_in_ = both.parts[0].n_features
        name_features(self, both.names)
        return both.oriented(positive)


class UnevenMarginClassifier(_ClosedForm):
    r"""Cost-sensitive linear classifier in closed form, with or without a noise rate.

    Reads every row once, keeps the class moments, and solves one small linear system. Reach for
    it when the noise rate is known, or when labels are clean; when the rate is unknown, the
    classifier that integrates it out does better.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1); a false
        negative bears ``1 - cost``. Or the prices, as ``Costs(fn=4, fp=1)``; these may differ by
        row, as in ``Costs(fn="amount", fp=5)``, and come as `prices` too (see Notes).
    margin : float, default=1.0
        Uneven margin of the negative class, above 0. It does not move the decision threshold of
        the loss; it matters through the penalty and where a linear score does not fit.
    l2 : float, default=0.1
        Ridge penalty on the mean loss. Features should be on comparable scales.
    noise_rate : float, pair of floats, or None, default=None
        None takes the labels as they are, which is the paper's estimator. The paper states that
        symmetric noise does not move its decisions; **that is false** unless the cost is 1/2 and
        the margin 1. At other costs noise pulls the decisions towards one class: with cost 0.2 and
        rate 0.4, nearly all rows are flagged. A rate in [0, 0.5), or a pair
        ``(rho_pos, rho_neg)`` of P(flipped given positive) and P(flipped given negative), denoises
        the moments first, which gives back the clean solution in expectation.
    l2_scale : {"mean", "sum"}, default="mean"
        "sum" puts the penalty on the summed loss, as in the solution that the paper prints.
    penalize_bias : bool, default=True
        Whether the bias is penalised too, as in the paper.
    pos_label : label, default=None
        The positive class, which `cost`, `margin` and `noise_rate` speak of; ``classes_[1]`` when
        None.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d)
        Weights of the features; a positive score means ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        The bias.
    moments_ : ClassMoments
        Moments of the rows seen, with labels as observed; the positive class is at 1. With prices
        by row, rows of it are weighed by what a miss costs, the others by what an alarm does.
    n_clipped_ : int
        Directions in which the denoised moments were impossible and were projected back.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    Notes
    -----
    With :math:`z = (x, 1)` it minimises

    .. math::

        \frac1m\Bigl[\sum_{y_i = +1} (1-\alpha)(1 - w^\top z_i)^2 + \sum_{y_i = -1}
        \frac{\alpha}{\gamma}(1 + \gamma w^\top z_i)^2\Bigr] + \lambda|w|^2,

    whose solution is :math:`(A + m\lambda I)^{-1} c`; see `flipcost.core.solve` for how it is
    computed, and for the projection that keeps it well posed when denoising does not.

    `predict_proba` is the exact inverse link of the loss: the probability of the positive class
    exceeds the cost exactly where a row is flagged, and scores that no probability has are
    clipped to 0 or 1. It speaks of labels as observed, or of clean ones when a noise rate was
    given; a linear score makes it an approximation either way.

    With prices by row, :math:`a_i` for a miss and :math:`b_i` for a false alarm in units of the
    mean of :math:`a_i + b_i`, positive rows weigh :math:`a_i` in place of :math:`1-\alpha` and
    negative ones :math:`b_i` in place of :math:`\alpha`. The moments are denoised without bias,
    whatever prices depend on (`flipcost.core.solve`). The same price on all rows is one
    price. The score then weighs probability and prices in one: it is above zero where rows like
    this one cost less if they are flagged, at the prices that such rows have. So `predict` takes no
    prices (the squared loss has no score that one could be subtracted from), and `predict_proba`
    speaks of rows so weighed. `WeightedLogisticClassifier` models the probability alone, and
    compares it with the price of each row.

    References
    ----------
    Tripathi and Hemachandra (2019), Cost sensitive learning in the presence of symmetric label
    noise, PAKDD, Proposition 1. doi:10.1007/978-3-030-16148-4_2

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost import UnevenMarginClassifier
    >>> from flipcost.noise import flip_labels
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> X = rng.normal(size=(4000, 3)) + y[:, None]
    >>> noisy = flip_labels(y, 0.3, random_state=0)
    >>> told = UnevenMarginClassifier(cost=0.2, noise_rate=0.3).fit(X, noisy)
    >>> untold = UnevenMarginClassifier(cost=0.2).fit(X, noisy)
    >>> clean = UnevenMarginClassifier(cost=0.2).fit(X, y)
    >>> print([f"{model.predict(X).mean():.2f}" for model in (clean, told, untold)])
    ['0.81', '0.84', '1.00']
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        **COST_AND_RATE,
        "margin": [Real],
        "l2": [Real],
        "l2_scale": [StrOptions({"mean", "sum"})],
        "penalize_bias": ["boolean"],
    }
    _by_row = False

    def __init__(
        self,
        cost: float | Costs = 0.5,
        margin: float = 1.0,
        l2: float = 0.1,
        noise_rate: Any = None,
        *,
        l2_scale: Literal["mean", "sum"] = "mean",
        penalize_bias: bool = True,
        pos_label: Any = None,
    ) -> None:
        self.cost = cost
        self.margin = margin
        self.l2 = l2
        self.noise_rate = noise_rate
        self.l2_scale = l2_scale
        self.penalize_bias = penalize_bias
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> Self:
        """Learn from all rows, forgetting what was seen before.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d), or Dask collection
            Rows.
        y : array-like of shape (n,), or Dask collection
            Labels: any two values.
        sample_weight : array-like of shape (n,), or Dask collection, optional
            Non-negative weights; a weight counts as that many repetitions.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count in place of
            `cost`; the Notes say how. `predict` takes none.

        Returns
        -------
        self
        """
        table = dask_table(X, y, sample_weight, prices=prices)
        if table is not None:
            return self.fit_table(table)
        paid = prices_of(self.cost, prices, X)
        X = validate_rows(self, X, reset=True)
        return self._learn(X, self._read_labels(y, X.shape[0]), sample_weight, paid)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; any split of the rows gives what `fit` gives on all of them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        classes : array-like of shape (2,), optional
            Both labels; needed in the first call when one of them is not in `y`.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        self
        """
        first = not hasattr(self, "moments_")
        if not first and self._by_row:
            msg = (
                "`partial_fit` cannot go on from rows that were weighed by their own costs: what "
                "one unit of these is depends on all rows. Use `fit` on all of them."
            )
            raise ValueError(msg)
        X = validate_rows(self, X, reset=first)
        known = None if first else self.classes_
        if classes is not None:
            known = _check_classes(classes, known)
        positive = self._read_labels(y, X.shape[0], known)
        return self._learn(X, positive, sample_weight, before=None if first else self.moments_)

    def _learn(self, X, positive, sample_weight, prices=None, before=None):
        weight = check_weights(sample_weight, X)
        own = None if prices is None else prices.relative(weight)
        moments = _moments(LabeledRows(X, positive, weight, prices=own))[0]
        return self._solve(moments if before is None else before.merge(moments), self.classes_)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_moments(self, moments: Any, classes: Any = None) -> Self:
        """Learn from moments that were gathered elsewhere: a file, a stream, other machines.

        Parameters
        ----------
        moments : ClassMoments
            Moments of rows with their labels as observed, the positive class at 1.
        classes : array-like of shape (2,), optional
            The labels; 0 and 1 when not given.

        Returns
        -------
        self
        """
        if not isinstance(moments, ClassMoments):
            msg = (
                f"`moments` must be ClassMoments; got {type(moments).__name__}. "
                "Gather them with ClassMoments.from_rows."
            )
            raise TypeError(msg)
        # Moments do not know the names of their features; those of an earlier fit no longer hold.
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = moments.n_features
        return self._solve(moments, _check_classes((0, 1) if classes is None else classes))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_table(self, table: Any) -> Self:
        """Learn from a table that is read in one pass and never held: files, batches, a cluster.

        Parameters
        ----------
        table : flipcost.scale.Table
            Made by `scan_parquet`, `scan_csv`, `scan_batches` or `scan_dask`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from flipcost import UnevenMarginClassifier
        >>> from flipcost.scale import scan_batches
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
        >>> table = scan_batches([(X[:3], y[:3]), (X[3:], y[3:])])
        >>> UnevenMarginClassifier().fit_table(table).predict(X)
        array([0, 0, 1, 1])
        """
        check_table(table, self.cost)
        labelled = self._fold_moments(table, 1)
        return self._solve(labelled.parts[0], self.classes_)

    def _solve(self, moments, classes):
        by_row = isinstance(moments, PricedMoments)
        if not np.sum(moments.weight) > 0:
            msg = (
                "There must be rows with a positive weight to learn from; got none. "
                "Check `sample_weight`, or what the moments were gathered from."
            )
            raise ValueError(msg)
        # Prices by row are in the weights already.
        cost, margin = 0.5 if by_row else cost_share(self.cost), margin_value(self.margin)
        system = denoised_systems(moments, [self.noise_rate])[0]
        path = path_of_systems(
            [system],
            [cost],
            [margin],
            [self.l2],
            l2_scale=self.l2_scale,
            penalize_bias=self.penalize_bias,
        )

        self.classes_ = classes
        self.moments_ = moments.observed() if by_row else moments
        self.n_clipped_ = system.n_clipped
        self._by_row = by_row
        self._cost, self._margin = cost, margin
        self._orient(path[0, 0, 0, 0])
        if system.is_indefinite(cost, margin):
            warnings.warn(_indefinite_message(system, self.noise_rate), DenoisingWarning, 2)
        return self


def _check_classes(classes, known=None):
    found = np.unique(np.asarray(classes))
    if found.shape != (2,):
        msg = f"`classes` must hold two labels; got {found.tolist()}. Give both, and only them."
        raise ValueError(msg)
    if known is not None and not np.array_equal(found, known):
        msg = (
            f"`classes` must be the same in every call; got {found.tolist()} after "
            f"{known.tolist()}. Use `fit` to start anew."
        )
        raise ValueError(msg)
    return found


def _indefinite_message(system, noise_rate):
    return (
        f"Denoising with noise_rate={noise_rate} left no minimum: in {system.n_clipped} of "
        f"{len(system.shares)} directions the denoised moments are those of no labelling. They "
        "were projected onto the nearest possible ones (see flipcost.core.solve). The data are "
        "thin for this rate: trust the result less, gather rows, drop features, or check the rate."
    )


class UnevenMarginClassifierCV(_ClosedForm):
    """`UnevenMarginClassifier` with its cost, margin, penalty and noise rate cross-validated.

    The rows are read twice: once for the moments of every fold, once to score every candidate on
    the fold that it has not seen. All that lies between is small linear algebra, so a grid of
    hundreds of candidates takes about as long as one ordinary ridge fit.

    Parameters
    ----------
    costs : float, Costs or sequence of these, default=0.5
        Candidate costs. Prices that differ by row, as in ``Costs(fn="amount", fp=5)``, are no
        candidates but the one cost there is, and come as `prices` too.
    margins : float or sequence of floats, default=1.0
        Candidate margins.
    l2s : float or sequence of floats, default=(0.01, 0.1, 1.0, 10.0)
        Candidate penalties on the mean loss.
    noise_rates : None, float, or list of candidates, default=None
        Candidate noise rates. A pair within the list represents ``(rho_pos, rho_neg)``: one such
        candidate is ``[(0.3, 0.1)]``.
    scoring : {"accuracy", "am", "f", "cost"}, default="accuracy"
        What to choose by: accuracy, the arithmetic mean of the two classes' recalls, the F measure
        of the positive class, or the mean weighted cost of a row (its negative is the score).
    denoised : bool, default=False
        Whether the confusion counts are denoised before they are scored. Under symmetric noise,
        accuracy and AM on noisy labels rank candidates as clean labels would; F and cost **do
        not**, and must be denoised to be chosen by.
    scoring_cost : float or Costs, default=None
        The cost that ``scoring="cost"`` counts with, when `costs` holds more than one. With prices
        by row it counts in their money when None.
    scoring_noise_rate : float or pair of floats, default=None
        The rate that ``denoised=True`` denoises with, when `noise_rates` holds more than one.
    cv : int, splitter or iterable, default=5
        Folds; an int makes stratified ones. Splitters whose test sets partition the rows share one
        pass; any other (repeated, shuffled) costs two passes for each split.
    l2_scale, penalize_bias, pos_label
        As in `UnevenMarginClassifier`.

    Attributes
    ----------
    best_params_ : dict
        The chosen ``cost``, ``margin``, ``l2`` and ``noise_rate``. Ties go to the larger penalty,
        then to the first candidate.
    best_score_ : float
        Its mean score over folds.
    best_index_ : int
        Its place in `cv_results_`.
    best_estimator_ : UnevenMarginClassifier
        The chosen classifier, fitted to all rows.
    cv_results_ : dict of arrays
        As in `GridSearchCV`, candidates in the order of `ParameterGrid`. The work is shared, so
        every candidate is given the same share of the time.
    classes_, coef_, intercept_, moments_, n_clipped_, n_features_in_, feature_names_in_
        As in `UnevenMarginClassifier`.

    Notes
    -----
    Training moments of a fold are merges of the other folds' moments, never the total less the
    fold. Scores weigh rows by `sample_weight`. Nothing runs in parallel but the linear algebra:
    with two threads over blocks of rows, gathering fold moments gained nothing at 20 features and
    a third of its time at 50, some six milliseconds of 100,000 rows.

    Prices by row weigh rows as in `UnevenMarginClassifier`, whose notes say how, in units of their
    mean over all rows; ``best_params_["cost"]`` is then what was given as `costs`.
    ``scoring="cost"`` is what rows of the fold cost at their own prices, denoised without bias if
    that is asked for; the other measures count rows.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost import UnevenMarginClassifierCV
    >>> from flipcost.noise import flip_labels
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = rng.normal(size=(2000, 5)) + 0.5 * y[:, None]
    >>> noisy = flip_labels(y, 0.2, random_state=0)
    >>> search = UnevenMarginClassifierCV(
    ...     costs=0.25, margins=[0.5, 1, 2], noise_rates=0.2, scoring="cost", denoised=True
    ... ).fit(X, noisy)
    >>> sorted(search.best_params_)
    ['cost', 'l2', 'margin', 'noise_rate']
    >>> len(search.cv_results_["params"])
    12
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "costs": [Real, Costs, "array-like"],
        "margins": [Real, "array-like"],
        "l2s": [Real, "array-like"],
        "noise_rates": [None, Real, list, tuple, np.ndarray],
        "scoring": [StrOptions(set(MEASURES))],
        "denoised": ["boolean"],
        "scoring_cost": [Real, Costs, None],
        "scoring_noise_rate": [Real, "array-like", NoiseRate, None],
        "cv": [Integral, "cv_object"],
        "l2_scale": [StrOptions({"mean", "sum"})],
        "penalize_bias": ["boolean"],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        costs: float = 0.5,
        margins: float = 1.0,
        l2s: Any = (0.01, 0.1, 1.0, 10.0),
        noise_rates: Any = None,
        scoring: Measure = "accuracy",
        cv: Any = 5,
        *,
        denoised: bool = False,
        scoring_cost: Any = None,
        scoring_noise_rate: Any = None,
        l2_scale: Literal["mean", "sum"] = "mean",
        penalize_bias: bool = True,
        pos_label: Any = None,
    ) -> None:
        self.costs = costs
        self.margins = margins
        self.l2s = l2s
        self.noise_rates = noise_rates
        self.scoring = scoring
        self.cv = cv
        self.denoised = denoised
        self.scoring_cost = scoring_cost
        self.scoring_noise_rate = scoring_noise_rate
        self.l2_scale = l2_scale
        self.penalize_bias = penalize_bias
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, prices: Any = None
    ) -> Self:
        """Score every candidate on every fold, choose, and fit the choice to all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d), or Dask collection
            Rows. Those of a Dask collection are put into folds by `fit_table`.
        y : array-like of shape (n,), or Dask collection
            Labels: any two values.
        sample_weight : array-like of shape (n,), or Dask collection, optional
            Non-negative weights, in training and in scoring.
        groups : array-like of shape (n,), optional
            Rows of one group share a fold, or go to a splitter that takes groups.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count in place of
            `costs`; `predict` takes none.

        Returns
        -------
        self
        """
        table = dask_table(X, y, sample_weight, prices=prices)
        if table is not None:
            return self.fit_table(table)
        paid = prices_of(self.costs, prices, X)
        grid = self._grid(by_row=paid is not None)
        scored_by = self._scoring(grid, paid)
        X = validate_rows(self, X, reset=True)
        positive = self._read_labels(y, X.shape[0])
        weight = check_weights(sample_weight, X)
        rows = LabeledRows(X, positive, weight, prices=paid)
        # In units of what mistakes cost on average, over all rows whatever part is learned from.
        learned = rows if paid is None else replace(rows, prices=paid.relative(weight))

        started = perf_counter()
        folds, splits = folds_or_splits(self.cv, positive.astype(np.int8), groups)
        rounds: Any
        if splits is None:
            parts = _moments(learned, folds)
            training = merge_others(parts)
            total, rounds = parts[0].merge(training[0]), [(training, rows, folds)]
        else:
            total = _moments(learned)[0]
            rounds = ((_moments(learned.take(a)), rows.take(b), None) for a, b in splits)
        self._search(grid, rounds, scored_by, started)
        self._refit(total)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_table(self, table: Any) -> Self:
        """Do the same for a table that is never held: files, batches, a cluster, a database.

        Parameters
        ----------
        table : flipcost.scale.Table
            Made by one of `flipcost.scale`'s scan functions. One pass gathers the moments of all
            rows; another draws up to 200,000 rows, on which candidates are compared. Rows are put
            into folds by a hash of their position, or of the column ``fold_by`` of the table; `cv`
            must be the number of folds.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from flipcost import UnevenMarginClassifierCV
        >>> from flipcost.scale import scan_batches
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 1000)
        >>> X = rng.normal(size=(1000, 2)) + 2 * y[:, None]
        >>> table = scan_batches([(X[:400], y[:400]), (X[400:], y[400:])])
        >>> print(round(UnevenMarginClassifierCV().fit_table(table).best_score_, 2))
        0.93
        """
        check_table(table, self.costs)
        grid = self._grid()
        scored_by = self._scoring(grid)
        if not isinstance(self.cv, Integral):
            msg = (
                "`cv` must be the number of folds when a table is read in passes: its rows are put "
                f"into folds by a hash; got {self.cv!r}. Give `fold_by` to the table to keep rows "
                "of one group together."
            )
            raise ValueError(msg)
        started = perf_counter()
        labelled = self._fold_moments(table, int(self.cv))
        training = merge_others(labelled.parts)
        held = table.sample(n_folds=int(self.cv))
        rows = LabeledRows(held.X, held.y == labelled.labels[1], held.weight)
        self._search(grid, [(training, rows, held.folds)], scored_by, started)
        self._refit(labelled.parts[0].merge(training[0]))
        return self

    def _grid(self, *, by_row=False):
        """Return the candidate values by name, as lists."""
        rates = self.noise_rates
        if by_row and np.ndim(self.costs) > 0:
            msg = "`costs` must be one where costs differ by row, not a list of candidates."
            raise ValueError(msg)
        grid = {
            "cost": [self.costs] if by_row else [cost_share(c) for c in _as_list(self.costs)],
            "l2": _as_list(self.l2s),
            "margin": _as_list(self.margins),
            "noise_rate": [rates] if rates is None or np.isscalar(rates) else list(rates),
        }
        for name, values in grid.items():
            if not values:
                msg = f"`{name}s` must hold at least one candidate; got none. Give one or more."
                raise ValueError(msg)
        for rate in grid["noise_rate"]:
            rate_pair(rate)
        return grid

    def _scoring(self, grid, paid=None):
        """Return the cost to score by, None for that of each row, and the rate to denoise with."""
        cost = self.scoring_cost
        if self.scoring == "cost" and cost is None and paid is None:
            if len(grid["cost"]) > 1:
                msg = (
                    "`scoring_cost` must be given when scoring='cost' and `costs` holds several; "
                    "got None. Costs counted in different units cannot be compared: give the one "
                    "that mistakes really have."
                )
                raise ValueError(msg)
            cost = grid["cost"][0]
        rate = self.scoring_noise_rate
        if self.denoised and rate is None:
            if len(grid["noise_rate"]) > 1 or grid["noise_rate"][0] is None:
                msg = (
                    "`scoring_noise_rate` must be given when denoised=True and `noise_rates` is "
                    "not a single rate; got None. All candidates are judged at one rate: give it."
                )
                raise ValueError(msg)
            rate = grid["noise_rate"][0]
        return cost, rate if self.denoised else None

    def _score(self, paths, rows, folds, cost, rate):
        """Return what the coefficients of each fold score on rows that are held out there."""
        count = partial(fold_confusions, rows.X, rows.positive, paths, folds)
        paid = rows.prices
        if paid is None or self.scoring != "cost" or cost is not None:
            return measure(count(rows.weight).denoised(rate), self.scoring, cost or 0.5)
        # In the money of each row: those left weigh what a miss costs, the others an alarm.
        w = unit_weights(rows.weight, len(rows.positive))
        left, flagged = (count(w * part).counts for part in (paid.miss, paid.alarm))
        clean = unmixing_matrix(rate) @ np.stack([left[..., 0], flagged[..., 1]], axis=-1)
        return (clean[..., 1, 0] + clean[..., 0, 1]) / count(w).counts.sum(axis=(-2, -1))

    def _search(self, grid, rounds, scored_by, started):
        """Solve the grid from the training moments of each fold, score it, and choose.

        A round has the moments that some folds are trained on, and the rows that are held out, with
        their folds. Candidates are judged by a cost and a noise rate.
        """
        found, scoring = [], 0.0
        for training, rows, folds in rounds:
            paths = np.stack([self._path(moments, grid) for moments in training])
            solved = perf_counter()
            scores = (-1.0 if self.scoring == "cost" else 1.0) * self._score(
                paths, rows, folds, *scored_by
            )
            found.append(np.where(np.isnan(paths[..., -1]), np.nan, scores))
            scoring += perf_counter() - solved
        seconds = perf_counter() - started - scoring, scoring
        self._choose(grid, np.concatenate(found).T, seconds)

    def _path(self, moments, grid):
        """Solve the grid from training moments; NaN where a rate is impossible in this fold."""
        if not np.sum(moments.weight) > 0:
            msg = (
                "Every split of `cv` must leave rows with a positive weight to train on; got one "
                "that leaves none. Check the splitter and `sample_weight`."
            )
            raise ValueError(msg)
        possible = [k for k, rate in enumerate(grid["noise_rate"]) if moments.is_possible(rate)]
        shape = [len(grid[name]) for name in ("cost", "margin", "l2", "noise_rate")]
        path = np.full((*shape, moments.n_features + 1), np.nan)
        systems = denoised_systems(moments, [grid["noise_rate"][k] for k in possible])
        if systems:
            path[:, :, :, possible] = path_of_systems(
                systems,
                [0.5] if isinstance(moments, PricedMoments) else grid["cost"],
                grid["margin"],
                grid["l2"],
                l2_scale=self.l2_scale,
                penalize_bias=self.penalize_bias,
            )
        # Candidates in ParameterGrid's order: names sorted, the last one fastest.
        return np.swapaxes(path, 1, 2).reshape(-1, path.shape[-1])

    def _choose(self, grid, scores, seconds):
        candidates = list(ParameterGrid(grid))
        mean = scores.mean(axis=1)
        if np.isnan(mean).all():
            msg = (
                "At least one candidate must have a score on every fold; none has. Either each of "
                f"the noise rates {grid['noise_rate']} is impossible for the labels of some fold "
                f"(give smaller ones), or {self.scoring!r} is not defined there, as for a fold "
                "without both classes (use fewer folds, or another measure)."
            )
            raise ValueError(msg)
        if np.isnan(mean).any():
            lost = int(np.isnan(mean).sum())
            msg = (
                f"{lost} of {len(mean)} candidates were scored NaN: their noise rate is impossible "
                "for the labels of some fold, or the measure is not defined there. They were not "
                "chosen from; drop those rates, or use fewer folds."
            )
            warnings.warn(msg, DenoisingWarning, 4)
        best = np.nanmax(mean)
        tied = np.flatnonzero(mean >= best - _TIE * max(1.0, abs(best)))
        self.best_index_ = int(max(tied, key=lambda i: (candidates[i]["l2"], -i)))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        self.cv_results_ = _search_results(candidates, scores, seconds)

    def _refit(self, total):
        chosen = UnevenMarginClassifier(
            **self.best_params_,
            l2_scale=self.l2_scale,
            penalize_bias=self.penalize_bias,
            pos_label=self.pos_label,
        )
        chosen.n_features_in_ = self.n_features_in_
        chosen._solve(total, self.classes_)  # noqa: SLF001 - the same model
        self.best_estimator_ = chosen
        learned = ("moments_", "coef_", "intercept_", "n_clipped_")
        for name in (*learned, "_index", "_cost", "_margin"):
            setattr(self, name, getattr(chosen, name))


def _as_list(values):
    """Return candidates as a list; a single one becomes a list of one."""
    return [values] if np.ndim(values) == 0 else list(values)


def _moments(rows, folds=None):
    """Return the moments of the rows of each fold; prices are in units of their means."""
    n_folds = 1 if folds is None else int(folds.max()) + 1
    with moment_threads(rows.X.shape[1]):
        return row_moments(rows.X, rows.positive, rows.prices, folds, n_folds, rows.weight)


def _search_results(candidates, scores, seconds):
    """Lay scores out as GridSearchCV does."""
    n_candidates, n_splits = scores.shape
    results = {}
    for name, spent in zip(("fit_time", "score_time"), seconds, strict=True):
        results[f"mean_{name}"] = np.full(n_candidates, spent / scores.size)
        results[f"std_{name}"] = np.zeros(n_candidates)
    for name in candidates[0]:
        values = np.empty(n_candidates, dtype=object)
        values[:] = [candidate[name] for candidate in candidates]
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=False)
    results["params"] = candidates
    for k in range(n_splits):
        results[f"split{k}_test_score"] = scores[:, k]
    mean = scores.mean(axis=1)
    results["mean_test_score"] = mean
    results["std_test_score"] = scores.std(axis=1)
    worst = np.where(np.isnan(mean), -np.inf, mean)
    results["rank_test_score"] = rankdata(-worst, method="min").astype(np.int32)
    return results
