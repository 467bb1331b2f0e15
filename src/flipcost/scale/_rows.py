"""Pieces of a source, and how their columns become features, labels, weights and folds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flipcost.core.arrays import Array, Flags, Keys
from flipcost.core.folds import hash_folds
from flipcost.data import NumberColumn, TableEncoder, arrow, stack_columns
from flipcost.exceptions import SourceError
from flipcost.scale._folds import id_keys, position_keys
from flipcost.scale._labels import Labels, orient, split_labels


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
        return position_keys(self.start, self.n_rows) if self.places is None else self.places

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.frame.num_rows if self.arrays is None else self.arrays[0].shape[0])


@dataclass(frozen=True, eq=False)
class PieceRows:
    """Features, labels, weights and fold keys of a piece."""

    piece: Piece
    made: Any
    y: Any
    weight: Array | None
    keys: Keys | None
    names: tuple[str, ...] | None
    fold_seed: int

    @cached_property
    def X(self) -> Any:  # noqa: N802 - scikit-learn's name
        """Features, rows by columns."""
        in_columns = isinstance(self.made, list)
        return stack_columns(self.made, self.piece.n_rows) if in_columns else self.made

    def labels(self) -> tuple[Labels, Flags]:
        """Return the labels that occur, and which rows have the second."""
        return split_labels(self.y, self.piece.where)

    def positive(self, labels: Labels) -> Flags:
        """Return which rows have the second of the labels of the whole source."""
        found, second = self.labels()
        return orient(second, found, labels, self.piece.where)

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
                        "rows, or impute what is missing by an `encoder`."
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
    def wanted(self) -> list[str]:
        """Columns to read, once the features are named."""
        return list(dict.fromkeys((*(self.columns or ()), *self.roles)))

    def rows(self, piece: Piece) -> PieceRows:
        """Turn a piece into features, labels, weights and fold keys."""
        if piece.arrays is not None:
            return self._array_rows(piece, *piece.arrays)
        frame, where = piece.frame, piece.where
        if self.target is None:
            msg = f"{where}: frames need a `target`, the name of the column of labels; got none."
            raise SourceError(msg)
        layout = self.resolved(frame.schema.names)
        encoder = layout.encoder or TableEncoder(
            tuple(NumberColumn(name) for name in layout.columns or ())
        )
        weight = None
        if self.weight is not None:
            column = arrow.take_column(frame, self.weight, where)
            weight = arrow.numbers(column, self.weight, where).astype(float)
        keys = None if self.fold_by is None else self._keys(frame, where)
        columns = encoder.encode(frame, where)
        y = arrow.take_column(frame, self.target, where)
        return PieceRows(piece, columns, y, weight, keys, encoder.feature_names, self.fold_seed)

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
