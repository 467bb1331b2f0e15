"""Counts of the calls of linear scores, by queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.arrays import Array
from flipcost.exceptions import SourceError
from flipcost.tables.engine_moments import check_groups
from flipcost.tables.sql import (
    ROWS,
    Aggregate,
    Expression,
    Question,
    case,
    column,
    literal,
    number,
    pick,
    sum_of,
    total,
)

if TYPE_CHECKING:
    from flipcost.tables.engine import Answer
    from flipcost.tables.engine_moments import Rows

# Most terms of scores in one statement: its text is then about a megabyte.
_TERMS = 40_000


def score_of(coefficients: Array, which: int) -> Expression:
    """Return one score as an expression: that of the fold's own classifier."""
    return pick(column("f"), [_linear(path[which]) for path in coefficients])


def _linear(weights: Array) -> Expression:
    terms = [column(f"x{j}") * number(w) for j, w in enumerate(weights[:-1].tolist()) if w != 0]
    return total([*terms, number(float(weights[-1]))])


def count_calls(rows: Rows, coefficients: Array) -> tuple[Array, Array]:
    """Return weight and squared weight by fold, classifier, label and call.

    Parameters
    ----------
    rows : Rows
        The rows; the labels are the negative and the positive one.
    coefficients : ndarray of shape (n_folds, n_classifiers, d + 1)
        Coefficients with the bias last; NaN where there is no classifier.

    Returns
    -------
    weight, squares : ndarray of shape (n_folds, n_classifiers, 2, 2)
    """
    n_folds, n_classifiers = coefficients.shape[:2]
    sums = np.zeros((2, n_folds, n_classifiers, 2, 2))
    for block in _blocks(coefficients, _TERMS):
        solved = np.asarray(np.isfinite(coefficients).all(axis=2))
        layer = _with_group(rows)
        zeroed = np.nan_to_num(coefficients)
        layer |= {f"s{m}": score_of(zeroed, m) for m in block}
        answers = [*_present(rows, block), *(a for m in block for a in _called(rows, m))]
        found = rows.reading.engine.ask(Question((*rows.layers(), layer), tuple(answers), ("g",)))
        check_groups(rows, found, 2 * n_folds)
        _check_whole(rows, found)
        width = 2 if rows.is_weighted else 1
        for answer in found:
            label, fold = divmod(int(answer.keys[0]), n_folds)
            values = [0.0 if v is None else float(v) for v in answer.values]
            here = np.array(values[2 : 2 + width] if rows.is_weighted else values[:1])
            calls = np.array(values[-width * len(block) :]).reshape(len(block), width)
            for m, called in zip(block, calls, strict=True):
                # Without a classifier no score is above anything.
                called = called if solved[fold, m] else 0 * called  # noqa: PLW2901
                sums[:, fold, m, label, 1] = called
                sums[:, fold, m, label, 0] = here - called
    return sums[0], sums[1]


def _present(rows: Rows, scored: Sequence[int]) -> list[Aggregate]:
    """Ask for rows, rows with scores, and their weights."""
    # A sum is missing where one of its terms is: one count finds any missing score.
    answers = [ROWS, Aggregate("count", total([column(f"s{m}") for m in scored]))]
    if rows.is_weighted:
        answers += [sum_of(column("w")), sum_of(column("w") * column("w"))]
    return answers


def _check_whole(rows: Rows, found: Sequence[Answer]) -> None:
    """Refuse rows without scores, and other labels: the first pass has seen none."""
    if any(
        int(answer.values[0]) != int(answer.values[1]) or answer.keys[0] is None for answer in found
    ):
        msg = (
            f"{rows.reading.engine.where} changed between the queries: it holds missing values, or "
            "other labels, now. Read it in a transaction, or from a copy that stands still."
        )
        raise SourceError(msg)


def _called(rows: Rows, m: int) -> list[Aggregate]:
    is_called = column(f"s{m}").above(number(0.0))
    if not rows.is_weighted:
        return [Aggregate("count", case([(is_called, literal(1))]))]
    w = column("w")
    return [sum_of(case([(is_called, w)])), sum_of(case([(is_called, w * w)]))]


def _with_group(rows: Rows) -> dict[str, Expression]:
    group = column("y") * literal(rows.n_folds) + column("f")
    layer = {"g": group.small(4 * rows.n_folds)}
    if rows.is_weighted:
        layer["w"] = column("w")
    return layer


def _blocks(coefficients: Array, most_terms: int) -> list[list[int]]:
    """Return classifiers in groups that a statement holds."""
    n_folds, n_classifiers, width = coefficients.shape
    size = max(1, most_terms // (n_folds * width))
    return [list(range(k, min(k + size, n_classifiers))) for k in range(0, n_classifiers, size)]
