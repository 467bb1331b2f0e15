"""When only so many rows can be called: which these are, and ties that break the same each time.

Rows are flagged in the order of what that is expected to save (`RowCosts.gain`). Rows that save
the same are ordered by a hash of their position in the table, so that neither the order of reading
nor the size of pieces decides, and the same table gives the same answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core.arrays import Array, Flags

_ROWS = re.compile(r"\d{1,15}")
_SHARE = re.compile(r"(\d+\.?\d*|\.\d+)\s*%")


@dataclass(frozen=True)
class Capacity:
    """How many rows can be called: a number, or a share of all.

    Parameters
    ----------
    rows : int or None
        So many.
    share : float or None
        Or such a share of the rows.

    Examples
    --------
    >>> Capacity(500).of(10_000), Capacity(share=0.05).of(10_000), Capacity.read("5%").of(999)
    (500, 500, 49)
    """

    rows: int | None = None
    share: float | None = None

    @classmethod
    def read(cls, text: str | float) -> Capacity:
        """Return a capacity from text: ``"500"`` or ``"5%"``."""
        said = str(text).strip()
        if _ROWS.fullmatch(said) and int(said) > 0:
            return cls(rows=int(said))
        found = _SHARE.fullmatch(said)
        if found and 0 < float(found[1]) <= 100:
            return cls(share=float(found[1]) / 100)
        msg = (
            "`capacity` must be a number of rows, at least 1, or a share of them from 0 to 100 %, "
            f"as in 500 or 5%; got {said!r}."
        )
        raise ValueError(msg)

    def of(self, n_rows: int, what: str = "rows") -> int:
        """Return how many of so many rows can be called; refuse more than there are."""
        if self.share is not None:
            return int(np.floor(self.share * n_rows + 1e-9))
        assert self.rows is not None  # noqa: S101 - one of the two is given
        if self.rows > n_rows:
            msg = f"`capacity` is {self.rows:,}, but there are only {n_rows:,} {what}; give fewer."
            raise ValueError(msg)
        return self.rows

    def __str__(self) -> str:
        return f"{self.rows:,} rows" if self.share is None else f"{100 * self.share:g}% of rows"


def read_capacities(text: str) -> Capacity | dict[str, Capacity]:
    """Return one capacity, or one for each group.

    Parameters
    ----------
    text : str
        As in ``500``, ``5%`` or ``north=200,south=5%``.

    Examples
    --------
    >>> read_capacities("north=200,south=5%")["south"].share
    0.05
    """
    if "=" not in text:
        return Capacity.read(text)
    found: dict[str, Capacity] = {}
    for part in text.split(","):
        group, _, amount = part.rpartition("=")
        if not group.strip() or group.strip() in found:
            msg = (
                "`capacity` by group must name each group once, as in north=200,south=5%; got "
                f"{text!r}."
            )
            raise ValueError(msg)
        found[group.strip()] = Capacity.read(amount)
    return found


def tie_keys(position: ArrayLike) -> NDArray[np.uint64]:
    """Return keys of positions that order ties: a hash that no two positions share.

    The finalizer of SplitMix64, which is one to one.

    Examples
    --------
    >>> tie_keys([0, 1, 2]).argsort()
    array([1, 2, 0])
    """
    with np.errstate(over="ignore"):
        z = np.asarray(position, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def saving_order(gain: ArrayLike, position: ArrayLike | None = None) -> NDArray[np.intp]:
    """Return rows in the order in which they are called: what saves most first.

    Examples
    --------
    >>> saving_order([1.0, 3.0, 2.0]).tolist()
    [1, 2, 0]
    """
    values = np.asarray(gain, dtype=float)
    places = np.arange(len(values)) if position is None else position
    return np.lexsort((tie_keys(places), -values))


@dataclass(frozen=True, eq=False)
class TopRows:
    """The rows whose calls save most, of all that were seen so far; merges.

    Attributes
    ----------
    size : int
        How many can be called.
    gain, keys : ndarray of shape (m,)
        What the calls save, and the keys that order ties, the best first.

    Examples
    --------
    >>> top = TopRows.none(2).seen([1.0, 5.0], [0, 1]).seen([3.0, -1.0], [2, 3])
    >>> top.gain, top.are_called([1.0, 5.0, 3.0, -1.0], [0, 1, 2, 3])
    (array([5., 3.]), array([False,  True,  True, False]))
    """

    size: int
    gain: Array
    keys: NDArray[np.uint64]

    @classmethod
    def none(cls, size: int) -> TopRows:
        """Return that no rows were seen."""
        return cls(size, np.empty(0), np.empty(0, dtype=np.uint64))

    def seen(self, gain: ArrayLike, position: ArrayLike) -> TopRows:
        """Return the same once more rows were seen; those whose call does not pay do not count."""
        values = np.asarray(gain, dtype=float)
        pays = values > 0
        return self._joined(values[pays], tie_keys(position)[pays])

    def merge(self, other: TopRows) -> TopRows:
        """Return the best of both."""
        return self._joined(other.gain, other.keys)

    def _joined(self, gain: Array, keys: NDArray[np.uint64]) -> TopRows:
        gain, keys = np.concatenate([self.gain, gain]), np.concatenate([self.keys, keys])
        order = np.lexsort((keys, -gain))[: self.size]
        return TopRows(self.size, gain[order], keys[order])

    def are_called(self, gain: ArrayLike, position: ArrayLike) -> Flags:
        """Return which rows are among these."""
        values = np.asarray(gain, dtype=float)
        if not len(self.gain):
            return np.zeros(len(values), dtype=bool)
        tied = (values == self.gain[-1]) & (tie_keys(position) <= self.keys[-1])
        return np.asarray((values > self.gain[-1]) | tied)


def call_within(
    gain: ArrayLike,
    capacity: Capacity | dict[str, Capacity],
    groups: ArrayLike | None = None,
) -> Flags:
    """Return which rows to call when only so many can be: those whose call saves most.

    Rows whose call is not expected to save anything are not called, even where there is room.

    Parameters
    ----------
    gain : array-like of shape (n,)
        What calling each row is expected to save.
    capacity : Capacity or dict of Capacity
        How many rows can be called: of all, or of each group.
    groups : array-like of shape (n,), optional
        Group of each row. One capacity is then that of each.

    Examples
    --------
    >>> call_within([3.0, 1.0, 2.0, -1.0], Capacity(2))
    array([ True, False,  True, False])
    >>> call_within([3.0, 1.0, 2.0, -1.0], Capacity(1), ["a", "b", "a", "b"])
    array([ True,  True, False, False])
    """
    values = np.asarray(gain, dtype=float)
    if groups is None:
        if isinstance(capacity, dict):
            msg = "`capacity` by group needs the groups: name their column as `capacity_by`."
            raise ValueError(msg)
        top = TopRows.none(capacity.of(len(values))).seen(values, np.arange(len(values)))
        return top.are_called(values, np.arange(len(values))) & (values > 0)
    found = np.asarray(groups, dtype=object).astype(str)
    called = np.zeros(len(values), dtype=bool)
    names, counts = np.unique(found, return_counts=True)
    sizes = group_sizes(capacity, dict(zip(names.tolist(), counts.tolist(), strict=True)))
    for name, size in sizes.items():
        rows = np.flatnonzero(found == name)
        top = TopRows.none(size).seen(values[rows], rows)
        called[rows] = top.are_called(values[rows], rows) & (values[rows] > 0)
    return called


def group_sizes(capacity: Capacity | dict[str, Capacity], counts: dict[str, int]) -> dict[str, int]:
    """Return how many rows of each group can be called; none of a group that is not named.

    Examples
    --------
    >>> group_sizes({"a": Capacity(2)}, {"a": 5, "b": 7})
    {'a': 2, 'b': 0}
    """
    if isinstance(capacity, Capacity):
        return {name: capacity.of(n, f"rows of {name!r}") for name, n in counts.items()}
    strange = [name for name in capacity if name not in counts]
    if strange:
        msg = f"`capacity` names a group {strange[0]!r} that has no rows; there are {list(counts)}."
        raise ValueError(msg)
    return {
        name: capacity[name].of(n, f"rows of {name!r}") if name in capacity else 0
        for name, n in counts.items()
    }
