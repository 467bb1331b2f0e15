"""What people get wrong in a table, looked for before anything is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from flipcost.audit._leaks import Leak, find_leaks
from flipcost.core.feasible import check_total_weight, vanishing_column
from flipcost.exceptions import TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.audit._maker import TableFacts
    from flipcost.core.costs import Costs, RowCosts
    from flipcost.tables.encoder import Encoder

_LEAST_OF_CLASS = 10
# A price that orders the labels better than this is known from them.
_PRICE_TELLS = 0.99


def check_counts(
    counts: Sequence[int], target: str, negative_label: str, positive_label: str
) -> None:
    """Refuse a label of too few rows; counts are of the negative label and the positive one."""
    for label, rows in zip((negative_label, positive_label), counts, strict=True):
        if rows < _LEAST_OF_CLASS:
            msg = (
                f"Column {target!r} has {rows} rows labelled {label!r}; at least "
                f"{_LEAST_OF_CLASS} of each label are needed to learn from. Gather more."
            )
            raise TableError(msg)


def check_weights(totals: Sequence[float], name: str) -> None:
    """Refuse weights that leave nothing of a class."""
    if not min(totals) > 0:
        msg = f"Column {name!r} gives one class no weight; correct it."
        raise TableError(msg)
    try:
        check_total_weight(sum(totals), f"The weights of column {name!r}")
    except ValueError as error:
        raise TableError(str(error)) from error


def check_values(encoder: Encoder, cells: NDArray[Any]) -> None:
    """Refuse columns of numbers whose squares vanish; those that overflow are not read."""
    small = vanishing_column(cells)
    if small is None:
        return
    name = encoder.names[encoder.cell_columns[small[0]]]
    msg = (
        f"Column {name!r} holds numbers of at most {small[1]:g}, whose squares vanish; rescale it, "
        f"or `drop={[name]}`."
    )
    raise TableError(msg)


def price_warnings(
    counts: Sequence[int], prices: Costs, negative_label: str, positive_label: str
) -> list[str]:
    """Warn when the rarer class is the cheaper to miss: prices are often given the wrong way."""
    if prices.is_by_row:
        return []
    share, (miss, alarm) = counts[1] / sum(counts), prices.extra
    # Near one half neither class is the rarer one, and noise pulls shares towards one half.
    swapped = (share < 0.45 and miss < alarm) or (share > 0.55 and miss > alarm)
    if not swapped:
        return []
    rare = positive_label if share < 0.5 else negative_label
    warning = (
        f"Misclassifying {rare!r}, the rarer label, is the cheaper error at these costs; are `fn` "
        f"and `fp` swapped, or is {positive_label!r} not the positive label (`pos_label`)?"
    )
    return [warning]


def leaks_of(encoder: Encoder, cells: NDArray[Any], positive: NDArray[Any]) -> list[Leak]:
    """Return the columns that give the label away."""
    names = [encoder.names[place] for place in encoder.cell_columns]
    return find_leaks(names, encoder.is_category, cells, positive)


def fact_warnings(facts: TableFacts) -> list[str]:
    """Warn of rows that were left out."""
    found = []
    if facts.unlabelled:
        found.append(f"{facts.unlabelled} rows have no label and were left out.")
    return found


def check_prices(prices: RowCosts | None, positive: NDArray[np.bool_], target: str) -> None:
    """Refuse a price that tells the label: it is not known where the label is not.

    Examples
    --------
    >>> from flipcost.core.costs import RowCosts
    >>> check_prices(RowCosts(np.array([0.0, 9.0]), np.ones(2)), np.array([False, True]), "fraud")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: The price `fn` tells 'fraud' almost without a mistake, so that \
it is known only once the label is; give a price that is known before.
    """
    if prices is None or positive.all() or not positive.any():
        return
    try:
        prices.relative()
    except ValueError as error:  # one kind of mistake is free on all rows
        raise TableError(str(error)) from error
    for name in ("fn", "fp"):
        ranks = rankdata(getattr(prices, name))
        n = int(positive.sum())
        area = (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n))
        if max(area, 1 - area) > _PRICE_TELLS:
            msg = (
                f"The price `{name}` tells {target!r} almost without a mistake, so that it is "
                "known only once the label is; give a price that is known before."
            )
            raise TableError(msg)
