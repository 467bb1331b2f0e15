"""The rows that an audit speaks of, whichever way they arrived."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.clean_means import told_costs
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.costs import RowCosts
from flipcost.exceptions import TableError, shorten
from flipcost.tables.arrow import as_arrow
from flipcost.tables.roles import Roles
from flipcost.tables.rows import Piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._dependence import RowTies
    from flipcost.audit._leaks import Leak
    from flipcost.audit._maker import RowMaker
    from flipcost.audit._options import AuditOptions
    from flipcost.core.checked_rows import CheckedRows
    from flipcost.core.noise_posterior import RatePosterior
    from flipcost.estimators.flipcost.fit import ScoredRows
    from flipcost.estimators.flipcost.result import FitResult


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that candidates are judged on.

    All that were audited, or those of a sample that stand for all by their weights.

    Attributes
    ----------
    frame : pyarrow.Table
        As they were in the source.
    X : ndarray of shape (n, d)
        Features.
    positive : ndarray of bool, shape (n,)
        Which labels are positive.
    weight : ndarray of shape (n,) or None
        Their weights.
    stands_for : ndarray of shape (n,) or None
        Of how many rows of the table each is one, where these are a sample.
    checked : CheckedRows or None
        Those among them whose right label is known.
    prices : RowCosts or None
        What their mistakes cost, where that differs by row.
    call_squares : callable or None
        From calls to the squared weights of the table that they make, which say how sure its counts
        are.
    rows : ndarray of int, shape (n,)
        Where they are in the table, the first being 0.
    rounds : ndarray of int, shape (n_checked,) or None
        In which file each of the checked ones was; -1 if in none.
    scored : pair of ScoredRows and FitResult, or None
        The same with their scores, and what was found in them.
    ties : RowTies or None
        How they depend on each other, where they do.
    """

    frame: Any
    X: NDArray[np.float64]
    positive: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    stands_for: NDArray[np.float64] | None = None
    call_squares: Callable[[NDArray[np.bool_]], NDArray[np.float64]] | None = None
    checked: CheckedRows | None = None
    prices: RowCosts | None = None
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rounds: NDArray[np.intp] | None = None
    scored: tuple[ScoredRows, FitResult] | None = None
    ties: RowTies | None = None

    @property
    def learned_by(self) -> NDArray[np.float64] | None:
        """Weights to learn by."""
        return self.weight if self.ties is None or self.ties.folds is None else self.ties.weight

    def table(self, called: NDArray[np.bool_]) -> ConfusionCounts:
        """Return the table of labels against calls."""
        table = ConfusionCounts.from_labels(self.positive, called, self.weight)
        if self.call_squares is None:
            return table
        return ConfusionCounts(table.counts, self.call_squares(called))

    def design_of(
        self,
        called: NDArray[np.bool_],
        prices: RowCosts,
        posterior: RatePosterior,
        level: float,
        rival_called: NDArray[np.bool_] | None = None,
    ) -> float:
        """Return for how many rows one counts in what calls cost, or save over those of a rival."""
        if self.ties is None:
            return 1.0
        rates = tuple(posterior.mean)
        values = told_costs(self.positive, called, prices, rates, rival_called)
        return self.ties.mean_design(values, self.weight, level)

    def number_of(self, probability: NDArray[Any]) -> float:
        """Return how many rows something is expected of, given the probability for each here."""
        if self.stands_for is None:
            return float(probability.sum())
        return float(self.stands_for @ probability)

    def typical(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return places of rows as common as in the table: the weighted ones are drawn by it."""
        everywhere = np.arange(len(self.positive))
        if self.stands_for is None:
            return everywhere
        return rng.choice(everywhere, len(everywhere), p=self.stands_for / self.stands_for.sum())


@dataclass(frozen=True, eq=False)
class WatchedRows:
    """Rows among which the most suspicious labels are sought.

    Attributes
    ----------
    frame : pyarrow.Table
        As they were in the source.
    rows : ndarray of int
        Where they are in the table, the first being 0.
    positive : ndarray of bool
        Which labels are positive.
    probability : ndarray
        Out-of-fold probability that the clean label is.
    """

    frame: Any
    rows: NDArray[np.int64]
    positive: NDArray[np.bool_]
    probability: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CleanRows:
    """Rows with clean labels, to test on."""

    frame: Any
    X: NDArray[np.float64]
    positive: NDArray[np.bool_]


def clean_rows(table: Any, maker: RowMaker, labels: tuple[str, str]) -> CleanRows:
    """Read a table with clean labels by the columns of the one that is audited."""
    target = maker.roles.target
    piece = Piece("The test table", 0, as_arrow(table))
    made = replace(maker, roles=Roles(target), answers=None).read(piece)
    found = made.labels
    strange = sorted(set(found.tolist()) - set(labels))
    if strange or not len(found):
        msg = (
            f"The test table must have the labels {labels[0]!r} and {labels[1]!r} in {target!r}; "
            f"it has {shorten(strange) if strange else 'no labels'}."
        )
        raise TableError(msg)
    return CleanRows(made.frame, maker.make(made.frame), found == labels[1])


@dataclass(frozen=True, eq=False)
class Audited:
    """What was read of a table, and asked of it: all that an audit concludes from.

    Attributes
    ----------
    options : AuditOptions
        What was asked.
    name, reading : str
        What the table is called, and how it was read if not into memory.
    maker : RowMaker
        How its columns become features.
    labels : pair of str
        The negative label and the positive one.
    counts : pair of int
        Rows of each.
    n_rows_total : int
        All rows, those without a label and those left out too.
    judged : JudgedRows
        Rows that candidates are judged on.
    cells : ndarray of shape (n, n_cells)
        The same as the encoder reads them.
    watched : WatchedRows
        Rows among which the most suspicious labels are sought.
    clean : CleanRows or None
        Rows to test on.
    warnings : list of str
        What the user should look at.
    leaks : list of Leak
        Columns that give the label away.
    """

    options: AuditOptions
    name: str
    reading: str
    maker: RowMaker
    labels: tuple[str, str]
    counts: tuple[int, int]
    n_rows_total: int
    judged: JudgedRows
    cells: NDArray[np.float64]
    watched: WatchedRows
    clean: CleanRows | None
    warnings: list[str]
    leaks: list[Leak]

    @property
    def costs(self) -> RowCosts:
        """What wrong decisions on the judged rows cost: in money where that differs by row."""
        prices = self.judged.prices
        return RowCosts.of(self.options.prices) if prices is None else prices
