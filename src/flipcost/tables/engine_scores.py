"""Scores as expressions: counts of calls, and histograms, by queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.arrays import Array
from flipcost.exceptions import SourceError
from flipcost.tables.engine_moments import changed, check_groups
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
# Most scores whose histograms one statement counts: each is summed up for each.
_SCORES = 24
# Label codes: the two, none, and another.
_CODES = 4


@dataclass(frozen=True, eq=False)
class Bins:
    """Histograms by fold and score, and cells of the leading score over all folds.

    Attributes
    ----------
    weight, squares, scores : ndarray of shape (n_folds, n_scores, n_bins, 2)
        Sums of weight, squared weight, and weight times score.
    cell_weight, cell_squares : ndarray of shape (2 * n_cells,)
        The same of cells, negative label and positive one in turn.
    cell_scores : ndarray of shape (n_scores, 2 * n_cells)
        Sums of every score in each cell.
    """

    weight: Array
    squares: Array
    scores: Array
    cell_weight: Array
    cell_squares: Array
    cell_scores: Array


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
        found = rows.reading.engine.ask(
            Question((*rows.layers(), layer), tuple(answers), (("g",),))
        )
        check_groups(rows, found, 2 * n_folds)
        _check_whole(rows, found, are_bins=False)
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


def _check_whole(rows: Rows, found: Sequence[Answer], *, are_bins: bool = True) -> None:
    """Refuse rows without scores, and other labels: the first pass has seen none."""
    keys = [next((key for key in answer.keys if key is not None), None) for answer in found]
    if any(
        int(answer.values[0]) != int(answer.values[1])
        or key is None
        or (are_bins and int(key) % _CODES > 1)
        for answer, key in zip(found, keys, strict=True)
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


def _blocks(coefficients: Array, most_terms: int, most: int | None = None) -> list[list[int]]:
    """Return classifiers in groups that a statement holds."""
    n_folds, n_classifiers, width = coefficients.shape
    size = max(1, most_terms // (n_folds * width))
    size = size if most is None else min(size, most)
    return [list(range(k, min(k + size, n_classifiers))) for k in range(0, n_classifiers, size)]


def count_bins(
    rows: Rows,
    coefficients: Array,
    low: Array,
    high: Array,
    n_bins: int,
    *,
    by_fold: bool = True,
    lead: int = 0,
    n_cells: int = 0,
) -> Bins:
    """Count rows in bins of their scores, one statement for a block of scores.

    Parameters
    ----------
    rows : Rows
        The rows; the labels are the negative and the positive one.
    coefficients : ndarray of shape (n_folds, n_scores, d + 1)
        Coefficients with the bias last; scores with NaN are left out.
    low, high : ndarray of shape (n_scores,)
        Limits of the bins.
    n_bins : int
        Number of bins.
    by_fold : bool, default=True
        Whether folds are counted apart.
    lead, n_cells : int
        The score that makes cells, and how many; none when 0.

    Returns
    -------
    Bins
    """
    n_scores = coefficients.shape[1]
    n_folds = coefficients.shape[0] if by_fold else 1
    bins = np.zeros((3, n_folds, n_scores, n_bins * 2))
    cells = np.zeros((2 + n_scores, 2 * n_cells))
    solved = [m for m in range(n_scores) if np.isfinite(coefficients[:, m]).all()]
    for block in _blocks(coefficients, _TERMS, _SCORES):
        own = [m for m in block if m in solved]
        scored = sorted({*own, lead}) if n_cells else own
        if not scored:
            continue
        first: dict[str, Expression] = {name: column(name) for name in ("y", "f")}
        if rows.is_weighted:
            first["w"] = column("w")
        first |= {f"s{m}": score_of(coefficients, m) for m in scored}
        second = _places(rows, own, low, high, n_bins, by_fold=by_fold)
        sets = [(f"b{m}",) for m in own]
        if n_cells:
            place = _place(lead, low[lead], high[lead], n_cells)
            second["cell"] = (place * literal(_CODES) + column("y")).small(_CODES * n_cells)
            sets.append(("cell",))
        answers = _bin_answers(rows, own)
        question = Question((*rows.layers(), first, second), tuple(answers), tuple(sets))
        found = rows.reading.engine.ask(question)
        _check_whole(rows, found)
        for answer in found:
            _add(rows, question, answer, own, bins, cells, by_fold=by_fold)
    shape = (3, n_folds, n_scores, n_bins, 2)
    weight, squares, sums = bins.reshape(shape)
    return Bins(weight, squares, sums, cells[0], cells[1], cells[2:])


def _place(m: int, low: float, high: float, n_bins: int) -> Expression:
    """Return the bin of a score; `flipcost.core.scoring.bin_numbers`."""
    place = (column(f"s{m}") - number(low)) * number(n_bins / (high - low))
    return place.at_least(number(0.0)).at_most(number(n_bins - 1)).floor()


def _places(
    rows: Rows, own: Sequence[int], low: Array, high: Array, n_bins: int, *, by_fold: bool
) -> dict[str, Expression]:
    """Return the layer of keys: fold, bin and label code in one number."""
    layer: dict[str, Expression] = {f"s{m}": column(f"s{m}") for m in own}
    if rows.is_weighted:
        layer["w"] = column("w")
    for m in own:
        place = _place(m, float(low[m]), float(high[m]), n_bins)
        key = place * literal(_CODES) + column("y")
        if by_fold and rows.n_folds > 1:
            key = column("f") * literal(_CODES * n_bins) + key
        layer[f"b{m}"] = key.small(_CODES * n_bins * rows.n_folds)
    return layer


def _bin_answers(rows: Rows, own: Sequence[int]) -> list[Aggregate]:
    sums = [column(f"s{m}") for m in own]
    if rows.is_weighted:
        sums = [column("w") * score for score in sums]
    return [*_present(rows, own), *map(sum_of, sums)]


def _add(
    rows: Rows,
    question: Question,
    answer: Answer,
    own: Sequence[int],
    bins: Array,
    cells: Array,
    *,
    by_fold: bool,
) -> None:
    """Put what was found for a bin, or for a cell, in its place."""
    filled = next(k for k, key in enumerate(answer.keys) if key is not None)
    name, key = question.keys[filled], int(answer.keys[filled])
    values = [0.0 if v is None else float(v) for v in answer.values]
    weight, squares, *sums = values[2:] if rows.is_weighted else (values[0], values[0], *values[2:])
    place, label = divmod(key, _CODES)
    place = 2 * place + label
    if name == "cell":
        cells[:2, place] = weight, squares
        cells[[2 + m for m in own], place] = sums
        return
    m = int(name[1:])
    fold, place = divmod(place, bins.shape[-1]) if by_fold else (0, place)
    bins[:, fold, m, place] = weight, squares, sums[list(own).index(m)]


def check_bins(rows: Rows, bins: Bins, expected: Sequence[float] | None) -> None:
    """Refuse a table whose weights are not those of the first pass."""
    if expected is None:
        return
    for m in range(bins.weight.shape[1]):
        found = bins.weight[:, m].sum(axis=(0, 1))
        if found.any() and not np.allclose(found, expected, rtol=1e-9):
            code = int(np.argmax(~np.isclose(found, expected, rtol=1e-9)))
            raise changed(rows, int(expected[code]), int(found[code]))
