"""Labels of several annotators, pooled to one column whose error rates their agreement tells.

What an item is called follows from its labels alone, weighed by what is known of who gave them, so
that its errors do not follow the columns beyond the truth: the columns only help to tell how often
each annotator errs. In `benchmarks.crowds` models of such labels decide new rows as well as models
of items that enter twice by their probability, and the true cost lay in 16 of 16 intervals, not 12.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.core import priors
from flipcost.core.noise import NoiseRate
from flipcost.exceptions import FlipCostError, TableError, shorten, unknown_column
from flipcost.noise import CrowdLabels
from flipcost.tables.arrow import as_arrow, as_text, take_column
from flipcost.tables.columns import unusable_columns
from flipcost.tables.encoder import Encoder, describe
from flipcost.tables.roles import price_columns, read_labels, two_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._options import AuditOptions
    from flipcost.core.arrays import Array, Indices
    from flipcost.noise import WorkerRates


@dataclass(frozen=True, eq=False)
class PooledLabels:
    """Items with one label each, made of those of several annotators.

    Attributes
    ----------
    rows : ndarray of int, shape (n_items,)
        The first row of each item in the table of labels, rising.
    ids, labels : list of str or None
        Names of the items, if they have some, and their pooled labels.
    wrong : ndarray of shape (n_items,)
        Probability that the pooled label is wrong, given the labels and the columns.
    rate : NoiseRate
        How often pooled labels are wrong.
    workers : tuple of WorkerRates
        How often each annotator errs.
    """

    rows: Indices
    ids: list[str | None]
    labels: list[str]
    wrong: Array
    rate: NoiseRate
    workers: tuple[WorkerRates, ...]


def pool_labels(
    table: Any, options: AuditOptions, notes: list[str]
) -> tuple[PooledLabels, Any, AuditOptions]:
    """Return how labels were pooled, the items with these, and what is then asked of them.

    `notes` gets what to say of it.
    """
    arrow, where = as_arrow(table), options.name or "the table"
    used = [options.item, options.worker, *options.annotator_names]
    for name in used:
        if name is not None and name not in arrow.column_names:
            raise unknown_column(name, arrow.column_names, where)
    if options.worker is None:
        items, first, crowd, classes = _wide(arrow, options)
    else:
        items, first, crowd, classes = _long(arrow, options, notes, where)
    own = replace(
        options,
        worker=None,
        item=None,
        annotators=(),
        id=options.id or options.item,
        pos_label=classes[1],
    )
    items = items.drop_columns([name for name in used if name not in (None, own.id)])
    X = _features(items, own, where)
    try:
        crowd.fit(X=X, level=options.level, random_state=options.random_state)
    except FlipCostError as error:
        raise TableError(str(error)) from error
    vote = np.array(classes, dtype=object)[crowd.vote_.astype(int)].tolist()
    if len(set(vote)) == 1:
        msg = (
            f"The annotators leave no item that is likelier {classes[int(not crowd.vote_[0])]!r} "
            "than not; gather more labels."
        )
        raise TableError(msg)
    ids: list[str | None] = [None] * len(vote)
    if own.id is not None:
        ids = as_text(take_column(items, own.id, where), own.id, "names").to_pylist()
    wrong = np.where(crowd.vote_, 1 - crowd.probability_, crowd.probability_)
    pooled = PooledLabels(first, ids, vote, wrong, _rate(crowd, options.level), crowd.rates_)
    return pooled, items.append_column(own.target, pa.array(vote)), own


def _long(
    table: Any, options: AuditOptions, notes: list[str], where: str
) -> tuple[Any, Indices, CrowdLabels, tuple[str, str]]:
    """Read a row for each label: the items, the first row of each, and the labels."""
    named = {}
    for name in (options.item, options.worker):
        assert name is not None  # noqa: S101 - checked with the options
        names = as_text(take_column(table, name, where), name, "names")
        if names.null_count:
            msg = f"Column {name!r} must name every row; {names.null_count:,} rows have none."
            raise TableError(msg)
        named[name] = names.to_numpy(zero_copy_only=False)
    labels = read_labels(take_column(table, options.target, where), options.target)
    classes = two_classes(labels, options.target, options.pos_label)
    places = np.flatnonzero([label is not None for label in labels])
    of_item, of_worker = (names[places] for names in named.values())
    try:
        crowd = CrowdLabels.from_long(of_item, of_worker, labels[places], pos_label=classes[1])
    except FlipCostError as error:
        raise TableError(str(error)) from error
    _, first, code = np.unique(of_item, return_index=True, return_inverse=True)
    labelled = table.take(pa.array(places))
    varying = _varying(labelled, first[code], {options.target, *named})
    used = set(varying).intersection(options.roles.used)
    if used:
        msg = f"Column {used.pop()!r} must be the same in all rows of an item, and is not."
        raise TableError(msg)
    if varying:
        notes.append(
            f"Columns that differ between the rows of one item were left out: {shorten(varying)}."
        )
    first = np.sort(first)
    items = labelled.take(pa.array(first)).drop_columns([options.target, *varying])
    return items, places[first], crowd, classes


def _varying(table: Any, first: Indices, known: set[str]) -> list[str]:
    """Return columns that are not the same in all rows of an item, given the first row of each."""
    found = []
    for name in table.column_names:
        if name in known:
            continue
        column = take_column(table, name, "")
        codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if not np.array_equal(values, values[first]):
            found.append(name)
    return found


def _wide(table: Any, options: AuditOptions) -> tuple[Any, Indices, CrowdLabels, tuple[str, str]]:
    """Read a row for each item and a column for each annotator."""
    names = options.annotator_names
    if options.target in table.column_names:
        msg = (
            f"Column {options.target!r} is in the table already; `target` names the new column of "
            "labels pooled from `annotators`."
        )
        raise TableError(msg)
    columns = {name: read_labels(take_column(table, name, ""), name) for name in names}
    classes = two_classes(
        np.concatenate(list(columns.values())), ", ".join(names), options.pos_label
    )
    known = [[label is not None for label in labels] for labels in columns.values()]
    some = np.flatnonzero(np.any(known, axis=0))
    given = {name: labels[some] for name, labels in columns.items()}
    crowd = CrowdLabels.from_wide(given, pos_label=classes[1])
    return table.take(pa.array(some)), some, crowd, classes


def _features(items: Any, options: AuditOptions, where: str) -> NDArray[np.float64]:
    """Return the columns of the items as numbers, to tell the annotators' rates by."""
    other = {*options.roles.used, *options.drop}
    if not options.learn_prices:
        other |= set(price_columns(options.prices, items.column_names, where))
    names = options.scores or [name for name in items.column_names if name not in other]
    schema = describe(items, names, options.categorical)
    left_out = unusable_columns(schema, items.num_rows)
    schema = [one for one in schema if one["name"] not in left_out]
    if not schema:
        msg = (
            f"{where} has no columns of the items to learn from; `fc.CrowdLabels` pools labels "
            "without."
        )
        raise TableError(msg)
    encoder = Encoder.of_described(items, schema)
    return encoder.numbers(encoder.cells(items))


def _rate(crowd: CrowdLabels, level: float) -> NoiseRate:
    """Return how often votes are wrong, as what is known before the columns are learned from."""
    found, spread = crowd.vote_rates_, priors.CROWD_SPREAD
    value = found[0].value, found[1].value
    low = [max(one.value - spread * (one.value - one.low), 0.0) for one in found]
    least = 1 / len(crowd.items_)  # annotators who always agree may be wrong together
    high = [min(one.value + max(spread * (one.high - one.value), least), 1.0) for one in found]
    source = f"agreement of {len(crowd.workers_):,} annotators"
    return NoiseRate(value, (low[0], low[1]), (high[0], high[1]), source, level)
