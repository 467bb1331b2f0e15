"""The pictures of the report, as SVG: line charts, square charts, the range bar, shapes of effects.

The report's script moves some of them. It finds lines, ticks and marks by their classes, and has
the same box and the same rules for axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from flipcost.core.arrays import Array
from flipcost.core.noise import rate_pair
from flipcost.report.headline import ENOUGH_ROWS, rarer_label
from flipcost.words import label, percent, share_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flipcost.audit import Effect, Findings
    from flipcost.core.confusion import Interval
    from flipcost.core.curves import LabelBins

# Line charts: their size, and the box inside the axes.
WIDTH, HEIGHT = 534.0, 312.0
LEFT, RIGHT, TOP, BOTTOM = 76.0, 508.0, 14.0, 256.0
_TICKS = 4
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)
_CURVE_POINTS = 91
# Posteriors are on coarse grids: their curves are smoothed by this share of the axis.
_SMOOTH = 0.045
# Square charts.
_WIDE, _HIGH = 300.0, 290.0
_SQUARE_LEFT, _SQUARE_RIGHT, _SQUARE_TOP, _SQUARE_BOTTOM = 38.0, 290.0, 28.0, 244.0
# The range bar.
_STRIP, _EDGE = 420.0, 10.0
_STRIP_TICKS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def draw_path(payload: dict[str, Any], positive: str) -> Markup:
    """Draw the frame of cost against the assumed error rate; the script draws its lines."""
    rate = payload["rate"]
    most, end = rate["most"][0], rate["axis"]
    low, high = across(np.clip([rate["low"], rate["high"]], 0.0, most), 0.0, end)
    last = across(most, 0.0, end)
    shapes = _box("band", low, high) + _box("beyond", last, RIGHT)
    keys = [candidate["key"] for candidate in payload["candidates"]]
    # The chosen model comes last, on top of the others.
    lines = "".join(f'<polyline class="line {key}"/>' for key in keys[:0:-1])
    lines += f'<polyline class="line {keys[0]} best"/>'
    name = "assumed error rate"
    if not rate["one"]:
        name += f" among true {escape(label(_shorten(positive)))} rows"
    ticks = _rate_ticks(end)
    body = (
        f'{shapes}<g clip-path="url(#box)">{lines}</g>{_marker(across(rate["value"][0], 0, end))}'
    )
    return _chart("path", "Cost by assumed error rate", ticks, name, body, (0.0, 1.0))


def draw_posterior(result: Findings) -> Markup:
    """Draw how likely each error rate is: if errors are random, or as checked rows leave it."""
    posterior = result.labels.posterior
    sides = (0,) if posterior.is_symmetric else (0, 1)
    limits = np.array([(found.low, found.high) for found in result.labels.errors.rates])
    most = max(0.1, np.ceil(10.5 * max(limits.max(), np.max(result.labels.noise_rate))) / 10)
    most = min(most, 1.0)
    rates, weight = posterior.estimated
    grid = np.linspace(0.0, most, _CURVE_POINTS)
    shapes = ""
    for side in sides:
        # Mirrored at nothing, so that the curve does not fall there.
        both = np.concatenate([rates[:, side], -rates[:, side]])
        nearness = np.exp(-0.5 * ((grid[:, None] - both) / (_SMOOTH * most)) ** 2)
        density = nearness @ np.tile(weight, 2)
        curve = _points(
            across(grid, 0.0, most), BOTTOM - 0.92 * (BOTTOM - TOP) * density / density.max()
        )
        ends = f"{LEFT:.1f},{BOTTOM} {curve} {RIGHT:.1f},{BOTTOM}"
        shapes += f'<polygon class="density side{side}" points="{ends}"/>'
    for side in sides:
        low, high = across(limits[side], 0.0, most)
        y = BOTTOM - 6 - 8 * side
        shapes += (
            f'<line class="limits side{side}" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>'
        )
    title, name = "How likely each error rate is", "share that is mislabelled"
    return _chart("posterior", title, _rate_ticks(most), name, shapes)


def draw_decisions(
    name: str,
    title: str,
    x: Array,
    clean: Array,
    observed: Array,
    constants: dict[str, Array],
    ticks: list[tuple[float, str]],
    below: str,
) -> Markup:
    """Draw what decisions are expected to bring, its interval, by recorded labels, and constants.

    `clean` has the columns value, low and high. The axis holds these and the better constant.
    """
    lows = [0.0, clean[:, 0].min(), observed.min()]
    highs = [clean[:, 2].max(), observed.max(), min(v.max() for v in constants.values())]
    ends = axis_limits(float(min(lows)), float(max(highs)))
    shapes = _band(x, clean, ends)
    for key, values in constants.items():
        shapes += _polyline(f"line {key}", x, up(values, ends))
    shapes += _polyline("line logistic", x, up(observed, ends))
    shapes += _polyline("line flipcost best", x, up(clean[:, 0], ends))
    body = f'<g clip-path="url(#box)">{shapes}</g>{_marker(x[0])}'
    return _chart(name, title, ticks, below, body, ends)


def draw_history(checked: Sequence[int], shares: Sequence[Interval]) -> Markup:
    """Draw the error rate with its interval against the number of checked rows.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> "checks-rate" in draw_history([0, 50], [Interval(0.2, 0.1, 0.5)] * 2)
    True
    """
    values = np.array([[x.value, x.low, x.high] for x in shares])
    ends = axis_limits(0.0, float(values.max()))
    x = LEFT + 14 + (RIGHT - LEFT - 28) * np.array(checked) / max(*checked, 1)
    shapes = _band(x, values, ends) + _polyline("line flipcost best", x, up(values[:, 0], ends))
    for place, (low, high) in zip(x, up(values[:, 1:], ends), strict=True):
        where = f'x1="{place:.1f}" x2="{place:.1f}" y1="{low:.1f}" y2="{high:.1f}"'
        shapes += f'<line class="limits thin" {where}/>'
    ticks = [(float(place), f"{n:,}") for place, n in zip(x, checked, strict=True)]
    kept = [t for k, t in enumerate(ticks) if not k or t[0] - ticks[k - 1][0] > 24]
    title = "Error rate by rows checked"
    return _chart("checks-rate", title, kept, "rows checked", shapes, ends, share=True)


def axis_limits(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis of four even steps that holds two values.

    Examples
    --------
    >>> axis_limits(0.0, 730.0), axis_limits(0.0, 0.9), axis_limits(-30.0, 100.0)
    ((0.0, 800.0), (0.0, 1.0), (-50.0, 150.0))
    """
    if not high > low:
        return low, low + 1.0
    unit = 10.0 ** np.floor(np.log10((high - low) / _TICKS))
    for step in (s * unit for s in _STEPS):
        start = step * np.floor(low / step)
        if start + _TICKS * step >= high - 1e-12 * (high - low):
            return float(start), float(start + _TICKS * step)
    return low, high


