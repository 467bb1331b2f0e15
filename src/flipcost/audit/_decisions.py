"""Decisions as people make them: so many calls, prices in a range, parts of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.audit._judge import likely_posterior
from flipcost.core.capacity import Capacity, group_sizes, read_capacities
from flipcost.core.clean_means import cost_sums, saving_sums
from flipcost.core.confusion import Interval
from flipcost.core.costs import RowCosts
from flipcost.core.curves import BandCurve, net_benefit_curve, price_curve
from flipcost.core.decision import bayes_calls, decide
from flipcost.core.feasible import possible_limits
from flipcost.core.gains import MEASURES, DepthCurve, depth_curve, usual_depths
from flipcost.core.segments import Segment, segment_figures
from flipcost.exceptions import TableError
from flipcost.tables.arrow import as_text, take_column
from flipcost.tables.columns import describe_column
from flipcost.tables.encoder import Column
from flipcost.tables.roles import row_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.audit._candidates import Candidate
    from flipcost.audit._rows import Audited
    from flipcost.core.noise_posterior import RatePosterior
    from flipcost.estimators import FlipCostClassifier

# Parts of fewer rows than this are too many to tell apart, and are shown together.
_MOST_SEGMENTS = 50
_NO_NAME = "(missing)"
# A column of more different numbers than this is cut into ranges of as many rows each.
_MOST_NUMBERS, _RANGES = 12, 5
# Prices at which a range is looked at.
_RANGE_POINTS = 41


@dataclass(frozen=True, eq=False)
class Called:
    """What calling the best rows brings within a capacity.

    Attributes
    ----------
    group : str or None
        The group that the capacity is for; None for the table.
    n_rows, n_called : int
        Rows of it, and those among them that are called.
    precision, recall, lift, profit : Interval
        On clean labels. The profit is money for all called rows together.
    """

    group: str | None
    n_rows: int
    n_called: int
    precision: Interval
    recall: Interval
    lift: Interval
    profit: Interval


@dataclass(frozen=True, eq=False)
class RangeFound:
    """What a price in a range means for the decision.

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
        Share of the rows whose call would be another at each end.
    switch : float or None
        The price in the range from which on another answer is chosen: a constant in place of the
        rule, or the rule in place of a constant.
    switch_to : str
        What is chosen beyond it.
    turns : tuple of (float, float, str)
        Where the answer turns: the prices between which it does, which are the same unless two
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
    """What an audit says of decisions beyond the one price.

    Attributes
    ----------
    curve : DepthCurve
        What calling the best rows brings at every depth.
    benefit, price : BandCurve
        Net benefit, and the cost of a row in money, at every price ratio of the grid.
    capacity : str or None
        How many rows can be called, in words.
    called : list of Called
        What that brings, in all or by group.
    by : str or None
        The column whose parts were looked at.
    segments : list of Segment
        Its parts, the noisiest labels first.
    ranges : list of RangeFound
        Prices that are not known exactly.
    """

    curve: DepthCurve
    benefit: BandCurve
    price: BandCurve
    capacity: str | None
    called: list[Called]
    by: str | None
    segments: list[Segment]
    ranges: list[RangeFound]


def more_decisions(
    rows: Audited, classifier: FlipCostClassifier, best: Candidate, costs: NDArray[np.float64]
) -> Decisions:
    """Return what holds beyond one price and all rows.

    Parameters
    ----------
    rows : Audited
        What was read and asked.
    classifier : FlipCostClassifier
        Fitted.
    best : Candidate
        The winner, whose calls parts are judged by.
    costs : ndarray
        The grid of costs.
    """
    judged, options = rows.judged, rows.options
    posterior = likely_posterior(classifier, measured=judged.checked is not None)
    prices = judged_prices(rows)
    design = _design(rows, classifier, prices, posterior)
    said, called = None, []
    if options.capacity is not None:
        capacity = read_capacities(options.capacity)
        called = _within(rows, classifier, capacity, prices, posterior)
        said = ", ".join(
            f"{name}: {one}" for name, one in capacity.items()
        ) if isinstance(capacity, dict) else str(capacity)  # fmt: skip
        if options.capacity_by is not None and not isinstance(capacity, dict):
            said += f" of each {options.capacity_by}"
    # The picture stops where so many rows are called as can be.
    asked = sum(one.n_called for one in called) / sum(rows.counts)
    depths = usual_depths(len(judged.positive), *([asked] if asked > 0 else []))
    curve = depth_curve(
        judged.positive,
        classifier.oof_probability_,
        prices,
        posterior,
        judged.weight,
        depths=depths,
        design=design,
        level=options.level,
    )
    known = (judged.positive, classifier.oof_probability_)
    ratios = (1 - costs) / costs
    share = classifier.cost_share_
    return Decisions(
        curve,
        net_benefit_curve(*known, posterior, costs, judged.weight, options.level, design),
        price_curve(
            *known,
            prices,
            posterior,
            ratios / ((1 - share) / share),
            judged.weight,
            options.level,
            design,
        ),
        said,
        called,
        options.by,
        _segments(rows, classifier, best, prices, posterior),
        _ranges(rows, classifier, posterior),
    )


