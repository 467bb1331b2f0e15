"""Pictures of decisions: expected costs with bands, by recorded labels, and the constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.report._figures import BOTTOM, LEFT, RIGHT, TOP, axes, svg, tick_text

if TYPE_CHECKING:
    from markupsafe import Markup

    from flipcost.audit import Findings
    from flipcost.core.arrays import Array

_TICKS = 4
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_DEPTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def make_depth(result: Findings) -> dict[str, Any] | None:
    """Return what flagging the best rows saves, and what its slider moves over."""
    found = result.models.decisions
    if found is None:
        return None
    curve = found.curve
    x = _spread(curve.depth, 0.0, 1.0)
    ticks = [(float(_spread(np.array([d]), 0.0, 1.0)[0]), f"{100 * d:.0f}%") for d in _DEPTHS]
    zero = np.zeros(len(x))
    profit = _draw(
        "depth-profit",
        "Saving per 1,000 rows by flagging the best rows",
        x,
        1000 * curve.clean["profit"],
        1000 * curve.observed["profit"],
        {"all_positive": zero + 1000 * curve.everyone.value, "all_negative": zero},
        ticks,
        "share of rows flagged",
    )
    asked = sum(one.n_called for one in found.called) / result.table.n_rows
    start = curve.at(asked) if found.called else curve.best()
    data = {
        "depth": _short(curve.depth),
        "x": _short(x),
        "n": result.table.n_rows,
        "start": start,
        **{name: [_short(row) for row in values] for name, values in curve.clean.items()},
    }
    return {"profit": profit, "data": data}


def make_price(result: Findings) -> dict[str, Any] | None:
    """Return the cost of 1,000 rows over the cost ratio."""
    found = result.models.decisions
    if found is None:
        return None
    across = -np.log2((1 - result.priced.costs) / result.priced.costs)
    x = _spread(across, float(across[0]), float(across[-1]))
    reach = int(np.floor(across[-1]))
    marks = [m for m in range(-reach, reach + 1) if m % 2 == reach % 2]
    places = _spread(np.array(marks, dtype=float), float(across[0]), float(across[-1]))
    words = [f"{2**-m}:1" if m < 0 else f"1:{2**m}" for m in marks]
    curve = found.price
    picture = _draw(
        "price-price",
        "Cost of 1,000 rows, decided at each cost ratio",
        x,
        1000 * curve.clean,
        1000 * curve.observed,
        {"all_positive": 1000 * curve.all_positive, "all_negative": 1000 * curve.all_negative},
        list(zip(places.tolist(), words, strict=True)),
        "cost of a miss : cost of a false alarm",
    )
    data = {"x": _short(x), "clean": [_short(1000 * row) for row in curve.clean]}
    return {"price": picture, "data": data}


def _short(values: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _spread(values: Array, first: float, last: float) -> Array:
    return np.asarray(LEFT + (RIGHT - LEFT) * (values - first) / (last - first))


def _limits(clean: Array, observed: Array, constants: dict[str, Array]) -> tuple[float, float]:
    """Return the ends of the axis: what the model reaches, and the better constant."""
    low = min(0.0, float(clean[:, 0].min()), float(observed.min()))
    high = max(float(clean[:, 2].max()), float(observed.max()))
    tops = [float(values.max()) for values in constants.values()]
    high = max(high, min(tops))
    room = max(high - low, 1e-12)
    unit = 10.0 ** np.floor(np.log10(room / _TICKS))
    for step in (s * unit for s in (*_STEPS, 20.0)):
        start = step * np.floor(low / step)
        if start + _TICKS * step >= high * (1 - 1e-9):
            return float(start), float(start + _TICKS * step)
    return low, high


def _draw(
    name: str,
    title: str,
    x: Array,
    clean: Array,
    observed: Array,
    constants: dict[str, Array],
    ticks: list[tuple[float, str]],
    across: str,
) -> Markup:
    low, high = _limits(clean, observed, constants)

    def height(values: Array) -> Array:
        share = (np.clip(values, low - (high - low), high + (high - low)) - low) / (high - low)
        return np.asarray(BOTTOM - (BOTTOM - TOP) * share)

    def points(values: Array) -> str:
        pairs = zip(x, height(values), strict=True)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)

    backwards = " ".join(points(clean[:, 1]).split()[::-1])
    shapes = f'<polygon class="band" points="{points(clean[:, 2])} {backwards}"/>'
    for key, values in constants.items():
        shapes += f'<polyline class="line {key}" points="{points(values)}"/>'
    shapes += f'<polyline class="line logistic" points="{points(observed)}"/>'
    shapes += f'<polyline class="line flipcost best" points="{points(clean[:, 0])}"/>'
    body = axes(ticks, across, None)
    for k in range(_TICKS + 1):
        value = low + (high - low) * k / _TICKS
        y = BOTTOM - (BOTTOM - TOP) * k / _TICKS
        text = tick_text(value, max(abs(low), abs(high)))
        body += f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>'
        body += f'<text class="ytick" x="{LEFT - 7}" y="{y + 5}" text-anchor="end">{text}</text>'
    marker = f'<line class="marker" x1="{x[0]:.1f}" x2="{x[0]:.1f}" y1="{TOP}" y2="{BOTTOM}"/>'
    return svg(name, title, f'{body}<g clip-path="url(#box)">{shapes}</g>{marker}')