def across(values: Any, first: float, last: float) -> Any:
    """Return where values are in a line chart, from left to right."""
    return LEFT + (RIGHT - LEFT) * (np.asarray(values) - first) / (last - first)


def up(values: Any, ends: tuple[float, float]) -> Any:
    """Return where values are in a line chart, from its foot up; at most its height outside."""
    share = (np.asarray(values) - ends[0]) / (ends[1] - ends[0])
    return BOTTOM - (BOTTOM - TOP) * np.clip(share, -1.0, 2.0)


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


def draw_calibration(result: Findings, bins: LabelBins) -> Markup:
    """Draw the share of positives against the probability: recorded and corrected."""
    names = ("predicted probability", "share that is positive")
    title = "Share of positives by predicted probability"
    lines = [(bins.probability, bins.share(rate)) for rate in _rates(result)]
    return _square("calibration", title, names, lines, dots=True, diagonal=True)


def draw_roc(result: Findings) -> Markup:
    """Draw true against false positives at every threshold: recorded and corrected."""
    names = ("share of negatives flagged", "share of positives flagged")
    title = "ROC curve: positives found against false alarms"
    lines = [result.labels.bins.roc(rate) for rate in _rates(result)]
    return _square("roc", title, names, lines, diagonal=True)


def draw_precision(result: Findings) -> Markup:
    """Draw precision against recall at every threshold: recorded and corrected."""
    names = ("share of positives flagged", "share of flags that are right")
    lines = [result.labels.bins.precision_recall(rate)[::-1] for rate in _rates(result)]
    return _square("precision", "Precision against recall", names, lines)


