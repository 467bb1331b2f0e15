"""What the parts of a model must be, so that using it can neither crash, nor hang, nor lie.

Types alone do not make a model: compiled code follows the nodes of trees wherever they point, and a
curve above one is no probability. All of this is looked at before the model is handed out.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from flipcost._persist import _types
from flipcost.core.calibration import TABLE
from flipcost.core.costs import Costs, takes_prices
from flipcost.core.decision import CONSTANTS
from flipcost.core.trees import MOST_LEAVES, OTHER_CODE, Tree, TreeSum
from flipcost.exceptions import UnreadableError

_LEAF = -1
_ROUNDING = 1e-9
# What may go wrong when attributes are missing or of another kind.
_WRONG = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def check_tree(args: Any, held: Any) -> None:
    """Check what a tree of scikit-learn's is made from, before it is made."""
    try:
        n_features, n_classes, n_outputs = args
        nodes, values = held["nodes"], held["values"]
        count = held["node_count"]
        whole = all(type(n) is int and n > 0 for n in (n_features, n_outputs, count))
        _demand(whole and type(held["max_depth"]) is int)
        _demand(n_classes.shape == (n_outputs,) and n_classes.min() >= 1)
        _demand(nodes.shape == (count,))
        _demand(values.shape == (count, n_outputs, int(n_classes.max())))
        left, right = nodes["left_child"], nodes["right_child"]
        leaf = left == _LEAF
        _demand(np.array_equal(leaf, right == _LEAF))
        _demand(_depth(left, right, ~leaf) == held["max_depth"])
        _demand(_within(nodes["feature"][~leaf], n_features))
        _demand(not np.isnan(nodes["threshold"][~leaf]).any() and np.isfinite(values).all())
    except _WRONG as error:
        refuse("a tree", error)


def check_made(made: Sequence[Any]) -> None:
    """Check all objects of a model, each by itself and as parts of each other.

    Parameters
    ----------
    made : sequence
        All that was made for the model; nothing of it has been called yet.
    """
    # Trees are checked through their owners, who know how wide their rows are.
    owned: set[int] = set()
    for thing in made:
        name = _name(thing)
        check, owns = _CHECKS.get(name), _OWNERS.get(name)
        try:
            if owns is not None:
                owned.update(id(tree) for tree in owns(thing))
            if check is not None:
                check(thing)
            if name in _types.OURS and "classes_" in vars(thing):
                _check_classifier(thing)
        except _WRONG as error:
            refuse(f"a {type(thing).__name__}", error)
        _limit_jobs(thing)
    for thing in made:
        if _name(thing) in (_types.TREE, _types.PREDICTOR) and id(thing) not in owned:
            refuse("a tree")


def try_out(model: Any) -> None:
    """Let a model of our own answer for two rows of zeros, which a whole one can.

    Parameters
    ----------
    model : object
        What a file gave, checked; one that holds estimators of others is left alone, since their
        rows may be of any kind.
    """
    held = vars(model) if _name(model) in _types.OURS else {}
    borrowed = held.get("estimator") is not None or not isinstance(held.get("features", ""), str)
    if borrowed or not {"classes_", "n_features_in_"} <= set(held):
        return
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            rows = np.zeros((2, int(model.n_features_in_)))
            # Where prices differ by row, any will do to try it out.
            cost, result = held.get("cost"), held.get("_result")
            by_row = isinstance(cost, Costs) and cost.is_by_row
            by_row = by_row or (result is not None and result.options.by_row)
            by_row = (by_row or held.get("_by_row", False)) and takes_prices(model)
            prices = {"prices": np.ones((2, 2))} if by_row else {}
            _demand(np.isin(model.predict(rows, **prices), model.classes_).all())
            shares = model.predict_proba(rows)
            _demand(shares.shape == (2, 2) and bool(np.all((shares >= 0) & (shares <= 1))))
    except _WRONG as error:
        refuse(f"a {type(model).__name__}", error)


def _demand(holds: Any) -> None:
    if not holds:
        raise ValueError


def refuse(what: str, cause: Exception | None = None) -> NoReturn:
    """Refuse a file for what it describes."""
    msg = f"it describes {what} that cannot be"
    raise UnreadableError(msg) from cause


