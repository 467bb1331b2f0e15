"""The boosting that is pooled with the closed form: small trees, scored out of few folds."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from joblib import cpu_count
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from flipcost._validation import take_rows
from flipcost.core.dependence import training_rows
from flipcost.core.quantiles import weighted_quantile
from flipcost.core.trees import OTHER_CODE, PackedTrees, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Boosting learns from so many rows of the rarer label at least, and from so many rows at most:
# above, its fits take longer than all else together.
_FEWEST_FOR_TREES, _MOST_FOR_TREES = 30, 100_000
# Boosting is scored out of so many folds, however many the others have.
_TREE_FOLDS = 5
# From so many rows on half of them teach what all do: on 20,000 rows with a fifth of the positives
# missed the mean cost over six draws was .0711 out of two folds, .0712 out of five. On 8,000 halves
# cost (.0747 and .0738), and threads there wait for each other.
MANY_ROWS = 20_000
# Bins of a column, as many as scikit-learn makes.
_BINS = 255
# Trees made ready, in 2 ms, for as long as their boosting is there; that is saved as it was.
_READY: WeakKeyDictionary[Any, PackedTrees] = WeakKeyDictionary()


def boosting_classifier(is_category: NDArray[np.bool_], seed: int) -> Any:
    """Return the boosting that is pooled: small trees, since labels are noisy.

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
    """Tell whether rows are enough, and few enough, to learn trees from.

    Of more columns than rows, some fit the labels by chance in any table, and trees find those.

    Examples
    --------
    >>> allows_trees(np.arange(100) < 29), allows_trees(np.arange(100) < 30)
    (False, True)
    >>> allows_trees(np.arange(100) < 30, 100)
    False
    """
    rarer = min(np.count_nonzero(positive), np.count_nonzero(~positive))
    return bool(rarer >= _FEWEST_FOR_TREES and n_columns < len(positive) <= _MOST_FOR_TREES)


def boosting_scores(
    trees: Any,
    cells: Array,
    positive: Flags,
    weight: Array | None,
    folds: NDArray[np.intp],
    *,
    forward: bool = False,
    keep: bool = True,
) -> tuple[Any, Array]:
    """Fit boosting on each training part and on all rows; return the latter, and scores.

    Many rows are held out in two halves, and fits run beside each other, each on one thread: they
    do not wait for each other, and give the same whatever the cores are.

    Parameters
    ----------
    trees : HistGradientBoostingClassifier
        Not fitted.
    cells : ndarray of shape (n, d)
        Rows, as it takes them.
    positive, weight, folds : arrays of n rows
        Which are positive, their weights or None, and their folds.
    forward : bool, default=False
        Whether a fold is scored by earlier ones only.
    keep : bool, default=True
        Whether to fit all rows too.

    Returns
    -------
    whole : HistGradientBoostingClassifier or None
        Fitted on all rows.
    scores : ndarray of shape (n,)
        Log-odds out of fold.

    Examples
    --------
    >>> X, positive = np.arange(90.0)[:, None], np.arange(90) > 40
    >>> trees = boosting_classifier(np.array([False]), 0)
    >>> fitted, scores = boosting_scores(trees, X, positive, None, np.arange(90) % 3)
    >>> scores.shape, bool(scores[80] > scores[10])
    ((90,), True)
    """
    n, labels = len(positive), positive.astype(int)
    told = cells if weight is None else coarse_columns(cells, trees.categorical_features, weight)
    many = n >= MANY_ROWS
    few = folds if forward else folds % (2 if many else _TREE_FOLDS)
    places = range(int(few.max()) + 1)
    parts = [training_rows(few, k, forward=forward) for k in places]

    def fitted(rows: NDArray[np.intp]) -> Any:
        by = {} if weight is None else {"sample_weight": weight[rows]}
        return clone(trees).fit(take_rows(told, rows), labels[rows], **by)

    def scored(k: int) -> tuple[NDArray[np.intp], Array]:
        rows = np.flatnonzero(few == k)
        model, held_out = fitted(parts[k]), take_rows(cells, rows)
        score = tree_scores(model, held_out) if many else model.decision_function(held_out)
        return rows, np.asarray(score, dtype=float)

    def all_rows() -> Any:
        return fitted(np.arange(n)) if keep else None

    if not many:
        whole, *held_out = _on_one_thread(lambda: [all_rows(), *map(scored, places)])
    else:
        with ThreadPoolExecutor(max(1, min(free_cores(), len(parts)))) as pool:
            # The longest fit first: the others fill the time that it takes.
            last = pool.submit(_on_one_thread, all_rows)
            held_out = list(pool.map(lambda k: _on_one_thread(lambda: scored(k)), places))
            whole = last.result()
    scores = np.empty(n)
    for rows, own in held_out:
        scores[rows] = own
    return whole, scores


