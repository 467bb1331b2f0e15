"""What grows how: quality, time and memory of a fit over rows and columns.

Quality is regret on laws whose truth is known (`benchmarks.limits`), beside that of one boosting of
100 trees on the same noisy labels at the cost, and processor time beside its time: more rows must
never give a worse model, nor a worse one than boosting.

Processor time, best of three for what takes less than ten seconds; memory is the largest that was
allocated at once beyond the rows themselves. Exponents are those of the last step: 1 means twice
the rows take twice the time. A local power of columns may exceed 2 while the time stays below
rows x columns^2, so that time over this product is shown too: it must not grow in the end.

Run as ``python -m benchmarks.growth [--only quality time] [--seeds 3] [--most-rows 1000000]
[--most-columns 2000] [--picture FILE]``.
"""

from __future__ import annotations

import argparse
import warnings
from time import process_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.fit import make_rows, ours
from benchmarks.limits import Law, _exclusive_or, _line, _ring, fit
from benchmarks.timing import peak_extra_bytes, verdict, wall_and_busy
from flipcost import UnevenMarginClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = (5, 20, 100, 300, 1_000, 2_000)
_FIXED_ROWS, _FIXED_COLUMNS = 5_000, 20
# Boosting takes long with many columns.
_MOST_COLUMNS_FOR_TREES = 300
# By more than this between two sizes, time grows faster than rows x columns^2; less is noise.
_MOST_GROWTH = 1.1
# Fits that take no longer are repeated: one neighbour doubled the time of a fit of 10^7 rows.
_REPEATED_SECONDS = 10.0
METHODS = ("closed form", "linear", "splines", "auto")


def _crossed(X: np.ndarray) -> np.ndarray:
    """Return a probability that only trees see whole: bends, a product and a threshold."""
    crossed = 0.8 * X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.7 * (X[:, 4] > 1)
    return expit(-3.2 + 1.2 * X[:, 0] + crossed + 0.5 * np.sin(2 * X[:, 5]))


# Probability of a positive, columns and cost of each law; rates of wrong positives and negatives.
LAWS = {
    "line": (_line(-0.5, 1.5, -1.0, 0.5, 0.0, 0.0), 5, 0.25),
    "exclusive-or": (_exclusive_or, 4, 0.3),
    "ring": (_ring, 4, 0.3),
    "crossed": (_crossed, 12, 0.15),
}
NOISE = {"clean": (0.0, 0.0), "missed": (0.3, 0.01), "flipped": (0.2, 0.2)}
QUALITY_ROWS = (2_000, 5_000, 20_000, 100_000, 1_000_000)
# Regret may be so much above boosting's, and above that of fewer rows.
_SLACK = 0.02


class Point(NamedTuple):
    """One fit."""

    rows: int
    columns: int
    seconds: float
    bytes: int


def quality(most_rows: int, n_seeds: int) -> None:
    """Print regret and processor time on all laws, beside those of boosting."""
    print(f"Regret, 0 is the best rule and 1 a constant; {n_seeds} seeds, one above 100,000 rows")
    head = f"  {'law':<14} {'labels':<8} {'rows':>10} {'ours':>7} {'boosting':>9}"
    print(f"{head} {'ours':>9} {'boosting':>9}")
    worse, falls, cells = 0, 0, 0
    for law, (eta, d, cost) in LAWS.items():
        for noise, rates in NOISE.items():
            before = np.inf
            for n in (n for n in QUALITY_ROWS if n <= most_rows):
                seeds = range(n_seeds if n <= 100_000 else 1)
                drawn = Law(eta, d, rates, cost)
                own, own_time = _judged(drawn, n, seeds, plain=False)
                peer, peer_time = _judged(drawn, n, seeds, plain=True)
                print(
                    f"  {law:<14} {noise:<8} {n:>10,} {own:>7.3f} {peer:>9.3f} "
                    f"{own_time:>7.2f} s {peer_time:>7.2f} s",
                    flush=True,
                )
                cells += 1
                worse += own > peer + _SLACK
                falls += own > before + _SLACK
                before = own
    print(f"  worse than boosting in {worse} of {cells}  {verdict(worse, 0, at_most=True)}")
    print(f"  worse than with fewer rows in {falls}  {verdict(falls, 0, at_most=True)}")


def _judged(law: Law, n: int, seeds: range, *, plain: bool) -> tuple[float, float]:
    """Return the mean regret of fits, and the processor time of one, scoring included."""
    start, regrets = process_time(), []
    for seed in seeds:
        model = None
        if plain:
            model = HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
        regrets.append(fit(law, n, seed, model).regret)
    return float(np.mean(regrets)), (process_time() - start) / len(seeds)


