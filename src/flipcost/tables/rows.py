"""Pieces of a source: how their columns become features, labels, weights and folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from flipcost.core.arrays import Array, Flags, Keys
from flipcost.core.folds import hash_folds, text_keys
from flipcost.core.moments import ClassMoments
from flipcost.exceptions import SourceError
from flipcost.tables import arrow

if TYPE_CHECKING:
    from flipcost.tables.pipelines import TableEncoder


def id_keys(column: Any, name: str, where: str) -> Keys:
    """Return keys of identifiers: an Arrow array of integers, text, dates or times.

    Examples
    --------
    >>> import pyarrow as pa
    >>> first, other, again = id_keys(pa.array(["ann", "bob", "ann"]), "name", "batch 0")
    >>> bool(first == again), bool(first == other)
    (True, False)
    """
    types = pa.types
    if column.null_count:
        msg = f"{where}: column {name!r} makes the folds and must not have missing values."
        raise SourceError(msg)
    if types.is_integer(column.type):
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        signed = values.astype(np.int64) if values.dtype.kind == "i" else values
        return signed.astype(np.uint64)
    if types.is_temporal(column.type):
        width = pa.int32() if column.type.bit_width == 32 else pa.int64()
        return id_keys(column.cast(width), name, where)
    if arrow.is_level(column.type) and not types.is_boolean(column.type):
        return _text_keys(column.cast(pa.large_string()))
    msg = (
        f"{where}: column {name!r} must hold integers, text, dates or times to make folds by; "
        f"got {column.type}."
    )
    raise SourceError(msg)


def _text_keys(column: Any) -> Keys:
    """Return the keys of a column of text, over Arrow's own buffers."""
    _, offset_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[
        column.offset : column.offset + len(column) + 1
    ]
    return text_keys(np.frombuffer(data_buffer or b"", np.uint8), offsets)


Labels: TypeAlias = "tuple[Any, ...]"


def split_labels(y: Any, where: str) -> tuple[Labels, Flags]:
    """Return the labels that occur, sorted and at most two, and which rows have the second.

    Parameters
    ----------
    y : array or Arrow array of shape (n,)
        Labels of any type.
    where : str
        The file, batch or partition, named in messages.

    Returns
    -------
    labels : tuple
        Python values. A single one counts as the first.
    second : ndarray of bool, shape (n,)

    Examples
    --------
    >>> split_labels(np.array(["no", "yes", "no"]), "batch 0")
    (('no', 'yes'), array([False,  True, False]))
    """
    if isinstance(y, np.ndarray):
        if y.ndim != 1:
            msg = f"{where}: labels must be one-dimensional; got shape {y.shape}."
            raise SourceError(msg)
        y = pa.array(y, from_pandas=True)
    if arrow.is_number(y.type) and not pa.types.is_boolean(y.type):
        y = pa.array(arrow.numbers(y, "target", where), from_pandas=True)
    if y.null_count:
        msg = (
            f"{where}: labels must not be missing; got {y.null_count} missing. Drop those rows "
            "first."
        )
        raise SourceError(msg)
    found = pc.unique(y).to_pylist()
    check_labels(found, where)
    labels = tuple(sorted(found))
    if len(labels) < 2:
        return labels, np.zeros(len(y), bool)
    return labels, np.asarray(pc.equal(y, labels[1]).to_numpy(zero_copy_only=False))


def check_labels(found: list[Any], where: str) -> None:
    """Refuse a target with more than two labels."""
    if len(found) > 2:
        shown = ", ".join(map(repr, sorted(found)[:5])) + (", ..." if found[5:] else "")
        msg = (
            f"{where}: the target must hold two labels; got more: {shown}. Merge them into two, or "
            "keep two."
        )
        raise SourceError(msg)


@dataclass(frozen=True, eq=False)
class LabeledMoments:
    """Class moments by fold, with the labels and features that they are of.

    Parts of a source may lack a label, or all rows; merging seats each class by its label.

    Parameters
    ----------
    labels : tuple
        At most two labels: those of the class axis, in its order.
    parts : tuple of ClassMoments
        One for each fold.
    names : tuple of str, optional
        Names of the features, when the source has them.

    Examples
    --------
    >>> X = np.array([[1.0], [3.0]])
    >>> only_yes = LabeledMoments(("yes",), (ClassMoments.from_rows(X, [False, False]),))
    >>> only_no = LabeledMoments(("no",), (ClassMoments.from_rows(-X, [False, False]),))
    >>> both = only_yes.merge(only_no)
    >>> both.labels, both.parts[0].mean.ravel()
    (('no', 'yes'), array([-2.,  2.]))
    """

    labels: tuple[Any, ...]
    parts: tuple[ClassMoments, ...]
    names: tuple[str, ...] | None = None

    def merge(self, other: LabeledMoments) -> LabeledMoments:
        """Return the moments of both sets of rows, labels sorted."""
        if self.names != other.names:
            msg = f"Features must be the same to be merged; got {self.names} and {other.names}."
            raise ValueError(msg)
        labels = _union(self.labels, other.labels)
        pairs = zip(self._seated(labels), other._seated(labels), strict=True)
        return LabeledMoments(labels, tuple(a.merge(b) for a, b in pairs), self.names)

    def oriented(self, positive: Any = None) -> LabeledMoments:
        """Return the same with the positive label second: the larger one when it is None.

        Examples
        --------
        >>> moments = ClassMoments.from_rows(np.array([[1.0], [3.0]]), [False, True])
        >>> LabeledMoments(("bad", "good"), (moments,)).oriented("bad").labels
        ('good', 'bad')
        """
        if positive is None:
            check_two_labels(self.labels)
            return self
        if len(self.labels) == 2 and positive not in self.labels:
            msg = f"`positive` must be one of the labels {list(self.labels)}; got {positive!r}."
            raise ValueError(msg)
        others = tuple(label for label in self.labels if label != positive)
        if self.labels and self.labels[0] != positive:
            return self
        swapped = tuple(map(_swap, self.parts))
        return LabeledMoments((*others, positive), swapped, self.names)

    def _seated(self, labels: tuple[Any, ...]) -> tuple[ClassMoments, ...]:
        if self.labels and len(labels) == 2 and self.labels[0] == labels[1]:
            return tuple(map(_swap, self.parts))
        return self.parts


