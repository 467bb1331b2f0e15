"""Labels as they come from a source, and class moments that remember them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flipcost.core.arrays import Flags
from flipcost.core.moments import ClassMoments
from flipcost.data import arrow
from flipcost.exceptions import SourceError

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
    if not isinstance(y, np.ndarray):
        return _split_arrow(y, where)
    if y.ndim != 1:
        msg = f"{where}: labels must be one-dimensional; got shape {y.shape}."
        raise SourceError(msg)
    if not len(y):
        return (), np.zeros(0, bool)
    if y.dtype.kind == "f" and np.isnan(y).any():
        _refuse_missing_labels(int(np.isnan(y).sum()), where)
    if y.dtype.kind == "O":
        return _split_arrow(pa.array(y, from_pandas=True), where)
    # Of text numpy knows no smallest; a second value makes the two.
    low, high = (y.min(), y.max()) if y.dtype.kind in "biuf" else _two_of(y)
    if low == high:
        return (low.item(),), np.zeros(len(y), bool)
    second = np.asarray(y == high)
    if not (second | (y == low)).all():
        raise SourceError(_too_many(np.unique(y)[:6].tolist(), where))
    return (low.item(), high.item()), second


def _two_of(y: NDArray[Any]) -> list[Any]:
    """Return the first value and one that differs from it, if there is one, in order."""
    others = y[y != y[0]]
    return sorted((y[0], others[0] if len(others) else y[0]))


def _split_arrow(y: Any, where: str) -> tuple[Labels, Flags]:
    if y.null_count:
        _refuse_missing_labels(y.null_count, where)
    if arrow.is_number(y.type) and not pa.types.is_boolean(y.type):
        return split_labels(arrow.numbers(y, "target", where), where)
    found = pc.unique(y).to_pylist()
    if len(found) > 2:
        raise SourceError(_too_many(found[:6], where))
    labels = tuple(sorted(found))
    if len(labels) < 2:
        return labels, np.zeros(len(y), bool)
    return labels, np.asarray(pc.equal(y, labels[1]).to_numpy(zero_copy_only=False))


def _refuse_missing_labels(n: int, where: str) -> None:
    msg = f"{where}: labels must not be missing; got {n} missing. Drop those rows first."
    raise SourceError(msg)


def _too_many(found: list[Any], where: str) -> str:
    shown = ", ".join(map(repr, found[:5])) + (", ..." if len(found) > 5 else "")
    return (
        f"{where}: the target must hold two labels; got more: {shown}. Merge them into two, or "
        "keep two."
    )


def orient(second: Flags, found: Labels, labels: Labels, where: str) -> NDArray[Any]:
    """Return which rows have the second of the labels that the whole source has.

    Examples
    --------
    >>> orient(np.array([False, False]), ("yes",), ("no", "yes"), "batch 0")
    array([ True,  True])
    """
    strangers = [label for label in found if label not in labels]
    if strangers:
        msg = (
            f"{where}: the target must hold the labels {list(labels)} only; got also {strangers}. "
            "Drop those rows, or read the source anew."
        )
        raise SourceError(msg)
    if found and found[0] == labels[1]:
        return ~second
    return second


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
            if len(self.labels) != 2:
                msg = (
                    f"The target must hold two labels; got {list(self.labels)} only. Check the "
                    "column, or say which label is `positive`."
                )
                raise ValueError(msg)
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
