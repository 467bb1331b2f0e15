"""From a fitted model to its formula; a model without one is refused in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from flipcost._validation import LinearClassifierMixin, check_is_fitted, positive_index
from flipcost._version import __version__
from flipcost.core.arrays import Array
from flipcost.core.costs import PRICE_NAMES, Costs, cost_share
from flipcost.core.noise import rate_pair
from flipcost.core.trees import Tree, TreeSum
from flipcost.estimators import (
    FlipCostClassifier,
    NoiseAwareThresholdClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
)
from flipcost.estimators.flipcost.scores import (
    GivenScores,
    PooledRule,
    PooledScores,
)
from flipcost.exceptions import ExportError
from flipcost.model.boosters import trees_of
from flipcost.model.formula import Formula
from flipcost.model.schema import (
    FORMAT,
    VERSION,
    Column,
    Decision,
    Forest,
    LevelTerm,
    Link,
    Number,
    NumberTerm,
    TreeData,
)
from flipcost.tables.pipelines import PlainColumns, TableEncoder

if TYPE_CHECKING:
    from flipcost.estimators.flipcost.result import ScoreCurves
    from flipcost.tables.encoder import Encoder

# Where log-odds of given probabilities, at most 13.8 apart from 0, are pieced together: so that
# they are off by 1e-3 at most.
_ODDS = np.linspace(-13.9, 13.9, 311)
# Boosting may split exactly at a value, and engines round sines differently; the sines of two days
# differ by at least a thousand times as much.
_TURN = 1e-9
_KINDS = "FlipCostClassifier, UnevenMarginClassifier(CV), NoiseAwareThresholdClassifier or an audit"


@dataclass(frozen=True)
class ByValue:
    """A feature with few values: by level of a column, other, missing; or known, missing."""

    column: int
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of a classifier: columns, the features of its scores, and the cells of its trees."""

    columns: tuple[Column, ...]
    features: tuple[Number | ByValue, ...]
    cells: tuple[Number | ByValue, ...]


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of features and of trees, before columns that add nothing are dropped."""

    slopes: Array
    bias: Array
    knots: Sequence[Array] = ()
    bends: Sequence[Array] = ()
    trees: TreeSum | None = None
    share: Array = field(default_factory=lambda: np.zeros(1))

    def placed(self, slope: Array, offset: Array) -> Scores:
        """Return one score that is linear or of trees times each slope, plus each offset."""
        slopes = slope[:, None] * self.slopes
        return Scores(
            slopes, slope * self.bias + offset, trees=self.trees, share=slope * self.share
        )


def formula_of(model: Any) -> Formula:
    """Return a fitted model as data.

    Parameters
    ----------
    model : estimator, Findings or Formula
        FlipCostClassifier, UnevenMarginClassifier(CV) or NoiseAwareThresholdClassifier, fitted; or
        the findings of an audit.

    Examples
    --------
    >>> from flipcost import UnevenMarginClassifier
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> formula = formula_of(UnevenMarginClassifier(cost=0.25).fit(X, y))
    >>> formula.decision.threshold, formula.labels
    (0.25, ('False', 'True'))
    """
    if isinstance(model, Formula):
        return model
    if not hasattr(model, "fit") and hasattr(model, "model"):
        formula = formula_of(model.model)
        leaks = {leak.column for leak in model.labels.leaks}
        places = (k for k, column in enumerate(formula.columns) if column.name in leaks)
        return msgspec.structs.replace(formula, leaks=tuple(places))
    if not isinstance(model, Pipeline):
        return _of_classifier(model, None)
    steps = [step for _, step in model.steps]
    if len(steps) == 2 and isinstance(steps[0], TableEncoder):
        check_is_fitted(steps[0])
        return _of_classifier(steps[1], _standard_inputs(steps[0]))
    if len(steps) == 2 and isinstance(steps[0], PlainColumns):
        if isinstance(getattr(steps[1], "scorer_", None), GivenScores):
            return _of_classifier(steps[1], encoder_inputs(steps[0].encoder))
        # It has an encoder of its own, but numbers that it saw may stand in text of some style.
        formula = _of_classifier(steps[1], None)
        styles = {c.name: c.format for c in steps[0].encoder.columns if c.kind == "number"}
        columns = tuple(
            msgspec.structs.replace(column, format=column.format or styles.get(column.name))
            for column in formula.columns
        )
        return msgspec.structs.replace(formula, columns=columns)
    names = ", ".join(type(step).__name__ for step in steps)
    return _refuse(f"A pipeline of {names}")


def formula_to_write(model: Any, *, decision: bool) -> Formula:
    """Return the formula to export; refuse to write decisions whose costs come with the rows."""
    formula = formula_of(model)
    if decision and formula.decides_by_costs and formula.decision.costs is None:
        msg = (
            "The costs of this model differ by row and are not computed from columns, so decisions "
            "cannot be written; give `decision=False` for the probability alone."
        )
        raise ExportError(msg)
    return formula


def _refuse(what: str) -> NoReturn:
    msg = f"{what} has no formula, so it cannot be saved or exported; give {_KINDS}."
    raise ExportError(msg)


def _of_classifier(model: Any, inputs: Inputs | None) -> Formula:
    if isinstance(model, UnevenMarginClassifierCV):
        check_is_fitted(model)
        inputs = inputs or _plain_inputs(model)  # `model` knows the column names
        model = model.best_estimator_
    reading = {
        UnevenMarginClassifier: _closed_form,
        FlipCostClassifier: _pooled,
        NoiseAwareThresholdClassifier: _threshold,
    }
    if type(model) not in reading:
        _refuse(f"A {type(model).__name__}")
    check_is_fitted(model)
    if getattr(getattr(model, "scorer_", None), "transformer", None) is not None:
        _refuse(f"A FlipCostClassifier with `features={type(model.features).__name__}`")
    return reading[type(model)](model, inputs or _plain_inputs(model))


def _plain_inputs(model: Any) -> Inputs:
    """Return the inputs of a classifier of arrays, or of frames by its encoder."""
    encoder = getattr(getattr(model, "scorer_", None), "encoder", None)
    names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(model.n_features_in_)])
    if encoder is None:  # missing values are refused
        columns = tuple(Column(str(name), "number", None, ()) for name in names)
        cells = tuple(_cell(k) for k in range(len(columns)))
        return Inputs(columns, cells, cells)
    if all(column.kind == "number" for column in encoder.columns):  # it learned from an array
        named = zip(encoder.columns, names, strict=True)
        encoder = replace(encoder, columns=tuple(replace(c, name=str(n)) for c, n in named))
    return encoder_inputs(encoder)


def _cell(column: int, part: int = 0) -> Number:
    return Number(column, part, None, None, None, 0.0, 1.0)


def encoder_inputs(encoder: Encoder) -> Inputs:
    """Return the numbers and the cells that an encoder makes of the columns that vary."""
    known = [column for column in encoder.columns if column.cell_names]
    columns = tuple(Column(c.name, c.kind, c.format, c.levels) for c in known)  # type: ignore[arg-type]
    cells = tuple(
        _cell(k, part) for k, column in enumerate(known) for part in range(len(column.cell_names))
    )
    features: list[Number | ByValue] = []
    for k, column in enumerate(known):
        for part, limits in enumerate(zip(column.fill, column.low, column.high, strict=True)):
            fill, low, high = (float(value) if np.isfinite(value) else None for value in limits)
            features.append(Number(k, part, fill, low, high, 0.0, 1.0))
    sizes = [column.n_values for column in columns]
    features += [
        ByValue(k, (0.0,) * (sizes[k] - 1) + (1.0,)) for k, c in enumerate(known) if c.has_missing
    ]
    for k, column in enumerate(known):
        own = len(column.levels) + column.has_other if column.kind == "category" else 0
        features += [ByValue(k, tuple(np.eye(sizes[k])[j].tolist())) for j in range(own)]
    return Inputs(columns, tuple(features), cells)


def _standard_inputs(step: TableEncoder) -> Inputs:
    """Return the standardized numbers of an encoder, which trees use too."""
    inputs = encoder_inputs(step.encoder)
    features: list[Number | ByValue] = []
    for feature, mean, scale in zip(inputs.features, step.mean_, step.scale_, strict=True):
        centre, unit = float(mean), float(scale)
        if isinstance(feature, Number):
            features.append(msgspec.structs.replace(feature, centre=centre, scale=unit))
        else:
            values = tuple((value - centre) / unit for value in feature.values)
            features.append(replace(feature, values=values))
    return replace(inputs, features=tuple(features), cells=tuple(features))


def _formula(
    model: Any,
    inputs: Inputs,
    scores: Scores,
    decision: Decision,
    *,
    curves: ScoreCurves | None = None,
    link: Link | None = None,
) -> Formula:
    """Assemble a formula: columns of numbers become terms, others lookup tables."""
    numbers: dict[Number, int] = {}

    def index(number: Number) -> int:
        return numbers.setdefault(number, len(numbers))

    terms, tables, bias = [], dict[int, Array](), scores.bias.copy()
    nothing = np.empty(0), np.empty((len(bias), 0))
    for j, feature in enumerate(inputs.features if scores.slopes.size else ()):
        slopes = scores.slopes[:, j]
        knots, bends = (scores.knots[j], scores.bends[j]) if len(scores.knots) else nothing
        if not slopes.any() and not bends.any():
            continue
        if isinstance(feature, Number):
            parts = tuple(map(tuple, bends.T.tolist()))
            terms.append(
                NumberTerm(index(feature), tuple(slopes.tolist()), tuple(knots.tolist()), parts)
            )
            continue
        value = np.array(feature.values)[:, None]
        own = value * slopes + np.maximum(0.0, value - knots) @ bends.T
        tables[feature.column] = tables.get(feature.column, 0.0) + own
    for column, values in tables.items():
        # The entry of other values moves to the bias: most columns of numbers then keep one entry,
        # that of a missing value.
        bias += values[-2]
        tables[column] = values - values[-2]
    forests = []
    if scores.trees is not None and scores.share.any():
        trees = tuple(_tree(tree, inputs, index) for tree in scores.trees.trees)
        forests = [Forest(trees, float(scores.trees.baseline), tuple(scores.share.tolist()))]
    positive = positive_index(model.classes_, model.pos_label)
    classes = model.classes_.tolist()
    return Formula(
        FORMAT,
        VERSION,
        __version__,
        (classes[0], classes[1]),
        1 if positive else 0,
        inputs.columns,
        tuple(numbers),
        tuple(terms),
        tuple(
            LevelTerm(column, tuple(map(tuple, values.tolist())))
            for column, values in tables.items()
            if values.any()
        ),
        tuple(bias.tolist()),
        tuple(forests),
        None if curves is None else tuple(map(tuple, curves.tables().values.tolist())),
        link,
        decision,
        leaks=(),
    )


def _tree(tree: Tree, inputs: Inputs, index: Any) -> TreeData:
    """Return a tree of cells as a tree of numbers; splits of levels become flags."""
    n = len(tree.left)
    number, threshold, missing = [0] * n, [0.0] * n, [False] * n
    goes: dict[int, tuple[bool, ...]] = {}
    for node in np.flatnonzero(tree.left).tolist():
        cell = inputs.cells[int(tree.feature[node])]
        column = inputs.columns[cell.column]
        # A split between known and missing values is at infinity, which JSON cannot express.
        cut = float(np.nan_to_num(tree.threshold[node]))
        left = bool(tree.missing_left[node])
        if isinstance(cell, ByValue):
            flags = tuple(value <= cut for value in cell.values)
            if column.kind == "category":
                goes[node] = flags
            else:
                most = float(np.finfo(float).max)
                cut, left = most if flags[0] else -most, flags[1]
            cell = _cell(cell.column)
        elif node in tree.codes:
            if column.kind != "category":
                _refuse("A model with trees that split numbers by their codes")
            codes = tree.codes[node].tolist()
            goes[node] = (*codes[: len(column.levels) + 1], codes[-1])
        elif cell.part:
            cut += _TURN
        if node in goes:
            cut, left = 0.0, False
        number[node], threshold[node], missing[node] = index(cell), cut, left
    return TreeData(
        tuple(number),
        tuple(threshold),
        tuple(missing),
        tuple(tree.left.tolist()),
        tuple(tree.right.tolist()),
        tuple(tree.value.tolist()),
        goes,
    )


def _decision(cost: Any, *, by: Any = "probability", by_row: bool = False) -> Decision:
    """Return the decision at a cost share, or at costs that may differ by row."""
    costs = cost.middle if isinstance(cost, Costs) else None
    made = costs is not None and costs.is_by_row
    if not (by_row or made):
        share = cost_share(cost)
        costs = costs or Costs(fn=1 - share, fp=share)
        return Decision(by, share, *(float(getattr(costs, name)) for name in PRICE_NAMES))
    prices = [getattr(costs, name, None) for name in PRICE_NAMES]
    # Costs of arrays or a function come with the rows; the closed form has them in its score.
    if by == "score" or not made or not all(isinstance(p, str | int | float) for p in prices):
        prices = [None] * len(PRICE_NAMES)
    return Decision(by, 0.5 if by == "score" else None, *prices)


def _closed_form(model: UnevenMarginClassifier, inputs: Inputs) -> Formula:
    sign = 1.0 if positive_index(model.classes_, model.pos_label) == 1 else -1.0
    by_row = bool(model._by_row)  # noqa: SLF001 - what it was fitted with
    cost = 0.5 if by_row else cost_share(model.cost)
    return _formula(
        model,
        inputs,
        Scores(sign * np.asarray(model.coef_, dtype=float), sign * np.asarray(model.intercept_)),
        _decision(model.cost, by="score", by_row=by_row),
        link=Link("uneven", cost, float(model.margin), 0.0, 1.0),
    )


def _threshold(model: NoiseAwareThresholdClassifier, inputs: Inputs) -> Formula:
    """Return logistic regression or boosting with a threshold, as an audit compares them."""
    inner = model.estimator_
    scores = _of_estimator(inner, inputs)
    last = inner[-1] if isinstance(inner, Pipeline) else inner
    if scores is None or not (scores.trees or isinstance(last, LogisticRegression)):
        _refuse(f"A NoiseAwareThresholdClassifier with `estimator={type(inner).__name__}`")
    positive = model.classes_[positive_index(model.classes_, model.pos_label)]
    sign = 1.0 if inner.classes_[1] == positive else -1.0
    rho_pos, rho_neg = rate_pair(model.noise_rate)
    return _formula(
        model,
        inputs,
        scores.placed(np.array([sign]), np.zeros(1)),
        _decision(model.cost, by_row=model.threshold_ is None),
        link=Link("logistic", 0.5, 1.0, float(rho_neg), 1 - float(rho_pos)),
    )


def _of_estimator(inner: Any, inputs: Inputs) -> Scores | None:
    """Return the score of a classifier that is linear or a sum of trees; None otherwise."""
    if isinstance(inner, Pipeline) and [type(step) for step in inner[:-1]] == [StandardScaler]:
        found = _of_estimator(inner[-1], inputs)
        if found is None or found.trees is not None:
            return None
        slopes = found.slopes / (1.0 if inner[0].scale_ is None else inner[0].scale_)
        mean = 0.0 if inner[0].mean_ is None else inner[0].mean_
        return Scores(slopes, found.bias - (slopes * mean).sum(axis=1))
    if isinstance(inner, LinearClassifierMixin) and np.atleast_2d(inner.coef_).shape[0] == 1:
        bias = np.broadcast_to(np.asarray(inner.intercept_, dtype=float), (1,))
        return Scores(np.atleast_2d(inner.coef_).astype(float), bias)
    trees = trees_of(inner)
    if trees is None:
        return None
    nothing = np.zeros((1, len(inputs.features)))
    return Scores(nothing, np.zeros(1), trees=trees, share=np.ones(1))


def _pooled(model: FlipCostClassifier, inputs: Inputs) -> Formula:
    by_row = bool(model._result.options.by_row)  # noqa: SLF001 - what it was fitted with
    answers = {"all_negative": "never", "all_positive": "always"}
    decision = _decision(model.cost, by=answers.get(model.chosen_, "probability"), by_row=by_row)
    scorer, curves = model.scorer_, model._result.curves  # noqa: SLF001 - likewise
    if isinstance(scorer, PooledScores):
        return _formula(model, inputs, _of_pooled(scorer, curves), decision, curves=curves)
    if isinstance(scorer, GivenScores):
        inputs = replace(inputs, features=inputs.cells)  # not clipped
        scores = _of_given(scorer.kind, curves, len(inputs.features))
        return _formula(model, inputs, scores, decision, curves=curves)
    found = _of_estimator(scorer.estimator, inputs)
    if found is None:
        _refuse(f"A FlipCostClassifier with `estimator={type(scorer.estimator).__name__}`")
    return _formula(model, inputs, found.placed(*curves.places()), decision, curves=curves)


def _of_given(kind: str, curves: ScoreCurves, n_scores: int) -> Scores:
    """Return given scores as they are, or log-odds of given probabilities by straight pieces."""
    slope, offset = curves.places()
    own = np.zeros((len(slope), n_scores))
    own[np.arange(len(slope)), curves.which] = slope
    if kind == "score":
        return Scores(own, offset)
    knots = expit(_ODDS)
    pieces = np.diff(_ODDS) / np.diff(knots)
    first = _ODDS[0] - pieces[0] * knots[0]
    bends = np.diff(pieces)
    return Scores(
        pieces[0] * own,
        offset + first * slope,
        [knots[1:-1]] * n_scores,
        [own[:, [j]] * bends for j in range(n_scores)],
    )


def _of_pooled(scorer: PooledScores, curves: ScoreCurves) -> Scores:
    rule = PooledRule.of(scorer, curves)
    basis, slopes = rule.places.basis, rule.places.slopes
    d = basis.n_features
    of = [np.flatnonzero(basis.feature == j) for j in range(d)]
    return Scores(
        slopes[:, :d],
        rule.places.bias,
        [basis.knot[own] for own in of],
        [slopes[:, d + own] for own in of],
        scorer.boosting,
        rule.boosting_share,
    )
