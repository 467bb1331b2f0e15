"""Columns that give the label away: made-up ones must be named, honest ones must not.

Takes folders of tables, ``*.csv`` or ``*.csv.gz``, with labels of 0 and 1 in a column ``label``, or
``noisy`` and ``gold``. Their own columns are taken as honest. To each table leaks are added, one at
a time: copies with errors, dates that few negatives have, what is paid or counted afterwards, how
long something lasted, rows numbered in the order of the label; with names that say nothing, but for
one that half of the positives have.

Seed 0 was used while the method was developed; ``--first`` takes others.

Run as ``python -m benchmarks.leaks FOLDER [FOLDER ...] [--first 0] [--draws 3]``.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.timing import verdict
from flipcost.audit._leaks import find_leaks
from flipcost.tables.encoder import Encoder

if TYPE_CHECKING:
    from collections.abc import Iterator

FOUND, NAMED = 0.9, 0.05
_TARGETS = ("label", "noisy")
# What leaks are called, where it is by the name that one is known.
_CALLED = {"named": "recovered"}
_MOST_ROWS = 20_000


def read_tables(folder: Path) -> Iterator[tuple[str, pa.Table, np.ndarray]]:
    """Yield the name of each table of a folder, its columns and its labels."""
    import pandas as pd

    for path in sorted(p for p in folder.iterdir() if p.name.endswith((".csv", ".csv.gz"))):
        rows = pd.read_csv(path)
        if len(rows) > _MOST_ROWS:
            rows = rows.sample(_MOST_ROWS, random_state=0)
        target = next(name for name in _TARGETS if name in rows)
        positive = rows[target].to_numpy() > 0
        rows = rows.drop(columns=[target, "gold"], errors="ignore")
        yield path.name.split(".csv")[0], pa.Table.from_pandas(rows, preserve_index=False), positive


def made_up(positive: np.ndarray, rng: np.random.Generator) -> dict[str, list]:
    """Return leaks of every kind; how many rows of either label break the rule is drawn."""
    n = len(positive)
    wrong = rng.uniform(0.0, 0.04)
    flipped = positive ^ (rng.random(n) < np.where(positive, wrong, wrong * positive.mean()))
    has = rng.random(n) < np.where(positive, rng.uniform(0.8, 1.0), 0.01 * positive.mean())
    words = [("open", "closed"), ("A", "D7"), ("in good order", "see file")]
    plain, sure = words[rng.integers(3)]
    dates = np.datetime64("2023-01-01") + rng.integers(0, 700, n)
    lasted = rng.gamma(4.0, np.where(positive, 5.0, 60.0))
    in_order = np.empty(n)
    in_order[np.argsort(positive + rng.normal(0.0, 0.3, n))] = np.arange(n)
    return {
        "copy": [1 + int(one) for one in flipped],
        "word": [sure if one else plain for one in flipped],
        "date": [str(day) if one else None for one, day in zip(has, dates, strict=True)],
        "amount": np.where(has, rng.lognormal(4, 1, n), 0.0).round(2).tolist(),
        "gap": np.where(has, np.nan, rng.normal(size=n)).tolist(),
        "count": np.where(has, 1 + rng.poisson(3, n), 0).tolist(),
        "score": (positive * rng.uniform(3, 5) + rng.normal(size=n)).tolist(),
        "days": lasted.round().tolist(),
        "row": in_order.tolist(),
        "named": np.where(has & (rng.random(n) < 0.6), rng.lognormal(4, 1, n), 0.0).tolist(),
    }


def named(table: pa.Table, positive: np.ndarray) -> list[str]:
    """Return the columns that are named as leaks."""
    encoder = Encoder.learn(table)
    names = [encoder.names[place] for place in encoder.cell_columns]
    found = find_leaks(names, encoder.is_category, encoder.cells(table), positive)
    return [leak.column for leak in found]


def main(arguments: list[str] | None = None) -> None:
    """Print which leaks were found, and which honest columns were named."""
    parser = argparse.ArgumentParser(prog="benchmarks leaks", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="tables with label, or noisy")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args([] if arguments is None else arguments)
    if not options.folders:
        print(
            "leaks is left out: it needs folders of tables; run python -m benchmarks.leaks FOLDER"
        )
        return
    found: dict[str, list[bool]] = defaultdict(list)
    honest: dict[str, list[str]] = {}
    n_columns, wrongly = 0, 0
    for folder in options.folders:
        for name, table, positive in read_tables(folder):
            honest[name] = named(table, positive)
            n_columns += table.num_columns
            for seed in range(options.first, options.first + options.draws):
                rng = np.random.default_rng([30, seed])
                for kind, cells in made_up(positive, rng).items():
                    added = _CALLED.get(kind, "x_added")
                    said = named(table.append_column(added, pa.array(cells)), positive)
                    found[kind].append(added in said)
                    wrongly += len(set(said) - {added})
            print(f"  {name}: {honest[name] or 'none named'}", file=sys.stderr, flush=True)
    for kind, each in found.items():
        print(f"{kind:8} found {np.mean(each):.2f} of {len(each)}")
    every = [one for each in found.values() for one in each]
    every_share = float(np.mean(every))
    share = sum(bool(one) for one in honest.values()) / len(honest)
    said = verdict(every_share, FOUND, at_most=False)
    print(f"{every_share:.3f} of {len(every)} leaks found: {said}")
    said = verdict(share, NAMED, at_most=True)
    print(f"{share:.3f} of {len(honest)} tables have an honest column named: {said}")
    n_named = sum(map(len, honest.values()))
    print(f"{n_named} of {n_columns} honest columns named, {wrongly} beside {len(every)} leaks")


if __name__ == "__main__":
    main(sys.argv[1:])
