"""From a fitted model to a formula; what has none is refused in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from flipcost._validation import check_is_fitted, positive_index
from flipcost.core.costs import Costs, cost_share
from flipcost.core.trees import Tree, TreeSum, read_trees
from flipcost.estimators import (
    FlipCostClassifier,
    NoiseAwareThresholdClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
)
from flipcost.exceptions import ExportError
from flipcost.export._formula import Formula, Link, Split, additive_terms, with_columns_used
from flipcost.tables.plain import (
    Column,
    Feature,
    NumberFeature,
    TableFeature,
    plain_features,
    read_columns,
)
from flipcost.tables.reader import ColumnReader

if TYPE_CHECKING:
    from flipcost.core.arrays import Array
    from flipcost.estimators.flipcost.predictor import PooledRule
    from flipcost.tables.encoder import Encoder

_KINDS = "a pipeline that `flipcost audit` saved, FlipCostClassifier or UnevenMarginClassifier(CV)"

# Boosting may split at a value itself, and engines round sines each in their own way; days differ
# by a thousand times as much at least.
_TURN = 1e-9
# Trees, and what is added to their sum.
_Trees: TypeAlias = tuple[tuple[Split | float, ...], float]
_NO_TREES: _Trees = ((), 0.0)


def read_model(model: Any) -> Formula:
    """Return what a model computes.

    Parameters
    ----------
    model : Pipeline, FlipCostClassifier, UnevenMarginClassifier or UnevenMarginClassifierCV
        Fitted.

    Returns
    -------
    Formula

    Examples
    --------
    >>> from flipcost import UnevenMarginClassifier
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> formula = read_model(UnevenMarginClassifier(cost=0.25).fit(X, y))
    >>> formula.threshold, formula.labels
    (0.25, ('False', 'True'))
    """
    if not isinstance(model, Pipeline):
        check_is_fitted(model)
        return _of_classifier(model, None, None)
    steps = [step for _, step in model.steps]
    if len(steps) != 3 or not isinstance(steps[0], ColumnReader):
        names = ", ".join(type(step).__name__ for step in steps)
        msg = f"A pipeline of {names} cannot be exported; give {_KINDS}."
        raise ExportError(msg)
    check_is_fitted(steps[0])
    try:
        features = plain_features(steps[0], steps[1])
    except TypeError as error:
        msg = f"{error} Give {_KINDS}."
        raise ExportError(msg) from error
    return _of_classifier(steps[2], read_columns(steps[0]), features)


def _of_classifier(
    model: Any, columns: tuple[Column, ...] | None, features: tuple[Feature, ...] | None
) -> Formula:
    if isinstance(model, UnevenMarginClassifierCV):
        model = model.best_estimator_
    reading = {
        UnevenMarginClassifier: _closed_form,
        FlipCostClassifier: _pooled,
        NoiseAwareThresholdClassifier: _cut_at_cost,
    }
    if type(model) not in reading:
        msg = f"{type(model).__name__} cannot be exported; give {_KINDS}."
        raise ExportError(msg)
    if columns is None:
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            names = [f"x{k}" for k in range(model.n_features_in_)]
        columns = tuple(Column(str(name), "number") for name in names)
    return with_columns_used(reading[type(model)](model, columns, features))


def _labels(model: Any) -> tuple[str, str]:
    place = positive_index(model.classes_, model.pos_label)
    return str(model.classes_[1 - place]), str(model.classes_[place])


def _closed_form(
    model: UnevenMarginClassifier,
    columns: tuple[Column, ...],
    features: tuple[Feature, ...] | None,
) -> Formula:
    if features is None:
        features = tuple(NumberFeature(k) for k in range(len(columns)))
    sign = 1.0 if positive_index(model.classes_, model.pos_label) == 1 else -1.0
    slopes = sign * np.asarray(model.coef_, dtype=float)
    none = [np.empty(0)] * len(features), [np.empty((1, 0))] * len(features)
    numbers, tables, bias = additive_terms(features, slopes, *none)
    cost = cost_share(model.cost)
    return Formula(
        columns,
        numbers,
        tables,
        bias + sign * float(model.intercept_[0]),
        cost,
        _labels(model),
        share=np.zeros(1),
        link=Link("uneven", cost, float(model.margin)),
    )


def _cut_at_cost(
    model: NoiseAwareThresholdClassifier,
    columns: tuple[Column, ...],
    features: tuple[Feature, ...] | None,
) -> Formula:
    """Return logistic regression or boosting, cut at a cost: other winners of an audit."""
    inner = model.estimator_
    kinds = LogisticRegression | HistGradientBoostingClassifier
    if not isinstance(inner, kinds) or model.noise_rate is not None:
        what = f"`noise_rate={model.noise_rate}`"
        what = what if isinstance(inner, kinds) else f"`estimator={type(inner).__name__}`"
        msg = f"A NoiseAwareThresholdClassifier with {what} cannot be exported; give {_KINDS}."
        raise ExportError(msg)
    if features is None:
        features = tuple(NumberFeature(k) for k in range(len(columns)))
    positive = model.classes_[positive_index(model.classes_, model.pos_label)]
    sign = 1.0 if inner.classes_[1] == positive else -1.0
    linear = isinstance(inner, LogisticRegression)
    slopes = sign * inner.coef_ if linear else np.zeros((1, len(features)))
    none = [np.empty(0)] * len(features), [np.empty((1, 0))] * len(features)
    numbers, tables, bias = additive_terms(features, slopes, *none)
    trees, baseline = _NO_TREES if linear else _trees(inner, features)
    return Formula(
        columns,
        numbers,
        tables,
        bias + (sign * float(inner.intercept_[0]) if linear else 0.0),
        None if isinstance(model.cost, Costs) and model.cost.is_by_row else cost_share(model.cost),
        _labels(model),
        trees=trees,
        tree_features=features if trees else (),
        baseline=baseline,
        share=np.full(1, sign if trees else 0.0),
        link=Link("logistic"),
    )


def _pooled(
    model: FlipCostClassifier, columns: tuple[Column, ...], features: tuple[Feature, ...] | None
) -> Formula:
    if model.estimator is not None or model.transformer_ is not None:
        what = "estimator" if model.estimator is not None else "features"
        own = getattr(model, what)
        msg = (
            f"A FlipCostClassifier with `{what}={type(own).__name__}` cannot be exported; leave "
            f"`{what}` out for scores that can."
        )
        raise ExportError(msg)
    rule = model.pooled_rule()
    smooth, cells = (features, features) if features is not None else _bare(rule, columns)
    knots, bends = [], []
    basis, d = rule.places.basis, rule.places.basis.n_features
    for j in range(d):
        own = np.flatnonzero(basis.feature == j)
        knots.append(basis.knot[own])
        bends.append(rule.places.slopes[:, d + own])
    slopes, clipped = rule.places.slopes[:, :d].copy(), np.zeros(len(rule.places.bias))
    encoder = getattr(rule.scorer, "encoder", None)
    if encoder is not None:
        clipped = _clip_by_hinges(encoder, slopes, knots, bends)
    numbers, tables, bias = additive_terms(smooth, slopes, knots, bends)
    bias = bias + clipped
    boosting = getattr(rule.scorer, "boosting", None) if rule.boosting_share.any() else None
    trees, baseline = _NO_TREES if boosting is None else _trees(boosting, cells)
    constant = {"all_negative": False, "all_positive": True}.get(model.chosen_)
    return Formula(
        columns,
        numbers,
        tables,
        bias + rule.places.bias,
        rule.threshold,
        _labels(model),
        trees=trees,
        tree_features=cells if trees else (),
        baseline=baseline,
        share=rule.boosting_share,
        curves=rule.tables.values,
        constant=constant,
    )


def _bare(
    rule: PooledRule, columns: tuple[Column, ...]
) -> tuple[tuple[Feature, ...], tuple[Feature, ...]]:
    """Return features of the scores and of the trees, of a classifier that reads numbers."""
    cells = tuple(NumberFeature(k) for k in range(len(columns)))
    encoder = getattr(rule.scorer, "encoder", None)
    if encoder is None:  # of passes over a table: missing values are refused
        return cells, cells
    if any(column.kind not in ("number", "boolean") for column in encoder.columns):
        msg = (
            "A FlipCostClassifier of a frame with categories cannot be exported; let "
            "`flipcost audit` make the model, or encode them as numbers first."
        )
        raise ExportError(msg)
    filled = tuple(NumberFeature(k, fill=c.fill[0]) for k, c in enumerate(encoder.columns))
    gaps = [k for k, column in enumerate(encoder.columns) if column.has_missing]
    return filled + tuple(TableFeature(k, (0.0, 1.0)) for k in gaps), cells


def _clip_by_hinges(
    encoder: Encoder, slopes: Array, knots: list[Array], bends: list[Array]
) -> Array:
    """Write clipped numbers as hinges at their limits; return what that adds to the scores."""
    added = np.zeros(len(slopes))
    for k, column in enumerate(encoder.columns):
        if column.kind not in ("number", "boolean") or not np.isfinite(column.low[0]):
            continue
        (low,), (high,), own = column.low, column.high, slopes[:, k].copy()
        inside = (low < knots[k]) & (knots[k] < high)
        kept = bends[k][:, inside]
        knots[k] = np.concatenate([[low], knots[k][inside], [high]])
        last = -(own + kept.sum(axis=1))
        bends[k] = np.column_stack([own, kept, last])
        slopes[:, k] = 0.0
        added += own * low
    return added


def _trees(boosting: Any, features: tuple[Feature, ...]) -> _Trees:
    made = boosting if isinstance(boosting, TreeSum) else read_trees(boosting)
    if any(tree.codes for tree in made.trees):
        msg = f"Trees that split categories cannot be exported; give {_KINDS}."
        raise ExportError(msg)
    return tuple(_tree(tree, features) for tree in made.trees), made.baseline


def _tree(tree: Tree, features: tuple[Feature, ...], node: int = 0) -> Split | float:
    if not tree.left[node]:
        return float(tree.value[node])
    feature = features[int(tree.feature[node])]
    # What splits known values from missing ones has no end; engines and JSON have no word for that.
    threshold, left = float(np.nan_to_num(tree.threshold[node])), bool(tree.missing_left[node])
    if isinstance(feature, NumberFeature) and feature.part:
        threshold += _TURN
    if isinstance(feature, NumberFeature) and feature.fill is not None:
        left = feature.filled <= threshold
    return Split(
        int(tree.feature[node]),
        threshold,
        left,
        _tree(tree, features, int(tree.left[node])),
        _tree(tree, features, int(tree.right[node])),
    )
