"""What half and twice each constant of `flipcost.core.priors` does to the cost on ordinary tables.

Takes the folder of `benchmarks.ordinary`, and prints the cost of ours as a share of the better
constant's, mean over tables, without checked rows and with 100, as recorded and with labels made
wrong in two ways; first as things are.

Run as ``python -m benchmarks.sensitivity FOLDER [--splits 1] [--only RATE_BETA ...]``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.ordinary import CHECKED, NOISE, OURS, Table, measure, read_tables
from flipcost.core import priors

# Shares that may not exceed this when they are doubled.
_MOST = 0.95


def scalars() -> dict[str, float]:
    """Return the constants that are one number above 0."""
    found = {name: getattr(priors, name) for name in dir(priors) if name.isupper()}
    return {name: value for name, value in found.items() if isinstance(value, (int, float))}


def show(name: str, tables: list[Table], seeds: range) -> None:
    """Print the figures of one setting."""
    costs, states = measure(tables, seeds, peers=False)
    cells = [
        np.mean([np.mean(costs[noise, method, table.name]) for table in tables])
        for noise in NOISE
        for method in (OURS, CHECKED)
    ]
    undecided = sum(n for (_, state), n in states.items() if state == "undecided")
    share = undecided / sum(states.values())
    print(f"  {name:<34}" + "".join(f"{c:8.3f}" for c in cells) + f"{share:8.2f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="benchmarks sensitivity", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="as of benchmarks.ordinary")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--tables", nargs="+", help="names of tables")
    parser.add_argument("--only", nargs="+", choices=scalars(), default=list(scalars()))
    options = parser.parse_args([] if arguments is None else arguments)
    if options.folder is None:
        print(
            "sensitivity is left out: it needs the folder of benchmarks.ordinary; "
            "run python -m benchmarks.sensitivity FOLDER"
        )
        return
    tables, seeds = read_tables(options.folder, options.tables), range(options.splits)
    print("Cost as a share of the better constant's: without checks and with 100; share undecided")
    print(" " * 36 + "".join(f"{noise[:14]:>16}" for noise in NOISE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show("as it is", tables, seeds)
        for name in options.only:
            value = scalars()[name]
            for factor in (0.5, 2.0):
                changed = value * factor
                if value < 1 and changed > _MOST:
                    continue
                kind = type(value)
                with patch.object(priors, name, kind(changed)):
                    show(f"{name} = {kind(changed):g}", tables, seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
