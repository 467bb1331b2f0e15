"""Rows of an audit that depend on each other: by a column of groups, by time, or as copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.dependence import cell_design, grouped_squares, mean_design
from flipcost.exceptions import TableError
from flipcost.tables.arrow import as_text, take_column
from flipcost.tables.columns import describe_column
from flipcost.tables.encoder import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._options import AuditOptions
    from flipcost.estimators import FlipCostClassifier


@dataclass(frozen=True, eq=False)
class RowTies:
    """How judged rows depend on each other.

    Attributes
    ----------
    groups : ndarray of int, shape (n,)
        Group of each row.
    folds : ndarray of int, shape (n,), or None
        Folds that follow from it, where rows are in memory.
    forward : bool
        Whether these are scored by earlier ones only.
    weight : ndarray of shape (n,) or None
        Weights to learn by: rows that nothing comes before are not judged, but learned from.
    """

    groups: NDArray[np.intp]
    folds: NDArray[np.intp] | None = None
    forward: bool = False
    weight: NDArray[np.float64] | None = None

    def design(self, cells: NDArray[np.intp], weight: Any, level: float) -> float:
        """Return the design effect of the shares of rows in cells."""
        return cell_design(cells, self.groups, weight, level)

    def mean_design(self, values: NDArray[np.float64], weight: Any, level: float) -> float:
        """Return the design effect of a mean over the rows."""
        return mean_design(values, self.groups, weight, level)


def group_codes(frame: Any, name: str, where: str) -> NDArray[np.intp]:
    """Return a number for each row of a frame, the same where its group is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> group_codes(pa.table({"who": ["b", "a", "b"]}), "who", "a.csv")
    array([0, 1, 0])
    """
    column = as_text(take_column(frame, name, where), name, "groups")
    if column.null_count:
        msg = (
            f"Column {name!r} must say of every row which group it is of; {column.null_count:,} "
            "rows do not."
        )
        raise TableError(msg)
    codes = column.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return np.asarray(codes, dtype=np.intp)


def time_order(frame: Any, name: str, where: str) -> NDArray[np.float64]:
    """Return when rows are from, as numbers: of a column of numbers or dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> time_order(pa.table({"day": ["2024-01-02", "2024-01-01"]}), "day", "a.csv").argsort()
    array([1, 0])
    """
    column = take_column(frame, name, where)
    about = describe_column(name, column)
    kind = about["kind"]
    if kind not in ("number", "date"):
        msg = f"Column {name!r} must hold numbers or dates to order rows by; it holds a {kind}."
        raise TableError(msg)
    if column.null_count:
        msg = (
            f"Column {name!r} must say of every row when it is from; {column.null_count:,} do not."
        )
        raise TableError(msg)
    return np.asarray(Column(name, kind, about.get("format")).read(column)[:, 0])


def asked_ties(frame: Any, options: AuditOptions, where: str) -> dict[str, Any]:
    """Return the groups or times that were asked for, as `FlipCostClassifier.fit` takes them."""
    if options.group is not None:
        return {"groups": group_codes(frame, options.group, where)}
    if options.time is not None:
        return {"time": time_order(frame, options.time, where)}
    return {}


def tied(judged: Any, classifier: FlipCostClassifier, options: AuditOptions) -> Any:
    """Return rows in memory that are judged as they were fitted: by folds and groups of the fit."""
    groups, folds = classifier.groups_, classifier.folds_
    if groups is None:
        return judged
    forward = options.time is not None
    weight, learned_by = judged.weight, judged.weight
    if forward:
        ones = np.ones(len(folds)) if weight is None else weight
        weight = np.where(folds > 0, ones, 0.0)
        if judged.checked is not None and not weight[judged.checked.rows].any():
            judged = replace(judged, checked=None, rounds=None)
    design = len(groups) / classifier.n_effective_
    return replace(
        judged,
        weight=weight,
        ties=RowTies(groups, folds, forward, learned_by),
        call_squares=grouped_squares(judged.positive, groups, weight, options.level),
        checked=None if judged.checked is None else replace(judged.checked, design=design),
    )
