r"""What mistakes cost.

One number decides: ``cost`` (:math:`\alpha` in the paper), the share of the misclassification cost
that a false positive bears. A false negative bears ``1 - cost``, and a row is best called positive
when the probability of the positive class exceeds ``cost``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from flipcost.core.arrays import Array
from flipcost.core.expressions import parse_expression
from flipcost.core.prices import Prices

PRICE_NAMES = ("fn", "fp", "tp", "tn")
CostLike: TypeAlias = "float | Costs"
_RANGE = re.compile(r"\s*([-+\w.]*?)\s*\.\.\s*([-+\w.]*)\s*")


@dataclass(frozen=True)
class PriceRange:
    """A price that is not known exactly: anything between two ends, each as likely.

    Costs are linear in prices, so that the decision that is best on average over the range is the
    one that is best at its middle.

    Parameters
    ----------
    low, high : float
        The ends.

    Examples
    --------
    >>> PriceRange(3, 8).middle
    5.5
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and 0 <= self.low < self.high):
            msg = (
                "A range of prices must go from a price of at least 0 up to a larger one, as in "
                f"3..8; got {self.low:g}..{self.high:g}."
            )
            raise ValueError(msg)

    @property
    def middle(self) -> float:
        """The price on average."""
        return (self.low + self.high) / 2

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"


