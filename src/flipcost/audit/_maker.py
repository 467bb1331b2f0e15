"""From pieces of a large table to features, labels and weights, where the pieces are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flipcost.data import label_codes, plain_labels, read_numbers, take_column
from flipcost.exceptions import SourceError, TableError
from flipcost.scale import Piece


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What is counted in all rows while they are read; merges.

    Attributes
    ----------
    lengths : dict of int to int
        Rows of each piece, by the position of its first row.
    unlabelled : int
        Rows without a label, which are left out.
    pairs : Counter of (str, str)
        Rows with each label and other label, where there is a trusted or second one.
    unseen : Counter of str
        Rows with a level that the first look did not see, by column.
    """

    lengths: dict[int, int]
    unlabelled: int
    pairs: Counter = field(default_factory=Counter)
    unseen: Counter = field(default_factory=Counter)

    def merge(self, other):
        """Return the facts of both sets of rows; pieces that follow each other become one."""
        lengths, (start, *_) = dict(self.lengths), other.lengths
        last = next(reversed(lengths))
        if last + lengths[last] == start:
            lengths[last] += other.lengths[start]
            lengths.update(list(other.lengths.items())[1:])
        else:
            lengths |= other.lengths
        return TableFacts(
            lengths,
            self.unlabelled + other.unlabelled,
            self.pairs + other.pairs,
            self.unseen + other.unseen,
        )

    @property
    def n_rows(self):
        """All rows, with a label or without."""
        return sum(self.lengths.values())

    def row_numbers(self, positions):
        """Return which rows of the table stand at these positions, the first being 0.

        Positions of partitions whose length is not known begin far apart.

        Examples
        --------
        >>> TableFacts({0: 10, 1000: 5}, 0).row_numbers(np.array([3, 1002]))
        array([ 3, 12])
        """
        starts = np.array(sorted(self.lengths), dtype=np.int64)
        before = np.cumsum([0, *(self.lengths[int(start)] for start in starts)])[:-1]
        place = np.searchsorted(starts, positions, side="right") - 1
        return before[place] + positions - starts[place]


@dataclass(frozen=True, eq=False)
class MadePiece(Piece):
    """A piece with features, labels and weights, the rows that they come from, and its facts."""

    facts: TableFacts | None = None


def facts_of(piece):
    """Return the facts of a piece: a task to run beside others."""
    return piece.facts


@dataclass(frozen=True, eq=False)
class RowMaker:
    """Turn a piece of columns into features, labels and weights.

    Parameters
    ----------
    reader : ColumnReader
        Fitted.
    features : transformer
        From what it reads to features, fitted.
    n_features : int
        How many these are.
    roles : Roles
        What the columns are for.
    numbers : bool
        Whether labels are numbers, as far as was seen.
    """

    reader: Any
    features: Any
    n_features: int
    roles: Any
    numbers: bool = False

    def __call__(self, piece):
        try:
            return self._make(piece)
        except TableError as error:
            msg = f"{piece.where}: {error}"
            raise SourceError(msg) from error

    def _make(self, piece):
        frame = piece.frame
        target = self.roles.target
        codes, texts = label_codes(take_column(frame, target, piece.where), target)
        labels = np.array([*plain_labels(texts, numbers=self.numbers), ""])
        kept = np.flatnonzero(codes >= 0)
        facts = TableFacts(
            {int(piece.start): piece.n_rows},
            piece.n_rows - len(kept),
            self._pairs(frame, labels[codes]),
        )
        if len(kept) < piece.n_rows:
            frame = frame.take(kept)
        X = np.empty((0, self.n_features))
        if len(kept):
            numbers = self._read(frame)
            self._note_unseen(numbers, facts)
            X = np.asarray(self.features.transform(numbers), dtype=float)
        weight = None
        if self.roles.weight is not None:
            column = take_column(frame, self.roles.weight, piece.where)
            weight = read_numbers(column, self.roles.weight, what="weights")
        return MadePiece(
            piece.where,
            piece.start,
            frame,
            (X, labels[codes[kept]], weight),
            piece.positions[kept],
            facts,
        )

    def _read(self, frame):
        try:
            return self.reader.transform(frame)
        except TableError as error:
            msg = f"{error} If the rows looked at first misled, give `categorical` or `drop`."
            raise TableError(msg) from error

    def _pairs(self, frame, labels):
        name = self.roles.trusted or self.roles.second
        if name is None:
            return Counter()
        codes, texts = label_codes(take_column(frame, name, "The table"), name)
        others = np.array([*plain_labels(texts, numbers=self.numbers), ""])[codes]
        both = np.flatnonzero((codes >= 0) & (labels != ""))
        kinds, counts = np.unique(
            np.stack([labels[both], others[both]]), axis=1, return_counts=True
        )
        return Counter(
            {(str(a), str(b)): int(n) for (a, b), n in zip(kinds.T, counts, strict=True)}
        )

    def _note_unseen(self, numbers, facts):
        for j, (_, place) in enumerate(self.reader.sources()):
            column = self.reader.schema_[place]
            if column["kind"] == "category":
                rows = int((numbers[:, j] == -1).sum())
                if rows:
                    facts.unseen[column["name"]] += rows
