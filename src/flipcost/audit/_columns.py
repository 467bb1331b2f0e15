"""What the columns of a table hold, learned from a look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.audit._checks import check_values
from flipcost.audit._maker import RowMaker
from flipcost.audit._recheck import gather_answers
from flipcost.data import (
    ColumnReader,
    are_numbers,
    check_features,
    concatenate,
    label_codes,
    make_features,
    plain_labels,
    price_columns,
    take_column,
    unusable_columns,
)
from flipcost.exceptions import TableError, shorten, unknown_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.audit._options import AuditOptions
    from flipcost.audit._rows import RowSource


def learn_columns(source: RowSource, options: AuditOptions, notes: list[str]) -> RowMaker:
    """Look at a source, and return what turns its pieces into rows.

    Parameters
    ----------
    source : RowSource
        The rows.
    options : AuditOptions
        What is asked.
    notes : list of str
        Told which columns were left out.

    Returns
    -------
    RowMaker
    """
    roles, name = options.roles, source.name
    repeated = sorted({n for n in source.names if source.names.count(n) > 1})
    if repeated:
        msg = f"{name} has more than one column named {repeated[0]!r}; rename them."
        raise TableError(msg)
    columns = roles.features(source.names, name)
    price_columns(options.prices, source.names, name)
    for column in options.grouping:
        if column not in source.names:
            raise unknown_column(column, source.names, name)
    for column in options.categorical:
        if column not in source.names:
            raise unknown_column(column, source.names, name)
    blocks = source.look([*roles.used, *columns])
    if not blocks:
        msg = f"{name} holds no rows; give at least a few dozen."
        raise TableError(msg)
    columns = _without_counters(blocks, columns, options.categorical, notes)
    seen = concatenate([block for block, _ in blocks])
    codes, texts = label_codes(take_column(seen, roles.target, name), roles.target)
    if texts and codes.min() < 0:  # rows without a label are not learned from
        seen = seen.take(np.flatnonzero(codes >= 0))
    try:
        reader = _reader(seen, columns, options, notes)
    except TableError as error:
        if not source.reading:  # these were all
            raise
        msg = f"In the {seen.num_rows:,} rows looked at: {error}"
        raise TableError(msg) from error
    numbers = reader.transform(seen)
    check_values(reader, numbers)
    features = make_features(reader).fit(numbers)
    n_features = features.transform(numbers[:1]).shape[1]
    are_all, numeric = not source.reading, are_numbers(texts)
    answers = gather_answers(options, plain_labels(texts, numbers=numeric), are_all=are_all)
    return RowMaker(reader, features, n_features, roles, numeric, answers)


def _without_counters(
    blocks: list[Any], columns: list[str], categorical: Sequence[str], notes: list[str]
) -> list[str]:
    """Leave out columns that number the rows, as exports often have: they say nothing of them."""
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


def _counts(arrow: Any, rows: NDArray[Any], name: str) -> bool:
    column = take_column(arrow, name, "The table")
    if column.null_count or not len(column):
        return False
    try:
        values = column.cast(pa.int64()).to_numpy()
    except (ValueError, NotImplementedError):  # not whole numbers
        return False
    return bool(np.all(values - values[0] == rows - rows[0]))


def _reader(
    arrow: Any, columns: list[str], options: AuditOptions, notes: list[str]
) -> ColumnReader:
    """Return a reader of the columns that can be used; refuse the others, or leave them out."""
    reader = ColumnReader(columns, tuple(options.categorical)).fit(arrow)
    unusable = unusable_columns(reader.schema_, arrow.num_rows)
    if not options.drop_unusable:
        check_features(reader.schema_, arrow.num_rows)
    if not unusable:
        return reader
    kept = [name for name in columns if name not in unusable]
    if not kept:
        msg = "No column can be used: all are empty, constant or have too many levels."
        raise TableError(msg)
    notes.append(f"Columns that cannot be used were left out: {shorten(unusable)}.")
    return ColumnReader(kept, tuple(options.categorical)).fit(arrow)