def _swap(moments: ClassMoments) -> ClassMoments:
    return ClassMoments(
        moments.n_rows[::-1], moments.weight[::-1], moments.mean[::-1], moments.scatter[::-1]
    )


def _union(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    found = list(a) + [label for label in b if label not in a]
    if len(found) > 2:
        msg = f"The target must hold two labels; got more: {', '.join(map(repr, found))}."
        raise ValueError(msg)
    try:
        return tuple(sorted(found))
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in found}))
        msg = f"Labels must be of one kind; got {found} ({kinds})."
        raise ValueError(msg) from None


@dataclass(frozen=True, eq=False)
class Piece:
    """Some consecutive rows of a source, as they arrive.

    Parameters
    ----------
    where : str
        The file, batch or partition, named in messages.
    start : int
        Position of the first row in the source.
    frame : Arrow record batch or table, optional
        The rows of a source with named columns.
    arrays : tuple (X, y, weight), optional
        The rows of a source of arrays; the weight may be None. Beside a frame, what was made of it.
    places : ndarray of uint64, optional
        Positions of the rows, when some were left out in between.

    Examples
    --------
    >>> Piece("batch 0", 0, arrays=(np.zeros((3, 2)), np.array([0, 1, 1]), None)).n_rows
    3
    """

    where: str
    start: int
    frame: Any = None
    arrays: tuple[Any, Any, Any] | None = None
    places: Keys | None = None

    @property
    def positions(self) -> Keys:
        """Position of each row in the source."""
        if self.places is not None:
            return self.places
        return np.arange(self.start, self.start + self.n_rows, dtype=np.uint64)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.frame.num_rows if self.arrays is None else self.arrays[0].shape[0])


@dataclass(frozen=True, eq=False)
class PieceRows:
    """Features, labels, weights and fold keys of a piece."""

    piece: Piece
    X: Any
    y: Any
    weight: Array | None
    keys: Keys | None
    names: tuple[str, ...] | None
    fold_seed: int

    def labels(self) -> tuple[Labels, Flags]:
        """Return the labels that occur, and which rows have the second."""
        return split_labels(self.y, self.piece.where)

    def folds(self, n_folds: int) -> NDArray[np.int16] | None:
        """Return the fold of each row; None when there is one fold only."""
        if n_folds == 1:
            return None
        keys = self.keys
        if keys is None:
            keys = self.piece.positions
        return hash_folds(keys, n_folds, self.fold_seed)

    def fault(self, error: ValueError) -> SourceError:
        """Say which column of which file is not finite, or what else was wrong there."""
        where = self.piece.where
        if not sparse.issparse(self.X):
            for j in range(self.X.shape[1]):
                bad = np.flatnonzero(~np.isfinite(self.X[:, j]))
                if len(bad):
                    name = j if self.names is None else repr(self.names[j])
                    value, row = self.X[bad[0], j], int(self.piece.positions[bad[0]])
                    return SourceError(
                        f"{where}: column {name} must be finite; got {value} in {len(bad)} rows, "
                        f"first in row {row} of the source. Drop those "
                        "rows, or fill what is missing."
                    )
        return SourceError(f"{where}: {error}")


