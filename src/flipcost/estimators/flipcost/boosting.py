"""Gradient boosting among the scores: the mean of several, each of half of the rows.

Boosting follows the labels, and noisy ones lead it astray: on four tables with flipped labels, told
the rates, one boosting of 60 trees had a noise tax of 0.42, and the mean of eight boostings of
eight trees, each of the rows of half the folds, 0.28 (class-conditional flips: 0.31 and 0.12). Each
scores the other half: no row is scored by a boosting that has seen it, and none is fitted for that
alone, but where later rows may not score earlier ones.

How many trees there are is found out: two pairs of halves grow while the log-loss of held-out
labels, noisy as they are, falls; the others then grow once. Few rows with many wrong labels get 8
trees, 100,000 of a law that only trees see 64 and more.

Columns are binned once for all boostings (`BinnedColumns`), and a `Boosting` goes on from where it
was. Trees come from scikit-learn's grower, which has no public name; where a release moves it, the
public class grows the same trees, slower.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier

from flipcost._threads import free_cores, thread_limits
from flipcost._validation import take_rows
from flipcost.core.arrays import Array, Flags, Indices, weighted_quantile
from flipcost.core.dependence import training_rows
from flipcost.core.trees import Tree, TreeSum, read_tree, read_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

try:
    from sklearn.ensemble._hist_gradient_boosting.grower import TreeGrower
except ImportError:  # pragma: no cover - of releases to come
    TreeGrower = None

# Rows that the ends of bins are found from.
_SAMPLE_ROWS = 20_000
# Bins, and levels of a category, that fit in a byte beside the code of what is missing.
_MOST_BINS = 255


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Columns as numbers of bins; the last code is that of what is missing.

    `ends` holds the highest value of each bin of a column but the last. Levels of a category are
    its bins, and its ends their codes.
    """

    codes: NDArray[np.uint8]
    ends: tuple[Array, ...]
    is_category: Flags
    missing: int

    @classmethod
    def learn(
        cls, cells: Array, is_category: Flags, weight: Array | None, n_bins: int
    ) -> BinnedColumns:
        """Put numbers into bins of about equal weight, and take levels as they are."""
        levels = int(
            np.max(cells[:, is_category], initial=0.0, where=~np.isnan(cells[:, is_category]))
        )
        missing = min(max(n_bins, levels + 1), _MOST_BINS)
        codes = np.empty(cells.shape, np.uint8, order="F")
        step = max(1, len(cells) // _SAMPLE_ROWS)
        some = None if weight is None else weight[::step]
        ends = []
        for j, is_code in enumerate(is_category.tolist()):
            column = np.array(cells[:, j], dtype=float)
            ends.append(
                np.arange(float(missing)) if is_code else _ends(column[::step], some, n_bins)
            )
            found = column if is_code else np.searchsorted(ends[-1], column)
            codes[:, j] = np.where(np.isnan(column), missing, np.minimum(found, missing - 1))
        return cls(codes, tuple(ends), is_category, missing)


def _ends(column: Array, weight: Array | None, n_bins: int) -> Array:
    """Return where bins of a column end: between its values, or at quantiles of many."""
    known = np.isfinite(column)
    if weight is not None:
        known &= weight > 0
    values = np.sort(column[known]) if weight is None else column[known]
    distinct = np.unique(values)
    if len(distinct) <= n_bins:
        return np.asarray(distinct[:-1] / 2 + distinct[1:] / 2)
    levels = np.arange(1, n_bins) / n_bins
    if weight is None:
        return np.unique(values[(levels * len(values)).astype(np.intp)])
    return np.unique(weighted_quantile(values, levels, weight[known]))


@dataclass(frozen=True)
class BoostingOptions:
    """Size of trees and of steps, and the share of columns that each split may choose from."""

    learning_rate: float = 0.3
    max_leaf_nodes: int = 8
    min_samples_leaf: int = 15
    l2_regularization: float = 1.0
    max_features: float = 1.0


class Boosting:
    """Boosting on some of the rows that were binned; it can be grown on.

    Weights count by their ratios.

    Examples
    --------
    >>> X, positive = np.arange(90.0)[:, None], np.arange(90) > 40
    >>> from flipcost.core.trees import TreeSum
    >>> bins = BinnedColumns.learn(X, np.array([False]), None, 127)
    >>> boosting = Boosting(bins, np.arange(90), positive, None, BoostingOptions(), 0)
    >>> found = TreeSum(boosting.grown(20), boosting.baseline)
    >>> len(found.trees), bool(np.all((found.score(X) > 0) == positive))
    (20, True)
    """

    def __init__(
        self,
        bins: BinnedColumns,
        rows: Indices,
        positive: Flags,
        weight: Array | None,
        options: BoostingOptions,
        seed: int,
    ):
        self._bins, self._options, self._seed = bins, options, seed
        self._codes = np.asfortranarray(bins.codes[rows])
        self._labels = positive[rows].astype(np.float32)
        self._weight = None
        if weight is not None:
            self._weight = (weight[rows] / weight[rows].mean()).astype(np.float32)
        share = float(np.average(positive[rows], weights=self._weight))
        self.baseline = float(logit(share))
        self._score = np.full(len(rows), self.baseline)
        self._rng = np.random.default_rng(seed)
        self._has_missing = (self._codes == bins.missing).any(axis=0)
        # Levels that these rows do not have go where missing values go.
        self._levels = {
            int(j): np.unique(self._codes[:, j]).astype(float)
            for j in np.flatnonzero(bins.is_category)
        }
        self._public: Any = None

    def grown(self, n_trees: int) -> tuple[Tree, ...]:
        """Grow more trees, and return them."""
        if TreeGrower is None:
            return self._grown_in_public(n_trees)
        return tuple(self._next_tree() for _ in range(n_trees))

    def _next_tree(self) -> Tree:
        probability = expit(self._score.astype(np.float32))
        gradient = probability - self._labels
        hessian = probability * (1 - probability)
        if self._weight is not None:
            gradient *= self._weight
            hessian *= self._weight
        bins, options = self._bins, self._options
        n_bins = [len(e) + (not c) for e, c in zip(bins.ends, bins.is_category, strict=True)]
        grower = TreeGrower(
            X_binned=self._codes,
            gradients=gradient,
            hessians=hessian,
            n_bins=bins.missing + 1,
            n_bins_non_missing=np.array(n_bins, np.uint32),
            has_missing_values=self._has_missing.astype(np.uint8),
            is_categorical=bins.is_category.astype(np.uint8),
            max_leaf_nodes=options.max_leaf_nodes,
            min_samples_leaf=options.min_samples_leaf,
            l2_regularization=options.l2_regularization,
            feature_fraction_per_split=options.max_features,
            rng=self._rng,
            shrinkage=options.learning_rate,
            n_threads=1,
        )
        grower.grow()
        for leaf in grower.finalized_leaves:
            self._score[leaf.sample_indices] += leaf.value
        grown = grower.make_predictor(bins.ends)
        return read_tree(grown, np.arange(len(bins.ends)), self._levels)

    def _grown_in_public(self, n_trees: int) -> tuple[Tree, ...]:
        """Grow on with the public class, which bins codes anew each time."""
        bins, options = self._bins, self._options
        cells = np.where(self._codes == bins.missing, np.nan, self._codes)
        # It cannot bin a column in which nothing is known; one that is constant is not split.
        cells[:, np.isnan(cells).all(axis=0)] = 0.0
        have = 0 if self._public is None else self._public.max_iter
        if self._public is None:
            self._public = HistGradientBoostingClassifier(
                early_stopping=False,
                warm_start=True,
                categorical_features=bins.is_category if bins.is_category.any() else None,
                random_state=self._seed,
                **vars(options),
            )
        self._public.set_params(max_iter=have + n_trees)
        self._public.fit(cells, self._labels.astype(int), sample_weight=self._weight)
        trees = read_trees(self._public).trees[have:]
        return tuple(self._in_values(tree) for tree in trees)

    def _in_values(self, tree: Tree) -> Tree:
        """Return a tree of codes as one of the values that end bins."""
        threshold = tree.threshold.copy()
        for node in np.flatnonzero((tree.left > 0) & np.isfinite(threshold)).tolist():
            if node not in tree.codes:
                threshold[node] = self._bins.ends[tree.feature[node]][int(threshold[node])]
        return replace(tree, threshold=threshold)


_Part = TypeVar("_Part")
_Found = TypeVar("_Found")

# Boosting learns from this many rows of the rarer label at least.
FEWEST_FOR_TREES = 30
# Numbers of trees that are tried, each if the one before it was better than that before.
LENGTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128)
# This many pairs of halves, and boostings of them twice that; fewer of many rows, whose boostings
# differ less. This many choose the length. Regret where only trees see the signal, rates given,
# with two, four and six pairs: 0.175, 0.153 and 0.143 on 5,000 rows, 0.070, 0.061 and 0.060 on
# 30,000.
_PAIRS, _FEW_PAIRS, _CHOOSING = 4, 2, 2
_FEW_PAIRS_FROM = 50_000
# Longer boostings come of labels so clean that the pairs that chose the length do without others.
_ALL_PAIRS_UP_TO = 64
# Trees of 8 leaves had a regret of 0.145 and 0.052 there, those of 15 leaves 0.153 and 0.061.
_LEAVES, _STEP, _LEAST_ROWS = 8, 0.3, 15
# Half as many bins as scikit-learn makes were no worse, and take half the time to look through.
_BINS = 127
# The rival: as many bins as fit.
_RIVAL_BINS = 255
# Halves that lack a label are drawn again, so often at most.
_DRAWS = 20
# What a row without weight is, beside 0 for negative and 1 for positive.
_NEITHER = 2
# What many would fit is scored out of this many folds, however many there are.
_FEW_FOLDS = 5
# From this many rows on half of them teach plain classifiers what all do, and fits run beside each
# other; with fewer, threads wait for each other.
MANY_ROWS = 20_000


