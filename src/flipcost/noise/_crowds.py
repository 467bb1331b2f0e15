"""Labels of several annotators: the true label of each item, and the error rates of each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from flipcost._validation import is_missing
from flipcost.core.annotators import CrowdFit, calibrate, fit_crowd
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.confusion import Interval
from flipcost.core.noise import NoiseRate, check_level, clopper_pearson, rate_of_disagreement
from flipcost.estimators import FlipCostClassifier
from flipcost.exceptions import FlipCostError, shorten
from flipcost.noise._columns import noise_rate, read_columns

# With columns: the largest number of rounds, and the change in probability that ends them.
_ROUNDS, _SETTLED = 8, 0.02
# Known truths that are enough to calibrate probabilities.
_FEW_TRUTHS = 20
# Annotators too few to tell how much they differ. Taken for much alike they decide best, and the
# rates of one who errs in 3% beside seven of 30% are covered 0.73 of the time; 0.87 otherwise.
_FEW_WORKERS = 10


@dataclass(frozen=True)
class WorkerRates:
    """How often an annotator errs.

    Attributes
    ----------
    worker : object
        Name of the annotator.
    n_labels : int
        Number of labels given.
    miss_rate, false_alarm_rate : Interval
        Share of true positives labelled negative, and of true negatives labelled positive.
    """

    worker: Any
    n_labels: int
    miss_rate: Interval
    false_alarm_rate: Interval


class CrowdLabels:
    """Labels of several annotators, of the same items or of different ones.

    Made by `from_long` or `from_wide`.

    Attributes
    ----------
    items_, workers_ : ndarray
        Names of the items and of the annotators, in the order of the arrays below.
    classes_ : pair
        The negative label and the positive one.
    probability_ : ndarray of shape (n_items,)
        Probability that an item is truly positive, after `fit`.
    rates_ : tuple of WorkerRates
        Of each annotator, after `fit`.
    share_ : Interval
        The share of true positives, after `fit`.
    vote_, vote_rates_ : ndarray of bool, shape (n_items,), and pair of Interval
        What the labels of an item say by themselves, columns left out, and how often that is wrong:
        the shares of true positives and of true negatives. After `fit`.
    is_calibrated_ : bool
        Whether probabilities were calibrated by known truths, after `fit`. Without these they are
        overconfident where annotators find the same items hard.

    Examples
    --------
    >>> import numpy as np
    >>> import flipcost as fc
    >>> rng = np.random.default_rng(0)
    >>> true = rng.random(500) < 0.3
    >>> labels = true[:, None] ^ (rng.random((500, 3)) < [0.05, 0.2, 0.3])
    >>> crowd = fc.CrowdLabels.from_wide(labels).fit()
    >>> right = (crowd.probability_ > 0.5) == true
    >>> majority = (labels.sum(axis=1) > 1) == true
    >>> print(f"right: {right.mean():.3f}, of the majority {majority.mean():.3f}")
    right: 0.944, of the majority 0.904
    >>> [round(rates.miss_rate.value, 2) for rates in crowd.rates_]
    [0.04, 0.2, 0.33]
    """

    def __init__(
        self,
        items: NDArray[Any],
        workers: NDArray[Any],
        classes: tuple[Any, Any],
        item: Indices,
        worker: Indices,
        label: Flags,
    ) -> None:
        self.items_, self.workers_, self.classes_ = items, workers, classes
        self._item, self._worker, self._label = item, worker, label

    @classmethod
    def from_long(
        cls, item: ArrayLike, worker: ArrayLike, label: ArrayLike, *, pos_label: Any = None
    ) -> CrowdLabels:
        """Read one row for each label: the item, the annotator, the label.

        Parameters
        ----------
        item, worker : array-like of shape (n,)
            Names of items and annotators, without missing values.
        label : array-like of shape (n,)
            Labels: two values. Rows where it is missing are skipped.
        pos_label : label, default=None
            The positive class; the larger of the two labels when None.

        Returns
        -------
        CrowdLabels
        """
        table, known = read_columns({"label": label}, pos_label, optional=("label",))
        found, classes = table[:, 0], _both(known)
        names = [np.asarray(column) for column in (item, worker)]
        for name, column in zip(("item", "worker"), names, strict=True):
            if column.shape != found.shape:
                msg = f"`{name}` must have a value for each of the {len(found):,} labels."
                raise FlipCostError(msg)
            if is_missing(column).any():
                msg = f"`{name}` must be known of every label; leave out the rows without."
                raise FlipCostError(msg)
        seen = ~np.isnan(found)
        coded = [_in_order(column) for column in names]
        items, workers = (values for values, _ in coded)
        codes = [code[seen] for _, code in coded]
        pairs = codes[0] * len(workers) + codes[1]
        _, first, times = np.unique(pairs, return_index=True, return_counts=True)
        if times.max(initial=0) > 1:
            place = int(first[np.argmax(times)])
            pair = workers[codes[1][place]], items[codes[0][place]]
            who, what = (getattr(name, "item", lambda name=name: name)() for name in pair)
            msg = (
                f"Each worker may label an item once; {who!r} labels {what!r} {times.max()} times. "
                "Keep one of them."
            )
            raise FlipCostError(msg)
        return cls(items, workers, classes, codes[0], codes[1], found[seen] == 1)

    @classmethod
    def from_wide(cls, table: Any, *, pos_label: Any = None) -> CrowdLabels:
        """Read one row for each item, and one column for each annotator.

        Parameters
        ----------
        table : frame, mapping of columns, or array-like of shape (n_items, n_workers)
            Labels: two values; missing labels are None, NaN or NA.
        pos_label : label, default=None
            The positive class; the larger of the two labels when None.

        Returns
        -------
        CrowdLabels
        """
        if hasattr(table, "columns") or isinstance(table, Mapping):
            names = list(table.keys() if isinstance(table, Mapping) else table.columns)
            columns = {str(name): np.asarray(table[name]) for name in names}
        else:
            rows = np.asarray(table)
            if rows.ndim != 2:
                msg = f"`table` must have a column for each annotator; got shape {rows.shape}."
                raise FlipCostError(msg)
            columns = {str(k): column for k, column in enumerate(rows.T)}
        labels, known = read_columns(columns, pos_label, optional=columns)
        item, worker = np.nonzero(~np.isnan(labels))
        items, workers = np.arange(len(labels)), np.array(list(columns))
        return cls(items, workers, _both(known), item, worker, labels[item, worker] == 1)

    def fit(
        self, gold: Any = None, X: Any = None, *, level: float = 0.95, random_state: Any = None
    ) -> CrowdLabels:
        """Estimate the true label of each item, and the error rates of each annotator.

        Parameters
        ----------
        gold : mapping, or array-like of shape (n_items,), default=None
            True labels, by item, or in the order of `items_` and missing elsewhere. They are taken
            as correct; from 20 on, they calibrate the probabilities.
        X : array-like or frame of shape (n_items, d), default=None
            Columns of the items, in the order of `items_`. The out-of-fold probability of a
            classifier is then the prior of each item; the two are fitted in turn until they settle.
        level : float, default=0.95
            Level of the intervals.
        random_state : int, default=None
            Seed of the classifier.

        Returns
        -------
        self
        """
        truth, level = self._truth(gold), check_level(level)
        if not len(self._item):
            msg = "There must be labels to learn from; got none."
            raise FlipCostError(msg)
        prior: Array | None = None
        found = self._fit(truth, prior, level)
        if X is not None:
            found, prior = self._with_columns(X, truth, level, found, random_state)
        if self._are_few:
            found = replace(found, rates=self._fit(truth, prior, level, pooled=False).rates)
        known = ~np.isnan(truth)
        self.is_calibrated_ = int(known.sum()) >= _FEW_TRUTHS
        odds = logit(np.clip(found.probability, 1e-12, 1 - 1e-12))
        if self.is_calibrated_:
            odds = odds * calibrate(found.probability, truth)
        self.probability_ = np.where(known, truth, expit(odds))
        numbers = np.bincount(self._worker, minlength=len(self.workers_)).tolist()
        self.rates_ = tuple(
            WorkerRates(who, n, *rates)
            for who, n, rates in zip(self.workers_.tolist(), numbers, found.rates, strict=True)
        )
        self.share_ = found.share
        self.vote_, self.vote_rates_ = found.vote, found.vote_rates
        return self

    def noise_rate(
        self, worker: Any, *, class_conditional: bool = False, level: float = 0.95
    ) -> NoiseRate:
        r"""Return how often an annotator errs, as the rate of labels to learn from.

        Needs no `fit`. Items with two labels or more count. Two annotators are taken to err
        equally often: they disagree with probability :math:`2\rho(1-\rho)`, and that is solved for
        the rate. Of three and more each has rates of its own.

        Parameters
        ----------
        worker : label
            One of `workers_`.
        class_conditional : bool, default=False
            Whether to estimate a rate for each class, ``(rho_pos, rho_neg)``. It takes three
            annotators: two leave one more unknown than there are shares to compute it from.
        level : float, default=0.95
            Confidence level of the interval; of each interval when there are two.

        Returns
        -------
        NoiseRate

        Warns
        -----
        UserWarning
            When two annotators disagree on more than half of the items, beyond sampling error.
        """
        table = self._table()
        table = table[(table >= 0).sum(axis=1) >= 2]
        if not len(table):
            msg = (
                "There must be rows with at least two labels; got none. Have some rows labelled "
                "again, or use an estimate that needs no second label."
            )
            raise FlipCostError(msg)
        silent = self.workers_[(table < 0).all(axis=0)].tolist()
        if silent:
            msg = (
                "Each column must have labels in rows that another has labelled; got none in "
                f"{shorten(silent)}. Leave that column out."
            )
            raise FlipCostError(msg)
        others = self.workers_ != worker
        if others.all():
            msg = f"`worker` must be one of {shorten(self.workers_.tolist())}; got {worker!r}."
            raise FlipCostError(msg)
        table = np.hstack([table[:, ~others], table[:, others]])
        kinds, counts = np.unique(table, axis=0, return_counts=True)
        return rate_of_patterns(
            kinds, counts.astype(float), class_conditional=class_conditional, level=level
        )

    def doubled(self) -> tuple[Indices, Flags, Array]:
        """Return rows to learn from: each item twice, with weights by its probability.

        Returns
        -------
        item : ndarray of int
            Place of the item, which groups its two rows.
        positive : ndarray of bool
            Label with which it enters.
        weight : ndarray
            Its weight, above zero.
        """
        item = np.concatenate([np.arange(len(self.items_))] * 2)
        positive = np.arange(len(item)) < len(self.items_)
        weight = np.concatenate([self.probability_, 1 - self.probability_])
        some = weight > 1e-6
        return item[some], positive[some], weight[some]

    def _table(self) -> NDArray[np.int8]:
        """Return labels by item and annotator; -1 is none."""
        table = np.full((len(self.items_), len(self.workers_)), -1, dtype=np.int8)
        table[self._item, self._worker] = self._label
        return table

    @property
    def _are_few(self) -> bool:
        return len(self.workers_) <= _FEW_WORKERS

    def _fit(
        self, truth: Array, prior: Array | None, level: float, *, pooled: bool = True
    ) -> CrowdFit:
        item, worker, label, counts = self._item, self._worker, self._label, None
        kind = np.arange(len(self.items_))
        if self._are_few and prior is None:
            # Many items are labelled alike: fit one item of each pattern.
            known = np.where(np.isnan(truth), -1, truth).astype(np.int8)
            table = np.column_stack([self._table(), known])
            kinds, kind, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
            item, worker = np.nonzero(kinds[:, :-1] >= 0)
            label = kinds[item, worker] == 1
            truth, kind = np.where(kinds[:, -1] < 0, np.nan, kinds[:, -1]), kind.reshape(-1)
        found = fit_crowd(
            item, worker, label, len(truth), counts=counts, truth=truth, prior=prior, level=level,
            n_workers=len(self.workers_), pooled=pooled,
        )  # fmt: skip
        return replace(found, probability=found.probability[kind], vote=found.vote[kind])

    def _with_columns(
        self, X: Any, truth: Array, level: float, found: CrowdFit, random_state: Any
    ) -> tuple[CrowdFit, Array]:
        """Fit a classifier to the probabilities of items, and these to the classifier, in turn."""
        n = len(self.items_)
        if len(X) != n:
            msg = f"`X` must have a row for each of the {n:,} items; got {len(X):,}."
            raise FlipCostError(msg)
        rows = np.tile(np.arange(n), 2)
        twice = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        labels = np.repeat([1, 0], n)
        before = found.probability
        for _ in range(_ROUNDS):
            chance = np.where(np.isnan(truth), found.probability, truth)
            weight = np.clip(np.concatenate([chance, 1 - chance]), 1e-6, 1)
            model = FlipCostClassifier(
                noise_rate=0.0, features="splines", random_state=random_state
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(twice, labels, sample_weight=weight, groups=rows)
            prior = np.clip(model.oof_probability_[:n], 0.001, 0.999)
            found = self._fit(truth, prior, level)
            if np.abs(found.probability - before).mean() < _SETTLED / 10:
                break
            before = found.probability
        return found, prior

    def _truth(self, gold: Any) -> Array:
        """Return 1, 0 or NaN for each item."""
        n = len(self.items_)
        if gold is None:
            return np.full(n, np.nan)
        if isinstance(gold, Mapping):
            unknown = sorted(set(gold) - set(self.items_.tolist()), key=str)
            if unknown:
                msg = f"`gold` names items that have no label: {shorten(unknown)}."
                raise FlipCostError(msg)
            gold = [gold.get(item) for item in self.items_.tolist()]
        values = np.asarray(gold, dtype=object)
        if values.shape != (n,):
            msg = f"`gold` must have a place for each of the {n:,} items; got shape {values.shape}."
            raise FlipCostError(msg)
        truth = np.full(n, np.nan)
        seen = ~is_missing(values)
        others = [value for value in values[seen].tolist() if value not in self.classes_]
        if others:
            msg = f"`gold` must hold {shorten(self.classes_)}; got also {shorten(set(others))}."
            raise FlipCostError(msg)
        truth[seen] = values[seen] == self.classes_[1]
        return truth


def _in_order(column: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Return the distinct values in order of appearance, and the index of each entry."""
    try:
        values, first, codes = np.unique(column, return_index=True, return_inverse=True)
    except TypeError as error:
        msg = f"Names must be of one kind; got kinds that cannot be compared ({error})."
        raise FlipCostError(msg) from error
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return values[order], place[codes.reshape(-1)]


