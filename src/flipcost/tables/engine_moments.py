"""Class moments of every fold, of sums by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, islice
from typing import Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.core.moments import ClassMoments
from flipcost.exceptions import SourceError
from flipcost.tables.engine import NO_LABEL, EngineColumns

# Rows to take the shift from.
_LOOK_ROWS = 1_000
# How far a mean may lie from the shift, in standard deviations: the square of it is what the
# rounding errors of the scatter are multiplied by. Columns nearer to 0 than the first are not
# shifted, which saves the engine work.
_NEAR, _FAR = 10.0, 100.0
_CODES = 4
# Groups up to which the engine's smallest type has room.
_TINY = 128


def gather(
    columns: EngineColumns, labels: tuple[Any, ...], n_folds: int
) -> tuple[ClassMoments, ...]:
    """Gather the moments of every fold; refuse rows that cannot be used.

    Sums are of rows less a shift near their means, so that scatter keeps its digits.
    """
    asked = _Sums(columns, labels, n_folds)
    shifts = np.repeat(_first_means(columns, labels)[None], 2 * n_folds, axis=0)
    means, scatter = asked.about(shifts)
    deviation = np.sqrt(np.einsum("gii->gi", scatter) / asked.safe_weight[:, None])
    # What is left of a constant, or of numbers that doubles hardly distinguish, is rounding.
    rounding = 1e-12 * np.abs(shifts + means)
    if (np.abs(means) > np.maximum(_FAR * deviation, rounding)).any():
        shifts = shifts + means
        means, scatter = asked.about(shifts)
    some = asked.weight > 0
    means = np.where(some[:, None], shifts + means, 0.0)
    scatter = np.where(some[:, None, None], scatter, 0.0)
    places = ([fold, n_folds + fold] for fold in range(n_folds))
    return tuple(
        ClassMoments(asked.n_rows[g], asked.weight[g], means[g], scatter[g]) for g in places
    )


def _first_means(columns: EngineColumns, labels: tuple[Any, ...]) -> Array:
    """Return the means of the features in the first rows that the engine finds."""
    d = len(columns.features)
    asked = ("SUM(x{0})", "SUM(x{0} * x{0})", "COUNT(x{0})")
    answers = [one.format(j) for j in range(d) for one in asked]
    inner = columns.engine.layered(*columns.layers(labels), first_rows=_LOOK_ROWS)
    values = np.array([_plain(v) for v in columns.engine.ask(answers, inner)[0]]).reshape(d, 3)
    with np.errstate(invalid="ignore", over="ignore"):
        means, squares = (values[:, :2] / np.maximum(values[:, 2:], 1)).T
        is_far = means**2 > _NEAR**2 * (squares - means**2)
    return np.where(np.isfinite(means) & is_far, means, 0.0)


class _Sums:
    """Sums by group, which is the label's code times the folds, plus the fold."""

    def __init__(self, columns: EngineColumns, labels: tuple[Any, ...], n_folds: int):
        self._columns, self._labels, self._n_folds = columns, labels, n_folds
        self._layers = columns.layers(labels, n_folds)
        self.n_rows, self.weight = np.zeros(2 * n_folds, np.int64), np.zeros(2 * n_folds)

    @property
    def safe_weight(self) -> Array:
        """Weight of each group, with 1 in place of 0."""
        return np.where(self.weight > 0, self.weight, 1.0)

    def about(self, shifts: Array) -> tuple[Array, Array]:
        """Return means of shifted rows and scatter about these, by group."""
        n_groups, d = shifts.shape
        first, second = np.zeros((n_groups, d)), np.zeros((n_groups, d, d))
        engine, step = self._columns.engine, self._columns.layout.encoder
        is_plain = not (shifts.any() or step or self._columns.is_weighted) and self._n_folds == 1
        for k, pairs in enumerate(_blocks(d, engine.most_sums)):
            answers = ["COUNT(*)", *(self._of_first(d) if k == 0 else [])]
            left = "u" if self._columns.is_weighted else "z"
            answers += [f"SUM({left}{i} * z{j})" for i, j in pairs]
            used = range(d) if k == 0 else sorted({j for pair in pairs for j in pair})
            layers = (*self._layers, *self._shifted(shifts, used))
            inner = engine.layered(*layers, fenced=not is_plain)
            for g, count, *sums in self._checked(engine.ask(answers, inner, "g")):
                values = sums
                if k == 0:
                    self.n_rows[g] = count
                    first[g], values = self._whole(g, sums, d)
                elif int(count) != self.n_rows[g]:
                    raise self._changed(self.n_rows[g], int(count))
                for (i, j), value in zip(pairs, values, strict=True):
                    second[g, i, j] = second[g, j, i] = _plain(value)
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            raise self._blame()
        means = first / self.safe_weight[:, None]
        scatter = second - self.weight[:, None, None] * means[:, :, None] * means[:, None, :]
        own = np.arange(d)
        scatter[:, own, own] = np.maximum(scatter[:, own, own], 0.0)
        return means, scatter

    def _shifted(self, shifts: Array, used: Sequence[int]) -> list[dict[str, str]]:
        """Return layers with the group, the shifted features, and these times the weight."""
        engine, group = self._columns.engine, f"(y * {self._n_folds} + f)"
        tiny = engine.tiny if _CODES * self._n_folds < _TINY else "INTEGER"
        layer = {"g": f"CAST({group} AS {tiny})"}
        for j in used:
            own = shifts[:, j].tolist()
            values = [f"x{j} - {engine.number(shift)}" if shift else f"x{j}" for shift in own]
            if len(set(values)) == 1:
                layer[f"z{j}"] = values[0]
            else:
                cases = " ".join(f"WHEN {g} THEN {value}" for g, value in enumerate(values))
                layer[f"z{j}"] = f"CASE {group} {cases} END"
        if not self._columns.is_weighted:
            return [layer]
        layer["w"] = "w"
        kept = {name: name for name in layer}
        return [layer, kept | {f"u{j}": f"w * z{j}" for j in used}]

    def _of_first(self, d: int) -> list[str]:
        """Return answers that only the first statement asks for."""
        terms = [f"z{j}" for j in range(d)] + ["w"] * self._columns.is_weighted
        missing = " OR ".join(f"{term} IS NULL" for term in terms)
        answers = [f"COUNT(CASE WHEN {missing} THEN 1 END)"]
        if not self._columns.is_weighted:
            return answers + [f"SUM(z{j})" for j in range(d)]
        return [*answers, "SUM(w)", "MIN(w)", *(f"SUM(u{j})" for j in range(d))]

    def _whole(self, g: int, values: list[Any], d: int) -> tuple[list[float], list[Any]]:
        """Keep what a group of whole rows weighs; return its first sums and what follows."""
        incomplete, *values = values
        if incomplete:
            raise self._blame()
        self.weight[g] = self.n_rows[g]
        if self._columns.is_weighted:
            weight, least, *values = values
            if self.n_rows[g] and not _plain(least) >= 0:
                where = self._columns.engine.where
                msg = f"{where}: weights must not be negative; got {_plain(least):g}."
                raise SourceError(msg)
            self.weight[g] = _plain(weight)
        return [_plain(v) for v in values[:d]], values[d:]

    def _checked(self, found: list[Any]) -> list[Any]:
        """Refuse rows without a label, with a third one, or without a key."""
        where, n_folds = self._columns.engine.where, self._n_folds
        for g, count, *_ in found:
            if g is None:
                msg = (
                    f"{where}: column {self._columns.layout.fold_by!r} makes the folds and must "
                    f"not have missing values; got {int(count)}."
                )
                raise SourceError(msg)
        for g, *_ in found:
            if g >= 2 * n_folds:
                code = g // n_folds
                n = sum(int(count) for other, count, *_ in found if other // n_folds == code)
                raise self._wrong_label(code, n)
        return found

    def _wrong_label(self, code: int, n: int) -> SourceError:
        """Return the error for rows without a label, or with a third one."""
        engine = self._columns.engine
        if code == NO_LABEL:
            return SourceError(
                f"{engine.where}: labels must not be missing; got {n} missing. Drop those rows "
                "first."
            )
        layer = engine.layered({"y": self._columns.label})
        others = [label for label, _ in engine.ask(["COUNT(*)"], layer, "y", 6)]
        strange = sorted(repr(v) for v in others if v is not None and v not in self._labels)[:3]
        return SourceError(
            f"{engine.where}: the target must hold two labels, as {list(self._labels)}; got {n} "
            f"rows with others, as {', '.join(strange) or 'NaN'}. Merge them into two, or keep two."
        )

    def _changed(self, before: int, now: int) -> SourceError:
        """Return the error for a table whose rows are not those of an earlier query."""
        return SourceError(
            f"{self._columns.engine.where} changed between the queries: {before} rows of a group "
            f"were counted, then {now}. Read it in a transaction, or from a copy that stands still."
        )

    def _blame(self) -> SourceError:
        """Find the column with a value that is missing or not finite."""
        columns, engine = self._columns, self._columns.engine
        names = {f"x{j}": name for j, name in enumerate(columns.layout.feature_names)}
        if columns.is_weighted:
            names["w"] = str(columns.layout.weight)
        answers = ["COUNT(*)"]
        for x in names:
            answers += [f"{kind}({x})" for kind in ("COUNT", "MIN", "MAX")]
            answers.append(f"COUNT(CASE WHEN {engine.is_nan(x)} THEN 1 END)")
        ((n, *values),) = engine.ask(answers, engine.layered(*columns.layers(self._labels)))
        for k, name in enumerate(names.values()):
            count, low, high, n_nan = values[4 * k : 4 * k + 4]
            if int(count) < int(n):
                return SourceError(
                    f"{engine.where}: column {name!r} must not have missing values; got "
                    f"{int(n) - int(count)}. Drop those rows, leave the column out of `columns`, "
                    "or read the table `with_encoder`."
                )
            if n_nan or not np.isfinite([_plain(low), _plain(high)]).all():
                return SourceError(
                    f"{engine.where}: column {name!r} must be finite; got values that are not. "
                    "Drop those rows, or leave the column out of `columns`."
                )
        return SourceError(
            f"{engine.where} holds numbers too large to be squared. Scale its columns first."
        )


def _blocks(d: int, most: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the pairs of features, few enough for a statement."""
    pairs = combinations_with_replacement(range(d), 2)
    block = list(islice(pairs, max(most - d - 4, 1)))
    while block:
        yield block
        block = list(islice(pairs, most - 1))


def _plain(value: Any) -> float:
    """Return an answer as a number; the sum of no rows is 0."""
    return 0.0 if value is None else float(value)
