"""The labels that look most wrong, and what speaks against each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flipcost.audit._effects import columns_to_look_at, row_evidence, typical_cells
from flipcost.core.quantiles import largest_first
from flipcost.tables.arrow import as_text, take_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._effects import RowScore
    from flipcost.audit._rows import Audited

_MOST_SUSPECTS = 1000
# Labels that are wrong with less probability than this are not suspicious.
_LEAST_WRONG = 0.01


@dataclass(frozen=True)
class Suspect:
    """A label that looks wrong.

    Attributes
    ----------
    row : int
        Row of the table, the first being 1.
    id : str or None
        Its name, when a column of names was given.
    label : str
        The label that it has.
    suggested : str
        The other label.
    wrong : float
        Probability that the label is wrong.
    probability : float
        Out-of-fold probability that the clean label is positive.
    evidence : str
        The columns that speak most for the other label.
    """

    row: int
    id: str | None
    label: str
    suggested: str
    wrong: float
    probability: float
    evidence: str


def find_suspects(
    rows: Audited, wrong: NDArray[np.float64], score: RowScore, state: str
) -> list[Suspect]:
    """Return the most suspicious labels, given the probability that each is wrong.

    None of hardly any probability; and where labels look right, or nothing can be said of them,
    only those that are more likely wrong than not.
    """
    watched, encoder, named = rows.watched, rows.maker.encoder, rows.options.id
    likely = int(np.sum(wrong > 0.5))
    order = largest_first(wrong, min(_MOST_SUSPECTS, max(100, likely)))
    least = 0.5 if state in ("clean", "no_signal", "small") else _LEAST_WRONG
    order = order[wrong[order] > least]
    frame = watched.frame.take(order)
    towards = np.where(watched.positive[order], -1.0, 1.0)
    usual = rows.cells[rows.judged.typical(np.random.default_rng(0))]
    typical = typical_cells(encoder, usual)
    looked = columns_to_look_at(encoder, usual, score)
    evidence = row_evidence(encoder, encoder.cells(frame), typical, score, towards, looked)
    ids = [None] * len(order)
    if named is not None:
        ids = as_text(take_column(frame, named, rows.name), named, "names").to_pylist()
    return [
        Suspect(
            row=int(watched.rows[i]) + 1,
            id=name,
            label=rows.labels[int(watched.positive[i])],
            suggested=rows.labels[1 - int(watched.positive[i])],
            wrong=float(wrong[i]),
            probability=float(watched.probability[i]),
            evidence=words,
        )
        for i, name, words in zip(order, ids, evidence, strict=True)
    ]
