"""Fits while other programs want the same cores: nothing may fall off a cliff.

Neighbours are processes that do nothing but count, started here and stopped again. Each fit is a
process of its own with the threads it takes by default; wall and processor time, the best of
several, with none, one and two neighbours. Fair shares of C cores leave a fit of one thread
min(1, C / (1 + k)) of a core beside k neighbours; threads that wait for each other take more than
that, and processor time shows where they spin.

Run as ``python -m benchmarks.busy [--rows 1000000] [--repeats 3]``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fit import make_rows, ours
from benchmarks.timing import verdict, wall_and_busy

if TYPE_CHECKING:
    from collections.abc import Iterator

# Neighbours end by themselves after this many seconds, whatever becomes of us.
_LONGEST = 120
_COUNT = (
    "import time; end = time.monotonic() + {}\nwhile time.monotonic() < end: sum(range(100000))"
)
FITS = {
    "splines, {rows:,} x 20": ("splines", 0),
    "linear, {rows:,} x 20": ("linear", 0),
    "boosting, 1,000 x 20": ("auto", 1_000),
}


@contextmanager
def neighbours(n: int) -> Iterator[None]:
    """Keep this many processes counting."""
    command = [sys.executable, "-c", _COUNT.format(_LONGEST)]
    started = [subprocess.Popen(command) for _ in range(n)]
    try:
        yield
    finally:
        for process in started:
            process.terminate()
            process.wait()


def child(features: str, rows: int) -> None:
    """Fit twice, and print the shorter times."""
    X, y = make_rows(rows, 20)
    print(json.dumps(wall_and_busy({"fit": ours(X, y, features)}, 1)["fit"]))


def measure(features: str, rows: int, repeats: int) -> tuple[float, float]:
    """Return wall and processor seconds of a fit in a process of its own, best of several."""
    command = [sys.executable, "-m", "benchmarks.busy", "--child", features, "--rows", str(rows)]
    found = [
        json.loads(
            subprocess.run(
                command, capture_output=True, check=True, cwd=Path(__file__).parents[1]
            ).stdout
        )
        for _ in range(repeats)
    ]
    return min(f[0] for f in found), min(f[1] for f in found)


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.busy", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args([] if arguments is None else arguments)
    if options.child:
        child(options.child, options.rows)
        return
    print(f"Busy neighbours, {os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}")
    for title, (features, rows) in FITS.items():
        print(f"\n{title.format(rows=options.rows)}")
        alone = None
        for n in (0, 1, 2):
            with neighbours(n):
                wall, busy = measure(features, rows or options.rows, options.repeats)
            alone = alone or (wall, busy)
            ratios = f"{wall / alone[0]:5.2f} x   {busy / alone[1]:5.2f} x"
            said = verdict(wall / alone[0], 2.0, at_most=True) if n == 1 else ""
            print(f"  {n} neighbours  {wall:8.2f} s {busy:8.2f} processor s   {ratios}  {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
