"""From a table to rows and labels, with everything that people get wrong checked first."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from flipcost.core.noise import rate_pair
from flipcost.noise import rate_from_repeats, rate_from_trusted
from flipcost.tables import (
    ColumnReader,
    TableError,
    check_features,
    find_leaks,
    make_features,
    read_labels,
    read_numbers,
    take_column,
)
from flipcost.tables._checks import unusable_columns
from flipcost.tables._errors import shorten
from flipcost.tables._reader import as_arrow
from flipcost.tables._roles import two_classes

_LEAST_OF_CLASS = 10
# As in `flipcost.tables`: not the numbers that a user with the same seed has made labels from.
_STREAM = 0x666C6970


@dataclass(eq=False)
class Prepared:
    """Rows ready to learn from, and what is known about them."""

    name: str
    table: Any
    rows: Any
    n_rows_total: int
    roles: Any
    positive_label: str
    negative_label: str
    labels: Any
    positive: Any
    weight: Any
    ids: Any
    reader: ColumnReader
    numbers: Any
    features: Any
    X: Any
    truth: Any = None
    warnings: list[str] = field(default_factory=list)

    def place_in(self, rows, n_rows):
        """Say where these rows are in a larger table that they were sampled from."""
        self.rows = np.asarray(rows)[self.rows]
        if n_rows > len(rows):
            note = f"A random sample of {len(rows):,} of {n_rows:,} rows was audited."
            self.warnings.insert(0, note)
        self.n_rows_total = n_rows

    def rate_from_columns(self, level):
        """Return the noise rate that trusted or second labels tell, if there are any."""
        if self.roles.trusted is not None:
            other = self._other_labels(self.roles.trusted)
            return rate_from_trusted(self.labels, other, level=level, pos_label=self.positive_label)
        if self.roles.second is not None:
            other = self._other_labels(self.roles.second)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                rate = rate_from_repeats(
                    self.labels.astype(object), other, level=level, pos_label=self.positive_label
                )
            self.warnings += [" ".join(str(w.message).split()) for w in caught]
            return rate
        return None

    def checked_rate(self, noise_rate):
        """Return a rate that was given, once the share of positive labels allows for it.

        Under flips at these rates that share lies between ``rho_neg`` and ``1 - rho_pos``; four
        standard errors are left for chance.
        """
        rho_pos, rho_neg = rate_pair(noise_rate)
        share = float(np.average(self.positive, weights=self.weight))
        slack = 4 * np.sqrt(0.25 / len(self.positive))
        if not rho_neg - slack <= share <= 1 - rho_pos + slack:
            msg = (
                f"The noise rate {noise_rate} is impossible for these labels: it implies a share "
                f"of {self.positive_label!r} between {rho_neg:g} and {1 - rho_pos:g}, which is "
                f"{share:.3g}. Give a smaller rate, or one for each class."
            )
            raise TableError(msg)
        return noise_rate

    def _other_labels(self, name):
        labels = read_labels(take_column(self.table, name, self.name), name)
        known = {self.positive_label, self.negative_label}
        strange = sorted({label for label in labels if label is not None} - known)
        if strange:
            msg = (
                f"Column {name!r} must hold the labels of {self.roles.target!r}, "
                f"{shorten(sorted(known))}; it also holds {shorten(strange)}."
            )
            raise TableError(msg)
        if all(label is None for label in labels):
            msg_0 = f"Column {name!r} is empty; fill in some rows, or leave it out."
            raise TableError(msg_0)
        return labels


def prepare(table, roles, prices, positive, categorical, drop_unusable, max_rows, seed, name):
    """Check a table and turn it into rows and labels.

    Parameters
    ----------
    table : pyarrow, pandas or polars table
        The rows.
    roles : Roles
        What the columns are for.
    prices : Costs
        What mistakes cost.
    positive : str or None
        The positive label.
    categorical : sequence of str
        Columns of categories that look like numbers.
    drop_unusable : bool
        Whether to leave out columns that cannot be used.
    max_rows : int
        More rows than these are sampled.
    seed : int
        Seed of the sample.
    name : str
        What the table is called in messages.

    Returns
    -------
    Prepared
    """
    arrow = as_arrow(table)
    repeated = sorted({n for n in arrow.column_names if arrow.column_names.count(n) > 1})
    if repeated:
        msg = f"{name} has more than one column named {repeated[0]!r}; rename them."
        raise TableError(msg)
    columns = roles.features(arrow.column_names, name)
    for column in categorical:
        take_column(arrow, column, name)
    labels = read_labels(take_column(arrow, roles.target, name), roles.target)
    negative_label, positive_label = two_classes(labels, roles.target, positive)

    notes: list[str] = []
    n_rows_total = arrow.num_rows
    rows = _rows(labels, max_rows, seed, notes)
    arrow, labels = arrow.take(rows), labels[rows].astype(str)
    is_positive = labels == positive_label
    _check_counts(is_positive, roles.target, positive_label, negative_label)
    notes += _price_warnings(is_positive, prices, positive_label, negative_label)

    columns = _without_counters(arrow, columns, rows, categorical, notes)
    reader = _reader(arrow, columns, categorical, drop_unusable, notes)
    numbers = reader.transform(arrow)
    leaks = find_leaks(reader, numbers, is_positive)
    if leaks:
        notes.append(
            f"{shorten(leaks)} tells {roles.target!r} without a single mistake: is it the label "
            f"under another name? If so, --drop {leaks[0]!r}."
        )
    features = make_features(reader)
    X = np.asarray(features.fit_transform(numbers), dtype=float)
    weight = ids = None
    if roles.weight is not None:
        weight = read_numbers(take_column(arrow, roles.weight, name), roles.weight, what="weights")
        if not weight[is_positive].sum() > 0 or not weight[~is_positive].sum() > 0:
            msg = f"Column {roles.weight!r} gives one class no weight; correct it."
            raise TableError(msg)
    if roles.id is not None:
        ids = take_column(arrow, roles.id, name).cast(pa.string()).to_pylist()
    return Prepared(
        name=name,
        table=arrow,
        rows=rows,
        n_rows_total=n_rows_total,
        roles=roles,
        positive_label=positive_label,
        negative_label=negative_label,
        labels=labels,
        positive=is_positive,
        weight=weight,
        ids=ids,
        reader=reader,
        numbers=numbers,
        features=features,
        X=X,
        truth=None if roles.truth is None else _truth(arrow, roles, positive_label, name),
        warnings=notes,
    )


def _truth(arrow, roles, positive_label, name):
    labels = read_labels(take_column(arrow, roles.truth, name), roles.truth)
    return labels == positive_label


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows with clean labels."""

    table: Any
    X: Any
    positive: Any


