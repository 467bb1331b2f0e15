"""Which column is what: labels, weights, identifiers, prices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from flipcost.core.arrays import Array
from flipcost.core.costs import Costs, RowCosts
from flipcost.exceptions import TableError, shorten, unknown_column
from flipcost.tables.arrow import as_arrow, as_text, take_column
from flipcost.tables.columns import read_any_numbers

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_LONGEST_NUMBER = 100
_EXACT = Context(prec=4 * _LONGEST_NUMBER)
# Longer labels are a sign of the wrong column.
_LONGEST_LABEL = 1000


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for; all others are features.

    Parameters
    ----------
    target : str
        The labels, partly wrong.
    id : str or None
        Names of rows, shown where a row is.
    trusted : str or None
        Labels known to be right, on some rows.
    second_label : tuple of str
        Labels given again, independently, each column by another annotator.
    sample_weight : str or None
        Weights of rows.
    group, time : str or None
        Which rows depend on each other, and when they are from.
    drop : tuple of str
        Columns left out.
    truth : str or None
        Labels known to be right, on all rows, to judge by and not to learn from.

    Examples
    --------
    >>> roles = Roles("ill", id="patient", drop=("note",))
    >>> roles.features(["patient", "age", "note", "ill"], "a.csv")
    ['age']
    """

    target: str
    id: str | None = None
    trusted: str | None = None
    second_label: tuple[str, ...] = ()
    sample_weight: str | None = None
    drop: tuple[str, ...] = field(default=())
    truth: str | None = None
    group: str | None = None
    time: str | None = None

    @property
    def used(self) -> list[str]:
        """Columns that have a role, the target first."""
        own = (self.target, self.id, self.trusted, *self.second_label)
        more = (self.sample_weight, self.truth, self.group, self.time)
        return [name for name in (*own, *more) if name is not None]

    def features(self, names: Sequence[str], where: str, prices: Sequence[str] = ()) -> list[str]:
        """Return the names of the features, once every role is known to be there.

        Columns that are `prices` are none; these may have another role too, as weights have.
        """
        used = self.used
        for name in (*used, *self.drop):
            if name not in names:
                raise unknown_column(name, names, where)
        twice = sorted({name for name in used if used.count(name) > 1})
        if twice:
            msg = f"Column {twice[0]!r} was given two roles; give each column one."
            raise TableError(msg)
        if self.target in self.drop:
            msg = f"Column {self.target!r} is the target and cannot be dropped."
            raise TableError(msg)
        others = {*used, *self.drop, *prices}
        found = [name for name in names if name not in others]
        if not found:
            advice = ", or give `learn_prices=True`" if set(prices) - {*used, *self.drop} else ""
            msg = (
                f"{where} has no columns left to learn from; drop fewer of them{advice}. Labels of "
                "a judge beside human ones need none: see `flipcost judge`."
            )
            raise TableError(msg)
        return found


def read_labels(column: Any, name: str) -> NDArray[Any]:
    """Return labels as text, with None where one is missing.

    Numbers are written in one way, so that ``1``, ``1.0`` and ``01`` are the same label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_labels(pa.array(["1.0", "0", None]), "ill").tolist()
    ['1', '0', None]
    """
    codes, texts = label_codes(column, name)
    values = plain_labels(texts, numbers=are_numbers(texts))
    return np.array([*values, None], dtype=object)[codes]


def label_codes(column: Any, name: str) -> tuple[NDArray[np.int32], list[str]]:
    """Return labels as codes, -1 where one is missing, and the text of each code.

    Examples
    --------
    >>> import pyarrow as pa
    >>> label_codes(pa.array(["yes", None, "no", "yes"]), "ill")
    (array([ 0, -1,  1,  0], dtype=int32), ['yes', 'no'])
    """
    text = as_text(column, name, "labels")
    longest = pc.max(pc.utf8_length(text)).as_py() or 0
    if longest > _LONGEST_LABEL:
        msg = (
            f"Column {name!r} holds a label of {longest:,} characters; labels have at most "
            f"{_LONGEST_LABEL:,}. Is it the column of labels?"
        )
        raise TableError(msg)
    found = text.dictionary_encode()
    codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes, found.dictionary.to_pylist()


def are_numbers(texts: Iterable[str]) -> bool:
    """Tell whether all labels are numbers.

    Examples
    --------
    >>> are_numbers(["0", "1.0"]), are_numbers(["00", "A1"])
    (True, False)
    """
    return all(_same_number(text) is not None for text in texts)


def plain_labels(texts: list[str], *, numbers: bool) -> list[str]:
    """Return labels written as `read_labels` would: numbers in one way, if they are numbers.

    Parameters
    ----------
    texts : list of str
        Labels as they are.
    numbers : bool
        Whether the labels of the table are numbers, as far as is known.

    Examples
    --------
    >>> plain_labels(["01", "2.0"], numbers=True), plain_labels(["01", "A1"], numbers=False)
    (['1', '2'], ['01', 'A1'])
    """
    return [_same_number(text) or text for text in texts] if numbers else texts


