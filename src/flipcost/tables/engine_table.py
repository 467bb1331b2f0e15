"""Tables that stay in their engine: the questions of the passes, answered by queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.confusion import ConfusionCounts
from flipcost.exceptions import SourceError
from flipcost.tables.engine_moments import (
    NO_LABEL,
    OTHER_LABEL,
    Reading,
    Subset,
    changed,
    gather,
    hashed,
    wrong_label,
)
from flipcost.tables.engine_moments import Rows as AskedRows
from flipcost.tables.engine_scores import count_calls
from flipcost.tables.rows import LabeledMoments
from flipcost.tables.sample import SAMPLE_SEED, Drawn, Kept, LabelSample, Rows, rows_of_each
from flipcost.tables.source import Table, check_coefficients, check_labels
from flipcost.tables.sql import ROW_NUMBER, ROWS, Question, RowsWanted, column

if TYPE_CHECKING:
    from flipcost.core.arrays import Array
    from flipcost.tables.engine import Engine
    from flipcost.tables.passes import Task
    from flipcost.tables.rows import Layout

# Rows that the labels are looked for in first.
_LOOK_ROWS = 10_000
# A few more rows are drawn than are wanted, so that hardly ever fewer come.
_MORE, _AND_MORE = 1.03, 200
# Rows drawn must be at least this share of those wanted: keys that many rows share spoil a draw.
_LEAST_DRAWN = 0.5


class EngineTable(Table):
    """A table that stays in its engine: aggregates leave it, and rows that are drawn.

    Made by `scan_sql` and `scan_lazy`. It answers what every other `Table` answers, by queries: the
    moments of every fold by one.

    Parameters
    ----------
    engine : Engine
        Who holds the rows.
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
        self._engine, self._rule = engine, rule
        columns = engine.columns()
        super().__init__(layout.resolved(list(columns)), positive)
        self._reading = Reading(engine, self._layout, rule)
        for name in self._layout.wanted:  # says at once which column is not there, or is text
            self._reading.kind(name)
        self._weights: dict[Any, float] = {}
        self._rows: dict[Any, int] = {}
        self._labels: tuple[Any, ...] | None = None

    @property
    def n_parts(self) -> int:
        """One: what an engine finds travels from it to here."""
        return 1

    @property
    def n_queries(self) -> int:
        """Questions that the engine has answered so far."""
        return self._engine.n_questions

    @property
    def n_bytes(self) -> int:
        """Bytes of the answers so far, eight a number: what has left the engine."""
        return self._engine.n_bytes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self._reading.feature_names

    def reduce(self, task: Task) -> Any:
        ask = getattr(task, "by_queries", None)
        if ask is None:
            msg = (
                f"{self._engine.where}: {type(task).__name__} needs rows at hand, and rows stay in "
                "the engine. Read them with `scan_batches`, or from files."
            )
            raise SourceError(msg)
        return ask(self)

    def fold_moments(self, n_folds: int) -> LabeledMoments:
        rows = self._by_fold(self._found_labels(), n_folds)
        found = gather(rows)
        weight = np.sum([part.weight for part in found.parts], axis=0)
        self._weights = dict(zip(rows.labels, weight.tolist(), strict=False))
        self._rows = dict(zip(rows.labels, found.counts, strict=False))
        if not sum(found.counts):
            self.required(None)
        return LabeledMoments(rows.labels, found.parts, self.feature_names)

    def draw(self, size: int | None = None) -> Drawn:
        """Draw rows by the hash of their number, or of the column ``fold_by``."""
        size, reading = self._draw_size(size), self._reading
        labels = self._found_labels()
        counts = self._count_labels(labels)
        names = {f"c{j}": name for j, name in enumerate(self._drawn_columns())}
        first = {place: column(name) for place, name in names.items()}
        first["y"] = reading.label_code(labels)
        if reading.weight is not None:
            first["w"] = reading.weight
        layers: list[Any] = [first]
        where = None
        wanted = rows_of_each(counts, size)
        most, has_numbers = sum(counts), self._engine.has_row_numbers()
        if has_numbers:
            first["r"] = ROW_NUMBER
        if sum(wanted) < sum(counts):
            first["q"] = ROW_NUMBER if has_numbers else reading.key
            layers += hashed(first, "q", "s", self.layout.fold_seed + SAMPLE_SEED)
            shares = [
                min(1.0, (_MORE * n + _AND_MORE) / k) for n, k in zip(wanted, counts, strict=True)
            ]
            where = Subset((shares[0], shares[-1])).condition()
            most = int(1.2 * (sum(wanted) + 2 * _AND_MORE))
        kept = (*names, "y", *(n for n in ("w", "r", "s") if n in layers[-1]))
        found = self._engine.fetch(RowsWanted(tuple(layers), kept, most, where))
        return self._drawn(found, names, labels, counts, size)

    def _drawn(
        self, found: Any, names: dict[str, str], labels: tuple[Any, ...], counts: Any, size: int
    ) -> Drawn:
        """Return rows that have left the engine, no more of them than were wanted."""
        n, beside = found.num_rows, {"y": _array(found, "y").astype(np.intp)}
        if n < _LEAST_DRAWN * min(size, sum(counts)):
            msg = (
                f"{self._engine.where}: {min(size, sum(counts)):,} rows were to be drawn by the "
                f"hash of what names them, and {n:,} came: too many rows share a name. Give a "
                "`fold_by` that tells rows apart."
            )
            raise SourceError(msg)
        position = _array(found, "r") if "r" in found.column_names else np.arange(n)
        keys = _array(found, "s") if "s" in found.column_names else np.zeros(n, np.int64)
        if "w" in found.column_names:
            beside["weight"] = np.asarray(_array(found, "w"), dtype=float)
        frame = found.select(list(names)).rename_columns(list(names.values()))
        if self.layout.fold_by is not None:
            groups = frame[self.layout.fold_by].combine_chunks().dictionary_encode()
            beside["group"] = np.asarray(groups.indices.to_numpy(zero_copy_only=False))
        rows = frame.select(list(self._layout.columns or ()))
        some = Rows(rows, position.astype(np.int64), keys.astype(np.int64), beside)
        kept = {
            (labels[code], False): replace(
                Kept.of(n, some.take(np.flatnonzero(beside["y"] == code))), n_rows=counts[code]
            )
            for code in range(len(labels))
        }
        return self._encoded(LabelSample(kept).drawn(size))

    def _drawn_columns(self) -> list[str]:
        by = self._layout.fold_by
        return list(dict.fromkeys([*(self._layout.columns or ()), *([] if by is None else [by])]))

    def _count_labels(self, labels: tuple[Any, ...]) -> tuple[int, ...]:
        """Return how many rows have each label; refuse others, and rows without one."""
        layer = {"y": self._reading.label_code(labels)}
        found = self._engine.ask(Question((layer,), (ROWS,), ("y",), most_groups=8))
        counts = {int(answer.keys[0]): int(answer.values[0]) for answer in found}
        for code in (NO_LABEL, OTHER_LABEL):
            if code in counts:
                raise wrong_label(AskedRows(self._reading, labels), code, counts[code])
        if not counts:
            self.required(None)
        return tuple(counts.get(code, 0) for code in range(len(labels)))

    def confusions(self, coefficients: ArrayLike, labels: tuple[Any, ...]) -> ConfusionCounts:
        path = check_coefficients(coefficients)
        rows = self._by_fold(check_labels(labels), len(path))
        counts, squares = count_calls(rows, path)
        self._check_weight(rows, counts[:, 0].sum(axis=(0, 2)))
        return ConfusionCounts(counts, squares)

    def close(self) -> None:
        """Close the connection, if it was opened here."""
        self._engine.close()

    def _with_layout(self, layout: Layout) -> EngineTable:
        return EngineTable(self._engine, layout, self._positive, self._rule)

    def _name(self) -> str:
        return self._engine.where[:1].upper() + self._engine.where[1:]

    def _by_fold(self, labels: tuple[Any, ...], n_folds: int) -> AskedRows:
        if not 1 <= n_folds <= np.iinfo(np.int16).max:
            msg = f"`n_folds` must lie between 1 and 32767; got {n_folds}."
            raise ValueError(msg)
        return AskedRows(self._reading, labels, n_folds)

    def _found_labels(self) -> tuple[Any, ...]:
        """Return the two labels: of the first rows, or of all where those have fewer."""
        if self._labels is None:
            found: list[Any] = []
            for first in (_LOOK_ROWS, None):
                question = Question(
                    ({"y": self._reading.label},),
                    (ROWS,),
                    ("y",),
                    first_rows=first,
                    most_groups=8,
                )
                found = [a.keys[0] for a in self._engine.ask(question)]
                found = [v for v in found if v is not None and v == v]
                if len(found) > 1:
                    break
            if len(found) > 2:
                shown = ", ".join(map(repr, sorted(found)[:5])) + (", ..." if found[5:] else "")
                msg = (
                    f"{self._engine.where}: the target must hold two labels; got more: {shown}. "
                    "Merge them into two, or keep two."
                )
                raise SourceError(msg)
            self._labels = tuple(sorted(found))
        return self._labels

    def _expected(self, labels: tuple[Any, ...]) -> list[float] | None:
        if not self._weights:
            return None
        return [self._weights.get(label, 0.0) for label in labels]

    def _check_weight(self, rows: AskedRows, found: Array) -> None:
        for before, now in zip(self._expected(rows.labels) or found, found, strict=True):
            if not np.isclose(before, now, rtol=1e-9):
                raise changed(rows, int(before), int(now))


def _array(found: Any, name: str) -> Any:
    return found[name].to_numpy(zero_copy_only=False)
