"""Samples of a table: which rows are drawn, and how many rows each represents.

Rows are drawn by a hash of their position, the same in files, on clusters and in databases, and
however they are cut into pieces: those with the smallest hashes of each label. Samples of parts
merge to the sample of the whole, because the smallest of all are among the smallest of each part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.folds import engine_hash
from flipcost.exceptions import SourceError
from flipcost.tables.arrow import concatenate

# Rows to learn from: of a nonlinear law with 2,000,000 rows, scores from 100,000 rows left .025 of
# the regret, from 200,000 .017, from 400,000 .016, and time grows with the rows.
SAMPLE_ROWS = 200_000
# Fewer where rows are wide: this many values are 1.6 GB. But never fewer rows than these.
_MOST_VALUES, _FEWEST_ROWS = 200_000_000, 20_000
# Checked rows are all kept, up to this number.
CHECKED_ROWS = 20_000
# Folds of the closed form must not be made by the hash that draws: the smallest are in fold 0.
SAMPLE_SEED = 1_000_003
# What a part on another machine may send: this many times its share of the rows that are wanted,
# since parts may differ in what they hold, and at least this number of rows.
_PART_SHARE, _PART_ROWS = 4, 10_000
# Kept rows are sorted out when there are this many times as many as are wanted.
_SLACK = 1.5
_NO_BOUND = np.iinfo(np.int64).max
# The share of names that differ where they tell rows apart.
_DIFFERENT = 0.99
# Longer whole numbers do not fit in 64 bits.
_LONG = 19
# Fewer rows are not enough to learn from.
FEWEST = 50


def sample_size(n_columns: int) -> int:
    """Return how many rows to learn from, told how wide they are.

    Examples
    --------
    >>> sample_size(20), sample_size(2_000), sample_size(100_000)
    (200000, 100000, 20000)
    """
    return min(SAMPLE_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // max(n_columns, 1)))


def rows_of_each(counts: Sequence[int], size: int) -> tuple[int, ...]:
    """Return how many rows of each label to draw: all of the rarer one, up to half of the sample.

    Examples
    --------
    >>> rows_of_each((900, 50), 200), rows_of_each((900, 500), 200), rows_of_each((90, 50), 200)
    ((150, 50), (100, 100), (90, 50))
    """
    if sum(counts) <= size:
        return tuple(counts)
    if len(counts) < 2:
        return (size,)
    rarer = min(*counts, size // 2)
    return (rarer, size - rarer) if counts[0] <= counts[1] else (size - rarer, rarer)


def draw_keys(positions: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """Return the hashes by which rows are drawn, of their positions or of the keys of their names.

    Those of names are the same wherever the rows are.
    """
    return engine_hash(positions.astype(np.int64), seed + SAMPLE_SEED)


def name_keys(column: Any) -> NDArray[np.int64]:
    """Return keys of the names of rows: whole numbers, or the first 32 bits of MD5, as of engines.

    Examples
    --------
    >>> name_keys(pa.array([7, 8])).tolist(), name_keys(pa.array(["7", None, "ann"])).tolist()
    ([7, 8], [7, 0, 2114813834])
    """
    if pa.types.is_integer(column.type):
        numbers: NDArray[np.int64] = column.fill_null(0).cast(pa.int64(), safe=False).to_numpy()
        return numbers
    texts = column.cast(pa.string()).fill_null("0").to_pylist()
    return np.array([_text_key(text) for text in texts], dtype=np.int64)


def tells_apart(keys: NDArray[Any], n_rows: float) -> bool:
    """Tell whether keys of rows that were drawn are names of single rows.

    Some short hashes of texts are the same, and few rows come where many share a name.
    """
    return bool(len(np.unique(keys)) >= _DIFFERENT * len(keys) and len(keys) >= n_rows / 2)


def _text_key(text: str) -> int:
    if len(text) < _LONG and text.isdecimal():
        return int(text)
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows: an Arrow table or a matrix, with what else is known of each, by name."""

    frame: Any
    position: NDArray[np.int64]
    keys: NDArray[np.int64]
    beside: dict[str, NDArray[Any]]

    def take(self, places: Indices) -> Rows:
        """Return the rows at some places."""
        is_frame = isinstance(self.frame, pa.Table | pa.RecordBatch)
        return Rows(
            self.frame.take(pa.array(places)) if is_frame else self.frame[places],
            self.position[places],
            self.keys[places],
            {name: values[places] for name, values in self.beside.items()},
        )

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        frame: Any = [part.frame for part in parts]
        if isinstance(frame[0], pa.Table | pa.RecordBatch):
            frame = concatenate(frame)
        elif sparse.issparse(frame[0]):
            frame = sparse.vstack(frame, "csr")
        else:
            frame = np.concatenate(frame)
        return cls(
            frame,
            np.concatenate([part.position for part in parts]),
            np.concatenate([part.keys for part in parts]),
            {name: np.concatenate([p.beside[name] for p in parts]) for name in parts[0].beside},
        )


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows of a table: features, labels, weights that sum to the whole table, and folds."""

    X: Array
    y: NDArray[Any]
    weight: Array
    folds: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Kept:
    """The rows of one label with the smallest hashes; every row below `bound` is among them."""

    size: int
    parts: tuple[Rows, ...]
    n_rows: int
    bound: int = _NO_BOUND

    @classmethod
    def of(cls, size: int, rows: Rows, own: Indices | None = None) -> Kept:
        """Keep those of some rows, or of the rows at some places."""
        own = np.arange(len(rows.keys)) if own is None else own
        kept, bound = own, _NO_BOUND
        if len(own) > size:  # fewer rows are copied
            kept = np.sort(own[np.argpartition(rows.keys[own], size - 1)[:size]])
            bound = int(rows.keys[kept].max())
        return cls(size, (rows.take(kept),), len(own), bound)

    @property
    def n_kept(self) -> int:
        """How many are kept."""
        return sum(len(part.keys) for part in self.parts)

    def merge(self, other: Kept) -> Kept:
        """Return the rows kept of both."""
        bound = min(self.bound, other.bound)
        parts = self.parts
        for part in other.parts:
            inside = np.flatnonzero(part.keys <= bound)
            if len(inside):
                parts += (part if len(inside) == len(part.keys) else part.take(inside),)
        made = Kept(self.size, parts, self.n_rows + other.n_rows, bound)
        return made.sorted_out() if made.n_kept > _SLACK * self.size else made

    def sorted_out(self, size: int | None = None) -> Kept:
        """Return the rows with the smallest hashes only, in one part, in their order."""
        rows, inside = Rows.join(self.parts), self.smallest(size)
        if len(inside) == len(rows.keys):
            return replace(self, parts=(rows,))
        rows = rows.take(inside)
        return replace(self, parts=(rows,), bound=int(rows.keys.max()))

    def smallest(self, size: int | None = None) -> Indices:
        """Return the places, among all parts, of the rows with the smallest hashes."""
        size = self.size if size is None else size
        keys = np.concatenate([part.keys for part in self.parts])
        inside = np.flatnonzero(keys <= self.bound)
        if len(inside) > size:
            inside = np.sort(inside[np.argpartition(keys[inside], size - 1)[:size]])
        return inside


@dataclass(frozen=True, eq=False)
class LabelSample:
    """Rows of each label of a part of a table, checked rows apart; merges."""

    kept: dict[tuple[Any, bool], Kept]

    @classmethod
    def of(
        cls, rows: Rows, labels: NDArray[Any], size: int, checked: Flags | None = None
    ) -> LabelSample:
        """Sort rows by label, and keep what may be in the sample of the whole."""
        known = np.zeros(len(rows.keys), bool) if checked is None else checked
        kept = {}
        for label in sorted(pc.unique(pa.array(labels)).to_pylist()):  # numpy's takes ten times
            for is_checked in (False, True):
                own = np.flatnonzero((labels == label) & (known == is_checked))
                if len(own):
                    most = CHECKED_ROWS if is_checked else size
                    kept[label, is_checked] = Kept.of(most, rows, own)
        return cls(kept)

    def merge(self, other: LabelSample) -> LabelSample:
        """Return the sample of both parts."""
        merged = dict(self.kept)
        for key, more in other.kept.items():
            merged[key] = merged[key].merge(more) if key in merged else more
        return LabelSample(merged)

    def standing_for(self, n_rows: Mapping[Any, int], where: str) -> LabelSample:
        """Return the same sample, told how many rows of each label the table has."""
        kept = {}
        for (label, is_checked), own in self.kept.items():
            checked = self.kept.get((label, True))
            others = n_rows.get(label, 0) - (0 if checked is None else checked.n_rows)
            if not is_checked and others < own.n_rows:
                msg = (
                    f"{where} changed between the queries: {n_rows.get(label, 0):,} rows of "
                    f"{label!r} were counted, then more came. Use a copy that stands still."
                )
                raise SourceError(msg)
            kept[label, is_checked] = own if is_checked else replace(own, n_rows=others)
        return LabelSample(kept)

    def packed(self, n_parts: int) -> LabelSample:
        """Return what a part on another machine sends of it."""
        return LabelSample(
            {
                key: kept.sorted_out(max(_PART_ROWS, _PART_SHARE * kept.size // n_parts))
                for key, kept in self.kept.items()
            }
        )

    @property
    def tells_apart(self) -> bool:
        """Whether what rows were drawn by tells them apart."""
        keys = [part.keys for kept in self.kept.values() for part in kept.parts]
        return not keys or tells_apart(np.concatenate(keys), 0)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels, sorted."""
        return tuple(sorted({label for label, _ in self.kept}))

    def drawn(self, size: int) -> Drawn:
        """Return the sample: the rows wanted, and all that were checked, in their order."""
        labels, places, codes, stands_for, start = self.labels, [], [], [], 0
        free = {label: self.kept[label, False] for label in labels if (label, False) in self.kept}
        wanted = dict(
            zip(free, rows_of_each([kept.n_rows for kept in free.values()], size), strict=True)
        )
        for (label, is_checked), kept in self.kept.items():
            own = kept.smallest(None if is_checked else max(wanted[label], 1))
            places.append(start + own)
            codes.append(np.full(len(own), labels.index(label)))
            stands_for.append(np.full(len(own), kept.n_rows / max(len(own), 1)))
            start += kept.n_kept
        rows, chosen = (
            Rows.join([p for k in self.kept.values() for p in k.parts]),
            np.concatenate(places),
        )
        order = np.argsort(rows.position[chosen], kind="stable")
        return Drawn(
            rows.take(chosen[order]),
            labels,
            np.concatenate(codes)[order],
            np.concatenate(stands_for)[order],
            sum(kept.n_rows for kept in self.kept.values()),
        )


