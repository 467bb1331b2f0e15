"""What a model computes, as plain numbers: what every export is written from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.exceptions import ExportError
from flipcost.tables.plain import Column, Feature, NumberFeature

# Parts of a date, in the order of `ColumnReader`: days since 1970, then sine and cosine of its
# place in the year and in the week.
YEAR_DAYS, WEEK_DAYS = 365.2425, 7.0


@dataclass(frozen=True, eq=False)
class NumberTerm:
    """What a number adds to each score: ``slopes * z + bends @ max(0, z - knots)``.

    Attributes
    ----------
    feature : NumberFeature
        The number z.
    slopes : ndarray of shape (m,)
        Its coefficients.
    knots : ndarray of shape (k,)
        Where it bends.
    bends : ndarray of shape (m, k)
        How much.
    """

    feature: NumberFeature
    slopes: Array
    knots: Array
    bends: Array


@dataclass(frozen=True, eq=False)
class TableTerm:
    """What a column of few values adds to each score.

    Attributes
    ----------
    column : int
        Which column.
    values : ndarray of shape (n_levels + 2, m)
        By level; then for any other value, and for a missing one.
    """

    column: int
    values: Array


@dataclass(frozen=True)
class Split:
    """A split of a tree.

    Attributes
    ----------
    feature : int
        Which of the features of the trees.
    threshold : float
        Up to this a row goes left.
    missing_left : bool
        Whether a missing value does.
    left, right : Split or float
        What follows: another split, or what the tree adds to the score.
    """

    feature: int
    threshold: float
    missing_left: bool
    left: Split | float
    right: Split | float


@dataclass(frozen=True)
class Link:
    """What turns one score into a probability.

    Attributes
    ----------
    kind : {"uneven", "logistic"}
        The inverse link of the closed form, or the logistic function.
    cost, margin : float
        Of the closed form.
    """

    kind: str
    cost: float = 0.5
    margin: float = 1.0


@dataclass(frozen=True, eq=False)
class Formula:
    """From the columns of a row to a probability and a decision.

    Attributes
    ----------
    columns : tuple of Column
        The columns.
    numbers, tables : tuples of NumberTerm and TableTerm
        What they add to each of m scores.
    bias : ndarray of shape (m,)
        What else is added.
    trees : tuple of Split or float
        Boosting, if it has a share in the scores.
    tree_features : tuple of features
        What the trees split.
    baseline : float
        What is added to the sum of the trees.
    share : ndarray of shape (m,)
        What that is multiplied by, and added to each score.
    curves : ndarray of shape (m, n_places) or None
        What each score adds to the probability, on places 0, 1, ..., straight between these.
    link : Link or None
        What turns the score into a probability where there are no curves.
    threshold : float or None
        A row is called positive above this probability; by the closed form, where its score is
        above zero. None where prices differ by row.
    constant : bool or None
        The answer that is given always, if one is.
    labels : pair of str
        The negative label and the positive one.
    """

    columns: tuple[Column, ...]
    numbers: tuple[NumberTerm, ...]
    tables: tuple[TableTerm, ...]
    bias: Array
    threshold: float | None
    labels: tuple[str, str]
    trees: tuple[Split | float, ...] = ()
    tree_features: tuple[Feature, ...] = ()
    baseline: float = 0.0
    share: Array = field(default_factory=lambda: np.zeros(0))
    curves: Array | None = None
    link: Link | None = None
    constant: bool | None = None

    @property
    def by_score(self) -> bool:
        """Whether the decision is by the score rather than by the probability."""
        return self.link is not None and self.link.kind == "uneven"

    @property
    def used(self) -> tuple[int, ...]:
        """Columns that something depends on."""
        found = {term.feature.column for term in self.numbers}
        found |= {term.column for term in self.tables}
        for tree in self.trees:
            found |= {self.tree_features[k].column for k in _split_features(tree)}
        return tuple(sorted(found))


def _split_features(tree: Split | float) -> set[int]:
    if not isinstance(tree, Split):
        return set()
    return {tree.feature} | _split_features(tree.left) | _split_features(tree.right)


def check_decision(formula: Formula) -> None:
    """Refuse to decide where the prices of new rows are needed for it.

    Examples
    --------
    >>> check_decision(Formula((), (), (), np.zeros(1), None, ("no", "yes")))
    Traceback (most recent call last):
        ...
    flipcost.exceptions.ExportError: The prices of this model differ by row, and what is exported
    has no place for them; give `decision=False` for the probability alone.
    """
    if formula.threshold is None:
        msg = (
            "The prices of this model differ by row, and what is exported has no place for them; "
            "give `decision=False` for the probability alone."
        )
        raise ExportError(msg)


def additive_terms(
    features: tuple[Feature, ...], slopes: Array, knots: list[Array], bends: list[Array]
) -> tuple[tuple[NumberTerm, ...], tuple[TableTerm, ...], Array]:
    """Turn coefficients of features into what columns add to the scores.

    Parameters
    ----------
    features : tuple of features
        What the scores are computed from.
    slopes : ndarray of shape (m, n_features)
        Their coefficients.
    knots, bends : lists of ndarrays of shape (k,) and (m, k)
        Where each feature bends, and how much.

    Returns
    -------
    numbers, tables : tuples of terms
        Columns that add nothing are left out; features of one column are put together.
    bias : ndarray of shape (m,)
        What all rows have in common.

    Examples
    --------
    >>> from flipcost.tables.plain import TableFeature
    >>> flag = TableFeature(0, (0.0, 1.0))
    >>> nothing = [np.empty(0)], [np.empty((1, 0))]
    >>> numbers, tables, bias = additive_terms((flag,), np.array([[3.0]]), *nothing)
    >>> tables[0].values.tolist(), bias.tolist()
    ([[0.0], [3.0]], [0.0])
    """
    numbers: list[NumberTerm] = []
    tables: dict[int, Array] = {}
    for j, feature in enumerate(features):
        if not slopes[:, j].any() and not bends[j].any():
            continue
        if isinstance(feature, NumberFeature):
            numbers.append(NumberTerm(feature, slopes[:, j], knots[j], bends[j]))
            continue
        value = np.array(feature.values)[:, None]
        above = np.maximum(0.0, value - knots[j])
        own = value * slopes[:, j] + above @ bends[j].T
        tables[feature.column] = tables.get(feature.column, 0.0) + own
    bias = np.zeros(len(slopes))
    for column, values in tables.items():
        # What any other value gets is taken out: most columns of numbers are then left with a
        # constant for what is missing.
        bias += values[-2]
        tables[column] = values - values[-2]
    found = tuple(TableTerm(column, values) for column, values in tables.items() if values.any())
    return tuple(numbers), found, bias


def with_columns_used(formula: Formula) -> Formula:
    """Leave out columns that nothing depends on, and number the others anew."""
    place = {column: k for k, column in enumerate(formula.used)}

    def moved(item: Any) -> Any:
        return replace(item, column=place.get(item.column, 0))

    return replace(
        formula,
        columns=tuple(formula.columns[k] for k in formula.used),
        numbers=tuple(replace(t, feature=moved(t.feature)) for t in formula.numbers),
        tables=tuple(moved(t) for t in formula.tables),
        tree_features=tuple(moved(feature) for feature in formula.tree_features),
    )