def call_of(method: str, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """Return the fit of a method."""
    if method == "closed form":
        return lambda: UnevenMarginClassifier(cost=0.25).fit(X, y)
    return ours(X, y, method)


def measure(method: str, n: int, d: int) -> Point:
    """Fit once or more, and again to see how much memory it takes."""
    X, y = make_rows(n, d)
    call = call_of(method, X, y)
    busy = wall_and_busy({method: call}, 0)[method][1]
    if busy < _REPEATED_SECONDS:
        busy = min(busy, wall_and_busy({method: call}, 3)[method][1])
    return Point(n, d, busy, peak_extra_bytes(call))


def applies(method: str, d: int) -> bool:
    """Tell whether a method differs from the one before it at this size."""
    if method == "auto":
        return d <= _MOST_COLUMNS_FOR_TREES
    return method != "splines" or d <= _MOST_COLUMNS_FOR_TREES // 3


def along(sizes: list[tuple[int, int]], axis: int) -> dict[str, list[Point]]:
    """Measure all methods over sizes; print a table."""
    found: dict[str, list[Point]] = {}
    head = f"  {'':<14} {'rows':>12} {'columns':>8} {'processor':>12} {'memory':>10}"
    print(f"{head} {'ns / n d^2':>11}  grows like")
    for method in METHODS:
        for n, d in sizes:
            if not applies(method, d):
                continue
            point = measure(method, n, d)
            known = found.setdefault(method, [])
            known.append(point)
            power = f"{point._fields[axis]} ^ {last_power(known, axis):.2f}" if known[1:] else ""
            print(
                f"  {method:<14} {n:>12,} {d:>8,} {1e3 * point.seconds:>9.1f} ms "
                f"{point.bytes / 1e6:>7.1f} MB {1e9 * point.seconds / n / d**2:>11.4f}  {power}",
                flush=True,
            )
    return found


def last_power(points: list[Point], axis: int) -> float:
    """Return the exponent of the time between the last two points."""
    before, after = points[-2:]
    return float(np.log(after.seconds / before.seconds) / np.log(after[axis] / before[axis]))


def last_growth(points: list[Point]) -> float:
    """Return by how much time over rows x columns^2 grew between the last two points."""
    before, after = (p.seconds / p.rows / p.columns**2 for p in points[-2:])
    return after / before


def draw(by_rows: dict[str, list[Point]], by_columns: dict[str, list[Point]], path: str) -> None:
    """Draw both tables, time above and memory below, on logarithmic axes."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "growth"
    figure, axes = plt.subplots(2, 2, figsize=(8, 5.5), sharex="col", layout="constrained")
    for k, (found, name) in enumerate(((by_rows, "rows"), (by_columns, "columns"))):
        for method, points in found.items():
            x = [p[k] for p in points]
            axes[0, k].loglog(x, [p.seconds for p in points], marker="o", label=method)
            axes[1, k].loglog(x, [max(p.bytes, 1) / 1e6 for p in points], marker="o")
        fixed = f"{_FIXED_COLUMNS} columns" if k == 0 else f"{_FIXED_ROWS:,} rows"
        axes[0, k].set_title(fixed)
        axes[1, k].set_xlabel(name)
    axes[0, 0].set_ylabel("processor time, s")
    axes[1, 0].set_ylabel("memory beyond the rows, MB")
    axes[0, 0].legend(frameon=False)
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)
    plt.close(figure)


def times(most_rows: int, most_columns: int, picture: str | None) -> None:
    """Print and draw time and memory over rows and over columns."""
    print("What grows how: rows")
    by_rows = along([(n, _FIXED_COLUMNS) for n in ROWS if n <= most_rows], 0)
    print("\nWhat grows how: columns")
    by_columns = along([(_FIXED_ROWS, d) for d in COLUMNS if d <= most_columns], 1)
    for axis, (found, goal) in enumerate(((by_rows, 1.1), (by_columns, 2.1))):
        for method, points in found.items():
            if len(points) > 1:
                power = last_power(points, axis)
                name = "columns" if axis else "rows"
                print(f"  {method}: {name} ^ {power:.2f}  {verdict(power, goal, at_most=True)}")
                growth = last_growth(points)
                print(
                    f"  {method}: {name}, time over rows x columns^2 grew by {growth:.2f}  "
                    f"{verdict(growth, _MOST_GROWTH, at_most=True)}"
                )
    if picture:
        draw(by_rows, by_columns, picture)


PARTS = ("quality", "time")


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks growth", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most-rows", type=int, default=1_000_000)
    parser.add_argument("--most-columns", type=int, default=2_000)
    parser.add_argument("--picture", help="file to draw the tables into, .svg or .png")
    options = parser.parse_args([] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "quality" in options.only:
            quality(options.most_rows, options.seeds)
        if "time" in options.only:
            times(options.most_rows, options.most_columns, options.picture)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
