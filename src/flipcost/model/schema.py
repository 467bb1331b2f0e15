"""The parts of a model file: plain data, without code or objects of a library.

The columns of a row give numbers, the numbers give m scores, the scores a probability, and the
probability a decision. A score is a sum of linear terms, hinges, a value for each level, and trees.
Every part checks itself when it is created, so that a file from an untrusted source gives a model
that can only compute, or an error.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from flipcost.core.costs import Costs, Expression, parse_expression
from flipcost.core.scoring import AdditiveScores, HingeBasis
from flipcost.core.trees import MOST_LEAVES, OTHER_CODE, Tree, TreeSum
from flipcost.tables.columns import DATE_FORMATS, ISO_FORMAT, NUMBER_STYLES

FORMAT: Literal["flipcost.formula"] = "flipcost.formula"
VERSION: Literal[1] = 1
# Cells of a date: days since 1970, then sine and cosine of its place in the year and in the week.
YEAR_DAYS, WEEK_DAYS = 365.2425, 7.0
# Trees of a model: some hundreds are usual, and each takes 2 kB beside its nodes.
_MOST_TREES = 10_000
# Scores of a model: fifteen are usual, and a block of rows takes 16 kB for each.
_MOST_SCORES = 256
# Hinges of all terms: some hundreds are usual, and a block of rows takes 1 kB for each.
_MOST_HINGES = 100_000
# By how much curves may sum to more than one, through rounding.
_ROUNDING = 1e-9

Index: TypeAlias = Annotated[int, Meta(ge=0, le=10**9)]
Floats: TypeAlias = tuple[float, ...]
Label: TypeAlias = str | bool | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float
Price: TypeAlias = float | str


class _Data(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the parts: every field is required, and no other is allowed."""


class Column(_Data, frozen=True):
    """A column that is read: its kind, the format of its text, and the levels of a category."""

    name: str
    kind: Literal["number", "boolean", "date", "category"]
    format: str | None
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        known: Any = {"number": NUMBER_STYLES, "date": (*DATE_FORMATS, ISO_FORMAT)}
        _require(self.format is None or self.format in known.get(self.kind, ()), "a known format")
        _require(self.kind == "category" or not self.levels, "levels of categories only")
        _require(len(set(self.levels)) == len(self.levels), "levels that differ")

    @property
    def n_values(self) -> int:
        """Entries of a table by value: levels, other, missing; of a number known and missing."""
        return len(self.levels) + 2 if self.kind == "category" else 2


class Number(_Data, frozen=True):
    """A number of a row: filled where missing, clipped, then ``(value - centre) / scale``.

    A date has five parts, its cells. The number of a category is the code of its level, which only
    trees may use.
    """

    column: Index
    part: Annotated[int, Meta(ge=0, le=4)]
    fill: float | None
    low: float | None
    high: float | None
    centre: float
    scale: Annotated[float, Meta(gt=0)]

    def __post_init__(self) -> None:
        ordered = self.low is None or self.high is None or self.low <= self.high
        _require(ordered, "limits in order")

    @property
    def is_plain(self) -> bool:
        """Whether it is its cell, unchanged."""
        limits = (self.fill, self.low, self.high)
        return limits == (None, None, None) and (self.centre, self.scale) == (0, 1)


class NumberTerm(_Data, frozen=True):
    """Slopes and hinges of a number z: ``slopes * z`` and ``bends[k] * max(0, z - knots[k])``."""

    number: Index
    slopes: Floats
    knots: Floats
    bends: tuple[Floats, ...]


class LevelTerm(_Data, frozen=True):
    """What each value of a column adds to each score: its levels, other, missing."""

    column: Index
    values: tuple[Floats, ...]


