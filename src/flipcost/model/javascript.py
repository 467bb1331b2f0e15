"""A model as JSON, with a small scorer in JavaScript."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from msgspec import to_builtins

from flipcost.model.convert import formula_to_write


def to_json(model: Any, *, decision: bool = True) -> str:
    """Write a model as JSON for the script of `scorer_source`.

    Parameters
    ----------
    model : estimator, Findings or Formula
        A model that `flipcost.save` can save, or one that `flipcost.load` returned.
    decision : bool, default=True
        Whether to return the decision beside the probability.

    Returns
    -------
    str
        One line of JSON that can be put into an HTML page as it is. It holds what a model file
        holds, and, where costs differ by row, the steps that compute them.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from flipcost import UnevenMarginClassifier
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> content = json.loads(to_json(UnevenMarginClassifier(cost=0.25).fit(X, y)))
    >>> content["columns"], content["classes"]
    ([{'name': 'x0', 'kind': 'number', 'format': None, 'levels': []}], [False, True])
    """
    formula = formula_to_write(model, decision=decision)
    content = to_builtins(formula, str_keys=True) | {"used": formula.used}
    if decision:
        content["steps"] = [found.steps for found in formula.decision.expressions]
        content["labels"] = formula.labels
    else:
        content["decision"] = None
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # all else is ASCII


def scorer_source() -> str:
    """Return the scorer, a script that defines ``flipcost.score(model, row)``.

    It runs in a page and in Node.js, without dependencies.

    Examples
    --------
    >>> "function score(model, row)" in scorer_source()
    True
    """
    return (files("flipcost.model") / "scorer.js").read_text(encoding="utf-8")
