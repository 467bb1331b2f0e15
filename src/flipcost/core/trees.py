"""Sums of small trees, read from boosting, and evaluated for many rows at once.

A tree that is followed row by row waits at every node for a guess to come true or fail. Here every
condition is tried for all rows of a block, eight rows a byte, and trees are evaluated by `and` and
`or` of such lines: of 1,000,000 rows and 60 trees of 15 leaves all that logic takes less time than
the comparisons. What a row gets is the sum over trees of the values of its leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.arrays import Array, Flags, Indices

# Rows of a block, a multiple of 64. With 4,096 the calls take as long as what they do, with 65,536
# what comes of 60 trees leaves the cache; times are flat between.
_BLOCK_ROWS = 16_384
# Conditions that are tried at once: as bytes they stay in a second-level cache.
_AT_ONCE = 32
# A table holds the sums of as many trees as have their leaves numbered by this many bits.
_TABLE_BITS = 8
MOST_LEAVES = 1 << _TABLE_BITS
# Nodes of the trees that are evaluated together, each at the size of the largest: what comes of a
# block of rows then takes 64 MB at most, however many trees there are.
_MOST_NODES = 1 << 14
# A code of a category beyond these, or none at all, stands here among the flags of a condition.
OTHER_CODE = 256
# What a condition asks: 0 whether a number is up to a threshold, 1 whether it is above, or
_BY_CODE = 2


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree, as arrays over its nodes; the first is the root, and children follow parents.

    Attributes
    ----------
    feature : ndarray of int
        Which column a node looks at.
    threshold : ndarray
        Up to this a row goes left.
    missing_left : ndarray of bool
        Whether a missing value does.
    left, right : ndarray of int
        The children; 0 for a leaf.
    value : ndarray
        What a leaf adds.
    codes : dict of {int: ndarray of bool, shape (257,)}
        By node that splits categories: whether each code goes left; last, any other value.
    """

    feature: Indices
    threshold: Array
    missing_left: Flags
    left: Indices
    right: Indices
    value: Array
    codes: dict[int, Flags]

    @property
    def n_steps(self) -> int:
        """How many nodes are split."""
        return int(np.count_nonzero(self.left))


