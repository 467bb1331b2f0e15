r"""What wrong decisions cost: as users say it, as each row's own, and as estimators take it.

Flagging a row rather than not saves :math:`a = fn - tp` if it is positive and costs
:math:`b = fp - tn` if it is not. With the clean probability :math:`\eta` it is expected to save

.. math::

    g = a\,\eta - b\,(1 - \eta),

so that a row is best flagged where its probability exceeds its threshold, :math:`b / (a + b)`.
Where all rows cost the same that is one number, ``cost`` (:math:`\alpha` in the paper): the share
of the misclassification cost that a false positive bears. A false negative bears ``1 - cost``.

Costs may be written as arithmetic of columns: read by a grammar of their own, never run as code.
It knows numbers, names of columns, ``+ - * /``, brackets, ``min``, ``max`` and ``abs``. A name that
is no plain word stands in backticks, as in ```loan amount` * 0.8``. Nothing else can be written, so
that nothing else can happen.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from flipcost.core.arrays import Array
from flipcost.core.noise import NoiseRateLike, noisy_threshold

PRICE_NAMES = ("fn", "fp", "tp", "tn")
CostLike: TypeAlias = "float | Costs"
AnyCosts: TypeAlias = "float | Costs | RowCosts"
_RANGE = re.compile(r"\s*([-+\w.]*?)\s*\.\.\s*([-+\w.]*)\s*")
# Thresholds are cut here before they become log-odds, so that none is infinite.
_SUREST = 1e-12
Value = TypeVar("Value")
# One step: a number, a column, or an operation on the last values.
Step: TypeAlias = "tuple[str, float | str, int]"

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)"
    r"|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d]\w*)|(?P<mark>[-+*/(),]))"
)
_LONGEST, _DEEPEST = 1000, 50
_FUNCTIONS = {"min": np.minimum, "max": np.maximum}


@dataclass(frozen=True)
class CostRange:
    """A price that is not known exactly: anything between two ends, each as likely.

    Costs are linear in prices, so that the decision that is best on average over the range is the
    one that is best at its middle.

    Parameters
    ----------
    low, high : float
        The ends.

    Examples
    --------
    >>> CostRange(3, 8).middle
    5.5
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and 0 <= self.low < self.high):
            msg = (
                "A range of costs must go from a cost of at least 0 up to a larger one, as in "
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
    fn : float, str, array-like of shape (n,), callable or CostRange
        Price of a false negative (a missed positive). A text is a column of the frame, or
        arithmetic of columns such as ``"0.8*amount + 12"``; a callable gets the frame; a range,
        ``CostRange(3, 8)`` or ``"3..8"``, represents all prices in it.
    fp : float, str, array-like of shape (n,), callable or CostRange
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
            if isinstance(price, CostRange) and not price.low > 0:
                msg = f"The range of `{name}` must begin above 0; got {price}."
                raise ValueError(msg)
        if self.is_by_row:
            return
        # Of ranges the ends at which a mistake costs least above the right decision.
        fn, fp = (_at(price, "low") for price in (self.fn, self.fp))
        tp, tn = (_at(price, "high") for price in (self.tp, self.tn))
        if not all(np.isfinite(price) for price in (fn, fp, tp, tn)):
            msg = f"The four costs must be finite numbers; got {self}."
            raise ValueError(msg)
        if not (fn > tp and fp > tn):
            msg = (
                "An error must cost more than the right decision on the same row: `fn` > `tp` and "
                f"`fp` > `tn`; got {self}. Otherwise the same decision is best for every row."
            )
            raise ValueError(msg)

    @property
    def is_by_row(self) -> bool:
        """Whether a price depends on the row."""
        return any(
            not isinstance(getattr(self, name), float | int | CostRange) for name in PRICE_NAMES
        )

    @property
    def ranges(self) -> dict[str, CostRange]:
        """The prices that are ranges, by their names."""
        found = {name: getattr(self, name) for name in PRICE_NAMES}
        return {name: price for name, price in found.items() if isinstance(price, CostRange)}

    @property
    def middle(self) -> Costs:
        """The same with the middle in place of each range."""
        return Costs(*(_at(getattr(self, name)) for name in PRICE_NAMES))

    @property
    def extra(self) -> tuple[float, float]:
        """What a miss and a false alarm cost more than the right decision on the same row."""
        if self.is_by_row:
            msg = (
                "Costs that differ from row to row have no single share: give numbers here, or use "
                "what takes costs by row, as FlipCostClassifier does."
            )
            raise ValueError(msg)
        fn, fp, tp, tn = (float(_at(getattr(self, name))) for name in PRICE_NAMES)
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

    def by_row(self, frame: Any = None, n_rows: int | None = None) -> RowCosts:
        """Return the costs of each row.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or mapping, default=None
            The rows; needed where a price is a column, an expression or a callable.
        n_rows : int, default=None
            How many rows there are; those of the frame when None.

        Returns
        -------
        RowCosts

        Examples
        --------
        >>> Costs(fn=[4, 8], fp=1).by_row(n_rows=2).threshold.round(3)
        array([0.2  , 0.111])
        """
        if not self.is_by_row:
            return RowCosts(*(_at(getattr(self, name)) for name in PRICE_NAMES))
        n = len(frame) if n_rows is None else n_rows
        return RowCosts(*(_by_row(getattr(self, name), name, frame, n) for name in PRICE_NAMES))


@dataclass(frozen=True, eq=False)
class RowCosts:
    """Costs of the four outcomes of each row, checked; numbers where all rows cost the same.

    Parameters
    ----------
    fn, fp, tp, tn : float or ndarray of shape (n,)
        What a row costs if it is missed, a false alarm, rightly flagged or rightly not.

    Examples
    --------
    >>> costs = RowCosts(np.array([100.0, 2.0]), 5.0)
    >>> costs.threshold.round(3), costs.gain([0.1, 0.1])
    (array([0.048, 0.714]), array([ 5.5, -4.3]))
    """

    fn: Any
    fp: Any
    tp: Any = 0.0
    tn: Any = 0.0

    def __post_init__(self) -> None:
        given = {name: np.asarray(getattr(self, name), dtype=float) for name in PRICE_NAMES}
        shape = max((values.shape for values in given.values()), key=len)
        for name, values in given.items():
            if values.shape not in ((), shape):
                n = shape[0]
                msg = f"`{name}` must have a cost for each of the {n} rows; got {values.shape}."
                raise ValueError(msg)
            _check(values, name)
            object.__setattr__(self, name, np.broadcast_to(values, shape))
        odd = np.flatnonzero((self.miss < 0) & (self.alarm < 0))
        if len(odd):
            msg = (
                "On each row at least one error must cost more than the right decision: `fn` > "
                f"`tp` or `fp` > `tn`; row {int(odd[0]) + 1} has neither."
            )
            raise ValueError(msg)

    @classmethod
    def of(cls, cost: AnyCosts) -> RowCosts:
        """Return costs that may come as one share, in units of a miss and a false alarm together.

        Examples
        --------
        >>> RowCosts.of(0.25).miss, RowCosts.of(Costs(fn=3, fp=1)).alarm
        (array(0.75), array(0.25))
        """
        if isinstance(cost, RowCosts):
            return cost
        share = np.asarray(cost_share(cost))
        return cls(1 - share, share)

    @classmethod
    def in_units(cls, cost: AnyCosts, n_rows: int | None = None) -> RowCosts:
        """Return costs in the units in which they were given.

        Examples
        --------
        >>> RowCosts.in_units(0.25).alarm, RowCosts.in_units(Costs(fn=30, fp=10)).alarm
        (array(0.25), array(10.))
        """
        return cost.by_row(n_rows=n_rows) if isinstance(cost, Costs) else cls.of(cost)

    @property
    def is_constant(self) -> bool:
        """Whether all rows cost the same, and these are numbers."""
        return bool(self.fn.ndim == 0)

    @property
    def n_rows(self) -> int | None:
        """How many rows these are of; None where all rows cost the same."""
        return None if self.is_constant else len(self.fn)

    @property
    def miss(self) -> Array:
        """What missing a positive row costs more than flagging it."""
        return np.asarray(self.fn - self.tp)

    @property
    def alarm(self) -> Array:
        """What flagging a negative row costs more than not flagging it."""
        return np.asarray(self.fp - self.tn)

    @property
    def threshold(self) -> Array:
        """Probability above which a flag pays: 1 where it never does, 0 where it always does."""
        alarm = np.maximum(self.alarm, 0)
        both = np.maximum(self.miss, 0) + alarm
        return np.asarray(np.divide(alarm, both, out=np.ones(both.shape), where=both > 0))

    def flags(self, probability: ArrayLike) -> NDArray[np.bool_]:
        """Return which rows are expected to cost less if flagged."""
        pays = np.asarray(probability, dtype=float) > self.threshold
        return np.asarray(pays | ((self.alarm < 0) & (self.miss >= 0)))

    def gain(self, probability: ArrayLike) -> Array:
        """Return what flagging each row is expected to save; probabilities of shape (..., n)."""
        eta = np.asarray(probability, dtype=float)
        return np.asarray(self.miss * eta - self.alarm * (1 - eta))

    def paid(self, positive: ArrayLike, flagged: ArrayLike) -> Array:
        """Return what each row costs above its right decision, given labels and decisions.

        Examples
        --------
        >>> RowCosts(np.array([9.0, 8.0]), np.array([1.0, 2.0])).paid([True, False], [False, True])
        array([9., 2.])
        """
        labels, flags = np.asarray(positive, dtype=bool), np.asarray(flagged, dtype=bool)
        return np.where(labels, np.where(flags, 0.0, self.miss), np.where(flags, self.alarm, 0.0))

    def if_wrong(self, flagged: ArrayLike) -> Array:
        """Return what each row costs if its decision is wrong; nothing where it would gain."""
        return np.maximum(np.where(np.asarray(flagged, bool), self.alarm, self.miss), 0.0)

    def take(self, rows: NDArray[Any] | slice) -> RowCosts:
        """Return the costs of some rows."""
        parts = (getattr(self, name) for name in PRICE_NAMES)
        return RowCosts(*(part[rows] if part.ndim else part for part in parts))

    def scaled(self, factor: float) -> RowCosts:
        """Return the same with misses that cost this many times as much.

        Examples
        --------
        >>> RowCosts(9.0, 1.0).scaled(2.0).fn
        array(18.)
        """
        return RowCosts(self.tp + factor * self.miss, self.fp, self.tp, self.tn)

    def relative(self, sample_weight: ArrayLike | None = None) -> RowCosts:
        """Return what mistakes cost in units of what both cost together on an average row.

        Losses weighed by these do not depend on the currency, and where all rows cost the same they
        are the shares of one cost. Where a mistake pays it counts as free.

        Examples
        --------
        >>> found = RowCosts(np.array([40.0, 8.0]), np.array([10.0, 2.0])).relative()
        >>> found.fn.round(4), found.fp.round(4)
        (array([1.3333, 0.2667]), array([0.3333, 0.0667]))
        """
        free = RowCosts(np.maximum(self.miss, 0.0), np.maximum(self.alarm, 0.0))
        miss, alarm = free.mean(sample_weight)
        if not (miss > 0 and alarm > 0):
            msg = (
                "On some rows a miss must cost something, and on some a false alarm; here one of "
                "the two is free on all, and one answer is best for every row."
            )
            raise ValueError(msg)
        return RowCosts(free.fn / (miss + alarm), free.fp / (miss + alarm))

    def mean(self, sample_weight: ArrayLike | None = None) -> tuple[float, float]:
        """Return the mean cost of a miss and of a false alarm.

        Examples
        --------
        >>> RowCosts(np.array([9.0, 7.0]), 1.0).mean()
        (8.0, 1.0)
        """
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        miss, alarm = (
            float(np.average(part, weights=weight) if part.ndim else part)
            for part in (self.miss, self.alarm)
        )
        return miss, alarm

    def table(self) -> Array:
        """Return the costs as an array of shape (n, 4), to be routed as metadata."""
        return np.column_stack([getattr(self, name) for name in PRICE_NAMES])


def _read(price: Any, name: str) -> Any:
    """Return a price as a number, a range, a text, a callable or an array."""
    if isinstance(price, CostRange | int | float) or callable(price):
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
        msg = f"`{name}` must have one cost for each row; got an array of shape {values.shape}."
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
        msg = f"`{name}`: a range of costs needs two numbers, as in 3..8; got {text!r}."
        raise ValueError(msg) from None
    return CostRange(low, high)


def _at(price: Any, place: str = "middle") -> Any:
    """Return a price, of a range that at one place of it."""
    return getattr(price, place) if isinstance(price, CostRange) else price


def _by_row(price: Any, name: str, frame: Any, n_rows: int) -> Array:
    if isinstance(price, str):
        price = _from_columns(price, name, frame)
    elif callable(price):
        price = price(frame)
    values = np.asarray(_at(price), dtype=float)
    if values.shape not in ((), (n_rows,)):
        msg = f"`{name}` must have a cost for each of the {n_rows} rows; got {values.shape}."
        raise ValueError(msg)
    return np.broadcast_to(values, n_rows)


def _from_columns(price: str, name: str, frame: Any) -> Array:
    names = _names(frame)
    if names is None:
        msg = (
            f"`{name}` is the text {price!r}, which names columns: give rows as a frame with "
            "named columns, or the costs of the rows as `prices`."
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
        msg = f"Column {column!r} must hold numbers, none missing, to serve as the cost `{name}`."
        raise ValueError(msg) from error


def cost_share(cost: CostLike) -> float:
    """Return a cost as a checked number in (0, 1).

    Examples
    --------
    >>> cost_share(0.25), cost_share(Costs(fn=3, fp=1))
    (0.25, 0.25)
    """
    if isinstance(cost, Mapping):
        msg = f"`cost` must be a number or Costs(fn=..., fp=...); got {cost!r}."
        try:
            Costs(**cost)
        except (TypeError, ValueError):  # what would be refused is not offered
            raise ValueError(msg) from None
        meant = ", ".join(f"{name}={price!r}" for name, price in cost.items())
        msg += f" Did you mean Costs({meant})?"
        raise ValueError(msg)
    try:
        share = cost.alpha if isinstance(cost, Costs) else float(cost)
    except (TypeError, ValueError) as error:
        if isinstance(cost, Costs):
            raise
        msg = (
            f"`cost` must be a number in (0, 1), the share of the cost that a false positive "
            f"bears, or Costs(fn=..., fp=...); got {cost!r}."
        )
        raise ValueError(msg) from error
    if not 0 < share < 1:
        msg = (
            f"`cost` must lie in (0, 1); got {share:g}. It is the share of the cost that a false "
            "positive bears; give costs as Costs(fn=..., fp=...) to have it computed."
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


def read_prices(given: object, n_rows: int) -> RowCosts:
    """Return prices that came as an array of two or four columns, or as a frame of named ones.

    Parameters
    ----------
    given : array-like of shape (n, 2) or (n, 4), or frame
        Costs ``fn, fp`` or ``fn, fp, tp, tn`` of each row; a frame has these names.
    n_rows : int
        Number of rows.

    Examples
    --------
    >>> read_prices([[4, 1], [8, 1]], 2).threshold.round(3)
    array([0.2  , 0.111])
    """
    names = getattr(given, "columns", None)
    if names is not None:
        missing = [name for name in ("fn", "fp") if name not in list(names)]
        if missing:
            msg = (
                "`prices` must have the columns fn and fp, and may have tp and tn; got "
                f"{list(names)[:5]}."
            )
            raise ValueError(msg)
        found = Costs(**{name: name for name in PRICE_NAMES if name in list(names)})
        return found.by_row(given, n_rows)
    values = np.asarray(given, dtype=float)
    if values.ndim != 2 or values.shape[0] != n_rows or values.shape[1] not in (2, 4):
        msg = (
            f"`prices` must have a row fn, fp (and tp, tn) for each of the {n_rows} rows; got "
            f"shape {values.shape}."
        )
        raise ValueError(msg)
    return RowCosts(*values.T)


def _check(values: Array, name: str) -> None:
    """Refuse a price that is missing, or less than nothing where it is one of a mistake."""
    values = np.atleast_1d(values)
    bad = ~np.isfinite(values)
    what = "missing, or no number"
    if name in ("fn", "fp") and not bad.any():
        bad, what = values < 0, "negative"
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        msg = (
            f"`{name}` must be a cost of at least 0 on every row; it is {what} on "
            f"{int(bad.sum())} of {len(values)}, first on row {row + 1}."
        )
        raise ValueError(msg)


def prices_of(cost: Any, prices: Any, X: Any) -> RowCosts | None:
    """Return the prices of rows, or None where they are the same for all.

    Parameters
    ----------
    cost : float or Costs
        The parameter of the estimator.
    prices : Costs, RowCosts, array-like of shape (n, 2) or (n, 4), frame or None
        What came as metadata, which counts if there is any.
    X : array-like or frame
        The rows, as they were given.

    Examples
    --------
    >>> prices_of(0.2, [[4, 1], [8, 1]], [[0.0], [1.0]]).threshold.round(3)
    array([0.2  , 0.111])
    >>> prices_of(Costs(fn=4, fp=1), None, [[0.0]]) is None
    True
    """
    if prices is None and not (isinstance(cost, Costs) and cost.is_by_row):
        return None
    n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
    if isinstance(prices, RowCosts):
        if prices.n_rows not in (None, n_rows):
            msg = f"`prices` must be of the same {n_rows} rows as `X`; got {prices.n_rows}."
            raise ValueError(msg)
        return prices
    if isinstance(prices, Costs):
        return prices.by_row(X, n_rows)
    if prices is not None:
        return read_prices(prices, n_rows)
    costs: Costs = cost
    return costs.by_row(X, n_rows)


def prices_to_decide(cost: Any, prices: Any, X: Any, *, by_row: bool) -> RowCosts | None:
    """Return the costs of new rows, or None where they are the same for all.

    What was fitted to costs of each row (`by_row`) does not decide without those of these rows,
    and arrays in `cost` are those of the rows that were fitted.

    Examples
    --------
    >>> prices_to_decide(0.2, [[4, 1]], [[0.0]], by_row=True).threshold
    array([0.2])
    """
    given = [getattr(cost, name, None) for name in PRICE_NAMES]
    if prices is None and any(isinstance(price, np.ndarray) for price in given):
        msg = (
            "`cost` has arrays, which are costs of the rows that were fitted: give those of these "
            "rows as `prices`, or name columns in place of arrays."
        )
        raise ValueError(msg)
    found = prices_of(cost, prices, X)
    if by_row and found is None:
        msg = (
            "Costs differ by row here, and decisions need those of these rows: give `prices`, or "
            "`cost` as Costs of columns that the rows have."
        )
        raise ValueError(msg)
    return found


def share_and_unit(
    cost: Any, prices: RowCosts | None, sample_weight: Any = None
) -> tuple[float, float]:
    """Return the cost as a share, and what a cost of 1 in shares is in the user's money.

    Where prices differ by row, those of the mean prices.

    Examples
    --------
    >>> share_and_unit(0.2, None), share_and_unit(Costs(fn=40, fp=10), None)
    ((0.2, 1.0), (0.2, 50.0))
    """
    if prices is not None:
        miss, alarm = prices.mean(sample_weight)
        both = max(miss, 0.0) + max(alarm, 0.0)
        share = max(alarm, 0.0) / both if both > 0 else 0.5
        return float(np.clip(share, 1e-6, 1 - 1e-6)), both
    return cost_share(cost), cost.unit if isinstance(cost, Costs) else 1.0


def log_odds(threshold: ArrayLike) -> Array:
    """Return the log-odds of thresholds, none of them infinite.

    Examples
    --------
    >>> log_odds([0.2, 1.0]).round(2)
    array([-1.39, 28.32])
    """
    cut = np.asarray(threshold, dtype=float)
    return np.asarray(logit(np.clip(cut, _SUREST / 2, 1 - _SUREST / 2)))


def price_weights(positive: Any, prices: RowCosts, noise_rate: NoiseRateLike = None) -> Array:
    r"""Return weights that make a classifier cut at one half decide by each row's own prices.

    Calling row :math:`i` pays where its clean probability exceeds :math:`t_i = b_i / (a_i + b_i)`,
    which is where the noisy one exceeds :math:`\tau_i = \rho_- + (1 - \rho_+ - \rho_-)\,t_i`. With
    weights :math:`(a_i + b_i)(1 - \tau_i)` for positive labels and :math:`(a_i + b_i)\,\tau_i` for
    negative ones, that is where positive labels outweigh negative ones.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive.
    prices : RowCosts
        Of the rows.
    noise_rate : float, pair of floats or None, default=None
        Rate of the noise in the labels.

    Examples
    --------
    >>> price_weights([True, False], RowCosts(np.array([8.0, 8.0]), np.array([2.0, 2.0])))
    array([8., 2.])
    """
    cut = np.asarray(noisy_threshold(prices.threshold, noise_rate))
    size = np.abs(prices.miss) + np.abs(prices.alarm)
    return np.asarray(size * np.where(np.asarray(positive, dtype=bool), 1 - cut, cut))


def takes_prices(estimator: Any) -> bool:
    """Tell whether an estimator, or the last step of a pipeline, takes prices to predict.

    Examples
    --------
    >>> from flipcost import FlipCostClassifier, LinkClassifier
    >>> takes_prices(FlipCostClassifier()), takes_prices(LinkClassifier())
    (True, False)
    """
    steps = getattr(estimator, "steps", None)
    predict = getattr(steps[-1][1] if steps else estimator, "predict", None)
    return predict is not None and "prices" in signature(predict).parameters


@dataclass(frozen=True)
class Expression:
    """Arithmetic of columns, read and ready to be computed.

    Attributes
    ----------
    text : str
        As it was written.
    steps : tuple
        What is done, operands first.

    Examples
    --------
    >>> price = parse_expression("0.8*amount + 12")
    >>> price.columns, price.evaluate({"amount": np.array([10.0, 100.0])}.__getitem__)
    (('amount',), array([20., 92.]))
    """

    text: str
    steps: tuple[Step, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs, in the order in which they are named."""
        return tuple(dict.fromkeys(str(value) for kind, value, _ in self.steps if kind == "column"))

    def evaluate(self, column: Callable[[str], Array]) -> Array:
        """Return the values, given what returns a column by its name."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.fold(
                lambda value: np.asarray(value, dtype=float),
                lambda name: np.asarray(column(name), dtype=float),
                _apply,
            )

    def fold(
        self,
        number: Callable[[float], Value],
        column: Callable[[str], Value],
        operation: Callable[[str, list[Value]], Value],
    ) -> Value:
        """Return what the steps make of numbers, columns and operations, in whatever language."""
        values: list[Value] = []
        for kind, value, n in self.steps:
            if kind == "number":
                values.append(number(float(value)))
            elif kind == "column":
                values.append(column(str(value)))
            else:
                taken = values[len(values) - n :]
                del values[len(values) - n :]
                values.append(operation(str(value), taken))
        return values[0]


def parse_expression(text: str) -> Expression:
    """Read arithmetic of columns.

    Parameters
    ----------
    text : str
        As in ``0.8*amount + 12`` or ``max(5, 0.1 * `loan amount`)``.

    Returns
    -------
    Expression

    Raises
    ------
    ValueError
        If the text is anything else.

    Examples
    --------
    >>> parse_expression("__import__('os')")
    Traceback (most recent call last):
        ...
    ValueError: "__import__('os')" cannot be read as a cost at "('os')": use numbers, columns,
    + - * /, brackets, min, max and abs; put a column that is not a plain word in backticks.
    """
    return Expression(text, tuple(_Parser(text).parse()))


def _apply(name: str, values: list[Array]) -> Array:
    if name in _FUNCTIONS:
        result = values[0]
        for value in values[1:]:
            result = _FUNCTIONS[name](result, value)
        return np.asarray(result)
    if name == "abs":
        return np.abs(values[0])
    if name == "negate":
        return -values[0]
    left, right = values
    if name == "+":
        return left + right
    if name == "-":
        return left - right
    return left * right if name == "*" else left / right


class _Parser:
    """A recursive descent through the text; its depth is limited, and so is its length."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.steps: list[Step] = []

    def parse(self) -> list[Step]:
        if len(self.text) > _LONGEST:
            msg = f"A cost must be written in at most {_LONGEST} characters; got {len(self.text)}."
            raise ValueError(msg)
        self._sum()
        if self.text[self.place :].strip():
            self._refuse()
        return self.steps

    def _refuse(self) -> None:
        rest = self.text[self.place :].strip()
        where = f"at {rest[:40]!r}" if rest else "to its end"
        msg = (
            f"{self.text!r} cannot be read as a cost {where}: use numbers, columns, + - * /, "
            "brackets, min, max and abs; put a column that is not a plain word in backticks."
        )
        raise ValueError(msg)

    def _next(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.place)

    def _mark(self, wanted: str) -> str | None:
        """Take one of these marks if it comes next."""
        found = self._next()
        if found is None or found["mark"] is None or found["mark"] not in wanted:
            return None
        self.place = found.end()
        return found["mark"]

    def _sum(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._refuse()
        self._product()
        while mark := self._mark("+-"):
            self._product()
            self.steps.append(("do", mark, 2))
        self.depth -= 1

    def _product(self) -> None:
        self._signed()
        while mark := self._mark("*/"):
            self._signed()
            self.steps.append(("do", mark, 2))

    def _signed(self) -> None:
        minus = 0
        while mark := self._mark("+-"):
            minus += mark == "-"
        self._atom()
        if minus % 2:
            self.steps.append(("do", "negate", 1))

    def _atom(self) -> None:
        if self._mark("("):
            self._sum()
            if not self._mark(")"):
                self._refuse()
            return
        found = self._next()
        if found is None or found["mark"] is not None:
            self._refuse()
            return
        self.place = found.end()
        if found["number"] is not None:
            self.steps.append(("number", float(found["number"]), 0))
        elif found["name"] in (*_FUNCTIONS, "abs") and self._mark("("):
            self._call(found["name"])
        else:
            self.steps.append(("column", found["quoted"] or found["name"], 0))

    def _call(self, name: str) -> None:
        n = 1
        self._sum()
        while name != "abs" and self._mark(","):
            self._sum()
            n += 1
        if not self._mark(")"):
            self._refuse()
        self.steps.append(("do", name, n))
