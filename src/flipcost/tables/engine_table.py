"""Tables that stay in their engine: what is asked of a source, answered by queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations_with_replacement, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.folds import PRIME, engine_folds
from flipcost.core.moments import ClassMoments
from flipcost.exceptions import SourceError, TableError
from flipcost.tables.engine import NO_LABEL, EngineColumns, hashed
from flipcost.tables.passes import DrawTask, run
from flipcost.tables.rows import LabeledMoments, Piece, check_labels
from flipcost.tables.sample import CHECKED_ROWS, SAMPLE_SEED, Drawn, rows_of_each, tells_apart
from flipcost.tables.source import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.arrays import Array
    from flipcost.tables.engine import Engine
    from flipcost.tables.passes import Task
    from flipcost.tables.rows import Layout

# Labels, and patterns of labels, to ask for at most: with more there is something wrong.
MOST_LABELS = 1_000
# Rows that the labels are looked for in first.
_LOOK_ROWS = 10_000
# Another seed than that of the draw: a look should not choose the rows that candidates meet.
_LOOK_SEED = 77
# A few more rows are drawn than are wanted, so that hardly ever fewer come.
_MORE, _AND_MORE = 1.03, 200
# Rows drawn must be at least this share of those expected: keys that many rows share spoil a draw.
_LEAST_DRAWN = 0.5
# Rows to take the shift from.
_MEAN_ROWS = 1_000
# How far a mean may lie from the shift, in standard deviations: the square of it is what the
# rounding errors of the scatter are multiplied by. Columns nearer to 0 than the first are not
# shifted, which saves the engine work.
_NEAR, _FAR = 10.0, 100.0
_CODES = 4
# Groups up to which the engine's smallest type has room.
_TINY = 128


class EngineTable(Table):
    """A table that stays in its engine: aggregates leave it, and rows that are drawn.

    Made by `scan_sql` and `scan_lazy`. It answers what every other `Table` answers, by queries: the
    moments of every fold by one.

    Parameters
    ----------
    engine : Engine
        The engine that holds the rows.
    layout : Layout
        Roles of the columns.
    positive : label, optional
        The positive label; the larger one when None.
    rule : {"hash", "modulus"}
        How the column ``fold_by`` makes folds.

    Examples
    --------
    >>> import duckdb
    >>> from flipcost.scale import scan_sql
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("CREATE TABLE calls AS SELECT i AS x, i > 5 AS y FROM range(9) t(i)")
    >>> table = scan_sql(connection, "calls", target="y")
    >>> table.moments().mean.ravel()
    array([2.5, 7. ])
    >>> table.n_queries
    3
    """

    def __init__(self, engine: Engine, layout: Layout, positive: Any = None, rule: str = "hash"):
        if rule not in ("hash", "modulus"):
            msg = f"`fold_rule` must be 'hash' or 'modulus'; got {rule!r}."
            raise ValueError(msg)
        self._engine, self._rule = engine, rule
        self.names = engine.schema().names
        super().__init__(layout, positive)

    def _lay_out(self, layout: Layout) -> None:
        self._layout = layout.resolved(self.names)
        self._columns = EngineColumns(self._engine, self._layout, self._rule)
        for name in self._layout.wanted:  # names at once a column that is not there
            self._columns.kind(name)

    @property
    def n_queries(self) -> int:
        """Questions that the engine has answered so far."""
        return self._engine.n_questions

    @property
    def n_bytes(self) -> int:
        """Bytes of the answers so far, eight a number: what has left the engine."""
        return self._engine.n_bytes

    @cached_property
    def has_numbers(self) -> bool:
        """Whether rows have numbers of the engine's own."""
        return self._engine.has_row_numbers()

    def reduce(self, task: Task) -> Any:
        msg = (
            f"{self._engine.where}: {type(task).__name__} needs rows at hand, and rows stay in "
            "the engine. Read them with `scan_batches`, or from files."
        )
        raise SourceError(msg)

    def fold_moments(self, n_folds: int) -> LabeledMoments:
        if not 1 <= n_folds <= np.iinfo(np.int16).max:
            msg = f"`n_folds` must lie between 1 and 32767; got {n_folds}."
            raise ValueError(msg)
        parts = gather(self._columns, self._labels, n_folds)
        if not sum(part.n_rows.sum() for part in parts):
            self.required(None)
        return LabeledMoments(self._labels, parts, self._layout.feature_names)

    def _folds(self, drawn: Drawn, n_folds: int) -> NDArray[np.int16]:
        keys = drawn.rows.beside["group"].astype(np.int64)
        return engine_folds(keys, n_folds, self.layout.fold_seed, self._rule)

    def draw(self, size: int | None = None) -> Drawn:
        """Draw rows by the hash of their number, or of the column ``fold_by``."""
        size = self._draw_size(size)
        counts = {label: n for label, (n, _) in self.count().items()}
        missing = counts.pop(None, 0)
        if missing:
            msg = (
                f"{self._engine.where}: labels must not be missing; got {missing} missing. Drop "
                "those rows first."
            )
            raise SourceError(msg)
        check_labels(list(counts), self._engine.where)
        total = sum(counts.values())
        if not total:
            self.required(None)
        shares, expected = shares_of(counts, size) if size < total else (None, total)
        key = self._layout.fold_by
        # Numbers that engines give anew are no names.
        by_key = key is not None and not self._engine.counts_rows
        piece = self.draw_piece(self._layout.wanted, shares, expected, as_key=key, by_key=by_key)
        sample = run(DrawTask(self._layout, size, by_key=by_key), piece)
        return self._encoded(sample.standing_for(counts, self._engine.where).drawn(size))

    def look(self, columns: Sequence[str], size: int, n_rows: int) -> tuple[Any, NDArray[Any]]:
        """Return rows of these columns, drawn from `n_rows`, and their numbers if they have any."""
        names, first = self._carried(columns)
        seed = self.layout.fold_seed + _LOOK_SEED
        inner = self._engine.layered(first, *hashed(first, "q", "s", seed))
        share = min(1.0, (1.1 * size + 100) / max(n_rows, 1))
        chosen = f"WHERE s < {int(share * PRIME)} ORDER BY s, q LIMIT {size}"
        found = self._engine.fetch(f"{', '.join(names)}, q", inner, chosen)
        self._check_drawn(found.num_rows, min(size, n_rows))
        if not self.has_numbers:
            return self._piece(found, names, 0).frame, np.arange(found.num_rows)
        piece = self._piece(found.sort_by("q"), names, 0)
        return piece.frame, piece.positions.astype(np.int64)

    def count(self, group: str | None = None) -> dict[Any, tuple[int, float]]:
        """Return rows of each label, and what they weigh; None is the label of rows without one.

        Rows with a label must have a weight, if any do, and a `group`.
        """
        layer, answers = {"t": self._columns.label}, ["COUNT(*)"]
        weight, none = self.layout.weight, "COUNT(CASE WHEN {} THEN 1 END)"
        if weight is not None:
            if self._columns.kind(weight) not in ("number", "whole"):
                msg = f"Column {weight!r} must hold numbers to serve as weights."
                raise SourceError(msg)
            layer["w"] = self._columns.number_or_missing(weight)
            bad = f"w IS NULL OR w < 0 OR {self._columns.is_infinite('w')}"
            answers += ["SUM(w)", none.format(bad)]
        if group is not None:
            layer["u"] = self._engine.name(group)
            answers.append(none.format("u IS NULL"))
        counts: dict[Any, tuple[int, float]] = {}
        found = self._engine.ask(answers, self._engine.layered(layer), "t", MOST_LABELS)
        for given, *values in sorted(found, key=lambda row: (row[0] is None, str(row[0]))):
            label = _plain(given)
            if label is not None and weight is not None and values[2]:
                msg = (
                    f"Column {weight!r} must hold numbers of at least 0, none missing, to serve as "
                    "weights."
                )
                raise TableError(msg)
            if label is not None and group is not None and values[-1]:
                msg = (
                    f"Column {group!r} must say of every row which group it is of; "
                    f"{int(values[-1]):,} rows do not."
                )
                raise TableError(msg)
            weighs = values[0] if weight is None else values[1] or 0
            n, before = counts.get(label, (0, 0.0))  # NaN counts as a missing label
            counts[label] = n + int(values[0]), before + float(weighs)
        return counts

    def patterns(self, others: Sequence[str]) -> list[tuple[tuple[Any, ...], int]]:
        """Count rows by label and other labels, of those that have one of these."""
        layer = {"t": self._columns.label}
        layer |= {f"o{k}": self._columns.label_of(name) for k, name in enumerate(others)}
        inner = self._engine.layered(layer)
        found = []
        for *labels, n in self._engine.ask(["COUNT(*)"], inner, ", ".join(layer), MOST_LABELS):
            label, *given = map(_plain, labels)
            if label is not None and any(value is not None for value in given):
                found.append(((label, *given), int(n)))
        return sorted(found, key=str)

    def draw_piece(
        self,
        carried: Sequence[str],
        shares: Mapping[Any, float] | None,
        expected: float,
        *,
        trusted: str | None = None,
        ids: Sequence[str] = (),
        as_key: str | None = None,
        by_key: bool = False,
    ) -> Piece:
        """Draw a share of the rows of each label, and all that were checked.

        Parameters
        ----------
        carried : sequence of str
            Columns that rows are handed out with.
        shares : mapping of label to float, optional
            By label as the engine holds it; all rows when None.
        expected : float
            How many rows should come.
        trusted : str, optional
            The column of right labels: rows with one were checked.
        ids : sequence of str
            Names of rows that were checked, in the column ``fold_by``.
        as_key : str, optional
            The column ``fold_by``, to be carried as its keys.
        by_key : bool
            Whether rows are drawn by the column ``fold_by`` also where they have numbers, if its
            keys tell them apart.
        """
        # Rows that are all taken are put into an order, where something tells them apart.
        keyed = shares is not None or self.has_numbers or self.layout.fold_by is not None
        names, first = self._carried(carried, keyed=keyed)
        if as_key is not None:
            first[next(c for c, name in names.items() if name == as_key)] = self._columns.any_key
        layers, chosen, most, drawn_by = [first], "", int(expected), "q"
        if shares is not None:
            literal, checked = self._engine.literal, None
            first["t"] = self._columns.label
            if trusted is not None:
                first["z"], checked = self._columns.label_of(trusted), "z IS NOT NULL"
            elif ids:
                place = next(c for c, name in names.items() if name == self.layout.fold_by)
                listed = ", ".join(map(self._engine.quoted, ids))
                checked = f"CAST({place} AS {self._engine.text}) IN ({listed})"
            if by_key and self.has_numbers:  # numbers that do not stay are not carried then
                drawn_by = "k" if self._engine.counts_rows else "q"
                first[drawn_by] = f"COALESCE({self._columns.any_key}, 0)"
            layers += hashed(first, drawn_by, "s", self.layout.fold_seed + SAMPLE_SEED)
            limits = " ".join(
                f"WHEN t = {literal(label)} THEN {int(share * PRIME)}"
                for label, share in shares.items()
            )
            chosen = f"WHERE s < CASE {limits} ELSE 0 END"
            most = int(1.2 * (_MORE * expected + 2 * _AND_MORE))
            if checked is not None:
                known = ", ".join(map(literal, shares))
                chosen += f" OR (t IN ({known}) AND {checked})"
                most += CHECKED_ROWS
        chosen += f" LIMIT {most}"
        key = [name for name in ("q", "k") if name in first]
        found = self._engine.fetch(", ".join([*names, *key]), self._engine.layered(*layers), chosen)
        is_named = by_key and self.has_numbers and shares is not None
        if is_named and not tells_apart(found[drawn_by].to_numpy(), expected):
            return self.draw_piece(
                carried, shares, expected, trusted=trusted, ids=ids, as_key=as_key
            )
        self._check_drawn(found.num_rows, expected)
        return self._piece(found, names, 0)

    def pieces(self, carried: Sequence[str]) -> Iterator[Piece]:
        """Yield all rows, some at a time."""
        names, first = self._carried(carried, keyed=self.has_numbers)
        start = 0
        for found in self._engine.batches(", ".join(first), self._engine.layered(first)):
            yield self._piece(found, names, start)
            start += found.num_rows

    def close(self) -> None:
        """Close the connection, if it was opened here."""
        self._engine.close()

    def _name(self) -> str:
        return self._engine.where[:1].upper() + self._engine.where[1:]

    def _carried(
        self, columns: Sequence[str], *, keyed: bool = True
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return short names of columns, and a layer of them, with ``q`` to draw rows by."""
        names = {f"c{j}": name for j, name in enumerate(columns)}
        for name in columns:
            self._columns.kind(name)
        layer = {place: self._engine.name(name) for place, name in names.items()}
        if keyed:
            key = self._engine.row_number if self.has_numbers else self._columns.any_key
            layer["q"] = key if self.has_numbers else f"COALESCE({key}, 0)"
        return names, layer

    def _piece(self, found: Any, names: Mapping[str, str], start: int) -> Piece:
        frame = found.select(list(names)).rename_columns(list(names.values()))
        places = start + np.arange(found.num_rows)
        if "q" in found.column_names:
            own = found["q"].to_numpy().astype(np.int64, copy=False)
            # Parts of a table may number their rows alike, and rows may share a name.
            if (own[1:] > own[:-1]).all() or len(np.unique(own)) == len(own):
                places = own
        return Piece(self._engine.where, start, frame, places=places.astype(np.uint64))

    def _check_drawn(self, found: int, expected: float) -> None:
        """Refuse a draw of far too few rows, which comes of identifiers that many rows share."""
        if found < _LEAST_DRAWN * expected:
            msg = (
                f"{self._engine.where}: {int(expected):,} rows were to be drawn by the hash of "
                f"what names them, and {found:,} came: too many rows share a name. Give a column "
                "that tells rows apart (`fold_by`, or `id` of an audit)."
            )
            raise SourceError(msg)

    @cached_property
    def _labels(self) -> tuple[Any, ...]:
        """The two labels: of the first rows, or of all where those have fewer."""
        found: list[Any] = []
        for first in (_LOOK_ROWS, None):
            inner = self._engine.layered({"y": self._columns.label}, first_rows=first)
            found = [_plain(y) for y, _ in self._engine.ask(["COUNT(*)"], inner, "y", 8)]
            found = [label for label in found if label is not None]
            if len(found) > 1:
                break
        check_labels(found, self._engine.where)
        return tuple(sorted(found))


def shares_of(counts: Mapping[Any, int], size: int) -> tuple[dict[Any, float], int]:
    """Return the share of the rows of each label to draw, a few more than wanted, and how many are.

    Examples
    --------
    >>> shares_of({"no": 100_000, "yes": 500}, 10_000)
    ({'no': 0.09985, 'yes': 1.0}, 10000)
    """
    wanted = rows_of_each(list(counts.values()), size)
    shares = {
        label: min(1.0, (_MORE * n + _AND_MORE) / count)
        for (label, count), n in zip(counts.items(), wanted, strict=True)
    }
    return shares, sum(wanted)


def _plain(value: Any) -> Any:
    """Return a label as Python has it; NaN counts as a missing label."""
    return None if value is None or value != value else value


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
    inner = columns.engine.layered(*columns.layers(labels), first_rows=_MEAN_ROWS)
    values = np.array([_number(v) for v in columns.engine.ask(answers, inner)[0]]).reshape(d, 3)
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
                    second[g, i, j] = second[g, j, i] = _number(value)
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
            if self.n_rows[g] and not _number(least) >= 0:
                where = self._columns.engine.where
                msg = f"{where}: weights must not be negative; got {_number(least):g}."
                raise SourceError(msg)
            self.weight[g] = _number(weight)
        return [_number(v) for v in values[:d]], values[d:]

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
            if n_nan or not np.isfinite([_number(low), _number(high)]).all():
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


def _number(value: Any) -> float:
    """Return an answer as a number; the sum of no rows is 0."""
    return 0.0 if value is None else float(value)