def draw_shape(effect: Effect) -> Markup:
    """Draw how the probability moves along a column, as small as a word."""
    if len(effect.shape) < 2:
        return Markup("")
    likely = np.array([p for _, p in effect.shape])
    xs, ys = np.linspace(4, 96, len(likely)), 36 - 32 * likely
    ends = (effect.shape[0], effect.shape[-1])
    said = ", ".join(f"{word}: {percent(p)}" for word, p in ends)
    title = escape(f"Mean probability along {effect.column}, {said}")
    shapes = f'<line class="grid" x1="0" x2="100" y1="36" y2="36"/>{_polyline("", xs, ys)}'
    shapes += _dots("", xs, ys, 2.2)
    about = f'class="shape" viewBox="0 0 100 40" role="img" aria-label="{title}"'
    return _markup(f"<svg {about}>{shapes}</svg>")


def draw_range(result: Findings) -> Markup:
    """Draw how many labels are wrong: a dot for the estimate, solid if random, pale if not."""
    errors = result.labels.errors
    if errors.state == "small" and not errors.is_given:
        return _rows_needed(result)
    if errors.state == "no_signal" and not errors.is_given:
        mark = f'<text class="mark" x="{_STRIP / 2}" y="23" text-anchor="middle">?</text>'
        return _strip("Error rate unknown", f'<rect class="unknown" {_bar(0.0, 0.5)}/>{mark}')
    kind = "given" if errors.is_given else errors.state
    low, high = errors.share.low, errors.share.high
    words, shapes = f"Error rate: {share_span(errors.share)}", ""
    if errors.most > high and not errors.n_checked and not errors.is_given:
        shapes = f'<rect class="{kind} pale" {_bar(low, errors.most)}/>'
        words += f", up to {percent(errors.most)} if some errors are systematic"
    shapes += f'<rect class="{kind}" {_bar(low, max(high, low + 0.004))}/>'
    shapes += f'<circle class="dot" cx="{_along(errors.share.value):.1f}" cy="17" r="6"/>'
    return _strip(words, shapes)


def _rows_needed(result: Findings) -> Markup:
    """Draw how many rows of the rarer label there are of those that are needed."""
    rows, name = rarer_label(result)
    step = (_STRIP - 2 * _EDGE) / ENOUGH_ROWS
    dots = "".join(
        f'<circle class="{"have" if k < rows else "lack"}" cx="{_EDGE + (k + 0.5) * step:.1f}" '
        f'cy="17" r="{min(0.36 * step, 8):.1f}"/>'
        for k in range(ENOUGH_ROWS)
    )
    words = escape(f"{rows} rows labelled {label(name)} of at least {ENOUGH_ROWS}")
    text = f'<text x="{_EDGE}" y="44">{rows} of at least {ENOUGH_ROWS} rows</text>'
    return _markup(f"<svg {_about_strip(words)}>{dots}{text}</svg>")


def _strip(words: str, shapes: str) -> Markup:
    ticks = "".join(
        f'<text x="{_along(t):.1f}" y="44" text-anchor="{anchor}">{t:.0%}</text>'
        for t, anchor in zip(_STRIP_TICKS, ("start", *["middle"] * 4, "end"), strict=True)
    )
    # The track goes a little further than the scale, so that a dot at an end lies on it.
    track = f'<rect class="track" x="1" y="8" width="{_STRIP - 2:g}" height="18" rx="9"/>'
    return _markup(f"<svg {_about_strip(words)}>{track}{shapes}{ticks}</svg>")


def _about_strip(words: str) -> str:
    return f'class="state" viewBox="0 0 {_STRIP:g} 50" role="img" aria-label="{words}"'


def _along(share: float) -> float:
    return float(_EDGE + (_STRIP - 2 * _EDGE) * min(share, 0.5) / 0.5)


def _bar(low: float, high: float) -> str:
    first, last = _along(low), _along(high)
    return f'x="{first:.1f}" y="8" width="{last - first:.1f}" height="18" rx="4"'


def _rates(result: Findings) -> tuple[None, tuple[float, float]]:
    """Return the rates at which recorded and corrected figures are taken."""
    return None, rate_pair(result.labels.noise_rate)


