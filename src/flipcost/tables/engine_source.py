"""A table in an engine as an audit asks about it: a look, counts, and the rows that may leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.folds import PRIME
from flipcost.exceptions import NeedsRowsError, SourceError
from flipcost.tables.engine_moments import Reading, hashed
from flipcost.tables.rows import Layout, Piece
from flipcost.tables.sample import CHECKED_ROWS, SAMPLE_SEED
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

# Labels, and patterns of labels, to ask for at most: with more there is something wrong.
MOST_LABELS = 1_000
# Another seed than that of the draw: a look should not choose the rows that candidates meet.
_LOOK_SEED = 77
# Rows drawn must be at least this share of those expected: keys that many rows share spoil a draw.
_LEAST_DRAWN = 0.5


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
    unweighted : int
        Rows whose weight is missing, negative or infinite.
    ungrouped : int
        Rows without a group.
    """

    label: Any
    n_rows: int
    weight: float
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
    >>> [(count.label, count.n_rows) for count in source.count(None)]
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

    def count(self, weight: str | None) -> list[LabelCount]:
        """Count rows by label, in one query; `weight` names the column of weights."""
        layer = {"t": self._reading.label}
        answers = [ROWS]
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
            Question((layer,), tuple(answers), ("t",), most_groups=MOST_LABELS)
        )
        counts = []
        for answer in found:
            n, *values = [0 if value is None else value for value in answer.values]
            weighs, unweighted = values[:2] if weight is not None else (n, 0)
            ungrouped = int(values[-1]) if self._group is not None else 0
            label = _plain(answer.keys[0])
            counts.append(LabelCount(label, int(n), float(weighs), int(unweighted), ungrouped))
        return sorted(counts, key=lambda count: (count.label is None, str(count.label)))

    def patterns(self, others: Sequence[str]) -> list[tuple[tuple[Any, ...], int]]:
        """Count rows by label and other labels, of those that have one of these."""
        layer = {"t": self._reading.label}
        layer |= {f"o{k}": self._reading.label_of(name) for k, name in enumerate(others)}
        question = Question((layer,), (ROWS,), tuple(layer), most_groups=MOST_LABELS)
        found = []
        for answer in self._engine.ask(question):
            label, *told = map(_plain, answer.keys)
            if label is not None and any(value is not None for value in told):
                found.append(((label, *told), int(answer.values[0])))
        return sorted(found, key=str)

    def draw(
        self,
        carried: Sequence[str],
        labels: Sequence[tuple[Sequence[Any], float]],
        wanted: int,
        *,
        trusted: str | None = None,
        ids: Sequence[str] = (),
    ) -> Piece:
        """Draw rows by the hash of their number or name, and those that were checked.

        Parameters
        ----------
        carried : sequence of str
            Columns that rows are handed out with.
        labels : sequence of pairs
            Labels as the engine holds them, and the share of their rows that is wanted.
        wanted : int
            How many rows are expected.
        trusted : str, optional
            The column of right labels: rows with one were checked.
        ids : sequence of str
            Names of rows that were checked.
        """
        names = {f"c{j}": name for j, name in enumerate(carried)}
        first = {place: column(name) for place, name in names.items()}
        first |= {"t": self._reading.label} | self._keys(("q", "r"))
        if trusted is not None:
            first["z"] = self._reading.label_of(trusted)
        layers = [first, *hashed(first, "q", "s", self._seed + SAMPLE_SEED)]
        limits = [
            (column("t").among(tuple(values)), literal(int(share * PRIME)))
            for values, share in labels
        ]
        kept: Expression = case(limits, literal(0)).above(column("s"))
        checked: Expression | None = None
        if trusted is not None:
            checked = _there(column("z"))
        elif ids and self._id is not None:
            place = next(place for place, name in names.items() if name == self._id)
            checked = column(place).as_text().among(tuple(ids))
        if checked is not None:
            known = column("t").among(tuple(v for values, _ in labels for v in values))
            yes, no = literal(value=True), literal(value=False)
            kept = kept.either(case([(known, case([(checked, yes)], no))], no))
        most = int(1.2 * wanted) + (CHECKED_ROWS if checked is not None else 0)
        found = self._engine.fetch(
            RowsWanted(tuple(layers), (*names, *self._numbered_by), most, kept)
        )
        check_drawn(found.num_rows, wanted / 2, self._engine.where)
        return self._piece(found, names, 0)

    def pieces(self, carried: Sequence[str]) -> Iterator[Piece]:
        """Yield all rows, some at a time."""
        names = {f"c{j}": name for j, name in enumerate(carried)}
        layer = {place: column(name) for place, name in names.items()} | self._keys(("r",))
        start = 0
        for found in self._engine.batches((layer,), (*names, *self._numbered_by)):
            yield self._piece(found, names, start)
            start += found.num_rows

    @property
    def _numbered_by(self) -> tuple[str, ...]:
        return ("r",) if self._numbered else ()

    def _piece(self, found: Any, names: Mapping[str, str], start: int) -> Piece:
        frame = found.select(list(names)).rename_columns(list(names.values()))
        places = start + np.arange(found.num_rows)
        if self._numbered:
            # Parts of a table may number their rows alike.
            own = np.asarray(found["r"].to_numpy(zero_copy_only=False), dtype=np.int64)
            places = own if len(np.unique(own)) == len(own) else places
        return Piece(self._engine.where, start, frame, places=places.astype(np.uint64))

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


def check_drawn(found: int, wanted: float, where: str) -> None:
    """Refuse a draw to which far too few rows came: names that many rows share spoil it.

    Examples
    --------
    >>> check_drawn(980, 1000, "table 'calls'")
    """
    if found < _LEAST_DRAWN * wanted:
        msg = (
            f"{where}: {int(wanted):,} rows were to be drawn by the hash of what names them, and "
            f"{found:,} came: too many rows share a name. Give an `id` that tells rows apart."
        )
        raise SourceError(msg)


def _there(value: Expression) -> Expression:
    return case([(value.is_missing(), literal(value=False))], literal(value=True))


def _plain(value: Any) -> Any:
    """Return a label as Python has it; a number that is none is no label."""
    return None if value is None or value != value else value
