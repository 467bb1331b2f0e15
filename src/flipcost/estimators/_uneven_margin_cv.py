"""Scheme 1 tuned by cross-validation: a whole grid from fold moments."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import ParameterGrid

from flipcost._threads import moment_threads
from flipcost._validation import StrOptions, check_weights, fit_context, validate_rows
from flipcost.core.confusion import MEASURES, ConfusionCounts, measure
from flipcost.core.costs import Costs, RowCosts, cost_share, prices_of
from flipcost.core.moments import fold_moments, merge_others
from flipcost.core.noise import rate_pair
from flipcost.core.rates import NoiseRate
from flipcost.core.scoring import fold_confusions
from flipcost.core.solve import (
    PricedMoments,
    denoised_systems,
    fold_priced_moments,
    merge_other_prices,
    path_of_systems,
    priced_systems,
)
from flipcost.estimators._uneven_margin import UnevenMarginClassifier
from flipcost.estimators.base import (
    LinearMomentsClassifier,
    PricedScoreMixin,
    check_table,
    dask_table,
    is_dask,
    name_features,
    oriented,
    refuse_prices,
)
from flipcost.estimators.folds import chosen_rows, folds_or_splits
from flipcost.exceptions import DenoisingWarning


def as_list(values: Any) -> list[Any]:
    """Return candidates as a list; a single one becomes a list of one."""
    return [values] if np.ndim(values) == 0 else list(values)


class PaidCounts(NamedTuple):
    """What wrong calls cost by label and call, and the weight of the rows."""

    paid: Any
    weight: Any

    def cost(self, noise_rate: Any) -> Any:
        """Return what a row costs on average, denoised without bias if a rate is given."""
        clean = self.paid.denoised(noise_rate)
        return (clean[..., 1, 0] + clean[..., 0, 1]) / self.weight


def paid_confusions(count: Any, prices: Any, weight: Any) -> PaidCounts:
    """Count labels against calls: uncalled rows by what a miss costs, called ones by an alarm.

    A miss is a positive row that was not called, so that the two columns of calls need the two
    prices, whichever label a row has.

    Parameters
    ----------
    count : callable
        From weights of rows to `ConfusionCounts`.
    prices : RowCosts
        Of the rows.
    weight : ndarray of shape (n,)
        Weights of the rows.
    """
    parts = [count(weight * part) for part in (prices.miss, prices.alarm)]
    tables = np.stack([part.counts[..., call] for call, part in enumerate(parts)], axis=-1)
    total = count(weight).counts.sum(axis=(-2, -1))
    return PaidCounts(ConfusionCounts(tables, tables), total)


def score_candidates(table: Any, paths: Any, name: Any, scoring: Any) -> Any:
    """Return scores of shape (candidates, folds); NaN for candidates without a solution."""
    sign, cost, rate = scoring
    if isinstance(table, PaidCounts):
        scores = sign * table.cost(rate)
    else:
        scores = sign * measure(table.denoised(rate), name, cost)
    return np.where(np.isnan(paths[..., -1]), np.nan, scores).T


def search_results(candidates: Any, scores: Any, seconds: Any) -> dict[str, Any]:
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


# Candidates whose mean scores differ by rounding only are tied.
_TIE = 1e-12


class UnevenMarginClassifierCV(PricedScoreMixin, LinearMomentsClassifier):
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
        scoring: str = "accuracy",
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
        if is_dask(X):
            if prices is not None:
                refuse_prices("a Dask collection")
            return self.fit_table(dask_table(X, y, sample_weight))
        paid = prices_of(self.costs, prices, X)
        grid = self._grid(by_row=paid is not None)
        scoring = self._scoring(grid, paid)
        X = validate_rows(self, X, reset=True)
        positive = self._read_labels(y, X.shape[0])
        weight = check_weights(sample_weight, X)

        rows = _Rows(X, positive, weight, paid)
        total, scores, seconds = self._cross_validate(rows, groups, grid, scoring)
        self._choose(grid, scores, seconds)
        self._refit(total)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_table(self, table: Any) -> Self:
        """Do the same in two passes over a table that is never held: files, batches, a cluster.

        Parameters
        ----------
        table : flipcost.scale.Table
            Made by `scan_parquet`, `scan_csv`, `scan_batches` or `scan_dask`. Its rows are put into
            folds by a hash of their position, or of the column ``fold_by`` of the table; `cv` must
            be the number of folds.

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
        if isinstance(self.costs, Costs) and self.costs.is_by_row:
            refuse_prices("a table")
        grid = self._grid()
        scoring = self._scoring(grid)
        check_table(table)
        if not isinstance(self.cv, Integral):
            msg = (
                "`cv` must be the number of folds when a table is read in passes: its rows are put "
                f"into folds by a hash; got {self.cv!r}. Give `fold_by` to the table to keep rows "
                "of one group together."
            )
            raise ValueError(msg)
        started = perf_counter()
        self.classes_, labelled = oriented(table, int(self.cv), self.pos_label)
        self.n_features_in_ = labelled.parts[0].n_features
        name_features(self, labelled.names)
        training = merge_others(labelled.parts)
        gathered = perf_counter() - started

        def count(paths):
            return table.confusions(paths, labelled.labels)

        scores, seconds = self._judge(training, count, grid, scoring)
        self._choose(grid, scores, seconds + np.array([gathered, 0]))
        self._refit(labelled.parts[0].merge(training[0]))
        return self

    def _grid(self, *, by_row=False):
        """Return the candidate values by name, as lists."""
        rates = self.noise_rates
        if by_row and np.ndim(self.costs) > 0:
            msg = "`costs` must be one where prices differ by row, not a list of candidates."
            raise ValueError(msg)
        grid = {
            "cost": [self.costs] if by_row else [cost_share(c) for c in as_list(self.costs)],
            "l2": as_list(self.l2s),
            "margin": as_list(self.margins),
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
        """Return the arguments of `measure`, and the rate to denoise with; no cost for money."""
        cost = self.scoring_cost
        in_money = paid is not None and self.scoring == "cost" and cost is None
        if self.scoring == "cost" and cost is None and not in_money:
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
        sign = -1.0 if self.scoring == "cost" else 1.0
        used = None if in_money else 0.5 if cost is None else cost
        return sign, used, rate if self.denoised else None

    def _cross_validate(self, rows, groups, grid, scoring):
        """Return the moments of all rows, scores of shape (candidates, splits), and the times."""
        folds, splits = folds_or_splits(self.cv, rows.positive.astype(np.int8), groups)
        started = perf_counter()
        money = scoring[1] is None
        if folds is not None:
            parts = rows.moments(folds, int(folds.max()) + 1, rows.weight)
            training = rows.merge_others(parts)
            gathered = perf_counter() - started
            count = partial(rows.confusions, folds=folds, sample_weight=rows.weight, money=money)
            scores, seconds = self._judge(training, count, grid, scoring)
            return parts[0].merge(training[0]), scores, seconds + np.array([gathered, 0])
        total = rows.moments(None, 1, rows.weight)[0]
        columns, seconds = [], np.array([perf_counter() - started, 0.0])
        for trained, tested in splits:
            started = perf_counter()
            training = rows.moments(n_folds=1, **chosen_rows(trained, rows.weight))
            seconds[0] += perf_counter() - started
            count = partial(rows.confusions, **chosen_rows(tested, rows.weight), money=money)
            scores, spent = self._judge(training, count, grid, scoring)
            columns.append(scores)
            seconds += spent
        return total, np.concatenate(columns, axis=1), seconds

    def _judge(self, training, count, grid, scoring):
        """Solve the grid from each fold's training moments; score it on that fold's rows.

        ``count`` takes coefficients by fold to confusion counts, wherever the rows are.
        """
        started = perf_counter()
        paths = np.stack([self._path(moments, grid) for moments in training])
        solved = perf_counter()
        scores = score_candidates(count(paths), paths, self.scoring, scoring)
        return scores, np.array([solved - started, perf_counter() - solved])

    def _path(self, moments, grid):
        """Solve the grid from training moments; NaN where a rate is impossible in this fold."""
        if not np.sum(moments.weight) > 0:
            msg = (
                "Every split of `cv` must leave rows with a positive weight to train on; got one "
                "that leaves none. Check the splitter and `sample_weight`."
            )
            raise ValueError(msg)
        by_row = isinstance(moments, PricedMoments)
        possible = [k for k, rate in enumerate(grid["noise_rate"]) if moments.is_possible(rate)]
        shape = [len(grid[name]) for name in ("cost", "margin", "l2", "noise_rate")]
        width = (moments.miss if by_row else moments).n_features + 1
        path = np.full((*shape, width), np.nan)
        denoise = priced_systems if by_row else denoised_systems
        systems = denoise(moments, [grid["noise_rate"][k] for k in possible])
        if systems:
            path[:, :, :, possible] = path_of_systems(
                systems,
                [0.5] if by_row else grid["cost"],
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
            warnings.warn(msg, DenoisingWarning, 3)
        best = np.nanmax(mean)
        tied = np.flatnonzero(mean >= best - _TIE * max(1.0, abs(best)))
        self.best_index_ = int(max(tied, key=lambda i: (candidates[i]["l2"], -i)))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        self.cv_results_ = search_results(candidates, scores, seconds)

    def _refit(self, total):
        chosen = UnevenMarginClassifier(
            **self.best_params_,
            l2_scale=self.l2_scale,
            penalize_bias=self.penalize_bias,
            pos_label=self.pos_label,
        )
        if isinstance(total, PricedMoments):
            chosen.n_features_in_ = self.n_features_in_
            chosen._solve(total, self.classes_)  # noqa: SLF001 - the same model, of prices
        else:
            chosen.fit_moments(total, self.classes_)
        self.best_estimator_ = chosen
        learned = ("moments_", "coef_", "intercept_", "n_clipped_")
        for name in (*learned, "_index", "_sign", "_cost", "_margin"):
            setattr(self, name, getattr(chosen, name))


@dataclass(frozen=True)
class _Rows:
    """Rows in memory, with prices of their own or without, as moments and as counts."""

    X: Any
    positive: Any
    weight: Any
    prices: RowCosts | None

    def moments(self, folds: Any, n_folds: int, sample_weight: Any) -> list[Any]:
        if self.prices is None:
            with moment_threads(self.X.shape[1]):
                return list(fold_moments(self.X, self.positive, folds, n_folds, sample_weight))
        given = (self.X, self.positive, self.prices, folds, n_folds, sample_weight)
        # One unit for all folds and splits.
        unit = np.ones(len(self.positive)) if self.weight is None else self.weight
        with moment_threads(self.X.shape[1]):
            return list(fold_priced_moments(*given, unit=unit))

    def merge_others(self, parts: Any) -> list[Any]:
        return list(merge_others(parts) if self.prices is None else merge_other_prices(parts))

    def confusions(self, paths: Any, folds: Any, sample_weight: Any, *, money: bool) -> Any:
        """Count labels against calls, rows weighed by what a wrong call costs if in money."""
        count = partial(fold_confusions, self.X, self.positive, paths, folds)
        if not money or self.prices is None:
            return count(sample_weight)
        weight = np.ones(len(self.positive)) if sample_weight is None else sample_weight
        return paid_confusions(count, self.prices, weight)