def prepare_test(table, data: Prepared):
    """Read a table with clean labels by the columns of the first one.

    Parameters
    ----------
    table : pyarrow, pandas or polars table
        The rows.
    data : Prepared
        The table that is audited.

    Returns
    -------
    HeldOut
    """
    arrow = as_arrow(table)
    target = data.roles.target
    labels = read_labels(take_column(arrow, target, "The test table"), target)
    rows = np.flatnonzero([label is not None for label in labels])
    labels = labels[rows].astype(str)
    strange = sorted(set(labels) - {data.positive_label, data.negative_label})
    if strange or not len(labels):
        found = shorten(strange) if strange else "no labels"
        msg = (
            f"The test table must have the labels {data.negative_label!r} and "
            f"{data.positive_label!r} in {target!r}; it has {found}."
        )
        raise TableError(msg)
    arrow = arrow.take(rows)
    X = np.asarray(data.features.transform(data.reader.transform(arrow)), dtype=float)
    return HeldOut(arrow, X, labels == data.positive_label)


def _rows(labels, max_rows, seed, notes):
    """Return the rows to audit: those with a label, or a sample of them."""
    rows = np.flatnonzero([label is not None for label in labels])
    absent = len(labels) - len(rows)
    if absent:
        notes.append(f"{absent} rows have no label and were left out.")
    if len(rows) > max_rows:
        notes.append(f"A random sample of {max_rows:,} of {len(rows):,} rows was audited.")
        chosen = np.random.default_rng([seed, _STREAM]).choice(len(rows), max_rows, replace=False)
        rows = rows[np.sort(chosen)]
    return rows


def _check_counts(positive, target, positive_label, negative_label):
    for label, rows in ((positive_label, positive.sum()), (negative_label, (~positive).sum())):
        if rows < _LEAST_OF_CLASS:
            msg = (
                f"Column {target!r} has {rows} rows labelled {label!r}; at least "
                f"{_LEAST_OF_CLASS} of each label are needed to learn from. Gather more."
            )
            raise TableError(msg)


def _price_warnings(positive, prices, positive_label, negative_label):
    """Warn when the rarer class is the cheaper to miss: prices are often given the wrong way."""
    share = positive.mean()
    # Near one half neither class is the rarer one, and noise pulls shares towards one half.
    swapped = (share < 0.45 and prices.fn < prices.fp) or (share > 0.55 and prices.fn > prices.fp)
    if not swapped:
        return []
    rare = positive_label if share < 0.5 else negative_label
    warning = (
        f"Missing the rarer label, {rare!r}, is the cheaper mistake at these prices; are --cost-fn "
        f"and --cost-fp swapped, or is {positive_label!r} not the label that is looked for "
        "(--positive)?"
    )
    return [warning]


def _without_counters(arrow, columns, rows, categorical, notes):
    """Leave out columns that number the rows, as exports often have: they say nothing of them."""
    counters = []
    for name in columns:
        column = take_column(arrow, name, "The table")
        if name in categorical or column.null_count:
            continue
        try:
            values = column.cast(pa.int64()).to_numpy()
        except (ValueError, NotImplementedError):  # not whole numbers
            continue
        if np.all(values - values[0] == rows - rows[0]):
            counters.append(name)
    kept = [name for name in columns if name not in counters]
    if not counters or not kept:
        return columns
    notes.append(f"Columns that only number the rows were left out: {shorten(counters)}.")
    return kept


def _reader(arrow, columns, categorical, drop_unusable, notes):
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
