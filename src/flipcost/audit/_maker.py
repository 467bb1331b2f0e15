"""From pieces of a large table to features, labels and weights, where the pieces are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.data import label_codes, plain_labels, read_numbers, take_column
from flipcost.exceptions import SourceError, TableError
from flipcost.scale import Piece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.data import ColumnReader, Roles


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What is counted in all rows while they are read; merges.

    Attributes
    ----------
    lengths : dict of int to int
        Rows of each piece, by the position of its first row.
    unlabelled : int
        Rows without a label, which are left out.
    rows, weight : dict of str
        Rows of each label, and what they weigh.
    pairs : Counter of (str, str)
        Rows with each label and other label, where there is a trusted or second one.
    unseen : Counter of str
        Rows with a level that the first look did not see, by column.
    """

    lengths: dict[int, int]
    unlabelled: int
    rows: Counter[str] = field(default_factory=Counter)
    weight: dict[str, float] = field(default_factory=dict)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    unseen: Counter[str] = field(default_factory=Counter)

    def merge(self, other: TableFacts) -> TableFacts:
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
            self.rows + other.rows,
            self.weight | {k: w + self.weight.get(k, 0.0) for k, w in other.weight.items()},
            self.pairs + other.pairs,
            self.unseen + other.unseen,
        )

    @property
    def n_rows(self) -> int:
        """All rows, with a label or without."""
        return sum(self.lengths.values())

    def row_numbers(self, positions: NDArray[Any]) -> NDArray[np.int64]:
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
        return np.asarray(before[place] + positions - starts[place])


@dataclass(frozen=True, eq=False)
class MadePiece(Piece):
    """A piece with features, labels and weights, the rows that they come from, and its facts."""

    arrays: tuple[Any, Any, Any] = (None, None, None)
    facts: TableFacts = field(default_factory=lambda: TableFacts({}, 0))


def facts_of(piece: MadePiece) -> TableFacts:
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

    reader: ColumnReader
    features: Any
    n_features: int
    roles: Roles
    numbers: bool = False

    def __call__(self, piece: Piece) -> MadePiece:
        """Make the rows of one piece of many: what is wrong is said with its place."""
        try:
            return self.make(piece)
        except TableError as error:
            msg = f"{piece.where}: {error}"
            raise SourceError(msg) from error

    def make(self, piece: Piece) -> MadePiece:
        """Make the rows of a piece; those without a label are left out."""
        frame = piece.frame
        codes, names, labels = self._labels(frame, self.roles.target)
        kept = np.flatnonzero(codes >= 0)
        lengths = {int(piece.start): piece.n_rows}
        pairs = self._pairs(frame, codes, names)
        facts = TableFacts(lengths, piece.n_rows - len(kept), pairs=pairs)
        if len(kept) < piece.n_rows:
            frame = frame.take(kept)
        X = np.empty((0, self.n_features))
        if len(kept):
            numbers = self._read(frame)
            self._note_unseen(numbers, facts)
            X = np.asarray(self.features.transform(numbers), dtype=float)
        weight = given_weight(frame, self.roles, piece.where)
        rows, weights = (np.bincount(codes[kept], w, minlength=len(names)) for w in (None, weight))
        for k, name in enumerate(names):
            facts.rows[name] += int(rows[k])
            facts.weight[name] = facts.weight.get(name, 0.0) + float(weights[k])
        places = piece.positions[kept]
        return MadePiece(piece.where, piece.start, frame, (X, labels[kept], weight), places, facts)

    def _labels(self, frame: Any, column: str) -> tuple[NDArray[Any], list[str], NDArray[Any]]:
        """Return the labels of a column as codes, the label of each code, and those of the rows."""
        codes, texts = label_codes(take_column(frame, column, "The table"), column)
        names = plain_labels(texts, numbers=self.numbers)
        return codes, names, np.array([*names, ""])[codes]

    def _read(self, frame: Any) -> NDArray[np.float64]:
        try:
            return self.reader.transform(frame)
        except TableError as error:
            msg = f"{error} If the rows looked at first misled, give `categorical` or `drop`."
            raise TableError(msg) from error

    def _pairs(self, frame: Any, codes: NDArray[Any], names: list[str]) -> Counter[tuple[str, str]]:
        """Count the pairs of a label and another one, where there are both."""
        column = self.roles.trusted or self.roles.second_label
        pairs: Counter[tuple[str, str]] = Counter()
        if column is not None:
            others, other_names, _ = self._labels(frame, column)
            both = (codes >= 0) & (others >= 0)
            kinds = np.stack([codes[both], others[both]])
            kinds, counts = np.unique(kinds, axis=1, return_counts=True)
            for (i, j), n in zip(kinds.T, counts.tolist(), strict=True):
                pairs[names[i], other_names[j]] += n
        return pairs

    def _note_unseen(self, numbers: NDArray[np.float64], facts: TableFacts) -> None:
        for j, (_, place) in enumerate(self.reader.sources()):
            column = self.reader.schema_[place]
            if column["kind"] == "category":
                rows = int((numbers[:, j] == -1).sum())
                if rows:
                    facts.unseen[column["name"]] += rows


def given_weight(frame: Any, roles: Roles, where: str) -> NDArray[np.float64] | None:
    """Return the weights that a column gives, if one does."""
    name = roles.sample_weight
    if name is None:
        return None
    return read_numbers(take_column(frame, name, where), name, what="weights")
