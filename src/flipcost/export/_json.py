"""A model as JSON, for the small scorer in JavaScript that comes with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from flipcost._version import __version__
from flipcost.export._formula import Formula, Split, check_decision
from flipcost.export._read_model import read_model
from flipcost.tables.plain import NumberFeature


def to_json(model: Any, *, decision: bool = True) -> str:
    """Write a model as JSON, to be run by `scorer_source`.

    Parameters
    ----------
    model : Pipeline, FlipCostClassifier, UnevenMarginClassifier or UnevenMarginClassifierCV
        Fitted; a pipeline as `flipcost audit` saves it.
    decision : bool, default=True
        Whether to give the decision beside the probability.

    Returns
    -------
    str
        One line of JSON without HTML in it: it can stand in a page as it is.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from flipcost import UnevenMarginClassifier
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> content = json.loads(to_json(UnevenMarginClassifier(cost=0.25).fit(X, y)))
    >>> content["columns"], content["labels"]
    ([{'name': 'x0', 'kind': 'number', 'levels': [], 'format': None}], ['False', 'True'])
    """
    formula = read_model(model)
    content = _content(formula)
    if decision:
        check_decision(formula)
    else:
        content |= {"labels": None, "threshold": None, "constant": None}
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028")


def scorer_source() -> str:
    """Return the scorer: a script that defines ``flipcost.score(model, row)``.

    It runs in a page and in Node.js, and needs nothing else.

    Examples
    --------
    >>> "function score(model, row)" in scorer_source()
    True
    """
    return (files("flipcost.export") / "scorer.js").read_text(encoding="utf-8")


def _content(formula: Formula) -> dict[str, Any]:
    return {
        "format": "flipcost.formula",
        "version": 1,
        "flipcost": __version__,
        "columns": [
            {"name": c.name, "kind": c.kind, "levels": list(c.levels), "format": c.format}
            for c in formula.columns
        ],
        "numbers": [
            _number(t.feature)
            | {"slopes": t.slopes.tolist(), "knots": t.knots.tolist(), "bends": t.bends.T.tolist()}
            for t in formula.numbers
        ],
        "tables": [{"column": t.column, "values": t.values.tolist()} for t in formula.tables],
        "bias": formula.bias.tolist(),
        "features": [
            _number(f) if isinstance(f, NumberFeature) else {"column": f.column, "values": f.values}
            for f in formula.tree_features
        ],
        "trees": [_tree(tree) for tree in formula.trees],
        "baseline": formula.baseline,
        "share": formula.share.tolist(),
        "curves": None if formula.curves is None else formula.curves.tolist(),
        "link": None if formula.link is None else asdict(formula.link),
        "threshold": formula.threshold,
        "constant": formula.constant,
        "labels": list(formula.labels),
    }


def _number(feature: NumberFeature) -> dict[str, Any]:
    return {
        "column": feature.column,
        "part": feature.part,
        "fill": feature.fill,
        "centre": feature.centre,
        "scale": feature.scale,
    }


def _tree(tree: Split | float) -> Any:
    """Return a leaf as a number, a split as feature, threshold, missing, left and right."""
    if not isinstance(tree, Split):
        return tree
    fields = (tree.feature, tree.threshold, tree.missing_left)
    return [*fields, _tree(tree.left), _tree(tree.right)]
