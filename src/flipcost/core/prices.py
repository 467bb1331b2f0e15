r"""What each row's mistakes cost, when that is not the same for all.

Calling a row positive rather than negative saves :math:`a = fn - tp` if it is positive and costs
:math:`b = fp - tn` if it is not. With the clean probability :math:`\eta` that is expected to save

.. math::

    g = a\,\eta - b\,(1 - \eta),

so that a row is best called positive where :math:`g > 0`: where its probability exceeds a threshold
of its own, :math:`b / (a + b)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core.arrays import Array


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of the four outcomes of each row, checked.

    Parameters
    ----------
    fn, fp, tp, tn : ndarray of shape (n,)
        What each row costs if it is missed, a false alarm, rightly called or rightly not.

    Examples
    --------
    >>> prices = Prices(np.array([100.0, 2.0]), np.array([5.0, 5.0]))
    >>> prices.threshold.round(3), prices.gain([0.1, 0.1])
    (array([0.048, 0.714]), array([ 5.5, -4.3]))
    """

    fn: Array
    fp: Array
    tp: Array | None = None
    tn: Array | None = None

    def __post_init__(self) -> None:
        n = len(self.fn)
        for name in ("fn", "fp", "tp", "tn"):
            given = getattr(self, name)
            values = np.zeros(n) if given is None else np.asarray(given, dtype=float)
            if values.shape != (n,):
                msg = f"`{name}` must have a price for each of the {n} rows; got {values.shape}."
                raise ValueError(msg)
            _check(values, name)
            object.__setattr__(self, name, values)
        odd = np.flatnonzero((self.miss < 0) & (self.alarm < 0))
        if len(odd):
            msg = (
                "On each row a mistake must cost more than the right decision, if not both then "
                f"one: `fn` > `tp` or `fp` > `tn`; row {int(odd[0]) + 1} has neither."
            )
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.fn)

    @property
    def miss(self) -> Array:
        """What missing a positive row costs more than calling it."""
        return np.asarray(self.fn - _given(self.tp))

    @property
    def alarm(self) -> Array:
        """What calling a negative row costs more than not calling it."""
        return np.asarray(self.fp - _given(self.tn))

    @property
    def threshold(self) -> Array:
        """Probability above which a call pays: 1 where it never does, 0 where it always does."""
        both = np.maximum(self.miss, 0) + np.maximum(self.alarm, 0)
        share = np.ones(len(self))
        return np.asarray(np.divide(np.maximum(self.alarm, 0), both, out=share, where=both > 0))

    def gain(self, probability: ArrayLike) -> Array:
        """Return what calling each row positive is expected to save.

        Parameters
        ----------
        probability : array-like of shape (n,) or (..., n)
            Probability that the clean label is positive.
        """
        eta = np.asarray(probability, dtype=float)
        return np.asarray(self.miss * eta - self.alarm * (1 - eta))

    def paid(self, positive: ArrayLike, called: ArrayLike) -> Array:
        """Return what each row costs above its right decision, given labels and calls.

        Examples
        --------
        >>> Prices(np.array([9.0, 8.0]), np.array([1.0, 2.0])).paid([True, False], [False, True])
        array([9., 2.])
        """
        labels, calls = np.asarray(positive, dtype=bool), np.asarray(called, dtype=bool)
        return np.where(labels, np.where(calls, 0.0, self.miss), np.where(calls, self.alarm, 0.0))

    def take(self, rows: NDArray[Any] | slice) -> Prices:
        """Return the prices of some rows."""
        parts = (_given(part)[rows] for part in (self.fn, self.fp, self.tp, self.tn))
        return Prices(*parts)

    def scaled(self, factor: float) -> Prices:
        """Return the same with misses that cost this many times as much.

        Examples
        --------
        >>> Prices(np.array([9.0]), np.array([1.0])).scaled(2.0).fn
        array([18.])
        """
        tp = _given(self.tp)
        return Prices(tp + factor * self.miss, self.fp, tp, self.tn)

    def relative(self, sample_weight: ArrayLike | None = None) -> Prices:
        """Return what mistakes cost in units of what both cost together on an average row.

        Losses weighed by these do not depend on the currency, and where prices are the same for all
        rows they are the shares of one price. Where a mistake pays it counts as free.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.

        Examples
        --------
        >>> found = Prices(np.array([40.0, 8.0]), np.array([10.0, 2.0])).relative()
        >>> found.fn.round(4), found.fp.round(4)
        (array([1.3333, 0.2667]), array([0.3333, 0.0667]))
        """
        miss, alarm = np.maximum(self.miss, 0.0), np.maximum(self.alarm, 0.0)
        weight = np.ones(len(self)) if sample_weight is None else np.asarray(sample_weight, float)
        if not (weight @ miss > 0 and weight @ alarm > 0):
            msg = (
                "On some rows a miss must cost something, and on some a false alarm; here one of "
                "the two is free on all, and one answer is best for every row."
            )
            raise ValueError(msg)
        unit = float(weight @ (miss + alarm) / weight.sum())
        return Prices(miss / unit, alarm / unit)

    def mean(self, sample_weight: ArrayLike | None = None) -> tuple[float, float]:
        """Return the mean price of a miss and of a false alarm.

        Examples
        --------
        >>> Prices(np.array([9.0, 7.0]), np.array([1.0, 1.0])).mean()
        (8.0, 1.0)
        """
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        parts = (np.average(part, weights=weight) for part in (self.miss, self.alarm))
        miss, alarm = (float(part) for part in parts)
        return miss, alarm

    def table(self) -> Array:
        """Return the prices as an array of shape (n, 4), to be routed as metadata."""
        return np.column_stack([_given(p) for p in (self.fn, self.fp, self.tp, self.tn)])


def read_prices(given: object, n_rows: int) -> Prices:
    """Return prices that came as an array of two or four columns, or as a frame of named ones.

    Parameters
    ----------
    given : array-like of shape (n, 2) or (n, 4), or frame
        Prices ``fn, fp`` or ``fn, fp, tp, tn`` of each row; a frame has these names.
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
        parts = [given[name] if name in list(names) else 0.0 for name in ("fn", "fp", "tp", "tn")]  # type: ignore[index]
        columns = [np.broadcast_to(np.asarray(part, dtype=float), n_rows) for part in parts]
        return Prices(*columns)
    values = np.asarray(given, dtype=float)
    if values.ndim != 2 or values.shape[0] != n_rows or values.shape[1] not in (2, 4):
        msg = (
            f"`prices` must have a row fn, fp (and tp, tn) for each of the {n_rows} rows; got "
            f"shape {values.shape}."
        )
        raise ValueError(msg)
    return Prices(*values.T)


def _given(values: Array | None) -> Array:
    # Set by __post_init__ whenever it was not given.
    assert values is not None  # noqa: S101
    return values


def _check(values: Array, name: str) -> None:
    """Refuse a price that is missing, or less than nothing where it is one of a mistake."""
    bad = ~np.isfinite(values)
    what = "missing, or no number"
    if name in ("fn", "fp") and not bad.any():
        bad, what = values < 0, "negative"
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        msg = (
            f"`{name}` must be a price of at least 0 on every row; it is {what} on "
            f"{int(bad.sum())} of {len(values)}, first on row {row + 1}."
        )
        raise ValueError(msg)
