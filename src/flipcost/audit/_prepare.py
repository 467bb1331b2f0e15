"""From a table to rows and labels, with everything that people get wrong checked first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from flipcost.audit._checks import (
    check_counts,
    check_weights,
    leak_warnings,
    make_reader,
    price_warnings,
    without_counters,
)
from flipcost.audit._rates import rate_from_pairs
from flipcost.core.confusion import ConfusionCounts
from flipcost.data import (
    ColumnReader,
    as_arrow,
    make_features,
    read_labels,
    read_numbers,
    take_column,
    two_classes,
)
from flipcost.exceptions import TableError, shorten

# As in `flipcost.data`: not the numbers that a user with the same seed has made labels from.
_STREAM = 0x666C6970


@dataclass(frozen=True, eq=False)
class Watched:
    """Rows among which the most suspicious labels are sought.

    Attributes
    ----------
    rows : ndarray of int
        Where they are in the table, the first being 0.
    positive : ndarray of bool
        Which labels are positive.
    probability : ndarray
        Out-of-fold probability that the clean label is.
    numbers : ndarray of shape (n, n_numbers)
        The rows as a `ColumnReader` reads them.
    ids : sequence of str or None
        Their names.
    """

    rows: Any
    positive: Any
    probability: Any
    numbers: Any
    ids: Any


@dataclass(eq=False)
class Prepared:
    """Rows ready to learn from, and what is known about them.

    They are the whole table, or a uniform sample that is taken for it; or, once a larger table has
    been read in passes, rows that stand for all of it by their weights. Only then are there
    `folds`, `parts` (the moments of each fold of the table), `watched`, other counts than those of
    the rows, `stands_for` (of how many rows each is one), and `call_squares` (the squared weights
    of the table that calls make, which say how sure its counts are).
    """

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
    folds: Any = None
    parts: Any = None
    watched: Watched | None = None
    counts: tuple[int, int] | None = None
    stands_for: Any = None
    call_squares: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows that were learned from."""
        return len(self.positive) if self.counts is None else sum(self.counts)

    @property
    def n_positive(self) -> int:
        """Number of positive labels among them."""
        return int(self.positive.sum()) if self.counts is None else self.counts[1]

    def count(self, called):
        """Return the table of labels against calls."""
        table = ConfusionCounts.from_labels(self.positive, called, self.weight)
        if self.call_squares is None:
            return table
        return ConfusionCounts(table.counts, self.call_squares(called))

    def number_of(self, probability):
        """Return how many rows something is expected of, given the probability for each here."""
        if self.stands_for is None:
            return float(probability.sum())
        return float(self.stands_for @ probability)

    def typical_rows(self, rng):
        """Return numbers of rows as common as in the table: the weighted ones are drawn by it."""
        if self.stands_for is None:
            return self.numbers
        share = self.stands_for / self.stands_for.sum()
        return self.numbers[rng.choice(len(share), len(share), p=share)]

    def place_in(self, rows, n_rows):
        """Say where these rows are in a larger table that they were sampled from."""
        self.rows = np.asarray(rows)[self.rows]
        if n_rows > len(rows):
            note = f"A random sample of {len(rows):,} of {n_rows:,} rows was audited."
            self.warnings.insert(0, note)
        self.n_rows_total = n_rows

    def rate_from_columns(self, level, noise_model):
        """Return the noise rate that trusted or second labels tell, if there are any."""
        name = self.roles.trusted or self.roles.second
        if name is None:
            return None
        other = read_labels(take_column(self.table, name, self.name), name)
        seen = [label is not None for label in other]
        pairs = Counter(zip(self.labels[seen].tolist(), other[seen].tolist(), strict=True))
        both = self.negative_label, self.positive_label
        rate, notes = rate_from_pairs(pairs, self.roles, both, level, noise_model)
        self.warnings += notes
        return rate


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
    n_positive = int(is_positive.sum())
    counts = (len(is_positive) - n_positive, n_positive)
    check_counts(counts, roles.target, negative_label, positive_label)
    notes += price_warnings(counts, prices, negative_label, positive_label)

    columns = without_counters([(arrow, rows)], columns, categorical, notes)
    reader = make_reader(arrow, columns, categorical, drop_unusable, notes)
    numbers = reader.transform(arrow)
    notes += leak_warnings(reader, numbers, is_positive, roles.target)
    features = make_features(reader)
    X = np.asarray(features.fit_transform(numbers), dtype=float)
    weight = ids = None
    if roles.weight is not None:
        weight = read_numbers(take_column(arrow, roles.weight, name), roles.weight, what="weights")
        check_weights((weight[~is_positive].sum(), weight[is_positive].sum()), roles.weight)
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
        found = shorten(list(map(str, strange))) if strange else "no labels"
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
