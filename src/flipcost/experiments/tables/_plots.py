"""Small line plots as SVG: a measure against the noise rate, with the paper's points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 300, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 14, 24, 30


@dataclass(frozen=True)
class Series:
    """A line through ours and dots for the paper's figures: pairs of rate and value."""

    label: str
    colour: str
    ours: list
    paper: list


def plot(title: str, series: list[Series]) -> str:
    """Return an SVG element.

    Examples
    --------
    >>> line = Series("ours", "#06c", [(0.0, 1.0), (0.4, 2.0)], [(0.4, 1.5)])
    >>> plot("Cost", [line]).startswith("<svg")
    True
    """
    points = [p for s in series for p in (*s.ours, *s.paper) if not math.isnan(p[1])]
    if not points:
        return ""
    scale = _Scale(points)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<text x="{_LEFT}" y="15" class="t">{escape(title)}</text>',
        *scale.axes(),
    ]
    for entry in series:
        parts += _line(entry, scale)
    return "\n".join([*parts, "</svg>"])


def _line(entry: Series, scale: _Scale) -> list[str]:
    path = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in entry.ours if y == y)
    name = escape(entry.label)
    parts = []
    if path:
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{entry.colour}" stroke-width="1.6">'
            f"<title>{name}</title></polyline>"
        )
    parts += [
        f'<circle cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}" r="3.2" fill="#fff" '
        f'stroke="{entry.colour}" stroke-width="1.6"><title>{name}, printed: {y:g}</title></circle>'
        for x, y in entry.paper
        if y == y
    ]
    return parts


class _Scale:
    """From rates and values to places in the picture."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        rates, values = zip(*points, strict=True)
        self._rates = sorted(set(rates))
        self._x0, self._x1 = min(rates), max(*rates, min(rates) + 0.1)
        low, high = min(values), max(values)
        pad = 0.06 * (high - low) or 0.05
        self._y0, self._y1 = low - pad, high + pad

    def x(self, rate: float) -> float:
        share = (rate - self._x0) / (self._x1 - self._x0)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self._y0) / (self._y1 - self._y0)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self) -> list[str]:
        base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        parts = [f'<path d="M{_LEFT} {_TOP}V{base}H{right}" class="a"/>']
        parts += [
            f'<text x="{_LEFT - 4}" y="{self.y(value) + 3:.1f}" class="y">{value:g}</text>'
            for value in ticks(self._y0, self._y1)
        ]
        # Labels nearer than this to the one before would run into it.
        shown: list = []
        for rate in self._rates:
            if not shown or self.x(rate) - self.x(shown[-1]) > 20:
                shown.append(rate)
        parts += [
            f'<text x="{self.x(rate):.1f}" y="{base + 13}" class="x">{rate:g}</text>'
            for rate in shown
        ]
        middle = (_LEFT + right) / 2
        parts.append(f'<text x="{middle}" y="{_HEIGHT - 3}" class="x">noise rate</text>')
        return parts


def ticks(low: float, high: float) -> list[float]:
    """Return three to seven round numbers within a range.

    Examples
    --------
    >>> ticks(0.47, 0.83)
    [0.5, 0.6, 0.7, 0.8]
    >>> ticks(3, 41)
    [10.0, 20.0, 30.0, 40.0]
    """
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((power * k for k in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / rough)))
    first, last = math.ceil(low / step), math.floor(high / step)
    places = max(0, -math.floor(math.log10(step)))
    return [round(k * step, places) for k in range(first, last + 1)]