def _same_number(label: str) -> str | None:
    """Return a number written in one way, with all its digits: codes may have many."""
    if len(label) > _LONGEST_NUMBER or not _NUMBER.fullmatch(label):
        return None
    exact = Decimal(label)
    size = exact.adjusted()
    if size < _LONGEST_NUMBER and exact == exact.to_integral_value(context=_EXACT):
        return str(int(exact))
    number = repr(float(exact))
    return number if _is(number, exact) else str(exact.normalize(_EXACT))


def _is(number: str, exact: Decimal) -> bool:
    return bool(_NUMBER.fullmatch(number)) and Decimal(number) == exact


# Weights count rows: neither a trillionth of one nor a trillion.
_SMALLEST = 1e-12


def read_numbers(column: Any, name: str, *, what: str) -> Array:
    """Return a column of numbers, none of them missing or negative.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_numbers(pa.array(["1", "2.5"]), "w", what="weights")
    array([1. , 2.5])
    """
    try:
        values: Array = read_any_numbers(column).to_numpy(zero_copy_only=False)
    except (ValueError, NotImplementedError) as error:
        msg = f"Column {name!r} must hold numbers to serve as {what}."
        raise TableError(msg) from error
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        msg = f"Column {name!r} must hold numbers of at least 0, none missing, to serve as {what}."
        raise TableError(msg)
    largest = values.max(initial=0.0)
    if largest and not _SMALLEST <= largest <= 1 / _SMALLEST:
        msg = (
            f"Column {name!r} must hold numbers of ordinary size to serve as {what}; the largest "
            f"is {largest:g}. Divide all of them by it."
        )
        raise TableError(msg)
    return values


def two_classes(
    labels: Iterable[str | None], name: str, positive: str | None = None
) -> tuple[str, str]:
    """Return the negative and the positive label; refuse other than two.

    Examples
    --------
    >>> two_classes(np.array(["no", "yes", "no"], dtype=object), "ill")
    ('no', 'yes')
    >>> two_classes(np.array(["no", "yes", "no"], dtype=object), "ill", "no")
    ('yes', 'no')
    """
    classes = sorted({label for label in labels if label is not None}, key=_order)
    if len(classes) == 1:
        msg = (
            f"Column {name!r} holds one class only, {classes[0]!r}; two are needed to learn from. "
            "Check the filter that made the table."
        )
        raise TableError(msg)
    if len(classes) != 2:
        found = f"{len(classes)} classes: {shorten(classes)}" if classes else "no labels"
        msg = f"Column {name!r} must hold two classes; it holds {found}. Keep two, or merge them."
        raise TableError(msg)
    if positive is None:
        return classes[0], classes[1]
    wanted = _same_number(positive) if _same_number(positive) in classes else positive
    if wanted not in classes:
        msg = (
            f"`pos_label` must be one of the classes of {name!r}, {shorten(classes)}; "
            f"got {positive!r}."
        )
        raise TableError(msg)
    return classes[1 - classes.index(wanted)], wanted


def _order(label: str) -> tuple[int, float, str]:
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)


def price_columns(costs: Costs, names: list[str], where: str) -> list[str]:
    """Return the columns that prices are made of, all of which must be there.

    Parameters
    ----------
    costs : Costs
        The prices.
    names : list of str
        The columns of the table.
    where : str
        Name of the table in messages.

    Examples
    --------
    >>> price_columns(Costs(fn="0.8*amount + 12", fp=5), ["age", "amount"], "a.csv")
    ['amount']
    """
    try:
        needed = costs.columns(names)
    except ValueError as error:
        raise TableError(str(error)) from error
    for name in needed:
        if name not in names:
            raise unknown_column(name, names, where)
    return needed


def row_prices(costs: Any, table: Any, where: str) -> RowCosts | None:
    """Return the prices of the rows of a table, or None where they are the same for all.

    Parameters
    ----------
    costs : Costs or anything else
        The prices; whatever is no `Costs` has none by row.
    table : pyarrow, pandas or polars table
        The rows; columns of text that hold numbers count as these.
    where : str
        Name of the table in messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"amount": ["10", "500"]})
    >>> row_prices(Costs(fn="amount", fp=5), table, "a.csv").threshold.round(3)
    array([0.333, 0.01 ])
    """
    if not isinstance(costs, Costs) or not costs.is_by_row:
        return None
    arrow = as_arrow(table)
    needed = price_columns(costs, arrow.column_names, where)
    frame: Any = {name: _numbers(take_column(arrow, name, where), name) for name in needed}
    if any(callable(getattr(costs, name)) for name in ("fn", "fp", "tp", "tn")):
        frame = _Columns(table, frame)
    try:
        return costs.by_row(frame, arrow.num_rows)
    except ValueError as error:
        raise TableError(str(error)) from error


class _Columns(dict):  # type: ignore[type-arg]
    """Columns that were read, and all others as the table has them, for callables."""

    def __init__(self, table: Any, read: dict[str, Array]) -> None:
        super().__init__(read)
        self._table = table

    def __missing__(self, name: str) -> Any:
        return self._table[name]


def _numbers(column: Any, name: str) -> Array:
    try:
        values = read_any_numbers(column).to_numpy(zero_copy_only=False)
    except (ValueError, NotImplementedError) as error:
        msg = f"Column {name!r} must hold numbers to serve as a cost."
        raise TableError(msg) from error
    return np.asarray(values, dtype=float)