def boosting_classifier(is_category: NDArray[np.bool_], seed: int) -> Any:
    """Return plain boosting, as a rival: small trees, since labels are noisy.

    Examples
    --------
    >>> boosting_classifier(np.array([False, True]), 0).max_leaf_nodes
    15
    """
    return HistGradientBoostingClassifier(
        max_iter=60,
        learning_rate=0.1,
        max_leaf_nodes=15,
        l2_regularization=1.0,
        early_stopping=False,
        categorical_features=is_category if is_category.any() else None,
        random_state=seed,
    )


def allows_trees(positive: Flags, n_columns: int = 1) -> bool:
    """Tell whether rows are enough to learn trees from.

    Of more columns than rows, some fit the labels by chance in any table, and trees find those.

    Examples
    --------
    >>> allows_trees(np.arange(100) < 29), allows_trees(np.arange(100) < 30)
    (False, True)
    >>> allows_trees(np.arange(100) < 30, 100)
    False
    """
    rarer = min(np.count_nonzero(positive), np.count_nonzero(~positive))
    return bool(rarer >= FEWEST_FOR_TREES and n_columns < len(positive))


def boosting_scores(
    cells: Array,
    is_category: NDArray[np.bool_],
    positive: Flags,
    weight: Array | None,
    folds: Indices,
    *,
    forward: bool = False,
    seed: int = 0,
) -> tuple[TreeSum, Array] | None:
    """Average boostings of halves of the folds; return their mean, and log-odds out of fold.

    Cells hold codes of categories, and NaN where there is nothing. With `forward` a fold is scored
    by earlier ones only. None where halves of the folds do not have both labels. Boostings of many
    rows run beside each other, each on one thread: they do not wait for each other, and give the
    same whatever the cores are.

    Examples
    --------
    >>> X, positive = np.arange(90.0)[:, None], np.arange(90) > 40
    >>> boosting, scores = boosting_scores(X, np.array([False]), positive, None, np.arange(90) % 3)
    >>> scores.shape, bool(scores[80] > scores[10])
    ((90,), True)
    """
    n, kinds = len(positive), positive.astype(int)
    if weight is not None:  # a label without weight teaches nothing
        kinds = np.where(weight > 0, kinds, _NEITHER)
    halves = _halves(kinds, folds, np.random.default_rng(seed), forward=forward)
    if halves is None:
        return None
    share = float(np.clip(2 / max(len(is_category), 1), 0.5, 1.0))
    options = BoostingOptions(_STEP, _LEAVES, _LEAST_ROWS, max_features=share)
    bins = BinnedColumns.learn(cells, is_category, weight, _BINS)

    def start(half: _Half) -> _Growing:
        boosting = Boosting(bins, half.learned, positive, weight, options, half.seed)
        return _Growing(half, boosting, take_rows(cells, half.scored))

    growing = _each(start, halves, n)
    length = _best_length([one for one in growing if one.half.chooses], positive, weight)
    if length > _ALL_PAIRS_UP_TO:
        growing = [one for one in growing if one.half.is_first]
    _grow(growing, length, n)
    mean = TreeSum.mean([one.sum_of(length) for one in growing if one.half.kept])
    return mean, _mean_score(growing, length, n)[0]


