"""What the columns hold: kinds, missing values, ranges, and whether they change along the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from flipcost.audit._effects import column_places, word_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.arrays import Array
    from flipcost.tables.encoder import Column, Encoder

# The table is compared with itself in so many parts, one after the other.
_PARTS = 5
# Values are compared in so many groups at most.
_GROUPS = 10
# A column changes along the table when chance would say so for one table in a thousand.
_SURE = 0.001


@dataclass(frozen=True)
class ColumnFacts:
    """What a column holds.

    Attributes
    ----------
    name, kind : str
        Its name, and what kind of values it has.
    missing : float
        Share of its values that are missing.
    distinct : int
        Number of its values, missing ones left out.
    values : str
        Least, middle and largest value of a number or a date; the most frequent levels else.
    drift : float
        How much it differs between fifths of the table in its order: Cramer's V, from 0 to 1.
    drifts : bool
        Whether that is more than chance.
    """

    name: str
    kind: str
    missing: float
    distinct: int
    values: str
    drift: float
    drifts: bool


def column_facts(
    encoder: Encoder, cells: Array, positive: NDArray[np.bool_], target: str
) -> list[ColumnFacts]:
    """Describe the labels and the columns of rows that are in the order of the table.

    Parameters
    ----------
    encoder : Encoder
        What reads the columns.
    cells : ndarray of shape (n, n_cells)
        What it read.
    positive : ndarray of bool, shape (n,)
        Which labels are positive.
    target : str
        Name of the column of labels.

    Returns
    -------
    list of ColumnFacts
        The labels first.
    """
    sure = _SURE / (len(encoder.columns) + 1)
    share = f"{100 * positive.mean():.1f} % positive"
    label = _facts(target, "label", positive.astype(float), share, sure)
    found = [label]
    for column, where in zip(encoder.columns, column_places(encoder), strict=True):
        values = cells[:, where[0]] if len(where) else np.full(len(cells), np.nan)
        facts = _facts(column.name, column.kind, values, _values(column, values), sure)
        if column.kind == "category":  # rare levels share a cell
            facts = replace(facts, distinct=column.n_levels)
        found.append(facts)
    return found


def _facts(name: str, kind: str, values: Array, said: str, sure: float) -> ColumnFacts:
    known = values[~np.isnan(values)]
    drift, chance = _drift(values)
    return ColumnFacts(
        name=name,
        kind=kind,
        missing=1 - len(known) / max(len(values), 1),
        distinct=len(np.unique(known)),
        values=said,
        drift=drift,
        drifts=chance < sure,
    )


def _values(column: Column, values: Array) -> str:
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return ""
    if column.kind in ("number", "date"):
        ends = known[[0, len(known) // 2, -1]]
        return " … ".join(word_of(column, np.array([end])) for end in ends)
    levels, counts = np.unique(known, return_counts=True)
    first = np.argsort(-counts, kind="stable")[:3]
    shown = [f"{word_of(column, levels[[k]])} {100 * counts[k] / len(known):.0f} %" for k in first]
    return ", ".join(shown) + (", …" if len(levels) > len(first) else "")


def _drift(values: Array) -> tuple[float, float]:
    """Return Cramer's V between parts of the table and groups of values, and its chance."""
    group = _groups(values)
    n, n_groups = len(group), int(group.max()) + 1 if len(group) else 0
    if n_groups < 2 or n < 10 * _PARTS:
        return 0.0, 1.0
    part = np.arange(n) * _PARTS // n
    table = np.bincount(part * n_groups + group, minlength=_PARTS * n_groups)
    table = table.reshape(_PARTS, n_groups).astype(float)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    # Rare groups count too little for the law of their sum to hold.
    common = expected.min(axis=0) >= 5
    if common.sum() < 2:
        return 0.0, 1.0
    statistic = float((((table - expected) ** 2 / expected)[:, common]).sum())
    freedom = (_PARTS - 1) * (int(common.sum()) - int(common.all()))
    drift = np.sqrt(statistic / (n * min(_PARTS - 1, int(common.sum()) - 1)))
    return float(min(drift, 1.0)), float(chdtrc(freedom, statistic))


def _groups(values: Array) -> NDArray[np.intp]:
    """Return groups of about as many rows, those with the same value together, missing ones too."""
    known = ~np.isnan(values)
    found, place = np.unique(values[known], return_inverse=True)
    group = np.zeros(len(values), dtype=np.intp)
    if len(found):
        mass = np.bincount(place)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        group[known] = 1 + np.minimum((middle * _GROUPS).astype(np.intp), _GROUPS - 1)[place]
    return np.unique(group, return_inverse=True)[1]
