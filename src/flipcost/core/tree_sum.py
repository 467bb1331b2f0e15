"""Sums of small trees as they are kept: few arrays for all trees, whatever learned them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.trees import Tree


@dataclass(frozen=True, eq=False)
class TreeSum:
    """A number, and trees whose values are added to it.

    Attributes
    ----------
    baseline : float
        What is added to.
    first : ndarray of int, shape (n_trees + 1,)
        Where the nodes of each tree begin; last, how many nodes there are.
    feature, threshold, missing_left, left, right, value : ndarray of shape (n_nodes,)
        As in `flipcost.core.trees.Tree`, one tree after the other; children are counted from the
        root of their tree.
    codes : dict of {int: ndarray of bool, shape (257,)}
        As there, by the place of a node among those of all trees.

    Examples
    --------
    >>> none = np.zeros(3, np.intp)
    >>> stump = Tree(
    ...     none, np.array([2.0, 0, 0]), np.array([True, False, False]), np.array([1, 0, 0]),
    ...     np.array([2, 0, 0]), np.array([0.0, -1.0, 1.0]), {},
    ... )
    >>> once, twice = TreeSum.of([stump], 10.0), TreeSum.of([stump, stump], 20.0)
    >>> both = TreeSum.mean([once, twice])
    >>> both.baseline, [tree.value.tolist() for tree in both.trees]
    (15.0, [[0.0, -0.5, 0.5], [0.0, -0.5, 0.5], [0.0, -0.5, 0.5]])
    """

    baseline: float
    first: Indices
    feature: Indices
    threshold: Array
    missing_left: Flags
    left: Indices
    right: Indices
    value: Array
    codes: dict[int, Flags]

    @classmethod
    def of(cls, trees: Sequence[Tree], baseline: float) -> TreeSum:
        """Put trees, at least one, after each other."""
        first = np.concatenate([[0], np.cumsum([len(tree.left) for tree in trees])])
        codes = {
            int(start) + node: goes
            for start, tree in zip(first[:-1], trees, strict=True)
            for node, goes in tree.codes.items()
        }
        return cls(
            float(baseline),
            first.astype(np.intp),
            np.concatenate([tree.feature for tree in trees]),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.missing_left for tree in trees]),
            np.concatenate([tree.left for tree in trees]),
            np.concatenate([tree.right for tree in trees]),
            np.concatenate([tree.value for tree in trees]),
            codes,
        )

    @classmethod
    def mean(cls, sums: Sequence[TreeSum]) -> TreeSum:
        """Return the mean of several sums, which is a sum of all their trees."""
        n = len(sums)
        trees = [replace(tree, value=tree.value / n) for some in sums for tree in some.trees]
        return cls.of(trees, sum(some.baseline for some in sums) / n)

    @property
    def trees(self) -> list[Tree]:
        """The trees, one by one."""
        found = []
        for start, end in zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True):
            own = slice(start, end)
            codes = {node - start: goes for node, goes in self.codes.items() if start <= node < end}
            found.append(
                Tree(
                    self.feature[own],
                    self.threshold[own],
                    self.missing_left[own],
                    self.left[own],
                    self.right[own],
                    self.value[own],
                    codes,
                )
            )
        return found