class _Half(NamedTuple):
    """What one boosting learns from and scores, its seed, and what it is for.

    Those of the first pairs are always used, and those of them that score rows to be judged choose
    the length; new rows are scored by those that are kept.
    """

    learned: Indices
    scored: Indices
    seed: int
    is_first: bool
    kept: bool
    chooses: bool


class _Growing:
    """A boosting of a half, and what it gives the rows that it scores at each length it had."""

    def __init__(self, half: _Half, boosting: Boosting, cells: Array):
        self.half = half
        self._boosting, self._cells = boosting, cells
        self._trees: list[Tree] = []
        self.scores = {0: np.full(len(cells), boosting.baseline)}

    def reach(self, length: int) -> None:
        """Grow to this many trees, if there are fewer."""
        have = len(self._trees)
        if length > have:
            more = self._boosting.grown(length - have)
            self._trees += more
            self.scores[length] = self.scores[have] + TreeSum(more, 0.0).score(self._cells)

    def sum_of(self, length: int) -> TreeSum:
        """Return the sum of the first trees."""
        return TreeSum(tuple(self._trees[:length]), self._boosting.baseline)


def _grow(growing: Sequence[_Growing], length: int, n: int) -> None:
    """Let all boostings reach a length."""
    _each(lambda one: one.reach(length), growing, n)


