"""The rows to check next, from an audit; and what each round of checks has brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.core.recheck import leading_directions, value_checks
from flipcost.estimators.flipcost import check_history
from flipcost.exceptions import TableError
from flipcost.recheck import (
    POOL_ROWS,
    Batch,
    CheckPool,
    PoolFacts,
    RowToCheck,
)
from flipcost.tables.arrow import as_text, take_column

if TYPE_CHECKING:
    from flipcost.audit._explain import Effect, Suspect
    from flipcost.audit._fit import AuditData
    from flipcost.estimators.flipcost import CheckRound

# Columns that files of rows to check show.
_COLUMNS_SHOWN = 8
# Suspects that the report can show as a whole row.
_SUSPECTS = 100


@dataclass(frozen=True, eq=False)
class Recheck:
    """Checking progress, and the rows to check next.

    Attributes
    ----------
    history : list of CheckRound
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

    history: list[CheckRound]
    batch: Batch | None = None
    suspects: Sequence[RowToCheck] = ()
    pool: CheckPool | None = None
    cost_check: float | None = None


def plan_recheck(
    data: AuditData, effects: Sequence[Effect], suspects: Sequence[Suspect]
) -> Recheck:
    """Find out what checks have brought, and choose the rows to check next.

    `effects` and `suspects` have the largest first.
    """
    rows, options = data.rows, data.options
    history = check_history(rows.scored, rows.result, rows.rounds)
    n_known = 0 if rows.checked is None else len(rows.checked.rows)
    if n_known >= len(rows.positive):
        return Recheck(history, cost_check=options.cost_check)
    pool = _pool(data, [effect.column for effect in effects])
    batch = pool.choose(options.n_next)
    return Recheck(history, batch, _whole(data, suspects), pool, options.cost_check)


def _pool(data: AuditData, columns: list[str]) -> CheckPool:
    """Take the rows that can be asked for: all that were judged, or some of them, drawn."""
    rows, options = data.rows, data.options
    n, model = len(rows.positive), data.classifier
    score = model.clean_probability(model.oof_probability_)
    weight = np.ones(n) if rows.weight is None else rows.weight
    posterior, seed = model.rate_posterior_, options.random_state
    cost, unit = model.cost_share_, model.cost_unit_
    directions = leading_directions(np.nan_to_num(rows.X))
    places, chance = np.arange(n), np.ones(n)
    known = np.full(n, -1, dtype=np.int8)
    if rows.checked is not None:
        known[rows.checked.rows] = rows.checked.right
    if n > POOL_ROWS:
        seen = np.flatnonzero(known >= 0)
        choice = value_checks(
            rows.positive,
            score,
            posterior,
            cost,
            max(1, POOL_ROWS - len(seen)),
            checked=rows.checked,
            sample_weight=weight,
        )
        places = np.sort(np.concatenate([choice.draw(directions, seed), seen]))
        chance = np.where(known >= 0, 1.0, choice.chance)
    kept = chance[places]
    drawn_by = 1 / np.maximum(rows.stands_for[places], 1.0)
    facts = PoolFacts(
        labels=data.labels,
        target=options.target,
        posterior=posterior,
        cost=cost,
        unit=unit,
        level=options.level,
        n_rows=sum(data.counts),
        columns=tuple(columns[:_COLUMNS_SHOWN]),
        seed=seed,
        paid=model.cost_estimate_ / unit,
    )
    frame = rows.frame.take(places)
    return CheckPool(
        row=rows.numbers[places] + 1,
        positive=rows.positive[places],
        probability=score[places],
        weight=weight[places] / kept,
        chance=kept * drawn_by,
        directions=directions[places],
        checked=known[places],
        cells=row_cells(data, frame),
        ids=None if options.id is None else data.ids(frame),
        facts=facts,
    )


def _whole(data: AuditData, suspects: Sequence[Suspect]) -> list[RowToCheck]:
    """Return suspects as whole rows."""
    suspects = suspects[:_SUSPECTS]
    pool = data.pool
    place = {int(row): k for k, row in enumerate(pool.numbers)}
    found = np.array([place[suspect.row] for suspect in suspects], dtype=np.intp)
    frame = pool.frame.take(found)
    cells = row_cells(data, frame).to_pylist()
    return [
        RowToCheck(
            row=suspect.row + 1,
            id=suspect.id,
            label=suspect.label,
            probability=None,
            reason=suspect.evidence or "likely label error",
            suspicion=suspect.wrong,
            cells={name: cell or "" for name, cell in row.items()},
        )
        for suspect, row in zip(suspects, cells, strict=True)
    ]


def row_cells(data: AuditData, frame: Any) -> Any:
    """Return rows of the table as text: what someone who checks them may see."""
    options = data.options
    hidden = {options.target, options.trusted, options.truth, options.sample_weight, options.id}
    hidden |= set(data.maker.added)
    shown = [name for name in frame.column_names if name not in hidden]
    return pa.table(
        {name: _text(take_column(frame, name, data.source.name), name) for name in shown}
    )


def _text(column: Any, name: str) -> Any:
    try:
        return as_text(column, name, "shown").cast(pa.string())
    except TableError:
        return pa.array([str(value) for value in column.to_pylist()], pa.string())
