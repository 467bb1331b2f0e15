"""Trees of gradient boosting, grown on columns that are binned once.

Boosting of many parts of the same rows would bin them once each, and again whenever a boosting
grows on. `BinnedColumns` does it once for all, and a `Boosting` goes on from where it was. Trees
come from scikit-learn's grower, which has no public name: this is the one file that calls it. Where
a release moves it, the public class grows the same trees, slower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.quantiles import weighted_quantile
from flipcost.core.trees import Tree, read_tree, read_trees

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
        """Grow on by the public class, which bins codes anew each time."""
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