@dataclass(frozen=True, eq=False)
class TableSample:
    """Rows that a fit learned from in place of all.

    Attributes
    ----------
    position : ndarray of int
        Where the rows are in the table.
    positive : ndarray of bool
        Their noisy label.
    weight : ndarray
        Of how many rows of the table each is one.
    n_rows : int
        How many rows the table has.
    """

    position: NDArray[np.int64]
    positive: Flags
    weight: Array
    n_rows: int


@dataclass(frozen=True, eq=False)
class Drawn:
    """The sample of a table.

    `codes` are places in `labels`; `stands_for` is how many rows of the table each row represents,
    and `n_rows` how many the table has.
    """

    rows: Rows
    labels: tuple[Any, ...]
    codes: Indices
    stands_for: Array
    n_rows: int

    @property
    def is_all(self) -> bool:
        """Whether every row was drawn."""
        return len(self.codes) == self.n_rows

    def sample(self, positive: Flags) -> TableSample:
        """Return what a fit says of the rows that it learned from, given their labels."""
        return TableSample(self.rows.position, positive, self.stands_for, self.n_rows)


def choose_rows(
    positive: Flags, size: int, seed: int, always: Indices | None = None
) -> TableSample:
    """Draw rows in memory as of a table.

    Examples
    --------
    >>> sample = choose_rows(np.arange(1000) < 100, 400, 0)
    >>> len(sample.position), sample.weight[[0, -1]].tolist()
    (400, [1.0, 3.0])
    """
    checked = np.zeros(len(positive), bool)
    if always is not None:
        checked[always] = True
    nowhere = np.empty((len(positive), 0))
    where = np.arange(len(positive))
    rows = Rows(nowhere, where, draw_keys(where, seed), {})
    drawn = LabelSample.of(rows, positive.astype(int), size, checked).drawn(size)
    return drawn.sample(positive[drawn.rows.position])


def fit_weight(stands_for: Array, positive: Flags, weight: Array | None) -> Array | None:
    """Return the weights to learn by: shares of the table, scaled to the information in the sample.

    A sample carries the information of its own rows, not of those it represents. A comparison of
    the labels has variance 1/n for n rows of each, so all weights are scaled by the ratio of this
    variance in the table to that in the sample.
    """
    if np.all(stands_for == 1.0):
        return weight
    counts = [(int(own.sum()), float(stands_for[own].sum())) for own in (positive, ~positive)]
    if min(n for n, _ in counts) > 0:
        stands_for = stands_for * (sum(1 / w for _, w in counts) / sum(1 / n for n, _ in counts))
    return stands_for if weight is None else stands_for * weight
