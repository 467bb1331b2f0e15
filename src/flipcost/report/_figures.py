"""Figures as SVG, drawn here as they first appear and moved later by the report's script.

The script finds lines, ticks and marks by their classes and sets their shapes by the same rules as
here: the box, the scale of the axis and the number of points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from flipcost.core.arrays import Array
from flipcost.core.confusion import ConfusionCounts, measure, possible_counts

if TYPE_CHECKING:
    from flipcost.audit import Findings


WIDTH, HEIGHT = 534.0, 312.0
LEFT, RIGHT, TOP, BOTTOM = 76.0, 508.0, 14.0, 256.0
_POINTS = 46
_CURVE_POINTS = 91
# Grids of rates are coarse where the posterior is wide: curves are smoothed by this share of the
# axis.
_SMOOTH = 0.045
# Where nothing can be told of rates each point of the grid would show as a hill.
_SMOOTHER = 0.1
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TICKS = 4


def draw_path(payload: dict[str, Any], positive: str) -> Markup:
    """Draw the cost of each model against the assumed error rate, as far as that can be."""
    rate = payload["rate"]
    alpha = payload["costs"][payload["index"]]
    scale = 1000 * payload["priceFp"] / alpha
    grid = np.linspace(0.0, rate["most"][0], _POINTS)
    lines = {
        c["key"]: scale
        * np.array([_cost(c, payload["index"], alpha, _pair(rate, r)) for r in grid])
        for c in payload["candidates"]
    }
    largest = axis_top(shown_height(lines))

    def place(r: Any) -> Any:
        return _across(r, 0.0, rate["axis"])

    low, high = (float(np.clip(rate[k], 0.0, rate["most"][0])) for k in ("low", "high"))
    shade = _box("band", place(low), place(high)) + _box("beyond", place(rate["most"][0]), RIGHT)
    ticks = [(place(r), _percent_tick(r)) for r in _even_ticks(rate["axis"])]
    name = "assumed error rate"
    if not rate["one"]:
        name = f"assumed error rate among true {escape(shorten_label(positive))} rows"
    body = shade + axes(ticks, name, largest) + _lines(lines, place(grid), largest)
    marker = _marker(place(rate["value"][0]))
    return svg("path", "Cost by assumed error rate", body + marker)


def shorten_label(label: str) -> str:
    """Return a label that fits under an axis, in quotation marks.

    Examples
    --------
    >>> shorten_label("yes"), shorten_label("a label that is longer than most")
    ('“yes”', '“a label that is l…”')
    """
    return f"“{label if len(label) <= 18 else label[:17] + '…'}”"


def draw_posterior(result: Findings) -> Markup:
    """Draw how likely each error rate is: if errors are random, or as checked rows leave it."""
    posterior = result.labels.posterior
    sides = (0,) if posterior.is_symmetric else (0, 1)
    limits = np.array([(found.low, found.high) for found in result.labels.errors.rates])
    most = max(0.1, np.ceil(10.5 * max(limits.max(), np.max(result.labels.noise_rate))) / 10)
    most = min(most, 1.0)
    rates, weight = posterior.rates, posterior.weight
    checked = result.n_checked > 0
    if checked and posterior.wide_rates is not None and posterior.wide_weight is not None:
        rates, weight = posterior.wide_rates, posterior.wide_weight

    def place(r: Any) -> Any:
        return _across(r, 0.0, most)

    shapes = []
    for side in sides:
        name = f"density side{side}"
        if result.labels.errors.is_given:
            x = f"{place(rates[0, side]):.1f}"
            shapes.append(f'<line class="{name}" x1="{x}" x2="{x}" y1="{TOP}" y2="{BOTTOM}"/>')
            continue
        smooth = _SMOOTHER if result.state == "no_signal" else _SMOOTH
        grid, density = _density(rates[:, side], weight, most, smooth)
        heights = BOTTOM - 0.92 * (BOTTOM - TOP) * density / density.max()
        points = " ".join(f"{place(r):.1f},{h:.1f}" for r, h in zip(grid, heights, strict=True))
        ends = f"{place(0.0):.1f},{BOTTOM} {points} {place(most):.1f},{BOTTOM}"
        shapes.append(f'<polygon class="{name}" points="{ends}"/>')
    for side in sides:
        low, high = limits[side]
        y = BOTTOM - 6 - 8 * side
        shapes.append(
            f'<line class="limits side{side}" x1="{place(low):.1f}" x2="{place(high):.1f}" '
            f'y1="{y}" y2="{y}"/>'
        )
    ticks = [(place(r), _percent_tick(r)) for r in _even_ticks(most)]
    body = axes(ticks, "share that is mislabelled", None) + "".join(shapes)
    return svg("posterior", "How likely each error rate is", body)


def shown_height(lines: dict[str, Array]) -> float:
    """Return the height that the axis must reach.

    A constant that is far worse than the rest may leave the picture; the rest must not shrink.
    """
    tops = {key: float(np.max(values)) for key, values in lines.items()}
    constants = min(tops["all_positive"], tops["all_negative"])
    others = [top for key, top in tops.items() if not key.startswith("all_")]
    return max([*others, 1.15 * constants])


def axis_top(value: float) -> float:
    """Return the end of an axis of four even steps that holds a value.

    Examples
    --------
    >>> axis_top(730.0), axis_top(0.9)
    (800.0, 1.0)
    """
    if not value > 0:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(value / _TICKS))
    step = next(s for s in _STEPS if s * unit * _TICKS >= value * (1 - 1e-12))
    return float(step * unit * _TICKS)


def _cost(candidate: dict[str, Any], index: int, alpha: float, pair: Any) -> float:
    # Where prices differ by row, rows weigh what they cost, but are counted as rows.
    counts = np.reshape(candidate["counts"][index], (2, 2))
    paid = counts if candidate["paid"] is None else np.reshape(candidate["paid"][index], (2, 2))
    cost = measure(possible_counts(ConfusionCounts(paid, paid), pair), "cost", alpha)
    return float(cost * paid.sum() / counts.sum())


def _pair(rate: dict[str, Any], first: float) -> tuple[float, float]:
    """Return both rates where the first is moved: the second goes along, or stays."""
    return (float(first), float(first if rate["one"] else rate["value"][1]))


def _box(name: str, first: float, last: float) -> str:
    place = f'x="{first:.1f}" y="{TOP}" width="{max(last - first, 1):.1f}"'
    return f'<rect class="{name}" {place} height="{BOTTOM - TOP}"/>'


def _percent_tick(rate: float) -> str:
    return f"{100 * rate:g}%"


def _density(rates: Array, weight: Array, most: float, smooth: float) -> tuple[Array, Array]:
    """Return a smooth curve of the density of a weighted sample, mirrored at nothing."""
    grid = np.linspace(0.0, most, _CURVE_POINTS)
    width = smooth * most
    curve = sum(np.exp(-0.5 * ((grid[:, None] - r) / width) ** 2) @ weight for r in (rates, -rates))
    return grid, np.asarray(curve)


def _even_ticks(most: float) -> Array:
    """Return ticks of an axis of rates from nothing."""
    step = next(s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if most / s <= 6 or s == 0.2)
    return np.arange(0.0, most + 1e-9, step).round(3)


def _across(x: Any, first: float, last: float) -> Any:
    return LEFT + (RIGHT - LEFT) * (x - first) / (last - first)


def _height(values: Array, largest: float) -> Array:
    return BOTTOM - (BOTTOM - TOP) * np.clip(values / largest, -0.2, 1.6)


def _lines(lines: dict[str, Array], across: Array, largest: float) -> str:
    drawn = []
    # The chosen model comes last, on top of the others.
    for place, key in reversed(list(enumerate(lines))):
        best = "" if place else " best"
        heights = _height(lines[key], largest)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
        drawn.append(f'<polyline class="line {escape(key)}{best}" points="{points}"/>')
    return f'<g clip-path="url(#box)">{"".join(drawn)}</g>'


def _marker(x: float) -> str:
    return f'<line class="marker" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}"/>'


def axes(
    ticks: list[tuple[float, str]], name: str, largest: float | None, *, share: bool = False
) -> str:
    """Draw axes: ticks across, a name under them, and four even steps up to the largest."""
    parts = [f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>']
    for x, text in ticks:
        where = f'x="{x:.1f}" y="{BOTTOM + 22}" text-anchor="middle"'
        parts.append(f'<text class="xtick" {where}>{text}</text>')
    middle = (LEFT + RIGHT) / 2
    parts.append(
        f'<text class="name" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{name}</text>'
    )
    if largest is not None:
        for k in range(_TICKS + 1):
            y = BOTTOM - (BOTTOM - TOP) * k / _TICKS
            value = largest * k / _TICKS
            text = f"{100 * value:.0f}%" if share else tick_text(value, largest)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>')
            parts.append(
                f'<text class="ytick" x="{LEFT - 7}" y="{y + 5}" text-anchor="end">{text}</text>'
            )
    return "".join(parts)


def tick_text(value: float, largest: float) -> str:
    """Return a value as an axis says it, which has room for seven signs.

    Examples
    --------
    >>> tick_text(750.0, 1000.0), tick_text(50_000.0, 200_000.0), tick_text(0.0, 2e6)
    ('750', '50 k', '0')
    >>> tick_text(2.5e6, 1e7)
    '2.5 M'
    """
    for unit, sign in ((1e6, " M"), (1e3, " k")):
        if abs(largest) >= max(unit, 1e5) and value:
            return f"{round(value / unit, 10):,.10g}{sign}"
    return f"{round(value, 10) + 0.0:,.10g}"


def svg(name: str, title: str, body: str) -> Markup:
    """Return a picture of the usual size."""
    box = f"0 0 {WIDTH:g} {HEIGHT:g}"
    about = f'id="{name}" viewBox="{box}" role="img" aria-label="{title}"'
    return Markup(f"<svg {about}>{body}</svg>")  # noqa: S704 - numbers and words of our own
