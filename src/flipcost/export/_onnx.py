"""A model as an ONNX graph, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.exceptions import ExportError
from flipcost.export._formula import (
    WEEK_DAYS,
    YEAR_DAYS,
    Formula,
    Link,
    Split,
    TableTerm,
    check_decision,
)
from flipcost.export._read_model import read_model
from flipcost.tables.plain import Feature, NumberFeature

# What `TreeEnsemble` in double precision needs; onnxruntime has it since 1.20.
_OPSET, _ML_OPSET, _IR = 17, 5, 9


def to_onnx(model: Any, *, decision: bool = True) -> Any:
    """Write a model as an ONNX graph.

    Parameters
    ----------
    model : Pipeline, FlipCostClassifier, UnevenMarginClassifier or UnevenMarginClassifierCV
        Fitted; a pipeline as `flipcost audit` saves it.
    decision : bool, default=True
        Whether to give the decision beside the probability.

    Returns
    -------
    onnx.ModelProto
        With an input of shape (n, 1) for each column that counts, by its name: numbers in double
        precision, NaN where missing; yes and no as 1 and 0; dates as days since 1970; categories
        as texts, "" where missing. It gives ``probability_positive``, and ``called_positive`` and
        ``prediction``, of shape (n,).

    Notes
    -----
    Trees are written as ``TreeEnsemble`` of ai.onnx.ml 5, which onnxruntime runs in double
    precision since 1.20.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost import UnevenMarginClassifier
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> graph = to_onnx(UnevenMarginClassifier(cost=0.25).fit(X, y)).graph
    >>> [thing.name for thing in graph.input], [thing.name for thing in graph.output]
    (['x0'], ['probability_positive', 'called_positive', 'prediction'])
    """
    try:
        import onnx  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = "ONNX graphs are written by onnx; install flipcost[onnx]."
        raise ExportError(msg) from error
    formula = read_model(model)
    if decision:
        check_decision(formula)
    return _Graph(formula, onnx).model(decision=decision)


class _Graph:
    """Put a graph together, node by node."""

    def __init__(self, formula: Formula, onnx: Any) -> None:
        self.formula, self.onnx = formula, onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.numbers: dict[tuple[int, int], str] = {}
        self.codes: dict[int, str] = {}
        names = [column.name for column in formula.columns]
        if len(set(names)) < len(names):
            msg = "Columns of the same name cannot be inputs of one graph; rename them."
            raise ExportError(msg)

    def model(self, *, decision: bool) -> Any:
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        scores = self._scores()
        probability = self._flat(self._probability(scores), "probability_positive")
        outputs = [helper.make_tensor_value_info(probability, kinds.DOUBLE, [None])]
        if decision:
            self._decide(probability, scores)
            outputs.append(helper.make_tensor_value_info("called_positive", kinds.BOOL, [None]))
            outputs.append(helper.make_tensor_value_info("prediction", kinds.STRING, [None]))
        inputs = [
            helper.make_tensor_value_info(
                column.name, kinds.STRING if column.kind == "category" else kinds.DOUBLE, [None, 1]
            )
            for column in self.formula.columns
        ]
        graph = helper.make_graph(self.nodes, "flipcost", inputs, outputs, self.constants)
        opsets = [
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR, producer_name="flipcost"
        )
        self.onnx.checker.check_model(model)
        return model

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Return the name of a constant."""
        name = f"fc_constant_{len(self.constants)}"
        array = np.asarray(value, dtype=dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, name: str | None = None, **options: Any) -> str:
        """Add a node; return the name of what it gives."""
        output = name or f"fc_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [output], **options))
        return output

    def _flat(self, value: str, name: str) -> str:
        return self.node("Reshape", value, self.constant([-1], np.int64), name=name)

    def number(self, column: int, part: int) -> str:
        """Return a number of a column, NaN where it is missing."""
        if (column, part) not in self.numbers:
            value = self.formula.columns[column].name
            if part:
                period = self.constant(YEAR_DAYS if part < 3 else WEEK_DAYS)
                if part >= 3:
                    turns = self.node("Floor", self.node("Div", value, period))
                    value = self.node("Sub", value, self.node("Mul", turns, period))
                turned = self.node("Mul", value, self.constant(2 * np.pi))
                turned = self.node("Div", turned, period)
                value = self.node("Sin" if part % 2 else "Cos", turned)
            self.numbers[column, part] = value
        return self.numbers[column, part]

    def standard(self, feature: NumberFeature) -> str:
        """Return a number filled and standardized, shape (n, 1)."""
        value = self.number(feature.column, feature.part)
        if feature.fill is not None:
            gone = self.node("IsNaN", value)
            value = self.node("Where", gone, self.constant(feature.fill), value)
        if feature.centre:
            value = self.node("Sub", value, self.constant(feature.centre))
        return (
            value if feature.scale == 1 else self.node("Div", value, self.constant(feature.scale))
        )

    def code(self, column: int) -> str:
        """Return which row of a table of levels a value stands for, shape (n, 1)."""
        if column not in self.codes:
            found = self.formula.columns[column]
            n = len(found.levels)
            if found.kind == "category":
                self.codes[column] = self.node(
                    "LabelEncoder",
                    found.name,
                    domain="ai.onnx.ml",
                    keys_strings=[*found.levels, ""],
                    values_int64s=[*range(n), n + 1],
                    default_int64=n,
                )
            else:
                gone = self.node("IsNaN", self.number(column, 0))
                self.codes[column] = self.node("Cast", gone, to=self.onnx.TensorProto.INT64)
        return self.codes[column]

    def looked_up(self, column: int, values: Array) -> str:
        """Return the rows of a table that the values of a column stand for, shape (n, m)."""
        rows = self.node("Gather", self.constant(values), self.code(column), axis=0)
        return self.node("Reshape", rows, self.constant([-1, values.shape[1]], np.int64))

    def _scores(self) -> str:
        """Return all scores, shape (n, m)."""
        formula, m = self.formula, len(self.formula.bias)
        columns, slopes = [], []
        for term in formula.numbers:
            z = self.standard(term.feature)
            columns.append(z)
            slopes.append(term.slopes[None])
            if len(term.knots):
                above = self.node("Sub", z, self.constant(term.knots[None]))
                columns.append(self.node("Max", above, self.constant(0.0)))
                slopes.append(term.bends.T)
        parts = []
        if columns:
            block = self.node("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
            parts.append(self.node("MatMul", block, self.constant(np.concatenate(slopes))))
        parts += [self._table(term) for term in formula.tables]
        if formula.trees:
            share = self.constant(formula.share[None])
            parts.append(self.node("Mul", self._boosting(), share))
        total = self.constant(formula.bias[None])
        for part in parts:
            total = self.node("Add", total, part)
        if not parts:
            msg = "No column of the model counts, so there is no graph to write; audit it again."
            raise ExportError(msg)
        return self.node("Reshape", total, self.constant([-1, m], np.int64))

    def _table(self, term: TableTerm) -> str:
        return self.looked_up(term.column, term.values)

    def _probability(self, scores: str) -> str:
        curves = self.formula.curves
        if curves is None:
            return self._link(scores)
        m, n_places = curves.shape
        # What is no number has no place: it is looked up anywhere, and is none again in the end.
        gone = self.node("IsNaN", scores)
        place = self.node("Where", gone, self.constant(0.0), scores)
        place = self.node("Clip", place, self.constant(0.0), self.constant(n_places - 1.0))
        cell = self.node("Cast", self.node("Floor", place), to=self.onnx.TensorProto.INT64)
        inside = self.node("Sub", place, self.node("Floor", place))
        first = self.constant(np.arange(m)[None] * n_places, np.int64)
        flat = self.node("Add", cell, first)
        rise = np.diff(curves, axis=1, append=curves[:, -1:])
        low = self.node("Gather", self.constant(curves.ravel()), flat)
        more = self.node("Gather", self.constant(rise.ravel()), flat)
        value = self.node("Add", low, self.node("Mul", more, inside))
        value = self.node("Where", gone, scores, value)
        axes = self.constant([1], np.int64)
        return self.node("ReduceSum", value, axes, keepdims=0)

    def _link(self, score: str) -> str:
        link, one = self.formula.link or Link("logistic"), self.constant(1.0)
        if link.kind == "logistic":
            s = self.node("Exp", self.node("Neg", score))
            return self.node("Div", one, self.node("Add", one, s))
        s = self.node("Clip", score, self.constant(-1 / link.margin), one)
        above = self.node("Mul", s, self.constant(link.margin * link.cost))
        above = self.node("Add", above, self.constant(link.cost))
        below = self.node("Mul", self.node("Sub", one, s), self.constant(1 - link.cost))
        return self.node("Div", above, self.node("Add", above, below))

    def _decide(self, probability: str, scores: str) -> None:
        formula = self.formula
        if formula.constant is not None:
            like = self.node("IsNaN", probability)
            either = self.node("Not", like) if formula.constant else like
            joined = self.node(
                "Or" if formula.constant else "And", either, self.node("Not", either)
            )
            self.node("Identity", joined, name="called_positive")
        elif formula.by_score:
            flat = self._flat(scores, "fc_score")
            self.node("Greater", flat, self.constant(0.0), name="called_positive")
        else:
            limit = self.constant(formula.threshold)
            self.node("Greater", probability, limit, name="called_positive")
        no, yes = (self._text(label) for label in formula.labels)
        self.node("Where", "called_positive", yes, no, name="prediction")

    def _text(self, text: str) -> str:
        name = f"fc_constant_{len(self.constants)}"
        kind = self.onnx.TensorProto.STRING
        self.constants.append(self.onnx.helper.make_tensor(name, kind, [], [text.encode()]))
        return name

    def _boosting(self) -> str:
        """Return the score of boosting, shape (n, 1)."""
        columns = [self._tree_column(feature) for feature in self.formula.tree_features]
        block = self.node("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
        trees = _FlatTrees()
        for tree in self.formula.trees:
            trees.add(tree)
        convert = self.onnx.numpy_helper.from_array
        options: dict[str, Any] = {
            "nodes_modes": convert(np.zeros(len(trees.splits), np.uint8)),  # at most the threshold
            "nodes_splits": convert(np.array(trees.splits)),
            "leaf_weights": convert(np.array(trees.leaves)),
        }
        found = self.node(
            "TreeEnsemble",
            block,
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function=1,  # the sum
            post_transform=0,
            leaf_targetids=[0] * len(trees.leaves),
            **(trees.fields | options),
        )
        return self.node("Add", found, self.constant(self.formula.baseline))

    def _tree_column(self, feature: Feature) -> str:
        if isinstance(feature, NumberFeature):
            return self.standard(feature)
        return self.looked_up(feature.column, np.array(feature.values)[:, None])


class _FlatTrees:
    """Trees as the lists of integers that `TreeEnsemble` takes."""

    def __init__(self) -> None:
        self.splits: list[float] = []
        self.leaves: list[float] = []
        self.fields: dict[str, list[int]] = {
            name: []
            for name in (
                "tree_roots",
                "nodes_featureids",
                "nodes_truenodeids",
                "nodes_trueleafs",
                "nodes_falsenodeids",
                "nodes_falseleafs",
                "nodes_missing_value_tracks_true",
            )
        }

    def add(self, tree: Split | float) -> None:
        """Add a tree; one without splits becomes a split with the same leaf on either side."""
        if not isinstance(tree, Split):
            tree = Split(0, 0.0, missing_left=True, left=tree, right=tree)
        self.fields["tree_roots"].append(len(self.splits))
        self._split(tree)

    def _split(self, split: Split) -> int:
        place = len(self.splits)
        self.splits.append(split.threshold)
        for name, value in (
            ("nodes_featureids", split.feature),
            ("nodes_missing_value_tracks_true", int(split.missing_left)),
        ):
            self.fields[name].append(value)
        for side in ("true", "false"):
            self.fields[f"nodes_{side}nodeids"].append(0)
            self.fields[f"nodes_{side}leafs"].append(0)
        for side, child in (("true", split.left), ("false", split.right)):
            is_leaf = not isinstance(child, Split)
            self.fields[f"nodes_{side}leafs"][place] = int(is_leaf)
            number = self._leaf(child) if not isinstance(child, Split) else self._split(child)
            self.fields[f"nodes_{side}nodeids"][place] = number
        return place

    def _leaf(self, value: float) -> int:
        self.leaves.append(value)
        return len(self.leaves) - 1
