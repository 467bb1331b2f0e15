"""`flipcost audit` of CSV files, from the first import to the last file that is written.

Run as ``python -m benchmarks.audit [--rows 100_000 1_000_000]``. Each audit is a process of its
own, as people start it; wall and processor time, best of several.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from flipcost.noise import flip_labels

# Seconds that are aimed at on two cores.
GOALS = {100_000: 3.0, 1_000_000: 8.0}


def write_table(path: Path, n_rows: int, seed: int = 0) -> None:
    """Write rows of nine columns, two of them categories, with one label in ten wrong."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 7))
    numbers[:, 5] = np.exp(numbers[:, 5])
    numbers[:, 6] = rng.integers(18, 90, n_rows)
    town, plan = rng.integers(0, 6, n_rows), rng.integers(0, 3, n_rows)
    score = numbers[:, 0] + np.abs(numbers[:, 1]) - 0.02 * numbers[:, 6] + 0.3 * (plan - town / 3)
    ill = rng.random(n_rows) < 1 / (1 + np.exp(-2 * score))
    columns = {f"x{j}": np.round(numbers[:, j], 4) for j in range(6)}
    columns["age"] = numbers[:, 6].astype(int)
    columns["town"] = np.array(["Lyon", "Nice", "Brest", "Paris", "Lille", "Metz"])[town]
    columns["plan"] = np.array(["basic", "plus", "gold"])[plan]
    columns["ill"] = np.where(flip_labels(ill, 0.1, random_state=seed + 1), "yes", "no")
    pc.write_csv(pa.table(columns), path)


def run_audit(path: Path, out: Path) -> tuple[float, float]:
    """Audit a file in a process of its own; return wall and processor time."""
    options = ["--target", "ill", "--cost-fn", "4", "--cost-fp", "1", "--quiet", "--overwrite"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    command = [sys.executable, "-m", "flipcost", "audit", str(path), *options, "--out", str(out)]
    subprocess.run(command, check=True)
    wall, after = perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rows: tuple[int, ...] = (100_000, 1_000_000), repeats: int = 3) -> None:
    """Print what audits take."""
    print(f"{'flipcost audit, CSV':24}{'wall, s':>9}{'busy, s':>9}{'goal, s':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in rows:
            path = Path(folder, f"{n_rows}.csv")
            write_table(path, n_rows)
            times = [run_audit(path, Path(folder, "out")) for _ in range(repeats)]
            wall, busy = (min(part) for part in zip(*times, strict=True))
            goal = f"{GOALS[n_rows]:g}" if n_rows in GOALS else "-"
            print(f"{f'{n_rows:,} x 9':24}{wall:9.2f}{busy:9.2f}{goal:>9}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    main(tuple(given.rows), given.repeats)
