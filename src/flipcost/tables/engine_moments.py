"""Class moments by queries: columns as expressions, groups, and sums of products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.core.folds import PRIME, engine_constants
from flipcost.core.moments import ClassMoments
from flipcost.exceptions import SourceError, unknown_column
from flipcost.tables.columns import FALSE_WORDS, TRUE_WORDS
from flipcost.tables.sql import (
    MISSING,
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
    from flipcost.tables.encoder import Column
    from flipcost.tables.engine import Answer, ColumnKind, Engine
    from flipcost.tables.rows import Layout

Layer = Mapping[str, Expression]

# Codes of labels after the two: none, and any other.
NO_LABEL, OTHER_LABEL = 2, 3
# Below it, twice the prime times a multiplier fits in 64 bits.
_SMALL = 1 << 30


@dataclass(frozen=True)
class Reading:
    """How an engine reads the columns of a table.

    Parameters
    ----------
    engine : Engine
        Who holds it.
    layout : Layout
        Roles of the columns; the features are named.
    rule : {"hash", "modulus"}
        How keys make folds.
    """

    engine: Engine
    layout: Layout
    rule: str = "hash"

    @cached_property
    def kinds(self) -> dict[str, ColumnKind]:
        """What the columns of the source hold."""
        return self.engine.columns()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        step = self.layout.encoder
        return (self.layout.columns or ()) if step is None else step.feature_names

    @cached_property
    def features(self) -> list[Expression]:
        """The features: columns of numbers as they are, or as the encoder reads them."""
        step = self.layout.encoder
        if step is None:
            return [self.plain_number(name) for name in self.layout.columns or ()]
        plain, flags, levels = [], [], []
        for known in step.encoder.columns:
            if known.kind in ("constant", "empty"):
                continue
            value = self._category(known) if known.kind == "category" else self._value(known)
            if known.kind == "category":
                levels += _level_flags(value, known)
            else:
                plain.append(_filled(value, known))
            if known.has_missing:
                flags.append(case([(value.is_missing(), number(1.0))], number(0.0)))
        scaled = zip(
            (*plain, *flags, *levels), step.mean_.tolist(), step.scale_.tolist(), strict=True
        )
        return [(value - number(mean)) / number(scale) for value, mean, scale in scaled]

    def kind(self, name: str) -> ColumnKind:
        """Return what a column holds, or say which one was meant."""
        if name not in self.kinds:
            raise unknown_column(name, list(self.kinds), _capital(self.engine.where))
        return self.kinds[name]

    def plain_number(self, name: str) -> Expression:
        """Return a column of numbers as it is; what is not finite is found in the sums."""
        kind = self.kind(name)
        if kind.kind == "truth":
            yes = column(name).equals(literal(value=True))
            no = column(name).equals(literal(value=False))
            return case([(yes, number(1.0)), (no, number(0.0))])
        if kind.kind not in ("number", "whole"):
            msg = (
                f"{self.engine.where}: column {name!r} must hold numbers; got {kind.said}. Leave "
                "it out of `columns`, make numbers of it in a SELECT, or, for a category, read the "
                "table `with_encoder`."
            )
            raise SourceError(msg)
        return column(name).as_double()

    def number_or_missing(self, name: str) -> Expression:
        """Return a column of numbers, missing also where the engine has a "not a number"."""
        value = self.plain_number(name)
        may_be_nan = self.kind(name).kind == "number"
        return case([(value.is_nan(), MISSING)], value) if may_be_nan else value

    def _value(self, known: Column) -> Expression:
        """Return the number of a column that the encoder reads as a number, or yes or no."""
        if known.kind == "boolean" and self.kind(known.name).kind == "text":
            word = column(known.name).as_text().lower()
            yes = [(word.equals(literal(said)), number(1.0)) for said in TRUE_WORDS]
            return case([*yes, *((word.equals(literal(s)), number(0.0)) for s in FALSE_WORDS)])
        return self.number_or_missing(known.name)

    def _category(self, known: Column) -> Expression:
        value = self.plain_level(known.name)
        return value if self.kind(known.name).kind == "text" else value.as_text()

    def plain_level(self, name: str) -> Expression:
        """Return a category as text, a whole number or a truth value; empty text is missing."""
        kind = self.kind(name)
        if kind.kind == "text":
            value = column(name).as_text()
            return case([(value.equals(literal("")), MISSING)], value)
        if kind.kind == "whole":
            return column(name).as_integer()
        if kind.kind == "truth":
            return column(name)
        msg = (
            f"{self.engine.where}: column {name!r} must hold text, integers or booleans to be a "
            f"category; got {kind.said}. Leave it out of `columns`."
        )
        raise SourceError(msg)

    @cached_property
    def label(self) -> Expression:
        """The label as it is."""
        return self.label_of(self.layout.target or "")

    def label_of(self, name: str) -> Expression:
        """Return the labels that a column holds; an empty text is none."""
        kind = self.kind(name)
        if kind.kind in ("text", "whole", "truth"):
            return self.plain_level(name)
        if kind.kind == "number":
            return column(name).as_double()
        msg = f"{self.engine.where}: labels must be numbers, text or booleans; got {kind.said}."
        raise SourceError(msg)

    def label_code(self, labels: tuple[Any, ...]) -> Expression:
        """Return 0 and 1 for the labels, and other codes for rows without one, or another."""
        known = [(self.label.equals(literal(v)), literal(k)) for k, v in enumerate(labels)]
        return case([*known, (self.label.is_missing(), literal(NO_LABEL))], literal(OTHER_LABEL))

    @cached_property
    def weight(self) -> Expression | None:
        """The weight of a row."""
        return None if self.layout.weight is None else self.plain_number(self.layout.weight)

    @cached_property
    def key(self) -> Expression:
        """The key of a row, a whole number."""
        name = self.layout.fold_by
        if name is None:
            msg = (
                f"{self.engine.where}: rows of a table in an engine have no order, so that "
                "`fold_by` must name the column, of integers or text, whose hash puts them into "
                "folds; got none."
            )
            raise SourceError(msg)
        kind = self.kind(name)
        if kind.kind == "whole":
            return column(name).as_integer()
        if kind.kind == "text" and self.rule == "hash":
            return column(name).as_text().text_key()
        wanted = "integers or text" if self.rule == "hash" else "integers"
        msg = (
            f"{self.engine.where}: column {name!r} must hold {wanted} to make folds by its "
            f"{self.rule}; got {kind.said}."
        )
        raise SourceError(msg)


def hashed(layer: Layer, key: str, name: str, seed: int) -> list[Layer]:
    """Return layers that add the hash of a key under a name; see `flipcost.core.folds`."""
    multiplier, offset = engine_constants(seed)
    prime = literal(PRIME)
    kept = {known: column(known) for known in layer}
    # The remainder of a negative key is negative in some engines.
    inside = column(key) % prime + prime
    if multiplier >= _SMALL:
        inside = inside % prime
    start = (inside * literal(multiplier) + literal(offset)) % prime
    a, b = f"{name}_1", f"{name}_2"
    square = column(b) * column(b) % prime
    return [
        {**kept, a: start},
        {**kept, a: column(a), b: column(a) * column(a) % prime},
        {**kept, name: square * column(a) % prime},
    ]


def modulus(key: Expression, n: int) -> Expression:
    """Return the remainder of a key, from 0 on, whatever its sign."""
    return (key % literal(n) + literal(n)) % literal(n)


def _filled(value: Expression, known: Column) -> Expression:
    """Return a number with what is missing filled, and clipped as the encoder clips."""
    (fill,), (low,), (high,) = known.fill, known.low, known.high
    branches = [(value.is_missing(), number(fill))]
    if np.isfinite([low, high]).any():
        branches.append((value.is_infinite(), value))  # which the sums then show
    if np.isfinite(high):
        branches.append((value.above(number(high)), number(high)))
    if np.isfinite(low):
        branches.append((number(low).above(value), number(low)))
    return case(branches, value)


def _level_flags(value: Expression, known: Column) -> list[Expression]:
    """Return a flag for each level of a category, and for any other if the encoder has one."""
    yes, no = number(1.0), number(0.0)
    found = [case([(value.equals(literal(level)), yes)], no) for level in known.levels]
    if known.has_other:
        levels = [(value.equals(literal(level)), no) for level in known.levels]
        found.append(case([*levels, (value.is_missing(), no)], yes))
    return found


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# Folds and samples must not be made by the same hash.


@dataclass(frozen=True)
class Subset:
    """Rows of each label, by code, whose second hash lies below a share of its range."""

    shares: tuple[float, float]

    def condition(self) -> Expression:
        """Return which rows are in it."""
        limits = [literal(int(share * PRIME)) for share in self.shares]
        return pick(column("y"), limits).above(column("s"))


@dataclass(frozen=True)
class Rows:
    """Rows of a table as features ``x0``, ``x1``, ..., code ``y``, weight ``w`` and fold ``f``.

    Parameters
    ----------
    reading : Reading
        How the columns are read.
    labels : tuple
        The two labels, or fewer.
    n_folds : int
        Number of folds.
    """

    reading: Reading
    labels: tuple[Any, ...]
    n_folds: int = 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.reading.features)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.reading.weight is not None

    def layers(self) -> list[Layer]:
        """Return the layers; the last one has ``x``, ``y``, ``f``, and ``w`` if there are any."""
        reading = self.reading
        first = {f"x{j}": feature for j, feature in enumerate(reading.features)}
        first["y"] = reading.label_code(self.labels)
        if reading.weight is not None:
            first["w"] = reading.weight
        found: list[Layer] = [first]
        hashes = self.n_folds > 1 and reading.rule == "hash"
        if self.n_folds > 1:
            first["k"] = reading.key
        if hashes:
            found += hashed(found[-1], "k", "h", reading.layout.fold_seed)
        found.append(self._last(found[-1], hashes=hashes))
        return found

    def _last(self, before: Layer, *, hashes: bool) -> Layer:
        last = {name: column(name) for name in before if name not in ("h", "k")}
        fold = literal(0)
        if self.n_folds > 1:
            fold = modulus(column("k"), self.n_folds)
            if hashes:
                fold = column("h") % literal(self.n_folds)
        last["f"] = fold
        return last


# Rows to take the shift from.
_LOOK_ROWS = 1_000
# How far a mean may lie from the shift, in standard deviations: the square of it is what the
# rounding errors of the scatter are multiplied by.
_FAR = 100.0
_CODES = 4


@dataclass(frozen=True, eq=False)
class Gathered:
    """Moments by fold, and rows of each label code."""

    parts: tuple[ClassMoments, ...]
    counts: tuple[int, ...]


def gather(rows: Rows) -> Gathered:
    """Gather the moments of every fold; say what is wrong with the rows if anything is.

    Parameters
    ----------
    rows : Rows
        The rows.

    Returns
    -------
    Gathered
    """
    shifts = np.repeat(_first_means(rows)[None], 2 * rows.n_folds, axis=0)
    sums = _sums(rows, shifts)
    far = sums.too_far()
    if far is not None:
        sums = _sums(rows, far)
    parts = tuple(sums.part(fold) for fold in range(rows.n_folds))
    counts = sums.n_rows.reshape(2, -1).sum(axis=1)
    return Gathered(parts, (int(counts[0]), int(counts[1])))


def _first_means(rows: Rows) -> Array:
    """Return the means of the features in the first rows that the engine finds."""
    layers = Rows(rows.reading, rows.labels).layers()
    d = rows.n_features
    answers = [Aggregate(kind, column(f"x{j}")) for j in range(d) for kind in ("sum", "count")]
    found = rows.reading.engine.ask(Question(tuple(layers), tuple(answers), first_rows=_LOOK_ROWS))
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
        # What is left of a constant, or of numbers that doubles hardly tell apart, is rounding.
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


def _sums(rows: Rows, shifts: Array) -> _Sums:
    """Ask for all sums, in as many statements as are needed."""
    d, n_folds = rows.n_features, rows.n_folds
    n_groups = 2 * n_folds
    first, second = np.zeros((n_groups, d)), np.zeros((n_groups, d, d))
    n_rows, weight = np.zeros(n_groups, np.int64), np.zeros(n_groups)
    for number_, pairs in enumerate(_blocks(d, rows.reading.engine.most_sums)):
        answers = _answers(rows, pairs, with_means=number_ == 0)
        layers = (*rows.layers(), *_shifted(rows, shifts, pairs, with_means=number_ == 0))
        found = rows.reading.engine.ask(Question(layers, tuple(answers), ("g",)))
        check_groups(rows, found, n_groups)
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


def _weight(rows: Rows, count: int, values: list[Any]) -> list[Any]:
    """Return the weight of a group and what follows it, the rows being whole."""
    complete, *values = values
    if int(complete) != count:
        raise _blame(rows)
    if not rows.is_weighted:
        return [float(count), *values]
    weight, least, *values = values
    if count and not _plain(least) >= 0:
        msg = f"{rows.reading.engine.where}: weights must not be negative; got {_plain(least):g}."
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
    rows: Rows, shifts: Array, pairs: Sequence[tuple[int, int]], *, with_means: bool
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


def _answers(rows: Rows, pairs: Sequence[tuple[int, int]], *, with_means: bool) -> list[Aggregate]:
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


def check_groups(rows: Rows, found: Sequence[Answer], n_groups: int) -> None:
    """Refuse rows without a label, with a third one, or without a key."""
    where = rows.reading.engine.where
    for answer in found:
        group = answer.keys[0]
        if group is None:
            msg = (
                f"{where}: column {rows.reading.layout.fold_by!r} makes the folds and must not "
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
            raise wrong_label(rows, code, n)


def wrong_label(rows: Rows, code: int, n: int) -> SourceError:
    """Return the error for rows without a label, or with a third one."""
    where = rows.reading.engine.where
    if code == NO_LABEL:
        return SourceError(
            f"{where}: labels must not be missing; got {n} missing. Drop those rows first."
        )
    question = Question(
        ({"y": rows.reading.label},),
        (ROWS,),
        ("y",),
        most_groups=6,
    )
    others = [a.keys[0] for a in rows.reading.engine.ask(question) if a.keys[0] is not None]
    strange = sorted(repr(v) for v in others if v not in rows.labels)[:3]
    return SourceError(
        f"{where}: the target must hold two labels, as {list(rows.labels)}; got {n} rows with "
        f"others, as {', '.join(strange) or 'NaN'}. Merge them into two, or keep two."
    )


def changed(rows: Rows, before: int, now: int) -> SourceError:
    """Return the error for a table whose rows are not those of an earlier query."""
    return SourceError(
        f"{rows.reading.engine.where} changed between the queries: {before} rows of a group were "
        f"counted, then {now}. Read it in a transaction, or from a copy that stands still."
    )


def _blame(rows: Rows) -> SourceError:
    """Find the column that is not finite or missing somewhere."""
    reading, where = rows.reading, rows.reading.engine.where
    plain = Rows(reading, rows.labels)
    names = [f"x{j}" for j in range(plain.n_features)] + ["w"] * plain.is_weighted
    said = [*reading.feature_names, str(reading.layout.weight)]
    answers = [ROWS]
    for name in names:
        is_nan = case([(column(name).is_nan(), literal(1))])
        answers += [Aggregate(kind, column(name)) for kind in ("count", "min", "max")]
        answers.append(Aggregate("count", is_nan))
    (found,) = reading.engine.ask(Question(tuple(plain.layers()), tuple(answers)))
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
