"""What half and twice each constant of `flipcost.core.priors` does to the cost on ordinary tables.

Takes the folder of `benchmarks.ordinary`, and prints the cost of ours as a share of the better
constant's, mean over tables, without checked rows and with 100, as recorded and with labels made
wrong in two ways; first as things are. Scores do not depend on these constants: they are learned
once.

Run as ``python -m benchmarks.sensitivity FOLDER [--splits 1] [--only RATE_BETA ...]``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from benchmarks.ordinary import CHECKED, NOISE, OURS, Table, measure, read_tables
from flipcost.core import priors
from flipcost.estimators.flipcost.scores import PooledLearner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Shares that may not exceed this when they are doubled.
_MOST = 0.95
# Those that play no part in what ordinary tables cost: of judges and of several annotators.
_ELSEWHERE = ("JUDGE", "CROWD")


def names() -> list[str]:
    """Return the constants that are numbers, the shapes of curves, and the models of noise."""
    numbers = [
        name
        for name in dir(priors)
        if name.isupper()
        and not name.startswith(_ELSEWHERE)
        and isinstance(getattr(priors, name), (int, float))
    ]
    return ["CURVE_SHAPES", *priors.NOISE_MODELS, *numbers]


def changed(name: str) -> Iterator[tuple[str, str, Any]]:
    """Give what to print, which constant to replace and by what, at half and twice its value."""
    for factor in (0.5, 2.0):
        if name in priors.NOISE_MODELS:
            odds = priors.NOISE_MODELS | {name: factor * priors.NOISE_MODELS[name]}
            share = {model: weight / sum(odds.values()) for model, weight in odds.items()}
            yield f"{name} = {share[name]:.2g}", "NOISE_MODELS", share
            continue
        value = getattr(priors, name)
        if name == "CURVE_SHAPES":
            shapes = tuple(min(factor, 1.6) * g for g in value)  # a slope is never below 0
            yield f"{name} up to {max(shapes):.2g}", name, shapes
        elif value >= 1 or factor * value <= _MOST:
            yield f"{name} = {type(value)(factor * value):g}", name, type(value)(factor * value)


def learned_once() -> Callable:
    """Return `PooledLearner.learn` that keeps what it learned, by the labels."""
    found: dict[bytes, Any] = {}
    learn = PooledLearner.learn

    def kept(self: PooledLearner, X: Any, positive: np.ndarray, *rest: Any, **named: Any) -> Any:
        key = positive.tobytes()
        if key not in found:
            found[key] = learn(self, X, positive, *rest, **named)
        scorer, scores = found[key]
        return scorer, scores.copy()

    return kept


def show(name: str, tables: list[Table], seeds: range) -> None:
    """Print the figures of one setting."""
    costs, states = measure(tables, seeds, methods=(OURS, CHECKED))
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
    parser.add_argument("--only", nargs="+", choices=names(), default=names())
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
    with warnings.catch_warnings(), patch.object(PooledLearner, "learn", learned_once()):
        warnings.simplefilter("ignore")
        show("as it is", tables, seeds)
        for name in options.only:
            for said, constant, value in changed(name):
                with patch.object(priors, constant, value):
                    show(said, tables, seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