def tree_scores(boosting: Any, cells: Array) -> Array:
    """Return the log-odds that fitted boosting gives rows, as its `decision_function` does.

    To 1e-12, in a tenth of its processor time or less: 1,000,000 x 20 rows took 0.11 s, and 1.2 to
    1.6 s.

    Parameters
    ----------
    boosting : HistGradientBoostingClassifier
        Fitted on two classes.
    cells : ndarray of shape (n, d)
        Rows, with codes of categories, and NaN where there is nothing.

    Examples
    --------
    >>> X = np.arange(90.0)[:, None]
    >>> boosting = boosting_classifier(np.array([False]), 0).fit(X, np.arange(90) > 40)
    >>> bool(np.allclose(tree_scores(boosting, X), boosting.decision_function(X)))
    True
    """
    ready = _READY.get(boosting)
    if ready is None:
        ready = _READY[boosting] = _packed(boosting)
    return ready.score(cells)


def _packed(boosting: Any) -> PackedTrees:
    """Read the trees of fitted boosting, in terms of the columns that it was given."""
    # scikit-learn keeps its trees under private names, and has since 0.21.
    predictors = [stage[0] for stage in boosting._predictors]  # noqa: SLF001
    baseline = float(np.ravel(boosting._baseline_prediction)[0])  # noqa: SLF001
    columns, known = np.arange(boosting.n_features_in_), {}
    if boosting.is_categorical_ is not None:
        # Categories come first, and are numbered anew.
        encoder = boosting._preprocessor.named_transformers_["encoder"]  # noqa: SLF001
        columns = np.argsort(~boosting.is_categorical_, kind="stable")
        known = dict(enumerate(encoder.categories_))
    return PackedTrees.of([_tree(tree, columns, known) for tree in predictors], baseline)


def _tree(predictor: Any, columns: NDArray[np.intp], known: Mapping[int, Array]) -> Tree:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    codes = {}
    for k in np.flatnonzero(inner & (nodes["is_categorical"] != 0)).tolist():
        sets = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][k]]
        left = np.unpackbits(sets.astype("<u4").view(np.uint8), bitorder="little").astype(bool)
        goes = np.full(OTHER_CODE + 1, bool(nodes["missing_go_to_left"][k]))
        for number, code in enumerate(known[int(nodes["feature_idx"][k])].tolist()):
            if 0 <= code < OTHER_CODE:  # a missing value is numbered too
                goes[int(code)] = left[number]
        codes[k] = goes
    return Tree(
        columns[nodes["feature_idx"].astype(np.intp)],
        nodes["num_threshold"],
        nodes["missing_go_to_left"] != 0,
        np.where(inner, nodes["left"], 0).astype(np.intp),
        np.where(inner, nodes["right"], 0).astype(np.intp),
        nodes["value"],
        codes,
    )


def coarse_columns(cells: Array, is_category: NDArray[np.bool_] | None, weight: Array) -> Array:
    """Return rows whose numbers take no more values than boosting has bins, by weighted quantiles.

    Boosting would find such bins itself, but of weighted rows by sorting a column once for each:
    four fifths of the time of a fit on 800 rows.

    Parameters
    ----------
    cells : ndarray of shape (n, d)
        Rows; NaN stays.
    is_category : ndarray of bool, shape (d,), or None
        Which columns hold codes of categories.
    weight : ndarray of shape (n,)
        Weights of the rows.

    Examples
    --------
    >>> X = np.arange(1000.0)[:, None]
    >>> coarse = coarse_columns(X, None, np.ones(1000))
    >>> len(np.unique(coarse)), bool(np.abs(coarse - X).max() < 4)
    (255, True)
    """
    made = np.array(cells, dtype=float)
    for j in range(made.shape[1]):
        column = made[:, j]
        known = np.flatnonzero(np.isfinite(column) & (weight > 0))
        if (is_category is not None and is_category[j]) or len(known) <= _BINS:
            continue
        values = column[known]
        if len(np.unique(values)) <= _BINS:
            continue
        edges = weighted_quantile(values, np.arange(1, _BINS) / _BINS, weight[known])
        place = np.searchsorted(np.unique(edges), values)
        count = np.bincount(place)
        mean = np.bincount(place, values) / np.maximum(count, 1)
        column[known] = mean[place]
    return made


def _on_one_thread(call: Callable[[], Any]) -> Any:
    """Call with one OpenMP thread; the limit is of the thread that this is called in."""
    with threadpool_limits(limits=1, user_api="openmp"):
        return call()


def free_cores() -> int:
    """Return how many threads can run at once: cores that this process may use, less busy ones.

    Examples
    --------
    >>> free_cores() >= 1
    True
    """
    cores = int(cpu_count())
    try:
        waiting = os.getloadavg()[0] - cores
    except (AttributeError, OSError):  # not every system tells
        return cores
    return int(np.clip(cores - round(max(waiting, 0.0)), 1, cores))