class TreeData(_Data, frozen=True):
    """A tree by its nodes, the root first; `left` is 0 at a leaf, and children follow parents.

    A row goes left if its number is at most the threshold. A node in `goes` splits a category: a
    row goes left if the flag of its level, of other levels or of missing values is set.
    """

    number: tuple[Index, ...]
    threshold: Floats
    missing_left: tuple[bool, ...]
    left: tuple[Index, ...]
    right: tuple[Index, ...]
    value: Floats
    goes: dict[int, tuple[bool, ...]]

    def __post_init__(self) -> None:
        n = len(self.left)
        parts = (self.number, self.threshold, self.missing_left, self.right, self.value)
        _require(n > 0 and all(len(part) == n for part in parts), "nodes of one number")
        inner = [k for k in range(n) if self.left[k]]
        _require(len(inner) < MOST_LEAVES, f"at most {MOST_LEAVES} leaves")
        children = [child for k in inner for child in (self.left[k], self.right[k])]
        follow = all(self.left[k] > k and self.right[k] > k for k in inner)
        _require(follow and sorted(children) == list(range(1, n)), "each node below one other")
        _require(self.goes.keys() <= set(inner), "splits at nodes that split")

    def to_tree(self, columns: list[Column]) -> Tree:
        """Return the tree in the form that is evaluated, given the column of each number."""
        codes = {}
        for node, flags in self.goes.items():
            *levels, other, missing = flags
            codes[node] = np.full(OTHER_CODE + 1, missing)
            codes[node][: len(levels)], codes[node][len(levels)] = levels, other
        for node in (k for k, left in enumerate(self.left) if left):
            _require(self.number[node] < len(columns), "trees of known numbers")
            column = columns[self.number[node]]
            is_category = column.kind == "category"
            _require(is_category == (node in self.goes), "categories that are split by flags")
            size = column.n_values
            _require(not is_category or len(self.goes[node]) == size <= OTHER_CODE, "flags")
        return Tree(
            np.array(self.number, np.intp),
            np.array(self.threshold),
            np.array(self.missing_left, bool),
            np.array(self.left, np.intp),
            np.array(self.right, np.intp),
            np.array(self.value),
            codes,
        )


class Forest(_Data, frozen=True):
    """A sum of trees and a baseline, and its share in each score."""

    trees: tuple[TreeData, ...]
    baseline: float
    share: Floats


class Link(_Data, frozen=True):
    """How one score becomes a probability, where there are no curves.

    By the logistic function, or by the inverse link of the closed form at this cost and margin. The
    probability of the noisy label lies between `low` and `high`; rescaled, it is that of the clean
    label.
    """

    kind: Literal["uneven", "logistic"]
    cost: Annotated[float, Meta(gt=0, lt=1)]
    margin: Annotated[float, Meta(gt=0)]
    low: Annotated[float, Meta(ge=0, lt=1)]
    high: Annotated[float, Meta(gt=0, le=1)]

    def __post_init__(self) -> None:
        _require(self.low < self.high, "a probability between low and high")


