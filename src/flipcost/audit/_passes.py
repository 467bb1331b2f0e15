"""Rows that are never held: files, a source of many pieces, read twice; and what others share."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.audit._checks import check_prices
from flipcost.audit._dependence import group_codes, tied_sample
from flipcost.audit._maker import facts_of, given_weight, was_checked
from flipcost.audit._rows import JudgedRows, WatchedRows
from flipcost.estimators.flipcost import CheckedSample, gather
from flipcost.tables.files import FileTable
from flipcost.tables.roles import price_columns, row_prices
from flipcost.tables.rows import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._maker import RowMaker, TableFacts
    from flipcost.audit._options import AuditOptions
    from flipcost.core.costs import Costs, RowCosts
    from flipcost.estimators import FlipCostClassifier
    from flipcost.estimators.flipcost import Gathered
    from flipcost.tables.files import FileSet
    from flipcost.tables.passes import Progress
    from flipcost.tables.source import Table

# Rows that columns are learned from, before the passes.
_LOOK_ROWS = 100_000
# Rows of each label that candidates are judged on.
DRAWN_ROWS, FEWEST_ROWS = 20_000, 50
# Rows of each label that are watched.
_WATCHED_ROWS = 1000
# Seconds between words on how far a pass has come.
_PAUSE = 10.0


class RowsInPasses:
    """What sources have in common whose rows are counted twice and never held.

    Those that are one set `_options`, `_say`, and in `count` also `_maker`, `_table`, `_first` and
    `_facts_found`.
    """

    _options: AuditOptions
    _say: Callable[[str], object]
    _maker: RowMaker
    _table: Table
    _first: Gathered
    _facts_found: TableFacts

    def __init__(self, name: str, names: list[str], reading: str):
        self.name, self.names, self.reading = name, names, reading
        self.notes: list[str] = []

    def columns_read(self, maker: RowMaker) -> list[str]:
        """Return the columns that rows are needed with, the target first."""
        options = self._options
        read = [*options.roles.used, *maker.reader.feature_names_in_]
        # A saved model may read other columns.
        more = [*getattr(options.model, "feature_names_in_", ())]
        more += price_columns(options.prices, self.names, self.name) + options.grouping
        return read + [n for n in dict.fromkeys(more) if n in self.names and n not in read]

    def fit(self, classifier: FlipCostClassifier) -> tuple[JudgedRows, WatchedRows]:
        """Make the second pass, and fit."""
        self._say("second pass")
        costs = self._options.prices
        fit = classifier.fit_gathered(
            self._table,
            self._first,
            _WATCHED_ROWS,
            self._checked(classifier.pos_label),
            partial(_prices_of, costs, self.name) if costs.is_by_row else None,
            groups_of=self._groups_of(),
        )
        rows, watched = fit.rows, fit.watched
        weight = rows.sample.weight
        given = given_weight(rows.frame, self._options.roles, self.name)
        stands_for = weight
        if given is not None:
            stands_for = np.divide(weight, given, out=np.ones_like(weight), where=given > 0)
        judged = JudgedRows(
            rows.frame,
            rows.X,
            rows.sample.positive,
            weight,
            rows.folds,
            fit.parts,
            stands_for * (sum(self._facts_found.rows.values()) / stands_for.sum()),
            rows.squares,
            fit.checked,
            row_prices(costs, rows.frame, self.name),
            self._facts_found.row_numbers(rows.sample.position),
            None if fit.checked is None else self._rounds(),
            None if fit.scored is None else (fit.scored, fit.result),
        )
        check_prices(judged.prices, judged.positive, self._options.target)
        if fit.groups is not None:
            design = fit.result.n_rows / classifier.n_effective_
            judged = tied_sample(judged, fit.groups, design, self._options.level)
        numbers = self._facts_found.row_numbers(watched.sample.position)
        probability = fit.probability(watched)
        return judged, WatchedRows(watched.frame, numbers, watched.sample.positive, probability)

    def _checked(self, positive: str) -> CheckedSample | None:
        """Return the rows that were checked, as the first pass kept them."""
        kept = self._first.found.checked
        if kept is None or not len(kept.keys):
            return None
        made = (self._maker.labels(kept.frame), self._maker.trusted(kept.frame))
        labels, right = (np.asarray(column) == positive for column in made)
        return CheckedSample.of(kept, labels, right)

    def _rounds(self) -> NDArray[np.intp] | None:
        """Return in which file the checked rows were checked, in the order that they were kept."""
        kept = self._first.found.checked
        return None if kept is None else self._maker.rounds(kept.frame)

    def _groups_of(self) -> Callable[[Any], NDArray[np.intp]] | None:
        """Return what tells the groups of drawn rows, if there are any."""
        name = self._options.group
        return None if name is None else partial(group_codes, name=name, where=self.name)


class FilesInPasses(RowsInPasses):
    """Files that are read in two passes, here or on a cluster: a source of many pieces.

    The first pass gathers the moments of every fold, draws rows of each label and counts; the
    second counts labels in bins of every score and finds the most suspicious labels.

    Parameters
    ----------
    files : FileSet
        How they are read: text as text.
    name : str
        What they are called in messages.
    options : AuditOptions
        What is asked.
    say : callable
        Called with a word on each step.
    on_cluster : bool
        Whether a cluster reads them.
    """

    def __init__(
        self,
        files: FileSet,
        name: str,
        options: AuditOptions,
        say: Callable[[str], object],
        *,
        on_cluster: bool,
    ):
        where = " on a Dask cluster" if on_cluster else ""
        super().__init__(name, files.names, f"read in two passes{where}")
        self._files, self._options, self._say = files, options, say
        self._on_cluster = on_cluster

    def look(self, columns: list[str]) -> list[tuple[Any, NDArray[Any]]]:
        """Return consecutive rows of several places."""
        self._say("looking at the columns")
        self._files.check_columns(columns)
        blocks = self._files.look(columns, _LOOK_ROWS)
        return [(block, np.arange(block.num_rows)) for block in blocks]

    def count(self, maker: RowMaker, classifier: FlipCostClassifier) -> TableFacts:
        """Make the first pass."""
        options, read = self._options, self.columns_read(maker)
        layout = Layout(
            options.target, tuple(read[1:]), fold_by=options.group, fold_seed=options.seed
        )
        table = FileTable(
            self._files, layout, progress=_reports(self._say), on_cluster=self._on_cluster
        )
        self._table = table.map_pieces(maker)
        self._say("first pass")
        drawn = options.drawn(FEWEST_ROWS, DRAWN_ROWS)
        self._first = gather(
            classifier,
            self._table,
            drawn,
            frames=True,
            beside=(facts_of,),
            was_checked=was_checked if options.has_checked else None,
        )
        self._maker = maker
        facts: TableFacts = self._first.beside[0]
        self._facts_found = facts
        return facts


def _prices_of(costs: Costs, where: str, frame: Any) -> RowCosts:
    """Return the prices of drawn rows."""
    found = row_prices(costs, frame, where)
    assert found is not None  # noqa: S101 - asked only where prices differ by row
    return found


def _reports(say: Callable[[str], object]) -> Callable[[Progress], None]:
    """Return what a pass reports to: a word now and then."""
    last = perf_counter()

    def report(progress: Progress) -> None:
        nonlocal last
        now = perf_counter()
        if now - last > _PAUSE:
            last = now
            say(f"{progress.rows:,} rows read")

    return report
