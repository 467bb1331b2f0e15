"""Scheme 1 tuned by cross-validation: a whole grid from fold moments."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from time import perf_counter

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import ParameterGrid, check_cv

from flipcost._validation import (
    StrOptions,
    check_weights,
    encode_labels,
    fit_context,
    positive_index,
    validate_rows,
)
from flipcost.core.confusion import MEASURES, measure
from flipcost.core.costs import Costs, cost_share
from flipcost.core.folds import stratified_folds
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.noise import rate_pair
from flipcost.core.scoring import fold_confusions
from flipcost.core.solve import denoised_systems, path_of_systems
from flipcost.estimators._linear import LinearMomentsClassifier
from flipcost.estimators._uneven_margin import UnevenMarginClassifier
from flipcost.exceptions import DenoisingWarning

# Candidates whose mean scores differ by rounding only are tied.
_TIE = 1e-12


class UnevenMarginClassifierCV(LinearMomentsClassifier):
    """`UnevenMarginClassifier` with its cost, margin, penalty and noise rate cross-validated.

    The rows are read twice: once for the moments of every fold, once to score every candidate on
    the fold that it has not seen. All that lies between is small linear algebra, so a grid of
    hundreds of candidates takes about as long as one ordinary ridge fit.

    Parameters
    ----------
    costs : float, Costs or sequence of these, default=0.5
        Candidate costs.
    margins : float or sequence of floats, default=1.0
        Candidate margins.
    l2s : float or sequence of floats, default=(0.01, 0.1, 1.0, 10.0)
        Candidate penalties on the mean loss.
    noise_rates : None, float, or list of candidates, default=None
        Candidate noise rates. A pair within the list stands for ``(rho_pos, rho_neg)``: one such
        candidate is ``[(0.3, 0.1)]``.
    scoring : {"accuracy", "am", "f", "cost"}, default="accuracy"
        What to choose by: accuracy, the arithmetic mean of the two classes' recalls, the F measure
        of the positive class, or the mean weighted cost of a row (its negative is the score).
    denoised : bool, default=False
        Whether the confusion counts are denoised before they are scored. Under symmetric noise,
        accuracy and AM on noisy labels rank candidates as clean labels would; F and cost **do
        not**, and must be denoised to be chosen by.
    scoring_cost : float or Costs, default=None
        The cost that ``scoring="cost"`` counts with, when `costs` holds more than one.
    scoring_noise_rate : float or pair of floats, default=None
        The rate that ``denoised=True`` denoises with, when `noise_rates` holds more than one.
    cv : int, splitter or iterable, default=5
        Folds; an int makes stratified ones. Splitters whose test sets partition the rows share one
        pass; any other (repeated, shuffled) costs two passes for each split.
    l2_scale, penalise_bias, pos_label
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
    with two threads over folds the passes over the rows gained nothing at 20 features and a third
    of their time at 50, less than it takes to start a process.

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
        "scoring_noise_rate": [Real, "array-like", None],
        "cv": [Integral, "cv_object"],
        "l2_scale": [StrOptions({"mean", "sum"})],
        "penalise_bias": ["boolean"],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        costs=0.5,
        margins=1.0,
        l2s=(0.01, 0.1, 1.0, 10.0),
        noise_rates=None,
        scoring="accuracy",
        cv=5,
        *,
        denoised=False,
        scoring_cost=None,
        scoring_noise_rate=None,
        l2_scale="mean",
        penalise_bias=True,
        pos_label=None,
    ):
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
        self.penalise_bias = penalise_bias
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, groups=None):
        """Score every candidate on every fold, choose, and fit the choice to all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, in training and in scoring.
        groups : array-like of shape (n,), optional
            Groups for a splitter that takes them.

        Returns
        -------
        self
        """
        grid = self._grid()
        scoring = self._scoring(grid)
        X = validate_rows(self, X, reset=True)
        self.classes_, second = encode_labels(self, y, X.shape[0])
        positive = second if positive_index(self.classes_, self.pos_label) == 1 else ~second
        weight = check_weights(sample_weight, X)

        total, scores, seconds = self._cross_validate(X, positive, weight, groups, grid, scoring)
        self._choose(grid, scores, seconds)
        self._refit(total)
        return self

    def _grid(self):
        """Return the candidate values by name, as lists."""
        rates = self.noise_rates
        grid = {
            "cost": [cost_share(c) for c in _as_list(self.costs)],
            "l2": _as_list(self.l2s),
            "margin": _as_list(self.margins),
            "noise_rate": [rates] if rates is None or np.isscalar(rates) else list(rates),
        }
        for name, values in grid.items():
            if not values:
                msg = f"`{name}s` must hold at least one candidate; got none."
                raise ValueError(msg)
        for rate in grid["noise_rate"]:
            rate_pair(rate)
        return grid

    def _scoring(self, grid):
        """Return the arguments of `measure`, and the rate to denoise with."""
        cost = self.scoring_cost
        if self.scoring == "cost" and cost is None:
            if len(grid["cost"]) > 1:
                msg = (
                    "`scoring_cost` must be given when scoring='cost' and `costs` holds several: "
                    "costs counted in different units cannot be compared."
                )
                raise ValueError(msg)
            cost = grid["cost"][0]
        rate = self.scoring_noise_rate
        if self.denoised and rate is None:
            if len(grid["noise_rate"]) > 1 or grid["noise_rate"][0] is None:
                msg = (
                    "`scoring_noise_rate` must be given when denoised=True and `noise_rates` is "
                    "not a single rate: all candidates are judged at one rate."
                )
                raise ValueError(msg)
            rate = grid["noise_rate"][0]
        sign = -1.0 if self.scoring == "cost" else 1.0
        return sign, 0.5 if cost is None else cost, rate if self.denoised else None

    def _cross_validate(self, X, positive, weight, groups, grid, scoring):
        """Return the moments of all rows, scores of shape (candidates, splits), and the times."""
        passes = _passes(self.cv, positive, groups)
        total, columns = None, []
        seconds = np.zeros(2)
        for folds, n_folds, scored in passes:
            started = perf_counter()
            parts = fold_moments(X, positive, folds, n_folds, weight)
            others = merge_others(parts)
            total = parts[0].merge(others[0])
            paths = np.stack([self._path(others[k], grid) for k in scored])
            solved = perf_counter()
            kept = folds if len(scored) == n_folds else np.where(folds == scored[0], 0, -1)
            table = fold_confusions(X, positive, paths, kept, weight)
            columns.append(_score(table, paths, self.scoring, scoring))
            seconds += (solved - started, perf_counter() - solved)
        if len(passes) > 1:  # splits that leave rows out do not add up to all of them
            total = ClassMoments.from_rows(X, positive, weight)
        return total, np.concatenate(columns, axis=1), seconds

    def _path(self, moments, grid):
        """Solve the grid from training moments; NaN where a rate is impossible in this fold."""
        possible = [k for k, rate in enumerate(grid["noise_rate"]) if moments.is_possible(rate)]
        shape = [len(grid[name]) for name in ("cost", "margin", "l2", "noise_rate")]
        path = np.full((*shape, moments.n_features + 1), np.nan)
        systems = denoised_systems(moments, [grid["noise_rate"][k] for k in possible])
        if systems:
            path[:, :, :, possible] = path_of_systems(
                systems,
                grid["cost"],
                grid["margin"],
                grid["l2"],
                l2_scale=self.l2_scale,
                penalise_bias=self.penalise_bias,
            )
        # Candidates in ParameterGrid's order: names sorted, the last one fastest.
        return np.swapaxes(path, 1, 2).reshape(-1, path.shape[-1])

    def _choose(self, grid, scores, seconds):
        candidates = list(ParameterGrid(grid))
        mean = scores.mean(axis=1)
        if np.isnan(mean).all():
            msg = (
                "No candidate could be scored on every fold: each of the noise rates "
                f"{grid['noise_rate']} is impossible for the labels of some fold. "
                "Give smaller ones."
            )
            raise ValueError(msg)
        if np.isnan(mean).any():
            lost = int(np.isnan(mean).sum())
            msg = (
                f"{lost} of {len(mean)} candidates were scored NaN: their noise rate is impossible "
                "for the labels of some fold, or the measure is not defined there."
            )
            warnings.warn(msg, DenoisingWarning, 3)
        best = np.nanmax(mean)
        tied = np.flatnonzero(mean >= best - _TIE * max(1.0, abs(best)))
        self.best_index_ = int(max(tied, key=lambda i: (candidates[i]["l2"], -i)))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        self.cv_results_ = _results(candidates, scores, seconds)

    def _refit(self, total):
        self.best_estimator_ = UnevenMarginClassifier(
            **self.best_params_,
            l2_scale=self.l2_scale,
            penalise_bias=self.penalise_bias,
            pos_label=self.pos_label,
        ).fit_moments(total, self.classes_)
        for name in ("moments_", "coef_", "intercept_", "n_clipped_", "_sign", "_cost", "_margin"):
            setattr(self, name, getattr(self.best_estimator_, name))


