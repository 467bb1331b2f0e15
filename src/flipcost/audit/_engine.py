"""Rows in a database, counted there: a source that is asked by queries."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.audit._maker import MadePiece, TableFacts, was_checked
from flipcost.audit._passes import DRAWN_ROWS, FEWEST_ROWS, RowsInPasses
from flipcost.estimators.flipcost import gather
from flipcost.exceptions import SourceError, TableError, shorten
from flipcost.tables.engine_source import MOST_LABELS, AuditedSource
from flipcost.tables.plain import plain_features, read_columns
from flipcost.tables.roles import label_codes, plain_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._maker import RowMaker
    from flipcost.audit._options import AuditOptions
    from flipcost.estimators import FlipCostClassifier
    from flipcost.tables.engine import SqlEngine
    from flipcost.tables.engine_source import LabelCount
    from flipcost.tables.plain import Column
    from flipcost.tables.rows import Piece

# Rows that columns are learned from.
_LOOK_ROWS = 20_000


class TableInEngine(RowsInPasses):
    """A table that stays in its engine: a source that is asked by queries.

    What leaves it: a look at rows, to learn what columns hold; counts, moments and histograms of
    all rows; rows of each label that are drawn to compare candidates on; those that were checked;
    and those whose score speaks most against their label.

    Parameters
    ----------
    engine : SqlEngine
        Who holds the table.
    n_rows : int
        How many rows it has.
    name : str
        What it is called in messages.
    options : AuditOptions
        What is asked.
    say : callable
        Called with a word on each step.
    """

    def __init__(
        self,
        engine: SqlEngine,
        n_rows: int,
        name: str,
        options: AuditOptions,
        say: Callable[[str], object],
    ):
        self._source = AuditedSource(
            engine, options.target, options.id, options.group, options.seed
        )
        super().__init__(name, self._source.names, f"counted by queries in {engine.said_name}")
        self._options, self._say, self._n_rows = options, say, n_rows
        self._made: list[TableFacts] = []
        if options.id is None and not engine.dialect.counts_rows:
            self.notes.append(
                f"Rows of {engine.said_name} have no numbers that stay, and are told by where they "
                "lie; give `id` to have them named."
            )

    def look(self, columns: list[str]) -> list[tuple[Any, NDArray[Any]]]:
        """Return rows of the table, drawn."""
        self._say("looking at the columns")
        frame, rows = self._source.look(columns, _LOOK_ROWS, self._n_rows)
        return [(frame, rows)] if frame.num_rows else []

    def count(self, maker: RowMaker, classifier: FlipCostClassifier) -> TableFacts:
        """Count, gather moments and draw rows."""
        options = self._options
        columns = read_columns(maker.reader)
        self._say("counting")
        counts = self._source.count(columns, options.sample_weight)
        if len(counts) >= MOST_LABELS:
            some = shorten([count.label for count in counts[:3]])
            msg = (
                f"Column {options.target!r} must hold two classes; it holds {MOST_LABELS:,} or "
                f"more, as {some}. Is it the column of labels?"
            )
            raise TableError(msg)
        names = self._names(maker, counts)
        facts = self._facts(counts, names, columns)
        others = [options.trusted] if options.trusted else list(options.roles.second_label)
        if others:
            facts.pairs.update(self._pairs(maker, others, names))
        self._maker, self._facts_found = maker, facts
        if len(set(names.values())) != 2:  # which is said by who asked
            return facts
        answers = maker.answers
        if answers is not None and answers.by_row:
            row = answers.rows[next(iter(answers.by_row.values()))[0]]
            msg = f"{row.where}: rows of a database are found by their names only; give `id`."
            raise TableError(msg)
        ids = () if answers is None else tuple(answers.by_id)
        self._table = self._source.table(
            columns,
            plain_features(maker.reader, maker.features),
            names,
            options.sample_weight,
            self.columns_read(maker),
            self._make,
            trusted=options.trusted,
            ids=ids,
            n_checked=sum(facts.pairs.values()) if options.trusted else len(ids),
        )
        self._say("gathering moments by a query")
        drawn = options.drawn(FEWEST_ROWS, DRAWN_ROWS)
        checked = was_checked if options.has_checked else None
        self._first = gather(classifier, self._table, drawn, frames=True, was_checked=checked)
        for made in self._made:
            facts.found.update(made.found)
            if answers is not None and options.trusted is None:
                facts.pairs.update(made.pairs)
        self._check_counts(facts)
        return facts

    def _make(self, piece: Piece) -> MadePiece:
        """Make features of rows that have left the engine, and keep what was counted of them."""
        made = self._maker(piece)
        self._made.append(made.facts)
        return made

    def _names(self, maker: RowMaker, counts: Sequence[LabelCount]) -> dict[Any, str]:
        """Return what the labels of the engine are called."""
        values = [count.label for count in counts if count.label is not None]
        return dict(zip(values, self._called(maker, values), strict=True))

    def _called(self, maker: RowMaker, values: Sequence[Any]) -> list[str]:
        codes, texts = label_codes(pa.array(values), self._options.target)
        names = plain_labels(texts, numbers=maker.numbers)
        return [names[code] for code in codes]

    def _facts(
        self, counts: Sequence[LabelCount], names: dict[Any, str], columns: Sequence[Column]
    ) -> TableFacts:
        rows = sum(count.n_rows for count in counts)
        unlabelled = sum(count.n_rows for count in counts if count.label is None)
        facts = TableFacts({0: rows}, unlabelled)
        for count in counts:
            if count.label is None:
                continue
            self._check_count(count, columns)
            name = names[count.label]
            facts.rows[name] += count.n_rows
            facts.weight[name] = facts.weight.get(name, 0.0) + count.weight
            for place, n in count.strange.items():
                if n:
                    facts.unseen[columns[place].name] += n
        return facts

    def _check_count(self, count: LabelCount, columns: Sequence[Column]) -> None:
        """Refuse what the columns must not hold."""
        if count.unweighted:
            msg = (
                f"Column {self._options.sample_weight!r} must hold numbers of at least 0, none "
                "missing, to serve as weights."
            )
            raise TableError(msg)
        if count.ungrouped:
            msg = (
                f"Column {self._options.group!r} must say of every row which group it is of; "
                f"{count.ungrouped:,} rows do not."
            )
            raise TableError(msg)
        for place, n in count.strange.items():
            column = columns[place]
            if n and column.kind == "number":
                msg = (
                    f"Column {column.name!r} holds infinite values or numbers beyond 1e100 (in "
                    f"{n:,} rows); correct or empty these."
                )
                raise TableError(msg)
            if n and column.kind == "boolean":
                msg = (
                    f"Column {column.name!r} holds yes or no in the rows looked at, and neither in "
                    f"{n:,} others; correct or empty these, or give `categorical` or `drop`."
                )
                raise TableError(msg)

    def _pairs(
        self, maker: RowMaker, others: Sequence[str], names: dict[Any, str]
    ) -> Counter[tuple[str, ...]]:
        pairs: Counter[tuple[str, ...]] = Counter()
        for (label, *told), n in self._source.patterns(others):
            said = [value for value in told if value is not None]
            called = iter(self._called(maker, said))
            kinds = ("" if value is None else next(called) for value in told)
            if label in names:
                pairs[names[label], *kinds] += n
        return pairs

    def _check_counts(self, facts: TableFacts) -> None:
        """Refuse a table whose rows are not those that were counted first."""
        moments = self._first.found.moments
        found = np.sum([part.n_rows for part in moments.parts], axis=0)
        for label, n in zip(moments.labels, found.tolist(), strict=False):
            if n != facts.rows[label]:
                msg = (
                    f"{self.name} changed between the queries: {facts.rows[label]:,} rows of "
                    f"{label!r} were counted, then {n:,}. Audit a copy that stands still."
                )
                raise SourceError(msg)