def _both(known: list[Any]) -> tuple[Any, Any]:
    """Return the negative and the positive label."""
    if len(known) < 2:
        msg = "Labels must have two values; got one only. Check the column or the filter."
        raise FlipCostError(msg)
    return known[0], known[1]


def rate_of_patterns(
    labels: NDArray[Any], counts: Array, *, class_conditional: bool = False, level: float = 0.95
) -> NoiseRate:
    """Return the rate of the first of two or more annotators, see `CrowdLabels.noise_rate`.

    Parameters
    ----------
    labels : ndarray of shape (n_patterns, n_annotators)
        Patterns of labels: 1, 0, or -1 where one is missing.
    counts : ndarray of shape (n_patterns,)
        Rows with each pattern.
    class_conditional : bool, default=False
        Whether to estimate a rate for each class.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    NoiseRate

    Examples
    --------
    >>> labels = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 0]])
    >>> print(rate_of_patterns(labels, np.array([80, 80, 40])))
    0.198, 95% interval 0.147 to 0.257 (first of 3 labels on 200 rows)
    """
    if labels.shape[1] == 2:
        return _rate_of_two(labels, counts, class_conditional=class_conditional, level=level)
    row, worker = np.nonzero(labels >= 0)
    positive = labels[row, worker] == 1
    symmetric = not class_conditional
    found = fit_crowd(
        row, worker, positive, len(labels), counts=counts, symmetric=symmetric, pooled=False,
        level=level,
    )  # fmt: skip
    first = found.rates[0][: 2 if class_conditional else 1]
    limits = np.array([[rate.value, rate.low, rate.high] for rate in first]).T
    value, low, high = np.minimum(limits, 0.5 if symmetric else 1.0)
    source = f"first of {labels.shape[1]} labels on {int(counts.sum())} rows"
    return noise_rate(value, low, high, source, level)


def _rate_of_two(
    labels: NDArray[Any], counts: Array, *, class_conditional: bool, level: float
) -> NoiseRate:
    """Return the rate at which either of two annotators errs, by how often they disagree."""
    if class_conditional:
        msg = (
            "Rates for each class need at least three columns of labels; got two. Give a third, or "
            "estimate one rate with class_conditional=False."
        )
        raise FlipCostError(msg)
    differ, rows = int(counts[labels[:, 0] != labels[:, 1]].sum()), int(counts.sum())
    low, high = clopper_pearson(differ, rows, level)
    if low > 0.5:
        warnings.warn(
            f"The two columns disagree in {differ} of {rows} rows, more than independent flips "
            "can explain. Check that both code the classes in the same way.",
            UserWarning,
            stacklevel=5,
        )
    value, low, high = rate_of_disagreement(np.array([[differ / rows], [low], [high]]))
    return noise_rate(value, low, high, f"disagreement of two labels on {rows:,} rows", level)