def _name(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _depth(left: NDArray[Any], right: NDArray[Any], inner: NDArray[np.bool_]) -> int:
    """Return how deep a tree is; refuse one that is none.

    Every node but the first must be the child of one that comes before it: then every way down
    ends, within the tree.
    """
    places = np.flatnonzero(inner)
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    parents = np.concatenate([places, places])
    _demand(np.array_equal(np.sort(children), np.arange(1, len(left))))
    _demand(np.all(children > parents))
    depth, level = 0, np.zeros(1, dtype=np.int64)
    while True:
        level = level[inner[level]]
        if not len(level):
            return depth
        level = np.concatenate([left[level], right[level]]).astype(np.int64)
        depth += 1


def _within(places: NDArray[Any], n: int) -> bool:
    return not len(places) or bool(places.min() >= 0 and places.max() < n)


def _finite(*values: Any) -> bool:
    return all(bool(np.isfinite(np.asarray(value, dtype=float)).all()) for value in values)


def _shares(*values: Any) -> bool:
    parts = [np.asarray(value, dtype=float) for value in values]
    return all(bool(np.all((p >= -_ROUNDING) & (p <= 1 + _ROUNDING))) for p in parts)


def _width(thing: Any) -> int:
    n = vars(thing)["n_features_in_"]
    _demand(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0)
    return int(n)


# Owners of trees: check them, and return the trees.


def _decision_tree(model: Any) -> list[Any]:
    if "tree_" not in vars(model):
        return []
    _demand(_name(model.tree_) == _types.TREE)
    _demand(model.tree_.n_features == _width(model) and model.tree_.n_outputs == 1)
    return [model.tree_]


def _forest(model: Any) -> list[Any]:
    if "estimators_" in vars(model):
        _check_members(model, model.estimators_)
        _demand(model.n_outputs_ == 1 and model.n_classes_ == len(model.classes_))
    return []


def _gradient_boosting(model: Any) -> list[Any]:
    if "estimators_" in vars(model):
        # Of two classes only: compiled code adds to as many columns as there are trees a round.
        _demand(model.estimators_.ndim == 2 and model.estimators_.shape[1] == 1)
        _demand(model.n_trees_per_iteration_ == 1 and len(model.classes_) == 2)
        _demand(model.n_classes_ == 2 and vars(model)["_loss"].n_classes == 2)
        _check_members(model, model.estimators_.ravel())
    return []


def _check_members(model: Any, members: Any) -> None:
    width = _width(model)
    for member in members:
        _demand(_name(member) in _MEMBERS and "tree_" in vars(member))
        _demand(_width(member) == width)


def _histogram_boosting(model: Any) -> list[Any]:
    held = vars(model)
    if "_predictors" not in held:
        return []
    width, rounds, mapper = _width(model), held["_predictors"], held["_bin_mapper"]
    n_trees = held["n_trees_per_iteration_"]
    _demand(
        not held.get("_in_fit", False)
        and n_trees == (1 if len(model.classes_) == 2 else len(model.classes_))
    )
    _demand(all(isinstance(trees, list) and len(trees) == n_trees for trees in rounds))
    start = held["_baseline_prediction"]
    _demand(start.shape == (1, n_trees) and _finite(start))
    category = np.asarray(mapper.is_categorical_, dtype=bool)
    _demand(category.shape == (width,) and len(mapper.bin_thresholds_) == width)
    if held["_preprocessor"] is not None:
        _check_recoding(held["_preprocessor"], width)
    trees = [tree for some in rounds for tree in some]
    for tree in trees:
        _demand(_name(tree) == _types.PREDICTOR)
        _check_predictor(tree, width, category)
    return trees


def _check_predictor(tree: Any, width: int, category: NDArray[np.bool_]) -> None:
    nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
    _demand(nodes.ndim == 1 and len(nodes) and sets.dtype == np.uint32)
    _demand(sets.ndim == 2 and sets.shape[1] == 8)
    inner = nodes["is_leaf"] == 0
    _depth(nodes["left"], nodes["right"], inner)
    splits = nodes[inner]
    _demand(_within(splits["feature_idx"], width) and np.isfinite(nodes["value"]).all())
    by_category = splits[splits["is_categorical"] != 0]
    _demand(category[by_category["feature_idx"]].all())
    _demand(_within(by_category["bitset_idx"], len(sets)))
    _demand(not np.isnan(splits["num_threshold"]).any())


def _check_recoding(recoding: Any, width: int) -> None:
    """Check what puts categories first for boosting: rows must leave it as wide as they came."""
    _demand(_name(recoding) == "sklearn.compose._column_transformer.ColumnTransformer")
    _demand(_width(recoding) == width)
    columns = 0
    for _, step, which in recoding.transformers_:
        if isinstance(step, str):
            _demand(step == "drop" and not np.any(which))
            continue
        _demand(_name(step) in _RECODERS and np.asarray(which).dtype == bool)
        _demand(np.shape(which) == (width,))
        columns += int(np.sum(which))
        if "categories_" in vars(step):
            _demand(len(step.categories_) == int(np.sum(which)))
    _demand(columns == width)


# Other parts.


def _one_hot(encoder: Any) -> None:
    """Columns are counted, not looked up: too few of them would be written beyond."""
    held = vars(encoder)
    if "categories_" not in held:
        return
    sizes = [len(levels) for levels in encoder.categories_]
    _demand(all(np.ndim(levels) == 1 for levels in encoder.categories_))
    if held.get("_infrequent_enabled", False):
        for place, mapping in enumerate(held["_default_to_infrequent_mappings"]):
            if mapping is not None:
                _demand(np.shape(mapping) == (sizes[place],) and _within(mapping, sizes[place]))
                sizes[place] = int(np.max(mapping)) + 1
    dropped = held["_drop_idx_after_grouping"]
    if dropped is not None:
        _demand(len(dropped) == len(sizes))
        for place, index in enumerate(dropped):
            if index is not None:
                _demand(0 <= index < sizes[place])
                sizes[place] -= 1
    _demand(list(held["_n_features_outs"]) == sizes)


def _post_init(thing: Any) -> None:
    """Run what a value of ours checks when it is made by hand."""
    thing.__post_init__()


def _moments(moments: Any) -> None:
    moments.__post_init__()
    moments.check()


def _interval(interval: Any) -> None:
    _demand(not np.isnan([interval.value, interval.low, interval.high]).any())


def _bins(bins: Any) -> None:
    _demand(_finite(bins.location, bins.scale, bins.centre) and bins.scale > 0)
    counts = [bins.positive, bins.negative]
    _demand(all(part.shape == bins.centre.shape and np.all(part >= 0) for part in counts))
    _demand(_finite(*counts))
    if bins.checked is not None:
        _demand(bins.checked.shape == (2, 2, len(bins.centre)) and np.all(bins.checked >= 0))


def _posterior(posterior: Any) -> None:
    _demand(posterior.rates.shape == (len(posterior.weight), 2) and len(posterior.weight))
    _demand(_shares(posterior.rates, posterior.weight) and abs(posterior.weight.sum() - 1) < 1e-6)
    if posterior.wide_rates is not None:
        n = len(posterior.wide_weight)
        _demand(posterior.wide_rates.shape == (n, 2) and len(posterior.anything) == n)
        _demand(_shares(posterior.wide_rates, posterior.wide_weight))


def _hinges(basis: Any) -> None:
    _demand(type(basis.n_features) is int and basis.n_features >= 0)
    _demand(basis.knot.ndim == 1 and basis.feature.shape == basis.knot.shape)
    _demand(_within(basis.feature, basis.n_features) and _finite(basis.knot))


def _moment_scores(scores: Any) -> None:
    coefficients = scores.coefficients
    _demand(coefficients.ndim == 2 and coefficients.shape[1] == scores.basis.n_columns + 1)
    _demand(_finite(coefficients))


def _tree_sum(made: Any) -> None:
    """Trees are whole; rows are as wide as the pool says."""
    _demand(type(made.baseline) is float and np.isfinite(made.baseline))
    _demand(type(made.trees) is tuple and all(type(tree) is Tree for tree in made.trees))
    for tree in made.trees:
        n = len(tree.left)
        arrays = (tree.feature, tree.threshold, tree.missing_left, tree.left, tree.right)
        _demand(all(part.shape == (n,) for part in (*arrays, tree.value)) and _finite(tree.value))
        _demand(all(part.dtype.kind == "i" for part in (tree.feature, tree.left, tree.right)))
        _demand(all(part.dtype.kind == "f" for part in (tree.threshold, tree.value)))
        _demand(tree.missing_left.dtype == bool and tree.n_steps < MOST_LEAVES)
        inner = tree.left > 0
        _demand(np.array_equal(inner, tree.right > 0))
        _depth(tree.left, tree.right, inner)
        _demand(not np.isnan(tree.threshold[inner]).any() and np.all(tree.feature >= 0))
        for node, goes in tree.codes.items():
            _demand(type(node) is int and 0 <= node < n and inner[node])
            _demand(goes.dtype == bool and goes.shape == (OTHER_CODE + 1,))


def _pooled(scores: Any) -> None:
    if isinstance(scores.boosting, TreeSum):
        most = max((tree.feature.max() for tree in scores.boosting.trees), default=0)
        _demand(most < len(scores.encoder.cell_names))
    n_single = len(scores.smooth.coefficients) + (scores.boosting is not None)
    used = {part for parts in scores.averages for part in parts}
    _demand(all(type(part) is int and 0 <= part < n_single for part in used))
    _demand(all(len(parts) for parts in scores.averages))
    _demand(_finite(scores.location, scores.scale) and np.all(np.asarray(scores.scale) > 0))
    _demand(len(scores.location) == len(scores.scale) and len(scores.scale) > max(used, default=-1))


def _curves(curves: Any) -> None:
    """Curves are shares of one probability: each in [0, 1], and their sum too."""
    m = len(curves.which)
    _demand(m and curves.curves.shape == (m, len(TABLE)))
    _demand(curves.location.shape == curves.scale.shape == (m,))
    _demand(_finite(curves.location, curves.scale) and np.all(curves.scale > 0))
    _demand(_shares(curves.curves, curves.curves.sum(axis=0)) and np.min(curves.which) >= 0)


def _sample(sample: Any) -> None:
    n = len(sample.positive)
    _demand(sample.positive.dtype == bool and sample.weight.shape == (n,))
    _demand(_finite(sample.weight) and np.all(sample.weight >= 0))
    _demand(
        sample.position is None or (sample.position.shape == (n,) and sample.position.min() >= 0)
    )


def _band(band: Any) -> None:
    ends = [end for rate in (band.positives, band.negatives) for end in (rate.low, rate.high)]
    _demand(type(band.n_checked) is int and band.n_checked >= 0)
    _demand(_shares(np.array([band.low, band.high, band.share, *ends], dtype=float)))


def _prevalence(prevalence: Any) -> None:
    _demand(0 < prevalence.low < prevalence.high < 1)


def _options(options: Any) -> None:
    _demand(0 < options.cost < 1 and 0 < options.level < 1)


def _result(result: Any) -> None:
    _demand(result.chosen in ("rule", *CONSTANTS))
    _demand(_shares(result.probability, result.scorer_weights))


def _check_classifier(model: Any) -> None:
    """Check what our classifiers have in common."""
    held = vars(model)
    _demand(np.shape(model.classes_) == (2,))
    if "coef_" in held:
        _demand(model.coef_.shape == (1, _width(model)) and model.intercept_.shape == (1,))
        _demand(_finite(model.coef_, model.intercept_))


def _limit_jobs(thing: Any) -> None:
    """Let a model of a larger machine start no more workers here than there are cores."""
    jobs = getattr(thing, "__dict__", {}).get("n_jobs")
    if jobs is not None:
        _demand_int(jobs)
        thing.n_jobs = min(int(jobs), os.cpu_count() or 1)


def _demand_int(jobs: Any) -> None:
    if not isinstance(jobs, int | np.integer):
        refuse("a number of workers")


_MEMBERS = frozenset(name for name in _types.SKLEARN if name.startswith("sklearn.tree._classes."))
_RECODERS = frozenset(
    [
        "sklearn.preprocessing._encoders.OrdinalEncoder",
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
    ]
)
_BOOSTING = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
_OWNERS: Mapping[str, Callable[[Any], list[Any]]] = {
    **dict.fromkeys(_MEMBERS, _decision_tree),
    "sklearn.ensemble._forest.ExtraTreesClassifier": _forest,
    "sklearn.ensemble._forest.RandomForestClassifier": _forest,
    "sklearn.ensemble._gb.GradientBoostingClassifier": _gradient_boosting,
    f"{_BOOSTING}.HistGradientBoostingClassifier": _histogram_boosting,
}
_CHECKS: Mapping[str, Callable[[Any], None]] = {
    "sklearn.preprocessing._encoders.OneHotEncoder": _one_hot,
    "flipcost.core.noise_by_score.RateBand": _band,
    "flipcost.core.calibration.ScoreBins": _bins,
    "flipcost.core.confusion.Interval": _interval,
    "flipcost.core.costs.Costs": _post_init,
    "flipcost.core.hinges.HingeBasis": _hinges,
    "flipcost.core.moments.ClassMoments": _moments,
    "flipcost.core.noise_posterior.RatePosterior": _posterior,
    "flipcost.core.rates.NoiseRate": _post_init,
    "flipcost.core.noise_posterior.PrevalencePrior": _prevalence,
    "flipcost.core.trees.TreeSum": _tree_sum,
    "flipcost.estimators.flipcost.options.FitOptions": _options,
    "flipcost.estimators.flipcost.result.FitResult": _result,
    "flipcost.estimators.flipcost.result.ScoreCurves": _curves,
    "flipcost.estimators.flipcost.sample.TableSample": _sample,
    "flipcost.estimators.flipcost.scores.RidgeScores": _moment_scores,
    "flipcost.estimators.flipcost.scores.PooledScores": _pooled,
}
