"""Decisions beyond one cost for all rows: limited capacity, costs in a range, segments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.clean_means import cost_sums, saving_sums
from flipcost.core.confusion import Interval, clip_interval
from flipcost.core.costs import RowCosts
from flipcost.core.curves import BandCurve, price_curve
from flipcost.core.decision import bayes_flags, decide
from flipcost.core.gains import (
    MEASURES,
    Capacity,
    GainsCurve,
    gains_curve,
    group_sizes,
    read_capacity,
    usual_depths,
)
from flipcost.core.segments import Segment, segment_figures
from flipcost.exceptions import TableError
from flipcost.tables.arrow import as_text, take_column
from flipcost.tables.columns import describe_column
from flipcost.tables.encoder import Column
from flipcost.tables.roles import row_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.audit._fit import AuditData
    from flipcost.audit._models import Candidate
    from flipcost.core.arrays import Array, Flags, Indices

# Of more segments the smallest are shown together.
_MOST_SEGMENTS = 50
_NO_NAME = "(missing)"
# A column of more different numbers than this is cut into ranges of as many rows each.
_MOST_NUMBERS, _RANGES = 12, 5
# Costs at which a range is looked at.
_RANGE_POINTS = 41
_NOTHING = Interval(0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class FlaggedRows:
    """What flagging the best rows brings within a capacity.

    Attributes
    ----------
    group : str or None
        The group that the capacity is for; None for the table.
    n_rows, n_flagged : int
        Rows of it, and those among them that are flagged.
    precision, recall, lift, profit : Interval
        On clean labels. The profit is money for all flagged rows together.
    """

    group: str | None
    n_rows: int
    n_flagged: int
    precision: Interval = _NOTHING
    recall: Interval = _NOTHING
    lift: Interval = _NOTHING
    profit: Interval = _NOTHING


@dataclass(frozen=True, eq=False)
class RangeFound:
    """What a cost in a range means for the decision.

    Attributes
    ----------
    name : str
        ``fn`` or ``fp``.
    low, middle, high : float
        Ends and middle of the range.
    cost : tuple of Interval
        Clean cost of a row at the low end, the middle and the high end, if decided for the middle.
    regret : tuple of Interval
        What deciding for that end instead would have saved a row, at the low end and at the high.
    changes : tuple of float
        Share of the rows whose decision would be another at each end.
    switch : float or None
        The cost in the range from which on another answer is chosen: a constant in place of the
        rule, or the rule in place of a constant.
    switch_to : str
        What is chosen beyond it.
    turns : tuple of (float, float, str)
        Where the answer turns: the costs between which it does, which are the same unless two
        answers cost so nearly the same there that it turns back and forth, and what is chosen
        beyond.
    """

    name: str
    low: float
    middle: float
    high: float
    cost: tuple[Interval, Interval, Interval]
    regret: tuple[Interval, Interval]
    changes: tuple[float, float]
    switch: float | None
    switch_to: str
    turns: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Decisions:
    """What an audit says of decisions beyond one cost for all rows.

    Attributes
    ----------
    curve : GainsCurve
        What flagging the best rows brings at every depth.
    price : BandCurve
        The cost of a row in money, at every cost ratio of the grid.
    capacity : str or None
        How many rows can be flagged, in words.
    flagged : list of FlaggedRows
        What that brings, in all or by group.
    by : str or None
        The column whose segments were looked at.
    segments : list of Segment
        Its segments, the one with most label errors first.
    ranges : list of RangeFound
        Costs that are not known exactly.
    """

    curve: GainsCurve
    price: BandCurve
    capacity: str | None
    flagged: list[FlaggedRows]
    by: str | None
    segments: list[Segment]
    ranges: list[RangeFound]


def more_decisions(data: AuditData, best: Candidate, grid: Array) -> Decisions:
    """Answer what was asked of capacity, cost ranges and segments, by the best model.

    `grid` has the shares of the cost that a false alarm bears.
    """
    rows, options = data.rows, data.options
    words, flagged = None, []
    capacity = read_capacity(options.capacity, options.capacity_by)
    if capacity is not None:
        flagged = _within(data, capacity)
        words = str(capacity)
        if isinstance(capacity, dict):
            words = ", ".join(f"{name}: {one}" for name, one in capacity.items())
        elif options.capacity_by is not None:
            words += f" of each {options.capacity_by}"
    # The picture stops at the capacity.
    asked = sum(one.n_flagged for one in flagged) / sum(data.counts)
    known = (rows.positive, data.classifier.oof_probability_)
    share = data.classifier.cost_share_
    factors = (1 - grid) / grid / ((1 - share) / share)
    return Decisions(
        gains_curve(
            *known,
            data.money,
            data.if_random,
            rows.weight,
            depths=usual_depths(len(rows.positive), *([asked] if asked > 0 else [])),
            design=data.design,
            level=rows.level,
        ),
        price_curve(
            *known, data.money, data.if_random, factors, rows.weight, rows.level, data.design
        ),
        words,
        flagged,
        options.by,
        _segments(data, best),
        [_range(data, name) for name in options.prices.ranges],
    )


def names_of(frame: Any, column: str, where: str) -> NDArray[Any]:
    """Return the values of a column as names of groups."""
    text = as_text(take_column(frame, column, where), column, "names of groups")
    return np.array([_NO_NAME if name is None else name for name in text.to_pylist()], dtype=object)


def segment_names(frame: Any, column: str, where: str) -> NDArray[Any]:
    """Return the values of a column as names of segments; many numbers as ranges of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = segment_names(pa.table({"age": list(range(20, 80))}), "age", "a.csv")
    >>> found[[0, 30, 59]].tolist()
    ['20 to 31', '44 to 55', '68 to 79']
    """
    cells = take_column(frame, column, where)
    about = describe_column(column, cells)
    if about["kind"] != "number":
        return names_of(frame, column, where)
    values = Column(column, "number", about.get("format")).read(cells)[:, 0]
    known = np.isfinite(values) & np.asarray(cells.is_valid())
    if len(np.unique(values[known])) <= _MOST_NUMBERS:
        return names_of(frame, column, where)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, _RANGES + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="left")
    names = np.full(len(values), _NO_NAME, dtype=object)
    for part in np.unique(place[known]):
        inside = known & (place == part)
        low, high = values[inside].min(), values[inside].max()
        names[inside] = f"{low:g} to {high:g}"
    return names


def _within(data: AuditData, capacity: Capacity | dict[str, Capacity]) -> list[FlaggedRows]:
    """Return what flagging within a capacity brings."""
    rows, by = data.rows, data.options.capacity_by
    names, counts = np.full(len(rows.positive), ""), {"": sum(data.counts)}
    if by is not None:
        names = names_of(rows.frame, by, data.source.name)
        counts = _rows_of_each(data, names)
    return [
        _flagged(data, by and name, np.flatnonzero(names == name), counts[name], size)
        for name, size in group_sizes(capacity, counts).items()
        if size
    ]


def _rows_of_each(data: AuditData, names: NDArray[Any]) -> dict[str, int]:
    """Return the rows of the table of each name."""
    stands_for = data.rows.stands_for
    return {str(name): round(stands_for[names == name].sum()) for name in np.unique(names)}


def _flagged(
    data: AuditData, group: str | None, places: Indices, n_rows: int, size: int
) -> FlaggedRows:
    """Return what flagging the best rows of a group brings."""
    rows, eta = data.rows, data.classifier.oof_probability_[places]
    weight = None if rows.weight is None else rows.weight[places]
    costs = data.money.take(places)
    pays = float(np.average(costs.gain(eta) > 0, weights=weight))
    depth = min(size / n_rows, pays)
    n_flagged = round(depth * n_rows)
    if n_flagged < 1:
        return FlaggedRows(group, n_rows, 0)
    curve = gains_curve(
        rows.positive[places],
        eta,
        costs,
        data.if_random,
        weight,
        depths=[depth],
        design=data.design,
        level=rows.level,
    )
    scale = {name: n_rows if name == "profit" else 1 for name in MEASURES}
    found = {
        name: Interval(*(scale[name] * float(x) for x in curve.clean[name][0])) for name in MEASURES
    }
    return FlaggedRows(group, n_rows, n_flagged, **found)


def _segments(data: AuditData, best: Candidate) -> list[Segment]:
    """Return what holds of each segment of the table, if segments were asked for."""
    by, rows = data.options.by, data.rows
    if by is None:
        return []
    names = segment_names(rows.frame, by, data.source.name)
    found, counts = np.unique(names.astype(str), return_counts=True)
    if len(found) < 2:
        msg = f"Column {by!r} has one value throughout; `by` needs at least two."
        raise TableError(msg)
    if len(found) > _MOST_SEGMENTS:
        kept = set(found[np.argsort(-counts, kind="stable")[: _MOST_SEGMENTS - 1]].tolist())
        names = np.array([n if n in kept else "(all others)" for n in names], dtype=object)
    segments = segment_figures(
        names,
        rows.positive,
        data.classifier.clean_probability(data.classifier.oof_probability_),
        best.flagged,
        data.money,
        data.if_random,
        rows.weight,
        design=data.design,
        level=rows.level,
    )
    n_rows = _rows_of_each(data, names)
    return [replace(one, n_rows=n_rows[one.name]) for one in segments]


def _range(data: AuditData, name: str) -> RangeFound:
    """Return what a cost in a range means, other ranges at their middle."""
    rows, costs, posterior = data.rows, data.options.prices, data.if_random
    found, eta = costs.ranges[name], data.classifier.oof_probability_
    ends = (found.low, found.middle, found.high)

    def costs_at(price: float) -> RowCosts:
        at = replace(costs.middle, **{name: price})
        by_row = row_prices(at, rows.frame, data.source.name)
        return at.by_row() if by_row is None else by_row

    def answer(price: float) -> Any:
        return decide(
            rows.positive, eta, costs_at(price), posterior, rows.weight,
            checked=rows.checked, level=rows.level,
        )  # fmt: skip

    flags = [bayes_flags(eta, costs_at(price), answer(price).chosen) for price in ends]
    middle, unit = flags[1], data.options.unit

    def cost_of_middle(price: float) -> Interval:
        at = costs_at(price)
        sums = cost_sums(rows.positive, middle, at, rows.weight)
        paid = sums.thinned(rows.design(middle, at, posterior)).mean(posterior, rows.level)
        return paid.times(1 / unit)

    def regret(price: float, best: Flags) -> Interval:
        at = costs_at(price)
        sums = saving_sums(rows.positive, best, middle, at, rows.weight)
        design = rows.design(best, at, posterior, middle)
        saved = sums.thinned(design).mean(posterior, rows.level)
        # Knowing the cost is never worse: one may still do as at the middle.
        limits = clip_interval(saved.value, saved.low, saved.high, least=0.0)
        return Interval(*limits).times(1 / unit)

    def changed(best: Flags) -> float:
        return float(np.average(best != middle, weights=rows.weight))

    grid = np.linspace(found.low, found.high, _RANGE_POINTS)
    chosen = [answer(float(price)).chosen for price in grid]
    turns = _turns(grid, chosen)
    return RangeFound(
        name,
        *ends,
        (cost_of_middle(ends[0]), cost_of_middle(ends[1]), cost_of_middle(ends[2])),
        (regret(ends[0], flags[0]), regret(ends[2], flags[2])),
        (changed(flags[0]), changed(flags[2])),
        turns[0][0] if turns else None,
        turns[0][2] if turns else chosen[-1],
        turns,
    )


def _turns(grid: Array, chosen: Sequence[str]) -> tuple[tuple[float, float, str], ...]:
    """Return the prices at which the answer changes; going back and forth between two counts once.

    Examples
    --------
    >>> _turns(np.arange(5.0), ["rule", "all_positive", "rule", "all_positive", "all_positive"])
    ((0.5, 2.5, 'all_positive'),)
    """
    found: list[tuple[float, float, str]] = []
    between: set[str] = set()
    for k in range(1, len(grid)):
        if chosen[k] == chosen[k - 1]:
            continue
        price, both = float((grid[k - 1] + grid[k]) / 2), {chosen[k - 1], chosen[k]}
        first = found.pop()[0] if found and both == between else price
        found.append((first, price, chosen[k]))
        between = both
    return tuple(found)
