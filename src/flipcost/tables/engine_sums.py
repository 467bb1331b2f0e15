"""Sums by query: class moments of every fold, and counts of the calls of linear scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.core.moments import ClassMoments
from flipcost.exceptions import SourceError
from flipcost.tables.engine_columns import NO_LABEL, EngineRows, Layer
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

# Rows to take the shift from.
_LOOK_ROWS = 1_000
# How far a mean may lie from the shift, in standard deviations: the square of it is what the
# rounding errors of the scatter are multiplied by.
_FAR = 100.0
_CODES = 4


def gather(rows: EngineRows) -> tuple[ClassMoments, ...]:
    """Gather the moments of every fold; refuse rows that cannot be used."""
    shifts = np.repeat(_first_means(rows)[None], 2 * rows.n_folds, axis=0)
    sums = _sums(rows, shifts)
    far = sums.too_far()
    if far is not None:
        sums = _sums(rows, far)
    return tuple(sums.part(fold) for fold in range(rows.n_folds))


def _first_means(rows: EngineRows) -> Array:
    """Return the means of the features in the first rows that the engine finds."""
    layers = EngineRows(rows.columns, rows.labels).layers()
    d = rows.n_features
    answers = [Aggregate(kind, column(f"x{j}")) for j in range(d) for kind in ("sum", "count")]
    found = rows.columns.engine.ask(Question(tuple(layers), tuple(answers), first_rows=_LOOK_ROWS))
    values = np.array([_plain(v) for v in found[0].values]).reshape(d, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        means = values[:, 0] / np.maximum(values[:, 1], 1)
    return np.where(np.isfinite(means), means, 0.0)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of shifted rows by group: label code times folds, plus fold."""

    shifts: Array
    n_rows: Any
    weight: Array
    first: Array
    second: Array

    def means(self) -> Array:
        """Return the means of shifted rows."""
        weight = np.where(self.weight > 0, self.weight, 1.0)[:, None]
        return np.asarray(self.first / weight)

    def scatter(self, group: int) -> Array:
        """Return the scatter of a group about its mean."""
        mean = self.means()[group]
        scatter = self.second[group] - self.weight[group] * np.outer(mean, mean)
        own = np.arange(len(mean))
        scatter[own, own] = np.maximum(scatter[own, own], 0.0)
        return np.asarray(scatter)

    def too_far(self) -> Array | None:
        """Return better shifts, if a mean lies too far from its shift."""
        means = self.means()
        weight = np.where(self.weight > 0, self.weight, 1.0)
        variance = np.stack([np.diagonal(self.scatter(g)) for g in range(len(weight))])
        deviation = np.sqrt(variance / weight[:, None])
        # What is left of a constant, or of numbers that doubles hardly distinguish, is rounding.
        rounding = 1e-12 * np.abs(self.shifts + means)
        far = np.abs(means) > np.maximum(_FAR * deviation, rounding)
        return self.shifts + means if far.any() else None

    def part(self, fold: int) -> ClassMoments:
        """Return the moments of both labels in a fold."""
        n_folds = len(self.weight) // 2
        groups = [fold, n_folds + fold]
        some = (self.weight[groups] > 0)[:, None]
        mean = np.where(some, (self.shifts + self.means())[groups], 0.0)
        scatter = np.stack([self.scatter(g) for g in groups]) * some[:, :, None]
        return ClassMoments(self.n_rows[groups], self.weight[groups], mean, scatter)


def _sums(rows: EngineRows, shifts: Array) -> _Sums:
    """Ask for all sums, in as many statements as are needed."""
    d, n_folds = rows.n_features, rows.n_folds
    n_groups = 2 * n_folds
    first, second = np.zeros((n_groups, d)), np.zeros((n_groups, d, d))
    n_rows, weight = np.zeros(n_groups, np.int64), np.zeros(n_groups)
    for number_, pairs in enumerate(_blocks(d, rows.columns.engine.most_sums)):
        answers = _answers(rows, pairs, with_means=number_ == 0)
        layers = (*rows.layers(), *_shifted(rows, shifts, pairs, with_means=number_ == 0))
        found = rows.columns.engine.ask(Question(layers, tuple(answers), ("g",)))
        _check_groups(rows, found, n_groups)
        for answer in found:
            g = int(answer.keys[0])
            count, *values = answer.values
            if number_ == 0:
                n_rows[g] = int(count)
                weight[g], *values = _weight(rows, n_rows[g], values)
                first[g], values = [_plain(v) for v in values[:d]], values[d:]
            elif int(count) != n_rows[g]:
                raise changed(rows, n_rows[g], int(count))
            for (i, j), value in zip(pairs, values, strict=True):
                second[g, i, j] = second[g, j, i] = _plain(value)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise _blame(rows)
    return _Sums(shifts, n_rows, weight, first, second)


