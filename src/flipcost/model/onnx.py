"""A model as an ONNX graph, in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.core.costs import Expression
from flipcost.exceptions import ExportError
from flipcost.model.convert import formula_to_write
from flipcost.model.steps import Steps

if TYPE_CHECKING:
    from flipcost.model.formula import Formula
    from flipcost.model.schema import Forest

# Versions with `TreeEnsemble` in double precision; onnxruntime has it since 1.20.
_OPSET, _ML_OPSET, _IR = 17, 5, 9
_OUTPUTS = ("probability_positive", "flagged", "prediction")


def to_onnx(model: Any, *, decision: bool = True) -> Any:
    """Write a model as an ONNX graph.

    Parameters
    ----------
    model : estimator, Findings or Formula
        A model that `flipcost.save` can save, or one that `flipcost.load` returned.
    decision : bool, default=True
        Whether to return the decision beside the probability.

    Returns
    -------
    onnx.ModelProto
        With an input of shape (n, 1) for each column that is used, by its name: numbers in double
        precision, NaN where missing; yes and no as 1 and 0; dates as days since 1970; categories
        as texts, "" where missing; where costs differ by row, also the columns that they are
        computed from. Outputs are ``probability_positive``, ``flagged`` and
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
    (['x0'], ['probability_positive', 'flagged', 'prediction'])
    """
    try:
        import onnx  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = "ONNX graphs need the package onnx; install flipcost[onnx]."
        raise ExportError(msg) from error
    return _Graph(formula_to_write(model, decision=decision), onnx).model(decision=decision)


# The operators of steps.
_STEPS = {
    ">": "Greater",
    "floor": "Floor",
    "sin": "Sin",
    "cos": "Cos",
    "exp": "Exp",
    "+": "Add",
    "-": "Sub",
    "*": "Mul",
    "/": "Div",
    "min": "Min",
    "max": "Max",
    "abs": "Abs",
    "negate": "Neg",
}


class _Graph(Steps[str]):
    """Build a graph, node by node; a value is the name of the output of a node."""

    def __init__(self, formula: Formula, onnx: Any) -> None:
        super().__init__(formula)
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.standards: dict[int, str] = {}
        self.codes: dict[int, str] = {}

    def model(self, *, decision: bool) -> Any:
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        scores = self._scores()
        probability = self._flat(self._probability(scores), "probability_positive")
        outputs = [helper.make_tensor_value_info(probability, kinds.DOUBLE, [None])]
        if decision:
            self._decide(probability, scores)
            outputs.append(helper.make_tensor_value_info("flagged", kinds.BOOL, [None]))
            outputs.append(helper.make_tensor_value_info("prediction", kinds.STRING, [None]))
        priced = decision and self.formula.decides_by_costs
        inputs = [
            helper.make_tensor_value_info(
                name, kinds.STRING if is_text else kinds.DOUBLE, [None, 1]
            )
            for name, is_text in self._inputs(priced=priced).items()
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

    def _inputs(self, *, priced: bool) -> dict[str, bool]:
        """Return the columns that are read, and whether they are texts."""
        read = [self.formula.columns[k] for k in self.formula.used]
        found = {column.name: column.kind == "category" for column in read}
        if len(found) < len(read):
            msg = "Columns of the same name cannot be inputs of one graph; rename them."
            raise ExportError(msg)
        for name in self.formula.cost_columns if priced else ():
            if found.setdefault(name, False):
                msg = (
                    f"Column {name!r} is text to the scores and a number to the costs; rename one."
                )
                raise ExportError(msg)
        for name in found:
            if not name or name in _OUTPUTS or name.startswith("fc_"):
                msg = f"A column called {name!r} cannot be the input of a graph; rename it."
                raise ExportError(msg)
        return found

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Return the name of a constant."""
        name = f"fc_constant_{len(self.constants)}"
        array = np.asarray(value, dtype=dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, name: str | None = None, **options: Any) -> str:
        """Add a node; return the name of its output."""
        output = name or f"fc_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [output], **options))
        return output

    def _flat(self, value: str, name: str | None = None) -> str:
        return self.node("Reshape", value, self.constant([-1], np.int64), name=name)

    def apply(self, step: str, *values: str) -> str:
        return self.node(_STEPS[step], *values)

    def filled(self, value: str, fill: float) -> str:
        return self.node("Where", self.node("IsNaN", value), self.constant(fill), value)

    def between(self, value: str, low: float | None, high: float | None) -> str:
        # Unlike Clip, these keep what is missing in all runtimes.
        for kind, end in (("Less", low), ("Greater", high)):
            if end is not None:
                limit = self.constant(end)
                value = self.node("Where", self.node(kind, value, limit), limit, value)
        return value

    def standard(self, index: int) -> str:
        """Return a number of the formula, shape (n, 1)."""
        if index not in self.standards:
            number = self.formula.numbers[index]
            self.standards[index] = self.number(number, self.formula.columns[number.column].name)
        return self.standards[index]

    def code(self, column: int) -> str:
        """Return the row of a table of levels for each value, shape (n, 1)."""
        if column not in self.codes:
            found = self.formula.columns[column]
            n = len(found.levels)
            if found.kind == "category":
                known = [k for k, level in enumerate(found.levels) if level]  # "" is missing
                self.codes[column] = self.node(
                    "LabelEncoder",
                    found.name,
                    domain="ai.onnx.ml",
                    keys_strings=[*(found.levels[k] for k in known), ""],
                    values_int64s=[*known, n + 1],
                    default_int64=n,
                )
            else:
                gone = self.node("IsNaN", found.name)
                self.codes[column] = self.node("Cast", gone, to=self.onnx.TensorProto.INT64)
        return self.codes[column]

    def looked_up(self, column: int, values: Array) -> str:
        """Return the row of a table for each value of a column, shape (n, m)."""
        rows = self.node("Gather", self.constant(values), self.code(column), axis=0)
        return self.node("Reshape", rows, self.constant([-1, values.shape[1]], np.int64))

    def _scores(self) -> str:
        """Return all scores, shape (n, m)."""
        formula, m = self.formula, len(self.formula.bias)
        parts, additive = [], formula.additive
        if formula.number_terms:
            block = self._block([self.standard(term.number) for term in formula.number_terms])
            if len(additive.basis.knot):
                which = self.constant(additive.basis.feature, np.int64)
                bent = self.node("Gather", block, which, axis=1)
                above = self.apply("-", bent, self.constant([additive.basis.knot]))
                block = self._block([block, self.apply("max", above, self.constant(0.0))])
            parts.append(self.node("MatMul", block, self.constant(additive.slopes.T)))
        parts += [
            self.looked_up(term.column, np.array(term.values)) for term in formula.level_terms
        ]
        for forest in formula.forests if formula.used else ():
            own = self._forest(forest)
            parts.append(self.node("Mul", own, self.constant([forest.share])))
        total = self.constant([formula.bias])
        for part in parts:
            total = self.node("Add", total, part)
        if not parts:
            msg = "The model uses no column, so there is no graph to write; audit it again."
            raise ExportError(msg)
        return self.node("Reshape", total, self.constant([-1, m], np.int64))

    def _block(self, columns: list[str]) -> str:
        return self.node("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]

    def _probability(self, scores: str) -> str:
        if self.formula.curves is None:
            return self.link(scores)
        curves = np.array(self.formula.curves)
        m, n_places = curves.shape
        # NaN has no position in a table: it is looked up at 0, and put back in the end.
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

    def _decide(self, probability: str, scores: str) -> None:
        decision, costs = self.formula.decision, None
        if decision.by in ("always", "never"):
            like = self.node("IsNaN", probability)
            kind = "Or" if decision.by == "always" else "And"
            flagged = self.node(kind, like, self.node("Not", like))
        else:
            if decision.is_by_row:
                fn, fp, tp, tn = map(self._arithmetic, decision.expressions)
                costs = self.apply("-", fn, tp), self.apply("-", fp, tn)
            flagged = self.flagged(probability, self._flat(scores), costs)
        self.node("Identity", flagged, name="flagged")
        no, yes = (self._text(label) for label in self.formula.labels)
        self.node("Where", "flagged", yes, no, name="prediction")

    def _arithmetic(self, expression: Expression) -> str:
        """Return a cost, shape (n,) or ()."""
        return expression.fold(
            self.constant, self._flat, lambda name, values: self.apply(name, *values)
        )

    def _text(self, text: str) -> str:
        name = f"fc_constant_{len(self.constants)}"
        kind = self.onnx.TensorProto.STRING
        self.constants.append(self.onnx.helper.make_tensor(name, kind, [], [text.encode()]))
        return name

    def _forest(self, forest: Forest) -> str:
        """Return the sum of trees, shape (n, 1)."""
        # The inputs of splits: a number, or a category with the flags of its levels.
        inputs: dict[Any, int] = {}
        baseline, roots, leaves = forest.baseline, list[int](), list[float]()
        nodes: list[tuple[float, ...]] = []
        for tree in forest.trees:
            inner = [k for k, left in enumerate(tree.left) if left]
            if not inner:
                baseline += tree.value[0]
                continue
            ends = [k for k, left in enumerate(tree.left) if not left]
            place = {k: len(nodes) + rank for rank, k in enumerate(inner)}
            place |= {k: len(leaves) + rank for rank, k in enumerate(ends)}
            roots.append(len(nodes))
            leaves += [tree.value[k] for k in ends]
            for k in inner:
                goes, left, right = tree.goes.get(k), tree.left[k], tree.right[k]
                key: Any = tree.number[k] if goes is None else (tree.number[k], goes)
                split = tree.threshold[k] if goes is None else 0.5
                below = place[left], not tree.left[left], place[right], not tree.left[right]
                feature = inputs.setdefault(key, len(inputs))
                nodes.append((split, feature, tree.missing_left[k], *below))
        if not nodes:
            return self.constant(baseline)
        splits, *fields = zip(*nodes, strict=True)
        names = (
            "nodes_featureids",
            "nodes_missing_value_tracks_true",
            "nodes_truenodeids",
            "nodes_trueleafs",
            "nodes_falsenodeids",
            "nodes_falseleafs",
        )
        convert = self.onnx.numpy_helper.from_array
        options: dict[str, Any] = {
            name: [int(value) for value in field] for name, field in zip(names, fields, strict=True)
        }
        found = self.node(
            "TreeEnsemble",
            self._block([self._split_input(key) for key in inputs]),
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function=1,  # the sum
            post_transform=0,
            tree_roots=roots,
            nodes_modes=convert(np.zeros(len(nodes), np.uint8)),  # at most the threshold
            nodes_splits=convert(np.array(splits)),
            leaf_targetids=[0] * len(leaves),
            leaf_weights=convert(np.array(leaves)),
            **options,
        )
        return self.node("Add", found, self.constant(baseline))

    def _split_input(self, key: Any) -> str:
        """Return what a split compares: a number, or 0 for levels that go left and 1 for others."""
        if isinstance(key, int):
            return self.standard(key)
        number, flags = key
        right = 1.0 - np.array(flags, dtype=float)[:, None]
        return self.looked_up(self.formula.numbers[number].column, right)
