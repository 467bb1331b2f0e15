"""The rows to check next, from an audit; and what each round of checks has brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.core.checked_rows import CheckedRows
from flipcost.core.recheck import draw_rows, leading_directions, spread_order, value_checks
from flipcost.estimators.flipcost import way_so_far
from flipcost.exceptions import TableError
from flipcost.recheck import (
    POOL_ROWS,
    Batch,
    CheckedAnswers,
    CheckPool,
    PoolFacts,
    RowToCheck,
)
from flipcost.tables.arrow import as_text, take_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from flipcost.audit._effects import Effect
    from flipcost.audit._options import AuditOptions
    from flipcost.audit._rows import Audited, JudgedRows
    from flipcost.audit._suspects import Suspect
    from flipcost.estimators import FlipCostClassifier
    from flipcost.estimators.flipcost import WayPoint

# Columns that files of rows to check show.
_COLUMNS_SHOWN = 8
# Suspects that the report can show as a whole row.
_SUSPECTS = 100


@dataclass(frozen=True, eq=False)
class Recheck:
    """What checked rows have brought, and which to check next.

    Attributes
    ----------
    way : list of WayPoint
        What was known with no checked row, and after each round of them.
    batch : Batch or None
        Rows to check next; None if none is left.
    suspects : list of RowToCheck
        The labels that look most wrong, as whole rows; picked, not drawn.
    pool : CheckPool or None
        What further rows are chosen from.
    cost_check : float or None
        What one check costs, in the user's prices, if that was told.
    """

    way: list[WayPoint]
    batch: Batch | None = None
    suspects: Sequence[RowToCheck] = ()
    pool: CheckPool | None = None
    cost_check: float | None = None


def gather_answers(
    options: AuditOptions, labels: Iterable[str], *, are_all: bool
) -> CheckedAnswers | None:
    """Return what files say of checked rows, or None without files.

    Parameters
    ----------
    options : AuditOptions
        What was asked.
    labels : iterable of str
        Labels of the table, as far as was seen.
    are_all : bool
        Whether all rows were; if not, a label may be met first in a file of checked rows.
    """
    if not options.rounds:
        return None
    known = set(labels)
    if not are_all:
        known |= {row.label for rows in options.rounds for row in rows}
    return CheckedAnswers.of(options.rounds, known, options.target, with_ids=options.id is not None)


def plan_recheck(
    rows: Audited,
    classifier: FlipCostClassifier,
    effects: Sequence[Effect],
    suspects: Sequence[Suspect],
) -> Recheck:
    """Find out what checks have brought, and choose the rows to check next.

    Parameters
    ----------
    rows : Audited
        What was read and asked.
    classifier : FlipCostClassifier
        Fitted on it.
    effects : sequence of Effect
        How columns move the model, the largest first.
    suspects : sequence of Suspect
        The most suspicious labels first.
    """
    judged, options = rows.judged, rows.options
    way = [] if judged.scored is None else way_so_far(*judged.scored, _rounds(judged))
    n_known = 0 if judged.checked is None else len(judged.checked.rows)
    if n_known >= len(judged.positive):
        return Recheck(way, cost_check=options.cost_check)
    pool = _pool(rows, classifier, [effect.column for effect in effects])
    batch = pool.choose(options.n_next)
    return Recheck(way, batch, _whole(rows, suspects), pool, options.cost_check)


def _rounds(judged: JudgedRows) -> NDArray[np.intp]:
    """Return in which round each checked row was checked; those of a column before all files."""
    if judged.checked is None:
        return np.empty(0, dtype=np.intp)
    if judged.rounds is None:
        return np.full(len(judged.checked.rows), -1, dtype=np.intp)
    return judged.rounds


def _pool(rows: Audited, classifier: FlipCostClassifier, columns: list[str]) -> CheckPool:
    """Take the rows that can be asked for: all that were judged, or some of them, drawn."""
    judged, options = rows.judged, rows.options
    n, score = len(judged.positive), classifier.oof_probability_
    weight = np.ones(n) if judged.weight is None else judged.weight
    posterior, seed = classifier.rate_posterior_, options.seed
    cost, unit = _cost_and_unit(rows)
    directions = leading_directions(np.nan_to_num(judged.X))
    places, chance = np.arange(n), np.ones(n)
    known = np.full(n, -1, dtype=np.int8)
    if judged.checked is not None:
        known[judged.checked.rows] = judged.checked.right
    if n > POOL_ROWS:
        free = CheckedRows(np.flatnonzero(known >= 0), known[known >= 0] > 0)
        choice = value_checks(
            judged.positive,
            score,
            posterior,
            cost,
            max(1, POOL_ROWS - len(free.rows)),
            checked=free if len(free.rows) else None,
            sample_weight=weight,
        )
        order = spread_order(choice.cells.cell, directions, seed)
        drawn = draw_rows(choice.chance, order, seed)
        places = np.sort(np.concatenate([drawn, free.rows]))
        chance = np.where(known >= 0, 1.0, choice.chance)
    kept = chance[places]
    drawn_by = 1.0 if judged.stands_for is None else 1 / np.maximum(judged.stands_for[places], 1.0)
    facts = PoolFacts(
        labels=rows.labels,
        target=options.target,
        posterior=posterior,
        cost=cost,
        unit=unit,
        level=options.level,
        n_rows=sum(rows.counts),
        columns=tuple(columns[:_COLUMNS_SHOWN]),
        seed=seed,
    )
    frame = judged.frame.take(places)
    return CheckPool(
        row=judged.rows[places] + 1,
        positive=judged.positive[places],
        probability=score[places],
        weight=weight[places] / kept,
        chance=kept * drawn_by,
        directions=directions[places],
        checked=known[places],
        cells=row_cells(rows, frame),
        ids=_ids(rows, frame),
        facts=facts,
    )


def _cost_and_unit(rows: Audited) -> tuple[float, float]:
    """Return the share that a false positive bears, on the mean, and what a unit of it is."""
    prices = rows.options.prices
    if prices.is_by_row and rows.judged.scored is not None:
        options = rows.judged.scored[1].options
        return options.cost, options.unit
    return prices.alpha, rows.options.unit


def _whole(rows: Audited, suspects: Sequence[Suspect]) -> list[RowToCheck]:
    """Return suspects as whole rows."""
    suspects = suspects[:_SUSPECTS]
    watched = rows.watched
    place = {int(row): k for k, row in enumerate(watched.rows)}
    found = np.array([place[suspect.row - 1] for suspect in suspects], dtype=np.intp)
    frame = watched.frame.take(found)
    cells = row_cells(rows, frame).to_pylist()
    return [
        RowToCheck(
            row=suspect.row,
            id=suspect.id,
            label=suspect.label,
            probability=None,
            reason=suspect.evidence or "its label looks wrong",
            suspicion=suspect.wrong,
            cells={name: cell or "" for name, cell in row.items()},
        )
        for suspect, row in zip(suspects, cells, strict=True)
    ]


def row_cells(rows: Audited, frame: Any) -> Any:
    """Return rows of the table as text: what somebody who checks them may see."""
    options = rows.options
    hidden = {options.target, options.trusted, options.truth, options.sample_weight, options.id}
    hidden |= set(rows.maker.added)
    shown = [name for name in frame.column_names if name not in hidden]
    return pa.table({name: _text(take_column(frame, name, rows.name), name) for name in shown})


def _text(column: Any, name: str) -> Any:
    try:
        return as_text(column, name, "shown").cast(pa.string())
    except TableError:
        return pa.array([str(value) for value in column.to_pylist()], pa.string())


def _ids(rows: Audited, frame: Any) -> list[str | None] | None:
    name = rows.options.id
    if name is None:
        return None
    found: list[str | None] = as_text(
        take_column(frame, name, rows.name), name, "names"
    ).to_pylist()
    return found