def _weight(rows: EngineRows, count: int, values: list[Any]) -> list[Any]:
    """Return the weight of a group and what follows it, the rows being whole."""
    complete, *values = values
    if int(complete) != count:
        raise _blame(rows)
    if not rows.is_weighted:
        return [float(count), *values]
    weight, least, *values = values
    if count and not _plain(least) >= 0:
        msg = f"{rows.columns.engine.where}: weights must not be negative; got {_plain(least):g}."
        raise SourceError(msg)
    return [_plain(weight), *values]


def _blocks(d: int, most: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the pairs of features, few enough for a statement."""
    pairs = combinations_with_replacement(range(d), 2)
    block = list(islice(pairs, max(most - d - 4, 1)))
    while block:
        yield block
        block = list(islice(pairs, most - 1))


def _shifted(
    rows: EngineRows, shifts: Array, pairs: Sequence[tuple[int, int]], *, with_means: bool
) -> list[Layer]:
    """Return layers with the group, the shifted features, and these times the weight."""
    used = range(rows.n_features) if with_means else sorted({j for pair in pairs for j in pair})
    group = column("y") * literal(rows.n_folds) + column("f")
    by_group = (shifts != shifts[0]).any()
    layer = {"g": group.small(_CODES * rows.n_folds)}
    for j in used:
        values = [column(f"x{j}") - number(shift) for shift in shifts[:, j].tolist()]
        layer[f"z{j}"] = pick(group, values) if by_group else values[0]
    if not rows.is_weighted:
        return [layer]
    layer["w"] = column("w")
    weighted = {name: column(name) for name in layer}
    weighted |= {f"u{j}": column("w") * column(f"z{j}") for j in used}
    return [layer, weighted]


def _answers(
    rows: EngineRows, pairs: Sequence[tuple[int, int]], *, with_means: bool
) -> list[Aggregate]:
    left = "u" if rows.is_weighted else "z"
    answers = [ROWS]
    if with_means:
        terms = [column(f"z{j}") for j in range(rows.n_features)]
        if rows.is_weighted:
            terms.append(column("w"))
        # A sum is missing where one of its terms is: one count finds any missing value.
        answers.append(Aggregate("count", total(terms)))
        if rows.is_weighted:
            answers += [sum_of(column("w")), Aggregate("min", column("w"))]
        answers += [sum_of(column(f"{left}{j}")) for j in range(rows.n_features)]
    return answers + [sum_of(column(f"{left}{i}") * column(f"z{j}")) for i, j in pairs]


def _check_groups(rows: EngineRows, found: Sequence[Answer], n_groups: int) -> None:
    """Refuse rows without a label, with a third one, or without a key."""
    where = rows.columns.engine.where
    for answer in found:
        group = answer.keys[0]
        if group is None:
            msg = (
                f"{where}: column {rows.columns.layout.fold_by!r} makes the folds and must not "
                f"have missing values; got {int(answer.values[0])}."
            )
            raise SourceError(msg)
        if int(group) >= n_groups:
            code = int(group) // rows.n_folds
            n = sum(
                int(a.values[0])
                for a in found
                if a.keys[0] is not None and int(a.keys[0]) // rows.n_folds == code
            )
            raise _wrong_label(rows, code, n)


def _wrong_label(rows: EngineRows, code: int, n: int) -> SourceError:
    """Return the error for rows without a label, or with a third one."""
    where = rows.columns.engine.where
    if code == NO_LABEL:
        return SourceError(
            f"{where}: labels must not be missing; got {n} missing. Drop those rows first."
        )
    question = Question(({"y": rows.columns.label},), (ROWS,), ("y",), most_groups=6)
    others = [a.keys[0] for a in rows.columns.engine.ask(question) if a.keys[0] is not None]
    strange = sorted(repr(v) for v in others if v not in rows.labels)[:3]
    return SourceError(
        f"{where}: the target must hold two labels, as {list(rows.labels)}; got {n} rows with "
        f"others, as {', '.join(strange) or 'NaN'}. Merge them into two, or keep two."
    )


def changed(rows: EngineRows, before: int, now: int) -> SourceError:
    """Return the error for a table whose rows are not those of an earlier query."""
    return SourceError(
        f"{rows.columns.engine.where} changed between the queries: {before} rows of a group were "
        f"counted, then {now}. Read it in a transaction, or from a copy that stands still."
    )


def _blame(rows: EngineRows) -> SourceError:
    """Find the column that is not finite or missing somewhere."""
    columns, where = rows.columns, rows.columns.engine.where
    plain = EngineRows(columns, rows.labels)
    names = [f"x{j}" for j in range(plain.n_features)] + ["w"] * plain.is_weighted
    said = [*columns.feature_names, str(columns.layout.weight)]
    answers = [ROWS]
    for name in names:
        is_nan = case([(column(name).is_nan(), literal(1))])
        answers += [Aggregate(kind, column(name)) for kind in ("count", "min", "max")]
        answers.append(Aggregate("count", is_nan))
    (found,) = columns.engine.ask(Question(tuple(plain.layers()), tuple(answers)))
    n, *values = found.values
    for k, name in enumerate(said[: len(names)]):
        count, low, high, n_nan = values[4 * k : 4 * k + 4]
        if int(count) < int(n):
            return SourceError(
                f"{where}: column {name!r} must not have missing values; got "
                f"{int(n) - int(count)}. Drop those rows, leave the column out of `columns`, or "
                "read the table `with_encoder`."
            )
        if n_nan or not np.isfinite([_plain(low), _plain(high)]).all():
            return SourceError(
                f"{where}: column {name!r} must be finite; got values that are not. Drop those "
                "rows, or leave the column out of `columns`."
            )
    return SourceError(f"{where} holds numbers too large to be squared. Scale its columns first.")


def _plain(value: Any) -> float:
    """Return an answer as a number; a sum of nothing is 0."""
    return 0.0 if value is None else float(value)


# Most terms of scores in one statement: its text is then about a megabyte.
_TERMS = 40_000


def _score_of(coefficients: Array, which: int) -> Expression:
    """Return one score as an expression: that of the fold's own classifier."""
    return pick(column("f"), [_linear(path[which]) for path in coefficients])


def _linear(weights: Array) -> Expression:
    terms = [column(f"x{j}") * number(w) for j, w in enumerate(weights[:-1].tolist()) if w != 0]
    return total([*terms, number(float(weights[-1]))])


def count_calls(rows: EngineRows, coefficients: Array) -> tuple[Array, Array]:
    """Return weight and squared weight by fold, classifier, label and call.

    Parameters
    ----------
    rows : EngineRows
        The rows; the labels are the negative and the positive one.
    coefficients : ndarray of shape (n_folds, n_classifiers, d + 1)
        Coefficients with the bias last; NaN where there is no classifier.

    Returns
    -------
    weight, squares : ndarray of shape (n_folds, n_classifiers, 2, 2)
    """
    n_folds, n_classifiers = coefficients.shape[:2]
    sums = np.zeros((2, n_folds, n_classifiers, 2, 2))
    for block in _score_blocks(coefficients, _TERMS):
        solved = np.asarray(np.isfinite(coefficients).all(axis=2))
        layer = _with_group(rows)
        zeroed = np.nan_to_num(coefficients)
        layer |= {f"s{m}": _score_of(zeroed, m) for m in block}
        answers = [*_present(rows, block), *(a for m in block for a in _called(rows, m))]
        found = rows.columns.engine.ask(Question((*rows.layers(), layer), tuple(answers), ("g",)))
        _check_groups(rows, found, 2 * n_folds)
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


def _present(rows: EngineRows, scored: Sequence[int]) -> list[Aggregate]:
    """Ask for rows, rows with scores, and their weights."""
    # A sum is missing where one of its terms is: one count finds any missing score.
    answers = [ROWS, Aggregate("count", total([column(f"s{m}") for m in scored]))]
    if rows.is_weighted:
        answers += [sum_of(column("w")), sum_of(column("w") * column("w"))]
    return answers


def _check_whole(rows: EngineRows, found: Sequence[Answer]) -> None:
    """Refuse rows without scores, and other labels: the first pass has seen none."""
    if any(
        int(answer.values[0]) != int(answer.values[1]) or answer.keys[0] is None for answer in found
    ):
        msg = (
            f"{rows.columns.engine.where} changed between the queries: it holds missing values, or "
            "other labels, now. Read it in a transaction, or from a copy that stands still."
        )
        raise SourceError(msg)


def _called(rows: EngineRows, m: int) -> list[Aggregate]:
    is_called = column(f"s{m}").above(number(0.0))
    if not rows.is_weighted:
        return [Aggregate("count", case([(is_called, literal(1))]))]
    w = column("w")
    return [sum_of(case([(is_called, w)])), sum_of(case([(is_called, w * w)]))]


def _with_group(rows: EngineRows) -> dict[str, Expression]:
    group = column("y") * literal(rows.n_folds) + column("f")
    layer = {"g": group.small(4 * rows.n_folds)}
    if rows.is_weighted:
        layer["w"] = column("w")
    return layer


def _score_blocks(coefficients: Array, most_terms: int) -> list[list[int]]:
    """Return classifiers in groups that a statement holds."""
    n_folds, n_classifiers, width = coefficients.shape
    size = max(1, most_terms // (n_folds * width))
    return [list(range(k, min(k + size, n_classifiers))) for k in range(0, n_classifiers, size)]