@dataclass(frozen=True)
class Layout:
    """Which columns of a source are features, labels, weights and identifiers.

    Parameters
    ----------
    target : str, optional
        Column of labels; None for sources of arrays.
    columns : tuple of str, optional
        Columns of features; all others when None.
    weight, fold_by : str, optional
        Columns of weights, and of identifiers that make the folds.
    encoder : TableEncoder, optional
        How columns become features; numbers as they are when None.
    fold_seed : int
        Seed of the folds.

    Examples
    --------
    >>> Layout("sick", weight="n").resolved(["age", "sick", "n"]).columns
    ('age',)
    """

    target: str | None = None
    columns: tuple[str, ...] | None = None
    weight: str | None = None
    fold_by: str | None = None
    encoder: TableEncoder | None = None
    fold_seed: int = 0

    def __post_init__(self) -> None:
        if self.encoder is not None:
            if self.columns is not None and set(self.columns) != set(self.encoder.names):
                msg = (
                    "`columns` must be those of the encoder when both are given; got "
                    f"{list(self.columns)} and {list(self.encoder.names)}. Leave `columns` out."
                )
                raise ValueError(msg)
            object.__setattr__(self, "columns", self.encoder.names)
        if self.columns is not None:
            self._check_columns(self.columns)

    def _check_columns(self, columns: tuple[str, ...]) -> None:
        if not columns:
            msg = "`columns` must name at least one feature; got none."
            raise ValueError(msg)
        if len(set(columns)) < len(columns):
            msg = f"`columns` must name each feature once; got {list(columns)}."
            raise ValueError(msg)
        if self.target in columns:
            msg = f"`columns` must not hold the target {self.target!r}: it would leak the label."
            raise ValueError(msg)

    @property
    def roles(self) -> tuple[str, ...]:
        """Columns that are not features unless they are named."""
        named = (self.target, self.weight, self.fold_by)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def role_of(self, name: str) -> str:
        """Return whether a column holds labels, keys of folds, or numbers to learn from."""
        return {self.target: "label", self.fold_by: "key"}.get(name, "feature")

    def resolved(self, names: list[str]) -> Layout:
        """Return the layout with the features named, given all columns of the source."""
        if self.columns is not None:
            return self
        return replace(self, columns=tuple(name for name in names if name not in self.roles))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, once the columns are named."""
        return (self.columns or ()) if self.encoder is None else self.encoder.feature_names

    @property
    def wanted(self) -> list[str]:
        """Columns to read, once the features are named."""
        return list(dict.fromkeys((*(self.columns or ()), *self.roles)))

    def rows(self, piece: Piece, *, as_numbers: bool = True) -> PieceRows:
        """Turn a piece into features, labels, weights and fold keys.

        Columns stay as they are unless they are wanted as numbers.
        """
        if piece.arrays is not None:
            return self._array_rows(piece, *piece.arrays)
        frame, where = piece.frame, piece.where
        if self.target is None:
            msg = f"{where}: frames need a `target`, the name of the column of labels; got none."
            raise SourceError(msg)
        columns = self.resolved(frame.schema.names).columns or ()
        weight = None
        if self.weight is not None:
            column = arrow.take_column(frame, self.weight, where)
            weight = arrow.numbers(column, self.weight, where).astype(float)
        keys = None if self.fold_by is None else self._keys(frame, where)
        y = arrow.take_column(frame, self.target, where)
        names = columns if self.encoder is None else self.feature_names
        if not as_numbers:
            for name in columns:
                arrow.take_column(frame, name, where)  # names the column that is not there
            X = frame.select(list(columns))
        else:
            X = self.numbers(frame, columns, where)
        return PieceRows(piece, X, y, weight, keys, names, self.fold_seed)

    def numbers(self, frame: Any, columns: Sequence[str], where: str) -> Any:
        """Return the features of a frame: encoded, or its columns of numbers as they are."""
        if self.encoder is None:
            return arrow.plain_numbers(frame, columns, where)
        return self.encoder.transform(frame)

    def _array_rows(self, piece: Piece, X: Any, y: Any, weight: Any) -> PieceRows:
        named = piece.frame is None and self.fold_by is not None
        if self.columns is not None or self.encoder is not None or named:
            msg = (
                f"{piece.where}: `columns`, `encoder` and `fold_by` speak of named columns; "
                "give frames, or select columns of the arrays first."
            )
            raise SourceError(msg)
        rows = X if sparse.issparse(X) else np.asarray(X)
        labels = np.asarray(y)
        if rows.ndim != 2 or labels.shape != (rows.shape[0],):
            msg = (
                f"{piece.where}: X must have shape (n, d) and y shape (n,); got {rows.shape} and "
                f"{labels.shape}."
            )
            raise SourceError(msg)
        if not sparse.issparse(rows) and rows.dtype.kind not in "fiub":
            msg = f"{piece.where}: X must hold numbers; got dtype {rows.dtype}."
            raise SourceError(msg)
        w = None if weight is None else np.asarray(weight, dtype=float)
        keys = None if self.fold_by is None else self._keys(piece.frame, piece.where)
        return PieceRows(piece, rows, labels, w, keys, None, self.fold_seed)

    def _keys(self, frame: Any, where: str) -> Keys:
        name = str(self.fold_by)
        return id_keys(arrow.take_column(frame, name, where), name, where)


def check_two_labels(labels: Sequence[Any]) -> None:
    """Refuse a target without two labels."""
    if len(labels) != 2:
        msg = (
            f"The target must hold two labels; got {list(labels)} only. Check the column, or say "
            "which label is `positive`."
        )
        raise ValueError(msg)