def _as_list(values):
    return [values] if np.ndim(values) == 0 else list(values)


def _passes(cv, positive, groups):
    """Turn splits into passes over the rows: (fold of each row, number of folds, folds to score).

    Test sets that partition the rows, each with its complement for training, make one pass.
    Any other split is a pass of its own with training rows in fold 0 and test rows in fold 1.
    """
    if isinstance(cv, Integral):
        return [(stratified_folds(positive, int(cv)), int(cv), range(int(cv)))]
    n = len(positive)
    fold = np.full(n, -1, np.int16)
    partition = True
    single = []
    splits = check_cv(cv, positive, classifier=True).split(
        np.empty((n, 0)), positive.astype(np.int8), groups
    )
    for k, (train, test) in enumerate(splits):
        codes = np.full(n, -1, np.int8)
        codes[train] = 0
        partition &= bool((codes[test] < 0).all() and (fold[test] < 0).all())
        codes[test] = 1
        partition &= bool((codes >= 0).all())
        fold[test] = k
        single.append(codes)
    if partition and (fold >= 0).all():
        return [(fold, len(single), range(len(single)))]
    return [(codes, 2, [1]) for codes in single]


def _score(table, paths, name, scoring):
    """Return scores of shape (candidates, folds); NaN for candidates without a solution."""
    sign, cost, rate = scoring
    scores = sign * measure(table.denoised(rate), name, cost)
    return np.where(np.isnan(paths[..., -1]), np.nan, scores).T


def _results(candidates, scores, seconds):
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
