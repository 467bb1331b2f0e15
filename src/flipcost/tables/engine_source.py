"""A table in an engine as an audit asks about it: a look, counts, and the rows that may leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.folds import PRIME
from flipcost.exceptions import NeedsRowsError, SourceError
from flipcost.tables.engine_drawing import DrawingTable, check_drawn
from flipcost.tables.engine_made import base_columns, feature_columns, strange_values, unread_column
from flipcost.tables.engine_moments import Reading, hashed
from flipcost.tables.rows import Layout, Piece
from flipcost.tables.sql import (
    ROW_NUMBER,
    ROWS,
    Aggregate,
    Expression,
    Question,
    RowsWanted,
    case,
    column,
    literal,
    number,
    sum_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.tables.engine import SqlEngine
    from flipcost.tables.plain import Column, Feature

# Labels, and patterns of labels, to ask for at most: with more there is something wrong.
MOST_LABELS = 1_000
# Another seed than that of the draw: a look should not choose the rows that candidates meet.
_LOOK_SEED = 77


@dataclass(frozen=True, eq=False)
class LabelCount:
    """What was counted of the rows of one label.

    Attributes
    ----------
    label : value or None
        As the engine holds it; None for rows without one.
    n_rows : int
        How many.
    weight : float
        What they weigh.
    strange : dict of int to int
        Rows with a value that was not met in the look, by the place of the column.
    unweighted : int
        Rows whose weight is missing, negative or infinite.
    ungrouped : int
        Rows without a group.
    """

    label: Any
    n_rows: int
    weight: float
    strange: dict[int, int]
    unweighted: int = 0
    ungrouped: int = 0


class AuditedSource:
    """A table in an engine, and the questions of an audit.

    Parameters
    ----------
    engine : SqlEngine
        Who holds it.
    target : str
        The column of labels.
    id, group : str or None
        Columns that name rows, and that say which belong together.
    seed : int, default=0
        Of folds and draws.

    Raises
    ------
    NeedsRowsError
        If nothing tells rows apart.

    Examples
    --------
    >>> import duckdb
    >>> from flipcost.tables.scan import sql_engine
    >>> engine = sql_engine(duckdb.connect(), "SELECT i AS id, i % 3 > 0 AS y FROM range(9) t(i)")
    >>> source = AuditedSource(engine, "y", id="id")
    >>> [(count.label, count.n_rows) for count in source.count((), None)]
    [(False, 3), (True, 6)]
    """

    def __init__(
        self,
        engine: SqlEngine,
        target: str,
        id: str | None = None,  # noqa: A002 - as in `Roles`
        group: str | None = None,
        seed: int = 0,
    ):
        self._engine, self._id, self._group = engine, id, group
        self._target, self._seed = target, seed
        self._reading = Reading(engine, Layout(target))
        self.names = list(self._reading.kinds)
        self._numbered = engine.has_row_numbers()
        if id is None and not self._numbered:
            msg = "what a query gives has no numbers of rows; name them by `id`"
            raise NeedsRowsError(msg)
        for name in (id, group):
            if name is not None:
                self._reading.kind(name)

    @property
    def has_numbers(self) -> bool:
        """Whether rows have numbers of the engine's own."""
        return self._numbered

    def look(self, columns: Sequence[str], size: int, n_rows: int) -> tuple[Any, NDArray[Any]]:
        """Return so many rows of these columns, drawn, and their numbers if they have any."""
        names = {f"c{j}": name for j, name in enumerate(columns)}
        for name in columns:
            self._reading.kind(name)
        first = {place: column(name) for place, name in names.items()} | self._keys(("q", "r"))
        layers = [first, *hashed(first, "q", "s", self._seed + _LOOK_SEED)]
        share = min(1.0, (1.1 * size + 100) / max(n_rows, 1))
        found = self._engine.fetch(
            RowsWanted(
                tuple(layers),
                (*names, *(("r",) if self._numbered else ())),
                size,
                where=literal(int(share * PRIME)).above(column("s")),
                order=("s", "q"),
            )
        )
        check_drawn(found.num_rows, min(size, n_rows), self._engine.where)
        rows = np.arange(found.num_rows)
        if self._numbered:
            found = found.sort_by("r")
            rows = np.asarray(found["r"].to_numpy(zero_copy_only=False))
        return found.select(list(names)).rename_columns(list(names.values())), rows

    def count(self, columns: Sequence[Column], weight: str | None) -> list[LabelCount]:
        """Count rows by label, in one query.

        Parameters
        ----------
        columns : sequence of Column
            What a reader has learned of the columns of features.
        weight : str or None
            The column of weights.

        Raises
        ------
        NeedsRowsError
            If one of the columns is read in a way that a query cannot.
        """
        unread = unread_column(self._reading, columns)
        if unread is not None:
            raise NeedsRowsError(unread)
        bases = base_columns(self._reading, columns)
        strange = strange_values(columns, bases)
        layer = {"t": self._reading.label} | {f"b{j}": bases[j] for j in strange}
        answers = [ROWS, *(Aggregate("count", value) for value in strange.values())]
        if weight is not None:
            layer["w"] = self._weight(weight)
            w = column("w")
            bad = w.is_missing().either(number(0.0).above(w)).either(w.is_infinite())
            answers += [sum_of(w), Aggregate("count", case([(bad, literal(1))]))]
        if self._group is not None:
            gone = column(self._group).is_missing()
            layer["u"] = case([(gone, literal(1))])
            answers.append(Aggregate("count", column("u")))
        found = self._engine.ask(
            Question((layer,), tuple(answers), (("t",),), most_groups=MOST_LABELS)
        )
        counts = []
        for answer in found:
            n, *values = [0 if value is None else value for value in answer.values]
            odd = {j: int(k) for j, k in zip(strange, values, strict=False)}
            values = values[len(strange) :]
            weighs, unweighted = values[:2] if weight is not None else (n, 0)
            ungrouped = int(values[-1]) if self._group is not None else 0
            label = _plain(answer.keys[0])
            known = odd, int(unweighted), ungrouped
            counts.append(LabelCount(label, int(n), float(weighs), *known))
        return sorted(counts, key=lambda count: (count.label is None, str(count.label)))

    def patterns(self, others: Sequence[str]) -> list[tuple[tuple[Any, ...], int]]:
        """Count rows by label and other labels, of those that have one of these."""
        layer = {"t": self._reading.label}
        layer |= {f"o{k}": self._reading.label_of(name) for k, name in enumerate(others)}
        question = Question((layer,), (ROWS,), (tuple(layer),), most_groups=MOST_LABELS)
        found = []
        for answer in self._engine.ask(question):
            label, *told = map(_plain, answer.keys)
            if label is not None and any(value is not None for value in told):
                found.append(((label, *told), int(answer.values[0])))
        return sorted(found, key=str)

    def table(
        self,
        columns: Sequence[Column],
        features: Sequence[Feature],
        labels: Mapping[Any, str],
        weight: str | None,
        carried: Sequence[str],
        make: Callable[[Piece], Piece],
        *,
        trusted: str | None = None,
        ids: Sequence[str] = (),
        n_checked: int = 0,
    ) -> DrawingTable:
        """Return the table of rows with a label, as features.

        Parameters
        ----------
        columns, features : sequences of Column and of features
            What a reader and `make_features` have learned.
        labels : mapping of value to str
            Labels as the engine holds them, and what they are called.
        weight : str or None
            The column of weights.
        carried : sequence of str
            Columns that rows are handed out with.
        make : callable
            From a piece of such rows to one with features.
        trusted : str, optional
            The column of right labels: rows with one were checked.
        ids : sequence of str
            Names of rows that were checked.
        n_checked : int
            How many rows were checked.
        """
        bases = base_columns(self._reading, columns)
        names = {f"c{j}": name for j, name in enumerate(carried)}
        kept = {place: column(name) for place, name in names.items()} | self._keys(("k", "q", "r"))
        if weight is not None:
            kept["w"] = self._weight(weight)
        if trusted is not None:
            kept["z"] = self._reading.label_of(trusted)
        first = {"t": self._reading.label, **kept}
        first |= {f"b{j}": base for j, base in enumerate(bases)}
        called = sorted(set(labels.values()))
        values = {name: [v for v, own in labels.items() if own == name] for name in called}
        named = [(column("t").among(values[name]), literal(name)) for name in called]
        second = {f"x{j}": x for j, x in enumerate(feature_columns(columns, features, bases))}
        second |= {place: column(place) for place in kept} | {"y": case(named)}
        engine = self._engine.derived([first, second], self._reading.label.among(tuple(labels)))
        layout = Layout(
            "y",
            tuple(f"x{j}" for j in range(len(features))),
            None if weight is None else "w",
            "k",
            fold_seed=self._seed,
        )
        checked = None
        if trusted is not None:
            checked = _there(column("z"))
        elif ids and self._id is not None:
            place = next(place for place, name in names.items() if name == self._id)
            checked = column(place).as_text().among(tuple(ids))
        return DrawingTable(engine, layout, names, make, checked, n_checked)

    def _weight(self, name: str) -> Expression:
        if self._reading.kind(name).kind not in ("number", "whole"):
            msg = f"Column {name!r} must hold numbers to serve as weights."
            raise SourceError(msg)
        return self._reading.number_or_missing(name)

    def _keys(self, wanted: Sequence[str]) -> dict[str, Expression]:
        """Return what makes folds, what draws rows, and the number of a row, if it has one."""
        own = ROW_NUMBER if self._numbered else None
        named = own if self._id is None else self._key(self._id)
        keys = {
            "k": named if self._group is None else self._key(self._group),
            "q": named if own is None else own,
            "r": own,
        }
        return {name: key for name in wanted if (key := keys[name]) is not None}

    def _key(self, name: str) -> Expression:
        value = column(name)
        is_whole = self._reading.kind(name).kind == "whole"
        key = value.as_integer() if is_whole else value.as_text().text_key()
        return case([(value.is_missing(), literal(0))], key)


def _there(value: Expression) -> Expression:
    return case([(value.is_missing(), literal(value=False))], literal(value=True))


def _plain(value: Any) -> Any:
    """Return a label as Python has it; a number that is none is no label."""
    return None if value is None or value != value else value