def _square(
    name: str,
    title: str,
    names: tuple[str, str],
    lines: Sequence[tuple[Array, Array]],
    *,
    dots: bool = False,
    diagonal: bool = False,
) -> Markup:
    """Draw a square chart of shares: recorded labels, and corrected for label errors."""
    width, height = _SQUARE_RIGHT - _SQUARE_LEFT, _SQUARE_BOTTOM - _SQUARE_TOP
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _SQUARE_LEFT + width * share, _SQUARE_BOTTOM - height * share
        parts.append(
            f'<line class="grid" x1="{_SQUARE_LEFT}" x2="{_SQUARE_RIGHT}" y1="{y:g}" y2="{y:g}"/>'
            f'<text x="{_SQUARE_LEFT - 6}" y="{y + 4:g}" text-anchor="end">{share:g}</text>'
            f'<text x="{x:g}" y="{_SQUARE_BOTTOM + 17}" text-anchor="middle">{share:g}</text>'
        )
    middle = (_SQUARE_LEFT + _SQUARE_RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HIGH - 8}" text-anchor="middle">{names[0]}</text>')
    parts.append(f'<text x="2" y="13">{names[1]}</text>')
    if diagonal:
        ends = f'x1="{_SQUARE_LEFT}" y1="{_SQUARE_BOTTOM}" x2="{_SQUARE_RIGHT}" y2="{_SQUARE_TOP}"'
        parts.append(f'<line class="grid" {ends}/>')
    for kind, (to_right, upward) in zip(("observed", "denoised"), lines, strict=True):
        xs = _SQUARE_LEFT + width * np.asarray(to_right)
        ys = _SQUARE_BOTTOM - height * np.asarray(upward)
        parts.append(_polyline(kind, xs, ys))
        if dots:
            parts.append(_dots(kind, xs, ys, 3.4))
    box = f"0 0 {_WIDE:g} {_HIGH:g}"
    about = f'id="{name}" class="square" viewBox="{box}" role="img" aria-label="{title}"'
    return _markup(f"<svg {about}>{''.join(parts)}</svg>")


def _chart(
    name: str,
    title: str,
    ticks: list[tuple[float, str]],
    below: str,
    body: str,
    ends: tuple[float, float] | None = None,
    *,
    share: bool = False,
) -> Markup:
    """Draw a line chart: ticks across, their name under them, and four even steps up."""
    parts = [f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>']
    for x, text in ticks:
        where = f'x="{x:.1f}" y="{BOTTOM + 22}" text-anchor="middle"'
        parts.append(f'<text class="xtick" {where}>{text}</text>')
    where = f'x="{(LEFT + RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle"'
    parts.append(f'<text class="name" {where}>{below}</text>')
    low, high = ends or (0.0, 0.0)
    for value in np.linspace(low, high, _TICKS + 1).tolist() if ends else ():
        y = float(up(value, (low, high)))
        text = f"{value:.0%}" if share else tick_text(value, max(abs(low), abs(high)))
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:g}" y2="{y:g}"/>'
            f'<text class="ytick" x="{LEFT - 7}" y="{y + 5:g}" text-anchor="end">{text}</text>'
        )
    about = f'id="{name}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{title}"'
    return _markup(f"<svg {about}>{''.join(parts)}{body}</svg>")


def _rate_ticks(most: float) -> list[tuple[float, str]]:
    step = next(s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if most / s <= 6 or s == 0.2)
    rates = np.arange(0.0, most + 1e-9, step).round(3)
    return [(across(rate, 0.0, most), f"{100 * rate:g}%") for rate in rates]


def _shorten(name: str) -> str:
    """Return a label that fits under an axis."""
    return name if len(name) <= 18 else name[:17] + "…"


def _points(xs: Iterable[float], ys: Iterable[float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))


def _polyline(kind: str, xs: Array, ys: Array) -> str:
    return f'<polyline class="{kind}" points="{_points(xs, ys)}"/>'


def _dots(kind: str, xs: Array, ys: Array, radius: float) -> str:
    return "".join(
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
        for x, y in zip(xs, ys, strict=True)
    )


def _band(x: Array, values: Array, ends: tuple[float, float]) -> str:
    """Draw the area between the columns low and high."""
    low, high = up(values[:, 1], ends), up(values[:, 2], ends)
    edge = _points([*x, *x[::-1]], [*high, *low[::-1]])
    return f'<polygon class="band" points="{edge}"/>'


def _box(kind: str, first: float, last: float) -> str:
    place = f'x="{first:.1f}" y="{TOP}" width="{max(last - first, 1):.1f}"'
    return f'<rect class="{kind}" {place} height="{BOTTOM - TOP}"/>'


def _marker(x: float) -> str:
    return f'<line class="marker" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}"/>'


def _markup(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - numbers and words of our own, the rest escaped
