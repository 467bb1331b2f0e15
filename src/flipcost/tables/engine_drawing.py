"""Tables in an engine that hand out few rows: some that are drawn, and the most suspicious."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.folds import PRIME
from flipcost.exceptions import SourceError
from flipcost.tables.engine_moments import SUBSET_SEED, Layer, Subset, hashed
from flipcost.tables.engine_scores import score_of
from flipcost.tables.engine_table import EngineTable
from flipcost.tables.rows import Piece
from flipcost.tables.sql import Expression, RowsWanted, case, column, literal, number

if TYPE_CHECKING:
    from flipcost.core.arrays import Array
    from flipcost.core.hinges import HingeBasis
    from flipcost.tables.engine import SqlEngine
    from flipcost.tables.rows import LabeledMoments, Layout

# A few more rows are drawn than are wanted, so that hardly ever fewer come.
_MORE, _AND_MORE = 1.05, 50
# Rows drawn must be at least this share of those expected: keys that many rows share spoil a draw.
_LEAST_DRAWN = 0.5


@dataclass(frozen=True, eq=False)
class HandedOut:
    """Rows that have left the engine.

    Attributes
    ----------
    piece : Piece
        The rows, with features made of them.
    keys : ndarray of uint64, shape (n,)
        The smaller, the more a row is wanted.
    folds : ndarray of int, shape (n,)
        Their folds.
    checked : ndarray of bool, shape (n,)
        Which of them somebody checked.
    """

    piece: Piece
    keys: NDArray[np.uint64]
    folds: NDArray[np.int16]
    checked: NDArray[np.bool_]


class DrawingTable(EngineTable):
    """A table in an engine that hands out few rows.

    Its columns are ``x0``, ``x1``, ... (features), ``y`` (label), ``w`` (weight, if any), ``k``
    (whose hash makes the folds), ``q`` (whose hash draws rows), ``r`` (the engine's number of the
    row, if it has one) and those that rows are handed out with.

    Parameters
    ----------
    engine : SqlEngine
        Who holds these.
    layout : Layout
        Roles of the columns.
    carried : mapping of str to str
        From the columns that rows are handed out with to what they are called there.
    make : callable
        From a piece of such rows to one with features.
    checked : Expression, optional
        Which rows somebody checked, in terms of these columns.
    n_checked : int
        How many.

    Examples
    --------
    >>> import duckdb
    >>> from flipcost.tables.rows import Layout
    >>> from flipcost.tables.scan import sql_engine
    >>> query = "SELECT i AS k, i AS q, sin(i) AS x0, i % 2 AS y, i AS c0 FROM range(500) t(i)"
    >>> engine, layout = sql_engine(duckdb.connect(), query), Layout("y", ("x0",), None, "k")
    >>> def make(piece):
    ...     X = np.sin(piece.frame["call"].to_numpy())[:, None]
    ...     return replace(piece, arrays=(X, None, None))
    >>> table = DrawingTable(engine, layout, {"c0": "call"}, make)
    >>> len(table.fold_moments(5).parts), table.draw(5, 1000).piece.n_rows
    (5, 500)
    """

    def __init__(
        self,
        engine: SqlEngine,
        layout: Layout,
        carried: Mapping[str, str],
        make: Callable[[Piece], Piece],
        checked: Expression | None = None,
        n_checked: int = 0,
    ):
        super().__init__(engine, layout)
        self._sql, self._carried, self._make = engine, dict(carried), make
        self._checked, self._n_checked = checked, n_checked
        self._handed = 0

    def fold_moments(self, n_folds: int) -> LabeledMoments:
        """Gather the moments; the features have no names of their own."""
        return replace(super().fold_moments(n_folds), names=None)

    def draw(self, n_folds: int, size: int, most_checked: int = 0) -> HandedOut:
        """Draw rows of each label, and those that somebody checked.

        Parameters
        ----------
        n_folds : int
            Number of folds, as in the call of `fold_moments` before.
        size : int
            How many rows of each label are wanted; somewhat more come, or all.
        most_checked : int
            How many rows that were checked, at most.
        """
        labels = self._found_labels()
        counts = [self._rows.get(label, 0) for label in labels]
        wanted = [min(n, _MORE * size + _AND_MORE) for n in counts]
        shares = [w / max(n, 1) for w, n in zip(wanted, counts, strict=True)]
        layers = self._keyed(labels, n_folds)
        kept: Expression = Subset((shares[0], shares[-1])).condition()
        most = sum(wanted)
        if self._checked is not None and most_checked:
            share = min(1.0, most_checked / max(self._n_checked, 1))
            within = literal(int(share * PRIME)).above(column("s"))
            kept = kept.either(case([(within, column("v"))], literal(value=False)))
            most += min(most_checked, self._n_checked)
        names = (*self._carried, *self._numbered, "f", "s", *self._flagged)
        found = self._sql.fetch(
            RowsWanted((*layers,), names, int(1.2 * most) + 2 * _AND_MORE, where=kept)
        )
        check_drawn(found.num_rows, sum(wanted), self._engine.where)
        return self._handed_out(found, _numbers(found, "s").astype(np.uint64))

    def watch(
        self,
        coefficients: Array,
        labels: tuple[Any, ...],
        basis: HingeBasis,
        lead: int,
        size: int,
    ) -> list[HandedOut]:
        """Find the rows whose score speaks most against their label, by a query for each label."""
        bent = basis if len(basis.knot) else None
        carried = (*self._carried, *self._numbered)
        kept = (*carried, "q")  # which tells rows of the same score apart
        rows = replace(self._by_fold(labels, len(coefficients)), basis=bent, carried=kept)
        score, found = score_of(coefficients, lead), []
        for code in range(len(labels)):
            signed = score if code else number(0.0) - score
            layer = {name: column(name) for name in (*kept, "f", "y")} | {"o": signed}
            rest = self._sql.fetch(
                RowsWanted(
                    (*rows.layers(), layer),
                    (*carried, "f"),
                    size,
                    where=column("y").equals(literal(code)),
                    order=("o", "q"),
                )
            )
            found.append(self._handed_out(rest, np.arange(rest.num_rows, dtype=np.uint64)))
        return found

    @property
    def _numbered(self) -> tuple[str, ...]:
        return ("r",) if "r" in self._reading.kinds else ()

    @property
    def _flagged(self) -> tuple[str, ...]:
        return () if self._checked is None else ("v",)

    def _keyed(self, labels: tuple[Any, ...], n_folds: int) -> list[Layer]:
        """Return layers with what is handed out, the fold, and the hash that draws."""
        seed = self.layout.fold_seed
        first = {name: column(name) for name in (*self._carried, *self._numbered)}
        first |= {"y": self._reading.label_code(labels), "k": self._reading.key}
        first["q"] = column("q").as_integer()
        if self._checked is not None:
            first["v"] = case([(self._checked, literal(value=True))], literal(value=False))
        layers: list[Layer] = [first]
        layers += hashed(layers[-1], "q", "s", seed + SUBSET_SEED)
        layers += hashed(layers[-1], "k", "h", seed)
        last = {name: column(name) for name in layers[-1] if name not in ("h", "k", "q")}
        return [*layers, last | {"f": column("h") % literal(n_folds)}]

    def _handed_out(self, found: Any, keys: NDArray[np.uint64]) -> HandedOut:
        n = found.num_rows
        # Numbers of rows that are not there, or of parts of a table, which may have the same, give
        # way to those of what was handed out.
        places = np.arange(self._handed, self._handed + n)
        if self._numbered:
            own = _numbers(found, "r")
            places = own if len(np.unique(own)) == n else places
        self._handed += n
        frame = found.select(list(self._carried)).rename_columns(list(self._carried.values()))
        piece = self._make(Piece(self._name(), 0, frame, places=places.astype(np.uint64)))
        if piece.n_rows != n:
            msg = f"{self._engine.where} changed between the queries: labels are gone."
            raise SourceError(msg)
        checked = np.zeros(n, dtype=bool)
        if "v" in found.column_names:
            checked = np.asarray(found["v"].to_numpy(zero_copy_only=False), dtype=bool)
        return HandedOut(piece, keys, _numbers(found, "f").astype(np.int16), checked)


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


def _numbers(found: Any, name: str) -> NDArray[np.int64]:
    return np.asarray(found[name].to_numpy(zero_copy_only=False), dtype=np.int64)
