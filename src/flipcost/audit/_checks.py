"""What people get wrong in a table, looked for before anything is learned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from flipcost.data import ColumnReader, check_features, find_leaks, take_column, unusable_columns
from flipcost.exceptions import TableError, shorten

_LEAST_OF_CLASS = 10


def check_counts(counts, target, negative_label, positive_label):
    """Refuse a label of too few rows; counts are of the negative label and the positive one."""
    for label, rows in zip((negative_label, positive_label), counts, strict=True):
        if rows < _LEAST_OF_CLASS:
            msg = (
                f"Column {target!r} has {rows} rows labelled {label!r}; at least "
                f"{_LEAST_OF_CLASS} of each label are needed to learn from. Gather more."
            )
            raise TableError(msg)


def check_weights(totals, name):
    """Refuse weights that leave nothing of a class."""
    if not min(totals) > 0:
        msg = f"Column {name!r} gives one class no weight; correct it."
        raise TableError(msg)


def price_warnings(counts, prices, negative_label, positive_label):
    """Warn when the rarer class is the cheaper to miss: prices are often given the wrong way."""
    share = counts[1] / sum(counts)
    # Near one half neither class is the rarer one, and noise pulls shares towards one half.
    swapped = (share < 0.45 and prices.fn < prices.fp) or (share > 0.55 and prices.fn > prices.fp)
    if not swapped:
        return []
    rare = positive_label if share < 0.5 else negative_label
    warning = (
        f"Missing the rarer label, {rare!r}, is the cheaper mistake at these prices; are `fn` "
        f"and `fp` swapped, or is {positive_label!r} not the label that is looked for "
        "(`positive`)?"
    )
    return [warning]


def leak_warnings(reader, numbers, positive, target):
    """Warn of columns that tell the label."""
    leaks = find_leaks(reader, numbers, positive)
    if not leaks:
        return []
    warning = (
        f"{shorten(leaks)} tells {target!r} without a single mistake: is it the label under "
        f"another name? If so, `drop={leaks[:1]}`."
    )
    return [warning]


def without_counters(blocks, columns, categorical, notes):
    """Leave out columns that number the rows, as exports often have: they say nothing of them.

    Parameters
    ----------
    blocks : list of (Arrow table, array of int)
        Rows of the table, and their numbers up to a constant.
    columns : list of str
        Columns to choose from.
    categorical : sequence of str
        Columns of categories that look like numbers.
    notes : list of str
        Told what was left out.

    Returns
    -------
    list of str
    """
    counters = [
        name
        for name in columns
        if name not in categorical and all(_counts(arrow, rows, name) for arrow, rows in blocks)
    ]
    kept = [name for name in columns if name not in counters]
    if not counters or not kept:
        return columns
    notes.append(f"Columns that only number the rows were left out: {shorten(counters)}.")
    return kept


def _counts(arrow, rows, name):
    column = take_column(arrow, name, "The table")
    if column.null_count or not len(column):
        return False
    try:
        values = column.cast(pa.int64()).to_numpy()
    except (ValueError, NotImplementedError):  # not whole numbers
        return False
    return bool(np.all(values - values[0] == rows - rows[0]))


def make_reader(arrow, columns, categorical, drop_unusable, notes):
    """Return a reader of the columns that can be used; refuse the others, or leave them out."""
    reader = ColumnReader(list(columns), tuple(categorical)).fit(arrow)
    unusable = unusable_columns(reader.schema_, arrow.num_rows)
    if not drop_unusable:
        check_features(reader.schema_, arrow.num_rows)
    if not unusable:
        return reader
    kept = [name for name in columns if name not in unusable]
    if not kept:
        msg = "No column can be used: all are empty, constant or have too many levels."
        raise TableError(msg)
    notes.append(f"Columns that cannot be used were left out: {shorten(unusable)}.")
    return ColumnReader(kept, tuple(categorical)).fit(arrow)
