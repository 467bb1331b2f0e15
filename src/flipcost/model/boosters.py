"""Trees of LightGBM, XGBoost and CatBoost, read as data.

None of these libraries is imported here: their fitted models can export their own trees.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logit

from flipcost.core.arrays import Array
from flipcost.core.trees import Tree, TreeSum, read_trees

# A leaf is its value; a split is a column, a threshold, whether missing values go left, and what
# follows on the left, where numbers are up to the threshold, and on the right.
_Split: TypeAlias = tuple[int, float, bool, Any, Any]


def trees_of(model: Any) -> TreeSum | None:
    """Return the trees whose sum is the log-odds of a fitted classifier; None if there are none.

    Also None if it splits categories, or transforms the sum of its trees.
    """
    kind = type(model).__module__.partition(".")[0], type(model).__name__
    if kind == ("sklearn", "HistGradientBoostingClassifier"):
        return read_trees(model)
    reading: dict[tuple[str, str], Callable[[Any], TreeSum | None]] = {
        ("lightgbm", "LGBMClassifier"): _lightgbm,
        ("xgboost", "XGBClassifier"): _xgboost,
        ("catboost", "CatBoostClassifier"): _catboost,
    }
    return reading[kind](model) if kind in reading else None


def _lightgbm(model: Any) -> TreeSum | None:
    content = model.booster_.dump_model()
    if content["objective"] != "binary sigmoid:1" or content["average_output"]:
        return None

    def look(node: dict[str, Any]) -> float | _Split:
        if "leaf_value" in node:
            return float(node["leaf_value"])
        cut, kind = node["threshold"], node["missing_type"]
        if node["decision_type"] != "<=" or kind == "Zero":
            raise LookupError
        missing_left = node["default_left"] if kind == "NaN" else cut >= 0  # missing counts as 0
        left, right = node["left_child"], node["right_child"]
        return node["split_feature"], cut, missing_left, left, right

    return _sum((tree["tree_structure"] for tree in content["tree_info"]), look, 0.0)


def _xgboost(model: Any) -> TreeSum | None:
    content = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    booster = content["gradient_booster"]
    is_plain = booster["name"] == "gbtree" and not any(
        any(tree["split_type"]) for tree in booster["model"]["trees"]
    )
    missing = model.get_params()["missing"]
    if content["objective"]["name"] != "binary:logistic" or not is_plain or missing == missing:
        return None
    trees = booster["model"]["trees"]
    trees = trees[: getattr(model, "best_iteration", len(trees)) + 1]

    def look(node: tuple[dict[str, Any], int]) -> float | _Split:
        tree, k = node
        left, value = tree["left_children"][k], tree["split_conditions"][k]
        if left < 0:
            return float(np.float32(value))
        # Left below the threshold, rounded as the value is.
        cut = _largest(np.nextafter(np.float32(value), np.float32(-np.inf)))
        below = (tree, left), (tree, tree["right_children"][k])
        return tree["split_indices"][k], cut, bool(tree["default_left"][k]), *below

    base = float(content["learner_model_param"]["base_score"].strip("[]"))
    return _sum(((tree, 0) for tree in trees), look, float(logit(base)))


def _catboost(model: Any) -> TreeSum | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content = json.loads(path.read_text(encoding="utf-8"))
    features = content["features_info"]
    if set(features) - {"float_features"} or "oblivious_trees" not in content:
        return None
    columns = [about["flat_feature_index"] for about in features["float_features"]]
    missing_left = [
        about["nan_value_treatment"] != "AsTrue" for about in features["float_features"]
    ]
    scale, (bias,) = content["scale_and_bias"]

    def look(node: tuple[dict[str, Any], int, int]) -> float | _Split:
        tree, depth, place = node
        splits = tree["splits"] or []
        if depth == len(splits):
            return float(scale * tree["leaf_values"][place])
        split = splits[depth]
        if split["split_type"] != "FloatFeature":
            raise LookupError
        k, cut = split["float_feature_index"], _largest(np.float32(split["border"]))
        below = (tree, depth + 1, place), (tree, depth + 1, place | 1 << depth)
        return columns[k], cut, missing_left[k], *below

    return _sum(((tree, 0, 0) for tree in content["oblivious_trees"]), look, float(bias))


def _largest(value: np.float32) -> float:
    """Return the largest number that rounds to this one in single precision."""
    above = np.nextafter(value, np.float32(np.inf))
    middle = (float(value) + float(above)) / 2
    return middle if np.float32(middle) == value else float(np.nextafter(middle, -np.inf))


def _sum(
    roots: Iterator[Any], look: Callable[[Any], float | _Split], base: float
) -> TreeSum | None:
    try:
        return TreeSum(tuple(_tree(root, look) for root in roots), base)
    except LookupError:  # a split of another kind
        return None


def _tree(root: Any, look: Callable[[Any], float | _Split]) -> Tree:
    """Return a tree whose nodes are numbered so that children follow their parents."""
    nodes: list[list[float]] = []
    waiting: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        if parent >= 0:
            nodes[parent][side] = len(nodes)
        found = look(node)
        if isinstance(found, float):
            nodes.append([0, 0.0, 0, 0, 0, found])
            continue
        column, cut, missing_left, left, right = found
        waiting += [(right, len(nodes), 4), (left, len(nodes), 3)]
        nodes.append([column, cut, missing_left, 0, 0, 0.0])
    columns: Array = np.array(nodes, dtype=float).T
    feature, left, right = (columns[k].astype(np.intp) for k in (0, 3, 4))
    return Tree(feature, columns[1], columns[2] > 0, left, right, columns[5], {})