def _design(
    rows: Audited, classifier: FlipCostClassifier, prices: RowCosts, posterior: RatePosterior
) -> float:
    """Return for how many rows one counts: in the rates, or in what the rule costs if in more."""
    called = bayes_calls(classifier.oof_probability_, prices)
    in_costs = rows.judged.design_of(called, prices, posterior, rows.options.level)
    return max(1.0, len(rows.judged.positive) / classifier.n_effective_, in_costs)


def judged_prices(rows: Audited) -> RowCosts:
    """Return the costs of the judged rows in money."""
    prices = rows.judged.prices
    return RowCosts(*rows.options.prices.extra) if prices is None else prices


def names_of(frame: Any, column: str, where: str) -> NDArray[Any]:
    """Return the values of a column as names of groups."""
    text = as_text(take_column(frame, column, where), column, "names of groups")
    return np.array([_NO_NAME if name is None else name for name in text.to_pylist()], dtype=object)


def parts_of(frame: Any, column: str, where: str) -> NDArray[Any]:
    """Return the values of a column as names of segments; many numbers as ranges of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = parts_of(pa.table({"age": list(range(20, 80))}), "age", "a.csv")
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


def _within(
    rows: Audited,
    classifier: FlipCostClassifier,
    capacity: Capacity | dict[str, Capacity],
    prices: RowCosts,
    posterior: RatePosterior,
) -> list[Called]:
    """Return what calling within a capacity brings."""
    judged, by = rows.judged, rows.options.capacity_by
    n_rows = sum(rows.counts)
    everything = np.arange(len(judged.positive))
    if by is None:
        if isinstance(capacity, dict):
            msg = "`capacity` by group needs the groups: name their column as `capacity_by`."
            raise TableError(msg)
        size = _of(capacity, n_rows)
        return [_called(rows, classifier, prices, posterior, None, everything, n_rows, size)]
    names = names_of(judged.frame, by, rows.name)
    stands = judged.stands_for
    scale = np.ones(len(names)) if stands is None else stands
    counts = {str(n): round(float(scale[names == n].sum())) for n in np.unique(names)}
    try:
        sizes = group_sizes(capacity, counts)
    except ValueError as error:
        raise TableError(str(error)) from error
    parts = [
        (name, np.flatnonzero(names == name), counts[name], size)
        for name, size in sizes.items()
        if size
    ]
    return [_called(rows, classifier, prices, posterior, *part) for part in parts]


def _of(capacity: Capacity, n_rows: int) -> int:
    try:
        return capacity.of(n_rows)
    except ValueError as error:
        raise TableError(str(error)) from error


def _called(
    rows: Audited,
    classifier: FlipCostClassifier,
    prices: RowCosts,
    posterior: RatePosterior,
    group: str | None,
    places: NDArray[np.intp],
    n_rows: int,
    size: int,
) -> Called:
    judged, eta = rows.judged, classifier.oof_probability_[places]
    weight = None if judged.weight is None else judged.weight[places]
    own = prices.take(places)
    pays = float(np.average(own.gain(eta) > 0, weights=weight))
    depth = min(size / n_rows, pays)
    n_called = round(depth * n_rows)
    nothing = Interval(0.0, 0.0, 0.0)
    if n_called < 1:
        return Called(group, n_rows, 0, nothing, nothing, nothing, nothing)
    curve = depth_curve(
        judged.positive[places],
        eta,
        own,
        posterior,
        weight,
        depths=[depth],
        design=_design(rows, classifier, prices, posterior),
        level=rows.options.level,
    )
    found = {name: Interval(*(float(x) for x in curve.clean[name][0])) for name in MEASURES}
    profit = found["profit"]
    total = Interval(n_rows * profit.value, n_rows * profit.low, n_rows * profit.high)
    return Called(
        group, n_rows, n_called, found["precision"], found["recall"], found["lift"], total
    )


def _segments(
    rows: Audited,
    classifier: FlipCostClassifier,
    best: Candidate,
    prices: RowCosts,
    posterior: RatePosterior,
) -> list[Segment]:
    """Return what holds of each part of the table, if parts were asked for."""
    by, judged = rows.options.by, rows.judged
    if by is None:
        return []
    names = parts_of(judged.frame, by, rows.name)
    found, counts = np.unique(names.astype(str), return_counts=True)
    if len(found) < 2:
        msg = f"Column {by!r} has one value throughout; `by` needs at least two."
        raise TableError(msg)
    if len(found) > _MOST_SEGMENTS:
        kept = set(found[np.argsort(-counts, kind="stable")[: _MOST_SEGMENTS - 1]].tolist())
        names = np.array([n if n in kept else "(all others)" for n in names], dtype=object)
    segments = segment_figures(
        names,
        judged.positive,
        classifier.oof_probability_,
        best.called,
        prices,
        posterior,
        judged.weight,
        design=_design(rows, classifier, prices, posterior),
        level=rows.options.level,
    )
    if judged.stands_for is None:
        return segments
    scale = {str(n): float(judged.stands_for[names == n].sum()) for n in np.unique(names)}
    return [replace(s, n_rows=scale[s.name]) for s in segments]


def _ranges(
    rows: Audited, classifier: FlipCostClassifier, posterior: RatePosterior
) -> list[RangeFound]:
    """Return what prices in ranges mean, each with the others at their middle."""
    costs = rows.options.prices
    return [_range(rows, classifier, posterior, name) for name in costs.ranges]


def _range(
    rows: Audited, classifier: FlipCostClassifier, posterior: RatePosterior, name: str
) -> RangeFound:
    judged, costs = rows.judged, rows.options.prices
    found, eta = costs.ranges[name], classifier.oof_probability_
    ends = (found.low, found.middle, found.high)

    def prices_at(price: float) -> RowCosts:
        at = replace(costs.middle, **{name: price})
        by_row = row_prices(at, judged.frame, rows.name)
        return at.by_row() if by_row is None else by_row

    def answer(price: float) -> Any:
        return decide(
            judged.positive, eta, prices_at(price), posterior, judged.weight,
            checked=judged.checked, level=rows.options.level,
        )  # fmt: skip

    decided = [answer(price) for price in ends]
    calls = [bayes_calls(eta, prices_at(p), d.chosen) for p, d in zip(ends, decided, strict=True)]
    grid = np.linspace(found.low, found.high, _RANGE_POINTS)
    chosen = [answer(float(price)).chosen for price in grid]
    middle, level = calls[1], rows.options.level
    regrets = []
    for price, other in ((ends[0], calls[0]), (ends[2], calls[2])):
        at = prices_at(price)
        sums = saving_sums(judged.positive, other, middle, at, judged.weight)
        design = judged.design_of(other, at, posterior, level, middle)
        saved = sums.thinned(design).mean(posterior, level)
        # Whoever knows the price may still do as at the middle: it never costs.
        regrets.append(Interval(*possible_limits(saved.value, saved.low, saved.high, least=0.0)))
    unit = rows.options.unit
    paid = []
    for price in ends:
        at = prices_at(price)
        sums = cost_sums(judged.positive, middle, at, judged.weight)
        design = judged.design_of(middle, at, posterior, level)
        paid.append(sums.thinned(design).mean(posterior, level))
    scaled = [Interval(i.value / unit, i.low / unit, i.high / unit) for i in (*paid, *regrets)]
    different = [
        float(np.average(c != middle, weights=judged.weight)) for c in (calls[0], calls[2])
    ]
    turns = _turns(grid, chosen)
    return RangeFound(
        name,
        *ends,
        (scaled[0], scaled[1], scaled[2]),
        (scaled[3], scaled[4]),
        (different[0], different[1]),
        turns[0][0] if turns else None,
        turns[0][2] if turns else chosen[-1],
        turns,
    )


def _turns(
    grid: NDArray[np.float64], chosen: Sequence[str]
) -> tuple[tuple[float, float, str], ...]:
    """Return where answers turn along prices; turns back and forth between two are one.

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
