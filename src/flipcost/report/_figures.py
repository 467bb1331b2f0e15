"""Figures as SVG, drawn here as they first appear and moved later by the report's script.

The script finds lines, ticks and marks by their classes and sets their shapes by the same rules as
here: the box, the scale of the axis and the number of points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape
from scipy.interpolate import PchipInterpolator

from flipcost.core.arrays import Array
from flipcost.core.confusion import ConfusionCounts

if TYPE_CHECKING:
    from flipcost.audit import AuditResult


WIDTH, HEIGHT = 520.0, 310.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 508.0, 14.0, 256.0
_POINTS = 46
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TICKS = 4


def draw_path(payload: dict[str, Any]) -> Markup:
    """Draw the cost of each candidate against the assumed noise rate."""
    rate = payload["rate"]
    alpha = payload["costs"][payload["index"]]
    scale = 1000 * payload["priceFp"] / alpha
    grid = np.linspace(rate["least"], rate["most"], _POINTS)
    lines = {
        c["key"]: scale * np.array([_cost(c, payload["index"], alpha, r, rate) for r in grid])
        for c in payload["candidates"]
    }
    largest = axis_top(shown_height(lines))

    def place(r: Any) -> Any:
        return _across(r, rate["least"], rate["most"])

    low, high = (float(np.clip(rate[k], rate["least"], rate["most"])) for k in ("low", "high"))
    band = (
        f'<rect class="band" x="{place(low):.1f}" y="{TOP}" '
        f'width="{max(place(high) - place(low), 1):.1f}" height="{BOTTOM - TOP}"/>'
    )
    ticks = [(place(r), f"{r:g}") for r in (0.0, 0.1, 0.2, 0.3, 0.4) if r >= rate["least"]]
    marker = _marker(place(min(max(rate["value"], rate["least"]), rate["most"])))
    body = band + _axes(ticks, "assumed noise rate", largest) + _lines(lines, place(grid), largest)
    return _svg("path", "Cost against the assumed noise rate", body + marker)


def draw_curve(payload: dict[str, Any]) -> Markup:
    """Draw the cost of each candidate, relative to the better constant, against the cost ratio."""
    costs = np.array(payload["costs"])
    rate = payload["rate"]
    lines = {c["key"]: np.empty(len(costs)) for c in payload["candidates"]}
    for k, alpha in enumerate(costs):
        values = {c["key"]: _cost(c, k, alpha, rate["value"], rate) for c in payload["candidates"]}
        base = max(min(values["all_positive"], values["all_negative"]), 1e-9)
        for key, value in values.items():
            lines[key][k] = value / base
    across = -np.log2((1 - costs) / costs)

    def place(x: Any) -> Any:
        return _across(x, across[0], across[-1])

    reach = int(np.floor(across[-1]))
    marks = [m for m in range(-reach, reach + 1) if m % 2 == reach % 2 or m == 0]
    marks = [m for m in marks if m == 0 or abs(m) >= 2]
    ticks = [(place(m), f"{2**-m}:1" if m < 0 else f"1:{2**m}") for m in marks]
    body = _axes(ticks, "price of a miss : price of a false alarm", 1.6, share=True)
    body += _lines(lines, place(across), 1.6) + _marker(place(across[payload["index"]]))
    return _svg("curve", "Cost relative to the better constant, against the cost ratio", body)


def draw_posterior(result: AuditResult) -> Markup:
    """Draw how likely each noise rate is."""
    posterior = result.posterior
    sides = (0,) if posterior.is_symmetric else (0, 1)
    most = 0.5 if posterior.is_symmetric else max(0.5, float(posterior.rates.max()))

    def place(r: Any) -> Any:
        return _across(r, 0.0, most)

    shapes = []
    for side in sides:
        rates, density = _density(posterior.rates[:, side], posterior.weight)
        name = f"density side{side}"
        if len(rates) == 1:
            x = f"{place(rates[0]):.1f}"
            shapes.append(f'<line class="{name}" x1="{x}" x2="{x}" y1="{TOP}" y2="{BOTTOM}"/>')
            continue
        heights = BOTTOM - 0.92 * (BOTTOM - TOP) * density / density.max()
        points = " ".join(f"{place(r):.1f},{h:.1f}" for r, h in zip(rates, heights, strict=True))
        ends = f"{place(rates[0]):.1f},{BOTTOM} {points} {place(rates[-1]):.1f},{BOTTOM}"
        shapes.append(f'<polygon class="{name}" points="{ends}"/>')
    limits = np.reshape(result.noise_interval, (-1, 2))
    for side, (low, high) in enumerate(limits):
        y = BOTTOM - 6 - 8 * side
        shapes.append(
            f'<line class="limits side{side}" x1="{place(low):.1f}" x2="{place(high):.1f}" '
            f'y1="{y}" y2="{y}"/>'
        )
    ticks = [(place(r), f"{r:g}") for r in np.arange(0, most + 1e-9, 0.1).round(1)]
    body = _axes(ticks, "noise rate", None) + "".join(shapes)
    return _svg("posterior", "How likely each noise rate is", body)


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


def _cost(
    candidate: dict[str, Any], index: int, alpha: float, rate: float, about: dict[str, float]
) -> float:
    counts = np.reshape(candidate["counts"][index], (2, 2))
    pair = (rate + about["gap"] / 2, rate - about["gap"] / 2)
    table = ConfusionCounts(counts, counts)
    return float(table.cost(alpha, noise_rate=(pair[0], max(pair[1], 0.0))))


def _density(rates: Array, weight: Array) -> tuple[Array, Array]:
    """Return a curve of the density of a weighted sample: mass over distance, without overshoot."""
    points, where = np.unique(rates, return_inverse=True)
    mass = np.bincount(where, weight)
    if len(points) == 1 or mass.max() > 1 - 1e-9:
        return points[[np.argmax(mass)]], np.ones(1)
    grid = np.linspace(points[0], points[-1], 61)
    return grid, PchipInterpolator(points, mass / np.gradient(points))(grid)


def _across(x: Any, first: float, last: float) -> Any:
    return LEFT + (RIGHT - LEFT) * (x - first) / (last - first)


def _height(values: Array, largest: float) -> Array:
    return BOTTOM - (BOTTOM - TOP) * np.clip(values / largest, -0.2, 1.6)


def _lines(lines: dict[str, Array], across: Array, largest: float) -> str:
    drawn = []
    # The chosen model comes last, on top of the others.
    for key in reversed(list(lines)):
        heights = _height(lines[key], largest)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
        drawn.append(f'<polyline class="line {escape(key)}" points="{points}"/>')
    return f'<g clip-path="url(#box)">{"".join(drawn)}</g>'


def _marker(x: float) -> str:
    return f'<line class="marker" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}"/>'


def _axes(
    ticks: list[tuple[float, str]], name: str, largest: float | None, *, share: bool = False
) -> str:
    parts = [f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>']
    for x, text in ticks:
        # A label in the corner must not leave the picture.
        anchor = "end" if x > RIGHT - 8 and len(text) > 3 else "middle"
        at = min(x, RIGHT + 8) if anchor == "end" else x
        where = f'x="{at:.1f}" y="{BOTTOM + 19}"'
        parts.append(f'<text class="xtick" {where} text-anchor="{anchor}">{text}</text>')
    middle = (LEFT + RIGHT) / 2
    parts.append(
        f'<text class="name" x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{name}</text>'
    )
    if largest is not None:
        for k in range(_TICKS + 1):
            y = BOTTOM - (BOTTOM - TOP) * k / _TICKS
            value = largest * k / _TICKS
            text = f"{value:.0%}" if share else f"{value:g}"
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>')
            parts.append(
                f'<text class="ytick" x="{LEFT - 7}" y="{y + 5}" text-anchor="end">{text}</text>'
            )
    return "".join(parts)


def _svg(name: str, title: str, body: str) -> Markup:
    box = f"0 0 {WIDTH:g} {HEIGHT:g}"
    about = f'id="{name}" viewBox="{box}" role="img" aria-label="{title}"'
    return Markup(f"<svg {about}>{body}</svg>")  # noqa: S704 - numbers and words of our own
