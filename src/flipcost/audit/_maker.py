"""From pieces of a large table to features, labels and weights, where the pieces are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost.exceptions import SourceError, TableError
from flipcost.tables.arrow import as_text, take_column
from flipcost.tables.roles import label_codes, plain_labels, read_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.arrays import Array, Indices
    from flipcost.recheck import CheckedAnswers
    from flipcost.tables.encoder import Encoder
    from flipcost.tables.roles import Roles
    from flipcost.tables.rows import Piece
    from flipcost.tables.steps import TableEncoder

# Columns of rows that hold what files say of them, and which file it was.
_CHECKED, _ROUND = "flipcost: checked", "flipcost: round"


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What is counted in all rows while they are read; merges.

    Attributes
    ----------
    n_rows : int
        All rows, with a label or without.
    unlabelled : int
        Rows without a label, which are left out.
    rows, weight : dict of str
        Rows of each label, and what they weigh.
    pairs : Counter of tuples of str
        Rows with each label and other labels, "" where one is missing, of those that have a trusted
        or second one.
    found : Counter of int
        How often each answer of files of checked rows was found.
    """

    n_rows: int
    unlabelled: int
    rows: Counter[str] = field(default_factory=Counter)
    weight: dict[str, float] = field(default_factory=dict)
    pairs: Counter[tuple[str, ...]] = field(default_factory=Counter)
    found: Counter[int] = field(default_factory=Counter)

    def merge(self, other: TableFacts) -> TableFacts:
        """Return the facts of both sets of rows."""
        return TableFacts(
            self.n_rows + other.n_rows,
            self.unlabelled + other.unlabelled,
            self.rows + other.rows,
            self.weight | {k: w + self.weight.get(k, 0.0) for k, w in other.weight.items()},
            self.pairs + other.pairs,
            self.found + other.found,
        )


@contextmanager
def placed(piece: Piece, advice: str = "") -> Iterator[None]:
    """Say of what is wrong with a piece where that is, if it is a part of a table."""
    try:
        yield
    except SourceError:
        raise
    except TableError as error:
        if not piece.where:
            raise
        msg = f"{piece.where}: {error}{advice}"
        raise SourceError(msg) from error


@dataclass(frozen=True, eq=False)
class MadePiece:
    """The rows of a piece that have a label, and what was counted in it.

    `trusted` has the right label of the rows that were checked, and "" of the others.
    """

    frame: Any
    places: NDArray[Any]
    labels: NDArray[np.str_]
    weight: Array | None
    trusted: NDArray[np.str_] | None
    facts: TableFacts