@dataclass(frozen=True, eq=False)
class TreeSum:
    """A number, and trees whose values are added to it.

    Trees have at most 256 leaves each. What makes them fast is made when rows are first scored,
    in a few ms, and is neither copied nor pickled.

    Examples
    --------
    A stump, at which missing values go left:

    >>> none = np.zeros(3, np.intp)
    >>> stump = Tree(
    ...     none, np.array([2.0, 0, 0]), np.array([True, False, False]), np.array([1, 0, 0]),
    ...     np.array([2, 0, 0]), np.array([0.0, -1.0, 1.0]), {},
    ... )
    >>> TreeSum((stump, stump), 10.0).score(np.array([[2.0], [3.0], [np.nan]]))
    array([ 8., 12.,  8.])
    """

    trees: tuple[Tree, ...]
    baseline: float

    @classmethod
    def mean(cls, sums: Sequence[TreeSum]) -> TreeSum:
        """Return the mean of several sums, which is a sum of all their trees."""
        n = len(sums)
        trees = (replace(tree, value=tree.value / n) for some in sums for tree in some.trees)
        return cls(tuple(trees), sum(some.baseline for some in sums) / n)

    def score(self, cells: NDArray[np.floating]) -> Array:
        """Return the sum for each row of cells, shape (n,)."""
        found = np.full(cells.shape[0], self.baseline)
        for start in range(0, len(found), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            for packed in self._packed:
                packed.add_to(found[part], cells[part])
        return found

    @cached_property
    def _packed(self) -> tuple[_PackedTrees, ...]:
        """Trees of about one size together, so that small ones are not packed as large ones."""
        by_size = sorted(self.trees, key=lambda tree: -tree.n_steps)
        if by_size and by_size[0].n_steps >= MOST_LEAVES:
            msg = f"Trees must have at most {MOST_LEAVES} leaves; got {by_size[0].n_steps + 1}."
            raise ValueError(msg)
        found = []
        while by_size:
            some = max(_MOST_NODES // max(by_size[0].n_steps, 1), 1)
            found.append(_PackedTrees.of(by_size[:some]))
            by_size = by_size[some:]
        return tuple(found)

    def __getstate__(self) -> dict[str, Any]:
        return {"trees": self.trees, "baseline": self.baseline}


def read_trees(boosting: Any) -> TreeSum:
    """Return the trees of scikit-learn's fitted boosting, in terms of the columns it was given.

    Their sums are its log-odds to 1e-12, in a tenth of its processor time or less.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X = np.arange(90.0)[:, None]
    >>> fitted = HistGradientBoostingClassifier(max_iter=60).fit(X, np.arange(90) > 40)
    >>> bool(np.allclose(read_trees(fitted).score(X), fitted.decision_function(X)))
    True
    """
    # scikit-learn keeps its trees under private names, and has since 0.21.
    predictors = [stage[0] for stage in boosting._predictors]  # noqa: SLF001
    baseline = float(np.ravel(boosting._baseline_prediction)[0])  # noqa: SLF001
    columns, known = np.arange(boosting.n_features_in_), {}
    if boosting.is_categorical_ is not None:
        # Categories come first, and are numbered anew.
        encoder = boosting._preprocessor.named_transformers_["encoder"]  # noqa: SLF001
        columns = np.argsort(~boosting.is_categorical_, kind="stable")
        known = dict(enumerate(encoder.categories_))
    return TreeSum(tuple(read_tree(tree, columns, known) for tree in predictors), baseline)


def read_tree(predictor: Any, columns: Indices, known: Mapping[int, Array]) -> Tree:
    """Return one of scikit-learn's trees, given the place of its columns and levels of some."""
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    codes = {}
    for k in np.flatnonzero(inner & (nodes["is_categorical"] != 0)).tolist():
        sets = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][k]]
        left = np.unpackbits(sets.astype("<u4").view(np.uint8), bitorder="little").astype(bool)
        goes = np.full(OTHER_CODE + 1, bool(nodes["missing_go_to_left"][k]))
        for number, code in enumerate(known[int(nodes["feature_idx"][k])].tolist()):
            if 0 <= code < OTHER_CODE:  # a missing value is numbered too
                goes[int(code)] = left[number]
        codes[k] = goes
    return Tree(
        columns[nodes["feature_idx"].astype(np.intp)],
        nodes["num_threshold"],
        nodes["missing_go_to_left"] != 0,
        np.where(inner, nodes["left"], 0).astype(np.intp),
        np.where(inner, nodes["right"], 0).astype(np.intp),
        nodes["value"],
        codes,
    )


