"""Smaller pictures: the state of the labels, how good probabilities are, shapes of effects.

The script moves the second kind with the sliders: it finds lines and dots by their classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

from flipcost.core.noise import rate_pair
from flipcost.report._headline import ENOUGH_ROWS, rarer_label
from flipcost.words import label, percent, share_span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flipcost.audit import Effect, Findings
    from flipcost.core.arrays import Array
    from flipcost.core.curves import LabelBins

# The square plots: box, and where the axes are.
_WIDE, _HIGH = 300.0, 290.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 38.0, 290.0, 28.0, 244.0
# The strip that shows the state.
_STRIP, _EDGE = 420.0, 10.0
_STRIP_TICKS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
_CALIBRATION_BINS = 10


def draw_range(result: Findings) -> Markup:
    """Draw how many labels are wrong: a dot for the estimate, solid if random, pale if not."""
    errors = result.labels.errors
    if errors.state == "small" and not errors.is_given:
        return _progress(result)
    if errors.state == "no_signal" and not errors.is_given:
        return _strip("Error rate unknown", f'<rect class="unknown" {_bar(0.0, 0.5)}/>', "?")
    kind = "given" if errors.is_given else errors.state
    low, high = errors.share.low, errors.share.high
    words = f"Error rate: {share_span(errors.share)}"
    shapes = ""
    if errors.most > high and not errors.n_checked and not errors.is_given:
        shapes = f'<rect class="{kind} pale" {_bar(low, errors.most)}/>'
        words += f", up to {percent(errors.most)} if some errors are systematic"
    shapes += f'<rect class="{kind}" {_bar(low, max(high, low + 0.004))}/>'
    shapes += f'<circle class="dot" cx="{_along(errors.share.value):.1f}" cy="17" r="6"/>'
    return _strip(words, shapes)


def calibration_bins(result: Findings) -> LabelBins:
    """Return the bins of the probability in which calibration is shown."""
    return result.labels.bins.coarser(_CALIBRATION_BINS)


def ranking_areas(result: Findings) -> list[str]:
    """Return areas under the ROC curve, recorded and corrected, as they are written."""
    found = result.summary()["ranking"]
    return [f"{found[f'area_{kind}']:.3f}" for kind in ("observed", "denoised")]


def draw_calibration(result: Findings) -> Markup:
    """Draw the share of positives against the probability: recorded and corrected."""
    bins = calibration_bins(result)
    rates = rate_pair(result.labels.noise_rate)
    shapes = _diagonal()
    for kind, shares in (("observed", bins.share()), ("denoised", bins.share(rates))):
        shapes += _line(kind, bins.probability, shares, dots=True)
    return _square(
        "calibration",
        "Share of positives by predicted probability",
        "predicted probability",
        "share that is positive",
        shapes,
    )


def draw_roc(result: Findings) -> Markup:
    """Draw true against false positives at every threshold: recorded and corrected."""
    rates = rate_pair(result.labels.noise_rate)
    shapes = _diagonal()
    for kind, rate in (("observed", None), ("denoised", rates)):
        shapes += _line(kind, *result.labels.bins.roc(rate))
    return _square(
        "roc",
        "ROC curve: positives found against false alarms",
        "share of negatives flagged",
        "share of positives flagged",
        shapes,
    )


def draw_precision(result: Findings) -> Markup:
    """Draw precision against recall at every threshold: recorded and corrected."""
    rates = rate_pair(result.labels.noise_rate)
    shapes = ""
    for kind, rate in (("observed", None), ("denoised", rates)):
        precision, recall = result.labels.bins.precision_recall(rate)
        shapes += _line(kind, recall, precision)
    return _square(
        "precision",
        "Precision against recall",
        "share of positives flagged",
        "share of flags that are right",
        shapes,
    )


def draw_shape(effect: Effect) -> Markup:
    """Draw how the probability moves along a column, as small as a word."""
    likely = np.array([p for _, p in effect.shape])
    if len(likely) < 2:
        return Markup("")
    xs = 4 + 92 * np.arange(len(likely)) / (len(likely) - 1)
    ys = 36 - 32 * likely
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    ends = (effect.shape[0], effect.shape[-1])
    said = ", ".join(f"{word}: {percent(p)}" for word, p in ends)
    title = escape(f"Mean probability along {effect.column}, {said}")
    places = zip(xs, ys, strict=True)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places)
    grid = '<line class="grid" x1="0" x2="100" y1="36" y2="36"/>'
    about = f'class="shape" viewBox="0 0 100 40" role="img" aria-label="{title}"'
    return _markup(f'<svg {about}>{grid}<polyline points="{points}"/>{dots}</svg>')


def _strip(words: str, shapes: str, mark: str = "") -> Markup:
    ticks = "".join(
        f'<text x="{_along(t):.1f}" y="44" text-anchor="{anchor}">{100 * t:.0f}%</text>'
        for t, anchor in zip(_STRIP_TICKS, ("start", *["middle"] * 4, "end"), strict=True)
    )
    if mark:
        ticks += f'<text class="mark" x="{_STRIP / 2}" y="23" text-anchor="middle">{mark}</text>'
    # The track goes a little further than the scale, so that a dot at an end lies on it.
    track = f'<rect class="track" x="1" y="8" width="{_STRIP - 2:g}" height="18" rx="9"/>'
    about = f'class="state" viewBox="0 0 {_STRIP:g} 50" role="img" aria-label="{words}"'
    return _markup(f"<svg {about}>{track}{shapes}{ticks}</svg>")


def _progress(result: Findings) -> Markup:
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
    about = f'class="state" viewBox="0 0 {_STRIP:g} 50" role="img" aria-label="{words}"'
    return _markup(f"<svg {about}>{dots}{text}</svg>")


def _along(share: float) -> float:
    return float(_EDGE + (_STRIP - 2 * _EDGE) * min(share, 0.5) / 0.5)


def _bar(low: float, high: float) -> str:
    first, last = _along(low), _along(high)
    return f'x="{first:.1f}" y="8" width="{last - first:.1f}" height="18" rx="4"'


def _x(values: Array) -> Array:
    return _LEFT + (_RIGHT - _LEFT) * np.asarray(values)


def _y(values: Array) -> Array:
    return _BOTTOM - (_BOTTOM - _TOP) * np.asarray(values)


def _diagonal() -> str:
    return f'<line class="grid" x1="{_LEFT}" y1="{_BOTTOM}" x2="{_RIGHT}" y2="{_TOP}"/>'


def _line(kind: str, xs: Iterable[float], ys: Iterable[float], *, dots: bool = False) -> str:
    places = list(zip(_x(np.array(xs)), _y(np.array(ys)), strict=True))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = f'<polyline class="{kind}" points="{points}"/>'
    if dots:
        drawn += "".join(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.4"/>' for x, y in places
        )
    return drawn


def _square(name: str, title: str, across: str, up: str, shapes: str) -> Markup:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = float(_x(np.array(share))), float(_y(np.array(share)))
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:g}" y2="{y:g}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:g}" text-anchor="end">{share:g}</text>')
        parts.append(f'<text x="{x:g}" y="{_BOTTOM + 17}" text-anchor="middle">{share:g}</text>')
    middle = (_LEFT + _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HIGH - 8}" text-anchor="middle">{across}</text>')
    parts.append(f'<text x="2" y="13">{up}</text>')
    box = f"0 0 {_WIDE:g} {_HIGH:g}"
    about = f'id="{name}" class="square" viewBox="{box}" role="img" aria-label="{title}"'
    return _markup(f"<svg {about}>{''.join(parts)}{shapes}</svg>")


def _markup(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - numbers and words of our own, the rest escaped
