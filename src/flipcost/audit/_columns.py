"""What the columns of a table hold, learned from a look at it; or scores in their place."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost._validation import vanishing_column
from flipcost.audit._sources import RowBuilder, RowSource
from flipcost.estimators.flipcost.scores import GivenScores
from flipcost.exceptions import FlipCostError, TableError, shorten, unknown_column
from flipcost.recheck import CheckedAnswers
from flipcost.tables.arrow import concatenate, take_column
from flipcost.tables.columns import check_features, unusable_columns
from flipcost.tables.encoder import Encoder, describe
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.roles import are_numbers, label_codes, plain_labels, price_columns
from flipcost.tables.sniff import check_names, repeated_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.audit._options import AuditOptions
    from flipcost.core.arrays import Array

# Rows from which on a rising column is taken for one that numbers them, and by how much it rises
# from row to row, at most, on the whole.
_ENOUGH, _SMALL_STEP = 50, 10.0
# Rows that a column is looked at in first.
_FIRST = 1_000
# What pandas calls the index of a frame in files.
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0(\.\d+)?")
_NAMES = re.compile(r"(^|[_\W]|(?<=[a-z]))(id|ID|Id|no|nr|num|number|key|code)$")

# 300 rows x 2,000 columns take 12 s, most of them for what each column is and does.
_MOST_COLUMNS = 5_000


def check_width(n_columns: int, name: str) -> None:
    """Refuse a table of more columns to learn from than an audit looks at.

    Examples
    --------
    >>> check_width(2_000, "a.csv")
    """
    if n_columns > _MOST_COLUMNS:
        msg = (
            f"{name} has {n_columns:,} columns to learn from; an audit, which looks at each, "
            f"takes at most {_MOST_COLUMNS:,}. Leave some out; FlipCostClassifier takes more."
        )
        raise TableError(msg)


def find_columns(source: RowSource, notes: list[str]) -> RowBuilder:
    """Look at a source, and return what reads its pieces; `notes` gets what was left out."""
    options, name = source.options, source.name
    roles = options.roles
    check_names(source.names, name)
    notes += [
        f"Two columns have the same name; the later one is {column!r} here."
        for column in repeated_names(source.names)
    ]
    priced = price_columns(options.prices, source.names, name)
    columns = roles.features(source.names, name, () if options.learn_prices else priced)
    if options.scores:
        columns = score_columns(options, columns, source.names, name)
    check_width(len(columns), name)
    for column in [*options.grouping, *options.categorical]:
        if column not in source.names:
            raise unknown_column(column, source.names, name)
    blocks = source.look([*roles.used, *columns])
    if not blocks:
        msg = f"{name} holds no rows; give at least a few dozen."
        raise TableError(msg)
    if not options.scores:
        columns = _without_counters(blocks, columns, options.categorical, notes)
        _note_names(blocks, [c for c in columns if c not in options.categorical], notes)
    seen = concatenate([block for block, _ in blocks])
    _, texts = label_codes(take_column(seen, roles.target, name), roles.target)
    numeric, answers = are_numbers(texts), None
    if options.rounds:
        known = set(plain_labels(texts, numbers=numeric))
        if source.reading:  # a label may be met first in a file of checked rows
            known |= {row.label for rows in options.rounds for row in rows}
        with_ids = options.id is not None
        answers = CheckedAnswers.of(options.rounds, known, options.target, with_ids=with_ids)
    return RowBuilder(roles, columns, numeric, answers)


def learn_columns(
    maker: RowBuilder, frame: Any, options: AuditOptions, notes: list[str]
) -> tuple[RowBuilder, Any]:
    """Learn from the rows that were drawn what columns hold; return that, and them as cells."""
    if options.scores:
        schema = describe_scores(frame, maker.columns)
    else:
        schema = _usable(frame, maker.columns, options, notes)
    encoder = Encoder.of_described(frame, schema)
    cells = encoder.cells(frame)
    if options.scores:
        read_scores(cells, options)
    small = vanishing_column(cells)
    if small is not None:  # those that overflow are not read
        name = encoder.names[encoder.cell_columns[small[0]]]
        msg = (
            f"Column {name!r} holds numbers of at most {small[1]:g}, whose squares vanish; rescale "
            f"it, or `drop={[name]}`."
        )
        raise TableError(msg)
    features = TableEncoder(encoder).fit_cells(cells)
    return replace(maker, schema=schema, features=features), cells


def _without_counters(
    blocks: list[Any], columns: list[str], categorical: Sequence[str], notes: list[str]
) -> list[str]:
    """Leave out columns that number the rows, as exports often have: they describe nothing."""
    counters = [
        name
        for name in columns
        if _INDEX.fullmatch(name)
        or (name not in categorical and all(_counts(arrow, rows, name) for arrow, rows in blocks))
    ]
    kept = [name for name in columns if name not in counters]
    if not counters or not kept:
        return columns
    notes.append(f"Columns that only number the rows were left out: {shorten(counters)}.")
    return kept


def _whole_numbers(column: Any) -> NDArray[np.int64] | None:
    """Return a column as whole numbers; None if it holds anything else, or has gaps."""
    if column.null_count or not len(column):
        return None
    try:
        return np.asarray(column.cast(pa.int64()).to_numpy())
    except (ValueError, NotImplementedError):  # not whole numbers
        return None


def _counts(arrow: Any, rows: NDArray[Any], name: str) -> bool:
    column = take_column(arrow, name, "The table")
    # Most columns show by their first rows that they do not rise from row to row.
    first = _whole_numbers(column.slice(0, _FIRST))
    if first is None or not np.all(np.diff(first) > 0):
        return False
    values = _whole_numbers(column)
    if values is None:
        return False
    if np.all(values - values[0] == rows - rows[0]):
        return True
    # Numbers of rows of which some were taken out: always rising, and not by much.
    steps = np.diff(values) / np.maximum(np.diff(rows), 1)
    return bool(len(values) >= _ENOUGH and np.all(steps > 0) and np.median(steps) <= _SMALL_STEP)


def _note_names(blocks: list[Any], columns: list[str], notes: list[str]) -> None:
    """Note columns of numbers that are named like identifiers and differ on every row."""
    for name in columns:
        if not _NAMES.search(name):
            continue
        values = [_whole_numbers(take_column(arrow, name, "The table")) for arrow, _ in blocks]
        found = [block for block in values if block is not None]
        if len(found) < len(values):
            continue
        joined = np.concatenate(found)
        if len(joined) >= _ENOUGH and len(np.unique(joined)) == len(joined):
            notes.append(
                f"Column {name!r} differs on every row and looks like a name of rows: if it is "
                f"one, give `id={name!r}` or `drop={[name]}`."
            )


def _usable(
    arrow: Any, columns: list[str], options: AuditOptions, notes: list[str]
) -> list[dict[str, Any]]:
    """Describe the columns that can be used; refuse the others, or leave them out."""
    schema = describe(arrow, columns, options.categorical)
    unusable = unusable_columns(schema, arrow.num_rows)
    texts = [name for name, why in unusable.items() if why == "levels"]
    if not options.drop_unusable:
        # Text says nothing to the model, and its columns are left out; what is empty is a mistake.
        others = [column for column in schema if column["name"] not in texts]
        check_features(others, arrow.num_rows)
    if not unusable:
        return schema
    kept = [column for column in schema if column["name"] not in unusable]
    if not kept:
        msg = "No column can be used: all are empty, constant or have too many levels."
        raise TableError(msg)
    if texts:
        one = len(texts) == 1
        notes.append(
            f"{'Column' if one else 'Columns'} {shorten(texts)} {'has' if one else 'have'} too "
            "many categories to learn from (text or names of rows?), and "
            f"{'was' if one else 'were'} left out."
        )
    rest = [name for name in unusable if name not in texts]
    if rest:
        notes.append(f"Columns that cannot be used were left out: {shorten(rest)}.")
    return kept


def usable_encoder(frame: Any, names: Sequence[str], categorical: Sequence[str] = ()) -> Encoder:
    """Return what reads the columns that can be used."""
    schema = describe(frame, names, categorical)
    left_out = unusable_columns(schema, frame.num_rows)
    return Encoder.of_described(frame, [one for one in schema if one["name"] not in left_out])


def score_columns(
    options: AuditOptions, columns: list[str], names: list[str], where: str
) -> list[str]:
    """Return the columns of scores; refuse those that are not there or are something else."""
    for name in options.scores:
        if name not in names:
            raise unknown_column(name, names, where)
        if name not in columns:
            msg = f"Column {name!r} was given two roles; give each column one."
            raise TableError(msg)
    return list(dict.fromkeys(options.scores))


def describe_scores(frame: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Describe columns of scores; refuse what is no number, or the same in all rows."""
    schema = describe(frame, names)
    for about in schema:
        if about["kind"] != "number":
            what = {"empty": "is empty", "constant": "is the same in every row"}
            msg = (
                f"Column {about['name']!r} {what.get(about['kind'], 'holds no numbers')}; scores "
                "must be numbers that differ between rows."
            )
            raise TableError(msg)
    return schema


def read_scores(cells: Array, options: AuditOptions) -> Array:
    """Return scores of rows, log-odds where they are probabilities; none may be missing."""
    missing = np.isnan(cells).sum(axis=0)
    for name, rows in zip(options.scores, missing.tolist(), strict=True):
        if rows:
            msg = f"Column {name!r} has no score in {rows:,} rows; score these, or leave them out."
            raise TableError(msg)
    try:
        return GivenScores(options.score_kind).read(cells)
    except FlipCostError as error:
        named = str(error).replace("`scores`", f"Column {shorten(options.scores)}")
        raise TableError(named.replace("kind='score'", "`score_kind='score'`")) from error