@dataclass(frozen=True, eq=False)
class _PackedTrees:
    """Trees that are ready to be summed.

    `conditions` has a column, what tells from its values which rows meet some conditions, and how
    many these are; `then`, of shape (n_steps, n_trees), the condition of the next node of each
    tree, and `above` where among reached nodes its parent's answer is; `leaves` where the leaves
    are, and `tables`, of shape (n_tables, 256), sums of the values of leaves.
    """

    conditions: tuple[tuple[int, Callable[[Array, Flags], Flags], int], ...]
    then: Indices
    above: Indices
    leaves: Indices
    tables: Array

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> _PackedTrees:
        """Prepare trees, at least one."""
        conditions, places = _conditions(trees)
        n_steps = max(tree.n_steps for tree in trees)
        bits = max(1, n_steps.bit_length())
        together = _TABLE_BITS // bits
        n_trees = -(-len(trees) // together) * together
        # Reached: all rows, none, and then those that meet a node's condition, and the others.
        then = np.zeros((n_steps, n_trees), np.intp)
        above = np.ones((n_steps, n_trees), np.intp)
        leaves, values = np.ones((1 << bits, n_trees), np.intp), np.zeros((n_trees, 1 << bits))
        for t, (tree, own) in enumerate(zip(trees, places, strict=True)):
            _pack(tree, own, then[:, t], above[:, t], leaves[:, t], values[t])
        leaves[0, len(trees) :] = 0
        return cls(
            conditions,
            then,
            above * n_trees + np.arange(n_trees),
            leaves * n_trees + np.arange(n_trees),
            _tables(values, together),
        )

    def add_to(self, found: Array, block: NDArray[np.floating]) -> None:
        """Add the sum of all trees for each row of a block."""
        codes = self._codes(block)
        sums = np.zeros(codes.shape[1:])
        cell, value = np.empty(sums.shape, np.intp), np.empty(sums.shape)
        for table, here in zip(self.tables, codes, strict=True):
            np.copyto(cell, here)
            table.take(cell, mode="wrap", out=value)  # none is beyond: the fastest mode
            np.add(sums, value, out=sums)
        found += sums.T.ravel()[: len(found)]

    def _codes(self, block: NDArray[np.floating]) -> NDArray[np.uint8]:
        """Tell where each table has the sum of a row, of every eighth row: (n_tables, 8, n / 8)."""
        bits = len(self.leaves).bit_length() - 1
        together = _TABLE_BITS // bits
        leaf = self._leaf_bits(self._reached(block), bits)
        # The highest bits first; those that no tree needs are 0.
        planes = np.zeros((8, len(self.tables), leaf.shape[2]), np.uint8)
        for k in range(together):
            first = 8 + (k - together) * bits
            planes[first : first + bits] = leaf[:, k::together]
        return _transposed(planes).swapaxes(0, 1)

    def _reached(self, block: NDArray[np.floating]) -> NDArray[np.uint8]:
        """Tell which rows reach each node's answers, as bits: (2 + 2 * n_steps, n_trees, n / 8)."""
        met = self._met(block)
        n_steps, n_trees = self.then.shape
        reached = np.empty((2 + 2 * n_steps, n_trees, met.shape[1]), np.uint8)
        reached[0], reached[1] = 255, 0
        nodes = reached.reshape(-1, met.shape[1])
        for step in range(n_steps):
            here = nodes.take(self.above[step], axis=0)
            yes, no = reached[2 + 2 * step], reached[3 + 2 * step]
            np.bitwise_and(here, met.take(self.then[step], axis=0), out=yes)
            np.bitwise_xor(here, yes, out=no)
        return nodes

    def _leaf_bits(self, nodes: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
        """Return the bits of each row's leaf, the highest first: (bits, n_trees, n / 8)."""
        leaves = nodes.take(self.leaves.ravel(), axis=0).reshape(*self.leaves.shape, -1)
        planes = []
        for _ in range(bits):
            half = len(leaves) // 2
            planes.append(np.bitwise_or.reduce(leaves[half:], axis=0))
            leaves = np.bitwise_or(leaves[:half], leaves[half:])
        return np.stack(planes)

    def _met(self, block: NDArray[np.floating]) -> NDArray[np.uint8]:
        """Tell which rows, filled up to a multiple of 64, meet each condition, as bits."""
        total = sum(count for _, _, count in self.conditions)
        column, line = -1, np.zeros(-(-len(block) // 64) * 64)
        met = np.empty((max(total, 1), len(line) // 8), np.uint8)
        flags, first = np.empty((_AT_ONCE, len(line)), bool), 0
        for feature, meets, count in self.conditions:
            if feature != column:
                column, line[: len(block)] = feature, block[:, feature]
            met[first : first + count] = np.packbits(meets(line, flags[:count]), axis=1)
            first += count
        return met


def _transposed(planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Turn eight lines of bits, the highest first, into eight lines of bytes, in place.

    Bit k of byte i of all lines becomes byte i of line k: squares of 4 x 4, of 2 x 2 and of single
    bits change places. Lines are of a multiple of eight bytes.
    """
    words = planes.view(np.uint64)
    for size, kept in ((4, 0x0F), (2, 0x33), (1, 0x55)):
        pairs = words.reshape(-1, 2, size, *words.shape[1:])
        upper, lower = pairs[:, 0], pairs[:, 1]
        moved = lower >> np.uint64(size)
        moved ^= upper
        moved &= np.uint64(kept * 0x0101010101010101)
        upper ^= moved
        moved <<= np.uint64(size)
        lower ^= moved
    return planes


def _conditions(
    trees: Sequence[Tree],
) -> tuple[tuple[tuple[int, Callable[[Array, Flags], Flags], int], ...], list[Indices]]:
    """Return what to try, each thing once, and which of these each node asks for.

    Where a missing value goes left it is asked whether a row goes right: it is neither above a
    threshold nor up to it.
    """
    keys: dict[tuple[Any, ...], None] = {}
    asked = []
    for tree in trees:
        own: list[tuple[Any, ...]] = []
        for node in np.flatnonzero(tree.left).tolist():
            feature = int(tree.feature[node])
            if node in tree.codes:
                own.append((feature, _BY_CODE, tree.codes[node].tobytes()))
            else:
                own.append((feature, int(tree.missing_left[node]), float(tree.threshold[node])))
        asked.append(own)
        keys.update(dict.fromkeys(own))
    ordered = sorted(keys)
    place = {key: k for k, key in enumerate(ordered)}
    found, first = [], 0
    for k, key in enumerate(ordered):
        last = k + 1 == len(ordered) or ordered[k + 1][:2] != key[:2]
        if last or k + 1 - first == _AT_ONCE:
            some = [what for _, _, what in ordered[first : k + 1]]
            found.append((key[0], _test(key[1], some), len(some)))
            first = k + 1
    return tuple(found), [np.array([place[key] for key in own], np.intp) for own in asked]


def _test(kind: int, what: list[Any]) -> Callable[[Array, Flags], Flags]:
    if kind == _BY_CODE:
        flags = np.stack([np.frombuffer(some, dtype=bool) for some in what])
        return lambda line, out: flags.take(_code(line), axis=1, mode="clip", out=out)
    compare, thresholds = (np.greater if kind else np.less_equal), np.array(what)[:, None]
    return lambda line, out: np.asarray(compare(line, thresholds, out=out))


def _code(line: Array) -> Indices:
    """Return codes of categories, and `OTHER_CODE` for what is none."""
    known = (line >= 0) & (line < OTHER_CODE) & (line == np.floor(line))
    return np.where(known, line, OTHER_CODE).astype(np.intp)


def _pack(
    tree: Tree, asked: Indices, then: Indices, above: Indices, leaves: Indices, values: Array
) -> None:
    """Write the steps of one tree, the places of its leaves, and their values."""
    at = np.zeros(len(tree.left), np.intp)
    inner = np.flatnonzero(tree.left)
    for step, node in enumerate(inner.tolist()):
        then[step], above[step] = asked[step], at[node]
        yes, no = tree.left[node], tree.right[node]
        if tree.missing_left[node] and node not in tree.codes:
            yes, no = no, yes
        at[yes], at[no] = 2 + 2 * step, 3 + 2 * step
    ends = np.flatnonzero(tree.left == 0)
    leaves[: len(ends)], values[: len(ends)] = at[ends], tree.value[ends]


def _tables(values: Array, together: int) -> Array:
    """Return the sums of the values of some trees for all pairs, or more, of their leaves."""
    tables = np.zeros((len(values) // together, 1))
    for k in range(together):
        own = values[k::together]
        tables = (tables[:, :, None] + own[:, None, :]).reshape(
            len(tables), tables.shape[1] * own.shape[1]
        )
    return tables
