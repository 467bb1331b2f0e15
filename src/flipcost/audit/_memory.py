"""Rows in memory: a source of one piece."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost._threads import thread_limits
from flipcost.audit._checks import check_prices
from flipcost.audit._dependence import asked_ties, tied
from flipcost.audit._rows import JudgedRows, WatchedRows
from flipcost.audit._trusted import check_checked
from flipcost.core.checked_rows import CheckedRows
from flipcost.tables.arrow import as_arrow, take_column
from flipcost.tables.roles import read_labels, row_prices, two_classes
from flipcost.tables.rows import Piece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._maker import RowMaker, TableFacts
    from flipcost.audit._options import AuditOptions
    from flipcost.estimators import FlipCostClassifier

# As in `flipcost.data`: not the numbers that a user with the same seed has made labels from.
_STREAM = 0x666C6970
_FEW_ROWS = 50_000


class TableInMemory:
    """A table that is held: a source of one piece.

    Parameters
    ----------
    table : pyarrow, pandas or polars table
        The rows.
    options : AuditOptions
        What is asked.
    rows, n_rows : array of int and int, optional
        Which rows of a larger table these are, and how many it has, when it was sampled already.
    """

    reading = ""

    def __init__(self, table: Any, options: AuditOptions, rows: Any = None, n_rows: Any = None):
        self.name = options.name or "the table"
        self._options = options
        self._table = as_arrow(table)
        self.names = self._table.column_names
        self.notes: list[str] = []
        self._n_rows = self._table.num_rows if n_rows is None else n_rows
        self._rows = np.arange(self._table.num_rows) if rows is None else np.asarray(rows)
        if self._n_rows > len(self._rows):
            self._note_sample(len(self._rows), self._n_rows)

    def look(self, columns: list[str]) -> list[tuple[Any, NDArray[Any]]]:
        """Return the rows with a label, or a sample of them: all that are audited."""
        options = self._options
        labels = read_labels(take_column(self._table, options.target, self.name), options.target)
        # All labels are at hand: what is wrong with them is said before what is with columns.
        two_classes(labels, options.target, options.positive)
        kept = np.flatnonzero([label is not None for label in labels])
        self._unlabelled = len(labels) - len(kept)
        if options.max_rows is not None and len(kept) > options.max_rows:
            self._note_sample(options.max_rows, len(kept))
            rng = np.random.default_rng([options.seed, _STREAM])
            kept = kept[np.sort(rng.choice(len(kept), options.max_rows, replace=False))]
        self._table, self._rows = self._table.take(kept), self._rows[kept]
        return [(self._table.select(columns), self._rows)]

    def count(self, maker: RowMaker, classifier: FlipCostClassifier) -> TableFacts:  # noqa: ARG002
        """Make the one piece."""
        self._maker = maker
        self._made = maker.make(Piece(self.name, 0, self._table, places=self._rows))
        return replace(self._made.facts, lengths={0: self._n_rows}, unlabelled=self._unlabelled)

    def fit(self, classifier: FlipCostClassifier) -> tuple[JudgedRows, WatchedRows]:
        """Fit on the rows: all are judged, and watched."""
        X, labels, weight = self._made.arrays
        positive, given = labels == classifier.pos_label, self._made.trusted
        frame, rounds = self._made.frame, self._maker.rounds(self._made.frame)
        checked = trusted = None
        if given is not None and np.any(given != ""):
            rows = np.flatnonzero(given != "")
            checked = CheckedRows(rows, given[rows] == classifier.pos_label)
            rounds = None if rounds is None else rounds[rows]
            trusted = given.astype(object)
            trusted[given == ""] = None
        prices = row_prices(self._options.prices, self._table, self.name)
        check_prices(prices, positive, self._options.target)
        judged = JudgedRows(
            frame,
            X,
            positive,
            weight,
            checked=checked,
            prices=prices,
            rows=self._rows,
            rounds=rounds,
        )
        check_checked(judged, self._options, self.name)
        with limited_threads(len(labels)):
            ties = asked_ties(frame, self._options, self.name)
            scored = classifier.fit_rows(X, labels, weight, trusted=trusted, prices=prices, **ties)
        judged = tied(judged, classifier, self._options)
        watched = WatchedRows(frame, self._rows, positive, classifier.oof_probability_)
        return replace(judged, scored=scored), watched

    def _note_sample(self, rows: int, n_rows: int) -> None:
        self.notes.append(f"A random sample of {rows:,} of {n_rows:,} rows was audited.")


def limited_threads(n_rows: int) -> Any:
    """Hold back threads that wait for each other.

    They cost more than they bring on matrices of this shape, and far more when other programs want
    the cores too: 280 s against 6 s for boosting on 800 rows, 16 s against 7 s for the linear model
    on 100,000. Only boosting on many rows is left its threads.
    """
    return thread_limits({"blas": 1, "openmp": 1 if n_rows < _FEW_ROWS else None})