class Decision(_Data, frozen=True):
    """When a row is flagged: by its probability, by its score above 0, always or never.

    By probability a row is flagged above the threshold, or, where costs differ by row, if flagging
    it saves money at its own costs. Costs are numbers, or arithmetic of columns; without costs and
    without a threshold, costs must come with the rows.
    """

    by: Literal["probability", "score", "always", "never"]
    threshold: Annotated[float, Meta(gt=0, lt=1)] | None
    fn: Price | None
    fp: Price | None
    tp: Price | None
    tn: Price | None

    def __post_init__(self) -> None:
        given = [price is not None for price in (self.fn, self.fp, self.tp, self.tn)]
        _require(all(given) or not any(given), "all four costs, or none")
        _require(self.costs is None or self.is_by_row == self.costs.is_by_row, "costs or threshold")

    @property
    def is_by_row(self) -> bool:
        """Whether costs differ by row."""
        return self.threshold is None

    @property
    def costs(self) -> Costs | None:
        """The costs of errors, where they are known."""
        if self.fn is None:
            return None
        return Costs(self.fn, self.fp, self.tp, self.tn)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The costs of a miss, a false alarm and both right decisions, as arithmetic."""
        prices = (self.fn, self.fp, self.tp, self.tn)
        return tuple(_expression(price) for price in prices if price is not None)


class FormulaData(_Data, frozen=True, dict=True, eq=False):
    """The content of a model file.

    `leaks` are columns that the audit found to give the label away.
    """

    format: Literal["flipcost.formula"]
    version: Literal[1]
    flipcost: str
    classes: tuple[Label, Label]
    positive: Literal[0, 1]
    columns: tuple[Column, ...]
    numbers: tuple[Number, ...]
    number_terms: tuple[NumberTerm, ...]
    level_terms: tuple[LevelTerm, ...]
    bias: Annotated[Floats, Meta(max_length=_MOST_SCORES)]
    forests: Annotated[tuple[Forest, ...], Meta(max_length=1)]
    curves: tuple[Floats, ...] | None
    link: Link | None
    decision: Decision
    leaks: tuple[Index, ...]

    def __post_init__(self) -> None:
        m, n_columns = len(self.bias), len(self.columns)
        kinds = {type(label) for label in self.classes}
        _require(len(set(self.classes)) == 2 and len(kinds) == 1, "two labels of one kind")
        _require(kinds <= {str, bool, int, float}, "labels that are text, numbers, or yes and no")
        _require(all(leak < n_columns for leak in self.leaks), "leaks of known columns")
        for number in self.numbers:
            _require(number.column < n_columns, "numbers of known columns")
            column, changes = self.columns[number.column], not number.is_plain
            _require(not number.part or column.kind == "date", "parts of dates only")
            _require(column.kind != "category" or not changes, "codes as they are")
        once = len({term.number for term in self.number_terms}) == len(self.number_terms)
        _require(once, "one term of each number")
        hinges = sum(len(term.knots) for term in self.number_terms)
        _require(hinges <= _MOST_HINGES, f"at most {_MOST_HINGES:,} hinges")
        for term in self.number_terms:
            _require(term.number < len(self.numbers), "terms of known numbers")
            kind = self.columns[self.numbers[term.number].column].kind
            _require(kind != "category", "terms of numbers")
            _require(len(term.bends) == len(term.knots), "a bend at each knot")
            _require(all(len(part) == m for part in (term.slopes, *term.bends)), "m slopes")
        once = len({table.column for table in self.level_terms}) == len(self.level_terms)
        _require(once, "one table of each column")
        for table in self.level_terms:
            _require(table.column < n_columns, "terms of known columns")
            _require(len(table.values) == self.columns[table.column].n_values, "all levels")
            _require(all(len(part) == m for part in table.values), "m values")
        _require(
            sum(len(f.trees) for f in self.forests) <= _MOST_TREES, f"at most {_MOST_TREES:,} trees"
        )
        _require(all(len(forest.share) == m for forest in self.forests), "m shares")
        self.trees  # noqa: B018 - checks the trees
        if self.curves is None:
            _require(self.link is not None and m == 1, "a link of one score, or curves")
            return
        _require(self.link is None and self.decision.by != "score", "curves, or a link")
        sizes = {len(curve) for curve in self.curves}
        _require(len(self.curves) == m > 0 and len(sizes) == 1 and min(sizes) > 1, "m curves")
        curves = np.array(self.curves)
        rises = bool((curves[:, 0] >= 0).all() and (curves[:, 1:] >= curves[:, :-1]).all())
        _require(rises, "curves that rise from 0 at least")
        _require(math.fsum(curves[:, -1]) <= 1 + _ROUNDING, "curves up to a probability of 1")

    @property
    def labels(self) -> tuple[str, str]:
        """The negative label and the positive one, as text."""
        return str(self.classes[1 - self.positive]), str(self.classes[self.positive])

    @property
    def decides_by_costs(self) -> bool:
        """Whether decisions need the costs of each row."""
        return self.decision.is_by_row and self.decision.by == "probability"

    @property
    def cost_columns(self) -> tuple[str, ...]:
        """Columns that the costs of a row are computed from."""
        names = (name for found in self.decision.expressions for name in found.columns)
        return tuple(dict.fromkeys(names))

    @cached_property
    def additive(self) -> AdditiveScores:
        """The scores without levels and trees, of the numbers of `number_terms` in their order."""
        terms = self.number_terms
        # Ordered by rank within each number, as `HingeBasis` keeps quantiles.
        hinges = sorted(
            (rank, j) for j, term in enumerate(terms) for rank in range(len(term.knots))
        )
        basis = HingeBasis(
            len(terms),
            np.array([j for _, j in hinges], np.intp),
            np.array([terms[j].knots[rank] for rank, j in hinges]),
        )
        slopes = [*(term.slopes for term in terms), *(terms[j].bends[rank] for rank, j in hinges)]
        columns = np.array(slopes, dtype=float).reshape(-1, len(self.bias)).T
        return AdditiveScores(basis, np.ascontiguousarray(columns), np.array(self.bias))

    @cached_property
    def trees(self) -> tuple[TreeSum, ...]:
        """The forests as they are evaluated."""
        columns = [self.columns[number.column] for number in self.numbers]
        return tuple(
            TreeSum(tuple(tree.to_tree(columns) for tree in forest.trees), forest.baseline)
            for forest in self.forests
        )

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Columns that the probability depends on."""
        numbers = {term.number for term in self.number_terms}
        for forest in self.forests:
            for tree in forest.trees:
                numbers |= {n for n, left in zip(tree.number, tree.left, strict=True) if left}
        found = {self.numbers[number].column for number in numbers}
        return tuple(sorted(found | {term.column for term in self.level_terms}))

    @cached_property
    def place(self) -> dict[int, int]:
        """Where the cells of each column that is used begin: a date has five."""
        sizes = [5 if self.columns[k].kind == "date" else 1 for k in self.used]
        return dict(zip(self.used, accumulate(sizes, initial=0), strict=False))


def _require(fulfilled: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not fulfilled:
        msg = f"it must have {what}"
        raise ValueError(msg)


def _expression(price: Price) -> Expression:
    """Return a cost as arithmetic; text that is not an expression is a column name."""
    if not isinstance(price, str):
        return Expression(f"{price:g}", (("number", float(price), 0),))
    try:
        return parse_expression(price)
    except ValueError:
        return Expression(price, (("column", price, 0),))