def _best_length(growing: Sequence[_Growing], positive: Flags, weight: Array | None) -> int:
    """Return the number of trees up to which the log-loss of held-out labels falls."""
    best, least = LENGTHS[0], np.inf
    for length in LENGTHS:
        _grow(growing, length, len(positive))
        score, known = _mean_score(growing, length, len(positive))
        loss = np.logaddexp(0.0, np.where(positive, -score, score))[known]
        mean = float(np.average(loss, weights=None if weight is None else weight[known]))
        if not mean < least:
            break
        best, least = length, mean
    return best


def _mean_score(growing: Sequence[_Growing], length: int, n: int) -> tuple[Array, Flags]:
    """Return the mean score of each row, and which rows have one."""
    total, count = np.zeros(n), np.zeros(n)
    for one in growing:
        total[one.half.scored] += one.scores[length]
        count[one.half.scored] += 1
    return total / np.maximum(count, 1), count > 0


def _halves(
    kinds: NDArray[np.int_], folds: Indices, rng: np.random.Generator, *, forward: bool
) -> list[_Half] | None:
    """Return what is learned from: pairs of halves that score each other, or early folds a later.

    None where there is nothing to learn from without some folds.
    """
    n_folds, none = int(folds.max()) + 1, np.empty(0, np.intp)
    n_pairs = _PAIRS if len(kinds) < _FEW_PAIRS_FROM else _FEW_PAIRS
    found: list[_Half] = []

    def add(pair: int, learned: Indices, scored: Indices, *, kept: bool, evaluated: bool) -> None:
        seed, first = int(rng.integers(1 << 31)), pair < _CHOOSING
        learned = learned[kinds[learned] != _NEITHER]
        found.append(_Half(learned, scored, seed, first, kept, first and evaluated))

    for pair in range(n_pairs):
        half = _half(kinds, folds, np.arange(n_folds), rng)
        if half is None:
            return None
        sides = (np.flatnonzero(half), np.flatnonzero(~half))
        for one, other in (sides, sides[::-1]):
            add(pair, one, none if forward else other, kept=True, evaluated=not forward)
    for k in range(n_folds) if forward else ():
        before, scored = training_rows(folds, k, forward=True), np.flatnonzero(folds == k)
        if not _has_both(kinds[before]):
            return None
        for pair in range(n_pairs):
            half = _half(kinds[before], folds[before], np.unique(folds[before]), rng)
            learned = before if half is None else before[half]
            # The first fold is scored by later ones, and nothing is judged by it.
            add(pair, learned, scored, kept=False, evaluated=k > 0)
    return found