@dataclass(frozen=True)
class Costs:
    """The four prices of a decision: the same for all rows, or each row's own.

    Parameters
    ----------
    fn : float, str, array-like of shape (n,), callable or PriceRange
        Price of a false negative (a missed positive). A text is a column of the frame, or
        arithmetic of columns such as ``"0.8*amount + 12"``; a callable gets the frame; a range,
        ``PriceRange(3, 8)`` or ``"3..8"``, stands for all prices in it.
    fp : float, str, array-like of shape (n,), callable or PriceRange
        Price of a false positive (a false alarm).
    tp, tn : float, str, array-like of shape (n,) or callable, default=0
        Prices of correct decisions, when these are not free.

    Attributes
    ----------
    alpha : float
        ``(fp - tn) / ((fn - tp) + (fp - tn))``, in (0, 1): the threshold on the probability of the
        positive class at which calling a row positive starts to pay. Only where prices are the same
        for all rows.

    Examples
    --------
    A missed fraud costs four times a needless call:

    >>> Costs(fn=4, fp=1).alpha
    0.2

    A missed fraud costs its amount, so that each row has a threshold of its own:

    >>> import pandas as pd
    >>> costs = Costs(fn="0.9 * amount", fp=5)
    >>> costs.by_row(pd.DataFrame({"amount": [10.0, 500.0]})).threshold.round(3)
    array([0.357, 0.011])
    """

    fn: Any
    fp: Any
    tp: Any = 0.0
    tn: Any = 0.0

    def __post_init__(self) -> None:
        for name in PRICE_NAMES:
            object.__setattr__(self, name, _read(getattr(self, name), name))
        for name in ("fn", "fp"):
            price = getattr(self, name)
            if isinstance(price, PriceRange) and not price.low > 0:
                msg = f"The range of `{name}` must begin above 0; got {price}."
                raise ValueError(msg)
        if self.is_by_row:
            return
        # Of ranges the ends at which a mistake costs least above the right decision.
        fn, fp = (_end(price, "low") for price in (self.fn, self.fp))
        tp, tn = (_end(price, "high") for price in (self.tp, self.tn))
        if not all(np.isfinite(price) for price in (fn, fp, tp, tn)):
            msg = f"The four prices must be finite numbers; got {self}."
            raise ValueError(msg)
        if not (fn > tp and fp > tn):
            msg = (
                "A mistake must cost more than the correct decision on the same row: `fn` > `tp` "
                f"and `fp` > `tn`; got {self}. Otherwise one constant decision is always best."
            )
            raise ValueError(msg)

    @property
    def is_by_row(self) -> bool:
        """Whether a price depends on the row."""
        return any(
            not isinstance(getattr(self, name), float | int | PriceRange) for name in PRICE_NAMES
        )

    @property
    def needs_arrays(self) -> bool:
        """Whether a price is an array: it is of the rows that it was given for, and no others."""
        return any(isinstance(getattr(self, name), np.ndarray) for name in PRICE_NAMES)

    @property
    def ranges(self) -> dict[str, PriceRange]:
        """The prices that are ranges, by their names."""
        found = {name: getattr(self, name) for name in PRICE_NAMES}
        return {name: price for name, price in found.items() if isinstance(price, PriceRange)}

    @property
    def middle(self) -> Costs:
        """The same with the middle in place of each range."""
        return Costs(*(_middle(getattr(self, name)) for name in PRICE_NAMES))

    @property
    def extra(self) -> tuple[float, float]:
        """What a miss and a false alarm cost more than the right decision on the same row."""
        if self.is_by_row:
            msg = (
                "Prices that differ from row to row have no one share: give numbers here, or use "
                "what takes prices by row, as FlipCostClassifier does."
            )
            raise ValueError(msg)
        fn, fp, tp, tn = (float(_middle(getattr(self, name))) for name in PRICE_NAMES)
        return fn - tp, fp - tn

    @property
    def alpha(self) -> float:
        """Share of the cost that a false positive bears."""
        extra_fn, extra_fp = self.extra
        return extra_fp / (extra_fn + extra_fp)

    @property
    def unit(self) -> float:
        """What a miss and a false alarm cost together: a cost as a share, times this, is money."""
        return sum(self.extra)

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the columns that the prices are made of, given all names of a table.

        Parameters
        ----------
        names : sequence of str
            The columns that there are.

        Examples
        --------
        >>> Costs(fn="0.8*amount + fee", fp="fee").columns(["age", "amount", "fee"])
        ['amount', 'fee']
        """
        found: dict[str, None] = {}
        for name in PRICE_NAMES:
            price = getattr(self, name)
            if isinstance(price, str):
                needed = (price,) if price in names else parse_expression(price).columns
                found |= dict.fromkeys(needed)
        return list(found)

    def by_row(self, frame: Any = None, n_rows: int | None = None) -> Prices:
        """Return the prices of each row.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or mapping, default=None
            The rows; needed where a price is a column, an expression or a callable.
        n_rows : int, default=None
            How many rows there are; those of the frame when None.

        Returns
        -------
        Prices

        Examples
        --------
        >>> Costs(fn=[4, 8], fp=1).by_row(n_rows=2).threshold.round(3)
        array([0.2  , 0.111])
        """
        n = len(frame) if n_rows is None else n_rows
        parts = [_by_row(getattr(self, name), name, frame, n) for name in PRICE_NAMES]
        return Prices(*parts)


def _read(price: Any, name: str) -> Any:
    """Return a price as a number, a range, a text, a callable or an array."""
    if isinstance(price, PriceRange | int | float) or callable(price):
        return price
    if isinstance(price, str):
        return _read_text(price, name)
    if np.ndim(price) == 0:
        try:
            value = float(price)
        except (TypeError, ValueError):
            msg = f"`{name}` must be a number, a column, an array or a callable; got {price!r}."
            raise ValueError(msg) from None
        return value
    values = np.asarray(price, dtype=float)
    if values.ndim != 1:
        msg = f"`{name}` must have one price for each row; got an array of shape {values.shape}."
        raise ValueError(msg)
    return values


def _read_text(text: str, name: str) -> Any:
    if not text.strip():
        msg = f"`{name}` must be a number, a column or arithmetic of columns; got no text."
        raise ValueError(msg)
    try:
        return float(text)
    except ValueError:
        pass
    ends = _RANGE.fullmatch(text)
    if ends is None:
        return text.strip()
    try:
        low, high = float(ends[1]), float(ends[2])
    except ValueError:
        msg = f"`{name}`: a range of prices needs two numbers, as in 3..8; got {text!r}."
        raise ValueError(msg) from None
    return PriceRange(low, high)


def _end(price: Any, name: str) -> float:
    return float(getattr(price, name) if isinstance(price, PriceRange) else price)


def _middle(price: Any) -> Any:
    return price.middle if isinstance(price, PriceRange) else price


def _by_row(price: Any, name: str, frame: Any, n_rows: int) -> Array:
    if isinstance(price, str):
        values = _from_columns(price, name, frame)
    elif callable(price):
        values = np.asarray(price(frame), dtype=float)
    else:
        values = np.asarray(_middle(price), dtype=float)
    if values.shape not in ((), (n_rows,)):
        msg = f"`{name}` must have a price for each of the {n_rows} rows; got {values.shape}."
        raise ValueError(msg)
    return np.broadcast_to(values, n_rows)


def _from_columns(price: str, name: str, frame: Any) -> Array:
    names = _names(frame)
    if names is None:
        msg = (
            f"`{name}` is the text {price!r}, which speaks of columns: give rows as a frame with "
            "named columns, or the prices of the rows as `prices`."
        )
        raise ValueError(msg)
    if price in names:
        return _column(frame, price, name)
    expression = parse_expression(price)
    for column in expression.columns:
        if column not in names:
            close = difflib.get_close_matches(column, names, n=1, cutoff=0.5)
            near = f"; did you mean {close[0]!r}?" if close else f"; there are {names[:5]}."
            msg = f"`{name}` = {price!r} names a column {column!r} that is not there{near}"
            raise ValueError(msg)
    return expression.evaluate(lambda column: _column(frame, column, name))


def _names(frame: Any) -> list[str] | None:
    """Return the names of the columns of pandas, polars and pyarrow tables and of mappings."""
    for attribute in ("column_names", "columns"):
        names = getattr(frame, attribute, None)
        if names is not None:
            return [str(column) for column in names]
    return [str(key) for key in frame] if isinstance(frame, Mapping) else None


def _column(frame: Any, column: str, name: str) -> Array:
    try:
        return np.asarray(frame[column], dtype=float)
    except (TypeError, ValueError) as error:
        msg = f"Column {column!r} must hold numbers, none missing, to serve as the price `{name}`."
        raise ValueError(msg) from error


def cost_share(cost: CostLike) -> float:
    """Return a cost as a checked number in (0, 1).

    Examples
    --------
    >>> cost_share(0.25), cost_share(Costs(fn=3, fp=1))
    (0.25, 0.25)
    """
    if isinstance(cost, Mapping):
        meant = ", ".join(f"{name}={price!r}" for name, price in cost.items())
        msg = f"`cost` must be a number or Costs; got {cost!r}. Did you mean Costs({meant})?"
        raise ValueError(msg)
    share = cost.alpha if isinstance(cost, Costs) else float(cost)
    if not 0 < share < 1:
        msg = (
            f"`cost` must lie in (0, 1); got {share:g}. It is the share of the cost that a false "
            "positive bears; give prices as Costs(fn=..., fp=...) to have it computed."
        )
        raise ValueError(msg)
    return share


def margin_value(margin: float) -> float:
    """Return a margin as a checked positive number.

    Examples
    --------
    >>> margin_value(2)
    2.0
    """
    value = float(margin)
    if not (value > 0 and np.isfinite(value)):
        msg = f"`margin` must be a positive number; got {value:g}. Use 1 for an even margin."
        raise ValueError(msg)
    return value