@dataclass(frozen=True, eq=False)
class RowMaker:
    """Turn a piece of columns into labels, weights and, once columns are learned, features.

    Parameters
    ----------
    roles : Roles
        What the columns are for.
    columns : list of str
        Those to learn from.
    numbers : bool
        Whether labels are numbers, as far as was seen.
    answers : CheckedAnswers or None
        What files say of checked rows.
    schema : list of dict
        What these hold, once the rows to learn from are there.
    features : TableEncoder
        From these to features, fitted likewise.
    """

    roles: Roles
    columns: list[str]
    numbers: bool = False
    answers: CheckedAnswers | None = None
    schema: list[dict[str, Any]] = field(default_factory=list)
    features: TableEncoder = None  # type: ignore[assignment]

    def read(self, piece: Piece) -> MadePiece:
        """Read labels and weights of a piece; what is wrong is said with its place."""
        with placed(piece):
            return self._read(piece)

    def _read(self, piece: Piece) -> MadePiece:
        frame, weight = piece.frame, None
        codes, names, labels = self._labels(frame, self.roles.target)
        kept = np.flatnonzero(codes >= 0)
        facts = TableFacts(piece.n_rows, piece.n_rows - len(kept))
        if len(kept) < piece.n_rows:
            frame = frame.take(pa.array(kept))
        frame = self._with_answers(frame, labels[kept], piece.positions[kept], facts)
        self._count_pairs(frame, labels[kept], facts)
        name = self.roles.sample_weight
        if name is not None:
            column = take_column(frame, name, piece.where)
            weight = read_numbers(column, name, what="weights")
        rows, weights = (np.bincount(codes[kept], w, minlength=len(names)) for w in (None, weight))
        for k, name in enumerate(names):
            facts.rows[name] += int(rows[k])
            facts.weight[name] = facts.weight.get(name, 0.0) + float(weights[k])
        trusted = self.trusted(frame)
        return MadePiece(frame, piece.positions[kept], labels[kept], weight, trusted, facts)

    @property
    def encoder(self) -> Encoder:
        """What reads the columns."""
        return self.features.encoder

    def make(self, frame: Any) -> Array:
        """Return the features of rows."""
        return self.features.transform(frame)

    def inputs(self, frame: Any, classifier: Any) -> Any:
        """Return rows as the classifier reads them: columns, or features for another model."""
        return self.encoder.frame(frame) if classifier.estimator is None else self.make(frame)

    def trusted(self, frame: Any) -> NDArray[np.str_] | None:
        """Return the right labels of the rows that were checked, "" of others; None without any."""
        if self.answers is not None:
            return np.array(frame[_CHECKED].to_pylist(), dtype=str)
        column = self.roles.trusted
        return None if column is None else self._labels(frame, column)[2]

    def rounds(self, frame: Any) -> Indices:
        """Return in which file rows were checked, -1 where in none."""
        if self.answers is None:
            return np.full(frame.num_rows, -1)
        return np.array(frame[_ROUND].to_pylist(), dtype=np.intp)

    @property
    def added(self) -> tuple[str, ...]:
        """Columns that are added to those of the table."""
        return () if self.answers is None else (_CHECKED, _ROUND)

    def _with_answers(
        self, frame: Any, labels: NDArray[np.str_], positions: NDArray[Any], facts: TableFacts
    ) -> Any:
        """Return the rows with columns added that hold what files of answers say."""
        if self.answers is None:
            return frame
        ids, given = self.roles.id, None
        if ids is not None:
            ids = as_text(take_column(frame, ids, "The table"), ids, "names")
        if self.roles.trusted is not None:
            given = self._labels(frame, self.roles.trusted)[2].tolist()
        found = self.answers.find(
            labels.tolist(), positions, ids, given, self.roles.trusted or "trusted"
        )
        facts.found.update(found.found)
        right = pa.array(["" if value is None else str(value) for value in found.right])
        columns = [*(frame[name] for name in frame.schema.names), right, pa.array(found.round)]
        return type(frame).from_arrays(columns, names=[*frame.schema.names, _CHECKED, _ROUND])

    def _labels(self, frame: Any, column: str) -> tuple[NDArray[Any], list[str], NDArray[Any]]:
        """Return the labels of a column as codes, the label of each code, and those of the rows."""
        codes, texts = label_codes(take_column(frame, column, "The table"), column)
        names = plain_labels(texts, numbers=self.numbers)
        return codes, names, np.array([*names, ""])[codes]

    def _count_pairs(self, frame: Any, labels: NDArray[np.str_], facts: TableFacts) -> None:
        """Count the pairs of each row's label and its second labels."""
        columns = (self.roles.trusted,) if self.roles.trusted else self.roles.second_label
        trusted = self.trusted(frame)
        if trusted is None and not columns:
            return
        told = [self._labels(frame, column)[2] for column in columns]
        others = np.stack(told if trusted is None else [trusted])
        some = (others != "").any(axis=0)
        kinds, counts = np.unique(
            np.concatenate([labels[None, some], others[:, some]]), axis=1, return_counts=True
        )
        for kind, n in zip(kinds.T.tolist(), counts.tolist(), strict=True):
            facts.pairs[tuple(kind)] += n