def _half(
    kinds: NDArray[np.int_], folds: Indices, some: Indices, rng: np.random.Generator
) -> Flags | None:
    """Tell which rows are in a random half of some folds; both sides have both labels, or None."""
    for _ in range(_DRAWS if len(some) > 1 else 0):
        half = np.isin(folds, rng.permutation(some)[: len(some) // 2])
        if _has_both(kinds[half]) and _has_both(kinds[~half]):
            return half
    return None


def _has_both(kinds: NDArray[np.int_]) -> bool:
    """Tell whether there are negative and positive labels."""
    return bool(np.any(kinds == 0) and np.any(kinds == 1))


def plain_scores(
    trees: Any,
    cells: Array,
    positive: Flags,
    weight: Array | None,
    folds: Indices,
    *,
    forward: bool = False,
) -> Array:
    """Return the log-odds that plain boosting, not fitted, gives rows out of fold.

    Examples
    --------
    >>> X, positive = np.arange(90.0)[:, None], np.arange(90) > 40
    >>> trees = boosting_classifier(np.array([False]), 0)
    >>> plain_scores(trees, X, positive, None, np.arange(90) % 3).shape
    (90,)
    """
    n, known = len(positive), trees.categorical_features
    is_category = np.zeros(cells.shape[1], bool) if known is None else known
    bins = BinnedColumns.learn(cells, is_category, weight, _RIVAL_BINS)
    names = ("learning_rate", "max_leaf_nodes", "min_samples_leaf", "l2_regularization")
    options = BoostingOptions(**{name: getattr(trees, name) for name in names})
    few = folds if forward else few_folds(folds)
    held_out = [np.flatnonzero(few == k) for k in range(int(few.max()) + 1)]

    def call(k: int) -> Array:
        rows = training_rows(few, k, forward=forward)
        if weight is not None:
            rows = rows[weight[rows] > 0]
        made = Boosting(bins, rows, positive, weight, options, int(trees.random_state))
        grown = TreeSum(made.grown(trees.max_iter), made.baseline)
        return grown.score(take_rows(cells, held_out[k]))

    scores = np.empty(n)
    for rows, own in zip(held_out, _each(call, range(len(held_out)), n), strict=True):
        scores[rows] = own
    return scores


def few_folds(folds: Indices) -> Indices:
    """Return fewer folds, five, or two of many rows, by which plain classifiers are held out.

    Examples
    --------
    >>> few_folds(np.arange(10)).tolist()
    [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    """
    return folds % (2 if len(folds) >= MANY_ROWS else _FEW_FOLDS)


def _each(call: Callable[[_Part], _Found], parts: Sequence[_Part], n_rows: int) -> list[_Found]:
    """Call with each part on one thread, several at a time where rows are many."""
    if n_rows < MANY_ROWS:
        return _on_one_thread(lambda: [call(part) for part in parts])
    with ThreadPoolExecutor(max(1, min(free_cores(), len(parts)))) as pool:
        return list(pool.map(lambda part: _on_one_thread(lambda: call(part)), parts))


def _on_one_thread(call: Callable[[], Any]) -> Any:
    """Call with one OpenMP thread; the limit is of the thread that this is called in."""
    with thread_limits(1, "openmp"):
        return call()
